#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# long
#
# tier_check, tier_dump, tier_restore, tier_repair and tier_metadata_size on
# metadata that the kernel wrote, and the kernel on metadata that they wrote.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-reshape.sh
. "$(dirname "$0")/lib-reshape.sh"

bin=$(dirname "$tierctl")
tools=(tier_check tier_dump tier_restore tier_repair tier_metadata_size)
for tool in "${tools[@]}"; do
	[ -x "$bin/$tool" ] || skip_all "$tool is not built"
done

# tool CODE NAME ARGUMENT...: the tool exits with CODE; $output and $errors are its output
tool()
{
	local want=$1 rc=0
	shift
	output=$("$bin/$1" "${@:2}" 2>"$tmp/stderr" </dev/null) || rc=$?
	errors=$(<"$tmp/stderr")
	[ "$rc" = "$want" ] || fail "$*: exit status $rc instead of $want: $output $errors"
}

# complains NAME REGEX ARGUMENT...: the tool fails with one line on stderr, and nothing on stdout
complains()
{
	tool 1 "$1" "${@:3}"
	same "" "$output" "stdout of $1"
	same 1 "$(wc -l <"$tmp/stderr")" "lines on stderr ($errors); number"
	matches "^$1: " "$errors" message
	matches "$2" "$errors" "message of $1"
}

good() { tool 0 tier_check -q -i "$1" --tiers "${tiers[@]}"; }

# number DEVICE BYTE: 64 bits of metadata, past the page cache
number()
{
	dd if="$1" bs=4096 skip=$(($2 / 4096)) count=1 iflag=direct status=none |
		od -An -tu8 -j $(($2 % 4096)) -N 8 | tr -d ' '
}

# spoil DEVICE BLOCK: flips one bit
spoil()
{
	dd if="$1" of="$tmp/block" bs=4096 skip="$2" count=1 iflag=direct status=none
	printf '\x5a\xa5' | dd of="$tmp/block" bs=1 seek=2000 conv=notrunc status=none
	dd if="$tmp/block" of="$1" bs=4096 seek="$2" oflag=direct conv=notrunc status=none
}

# Everything a set can have: chunks on both tiers, pins, holes, tunables, a pause.
used_set()
{
	make_set
	write_chunks 0 100 1
	write_chunks 520 100 2
	move 10 20 1
	msg pin 40 8 1
	msg pin 700 4 0
	wait_for 30 all_on_rank 40 8 1
	discard_chunks 60 5
	msg set migration_bandwidth 12345
	msg set tier1.reserve 7
	msg pause
}

data_is_there()
{
	check_chunks 0 60 1
	check_chunks 65 35 1
	check_chunks 520 100 2
}

after_use()
{
	used_set
	deactivate
	good "$meta"
	tool 0 tier_check -i "$meta" --tiers "$slow" "$fast"
	matches 'nothing is wrong' "$output"
}
test_case "metadata is good after use" after_use

after_power_loss()
{
	disk meta 4 cache_size=4
	disk fast 16 cache_size=16
	disk slow 32 cache_size=16
	activate
	write_chunks 0 60 1
	io sync "$dev"
	msg migrate 0 60 1
	background io write "$dev" at="$(at_chunk 100)" len="$(at_chunk 300)" seed=2
	nap 0.5
	cut_power "$meta" "$fast" "$slow"
	wait "$last_pid" || true
	remove "$set"
	good "$meta"
	activate
	check_chunks 0 60 1
	deactivate
	good "$meta"
}
test_case "metadata is good after a power loss" after_power_loss

live_refused()
{
	used_set
	complains tier_check 'is in use' -i "$meta"
	complains tier_dump 'is in use' -i "$meta"
	complains tier_repair 'is in use' -i "$meta" -o "$tmp/new"
	[ ! -e "$tmp/new" ] || fail "tier_repair left an output"
	msg reserve_metadata_snap
	tool 0 tier_dump -m -i "$meta" -o "$tmp/dump"
	complains tier_restore 'is in use' -i "$tmp/dump" -o "$meta"
	msg release_metadata_snap
}
test_case "live metadata is refused" live_refused

live_dump()
{
	used_set
	complains tier_dump 'holds no metadata snapshot' -m -i "$meta"
	msg reserve_metadata_snap
	tool 0 tier_dump -m -i "$meta" -o "$tmp/before"
	write_chunks 200 50 3
	move 0 10 1
	tool 0 tier_check -m -i "$meta"
	tool 0 tier_dump -m -i "$meta" -o "$tmp/after"
	cmp "$tmp/before" "$tmp/after"
	# With the snapshot in place all reference counts are right, too.
	deactivate
	good "$meta"
	activate
	msg release_metadata_snap
	deactivate
	good "$meta"
	ctl dump "$meta" -o "$tmp/late" -q
	! cmp -s "$tmp/before" "$tmp/late" || fail "the snapshot followed the set"
}
test_case "a live set is dumped by its metadata snapshot" live_dump

