#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=600
# long
#
# Other data written over the label of a tier by mistake, and repair --label that is interrupted.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-reshape.sh
. "$(dirname "$0")/lib-reshape.sh"
# shellcheck source=lib-label.sh
. "$(dirname "$0")/lib-label.sh"
need wipefs mdadm mkswap mkfs.ext4 mkfs.xfs xfs_repair

damaged_label()
{
	local at
	whole
	# A bit in each slot
	for at in 300 4396; do
		printf damage | dd of="$slow" bs=1 seek="$at" conv=notrunc,fsync status=none
	done
	hinted 1 "$slow" "a damaged label"
	dd if="$meta" of="$tmp/meta" bs=1M iflag=direct status=none
	fails "$here/../../userspace/tier_check" -i "$tmp/meta" --tiers "$fast" "$slow"
	matches "$slow: tier label is damaged\. If it is a tier of the set all the same: tierctl repair --label RANK $slow SET" "$output"
	fails "$here/../../userspace/tier_repair" -i "$tmp/meta" -o "$tmp/new" --tiers "$fast" "$slow"
	matches "$slow: tier label is damaged\. .*: tierctl repair --label RANK $slow SET" "$output"
	back 1 "$slow"
	ctl deactivate -q "$set"
	# One damaged slot does not matter.
	printf damage | dd of="$slow" bs=1 seek=300 conv=notrunc,fsync status=none
	ctl_code 0 activate "$set"
	check_chunks 0 200 1
}
test_case "a label that is damaged: in both slots, in one" damaged_label

# Where zeroes were, other data lies; a slot of the label is left, or not.
swap_made()
{
	whole
	mkswap "$slow" >/dev/null
	# mkswap leaves the label in the second slot, so the tier is not missing.
	ctl_code 1 activate "$set"
	matches "carries swap beside its label" "$errors"
	refused_for "tier 1 is there, as $slow, and has its label" --label 1 "$slow" "$set"
	ctl_code 0 activate --force -y "$set"
	check_chunks 0 200 1
	ctl deactivate -q "$set"
	mkswap "$slow" >/dev/null
	dd if=/dev/zero of="$slow" bs=4k seek=1 count=1 oflag=direct status=none
	hinted 1 "$slow" "no label"
	back 1 "$slow"
}
test_case "mkswap, with a slot left and without" swap_made

raid_made()
{
	local md=/dev/md127
	whole
	trap 'rc=$?; trap - ERR; set +e; mdadm --quiet --stop /dev/md127 2>/dev/null; exit $rc' EXIT
	mdadm --quiet --create "$md" --level=1 --raid-devices=2 --metadata=1.2 --assume-clean --run "$slow" missing
	mdadm --quiet --stop "$md"
	ctl_code 1 activate "$set"
	matches "carries linux_raid_member .*beside its label" "$errors"
	# Once the first slot is wiped, too.
	dd if=/dev/zero of="$slow" bs=4k count=1 oflag=direct status=none
	hinted 1 "$slow" "no label"
	ctl_code 0 repair --dry-run --label 1 "$slow" "$set"
	matches "against: it carries linux_raid_member" "$output"
	back 1 "$slow"
}
test_case "the superblock of a RAID, where the second slot was" raid_made

raid_at_end()
{
	local md=/dev/md127
	whole
	trap 'rc=$?; trap - ERR; set +e; mdadm --quiet --stop /dev/md127 2>/dev/null; exit $rc' EXIT
	mdadm --quiet --create "$md" --level=1 --raid-devices=2 --metadata=1.0 --assume-clean --run "$slow" missing
	mdadm --quiet --stop "$md"
	zero_head "$slow"
	ctl_code 0 repair --dry-run --label 1 "$slow" "$set"
	matches "against: it carries linux_raid_member .*in its last [0-9]+ sectors" "$output"
	matches "overwrote 8192 bytes of the set from byte $((128 * 65536 - 8192)) on \(chunk 127\)" "$output"
	ctl_code 0 repair -y --label 1 "$slow" "$set"
	mdadm --quiet --zero-superblock "$slow"
	same "" "$(wipefs --noheadings "$slow")" "what is left"
	ctl_code 0 activate "$set"
	check_chunks 0 127 1
	check_chunks 128 72 1
	io check "$dev" at="$(at_chunk 127)" len=$((65536 - 8192)) seed=1
}
test_case "the superblock of a RAID at the end" raid_at_end

# Overwritten data is lost, all other data is there; without --force the command refuses without
# a question.
file_system_made()
{
	whole
	mkfs.ext4 -q -F "$slow"
	ctl_code 3 status "$set"
	matches "tierctl repair --label 1 $slow $set" "$output"
	refused_for "a file system or encrypted data has been made on it" --label 1 "$slow" "$set"
	mended 1 "$slow" --force
	ctl deactivate -q "$set"
	ctl_code 0 activate -r "$set"
	check_chunks 61 66 1
	check_chunks 128 72 1
}
test_case "a file system made over it" file_system_made

xfs_on_it()
{
	disk meta 8
	disk fast 200
	disk slow 200
	ctl create "$set" -q -m "$meta" -c 1m --policy static "$fast" "$slow"
	mkfs.xfs -q -K -d agcount=4 "$dev"
	ctl migrate -q "$set" 90-380 --tier 1
	ctl wait -q "$set"
	ctl deactivate -q "$set"
	zero_head "$slow"
	ctl_code 0 repair -y --label 1 "$slow" "$set"
	matches "for: +copies of the superblock of xfs that are where they should be: [1-3]" "$output"
	ctl_code 0 activate "$set"
	xfs_repair -n "$dev" >/dev/null 2>&1
}
test_case "XFS on the set says which device it is" xfs_on_it

# Killed at each step, then called again
cut_short()
{
	local step
	whole
	for step in zeroed second first; do
		zero_head "$slow"
		killed "label-$step" repair -y --label 1 "$slow" "$set"
		[ "$step" != zeroed ] || ctl_code 0 repair -y --label 1 "$slow" "$set"
		ctl_code 0 activate "$set"
		check_chunks 0 200 1
		ctl deactivate -q "$set"
	done
	# After the answer to the question the name belongs to another device.
	zero_head "$slow"
	stopped label-agreed repair -y --label 1 "$slow" "$set"
	printf x | dd of="$slow" bs=1 seek=5000 conv=notrunc,fsync status=none
	go_on 1
	matches "$slow: is not what it was any more" "$(<"$tmp/stopped")"
	ctl_code 0 repair -y --label 1 "$slow" "$set"
	ctl_code 0 activate "$set"
}
test_case "killed at each step; written to meanwhile" cut_short

run_tests
