#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# I/O that must not wait (RWF_NOWAIT, io_uring): chunks that are mapped and do not move are
# served, other I/O gets EAGAIN, and no data is lost either way.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

AGAIN=11

# The kernel or a tier may not support NOWAIT at all.
offered()
{
	local rc=0
	io check "$1" at=0 len=4k seed=0 flags=nowait >"$tmp/nowait" 2>&1 || rc=$?
	[ "$rc" != 95 ] || skip "RWF_NOWAIT is not supported on $1"
}

mapped()
{
	make_set
	offered "$fast"
	write_chunks 0 8 1
	check_chunks 0 8 1 flags=nowait block=4k
	write_chunks 0 8 2 flags=nowait block=4k
	check_chunks 0 8 2
	check_chunks 0 8 2 flags=nowait block=64k
}
test_case "mapped chunks are read and written" mapped

unmapped()
{
	local rc=0 at
	make_set
	# Not at the beginning or end of the chunk: such a write might be a part of a larger one.
	at=$(($(at_chunk 3) + 4096))
	offered "$fast"
	io check "$dev" at=0 len=64k seed=0 flags=nowait || fail "a read of nothing had to wait"
	io write "$dev" at="$at" len=4k seed=1 flags=nowait || rc=$?
	note "first write with RWF_NOWAIT: errno $rc"
	if [ "$rc" = 0 ]; then
		io check "$dev" at="$at" len=4k seed=1
	else
		same "$AGAIN" "$rc" "errno"
		check_chunks 3 1 0
	fi
	io write "$dev" at="$at" len=4k seed=2
	io write "$dev" at="$at" len=4k seed=3 flags=nowait
	io check "$dev" at="$at" len=4k seed=3
}
test_case "a first write is done or says EAGAIN" unmapped

suspended()
{
	make_set
	offered "$fast"
	write_chunks 0 2 1
	suspend
	io_fails "$AGAIN" timeout 5 "$tierio" check "$dev" at=0 len=4k seed=1 flags=nowait
	io_fails "$AGAIN" timeout 5 "$tierio" write "$dev" at=0 len=4k seed=2 flags=nowait
	resume
	check_chunks 0 2 1 flags=nowait
}
test_case "on a suspended device EAGAIN" suspended

# While chunks move to and fro, each answer comes at once: data or EAGAIN.
moving()
{
	local n again=0 done=0 rc
	make_set
	offered "$fast"
	msg set migration_bandwidth 0
	write_chunks 0 20 1
	for n in {1..60}; do
		msg migrate 0 20 $((n % 2))
		rc=0
		timeout 5 "$tierio" write "$dev" at=$((n % 20 * 65536 + 4096)) len=4k seed=1 \
			flags=nowait 2>/dev/null || rc=$?
		case $rc in
		0) done=$((done + 1)) ;;
		"$AGAIN") again=$((again + 1)) ;;
		*) fail "errno $rc" ;;
		esac
		timeout 5 "$tierio" check "$dev" at=$((n % 20 * 65536)) len=8k seed=1 \
			flags=nowait 2>/dev/null || [ $? = "$AGAIN" ] || fail "wrong data"
	done
	note "writes while chunks move: $done done, $again EAGAIN"
	wait_for 10 settled
	check_chunks 0 20 1
}
test_case "while chunks move, data or EAGAIN" moving

# dm-delay does not support NOWAIT (on most kernels): then the set does not either.
inherited()
{
	disk meta 4
	disk fast 16
	disk slow 32
	wrap delay "0 $(sectors_of "$slow") delay $slow 0 0"
	tiers=("$fast" /dev/mapper/tt_delay)
	length=$(capacity_of 128 "$fast" "$slow")
	activate
	write_chunks 0 2 1
	move 1 1 1
	local below=0 above=0
	io check /dev/mapper/tt_delay at=8m len=4k seed=0 flags=nowait 2>/dev/null || below=$?
	io check "$dev" at="$(at_chunk 1)" len=4k seed=1 flags=nowait 2>/dev/null || above=$?
	note "errno below $below, above $above"
	[ "$below" != 95 ] || same 95 "$above" "errno of RWF_NOWAIT above a tier that has none"
	check_chunks 0 2 1
}
test_case "NOWAIT is offered only if every tier does" inherited

uring()
{
	command -v fio >/dev/null || skip "fio is not installed"
	fio --enghelp 2>/dev/null | grep -q io_uring || skip "fio has no io_uring"
	make_set
	fio --name=uring --filename="$dev" --ioengine=io_uring --direct=1 --iodepth=16 \
		--rw=randrw --bsrange=4k-128k --size=12m --verify=crc32c --verify_fatal=1 \
		--verify_backlog=64 --output="$tmp/fio" ||
		{ grep -q 'Operation not permitted\|Function not implemented' "$tmp/fio" &&
			skip "io_uring is switched off"; fail "$(<"$tmp/fio")"; }
	msg migrate 0 100 1
	fio --name=uring --filename="$dev" --ioengine=io_uring --direct=1 --iodepth=16 \
		--rw=randwrite --bs=16k --size=12m --verify=crc32c --verify_fatal=1 \
		--output="$tmp/fio" || fail "$(<"$tmp/fio")"
}
test_case "io_uring, verified, first writes and moves included" uring

run_tests
