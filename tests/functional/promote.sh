#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=600: the clock of a steady guest runs ahead (ci/guest/run)
# steady: it measures speed
# stock kernels only: it measures speed
#
# How fast a clearly hot set is promoted that fits the fast tier: 100 MiB of chunks of 64 KiB, a
# disk of 2 ms, 64 MiB/s allowed.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need fio

hot=1600	# chunks
seconds=12

reads_began() { [ "$(info reads1)" -gt 0 ]; }

hot_set()
{
	local i
	cold_set 128 80000 640 2000000 9600
	background fio --name=hot --filename="$dev" --direct=1 --ioengine=libaio --iodepth=16 \
		--rw=randread --bs=4k --offset="$(at_chunk 6400)" --size=$((hot * 64))k \
		--norandommap --time_based --runtime=$((seconds + 2)) --randseed=7 \
		--output="$tmp/fio"
	wait_for 10 reads_began
	for ((i = 1; i <= seconds; i++)); do
		sleep 1
		note "$i s: $(info promotions) of $hot chunks promoted"
	done
	is "$(info promotions) * 100 >= 95 * hot"
	wait "$last_pid"
	check_chunks 0 9600 1 block=1m
}
test_case "95% of a hot set of small chunks are promoted within $seconds s" hot_set

# The kernel lets writeback wait while reads are slow, and what is queued behind it.
among_reads()
{
	local start queue=/sys/block/${slow##*/}/queue
	disk meta 4
	disk fast 128
	disk slow 256 irqmode=2 completion_nsec=2000000
	echo 1 >"$queue/wbt_lat_usec"
	core=(migration_bandwidth 0 migration_depth 64 latency_guard 0)
	activate
	write_chunks 0 3600 1 block=1m
	io sync "$dev"
	background fio --name=reads --filename="$dev" --direct=1 --ioengine=libaio --iodepth=16 \
		--rw=randread --bs=4k --offset="$(at_chunk 2400)" --size=64m --norandommap \
		--time_based --runtime=8 --output="$tmp/fio"
	wait_for 10 reads_began
	start=${EPOCHREALTIME/./}
	msg migrate 0 "$moved" 1
	until all_on_rank 0 "$moved" 1; do nap 0.05; done
	start=$((${EPOCHREALTIME/./} - start))
	note "$moved chunks copied to a disk in $((start / 1000)) ms, beside reads"
	is "start < moved * 1500"
	wait "$last_pid"
	check_chunks 0 3600 1 block=1m
}
moved=1000
test_case "copies are no writeback that waits for others' reads" among_reads

run_tests
