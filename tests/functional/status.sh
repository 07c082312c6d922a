#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
#
# The contents of INFO, TABLE and IMA; asking changes nothing.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2

every_field()
{
	local n
	make_set
	status
	same 0 "${S[start]}"
	same "$length" "${S[length]}"
	same 8 "${S[meta_block]}" "metadata block size"
	is 'S[meta_used] > 0 && S[meta_used] <= S[meta_total]'
	same 1024 "${S[meta_total]}" "metadata blocks of 4 MiB"
	same - "${S[held]}" "held root"
	same 128 "${S[chunk]}"
	same 0 "${S[mapped]}"
	same 731 "${S[virtual]}"
	same 0 "${S[pinned]}"
	same 2 "${S[tiers]}"
	same 240 "${S[places0]}"
	same 496 "${S[places1]}"
	for n in 0 1; do
		same "$n" "${S[id$n]}"
		same A "${S[state$n]}"
		same 0 "${S[used$n]}"
		same 0 "${S[errors$n]}"
	done
	for n in promotions demotions aborted failed in_flight migrated; do
		same 0 "${S[$n]}" "$n"
	done
	same "" "${S[features]}"
	same "migration_bandwidth 65536 migration_depth 4 latency_guard 20 heat_interval 600 migration_min 0 \
tier0.endurance 0 tier0.reserve 0 tier0.landing 1 tier0.latency 0 tier0.watermark 0 tier0.quiet 0 tier0.residence 0 \
tier1.endurance 0 tier1.reserve 0 tier1.landing 1 tier1.latency 0 tier1.watermark 0 tier1.quiet 0 tier1.residence 0" "${S[core]}" "core arguments"
	same static "${S[policy]}"
	same "" "${S[args]}" "policy arguments"
	same rw "${S[mode]}"
	same - "${S[check]}"
	same running "${S[running]}"
	is 'S[parsed] <= S[words]'
}
test_case "every field of a new set" every_field

words_add_up()
{
	make_disks
	policy=heat features=(paused skip_zeroing) core=(migration_depth 8 tier1.reserve 2)
	activate
	status
	same "${S[words]}" "${S[parsed]}" "number of words"
	same "paused skip_zeroing" "${S[features]}"
	same paused "${S[running]}"
	same 8 "${V[migration_depth]}"
	same 2 "${V[tier1.reserve]}"
	same 38 "$(wc -w <<<"${S[core]}")"
	is "${#S[args]} > 0"
	is "$(wc -w <<<"${S[args]}") % 2 == 0"
}
test_case "the counts of words are right" words_add_up

chunk_counts()
{
	make_set
	write_chunks 0 10 1
	status
	same 10 "${S[mapped]}"
	same 10 "${S[used0]}"
	same 0 "${S[used1]}"
	move 0 4 1
	status
	same 10 "${S[mapped]}"
	same 6 "${S[used0]}"
	same 4 "${S[used1]}"
	discard_chunks 2 4
	wait_for 10 freed
	status
	same 4 "${S[used0]}"
	same 2 "${S[used1]}"
	msg pin 0 3 1
	same 3 "$(info pinned)" "pinned"
	msg unpin 1 1
	same 2 "$(info pinned)" "pinned"
}
freed() { [ "$(info mapped)" = 6 ]; }
test_case "mapped, used, pinned" chunk_counts

# udev may read besides, so reads are compared with a lower bound.
io_counters()
{
	make_set
	write_chunks 0 2 1
	move 1 1 1
	udevadm settle 2>/dev/null || true
	status
	declare -A B
	for key in "${!S[@]}"; do B[$key]=${S[$key]}; done
	io write "$dev" at="$(at_chunk 0)" len=64k block=4k seed=2
	io write "$dev" at="$(at_chunk 1)" len=32k block=4k seed=2
	io check "$dev" at="$(at_chunk 1)" len=32k block=4k seed=2
	status
	same $((B[writes0] + 16)) "${S[writes0]}" "writes of tier 0"
	same $((B[writes1] + 8)) "${S[writes1]}" "writes of tier 1"
	is 'S[reads1] >= B[reads1] + 8'
	is 'S[reads1] < B[reads1] + 40'
	reload
	is "$(info writes0) >= $((B[writes0] + 16))"
	same $((B[writes0] + 16)) "${S[writes0]}" "writes of tier 0 after a reload"
	deactivate
	activate
	udevadm settle 2>/dev/null || true
	status
	same 0 "${S[writes0]}" "writes of tier 0 after an activation"
}
test_case "reads and writes are bios since activation, kept over a reload" io_counters

migration_counters()
{
	make_set
	write_chunks 0 8 1
	status
	same 0 "${S[migrated]}"
	move 0 8 1
	status
	same 8 "${S[demotions]}"
	same 0 "${S[promotions]}"
	same $((8 * 128)) "${S[migrated]}"
	move 2 3 0
	status
	same 8 "${S[demotions]}"
	same 3 "${S[promotions]}"
	same $((11 * 128)) "${S[migrated]}"
	same 0 "${S[failed]}"
	same 0 "${S[in_flight]}"
}
test_case "promotions, demotions, migrated sectors" migration_counters

