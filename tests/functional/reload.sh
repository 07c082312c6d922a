#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# New tables for a set in use: tiers that grow, join, leave or change places, other lengths;
# suspend and removal during I/O.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

everything=("$meta" "$fast" "$slow")

# Tiers as windows on larger disks, so that they can grow and shrink.
window() { dmsetup load "tt_$1" --table "0 $3 linear $2 0" && dmsetup resume "tt_$1"; }

make_windows()
{
	disk meta 4
	disk fast 32
	disk slow 64
	wrap wfast "0 32768 linear $fast 0"
	wrap wslow "0 65536 linear $slow 0"
	tiers=(/dev/mapper/tt_wfast /dev/mapper/tt_wslow)
	length=$(capacity_of 128 "${tiers[@]}")
	activate
	write_chunks 0 30 1
	move 20 10 1
}

grow_tier()
{
	make_windows
	window wslow "$slow" 131072
	reload
	status
	same $((1024 - 16)) "${S[places1]}" "places after growth"
	same 731 "${S[virtual]}"
	# The reserve was fixed at format: all new places count.
	length=$((length + 512 * 128))
	reload
	same $((731 + 512)) "$(info virtual)" "virtual chunks"
	check_chunks 0 30 1
	io write "$dev" at="$(at_chunk 1242)" len=64k seed=6
	deactivate
	activate
	check_chunks 0 30 1
	io check "$dev" at="$(at_chunk 1242)" len=64k seed=6
	io check "$dev" at="$(at_chunk 1241)" len=64k seed=0
}
test_case "a grown tier is adopted, then the length" grow_tier

# A tier has grown, but the next table is read-only and may not record that.
grown_read_only()
{
	make_windows
	window wslow "$slow" 131072
	features=(read_only)
	reload
	same $((512 - 16)) "$(info places1)" "places"
	check_chunks 0 30 1
	features=()
	reload
	same $((1024 - 16)) "$(info places1)" "places, once they can be written down"
	check_chunks 0 30 1
}
test_case "a grown tier and a table that is read only" grown_read_only

# A set that was only activated read-only takes the length of its table.
longer_read_only()
{
	local whole
	make_set
	whole=$length
	write_chunks 0 1 1
	deactivate
	features=(read_only)
	for length in $((10 * chunk)) "$whole"; do
		if [ "$length" = "$whole" ]; then reload; else activate; fi
		check_chunks 0 1 1
		check_chunks 9 1 0
		same $((length / chunk)) "$(info virtual)" "virtual chunks"
	done
	check_chunks 720 1 0
	# The other way round, and then for writing.
	length=$((10 * chunk))
	reload
	check_chunks 9 1 0
	features=() length=$whole
	reload
	write_chunks 720 1 2
	check_chunks 720 1 2
}
test_case "a longer table for a set that is read only" longer_read_only

# A block of the metadata has the heat of 1018 chunks, and there is none for the new ones.
longer_read_only_by_blocks()
{
	make_windows
	deactivate
	window wslow "$slow" 131072
	features=(read_only)
	length=$((1100 * chunk))
	klog_mark
	activate
	same 1100 "$(info virtual)" "virtual chunks"
	check_chunks 0 30 1
	check_chunks 1099 1 0
	same "" "$(klog | grep 'heat cannot be read' || true)" "in the kernel log"
}
test_case "the same with more blocks of heat than there are" longer_read_only_by_blocks

grow_both_at_once()
{
	make_windows
	window wfast "$fast" 65536
	window wslow "$slow" 131072
	length=$((length + (256 + 512) * 128))
	reload
	status
	same $((731 + 768)) "${S[virtual]}"
	same $((512 - 16)) "${S[places0]}"
	check_chunks 0 30 1
	write_chunks 30 600 1 block=1m
	check_chunks 0 630 1 block=1m
}
test_case "growth of tiers and length in one reload" grow_both_at_once

