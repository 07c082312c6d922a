#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# timeout=300
#
# Devices with the data of a member that are no members: udev's database marks them as a path of
# multipath or as part of another device, or hides them, or a map holds them. A set waits for the
# device made of them. Also events of `udevadm trigger`.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-udev.sh
. "$(dirname "$0")/lib-udev.sh"

away()
{
	echo 0 >"$configfs/${1#/dev/}/power"
	settle
}
back()
{
	echo 1 >"$configfs/${1#/dev/}/power"
	wait_for 10 test -b "$1"
	settle
}

# marks RULE...: udev uses these rules from now on
marks()
{
	rm -f "$rules"/*-tt-marks.rules
	printf '%s\n' "$@" >"$rules/60-tt-marks.rules"
	udevadm control --reload
}
marks_of_slow() { marks "KERNEL==\"tt_slow\", $1"; }
a_path='ENV{DM_MULTIPATH_DEVICE_PATH}="1", ENV{ID_FS_TYPE}="mpath_member"'
seen_anew()
{
	udevadm trigger --action=change --settle "$(readlink -f "$1")"
	settle
}

make_inactive()
{
	marks ''
	make_disks
	ctl create "$set" -q -m "$meta" -c 64k "$fast" "$slow"
	write_chunks 0 20 1
	settle
	ctl deactivate -q "$set"
}

# refused DEVICE REASON: --auto leaves the set alone, and by name it is refused
refused()
{
	unchanged "$meta" "$fast" "$slow" -- ctl_code 0 activate --auto
	same "" "$output$errors" "what is said of a device that is left out"
	ctl_code 0 activate --auto "$fast"
	same "" "$output$errors" "what is said of a device that is left out"
	fails active
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 activate "$set"
	one_line "$1\) is $2.*udevadm trigger.*tierctl activate --force $set"
	fails active
}

on_the_map()
{
	make_inactive
	away "$meta"
	away "$slow"
	marks_of_slow "$a_path"
	back "$slow"			# a path, for which a map will appear
	back "$meta"			# a disk like any other
	fails active
	refused "$slow" "a path of multipath"
	ctl_code 3 status "$set"
	matches "tier 1 \\($slow\\) is a path of multipath" "$output" "attention"
	same "$meta $fast" "$(json '[.devices[].device] | sort | join(" ")' scan | awk '{print $2, $1}')" "scan"
	same "hidden true" "$(json '.devices[] | "\(.state) \(.hidden | test("multipath"))"' scan "$slow")" "scan DEV"
	# The map has one path, which is enough.
	wrap map "0 $(sectors_of "$slow") linear $slow 0"
	settle
	wait_for 20 active
	matches " $(majmin /dev/mapper/tt_map) " "$(dmsetup table "$set") " "table"
	check_chunks 0 20 1
	ctl deactivate -q "$set"
	# A map of another disk does not count: the path is not one of its paths.
	remove tt_map
	disk third 32
	wrap map "0 $(sectors_of "$third") linear $third 0"
	dd if="$slow" of="$third" bs=1M oflag=direct status=none
	settle
	ctl_code 0 activate -q "$set"
	matches " $(majmin /dev/mapper/tt_map) " "$(dmsetup table "$set") " "table"
}
test_case "a set is activated on the map, not on a path of multipath" on_the_map

by_force()
{
	make_inactive
	marks_of_slow "$a_path"
	seen_anew "$slow"
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 activate --force "$set"
	one_line "use $slow, which is a path of multipath.*nobody to ask"
	ctl_code 3 activate -q --degraded "$set"
	same 1 "$(json '.sets[0].tiers | map(select(.state == "missing")) | length' status "$set")" "missing tiers"
	ctl deactivate -q "$set"
	ctl_code 0 activate -q --force -y "$set"
	check_chunks 0 20 1
}
test_case "on a path by force alone" by_force

# Each of these marks is enough.
other_marks()
{
	local mark
	make_inactive
	for mark in 'ENV{ID_FS_TYPE}="linux_raid_member"' 'ENV{ID_FS_TYPE}="bcache"' \
		'ENV{ID_FS_TYPE}="something", ENV{ID_FS_USAGE}="raid"' 'ENV{SYSTEMD_READY}="0"' \
		'ENV{DM_UDEV_DISABLE_OTHER_RULES_FLAG}="1"'; do
		marks_of_slow "$mark"
		seen_anew "$slow"
		refused "$slow" "(hidden|part of something else)"
	done
	marks_of_slow 'ENV{ID_FS_TYPE}="ext4", ENV{ID_FS_USAGE}="filesystem"'
	seen_anew "$slow"
	ctl_code 0 activate --auto "$fast"
	active
}
test_case "other marks of udev" other_marks

# The last chunk of a tier may look like the end of an array's member; that data belongs to the set.
array_on_set()
{
	local chunks
	marks ''
	disk meta 4
	disk fast 16
	disk slow 32
	ctl create "$set" -q -m "$meta" -c 64k --policy static "$fast" "$slow"
	chunks=$(($(blockdev --getsz "$dev") / 128))
	ctl migrate -q "$set" 0-$((chunks - 1)) --tier 1
	write_chunks 0 "$chunks" 1
	settle
	ctl deactivate -q "$set"
	# md 1.0: its superblock is 8 KiB before the end, in the last place.
	mdadm --create /dev/md/tt_array --run --metadata=1.0 --level=1 --raid-devices=2 --force "$slow" missing \
		>/dev/null 2>&1 </dev/null
	mdadm --stop /dev/md/tt_array >/dev/null 2>&1
	# As udev marks other disks; with a type that no rule assembles at once.
	same linux_raid_member "$(blkid -p -o value -s TYPE "$slow")" "what blkid finds"
	marks_of_slow 'ENV{ID_FS_TYPE}="via_raid_member", ENV{ID_FS_USAGE}="raid"'
	seen_anew "$slow"
	ctl_code 0 activate -q "$set"
	active
}
test_case "an array's superblock within what the set holds hides no tier" array_on_set

metadata_marked()
{
	make_inactive
	marks 'KERNEL=="tt_meta", ENV{ID_FS_TYPE}="LVM2_member"'
	seen_anew "$meta"
	refused "$meta" "part of something else \(id_fs_type=lvm2_member\)"
}
test_case "metadata is not taken from what is marked either" metadata_marked

dm_marked()
{
	local mapped=/dev/mapper/tt_mapped
	marks ''
	make_disks
	wrap mapped "0 $(sectors_of "$slow") linear $slow 0"
	ctl create "$set" -q -m "$meta" -c 64k "$fast" "$mapped"
	settle
	ctl deactivate -q "$set"
	rm -f "$rules"/*-tt-marks.rules
	echo 'ENV{DM_NAME}=="tt_mapped", ENV{DM_UDEV_DISABLE_OTHER_RULES_FLAG}="1"' >"$rules/56-tt-marks.rules"
	udevadm control --reload
	# Nor when the device is resumed
	dmsetup suspend tt_mapped
	dmsetup resume tt_mapped
	settle
	fails active
	refused "$mapped" "hidden"
	marks ''
	dmsetup suspend tt_mapped
	dmsetup resume tt_mapped
	wait_for 20 active
}
test_case "a dm device that is marked" dm_marked

# The map cannot be read, as if all its paths had failed; sysfs says which map holds the path.
held_by_map()
{
	make_inactive
	printf '%s\n' "0 64 error" "64 $(($(sectors_of "$slow") - 64)) linear $slow 64" |
		dmsetup create tt_map --uuid mpath-tt_map
	settle
	refused "$slow" "a path of /dev/mapper/tt_map"
}
test_case "what a map holds that cannot be read" held_by_map

no_record()
{
	make_inactive
	rm "/run/udev/data/b$(majmin "$slow")"
	ctl_code 0 activate --auto "$fast"
	active
}
test_case "a device that udev knows nothing of is taken" no_record

# Their contents must not matter
not_read()
{
	local reads
	make_inactive
	disk meta2 4
	disk third 16
	disk spare 16
	ctl create tt_other -q -m "$meta2" -c 64k "$third" "$spare"
	settle
	ctl deactivate -q tt_other
	settle
	reads="$(stat_of "$meta2" 0) $(stat_of "$third" 0) $(stat_of "$spare" 0)"
	ctl_code 0 activate --auto "$fast"
	active
	same "$reads" "$(stat_of "$meta2" 0) $(stat_of "$third" 0) $(stat_of "$spare" 0)" "reads of another set's devices"
	ctl_code 0 activate --auto "$third"
	[ -e /dev/mapper/tt_other ]
}
test_case "no device of another set is read for one that is complete" not_read

# A blank device that the user names is taken, with a warning.
joined()
{
	marks ''
	disk meta 4
	disk slow 32
	disk fast 16
	marks_of_slow "$a_path"
	seen_anew "$slow"
	ctl_code 0 create "$set" -c 64k -m "$meta" "$fast" "$slow"
	matches "$slow: is a path of multipath .*not activated on it by itself" "$errors" "what is said"
	settle
	ctl deactivate -q "$set"
	refused "$slow" "a path of multipath"
}
test_case "a set is made on a path with a warning, and not activated on it" joined


# A set that was deactivated by hand; at boot udev knows nothing before.
trigger()
{
	udevadm trigger --action=add --settle "$meta" "$fast" "$slow" "$@"
	settle
}
triggered()
{
	local disk
	make_inactive
	trigger
	fails active
	for disk in "$meta" "$fast" "$slow"; do rm "/run/udev/data/b$(majmin "$disk")"; done
	trigger
	active
	ctl destroy -q -y "$set"
	settle
	wrap mapped "0 $(sectors_of "$slow") linear $slow 0"
	ctl create "$set" -q -c 64k -m "$meta" "$fast" /dev/mapper/tt_mapped
	settle
	ctl deactivate -q "$set"
	trigger "$(readlink -f /dev/mapper/tt_mapped)"
	fails active
	# A soft reboot, with the file that tier-deactivate.service leaves behind.
	touch /run/dm-tier/shutdown
	trigger "$(readlink -f /dev/mapper/tt_mapped)"
	active
	ctl deactivate -q "$set"
	fails test -e /run/dm-tier/shutdown
	trigger "$(readlink -f /dev/mapper/tt_mapped)"
	fails active
}
test_case "udevadm trigger activates what was never seen, and nothing else" triggered

run_tests
