#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Limits that the block device shows: sector sizes of mixed tiers, discard limits, write cache,
# alignment; and limits that it must not claim.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# queue DEVICE ATTRIBUTE
queue() { echo "$(<"$(block_of "$1")/queue/$2")"; }

make_mixed()
{
	disk meta 4
	disk fast 16 blocksize="$1"
	disk slow 32 blocksize="$2"
	activate
}

sectors()
{
	make_mixed "$1" "$2"
	same "$3" "$(queue "$dev" logical_block_size)" "logical block size"
	is "$(queue "$dev" physical_block_size) >= $3"
	is "$(queue "$dev" minimum_io_size) >= $3"
	same 0 "$(<"$(block_of "$dev")/alignment_offset")" "alignment offset"
	write_chunks 0 4 1 block=4k
	move 1 2 1
	write_chunks 1 2 2 block="$3"
	check_chunks 0 1 1
	check_chunks 1 2 2
	io write "$dev" at="$(at_chunk 100)" len="$3" seed=4
	io check "$dev" at=$(($(at_chunk 100) + $3)) len=$((65536 - $3)) seed=0 block=4k
	[ "$3" = 512 ] || io_fails 22 io write "$dev" at=0 len=512 seed=1
}
test_case "512 and 512 bytes" sectors 512 512 512
test_case "4096 and 512 bytes" sectors 4096 512 4096
test_case "512 and 4096 bytes" sectors 512 4096 4096
test_case "4096 and 4096 bytes" sectors 4096 4096 4096

# A length that is no multiple of the logical blocks is refused.
odd_length()
{
	disk meta 4
	disk fast 16 blocksize=4096
	disk slow 32
	length=$((400 * 128 + 1))
	fails dmsetup create "$set" --table "$(table_line)"
}
test_case "a length that ends within a 4096-byte sector is refused" odd_length

metadata_4k()
{
	disk meta 4 blocksize=4096
	disk fast 16
	disk slow 32
	activate
	same 512 "$(queue "$dev" logical_block_size)" "logical block size"
	write_chunks 0 4 1
	deactivate
	activate
	check_chunks 0 4 1
}
test_case "a metadata device of 4096-byte sectors" metadata_4k

discard_limits()
{
	local granularity max
	make_set
	granularity=$(queue "$dev" discard_granularity)
	max=$(queue "$dev" discard_max_bytes)
	note "discard_granularity $granularity, discard_max_bytes $max"
	is "granularity >= 512 && granularity <= 65536 && 65536 % granularity == 0"
	is "max >= 65536"
	is "max % granularity == 0"
	same 0 "$(queue "$dev" discard_zeroes_data)" "discard_zeroes_data"
	blkdiscard "$dev"
}
test_case "discard limits" discard_limits

# Discards are offered even if the tiers cannot discard: unmapping is useful by itself.
discard_without()
{
	disk meta 4
	disk fast 16 discard=0
	disk slow 32 discard=0
	activate
	is "$(queue "$dev" discard_max_bytes) > 0"
}
test_case "discards are offered above tiers that have none" discard_without

optimal_io()
{
	make_set
	note "minimum_io_size $(queue "$dev" minimum_io_size), optimal_io_size $(queue "$dev" optimal_io_size)"
	is "$(queue "$dev" minimum_io_size) <= 65536"
	is "65536 % $(queue "$dev" minimum_io_size) == 0"
	is "$(queue "$dev" optimal_io_size) % $(queue "$dev" minimum_io_size) == 0"
}
test_case "I/O sizes fit the chunks" optimal_io

# Users above wipe, or leave free, the optimal I/O size at the beginning, and readahead is twice
# that size: LUKS2 has 16 MiB before its data, LVM 1 MiB.
above_large_chunks()
{
	local before
	need_tools cryptsetup pvs mkfs.xfs
	disk meta 4
	disk fast 512
	disk slow 512
	chunk=$1
	activate
	same 1048576 "$(queue "$dev" optimal_io_size)" "optimal I/O size"
	same 2048 "$(queue "$dev" read_ahead_kb)" "KiB of readahead"
	before=$(stat_of "$dev" 6)
	echo secret | cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$dev" -
	matches 'offset: 16777216 \[bytes\]' "$(cryptsetup luksDump "$dev")" "LUKS2"
	is "$(stat_of "$dev" 6) - before < 40 * 2048"
	wipefs -aq "$dev"
	pvcreate -q -q -y "$dev"
	matches '^ *2048S? *$' "$(pvs --noheadings -o pe_start --units s "$dev")" "pe_start"
	wipefs -aq "$dev"
	matches 'sunit=0 +swidth=0 blks' "$(mkfs.xfs "$dev")" "XFS"
}
need_tools()
{
	local tool
	for tool; do command -v "$tool" >/dev/null || skip "$tool is not installed"; done
}
test_case "LUKS, LVM and XFS on chunks of 16 MiB" above_large_chunks 32768
test_case "LUKS, LVM and XFS on chunks of 64 MiB" above_large_chunks 131072