# A snapshot that somebody left shows an old state; each command that uses it says so.
stale_snapshot()
{
	used_set
	ctl_code 0 status "$set"
	ctl_code 0 check --dry-run "$set"
	matches "^Would tell $set: reserve_metadata_snap" "$output"
	same "" "$errors" "errors"
	{ sleep 1; ctl dump "$set" 2>/dev/null; } | true || true
	same - "$(info held)" "metadata snapshot after a dump that nobody read"
	ctl_code 0 dump "$set" -o "$tmp/before"
	same "" "$errors" "errors"
	msg reserve_metadata_snap
	write_chunks 200 50 3
	cp "$tmp/before" "$tmp/kept"
	ctl_code 1 dump -q "$set" -o "$tmp/before"
	cmp "$tmp/before" "$tmp/kept"
	one_line "$set: a metadata snapshot is held already.*: dmsetup message $set 0 release_metadata_snap.*--force"
	ctl_code 0 dump --force "$set" -o "$tmp/stale"
	matches "$set: a metadata snapshot was there already.* transaction [0-9]+\..*release_metadata_snap" "$errors"
	ctl_code 0 check "$set"
	matches "was there already" "$errors"
	ctl_code 3 status "$set"
	matches "metadata snapshot is held.*: dmsetup message $set 0 release_metadata_snap" "$output"
	same metadata_snapshot "$(json '.sets[0].attention[].code' status "$set")"
	msg release_metadata_snap
	ctl_code 0 status "$set"
	ctl_code 0 dump "$set" -o "$tmp/after"
	same "" "$errors" "errors"
	! cmp -s "$tmp/stale" "$tmp/after" || fail "the dump is of the past"
}
test_case "a metadata snapshot that was left behind" stale_snapshot

# restored FORMAT: restores a dump to another device; the set works there as before
restored()
{
	used_set
	deactivate
	tool 0 tier_dump --format "$1" -i "$meta" -o "$tmp/dump"
	disk meta2 8
	tool 0 tier_restore -i "$tmp/dump" -o "$meta2"
	good "$meta2"
	tool 0 tier_dump --format "$1" -i "$meta2" -o "$tmp/again"
	cmp "$tmp/dump" "$tmp/again"

	metadata=$meta2
	activate
	status
	same "rw - paused" "${S[mode]} ${S[check]} ${S[running]}"
	same 12345 "${V[migration_bandwidth]}"
	same 7 "${V[tier1.reserve]}"
	same 12 "${S[pinned]}"
	data_is_there
	# Changes of every kind work, too.
	write_chunks 300 100 5
	move 300 100 1
	discard_chunks 310 10
	msg reserve_metadata_snap
	write_chunks 640 80 6
	msg release_metadata_snap
	data_is_there
	check_chunks 640 80 6
	deactivate
	good "$meta2"
}
test_case "a set lives on from a dump in XML" restored xml
test_case "a set lives on from a dump in JSON" restored json

repaired_leaf()
{
	local leaf block before
	used_set
	deactivate
	# The array of 731 entries has a leaf as its root; its second block holds 509 to 730.
	leaf=$(number "$meta" 192)
	block=$(number "$meta" $((leaf * 4096 + 32 + 252 * 8 + 8)))
	spoil "$meta" "$block"
	damaged
	before=$(checksums "$meta")
	complains tier_check 'mapping: chunks 509 to 730: ' -i "$meta"
	tool 1 tier_dump -i "$meta"
	disk meta2 8
	complains tier_repair 'is the input' -q -i "$meta" -o "$meta"
	tool 0 tier_repair -i "$meta" -o "$meta2"
	matches 'mapping: chunks 509 to 730: ' "$output" "what is lost"
	same "$before" "$(checksums "$meta")" "the input"
	good "$meta2"
	tool 0 tier_dump -i "$meta2" -o "$tmp/one"
	# Once more, with the same result.
	tool 0 tier_repair -q -i "$meta" -o "$meta2"
	same "" "$output"
	tool 0 tier_dump -i "$meta2" -o "$tmp/two"
	cmp "$tmp/one" "$tmp/two"

	metadata=$meta2
	activate
	check_chunks 0 60 1
	check_chunks 65 35 1
	same 12345 "$(status; echo "${V[migration_bandwidth]}")"
	write_chunks 520 100 7
	check_chunks 520 100 7
	deactivate
	good "$meta2"
}
test_case "damaged mapping: the rest is saved" repaired_leaf

