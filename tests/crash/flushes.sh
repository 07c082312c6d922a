#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# File systems on a set, and the state that they would have if the power went at the end of any
# FLUSH or FUA write, of any disk.
#
# The disks are those of `cut`: data that was not flushed is lost. flushlog records all sectors
# that come to stable storage, in order. Later each state at the end of a FLUSH or FUA write is
# made again: the metadata must be sound, the set activates and is mounted, the files that were
# fsynced by then are there, and the file system is whole.
#
# FSYNCS in the environment: how many files are fsynced at least, while chunks move; each
# is worth some five states.
#
# timeout=3000

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=lib-files.sh
. "$(dirname "$0")/lib-files.sh"
[ -x "$crash/flushlog" ] || skip_all "make -C tests/crash first"
modprobe nbd nbds_max=20 max_part=0 || skip_all "nbd does not load"
for scheduler in /sys/block/nbd*/queue/scheduler; do echo none >"$scheduler"; done

fsyncs=${FSYNCS:-3}
sizes=()
for name in "${names[@]}"; do sizes+=("${mib[$name]}"); done

make_recorded()
{
	background "$crash/flushlog" record "$tmp/log" "$tmp/list" "${sizes[@]}" >"$tmp/paths"
	recorder=$last_pid
	wait_for 20 paths_known
	activate_on "${paths[@]}"
}
paths_known() { mapfile -t paths <"$tmp/paths" && [ ${#paths[@]} = ${#names[@]} ]; }

make_replayed()
{
	local name
	for name in "${names[@]}"; do
		disk "$name" "${mib[$name]}"
		disk "${name}_cow" 128
	done
}

stir()
{
	while :; do
		msg migrate $((RANDOM % 5400)) 300 $((RANDOM % 2)) || true
		nap 0.2
	done
}

every_flush()
{
	local pids=() state=0 at=0 listed next said
	fs=$1
	rm -f "$tmp/list"
	make_recorded
	mkdir -p "$tmp/mnt"
	case $fs in
	ext4) mkfs.ext4 -q -E nodiscard -J size=8 "$dev" ;;
	xfs) mkfs.xfs -q -K "$dev" ;;
	esac
	mount "$dev" "$tmp/mnt"
	sync -f "$tmp/mnt"
	background stir
	pids+=("$last_pid")
	wait_for 60 both_ways
	: >"$tmp/list"
	background "$crash/files" write "$tmp/mnt" "$tmp/list"
	pids+=("$last_pid")
	wait_for 120 listed "$fsyncs"
	kill "${pids[@]}"
	wait "${pids[@]}" || true
	status
	note "$fs: ${S[promotions]} promotions and ${S[demotions]} demotions meanwhile"
	umount "$tmp/mnt"
	deactivate
	kill "$recorder"
	wait "$recorder"

	make_replayed
	while :; do
		next=$("$crash/flushlog" replay "$tmp/log" "$at" /dev/tt_meta /dev/tt_fast /dev/tt_slow)
		[ -n "$next" ] || break
		read -r at listed <<<"$next"
		state=$((state + 1))
		head -c "$listed" "$tmp/list" >"$tmp/list.now"
		look "state $state" "" "$tmp/list.now"
	done
	note "$fs: $state states, $(wc -l <"$tmp/list") files fsynced, in each all that were by then"
	# One fsync alone flushes a tier and the metadata.
	is "$state >= 3 * $fsyncs"
}
test_case "ext4 at the end of each FLUSH and FUA write" every_flush ext4
test_case "xfs at the end of each FLUSH and FUA write" every_flush xfs

run_tests
