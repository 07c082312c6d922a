#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=240
# alone: it measures speed
#
# What keeps the policy's moves in bounds, measured: the endurance of a tier, and
# latency_guard.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need fio jq

# ---- endurance

# 1 GiB a day are 24.3 sectors a second, a chunk of 64 KiB in 5.3 s; a tenth of
# a day, 1638 chunks, may be saved up.
day=1
saved=1638

# hot SECONDS: reads of more chunks of the slow tier than the fast one has
# been given, so that the policy always wants to promote
hot()
{
	fio --name=hot --filename="$dev" --direct=1 --ioengine=libaio --iodepth=4 \
		--rw=randread --bs=4k --offset="$(at_chunk 2000)" --size=16m \
		--time_based --runtime="$1" --randseed=3 --output="$tmp/fio"
}

promotions() { info promotions; }

endurance()
{
	local start before now rate
	policy=heat
	disk meta 4
	disk fast 256 irqmode=2 completion_nsec=20000
	disk slow 256 irqmode=2 completion_nsec=2000000
	core=(tier0.landing 0 migration_bandwidth 0)
	activate
	msg pause
	write_chunks 0 2300 1 block=1m
	io sync "$dev"
	msg set tier0.endurance "$day"
	# Moves that somebody asked for are not stopped by it, but use it up.
	msg migrate 0 1700 0
	wait_for 60 all_on_rank 0 1700 0
	wait_for 10 settled
	before=$(promotions)
	same 1700 "$before" "promotions by message; more than the $saved saved up"

	msg resume
	start=$EPOCHREALTIME
	hot 30
	now=$(promotions)
	rate=$((now - before))
	note "$rate promotions by the policy in $(since "$start") s; the day's rate gives 5 to 6"
	is 'rate <= 8'
	# As budget returns, they go on.
	is 'rate >= 4'

	# Without the limit the same load is promoted at once.
	msg set tier0.endurance 0
	start=$EPOCHREALTIME
	hot 10
	note "$(($(promotions) - now)) in $(since "$start") s without the limit"
	is "$(promotions) - $now >= 40"
	check_chunks 0 2300 1 block=1m
}
test_case "endurance: promotions stop when it is used up and go on as it returns" endurance

# Another tier's endurance does not matter, and a table's key overrides.
endurance_other()
{
	policy=heat
	disk meta 4
	disk fast 64 irqmode=2 completion_nsec=20000
	disk slow 256 irqmode=2 completion_nsec=2000000
	core=(tier0.landing 0 tier1.endurance 1)
	activate
	write_chunks 2000 300 1 block=1m
	io sync "$dev"
	hot 10
	note "$(promotions) promotions with a limit on the other tier"
	is "$(promotions) >= 40"
}
test_case "endurance counts what is written to the tier itself" endurance_other

# ---- latency_guard

# A slow tier that serves so many bytes a second and no more, so that copies make
# its reads wait.
make_throttled()
{
	policy=heat
	disk meta 4
	disk fast 64 irqmode=2 completion_nsec=20000
	# No request may be larger than what it serves in 20 ms.
	disk slow 64 mbps=4 max_sectors=128
	core=(tier0.landing 0 migration_bandwidth 0 migration_depth 8)
	activate
	msg pause
	write_chunks 0 768 1 block=1m
	io sync "$dev"
}

# Reads at a pace that the slow tier can well serve; writes their mean latency in
# microseconds to $tmp/mean.
paced_reads()
{
	fio --name=paced --filename="$dev" --direct=1 --ioengine=libaio --iodepth=1 \
		--rw=randread --bs=4k --size=48m --rate_iops=150 --time_based --runtime="$1" \
		--randseed=3 --output-format=json --output="$tmp/fio" >/dev/null
	jq '.jobs[0].read.clat_ns.mean / 1000 | floor' "$tmp/fio" >"$tmp/mean"
}

# guard PERCENT: sets mean and moved
measure_guard()
{
	local before
	make_throttled
	msg set latency_guard "$1"
	# What reads take while nothing moves is learnt from these.
	paced_reads 8
	idle=$(<"$tmp/mean")
	before=$(info migrated)
	msg resume
	paced_reads 10
	mean=$(<"$tmp/mean")
	moved=$((($(info migrated) - before) / chunk))
	note "latency_guard $1: reads take $idle us alone, $mean us while $moved chunks move in 10 s"
	deactivate
	clean >/dev/null
}

guarded()
{
	local idle mean moved idle_0 mean_0 moved_0
	measure_guard 0
	idle_0=$idle mean_0=$mean moved_0=$moved
	is "$moved_0 > 50"
	is "$mean_0 > 2 * $idle_0"
	measure_guard 50
	# It backs off, but is not stopped for good.
	is "$moved > 0"
	is "$moved * 2 < $moved_0"
	is "$mean * 3 < $mean_0 * 2"
}
test_case "latency_guard: moves back off while reads suffer" guarded

run_tests
