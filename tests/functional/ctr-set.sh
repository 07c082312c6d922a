#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Table lines that do not fit the contents of the disks: parts of another set, lost or
# damaged parts, parts in use. Each line is refused and changes nothing.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

everything=("$meta" "$fast" "$slow")
strangers=("$meta2" "$third" "$spare")
keep_disks=1

# Made once, as nothing may change them: a set with data on both tiers and another set, both
# inactive, and images of the blocks that cases damage.
prepare()
{
	length=$(((64 - 16 + 128 - 16 - 2) * 128))
	if [ ! -b "$meta" ]; then
		disk meta 1
		disk fast 4
		disk slow 8
		activate
		write_chunks 0 20 1
		move 0 10 1
		deactivate
		disk meta2 1
		disk third 4
		disk spare 8
		dmsetup create tt_second --table \
			"0 $length tier $meta2 128 2 $third $spare 0 0 static 0"
		io write /dev/mapper/tt_second at=0 len=1m seed=2
		remove tt_second
		disk blank 4
		checksums "${everything[@]}" "${strangers[@]}" /dev/tt_blank >"$tmp/sums"
		dd if="$meta" of="$tmp/meta" bs=8192 count=1 status=none
		dd if="$fast" of="$tmp/fast" bs=8192 count=1 status=none
		dd if="$slow" of="$tmp/slow" bs=8192 count=1 status=none
	fi
}

# refuse_line REGEX: the line made of the variables is refused
refuse_line()
{
	local disks=("${everything[@]}" "${strangers[@]}" /dev/tt_blank) sums counts
	sums=$(checksums "${disks[@]}")
	counts=$(write_counts "${disks[@]}")
	refused "$1" dmsetup create "$set" --table "$(table_line)"
	same "$counts" "$(write_counts "${disks[@]}")" "writes"
	same "$sums" "$(checksums "${disks[@]}")" "contents"
}