# At activation as well.
grow_inactive()
{
	make_windows
	deactivate
	window wslow "$slow" 131072
	activate
	same $((1024 - 16)) "$(info places1)"
	check_chunks 0 30 1
}
test_case "a tier that grew while the set was down" grow_inactive

too_long()
{
	make_windows
	good=$length
	length=$((length + 1))
	refused "$good" load
	length=$good
	check_chunks 0 30 1
	write_chunks 30 1 1
	same $((731)) "$(info virtual)"
}
test_case "a length beyond the capacity is refused and named" too_long

smaller_tier()
{
	make_windows
	deactivate
	window wslow "$slow" 32768
	refused 'tier|small|size' dmsetup create "$set" --table "$(table_line)"
	window wslow "$slow" 65408
	refused 'tier|small|size' dmsetup create "$set" --table "$(table_line)"
	window wslow "$slow" 65536
	activate
	check_chunks 0 30 1
}
test_case "a smaller tier is refused" smaller_tier

# While the set is active: the reload is refused, or I/O beyond the end fails; all other I/O
# works.
shrunk_live()
{
	make_windows
	dmsetup suspend tt_wslow
	dmsetup load tt_wslow --table "0 32768 linear $slow 0"
	dmsetup resume tt_wslow
	refused 'tier|small|size' load
	check_chunks 0 20 1
	window wslow "$slow" 65536
	reload
	check_chunks 0 30 1
}
test_case "a tier that shrinks under a live set" shrunk_live

shorter()
{
	make_windows
	good=$length
	length=$((29 * 128))
	refused 'length|short|mapped' load
	length=$((29 * 128 + 64))
	refused 'length|short|mapped|chunk' load
	length=$((30 * 128))
	reload
	same 30 "$(info virtual)"
	check_chunks 0 30 1
	length=$good
	reload
	same 731 "$(info virtual)"
	check_chunks 0 30 1
	check_chunks 30 10 0
	discard_chunks 10 20
	wait_for 10 mapped_is 10
	length=$((10 * 128))
	reload
	check_chunks 0 10 1
	length=$good
	reload
	check_chunks 10 20 0
}
test_case "a shorter length, once all above it is unmapped" shorter

# Arrays that lose exactly their last block: the mapping has 509 chunks in a block, the heat
# 1018.
shorter_by_a_block()
{
	local short
	disk meta 4
	disk fast 32
	disk slow 128
	length=$((2000 * 128))
	activate
	write_chunks 0 30 1
	for short in 1018 509; do
		length=$((short * 128))
		reload
		deactivate
		activate
		same "$short" "$(info virtual)" "virtual chunks"
		check_chunks 0 30 1
		check_chunks $((short - 1)) 1 0
	done
	length=$((2000 * 128))
	reload
	write_chunks 509 1 2
	check_chunks 509 1 2
	check_chunks 510 1000 0
	check_chunks 0 30 1
}
test_case "a length that ends with a block of the metadata" shorter_by_a_block

add_tier()
{
	make_set
	write_chunks 0 30 1
	disk third 16
	tiers=("$fast" "$slow" "$third")
	reload
	status
	same 3 "${S[tiers]}"
	same 2 "${S[id2]}"
	same 240 "${S[places2]}"
	same 731 "${S[virtual]}"
	check_chunks 0 30 1
	move 0 10 2
	check_chunks 0 30 1
	length=$((length + 240 * 128))
	reload
	same $((731 + 240)) "$(info virtual)"
	deactivate
	activate
	check_chunks 0 30 1
	same 10 "$(on_rank 0 30 2)"
	# The tier cannot be left out any more.
	tiers=("$fast" "$slow")
	refused 'tier' load
}
test_case "a blank disk in the table joins as a new tier" add_tier

