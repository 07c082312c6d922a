#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=400
#
# The label of a tier was overwritten, and the tier is whole otherwise: its id and UUID, its size
# and its generation are in the metadata. status and activate name the command that writes the
# label anew on a device that the user names. The command shows the evidence for and against that
# device, asks, and refuses a device that cannot be the tier.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-label.sh
. "$(dirname "$0")/lib-label.sh"
need sfdisk wipefs mkfs.ext4 fsck.ext4

gone()
{
	whole
	zero_head "$slow"
	hinted 1 "$slow" "no label"
	unchanged "$slow" -- ctl_code 0 repair --dry-run --label 1 "$slow" "$set"
	matches "for: +its size is the tier's" "$output"
	matches "for: +the tier was seen last as $slow" "$output"
	matches "for: +its label area of 1 mib is all zeroes" "${output,,}"
	matches "for: +of 62 chunks that should hold data 62 do" "$output"
	matches "Would write the label of tier 1 of $set to $slow" "$output"
	# Without an answer the device stays as it is.
	unchanged "$slow" -- ctl_code 1 repair --label 1 "$slow" "$set"
	back 1 "$slow"
	ctl deactivate -q "$set"
	# Now the same for the fastest tier.
	zero_head "$fast"
	hinted 0 "$fast" "no label"
	back 0 "$fast"
}
test_case "a label that is gone, its tier being whole: the slow one, the fast one" gone

new_gpt()
{
	local lost=$((33 * 512))
	whole
	printf 'label: gpt\nsize=2MiB\n' | sfdisk -q --no-tell-kernel "$slow" >/dev/null
	# The boot code of the first sector stays, and so do the ids in it.
	hinted 1 "$slow" "a damaged label"
	ctl_code 0 repair --dry-run --label 1 "$slow" "$set"
	matches "against: it carries gpt partition table there" "$output"
	matches "against: it carries gpt partition table in its last 33 sectors" "$output"
	matches "for: +what is left of its label names this tier" "$output"
	matches "overwrote $lost bytes of the set from byte $((128 * 65536 - lost)) on \(chunk 127\)" "$output"
	ctl_code 0 repair -y --label 1 "$slow" "$set"
	# Otherwise firmware, or a partitioner, makes a partition table of the copy at the end.
	matches " gpt" "$(wipefs --noheadings -O DEVICE,TYPE "$slow")"
	wipefs -q -a -t gpt "$slow"
	same "" "$(wipefs --noheadings "$slow")" "what is left"
	ctl_code 0 activate "$set"
	check_chunks 0 127 1
	check_chunks 128 72 1
	io check "$dev" at="$(at_chunk 127)" len=$((65536 - lost)) seed=1
}
test_case "a new GPT, at the beginning and at the end" new_gpt

# content MKFS...: the contents of the set show which device is the tier
content()
{
	disk meta 4
	disk fast "$1"
	disk slow "$1"
	disk spare "$1"
	ctl create "$set" -q -m "$meta" -c 64k --policy static "$fast" "$slow"
	"${@:2}" "$dev"
	# Copies of the file system's superblock are among these chunks.
	ctl migrate -q "$set" "0-$(($1 * 16 - 20))" --tier 1
	ctl wait -q "$set"
	ctl deactivate -q "$set"
	zero_head "$slow"
}
ext4_on_it()
{
	content 20 mkfs.ext4 -q -b 1024
	ctl_code 0 repair --dry-run --label 1 "$slow" "$set"
	matches "for: +with it, the set carries ext4" "$output"
	matches "for: +copies of the superblock of ext2, ext3 or ext4 that are where they should be: [1-9]" "$output"
	mended 1 "$slow"
	fsck.ext4 -fn "$dev" >/dev/null
	# The set begins on the fast tier; copies of the superblock lie on the slow tier.
	ctl migrate -q "$set" 0-15 --tier 0
	ctl wait -q "$set"
	ctl deactivate -q "$set"
	zero_head "$slow"
	head -c 20M /dev/urandom | dd of="$spare" bs=1M oflag=direct iflag=fullblock status=none
	dd if=/dev/zero of="$spare" bs=1M count=1 oflag=direct status=none
	unchanged "$spare" -- ctl_code 1 repair -y --label 1 "$spare" "$set"
	matches "against: the tier was seen last as $slow" "$output"
	matches "against: copies of the superblock .* that are not where they should be: [1-9]" "$output"
	one_line_of_errors "the file system that the set carries is not on it"
	ctl_code 0 repair -y --label 1 "$slow" "$set"
	matches "for: +copies of the superblock" "$output"
	ctl_code 0 activate "$set"
	fsck.ext4 -fn "$dev" >/dev/null
}
one_line_of_errors()
{
	same 1 "$(wc -l <"$tmp/stderr")" "lines on stderr ($errors); number"
	matches "$1" "$errors"
}
test_case "ext4 on the set says which device it is" ext4_on_it

