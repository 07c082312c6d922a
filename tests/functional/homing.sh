#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=300
#
# The message revert: all chunks move to their own places on one tier, and stay there.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# 240 places on fast (16 to 255), 496 on slow (16 to 511): chunks 16 to 511 have their own places
# there.
first=16
homes=496

# at_home CHUNK: the chunk is mapped, and in its own place
at_home()
{
	chunk_info "$1"
	same "1 $1" "${C[rank]} ${C[place]}" "rank and place of chunk $1"
}

make_reverting()
{
	make_disks
	length=$((512 * chunk))
	activate
}

everything()
{
	local v
	make_reverting
	write_chunks 0 40 1
	write_chunks 100 100 2
	write_chunks 500 12 3
	msg pin 20 4 0
	msg revert 1
	same paused "$(info running)" "migration"
	msg migrate "$first" "$homes" 1 home
	wait_for 120 all_on_rank "$first" "$homes" 1
	wait_for 10 settled
	for v in 16 20 39 40 99 100 199 200 499 511; do at_home "$v"; done
	# Chunks that were not mapped read as before.
	check_chunks 0 40 1
	check_chunks 100 100 2
	check_chunks 500 12 3
	io check "$dev" at="$(at_chunk 40)" len="$(at_chunk 60)" seed=0
	io check "$dev" at="$(at_chunk 200)" len="$(at_chunk 300)" seed=0
	# Pins are not followed, and discarded chunks stay mapped.
	nap 2
	at_home 20
	discard_chunks 30 4
	at_home 30
	# Now the tier alone holds all data.
	suspend
	io check "$slow" at="$(at_chunk 100)" len="$(at_chunk 100)" seed=2
	io check "$slow" at="$(at_chunk 500)" len="$(at_chunk 12)" seed=3
	io check "$slow" at="$(at_chunk 200)" len="$(at_chunk 300)" seed=0
	resume
	msg revert off
	same running "$(info running)" "migration"
	wait_for 60 all_on_rank 20 4 0
	# After the revert whole chunks are unmapped by a discard again.
	discard_chunks 30 4
	chunk_info 30
	same unmapped "${C[state]}"
}
test_case "everything goes home, and what is not mapped, too" everything

first_writes()
{
	make_reverting
	msg revert 1
	write_chunks 50 3 4
	for v in 50 51 52; do at_home "$v"; done
	# The own place of 60 is taken, and that of 3 is in the label area.
	msg revert off
	msg set tier0.landing 0
	write_chunks 200 1 5
	chunk_info 200
	taken=${C[place]}
	msg revert 1
	write_chunks "$taken" 1 6
	chunk_info "$taken"
	[ "${C[rank]} ${C[place]}" != "1 $taken" ] || fail "two chunks on one place"
	write_chunks 3 1 7
	check_chunks "$taken" 1 6
	check_chunks 3 1 7
	check_chunks 200 1 5
	# The chunk in that place moves away.
	msg migrate "$first" "$homes" 1 home
	wait_for 120 all_on_rank "$first" "$homes" 1
	wait_for 10 settled
	at_home "$taken"
	at_home 200
	check_chunks "$taken" 1 6
	check_chunks 200 1 5
}
test_case "first writes land at home" first_writes

under_load()
{
	make_reverting
	io write "$dev" at=0 len=8m seed=1
	background io torture "$dev" at=8m len=12m chunk=64k seconds=600 seed=7 model="$tmp/model"
	pid=$last_pid
	nap 2
	msg revert 1
	for round in 1 2 3 4 5; do
		msg migrate "$first" "$homes" 1 home
		wait_for 120 all_on_rank "$first" "$homes" 1
	done
	nap 3
	same "$homes" "$(on_rank "$first" "$homes" 1)" "chunks at home under load"
	kill -TERM "$pid"
	wait "$pid"
	io recheck "$dev" at=8m len=12m model="$tmp/model"
	io check "$dev" at=0 len=8m seed=1
	# Shows that no place is off by one
	for v in 130 200 280; do at_home "$v"; done
}
test_case "while it is written" under_load

words()
{
	local event
	make_disks
	length=$((200 * chunk))
	activate
	refused "'2' is not the rank" msg revert 2
	refused "'on' is not the rank" msg revert on
	refused "wrong number" msg revert
	# An event follows the message that the tier is empty, although it was empty from the start.
	event=$(dmsetup info -c --noheadings -o events "$set")
	msg evacuate 1
	timeout 10 dmsetup wait "$set" "$event" || fail "no event when the evacuation had finished"
	refused "evacuated or failing" msg revert 1
	msg admit 1
	msg revert 1
	refused "all goes to tier 1" msg evacuate 1
	refused "all goes to tier 1" msg evacuate 0
	msg revert off
	msg revert off
	# The message is not stored
	msg revert 1
	deactivate
	activate
	same running "$(info running)" "migration"
}
test_case "words" words

run_tests
