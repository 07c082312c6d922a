#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A set without one of its tiers (`-` in the table), the return of that tier, and old copies
# of tiers or metadata.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Chunks 0-9 on fast, 10-19 on slow.
make_two()
{
	make_set
	write_chunks 0 20 1
	move 10 10 1
	deactivate
}

without_slow() { tiers=("$fast" -); activate; }
whole_again() { tiers=("$fast" "$slow"); activate; }

errors_only_there()
{
	make_two
	without_slow
	status
	same - "${S[state1]}"
	same A "${S[state0]}"
	same 20 "${S[mapped]}"
	same 10 "${S[used1]}"
	check_chunks 0 10 1
	io_fails 5 check_chunks 10 1 1
	io_fails 5 write_chunks 15 1 2
	io_fails 5 check_chunks 19 1 1
	fails discard_chunks 12 1
	fails blkdiscard -f -z -o "$(at_chunk 12)" -l 64k "$dev"
	check_chunks 20 5 0
	write_chunks 5 3 2
	write_chunks 20 5 3
	same 5 "$(on_rank 20 5 0)" "first writes on the tier that is there"
	chunk_info 12
	same missing "${C[state]}"
	same 1 "${C[rank]}"
	io sync "$dev"
	deactivate
	whole_again
	check_chunks 0 5 1
	check_chunks 5 3 2
	check_chunks 8 2 1
	check_chunks 10 10 1
	check_chunks 20 5 3
	same A "$(info state1)"
}
test_case "a missing tier: errors for its chunks alone, and back without a resync" errors_only_there

fast_missing()
{
	make_two
	tiers=(- "$slow")
	activate
	same - "$(info state0)"
	check_chunks 10 10 1
	io_fails 5 check_chunks 0 1 1
	write_chunks 30 2 1
	same 2 "$(on_rank 30 2 1)"
	deactivate
	whole_again
	check_chunks 0 20 1
	check_chunks 30 2 1
}
test_case "the fastest tier is missing" fast_missing

# Migration between the other tiers goes on; to and from the missing tier it does not.
migration()
{
	make_disks
	disk third 16
	tiers=("$fast" "$slow" "$third")
	activate
	write_chunks 0 30 1
	move 10 10 1
	move 20 10 2
	deactivate
	tiers=("$fast" - "$third")
	activate
	move 0 5 2
	msg migrate 12 2 0 2>/dev/null || true
	msg migrate 6 2 1 2>/dev/null || true
	sleep 1
	same 10 "$(on_rank 10 10 1)"
	check_chunks 0 10 1
	check_chunks 20 10 1
	same rw "$(info mode)"
	deactivate
	tiers=("$fast" "$slow" "$third")
	activate
	check_chunks 0 30 1
}
test_case "migration between the tiers that are there" migration

no_room()
{
	make_two
	without_slow
	# 240 places on fast, 10 used: 230 first writes fit, and no more.
	write_chunks 100 230 1 block=1m
	io_fails 28 write_chunks 400 1 1
	check_chunks 0 10 1
	check_chunks 100 230 1 block=1m
	write_chunks 100 1 2
	discard_chunks 200 1
	wait_for 10 write_chunks 400 1 1
	deactivate
	whole_again
	write_chunks 401 10 1
	check_chunks 401 10 1
	check_chunks 10 10 1
	check_chunks 100 1 2
}
test_case "no space is left only when the tiers there are full" no_room

no_list_change()
{
	make_two
	disk third 16
	without_slow
	tiers=("$fast" - "$third")
	refused 'tier|degraded|missing' load
	tiers=(- "$fast")
	refused 'tier|rank|missing|degraded' load
	deactivate
	tiers=("$fast")
	refused 'tier' dmsetup create "$set" --table "$(table_line)"
	tiers=("$fast" - -)
	refused 'tier' dmsetup create "$set" --table "$(table_line)"
	tiers=("$slow" -)
	refused 'tier|rank' dmsetup create "$set" --table "$(table_line)"
	tiers=("$fast" - "$third")
	refused 'tier|degraded|missing' dmsetup create "$set" --table "$(table_line)"
	whole_again
	check_chunks 0 20 1
}
test_case "the list of tiers does not change while degraded" no_list_change

