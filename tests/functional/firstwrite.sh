#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Where first writes land, and that chunks that were never written read as zeroes, whatever old
# data is in the place.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

lands_on_fast()
{
	make_set
	io check "$dev" at=0 len=1m seed=0
	same 0 "$(info mapped)" "chunks mapped by reads"
	write_chunks 5 1 1
	chunk_info 5
	same 0 "${C[rank]}"
	same first_write "${C[reason]}"
	same 1 "$(info mapped)"
	io write "$dev" at="$(at_chunk 7)" len=512 seed=1
	same 2 "$(info mapped)"
}
test_case "a first write lands on the fastest tier" lands_on_fast

overflow()
{
	make_set
	write_chunks 0 240 1
	same 240 "$(info used0)" "places used on fast"
	write_chunks 240 10 1
	status
	same 240 "${S[used0]}"
	same 10 "${S[used1]}"
	check_chunks 0 250 1
}
test_case "a full tier sends first writes to the next" overflow

tier_reserve()
{
	core=(tier0.reserve 230)
	make_set
	write_chunks 0 30 1
	status
	same 10 "${S[used0]}" "used on fast above its reserve"
	same 20 "${S[used1]}"
	msg set tier0.reserve 229
	write_chunks 30 5 1
	same 11 "$(info used0)"
	check_chunks 0 35 1
}
test_case "first writes leave a tier's reserve free" tier_reserve

# A reserve gives way: a healthy set never runs out of space.
reserve_gives_way()
{
	core=(tier0.reserve 4294967295 tier1.reserve 4294967295)
	make_set
	write_chunks 0 731 1 block=1m
	status
	same 731 "${S[mapped]}"
	same 5 "$((S[places0] + S[places1] - S[used0] - S[used1]))" "places left"
	check_chunks 0 731 1 block=1m
}
test_case "the whole length can be written in spite of reserves" reserve_gives_way

no_landing()
{
	core=(tier0.landing 0)
	make_set
	write_chunks 0 5 1
	same 5 "$(info used1)" "used on slow"
	core=(tier1.landing 0)
	reload
	write_chunks 5 5 1
	same 5 "$(info used0)" "used on fast"
	check_chunks 0 10 1
}
test_case "landing 0 keeps first writes off a tier" no_landing

# Chunks that are written in small pieces: a stream's first one is a random one, too.
landing_by_class()
{
	local i
	core=(tier0.landing 2)
	make_set
	io write "$dev" at="$(at_chunk 20)" len="$(at_chunk 10)" seed=1 block=4k
	same "1 9" "$(on_rank 20 10 0) $(on_rank 20 10 1)" "of a stream, on fast and slow"
	for i in 300 100 200 400; do io write "$dev" at="$(at_chunk "$i")" len=4k seed=1; done
	same 5 "$(info used0)" "random ones on fast"
	write_chunks 500 1 1
	same 1 "$(on_rank 500 1 1)" "a whole chunk on slow"
	msg set tier0.landing 3
	io write "$dev" at="$(at_chunk 600)" len="$(at_chunk 10)" seed=1 block=4k
	same "9 1" "$(on_rank 600 10 0) $(on_rank 600 10 1)" "of a stream, on fast and slow"
	io write "$dev" at="$(at_chunk 40)" len=4k seed=1
	same 1 "$(on_rank 40 1 1)" "a random one on slow"
	check_chunks 20 10 1
	check_chunks 600 10 1
}
test_case "landing 2 and 3: random and sequential first writes alone" landing_by_class

# The same for landing: if no tier allows it, first writes still find room.
landing_gives_way()
{
	core=(tier0.landing 0 tier1.landing 0)
	make_set
	write_chunks 0 731 1 block=1m
	same 731 "$(info mapped)"
	check_chunks 0 731 1 block=1m
}
test_case "the whole length can be written though no tier has landing" landing_gives_way

pinned_landing()
{
	make_set
	msg pin 3 2 1
	write_chunks 0 8 1
	same 2 "$(info used1)" "used on slow"
	same 2 "$(on_rank 3 2 1)" "pinned chunks on slow"
	check_chunks 0 8 1
}
test_case "an unmapped chunk that is pinned lands there" pinned_landing

# dirty_places: fills both tiers with seed 9 and frees every place again, so that each new chunk
# gets a place with old data of other chunks.
dirty_places()
{
	features=(no_discard_passdown)
	make_set
	write_chunks 0 731 9 block=1m
	discard_chunks 0 731
	wait_for 20 mapped_is 0
}

