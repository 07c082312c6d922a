#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=180
# provokes: vmalloc error
#
# Page allocations fail (test_modules/nomem.c): those of kernel workers, of kthreadd, so that no
# worker gets another thread, and of others in the path of I/O.  No tier waits for memory that
# another one, which hangs, has taken, and nothing that was acknowledged is lost.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-nomem.sh
. "$here/lib-nomem.sh"

hung=/dev/mapper/tt_hung
others=()

# A device that is suspended takes all bios and keeps them.
hang()
{
	trap 'memory_again; go_on' EXIT		# otherwise nothing could be removed after a failure
	dmsetup suspend --noflush --nolockfs tt_hung
}
go_on() { dmsetup resume tt_hung; }

# Three tiers, of which the first one will hang; chunks 900-999 want to be on the second.
make_three()
{
	load_nomem
	# device-mapper itself sets aside memory for as many bios of a device.
	echo 1024 >/sys/module/dm_mod/parameters/reserved_bio_based_ios
	full_disk meta 4
	full_disk slow 64
	full_disk fast 16
	full_disk third 16
	wrap hung "$(linear_line slow)"
	tiers=("$hung" "$fast" "$third")
	length=$(capacity_of "$chunk" "$slow" "$fast" "$third")
	activate
	msg pin 900 100 1
	udevadm settle
}

# scatter FIRST COUNT: first writes of parts of as many chunks, all at once
scatter()
{
	io scatter "$dev" at="$(at_chunk "$1")" len="$(at_chunk "$2")" chunk=64k block=1k seed=1 \
		model="$tmp/model" >"$tmp/scatter" &
	written=$2
	others+=($!)
	wait_for 10 test -s "$tmp/scatter"
}

everything_ends()
{
	local pid
	memory_again
	go_on
	for pid in "${others[@]}"; do wait "$pid"; done
	wait_for 30 settled
	is "${denied[workers]} > 0"
	is "${denied[others]} > 0"
}

first_writes_elsewhere()
{
	in_time "whole chunks" write_chunks 900 8 2
	in_time "a part of a chunk" io write "$dev" at="$(at_chunk 910)" len=4k seed=2
	in_time "FUA" write_chunks 920 1 2 flags=fua_alone
	in_time "FUA to a part of a chunk" \
		io write "$dev" at="$(at_chunk 921)" len=4k seed=2 flags=fua_alone
}

check_elsewhere()
{
	check_chunks 900 8 2
	io check "$dev" at="$(at_chunk 910)" len=4k seed=2
	check_chunks 920 1 2
	io check "$dev" at="$(at_chunk 921)" len=4k seed=2
	io recheck "$dev" at=0 len="$(at_chunk "$written")" model="$tmp/model"
}

# The tier that hangs has all that was set aside for chunks that are not whole yet.
births()
{
	make_three
	hang
	no_memory
	scatter 0 300
	nap 6
	status
	is 'S[used0] < 300'	# else there is memory for all, and the case shows nothing
	first_writes_elsewhere
	everything_ends
	check_elsewhere
}
test_case "first writes, when another tier has the memory for them" births

# The same of zeroing.
zeroes()
{
	make_three
	scatter 0 800
	wait "${others[0]}"
	others=()
	hang
	no_memory
	nap 6
	status
	is 'S[used0] == 800'
	first_writes_elsewhere
	everything_ends
	check_elsewhere
}
test_case "zeroing, when another tier has the memory for it" zeroes

# Nobody waits for the tier that hangs: it has nothing that was acknowledged and is not flushed.
elsewhere()
{
	make_three
	core=(tier0.landing 0)
	reload
	write_chunks 0 120 1 block=1m
	move 80 40 2
	move 0 20 0
	io sync "$dev"
	# A discard takes a lock of the block device that udev's hanging reads hold.
	wrap over "0 $length linear $dev 0"
	udevadm settle
	hang
	check_chunks 0 4 1 &
	others+=($!)
	msg migrate 70 30 0
	nap 6
	msg migrate 100 20 1
	in_time "copies" all_arrive 100 20 1
	no_memory
	msg migrate 100 20 2
	in_time "copies, with the memory of the last ones" all_arrive 100 20 2
	in_time "reads" check_chunks 20 100 1 block=1m
	in_time "overwrites" write_chunks 40 20 2 block=1m
	in_time "writes to chunks that move" write_chunks 70 50 2 block=1m
	first_writes_elsewhere
	in_time "a FLUSH" io sync "$dev"
	in_time "a discard of chunks" discard_chunks 60 10 /dev/mapper/tt_over
	in_time "a discard of a part" blkdiscard -f -o $(($(at_chunk 59) + 32768)) -l 4k /dev/mapper/tt_over
	in_time "a pin" msg pin 20 10 2
	nap 6
	everything_ends
	wait_for 30 all_on_rank 20 10 2
	check_chunks 0 40 1
	check_chunks 40 19 2
	check_chunks 60 10 0
	check_chunks 70 50 2
	check_chunks 900 8 2
}
test_case "reads, writes, FLUSH and discards on other tiers" elsewhere

# Without a tier that hangs.
all_at_once()
{
	local pid
	make_three
	io torture "$dev" at=0 len="$(at_chunk 500)" chunk=65536 seconds=12 seed=7 \
		model="$tmp/model" >/dev/null &
	pid=$!
	nap 1
	trap memory_again EXIT
	no_memory
	while ! has_ended "$pid"; do
		msg migrate $((RANDOM % 400)) 20 $((RANDOM % 3))
		nap 0.5
	done
	wait "$pid"
	in_time "a FLUSH" io sync "$dev"
	suspend
	fails resume		# for which there is no memory: nothing has changed
	memory_again
	is "${denied[workers]} > 0"
	is "${denied[others]} > 0"
	resume
	wait_for 30 settled
	deactivate
	activate
	io recheck "$dev" at=0 len="$(at_chunk 500)" model="$tmp/model"
}
test_case "everything at once" all_at_once

run_tests
