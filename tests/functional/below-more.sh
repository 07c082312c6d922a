#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=400
# long
#
# More of what can happen to the devices below a set in use, see below.sh.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-below.sh
. "$(dirname "$0")/lib-below.sh"

test_case "a tier is unplugged, and comes back" unplugged slow 1 tier_missing 'tier 1 .* is missing'

# As long as the set holds a SCSI disk that is gone, a disk that comes back gets another name.
renamed()
{
	local old
	disk meta 4
	disk fast 16
	scsi_disk 32 || skip "no scsi_debug"
	slow=$scsi
	ctl create "$set" -q -m "$meta" -c 64k --policy static "$fast" "$slow"
	io write "$dev" at=0 len=1m seed=1
	io sync "$dev"
	old=$scsi
	echo 1 >"/sys/block/${old##*/}/device/delete"
	wait_for 20 test ! -e "/sys/block/${old##*/}"
	echo '- - -' | tee /sys/class/scsi_host/host*/scan >/dev/null
	wait_for 20 scsi_disk_there
	wait_for 20 test "$scsi" != "$old"
	ill 1 missing tier_missing "tier 1 .*last seen as $old.* is missing, and back as $scsi," degraded
	ctl deactivate -q "$set"
	ctl activate -q "$set"
	io check "$dev" at=0 len=1m seed=1
	well
	ctl destroy -q -y "$set"
	scsi_disk_gone
}
test_case "a tier that is back under another name" renamed

suspended_tier() { make slow; told 1; well; }
test_case "the device of a tier is suspended" suspended_tier
suspended_metadata()
{
	local command
	make meta
	told metadata
	dmsetup suspend --noflush tt_held
	for command in "list" "status" "metrics" "top --once" "events --timeout 1 $set"; do
		# shellcheck disable=SC2086	# several words
		within 15 ctl_to any $command
	done
	dmsetup resume tt_held
	well
}
test_case "the device of the metadata is suspended" suspended_metadata

nested()
{
	make_disks
	wrap held "$(linear_line slow)"
	wrap above "0 $(sectors_of "$slow") linear /dev/mapper/tt_held 0"
	slow=/dev/mapper/tt_above
	ctl create "$set" -q -m "$meta" -c 64k --policy static "$fast" "$slow"
	well
	told 1
	well
}
test_case "a device below that of a tier is suspended" nested

degraded()
{
	make meta
	ctl deactivate -q "$set"
	echo 0 >"$configfs/tt_fast/power"
	wait_for 10 test ! -e /sys/block/tt_fast
	ctl_code 3 activate -q "$set" --degraded
	told metadata degraded
}
test_case "the metadata is suspended, and a tier is missing" degraded

both()
{
	make meta
	dmsetup suspend --noflush "$set"
	told metadata
	dmsetup resume "$set"
	well
}
test_case "the metadata is suspended, and so is the set" both

# A first write waits for its commit. A status request, which needs the metadata, waits as well.
committing()
{
	make meta
	dmsetup suspend --noflush tt_held
	background io write "$dev" at=2m len=64k seed=2
	background io sync "$dev"
	nap 2
	dmsetup resume tt_held
	wait_for 20 has_ended "$last_pid"
	dmsetup suspend --noflush tt_held
	background io write "$dev" at=3m len=64k seed=2
	background io sync "$dev"
	nap 2
	told metadata
}
test_case "the metadata is suspended, and a commit waits for it" committing

# A disk that hangs does not show in any table.
hangs()
{
	make meta
	ctl deactivate -q "$set"
	dmsetup create "$set" --table "0 $(sectors_of "$slow") tier $meta 128 2 $fast $slow 0 0 default 0"
	dmsetup load tt_held --table "0 $(sectors_of /dev/tt_meta) delay /dev/tt_meta 0 30000"
	dmsetup resume tt_held
	within 10 ctl_to 3 status "$set"
	matches 'attention +the metadata device /dev/mapper/tt_held does not answer' "$(<"$tmp/said")"
	dmsetup load tt_held --table "$(linear_line meta)"
	dmsetup resume tt_held
	wait_for 20 calm
}
calm() { ctl status "$set" >"$tmp/said"; }
test_case "the metadata device hangs, of a set that dmsetup made" hangs

# A device that an inactive set lacks was suspended.
suspended_inactive()
{
	make_disks
	# The disk itself must not look like a tier.
	wrap held "0 $(($(sectors_of "$slow") - 2048)) linear $slow 2048"
	ctl create -q "$set" -m "$meta" -c 64k "$fast" /dev/mapper/tt_held
	ctl deactivate -q "$set"
	dmsetup suspend --noflush tt_held
	within 10 ctl_to 3 status "$set"
	matches "tt_held .*is suspended, I/O to it waits: dmsetup resume tt_held" "$(<"$tmp/said")"
	dmsetup resume tt_held
	ctl_code 0 status "$set"
}
test_case "the device of a tier is suspended, and the set not active" suspended_inactive

