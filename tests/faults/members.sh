#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# shellcheck disable=SC2317	# the cases are called by name
#
# Members of a set that are not what they seem: copied, shrunk, exchanged,
# unreadable.  Each is refused with one line that says which is what, and every
# device stays as it is.  What is right in another order is not refused.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=lib-faults.sh
. "$(dirname "$0")/lib-faults.sh"

# Chunks 0-9 on fast, 10-19 on slow; inactive.  Tiers are windows on disks.
make_down()
{
	make_disks
	wrap a "0 $(sectors_of "$fast") linear $fast 0"
	wrap b "0 $(sectors_of "$slow") linear $slow 0"
	tiers=("$a" "$b")
	activate
	write_chunks 0 20 1
	move 10 10 1
	deactivate
	disks=("$meta" "$fast" "$slow")
}

# copy DISK NAME MIB: a disk tt_NAME that is a copy
copy()
{
	disk "$2" "$3"
	dd if="$1" of="/dev/tt_$2" bs=1M oflag=direct conv=notrunc status=none
	disks+=("/dev/tt_$2")
}

# refuse REGEX: the line as the variables have it, and nothing changes
refuse()
{
	local sums
	sums=$(checksums "${disks[@]}")
	refused "$1" dmsetup create "$set" --table "$(table_line)"
	note "$refusal"
	same "$sums" "$(checksums "${disks[@]}")" "contents"
}

whole()
{
	metadata=$meta tiers=("$a" "$b")
	activate
	check_chunks 0 20 1
	deactivate
}

# ---- copies

copy_besides()
{
	make_down
	copy "$slow" third 32
	tiers=("$a" "$b" "$third")
	refuse "tier 2 \\(tt_third\\) is a copy of a tier"
	tiers=("$third" "$a" "$b")
	refuse 'is a copy of a tier'
	copy "$meta" meta2 4
	tiers=("$a" "$b" "$meta2")
	refuse 'tier 2 \(tt_meta2\)'
	whole
}
test_case "a tier and its copy" copy_besides

# A copy is as good as what it was made of: the set cannot tell them apart until
# one of them has been used.
copy_instead()
{
	make_down
	copy "$slow" third 32
	tiers=("$a" "$third")
	activate
	check_chunks 0 20 1
	write_chunks 10 10 2
	deactivate
	tiers=("$a" "$b")
	refuse 'tier stale: tier 1 .* generation [0-9]+, the metadata knows [0-9]+'
	tiers=("$a" "$b" "$third")
	refuse 'tier stale|is a copy'
	tiers=("$a" "$third" "$b")
	refuse 'tier stale|is a copy'
	tiers=("$a" "$third")
	activate
	check_chunks 10 10 2
	deactivate
	copy "$third" spare 32
	tiers=("$a" "$spare")
	activate
	check_chunks 10 10 2
}
test_case "a copy in place of the tier, then the tier is stale" copy_instead

meta_copy()
{
	make_down
	copy "$meta" meta2 4
	metadata=$meta2
	activate
	check_chunks 0 20 1
	move 0 10 1
	deactivate
	metadata=$meta
	refuse 'metadata stale: tier 0 .* generation [0-9]+, the metadata knows [0-9]+'
	metadata=$meta2
	activate
	check_chunks 0 20 1
	same 20 "$(on_rank 0 20 1)"
}
test_case "a copy of the metadata, then the metadata is stale" meta_copy

stale_in_reload()
{
	make_down
	copy "$slow" third 32
	activate
	write_chunks 10 10 2
	deactivate
	activate
	sums=$(checksums "${disks[@]}")
	tiers=("$a" "$third")
	refused 'tier stale|in use|is a copy' load
	tiers=("$a" "$b" "$third")
	refused 'tier stale|is a copy' load
	same "$sums" "$(checksums "${disks[@]}")" "contents"
	check_chunks 0 10 1
	check_chunks 10 10 2
}
test_case "a stale tier in a reload of the live set" stale_in_reload

# ---- exchanged

exchanged()
{
	make_down
	metadata=$a tiers=("$meta" "$b")
	refuse 'metadata dm-[0-9]+: .*is a tier'
	metadata=$meta tiers=("$a" "$meta2")
	copy "$meta" meta2 4
	refuse 'tier 1 \(tt_meta2\): .*metadata'
	whole
}
test_case "a tier and the metadata exchanged" exchanged

overwritten()
{
	command -v mkfs.ext2 >/dev/null || skip "mkfs.ext2 is not installed"
	make_down
	mkfs.ext2 -q -F "$b" 16m
	refuse 'tier 1'
	# Its label was in what mkfs left alone or not: the other tier is there still.
	tiers=("$a" -)
	activate
	check_chunks 0 10 1
	io_fails 5 check_chunks 10 1 1
	deactivate
	wipe_label "$slow"
	tiers=("$a" "$b")
	refuse 'tier 1 .*not listed|evacuate'
}
wipe_label() { dd if=/dev/zero of="$1" bs=1M count=1 oflag=direct conv=notrunc status=none; }
test_case "a tier that something else was written to" overwritten

