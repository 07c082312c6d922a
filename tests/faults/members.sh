#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# shellcheck disable=SC2317	# the cases are called by name
#
# Members of a set that have changed: copied, shrunk, exchanged, unreadable. Each is refused with
# one line that names the device and the reason, and every device stays as it is. The right
# devices in another order are not refused.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
turns=3
# shellcheck source=../functional/lib-tierctl.sh
. "$here/lib-tierctl.sh"
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

# refuse REGEX: the table line made of the variables is refused, and nothing changes
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
	refuse 'tier 2 \(tt_third\) is a copy of a tier that is listed before it'
	tiers=("$third" "$a" "$b")
	refuse 'tier 2 \(dm-[0-9]+\) is a copy of a tier that is listed before it'
	copy "$meta" meta2 4
	tiers=("$a" "$b" "$meta2")
	refuse 'tier 2 \(tt_meta2\): tier is a metadata device, not a tier'
	whole
}
test_case "a tier and its copy" copy_besides

# A copy is as good as the original: the set cannot tell them apart until one of them has been
# used.
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
	refuse 'tier stale: tier 1 \(dm-[0-9]+\) is of generation 1, the metadata knows 2'
	tiers=("$a" "$b" "$third")
	refuse 'tier stale: tier 1 \(dm-[0-9]+\) is of generation 1, the metadata knows 2'
	tiers=("$a" "$third" "$b")
	refuse 'tier 2 \(dm-[0-9]+\) is a copy of a tier that is listed before it'
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
	refuse 'metadata stale: tier 0 \(dm-[0-9]+\) is of generation 2, the metadata knows 1'
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
	refused 'tier stale: tier 1 \(tt_third\) is of generation 1, the metadata knows 3' load
	tiers=("$a" "$b" "$third")
	refused 'tier 2 \(tt_third\) is a copy of a tier that is listed before it' load
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
	refuse 'metadata dm-[0-9]+: metadata device is a tier, not metadata'
	metadata=$meta tiers=("$a" "$meta2")
	copy "$meta" meta2 4
	refuse 'tier 1 \(tt_meta2\): tier is a metadata device, not a tier'
	whole
}
test_case "a tier and the metadata exchanged" exchanged

overwritten()
{
	command -v mkfs.ext2 >/dev/null || skip "mkfs.ext2 is not installed"
	make_down
	mkfs.ext2 -q -F "$b" 16m
	refuse 'tier 1 \(dm-[0-9]+\): tier holds something that is not a tier label'
	# The other tier is still there.
	tiers=("$a" -)
	activate
	check_chunks 0 10 1
	io_fails 5 check_chunks 10 1 1
	deactivate
	wipe_label "$slow"
	tiers=("$a" "$b")
	refuse 'tier 1 \(last seen as dm-[0-9]+\) is not listed; evacuate it first, or put - in its place'
}
wipe_label() { dd if=/dev/zero of="$1" bs=1M count=1 oflag=direct conv=notrunc status=none; }
test_case "a tier that something else was written to" overwritten

zeroed_meta()
{
	make_down
	copy "$meta" meta2 4
	dd if=/dev/zero of="$meta" bs=1M oflag=direct status=none 2>/dev/null || true
	refuse 'tier 0 \(dm-[0-9]+\) is a tier of set "tt_set", but the metadata device is blank'
	tiers=("$a" -)
	refuse 'tier 0 \(dm-[0-9]+\) is a tier of set "tt_set", but the metadata device is blank'
	dd if="$meta2" of="$meta" bs=1M iflag=direct oflag=direct status=none
	whole
}
test_case "metadata that was zeroed" zeroed_meta

# ---- shrunk

shrunk_tier()
{
	local all size
	make_down
	all=$(sectors_of "$slow")
	for size in $((all - 128)) $((all - 1)) 4096; do
		swap b "0 $size linear $slow 0"
		refuse "tier 1 \\(dm-[0-9]+\\) has shrunk from $all to $size sectors"
	done
	swap b "0 $all linear $slow 0"
	whole
}
test_case "a tier that has shrunk" shrunk_tier