error_member()
{
	make "$1"
	dmsetup wipe_table tt_held
	ill "$2" error part_error 'tt_held .* has a table of "error", I/O to it fails: dmsetup reload tt_held.* dmsetup resume tt_held' degraded
	dmsetup load tt_held --table "$(linear_line "$1")"
	dmsetup resume tt_held
	[ "$2" = metadata ] || well
}
test_case "the device of a tier has a table of error" error_member slow 1
test_case "the device of the metadata has a table of error" error_member meta metadata

lost_disk()
{
	make slow
	echo 0 >"$configfs/tt_slow/power"
	wait_for 10 test ! -e /sys/block/tt_slow
	ill 1 error part_error 'tt_held .* is on a disk that is gone' degraded
}
test_case "the disk below the device of a tier is gone" lost_disk

# The metadata, of all things, is worth a mirror.
mirror()
{
	modprobe -a dm-raid raid1 2>/dev/null || true
	dmsetup targets | grep -q '^raid ' || skip "no dm-raid"
	disk meta 4
	disk fast 16
	disk slow 32
	disk spare 4
	wrap leg0 "$(linear_line meta)"
	wrap leg1 "$(linear_line spare)"
	wrap held "0 $(sectors_of "$meta") raid raid1 4 0 nosync region_size 1024 2 - /dev/mapper/tt_leg0 - /dev/mapper/tt_leg1"
	meta=/dev/mapper/tt_held
	ctl create "$set" -q -m "$meta" -c 64k --policy static "$fast" "$slow"
	well
	# Nothing has been written yet, so the mirror itself does not know of the failure.
	dmsetup wipe_table tt_leg1
	ill metadata degraded part_degraded 'tt_held \(the metadata\) has lost a leg: /dev/mapper/tt_leg1'
	# A mirror with metadata of its own would wait until somebody records the failed leg.
	dmsetup load tt_leg1 --table "$(linear_line spare)"
	dmsetup resume tt_leg1
	well
	ctl destroy -q -y "$set"
	remove tt_held
	remove tt_leg0 tt_leg1
}
test_case "a mirror below the metadata loses a leg" mirror

shrunk()
{
	make "$1"
	dmsetup load tt_held --table "0 $(($(sectors_of "/dev/tt_$1") / 2)) linear /dev/tt_$1 0"
	dmsetup resume tt_held
	ill "$2" reduced "$3" "has been reduced to" degraded
	dmsetup load tt_held --table "$(linear_line "$1")"
	dmsetup resume tt_held
	well
}
test_case "a tier shrinks while the set is active" shrunk slow 1 tier_reduced
test_case "the metadata device shrinks while the set is active" shrunk meta metadata metadata_reduced

read_only()
{
	make slow
	blockdev --setro /dev/tt_slow
	ill 1 read_only part_read_only '/dev/tt_slow \(below tier 1, /dev/mapper/tt_held\) is read-only: blockdev --setrw /dev/tt_slow'
	blockdev --setrw /dev/tt_slow
	well
	dmsetup load --readonly tt_held --table "$(linear_line slow)"
	dmsetup resume tt_held
	ill 1 read_only part_read_only 'tt_held \(tier 1\) is read-only: dmsetup table --showkeys tt_held \| dmsetup reload tt_held && dmsetup resume tt_held'
	dmsetup table --showkeys tt_held | dmsetup load tt_held
	dmsetup resume tt_held
	well
	blockdev --setro "$meta"
	ill metadata read_only part_read_only "$meta \\(the metadata\\) is read-only: blockdev --setrw $meta"
	# A set that writes nothing is not harmed by a read-only device.
	ctl deactivate -q "$set"
	ctl_code 0 activate -q --read-only "$set"
	well
	blockdev --setrw "$meta"
}
test_case "a tier, a disk below it, the metadata are read-only" read_only

blocks()
{
	make slow
	disk spare 32 blocksize=4096
	dd if=/dev/tt_slow of="$spare" bs=1M oflag=direct status=none
	dmsetup load tt_held --table "$(linear_line spare)"
	dmsetup resume tt_held
	ill 1 blocks part_blocks 'logical blocks of 4096 bytes now, and the set has 512, .*tierctl replace tt_set 1 OTHER'
	dmsetup load tt_held --table "$(linear_line slow)"
	dmsetup resume tt_held
	well
}
test_case "a tier is moved to a disk with larger blocks" blocks

deferred()
{
	local holder
	make
	background io hold "$dev"
	holder=$last_pid
	nap 1
	dmsetup remove --deferred "$set"
	ctl_code 3 status "$set"
	matches "attention +is taken away as soon as it is closed.*: dmsetup message $set 0 @cancel_deferred_remove" "$output"
	ctl_code 3 list
	same "removal_waits true" "$(json '.sets[0] | "\(.attention[0].code) \(.removal_waits)"' status "$set")"
	ctl metrics "$set" >"$tmp/metrics"
	matches "dm_tier_removal_waits\{set=\"$set\"\} 1" "$(<"$tmp/metrics")"
	dmsetup message "$set" 0 @cancel_deferred_remove
	well
	kill "$holder"
	wait "$holder" || true
	well
}
test_case "a set that is removed as soon as it is closed" deferred

# Must be the last case.
test_case "every report keeps to its schema" schemas

run_tests
