#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# shellcheck disable=SC2317	# the cases are called by name
#
# The recipes of lvmtier(7), section RECOVERY, carried out as they are written there: for each
# state that a fault leaves, the message of status and the commands that help. In other files: a
# full metadata device (meta-full.sh), other data on a tier and stale metadata (members.sh), two
# devices that say that they are the same (tierctl.sh), a conversion that was cut short
# (convert-kill.sh), a metadata device that was unplugged and a device that was forced away
# (below.sh).

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
turns=3
# shellcheck source=../functional/lib-tierctl.sh
. "$here/lib-tierctl.sh"
# shellcheck source=../functional/lib-reshape.sh
. "$here/lib-reshape.sh"
# shellcheck source=lib-faults.sh
. "$(dirname "$0")/lib-faults.sh"

# attention CODE: status exits with 3 and has an entry with CODE
attention()
{
	ctl_code 3 status "$set"
	json '.sets[0].attention[].code' status "$set" >"$tmp/codes"
	grep -qx "$1" "$tmp/codes" || fail "status does not name $1 but: $(<"$tmp/codes") ($output)"
}
content() { ctl_code 0 status "$set"; }

# make_by_tool [LENGTH]: chunks 0-9 on fast, 10-19 on slow; made by tierctl.
make_by_tool()
{
	local size=()
	[ -z "${1:-}" ] || size=(--size "$1")
	meta_disk
	disk fast 16 cache_size=4
	disk slow 32 cache_size=4
	ctl create -q -y "$set" -m "$up" -c 64k --policy static "${size[@]}" "$fast" "$slow"
	write_chunks 0 20 1
	ctl migrate -q "$set" 10-19 --tier 1
	ctl wait -q "$set"
	io sync "$dev"
	content
}

# A tier had errors.
errors()
{
	make_by_tool
	bad_sectors "$fast" 2048 512
	io_fails 5 write_chunks 0 1 2
	attention tier_errors
	matches "tierctl admit $set 0" "$output" "status"
	good_sectors "$fast" 2048 512

	ctl_code 0 admit "$set" 0
	content
	check_chunks 1 19 1
	write_chunks 0 1 2
}
test_case "I/O errors of a tier: admit" errors

# A tier is going to die: all chunks move off it, and it is taken out.
dying()
{
	make_by_tool 12800k
	ctl_code 0 remove "$set" 0
	same "/dev/tt_slow" "$(json '.sets[0].tiers[].device' status "$set")" "tiers"
	content
	bad_sectors "$fast" 2048 512
	check_chunks 0 20 1
	write_chunks 0 20 2
}
test_case "a tier that is going to die: remove" dying

# make_on_wrapped LENGTH: tiers a and b can be made to fail; a takes the first writes
make_on_wrapped()
{
	meta_disk
	disk fast 16 cache_size=4
	disk slow 32 cache_size=4
	wrap a "$(tier_table good "$fast")"
	wrap b "$(tier_table good "$slow")"
	ctl create -q -y "$set" -m "$up" -c 64k --policy static --size "$1" "$a" "$b"
	write_chunks 0 20 1
	io sync "$dev"
}

# The tier does not flush any more: chunks first written there since cannot leave it.
dying_unflushed()
{
	local table
	make_on_wrapped 12800k
	ctl migrate -q "$set" 10-19 --tier 1
	ctl wait -q "$set"
	unflushed a 30 3
	io_fails 5 io sync "$dev"
	attention tier_errors
	"$tierctl" evacuate "$set" 0 </dev/null >"$tmp/told" 2>&1 &
	echo $! >>"$tmp/pids"
	wait_for 60 grep -q "3 chunks of tier 0 cannot be moved, for I/O errors" "$tmp/told"
	kill -INT $!
	wait $! || true
	disk third 16
	table=$(dmsetup table "$set")
	ctl_code 1 replace -y "$set" 0 "$third"
	matches "Tier 0 cannot be flushed; what was first written there would be lost with another table" "$errors" "replace"
	same "$table" "$(dmsetup table "$set")" "table"
	check_chunks 30 3 2

	ctl_code 0 deactivate "$set"
	ctl_code 0 activate "$set"
	# The label on the tier cannot be wiped for sure.
	ctl_code 1 remove "$set" 0
	matches "tt_a: cannot be written" "$errors" "remove"
	same "$b" "$(json '.sets[0].tiers[].device' status "$set")" "tiers"
	check_chunks 0 20 1
	check_chunks 30 3 0
}
test_case "a tier that is going to die and does not flush: activate, remove" dying_unflushed

