#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# File systems on a set, and what is left of them had the power gone at the end of any
# FLUSH or FUA write, of whichever disk.
#
# The disks are those of `cut`: what was not flushed is lost.  flushlog notes what comes
# to stable storage, in the order in which it did.  Later each state that was there
# when a FLUSH or FUA write ended is made again: the metadata must be sound, the set
# activates and is mounted, the files that were fsynced by then are there, and the file
# system is whole.
#
# FSYNCS in the environment: how many files are fsynced at least, while chunks move; each
# is worth some five states.
#
# timeout=3000

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
need mkfs.ext4 e2fsck mkfs.xfs xfs_repair
crash=$(cd "$(dirname "$0")" && pwd)
[ -x "$crash/flushlog" ] || skip_all "make -C tests/crash first"
modprobe nbd nbds_max=20 max_part=0 || skip_all "nbd does not load"
for scheduler in /sys/block/nbd*/queue/scheduler; do echo none >"$scheduler"; done
modprobe dm-snapshot || skip_all "no dm-snapshot"

fsyncs=${FSYNCS:-3}
names=(meta fast slow)
sizes=(8 96 320)

# Recorded, the set lies on disks of flushlog; replayed, on NAME_s, a snapshot of a disk.
make_recorded()
{
	background "$crash/flushlog" record "$tmp/log" "$tmp/list" "${sizes[@]}" >"$tmp/paths"
	recorder=$last_pid
	wait_for 20 paths_known
	metadata=${paths[0]} tiers=("${paths[@]:1}")
	core=(migration_bandwidth 0)
	length=$((340 * 2048))
	activate
}
paths_known() { mapfile -t paths <"$tmp/paths" && [ ${#paths[@]} = ${#names[@]} ]; }

make_replayed()
{
	local i
	for i in "${!names[@]}"; do
		disk "${names[i]}" "${sizes[i]}"
		disk "${names[i]}_cow" 128
	done
	metadata=/dev/mapper/tt_meta_s tiers=(/dev/mapper/tt_fast_s /dev/mapper/tt_slow_s)
}

listed() { [ "$(wc -l <"$tmp/list")" -ge "$1" ]; }

stir()
{
	while :; do
		msg migrate $((RANDOM % 5400)) 300 $((RANDOM % 2)) || true
		nap 0.2
	done
}

both_ways()
{
	status
	((S[promotions] > 0 && S[demotions] > 0))
}

# look N LISTED: the state that is replayed; of the list of files, so many bytes
look()
{
	local i said
	for i in "${!names[@]}"; do
		wrap "${names[i]}_s" "0 $((sizes[i] * 2048)) snapshot /dev/tt_${names[i]} /dev/tt_${names[i]}_cow N 8"
	done
	"$checker" -q -i "$metadata" --tiers "${tiers[@]}"
	activate
	status
	same "rw -" "${S[mode]} ${S[check]}" "mode"
	mount "$dev" "$tmp/mnt"
	head -c "$2" "$tmp/list" >"$tmp/list.now"
	said=$("$crash/files" check "$tmp/mnt" "$tmp/list.now") || fail "$fs, state $1: $said"
	umount "$tmp/mnt"
	"${fsck[@]}" "$dev"
	deactivate
	for i in "${names[@]}"; do remove "tt_${i}_s"; done
}

every_flush()
{
	local pids=() state=0 at=0 listed next
	fs=$1
	rm -f "$tmp/list"
	make_recorded
	mkdir -p "$tmp/mnt"
	case $fs in
	ext4)	mkfs.ext4 -q -E nodiscard -J size=8 "$dev"
		fsck=(e2fsck -fn) ;;
	xfs)	mkfs.xfs -q -K "$dev"
		fsck=(xfs_repair -n) ;;
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
		look "$state" "$listed"
	done
	note "$fs: $state states, $(wc -l <"$tmp/list") files fsynced, in each all that were by then"
	# One fsync alone flushes a tier and the metadata.
	is "$state >= 3 * $fsyncs"
}
test_case "ext4 at the end of each FLUSH and FUA write" every_flush ext4
test_case "xfs at the end of each FLUSH and FUA write" every_flush xfs

run_tests
