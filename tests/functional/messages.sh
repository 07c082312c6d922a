#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every message, right and wrong. A wrong message gives -EINVAL and one line in the kernel log
# that names it, and changes nothing. On a suspended device messages that would change something
# give -EBUSY.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

keep_disks=1
keep_dm=$set

# One set for all wrong messages: chunks 0-7 on fast, 8-11 on slow.
prepare()
{
	if [ ! -b "$meta" ]; then
		policy=heat core=(migration_bandwidth 1000000) features=(paused)
		make_set
		write_chunks 0 12 1
		move 8 4 1
		io sync "$dev"
	fi
}

# All that a message could change. Reads are left out (udev reads), and so are block counts (a
# commit changes them).
state()
{
	status
	echo "${S[mapped]} ${S[virtual]} ${S[pinned]} ${S[held]}" \
	     "${S[state0]} ${S[used0]} ${S[writes0]} ${S[state1]} ${S[used1]} ${S[writes1]}" \
	     "${S[promotions]} ${S[demotions]} ${S[aborted]} ${S[failed]} ${S[migrated]}" \
	     "${S[features]} ${S[core]} ${S[args]} ${S[mode]} ${S[check]} ${S[running]}"
}

# wrong REGEX WORD...: the kernel log's line matches REGEX
wrong()
{
	local want=$1 before counts
	shift
	prepare
	before=$(state)
	counts=$(write_counts "$meta" "$fast" "$slow")
	refused "$want" msg "$@"
	matches 'Invalid argument' "$output" "error"
	same "$before" "$(state)" "status"
	same "$counts" "$(write_counts "$meta" "$fast" "$slow")" "writes"
}

# row REGEX WORD...
row() { test_case "wrong: ${*:2}" wrong "$@"; }

row 'frobnicate' frobnicate
row 'frobnicate' frobnicate 1 2 3
row 'pause' Pause
row 'pause' pause now
row 'resume' resume 1
row 'paus' paus
row 'pausee' pausee
row 'set' set
row 'set' set migration_depth
row 'set' set migration_depth 4 5
row 'migration_width' set migration_width 4
for pair in "migration_depth 0" "migration_depth 257" "migration_depth -4" "migration_depth x" \
	    "migration_depth 4k" "migration_depth 99999999999999999999" \
	    "migration_bandwidth 4294967296" "migration_bandwidth 1.5" "latency_guard 1001" \
	    "latency_guard high" "heat_interval 0" "heat_interval 86401" "migration_min 4294967296" "migration_min x" "tier0.endurance 4294967296" "tier1.reserve 4294967296" \
	    "tier0.landing 4" "tier0.residence 4294967296" "tier1.residence 1h" "tier0.latency 4000001" "tier1.latency 8ms" "tier0.watermark 51" "tier1.watermark 5%" "tier0.quiet 65536" "tier2.reserve 1" "tier16.reserve 1" "tier-1.reserve 1" \
	    "tier0.speed 1" "tier.reserve 1" "tier0. 1" "reserve 1" "paused 1" "heat 1" \
	    "headroom x" "headroom -1" "headroom 18446744073709551616"; do
	# shellcheck disable=SC2086	# two words
	row "${pair% *}" set $pair
done
for message in migrate pin; do
	row "$message" "$message"
	row "$message" "$message" 0
	row "$message" "$message" 0 1
	row "$message" "$message" x 1 0
	row "$message" "$message" 0 x 0
	row "$message" "$message" 0 1 x
	row "$message" "$message" -1 1 0
	row "$message" "$message" 0 1 2
	row "$message" "$message" 0 1 -1
	row "$message" "$message" 0 0 0
	row "$message" "$message" 731 1 0
	row "$message" "$message" 730 2 0
	row "$message" "$message" 1 18446744073709551615 0
	row "$message" "$message" 0 4294967297 0
	row "$message" "$message" 0 1 0 1 2
done
row 'migrate' migrate 0 1 0 away
row 'migrate' migrate 20 1 0 home home
row 'migrate|home' migrate 0 1 0 home		# place 0 lies in the label area
row 'migrate|home' migrate 15 2 0 home
row 'migrate|home' migrate 256 1 0 home		# beyond the tier's last place
row 'migrate|home' migrate 255 2 0 home
row 'pin' pin 0 1 0 home
row 'unpin' unpin
row 'unpin' unpin 0
row 'unpin' unpin 0 1 0
row 'unpin' unpin x 1
row 'unpin' unpin 0 0
row 'unpin' unpin 731 1
row 'unpin' unpin 0 732
for message in evacuate admit; do
	row "$message" "$message"
	row "$message" "$message" x
	row "$message" "$message" 2
	row "$message" "$message" -1
	row "$message" "$message" 256
	row "$message" "$message" 0 1