# A new name waits for the first writes, too.
renamed_unflushed()
{
	make_on_wrapped 12800k
	unflushed a 30 3
	io_fails 5 io sync "$dev"
	ctl_code 1 rename "$set" tt_other
	one_line "tt_other: is called so now, but not in its metadata"
	dev=/dev/mapper/tt_other
	# Since the resume a flush by the set itself may have failed, which one FLUSH reports.
	io_fails 5 io sync "$dev"
	tier a good
	io sync "$dev"
	ctl_code 0 rename "$set" tt_other
	check_chunks 30 3 2
	ctl_code 0 rename tt_other "$set"
	dev=/dev/mapper/$set
	ctl_code 0 deactivate "$set"
	ctl_code 0 activate "$set"
	check_chunks 0 20 1
	check_chunks 30 3 2
}
test_case "a tier does not flush: a name is not taken for written" renamed_unflushed

# Chunks that the suspend before the last step of a revert could not make durable move to their
# own places, too.
reverted_unflushed()
{
	make_on_wrapped 14m
	# Chunk 3 is not in its own place on the tier that takes the set's place.
	ctl migrate -q "$set" 0-19 --tier 1
	ctl pin -q "$set" 3 --tier 1
	discard_chunks 3 1
	io sync "$dev"
	tier b flushes
	write_chunks 3 1 2
	stopped revert-suspended revert "$set" --tier 0
	tier b good
	go_on 0
	io check "$a" at=0 len="$(at_chunk 3)" seed=1
	io check "$a" at="$(at_chunk 3)" len="$(at_chunk 1)" seed=2
	io check "$a" at="$(at_chunk 4)" len="$(at_chunk 16)" seed=1
}
test_case "a first write that a flush failed for as a revert suspends" reverted_unflushed

# A tier is gone.
gone()
{
	make_by_tool
	echo 0 >"$configfs/tt_slow/power"
	io_fails 5 check_chunks 10 1 1
	attention tier_missing

	ctl_code 0 deactivate "$set"
	ctl_code 1 activate "$set"
	matches 'missing.*--degraded' "$errors"
	ctl_code 3 activate --degraded "$set"
	attention tier_missing
	matches "unreadable +640 KiB in 1 range, chunks 10-19" "$output" "status"
	same "655360 655360" \
		"$(json '.sets[0].lost_ranges[] | "\(.offset) \(.length)"' status "$set")" "lost ranges"
	check_chunks 0 10 1
	write_chunks 0 5 2
	io_fails 5 check_chunks 10 1 1

	echo 1 >"$configfs/tt_slow/power"
	udevadm settle
	# The tier is still missing in the set, which cannot do without it.
	same inactive "$(json '.devices[] | select(.device == "/dev/tt_slow").state' scan)" "state of what is back"
	unchanged "$slow" -- ctl_code 1 destroy -y "$slow"
	one_line "is tier 1 of $set, which is active without it.*--force"
	ctl_code 0 deactivate "$set"
	ctl_code 0 activate "$set"
	content
	check_chunks 0 5 2
	check_chunks 5 15 1
}
test_case "a tier is gone, and comes back: activate --degraded, activate" gone

# A tier was restored from an old image.
stale()
{
	make_by_tool
	ctl deactivate -q "$set"
	dd if="$slow" of="$tmp/old" bs=1M iflag=direct status=none
	ctl activate -q "$set"
	write_chunks 10 10 2
	ctl deactivate -q "$set"
	dd if="$slow" of="$tmp/new" bs=1M iflag=direct status=none
	dd if="$tmp/old" of="$slow" bs=1M oflag=direct status=none
	udevadm settle
	checksums "$meta" "$fast" "$slow" >"$tmp/sums"

	ctl_code 3 status "$set"
	matches "tier stale: tier 1 \(.*tt_slow\) is of generation 1, the metadata knows 2" "$output"
	ctl_code 1 activate "$set"
	matches "tier 1 \(.*tt_slow\) stale, .* --degraded $set \(640 KiB unreadable\)" "$errors"
	ctl_code 0 activate --auto
	[ ! -b "$dev" ] || fail "activated by --auto"
	same "$(<"$tmp/sums")" "$(checksums "$meta" "$fast" "$slow")" "contents"
	# The set can be used without the tier, and the old copy is left alone.
	ctl_code 3 activate --degraded "$set"
	matches "tier 1 \(.*tt_slow\) is stale and left out" "$errors"
	attention tier_missing
	check_chunks 0 10 1
	io_fails 5 check_chunks 10 1 1
	write_chunks 0 5 3
	ctl_code 0 deactivate "$set"
	same "$(tail -n 1 "$tmp/sums")" "$(checksums "$slow")" "contents of the old copy"

	dd if="$tmp/new" of="$slow" bs=1M oflag=direct status=none
	udevadm settle
	ctl_code 0 activate "$set"
	content
	check_chunks 0 5 3
	check_chunks 5 5 1
	check_chunks 10 10 2
}
test_case "a tier from an old image: activate --degraded" stale

