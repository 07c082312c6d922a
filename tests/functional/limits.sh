#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the block device says of itself: sector sizes of mixed tiers, discard
# limits, write cache, alignment; and what it must not claim.

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

# A length that is no multiple of the sectors cannot be.
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

# Unmapping is worth it even where the tiers cannot discard.
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

# An allocation needs its flush, whatever the tiers' caches are.
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

# A tier below the set that is a dm device itself, with a limit of its own.
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

# And the set below another dm device.
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
