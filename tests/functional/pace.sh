#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# long
# timeout=3600: the clock of a steady guest runs ahead (ci/guest/run)
# steady: it measures speed
# stock kernels only: it measures speed
#
# What latency_guard and migration_min do, measured: what readers of a disk with one actuator
# notice while a tier is emptied, and how much moves all the same.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need fio jq nbdkit nbd-client
plugin=$here/../../ci/guest/slowdisk/slowdisk.so
[ -e "$plugin" ] || skip_all "the simulated disk is not built"
modprobe nbd nbds_max=1 || skip_all "nbd does not load"

mib=1000 readable=100	# what moves; behind it, what is read

# actuator MIB: $slow is the simulated disk
actuator()
{
	slow=/dev/nbd0
	nbd-client -d "$slow" >/dev/null 2>&1 || true
	rm -f "$tmp/slow.sock"
	background nbdkit --foreground --unix "$tmp/slow.sock" "$plugin" size="$1M"
	wait_for 10 test -S "$tmp/slow.sock"
	nbd-client -unix "$tmp/slow.sock" "$slow" >/dev/null
	echo 1 >/sys/block/nbd0/queue/rotational
}

actuator_gone()
{
	deactivate
	nbd-client -d "$slow" >/dev/null
	kill "$actuator"
	wait "$actuator" || true
}

# make_pair RANK: a set of which $mib lie on that tier, and what is read on the slow one. Only the
# first block of each chunk is written, as the disks lie in memory.
make_pair()
{
	chunk=2048
	disk meta 8
	disk fast $(($1 ? mib + readable + 100 : mib + 1))
	actuator 2048
	actuator=$last_pid
	tiers=("$fast" "$slow")
	length=$(((mib + readable) * 2048))
	core=(tier0.landing $((!$1)) migration_bandwidth 0)
	features=(skip_zeroing)
	activate
	msg pause
	fio --name=fill --filename="$dev" --direct=1 --ioengine=libaio --iodepth=32 --bs=4k \
		--rw=write:1020k --size="$((mib + readable))m" \
		--io_size=$(((mib + readable) * 4))k --end_fsync=1 --output="$tmp/fill"
	same "$mib" "$(on_rank 0 "$mib" "$1")" "chunks to be moved"
	same "$readable" "$(on_rank "$mib" "$readable" 1)" "chunks to be read"
}

# reads NAME DEPTH SECONDS
reads()
{
	fio --name=reads --filename="$dev" --direct=1 --ioengine=libaio --iodepth="$2" \
		--rw=randread --norandommap --bs=4k --offset="${mib}m" --size="${readable}m" \
		--time_based --runtime="$3" --thread --randrepeat=0 --output-format=json \
		--output="$tmp/$1" >/dev/null
}

# p99 NAME: of the reads, in microseconds
p99() { jq '.jobs[0].read.clat_ns.percentile."99.000000" / 1000 | floor' "$tmp/$1"; }

# being_read RANK: fio, which takes a while to start, reads that tier
being_read() { [ "$(info "reads$1")" -gt "$reads_before" ]; }

# under_load NAME DEPTH SECONDS: chunks move while something is read;
# $moved is how many KiB/s
under_load()
{
	local before start reads_before
	reads_before=$(info reads1)
	background reads "$@"
	wait_for 20 being_read 1
	nap 1
	msg resume
	# Chunks under way are not counted yet: as many at the end.
	nap 2
	before=$(info migrated)
	start=$(now_us)
	wait "$last_pid"
	msg pause
	moved=$((($(info migrated) - before) * 500000 / ($(now_us) - start)))
}

# emptying RANK DEPTH: that tier
emptying()
{
	local least=4096 still paced before moved guard
	make_pair "$1"
	status
	guard=${V[latency_guard]}
	reads still "$2" 20
	msg evacuate "$1"
	msg set latency_guard 0
	under_load before "$2" 4
	still=$(p99 still) before=$(p99 before)
	note "depth $2, 99th percentile of the reads: paused $still us; without the guard" \
		"$before us, $((before * 100 / still))%, while $moved KiB/s move"
	msg set latency_guard "$guard"
	msg set migration_min "$least"
	wait_for 30 settled
	under_load paced "$2" 20
	paced=$(p99 paced)
	note "latency_guard $guard, migration_min $least: $paced us, $((paced * 100 / still))%," \
		"while $moved KiB/s move"
	same 1 "$(on_rank $((mib - 1)) 1 "$1")" "the last chunk, which stays until the end"
	actuator_gone
	# At depth 1 each copy that a read meets is longer than the read itself.
	is "$2 == 1 || paced * 100 <= still * 150"
	is "moved * 100 >= least * 97"
}
for depth in 16 1; do
	test_case "emptying the slow tier under reads at depth $depth" emptying 1 "$depth"
	test_case "emptying the fast tier under reads at depth $depth" emptying 0 "$depth"
done

# 64 chunks get 2 reads a second each, and a move pays for itself within seconds: at the pace of a
# disk that is busy all the time, 1 MiB/s, they would take a minute.
hot_set()
{
	local start reads_before
	policy=heat mib=300 readable=64
	make_pair 1
	reads_before=$(info reads1)
	background reads hot 16 30
	wait_for 20 being_read 1
	start=$EPOCHREALTIME
	msg resume
	while [ "$(on_rank "$mib" 64 0)" -lt 58 ]; do
		[ "$(since "$start" | cut -d. -f1)" -lt 25 ] || break
		nap 0.2
	done
	note "58 of 64 hot chunks are on the fast tier after $(since "$start") s"
	is "$(on_rank "$mib" 64 0) >= 58"
	wait "$last_pid"
	actuator_gone
}
test_case "a hot set leaves a busy disk within seconds" hot_set

# moving FIRST RANK: $us is how long 16 chunks take
moving()
{
	local start
	start=$(now_us)
	msg migrate "$1" 16 "$2"
	until all_on_rank "$1" 16 "$2"; do nap 0.02; done
	us=$(($(now_us) - start))
}

# 16 MiB take 1.75 s at 4 MiB/s and a quarter more every quarter of a second.
others()
{
	local us up other reads_before
	chunk=2048
	disk meta 4
	disk fast 40 mbps=40
	disk slow 40
	disk third 40
	tiers=("$fast" "$slow" "$third")
	core=(tier0.landing 0 tier2.landing 0 migration_bandwidth 0)
	activate
	write_chunks 0 34 1 block=1m
	io sync "$dev"
	move 32 2 0
	same 32 "$(on_rank 0 32 1)" "chunks in the middle"
	mib=32 readable=2
	reads_before=$(info reads0)
	background reads alone 1 3600
	wait_for 20 being_read 0
	nap 1
	moving 0 0
	up=$us
	moving 16 2
	other=$us
	note "16 chunks to the tier that is read: $((up / 1000)) ms; between the others: $((other / 1000)) ms"
	is "up >= 1500000"
	is "other * 3 <= up"
	# The least comes before the guard.
	msg set migration_min 1000000
	moving 0 1
	note "with migration_min: $((us / 1000)) ms"
	is "us * 3 <= up"
	msg set migration_min 0
	nap 1
	msg set latency_guard 0
	moving 0 0
	note "without the guard: $((us / 1000)) ms"
	is "us * 3 <= up"
	check_chunks 0 34 1 block=1m
}
test_case "moves between tiers that nobody uses are not slowed down" others

run_tests