repaired_tiers()
{
	used_set
	deactivate
	spoil "$meta" "$(number "$meta" 208)"
	damaged
	disk meta2 8
	complains tier_repair 'tiers' -q -i "$meta" -o "$meta2"
	complains tier_check 'is blank' -i "$meta2"
	# The records are made of the labels.
	unchanged "$fast" "$slow" -- ctl_code 1 destroy -y "$fast" "$slow"
	matches "$fast: is a tier of .*, whose metadata cannot be read.*--force" "$errors"
	matches "$slow: is a tier of .*, whose metadata cannot be read.*--force" "$errors"
	tool 0 tier_repair -i "$meta" -o "$meta2" --tiers "$fast" "$slow"
	good "$meta2"
	metadata=$meta2
	activate
	data_is_there
}
test_case "damaged records of tiers: made anew from the labels" repaired_tiers

# A tier that was not named is not given up silently, however much room there is.
forgotten_tier()
{
	make_disks
	disk third 32
	tiers+=("$third")
	length=$((300 * 128))
	activate
	write_chunks 0 60 1
	move 10 5 2
	io sync "$dev"
	deactivate
	spoil "$meta" "$(number "$meta" 208)"
	damaged
	disk meta2 8
	complains tier_repair 'chunk 10, .* tier with id 2, .* not named' -q -i "$meta" -o "$meta2" \
		--tiers "$fast" "$slow"
	complains tier_check 'is blank' -i "$meta2"
	ctl_code 1 repair -qy "$meta" "$meta2" --tiers "$fast" "$slow"
	one_line 'name all tiers'
	# --force alone is not enough, as it could also mean the contents of the other device.
	ctl_code 1 repair -q --force "$meta" "$meta2" --tiers "$fast" "$slow"
	one_line "$meta: give up 5 chunks on tiers that are not named\?"
	complains tier_check 'is blank' -i "$meta2"
	ctl_code 0 repair -y --force "$meta" "$meta2" --tiers "$fast" "$slow"
	matches 'chunks 10 to 14: mapped to tier id 2, which is not there' "$output"
	tool 0 tier_repair -f -i "$meta" -o "$meta2" --tiers "$fast" "$slow"
	matches 'chunks 10 to 14: mapped to tier id 2, which is not there' "$output"
	tool 0 tier_repair -i "$meta" -o "$meta2" --tiers "$fast" "$slow" "$third"
	good "$meta2"
	metadata=$meta2
	activate
	check_chunks 0 60 1
}
test_case "damaged records of tiers: one that is not named" forgotten_tier

stale_labels()
{
	make_set
	deactivate
	dd if="$meta" of="$tmp/old" bs=1M iflag=direct status=none
	activate
	deactivate
	good "$meta"
	tool 1 tier_check -i "$tmp/old" --tiers "$fast" "$slow"
	matches 'metadata stale' "$errors"
	dd if=/dev/zero of="$slow" bs=8k count=1 oflag=direct status=none
	complains tier_check 'blank' -i "$meta" --tiers "$fast" "$slow"
}
test_case "labels and metadata of different times" stale_labels

# Minor damage: the space map counts one reference more to the superblock than there is.
lose_space()
{
	local index byte bits
	damaged
	index=$(number "$meta" 80)
	byte=$(($(number "$meta" $((index * 4096 + 16))) * 4096 + 16))
	bits=$(($(number "$meta" "$byte") & 255))
	same 2 $((bits & 3)) "bits of the superblock, the higher one last"
	patch "$meta" "$byte" "$(printf %o $((bits ^ 3)))" 4096 0x3ac8b
}
lost='space map: blocks 0 to 0 have count 2, but are referenced 1 times; space is lost'

flag_is_set() { [ "$(info check)" = needs_check ]; }

# An inactive set whose last commit failed: only the superblock could be written, and everything
# could be read, so needs_check is recorded.
make_flagged()
{
	disk meta 4
	disk fast 16
	disk slow 32
	wrap up "0 8192 linear $meta 0"
	metadata=/dev/mapper/tt_up
	activate
	write_chunks 0 20 1
	io sync "$dev"
	printf '0 8 linear %s 0\n8 8184 flakey %s 8 0 1 1 error_writes\n' "$meta" "$meta" |
		dmsetup load tt_up
	dmsetup suspend tt_up
	dmsetup resume tt_up
	write_chunks 30 1 2 || true
	io sync "$dev" || true
	wait_for 10 flag_is_set
	remove "$set" tt_up
	metadata=$meta
}

needs_check()
{
	make_flagged
	activate
	same "ro needs_check" "$(status; echo "${S[mode]} ${S[check]}")"
	deactivate

	complains tier_check 'whole check' -i "$meta" --skip-mappings --clear-needs-check-flag
	tool 0 tier_check -i "$meta"
	matches 'needs_check is set' "$output"
	tool 0 tier_check -i "$meta" --clear-needs-check-flag
	activate
	same "rw -" "$(status; echo "${S[mode]} ${S[check]}")"
	check_chunks 0 20 1
}
test_case "needs_check, until a check has passed" needs_check

