#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# File systems on a set, and the state that they would have if all disks stopped at once.
#
# dm-log-writes logs each disk. It records a write when the flush after it has ended, so the log
# has what the disk surely holds. Each disk has its own log: in a common log a flush sent to the
# wrong disk would be overlooked. To get states of the disks that could have existed together,
# all disks are suspended for a moment and a mark is put into each log. Later the logs are
# replayed to each mark, and the set, the file system and the fsynced files must be there.
#
# With the metadata mirrored, two of three marks are between the legs: the superblock of a
# transaction has reached one of them, in turn, and waits in front of the other.
#
# POINTS in the environment: how many marks.
#
# timeout=1200

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=lib-files.sh
. "$(dirname "$0")/lib-files.sh"
# shellcheck source=../functional/lib-tierctl.sh
. "$(dirname "$0")/../functional/lib-tierctl.sh"
# shellcheck source=../functional/lib-mirror.sh
. "$here/lib-mirror.sh"
[ -x "$crash/files" ] || skip_all "make -C tests/crash first"
modprobe dm-log-writes || skip_all "no dm-log-writes"

points=${POINTS:-5}
declare -A at
# Of each leg, by its rank: the device of its metadata, and where that lies.
slices=() places=()

make_logged()
{
	local name
	for name in "${names[@]}"; do
		disk "$name" "${mib[$name]}"
		disk "${name}_log" 1024
		disk "${name}_r" "${mib[$name]}"
		disk "${name}_cow" 128
		wrap "${name}_w" "0 $((mib[$name] * 2048)) log-writes /dev/tt_$name /dev/tt_${name}_log"
		at[$name]=1
	done
	if [ -n "$mirrored" ]; then
		ctl create "$set" -q -c 64k -L 340m --set migration_bandwidth=0 /dev/mapper/tt_fast_w /dev/mapper/tt_slow_w
		find_legs
	else
		activate_on /dev/mapper/tt_meta_w /dev/mapper/tt_fast_w /dev/mapper/tt_slow_w
	fi
}

find_legs()
{
	local rank table
	modprobe dm-delay
	for rank in 0 1; do
		slices[rank]=$(dmsetup info -c --noheadings -o name | grep "^tier-.*-rimage-$rank\$")
		# 0 SECTORS linear DEVICE FIRST
		read -ra table < <(dmsetup table "${slices[rank]}")
		places[rank]="${table[3]} ${table[4]} ${table[1]}"
	done
	same "${places[0]#* }" "${places[1]#* }" "place and size of the other leg"
	read -r _ leg_at leg_length <<<"${places[0]}"
}

# superblock_waits RANK MS: how long that leg's writes of the superblock take from now on, but
# not its flushes
superblock_waits()
{
	local on
	read -r on _ <<<"${places[$1]}"
	printf '%s\n' "0 8 delay $on $leg_at 0 $on $leg_at $2 $on $leg_at 0" \
		"8 $((leg_length - 8)) linear $on $((leg_at + 8))" | dmsetup load "${slices[$1]}"
	dmsetup resume --noflush --nolockfs "${slices[$1]}"
}

# legs_differ SUFFIX [SECTORS]: on the disks tt_NAMESUFFIX
legs_differ() { ! cmp -s <(leg_on "fast$1" "${2:-}") <(leg_on "slow$1" "${2:-}"); }
leg_on()
{
	local disk=/dev/tt_$1
	[ -b "$disk" ] || disk=/dev/mapper/tt_$1
	dd if="$disk" bs=64k iflag=direct,skip_bytes,count_bytes skip=$((leg_at * 512)) \
		count=$((${2:-$leg_length} * 512)) status=none || echo "$1 cannot be read"
}

# mark_between N: the leg on the slow tier is behind, or the one on the fast tier
mark_between()
{
	local behind=$(($1 % 2)) ahead=fast
	((behind)) || ahead=slow
	superblock_waits "$behind" 600000
	wait_for 60 holds_io "${slices[behind]}"
	wait_for 60 legs_differ "" 8
	# On the disk, as after a flush that only one of them has ended.
	sync "/dev/mapper/tt_${ahead}_w"
	mark "$1"
	superblock_waits "$behind" 0
}

# mark N: all disks are suspended while the mark is made.
mark()
{
	local name
	for name in "${names[@]}"; do dmsetup suspend --noflush --nolockfs "tt_${name}_w"; done
	cp "$tmp/list" "$tmp/list.$1"
	for name in "${names[@]}"; do dmsetup message "tt_${name}_w" 0 mark "point$1"; done
	for name in "${names[@]}"; do dmsetup resume "tt_${name}_w"; done
}

stir()
{
	while :; do
		msg migrate $((RANDOM % 5000)) 40 $((RANDOM % 2)) || true
		msg migrate 0 200 $((RANDOM % 2)) || true
		nap 0.3
	done
}

# look_at N: checks the state at the mark
look_at()
{
	local name said apart
	for name in "${names[@]}"; do
		at[$name]=$("$crash/replay" "/dev/tt_${name}_log" "/dev/tt_${name}_r" "point$1" "${at[$name]}")
	done
	apart=
	if [ -n "$mirrored" ] && legs_differ _r; then
		apart="legs differ, "
		! legs_differ _r 8 || between=$((between + 1)) apart="superblocks differ, "
	fi
	look "point $1" _r "$tmp/list.$1"
	note "$fs, point $1, $apart${S[mapped]} chunks, ${S[used0]} and ${S[used1]} places: $said"
}

replay()
{
	local pids=() n between=0 leg_at leg_length
	fs=$1 mirrored=${2:-}
	[ -z "$mirrored" ] || names=(fast slow)
	make_logged
	mkdir -p "$tmp/mnt"
	case $fs in
	ext4) mkfs.ext4 -q -J size=8 "$dev" ;;
	xfs) mkfs.xfs -q "$dev" ;;
	esac
	mount -o discard "$dev" "$tmp/mnt"
	sync -f "$tmp/mnt"
	: >"$tmp/list"
	background "$crash/files" write "$tmp/mnt" "$tmp/list"
	pids+=("$last_pid")
	background stir
	pids+=("$last_pid")
	for ((n = 1; n <= points; n++)); do
		nap 0.$((RANDOM % 10))
		wait_for 60 listed $((n * 3))
		if [ -n "$mirrored" ] && ((n % 3)); then mark_between "$n"; else mark "$n"; fi
	done
	wait_for 60 both_ways
	kill -0 "${pids[0]}" || fail "$fs: files write has ended: $(tail -n 1 "$tmp/list")"
	kill "${pids[@]}"
	wait "${pids[@]}" || true
	umount "$tmp/mnt"
	status
	note "$fs: ${S[promotions]} promotions and ${S[demotions]} demotions meanwhile"
	off
	# The logs are complete once their devices are removed.
	for n in "${names[@]}"; do remove "tt_${n}_w"; done
	# They have the same labels as the states.
	[ -z "$mirrored" ] || for n in "${names[@]}"; do disk_gone "$n"; done
	for ((n = 1; n <= points; n++)); do look_at "$n"; done
	[ -z "$mirrored" ] || same $((points - points / 3)) "$between" "marks between the legs"
}
test_case "ext4 at $points marks of the log" replay ext4
test_case "xfs at $points marks of the log" replay xfs
test_case "ext4 at $points marks of the log, the metadata mirrored on the tiers" replay ext4 mirrored

run_tests