shrunk_meta()
{
	local size
	make_down
	wrap m "0 8192 linear $meta 0"
	metadata=/dev/mapper/tt_m
	for size in 8184 256 8; do
		swap m "0 $size linear $meta 0"
		refuse 'metadata dm-[0-9]+: metadata device is smaller than its metadata'
	done
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

# Both slots have the same label after an activation, so one slot is enough.
unreadable_slot()
{
	local sector
	make_down
	for sector in 8 0; do
		bad_sectors "$slow" "$sector" 8
		features=(read_only)
		activate
		check_chunks 0 20 1
		deactivate
		features=()
		good_sectors "$slow" "$sector" 8
		whole
		# Or the slot holds other data.
		dd if=/dev/urandom of="$slow" bs=512 seek="$sector" count=8 oflag=direct conv=notrunc status=none
		whole
	done
}
test_case "one slot of a label that cannot be read" unreadable_slot

# A device with another signature may be in use elsewhere; the next label would destroy that data.
known_beside()
{
	local put=$1 name=$2 sums
	make_down
	"$put" "$b"
	sums=$(checksums "${disks[@]}")
	ctl_code 0 activate --auto
	same "" "$output$errors" "what --auto says"
	ctl_code 1 activate "$set"
	one_line "^tierctl: $set: tier 1 \(/dev/mapper/tt_b\) carries $name.* beside its label\. .*--force $set, .*--degraded $set$"
	ctl_code 3 status "$set"
	same "tier_foreign" "$(json '.sets[0].attention[].code' status "$set")"
	# The label can be wiped without the data behind it.
	if [ "$put" != put_btrfs ]; then
		ctl_code 1 destroy -y "$set"
		one_line "/dev/mapper/tt_b: carries $name.*, too\. .*--force"
	fi
	ctl_code 0 activate --read-only "$set"
	check_chunks 0 20 1
	ctl deactivate -q "$set"
	same "$sums" "$(checksums "${disks[@]}")" "contents"
	ctl_code 3 activate --degraded "$set"
	matches "tier 1 .* is left out: it carries $name" "$errors"
	check_chunks 0 10 1
	io_fails 5 check_chunks 10 1 1
	ctl deactivate -q "$set"
	matches "$name" "$(blkid -p -o value -s TYPE -s PTTYPE "$b")" "signature"
	ctl_code 1 activate --force "$set"
	matches "Write over $name.*, which /dev/mapper/tt_b carries beside its label\?" "$output$errors" "question"
	ctl_code 0 activate --force -y "$set"
	check_chunks 0 20 1
	ctl deactivate -q "$set"
	# The device belongs to the set from then on.
	ctl_code 0 activate --auto
	check_chunks 0 20 1
	ctl deactivate -q "$set"
	whole
}
put_swap()
{
	command -v mkswap >/dev/null || skip "mkswap is not installed"
	mkswap "$1" >/dev/null
}
test_case "a signature beside a label" known_beside put_swap swap

# The boot code stays, and with it most of the label, as parted and sfdisk write it.
put_dos_table()
{
	printf '\0\x20\x21\0\x83\x8a\x08\x82\0\x08\0\0\0\x10\0\0' |
		dd of="$1" bs=1 seek=446 conv=notrunc,fsync status=none
	printf '\x55\xaa' | dd of="$1" bs=1 seek=510 conv=notrunc,fsync status=none
}
test_case "a partition table within a label" known_beside put_dos_table dos

# The superblock of btrfs does not touch the label.
put_btrfs()
{
	printf _BHRfS_M | dd of="$1" bs=1 seek=$((65536 + 64)) conv=notrunc,fsync status=none
}
test_case "a signature behind a label" known_beside put_btrfs btrfs

# After a power cut between the slots one is older. If the newer slot cannot be read, the refusal
# names the bad sector, not a stale tier.
older_slot()
{
	local older=$1 newer=$((8 - $1))
	make_down
	dd if="$slow" of="$tmp/slot" bs=512 skip="$older" count=8 iflag=direct status=none
	whole
	dd if="$tmp/slot" of="$slow" bs=512 seek="$older" count=8 oflag=direct conv=notrunc status=none
	bad_sectors "$slow" "$newer" 8
	sums=$(checksums "$meta" "$fast")
	refused 'tier 1 \(dm-[0-9]+\): a label slot cannot be read; the other is of generation 1, the metadata knows 2' \
		dmsetup create "$set" --table "$(table_line)"
	note "$refusal"
	ctl_code 1 activate "$set"
	matches 'which has a label slot that cannot be read, and in the other one generation 1, the metadata knows 2' "$errors"
	ctl_code 3 check "$set"
	matches 'a label slot cannot be read; the other has generation 1, the metadata knows 2' "$output$errors"
	same "$sums" "$(checksums "$meta" "$fast")" "contents"
	good_sectors "$slow" "$newer" 8
	whole
}
test_case "the newer slot of a label, the second, cannot be read" older_slot 0
test_case "the newer slot of a label, the first, cannot be read" older_slot 8

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

# The new label of a tier cannot be written: the tier counts as failed, and can be emptied.
unwritable_label()
{
	local kind
	make_wrapped
	deactivate
	for kind in writes flushes; do
		klog_mark
		tier a "$kind"
		activate
		klog_has 'tier 0 .*: cannot write the label' || fail "no word of the label"
		status
		same "rw FA" "${S[mode]} ${S[state0]}${S[state1]}" "mode and states"
		check_chunks 0 20 1
		# No new chunk is placed there, and a table that changes the list is accepted.
		write_chunks 30 5 1
		same 5 "$(on_rank 30 5 1)" "chunks on slow"
		discard_chunks 30 5
		dmsetup rename "$set" tt_new
		dmsetup suspend tt_new
		dmsetup resume tt_new
		dmsetup rename tt_new "$set"
		reload
		check_chunks 0 20 1
		deactivate
		# More activations, before the tier works again.
		activate
		deactivate
		tier a good
		whole
	done
	tier a writes
	activate
	disk third 16
	tiers=("$third" "$a" "$b")
	reload
	msg evacuate 1
	wait_for 30 emptied 1
	check_chunks 0 20 1
	tiers=("$third" "$b")
	reload
	check_chunks 0 20 1
	deactivate
	activate
	check_chunks 0 20 1
}
emptied() { [ "$(info "used$1")" = 0 ]; }
test_case "a label that cannot be written" unwritable_label

# A tier that joins must get its label.
unwritable_new()
{
	make_down
	activate
	disk third 16
	wrap c "$(tier_table writes "$third")"
	tiers=("$a" "$b" /dev/mapper/tt_c)
	load
	fails resume
	klog_has 'Tier 2 .*: cannot write the label' || fail "no word of the label"
	tiers=("$a" "$b")
	reload
	check_chunks 0 20 1
}
test_case "a new tier whose label cannot be written" unwritable_new

# ---- changed under a set in use: a resume that finds a problem does not end I/O that works

# The device is renamed, and the labels cannot be read, or written.
renamed_unreadable()
{
	make_down
	activate
	bad_sectors "$slow" 0 16
	dmsetup rename "$set" tt_new
	dmsetup suspend tt_new
	dmsetup resume tt_new
	dmsetup rename tt_new "$set"
	check_chunks 0 20 1
	good_sectors "$slow" 0 16
	deactivate
	whole
}
test_case "a rename while a label cannot be read" renamed_unreadable

# The metadata cannot be written either: the set becomes ro as after any failed commit.
renamed_uncommitted()
{
	local mode
	make_faulty
	suspend
	# udev may be reading the device, and would answer for the new name only after that.
	dmsetup rename --noudevsync "$set" tt_new
	meta_writes
	dmsetup resume tt_new
	dmsetup rename tt_new "$set"
	meta_good
	mode=$(mode_now)
	note "$mode"
	[ "$mode" != rw ] || fail "mode rw"
	[ "$mode" = Fail ] || check_chunks 0 20 1
	deactivate
	activate
	check_chunks 0 20 1
}
test_case "a rename while the metadata cannot be written" renamed_uncommitted

# A disk that is gone has no sectors. I/O to the others works.
gone()
{
	make_disks
	activate
	write_chunks 0 20 1
	move 10 10 1
	io sync "$dev"
	echo 0 >"$configfs/tt_slow/power"
	suspend
	resume
	check_chunks 0 10 1
	io_fails 5 check_chunks 10 1 1
	write_chunks 0 10 2
	check_chunks 0 10 2
	deactivate
	echo 1 >"$configfs/tt_slow/power"
}
test_case "a disk goes, and the set is suspended and resumed" gone

# ---- one device under two names

twins()
{
	make_down
	disk third 16
	for name in x y; do wrap "$name" "0 $(sectors_of "$third") linear $third 0"; done
	# As tiers of a new set, and as new tiers of a set in use.
	disk meta2 4
	metadata=$meta2 tiers=(/dev/mapper/tt_x /dev/mapper/tt_y) length=128
	refused 'tier 0 .* is the same device as tier 1' dmsetup create "$set" --table "$(table_line)"
	note "$refusal"
	dd if=/dev/zero of="$third" bs=1M count=1 oflag=direct conv=notrunc status=none
	# As a tier and for the metadata; nothing is written to the other tier.
	disk spare 16
	metadata=/dev/mapper/tt_x tiers=("$spare" /dev/mapper/tt_y)
	refused 'tier 1 .* is the same device as the metadata' dmsetup create "$set" --table "$(table_line)"
	note "$refusal"
	cmp -n 1048576 "$spare" /dev/zero
	tiers=("$spare")
	activate
	write_chunks 0 1 1
	deactivate
	dd if=/dev/zero of="$third" bs=1M count=1 oflag=direct conv=notrunc status=none
	metadata=$meta tiers=("$a" "$b") length=
	activate
	tiers=("$a" /dev/mapper/tt_x "$b" /dev/mapper/tt_y)
	load
	fails resume
	klog_has 'Tier 1 .* is the same device as tier 3' || fail "no word of it"
	tiers=("$a" "$b")
	reload
	check_chunks 0 20 1
}
test_case "one disk by two names" twins

# A leg of the metadata's mirror that dropped out while the set was formatted.
stale_format()
{
	make_faulty_disks
	wrap a "$(tier_table hold "$fast")"
	tiers=("$a" "$slow")
	length=$(capacity_of "$chunk" "${tiers[@]}")
	later dmsetup create "$set" --table "$(table_line)"
	wait_for 20 in_flight write a
	disk third 4
	dd if="$meta" of="$third" bs=1M iflag=direct oflag=direct conv=notrunc status=none
	swap a "$(tier_table good "$fast")"
	same 0 "$(later_status)" "create"
	write_chunks 0 20 1
	deactivate
	activate
	deactivate
	metadata=$third
	refused 'metadata stale: tier 0 .* is of generation 2, the metadata was being formatted' \
		dmsetup create "$set" --table "$(table_line)"
	metadata=$up
	activate
	check_chunks 0 20 1
}
test_case "metadata of the time of the format" stale_format

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
