#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
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
}
test_case "a pin, an evacuation and a request find one chunk of four million" found_soon

run_tests
