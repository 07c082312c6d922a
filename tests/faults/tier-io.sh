#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
#
# Errors of a tier: only the I/O that met an error fails; the status shows it; after a write
# error nothing is placed on the tier until `admit`. If a tier is lost while the set runs, only
# its own chunks are lost.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=lib-faults.sh
. "$(dirname "$0")/lib-faults.sh"

failed_are() { [ "$(info failed)" = "$1" ]; }
event_after() { timeout $((10 * patience)) dmsetup wait "$set" "$1" || fail "no event"; }

# bad_piece CHUNK BYTE: makes the 4 KiB there bad; sets bad
bad_piece()
{
	chunk_info "$1"
	bad=$((C[place] * chunk + $2 / 512))
	if [ "${C[rank]}" = 0 ]; then bad_disk=$fast; else bad_disk=$slow; fi
	bad_sectors "$bad_disk" "$bad" 8
}
mend() { good_sectors "$bad_disk" "$bad" 8; }

# ---- the application's own I/O

read_error()
{
	make_set
	write_chunks 0 20 1
	before=$(events)
	bad_piece 3 8192
	io_fails 5 io check "$dev" at=$(($(at_chunk 3) + 8192)) len=4k block=4k seed=1
	io check "$dev" at="$(at_chunk 3)" len=8k block=4k seed=1
	io check "$dev" at=$(($(at_chunk 3) + 12288)) len=53248 block=4k seed=1
	check_chunks 0 3 1
	check_chunks 4 16 1
	event_after "$before"
	status
	same F "${S[state0]}" "state"
	same A "${S[state1]}" "state of the other"
	same 1 "${S[errors0]}" "errors"
	same rw "${S[mode]}" "mode"
	# Only a write error closes a tier.
	write_chunks 30 2 2
	all_on_rank 30 2 0 || fail "a read error keeps new chunks off"
	io sync "$dev"
	msg admit 0
	same A "$(info state0)" "state after admit"
	# Another error is shown again.
	before=$(events)
	io_fails 5 io check "$dev" at=$(($(at_chunk 3) + 8192)) len=4k block=4k seed=1
	event_after "$before"
	same F "$(info state0)" "state after another error"
	mend
	check_chunks 0 20 1
}
test_case "a read error fails that read alone" read_error

write_error()
{
	make_set
	write_chunks 0 20 1
	move 10 10 1
	before=$(events)
	bad_piece 3 8192
	io_fails 5 io write "$dev" at=$(($(at_chunk 3) + 8192)) len=4k block=4k seed=2
	event_after "$before"
	status
	same F "${S[state0]}" "state"
	# udev may have read the bad place, too.
	is 'S[errors0] >= 1'
	# Chunks on the tier are read and written as before.
	write_chunks 0 3 2
	write_chunks 4 6 2
	io write "$dev" at="$(at_chunk 3)" len=8k block=4k seed=2
	check_chunks 0 3 2
	check_chunks 4 6 2
	# No new place on the tier: not for a first write, a message, a pin.
	write_chunks 30 4 3
	all_on_rank 30 4 1 || fail "first writes on a tier with a write error"
	refused 'tier' msg migrate 10 1 0
	msg pin 10 1 0
	nap 2
	all_on_rank 10 10 1 || fail "a pin moved a chunk to a tier with a write error"
	# Chunks on the tier can leave.
	move 5 1 1
	check_chunks 5 1 2
	mend
	msg admit 0
	same A "$(info state0)" "state after admit"
	wait_for 20 all_on_rank 10 1 0
	write_chunks 40 1 4
	all_on_rank 40 1 0 || fail "first write not on fast after admit"
	check_chunks 10 10 1
}
test_case "a write error fails that write alone and closes the tier" write_error

# Free places of a closed tier are no room for an evacuation of another tier.
evacuate_to_closed()
{
	length=$((100 * chunk))
	make_wrapped
	tier a writes
	io_fails 5 write_chunks 0 1 1
	tier a good
	same F "$(info state0)" "state"
	refused 'places needed, 0 there' msg evacuate 1
	msg admit 0
	msg evacuate 1
	wait_for 20 all_on_rank 10 10 0
	check_chunks 1 19 1
}
test_case "evacuate, where the other tier is closed by a write error" evacuate_to_closed

