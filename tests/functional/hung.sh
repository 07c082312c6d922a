#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
#
# A tier that hangs with all tags of its queue taken, so that even submitting
# one more bio to it blocks, stops nobody on the other tiers.
#
# A multipath device that queues while its only path is failed is such a tier.
#
# stock kernels only: dm-multipath sends requests to null_blk, which may sleep, where it may not
# timeout=120
# provokes: vmalloc error

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2
# shellcheck source=lib-nomem.sh
. "$here/lib-nomem.sh"
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
modprobe -a dm-multipath dm-round-robin 2>/dev/null || skip_all "no dm-multipath"

hung=/dev/mapper/tt_hung
others=()

hang()
{
	trap go_on EXIT		# otherwise nothing could be removed after a failure
	dmsetup message tt_hung 0 "fail_path $(majmin "$slow")"
}
go_on() { dmsetup message tt_hung 0 "reinstate_path $(majmin "$slow")"; }

# Three tiers; the middle one, with 4 tags, hangs on request. Chunks 0-39 on fast, 40-119 on the
# tier that will hang, 120-159 on the third.
make_three()
{
	echo 4 >/sys/module/dm_mod/parameters/dm_mq_queue_depth
	make_disks
	disk third 32
	wrap hung "0 $(sectors_of "$slow") multipath 1 queue_if_no_path 0 1 1 round-robin 0 1 1 $slow 1000"
	echo none >"$(block_of "$hung")/queue/scheduler"
	tiers=("$fast" "$hung" "$third")
	core=(migration_depth 16 migration_bandwidth 0)
	length=$(capacity_of "$chunk" "$fast" "$slow" "$third")
	activate
	write_chunks 0 160 1 block=1m
	move 40 80 1
	move 120 40 2
	io sync "$dev"
}

# Takes all tags with reads, and as many more reads wait for a tag.
take_tags()
{
	local n
	for n in {40..55}; do
		check_chunks "$n" 1 1 &
		others+=($!)
	done
	wait_for 10 tags_taken
}

tags_taken()
{
	grep -q '^busy=4$' "/sys/kernel/debug/block/$(basename "$(realpath "$(block_of "$hung")")")/hctx0/tags"
}

everything_ends()
{
	local pid
	go_on
	for pid in "${others[@]}"; do wait "$pid"; done
	wait_for 30 settled
}

first_writes()
{
	local n
	make_three
	msg pin 200 16 1
	# A discard takes a lock of the block device that udev's hanging reads hold; so discards
	# are sent through another device.
	wrap over "0 $length linear $dev 0"
	udevadm settle
	hang
	take_tags
	# Whole chunks, and chunks that must be zeroed, for the tier that hangs.
	for n in {200..207}; do write_chunks "$n" 1 3 & others+=($!); done
	for n in {208..215}; do
		io write "$dev" at="$(at_chunk "$n")" len=4k seed=3 & others+=($!)
	done
	nap 1
	in_time "whole chunks, first written" write_chunks 300 4 2
	in_time "parts of chunks, first written" \
		io write "$dev" at=$(($(at_chunk 310) + 4096)) len=4k seed=2
	in_time "FUA to a new chunk" write_chunks 320 1 2 flags=fua
	in_time "FUA to a part of a new chunk" \
		io write "$dev" at="$(at_chunk 321)" len=4k seed=2 flags=fua
	in_time "an overwrite" write_chunks 0 4 4
	in_time "a discard of chunks" discard_chunks 10 4 /dev/mapper/tt_over
	everything_ends
	check_chunks 200 8 3
	check_chunks 300 4 2
	check_chunks 320 1 2
	check_chunks 0 4 4
	check_chunks 10 4 0
	check_chunks 14 26 1
	check_chunks 40 80 1
}
test_case "first writes, FUA and discards on other tiers" first_writes

migrations()
{
	make_three
	hang
	take_tags
	# More copies than migration_depth, from and to the tier that hangs.
	msg migrate 60 40 0
	msg migrate 0 20 1
	nap 6
	msg migrate 120 20 0
	in_time "copies between other tiers" all_arrive 120 20 0
	msg migrate 120 20 2
	in_time "and back" all_arrive 120 20 2
	in_time "a write to a chunk that moves" write_chunks 121 2 5
	everything_ends
	wait_for 30 all_on_rank 0 20 1
	check_chunks 0 120 1
	check_chunks 121 2 5
	check_chunks 123 37 1
}
test_case "migrations between other tiers" migrations

