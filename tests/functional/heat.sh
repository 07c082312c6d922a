#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Heat is saved while the set runs, and read after an activation, both in the background. A block
# of heat has 1018 chunks; a step reads or saves 64 blocks.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# make_warm CHUNKS SECONDS: a set of so many chunks, with this heat_interval
make_warm()
{
	policy=heat
	features=(paused)
	length=$(($1 * 128))
	core=(heat_interval "$2")
	disk meta 16
	disk fast 16
	disk slow $(($1 / 16 + 64))
	activate
}

# Two chunks of one block of heat, one far from it
warm=(1500 1600 19000)
heat_of() { msg heat "$1" 1 1 | awk '{ print $6 }'; }
has_heat() { [ "$(heat_of "$1")" -gt 0 ]; }

# touch_chunks CHUNK...: reads from each, far from the read before
touch_chunks()
{
	local c
	for c; do io check "$dev" at="$(at_chunk "$c")" len=4k seed=0; done
	for c; do wait_for 20 has_heat "$c"; done
}

survives_crash()
{
	local c before after
	make_warm 20000 4
	touch_chunks "${warm[@]}" "${warm[@]}"
	before=$(heat_of 19000)
	nap 6
	# Of this heat, the crash costs what is younger than the interval.
	touch_chunks 5000
	crash
	activate
	after=$(heat_of 19000)
	note "heat of a chunk: $before; after the crash: $after"
	is "before > 0 && after * 2 > before"
	for c in "${warm[@]}"; do
		has_heat "$c" || fail "the heat of chunk $c is lost"
	done
}
test_case "a crash costs no heat that is older than the interval" survives_crash

idle()
{
	local before
	make_warm 20000 1
	touch_chunks "${warm[@]}"
	quiet 3 "$meta"
	before=$(io_counts "$meta")
	nap 5
	same "$before" "$(io_counts "$meta")" "I/O of an idle set's metadata"
	# It is saved again once it is in use.
	touch_chunks 5000
	nap 3
	[ "$before" != "$(io_counts "$meta")" ] || fail "nothing was saved"
}
test_case "an idle set writes nothing" idle

# 198 blocks of heat, of which each has changed
suspend_bounded()
{
	local n reads writes
	make_warm 201000 86400
	for ((n = 500; n < 201000; n += 1018)); do
		io check "$dev" at="$(at_chunk "$n")" len=4k seed=0
	done
	wait_for 20 has_heat $((n - 1018))
	# What the first commit after an activation reads.
	msg set migration_depth 5
	quiet 1 "$meta"
	reads=$(stat_of "$meta" 0) writes=$(stat_of "$meta" 6)
	suspend
	reads=$(($(stat_of "$meta" 0) - reads)) writes=$((($(stat_of "$meta" 6) - writes) / 8))
	note "a suspend with 198 changed blocks of heat: $reads reads, $writes blocks written"
	is "reads == 0"
	is "writes >= 64 && writes < 100"
	resume
	# What was not saved is still in memory.
	has_heat 500 || fail "heat is lost"
	has_heat $((n - 1018)) || fail "heat is lost"
}
test_case "a suspend reads no heat and saves 64 blocks at most" suspend_bounded

# While the heat of a chunk is not read yet, the set gathers more and is taken down.
unread()
{
	local first=150500 second=150600
	make_warm 201000 1
	touch_chunks "$first"
	deactivate
	dmsetup create tt_late --table "0 $(sectors_of "$meta") delay $meta 0 20 $meta 0 0"
	metadata=/dev/mapper/tt_late
	activate
	same 0 "$(heat_of "$first")" "heat that is not read yet"
	touch_chunks "$second"
	same 0 "$(heat_of "$first")" "heat that is not read yet"
	deactivate
	remove tt_late
	metadata=$meta
	activate
	wait_for 20 has_heat "$first"
	same 0 "$(heat_of "$second")" "heat of a block that was not read"
}
test_case "heat that is not read yet is not written over" unread

# Accesses count that come before the heat of their chunk is read.
merged()
{
	local hot=150500 before after
	make_warm 201000 1
	touch_chunks "$hot" 100 "$hot" 100 "$hot"
	before=$(heat_of "$hot")
	deactivate
	dmsetup create tt_late --table "0 $(sectors_of "$meta") delay $meta 0 20 $meta 0 0"
	metadata=/dev/mapper/tt_late
	activate
	touch_chunks "$hot"
	after=$(heat_of "$hot")
	is "after < before"
	wait_for 30 hotter "$hot" "$before"
	note "heat: $before; of an access before the rest was read: $after; then $(heat_of "$hot")"
	deactivate
	remove tt_late
}
hotter() { [ "$(heat_of "$1")" -gt "$2" ]; }
test_case "accesses before heat is read add to it" merged

run_tests
