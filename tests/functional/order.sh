#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# long
#
# Orders that must hold: data before the mapping, the mapping before the next use of a place, the
# commit before a FLUSH ends. Each disk lies below a dm device that can hold I/O for as long as a
# case wants, so that the moment between two steps lasts, or make I/O fail; power cuts drop all
# that was not flushed.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need mkfs.ext4

# udev reads devices that appear and change: its reads would be held, too.
udevadm control --stop-exec-queue 2>/dev/null || true
trap 'udevadm control --start-exec-queue 2>/dev/null || true; on_exit' EXIT
export DM_DISABLE_UDEV=1

# ---- disks that wait

# The lower device of NAME is /dev/tt_NAME; the set uses the upper device:
upper() { echo "/dev/mapper/tt_u_$1"; }

# hold_up NAME reads|writes|flushes; go_on NAME
hold_up()
{
	local name=$1 d=/dev/tt_$1 read=0 write=0 flush=0
	case $2 in
	reads) read=600000 ;;
	writes) write=600000 ;;
	flushes) flush=600000 ;;
	esac
	lower "$name" "0 $(sectors_of "$d") delay $d 0 $read $d 0 $write $d 0 $flush"
}
go_on() { lower "$1" "$(linear_line "$1")"; }

# held_up NAME: NAME holds some I/O
held_up() { holds_io "tt_u_$1"; }

# fail_writes NAME: writes and flushes fail
fail_writes()
{
	lower "$1" "0 $(sectors_of "/dev/tt_$1") flakey /dev/tt_$1 0 0 1000 1 error_writes"
}

# make_small [CACHE]: three small disks, 16 places on fast (from 16), 32 on slow, 46 chunks;
# CACHE is cache_size=0 for tiers without a volatile cache
fast_mib=2 slow_mib=3 chunks=46
make_small()
{
	local name
	disk meta 4 cache_size=4
	disk fast "$fast_mib" "${1:-cache_size=$fast_mib}"
	disk slow "$slow_mib" "${1:-cache_size=$slow_mib}"
	for name in meta fast slow; do wrap "u_$name" "$(linear_line "$name")"; done
	# A case that fails must not leave I/O waiting.
	trap 'for name in meta fast slow; do go_on "$name"; done' EXIT
	metadata=$(upper meta)
	tiers=("$(upper fast)" "$(upper slow)")
	core=(migration_bandwidth 0)
	# Another chunk size has a length of its own.
	[ "$chunk" != 128 ] || length=$((chunks * 128))
	activate
}

# The set as found after a power cut now.
lose_power()
{
	local name
	cut_power "$meta" "$fast" "$slow"
	remove "$set"
	for name in meta fast slow; do remove "tt_u_$name"; done
	for name in meta fast slow; do wrap "u_$name" "$(linear_line "$name")"; done
	activate
}

# Takes an image of the disks as they are now, and makes a set of it.
take_image()
{
	local name
	for name in meta fast slow; do
		dd if="/dev/tt_$name" of="$tmp/$name.img" bs=1M iflag=direct status=none
	done
}
go_back()
{
	local name
	remove "$set"
	for name in meta fast slow; do
		dd if="$tmp/$name.img" of="/dev/tt_$name" bs=1M oflag=direct status=none
	done
	activate
}

# later COMMAND...: starts COMMAND in the background; ended PID: it ended with success
later()
{
	background "$@"
	pid=$last_pid
}
runs() { kill -0 "$1" 2>/dev/null; }

# ---- a migration

place_and_commit()
{
	make_small
	write_chunks 0 16 1
	io sync "$dev"
	hold_up meta writes
	msg migrate 0 1 1
	wait_for 10 held_up meta
	# Fast is full except for the place that chunk 0 leaves.
	write_chunks 20 1 2
	take_image
	held_up meta
	go_on meta
	wait_for 10 all_on_rank 0 1 1
	check_chunks 20 1 2
	go_back
	check_chunks 0 16 1
	chunk_info 0
	same 0 "${C[rank]}" "rank of a chunk whose move was not committed"
}
test_case "a place that a move leaves is not reused before the commit" place_and_commit

