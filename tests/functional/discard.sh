#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Discards and write-zeroes: which chunks they unmap, what they pass down, and that they
# remove nothing else.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need blkdiscard fio

places_used() { echo "$(info used0) $(info used1)"; }

# discards FILE: sectors discarded according to a trace
discarded_sectors() { awk '$2 == "C" && $3 ~ /D/ { n += $5 } END { print n + 0 }' "$1"; }

whole()
{
	make_set
	write_chunks 0 10 1
	move 6 4 1
	io sync "$dev"
	trace_start "$fast" "$slow"
	discard_chunks 4 4
	wait_for 10 mapped_is 6
	wait_for 10 passed_down
	trace_stop >"$tmp/t"
	same $((4 * 128)) "$(discarded_sectors "$tmp/t")" "sectors discarded below"
	same "4 2" "$(places_used)" "places used"
	check_chunks 0 4 1
	check_chunks 4 4 0
	check_chunks 8 2 1
	deactivate
	activate
	check_chunks 0 4 1
	check_chunks 4 4 0
	check_chunks 8 2 1
}
# Discards passed down to the places may still be on their way when blkdiscard returns.
passed_down() { [ "$(io_counts "$fast" "$slow" | grep -c 'discards [1-9]')" = 2 ]; }
test_case "whole chunks are unmapped and passed down, to the right tier" whole

right_place()
{
	local place
	make_set
	write_chunks 0 10 1
	chunk_info 4
	place=${C[place]}
	discard_chunks 4 1
	wait_for 10 mapped_is 9
	# The disk drops the data (null_blk then reads zeroes), but not the neighbours.
	wait_for 10 io check "$fast" at=$((place * 65536)) len=64k seed=0
	check_chunks 0 4 1
	check_chunks 5 5 1
}
test_case "the discarded place, and no other, is discarded below" right_place

partial()
{
	make_set
	write_chunks 0 10 1
	# The last half of 2, all of 3 and 4, the first 4 KiB of 5.
	blkdiscard -o $(($(at_chunk 2) + 32768)) -l $((32768 + 131072 + 4096)) "$dev"
	wait_for 10 mapped_is 8
	check_chunks 0 2 1
	io check "$dev" at="$(at_chunk 2)" len=32k seed=1
	check_chunks 3 2 0
	io check "$dev" at=$(($(at_chunk 5) + 4096)) len=60k seed=1
	check_chunks 6 4 1
}
test_case "parts of chunks at either end stay mapped" partial

partial_within()
{
	make_set
	write_chunks 0 3 1
	blkdiscard -o $(($(at_chunk 1) + 4096)) -l 8192 "$dev"
	same 3 "$(info mapped)"
	io check "$dev" at="$(at_chunk 1)" len=4k seed=1
	io check "$dev" at=$(($(at_chunk 1) + 12288)) len=52k seed=1
	check_chunks 0 1 1
	check_chunks 2 1 1
}
test_case "a discard within a chunk unmaps nothing" partial_within

no_passdown()
{
	features=(no_discard_passdown)
	make_set
	write_chunks 0 10 1
	io sync "$dev"
	counts=$(io_counts "$fast" "$slow" | grep -o 'discards [0-9]*')
	discard_chunks 2 5
	wait_for 10 mapped_is 5
	io sync "$dev"
	same "$counts" "$(io_counts "$fast" "$slow" | grep -o 'discards [0-9]*')" "discards below"
	check_chunks 0 2 1
	check_chunks 2 5 0
	check_chunks 7 3 1
}
test_case "no_discard_passdown unmaps and sends nothing down" no_passdown

many()
{
	make_set
	write_chunks 0 731 1 block=1m
	start=$EPOCHREALTIME
	blkdiscard "$dev"
	wait_for 30 mapped_is 0
	note "731 chunks discarded in $(since "$start") s"
	same "0 0" "$(places_used)"
	check_chunks 0 731 0 block=1m
	write_chunks 0 731 2 block=1m
	check_chunks 0 731 2 block=1m
}
test_case "the whole device at once" many

# commits FILE: writes of the superblock according to a trace
commits() { awk '$2 == "C" && $3 ~ /W/ && $4 == 0 { n++ } END { print n + 0 }' "$1"; }

several_commits()
{
	local n=12288
	disk meta 8
	disk fast 1025
	disk slow 1025
	length=$((n * 128))
	features=(skip_zeroing)
	activate
	fio --name=w --filename="$dev" --rw=write --bs=4k --zonemode=strided --zonesize=4k \
		--zoneskip=60k --io_size=$((n * 4))k --ioengine=libaio --iodepth=16 --direct=1 \
		--end_fsync=1 --thread >/dev/null
	wait_for 10 mapped_is "$n"
	trace_start "$meta"
	# The ends lie within chunks.
	blkdiscard -o 4k -l $((n * 64 - 8))k "$dev"
	trace_stop >"$tmp/t"
	same 2 "$(info mapped)" "chunks mapped"
	note "$(commits "$tmp/t") commits"
	is "$(commits "$tmp/t") >= 3"
	deactivate
	activate
	same 2 "$(info mapped)" "chunks mapped after an activation"
}
test_case "a long discard takes several commits, and all of it is committed" several_commits