# partial_write OFFSET BYTES: within chunk 100
partial_write()
{
	local offset=$1 bytes=$2 base
	dirty_places
	base=$(at_chunk 100)
	io write "$dev" at=$((base + offset)) len="$bytes" seed=1
	rest_is_zero
	deactivate
	activate
	rest_is_zero
}
rest_is_zero()
{
	io check "$dev" at=$((base + offset)) len="$bytes" seed=1
	[ "$offset" = 0 ] || io check "$dev" at="$base" len="$offset" seed=0
	[ $((offset + bytes)) = 65536 ] || io check "$dev" at=$((base + offset + bytes)) \
		len=$((65536 - offset - bytes)) seed=0
}
test_case "partial first write: first sector; the rest is zero" partial_write 0 512
test_case "partial first write: last sector; the rest is zero" partial_write 65024 512
test_case "partial first write: in the middle; the rest is zero" partial_write 4608 20480
test_case "partial first write: all but one sector; the rest is zero" partial_write 512 65024

straddle()
{
	dirty_places
	io write "$dev" at=$(($(at_chunk 100) + 32768)) len=128k seed=1
	io check "$dev" at="$(at_chunk 100)" len=32k seed=0
	io check "$dev" at=$(($(at_chunk 100) + 32768)) len=128k seed=1
	io check "$dev" at=$(($(at_chunk 102) + 32768)) len=32k seed=0
	same 3 "$(info mapped)"
}
test_case "a write over three chunks" straddle

# Many small writes at once into the same new chunks: all data stays, no old data shows.
concurrent()
{
	local i
	dirty_places
	for i in 0 1 2 3; do
		background io write "$dev" at=$(($(at_chunk 10) + i * 262144)) len=256k seed=1 block=4k
		background io write "$dev" at=$(($(at_chunk 40) + i * 4096)) len=4k seed=1 block=512
	done
	for pid in $(<"$tmp/pids"); do wait "$pid"; done
	io check "$dev" at="$(at_chunk 10)" len=1m seed=1
	io check "$dev" at="$(at_chunk 40)" len=16k seed=1
	io check "$dev" at=$(($(at_chunk 40) + 16384)) len=48k seed=0
}
test_case "first writes at once" concurrent

# A read while the place is zeroed waits or sees zeroes, never old data.
reads_meanwhile()
{
	local i
	dirty_places
	background look_for_old_data
	pid=$last_pid
	for i in {0..60}; do
		io write "$dev" at=$(($(at_chunk "$i") + 8192)) len=4k seed=1
	done
	touch "$tmp/done"
	wait "$pid"
}
look_for_old_data()
{
	while [ ! -e "$tmp/done" ]; do
		io check "$dev" at="$(at_chunk 0)" len=8k seed=0
		io check "$dev" at=$(($(at_chunk 30) + 12288)) len=52k seed=0
		io check "$dev" at=$(($(at_chunk 60) + 12288)) len=52k seed=0
	done
}
test_case "reads during first writes never show old data" reads_meanwhile

