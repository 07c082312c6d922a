#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=1200
# shellcheck disable=SC2317	# the cases are called by name
#
# A commit fails, in every place and in every way: before the superblock is written, after it,
# for a moment or for good. Undecided changes wait until the superblock has been read back. Then
# the set is ro with needs_check, or has failed; from then on the status agrees with the disk.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
turns=3
# shellcheck source=lib-faults.sh
. "$(dirname "$0")/lib-faults.sh"

event_seen() { [ "$(events)" -gt "$1" ]; }

# begin: makes a set and counts its events from here
begin()
{
	length=$((200 * 128))
	make_faulty
	before=$(events)
}

# end_case FAULT: checks how the set works now, and that an activation brings it back
end_case()
{
	wait_for 10 event_seen "$before"
	mode_works "$1"
	comes_back "$1"
}

# ---- migration

writer_waits()
{
	check_chunks 0 1 1
	check_chunks 15 1 1
	later write_chunks 0 1 2
	nap 0.3
	still_waiting "a write to the chunk that moved"
	io_fails 11 io write "$dev" at=0 len=4k seed=9 flags=nowait
}

migration()
{
	local rank=0 seed=1
	begin
	provoke() { msg migrate 0 1 1; }
	fail_commit "$1" writer_waits
	if comes_true "$1"; then rank=1; fi
	case $(mode_after "$1") in
	Fail) ;;
	*)
		same 0 "$(later_status)" "the write that waited"
		seed=2
		all_on_rank 0 1 "$rank" || fail "chunk 0 is not on rank $rank"
		check_chunks 0 1 2 ;;
	esac
	end_case "$1"
	all_on_rank 0 1 "$rank" || fail "chunk 0 is not on rank $rank after an activation"
	check_chunks 0 1 "$seed"
	check_chunks 1 19 1
}

# ---- first write

sync_waits()
{
	later io sync "$dev"
	check_chunks 30 1 3
	nap 0.3
	still_waiting "a FLUSH"
}

first_write()
{
	local status=5 seed=0
	begin
	# The write itself needs no commit; the timer commits within a second.
	provoke() { write_chunks 30 1 3; }
	fail_commit "$1" sync_waits
	if comes_true "$1"; then status=0 seed=3; fi
	case $(mode_after "$1") in
	Fail) ;;
	*)
		same "$status" "$(later_status)" "the FLUSH that waited"
		check_chunks 30 1 3
		if [ "$status" = 0 ]; then
			io sync "$dev"
			write_chunks 30 1 3 flags=fua
		else
			io_fails 5 io sync "$dev"
			io_fails 5 write_chunks 30 1 3 flags=fua
		fi ;;
	esac
	end_case "$1"
	check_chunks 30 1 "$seed"
	check_chunks 0 20 1
	io sync "$dev"
}

fua_waits()
{
	nap 0.3
	still_waiting "a FUA write"
}

first_fua()
{
	local seed=0
	begin
	provoke() { later write_chunks 30 1 3 flags=fua; }
	fail_commit "$1" fua_waits
	if comes_true "$1"; then
		seed=3
		same 0 "$(later_status)" "the FUA write"
	else
		same 5 "$(later_status)" "the FUA write"
	fi
	end_case "$1"
	check_chunks 30 1 "$seed"
	check_chunks 0 20 1
}

# ---- discard

discard_waits()
{
	nap 0.3
	still_waiting "a discard"
	check_chunks 1 19 1
}

discard()
{
	local seed=1
	begin
	provoke() { later discard_chunks 0 1; }
	fail_commit "$1" discard_waits
	if comes_true "$1"; then
		seed=0
		same 0 "$(later_status)" "the discard"
	else
		later_failed "a discard that did not happen succeeded"
	fi
	case $(mode_after "$1") in
	Fail) ;;
	*) check_chunks 0 1 "$seed" ;;
	esac
	end_case "$1"
	check_chunks 0 1 "$seed"
	check_chunks 1 19 1
}