# attention CODES: the codes in tierctl status, all of them
attention() { same "$1" "$(json '[.sets[0].attention[].code] | join(" ")' status "$set")" "attention"; }

cleared_by_activation()
{
	make_flagged
	attention needs_check
	# The metadata was not checked, so the kernel does not write.
	ctl_code 0 activate --no-check "$set"
	same "$set: active as $dev." "$output"
	same "ro needs_check" "$(status; echo "${S[mode]} ${S[check]}")"
	attention "needs_check read_only"
	ctl_code 0 deactivate "$set"

	ctl_code 0 activate "$set"
	matches "^$set: the flag needs_check was set; nothing is wrong, it is cleared\." "$output"
	same "rw -" "$(status; echo "${S[mode]} ${S[check]}")"
	ctl_code 0 status "$set"
	check_chunks 0 20 1
	write_chunks 30 1 2
	io sync "$dev"
	deactivate
	good "$meta"
}
test_case "an activation clears needs_check if nothing is wrong" cleared_by_activation

# The flag means that a check is due; a check that finds anything, however minor, has not passed.
kept_by_activation()
{
	make_flagged
	lose_space
	unchanged "$meta" "$fast" "$slow" -- ctl_code 3 check "$set"
	matches "$lost" "$errors"
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 activate "$set"
	one_line "^tierctl: $set: the flag needs_check is set and cannot be cleared: $lost\. what is wrong: tierctl check $set; to have it mended: tierctl repair $set dev; to read only: tierctl activate --read-only $set$"
	[ ! -b "$dev" ] || fail "it was activated"
	attention needs_check
	unchanged "$meta" "$fast" "$slow" -- ctl_code 0 activate --read-only "$set"
	check_chunks 0 20 1
	ctl_code 0 deactivate "$set"

	disk meta2 4
	ctl_code 0 repair -y "$set" "$meta2"
	dd if=/dev/zero of="$meta" bs=4096 count=1 oflag=direct status=none
	ctl_code 0 activate "$set"
	metadata=$meta2
	same "rw -" "$(status; echo "${S[mode]} ${S[check]}")"
	check_chunks 0 20 1
	deactivate
	good "$meta2"
}
test_case "it is refused with the flag if lost space is all that is wrong" kept_by_activation

lost_space()
{
	make_set
	write_chunks 0 20 1
	deactivate
	lose_space
	ctl_code 3 check "$set"
	matches "$lost" "$errors"
	ctl_code 0 activate "$set"
	same "" "$errors" "errors"
	same "rw -" "$(status; echo "${S[mode]} ${S[check]}")"
	check_chunks 0 20 1
}
test_case "lost space alone is no obstacle" lost_space

# An error that a check finds and the kernel does not look for.
unchecked()
{
	make_set
	write_chunks 0 20 1
	deactivate
	damaged
	patch "$meta" 4000 132 4096 0x7e12a5c3
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 activate "$set"
	one_line "^tierctl: $set: its metadata is damaged: superblock: not zero after byte [0-9]+\. what is wrong: tierctl check"
	[ ! -b "$dev" ] || fail "it was activated"
	ctl_code 0 activate --no-check "$set"
	same "" "$errors" "errors"
	same "rw -" "$(status; echo "${S[mode]} ${S[check]}")"
	check_chunks 0 20 1
}
test_case "activate --no-check does not check" unchecked

no_flag_for_the_damaged()
{
	used_set
	deactivate
	spoil "$meta" "$(number "$meta" 200)"
	unchanged "$meta" -- tool 1 tier_check -i "$meta" --clear-needs-check-flag
	unchanged "$meta" "$fast" "$slow" -- ctl_code 3 check "$set"
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 activate "$set"
	matches 'metadata is damaged' "$errors"
	[ ! -b "$dev" ] || fail "it was activated"
	damaged
}
test_case "damaged metadata is not activated" no_flag_for_the_damaged