# The state belongs to the activation: the next activation uses the tier again.
write_error_activation()
{
	make_set
	write_chunks 0 4 1
	bad_piece 3 0
	io_fails 5 io write "$dev" at="$(at_chunk 3)" len=4k block=4k seed=2
	reload
	same F "$(info state0)" "state after a reload"
	mend
	deactivate
	activate
	same A "$(info state0)" "state after an activation"
	check_chunks 0 3 1
}
test_case "F lasts over a reload, not over an activation" write_error_activation

# The place that the next first write takes, of chunk 4, has bad sectors at 8 KiB.
make_bad_place()
{
	make_set
	write_chunks 0 4 1
	io sync "$dev"
	chunk_info 3
	bad=$(((C[place] + 1) * chunk + 16)) bad_disk=$fast
	bad_sectors "$fast" "$bad" 8
}

# first_write BYTES
first_write()
{
	make_bad_place
	io write "$dev" at="$(at_chunk 4)" len="$1" seed=2
	io sync "$dev"
	all_on_rank 4 1 1 || fail "the first write did not go to the other tier"
	io check "$dev" at="$(at_chunk 4)" len="$1" seed=2
	same F "$(info state0)" "state"
	same 5 "$(info mapped)" "mapped"
	same 4 "$(info used0)" "places used: the bad one was given back"
	deactivate
	activate
	check_chunks 0 4 1
	io check "$dev" at="$(at_chunk 4)" len="$1" seed=2
}
test_case "a first write of a whole chunk tries another tier" first_write 64k

# The rest of a new chunk cannot be zeroed: what was written stays, but is not durable.
zeroing_fails()
{
	make_bad_place
	io write "$dev" at="$(at_chunk 4)" len=4k seed=2
	io_fails 5 io sync "$dev"
	same F "$(info state0)" "state"
	rest_reads 2
	io write "$dev" at="$(at_chunk 4)" len=4k seed=3
	io_fails 5 io sync "$dev"
	rest_reads 3
	write_chunks 5 1 1
	all_on_rank 5 1 1 || fail "the next first write did not go to the other tier"
	mend
	msg admit 0
	io sync "$dev"
	deactivate
	activate
	same 0 "$(chunk_info 4 && echo "${C[rank]}")" "rank"
	rest_reads 3
	check_chunks 0 4 1
	check_chunks 5 1 1
}
# rest_reads SEED
rest_reads()
{
	io check "$dev" at="$(at_chunk 4)" len=4k seed="$1"
	io check "$dev" at=$(($(at_chunk 4) + 4096)) len=60k seed=0 block=4k
}
test_case "a new chunk whose rest cannot be zeroed" zeroing_fails

# Both devices split the write in the middle of the place. The first device fails the second
# half, the other has done the first half long before.
first_write_in_pieces()
{
	local mid=$((2048 + chunk / 2)) size
	make_disks
	size=$(sectors_of "$fast")
	wrap a "0 $mid linear $fast 0"$'\n'"$mid $((size - mid)) error"
	size=$(sectors_of "$slow")
	wrap b "0 $mid linear $slow 0"$'\n'"$mid $((size - mid)) delay $slow $mid 500"
	tiers=(/dev/mapper/tt_a /dev/mapper/tt_b)
	activate
	io write "$dev" at=0 len=64k block=64k seed=2
	same "1 1" "$(info mapped) $(info used1)" "mapped, and on the other tier"
	same F "$(info state0)" "state"
	io sync "$dev"
	deactivate
	activate
	check_chunks 0 1 2
}
test_case "a first write that devices split tries another tier" first_write_in_pieces