done
row 'heat' heat
row 'heat' heat 0
row 'heat' heat 0 731
row 'heat' heat 0 731 0
row 'heat' heat 0 731 4097
row 'heat' heat 0 0 1
row 'heat' heat 0 732 1
row 'heat' heat 731 1 1
row 'heat' heat x 1 1
row 'heat' heat 0 731 x
row 'heat' heat 0 731 10 10
row 'chunk' chunk
row 'chunk' chunk 731
row 'chunk' chunk x
row 'chunk' chunk -1
row 'chunk' chunk 4294967296
row 'chunk' chunk 0 1
row 'wear' wear 0
row 'latency' latency 0
row 'reserve_metadata_snap' reserve_metadata_snap 1
row 'release_metadata_snap' release_metadata_snap 1
row 'release_metadata_snap|snapshot' release_metadata_snap

still_right()
{
	prepare
	check_chunks 0 12 1
	same 8 "$(on_rank 0 12 0)" "chunks on fast"
}
test_case "after all these nothing has changed" still_right

# ---- right words, refused for another reason

second_snapshot()
{
	prepare
	msg reserve_metadata_snap
	fails msg reserve_metadata_snap
	matches 'busy' "$output" "error"
	matches '^[0-9]+$' "$(info held)"
	msg release_metadata_snap
}
test_case "one metadata snapshot at a time" second_snapshot

evacuate_refused()
{
	local before
	prepare
	before=$(state)
	# 731 chunks fit neither the 496 places of the slow tier nor the places of the fast tier.
	refused '[0-9]+.*[0-9]+' msg evacuate 0
	refused '[0-9]+.*[0-9]+' msg evacuate 1
	same "$before" "$(state)" "status"
}
test_case "evacuate is refused with figures when the rest is too small" evacuate_refused

# ---- on a suspended device

suspended()
{
	local before counts
	prepare
	before=$(state)
	suspend
	counts=$(write_counts "$meta" "$fast" "$slow")
	for words in pause resume "set migration_depth 5" "migrate 0 1 1" "pin 0 1 0" \
		     "unpin 0 1" "evacuate 1" "admit 1" reserve_metadata_snap; do
		# shellcheck disable=SC2086	# the words of a message
		fails msg $words
		matches 'busy' "$output" "'$words' on a suspended device"
	done
	same "$before" "$(state)" "status"
	matches 'rank 0 place [0-9]+ .*state mapped' "$(msg chunk 0)" "chunk on a suspended device"
	same 1 "$(msg heat 0 731 1 | wc -l)" "lines of heat"
	same 2 "$(msg wear | wc -l)" "lines of wear"
	same 2 "$(msg latency | wc -l)" "lines of latency"
	same "$counts" "$(write_counts "$meta" "$fast" "$slow")" "writes while suspended"
	resume
}
test_case "on a suspended device: busy, or an answer" suspended

released_while_suspended()
{
	prepare
	msg reserve_metadata_snap
	suspend
	fails msg release_metadata_snap
	matches 'busy' "$output"
	resume
	msg release_metadata_snap
}
test_case "release_metadata_snap on a suspended device" released_while_suspended

# ---- right messages

idempotent()
{
	prepare
	msg resume
	msg resume
	same running "$(info running)"
	msg pause
	msg pause
	same paused "$(info running)"
	# Waits for moves of the policy.
	wait_for 10 settled
	move 0 8 0
	move 8 4 1
}
test_case "pause and resume, once and again" idempotent

set_keys()
{
	local key value
	prepare
	while read -r key value; do
		msg set "$key" "$value"
		status
		same "$value" "${V[$key]}" "$key"
	done <<-EOT
		migration_depth 256
		migration_depth 1
		migration_depth 7
		migration_bandwidth 4294967295
		migration_bandwidth 0
		latency_guard 1000
		latency_guard 0
		heat_interval 86400
		heat_interval 1
		migration_min 4294967295
		migration_bandwidth 4294967295
		migration_min 65536
		migration_bandwidth 65536
		migration_min 0
		tier0.endurance 4294967295
		tier0.reserve 3
		tier1.reserve 4294967295
		tier1.reserve 0
		tier0.latency 4000000
		tier0.latency 0
		tier0.watermark 50
		tier0.watermark 0
		tier0.residence 4294967295
		tier0.residence 0
		tier1.landing 3
		tier1.landing 2
		tier1.quiet 65535
		tier1.quiet 0
		tier1.landing 0
		tier1.landing 1
		tier0.reserve 0
		tier0.endurance 0
		migration_depth 4
		migration_bandwidth 1000000
	EOT
}
test_case "set, each key at its limits" set_keys