# stripes CHUNK MINIMUM OPTIMAL: above two stripes of 256 KiB
stripes()
{
	disk meta 4
	disk fast 32
	disk slow 32
	wrap striped "0 131072 striped 2 512 $slow 0 $fast 0"
	tiers=(/dev/mapper/tt_striped)
	chunk=$1
	activate
	same "$2" "$(queue "$dev" minimum_io_size)" "minimum I/O size"
	same "$3" "$(queue "$dev" optimal_io_size)" "optimal I/O size"
}
test_case "stripes that are larger than the chunks" stripes 128 512 65536
test_case "stripes that the chunks are made of" stripes 4096 262144 1048576

# alignment DEVICE: size and offset of its physical blocks
alignment() { echo "$(queue "$1" physical_block_size) $(<"$(block_of "$1")/alignment_offset")"; }

# make_partitions: on a disk with physical blocks of 4 KiB, $straight begins with a physical
# block and $askew does not
make_partitions()
{
	scsi_disk 512 physblk_exp=3 || skip "no scsi_debug"
	printf '%s\n' 2048,409600 425985,409600 | sfdisk -q "$scsi"
	wait_for 10 test -b "${scsi}2"
	straight=${scsi}1 askew=${scsi}2
	disk meta 4
	disk fast 400
}

# Limits that fit all tiers are passed on, as dm-linear does; users above can correct for them.
misaligned()
{
	make_partitions
	wrap above "0 409600 linear $askew 0"
	same "4096 3584" "$(alignment /dev/mapper/tt_above)" "dm-linear"
	remove tt_above
	tiers=("$fast" "$askew")
	activate
	same "4096 3584" "$(alignment "$dev")" "the set"
	fails mkfs.xfs -q "$dev"
	mkfs.xfs -q -f "$dev"
	deactivate
	scsi_disk_gone
}
test_case "a tier that does not begin with a physical block" misaligned

# Otherwise blocks of 512 bytes are shown, and mkfs.xfs needs no -f.
misaligned_alike()
{
	make_partitions
	tiers=("$straight" "$askew")
	activate
	same "512 0" "$(alignment "$dev")" "the set"
	same 512 "$(queue "$dev" minimum_io_size)" "minimum I/O size"
	matches 'sunit=0 +swidth=0 blks' "$(mkfs.xfs "$dev")" "XFS"
	deactivate
	scsi_disk_gone
}
test_case "tiers whose physical blocks do not lie alike" misaligned_alike

# A first write needs its flush, whatever caches the tiers have.
write_cache()
{
	make_set
	same "write back" "$(queue "$dev" write_cache)" "write cache"
}
test_case "the device asks for flushes" write_cache

no_dax()
{
	make_set
	same 0 "$(queue "$dev" dax)" "dax"
	same none "$(queue "$dev" zoned)" "zoned"
}
test_case "neither DAX nor zones" no_dax

max_io()
{
	make_set
	io write "$dev" at=512 len=1m seed=1 block=1m
	io check "$dev" at=512 len=1m seed=1 block=1m
	io check "$dev" at=512 len=1m seed=1 block=512
}
test_case "I/O larger than a chunk is split" max_io

end_of_device()
{
	make_set
	fails io write "$dev" at=$((length * 512)) len=512 seed=1
	fails io check "$dev" at=$((length * 512 - 512)) len=1k seed=0
	io write "$dev" at=$((length * 512 - 512)) len=512 seed=1
	io check "$dev" at=$((length * 512 - 512)) len=512 seed=1
}
test_case "nothing beyond the end" end_of_device

# A tier that is itself a dm device, with a limit of its own.
stacked()
{
	disk meta 4
	disk fast 16
	disk slow 32
	wrap striped "0 65536 striped 2 16 $slow 0 $slow 32768"
	tiers=("$fast" /dev/mapper/tt_striped)
	length=$(capacity_of 128 "$fast" "$slow")
	activate
	write_chunks 0 10 1
	move 0 10 1
	check_chunks 0 10 1
	discard_chunks 0 5
	check_chunks 0 5 0
	check_chunks 5 5 1
}
test_case "a striped device as a tier" stacked

# The set below another dm device.
below()
{
	make_set
	dmsetup create tt_above --table "0 $((length - 128)) linear $dev 128"
	io write /dev/mapper/tt_above at=0 len=640k seed=1
	io sync /dev/mapper/tt_above
	io check "$dev" at=64k len=640k seed=1 as=0
	blkdiscard -o 0 -l 640k /dev/mapper/tt_above
	io check /dev/mapper/tt_above at=0 len=640k seed=0
	fails dmsetup remove "$set"
	remove tt_above
}
test_case "a device on top of the set" below

run_tests