add_at_activation()
{
	make_set
	write_chunks 0 30 1
	deactivate
	disk third 16
	tiers=("$third" "$fast" "$slow")
	activate
	status
	same "2 0 1" "${S[id0]} ${S[id1]} ${S[id2]}"
	check_chunks 0 30 1
	write_chunks 30 1 1
	same 1 "$(on_rank 30 1 0)" "first writes on the new, fastest tier"
}
test_case "a new tier, fastest, at activation" add_at_activation

add_dirty()
{
	make_set
	write_chunks 0 30 1
	disk third 16
	printf 'data' | dd of="$third" bs=1 seek="$1" conv=notrunc,fsync status=none
	sums=$(checksums "$third")
	tiers=("$fast" "$slow" "$third")
	refused 'tier|label|blank' load
	same "$sums" "$(checksums "$third")" "contents"
	tiers=("$fast" "$slow")
	check_chunks 0 30 1
}
test_case "a disk that is not blank does not join" add_dirty 0
test_case "nor one with something in the second slot only" add_dirty 4096
test_case "nor one with the superblock of btrfs" add_dirty 65600
test_case "nor one whose label area has data at its very end" add_dirty 1048572

# What lies behind the label area does not count.
label_area_zero()
{
	make_set
	disk third 16
	io write "$third" at=0 len=16m seed=5 block=1m
	blkdiscard -z -o 0 -l 1m "$third"
	tiers=("$fast" "$slow" "$third")
	reload
	io check "$third" at=8k len=$((1048576 - 8192)) seed=0
	io check "$third" at=512 len=3584 seed=0
	io check "$third" at=4608 len=3584 seed=0
}
test_case "the label area of a new tier is zeroes but for the label" label_area_zero

# format_dirty CHUNK AREA: the label area is as large as a chunk of so many sectors, if that is more
format_dirty()
{
	chunk=$1
	make_disks
	printf 'data' | dd of="$fast" bs=1 seek=$(($2 - 4)) conv=notrunc,fsync status=none
	sums=$(checksums "$meta" "$fast" "$slow")
	refused 'label.*zeroes' activate
	same "$sums" "$(checksums "$meta" "$fast" "$slow")" "contents"
	blkdiscard -z -o 0 -l "$2" "$fast"
	printf 'data' | dd of="$fast" bs=1 seek="$2" conv=notrunc,fsync status=none
	activate
}
test_case "no set is formatted over data in a label area" format_dirty 128 1048576
test_case "nor with large chunks" format_dirty 4096 2097152

larger_sectors()
{
	make_set
	disk third 16 blocksize=4096
	counts=$(write_counts "$third")
	tiers=("$fast" "$slow" "$third")
	refused 'sector|block' load
	same "$counts" "$(write_counts "$third")" "writes"
}
test_case "a new tier with larger sectors than the set's is refused" larger_sectors

drop_tier()
{
	disk meta 4
	disk fast 16
	disk slow 32
	disk third 16
	tiers=("$fast" "$slow" "$third")
	length=$((500 * 128))
	activate
	write_chunks 0 30 1
	move 0 10 2
	msg pin 5 8 2
	msg pin 20 2 1
	tiers=("$fast" "$slow")
	refused 'tier' load
	msg evacuate 2
	wait_for 30 used_is 2 0
	# The next table leaves the tier out; once it is loaded, admit is refused. A table that
	# marks the tier as missing does not refuse admit.
	tiers=("$fast" "$slow" -)
	load
	msg admit 2
	msg evacuate 2
	wait_for 30 used_is 2 0
	wait_for 10 settled
	tiers=("$fast" "$slow")
	load
	fails msg admit 2
	matches 'busy' "$output" "admit of a tier that a loaded table drops"
	resume
	status
	same 2 "${S[tiers]}"
	same 2 "${S[pinned]}"
	check_chunks 0 30 1
	deactivate
	activate
	check_chunks 0 30 1
	# The disk is no member any more, and its old label means that it is not blank either.
	tiers=("$fast" "$slow" "$third")
	refused 'tier|label' load
	blkdiscard "$third"
	reload
	same 3 "$(info tiers)"
	check_chunks 0 30 1
	# The new tier may get the id of the old tier, but not its pins.
	deactivate
	activate
	same 2 "$(info pinned)"
	same 0 "$(info used2)"
}
used_is() { [ "$(info "used$1")" = "$2" ]; }
test_case "an evacuated tier can be dropped" drop_tier