# back_cut_short STEP: the revert was cut short after STEP
back_cut_short()
{
	make_by_tool 14m
	killed "revert-$1" revert "$set"
	# As after a restart of the machine.
	remove "$set"
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 activate --read-only "$set"
	one_line "its way back to one device was interrupted. to finish that writes, .*: tierctl activate $set"
	ctl_code 0 activate "$set"
	if [ "$1" = committed ]; then
		same "$set: is no tiered set any more." "$output$errors" "what activate says"
	else
		content
		check_chunks 0 20 1
		ctl_code 0 revert "$set"
	fi
	same "" "$(json '.sets[].name' list)" "sets"
	io check "$slow" at=0 len="$(at_chunk 20)" seed=1
}
test_case "going back was cut short, before all was there: activate" back_cut_short reverting
test_case "going back was cut short, after that: activate" back_cut_short committed

# All I/O waits.
waits()
{
	local uuid
	make_by_tool
	dmsetup suspend "$set"
	attention suspended
	matches "suspended: I/O to it waits \(dmsetup resume $set\)" "$output" "status"
	dmsetup resume "$set"
	content

	uuid=$(json '.sets[0].uuid' list)
	ctl_code 0 deactivate "$set"
	dmsetup create "$set" --notable -u "TIER-$uuid"
	attention no_table
	matches "no table is loaded: tierctl activate $set" "$output" "status"
	ctl_code 0 activate "$set"
	content
	check_chunks 0 20 1
}
test_case "I/O waits: resume, activate" waits

# The set has failed.
failed()
{
	make_by_tool
	meta_writes
	write_chunks 30 1 2
	wait_for 10 mode_is Fail
	attention failed
	fails check_chunks 0 1 1
	meta_good

	ctl_code 0 deactivate "$set"
	ctl_code 0 activate "$set"
	content
	check_chunks 0 20 1
	write_chunks 30 1 2
	io sync "$dev"
}
test_case "the set has failed: deactivate, activate" failed

# A commit failed: the data can be saved.
needs_check()
{
	make_by_tool
	provoke() { write_chunks 30 1 3; }
	fail_commit old_writes
	attention needs_check
	ctl_code 0 deactivate "$set"
	ctl_code 3 list
	ctl_code 0 activate -r "$set"
	sums=$(checksums "$meta" "$fast" "$slow")
	dd if="$dev" of="$tmp/saved" bs=64k count=20 iflag=direct status=none
	same "$sums" "$(checksums "$meta" "$fast" "$slow")" "contents of the disks"
	cmp -n 1310720 "$tmp/saved" "$dev"
	check_chunks 0 20 1
	ctl_code 0 deactivate "$set"

	ctl_code 0 check "$set"
	ctl_code 0 activate "$set"
	content
	check_chunks 0 20 1
	write_chunks 30 1 3
	io sync "$dev"
}
test_case "the metadata needs a check: save what is in the set, check" needs_check

# Metadata is damaged: chunks 509 to 730 are lost with a block of the mapping.
damaged_metadata()
{
	make_by_tool
	write_chunks 600 5 6
	ctl deactivate -q "$set"
	remove tt_up tt_mid tt_low
	leaf=$(at_block "$(at_block 0 192)" $((32 + 252 * 8 + 8)))
	printf damage | dd of="$meta" bs=1 seek=$((leaf * 4096 + 2000)) conv=notrunc,fsync status=none
	udevadm settle
	damaged
	disk meta2 8
	sums=$(checksums "$meta" "$fast" "$slow")

	ctl_code 1 activate "$set"
	matches "metadata is damaged.*tierctl repair $set" "$errors"
	ctl_code 3 check "$set"
	ctl_code 0 repair -y "$set" "$meta2"
	matches 'chunks 509 to 730' "$output"
	same "$sums" "$(checksums "$meta" "$fast" "$slow")" "what is repaired"
	# While both metadata devices are there, nobody can say which is the right one.
	ctl_code 1 activate "$set"
	matches 'two devices say' "$errors"
	dd if=/dev/zero of="$meta" bs=4k count=1 oflag=direct status=none
	udevadm settle
	ctl_code 0 activate "$set"
	content
	check_chunks 0 20 1
	check_chunks 600 5 0
	write_chunks 600 5 7
	check_chunks 600 5 7
}
# at_block BLOCK BYTE: 64 bits of the metadata
at_block()
{
	dd if="$meta" bs=4096 skip="$1" count=1 iflag=direct status=none |
		od -An -tu8 -j "$2" -N 8 | tr -d ' '
}
test_case "the metadata is damaged: repair" damaged_metadata

