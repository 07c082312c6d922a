#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# long
# timeout=3600: the clock of a steady guest runs ahead (ci/guest/run)
# steady: it measures speed
#
# Balance under load: two tiers of nearly equal speed deliver the sum of both, and little moves
# once they do. MINUTES in the environment: how long that is watched, and for reads alone as well.
# unit/test-balance has the same on a model.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need fio

hot=256		# chunks of 64 KiB, which fit either tier

# make_tiers ATTRIBUTES OF FAST -- OF SLOW: the hot chunks lie fast
make_tiers()
{
	local fast_disk=()
	while [ "$1" != -- ]; do
		fast_disk+=("$1")
		shift
	done
	policy=heat
	disk meta 4
	disk fast 64 "${fast_disk[@]}"
	disk slow 64 "${@:2}"
	core=(migration_bandwidth 0)
	activate
	write_chunks 0 "$hot" 1 block=1m
	write_chunks 1000 64 1 block=1m
	io sync "$dev"
	all_on_rank 0 "$hot" 0
	# How fast the slow tier is without load has to be known.
	msg pin 1000 64 1
	wait_for 60 all_on_rank 1000 64 1
	fio --name=cold --filename="$dev" --direct=1 --rw=randrw --bs=64k --offset="$(at_chunk 1000)" \
		--size=4m --norandommap --time_based --runtime=5 --output="$tmp/fio"
}

# load OPTION...: accesses to the hot chunks, all the time, with 16 under way
load()
{
	background fio --name=hot --filename="$dev" --direct=1 --ioengine=libaio --iodepth=16 \
		--size=$((hot * 64))k --norandommap --time_based --runtime=3600 --output="$tmp/fio" "$@"
}

unload()
{
	kill "$last_pid"
	wait "$last_pid" || true
}

moves() { echo $(($(info promotions) + $(info demotions))); }
sectors_done() { awk '{ print $3 + $7 }' "$(block_of "$dev")/stat"; }

# measure SECONDS: $rate is what the set delivers in that time, in 100 kB/s
measure()
{
	local start=$EPOCHREALTIME before seconds
	before=$(sectors_done)
	nap "$1"
	seconds=$(since "$start")
	rate=$((($(sectors_done) - before) * 512 / (10#${seconds/./} * 1000)))
}
mbytes() { echo "$((rate / 10)).$((rate % 10)) MB/s"; }

# most_moves MINUTES: $most is the number of moves in any of them
most_moves()
{
	local before minute
	most=0
	for ((minute = 0; minute < $1; minute++)); do
		before=$(moves)
		nap 60
		before=$(($(moves) - before))
		[ "$before" -le "$most" ] || most=$before
	done
}

nearly_equal()
{
	make_tiers mbps=100 -- mbps=60
	load --bs=64k "$@"
	measure 5
	note "$1: $(mbytes) at first"
	nap 105
	measure 10
	note "$(mbytes) after two minutes and $(moves) moves"
	is "rate >= 1440"
	most_moves "${MINUTES:-0}"
	note "then at most $most moves in a minute, of ${MINUTES:-0}"
	is "most <= $hot / 100"
	unload
}
test_case "two tiers of nearly equal speed deliver the sum of both" nearly_equal --rw=randrw
if [ -n "${MINUTES:-}" ]; then
	test_case "reads alone" nearly_equal --rw=randread
fi

ten_times()
{
	local before
	make_tiers mbps=100 irqmode=2 completion_nsec=80000 -- mbps=10 irqmode=2 completion_nsec=800000
	load --bs=4k --rw=randread
	before=$(moves)
	nap 30
	unload
	same 0 "$(($(moves) - before))" "moves"
}
test_case "beside a tier ten times as fast nothing changes" ten_times

run_tests
