#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# File systems on a set, and what is left of them had all disks stopped at once.
#
# Each disk is logged by dm-log-writes, which records a write when the flush
# after it has ended, so its log is what the disk surely holds.  One log a disk:
# with one for all, a flush sent to the wrong disk would be overlooked.  To get
# states of the disks that could have been there together, all are held still
# for a moment and a mark is put into each log.  Later the logs are replayed to
# each mark, and the set, the file system and the fsynced files must be there.
#
# POINTS in the environment: how many marks.
#
# timeout=1200

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
need mkfs.ext4 e2fsck mkfs.xfs xfs_repair
crash=$(cd "$(dirname "$0")" && pwd)
[ -x "$crash/files" ] || skip_all "make -C tests/crash first"
modprobe -a dm-log-writes dm-snapshot || skip_all "no dm-log-writes or dm-snapshot"

points=${POINTS:-5}
logged=(meta fast slow)
declare -A mib=([meta]=8 [fast]=96 [slow]=320) at

# The set lies on NAME_w, which logs; or, replayed, on NAME_s, a snapshot.
use()
{
	metadata=/dev/mapper/tt_meta_$1
	tiers=(/dev/mapper/tt_fast_"$1" /dev/mapper/tt_slow_"$1")
}

make_logged()
{
	local name
	for name in "${logged[@]}"; do
		disk "$name" "${mib[$name]}"
		disk "${name}_log" 1024
		disk "${name}_r" "${mib[$name]}"
		disk "${name}_cow" 128
		wrap "${name}_w" "0 $((mib[$name] * 2048)) log-writes /dev/tt_$name /dev/tt_${name}_log"
		at[$name]=1
	done
	use w
	core=(migration_bandwidth 0)
	length=$((340 * 2048))
	activate
}

# mark N: all disks stand still while it is made.
mark()
{
	local name
	for name in "${logged[@]}"; do dmsetup suspend --noflush --nolockfs "tt_${name}_w"; done
	cp "$tmp/list" "$tmp/list.$1"
	for name in "${logged[@]}"; do dmsetup message "tt_${name}_w" 0 mark "point$1"; done
	for name in "${logged[@]}"; do dmsetup resume "tt_${name}_w"; done
}

listed() { [ "$(wc -l <"$tmp/list")" -ge "$1" ]; }

stir()
{
	while :; do
		msg migrate $((RANDOM % 5000)) 40 $((RANDOM % 2)) || true
		msg migrate 0 200 $((RANDOM % 2)) || true
		nap 0.3
	done
}

both_ways()
{
	status
	((S[promotions] > 0 && S[demotions] > 0))
}

# look N: activate, mount and check what was there at the mark.
look()
{
	local name said
	for name in "${logged[@]}"; do
		at[$name]=$("$crash/replay" "/dev/tt_${name}_log" "/dev/tt_${name}_r" "point$1" "${at[$name]}")
		wrap "${name}_s" \
			"0 $((mib[$name] * 2048)) snapshot /dev/tt_${name}_r /dev/tt_${name}_cow N 8"
	done
	"$checker" -q -i "$metadata" --tiers "${tiers[@]}"
	activate
	status
	same "rw -" "${S[mode]} ${S[check]}" "mode"
	mount "$dev" "$tmp/mnt"
	said=$("$crash/files" check "$tmp/mnt" "$tmp/list.$1") || fail "$fs, point $1: $said"
	note "$fs, point $1, ${S[mapped]} chunks, ${S[used0]} and ${S[used1]} places: $said"
	umount "$tmp/mnt"
	"${fsck[@]}" "$dev"
	deactivate
	for name in "${logged[@]}"; do remove "tt_${name}_s"; done
}

replay()
{
	local pids=() n
	fs=$1
	make_logged
	mkdir -p "$tmp/mnt"
	case $fs in
	ext4)	mkfs.ext4 -q -J size=8 "$dev"
		mount -o discard "$dev" "$tmp/mnt"
		fsck=(e2fsck -fn) ;;
	xfs)	mkfs.xfs -q "$dev"
		mount -o discard "$dev" "$tmp/mnt"
		fsck=(xfs_repair -n) ;;
	esac
	sync -f "$tmp/mnt"
	: >"$tmp/list"
	background "$crash/files" write "$tmp/mnt" "$tmp/list"
	pids+=("$last_pid")
	background stir
	pids+=("$last_pid")
	for ((n = 1; n <= points; n++)); do
		nap 0.$((RANDOM % 10))
		wait_for 60 listed $((n * 3))
		mark "$n"
	done
	wait_for 60 both_ways
	kill -0 "${pids[0]}" || fail "$fs: files write has ended: $(tail -n 1 "$tmp/list")"
	kill "${pids[@]}"
	wait "${pids[@]}" || true
	umount "$tmp/mnt"
	status
	note "$fs: ${S[promotions]} promotions and ${S[demotions]} demotions meanwhile"
	deactivate
	# Their logs are whole once they are gone.
	for n in "${logged[@]}"; do remove "tt_${n}_w"; done
	use s
	for ((n = 1; n <= points; n++)); do look "$n"; done
}
test_case "ext4 at $points marks of the log" replay ext4
test_case "xfs at $points marks of the log" replay xfs

run_tests
