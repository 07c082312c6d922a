#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What survives a reload and a deactivation, and what does not.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# again HOW: reloads the table, or deactivates and activates the set.
again()
{
	case $1 in
	reload) reload ;;
	activation) deactivate; activate ;;
	esac
}

persist_set()
{
	make_set
	msg set migration_depth 9
	msg set migration_bandwidth 777
	msg set latency_guard 50
	msg set tier0.endurance 11
	msg set tier0.reserve 12
	msg set tier1.landing 3
	msg set tier0.residence 77
	msg set tier1.latency 8000
	msg set tier0.watermark 5
	msg set tier1.quiet 600
	again "$1"
	status
	same 9 "${V[migration_depth]}"
	same 777 "${V[migration_bandwidth]}"
	same 50 "${V[latency_guard]}"
	same 11 "${V[tier0.endurance]}"
	same 12 "${V[tier0.reserve]}"
	same "3 77 0" "${V[tier1.landing]} ${V[tier0.residence]} ${V[tier1.residence]}"
	same "0 8000" "${V[tier0.latency]} ${V[tier1.latency]}"
	same "5 0 0 600" "${V[tier0.watermark]} ${V[tier1.watermark]} ${V[tier0.quiet]} ${V[tier1.quiet]}"
}

# Changes the first tunable of the policy by one.
persist_policy()
{
	local key value words
	policy=heat
	make_set
	read -ra words <<<"$(info args)"
	key=${words[0]} value=$((words[1] > 0 ? words[1] - 1 : 1))
	msg set "$key" "$value" ||
		{ value=$((words[1] + 1)); msg set "$key" "$value"; }
	again "$1"
	status
	same "$value" "${V[$key]}" "$key"
}

persist_pause()
{
	make_set
	msg pause
	again "$1"
	same paused "$(info running)"
	msg resume
	again "$1"
	same running "$(info running)"
}

persist_pin()
{
	make_set
	write_chunks 0 4 1
	msg pin 1 2 1
	msg pin 100 1 1
	again "$1"
	status
	same 3 "${S[pinned]}"
	chunk_info 1; same 1 "${C[pin]}" "pin of chunk 1"
	chunk_info 0; same - "${C[pin]}" "pin of chunk 0"
	chunk_info 100; same 1 "${C[pin]}" "pin of an unmapped chunk"
	msg unpin 0 200
	again "$1"
	same 0 "$(info pinned)" "pinned"
}

# Chunks move to the tier of their pin, even a pin that was set while the tier was evacuated.
persist_evacuation()
{
	disk meta 4
	disk fast 16
	disk slow 32
	length=$((200 * 128))
	core=(migration_bandwidth 2000)
	activate
	write_chunks 0 60 1
	msg evacuate 0
	again "$1"
	same E "$(info state0)"
	wait_for 30 drained
	check_chunks 0 60 1
	write_chunks 60 4 1
	same 0 "$(info used0)" "places used on a closed tier"
	again "$1"
	same E "$(info state0)"
	msg admit 0
	again "$1"
	same A "$(info state0)"
}
drained() { [ "$(info used0)" = 0 ]; }

persist_data()
{
	make_set
	write_chunks 0 30 1
	move 5 10 1
	discard_chunks 20 5
	io write "$dev" at=12345k len=3k seed=4
	again "$1"
	check_chunks 0 20 1
	check_chunks 20 5 0
	check_chunks 25 5 1
	io check "$dev" at=12345k len=3k seed=4
	same 10 "$(on_rank 5 10 1)"
}

# Chunks far from the sectors that udev reads when a device appears, and far from each other, so
# that no read continues the read before: each read counts in full.
persist_heat()
{
	local i before after
	policy=heat features=(paused)
	make_set
	write_chunks 40 21 1
	for i in {1..20}; do
		read_start_of 60
		[ "$i" -gt 8 ] || read_start_of 50
		[ "$i" -gt 2 ] || read_start_of 40
	done
	wait_for 20 warm
	before=$(heat_of 60 50 40)
	again "$1"
	after=$(heat_of 60 50 40)
	note "heat of the chunks: $before; after the $1: $after"
	awk -v b="$before" -v a="$after" 'BEGIN {
		n = split(b, x); split(a, y);
		# The sweep begins anew: heat may differ by one step of decay.
		for (i = 1; i <= n; i++)
			if (x[i] == 0 || y[i] < 0.8 * x[i] || y[i] > 1.25 * x[i])
				exit 1;
		exit !(y[1] > y[2] && y[2] > y[3]) }' ||
		fail "heat is lost"
}
read_start_of() { io check "$dev" at="$(at_chunk "$1")" len=4k seed=1; }
heat_of()
{
	local chunk
	for chunk; do msg heat "$chunk" 1 1; done | awk '{ printf "%s ", $6 }'
}
# All reads have been counted: nothing is added to the heat any more. What the twenty random reads
# come to (16 each) is less if one in some stood for the others, or if heat has decayed since.
warm()
{
	local before
	before=$(heat_of 60 50 40)
	sleep 0.5
	[ "${before%% *}" -ge 160 ] && [ "$before" = "$(heat_of 60 50 40)" ]
}