# Writes to a chunk that is being discarded wait, reads show its data. The commit fails, and the
# chunk is as before.
write_meanwhile()
{
	background io write "$dev" at=0 len=4k seed=7
	write_pid=$last_pid
	# Through another device: a device with a discard in flight makes other ioctls wait.
	background blkdiscard -f -z -o 8k -l 4k /dev/mapper/tt_over
	zeroes_pid=$last_pid
	nap 0.3
	kill -0 "$write_pid" || fail "a write did not wait for the discard"
	kill -0 "$zeroes_pid" || fail "write-zeroes did not wait for the discard"
	io_fails 11 io write "$dev" at=16k len=4k seed=9 flags=nowait
	check_chunks 0 20 1
	# What is being discarded was not acknowledged.
	io sync "$dev"
}

discard_then_write()
{
	begin
	wrap over "0 $length linear $dev 0"
	provoke() { later discard_chunks 0 1; }
	fail_commit old_writes write_meanwhile
	later_failed "a discard that did not happen succeeded"
	wait "$write_pid" || fail "a write that waited for the discard failed"
	wait "$zeroes_pid" || fail "write-zeroes that waited for the discard failed"
	remove tt_over
	io sync "$dev"
	end_case old_writes
	io check "$dev" at=0 len=4k seed=7
	io check "$dev" at=4k len=4k seed=1
	io check "$dev" at=8k len=4k seed=0
	io check "$dev" at=12k len=52k seed=1
	check_chunks 1 19 1
}

# The chunk is not committed, and never will be: nothing wakes the discard but the failed commit.
discard_new()
{
	begin
	provoke()
	{
		write_chunks 30 1 3
		later discard_chunks 30 1
	}
	fail_commit old_writes discard_waits
	later_failed "a discard of a chunk that was not committed succeeded"
	end_case old_writes
	check_chunks 0 20 1
}

# ---- a new activation, in the device of the failed set

failed_then_activated()
{
	begin
	provoke() { write_chunks 30 1 3; }
	fail_commit never
	# Another list needs the metadata. The chunks that were not committed are dropped with
	# the old table.
	tiers=("$slow" "$fast")
	load
	fails resume
	resume
	mode_is rw || fail "mode is $(mode_now) after an activation"
	check_chunks 0 20 1
	check_chunks 30 1 0
	write_chunks 30 1 4
	io_fails 5 io sync "$dev"
	io sync "$dev"
	msg pin 5 2 0
	deactivate
	activate
	check_chunks 0 20 1
	check_chunks 30 1 4
}

# ---- messages

# If metadata cannot be read before the first change, nothing is changed.
unread()
{
	begin
	# What an activation has read it does not keep.
	deactivate
	activate
	meta_dead
	fails msg pin 5 2 0
	fails msg set migration_depth 9
	fails msg reserve_metadata_snap
	meta_good
	mode_is rw || fail "mode is $(mode_now)"
	msg pin 5 2 0
	write_chunks 30 1 3
	io sync "$dev"
	deactivate
	! recorded_check || fail "needs_check"
	activate
	same 2 "$(status; echo "${S[pinned]}")" "pinned chunks"
	check_chunks 0 20 1
	check_chunks 30 1 3
}

message_waits()
{
	nap 0.3
	still_waiting "a message"
	check_chunks 0 20 1
}

# message FAULT FIELD BEFORE WORD...: FIELD of the status is unchanged, or changed, now and after
# an activation; BEFORE are messages to send first, separated by commas
message()
{
	local fault=$1 field=$2 first first_ones old changed=''
	IFS=, read -ra first_ones <<<"$3"
	shift 3
	begin
	for first in "${first_ones[@]}"; do
		# shellcheck disable=SC2086	# several words
		msg $first
	done
	before=$(events)
	old=$(field "$field")
	words=("$@")
	provoke() { later msg "${words[@]}"; }
	fail_commit "$fault" message_waits
	if comes_true "$fault"; then
		changed=1
		# For a snapshot either answer is right.
		[[ $1 = *_metadata_snap ]] || same 0 "$(later_status)" "the message"
	else
		later_failed "a message that was not stored succeeded"
	fi
	case $(mode_after "$fault") in
	Fail) ;;
	*) field_is "$field" "$old" "$changed" "at once" ;;
	esac
	end_case "$fault"
	field_is "$field" "$old" "$changed" "after an activation"
	check_chunks 0 20 1
}
field()
{
	status
	case $1 in
	*.*|migration_*) echo "${V[$1]}" ;;
	*) echo "${S[$1]}" ;;
	esac
}
# field_is FIELD OLD CHANGED WHEN
field_is()
{
	local now
	now=$(field "$1")
	if [ -n "$3" ]; then
		[ "$now" != "$2" ] || fail "$1 is still $2 $4"
	else
		same "$2" "$now" "$1 $4"
	fi
}

