#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at tierctl
#
# Parts of a set come back changed, or change under the set. The kernel and tierctl refuse a
# known device for the same reasons as a device that joins, and write nothing. Harmless
# changes are accepted.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"

everything=("$meta" "$fast" "$slow")

# prepare: an inactive set with data on both tiers
prepare()
{
	make_set
	write_chunks 0 20 1
	move 0 10 1
	deactivate
}

# change NAME ATTRIBUTE=VALUE...: makes the disk anew with these attributes and the same contents
change()
{
	local item=$configfs/tt_$1 word
	echo 0 >"$item/power"
	for word in "${@:2}"; do echo "${word#*=}" >"$item/${word%%=*}"; done
	echo 1 >"$item/power"
	wait_for 10 test -b "/dev/tt_$1"
}

# untouched COMMAND...: COMMAND writes to none of the disks, and their contents stay the same
untouched()
{
	local sums counts
	sums=$(checksums "${everything[@]}")
	counts=$(write_counts "${everything[@]}")
	"$@"
	same "$counts" "$(write_counts "${everything[@]}")" "writes"
	same "$sums" "$(checksums "${everything[@]}")" "contents"
}

# kernel_refuses REGEX; tool_refuses REGEX [OPTION]...
kernel_refuses() { refused "$1" dmsetup create "$set" --table "$(table_line)"; }
tool_refuses()
{
	ctl_code 1 activate "${@:2}" "$set"
	one_line "$1"
}

refuse_all()
{
	kernel_refuses "$1"
	tool_refuses "$2"
	tool_refuses "$2" --force
}
both_refuse() { untouched refuse_all "$@"; }

# is_whole: the set comes up, with all its data
is_whole()
{
	ctl_code 0 activate "$set"
	check_chunks 0 20 1
	check_chunks 20 4 0
	same rw "$(info mode)"
	deactivate
}

# refused_until NAME "CHANGE..." "CHANGE BACK..." KERNEL_REGEX TOOL_REGEX
refused_until()
{
	prepare
	dd if="/dev/tt_$1" of="$tmp/copy" bs=1M iflag=direct status=none
	# shellcheck disable=SC2086	# several words
	change "$1" $2
	# Zones begin empty.
	[[ $2 != zoned* ]] || dd if="$tmp/copy" of="/dev/tt_$1" bs=1M oflag=direct status=none
	both_refuse "$4" "$5"
	# shellcheck disable=SC2086
	change "$1" $3
	is_whole
}

what=("its metadata device \\(/dev/tt_meta\\)" "tier 0 \\(/dev/tt_fast\\)" "tier 1 \\(/dev/tt_slow\\)")
test_case "a tier comes back with larger blocks" refused_until slow blocksize=4096 blocksize=512 \
	'tier 1 \(tt_slow\) has blocks of 4096 bytes, the set of 512; give it back what it had' \
	"$set: ${what[2]} has blocks of 4096 bytes, $set of 512\\. .*activate --degraded $set"
test_case "a tier comes back zoned" refused_until slow "zoned=1 zone_size=4" zoned=0 \
	'the tier /dev/tt_slow is a zoned device, which cannot be written at random' \
	"$set: ${what[2]} is a zoned device, which cannot be written at random\\."
test_case "the metadata device comes back zoned" refused_until meta "zoned=1 zone_size=1" zoned=0 \
	'the metadata device /dev/tt_meta is a zoned device, which cannot be written at random' \
	"$set: ${what[0]} is a zoned device, which cannot be written at random\\."
test_case "a tier comes back smaller" refused_until slow size=16 size=32 \
	'tier 1 \(tt_slow\) has shrunk from 65536 to 32768 sectors' \
	"$set: ${what[2]} has shrunk from 32 mib to 16 mib\\."

test_case "the metadata device comes back smaller" refused_until meta size=1 size=4 \
	'metadata tt_meta: metadata device is smaller than its metadata' \
	"$set: ${what[0]} has shrunk from 4 mib to 1 mib\\."

# A file system could not use larger blocks either, so --read-only does not help.
blocks_options()
{
	prepare
	change slow blocksize=4096
	features=(read_only)
	untouched kernel_refuses 'tier 1 \(tt_slow\) has blocks of 4096 bytes'
	untouched tool_refuses 'has blocks of 4096 bytes' --read-only
	ctl_code 3 activate --degraded "$set"
	matches 'tier 1 \(/dev/tt_slow\) is left out: it has blocks of 4096 bytes' "$errors"
	same - "$(info state1)"
	same 512 "$(<"$(block_of "$dev")/queue/logical_block_size")" "logical block size"
	check_chunks 10 10 1
	deactivate
	change slow blocksize=512
	is_whole
}
test_case "larger blocks, with --read-only and --degraded" blocks_options

