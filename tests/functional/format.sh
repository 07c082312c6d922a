#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What came to the format after sets were in use: sets of before go on, and what is new is kept.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need xz base64

bin=$here/../../userspace

# text_of NUMBER: 64 KiB
text_of()
{
	local text i
	printf -v text 'chunk %-9d\n' "$1"
	for i in {1..12}; do text+=$text; done
	printf %s "$text"
}

# has_text NUMBER: the chunk of that number has it
has_text()
{
	text_of "$1" | cmp - <(dd if="$dev" bs=64k skip="$1" count=1 iflag=direct status=none) ||
		fail "chunk $1 has changed"
}

# dumped ATTRIBUTE: its first value in the dump of the metadata; "" for none
dumped() { "$bin/tier_dump" "$metadata" | sed -n "s/.* $1=\"\([^\"]*\)\".*/\1/p" | head -n 1; }

# The devices of a set, one after the other, as they were before there was room before the places,
# an owner and wear: 2 MiB of metadata, tiers of 3 and 4 MiB, chunks of 64 KiB. Chunk n has the
# text of n; those that end with 9 are not mapped; 3 and 4 are pinned to the second tier.
old_set()
{
	local n
	disk meta 2
	disk fast 3
	disk slow 4
	base64 -d "$here/format-1.b64" | xz -dc >"$tmp/set"
	dd if="$tmp/set" of="$meta" bs=1M count=2 status=none conv=fsync
	dd if="$tmp/set" of="$fast" bs=1M skip=2 count=3 status=none conv=fsync
	dd if="$tmp/set" of="$slow" bs=1M skip=5 status=none conv=fsync
	"$bin/tier_check" -q "$meta" --tiers "$fast" "$slow" || fail "tier_check does not know it"
	length=$((60 * chunk))
	activate
	same "54 2" "$(info mapped) $(info pinned)" "mapped and pinned chunks"
	for n in {0..59}; do
		if [ $((n % 10)) = 9 ]; then check_chunks "$n" 1 0; continue; fi
		has_text "$n"
	done
	# It goes on as any other.
	write_chunks 5 10 1
	move 0 3 1
	move 50 1 1
	tiers=("$slow" "$fast")
	reload
	deactivate
	"$bin/tier_check" -q "$meta" --tiers "$fast" "$slow" || fail "tier_check finds damage"
	same "  " "$(dumped incompat) $(dumped owner_machine) $(dumped wear)" "what nobody has asked for"
	activate
	check_chunks 5 10 1
	has_text 50
}
test_case "a set of before the additions" old_set

# changed_metadata SED-SCRIPT: makes a set with 600 chunks, changes its dump, restores that to
# another device
changed_metadata()
{
	make_disks
	disk meta2 4
	length=$((600 * chunk))
	activate
	write_chunks 0 100 1
	deactivate
	"$bin/tier_dump" "$meta" | sed -E "$1" >"$tmp/dump"
	metadata=${meta}2
	"$bin/tier_restore" -q -i "$tmp/dump" -o "$metadata"
}

# The slow tier's places begin at 5 MiB; 4 MiB behind the label area belong to somebody else.
room()
{
	changed_metadata '/<set /s/ compat_ro="0"/& incompat="256"/
		/<tier id="1"/{s/first_place="16"/first_place="80"/;s/places="496"/places="432"/}'
	io write "$slow" at=1m len=4m seed=9
	"$bin/tier_check" "$metadata" --tiers "$fast" "$slow" >"$tmp/said" 2>&1 && fail "its label is not compared"
	matches 'says that places begin at sector 2048, the metadata 10240' "$(<"$tmp/said")"
	activate
	check_chunks 0 100 1
	write_chunks 0 600 2
	check_chunks 0 600 2
	is "$(info used0) + $(info used1) == 600"
	same 432 "$(info places1)" "places"
	# A label is written.
	tiers=("$slow" "$fast")
	reload
	same 1 "$(info id0)" "the first tier's id"
	discard_chunks 0 400
	move 400 200 1
	move 400 200 0
	write_chunks 0 400 3
	check_chunks 0 400 3
	check_chunks 400 200 2
	deactivate
	"$bin/tier_check" -q "$metadata" --tiers "$fast" "$slow" || fail "tier_check finds damage"
	same 256 "$(dumped incompat)" "the feature in the dump"
	io check "$slow" at=1m len=4m seed=9
	features=(read_only)
	activate
	check_chunks 0 400 3
}
test_case "places that begin later than behind the label area" room

owner()
{
	local trans machine=0123456789abcdef0123456789abcdef boot=fedcba9876543210fedcba9876543210
	changed_metadata "/<set /{s/ compat=\"0\"/ compat=\"1\"/
		s/trans_id=\"([0-9]+)\".* compat_ro=\"0\"/& owner_machine=\"$machine\" owner_boot=\"$boot\" owner_time=\"1800000000\" owner_trans_id=\"\1\"/}
		/<tier id=\"0\"/s/last_seen=\"[a-z_]*\"/& wear=\"12345\" latency=\"8000\" watermark=\"7\" quiet=\"900\" residence=\"3600\"/
		/<tier id=\"0\"/s/landing=\"1\"/landing=\"3\"/"
	same "12345 8000 7 900 3600 3" "$(dumped wear) $(dumped latency) $(dumped watermark) $(dumped quiet) $(dumped residence) $(dumped landing)" "wear and latency"
	trans=$(dumped trans_id)
	activate
	write_chunks 100 100 1
	io sync "$dev"
	write_chunks 200 10 1
	msg pin 1 1 1
	tiers=("$slow" "$fast")
	reload
	deactivate
	is "$(dumped trans_id) > $trans"
	same "$(dumped trans_id)" "$(dumped owner_trans_id)" "the owner's transaction"
	same "$machine $boot 1800000000" "$(dumped owner_machine) $(dumped owner_boot) $(dumped owner_time)" "the owner"
	same "12345 8000 7 900 3600 3" "$(dumped wear) $(dumped latency) $(dumped watermark) $(dumped quiet) $(dumped residence) $(dumped landing)" "wear and latency"
	"$bin/tier_check" -q "$metadata" || fail "tier_check finds damage"
	"$bin/tier_repair" -q -i "$metadata" -o "$meta" || fail "tier_repair"
	metadata=$meta
	same "$machine" "$(dumped owner_machine)" "the owner after a repair"
	same "12345 8000 7 900 3600 3" "$(dumped wear) $(dumped latency) $(dumped watermark) $(dumped quiet) $(dumped residence) $(dumped landing)" "wear and latency after a repair"
}
test_case "owner, wear and latency are kept" owner

run_tests