# ---- suspend and deactivation

suspend_waits()
{
	nap 0.3
	still_waiting "suspend"
}

suspended()
{
	begin
	provoke() { later dmsetup suspend "$set"; }
	fail_commit "$1" suspend_waits
	same 0 "$(later_status)" "suspend"
	resume
	end_case "$1"
	check_chunks 0 20 1
}

# Nothing fails, but a commit takes long.
suspended_meanwhile()
{
	begin
	hold mid write
	msg migrate 0 1 1
	wait_for 30 in_flight write mid
	later dmsetup suspend "$set"
	suspend_waits
	hold mid none
	same 0 "$(later_status)" "suspend"
	status
	same "rw - 0" "${S[mode]} ${S[check]} ${S[in_flight]}" "mode, check, in flight"
	all_on_rank 0 1 1 || fail "what was committed did not happen"
	resume
	check_chunks 0 20 1
	deactivate
	activate
	all_on_rank 0 1 1 || fail "what was committed is lost"
	check_chunks 0 20 1
}

# The set is gone with the device; the next activation finds its last state.
deactivated()
{
	local want=rw
	make_faulty
	provoke() { later dmsetup remove --retry "$set"; }
	# No device is left to ask for the mode.
	mode_is() { later_done; }
	fail_commit "$1" suspend_waits
	same 0 "$(later_status)" "remove"
	unset -f mode_is
	mode_is() { [ "$(mode_now)" = "$1" ]; }
	! recorded_check || want=needs_check
	case $1 in
	old_*|new) same needs_check "$want" "what the disk says of needs_check" ;;
	esac
	activate
	mode_is "$want" || fail "mode is $(mode_now), the disk says $want"
	check_chunks 0 20 1
}

for fault in $faults; do
	test_case "migration: $fault" migration "$fault"
done
for fault in $faults; do
	test_case "first write: $fault" first_write "$fault"
done
for fault in $faults; do
	test_case "first write with FUA: $fault" first_fua "$fault"
done
for fault in $faults; do
	test_case "discard: $fault" discard "$fault"
done
test_case "discard that does not happen, and writes meanwhile" discard_then_write
test_case "discard of a new chunk whose commit fails" discard_new
test_case "the set has failed, and is activated in the same device" failed_then_activated
test_case "messages while the metadata cannot be read" unread
for fault in old_writes new never; do
	test_case "message pin: $fault" message "$fault" pinned "" pin 5 2 0
	test_case "message set: $fault" message "$fault" migration_depth "" set migration_depth 9
	test_case "message set of a tier: $fault" message "$fault" tier1.reserve "" \
		set tier1.reserve 5
	test_case "message pause: $fault" message "$fault" running "" pause
	test_case "message evacuate: $fault" message "$fault" state0 "" evacuate 0
	test_case "message reserve_metadata_snap: $fault" message "$fault" held "" \
		reserve_metadata_snap
done
for fault in old_writes new; do
	test_case "message unpin: $fault" message "$fault" pinned "pin 5 2 0" unpin 5 2
	test_case "message admit: $fault" message "$fault" state0 "pause,evacuate 0" admit 0
	test_case "message release_metadata_snap: $fault" message "$fault" held \
		reserve_metadata_snap release_metadata_snap
done
test_case "suspend: while a commit is under way" suspended_meanwhile
for fault in $faults; do
	test_case "suspend: $fault" suspended "$fault"
	test_case "deactivation: $fault" deactivated "$fault"
done

run_tests