by_tierctl()
{
	used_set
	ctl_code 0 check "$set"
	ctl_code 0 dump "$set" -o "$tmp/live"
	same - "$(info held)" "metadata snapshot"
	deactivate
	ctl_code 0 check "$set"
	ctl_code 0 dump "$set" -o "$tmp/dump"
	disk meta2 8
	# The set would have metadata on two devices.
	unchanged "$meta" "$meta2" -- ctl_code 1 restore "$tmp/dump" "$meta2"
	one_line "$set: its metadata is on $meta; with two"
	ctl_code 0 activate "$set"
	unchanged "$meta2" -- ctl_code 1 restore --force "$tmp/dump" "$meta2"
	one_line "$set: is active"
	ctl_code 0 deactivate "$set"
	ctl_code 0 dump "$set" -o "$tmp/dump"
	ctl_code 0 restore --force "$tmp/dump" "$meta2"
	ctl_code 1 restore --force "$tmp/dump" "$meta2"
	matches 'Overwrite' "$errors"
	ctl_code 1 activate "$set"
	matches "two devices say that they are its metadata: $meta \(generation [0-9]+, transaction [0-9]+\) and $meta2 \(generation [0-9]+, transaction [0-9]+\)\. .*: tierctl destroy DEV$" "$errors"
	ctl_code 0 destroy --dry-run "$set"
	matches "metadata on $meta" "$output"
	matches "is left of it on $meta2" "$output"
	unchanged "$fast" -- ctl_code 1 repair "$meta" "$fast" -y
	one_line "$fast: carries the label of tier id 0 of the set"
	ctl_code 0 repair "$meta" "$meta2" -y
	matches "$set: $meta holds metadata of it, too: .* dd if=/dev/zero of=$meta bs=4k count=1 oflag=direct$" "$output"
	good "$meta2"
	dd if=/dev/zero of="$meta" bs=4096 count=1 oflag=direct status=none
	ctl_code 0 activate "$set"
	data_is_there
}
test_case "tierctl drives them" by_tierctl

# Damage has changed the state: the labels and the data decide.
wrong_state()
{
	local named
	used_set
	deactivate
	ctl dump "$set" -o "$tmp/dump"
	sed 's/state="live"/state="retired" home="7"/' "$tmp/dump" >"$tmp/retired"
	ctl_code 0 restore -y "$tmp/retired" "$meta"
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 activate "$set"
	matches "$set: says of itself that it went back to one device.* state \"live\"" "$errors"
	unchanged "$meta" "$fast" "$slow" -- ctl activate --auto
	# Nor if a tier appears late.
	echo 0 >"$configfs/${slow#/dev/}/power"
	unchanged "$meta" "$fast" -- ctl activate --auto
	echo 1 >"$configfs/${slow#/dev/}/power"
	wait_for 10 test -b "$slow"
	sed -i 's/home="7"/home="0"/' "$tmp/retired"
	ctl_code 0 restore -y "$tmp/retired" "$meta"
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 activate "$set"
	matches "$set: says of itself that it went back to $fast, but this has its label" "$errors"
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 revert -y "$set"
	matches "$set: says of itself that it went back to $fast, but this has its label" "$errors"
	echo 0 >"$configfs/${fast#/dev/}/power"
	unchanged "$meta" "$slow" -- ctl activate --auto
	unchanged "$meta" "$slow" -- ctl_code 1 activate "$set"
	one_line "$set: cannot be activated: it was taken apart, these are its remains"
	echo 1 >"$configfs/${fast#/dev/}/power"
	wait_for 10 test -b "$fast"
	dd if="$meta" of="$tmp/damaged" bs=1M iflag=direct status=none
	printf damage | dd of="$tmp/damaged" bs=1 seek=300 conv=notrunc status=none
	for named in '' "--tiers $fast $slow"; do
		rm -f "$tmp/mended"
		# shellcheck disable=SC2086	# several words
		tool 0 tier_repair -i "$tmp/damaged" -o "$tmp/mended" $named
		tool 0 tier_dump -i "$tmp/mended"
		matches 'state="live"' "$output"
	done
	ctl_code 0 restore -y "$tmp/dump" "$meta"
	ctl_code 0 activate "$set"
	same "rw -" "$(status; echo "${S[mode]} ${S[check]}")"
	data_is_there
	# In that state the device has another name, so the user has to decide.
	deactivate
	ctl dump "$set" -o "$tmp/newer"
	sed 's/state="live"/state="retired" home="0"/' "$tmp/newer" >"$tmp/retired"
	ctl_code 0 restore -y "$tmp/retired" "$meta"
	echo 0 >"$configfs/${fast#/dev/}/power"
	unchanged "$meta" "$slow" -- ctl_code 1 activate "$set"
	ctl_code 0 destroy -y "$set"
	ctl_code 1 activate "$set"
	one_line "$set: no such set"
}
test_case "metadata that says the set was taken apart, with all labels there" wrong_state

read_only_file()
{
	used_set
	deactivate
	mkdir -p "$tmp/ro"
	mount -t tmpfs none "$tmp/ro"
	cp "$meta" "$tmp/ro/meta"
	mount -o remount,ro "$tmp/ro"
	ctl_code 0 check "$tmp/ro/meta"
	matches 'nothing is wrong' "$output"
}
test_case "a file that cannot be written to is checked" read_only_file