# refuse REGEX [VARIABLE=VALUE]... [TIER]...
refuse()
{
	local want=$1 word given=()
	shift
	prepare
	for word; do
		case $word in
		*=*) printf -v "${word%%=*}" %s "${word#*=}" ;;
		*) given+=("$word") ;;
		esac
	done
	[ ${#given[@]} = 0 ] || tiers=("${given[@]}")
	refuse_line "$want"
}

test_case "another chunk size than the set's, larger" refuse \
	"the set's chunks are 128 sectors, not 256" chunk=256
test_case "another chunk size than the set's, 1 MiB" refuse \
	"the set's chunks are 128 sectors, not 2048" chunk=2048

# not_listed RANK NAME: its line
not_listed() { echo "tier $1 \\(last seen as $2\\) is not listed; evacuate it first, or put - in its place"; }
test_case "a tier that holds data is not listed" refuse "$(not_listed 1 tt_slow)" "$fast"
test_case "the other one is not listed" refuse "$(not_listed 0 tt_fast)" "$slow"
test_case "all tiers missing" refuse 'every tier is missing' - -
test_case "a known tier at the rank of a missing one" refuse \
	'tier 1 \(tt_fast\) is a copy of a tier that is listed before it' - "$fast"
test_case "more missing tiers than the set has" refuse \
	'tier 2 is given as missing, but the set has no tier of that rank' "$fast" "$slow" -
test_case "longer than the set's capacity, which is named" refuse \
	"the length of $((158 * 128 + 1)) sectors exceeds the capacity: at most $((158 * 128)) sectors fit" \
	length=$((158 * 128 + 1))
test_case "shorter than what is mapped" refuse \
	"the length of $((19 * 128)) sectors cuts off chunks that hold data; the set is $((158 * 128)) sectors long" \
	length=$((19 * 128))

test_case "metadata of another set" refuse \
	'tier 0 \(tt_fast\) is a tier of another set, "tt_set"' metadata="$meta2"
another='is a tier of another set, "tt_second"'
test_case "a tier of another set in place of one of its own" refuse \
	"tier 0 \\(tt_third\\) $another" "$third" "$slow"
test_case "a tier of another set besides its own" refuse \
	"tier 2 \\(tt_third\\) $another" "$fast" "$slow" "$third"
test_case "both tiers of another set" refuse "tier 0 \\(tt_third\\) $another" "$third" "$spare"
test_case "a tier as metadata" refuse \
	'metadata tt_third: metadata device is a tier, not metadata' metadata="$third"
test_case "metadata of another set as a tier" refuse \
	'tier 2 \(tt_meta2\): tier is a metadata device, not a tier' "$fast" "$slow" "$meta2"
test_case "blank metadata with tiers of a set" refuse \
	'tier 0 \(tt_fast\) is a tier of set "tt_set", but the metadata device is blank' \
	metadata=/dev/tt_blank
test_case "a blank disk in place of a tier that holds data" refuse "$(not_listed 0 tt_fast)" \
	/dev/tt_blank "$slow"

# ---- damage

# damage DISK BYTE: change four bytes
damage()
{
	printf 'ruin' | dd of="$1" bs=1 seek="$2" conv=notrunc,fsync status=none
}

mend()
{
	local name
	for name in meta fast slow; do
		dd if="$tmp/$name" of="/dev/tt_$name" bs=8192 oflag=direct status=none
	done
}

damage_all() { local disk=$1 byte; shift; for byte; do damage "$disk" "$byte"; done; }

# Offsets in struct tier_superblock: version 40, state 44, compat 48,
# compat_ro 52, incompat 56, metadata_block_size 60.
patch_superblock() { patch "$meta" "$1" "$2" 4096 0x7e12a5c3; }
# In struct tier_label: version 4, tier_uuid 32, id 48, incompat 60.
patch_labels()
{
	patch "$slow" "$1" "$2" 512 0x3d90b64e
	patch "$slow" $((4096 + $1)) "$2" 512 0x3d90b64e
}

# refuse_after REGEX COMMAND...: COMMAND changes the disks, the line is refused, the disks
# are restored
refuse_after()
{
	local want=$1
	shift
	prepare
	trap mend EXIT
	"$@"
	refuse_line "$want"
}
superblock='metadata tt_meta: metadata'
test_case "superblock: wrong checksum" refuse_after "$superblock superblock is damaged: checksum" \
	damage "$meta" 0
test_case "superblock: a field has changed" refuse_after \
	"$superblock superblock is damaged: checksum" damage "$meta" 256
test_case "superblock: wrong magic" refuse_after \
	"$superblock device holds something that is not tier metadata" damage "$meta" 32
test_case "superblock: rest of the block has changed" refuse_after \
	"$superblock superblock is damaged: checksum" damage "$meta" 4000
test_case "both labels damaged" refuse_after 'tier 1 \(tt_slow\): tier label is damaged \((-eilseq|-84)\)' \
	damage_all "$slow" 100 4196
test_case "both labels of another kind" refuse_after \
	'tier 0 \(tt_fast\): tier holds something that is not a tier label' \
	damage_all "$fast" 8 4104
test_case "superblock: a later version" refuse_after \
	"$superblock has an unknown format version" patch_superblock 40 002
test_case "superblock: version 0" refuse_after \
	"$superblock has an unknown format version" patch_superblock 40 000
test_case "superblock: an unknown incompat feature" refuse_after \
	"$superblock has unknown features" patch_superblock 56 001
test_case "superblock: the highest incompat feature" refuse_after \
	"$superblock has unknown features" patch_superblock 59 200
test_case "superblock: another metadata block size" refuse_after \
	"$superblock has an unknown block size" patch_superblock 60 020
test_case "superblock: an unknown state" refuse_after \
	"$superblock superblock is damaged: impossible values" patch_superblock 44 143
test_case "superblock: a retired set" refuse_after \
	'the set on metadata tt_meta is being converted or was retired' patch_superblock 44 005
label='tier 1 \(tt_slow\)'
test_case "label: a later version" refuse_after \
	"$label: tier label has an unknown format version or unknown features" patch_labels 4 002
test_case "label: an unknown incompat feature" refuse_after \
	"$label: tier label has an unknown format version or unknown features" patch_labels 60 001
test_case "label: another id" refuse_after \
	"$label once was a tier of this set but is none now" patch_labels 48 007
# The first byte of the UUID may have any value.
patch_uuid()
{
	local byte
	byte=$(dd if="$slow" bs=4096 count=1 iflag=direct status=none | od -An -tu1 -j 32 -N 1)
	patch_labels 32 "$(printf %03o $((byte ^ 1)))"
}
test_case "label: another tier's uuid" refuse_after \
	"$label once was a tier of this set but is none now" patch_uuid

nothing_changed()
{
	prepare
	same "$(<"$tmp/sums")" "$(checksums "${everything[@]}" "${strangers[@]}" /dev/tt_blank)" "contents"
	activate
	check_chunks 0 20 1
	check_chunks 20 4 0
	same 10 "$(on_rank 0 20 1)"
	deactivate
	dmsetup create tt_second --table "0 $length tier $meta2 128 2 $third $spare 0 0 static 0"
	io check /dev/mapper/tt_second at=0 len=1m seed=2
}
test_case "after all these both sets are whole" nothing_changed

# ---- accepted lines; from here on the first set changes

unknown_compat()
{
	prepare
	patch_superblock 48 001
	activate
	same rw "$(info mode)"
	check_chunks 0 20 1
	deactivate
	patch_superblock 48 000
}
test_case "superblock: an unknown compat feature is ignored" unknown_compat

unknown_compat_ro()
{
	prepare
	patch_superblock 52 001
	counts=$(write_counts "${everything[@]}")
	dmsetup create tt_load --notable
	refused 'features that only allow a read-only activation' \
		dmsetup load tt_load --table "$(table_line)"
	remove tt_load
	features=(read_only)
	activate
	check_chunks 0 20 1
	deactivate
	same "$counts" "$(write_counts "${everything[@]}")" "writes"
	patch_superblock 52 000
}
test_case "superblock: an unknown compat_ro feature leaves it read-only" unknown_compat_ro

# one_label BYTE: the other slot has a good label
one_label()
{
	prepare
	damage "$slow" "$1"
	activate
	check_chunks 0 20 1
}
test_case "one damaged label, in the first slot" one_label 100
test_case "one damaged label, in the second slot" one_label 4196

# ---- two devices; each case with new disks

fresh()
{
	clean >/dev/null
	make_disks
	length=$(capacity_of 128 "$fast" "$slow")
}

two_on_one()
{
	fresh
	activate
	write_chunks 0 20 1
	io sync "$dev"		# otherwise the writes would be committed within a second
	sums=$(checksums "${everything[@]}")
	refused 'the metadata device is in use by another set' dmsetup create tt_second --table "$(table_line)"
	matches 'busy' "$output"
	same "$sums" "$(checksums "${everything[@]}")" "contents"
	check_chunks 0 20 1
	write_chunks 20 4 1
	check_chunks 0 24 1
}
test_case "two mapped devices on one metadata device" two_on_one

# The same while the first table is only loaded and nothing is formatted yet.
two_on_one_blank()
{
	fresh
	dmsetup create "$set" --notable
	load
	sums=$(checksums "${everything[@]}")
	refused 'the metadata device is in use by another set' dmsetup create tt_second --table "$(table_line)"
	same "$sums" "$(checksums "${everything[@]}")" "contents"
	resume
	write_chunks 0 20 1
	check_chunks 0 20 1
}
test_case "two tables on one blank metadata device" two_on_one_blank

tier_in_use()
{
	fresh
	activate
	disk meta2 4
	disk third 16
	sums=$(checksums "${everything[@]}" "$meta2" "$third")
	for tiers in "$third $slow" "$fast $third" "$meta $third"; do
		refused 'a tier is in use by another set' dmsetup create tt_second \
			--table "0 128 tier $meta2 128 2 $tiers 0 0 static 0"
	done
	same "$sums" "$(checksums "${everything[@]}" "$meta2" "$third")" "contents"
}
test_case "a tier in use by another set" tier_in_use

# No labels yet, so only the loaded table knows the tier.
tier_in_use_blank()
{
	fresh
	disk meta2 4
	dmsetup create "$set" --notable
	load
	sums=$(checksums "${everything[@]}" "$meta2")
	refused 'a tier is in use by another set' dmsetup create tt_second \
		--table "0 128 tier $meta2 128 1 $slow 0 0 static 0"
	refused 'the metadata device is in use by another set' dmsetup create tt_second \
		--table "0 128 tier $slow 128 1 $meta2 0 0 static 0"
	same "$sums" "$(checksums "${everything[@]}" "$meta2")" "contents"
	resume
	write_chunks 0 20 1
	check_chunks 0 20 1
}
test_case "a tier in use by a table that is only loaded" tier_in_use_blank

# A reload has two tables of one device at a time.
own_reload()
{
	fresh
	activate
	write_chunks 0 20 1
	load
	check_chunks 0 20 1
	resume
	check_chunks 0 20 1
	load
	dmsetup clear "$set"
	check_chunks 0 20 1
}
test_case "a device's own second table is no other set" own_reload

# A table that was loaded and never resumed has written nothing.
loaded_only()
{
	fresh
	counts=$(write_counts "${everything[@]}")
	dmsetup create "$set" --notable
	load
	remove "$set"
	same "$counts" "$(write_counts "${everything[@]}")" "writes"
}
test_case "loading a table writes nothing" loaded_only

run_tests