zeroed_meta()
{
	make_down
	copy "$meta" meta2 4
	dd if=/dev/zero of="$meta" bs=1M oflag=direct status=none 2>/dev/null || true
	refuse "is a tier of set .*, but the metadata device is blank"
	tiers=("$a" -)
	refuse '.'
	dd if="$meta2" of="$meta" bs=1M oflag=direct status=none
	whole
}
test_case "metadata that was zeroed" zeroed_meta

# ---- shrunk

shrunk_tier()
{
	make_down
	swap b "0 $(($(sectors_of "$slow") - 128)) linear $slow 0"
	refuse "tier 1 .* has shrunk from $(sectors_of "$slow") to $(($(sectors_of "$slow") - 128)) sectors"
	swap b "0 $(($(sectors_of "$slow") - 1)) linear $slow 0"
	refuse 'tier 1 .* has shrunk'
	swap b "0 4096 linear $slow 0"
	refuse 'tier 1'
	swap b "0 $(sectors_of "$slow") linear $slow 0"
	whole
}
test_case "a tier that has shrunk" shrunk_tier

shrunk_meta()
{
	make_down
	wrap m "0 8184 linear $meta 0"
	metadata=/dev/mapper/tt_m
	refuse 'metadata .* smaller'
	swap m "0 256 linear $meta 0"
	refuse 'metadata'
	swap m "0 8 linear $meta 0"
	refuse 'metadata'
	swap m "0 8192 linear $meta 0"
	activate
	check_chunks 0 20 1
}
test_case "a metadata device that has shrunk" shrunk_meta

# ---- unreadable

unreadable_label()
{
	make_down
	bad_sectors "$slow" 0 16
	sums=$(checksums "$meta" "$fast")
	refused 'tier 1 .*label cannot be read' dmsetup create "$set" --table "$(table_line)"
	note "$refusal"
	same "$sums" "$(checksums "$meta" "$fast")" "contents"
	good_sectors "$slow" 0 16
	whole
}
test_case "a label that cannot be read" unreadable_label

# With one slot unreadable the other counts.  If that is the older one, the tier is
# refused, and the line tells the bad sector from a tier of another time.
unreadable_slot()
{
	local sector
	make_down
	# Generation 1 is in slot 0, and the next one belongs into slot 1, at sector 8.
	bad_sectors "$slow" 8 8
	features=(read_only)
	activate
	check_chunks 0 20 1
	deactivate
	features=()
	refused 'tier 1 \(dm-[0-9]+\): cannot write the label' \
		dmsetup create "$set" --table "$(table_line)"
	good_sectors "$slow" 8 8
	whole
	# Generation 2 never was; 3 is in slot 1, then 4 in slot 0.
	for sector in 8 0; do
		bad_sectors "$slow" "$sector" 8
		sums=$(checksums "$meta" "$fast")
		refused 'tier 1 \(dm-[0-9]+\): a label slot cannot be read; the other is of generation [13], the metadata knows [34]' \
			dmsetup create "$set" --table "$(table_line)"
		note "$refusal"
		same "$sums" "$(checksums "$meta" "$fast")" "contents"
		good_sectors "$slow" "$sector" 8
		whole
	done
}
test_case "one slot of a label that cannot be read" unreadable_slot

unreadable_superblock()
{
	make_down
	bad_sectors "$meta" 0 8
	sums=$(checksums "$fast" "$slow")
	refused 'metadata .*superblock cannot be read' dmsetup create "$set" --table "$(table_line)"
	note "$refusal"
	same "$sums" "$(checksums "$fast" "$slow")" "contents"
	good_sectors "$meta" 0 8
	whole
}
test_case "a superblock that cannot be read" unreadable_superblock

# The new label of a tier cannot be written: no activation, and no harm.
unwritable_label()
{
	make_down
	swap a "$(tier_table writes "$fast")"
	fails dmsetup create "$set" --table "$(table_line)"
	klog_has 'tier: .*[Tt]ier 0 .*label' || fail "no word of the label"
	swap b "$(tier_table flushes "$slow")"
	swap a "0 $(sectors_of "$fast") linear $fast 0"
	dmsetup create "$set" --table "$(table_line)" 2>/dev/null && deactivate
	swap b "0 $(sectors_of "$slow") linear $slow 0"
	# The other tier's label may be of the generation that was to come.
	whole
	whole
}
test_case "a label that cannot be written" unwritable_label

# ---- order

orders()
{
	local order x=$fast y=$slow z=$third
	make_disks
	disk third 16
	disks=("$meta" "$fast" "$slow" "$third")
	tiers=("$x" "$y" "$z")
	activate
	write_chunks 0 30 1
	move 10 10 1
	move 20 10 2
	deactivate
	for order in "$y $x $z" "$y $z $x" "$z $y $x" "$z $x $y" "$x $z $y" "$x $y $z"; do
		read -ra tiers <<<"$order"
		activate
		check_chunks 0 30 1
		status
		# Ids stay with the tiers, ranks follow the table.
		case $order in
		"$y $z $x") same 120 "${S[id0]}${S[id1]}${S[id2]}" "ids" ;;
		"$x $y $z") same 012 "${S[id0]}${S[id1]}${S[id2]}" "ids" ;;
		esac
		write_chunks 0 30 1
		deactivate
	done
}
test_case "tiers in every order" orders

run_tests