# Outputs of restore: it asks before it overwrites a file, and distinguishes old metadata from new.
overwriting()
{
	local rc=0 command
	used_set
	deactivate
	rm -f "$tmp/old"	# it may be an image, which no dump replaces
	ctl dump "$set" -o "$tmp/old"
	activate
	write_chunks 640 5 9
	deactivate
	ctl dump "$set" -o "$tmp/newer"
	ctl_code 0 restore "$tmp/newer" "$tmp/file"
	cp "$tmp/file" "$tmp/before"
	ctl_code 1 restore "$tmp/old" "$tmp/file"
	one_line "overwrite the file .*/file \(metadata of that set, generation 2, .*nobody to ask"
	cmp "$tmp/before" "$tmp/file"
	ctl_code 0 restore -y "$tmp/old" "$tmp/file"
	# --force allows to overwrite the contents of a device, or to give up chunks; an image of
	# a tier stays.
	cp "$slow" "$tmp/tier"
	for command in "restore -f -y $tmp/newer" "repair -f -y $tmp/file" "restore -f -t $tmp/newer"; do
		# shellcheck disable=SC2086	# a command and its arguments
		ctl_code 1 $command "$tmp/tier"
		one_line "/tier: is a tier of the set \"$set\".*another device or file"
		cmp "$slow" "$tmp/tier"
	done
	rm "$tmp/tier"
	ctl_code 1 restore -y "$tmp/newer" /dev/tt_misspelt
	one_line '/dev/tt_misspelt: no such device'
	[ ! -e /dev/tt_misspelt ] || fail "it made a file in /dev"

	# A device is never taken for the file to overwrite.
	cd /dev
	unchanged "$meta" -- ctl_code 1 restore -y "$tmp/newer" "${meta##*/}"
	one_line "${meta##*/}: is a block device\. its path begins with /"
	unchanged "$meta" -- ctl_code 1 repair -y "$tmp/file" "${meta##*/}"
	one_line "${meta##*/}: is a block device\. its path begins with /"
	cd - >/dev/null

	unchanged "$meta" -- ctl_code 1 restore -y "$tmp/old" "$meta"
	one_line "$meta: carries metadata of that set, generation 2, transaction [0-9]+, which is newer than .* \(generation 1, .*--force"
	unchanged "$meta" -- ctl_code 1 repair -y "$tmp/file" "$meta"
	one_line "$meta: carries the metadata of the set .*--force"
	unchanged "$meta" -- ctl_code 1 restore "$tmp/newer" "$meta"
	one_line "overwrite $meta \(metadata of that set, generation 2, transaction [0-9]+\)\?"
	ctl_code 0 restore -y "$tmp/newer" "$meta"
	good "$meta"

	# A pipe works like a file, and its set is recognised, too.
	"$tierctl" restore -y - "$meta" < <(cat "$tmp/old") 2>"$tmp/stderr" || rc=$?
	same 1 "$rc" "exit status of an old dump from a pipe"
	matches 'is newer than -' "$(<"$tmp/stderr")"
	"$tierctl" restore -q -y - "$meta" < <(cat "$tmp/newer")
	good "$meta"
	ctl_code 0 restore -q -y <(cat "$tmp/newer") "$meta"
	good "$meta"
	activate
	disk meta2 8
	# The set is found wherever the dump names it
	{ printf '<!-- %5000s -->\n' ''; cat "$tmp/newer"; } >"$tmp/commented"
	unchanged "$meta2" -- ctl_code 1 restore -f -y "$tmp/commented" "$meta2"
	one_line "$set: is active"
	rc=0
	"$tierctl" restore -f -y - "$meta2" < <(cat "$tmp/newer") 2>"$tmp/stderr" || rc=$?
	same 1 "$rc" "exit status with the set active"
	matches 'is active' "$(<"$tmp/stderr")"
	data_is_there
}
test_case "restore asks, and tells old metadata from new" overwriting

# The restored metadata has been activated since, so only it fits the labels; a dump of the
# metadata before may have more transactions.
older_generation()
{
	local n
	used_set
	ctl dump "$set" -o "$tmp/early"
	for n in {0..9}; do
		write_chunks $((640 + n)) 1 9
		io sync "$dev"
	done
	ctl dump "$set" -o "$tmp/late"
	deactivate
	ctl restore -q -y --force "$tmp/early" "$meta"
	activate
	deactivate
	unchanged "$meta" -- ctl_code 1 restore -y "$tmp/late" "$meta"
	one_line "$meta: carries metadata of that set, generation [0-9]+, transaction [0-9]+, which is newer than .*--force"
	ctl dump "$set" -o "$tmp/now"
	ctl_code 0 restore -y "$tmp/now" "$meta"
	activate
	data_is_there
}
test_case "restore: what has been activated since is newer, whatever its transaction" older_generation

