#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
#
# One tier that takes seconds for each I/O, or does not answer at all: reads,
# writes, first writes and migrations of the others go on.  The latencies are
# measured and bounded; the tiers' queues have room (tests/functional is about
# those that have none).

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=lib-faults.sh
. "$(dirname "$0")/lib-faults.sh"

# For an I/O that has nothing to do with the slow tier, and the start of the process that
# asks for it: less than any I/O of that tier takes.
slow_ms=20000
limit_ms=10000
n=5			# of each kind
c=$third

# Chunks 0-39 on a, 40-79 on b, which will be slow, 80-119 on the third.
make_three()
{
	disk meta 4 cache_size=2
	disk fast 16 cache_size=4
	disk slow 32 cache_size=4
	disk third 32 cache_size=4
	wrap b "$(tier_table good "$slow")"
	tiers=("$fast" "$b" "$c")
	core=(migration_bandwidth 0 migration_depth 8)
	activate
	write_chunks 0 120 1 block=1m
	move 40 40 1
	move 80 40 2
	io sync "$dev"
}

# worst WHAT COUNT COMMAND...: runs it so many times, with N set to 0, 1...;
# prints the longest and bounds it
worst()
{
	local what=$1 count=$2 us longest=0 N start
	shift 2
	for ((N = 0; N < count; N++)); do
		start=$EPOCHREALTIME
		"$@" "$N"
		us=$((${EPOCHREALTIME/./} - ${start/./}))
		longest=$((us > longest ? us : longest))
	done
	note "$what: at most $((longest / 1000)) ms"
	[ $((longest / 1000)) -lt "$limit_ms" ] || fail "$what took $((longest / 1000)) ms"
}
read_one() { check_chunks $(($1 % 20)) 1 1; }
read_third() { check_chunks $((80 + $1)) 1 1; }
write_one() { write_chunks $((20 + $1)) 1 2; }
# FUA and no more: the FLUSH after an O_DSYNC write is one of all tiers.
write_fua() { write_chunks $((100 + $1)) 1 2 flags=fua_alone; }
first_one() { write_chunks $((200 + $1)) 1 2; }
discard_one() { discard_chunks $((20 + $1)) 1; }

others_go_on()
{
	local start
	worst "reads of the fast tier" "$n" read_one
	worst "reads of the third" "$n" read_third
	worst "overwrites" $((2 * n)) write_one
	worst "FUA writes" "$n" write_fua
	worst "first writes" "$n" first_one
	start=$EPOCHREALTIME
	msg migrate 0 10 2
	wait_for 15 all_on_rank 0 10 2
	msg migrate 0 10 0
	wait_for 15 all_on_rank 0 10 0
	note "20 migrations between the others: $(since "$start") s"
	check_chunks 0 10 1
	worst "discards" "$n" discard_one
}

all_data()
{
	check_chunks 0 20 1
	check_chunks 20 "$n" 0
	check_chunks $((20 + n)) "$n" 2
	check_chunks $((20 + 2 * n)) $((80 - 2 * n)) 1
	check_chunks 100 "$n" 2
	check_chunks $((100 + n)) $((20 - n)) 1
	check_chunks 200 "$n" 2
}

# Each I/O of the tier takes its time, while that tier is read, written and migrated.
slow()
{
	local start
	make_three
	swap b "$(tier_table "$slow_ms" "$slow")"
	background io check "$dev" at="$(at_chunk 40)" len="$(at_chunk 20)" seed=1
	start=$EPOCHREALTIME
	check_chunks 60 1 1
	note "a read of the slow tier: $(since "$start") s"
	msg migrate 60 4 0
	msg migrate 30 4 1
	others_go_on
	swap b "$(tier_table good "$slow")"
	wait_for 60 settled
	io sync "$dev"
	all_data
	deactivate
	activate
	all_data
}
test_case "a tier that takes 20 s for each I/O" slow

# A dm device below that is suspended: what is sent there waits.
hung()
{
	make_three
	dmsetup suspend --noflush --nolockfs tt_b
	later check_chunks 60 4 1
	background io write "$dev" at="$(at_chunk 70)" len="$(at_chunk 4)" seed=1
	# More migrations than the depth, from and to the tier that hangs.
	msg migrate 60 10 0
	msg migrate 30 10 1
	nap 6
	others_go_on
	still_waiting "a read of the tier that hangs"
	same rw "$(info mode)" "mode"
	same A "$(info state1)" "state of the tier that hangs"
	dmsetup resume tt_b
	same 0 "$(later_status)" "the read that waited"
	wait_for 60 all_on_rank 60 10 0
	wait_for 60 all_on_rank 30 10 1
	wait_for 60 settled
	io sync "$dev"
	all_data
	same 0 "$(info failed)" "failed migrations"
}
test_case "a tier that hangs" hung

# It comes back with errors instead.
hung_then_lost()
{
	make_three
	dmsetup suspend --noflush --nolockfs tt_b
	later check_chunks 60 1 1
	msg migrate 60 4 0
	nap 1
	dmsetup load tt_b --table "$(tier_table all "$slow")"
	dmsetup resume tt_b
	same 5 "$(later_status)" "the read that waited"
	wait_for 30 settled
	same F "$(info state1)" "state"
	same 40 "$(on_rank 40 40 1)" "chunks on the tier that is lost"
	others_go_on
	swap b "$(tier_table good "$slow")"
	msg admit 1
	all_data
}
test_case "a tier that hangs and then fails" hung_then_lost

run_tests