landings()
{
	echo 4 >/sys/module/dm_mod/parameters/dm_mq_queue_depth
	make_disks
	wrap hung "0 $(sectors_of "$slow") multipath 1 queue_if_no_path 0 1 1 round-robin 0 1 1 $slow 1000"
	echo none >"$(block_of "$hung")/queue/scheduler"
	tiers=("$hung" "$fast")
	length=$(capacity_of "$chunk" "$slow" "$fast")
	activate
	hang
	# More first writes than one tier makes at once.
	io scatter "$dev" at=0 len="$(at_chunk 300)" chunk=64k block=2k seed=1 \
		model="$tmp/model" >"$tmp/scatter" &
	others+=($!)
	nap 8
	in_time "a first write" write_chunks 400 1 2
	all_on_rank 400 1 1 || fail "not on the tier that answers"
	# A table with the hung tier waits for its label, and nobody waits for the table.
	load &
	others+=($!)
	nap 1
	in_time "status" info mode
	in_time "a message" msg pause
	everything_ends
	check_chunks 400 1 2
	io recheck "$dev" at=0 len="$(at_chunk 300)" model="$tmp/model"
}
test_case "first writes that would land there" landings

# When no thread can be made any more, each of the set's queues of works has one thread left.
# Several tiers hang, and the works that wait for them take all threads that others could use.
nr_hung=15
threads=$(</proc/sys/kernel/threads-max)
allow_threads() { echo "$1" >/proc/sys/kernel/threads-max; }

# on_signal NAME COMMAND...: begins COMMAND, without another process, once signal NAME is called
on_signal()
{
	rm -f "$tmp/$1"
	mkfifo "$tmp/$1"
	( read -r _ <"$tmp/$1"; exec "${@:2}" ) &
}
signal() { echo >"$tmp/$1"; }

# Of 16 tiers the first does not hang; chunk n + 300 wants to be on tier n + 1, chunk 200 on the first.
make_many()
{
	local n size=$((4 << 11))
	echo 4 >/sys/module/dm_mod/parameters/dm_mq_queue_depth
	full_disk meta 4
	full_disk fast 16
	disk slow 64
	wrap hung "0 $(sectors_of "$slow") multipath 1 queue_if_no_path 0 1 1 round-robin 0 1 1 $slow 1000"
	echo none >"$(block_of "$hung")/queue/scheduler"
	tiers=("$fast")
	for ((n = 0; n < nr_hung; n++)); do
		wrap "hung$n" "0 $size linear $hung $((n * size))"
		tiers+=("/dev/mapper/tt_hung$n")
	done
	activate
	write_chunks 0 40 1 block=1m
	for ((n = 0; n < nr_hung; n++)); do msg pin $((n + 300)) 1 $((n + 1)); done
	msg pin 200 1 0
	on_signal fast "$tierio" write "$dev" at="$(at_chunk 200)" len=4k seed=2 flags=fua_alone
	pid=$!
}

# hang_all: all of these tiers, with their tags taken
hang_all()
{
	local n
	hang
	trap 'allow_threads "$threads"; memory_again; go_on' EXIT
	for n in 0 1 2 3; do
		"$tierio" check "$hung" at=$((60 << 20)) len=4k seed=0 &
		others+=($!)
	done
	wait_for 10 tags_taken
}

# the_first_writes: chunk 200, while the others hang
the_first_writes()
{
	local n=0 start
	signal fast
	start=$SECONDS
	while kill -0 "$pid" 2>/dev/null && ((SECONDS < start + 20)); do nap 0.1; done
	! kill -0 "$pid" 2>/dev/null || n=1
	allow_threads "$threads"
	memory_again
	same 0 "$n" "writers of the other tier that wait"
	wait "$pid"
	everything_ends
	check_chunks 0 40 1
	io check "$dev" at="$(at_chunk 200)" len=4k seed=2
}

without_threads()
{
	local n
	make_many
	for ((n = 0; n < nr_hung; n++)); do
		on_signal "move$n" "$here/quickdm" message "$set" 0 migrate "$n" 1 $((n + 1))
		others+=($!)
	done
	udevadm settle
	hang_all
	allow_threads 20
	for ((n = 0; n < nr_hung; n++)); do signal "move$n"; done
	nap 3
	the_first_writes
}
test_case "other tiers, without memory for more threads" without_threads

# The works zero chunks, for which memory is set aside.
without_pages()
{
	load_nomem
	make_many
	udevadm settle
	io scatter "$dev" at="$(at_chunk 300)" len="$(at_chunk "$nr_hung")" chunk=64k block=4k seed=1 \
		model="$tmp/model"
	hang_all
	no_memory
	nap 4
	same "$nr_hung" "$(cat /proc/[0-9]*/stack 2>/dev/null | grep -c ' do_zero+')" "works that wait"
	the_first_writes
	is "${denied[threads]} + ${denied[workers]} > 0"
	io recheck "$dev" at="$(at_chunk 300)" len="$(at_chunk "$nr_hung")" model="$tmp/model"
}
test_case "other tiers, when page allocations fail" without_pages

run_tests