for how in reload activation; do
	test_case "set survives a(n) $how" persist_set $how
	test_case "a policy's tunable survives a(n) $how" persist_policy $how
	test_case "pause survives a(n) $how" persist_pause $how
	test_case "pins survive a(n) $how" persist_pin $how
	test_case "an evacuation goes on after a(n) $how" persist_evacuation $how
	test_case "data, its place and discards survive a(n) $how" persist_data $how
	test_case "heat survives a(n) $how" persist_heat $how
done

# ---- arguments of a table

table_overrides()
{
	make_set
	msg set migration_depth 9
	msg set tier1.reserve 5
	core=(migration_depth 3 tier1.reserve 6)
	reload
	status
	same 3 "${V[migration_depth]}" "depth in force"
	same 6 "${V[tier1.reserve]}" "reserve in force"
	deactivate
	activate
	same 3 "$(status; echo "${V[migration_depth]}")" "depth after an activation"
	core=()
	reload
	status
	same 9 "${V[migration_depth]}" "stored depth"
	same 5 "${V[tier1.reserve]}" "stored reserve"
}
test_case "a key in the table overrides the stored one and is not stored" table_overrides

# A value that is set while the table has the key is stored and takes effect.
set_over_table()
{
	core=(migration_depth 3)
	make_set
	msg set migration_depth 7
	status
	same 7 "${V[migration_depth]}" "depth in force"
	same "migration_depth 3" "$(dmsetup table "$set" | grep -o 'migration_depth [0-9]*')" "table"
	core=()
	reload
	status
	same 7 "${V[migration_depth]}" "stored depth"
}
test_case "set of a key that the table gives" set_over_table

policy_args_override()
{
	local words key value
	policy=heat
	make_set
	read -ra words <<<"$(info args)"
	deactivate
	key=${words[0]} value=${words[1]}
	policy_args=("$key" "$((value > 0 ? value - 1 : 1))")
	activate
	status
	same "${policy_args[1]}" "${V[$key]}" "$key in force"
	policy_args=()
	reload
	status
	same "$value" "${V[$key]}" "$key stored"
}
test_case "a policy argument overrides and is not stored" policy_args_override

paused_feature()
{
	features=(paused)
	make_set
	same paused "$(info running)"
	msg resume
	same running "$(info running)"
	features=()
	deactivate
	activate
	same running "$(info running)"
	features=(paused)
	reload
	same paused "$(info running)"
	features=()
	reload
	same running "$(info running)" "without the feature in the next table"
}
test_case "the feature paused lasts until resume or the next table" paused_feature

# The tunables stay with the tier, not with the rank.
tunables_follow()
{
	make_set
	msg set tier0.reserve 3
	msg set tier1.reserve 4
	tiers=("$slow" "$fast")
	reload
	status
	same 4 "${V[tier0.reserve]}"
	same 3 "${V[tier1.reserve]}"
	same 1 "${S[id0]}"
	same 0 "${S[id1]}"
}
test_case "a tier's tunables go with the tier" tunables_follow

policy_changes()
{
	policy=static
	make_set
	write_chunks 0 4 1
	policy=heat
	reload
	same heat "$(info policy)"
	check_chunks 0 4 1
	policy=static
	reload
	same static "$(info policy)"
	policy=default
	deactivate
	activate
	same heat "$(info policy)"
	check_chunks 0 4 1
}
test_case "another policy by reload and by activation" policy_changes

# ---- read-only

everything=("$meta" "$fast" "$slow")