# The superblock is damaged, too, and only the device itself says whose metadata it was.
damaged_superblock()
{
	make_by_tool
	ctl deactivate -q "$set"
	ctl dump "$set" -o "$tmp/whole.xml"
	remove tt_up tt_mid tt_low
	printf damage | dd of="$meta" bs=1 seek=300 conv=notrunc,fsync status=none
	udevadm settle
	damaged
	disk meta2 8
	sums=$(checksums "$meta" "$fast" "$slow")

	ctl_code 1 activate "$set"
	matches "$set: .*its metadata device is missing" "$errors"
	ctl_code 3 scan
	matches "$meta +.*damaged" "$output"
	# Metadata that can still be repaired is not overwritten without a question.
	unchanged "$meta" -- ctl_code 1 restore -y "$tmp/whole.xml" "$meta"
	one_line 'superblock.*: tierctl repair may read it still.*--force'
	unchanged "$fast" "$slow" -- ctl_code 1 destroy -y "$fast" "$slow"
	matches "$fast: is a tier of $set, whose metadata may be what is damaged on $meta: .*--force" "$errors"
	unchanged "$meta" -- ctl_code 1 destroy "$meta"
	matches 'superblock.*tierctl repair may read it still' "$output$errors"
	ctl_code 0 repair -y "$meta" "$meta2" --tiers "$fast" "$slow"
	same "$sums" "$(checksums "$meta" "$fast" "$slow")" "what is repaired"
	ctl_code 0 activate "$set"
	content
	check_chunks 0 20 1
	write_chunks 30 5 4
	check_chunks 30 5 4
}
test_case "the superblock is damaged: repair" damaged_superblock

# The metadata device is lost. A dump that is as new as the set makes another one; an older dump
# is refused, as chunks may have moved since.
lost_metadata()
{
	make_by_tool
	ctl_code 0 dump "$set" -o "$tmp/older.xml"
	ctl_code 0 deactivate "$set"
	ctl_code 0 activate "$set"
	write_chunks 30 5 4
	ctl migrate -q "$set" 0-4 --tier 1
	ctl wait -q "$set"
	ctl_code 0 deactivate "$set"
	ctl_code 0 dump "$set" -o "$tmp/photos.xml"
	remove tt_up tt_mid tt_low
	disk_gone meta
	udevadm settle
	sums=$(checksums "$fast" "$slow")

	ctl_code 1 activate "$set"
	matches 'its metadata device is missing' "$errors"
	disk meta2 4
	ctl_code 0 restore "$tmp/older.xml" "$meta2"
	ctl_code 1 activate "$set"
	matches 'metadata stale: tier 0 \(.*tt_fast\) is of generation 2, the metadata knows 1' "$errors"
	ctl_code 1 activate --degraded "$set"
	matches 'metadata stale' "$errors"
	same "$sums" "$(checksums "$fast" "$slow")" "contents of the tiers"

	ctl_code 0 restore -y "$tmp/photos.xml" "$meta2"
	ctl_code 0 activate -r "$set"
	check_chunks 0 20 1
	check_chunks 30 5 4
	ctl_code 0 deactivate "$set"
	same "$sums" "$(checksums "$fast" "$slow")" "contents of the tiers"
	ctl_code 0 activate "$set"
	content
	write_chunks 40 1 5
	check_chunks 0 20 1
	check_chunks 30 5 4
}
test_case "the metadata device is lost: restore from a dump" lost_metadata

# A format was cut short: the labels cannot be written.
half_formatted()
{
	meta_disk
	disk fast 16 cache_size=4
	disk slow 32 cache_size=4
	wrap a "$(tier_table writes "$fast")"
	tiers=("$a" "$slow") length=$((200 * 128))
	fails dmsetup create "$set" --table "$(table_line)"
	remove tt_a
	same 1 "$(superblock 44)" "state"
	udevadm settle
	ctl_code 1 activate "$set"
	matches "creation was interrupted.*tierctl destroy $set" "$errors"

	ctl_code 0 destroy -y "$set"
	ctl_code 0 create -y "$set" -m "$up" -c 64k --policy static "$fast" "$slow"
	content
	write_chunks 0 20 1
	check_chunks 0 20 1
}
test_case "a format was cut short: destroy, create" half_formatted

run_tests