# protected NAME KERNEL_REGEX TOOL_REGEX
protected()
{
	prepare
	blockdev --setro "/dev/tt_$1"
	both_refuse "$2" "$3.*activate --read-only $set"
	untouched look
	blockdev --setrw "/dev/tt_$1"
	is_whole
}
look()
{
	ctl_code 0 activate --read-only "$set"
	check_chunks 0 20 1
	deactivate
}
test_case "a tier comes back write-protected" protected fast \
	'the tier /dev/tt_fast is write-protected' "$set: ${what[1]} is read-only\\."
test_case "the metadata device comes back write-protected" protected meta \
	'the metadata device /dev/tt_meta is write-protected' \
	"$set: ${what[0]} is read-only\\."

# A device-mapper device that is read-only itself
protected_dm()
{
	prepare
	dmsetup create -r tt_ro --table "$(linear_line slow)"
	tiers=("$fast" /dev/mapper/tt_ro)
	both_refuse '(write-protected|cannot open)' 'tier 1 \(/dev/mapper/tt_ro\) is read-only'
	remove tt_ro
	tiers=("$fast" "$slow")
	is_whole
}
test_case "a tier comes back as a read-only mapping" protected_dm

# tierctl refuses at once; the kernel, asked through dmsetup, must refuse the same table, too.
twin()
{
	prepare
	wrap twin "$(linear_line slow)"
	tiers=("$fast" "$slow" /dev/mapper/tt_twin)
	# A disk that is a tier can only be opened by other mappings.
	untouched kernel_refuses 'tier 2 \(dm-[0-9]+\) is a copy of a tier that is listed before it'
	remove tt_twin
	is_whole
}
test_case "a tier comes back twice, by two names" twin

# The kernel lets a set open a disk together with its partitions.
overlapping()
{
	disk meta 4
	disk fast 16
	disk slow 32
	echo 2048,32768 | sfdisk -q "$slow"
	wait_for 10 test -b "${slow}1"
	length=$((100 * 128))
	tiers=("$slow" "${slow}1")
	untouched kernel_refuses "cannot open tier '/dev/tt_slow1'"
	tiers=("${slow}1" "$slow")
	untouched kernel_refuses "cannot open tier '/dev/tt_slow'"
	metadata=${slow}1 tiers=("$fast" "$slow")
	untouched kernel_refuses "cannot open tier '/dev/tt_slow'"
}
test_case "a disk and a partition of it" overlapping

# ---- no harm

# harmless META FAST SLOW META FAST SLOW SET: their blocks, before and after; the set's
harmless()
{
	local name
	disk meta 4 blocksize="$1"
	disk fast 16 blocksize="$2"
	disk slow 32 blocksize="$3"
	activate
	write_chunks 0 20 1 block=4k
	move 0 10 1
	deactivate
	# null_blk with larger blocks finds old data only in the first sector of each block.
	for name in meta fast slow; do
		dd if="/dev/tt_$name" of="$tmp/$name" bs=1M iflag=direct status=none
		change "$name" blocksize="$4"
		dd if="$tmp/$name" of="/dev/tt_$name" bs=1M oflag=direct status=none
		shift
	done
	activate
	same "$4" "$(<"$(block_of "$dev")/queue/logical_block_size")" "logical block size"
	check_chunks 0 20 1 block=4k
	deactivate
	ctl_code 0 activate "$set"
	same "$4" "$(<"$(block_of "$dev")/queue/logical_block_size")" "logical block size"
	check_chunks 0 20 1 block=4k
}
test_case "the metadata comes back with larger blocks" harmless 512 512 512 4096 512 512 512
test_case "tiers come back with blocks that others of the set had" harmless 512 512 4096 512 4096 512 4096
test_case "tiers come back with smaller blocks" harmless 512 4096 4096 512 512 512 4096

