#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# timeout=900
# long
#
# Partitions and md arrays with a file system become tiered sets in place and plain devices
# again. Files are compared, and fsck runs, after each step.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-loop.sh
. "$(dirname "$0")/lib-loop.sh"

need mdadm sfdisk mkfs.ext4
modprobe -a raid1 ext4 2>/dev/null || true
mount=$tmp/mnt
mkdir "$mount"
md=/dev/md127

tidy_more()
{
	mountpoint -q "$mount" && umount "$mount"
	[ ! -b "$md" ] || mdadm --quiet --stop "$md"
}

# files write
# check: writes files to the file system, or compares them
files()
{
	if [ "$1" = write ]; then
		truncate -s 6m "$mount/data"
		io write "$mount/data" at=0 len=6m seed=41
		cp "$tierio" "$mount/io"
		sync -f "$mount"
	else
		io check "$mount/data" at=0 len=6m seed=41
		cmp "$tierio" "$mount/io"
	fi
}

sound() { fsck.ext4 -fn "$1" >"$tmp/fsck" 2>&1 || fail "fsck of $1: $(<"$tmp/fsck")"; }
gone() { ! dmsetup info "$1" >/dev/null 2>&1; }
type_of() { blkid -p -o value -s TYPE "$1" || true; }

# there DEVICE: converts DEVICE into a set and mounts its file system
there()
{
	mkfs.ext4 -q "$1"
	mount "$1" "$mount"
	files write
	ctl_code 1 convert "$1" --name "$set" -c 64k --fast "$fast" --metadata "$meta"
	one_line "mounted on /.*/mnt\. type: umount /.*/mnt, this command again"
	umount "$mount"
	ctl_code 0 convert "$1" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static
	sound "$dev"
	mount "$dev" "$mount"
	files check
	ctl migrate -q "$set" 20-120 --tier 0
	ctl wait -q "$set"
	files check
	truncate -s 3m "$mount/more"
	io write "$mount/more" at=0 len=3m seed=42
	umount "$mount"
	ctl deactivate -q "$set"
	same "" "$(type_of "$1")" "what the device shows of itself"
}

# back DEVICE: reverts the mounted set to DEVICE
back()
{
	mount "$dev" "$mount"
	files check
	ctl_code 0 revert "$set"
	matches "$dev stays until it is closed" "$output"
	files check
	umount "$mount"
	wait_for 20 gone "$set"
	same "" "$(json '.sets[].name' list)" "sets"
	same ext4 "$(type_of "$1")" "what the device shows of itself"
	sound "$1"
	mount "$1" "$mount"
	files check
	io check "$mount/more" at=0 len=3m seed=42
	umount "$mount"
}

front()
{
	disk meta 4
	disk fast 16
}

# partition LABEL: converts the second of two partitions of a disk
partition()
{
	local disk table
	front
	make_loops 48
	disk=${loops[0]}
	printf 'label: %s\nsize=8MiB\nsize=36MiB\n' "$1" | sfdisk -q --no-tell-kernel "$disk" >/dev/null
	losetup -d "$disk"
	loops[0]=$(losetup -f --show -P "$tmp/file0")
	disk=${loops[0]}
	wait_for 10 test -b "${disk}p2"
	table=$(sfdisk -d "$disk")
	io write "${disk}p1" at=0 len=8m seed=40
	ctl_code 1 convert "$disk" --name "$set" --fast "$fast" --metadata "$meta"
	one_line "$disk: (has partitions\. name the one to convert|carries (gpt|dos))"
	there "${disk}p2"
	same "$set" "$(json '.devices[] | select(.device == "'"${disk}p2"'") | .set' scan)" "the set it belongs to"
	ctl activate -q --auto
	back "${disk}p2"
	same "$table" "$(sfdisk -d "$disk")" "partition table"
	io check "${disk}p1" at=0 len=8m seed=40
}
test_case "a partition of a GPT" partition gpt
test_case "a partition of a DOS table" partition dos

# leg NUMBER MIB: a checksum of a leg's data from there on
leg() { dd if="${loops[$1]}" bs=1M skip="$2" count=30 iflag=direct status=none | md5sum; }

# array VERSION MIB: VERSION of the superblock, which says where the superblock lies; MIB:
# where data begins
array()
{
	front
	make_loops 40 40
	mdadm --quiet --create "$md" --level=1 --raid-devices=2 --metadata="$1" --assume-clean --run \
		"${loops[@]}" </dev/null
	there "$md"
	# The array is stopped and assembled again. In between, a single leg is no member,
	# although it may begin with the label.
	mdadm --quiet --stop "$md"
	same 0 "$(json '[.devices[] | select(.role == "tier" and .id == 1)] | length' scan)" "legs that pass for a tier"
	ctl_code 1 activate "$set"
	mdadm --quiet --assemble "$md" "${loops[@]}"
	wait_for 10 test -b "$md"
	ctl activate -q --auto
	# A leg fails while the set is in use, and comes back.
	mdadm --quiet --fail "$md" "${loops[1]}"
	mount "$dev" "$mount"
	files check
	umount "$mount"
	mdadm --quiet --remove "$md" "${loops[1]}"
	mdadm --quiet --add "$md" "${loops[1]}"
	mdadm --quiet --wait "$md" || true
	back "$md"
	same "$(leg 0 "$2")" "$(leg 1 "$2")" "what the two legs hold"
}
test_case "an md mirror" array 1.2 1
test_case "an md mirror with its superblock at the end" array 1.0 0

run_tests
