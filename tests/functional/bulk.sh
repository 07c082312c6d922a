#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=600: the clock of a steady guest runs ahead (ci/guest/run)
# steady: it measures speed
# stock kernels only: it measures speed
#
# How fast many chunks move, compared with dd between the same disks; what writers notice of it;
# how exactly migration_bandwidth is kept.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need fio jq

# make_pair CHUNK_SECTORS MIB [KEY VALUE]...: a set with MIB of data on fast, and room on slow
make_pair()
{
	chunk=$1
	length=$(($2 * 2048))
	disk meta 8
	disk fast $(($2 + 1))
	disk slow $((2 * $2 + 64))
	core=("${@:3}")
	activate
	io write "$dev" at=0 len="$2m" seed=1 block=1m
	io sync "$dev"
}

# copied MIB: $us is how long dd takes from fast to slow, which are blank again afterwards
copied()
{
	local start
	disk fast "$1"
	disk slow "$1"
	io write "$fast" at=0 len="$1m" seed=1 block=1m
	# The program itself comes from a slow disk.
	dd if="$fast" of="$slow" bs=1M count=1 iflag=direct oflag=direct status=none
	start=$(now_us)
	dd if="$fast" of="$slow" bs=1M count="$1" iflag=direct oflag=direct status=none
	us=$(($(now_us) - start))
	disk_gone fast
	disk_gone slow
}

emptied() { [ "$(info used0)" = 0 ]; }

# emptying CHUNK_SECTORS PERCENT: at the default depth
emptying()
{
	local mib=320 us start took event
	copied "$mib"
	make_pair "$1" "$mib" migration_bandwidth 0
	event=$(dmsetup info -c --noheadings -o events "$set")
	start=$(now_us)
	msg evacuate 0
	# Asking again and again would take time from what is measured.
	until emptied; do
		dmsetup wait "$set" "$event"
		event=$((event + 1))
	done
	took=$(($(now_us) - start))
	note "dd $((mib * 1000000 / us)) MiB/s, evacuate $((mib * 1000000 / took)) MiB/s," \
		"$((us * 100 / took))%"
	note "writes to the metadata device: $(stat_of "$meta" 4)"
	is "us * 100 >= took * $2"
	io check "$dev" at=0 len="${mib}m" seed=1 block=1m
}
test_case "emptying a tier takes little longer than dd" emptying 2048 85
test_case "emptying a tier takes little longer than dd, chunks of 64 KiB" emptying 128 65

one_chunk()
{
	local start n us=0 took
	make_pair 2048 16
	for n in 0 1 2 3; do
		start=$(now_us)
		msg migrate "$n" 1 1
		until all_on_rank "$n" 1 1; do nap 0.01; done
		took=$(($(now_us) - start))
		us=$((took > us ? took : us))
	done
	note "the slowest of four took $((us / 1000)) ms"
	is "us < 1000000"
}
test_case "one chunk of an idle set moves within a second" one_chunk

# p99 FILE: of the writes, in microseconds
p99() { jq '.jobs[0].write.clat_ns.percentile."99.000000" / 1000 | floor' "$1"; }

random_writes()
{
	fio --name=w --filename="$dev" --direct=1 --ioengine=libaio --iodepth=4 --rw=randwrite \
		--bs=4k --size=128m --time_based --runtime=2 --thread --randrepeat=0 \
		--output-format=json --output="$1"
}

writers()
{
	make_pair 2048 128 migration_bandwidth 65536
	random_writes "$tmp/still"
	msg evacuate 0
	random_writes "$tmp/moving"
	is "$(info migrated) > 0"
	note "4 KiB writes, 99th percentile: $(p99 "$tmp/still") us," \
		"while chunks move $(p99 "$tmp/moving") us," \
		"longest $(jq '.jobs[0].write.clat_ns.max / 1000 | floor' "$tmp/moving") us"
}
test_case "writes while chunks move" writers

# bandwidth KIB: the limit is kept, within 3%, once what was saved up is used
bandwidth()
{
	local start sectors us
	make_pair 128 256 migration_bandwidth "$1"
	msg evacuate 0
	nap 1.5
	start=$(now_us)
	sectors=$(stat_of "$slow" 6)
	nap 3
	us=$(($(now_us) - start))
	sectors=$(($(stat_of "$slow" 6) - sectors))
	note "$((sectors * 500000 / us)) KiB/s of $1"
	is "sectors * 50000000 / us >= $1 * 97"
	is "sectors * 50000000 / us <= $1 * 103"
}
for kib in 777 12345 40000; do
	test_case "migration_bandwidth $kib is kept" bandwidth "$kib"
done

run_tests
