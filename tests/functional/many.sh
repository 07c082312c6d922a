#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=900: the clock of a steady guest runs ahead (ci/guest/run)
# steady: it measures speed
#
# A set of four million chunks, of which a few are mapped: what is asked of a few does not take
# the time of all.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

chunks=$((4 * 1024 * 1024))
last=$((chunks - 1))

many_chunks()
{
	disk meta 128
	disk fast 64
	disk slow $((chunks / 16 + 64))
	length=$((chunks * chunk))
	activate
	write_chunks "$last" 1 1
	# The mover has looked at all chunks.
	wait_for 30 settled
	nap 3
}

# moves_within MS RANK MESSAGE...: the last chunk is on that tier soon after the message
moves_within()
{
	local ms=$1 rank=$2 start us
	shift 2
	start=${EPOCHREALTIME/./}
	msg "$@"
	until chunk_info "$last" && [ "${C[rank]}" = "$rank" ]; do
		us=$((${EPOCHREALTIME/./} - start))
		[ $((us / 1000)) -lt 20000 ] || fail "$*: did not move"
		nap 0.01
	done
	us=$((${EPOCHREALTIME/./} - start))
	note "$*: moved after $((us / 1000)) ms"
	[ $((us / 1000)) -lt $((ms * patience)) ] || fail "$*: took $((us / 1000)) ms"
}

found_soon()
{
	local patience=1
	many_chunks
	moves_within 700 1 pin "$last" 1 1
	moves_within 700 0 pin "$last" 1 0
	moves_within 700 1 evacuate 0
	moves_within 700 0 admit 0
	msg unpin "$last" 1
	moves_within 1000 1 migrate 0 "$chunks" 1
	check_chunks "$last" 1 1
	msg heat 0 "$chunks" 4 >"$tmp/heat"
	same "0 1048576 2097152 3145728" "$(awk '{ print $1 }' "$tmp/heat" | xargs)" "parts of heat"
}
test_case "a pin, an evacuation and a request find one chunk of four million" found_soon

# The message of many chunks is under way.
pins_some() { [ "$(info pinned)" -gt 0 ]; }
pins_more() { [ "$(info pinned)" -gt "$before" ]; }

# A message that changes many chunks does not hold up others, nor a suspend.
gives_way()
{
	local start before pid rc=0
	many_chunks
	background dmsetup message "$set" 0 pin 0 "$chunks" 1
	pid=$last_pid
	wait_for 10 pins_some
	kill -0 "$pid" || fail "the pin of all chunks is done already"
	status
	is "S[pinned] < $chunks"
	start=${EPOCHREALTIME/./}
	suspend
	note "suspend: $(((${EPOCHREALTIME/./} - start) / 1000)) ms"
	wait "$pid" || rc=$?
	[ "$rc" != 0 ] || fail "the suspend waited for the pin"
	status
	is "S[pinned] > 0 && S[pinned] < $chunks"
	before=${S[pinned]}
	resume
	# What was pinned is durable.
	deactivate
	activate
	same "$before" "$(info pinned)" "pinned"

	background dmsetup message "$set" 0 pin 0 "$chunks" 0
	pid=$last_pid
	wait_for 10 pins_more
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null || true
	status
	note "pinned: $before, and ${S[pinned]} after the second pin was killed"
	is "S[pinned] < $chunks"
	wait_for 10 all_on_rank "$last" 1 0
	check_chunks "$last" 1 1
}
test_case "a pin of four million chunks holds nothing up and can be killed" gives_way

run_tests
