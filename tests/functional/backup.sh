#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at what tierctl keeps
# long
#
# tierctl backup, and what its dumps save after each loss of the metadata.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"

dumps=$tmp/dumps

create_set()
{
	make_disks
	ctl create "$set" -q -m "$meta" -c 64k --policy static "$fast" "$slow"
	uuid=$(json '.sets[0].uuid' list "$set" | tr -d -)
}

# kept: the dumps of the set, the newest first
kept() { (cd "$dumps/$uuid" && ls -t); }

# back_up ARGUMENT...: a backup of all sets that succeeds; $newest is the newest dump
back_up()
{
	ctl_code 0 backup --dir "$dumps" "$@"
	newest=$dumps/$uuid/$(kept | head -n 1)
}

# ---- what is kept

keeps()
{
	create_set
	write_chunks 0 10 1
	ctl_code 0 backup --dir "$dumps" --dry-run
	matches "Would write a dump of $set" "$output"
	[ ! -e "$dumps" ] || fail "a dry run made $dumps"
	back_up
	same "" "$errors" "stderr"
	same "$set: $newest" "$output"
	matches "/$set-[0-9]+-[0-9]+\.xml$" "$newest"
	same 700 "$(stat -c %a "$dumps/$uuid")" "mode of the folder"
	for n in 1 2 3 4; do
		write_chunks $((10 * n)) 1 1
		back_up --keep 3
	done
	same 3 "$(kept | wc -l)" "dumps"
	for n in {5..9}; do
		write_chunks $((10 * n)) 1 1
		back_up
	done
	same 7 "$(kept | wc -l)" "dumps, without --keep"
	"$(dirname "$tierctl")/tier_restore" -i "$newest" -o "$tmp/metadata"
	# Files of other names are not ours.
	touch "$dumps/$uuid/mine"
	back_up --keep 1
	same "${newest##*/} mine" "$(kept | sort -r | paste -sd' ')" "what is left"
	# A clock that was set back does not make the new dump the oldest.
	touch -d '+1 year' "$newest"
	write_chunks 100 1 1
	ctl_code 0 backup --dir "$dumps" --keep 1
	same 1 "$(find "$dumps" -name '*.xml' | wc -l)" "dumps"
	[ "${output##*: }" -ef "$(find "$dumps" -name '*.xml')" ] || fail "the new dump was removed: $output"
	same "true false 0" "$(json '"\(.changed) \(.dry_run) \(.exit_status)"' backup --dir "$dumps" "$set")"
	matches "$dumps/$uuid/$set-" "$(jq -r '.messages[]' "$tmp/json")"
	# An inactive set is dumped once.
	ctl deactivate -q "$set"
	back_up
	same "$set: $newest" "$output"
	back_up
	matches 'has not changed' "$output"
	same "$(ctl dump "$set")" "$(<"$newest")" "the dump"
}
test_case "the newest dumps are kept" keeps

# What is wrong with one set does not keep the others from being dumped.
left_out()
{
	damaged
	create_set
	disk meta2 4
	disk third 8
	disk spare 8
	ctl create tt_other -q -m "$meta2" -c 64k "$third" "$spare"
	ctl deactivate -q tt_other
	dd if="$meta2" of="$tmp/meta2" bs=64k iflag=direct status=none
	disk_gone meta2
	back_up
	matches "tt_other: is left out, as its metadata device is missing" "$errors"
	same "$set: $newest" "$output"
	ctl_code 1 backup --dir "$dumps" tt_other
	one_line 'metadata device is missing'
	# Metadata that is damaged is an error of that set alone.
	disk meta2 4
	printf '\x5a\xa5' | dd of="$tmp/meta2" bs=4096 seek=1 conv=notrunc status=none
	head -c 400k /dev/urandom | dd of="$tmp/meta2" bs=4096 seek=1 conv=notrunc status=none
	dd if="$tmp/meta2" of="$meta2" bs=64k oflag=direct status=none
	ctl_code 1 backup --dir "$dumps"
	matches 'is damaged' "$errors"
	matches "^$set: " "$output"
	# A place where nothing can be written
	touch "$tmp/file"
	ctl_code 1 backup --dir "$tmp/file" "$set"
	one_line 'not a directory'
}
test_case "a set that cannot be dumped" left_out

# ---- what a dump saves; lvmtier(7) says the same

# Data on both tiers, and a dump that is as new as the set.
saved_set()
{
	create_set
	write_chunks 0 40 1
	move 0 20 1
	ctl deactivate -q "$set"
	back_up
}

all_there()
{
	ctl activate -q -r "$set"
	check_chunks 0 40 1
	ctl deactivate -q "$set"
	ctl activate -q "$set"
	check_chunks 0 40 1
	ctl_code 0 check "$set"
}