return_by_reload()
{
	make_two
	without_slow
	write_chunks 0 5 2
	tiers=("$fast" "$slow")
	reload
	same A "$(info state1)"
	check_chunks 0 5 2
	check_chunks 5 15 1
	# The tier leaves again, by a reload.
	tiers=("$fast" -)
	reload
	same - "$(info state1)"
	io_fails 5 check_chunks 15 1 1
	check_chunks 5 5 1
	tiers=("$fast" "$slow")
	reload
	check_chunks 5 15 1
}
test_case "a tier comes and goes by reload" return_by_reload

# Many activations without the tier, then one with it.
long_absence()
{
	local n
	make_two
	for n in {1..5}; do
		without_slow
		write_chunks $((20 + n)) 1 1
		deactivate
	done
	whole_again
	check_chunks 0 20 1
	check_chunks 21 5 1
}
test_case "a tier that was away for several activations" long_absence

messages()
{
	make_two
	without_slow
	refused '[0-9]+.*[0-9]+' msg evacuate 0
	msg pin 0 1 0
	msg pause
	msg resume
	msg set migration_depth 5
	msg heat 0 731 4 >/dev/null
	check_chunks 0 10 1
	deactivate
	whole_again
	check_chunks 0 20 1
	same 1 "$(info pinned)"
}
test_case "messages while degraded" messages

flushes()
{
	make_two
	without_slow
	write_chunks 0 3 2
	io sync "$dev"
	io write "$dev" at=0 len=4k seed=3 flags=fua
	io sync "$dev"
}
test_case "flush and FUA skip the missing tier" flushes

# ---- old copies

# save NAME; bring_back NAME DISK...: images of the disks
save()
{
	local disk
	for disk in meta fast slow; do
		dd if="/dev/tt_$disk" of="$tmp/$1.$disk" bs=1M iflag=direct status=none
	done
}
bring_back()
{
	local name=$1 disk
	shift
	for disk; do dd if="$tmp/$name.$disk" of="/dev/tt_$disk" bs=1M oflag=direct status=none; done
}

stale_tier()
{
	make_two
	save old
	activate
	write_chunks 10 10 2
	deactivate
	save new
	bring_back old slow
	sums=$(checksums "$meta" "$fast" "$slow")
	refused 'tier stale' dmsetup create "$set" --table "$(table_line)"
	same "$sums" "$(checksums "$meta" "$fast" "$slow")" "contents"
	# Without the tier the set can be activated; with the right copy all data is there.
	without_slow
	check_chunks 0 10 1
	deactivate
	bring_back new slow
	whole_again
	check_chunks 10 10 2
}
test_case "an old image of a tier is refused: tier stale" stale_tier

stale_metadata()
{
	make_two
	save old
	activate
	move 10 5 0
	deactivate
	save new
	bring_back old meta
	sums=$(checksums "$meta" "$fast" "$slow")
	refused 'metadata stale' dmsetup create "$set" --table "$(table_line)"
	same "$sums" "$(checksums "$meta" "$fast" "$slow")" "contents"
	bring_back new meta
	whole_again
	check_chunks 0 20 1
}
test_case "old metadata is refused: metadata stale" stale_metadata

all_old()
{
	make_two
	save old
	activate
	move 10 5 0
	deactivate
	bring_back old meta fast slow
	whole_again
	check_chunks 0 20 1
	same 10 "$(on_rank 10 10 1)"
}
test_case "the whole set of an older time is a set" all_old

# Read-only activations write no generation, so they make no copy stale.
read_only_no_bump()
{
	make_two
	save old
	features=(read_only)
	activate
	deactivate
	features=()
	bring_back old slow
	whole_again
	check_chunks 0 20 1
}
test_case "a read-only activation makes nothing stale" read_only_no_bump

run_tests