# A disk whose label cannot be read now
no_label_read()
{
	local sectors bad=/dev/mapper/tt_bad
	used_set
	ctl dump "$set" -o "$tmp/dump"
	deactivate
	sectors=$(sectors_of "$slow")
	wrap bad "0 16 error
16 $((sectors - 16)) linear $slow 16"
	unchanged "$slow" -- complains tier_restore 'so it may be a tier, with its data' -i "$tmp/dump" -o "$bad"
	unchanged "$slow" -- complains tier_repair 'so it may be a tier, with its data' -i "$meta" -o "$bad"
	remove tt_bad
	activate
	data_is_there
}
test_case "what cannot be read is not written over" no_label_read

# Two commands that share a snapshot, and do not know of each other, would read blocks that are
# reused.
no_lock()
{
	local uuid
	used_set
	uuid=$(ctl list --json | jq -r '.sets[0].uuid')
	mkdir -p "/run/dm-tier"
	rm -f "/run/dm-tier/$uuid.snapshot"
	mkdir "/run/dm-tier/$uuid.snapshot"
	ctl_code 1 dump "$set"
	one_line "$set: no lock can be had in /run/dm-tier: is a directory"
	rmdir "/run/dm-tier/$uuid.snapshot"
	ctl_code 0 dump "$set"
}
test_case "a live set is not read without a lock" no_lock

# The dump is whole; the snapshot that is left in the set is for the user to release.
snapshot_stays()
{
	modprobe dm-flakey
	make_disks
	wrap u_meta "$(linear_line meta)"
	ctl create -q "$set" -m /dev/mapper/tt_u_meta -c 64k --policy static "$fast" "$slow"
	write_chunks 0 10 1
	io sync "$dev"
	stopped snapshot-reserved dump -o "$tmp/dump" "$set"
	lower meta "0 $(sectors_of "$meta") flakey $meta 0 0 1000 1 error_writes"
	go_on 1
	same 1 "$(grep -c "$set: holds the metadata snapshot still\..*: dmsetup message $set 0 release_metadata_snap" "$tmp/stopped")" \
		"complaints ($(<"$tmp/stopped")); number"
	matches '<map chunk="0" chunks="10" .*</tier_metadata>' "$(tr -d '\n' <"$tmp/dump")"
}
test_case "a metadata snapshot that cannot be released" snapshot_stays

same_name()
{
	local command
	make_disks
	ctl create -q "$set" -m "$meta" -c 64k --policy static "$fast" "$slow"
	ctl deactivate -q "$set"
	disk meta2 4
	disk third 16
	# tierctl does not make a second snapshot.
	metadata=$meta2 tiers=("$third") length=$((100 * chunk))
	activate
	deactivate
	for command in check dump revert "destroy -y"; do
		# shellcheck disable=SC2086	# a command and its option
		unchanged "$meta" "$meta2" -- ctl_code 1 $command "$set"
		one_line "$set: two sets have this name\. name it by uuid"
	done
	# The active set is meant, but is not to be destroyed.
	activate
	ctl_code 0 check "$set"
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 destroy -y "$set"
	one_line "$set: two sets have this name\. name it by uuid: [0-9a-f]{32} \(active\) or [0-9a-f]{32}"
	ctl_code 0 destroy -y "/dev/mapper/$set"
	ctl_code 0 check "$set"
	matches "tt_meta: nothing is wrong" "$output" "the other set"
}
test_case "two sets of one name" same_name

# One set with two metadata devices: the tool must not choose one.
two_metadata()
{
	local command
	make_disks
	ctl create -q "$set" -m "$meta" -c 64k --policy static "$fast" "$slow"
	ctl deactivate -q "$set"
	disk meta2 4
	dd if="$meta" of="$meta2" bs=1M iflag=direct oflag=direct status=none
	for command in "check $set" "dump $set" "repair -y $set $tmp/new"; do
		# shellcheck disable=SC2086	# a command and its arguments
		unchanged "$meta" "$meta2" -- ctl_code 1 $command
		one_line "$set: two devices say that they are its metadata: .*name the device"
	done
	[ ! -e "$tmp/new" ] || fail "repair left an output"
	for command in check dump; do
		ctl_code 0 "$command" "$meta2"
		ctl_code 0 "$command" "$meta"
	done
}
test_case "one set with two metadata devices" two_metadata