whole_chunk()
{
	dirty_places
	write_chunks 10 4 1
	check_chunks 10 4 1
	check_chunks 14 2 0
	# Whole chunks need no zeroing: only the data was written.
	before=$(write_counts "$fast" | grep -o 'writes [0-9]*')
	before=${before#* }
	sectors_before=$(sectors_written tt_fast)
	write_chunks 50 4 1
	io sync "$dev"
	is "$(sectors_written tt_fast) - $sectors_before == 4 * 128"
}
sectors_written() { stat_of "$1" 6; }
test_case "a write of whole chunks zeroes nothing" whole_chunk

skip_zeroing()
{
	features=(no_discard_passdown skip_zeroing)
	make_set
	sectors_before=$(sectors_written tt_fast)
	io write "$dev" at="$(at_chunk 7)" len=4k seed=1
	io sync "$dev"
	is "$(sectors_written tt_fast) - $sectors_before == 8"
	io check "$dev" at="$(at_chunk 7)" len=4k seed=1
	io check "$dev" at="$(at_chunk 8)" len=64k seed=0
}
test_case "skip_zeroing writes the data alone" skip_zeroing

# Sectors that were zeroed on purpose stay zero when the rest of the chunk is written.
skip_no_zeroes()
{
	local loop
	need losetup
	modprobe loop 2>/dev/null || true
	# null_blk has no WRITE ZEROES for the set to offer; these disks have.
	truncate -s 16M "$tmp/zeroes.0" "$tmp/zeroes.1"
	disk meta 4
	tiers=()
	for loop in "$tmp"/zeroes.*; do tiers+=("$(losetup -f --show "$loop")"); done
	[ "$(<"/sys/block/${tiers[0]#/dev/}/queue/write_zeroes_max_bytes")" -gt 0 ] ||
		skip "loop devices have no WRITE ZEROES here"
	features=(no_discard_passdown skip_zeroing)
	activate
	losetup -d "${tiers[@]}"
	# Every place has old data, wherever the chunk lands.
	write_chunks 0 $((length / chunk)) 1
	discard_chunks 0 $((length / chunk))
	wait_for 10 mapped_is 0
	blkdiscard -z -o 0 -l "$(at_chunk 20)" "$dev"
	io write "$dev" at=32k len=4k seed=2
	io check "$dev" at=0 len=32k seed=0
	io check "$dev" at=32k len=4k seed=2
	io check "$dev" at=36k len=28k seed=0
}
test_case "skip_zeroing does not undo zeroes that were written" skip_no_zeroes

# After FUA the mapping is on disk: a copy of the disks taken at once shows it.
fua()
{
	make_set
	io write "$dev" at="$(at_chunk 7)" len=4k seed=1 flags=fua
	cp_disks
	remove "$set"
	restore_disks
	activate
	io check "$dev" at="$(at_chunk 7)" len=4k seed=1
	io check "$dev" at=$(($(at_chunk 7) + 4096)) len=60k seed=0
}
# Copies the disks as a power cut would leave them, all at one moment.
cp_disks()
{
	local disk
	for disk in meta fast slow; do
		dd if="/dev/tt_$disk" of="$tmp/$disk.img" bs=1M iflag=direct status=none
	done
}
restore_disks()
{
	local disk
	for disk in meta fast slow; do
		dd if="$tmp/$disk.img" of="/dev/tt_$disk" bs=1M oflag=direct status=none
	done
}
test_case "a first write with FUA is reachable from then on" fua

fsynced()
{
	make_set
	write_chunks 3 5 1
	io write "$dev" at="$(at_chunk 20)" len=512 seed=1
	io sync "$dev"
	cp_disks
	write_chunks 30 5 1
	remove "$set"
	restore_disks
	activate
	check_chunks 3 5 1
	io check "$dev" at="$(at_chunk 20)" len=512 seed=1
	same 6 "$(info mapped)"
}
test_case "first writes are reachable after a flush" fsynced

# Written, but neither flushed nor FUA: after a power cut a sector is old, new, or zero, never
# another chunk's data.
unflushed()
{
	dirty_places
	io sync "$dev"
	io write "$dev" at="$(at_chunk 20)" len=4k seed=1
	cp_disks
	remove "$set"
	restore_disks
	activate
	io check "$dev" at="$(at_chunk 20)" len=4k seed=1 ||
		io check "$dev" at="$(at_chunk 20)" len=4k seed=0
	io check "$dev" at=$(($(at_chunk 20) + 4096)) len=60k seed=0
}
test_case "an unflushed first write never uncovers old data" unflushed

failed_write()
{
	disk meta 4
	disk fast 16
	disk slow 32
	wrap bad "0 $(sectors_of "$fast") linear $fast 0"
	tiers=(/dev/mapper/tt_bad "$slow")
	length=$(capacity_of 128 "$fast" "$slow")
	activate
	write_chunks 0 4 1
	dmsetup load tt_bad --table "0 $(sectors_of "$fast") error"
	dmsetup resume --noflush tt_bad
	# The first write may fail or be tried on another tier; from then on the tier is closed.
	write_chunks 4 1 1 || note "the first write to a failing tier gave an error"
	write_chunks 5 4 1
	same 4 "$(on_rank 5 4 1)" "chunks on the other tier"
	check_chunks 5 4 1
	same F "$(info state0)"
	io_fails 5 check_chunks 0 1 1
	dmsetup load tt_bad --table "0 $(sectors_of "$fast") linear $fast 0"
	dmsetup resume tt_bad
	check_chunks 0 4 1
	write_chunks 9 1 1
	same 1 "$(on_rank 9 1 1)" "on slow until admitted"
	msg admit 0
	write_chunks 10 1 1
	same 1 "$(on_rank 10 1 0)" "on fast after admit"
}
test_case "a first write on a failing tier goes elsewhere" failed_write

run_tests
