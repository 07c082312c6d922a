#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at tierctl
#
# Two names for one disk, as two paths to it have, or a loop device and what it shows:
# what is done to it by one name is not lost by the other.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-loop.sh
. "$(dirname "$0")/lib-loop.sh"

# second_name N: of ${loops[N]}, in $second
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
	# What is in use is not changed to find out.
	second_name 2
	ctl_code 1 destroy -y "$second"
	one_line "$second: may be the same disk as ${loops[2]}, which is in use\. deactivate"
	ctl_code 0 destroy -y --test --force "$second"
	check_chunks 0 10 1
	# A copy is one.
	ctl deactivate -q "$set"
	losetup -d "$second"
	dd if="${loops[2]}" of="${loops[3]}" bs=1M oflag=direct status=none
	ctl_code 0 destroy -y "${loops[3]}"
	ctl_code 0 activate "$set"
	check_chunks 0 10 1
}
test_case "destroy of a second name is refused" destroy_second

# refused_twins REGEX ARGUMENT...: nothing is left of it, and the disk is as it was
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
	# It begins as a blank one does.
	dd if=/dev/zero of="${loops[0]}" bs=1M count=1 oflag=direct conv=notrunc status=none
	ctl_code 1 convert "${loops[0]}" --name "$set" -c 64k --fast "$second" --metadata "$meta"
	matches "$second: is the same disk as ${loops[0]}\. Name it once" "$errors"
	io check "${loops[0]}" at=1m len=31m seed=8
	same "" "$(head -c 1M "$tmp/file0" | tr -d '\0')" "what it begins with"
	losetup -d "${loops[3]}"
	losetup -d "$second"
	loops=("${loops[@]:0:3}")
	ctl_code 0 convert -q "${loops[0]}" --name "$set" -c 64k --fast "$fast" --metadata "$meta"
}
test_case "convert with two names for one disk" convert_second

# A loop device holds nothing, and no process has what it shows.
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

# Metadata in a file, of a set that is active
file_in_use()
{
	local file=$tmp/file0 tools
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
	md5sum --quiet -c "$tmp/sums"
	ctl deactivate -q "$set"
	losetup -d "${loops[0]}"
	unset 'loops[0]'
	ctl_code 0 restore -y "$tmp/dump" "$file"
}
test_case "a file that a loop device shows is not written over" file_in_use

run_tests
