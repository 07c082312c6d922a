#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# timeout=300
# long
#
# The label of a converted volume was overwritten. The kernel's name of a volume changes at each
# start, so LVM's name identifies the volume.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-convert.sh
. "$(dirname "$0")/lib-convert.sh"
need mkfs.ext4 fsck.ext4

origin_of_set()
{
	local sums
	make_vg
	lv fast 12m "$vg" "${loops[1]}"
	lv meta 8m "$vg" "${loops[1]}"
	mkfs.ext4 -q -b 1024 -L photos "$origin"
	sums=$(io sums "$origin" | md5sum)
	ctl convert -q -y "$vg/data" -c 64k --fast "$vg/fast" --metadata "$vg/meta" --policy static
	ctl deactivate -q "$vg/data"
	# Other volumes now come before it.
	lv other 1m "$vg" "${loops[1]}"
	lvchange -an "$vg/data_torig"
	lvchange -ay "$vg/data_torig"
	dd if=/dev/zero of="/dev/mapper/$vg-data_torig" bs=16k count=1 oflag=direct status=none
	udevadm settle
	ctl_code 3 status
	matches "tierctl repair --label 1 $vg/data_torig" "$output"
	ctl_code 0 repair -y --label 1 "$vg/data_torig" "$vg/data"
	note "${output//$'\n'/$'\n# '}"
	matches "for: +copies of the superblock of ext2, ext3 or ext4 that are where they should be: 1" "$output"
	ctl_code 0 activate "$vg/data"
	same "$sums" "$(io sums "$origin" | md5sum)"
	fsck.ext4 -fn "$origin" >/dev/null
	ctl_code 0 revert -q -y "$vg/data"
	same "$sums" "$(io sums "$origin" | md5sum)"
	lvremove -q -y "$vg" >/dev/null
	vgremove -q -y "$vg" >/dev/null
}
test_case "the origin of a volume that was converted" origin_of_set

run_tests
