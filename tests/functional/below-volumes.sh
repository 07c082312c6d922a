#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# timeout=300
# long
#
# What can happen to the volumes and arrays below a set: RAID1 volumes and an md array lose a leg,
# the table of a volume becomes one of "error". The command that tierctl status names mends it.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-loop.sh
. "$(dirname "$0")/lib-loop.sh"

need mdadm
modprobe -a dm-raid raid1 2>/dev/null || true

tidy_more() { [ ! -e /dev/md127 ] || mdadm --quiet --stop /dev/md127; }

# told CODE TEXT [HEALTH]: the only line of attention
told()
{
	ctl_code 3 status "$set"
	note "$(grep '^attention' <<<"$output")"
	matches "attention +$2" "$output"
	same "$1 ${3:-attention}" "$(json '.sets[0] | (.attention[] | .code) + " " + .health' status "$set")"
}

# lost LEG: the volume's leg fails, and what status says brings it back
lost()
{
	local leg=$vg-${1}_rimage_1 table
	table=$(dmsetup table "$leg")
	dmsetup wipe_table "$leg"
	told part_degraded "$vg/$1 \\($2\\) has lost a leg: $vg/${1}_rimage_1 has a table of \"error\".*lvchange --refresh $vg/$1, .*lvconvert --repair $vg/$1"
	io write "$dev" at=2m len=1m seed=2
	io sync "$dev"
	if [ "$(dmsetup status "$vg-$1" | awk '{ print $6 }')" != AA ]; then
		told part_degraded "$vg/$1 \\($2\\) has lost"
	fi
	dmsetup load "$leg" --table "$table"
	dmsetup resume "$leg"
	lvchange --refresh "$vg/$1"
	wait_for 60 calm
	io check "$dev" at=0 len=1m seed=1
	io check "$dev" at=2m len=1m seed=2
}

calm() { ctl status "$set" >"$tmp/status"; }

volumes()
{
	make_loops 64 64
	vgcreate -q -y -s 1m "$vg" "${loops[@]}" >/dev/null
	lv meta 4m --type raid1 -m1 --nosync --monitor n "$vg"
	lv fast 16m --type raid1 -m1 --nosync --monitor n "$vg"
	lv slow 24m "$vg"
	ctl_code 0 create "$set" -q -m "$vg/meta" -c 64k -L 14m --policy static "$vg/fast" "$vg/slow"
	# It is on a mirror: no warning
	same "" "$errors" "stderr"
	io write "$dev" at=0 len=1m seed=1
	io sync "$dev"
	ctl_code 0 status "$set"
	lost meta "the metadata"
	lost fast "tier 0"
	dmsetup wipe_table "$vg-slow"
	told part_error "$vg/slow \\(tier 1\\) has a table of \"error\", I/O to it fails: lvchange --refresh $vg/slow" degraded
	lvchange --refresh "$vg/slow"
	ctl_code 0 status "$set"
}
test_case "volumes lose a leg or their table" volumes

array()
{
	disk meta 4
	disk slow 32
	make_loops 20 20
	mdadm --quiet --create /dev/md127 --level=1 --raid-devices=2 --metadata=1.2 --assume-clean --run \
		"${loops[@]}" </dev/null
	ctl create "$set" -q -m "$meta" -c 64k --policy static /dev/md127 "$slow"
	io write "$dev" at=0 len=1m seed=1
	ctl_code 0 status "$set"
	mdadm --quiet --fail /dev/md127 "${loops[1]}"
	told part_degraded "/dev/md127 \\(tier 0\\) has lost 1 of 2 disks: mdadm --manage /dev/md127 --add DISK"
	ctl metrics "$set" >"$tmp/metrics"
	matches 'dm_tier_device_problem\{set="tt_set",part="0",device="/dev/md127",problem="degraded"\} 1' "$(<"$tmp/metrics")"
	mdadm --quiet --remove /dev/md127 "${loops[1]}"
	mdadm --quiet --manage /dev/md127 --add "${loops[1]}"
	wait_for 60 calm
	io check "$dev" at=0 len=1m seed=1
}
test_case "an md array loses a disk" array

run_tests