drop_not_evacuated()
{
	disk meta 4
	disk fast 16
	disk slow 32
	disk third 16
	tiers=("$fast" "$slow" "$third")
	length=$((300 * 128))
	activate
	write_chunks 0 30 1
	# Empty, but not closed: a first write could land there at any time.
	same 0 "$(info used2)"
	tiers=("$fast" "$slow")
	refused 'tier' load
	deactivate
	refused 'tier' dmsetup create "$set" --table "$(table_line)"
	tiers=("$fast" "$slow" "$third")
	activate
	check_chunks 0 30 1
}
test_case "an empty tier that was not evacuated is not dropped" drop_not_evacuated

drop_too_much()
{
	disk meta 4
	disk fast 16
	disk slow 32
	length=$((200 * 128))
	activate
	write_chunks 0 30 1
	msg evacuate 0
	wait_for 30 used_is 0 0
	tiers=("$slow")
	length=$((600 * 128))
	refused '[0-9]' load
	length=$((200 * 128))
	reload
	same 1 "$(info tiers)"
	check_chunks 0 30 1
}
test_case "what is left must hold the length" drop_too_much

rerank()
{
	make_disks
	disk third 16
	tiers=("$fast" "$slow" "$third")
	activate
	write_chunks 0 30 1
	move 10 10 1
	move 20 10 2
	tiers=("$third" "$fast" "$slow")
	reload
	status
	same "2 0 1" "${S[id0]} ${S[id1]} ${S[id2]}"
	same "10 10 10" "$(on_rank 20 10 0) $(on_rank 0 10 1) $(on_rank 10 10 2)"
	check_chunks 0 30 1
	write_chunks 30 5 1
	same 5 "$(on_rank 30 5 0)" "first writes on the tier that is now fastest"
	deactivate
	tiers=("$slow" "$third" "$fast")
	activate
	status
	same "1 2 0" "${S[id0]} ${S[id1]} ${S[id2]}"
	check_chunks 0 35 1
	msg pin 0 2 0
	chunk_info 0
	same 0 "${C[pin]}"
	tiers=("$fast" "$slow" "$third")
	reload
	chunk_info 0
	same 1 "${C[pin]}" "rank of the pin after another change of order"
	check_chunks 0 35 1
}
test_case "any order of the tiers; the order given is that of speed" rerank

# ---- during I/O and migrations

suspend_under_io()
{
	local n
	make_set
	msg set migration_bandwidth 0
	background io torture "$dev" at=0 len=8m chunk=64k seconds=7 seed=3 model="$tmp/model"
	pid=$last_pid
	for n in 1 2 3 4 5; do
		msg migrate 0 100 $((n % 2)) || true
		suspend
		same 0 "$(info in_flight)" "migrations in flight while suspended"
		counts=$(io_counts "${everything[@]}")
		sleep 0.5
		same "$counts" "$(io_counts "${everything[@]}")" "I/O while suspended"
		resume
		suspend --noflush
		sleep 0.2
		load
		resume
	done
	wait "$pid"
	io recheck "$dev" at=0 len=8m model="$tmp/model"
}
test_case "suspend, resume and reload under I/O and migration" suspend_under_io

queue_survives()
{
	make_set
	msg set migration_bandwidth 400
	write_chunks 0 40 1
	msg migrate 0 40 1
	reload
	is "$(on_rank 0 40 1) < 40"
	msg set migration_bandwidth 0
	wait_for 20 all_on_rank 0 40 1
	check_chunks 0 40 1
}
test_case "the queue of migrate survives a reload" queue_survives