# A tier has grown, which is written to the labels, and one label cannot be written: the set
# works on.
grown_unlabelled()
{
	local size places
	make_disks
	size=$(sectors_of "$slow")
	wrap b "0 $((size - 4096)) linear $slow 0"
	tiers=("$fast" /dev/mapper/tt_b)
	activate
	places=$(info places1)
	write_chunks 0 20 1
	become "0 16 flakey $slow 0 0 1 1 error_writes"$'\n'"16 $((size - 16)) linear $slow 16"
	klog_has 'Tier 1 .*: cannot write the label' || fail "the label could be written"
	same "rw $places" "$(info mode) $(info places1)" "mode and places"
	check_chunks 0 20 1
	write_chunks 20 5 1
	io sync "$dev"
	become "0 $size linear $slow 0"
	[ "$(info places1)" -gt "$places" ] || fail "the tier has not grown"
	check_chunks 0 25 1
	deactivate
	activate
	check_chunks 0 25 1
}
# become TABLE: loads another table for the tier while the set is suspended
become()
{
	suspend
	dmsetup load tt_b --table "$1"
	dmsetup suspend tt_b
	dmsetup resume tt_b
	resume
}
test_case "a tier that grew and takes no label stays as it was" grown_unlabelled

# Both tiers are closed: there is no room, and the error says so.
no_tier_left()
{
	make_wrapped
	tier a writes
	tier b writes
	io_fails 28 write_chunks 30 1 1
	status
	same FF "${S[state0]}${S[state1]}" "states"
	same rw "${S[mode]}" "mode"
	same 20 "${S[mapped]}" "mapped"
	check_chunks 0 20 1
	io_fails 5 write_chunks 0 1 2
	tier a good
	tier b good
	io_fails 28 write_chunks 30 1 1
	msg admit 1
	write_chunks 30 1 1
	all_on_rank 30 1 1 || fail "not on the tier that was admitted"
	io sync "$dev"
	check_chunks 1 19 1
}
test_case "write errors on all tiers: ENOSPC for first writes, until admit" no_tier_left

# ---- flushes

flush_error()
{
	make_wrapped
	write_chunks 30 2 2
	tier a flushes
	write_chunks 30 2 2
	io_fails 5 io sync "$dev"
	io_fails 5 io sync "$dev"
	check_chunks 0 20 1
	check_chunks 30 2 2
	io_fails 5 write_chunks 30 1 2 flags=fua
	status
	same F "${S[state0]}" "state"
	same rw "${S[mode]}" "mode"
	write_chunks 10 2 3
	write_chunks 40 2 4
	all_on_rank 40 2 1 || fail "first writes on a tier that cannot flush"
	tier a good
	# The first FLUSH may report a flush by the set itself that failed.
	io sync "$dev" || io sync "$dev"
	msg admit 0
	deactivate
	activate
	check_chunks 0 10 1
	check_chunks 10 2 3
	check_chunks 30 2 2
	check_chunks 40 2 4
}
test_case "a tier that cannot flush fails the FLUSH until it can" flush_error

# A flush by the set itself, which no FLUSH asked for, covered a write, and failed.
flush_error_told()
{
	make_wrapped
	io sync "$dev"
	tier a flushes
	write_chunks 3 1 2
	write_chunks 40 1 2
	wait_for 20 closed 0
	tier a good
	wait_for 20 committed 40
	io_fails 5 io sync "$dev"
	io sync "$dev"
	check_chunks 3 1 2
	check_chunks 40 1 2
}
test_case "a flush that failed by itself fails the next FLUSH" flush_error_told