in_flight()
{
	local n=0 peak=0 now
	disk meta 4
	disk fast 16
	disk spare 32
	# Longer than the time between two looks on a slow machine.
	wrap delay "0 $(sectors_of "$spare") delay $spare 0 $((300 * patience))"
	tiers=("$fast" /dev/mapper/tt_delay)
	core=(migration_depth 3 migration_bandwidth 0)
	length=$(capacity_of 128 "$fast" "$spare")
	activate
	write_chunks 0 12 1
	msg migrate 0 12 1
	while [ "$n" -lt 100 ] && ! all_on_rank 0 12 1; do
		now=$(info in_flight)
		peak=$((now > peak ? now : peak))
		n=$((n + 1))
	done
	note "migration_depth 3: at most $peak seen in flight"
	is "peak >= 2 && peak <= 3"
	wait_for 20 all_on_rank 0 12 1
	wait_for 10 settled
}
test_case "in flight, at most migration_depth" in_flight

held_root()
{
	make_set
	msg reserve_metadata_snap
	matches '^[0-9]+$' "$(info held)" "held root"
	msg release_metadata_snap
	same - "$(info held)" "held root"
}
test_case "held metadata root" held_root

tier_states()
{
	length=$((200 * 128))
	make_set
	write_chunks 0 4 1
	msg evacuate 1
	same E "$(info state1)"
	msg admit 1
	same A "$(info state1)"
	msg pause
	same paused "$(info running)"
	msg resume
	same running "$(info running)"
}
test_case "states of a tier and of migration" tier_states

error_state()
{
	disk meta 4
	disk fast 16
	disk spare 32
	wrap bad "0 $(sectors_of "$spare") linear $spare 0"
	tiers=("$fast" /dev/mapper/tt_bad)
	length=$(capacity_of 128 "$fast" "$spare")
	activate
	write_chunks 0 4 1
	move 0 4 1
	dmsetup load tt_bad --table "0 $(sectors_of "$spare") error"
	dmsetup resume tt_bad --noflush
	io_fails 5 write_chunks 0 1 2
	status
	same F "${S[state1]}" "state after a write error"
	is 'S[errors1] >= 1'
	same 0 "${S[errors0]}"
	dmsetup load tt_bad --table "0 $(sectors_of "$spare") linear $spare 0"
	dmsetup resume tt_bad
	write_chunks 0 4 2
	check_chunks 0 4 2
	msg admit 1
	same A "$(info state1)" "state after admit"
}
test_case "errors of a tier" error_state

# Asking does not write: neither status nor messages that only answer.
never_commits()
{
	local counts n
	make_set
	write_chunks 0 8 1
	io sync "$dev"
	quiet 2 "$meta" "$fast" "$slow"
	counts=$(write_counts "$meta" "$fast" "$slow")
	for n in {1..5}; do
		dmsetup status "$set" >/dev/null
		dmsetup table "$set" >/dev/null
		msg chunk "$n" >/dev/null
		msg heat 0 731 10 >/dev/null
	done
	same "$counts" "$(write_counts "$meta" "$fast" "$slow")" "writes"
}
test_case "status, table and answers write nothing" never_commits

# Also with a first write that is not committed: dm flushes before INFO unless told not to, and
# the target must not commit for that. The set commits by itself soon, so some attempts are too
# late to tell.
no_commit_for_info()
{
	local before after n
	make_set
	for n in {0..19}; do
		io sync "$dev"
		quiet 2 "$meta" "$fast" "$slow"
		write_chunks "$n" 1 1
		before=$(write_counts "$meta")
		dmsetup status "$set" >"$tmp/status"
		after=$(write_counts "$meta")
		quiet 2 "$meta" "$fast" "$slow"
		[ "$before" != "$after" ] || [ "$after" = "$(write_counts "$meta")" ] || break
	done
	note "seen with chunk $n"
	same "$before" "$after" "metadata writes by status"
	[ "$after" != "$(write_counts "$meta")" ] || fail "nothing was committed afterwards"
}
test_case "INFO commits nothing" no_commit_for_info

suspended()
{
	make_set
	write_chunks 0 4 1
	status
	before="${S[mapped]} ${S[used0]} ${S[core]}"
	suspend
	status
	same "$before" "${S[mapped]} ${S[used0]} ${S[core]}" "status of a suspended device"
	suspend
	resume
	suspend --noflush
	status
	resume
}
test_case "status of a suspended device" suspended

# The IMA measurement of a table, on kernels that keep one.
ima()
{
	local log=/sys/kernel/security/ima/ascii_runtime_measurements line
	mountpoint -q /sys/kernel/security || mount -t securityfs securityfs /sys/kernel/security ||
		skip "no securityfs"
	[ -e "$log" ] || skip "the kernel does not measure (IMA)"
	echo "measure func=CRITICAL_DATA label=device-mapper template=ima-buf" \
		>/sys/kernel/security/ima/policy 2>/dev/null ||
		skip "the IMA policy cannot be set"
	make_set
	line=$(grep dm_table_load "$log" | tail -n 1 | awk '{ print $NF }' | xxd -r -p)
	matches 'target_name=tier' "$line" "measurement"
	write_chunks 0 4 1
	[[ ! $line =~ mapped= ]] || fail "counters in the measurement: $line"
}
test_case "IMA measures the table without counters" ima

run_tests
