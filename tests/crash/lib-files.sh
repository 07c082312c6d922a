# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154	# used by the tests; assigned by lib.sh
#
# A set with a file system, and checks of both in a state of the disks that was made again: on
# tt_NAME_s, snapshots of disks in that state. Sourced after lib.sh.

need mkfs.ext4 e2fsck mkfs.xfs xfs_repair
crash=$(cd "$(dirname "$0")" && pwd)
modprobe dm-snapshot || skip_all "no dm-snapshot"

names=(meta fast slow)
declare -A mib=([meta]=8 [fast]=96 [slow]=320)

# activate_on METADATA TIER...
activate_on()
{
	metadata=$1
	tiers=("${@:2}")
	core=(migration_bandwidth 0)
	length=$((340 * 2048))
	activate
}

# off: deactivates the set, and the metadata on its tiers, with mirrored
off()
{
	if [ -n "${mirrored:-}" ]; then ctl deactivate -q "$set"; else deactivate; fi
}

# Files that were fsynced are in $tmp/list, a line each.
listed() { [ "$(wc -l <"$tmp/list")" -ge "$1" ]; }

both_ways()
{
	status
	((S[promotions] > 0 && S[demotions] > 0))
}

# look WHAT SUFFIX LIST: the disks tt_NAMESUFFIX hold sound metadata, a set that activates, the
# files of LIST and a whole file system; $said is the report on the files
look()
{
	local name
	for name in "${names[@]}"; do
		wrap "${name}_s" "0 $((mib[$name] * 2048)) snapshot /dev/tt_$name$2 /dev/tt_${name}_cow N 8"
	done
	if [ -n "${mirrored:-}" ]; then
		ctl activate -q "$set"
		ctl check -q "$set"
	else
		metadata=/dev/mapper/tt_meta_s tiers=(/dev/mapper/tt_fast_s /dev/mapper/tt_slow_s)
		"$checker" -q -i "$metadata" --tiers "${tiers[@]}"
		activate
	fi
	status
	same "rw -" "${S[mode]} ${S[check]}" "mode"
	mount "$dev" "$tmp/mnt"
	said=$("$crash/files" check "$tmp/mnt" "$3") || fail "$fs, $1: $said"
	umount "$tmp/mnt"
	case $fs in
	ext4) e2fsck -fn "$dev" ;;
	xfs) xfs_repair -n "$dev" ;;
	esac
	[ -z "${mirrored:-}" ] || wait_for 60 synced
	off
	[ -z "${mirrored:-}" ] || ! legs_differ _s || fail "$fs, $1: the legs differ after an activation"
	for name in "${names[@]}"; do remove "tt_${name}_s"; done
}