wrong_ones()
{
	local other=tt_other
	whole
	disk spare 8
	disk third 4
	disk meta2 4
	refused_for "tier 1 is there" --label 1 "$spare" "$set"
	refused_for "no tier 2" --label 2 "$spare" "$set"
	zero_head "$slow"
	refused_for "tier 0 is there, as $fast, and has its label" --label 0 "$slow" "$set"
	refused_for "carries the label of tier id 0 of the set \"$set\"" --label 1 "$fast" "$set"
	refused_for "carries the metadata of the set \"$set\"|is the metadata" --label 1 "$meta" "$set"
	refused_for "has 4.* MiB, tier 1 of $set had 8.* MiB" --label 1 "$third" "$set"
	refused_for "there is nothing on it" --label 1 "$spare" "$set"
	refused_for "No such|no such|not found|does not exist" --label 1 /dev/tt_none "$set"
	refused_for "no such set" --label 1 "$slow" tt_none
	ctl_code 2 repair --label 1 "$slow"
	ctl_code 2 repair --label 1 "$slow" "$set" "$fast"
	ctl_code 2 repair --label 1 "$slow" "$set" --tiers
	# A tier of another set, whole and damaged
	disk busy 16
	ctl create "$other" -q -m "$meta2" -c 64k "$spare" /dev/tt_busy
	refused_for "active" --label 1 "$spare" "$set"
	ctl deactivate -q "$other"
	refused_for "carries the label of tier id 0 of the set \"$other\"" --label 1 "$spare" "$set"
	printf damage | dd of="$spare" bs=1 seek=300 conv=notrunc,fsync status=none
	printf damage | dd of="$spare" bs=1 seek=4396 conv=notrunc,fsync status=none
	refused_for "its label is damaged, but seems to be another tier's" --label 1 "$spare" "$set"
	# A part of a disk that has a tier; a device in use, suspended, read-only
	wrap part "0 16384 linear $fast 4096"
	refused_for "shares its disk with $fast, which is a tier of $set" --label 1 /dev/mapper/tt_part "$set"
	dmsetup suspend tt_part
	refused_for "I/O to it waits" --label 1 /dev/mapper/tt_part "$set"
	dmsetup resume tt_part
	dmsetup remove tt_part
	wrap hold "0 1 linear $slow 0"
	refused_for "Free it first" --label 1 "$slow" "$set"
	dmsetup remove tt_hold
	blockdev --setro "$slow"
	refused_for "is read-only" --label 1 "$slow" "$set"
	blockdev --setrw "$slow"
	back 1 "$slow"
}
test_case "what cannot be the tier is refused" wrong_ones

# The metadata must be as new as the labels that are left.
stale()
{
	local copy=$tmp/old
	whole
	dd if="$meta" of="$copy" bs=1M iflag=direct status=none
	ctl activate -q "$set"
	ctl deactivate -q "$set"
	dd if="$meta" of="$tmp/new" bs=1M iflag=direct status=none
	dd if="$copy" of="$meta" bs=1M oflag=direct status=none
	zero_head "$slow"
	refused_for "metadata stale: tier 0" --label 1 "$slow" "$set"
	dd if="$tmp/new" of="$meta" bs=1M oflag=direct status=none
	back 1 "$slow"
	ctl deactivate -q "$set"
	# No label is left to confirm the metadata; the command says so.
	zero_head "$slow"
	zero_head "$fast"
	ctl_code 3 status "$set"
	matches "repair --label 0 $fast $set.*repair --label 1 $slow $set" "${output//$'\n'/ }"
	refused_for "it has the size and the last name of another tier that is missing" --label 1 "$fast" "$set"
	matches "against: it has 16 MiB, the tier had 8" "$output"
	ctl_code 0 repair -y --label 0 "$fast" "$set"
	matches "against: no other tier is there to say that the metadata is current" "$output"
	back 1 "$slow"
}
test_case "metadata that is an old copy; no label is left" stale

in_use()
{
	whole
	zero_head "$slow"
	ctl_code 3 activate --degraded "$set"
	ctl_code 3 status "$set"
	matches "tier 1 is missing, or has lost its label: $slow has its size and last name; .*: tierctl deactivate $set && tierctl activate $set" "$output"
	check_chunks 128 72 1
	refused_for "is active. A label is written while it is not: tierctl deactivate $set" --label 1 "$slow" "$set"
	ctl deactivate -q "$set"
	back 1 "$slow"
}
test_case "a set that is in use without the tier" in_use

empty_tier()
{
	make_disks
	ctl create "$set" -q -m "$meta" -c 64k -L 14m --policy static "$fast" "$slow"
	write_chunks 0 100 1
	ctl deactivate -q "$set"
	zero_head "$slow"
	ctl_code 0 repair -y --label 1 "$slow" "$set"
	matches "for: +no chunk lies on it" "$output"
	ctl_code 0 activate "$set"
	check_chunks 0 100 1
}
test_case "a tier that nothing lies on" empty_tier

metadata_gone()
{
	whole
	dd if=/dev/zero of="$meta" bs=4k count=1 oflag=direct status=none
	damaged
	ctl_code 3 status "$set"
	matches "its metadata device is missing, or its superblock was overwritten" "$output"
	ctl_code 1 activate "$set"
	one_line "its metadata device is missing, or its superblock was overwritten"
	refused_for "its metadata device is missing, or its superblock was overwritten" --label 1 "$slow" "$set"
}
test_case "the metadata's superblock is gone" metadata_gone

run_tests