# Reads, status, messages, even a migrate message: no bit on disk changes
look_around()
{
	check_chunks 0 20 1
	check_chunks 20 5 0
	msg chunk 3 >/dev/null
	msg heat 0 100 4 >/dev/null
	fails msg migrate 0 1 1
	fails msg set migration_depth 5
	fails msg pin 0 1 0
	fails msg evacuate 0
	fails msg pause
	fails msg reserve_metadata_snap
	fails write_chunks 0 1 2
	fails write_chunks 30 1 2
	fails discard_chunks 0 1
	io sync "$dev" || true
	same ro "$(info mode)"
	suspend
	resume
	check_chunks 0 20 1
}

read_only_feature()
{
	make_set
	write_chunks 0 20 1
	deactivate
	sums=$(checksums "${everything[@]}")
	counts=$(write_counts "${everything[@]}")
	features=(read_only)
	activate
	look_around
	reload
	look_around
	deactivate
	same "$counts" "$(write_counts "${everything[@]}")" "writes"
	same "$sums" "$(checksums "${everything[@]}")" "contents"
}
test_case "the feature read_only writes nothing at all" read_only_feature

read_only_table()
{
	make_set
	write_chunks 0 20 1
	deactivate
	sums=$(checksums "${everything[@]}")
	counts=$(write_counts "${everything[@]}")
	activate --readonly
	check_chunks 0 20 1
	check_chunks 20 5 0
	fails write_chunks 0 1 2
	fails msg set migration_depth 5
	same ro "$(info mode)"
	deactivate
	same "$counts" "$(write_counts "${everything[@]}")" "writes"
	same "$sums" "$(checksums "${everything[@]}")" "contents"
}
test_case "a read-only table writes nothing at all" read_only_table

# On disks that refuse every write.
read_only_disks()
{
	make_set
	write_chunks 0 20 1
	deactivate
	for disk in "${everything[@]}"; do blockdev --setro "$disk"; done
	features=(read_only)
	activate --readonly
	check_chunks 0 20 1
	deactivate
}
test_case "read_only on write-protected disks" read_only_disks

# From read-write to read-only and back by reload.
read_only_reload()
{
	make_set
	write_chunks 0 20 1
	features=(read_only)
	reload
	same ro "$(info mode)"
	quiet 2 "${everything[@]}"
	counts=$(write_counts "${everything[@]}")
	look_around
	same "$counts" "$(write_counts "${everything[@]}")" "writes"
	features=()
	reload
	same rw "$(info mode)"
	write_chunks 20 5 1
	check_chunks 0 25 1
	deactivate
	activate
	check_chunks 0 25 1
}
test_case "to read_only and back by reload" read_only_reload

# The mapping gives two chunks the same place: a damage that no checksum shows.
shared_place()
{
	local offset
	damaged
	make_set
	write_chunks 0 4 1
	deactivate
	# Patches the entries of chunks 0 and 1, on places 16 and 17 of tier 0, in every copy of
	# their block. ARRAY_CSUM_XOR is the kernel's.
	dd if="$meta" of="$tmp/meta" bs=1M iflag=direct status=none
	grep -obUaP '\x10\x00{6}\x01\x11\x00{6}\x01' "$tmp/meta" | cut -d: -f1 >"$tmp/offsets"
	[ -s "$tmp/offsets" ] || fail "no block of the mapping was found"
	while read -r offset; do
		printf '\020' | dd of="$meta" bs=1 seek=$((offset + 8)) conv=notrunc,fsync status=none
		io seal "$meta" at=$((offset / 4096 * 4096)) len=4096 xor=595846735
	done <"$tmp/offsets"
	sums=$(checksums "${everything[@]}")
	counts=$(write_counts "${everything[@]}")
	refused 'metadata tt_meta is damaged; check it' activate
	same "$counts" "$(write_counts "${everything[@]}")" "writes"
	same "$sums" "$(checksums "${everything[@]}")" "contents"
}
test_case "two chunks on one place are refused, and nothing is written" shared_place

# The mapping's root names the heat array, whose values are half as large: all blocks are whole,
# and still nothing there may be read as a mapping.
wrong_array()
{
	damaged
	make_set
	write_chunks 0 4 1
	deactivate
	# Offsets in struct tier_superblock: mapping_root 192, heat_root 200.
	dd if="$meta" of="$tmp/root" bs=8 skip=25 count=1 status=none
	dd if="$tmp/root" of="$meta" bs=8 seek=24 conv=notrunc,fsync status=none
	io seal "$meta" at=0 len=4096 xor=0x7e12a5c3
	refused 'damaged' activate
	damaged
}
test_case "an array of another kind in place of the mapping is refused" wrong_array

run_tests
