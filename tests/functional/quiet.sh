#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=9000: the clock of a steady guest runs ahead (ci/guest/run)
# steady: hours pass in a moment
#
# Disks that sleep: what the policy leaves alone after tierN.quiet, as blktrace sees it, and when
# it does not; heat that waits in memory while the metadata's disk sleeps. With MINUTES=60 in the
# environment also what it does in the hour's last minute.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
need fio blktrace blkparse sfdisk

# Chunk 3 lies slow and is hot, chunk 8 lies fast; nothing moves.
make_set()
{
	policy=heat
	features=(paused)
	core=(tier0.landing 0 migration_bandwidth 0 "$@")
	[ -b "$metadata" ] || disk meta 4
	disk fast 16 irqmode=2 completion_nsec=20000
	[ -b "$slow" ] || disk slow 64 irqmode=2 completion_nsec=2000000
	activate
	write_chunks 0 16 1 block=1m
	io sync "$dev"
	move 8 1 0
	read_chunk 3 30
	wait_for 20 warm 3
}

# read_chunk CHUNK TIMES: 4 KiB, each time other ones
read_chunk()
{
	fio --name=read --filename="$dev" --direct=1 --rw=randread --bs=4k --number_ios="$2" \
		--offset="$(at_chunk "$1")" --size=64k --norandommap --output="$tmp/fio"
}
warm() { [ "$(msg heat "$1" 1 1 | awk '{ print $4 }')" -ge 20 ]; }

# busy SECONDS: the fast tier alone is used, so the policy looks for moves all the time
busy()
{
	fio --name=busy --filename="$dev" --direct=1 --rw=randread --bs=4k --rate_iops="${rate:-5}" \
		--offset="$(at_chunk 8)" --size=64k --norandommap --time_based --runtime="$1" \
		--output="$tmp/fio"
}

# resumed SECONDS: the same, from the moment on that the policy may move chunks
resumed()
{
	msg resume
	busy "$1"
}

# traced DISK COMMAND...: $tmp/requests has those that the disk got meanwhile
traced()
{
	local disk=$1 tracer start
	shift
	mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
	rm -rf "$tmp/blk"
	mkdir "$tmp/blk"
	blktrace -d "$disk" -D "$tmp/blk" >"$tmp/blktrace.log" 2>&1 &
	tracer=$!
	wait_for 10 test -e "$tmp/blk/$(basename "$disk").blktrace.0"
	nap 1
	start=$(date +%s)
	"$@"
	kill -INT "$tracer"
	wait "$tracer" || true
	blkparse -q -i "$(basename "$disk")" -D "$tmp/blk" -f '%a %d %S %n\n' | grep '^Q ' >"$tmp/requests" ||
		true
	note "$(requests) requests to $(basename "$disk") in $(($(date +%s) - start)) s"
	head "$tmp/requests" | while read -r line; do note "kind, sector, sectors: $line"; done
}
requests() { grep -c . "$tmp/requests" || true; }
on_fast() { chunk_info "$1" && [ "${C[rank]}" = 0 ]; }

sleeps()
{
	make_set tier1.quiet 5
	busy 7
	traced "$slow" resumed 30
	same 0 "$(requests)" "requests to the disk that sleeps"
	same quiet "$(hold_of 3)" "what holds the hot chunk back"
	is "$(hold_count quiet) > 0"
	# One access wakes it.
	read_chunk 3 1
	wait_for 4 on_fast 3
	# What is asked for moves in any case.
	busy 7
	msg migrate 5 1 0
	wait_for 10 on_fast 5
	check_chunks 0 16 1 block=1m
}
test_case "the policy leaves a tier that sleeps alone" sleeps

no_quiet()
{
	make_set
	busy 7
	traced "$slow" resumed 10
	is "$(requests) > 0"
	on_fast 3 || fail "the hot chunk did not move"
}
test_case "without a quiet time it does not" no_quiet

window()
{
	local start at rate
	make_set tier1.quiet 5
	msg set half_life 1024
	busy 7
	msg resume
	start=$(date +%s)
	rate=1
	busy 3500
	same 1 "$(chunk_info 3 && echo "${C[rank]}")" "tier of the hot chunk"
	until on_fast 3; do
		at=$(($(date +%s) - start))
		[ "$at" -lt 3620 ] || fail "the hot chunk did not move in an hour"
		busy 10
	done
	# The last minute of the hour after the first 5 s, of which 2 are over.
	note "the hot chunk moved after $(($(date +%s) - start)) s"
}
[ "${MINUTES:-0}" -lt 60 ] || test_case "but for a minute an hour" window

# Metadata and slow tier on one disk: accesses to the fast tier change heat.
same_disk()
{
	local both=/dev/tt_both
	disk both 96 irqmode=2 completion_nsec=2000000
	printf '%s\n' 'label: gpt' 'size=4MiB' 'size=80MiB' | sfdisk -q --no-reread "$both"
	blockdev --rereadpt "$both"
	metadata=${both}1
	slow=${both}2
	tiers=("$fast" "$slow")
	wait_for 10 test -b "$slow"
	make_set heat_interval 1
	busy 7
	traced "$both" busy 20
	is "$(requests) > 0"
	ctl_code 0 set "$set" tier1.quiet=5
	same "tierctl: $set: The metadata lies on a disk of tier 1: first writes, moves and changes of the set wake it." "$errors"
	io sync "$dev"
	busy 7
	traced "$both" busy 20
	same 0 "$(requests)" "requests to the disk that sleeps"
	# Nothing is lost by it.
	deactivate
	activate
	warm 3 || fail "heat was lost"
}
test_case "heat waits for the disk of the metadata to be awake" same_disk

run_tests