place_and_readers()
{
	make_small
	write_chunks 0 16 1
	hold_up slow writes
	msg migrate 0 1 1
	wait_for 10 held_up slow
	hold_up fast reads
	later io check "$dev" at=0 len=64k seed=1
	wait_for 10 held_up fast
	go_on slow
	wait_for 10 all_on_rank 0 1 1
	write_chunks 20 1 2
	go_on fast
	wait "$pid" || fail "a read that had begun before the move found other data"
	check_chunks 0 16 1
	check_chunks 20 1 2
}
test_case "a place that a move leaves is not reused before its readers have ended" \
	place_and_readers

move_and_flush()
{
	make_small
	write_chunks 0 4 1
	io sync "$dev"
	move 0 4 1
	lose_power
	check_chunks 0 4 1
}
test_case "moved data is on stable storage before the mapping says so" move_and_flush

write_during_copy()
{
	make_small
	write_chunks 0 2 1
	hold_up slow writes
	msg migrate 0 1 1
	wait_for 10 held_up slow
	write_chunks 0 1 2
	go_on slow
	wait_for 10 all_on_rank 0 1 1
	check_chunks 0 1 2
}
test_case "what was written during the copy is copied once more" write_during_copy

# A chunk of twice the 16 pieces that are copied at once. Writes within a piece, across two and
# several pieces, and at both ends, before and behind the pieces being copied.
write_pieces_during_copy()
{
	local at write writes=(0:512 65024:1024 262144:196608 1048576:4096 1310208:131584 2096640:512)
	chunk=4096 fast_mib=6 slow_mib=8
	make_small
	write_chunks 0 1 1 block=1m
	hold_up slow writes
	msg migrate 0 1 1
	wait_for 10 held_up slow
	for at in "${writes[@]}"; do
		io write "$dev" at="${at%:*}" len="${at#*:}" seed=2 block="${at#*:}"
	done
	go_on slow
	wait_for 10 all_on_rank 0 1 1
	for at in "${writes[@]}"; do
		io check "$dev" at="${at%:*}" len="${at#*:}" seed=2 block="${at#*:}"
	done
	at=0
	for write in "${writes[@]}" 2097152:0; do
		[ "${write%:*}" = "$at" ] ||
			io check "$dev" at="$at" len=$((${write%:*} - at)) seed=1
		at=$((${write%:*} + ${write#*:}))
	done
}
test_case "of several pieces all that were written during the copy are copied once more" \
	write_pieces_during_copy

write_beyond_copy()
{
	make_small
	write_chunks 0 2 1
	hold_up slow writes
	msg migrate 0 1 1
	wait_for 10 held_up slow
	hold_up fast writes
	later io write "$dev" at=0 len=64k seed=2
	wait_for 10 held_up fast
	go_on slow
	# Time for a wrong move to go on without the write.
	nap 1
	go_on fast
	wait "$pid"
	wait_for 10 all_on_rank 0 1 1
	check_chunks 0 1 2
}
test_case "a move waits for a write that began during the copy" write_beyond_copy

write_before_copy()
{
	make_small
	write_chunks 0 2 1
	hold_up fast writes
	later io write "$dev" at=0 len=64k seed=2
	wait_for 10 held_up fast
	msg migrate 0 1 1
	nap 1
	go_on fast
	wait "$pid"
	wait_for 10 all_on_rank 0 1 1
	check_chunks 0 1 2
}
test_case "a move waits for a write that began before it" write_before_copy

write_during_commit()
{
	make_small
	write_chunks 0 2 1
	# So the commit that is held is the move's commit.
	io sync "$dev"
	hold_up meta writes
	msg migrate 0 1 1
	wait_for 10 held_up meta
	later io write "$dev" at=0 len=64k seed=2
	nap 0.5
	held_up meta
	go_on meta
	wait "$pid"
	wait_for 10 all_on_rank 0 1 1
	check_chunks 0 1 2
}
test_case "a write during the commit of a move is not lost" write_during_commit

# Both chunks wait for a flush of slow, the second one for a flush that comes after its copy.
joins_no_flush()
{
	local before
	make_small
	write_chunks 0 4 1
	io sync "$dev"
	before=$(flushes_of slow)
	hold_up slow flushes
	msg migrate 0 1 1
	wait_for 10 held_up slow
	msg migrate 1 1 1
	wait_for 10 same_on_slow 1
	nap 0.5
	go_on slow
	wait_for 10 all_on_rank 0 2 1
	same 2 "$(($(flushes_of slow) - before))" "flushes of slow for two moves, one after the other"
	lose_power
	check_chunks 0 4 1
}
# same_on_slow CHUNK: the copy of the chunk, written with seed 1, is at the second place of slow
same_on_slow() { io check "$slow" at=$((17 * 65536)) len=64k seed=1 as="$(at_chunk "$1")"; }
test_case "a move that ends during a flush waits for the next flush" joins_no_flush

# The copy of chunk 1 takes as long as the case wants; chunk 0 has been copied.
hurries()
{
	local d=$fast at rest
	make_small
	write_chunks 0 4 1
	io sync "$dev"
	at=$(sector_of 1)
	rest=$((at + 128))
	lower fast "0 $at linear $d 0" "$at 128 delay $d $at 600000 $d $at 0" \
		"$rest $(($(sectors_of "$d") - rest)) linear $d $rest"
	msg migrate 0 2 1
	wait_for 10 held_up fast
	later write_chunks 0 1 2
	wait_for 5 ended
	wait "$pid" || fail "the write failed"
	held_up fast || fail "the other copy has ended"
	wait_for 10 all_on_rank 0 1 1
	go_on fast
	wait_for 10 all_on_rank 0 2 1
	check_chunks 0 1 2
	check_chunks 1 3 1
}
test_case "a write to a copied chunk does not wait for other copies" hurries

# ---- first writes

# Fills every place with old data, on stable storage.
make_dirty()
{
	features=(no_discard_passdown)
	make_small
	write_chunks 0 46 9
	io sync "$dev"
	discard_chunks 0 46
	wait_for 10 mapped_is 0
	io sync "$dev"
}

first_write_and_zeroes()
{
	make_dirty
	hold_up fast writes
	later io write "$dev" at="$(at_chunk 3)" len=4k seed=1
	wait_for 10 held_up fast
	io check "$dev" at="$(at_chunk 3)" len=64k seed=0
	go_on fast
	wait "$pid"
	io check "$dev" at="$(at_chunk 3)" len=4k seed=1
	io check "$dev" at=$(($(at_chunk 3) + 4096)) len=60k seed=0
	io check "$dev" at="$(at_chunk 4)" len=64k seed=0
}
test_case "a first write shows zeroes around it, and nothing before it ends" first_write_and_zeroes

# A FLUSH has the rest of the chunk zeroed, while a write to it is still under way.
zeroes_beside_write()
{
	make_dirty
	io write "$dev" at="$(at_chunk 3)" len=4k seed=1
	hold_up fast writes
	later io write "$dev" at=$(($(at_chunk 3) + 8192)) len=4k seed=2
	wait_for 10 held_up fast
	background io sync "$dev"
	nap 0.5
	go_on fast
	wait "$pid"
	wait "$last_pid"
	io check "$dev" at=$(($(at_chunk 3) + 8192)) len=4k seed=2
	io check "$dev" at=$(($(at_chunk 3) + 4096)) len=4k seed=0
	io check "$dev" at=$(($(at_chunk 3) + 12288)) len=52k seed=0
}
test_case "the rest of a chunk is not zeroed beside a write" zeroes_beside_write

# What a failed write was to cover reads as zeroes, before and after a commit.
failed_part()
{
	make_dirty
	io write "$dev" at="$(at_chunk 3)" len=4k seed=1
	fail_writes fast
	fails io write "$dev" at=$(($(at_chunk 3) + 8192)) len=4k seed=2
	io check "$dev" at=$(($(at_chunk 3) + 4096)) len=60k seed=0
	io check "$dev" at="$(at_chunk 3)" len=4k seed=1
	go_on fast
	io sync "$dev"
	io check "$dev" at=$(($(at_chunk 3) + 4096)) len=60k seed=0
	io check "$dev" at="$(at_chunk 3)" len=4k seed=1
}
test_case "a failed write to a new chunk shows zeroes" failed_part

# Nobody sends a FLUSH: the set commits by itself after a second.
first_write_and_flush()
{
	local n before
	make_dirty
	before=$(writes_of meta)
	hold_up fast flushes
	write_chunks 0 4 1
	wait_for 10 held_up fast
	nap 1
	same "$before" "$(writes_of meta)" "writes of metadata before the tier's flush has ended"
	go_on fast
	wait_for 10 wrote_more meta "$before"
	lose_power
	for n in 0 1 2 3; do
		check_chunks "$n" 1 1 || check_chunks "$n" 1 0
	done
}
writes_of() { stat_of "tt_$1" 4; }
flushes_of() { stat_of "tt_$1" 15; }
wrote_more() { [ "$(writes_of "$1")" -gt "$2" ]; }
test_case "a new chunk's data is on stable storage before the mapping says so" \
	first_write_and_flush

# waits_for_commit COMMAND...: COMMAND does not end before the commit, which is held
waits_for_commit()
{
	later "$@"
	wait_for 10 held_up meta
	nap 0.3
	runs "$pid" || fail "has ended before the commit: $*"
	go_on meta
	wait "$pid"
}

fua_and_commit()
{
	make_small "$@"
	hold_up meta writes
	waits_for_commit io write "$dev" at="$(at_chunk 3)" len=4k seed=1 flags=fua_alone
	hold_up meta writes
	waits_for_commit io write "$dev" at="$(at_chunk 5)" len=64k seed=1 flags=fua_alone
	io check "$dev" at="$(at_chunk 3)" len=4k seed=1
	check_chunks 5 1 1
}
test_case "FUA on a new chunk waits for the commit" fua_and_commit
# The block layer passes FUA to these tiers without the flag.
test_case "FUA on a new chunk waits for it on tiers without a cache, too" fua_and_commit cache_size=0

flush_and_commit()
{
	make_small
	# Held before the write, as the set commits new chunks by itself after a while.
	hold_up meta writes
	write_chunks 3 2 1
	waits_for_commit io sync "$dev"
	check_chunks 3 2 1
}
test_case "FLUSH waits for the commit of what was written before" flush_and_commit

flush_of_part()
{
	make_small
	hold_up meta writes
	io write "$dev" at="$(at_chunk 3)" len=4k seed=1
	waits_for_commit io sync "$dev"
	io check "$dev" at="$(at_chunk 3)" len=4k seed=1
}
test_case "FLUSH waits for the commit of a chunk that was written in part" flush_of_part

# Neither tier can be written: the chunk is as if it had never been written.
failed_first_write()
{
	make_small
	write_chunks 0 2 1
	io sync "$dev"
	fail_writes fast
	fail_writes slow
	fails io write "$dev" at="$(at_chunk 5)" len=64k seed=1
	same 2 "$(info mapped)" "mapped chunks"
	go_on fast
	go_on slow
	check_chunks 5 1 0
	check_chunks 0 2 1
	msg admit 0
	msg admit 1
	write_chunks 5 1 2
	check_chunks 5 1 2
}
test_case "a first write that failed leaves nothing mapped" failed_first_write

# ---- discard

discard_and_commit()
{
	local place
	make_small
	write_chunks 0 4 1
	io sync "$dev"
	chunk_info 2
	place=${C[place]}
	hold_up meta writes
	later discard_chunks 2 1
	wait_for 10 held_up meta
	nap 0.3
	io check "$fast" at=$((place * 65536)) len=64k seed=1 as="$(at_chunk 2)"
	go_on meta
	wait "$pid"
	wait_for 10 io check "$fast" at=$((place * 65536)) len=64k seed=0
	check_chunks 2 1 0
}
test_case "a discard is passed down after the commit" discard_and_commit

discard_and_place()
{
	make_small
	write_chunks 0 4 1
	io sync "$dev"
	hold_up fast writes
	later discard_chunks 2 1
	wait_for 10 held_up fast
	same 4 "$(info used0)" "places used while a discard is under way below"
	go_on fast
	wait "$pid"
	wait_for 10 used_is 3
}
used_is() { [ "$(info used0)" = "$1" ]; }
test_case "a place is free once its discard below has ended" discard_and_place

discard_and_readers()
{
	local place reader
	make_small
	write_chunks 0 4 1
	io sync "$dev"
	chunk_info 2
	place=${C[place]}
	hold_up fast reads
	later check_chunks 2 1 1
	reader=$pid
	wait_for 10 held_up fast
	later discard_chunks 2 1
	wait_for 10 mapped_is 3
	nap 0.5
	runs "$pid" || fail "the discard has ended before a read that began before it"
	same 4 "$(info used0)" "places used while a read is under way below"
	io check "$fast" at=$((place * 65536)) len=64k seed=1 as="$(at_chunk 2)"
	go_on fast
	wait "$reader" || fail "a read that had begun before the discard found other data"
	wait "$pid"
	same 3 "$(info used0)" "places used"
	check_chunks 2 1 0
}
test_case "a discard waits for readers before it is passed down" discard_and_readers

# ---- flush

# The flush of the move also covers the write to chunk 1 and takes the tier's mark off.
flush_and_move()
{
	make_small
	write_chunks 0 4 1
	move 0 1 1
	io sync "$dev"
	write_chunks 1 1 2
	hold_up fast flushes
	msg migrate 0 1 0
	wait_for 10 held_up fast
	later io sync "$dev"
	nap 0.5
	runs "$pid" || fail "a FLUSH has ended before the tier's"
	held_up fast
	go_on fast
	wait "$pid"
	lose_power
	check_chunks 1 1 2
}
test_case "a FLUSH waits for one of a tier that is under way" flush_and_move

write_during_flush()
{
	local before
	make_small
	write_chunks 0 4 1
	io sync "$dev"
	write_chunks 0 1 2
	hold_up fast flushes
	later io sync "$dev"
	wait_for 10 held_up fast
	write_chunks 1 1 2
	go_on fast
	wait "$pid"
	before=$(flushes_of fast)
	io sync "$dev"
	is "$(flushes_of fast) > $before"
}
test_case "what is written during a flush is for the next one" write_during_flush

# The move is cancelled after some seconds; its place on slow stays taken until the flush ends.
held_by_flush()
{
	make_small
	write_chunks 0 4 1
	io sync "$dev"
	hold_up slow flushes
	msg migrate 0 1 1
	wait_for 10 held_up slow
	later write_chunks 0 1 2
	wait_for 30 ended
	wait "$pid" || fail "the write failed"
	held_up slow || fail "the flush has ended"
	same 1 "$(info used1)" "places in use on slow"
	go_on slow
	wait_for 10 settled
	all_on_rank 0 4 0 || fail "a move that was given up took place"
	same 0 "$(info used1)" "places in use on slow, afterwards"
	check_chunks 0 1 2
	io sync "$dev"
	lose_power
	check_chunks 0 1 2
	check_chunks 1 3 1
}
ended() { ! runs "$pid"; }
test_case "a write does not wait for the flush of a move that hangs" held_by_flush

failed_flush()
{
	local before
	make_small
	write_chunks 0 4 1
	io sync "$dev"
	write_chunks 0 1 2
	fail_writes fast
	io_fails 5 io sync "$dev"
	go_on fast
	before=$(flushes_of fast)
	io sync "$dev"
	is "$(flushes_of fast) > $before"
	check_chunks 0 1 2
}
test_case "after a flush that failed, the next one flushes" failed_flush

# The second write is new on the disk, which loses only new data (see cut_power), but not in the
# map: the set would soon commit a new chunk by itself, and flush all tiers for that.
suspend_and_flush()
{
	features=(skip_zeroing)
	make_small
	io write "$dev" at="$(at_chunk 4)" len=4k seed=1
	quiet 2 "$metadata" "${tiers[@]}"
	io write "$dev" at=$(($(at_chunk 4) + 32768)) len=4k seed=2
	suspend "$@"
	lose_power
	io check "$dev" at="$(at_chunk 4)" len=4k seed=1
	io check "$dev" at=$(($(at_chunk 4) + 32768)) len=4k seed=2
}
test_case "a suspend makes everything durable" suspend_and_flush
test_case "a suspend without flush makes everything durable" suspend_and_flush --noflush

# ---- a commit that fails

# The superblock can be written and flushed; writes to all other blocks fail.
break_metadata()
{
	local rest
	rest=$(($(sectors_of "$meta") - 8))
	wrap void "0 $rest error"
	lower meta "0 8 linear $meta 0" \
		"8 $rest delay $meta 8 0 /dev/mapper/tt_void 0 0 $meta 8 0"
}

commit_fails()
{
	make_small
	write_chunks 0 4 1
	io sync "$dev"
	break_metadata
	write_chunks 5 1 1
	io_fails 5 io sync "$dev"
	same ro "$(info mode)"
	same needs_check "$(info check)"
	io_fails 5 io sync "$dev"
	check_chunks 0 4 1
}
test_case "a FLUSH fails once a commit it needs has failed" commit_fails

# ---- a FLUSH that comes with data

# make_ext4 DEVICE; make_xfs DEVICE: a small one, on chunks of fast
make_ext4()
{
	mkfs.ext4 -q -F -b 1024 -J size=1 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard "$1"
}
# Less than 300 MiB are for the file system's own tests, which say so by these.
make_xfs() { TEST_DIR=1 TEST_DEV=1 QA_CHECK_FS=1 mkfs.xfs -q -f -K -d agcount=1 "$1"; }

# make_journal FS: what makes FLUSHes of that kind is a journal: of its commit record.  It
# lies in chunks of fast, the file in new ones of slow.
make_journal()
{
	local fast_mib=32 slow_mib=4 chunks=448
	make_small
	"make_$1" "$dev"
	mkdir -p "$tmp/mnt"
	mount "$dev" "$tmp/mnt"
	echo 1 >"$tmp/mnt/file"
	sync -f "$tmp/mnt"
	same 0 "$(info used1)" "places in use on slow"
	msg set tier0.landing 0
}

fail_flushes()
{
	local rest
	rest=$(($(sectors_of "/dev/tt_$1") - 8))
	lower "$1" "0 $rest linear /dev/tt_$1 0" \
		"$rest 8 flakey /dev/tt_$1 $rest 0 1 1 error_writes"
}

# The core drops the error of such a FLUSH (6.1, 6.12), so that fsync() may say that all is
# well.  Then the next FLUSH that can be heard of fails, and that one alone.
next_hears()
{
	make_journal "$1"
	fail_flushes slow
	if dd if=/dev/urandom of="$tmp/mnt/new" bs=64k count=8 conv=fsync status=none; then
		echo "# $1: its fsync() says nothing of the flush that failed"
		go_on slow
		io_fails 5 io sync "$dev"
	else
		echo "# $1: its fsync() hears of the flush that failed"
		go_on slow
	fi
	is "$(info used1) > 0"
	io sync "$dev"
	umount "$tmp/mnt"
}
test_case "a flush that failed below an ext4 is told once" next_hears ext4
test_case "a flush that failed below an XFS is told once" next_hears xfs

needs_check_stays()
{
	commit_fails
	lose_power
	same needs_check "$(info check)"
	same ro "$(info mode)"
	check_chunks 0 4 1
}
test_case "needs_check survives a power cut" needs_check_stays

move_not_committed()
{
	make_small
	write_chunks 0 4 1
	io sync "$dev"
	break_metadata
	msg migrate 0 1 1
	wait_for 10 is_ro
	wait_for 10 settled
	# The chunk has its place already, so it can still be written.
	write_chunks 0 1 2
	check_chunks 0 1 2
	go_on meta
	remove "$set"
	activate
	check_chunks 0 1 2
	check_chunks 1 3 1
}
is_ro() { [ "$(info mode)" = ro ]; }
test_case "a move whose commit failed has not taken place" move_not_committed

run_tests