# A tier copied to a partition that does not begin with a physical block is slow.
askew()
{
	local disk slow_one='does not begin with one of its physical blocks of 4096 bytes, so writes are slow'
	scsi_disk 64 physblk_exp=3 || skip "no scsi_debug"
	printf '%s\n' 2048,32768 40961,32768 | sfdisk -q "$scsi"
	wait_for 10 test -b "${scsi}2"
	disk meta 4
	disk fast 16
	ctl_code 0 create "$set" -m "$meta" -c 64k --policy static "$fast" "${scsi}1"
	[[ $errors != *physical* ]] || fail "create: $errors"
	write_chunks 0 20 1
	move 0 10 1
	deactivate
	dd if="${scsi}1" of="${scsi}2" bs=1M oflag=direct status=none
	wipe_start "${scsi}1"
	ctl_code 0 activate "$set"
	matches "${scsi}2: $slow_one" "$errors"
	check_chunks 0 20 1
	deactivate
	for disk in "$meta" "$fast" "${scsi}2"; do wipe_start "$disk"; done
	ctl_code 0 create "$set" -m "$meta" -c 64k --policy static "$fast" "${scsi}2"
	matches "${scsi}2: $slow_one" "$errors"
	deactivate
	scsi_disk_gone
}
wipe_start() { dd if=/dev/zero of="$1" bs=1M count=1 oflag=direct status=none; }
test_case "a tier comes back beside its physical blocks" askew

# ---- under a set in use

# live: a set on $fast and a mapping, of which another table can be loaded
live()
{
	make_disks
	wrap u_slow "$(linear_line slow)"
	tiers=("$fast" /dev/mapper/tt_u_slow)
	activate
	write_chunks 0 20 1
	move 0 10 1
}

# larger: the mapping shows a copy with larger blocks; smaller: the mapping shows the disk again
larger()
{
	disk third 32 blocksize=4096
	dmsetup suspend "$set"
	dd if="$slow" of="$third" bs=1M oflag=direct status=none
	dmsetup resume "$set"
	lower slow "$(linear_line third)"
}
smaller() { lower slow "$(linear_line slow)"; }

live_blocks()
{
	local larger='tier 1 \(dm-[0-9]+\) has blocks of 4096 bytes, the set of 512'
	live
	larger
	refused "$larger" load
	check_chunks 10 10 1
	# A resume checks the devices as well, and the old table stays.
	suspend
	refused "$larger" resume
	smaller
	resume
	check_chunks 0 20 1
	# The resume of a table that was loaded before is refused, too.
	load
	lower slow "$(linear_line third)"
	suspend
	refused "$larger" resume
	smaller
	load
	resume
	check_chunks 0 20 1
}
test_case "blocks of a tier grow under a live set" live_blocks

# An active set still reads, and a file system above handles its own write errors.
live_protected()
{
	live
	load
	blockdev --setro /dev/mapper/tt_u_slow
	suspend
	refused 'tier 1 \(dm-[0-9]+\) is write-protected' resume
	blockdev --setrw /dev/mapper/tt_u_slow
	load
	resume
	check_chunks 0 20 1
	blockdev --setro /dev/mapper/tt_u_slow
	refused 'the tier /dev/mapper/tt_u_slow is write-protected' load
	suspend
	resume
	check_chunks 0 20 1
	blockdev --setrw /dev/mapper/tt_u_slow
}
test_case "a tier becomes write-protected under a live set" live_protected

# ---- the same refusals for a device that joins

# join_refused DISK_OPTION KERNEL_REGEX TOOL_REGEX
join_refused()
{
	make_set
	write_chunks 0 20 1
	if [ "$1" = ro ]; then
		disk third 8
		blockdev --setro "$third"
	else
		# shellcheck disable=SC2086	# several words
		disk third 8 $1
	fi
	io sync "$dev"
	everything+=("$third")
	quiet 1 "${everything[@]}"
	tiers=("$fast" "$slow" "$third")
	untouched refused "$2" load
	untouched ctl_code 1 add -y --force "$set" "$third" --at 2
	one_line "$third: $3"
	check_chunks 0 20 1
}
test_case "one with larger blocks cannot join" join_refused blocksize=4096 \
	'tier 2 \(tt_third\) has blocks of 4096 bytes, the set of 512; it cannot join' \
	"has blocks of 4096 bytes, $set of 512; it cannot join"
test_case "a zoned one cannot join" join_refused "zoned=1 zone_size=4" \
	'the tier /dev/tt_third is a zoned device' 'is a zoned device, which cannot be written at random'
test_case "a write-protected one cannot join" join_refused ro \
	'the tier /dev/tt_third is write-protected' 'is read-only'

run_tests
