#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# How much of the metadata is read: the map once for an activation, next to nothing for a new
# table of an active set.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

chunks=$((512 * 1024))

# blocks_read: 4 KiB blocks read of the metadata device so far
blocks_read()
{
	local f
	read -ra f <"$(block_of "$meta")/stat"
	echo $((f[2] / 8))
}

# reads MIN MAX COMMAND...: what it reads of the metadata, in blocks
reads()
{
	local before after
	before=$(blocks_read)
	"${@:3}"
	after=$(blocks_read)
	note "${*:3}: $((after - before)) blocks read"
	if [ $((after - before)) -lt "$1" ] || [ $((after - before)) -gt "$2" ]; then
		fail "${*:3}: not $1 to $2 blocks"
	fi
}

# The map takes 1028 blocks, heat takes 515.
make_large()
{
	disk meta 32
	disk fast $((24 * 1024))
	disk slow $((24 * 1024))
	length=$((chunks * chunk))
	activate
	write_chunks 0 20 1
	io write "$dev" at="$(at_chunk $((chunks - 1)))" len=64k seed=2
	msg pin 5 2 1
	deactivate
}
is_whole()
{
	same "$chunks" "$(info virtual)" "chunks"
	same 21 "$(info mapped)" "mapped chunks"
	same 2 "$(info pinned)" "pinned chunks"
	check_chunks 0 20 1
	io check "$dev" at="$(at_chunk $((chunks - 1)))" len=64k seed=2
	check_chunks 20 5 0
}

activated()
{
	make_large
	# The map, and the heat that is judged; 64 blocks of heat are read then.
	reads 1500 2500 activate
	is_whole
	deactivate
	features=(read_only)
	reads 1028 1500 activate
	is_whole
	deactivate
	features=()
	dmsetup create "$set" --notable
	reads 1000 2500 load
	reads 400 1500 resume
	is_whole
}
test_case "an activation reads the map once" activated

# With the table loaded, other metadata takes the place of what was read: the last chunk is unmapped.
changed_between()
{
	local dir=$here/../../userspace
	make_large
	"$dir/tier_dump" -i "$meta" | sed "/<map chunk=\"$((chunks - 1))\"/d" >"$tmp/dump"
	disk meta2 32
	"$dir/tier_restore" -q -i "$tmp/dump" -o "$meta2"
	dmsetup create "$set" --notable
	load
	dd if="$meta2" of="$meta" bs=1M iflag=direct oflag=direct conv=notrunc status=none
	reads 1500 4000 resume
	same 20 "$(info mapped)" "mapped chunks"
	check_chunks 0 20 1
	io check "$dev" at="$(at_chunk $((chunks - 1)))" len=64k seed=0
}
test_case "metadata that changes between the load and the resume is read again" changed_between

reloaded()
{
	make_large
	activate
	# Heat is read in the background.
	quiet 1 "$meta"
	rename_it()
	{
		dmsetup rename "$set" tt_other
		set=tt_other dev=/dev/mapper/tt_other
		load
		suspend
		resume
	}
	msg pin 5 2 0
	# The superblock is looked at; what a change needs is in memory from the last one.
	pin_after_suspend()
	{
		suspend
		resume
		msg pin 5 2 1
	}
	reads 0 2 pin_after_suspend
	reads 0 200 rename_it
	is_whole
	grow()
	{
		chunks=$((chunks + 1000))
		length=$((chunks * chunk))
		reload
	}
	reads 0 200 grow
	same "$chunks" "$(info virtual)" "chunks"
	same 21 "$(info mapped)" "mapped chunks"
	io write "$dev" at="$(at_chunk $((chunks - 1)))" len=64k seed=3
	tiers=("$slow" "$fast")
	reads 0 200 reload
	same 22 "$(info mapped)" "mapped chunks"
	same 2 "$(info pinned)" "pinned chunks"
	check_chunks 0 20 1
	io check "$dev" at="$(at_chunk $((chunks - 1)))" len=64k seed=3
	io check "$dev" at="$(at_chunk $((chunks - 2)))" len=64k seed=0
	tool=$here/../../userspace/tier_check
	deactivate
	"$tool" -q "$meta" || fail "tier_check finds damage"
	activate
	same 22 "$(info mapped)" "mapped chunks"
	check_chunks 0 20 1
}
test_case "a new table of an active set reads nothing of it" reloaded

run_tests
