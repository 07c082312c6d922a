#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at tierctl
#
# Two names for one disk, like two paths to it, or a loop device and the file that it shows: a
# change by one name is not lost by the other.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-reshape.sh
. "$(dirname "$0")/lib-reshape.sh"
# shellcheck source=lib-loop.sh
. "$(dirname "$0")/lib-loop.sh"

# second_name N: a second loop device of ${loops[N]}, in $second
second_name()
{
	second=$(losetup -f --show "$tmp/file$1")
	loops+=("$second")
}

# A second loop device of each file that a set consists of
destroy_second()
{
	local n what=(metadata "tier 0" "tier 1") copy
	make_loops 4 16 32 32
	ctl create -q "$set" -m "${loops[0]}" -c 64k --policy static "${loops[1]}" "${loops[2]}"
	write_chunks 0 10 1
	ctl deactivate -q "$set"
	md5sum "$tmp"/file[0-2] >"$tmp/sums"
	for n in 0 1 2; do
		second_name "$n"
		ctl_code 1 activate "$set"
		matches "two devices say that they are its ${what[n]}" "$errors"
		for copy in "$second" "${loops[n]}"; do
			ctl_code 1 destroy -y "$copy"
			one_line "$copy: is the same disk as /dev/loop[0-9]+, and no copy of it\. nothing was wiped"
			md5sum --quiet -c "$tmp/sums"
		done
		losetup -d "$second"
		unset 'loops[-1]'
	done
	ctl_code 0 activate "$set"
	check_chunks 0 10 1
	# A device in use is not changed to find out.
	second_name 2
	ctl_code 1 destroy -y "$second"
	one_line "$second: may be the same disk as ${loops[2]}, which is in use\. deactivate"
	ctl_code 0 destroy -y --test --force "$second"
	check_chunks 0 10 1
	# A copy is recognised as a copy.
	ctl deactivate -q "$set"
	losetup -d "$second"
	dd if="${loops[2]}" of="${loops[3]}" bs=1M oflag=direct status=none
	ctl_code 0 destroy -y "${loops[3]}"
	ctl_code 0 activate "$set"
	check_chunks 0 10 1
}
test_case "destroy of a second name is refused" destroy_second

# The common beginning is changed at that moment.
interrupted()
{
	make_loops 4 16
	ctl create -q "$set" -m "${loops[0]}" -c 64k --policy static "${loops[1]}"
	ctl deactivate -q "$set"
	md5sum "$tmp"/file[01] >"$tmp/sums"
	second_name 1
	stopped twins-changed destroy -y "$second"
	fails md5sum --quiet -c "$tmp/sums" 2>/dev/null
	kill -TERM "$stopped_pid"
	go_on 143
	md5sum --quiet -c "$tmp/sums"
	# A power cut leaves the changed bytes, which do no harm.
	stopped twins-changed destroy -y "$second"
	kill -KILL "$stopped_pid"
	go_on 137
	fails md5sum --quiet -c "$tmp/sums" 2>/dev/null
	losetup -d "$second"
	unset 'loops[-1]'
	ctl_code 0 activate "$set"
	ctl_code 0 status "$set"
}
test_case "interrupted as it compares two names" interrupted

