#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: the debug kernel cannot hibernate
#
# Hibernation: the image of memory does not know moves and commits that come after it. The kernel
# has a test that stops all processes, waits for five seconds, and goes on as if hibernation had
# failed.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2

tracing=/sys/kernel/tracing
mountpoint -q "$tracing" || mount -t tracefs tracefs "$tracing"
for file in /sys/power/pm_test /sys/power/disk "$tracing/events/printk/console/enable"; do
	[ -w "$file" ] || skip_all "no $file"
done
echo 16384 >"$tracing/buffer_size_kb"

events=(printk/console dm_tier block/block_bio_queue)

# hibernate [COMMAND...]: runs COMMAND, freezes all processes, and thaws them; events are in
# $tmp/trace
hibernate()
{
	local event rc=0
	echo freezer >/sys/power/pm_test
	echo shutdown >/sys/power/disk
	echo >"$tracing/trace"
	for event in "${events[@]}"; do echo 1 >"$tracing/events/$event/enable"; done
	nap 1
	"$@"
	echo disk >/sys/power/state || rc=$?
	nap 2
	for event in "${events[@]}"; do echo 0 >"$tracing/events/$event/enable"; done
	cp "$tracing/trace" "$tmp/trace"
	echo none >/sys/power/pm_test
	return "$rc"
}

# times REGEX PART: the number of such events before the processes were frozen (0), while they
# were frozen (1), and after (2)
times()
{
	awk -v what="$1" -v part="$2" '
	BEGIN { at = 0 }
	$0 ~ what { count[at]++ }
	/Freezing user space processes/ { at = 1 }
	/Waiting for [0-9]+ second/ { frozen = at }
	at == 1 && /Restarting tasks/ { at = 2 }
	END { print frozen == 1 && at == 2 ? count[part] + 0 : "no hibernation" }' "$tmp/trace"
}

moves() { times dm_tier_migrate_ "$1"; }

still()
{
	core=(migration_bandwidth 640)
	make_set
	write_chunks 0 200 1
	msg migrate 0 200 1
	wait_for 10 in_motion
	hibernate
	note "begun, ended or given up before: $(moves 0), frozen: $(moves 1), after: $(moves 2)"
	same 0 "$(moves 1)" "moves while all was frozen"
	[ "$(moves 0)" -gt 0 ] || fail "nothing was moved before"
	[ "$(moves 2)" -gt 0 ] || fail "nothing was moved afterwards"
	msg set migration_bandwidth 0
	wait_for 30 all_on_rank 0 200 1
	status
	same 0 "${S[failed]}" "failed moves"
	check_chunks 0 200 1
}
test_case "nothing is moved once the machine is about to hibernate" still

# First writes without a flush are usually committed a second later.
uncommitted()
{
	local writes
	make_set
	write_chunks 0 1 1
	io sync "$dev"
	hibernate write_chunks 10 5 1
	writes="block_bio_queue: $(majmin "$meta" | tr : ,) F?W"
	note "writes of metadata before: $(times "$writes" 0), frozen: $(times "$writes" 1), after: $(times "$writes" 2)"
	same 0 "$(times "$writes" 1)" "writes of metadata while all was frozen"
	wait_for 10 is_committed 10
	check_chunks 10 5 1
}
is_committed()
{
	chunk_info "$1"
	[ "${C[state]}" != new ]
}
test_case "no first write is committed by itself once the machine is about to hibernate" uncommitted

# A suspended set does not begin to move chunks afterwards.
suspended()
{
	core=(migration_bandwidth 640)
	make_set
	write_chunks 0 100 1
	msg migrate 0 100 1
	wait_for 10 in_motion
	suspend
	hibernate
	same 0 "$(moves 2)" "moves of a set that is suspended"
	resume
	msg set migration_bandwidth 0
	wait_for 30 all_on_rank 0 100 1
	check_chunks 0 100 1
}
test_case "a set that is suspended stays so" suspended

# For a move that does not end, hibernation neither waits for ever nor goes on.
stuck()
{
	disk meta 4
	disk fast 16
	disk slow 32
	wrap u_slow "0 $(sectors_of "$slow") linear $slow 0"
	tiers=("$fast" /dev/mapper/tt_u_slow)
	activate
	write_chunks 0 10 1
	dmsetup suspend --noflush tt_u_slow
	msg migrate 0 10 1
	wait_for 10 in_motion
	klog_mark
	fails hibernate
	klog_has 'no hibernation: a move or discard under way does not end' || fail "the kernel does not say why"
	dmsetup resume tt_u_slow
	wait_for 30 all_on_rank 0 10 1
	hibernate
	same 0 "$(moves 1)" "moves while all was frozen"
	check_chunks 0 10 1
}
test_case "no hibernation while a move does not end" stuck

run_tests
