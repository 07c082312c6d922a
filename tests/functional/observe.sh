#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the policy sees of accesses that come faster than it needs.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need fio

# An access adds 16 to a counter, and heat halves in 1024 accesses for each place of the fast tier.
access=16
half_life=$((1024 * 256))
make_watched()
{
	policy=heat
	policy_args=(half_life 1024)
	features=(paused)
	make_disks
	activate
	write_chunks 0 700 1 block=1m
	io sync "$dev"
	wait_for 10 settled
}

# reads CHUNK COUNT OPTION...: random reads of these chunks, on one CPU
reads()
{
	fio --name=reads --filename="$dev" --direct=1 --ioengine=libaio --rw=randread --bs=4k \
		--offset="$(at_chunk "$1")" --size=$(($2 * 64))k --norandommap --randseed=7 \
		--time_based --cpus_allowed=0 --output="$tmp/fio" "${@:3}"
}

# Many at once, so that they come faster than some thousands a second in the slowest guest.
burst()
{
	reads 0 350 --iodepth=512 --iodepth_batch=512 --iodepth_batch_complete_min=512 --runtime=3
}

# counted CHUNK COUNT: sum of the counters of reads, in accesses
counted() { msg heat "$1" "$2" 1 | awk -v access="$access" '{ print int($4 / access) }'; }

# kept ACCESSES: what is left of their heat once the last is made, as they come at one rate
kept()
{
	awk -v n="$1" -v half="$half_life" \
		'BEGIN { print int(half / log(2) * (1 - exp(-log(2) * n / half))) }'
}

burst_counts()
{
	local before made seen kept
	make_watched
	before=$(($(info reads0) + $(info reads1)))
	burst
	made=$(($(info reads0) + $(info reads1) - before))
	sleep 0.3
	seen=$(counted 0 350)
	kept=$(kept "$made")
	note "$made reads in 3 s: heat of $seen, of $kept with nothing passed over"
	# Some are taken for streams; a counter says what it was when a sweep last came by.
	is "seen * 100 >= 85 * kept"
	is "seen * 100 <= 120 * kept"
}
test_case "heat is that of all accesses, however fast they come" burst_counts

quiet_after_burst()
{
	local seen
	make_watched
	burst
	reads 350 350 --iodepth=1 --rate_iops=40 --runtime=2
	sleep 0.3
	seen=$(counted 350 350)
	note "after a burst, of 80 reads in 2 s: $seen"
	is "seen >= 60"
	is "seen <= 100"
}
test_case "after a burst a quiet load is seen" quiet_after_burst

run_tests