# The device that would be wiped first is a part of a set in use.
add_second()
{
	local n refused
	make_loops 4 16 32 32 4
	ctl create -q "$set" -m "${loops[0]}" -c 64k --policy static "${loops[1]}" "${loops[2]}"
	write_chunks 0 10 1
	for n in 0 1 2; do
		second_name "$n"
		refused="$second: may be the same disk as ${loops[n]}, which is in use\..* tierctl destroy $second"
		ctl_code 1 add -y --force "$set" "$second" --at 0
		one_line "$refused"
		ctl_code 1 replace -y --force "$set" 1 "$second"
		one_line "$refused"
		ctl_code 1 create -y --force tt_other -m "${loops[4]}" "${loops[3]}" "$second"
		one_line "$refused"
		ctl_code 1 create -y --force tt_other -m "$second" "${loops[3]}"
		one_line "$refused"
		ctl_code 1 convert -y --force "${loops[3]}" --name tt_other --fast "$second" --metadata "${loops[4]}"
		one_line "$refused"
		losetup -d "$second"
		unset 'loops[-1]'
	done
	ctl deactivate -q "$set"
	ctl_code 0 activate "$set"
	check_chunks 0 10 1
	# A copy that has changed since is no copy.
	dd if="${loops[2]}" of="${loops[3]}" bs=1M oflag=direct status=none
	ctl set -q "$set" migration_depth=3
	dd if=/dev/zero of="${loops[3]}" bs=4k seek=1 count=1 oflag=direct conv=notrunc status=none
	ctl_code 0 add -y --force "$set" "${loops[3]}" --at 0
	check_chunks 0 10 1
}
test_case "add, replace, create and convert with a second name of what is in use" add_second

# refused_twins REGEX ARGUMENT...: refused; the disk is unchanged, and nothing is left behind
refused_twins()
{
	ctl_code 1 convert "${loops[0]}" --name "$set" -c 64k --policy static "${@:2}"
	matches "$1" "$errors"
	same "" "$(json '.sets[].name' list)" "sets"
	io check "${loops[0]}" at=0 len=32m seed=8
}

convert_second()
{
	local fast meta
	make_loops 32 16 4
	fast=${loops[1]} meta=${loops[2]}
	io write "${loops[0]}" at=0 len=32m seed=8
	second_name 1
	refused_twins "$second: is the same disk as $fast\. Name it once" --fast "$fast" --fast "$second" --metadata "$meta"
	refused_twins "$fast: is the same disk as $second\. Name it once" --fast "$fast" --metadata "$second"
	second_name 0
	refused_twins "$second: carries something unknown" --fast "$second" --metadata "$meta"
	# The device begins like a blank one.
	dd if=/dev/zero of="${loops[0]}" bs=1M count=1 oflag=direct conv=notrunc status=none
	ctl_code 1 convert "${loops[0]}" --name "$set" -c 64k --fast "$second" --metadata "$meta"
	matches "$second: is the same disk as ${loops[0]}\. Name it once" "$errors"
	io check "${loops[0]}" at=1m len=31m seed=8
	same "" "$(head -c 1M "$tmp/file0" | tr -d '\0')" "what it begins with"
	# Nothing is wiped before either.
	mkfs.ext4 -q -F "${loops[0]}"
	md5sum "$tmp"/file[0-2] >"$tmp/sums"
	ctl_code 1 convert -y --force "${loops[0]}" --name "$set" -c 64k --fast "$second" --metadata "$meta"
	matches "$second: is the same disk as ${loops[0]}\. Name it once" "$errors"
	md5sum --quiet -c "$tmp/sums"
	mkfs.ext4 -q -F "$fast"
	md5sum "$tmp"/file[0-2] >"$tmp/sums"
	ctl_code 1 convert -y --force "${loops[0]}" --name "$set" -c 64k --fast "$fast" --metadata "${loops[3]}"
	matches "is the same disk as .*\. Name it once" "$errors"
	md5sum --quiet -c "$tmp/sums"
	wipefs -q -a "$fast"
	losetup -d "${loops[3]}"
	losetup -d "$second"
	loops=("${loops[@]:0:3}")
	ctl_code 0 convert -q -y --force "${loops[0]}" --name "$set" -c 64k --fast "$fast" --metadata "$meta"
}
test_case "convert with two names for one disk" convert_second

