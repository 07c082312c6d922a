#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
# long
# timeout=1200
# steady: it compares speeds
#
# A far tier whose latency swings by ten every two seconds: heat beside the fixed placements, in
# one run. 64 chunks are read at random; the far tier answers after 1 or 10 ms.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=lib-reach.sh
. "$(dirname "$0")/lib-reach.sh"
# shellcheck source=lib-nvme.sh
. "$(dirname "$0")/lib-nvme.sh"
need fio jq

swinging()
{
	while [ ! -e "$tmp/enough" ]; do
		link_as delay 500us
		nap 2
		link_as delay 5ms
		nap 2
	done
}

# reads SECONDS: how many a second
reads()
{
	fio --name=hot --filename="$dev" --size="$(at_chunk 64)" --bs=4k --rw=randread --direct=1 --ioengine=psync \
		--time_based --runtime="$1" --randrepeat=0 --norandommap --output-format=json >"$tmp/fio"
	jq '.jobs[0].read.iops | floor' "$tmp/fio"
}

# beside NEAR-RANK NEAR-US: heat finds its placement, from each of the two fixed ones
beside()
{
	local rank n best=0 got fixed=() found=()
	trap undo EXIT
	rm -f "$tmp/enough"
	policy=heat
	disk meta 4
	disk near 32 irqmode=2 completion_nsec=$(($2 * 1000))
	far_disk 0 32
	if [ "$1" = 0 ]; then tiers=(/dev/tt_near "$attached"); else tiers=("$attached" /dev/tt_near); fi
	activate
	write_chunks 0 64 1 block=1m
	swinging &
	near_pid=($!)
	for rank in 0 1; do
		msg pin 0 64 "$rank"
		wait_for 60 all_on_rank 0 64 "$rank"
		fixed[rank]=$(reads 20)
		((fixed[rank] <= best)) || best=${fixed[rank]}
	done
	for rank in 0 1; do
		msg pin 0 64 "$rank"
		wait_for 60 all_on_rank 0 64 "$rank"
		msg unpin 0 64
		reads 40 >"$tmp/learning"
		found[rank]=$(reads 40)
		note "from rank $rank: $(<"$tmp/learning") reads a second, then ${found[rank]}, $(on_rank 0 64 0) of 64 chunks on rank 0"
	done
	check_chunks 0 64 1
	note "near is rank $1, $2 us: fixed on rank 0 ${fixed[0]}, on rank 1 ${fixed[1]} reads a second"
	for got in "${found[@]}"; do is "$got * 100 >= $best * 95"; done
}

test_case "a far tier below a near one" beside 0 500
test_case "a far tier above a near one that is as fast on average" beside 1 2000
test_case "a far tier above a near one that is slower on average" beside 1 12000

run_tests