lost()
{
	saved_set
	disk_gone meta
	disk meta2 4
	ctl_code 1 activate "$set"
	ctl restore -q "$newest" "$meta2"
	all_there
}
test_case "the metadata device is lost" lost

overwritten()
{
	damaged
	saved_set
	head -c 1m /dev/urandom | dd of="$meta" bs=64k oflag=direct status=none
	ctl_code 1 activate "$set"
	ctl restore -q -y "$newest" "$meta"
	all_there
}
test_case "the metadata device was overwritten" overwritten

# One block is damaged: the device says that it was this set's metadata, and repair may read it.
one_block()
{
	damaged
	saved_set
	dd if="$meta" of="$tmp/meta" bs=64k iflag=direct status=none
	head -c 2000 /dev/urandom | dd of="$tmp/meta" bs=1 seek=500 conv=notrunc status=none
	dd if="$tmp/meta" of="$meta" bs=64k oflag=direct status=none
	ctl_code 1 restore -y "$newest" "$meta"
	one_line 'repair may read it'
	ctl restore -q -y --force "$newest" "$meta"
	all_there
}
test_case "the superblock is damaged" one_block

wrong_device()
{
	local before
	saved_set
	disk meta2 4
	disk third 8
	disk spare 4
	ctl create tt_other -q -m "$meta2" -c 64k "$third"
	ctl deactivate -q tt_other
	before=$(checksums "$meta" "$meta2" "$fast" "$slow" "$third")
	ctl_code 1 restore -y "$newest" "$fast"
	one_line "its metadata is on"
	ctl_code 1 restore -y "$newest" /dev/tt_spare
	one_line "its metadata is on"
	disk_gone meta
	ctl_code 1 restore -y "$newest" "$fast"
	one_line 'tier id 0'
	ctl_code 1 restore -y "$newest" "$meta2"
	one_line 'tt_other'
	ctl_code 1 restore -y "$newest" "$third"
	one_line 'tt_other'
	same "${before#*$'\n'}" "$(checksums "$meta2" "$fast" "$slow" "$third")" "the disks"
}
test_case "a dump is restored to the wrong device" wrong_device

# The labels remember the activation.
before_activation()
{
	local before
	saved_set
	ctl activate -q "$set"
	ctl deactivate -q "$set"
	ctl_code 1 restore -y "$newest" "$meta"
	one_line 'newer'
	disk_gone meta
	disk meta2 4
	ctl restore -q "$newest" "$meta2"
	before=$(checksums "$fast" "$slow")
	ctl_code 1 activate "$set"
	matches 'metadata stale' "$errors"
	ctl_code 1 activate --degraded "$set"
	same "$before" "$(checksums "$fast" "$slow")" "the tiers"
}
test_case "a dump from before the last activation" before_activation

# A device that is larger than the dump knows joins as that, and then the dump is old.
before_growth()
{
	local half places
	make_disks
	half=$(($(sectors_of "$slow") / 2))
	wrap grows "0 $half linear $slow 0"
	ctl create "$set" -q -m "$meta" -c 64k --policy static "$fast" /dev/mapper/tt_grows
	uuid=$(json '.sets[0].uuid' list "$set" | tr -d -)
	write_chunks 0 40 1
	places=$(info places1)
	ctl deactivate -q "$set"
	back_up
	dmsetup load tt_grows --table "0 $((2 * half)) linear $slow 0"
	dmsetup resume tt_grows
	disk_gone meta
	disk meta2 4
	ctl restore -q "$newest" "$meta2"
	all_there
	is "$(info places1) > $places"
	ctl deactivate -q "$set"
	ctl restore -q -y --force "$newest" "$meta2"
	unchanged "$fast" "$slow" -- ctl_code 1 activate "$set"
	one_line "metadata stale: tier 0 .* is of generation [0-9]+, the metadata knows [0-9]+\. connect the current"
}
test_case "a dump from before a tier was extended" before_growth

# Nothing tells that chunks have moved since: they show what lies at their old places now.
before_moves()
{
	create_set
	write_chunks 0 240 1			# fills the fast tier, the last ones lie on the slow one
	io sync "$dev"				# in the metadata, too
	back_up
	move 0 10 1				# moved, and written there
	write_chunks 0 5 2
	write_chunks 300 8 3			# takes places that were left
	discard_chunks 100 5
	ctl deactivate -q "$set"
	disk_gone meta
	disk meta2 4
	ctl restore -q "$newest" "$meta2"
	ctl activate -q -r "$set"
	# What has stayed is right, also what was overwritten in place.
	check_chunks 10 90 1
	check_chunks 105 135 1
	# What was first written since is lost.
	check_chunks 300 8 0
	fails check_chunks 300 8 3
	# What has moved is the old copy, or that of another chunk.
	fails check_chunks 0 5 2
	fails check_chunks 0 10 1
	msg heat 300 8 1
}
test_case "a dump from before chunks moved" before_moves

run_tests
