#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=600: the clock of a steady guest runs ahead (ci/guest/run)
# steady: it measures speed
# stock kernels only: it measures speed
#
# 4 KiB random reads of mapped chunks, compared with dm-linear on the same disk in alternating
# rounds; dm-linear compared with itself shows the noise. If the guest is emulated (ci/guest/run
# --steady), instructions are compared; waiting for memory or for another CPU's cache line shows
# only on real hardware.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need fio bc

rounds=5
seconds=1

# iops DEVICE
iops()
{
	fio --name=read --filename="$1" --direct=1 --ioengine=libaio --iodepth=16 --thread \
		--rw=randread --bs=4k --size=48m --norandommap --random_generator=lfsr \
		--time_based --runtime="$seconds" --ramp_time=0.5 --randrepeat=0 \
		--output-format=terse --terse-version=3 | cut -d';' -f8
}

# median: of the numbers on stdin
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# series: runs more rounds; $ratio is the median of tier / linear over all rounds so far
series()
{
	local round a t b
	for ((round = 1; round <= rounds; round++)); do
		a=$(iops /dev/mapper/tt_linear)
		t=$(iops "$dev")
		b=$(iops /dev/mapper/tt_linear)
		# Compared with the mean of the rounds before and after, which removes a drift.
		ratio=$(bc <<<"scale=4; 2 * $t / ($a + $b)")
		echo "$ratio" >>"$tmp/ratios"
		bc <<<"scale=4; $b / $a" >>"$tmp/noise"
		note "$(printf '%9d  %9d  %9d  %12s  %13s' "$a" "$t" "$b" "$ratio" \
			"$(tail -n 1 "$tmp/noise")")"
	done
	ratio=$(median <"$tmp/ratios")
	note "median: tier $ratio of linear; linear $(median <"$tmp/noise") of itself"
}

against_linear()
{
	local ratio again spread
	chunk=2048
	disk meta 4
	disk fast 64
	tiers=("$fast")
	policy=heat
	activate
	io write "$dev" at=0 len=48m seed=1 block=1m
	# The same sectors: place 1 on begins at 1 MiB.
	wrap linear "0 $((48 * 2048)) linear $fast 2048"
	note "4 KiB random reads, depth 16, $seconds s each:"
	note "   linear       tier     linear   tier/linear  linear/linear"
	# Other load on the machine disturbs single rounds. More rounds make the median steadier;
	# no round is left out.
	for again in 1 2 3; do
		series
		[ "$(bc <<<"$ratio >= 0.95")" != 1 ] || return 0
		note "falls short after $((again * rounds)) rounds"
	done
	# If dm-linear itself differs by more in half of the rounds, 5% cannot be measured.
	spread=$(awk '{ d = $1 - 1; print d < 0 ? -d : d }' "$tmp/noise" | median)
	[ "$(bc <<<"$spread <= 0.05")" = 1 ] ||
		skip "$ratio of dm-linear, which differs by $spread from itself: too busy a machine"
	fail "only $ratio of dm-linear"
}
test_case "4 KiB random reads at least 0.95 of dm-linear" against_linear

# ns_each DEVICE READ|WRITE: mean time of one of many 4 KiB I/Os, one after the other
ns_each()
{
	fio --name=hit --filename="$1" --direct=1 --ioengine=psync --thread --rw="rand$2" --bs=4k \
		--size=48m --norandommap --random_generator=lfsr --randseed=1 --number_ios=20000 \
		--output-format=terse --terse-version=3 |
		awk -F';' -v us="$([ "$2" = read ] && echo 16 || echo 57)" '{ print $us * 1000 }'
}

# The disk ends its I/O in the context of who submits it. So what a device takes longer than the
# disk is what happens between submit_bio() and the disk, and on the way back.
hit()
{
	local rw disk linear tier ratio noise
	chunk=2048
	disk meta 4
	disk fast 64 irqmode=0
	tiers=("$fast")
	policy=heat
	activate
	io write "$dev" at=0 len=48m seed=1 block=1m
	wrap linear "0 $((48 * 2048)) linear $fast 2048"
	for rw in read write; do
		disk=$(ns_each "$fast" "$rw")
		linear=$(ns_each /dev/mapper/tt_linear "$rw")
		tier=$(ns_each "$dev" "$rw")
		ratio=$(bc <<<"scale=3; ($tier - $disk) / ($linear - $disk)")
		noise=$(bc <<<"scale=3; ($(ns_each "$fast" "$rw") - $disk) / ($linear - $disk)")
		note "$rw: disk $disk ns, linear adds $(bc <<<"$linear - $disk")," \
			"tier $(bc <<<"$tier - $disk"): $ratio; noise $noise"
		[ "$(bc <<<"$noise < 0.1 && $noise > -0.1")" = 1 ] ||
			skip "the disk differs by $noise of what dm-linear adds: too busy a machine"
		[ "$(bc <<<"$ratio <= 1.25")" = 1 ] || fail "a $rw hit takes $ratio of dm-linear's"
	done
}
test_case "a hit adds at most 1.25 of what dm-linear adds" hit

# What heat is counted and latencies are measured with.
watched()
{
	local heat unwatched ratio noise
	chunk=2048
	disk meta 4
	disk fast 64 irqmode=0
	tiers=("$fast")
	policy=heat
	activate
	# Both measured below a table that is not the device's first: from the second one on, newer
	# kernels keep the bios of each CPU for its next I/O.
	reload
	io write "$dev" at=0 len=48m seed=1 block=1m
	# The set finds out how often it has to measure.
	ns_each "$dev" read >"$tmp/first"
	heat=$(ns_each "$dev" read)
	policy=static
	reload
	unwatched=$(ns_each "$dev" read)
	ratio=$(bc <<<"scale=4; $heat / $unwatched")
	noise=$(bc <<<"scale=4; $(ns_each "$dev" read) / $unwatched")
	note "a read hit takes $heat ns with heat, $unwatched with static: $ratio; noise $noise"
	[ "$(bc <<<"$noise < 1.01 && $noise > 0.99")" = 1 ] ||
		skip "static differs by $noise from itself: too busy a machine"
	[ "$(bc <<<"$ratio <= 1.02")" = 1 ] || fail "heat makes it $ratio"
}
test_case "a read hit takes at most 1.02 with heat of what it takes with static" watched

run_tests