unmapped()
{
	make_set
	write_chunks 5 1 1
	discard_chunks 0 20
	wait_for 10 mapped_is 0
	discard_chunks 0 20
	discard_chunks 700 31
	same 0 "$(info mapped)"
	check_chunks 0 20 0
}
test_case "discards of nothing" unmapped

last_partial()
{
	disk meta 4
	disk fast 16
	disk slow 32
	length=$((10 * 128 + 40))
	activate
	io write "$dev" at=0 len=$((length * 512)) seed=1
	same 11 "$(info mapped)"
	# The last chunk is short; discarding all of its sectors is a discard of the whole chunk.
	blkdiscard -o "$(at_chunk 10)" -l $((40 * 512)) "$dev"
	wait_for 10 mapped_is 10
	io check "$dev" at="$(at_chunk 10)" len=$((40 * 512)) seed=0
	io write "$dev" at="$(at_chunk 10)" len=$((40 * 512)) seed=2
	blkdiscard "$dev"
	wait_for 10 mapped_is 0
}
test_case "the last, partial chunk counts as a whole one" last_partial

# These disks have no WRITE ZEROES; corners.sh uses disks that do.
zeroes()
{
	make_set
	write_chunks 0 10 1
	zero_some
	some_are_zero
	deactivate
	activate
	some_are_zero
}
test_case "zeroes that come as writes, on mapped chunks" zeroes

zeroes_unmapped()
{
	make_set
	blkdiscard -z -o 32k -l 512k "$dev"
	io check "$dev" at=0 len=1m seed=0
	write_chunks 3 1 1
	check_chunks 3 1 1
	check_chunks 4 4 0
}
test_case "zeroes that come as writes, on unmapped chunks" zeroes_unmapped

# Tiers that cannot discard: chunks are unmapped, nothing is passed down.
no_discard_below()
{
	disk meta 4
	disk fast 16 discard=0
	disk slow 32 discard=0
	activate
	write_chunks 0 10 1
	discard_chunks 2 4
	wait_for 10 mapped_is 6
	check_chunks 0 2 1
	check_chunks 2 4 0
	check_chunks 6 4 1
}
test_case "tiers that cannot discard" no_discard_below

mixed_below()
{
	disk meta 4
	disk fast 16
	disk slow 32 discard=0
	activate
	write_chunks 0 10 1
	move 4 4 1
	discard_chunks 2 4
	wait_for 10 mapped_is 6
	check_chunks 0 2 1
	check_chunks 2 4 0
	check_chunks 6 4 1
}
test_case "one tier that can discard and one that cannot" mixed_below

# A discard while the chunk moves: the chunk is gone or still whole, never half.
while_moving()
{
	local round
	make_set
	msg set migration_bandwidth 0
	for round in 1 2 3 4 5 6; do
		write_chunks 0 40 "$round"
		msg migrate 0 40 $((round % 2))
		discard_chunks 10 20
		wait_for 10 settled
		check_chunks 0 10 "$round"
		check_chunks 10 20 0
		check_chunks 30 10 "$round"
	done
	same 20 "$(info mapped)"
}
test_case "discards of chunks that move" while_moving

# A freed place is not given out before its discard on the device has ended: the discard
# would remove the new data.
reuse()
{
	local round
	disk meta 4
	disk spare 2
	tiers=("$spare")
	length=$(capacity_of 128 "$spare")
	activate
	for round in {1..12}; do
		write_chunks 0 14 "$round"
		discard_chunks 0 14
		write_chunks 0 14 $((round + 100))
		check_chunks 0 14 $((round + 100))
		sleep 0.1
		check_chunks 0 14 $((round + 100))
		discard_chunks 0 14
	done
}
test_case "a place is not reused before its discard has ended" reuse

against_io()
{
	local pid workers=()
	make_set
	for n in 0 1 2; do
		background io torture "$dev" at=$((n * 1048576 + 512)) len=$((1048576 - 512)) \
			chunk=64k seconds=6 seed=$((n + 7)) model="$tmp/model$n"
		workers+=("$last_pid")
	done
	for pid in "${workers[@]}"; do wait "$pid"; done
	deactivate
	activate
	for n in 0 1 2; do
		io recheck "$dev" at=$((n * 1048576 + 512)) len=$((1048576 - 512)) \
			model="$tmp/model$n"
	done
}
test_case "discards against reads and writes" against_io

secure_erase()
{
	make_set
	write_chunks 0 2 1
	fails blkdiscard -s -o 0 -l 64k "$dev"
	check_chunks 0 2 1
}
test_case "secure erase is not offered" secure_erase

ext4_trim()
{
	command -v mkfs.ext4 >/dev/null || skip "mkfs.ext4 is not installed"
	make_set
	mkfs.ext4 -q -F "$dev"
	mkdir "$tmp/mnt"
	mount "$dev" "$tmp/mnt"
	dd if=/dev/zero of="$tmp/mnt/file" bs=1M count=16 conv=fsync status=none
	before=$(info mapped)
	rm "$tmp/mnt/file"
	sync
	fstrim "$tmp/mnt"
	umount "$tmp/mnt"
	is "$(info mapped) < before - 200"
}
test_case "fstrim gives chunks back" ext4_trim

run_tests
