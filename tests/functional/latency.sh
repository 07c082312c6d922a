#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# long
#
# How long accesses take on each tier, by class: the message latency, what tierctl makes of it, and
# tierN.latency, which the policy goes by instead.
# steady: measures how long accesses take
# timeout=600: the clock of a steady guest runs ahead (ci/guest/run)

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
need python3 fio dd
modprobe dm-delay 2>/dev/null || skip_all "no dm-delay"

# latency RANK CLASS: unloaded ns of random reads (0), sequential reads (1), random writes (2), sequential
# writes (3); now_of RANK CLASS
latency() { msg latency | awk -v rank="$1" -v class="$2" '$1 == rank { print $(2 + 2 * class) }'; }
now_of() { msg latency | awk -v rank="$1" -v class="$2" '$1 == rank { print $(3 + 2 * class) }'; }
known() { [ "$(latency "$1" "$2")" -gt 0 ] && [ "$(now_of "$1" "$2")" -gt 0 ]; }
not_now() { [ "$(now_of "$1" "$2")" -eq 0 ]; }

# load CHUNK COUNT OPTION...: I/O to these chunks, one at a time
load()
{
	fio --name=load --filename="$dev" --direct=1 --ioengine=libaio --offset="$(at_chunk "$1")" \
		--size="$(at_chunk "$2")" --norandommap --randseed=7 --time_based --cpus_allowed=0 \
		--output="$tmp/fio" --rw=randread --bs=4k --runtime=4 "${@:3}"
}

# takes RANK CLASS LOW HIGH LOAD...: that load makes accesses of that class, which take so many ns
takes()
{
	load "${@:5}"
	wait_for 5 known "$1" "$2"
	note "tier $1, class $2: $(latency "$1" "$2") ns unloaded, $(now_of "$1" "$2") now"
	is "$(latency "$1" "$2") >= $3 && $(latency "$1" "$2") <= $4"
	is "$(now_of "$1" "$2") >= $3 && $(now_of "$1" "$2") <= $4"
}

# make_mixed: 60 chunks of 1 MiB, the first on fast, the last on slow
make_mixed()
{
	chunk=2048
	policy=heat
	features=(paused)
	disk meta 4
	disk fast 32 irqmode=2 completion_nsec=20000
	disk slow 64 irqmode=2 completion_nsec=8000000
	activate
	write_chunks 0 60 1 block=1m
	io sync "$dev"
	same "10 10" "$(on_rank 0 10 0) $(on_rank 50 10 1)" "chunks on each tier"
}

# Large accesses reach the disk in pieces of 128 KiB or more, of which each 64 KiB counts as an access.
by_class()
{
	make_mixed
	same 2 "$(msg latency | wc -l)" "lines"
	same 9 "$(msg latency | head -n 1 | wc -w)" "numbers in a line"
	takes 1 0 8000000 10000000 50 10
	takes 1 1 900000 5000000 50 10 --rw=read --bs=512k
	takes 1 2 8000000 10000000 50 10 --rw=randwrite
	takes 1 3 900000 5000000 50 10 --rw=write --bs=512k
	takes 0 0 20000 1000000 0 10
	takes 0 2 20000 1000000 0 10 --rw=randwrite
	# Nobody uses slow: what it does unloaded is remembered.
	wait_for 15 not_now 1 0
	is "$(latency 1 0) >= 8000000"
}
test_case "a slow tier shows its latency, by class" by_class

# A flush takes 80 ms, and there is one for 8 writes.
flushes()
{
	local without
	policy=heat
	features=(paused)
	disk meta 4 cache_size=4
	disk fast 32 cache_size=16 irqmode=2 completion_nsec=20000
	disk slow 32 cache_size=16
	wrap u_fast "0 $(sectors_of "$fast") delay $fast 0 0 $fast 0 0 $fast 0 80"
	tiers=(/dev/mapper/tt_u_fast "$slow")
	activate
	write_chunks 0 200 1 block=1m
	io sync "$dev"
	same 200 "$(on_rank 0 200 0)" "chunks on the tier with the cache"
	load 0 200 --rw=randwrite
	wait_for 10 known 0 2
	without=$(now_of 0 2)
	load 0 200 --rw=randwrite --fsync=8 --runtime=10
	load 0 200 --runtime=2
	note "without flushes $without ns, with them $(now_of 0 2) ns, reads $(now_of 0 0) ns"
	is "$(now_of 0 2) > $without + 5000000"
	is "$(now_of 0 0) < 2500000"
}
test_case "writes have their share of the flushes of a volatile cache" flushes

held_is() { [ "$(hold_of "$1")" = "$2" ]; }

# read_twelve CHUNK: the same 4 KiB, which never looks like a stream
read_twelve()
{
	local i
	for ((i = 0; i < 12; i++)); do
		dd if="$dev" of=/dev/null bs=4k count=1 skip=$(($1 * chunk / 8)) iflag=direct status=none
	done
	wait_for 10 counted "$1" $((12 * 16))
}
counted() { [ "$(msg heat "$1" 1 1 | awk '{ print $4 }')" -ge "$2" ]; }

# Between tiers that are equally fast a move for twelve reads does not pay, until the user says so.
given()
{
	policy=heat
	features=(paused)
	core=(tier0.landing 0 migration_bandwidth 0)
	disk meta 4
	disk fast 16 irqmode=2 completion_nsec=2000000
	disk slow 64 irqmode=2 completion_nsec=2000000
	activate
	write_chunks 0 300 1 block=1m
	io sync "$dev"
	msg migrate 0 100 0
	wait_for 30 all_on_rank 0 100 0
	takes 0 0 2000000 4000000 0 100
	takes 1 0 2000000 4000000 250 50
	read_twelve 200
	same cold "$(hold_of 200)" "by what was measured"
	msg set tier1.latency 200000
	wait_for 10 held_is 200 paused
	is "$(latency 1 0) < 4000000"
	msg set tier1.latency 0
	wait_for 10 held_is 200 cold
	ctl_code 0 set "$set" tier1.latency=200ms
	matches 'latency=200000 \(200 ms\)' "$output"
	msg resume
	read_twelve 200
	wait_for 20 all_on_rank 200 1 0
}
test_case "tierN.latency counts in place of what was measured" given

shown()
{
	make_mixed
	msg set tier1.latency 1500
	load 50 10
	wait_for 10 known 1 0
	ctl_code 0 status -v "$set"
	matches 'latency, us: now \(unloaded\) +random read +sequential read +random write +sequential write' "$output"
	matches 'tier 1 +[0-9]+(\.[0-9])? \([0-9]+(\.[0-9])?\) .*latency=1500 us' "$output"
	ctl_code 0 status "$set"
	[[ $output != *unloaded* ]] || fail "shown without -v: $output"
	is "$(json '.sets[0].tiers[1].latency.random_read.unloaded_us | floor' status "$set") >= 7000"
	same null "$(json '.sets[0].tiers[0].latency.random_read.now_us' status "$set")"
	same 1500 "$(json '.sets[0].tunables["tier1.latency"]' status "$set")"
	"$here/check-json.py" "$here/../../userspace/schema" "$reports"/*
	ctl_code 0 metrics "$set"
	matches 'dm_tier_tier_latency_seconds\{set="tt_set",tier="1",device="[^"]+",class="random_read",when="unloaded"\} 0\.0(08|09|1)' "$output"
}
test_case "tierctl shows latencies" shown

run_tests