# The flush at the end of a move to a tier fails, and a write that ended meanwhile may be lost
# with it: an overwrite, or a first write. The flush fails once; later flushes succeed.
flush_error_meanwhile()
{
	local below=/dev/mapper/tt_f size
	disk meta 4
	disk fast 16 cache_size=4
	disk slow 32 cache_size=4
	size=$(sectors_of "$fast")
	wrap f "$(tier_table good "$fast")"
	wrap a "0 $size linear $below 0"
	tiers=("$a" "$slow")
	activate
	write_chunks 0 20 1
	move 10 10 1
	io sync "$dev"
	swap a "0 $size delay $below 0 0 $below 0 0 $below 0 $held_ms"
	msg migrate 10 1 0
	wait_for 30 flush_held
	write_chunks "$1" 1 2
	swap f "$(tier_table flushes "$fast")"
	dmsetup load tt_a --table "0 $size linear $below 0"
	dmsetup suspend --noflush --nolockfs tt_a
	swap f "$(tier_table good "$fast")"
	dmsetup resume --noudevsync tt_a
	wait_for 30 closed 0
	io_fails 5 io sync "$dev"
	io sync "$dev"
	wait_for 20 settled
	all_on_rank 10 1 1 || fail "the move took place"
	check_chunks "$1" 1 2
	check_chunks 4 16 1
}
test_case "a write that ended while a flush was under way that failed" flush_error_meanwhile 3
test_case "a first write that ended while a flush was under way that failed" flush_error_meanwhile 40

# New chunks are not in the metadata, however often the FLUSH is repeated.
flush_error_read_only()
{
	local i
	make_wrapped
	io sync "$dev"
	tier a flushes
	write_chunks 40 1 2
	features=(read_only)
	reload
	for i in {1..6}; do
		io_fails 5 io sync "$dev"
		sleep 0.5
	done
	tier a good
	features=()
	reload
	io sync "$dev" || io sync "$dev"
	deactivate
	activate
	check_chunks 40 1 2
}
test_case "a read-only table over new chunks that no flush has covered" flush_error_read_only

# A part of the copy was in the tier's cache when another flush failed; an admit since does not
# bring that part back.
flush_error_before()
{
	chunk=16384
	disk meta 4
	disk fast 64 cache_size=4
	disk slow 64 cache_size=4
	wrap a "$(tier_table good "$fast")"
	wrap b "$(tier_table good "$slow")"
	tiers=("$a" "$b")
	activate
	# The first move uses up the bandwidth saved up; the second move is held half-way.
	msg set migration_bandwidth $((1024 / patience))
	write_chunks 0 2 1 block=1m
	move 1 1 1
	io sync "$dev"
	msg migrate 0 1 1
	nap 1
	swap a "0 $(sectors_of "$fast") delay $fast 0 60000 $fast 0 0"
	wait_for 20 in_flight read a
	tier b flushes
	io write "$dev" at="$(at_chunk 1)" len=4k seed=2
	io_fails 5 io sync "$dev"
	tier b good
	msg admit 1
	same 1 "$(info in_flight)" "moves under way"
	tier a good
	wait_for 40 settled
	all_on_rank 0 1 0 || fail "the move took place"
	same 1 "$(info failed)" "moves that failed"
	io check "$dev" at=0 len=8m seed=1 block=1m
}
test_case "a copy does not end on a flush that follows one that failed" flush_error_before

flush_error_copy()
{
	make_wrapped
	tier b flushes
	msg migrate 0 3 1
	# The first failed flush closes the tier, which ends the other moves.
	wait_for 20 closed 1
	wait_for 10 settled
	[ "$(info failed)" -gt 0 ] || fail "no move failed"
	same 3 "$(on_rank 0 3 0)" "chunks still on fast"
	check_chunks 0 20 1
	chunk_info 0
	matches '^(io_error|tier_unusable)$' "${C[reason]}" "reason"
	tier b good
	msg admit 1
	move 0 3 1
	io sync "$dev"
	check_chunks 0 20 1
}
test_case "a copy whose flush fails leaves the chunk where it was" flush_error_copy

# The flush that a new chunk needs for its commit takes longer than the commit timer, then fails.
# Nobody asks for another flush, and the set sends one.
flush_error_late()
{
	local below=/dev/mapper/tt_f size
	disk meta 4
	disk fast 16 cache_size=4
	disk slow 32
	size=$(sectors_of "$fast")
	wrap f "$(tier_table good "$fast")"
	wrap a "0 $size linear $below 0"
	tiers=("$a" "$slow")
	activate
	swap a "0 $size delay $below 0 0 $below 0 0 $below 0 $held_ms"
	write_chunks 3 1 1
	wait_for 30 flush_held
	nap 3
	swap f "$(tier_table flushes "$fast")"
	chunk_info 3
	same new "${C[state]}" "state while the flush is held"
	swap a "0 $size linear $below 0"
	wait_for 30 closed 0
	swap f "$(tier_table good "$fast")"
	wait_for 30 committed 3
	deactivate
	activate
	check_chunks 3 1 1
}
flush_held()
{
	local _ flushes
	read -r _ _ _ _ _ flushes < <(dmsetup status tt_a)
	[ "$flushes" -gt 0 ]
}
closed() { [ "$(info "state$1")" = F ]; }
committed()
{
	chunk_info "$1"
	[ "${C[state]}" = mapped ]
}
test_case "a flush that fails late is tried again by itself" flush_error_late