# A loop device does not hold its device exclusively, and no process has the device open.
loop_is_use()
{
	local loop by="in use by /dev/loop[0-9]+\. (free|close) it first"
	make_disks
	make_loops 1
	loop=$(losetup -f --show "$slow")
	loops+=("$loop")
	mkfs.ext4 -q "$loop"
	mkdir "$tmp/mnt"
	mount "$loop" "$tmp/mnt"
	cp "$tierio" "$tmp/mnt/io"
	sync -f "$tmp/mnt"
	unchanged "$meta" "$fast" -- ctl_code 1 convert "$slow" --name "$set" --fast "$fast" --metadata "$meta" -y
	one_line "$slow: $by"
	unchanged "$meta" "$fast" -- ctl_code 1 create "$set" -y -f --metadata "$meta" "$fast" "$slow"
	one_line "$slow: $by"
	umount "$tmp/mnt"
	losetup -d "$loop"
	unset 'loops[-1]'
	wipefs -q -a "$slow"
	ctl_code 0 create "$set" -q -f -y --metadata "$meta" "$fast" "$slow"
	ctl dump "$set" -o "$tmp/dump"
	ctl deactivate -q "$set"
	loop=$(losetup -f --show "$meta")
	loops+=("$loop")
	unchanged "$meta" -- ctl_code 1 restore -y --force "$tmp/dump" "$meta"
	one_line "$meta: is in use by /dev/loop[0-9]+\. free it first"
	unchanged "$meta" -- ctl_code 1 destroy -y "$set"
	one_line "$meta: $by"
}
test_case "what a loop device shows is in use" loop_is_use

# btrfs has a device number of its own, and so has each of its subvolumes.
on_btrfs()
{
	local loop file
	need mkfs.btrfs
	modprobe btrfs
	disk meta 4
	disk fast 16
	disk slow 160
	ctl create -q "$set" -m "$meta" -c 64k --policy static "$fast" "$slow"
	mkfs.btrfs -q "$dev"
	mkdir -p "$tmp/mnt"
	mount "$dev" "$tmp/mnt"
	btrfs -q subvolume create "$tmp/mnt/a b"
	truncate -s 8M "$tmp/mnt/file" "$tmp/mnt/a b/file"
	for file in file 'a b/file'; do
		loop=$(losetup -f --show "$tmp/mnt/$file")
		loops+=("$loop")
		ctl_code 1 add -y "$set" "$loop" --at 0
		one_line "$loop: lies on the device that it is to become part of"
		losetup -d "$loop"
		unset 'loops[-1]'
	done
	umount "$tmp/mnt"
}
test_case "a loop device on a file on btrfs on the set" on_btrfs

# Metadata in a file, of an active set
file_in_use()
{
	local file=$tmp/file0 tools command
	tools=$(dirname "$tierctl")
	make_loops 4
	disk fast 16
	ctl create -q "$set" -m "${loops[0]}" -c 64k --policy static "$fast"
	ctl dump "$set" -o "$tmp/dump"
	md5sum "$file" >"$tmp/sums"
	ctl_code 1 restore -y --force "$tmp/dump" "$file"
	matches "$file: in use by ${loops[0]}\.$" "$errors"
	fails "$tools/tier_restore" -i "$tmp/dump" -o "$file"
	cp "$file" "$tmp/copy"
	fails "$tools/tier_repair" -i "$tmp/copy" -o "$file"
	# Nor is it read as if the set were inactive.
	for command in "check $file" "dump $file" "repair -y $file $tmp/new"; do
		# shellcheck disable=SC2086	# a command and its arguments
		ctl_code 1 $command
		matches "$file: in use by ${loops[0]}\. Name that\.$" "$errors"
	done
	[ ! -e "$tmp/new" ] || fail "repair left an output"
	md5sum --quiet -c "$tmp/sums"
	ctl_code 0 dump "${loops[0]}"
	ctl deactivate -q "$set"
	md5sum "$file" >"$tmp/sums"
	fails "$tools/tier_repair" -i "$file" -o "${loops[0]}"
	md5sum --quiet -c "$tmp/sums"
	losetup -d "${loops[0]}"
	unset 'loops[0]'
	ctl_code 0 restore -y "$tmp/dump" "$file"
}
test_case "a file that a loop device shows is not written over" file_in_use

run_tests