failure_leaves_output()
{
	local before
	used_set
	deactivate
	tool 0 tier_dump -i "$meta" -o "$tmp/dump"
	disk meta2 1
	printf 'precious' | dd of="$meta2" conv=notrunc,fsync status=none
	before=$(checksums "$meta2")

	# Too small for the 800,000 chunks that the dump has now.
	sed 's/nr_chunks="731"/nr_chunks="800000"/' "$tmp/dump" >"$tmp/large"
	complains tier_restore 'need at least' -i "$tmp/large" -o "$meta2"
	sed 's/place="[0-9]*"/place="16"/' "$tmp/dump" >"$tmp/twice"
	tool 1 tier_restore -i "$tmp/twice" -o "$meta2"
	matches 'chunk [0-9]+: claims place 16 of tier id 0, which chunk 0 keeps' "$errors"
	sed '$d' "$tmp/dump" >"$tmp/torn"
	complains tier_restore 'line' -i "$tmp/torn" -o "$meta2"
	complains tier_restore 'is empty' -i /dev/null -o "$meta2"

	# Values that a JSON reader accepts silently: the last of two, the largest, the beginning.
	tool 0 tier_dump --format json -i "$meta" -o "$tmp/json"
	sed 's/"maps": \[/"maps": [], &/' "$tmp/json" >"$tmp/twice"
	complains tier_restore 'two members of one name' -i "$tmp/twice" -o "$meta2"
	sed 's/"place": [0-9]*/"place": 17, &/' "$tmp/json" >"$tmp/twice"
	complains tier_restore 'two members of one name' -i "$tmp/twice" -o "$meta2"
	sed 's/"trans_id": [0-9]*/"trans_id": 18446744073709551616/' "$tmp/json" >"$tmp/large"
	complains tier_restore 'a number is larger' -i "$tmp/large" -o "$meta2"
	sed '0,/"name": "/s//"name": "\\u0000/' "$tmp/json" >"$tmp/nul"
	complains tier_restore 'a NUL character' -i "$tmp/nul" -o "$meta2"
	complains tier_repair 'without a superblock' -q -i "$fast" -o "$meta2"
	same "$before" "$(checksums "$meta2")" "the output"

	complains tier_restore 'line' -i "$tmp/torn" -o "$tmp/new"
	[ ! -e "$tmp/new" ] || fail "a file was left behind"
	spoil "$meta" "$(number "$meta" 192)"
	echo precious >"$tmp/kept"
	tool 1 tier_dump -i "$meta" -o "$tmp/kept"
	same precious "$(<"$tmp/kept")" "the output"
	damaged
}
test_case "a failure leaves the output as it was" failure_leaves_output

wrong_arguments()
{
	local tool
	disk meta 4
	echo hello >"$tmp/file"
	for tool in "${tools[@]}"; do
		complains "$tool" 'no option --nonsense' --nonsense
		complains "$tool" 'no option -z' -z
		tool 0 "$tool" --version
		matches "^$tool [0-9.]+\$" "$output"
		tool 0 "$tool" -V
	done
	for tool in tier_check tier_dump tier_restore tier_repair; do
		complains "$tool" 'no input'
		complains "$tool" 'needs a value' -i
	done
	complains tier_check 'No such file' -i "$tmp/nothing"
	complains tier_check 'neither a block device nor a file' -i "$tmp"
	complains tier_check 'too small' -i "$tmp/file"
	complains tier_check 'is blank' -i "$meta"
	complains tier_check "too many: $fast.* come after --tiers" -i "$meta" "$fast"
	complains tier_check "too many: $meta.* come after --tiers" "$meta" -i "$fast"
	complains tier_check 'no input' --tiers "$meta"
	complains tier_check 'is blank' "$meta"
	complains tier_check 'wants devices' -i "$meta" --tiers
	complains tier_dump 'is blank' -i "$meta"
	complains tier_dump 'is blank' "$meta"
	complains tier_dump 'A dump goes to a file' -i "$meta" -o "$meta"
	complains tier_dump 'is the input' -i "$tmp/file" -o "$tmp/file"
	complains tier_dump 'no format' -i "$meta" --format yaml
	complains tier_dump 'too many' -i "$meta" more
	complains tier_restore 'no output' -i "$tmp/file"
	complains tier_restore 'line 1' -i "$tmp/file" -o "$meta"
	complains tier_repair 'no output' -i "$meta"
	complains tier_repair 'without a superblock' -q -i "$meta" -o "$tmp/none"
	[ ! -e "$tmp/none" ] || fail "tier_repair left an output"
	complains tier_metadata_size 'no --size'
	complains tier_metadata_size 'needs a unit' --size 64
	complains tier_metadata_size 'power of two' --size 64g --chunksize 100k
	complains tier_metadata_size 'larger ones' --size 8e
	tool 0 tier_metadata_size -n --size 64t
	same 2151677952 "$output"
	# The size that tierctl create accepts, in whole blocks.
	tool 0 tier_metadata_size -n --minimum --size 1t
	same 27787264 "$output"
	tool 0 tier_metadata_size -n --minimum --size 1g
	same 552960 "$output"
}
test_case "wrong arguments" wrong_arguments

help_is_stored()
{
	local tool
	for tool in "${tools[@]}"; do
		"$bin/$tool" --help >"$tmp/help"
		cmp "$here/help/$tool" "$tmp/help"
		"$bin/$tool" -h | cmp "$here/help/$tool" -
	done
}
test_case "--help, byte by byte" help_is_stored

run_tests