# ---- copies

copy_read_error()
{
	make_set
	write_chunks 0 10 1
	bad_piece 3 8192
	msg migrate 0 10 1
	wait_for 20 all_on_rank 4 6 1
	wait_for 20 failed_are 1
	wait_for 10 settled
	same 1 "$(on_rank 3 1 0)" "the chunk that cannot be read is where it was"
	same 9 "$(on_rank 0 10 1)" "the others have moved"
	chunk_info 3
	same io_error "${C[reason]}" "reason"
	status
	same 9 "${S[used1]}" "places used at the destination"
	same AF "${S[state1]}${S[state0]}" "states: only the source is blamed"
	io check "$dev" at="$(at_chunk 3)" len=8k block=4k seed=1
	io_fails 5 io check "$dev" at=$(($(at_chunk 3) + 8192)) len=4k block=4k seed=1
	# A write mends the bad sectors it overwrites, then the chunk can leave.
	mend
	move 3 1 1
	check_chunks 0 10 1
}
test_case "a source with a bad sector: all others move" copy_read_error

copy_write_error()
{
	make_set
	write_chunks 0 10 1
	# The first places of the slow tier; the fourth is bad.
	bad=$(((16 + 3) * chunk + 16)) bad_disk=$slow
	bad_sectors "$slow" "$bad" 8
	core=(migration_depth 1)
	reload
	before=$(events)
	msg migrate 0 10 1
	wait_for 20 failed_are 7
	wait_for 10 settled
	event_after "$before"
	status
	same F "${S[state1]}" "state of the destination"
	same A "${S[state0]}" "state of the source"
	same 3 "${S[used1]}" "places used at the destination"
	same 1 "${S[errors1]}" "errors"
	check_chunks 0 10 1
	chunk_info 3
	same io_error "${C[reason]}" "reason of the chunk that met the error"
	chunk_info 9
	same tier_unusable "${C[reason]}" "reason of those that came after"
	mend
	msg admit 1
	move 0 10 1
	check_chunks 0 10 1
}
test_case "a destination with a bad sector is closed, and all data stays" copy_write_error

# More chunks than the reasons that are remembered: each chunk is tried once.
many_unreadable()
{
	core=(migration_bandwidth 0)
	length=$((140 * chunk))
	make_wrapped
	msg set tier0.landing 0
	write_chunks 30 90 1 block=1m
	io sync "$dev"
	same 100 "$(info used1)" "chunks on slow"
	tier b all
	msg evacuate 1
	wait_for 60 failed_reach 100
	wait_for 10 settled
	nap 3
	same "100 0" "$(info failed) $(info in_flight)" "failed, and in flight"
	chunk_info 10
	same io_error "${C[reason]}" "reason of the first"
	chunk_info 119
	same io_error "${C[reason]}" "reason of the last"
	tier b good
	msg evacuate 1
	wait_for 60 all_left 1
	check_chunks 0 20 1
	check_chunks 30 90 1 block=1m
	same 100 "$(info failed)" "failed"
	chunk_info 10
	same evacuate "${C[reason]}" "reason of the first, which has moved"
}
failed_reach() { [ "$(info failed)" -ge "$1" ]; }
all_left() { [ "$(info "used$1")" = 0 ]; }
test_case "many chunks that cannot be read: an evacuation ends" many_unreadable

# ---- a tier lost while the set runs

