#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is written to a tier, counted and kept: the message wear, and what tierctl makes of it. The
# record of a tier counts in units of 64 MiB.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
need python3 dd blkdiscard

unit=131072	# sectors

# wear RANK FIELD: 1 written, 2 used, 3 allowed, 4 left
wear() { msg wear | awk -v rank="$1" -v field="$2" '$1 == rank { print $(field + 1) }'; }

# wrote SECTORS COMMAND...: as much is written to tier 0 by the command
wrote()
{
	local before want=$1
	before=$(wear 0 1)
	shift
	"$@"
	same "$want" $(($(wear 0 1) - before)) "sectors written by: $*"
}

synced()
{
	"$@"
	sync "$dev"
}

# moved FIRST COUNT RANK
moved()
{
	msg migrate "$@"
	wait_for 20 all_on_rank "$@"
	wait_for 10 settled
}

counts()
{
	local offset
	make_set
	same "0 0" "$(wear 0 1) $(wear 1 1)" "of a new set"
	wrote 1280 synced write_chunks 0 10 1
	wrote 640 synced write_chunks 0 5 2
	# The rest of a new chunk is zeroed.
	offset=$(at_chunk 20)
	wrote 128 synced dd if=/dev/zero of="$dev" bs=4k count=1 oflag=direct,seek_bytes seek="$offset" status=none
	wrote 0 sync "$dev"
	wrote 0 check_chunks 0 5 2
	wrote 0 blkdiscard -o $((offset + 4096)) -l 8192 "$dev"
	wrote 0 blkdiscard -o "$offset" -l 65536 "$dev"
	wrote 0 moved 0 10 1
	same 1280 "$(wear 1 1)" "sectors written to the other tier by moves"
	wrote 640 moved 0 5 0
	same "0 0 0" "$(wear 0 2) $(wear 0 3) $(wear 0 4)" "without endurance"
}
test_case "each write to a tier counts once" counts

# overwrite TIMES: 16 MiB of tier 0, each time
overwrite()
{
	local i
	for ((i = 0; i < $1; i++)); do
		dd if=/dev/zero of="$dev" bs=1M count=16 oflag=direct status=none
	done
}

make_large()
{
	disk meta 4
	disk fast 64
	disk slow 32
	core=(heat_interval 1)
	activate
	write_chunks 0 256 1
	sync "$dev"
}

# near SECTORS: tier 0 says so much, give or take half a unit
near()
{
	local found
	found=$(wear 0 1)
	note "$1 sectors written, $found counted"
	is "found - $1 <= unit / 2 && $1 - found <= unit / 2"
}

kept()
{
	local before image=$tmp/image
	make_large
	overwrite 9
	before=$(wear 0 1)
	same $((10 * 32768)) "$before" "sectors written"
	deactivate
	activate
	near "$before"
	before=$(wear 0 1)
	same 0 $((before % unit)) "what is left of a unit"
	suspend
	resume
	same "$before" "$(wear 0 1)" "over a suspend"

	# A crash: the metadata is as it is now. Nothing but overwrites, and no policy.
	overwrite 8
	before=$(wear 0 1)
	quiet 3 "$meta"
	dd if="$meta" of="$image" bs=1M iflag=direct status=none
	deactivate
	dd if="$image" of="$meta" bs=1M oflag=direct status=none
	activate
	near "$before"
	# A table with other tunables.
	before=$(wear 0 1)
	overwrite 1
	core=(heat_interval 2)
	reload
	same $((before + 32768)) "$(wear 0 1)" "over a reload"
}
test_case "wear outlives removals and, but for the last seconds, crashes" kept

# differs TEXT COMMAND...
differs() { [ "$("${@:2}")" != "$1" ]; }

idle()
{
	local before
	make_large
	overwrite 5
	quiet 3 "$meta"
	before=$(io_counts "$meta" "$fast")
	nap 4
	same "$before" "$(io_counts "$meta" "$fast")" "I/O of an idle set"
	before=$(io_counts "$meta")
	overwrite 5
	wait_for 20 differs "$before" io_counts "$meta"
}
test_case "an idle set enters nothing" idle

shown()
{
	make_large
	msg set tier0.endurance 1
	overwrite 16
	ctl_code 0 status -v "$set"
	matches 'written +tier 0: 272 MiB since it joined; 256 MiB of the 102 MiB that its endurance allowed, 0\.1[45] days until' \
		"$output"
	matches 'written +tier 1: 0 B since it joined'$'\n' "$output"
	ctl_code 0 status "$set"
	[[ $output != *'since it joined'* ]] || fail "shown without -v: $output"
	same "285212672 268435456 null" "$(json '.sets[0].tiers | "\(.[0].written_bytes) \(.[0].endurance_used_bytes) \(.[1].endurance_left_days)"' status "$set")"
	matches '^-0\.1[45]' "$(json '.sets[0].tiers[0].endurance_left_days' status "$set")"
	"$here/check-json.py" "$here/../../userspace/schema" "$reports"/*
	ctl_code 0 metrics "$set"
	matches 'dm_tier_tier_written_bytes_total\{set="tt_set",tier="0",[^}]*\} 285212672' "$output"
	matches 'dm_tier_tier_endurance_left_seconds\{set="tt_set",tier="0",[^}]*\} -1[23][0-9]{3}\.' "$output"
}
test_case "tierctl shows what was written and what endurance leaves" shown

run_tests