remove_while_moving()
{
	local n
	make_set
	write_chunks 0 100 1
	for n in 1 2 3; do
		msg set migration_bandwidth 0
		msg migrate 0 100 $((n % 2))
		deactivate
		activate
		check_chunks 0 100 1
	done
	core=(migration_bandwidth 300)
	reload
	msg migrate 0 100 $((n % 2))
	start=$EPOCHREALTIME
	deactivate
	[ "$(bc <<<"$(since "$start") < 5")" = 1 ] || fail "removal waited for the queue"
	activate
	check_chunks 0 100 1
}
test_case "removal while chunks move" remove_while_moving

rename_live()
{
	make_set
	write_chunks 0 10 1
	dmsetup rename "$set" tt_other
	io check /dev/mapper/tt_other at=0 len=640k seed=1
	remove tt_other
	# An active set takes the new name at the next activation.
	set=tt_third dev=/dev/mapper/tt_third
	activate
	check_chunks 0 10 1
	grep -q -a tt_third <(dd if="$fast" bs=8k count=1 status=none) ||
		fail "the label does not carry the new name"
}
test_case "rename of a live set" rename_live

rename_noted()
{
	features=(paused)
	make_set
	write_chunks 0 10 1
	msg resume
	running=$(info running)
	dmsetup rename "$set" tt_other
	set=tt_other dev=/dev/mapper/tt_other
	fails grep -q -a tt_other <(dd if="$fast" bs=8k count=1 status=none)
	suspend
	resume
	for disk in "$fast" "$slow" "$meta"; do
		grep -q -a tt_other <(dd if="$disk" bs=8k count=1 iflag=direct status=none) ||
			fail "$disk does not carry the new name"
	done
	check_chunks 0 10 1
	same "$running" "$(info running)" "what the message resume did"
	# The name is written only once.
	generation=$(dd if="$fast" bs=8k count=1 iflag=direct status=none | cksum)
	suspend
	resume
	same "$generation" "$(dd if="$fast" bs=8k count=1 iflag=direct status=none | cksum)" "label"
	# A read-only table writes nothing, whatever the name.
	features=(read_only)
	reload
	dmsetup rename "$set" tt_third
	set=tt_third dev=/dev/mapper/tt_third
	sums=$(checksums "$fast" "$slow" "$meta")
	suspend
	resume
	same "$sums" "$(checksums "$fast" "$slow" "$meta")" "contents"
	check_chunks 0 10 1
}
test_case "a resume after a rename notes the new name" rename_noted

reload_back()
{
	local n
	make_set
	write_chunks 0 10 1
	for n in {1..10}; do
		case $((n % 3)) in
		0) policy=heat ;;
		1) policy=static ;;
		2) features=(paused) ;;
		esac
		reload
	done
	check_chunks 0 10 1
	same $((10)) "$(info mapped)"
}
test_case "ten reloads one after the other" reload_back

error_table()
{
	make_set
	write_chunks 0 10 1
	dmsetup load "$set" --table "0 $length error"
	resume
	fails check_chunks 0 1 1
	reload
	check_chunks 0 10 1
}
test_case "another target in between" error_table

metadata_grows()
{
	disk meta 8
	disk fast 16
	disk slow 32
	wrap wmeta "0 4096 linear $meta 0"
	metadata=/dev/mapper/tt_wmeta
	activate
	status
	same 512 "${S[meta_total]}"
	write_chunks 0 30 1
	window wmeta "$meta" 16384
	reload
	same 2048 "$(info meta_total)" "metadata blocks after growth"
	check_chunks 0 30 1
	write_chunks 30 30 1
	deactivate
	activate
	check_chunks 0 60 1
}
test_case "a grown metadata device is adopted" metadata_grows

run_tests