lost_running()
{
	local event
	make_wrapped
	event=$(events)
	tier b all
	io_fails 5 check_chunks 10 1 1
	event_after "$event"
	check_chunks 0 10 1
	write_chunks 0 10 2
	io_fails 5 write_chunks 15 1 2
	write_chunks 30 5 2
	all_on_rank 30 5 0 || fail "a first write on the tier that is lost"
	status
	same F "${S[state1]}" "state"
	same rw "${S[mode]}" "mode"
	# The way out: a reload without the tier, while the set is in use.
	io sync "$dev" || note "a FLUSH fails until the lost tier is left out"
	tiers=("$a" -)
	reload
	same - "$(info state1)" "state without the tier"
	io sync "$dev"
	check_chunks 0 10 2
	check_chunks 30 5 2
	io_fails 5 check_chunks 10 1 1
	tier b good
	tiers=("$a" "$b")
	reload
	# The tier still has its errors; nothing is placed there until admit.
	same F "$(info state1)" "state after its return"
	msg admit 1
	same A "$(info state1)" "state after admit"
	check_chunks 0 10 2
	check_chunks 10 5 1
	check_chunks 16 4 1
	move 30 5 1
	io sync "$dev"
}
test_case "a tier is lost while the set runs, left out, and comes back" lost_running

# New chunks on the lost tier that no flush covered: nothing can save them, and no FLUSH has
# confirmed them.
lost_unflushed()
{
	make_wrapped
	msg set tier0.landing 0
	io sync "$dev"
	unflushed b 30 3
	all_on_rank 30 3 1 || fail "first writes not on slow"
	io_fails 5 io sync "$dev"
	tier b all
	io_fails 5 io sync "$dev"
	tiers=("$a" -)
	refused 'tier 1 cannot be flushed; what was first written there would be lost' load
	check_chunks 0 10 1
	# The way out is to deactivate and activate the set.
	deactivate
	activate
	check_chunks 0 10 1
	check_chunks 30 3 0
	io_fails 5 check_chunks 10 1 1
	deactivate
	tier b good
	tiers=("$a" "$b")
	activate
	check_chunks 0 20 1
	check_chunks 30 3 0
}
test_case "a tier is lost with first writes that no flush covered" lost_unflushed

# New chunks cannot leave the tier either, and the evacuation says so; once the tier flushes
# again, the evacuation goes on.
evacuated_unflushed()
{
	length=$((140 * chunk))
	make_wrapped
	msg set tier0.landing 0
	unflushed b 30 3
	io_fails 5 io sync "$dev"
	msg evacuate 1
	wait_for 30 failed_reach 3
	wait_for 30 three_left
	nap 3
	same 3 "$(info failed)" "moves that failed"
	chunk_info 31
	same "new io_error" "${C[state]} ${C[reason]}" "state and reason"
	check_chunks 30 3 2
	tier b good
	wait_for 60 all_left 1
	check_chunks 0 20 1
	check_chunks 30 3 2
	# The failed flush had to be reported, and was.
	io sync "$dev"
	deactivate
	activate
	check_chunks 30 3 2
}
three_left() { [ "$(info used1)" = 3 ]; }
test_case "an evacuation of first writes that no flush covers" evacuated_unflushed

# All tiers are lost.
lost_all()
{
	make_wrapped
	tier a all
	tier b all
	io_fails 5 check_chunks 0 1 1
	io_fails 5 check_chunks 10 1 1
	io_fails 5 write_chunks 0 1 2
	io_fails 5 write_chunks 10 1 2
	# The first tier tried may not have failed a write yet.
	io_fails 28 write_chunks 30 1 1
	status
	same FF "${S[state0]}${S[state1]}" "states"
	tier a good
	tier b good
	msg admit 0
	msg admit 1
	check_chunks 1 9 1
	check_chunks 11 9 1
	write_chunks 30 1 1
	io sync "$dev"
	deactivate
	activate
	check_chunks 1 9 1
	check_chunks 11 9 1
	check_chunks 30 1 1
}
test_case "all tiers fail for a while" lost_all

run_tests