least_and_most()
{
	prepare
	msg set migration_bandwidth 1000000
	wrong 'migration_min must be at most migration_bandwidth, 1000000, not 1000001' set migration_min 1000001
	msg set migration_min 1000000
	wrong 'migration_bandwidth must be 0 or at least migration_min, 1000000, not 999999' \
		set migration_bandwidth 999999
	msg set migration_bandwidth 0
	msg set migration_min 1000001
	msg set migration_min 0
	msg set migration_bandwidth 1000000
}
test_case "migration_min and migration_bandwidth fit each other" least_and_most

# Each tunable that the policy shows can be set to its present value.
set_policy_keys()
{
	local words i
	prepare
	status
	read -ra words <<<"${S[args]}"
	is "${#words[@]} >= 2"
	for ((i = 0; i < ${#words[@]}; i += 2)); do
		msg set "${words[i]}" "${words[i + 1]}"
	done
	same "${words[*]}" "$(info args)" "policy arguments"
}
test_case "set, each policy tunable" set_policy_keys

chunk_answers()
{
	prepare
	chunk_info 0
	same 0 "${C[rank]}"
	same mapped "${C[state]}"
	same - "${C[pin]}"
	is 'C[place] >= 16 && C[place] < 256'
	io check "$fast" at=$((C[place] * 65536)) len=64k seed=1 as=0
	chunk_info 9
	same 1 "${C[rank]}"
	io check "$slow" at=$((C[place] * 65536)) len=64k seed=1 as="$(at_chunk 9)"
	chunk_info 700
	same unmapped "${C[state]}"
	for key in heat reads writes reason; do
		[ -n "${C[$key]-}" ] || fail "chunk does not answer $key"
	done
}
test_case "chunk tells where the data lies" chunk_answers

# The answer is the same twice: asking is no access.
no_side_effect()
{
	prepare
	same "$(msg chunk 3)" "$(msg chunk 3)" "answer to chunk"
	same "$(msg heat 0 731 7)" "$(msg heat 0 731 7)" "answer to heat"
}
test_case "answers have no side effect" no_side_effect

heat_buckets()
{
	local lines total mapped
	prepare
	# An earlier case may have let the policy move chunks.
	msg pause
	move 0 8 0
	move 8 4 1
	for buckets in 1 2 10 700 731; do
		lines=$(msg heat 0 731 "$buckets")
		total=$(awk '{ n += $2 } END { print n }' <<<"$lines")
		mapped=$(awk '{ n += $3 } END { print n }' <<<"$lines")
		same 731 "$total" "chunks in $buckets buckets"
		same 12 "$mapped" "mapped chunks in $buckets buckets"
		is "$(wc -l <<<"$lines") <= $buckets"
		awk -v n=0 '$1 != n { exit 1 } { n += $2 }' <<<"$lines" ||
			fail "buckets do not follow each other: $lines"
		awk 'NF != 8 || $3 != $7 + $8 { exit 1 }' <<<"$lines" ||
			fail "mapped is not the sum over ranks: $lines"
	done
	lines=$(msg heat 6 4 4)
	same "6 7 8 9" "$(awk '{ print $1 }' <<<"$lines" | xargs)" "first chunks"
	same "1 1 0 0" "$(awk '{ print $7 }' <<<"$lines" | xargs)" "on rank 0"
	same "0 0 1 1" "$(awk '{ print $8 }' <<<"$lines" | xargs)" "on rank 1"
	msg heat 0 3 4096 >/dev/null
}
test_case "heat in buckets" heat_buckets

heat_counts()
{
	prepare
	before=$(msg heat 2 1 1 | awk '{ print $4, $5 }')
	io check "$dev" at="$(at_chunk 2)" len=64k block=4k seed=1
	wait_for 20 hotter
}
hotter()
{
	local w
	read -ra w <<<"$(msg heat 2 1 1)"
	[ "${w[3]}" -gt "${before% *}" ]
}
test_case "reads make a chunk's count rise" heat_counts

run_tests
