#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# timeout=600
# long
#
# A set in use changes its tiers, size or name: add, remove, replace, resize, rename; misuse is
# refused. reshape-kill.sh has the kills.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-reshape.sh
. "$(dirname "$0")/lib-reshape.sh"
# shellcheck disable=SC2119	# make_small and layout have defaults

everything=("$meta" "$fast" "$slow" "$third")

# ---- right use, with load

dry_runs()
{
	local table
	make_small
	table=$(dmsetup table "$set")
	unchanged "${everything[@]}" -- ctl_code 0 add --dry-run "$set" "$third" --at 0
	matches "0 28672 tier $(majmin "$meta") 128 3 $(majmin "$third") " "$output" "table line"
	unchanged "${everything[@]}" -- ctl_code 0 remove -t "$set" 0
	matches "evacuate 0.*0 28672 tier $(majmin "$meta") 128 1 $(majmin "$slow") " "${output//$'\n'/ }" "steps"
	unchanged "${everything[@]}" -- ctl_code 0 replace -t "$set" 1 "$third"
	matches "128 3 $(majmin "$fast") $(majmin "$slow") $(majmin "$third") .*evacuate 1.*128 2 $(majmin "$fast") $(majmin "$third") .*label" \
		"${output//$'\n'/ }" "steps"
	unchanged "${everything[@]}" -- ctl_code 0 resize --test "$set"
	matches "0 93568 tier" "$output" "table line"
	unchanged "${everything[@]}" -- ctl_code 0 rename -t "$set" tt_other
	matches "tt_other" "$output" "rename"
	same "$table" "$(dmsetup table "$set")" "table"
	only_device "$set"
	same "A A" "$(info state0) $(info state1)" "states"
}
test_case "dry runs say the steps and take none" dry_runs

add_tiers()
{
	make_small --set tier1.reserve=256k --set migration_depth=7
	load_on
	ctl_code 1 add "$set" "$third"
	matches 'Nobody to ask' "$errors" "without --at it asks"
	same "fast slow" "$(layout)"
	ctl_code 0 add "$set" "$third" --at 1
	same "fast third slow" "$(layout)"
	status
	same "28672 240" "${S[length]} ${S[places1]}" "length and places"
	same "7 0 4" "${V[migration_depth]} ${V[tier1.reserve]} ${V[tier2.reserve]}" "tunables"
	ctl_code 0 add "$set" "$third"
	matches 'is tier 1' "$output"
	disk spare 8
	ctl_code 0 add -y "$set" "$spare"
	same "fast third slow spare" "$(layout)"
	still_data check
	load_off
	ctl deactivate -q "$set"
	ctl activate -q "$set"
	same "fast third slow spare" "$(layout)"
	still_data check
}
test_case "add, in the middle and at the end" add_tiers

# A value that a message has set must not be overridden again by the old table's words.
table_words()
{
	make_small --feature paused --set migration_depth=7
	ctl resume -q "$set"
	ctl set -q "$set" migration_depth=9
	ctl_code 0 add "$set" "$third" --at 0
	status
	same "9 running" "${V[migration_depth]} ${S[running]}"
	ctl pause -q "$set"
	ctl_code 0 remove --background "$set" 0
	ctl_code 0 remove --abort "$set" 0
	same paused "$(info running)"
}
test_case "tunables and pause survive a new table" table_words

add_signature()
{
	make_small
	mke2fs -q -F "$third"
	unchanged "${everything[@]}" -- ctl_code 1 add "$set" "$third" --at 0
	one_line 'third: carries ext2.*wipefs.*--force'
	unchanged "${everything[@]}" -- ctl_code 1 add -f "$set" "$third" --at 0
	matches 'Wipe' "$errors"
	ctl_code 0 add -f -y "$set" "$third" --at 0
	same "third fast slow" "$(layout)"
	still_data check
}
test_case "add refuses what carries something, unless forced" add_signature

# The label of a former tier is worth nothing.
add_leftover()
{
	make_small
	ctl add -q "$set" "$third" --at 0
	killed drop-done remove "$set" 0
	ctl_code 0 add "$set" "$third" --at 0
	same "third fast slow" "$(layout)"
	still_data check
	# A copy of a tier is not taken.
	disk spare 16
	dd if="$third" of="$spare" bs=1M oflag=direct status=none
	unchanged "${everything[@]}" "$spare" -- ctl_code 1 add "$set" "$spare" --at 0
	one_line 'spare: carries the label of tier id'
	unchanged "${everything[@]}" "$spare" -- ctl_code 1 remove "$set" "$spare"
	one_line 'none of its tiers'
	# The label of a tier that was removed may be on a copy that somebody keeps.
	ctl_code 0 remove "$set" "$third"
	unchanged "${everything[@]}" "$spare" -- ctl_code 1 remove "$set" 0
	one_line "$spare was tier id [0-9]+ of it \(generation [0-9]+\) and has its label still; .*name its device\. wipe that label\?"
	unchanged "${everything[@]}" "$spare" -- ctl_code 0 remove --dry-run "$set" 0
	same "fast slow" "$(layout)"
	still_data check
	ctl_code 0 remove -y "$set" 0
	matches "finished an earlier call that was interrupted.*tier 0, call again" "$output"
	blank "$spare"
	same "fast slow" "$(layout)"
}
test_case "add takes what was a tier once, but no copy of one" add_leftover

remove_tiers()
{
	make_small --set migration_bandwidth=4m
	ctl add -q "$set" "$third" --at 1
	load_on
	ctl_code 0 remove "$set" "$fast"
	matches 'to move off tier 0' "$output" "estimate"
	same "third slow" "$(layout)"
	blank "$fast"
	still_data check
	ctl_code 0 remove "$set" 1
	same "third" "$(layout)"
	blank "$slow"
	still_data check
	# The chunks of the last tier have nowhere to go.
	ctl_code 1 remove "$set" 0
	load_off
	ctl deactivate -q "$set"
	ctl activate -q "$set"
	same "third" "$(layout)"
	still_data check
}
test_case "remove, by device and by rank" remove_tiers

remove_detached()
{
	make_small --set migration_bandwidth=200k
	ctl_code 0 remove --background "$set" 1
	matches "to see how far it is: tierctl remove $set $slow$" "$output"
	same E "$(info state1)"
	ctl_code 0 remove --abort "$set" 1
	same "A A" "$(info state0) $(info state1)"
	# A job of a script ignores SIGINT, so the tool needs the default back.
	(
		rc=0
		env --default-signal=INT "$tierctl" remove "$set" 1 </dev/null >"$tmp/remove" 2>&1 &
		echo $! >"$tmp/pid"
		wait $! || rc=$?
		echo "$rc" >"$tmp/rc"
	) &
	wait_for 20 grep -q 'to move' "$tmp/remove"
	kill -INT "$(<"$tmp/pid")"
	wait $!
	same 130 "$(<"$tmp/rc")" "exit status when interrupted ($(<"$tmp/remove"))"
	matches "to finish: tierctl remove $set $slow\. To go back: tierctl remove --abort $set $slow$" "$(<"$tmp/remove")"
	same E "$(info state1)"
	ctl set -q "$set" migration_bandwidth=0
	ctl_code 0 remove "$set" 1
	same "fast" "$(layout)"
	blank "$slow"
	still_data check
}
test_case "remove in the background, undone, detached, finished" remove_detached

# Two commands at once: the second waits for the first, for a while.
two_at_once()
{
	local rc=0
	make_small
	stopped add-wiped add "$set" "$third" --at 0
	unchanged "$fast" "$slow" "$third" -- ctl_code 1 remove -q "$set" 1
	one_line "$set: tierctl add \(process $stopped_pid\) is changing it"
	ctl_code 1 deactivate -q "$set"
	one_line "process $stopped_pid\) is changing it"
	ctl_code 0 resize --dry-run "$set"
	same "fast slow" "$(layout)"
	same "A A" "$(info state0) $(info state1)"
	background "$tierctl" resize "$set" </dev/null >"$tmp/second" 2>&1
	wait_for 30 grep -q "waiting for tierctl add (process $stopped_pid)" "$tmp/second"
	go_on 0
	wait "$last_pid" || rc=$?
	same 0 "$rc" "exit status of resize ($(<"$tmp/second"))"
	same "third fast slow" "$(layout)"
	# All three tiers count.
	same $((971 * 128)) "$(info length)" "length"
	still_data check
}
test_case "two commands at the same time" two_at_once

# By the time of the answer, the device number may belong to another device.
number_reused()
{
	make_disks
	disk third 16
	wrap mapped "0 $(sectors_of "$fast") linear $fast 0"
	"$1"_reused
	stopped wipe-begin "${reused[@]}"
	number=$(majmin /dev/mapper/tt_mapped)
	remove tt_mapped
	wrap other "0 $(sectors_of "$third") linear $third 0"
	same "$number" "$(majmin /dev/mapper/tt_other)"
	io write "$third" at=0 len=1m seed=5
	unchanged "$third" -- go_on 1
	matches "tt_(mapped|other): $2" "$(<"$tmp/stopped")"
	io check "$third" at=0 len=1m seed=5
}
destroy_reused()
{
	ctl create "$set" -q -m "$meta" -c 64k /dev/mapper/tt_mapped "$slow"
	ctl deactivate -q "$set"
	reused=(destroy -y "$set")
}
create_reused()
{
	mke2fs -q -F /dev/mapper/tt_mapped
	reused=(create "$set" -f -y -m "$meta" -c 64k /dev/mapper/tt_mapped "$slow")
}
test_case "the device became another one while a question waited: destroy" \
	number_reused destroy "carries nothing of the set by now"
test_case "the device became another one while a question waited: create" \
	number_reused create "no such device"

# Only one command at a time has a metadata snapshot; it releases the snapshot however it ends.
two_dumps()
{
	local rc=0 blocked
	make_small
	stopped snapshot-reserved dump "$set" -o "$tmp/first.xml"
	matches '^[0-9]+$' "$(info held)"
	# HUP, INT, QUIT, PIPE, TERM; also TSTP, TTIN and TTOU: a tool that stops here would
	# block other commands.
	blocked=$(sed -n 's/^SigBlk:\t/0x/p' "/proc/$stopped_pid/status")
	same 0x385007 "$(printf '0x%x' $((blocked & 0x385007)))" "signals that are held ($blocked)"
	ctl_code 0 status "$set"
	background "$tierctl" dump "$set" -o "$tmp/second.xml" </dev/null >"$tmp/said" 2>&1
	sleep 2
	[ ! -e "$tmp/second.xml" ] || fail "the second did not wait"
	kill -HUP "$stopped_pid"
	kill -CONT "$stopped_pid"
	wait "$stopped_pid" || rc=$?
	same 129 "$rc" "exit status of the first ($(<"$tmp/stopped"))"
	rc=0
	wait "$last_pid" || rc=$?
	same "0 " "$rc $(<"$tmp/said")" "what the second said"
	same - "$(info held)" "metadata snapshot"
	[ -s "$tmp/second.xml" ]
}
test_case "two dumps at the same time, one of them ended" two_dumps

# A wait for a tier to become empty blocks no command except revert, which in turn blocks the
# others.
one_waits()
{
	local rc=0 remove
	make_small
	ctl set -q "$set" migration_bandwidth=16k
	background "$tierctl" remove "$set" 0 </dev/null >"$tmp/remove" 2>&1
	remove=$last_pid
	wait_for 30 is_emptied
	unchanged "$third" -- ctl_code 1 revert "$set"
	one_line "$set: tier 0 \($fast\) is being emptied.*tierctl admit $set 0"
	ctl_code 0 add "$set" "$third" --at 0
	same "third fast slow" "$(layout)"
	ctl set -q "$set" migration_bandwidth=0
	wait "$remove" || rc=$?
	same 0 "$rc" "exit status of remove ($(<"$tmp/remove"))"
	matches "tier 1 is empty" "$(<"$tmp/remove")" "the rank it has by then"
	same "third slow" "$(layout)"
	still_data check

	ctl set -q "$set" migration_bandwidth=16k
	ctl migrate -q "$set" 96-127 --tier 0
	background "$tierctl" revert "$set" </dev/null >"$tmp/revert" 2>&1
	wait_for 30 is_going_home
	ctl_code 1 add -q "$set" "$fast" --at 0
	one_line "$set: tierctl revert \(process $last_pid\) is changing it"
	rc=0
	kill -TERM "$last_pid"
	wait "$last_pid" || rc=$?
	same 130 "$rc" "exit status of revert ($(<"$tmp/revert"))"
	ctl_code 0 revert --abort "$set"
	ctl set -q "$set" migration_bandwidth=0
	same "third slow" "$(layout)"
	still_data check
}
is_emptied() { [ "$(info state0)" = E ]; }
is_going_home() { [ "$(info running)" = paused ]; }
test_case "another command while one waits" one_waits

# A chunk that cannot be read keeps its tier in the set, and the command says so.
remove_unreadable()
{
	local rc=0
	make_small
	chunk_info 96
	bad_sectors "$slow" $((C[place] * 128)) 8
	timeout -s INT 40 "$tierctl" remove "$set" 1 </dev/null >"$tmp/remove" 2>&1 &
	wait_for 38 grep -q '1 chunk of tier 1 cannot be moved' "$tmp/remove"
	kill "$!"
	wait "$!" || rc=$?
	is "rc != 0"
	same "E 1" "$(info state1) $(info used1)"
	ctl_code 3 status "$set"
	matches "tier 1 \([^)]*\): [0-9]+ I/O errors, and it is being emptied" "$output" "status"
	same "fast slow" "$(layout)"
	good_sectors "$slow" 0 "$(sectors_of "$slow")"
	ctl_code 0 remove "$set" 1
	same fast "$(layout)"
	still_data check
}
test_case "remove says what it cannot move, and waits for it" remove_unreadable

# A failing device is replaced: its label cannot be read any more.
unreadable_label()
{
	make_small
	stopped evacuate-done replace "$set" 0 "$third"
	bad_sectors "$fast" 0 16
	go_on 1
	matches "$fast: its label cannot be wiped: .*tierctl destroy $fast" "$(<"$tmp/stopped")"
	same "third slow" "$(layout)"
	still_data check
	good_sectors "$fast" 0 16
	ctl_code 0 destroy -y "$fast"
	blank "$fast"
}
test_case "replace says what it cannot wipe" unreadable_label

replace_tier()
{
	make_small
	load_on
	ctl_code 0 replace "$set" 0 "$third"
	same "third slow" "$(layout)"
	blank "$fast"
	still_data check
	# Calling the same command again: nothing is left to do.
	ctl_code 0 replace "$set" 0 "$third"
	same "third slow" "$(layout)"
	same "A A" "$(info state0) $(info state1)"
	# The new tier has that rank now, and cannot replace itself.
	ctl_code 1 replace --abort "$set" 0 "$third"
	one_line "tier 0 has been replaced by $third\..*replace $set $third dev, which is the old device"
	ctl_code 0 replace "$set" "$slow" "$fast"
	same "third fast" "$(layout)"
	blank "$slow"
	ctl_code 0 replace "$set" "$slow" "$fast"
	same "third fast" "$(layout)"
	still_data check
	load_off
}
test_case "replace, by rank and by device, and again" replace_tier

# Nothing to go back to: that would be a remove.
replace_abort_of_none()
{
	make_small
	unchanged "${everything[@]}" -- ctl_code 1 replace --abort "$set" 0 "$slow"
	one_line "no replacement is under way. empty tier 1 \($slow\)"
	same "A A" "$(info state0) $(info state1)" "states"
	unchanged "${everything[@]}" -- ctl_code 0 replace --abort -t "$set" 0 "$slow"
	matches "evacuate 1.*until tier 1 is empty.* 128 1 $(majmin "$fast") .*wipe the label on $slow" \
		"${output//$'\n'/ }" "steps"
	ctl_code 0 replace --abort -y "$set" 0 "$slow"
	same fast "$(layout)"
	still_data check
	# While the old tier is being emptied
	ctl_code 0 replace --background "$set" 0 "$slow"
	ctl_code 0 replace --abort -t "$set" "$fast" "$slow"
	matches "admit 0.*evacuate 1.*until tier 1 is empty.* 128 1 $(majmin "$fast") .*wipe the label on $slow" \
		"${output//$'\n'/ }" "steps"
	same "E A" "$(info state0) $(info state1)" "states"
	ctl_code 0 replace --abort "$set" "$fast" "$slow"
	same fast "$(layout)"
	still_data check
}
test_case "replace --abort says all it does, and asks where nothing is replaced" replace_abort_of_none

# After a restart the old device may have another name; its old name belongs to nobody, or to
# another device.
replace_another_name()
{
	local was gone
	make_small
	disk spare 16
	ctl set -q "$set" migration_bandwidth=16k
	ctl_code 0 replace --background "$set" 0 "$third"
	ctl pause -q "$set"	# a move would look like a write of the command
	wait_for 20 settled
	was=$(info_states)
	for gone in /dev/tt_gone "$spare" 1; do
		unchanged "${everything[@]}" -- ctl_code 1 replace "$set" "$gone" "$third"
		one_line "tier 0 \($fast\) is being emptied, and $gone is no name of it\. .*: tierctl replace $set $fast $third"
	done
	unchanged "${everything[@]}" -- ctl_code 1 replace --abort "$set" "$fast" "$spare"
	one_line "$spare is none of its tiers, but tier 0 \($fast\) is being emptied\. .*: tierctl remove --abort $set $fast"
	same "$was" "$(info_states)" "states"
	ctl resume -q "$set"
	ctl set -q "$set" migration_bandwidth=0
	ctl_code 0 replace "$set" "$fast" "$third"
	same "third slow" "$(layout)"
	for gone in /dev/tt_gone "$spare" 0; do ctl_code 0 replace "$set" "$gone" "$third"; done
	still_data check
}
info_states() { echo "$(info state0) $(info state1) $(info state2)"; }
test_case "replace, again with a name that is not the old one's" replace_another_name

pins_go()
{
	make_small
	msg pin 0 4 1
	msg pin 10 1 0
	ctl_code 0 replace "$set" 0 "$third"
	matches "5 chunks are pinned; what is pinned to $fast will not be" "$errors"
	matches "1 chunk was pinned to $fast and is so no more\. .*pin FILE" "$errors"
	same 4 "$(info pinned)" "pinned chunks"
	ctl_code 0 remove "$set" 0
	! grep -q 'no more' <<<"$errors" || fail "no pin was lost: $errors"
	same 4 "$(info pinned)" "pinned chunks"
}
test_case "pins go with the tier, and that is said" pins_go

# Interrupted; undone, which is interrupted as well; then done all the same
replace_back_and_forth()
{
	make_small
	ctl set -q "$set" migration_bandwidth=200k
	detached replace "$set" 1 "$third"
	matches "to finish: tierctl replace $set $slow $third\. To go back: tierctl replace --abort $set $slow $third$" "$(<"$tmp/said")"
	wait_for 30 has_moved
	ctl set -q "$set" migration_bandwidth=16k
	detached replace --abort "$set" 1 "$third"
	matches "to finish: tierctl replace --abort $set $slow $third\. To go back: tierctl replace $set $slow $third$" "$(<"$tmp/said")"
	same "A E" "$(info state1) $(info state2)"
	ctl set -q "$set" migration_bandwidth=0
	ctl_code 0 replace "$set" 1 "$third"
	same "fast third" "$(layout)"
	same "A A 32" "$(info state0) $(info state1) $(info used1)" "states, and what the new one has"
	still_data check
}
has_moved() { [ "$(info used2)" -gt 0 ]; }
detached()
{
	local rc=0
	: >"$tmp/said"
	background "$tierctl" "$@" </dev/null >"$tmp/said" 2>&1
	wait_for 30 grep -q 'to move' "$tmp/said"
	sleep 1
	kill -TERM "$last_pid"
	wait "$last_pid" || rc=$?
	same 130 "$rc" "exit status of $1 ($(<"$tmp/said"))"
}
test_case "replace, undone half-way and done again" replace_back_and_forth

# A set that fills its tiers can replace a tier, but not remove one.
replace_full()
{
	make_disks
	disk third 32
	ctl create "$set" -q -m "$meta" -c 64k --policy static "$fast" "$slow"
	write_chunks 0 731 3
	# First writes commit their chunks now.
	io sync "$dev"
	unchanged "$meta" "$fast" "$slow" "$third" -- ctl_code 1 remove "$set" 1
	matches 'remove tier 1: .* to move; the set needs .* have .*Add .* first' "$errors"
	one_line 'resize --size'
	disk spare 16
	unchanged "$meta" "$fast" "$slow" "$spare" -- ctl_code 1 replace "$set" 1 "$spare"
	one_line 'replace tier 1: .*mib'
	ctl_code 0 replace "$set" 1 "$third"
	same "fast third" "$(layout)"
	check_chunks 0 731 3
}
test_case "a full set: remove is refused with figures, replace works" replace_full

resize_grow()
{
	make_disks
	wrap wslow "0 32768 linear $slow 0"
	ctl create "$set" -q -m "$meta" -c 64k -L 14m --policy static "$fast" /dev/mapper/tt_wslow
	still_data write
	load_on
	ctl_code 0 resize "$set"
	same $((477 * 128)) "$(info length)" "length in use of 480 places less 3"
	ctl_code 0 resize "$set"
	matches 'all that its tiers allow' "$output"
	dmsetup load tt_wslow --table "0 65536 linear $slow 0"
	dmsetup resume tt_wslow
	ctl_code 0 resize "$set"
	status
	same "$((733 * 128)) 496" "${S[length]} ${S[places1]}" "length and places of a grown tier"
	same $((733 * 128)) "$(sectors_of "$dev")" "sectors"
	io write "$dev" at=44m len=1m seed=5
	still_data check
	load_off
	ctl deactivate -q "$set"
	ctl activate -q "$set"
	io check "$dev" at=44m len=1m seed=5
	still_data check
	# A tier that has grown is adopted even if the set keeps its size.
	ctl_code 1 resize "$set" --size 20m
	one_line 'used up to 45 mib.*20 mib'
	discard_chunks 704 16
	ctl_code 1 resize "$set" --size 20m
	matches 'smaller.*Nobody to ask' "$errors"
	ctl_code 0 resize -y "$set" --size 20m
	same $((20 * 2048)) "$(info length)" "length"
	still_data check
	ctl_code 0 remove "$set" 0
	same wslow "$(layout)"
	still_data check
}
test_case "resize: to all that fits, after a tier grew, and smaller" resize_grow

resize_shrunk()
{
	make_disks
	wrap wslow "0 65536 linear $slow 0"
	ctl create "$set" -q -m "$meta" -c 64k -L 14m "$fast" /dev/mapper/tt_wslow
	dmsetup load tt_wslow --table "0 32768 linear $slow 0"
	dmsetup resume tt_wslow
	ctl_code 1 resize "$set"
	one_line 'tier 1 .*has shrunk to 16 mib'
}
test_case "resize refuses a tier that has shrunk" resize_shrunk

renaming()
{
	make_small
	load_on
	ctl_code 0 rename "$set" tt_other
	[ -b /dev/mapper/tt_other ] || fail "no /dev/mapper/tt_other"
	[ ! -e "$dev" ] || fail "$dev is still there"
	set=tt_other dev=/dev/mapper/tt_other
	still_data check
	ctl_code 0 rename tt_third tt_other
	matches 'already' "$output"
	load_off
	ctl deactivate -q "$set"
	ctl activate -q --all
	only_device tt_other "name after a new activation"
	still_data check
	ctl_code 0 rename --abort tt_third tt_other
	only_device tt_third "name after --abort"
	ctl deactivate -q --all
	same tt_third "$(json '.sets[0].name' list)" "name of the inactive set"
	ctl activate -q tt_third
	ctl rename -q tt_third tt_set
}
test_case "rename, with the set in use, and back" renaming

# ---- misuse

# no CODE REGEX ARGUMENT...: refused, with a line that says why, and nothing is changed
no()
{
	local code=$1 want=$2 before
	shift 2
	before=$(dmsetup table "$set"; info line)
	unchanged "${everything[@]}" "$spare" -- ctl_code "$code" "$@"
	one_line "$want"
	same "$before" "$(dmsetup table "$set"; info line)" "table and status after tierctl $*"
}

misuse()
{
	local command
	make_small
	disk spare 1
	no 2 'few' add
	no 2 'say what' add "$set"
	no 2 'say what' add "$set" "$third" --size 10m --pv "$spare"
	no 2 'go together' add "$set" --size 10m
	no 2 'go together' add "$set" "$third" --pv "$spare"
	no 2 'unit' add "$set" --size 10 --pv "$spare"
	no 2 '--name' add "$set" "$third" --name x
	no 2 'too many' add "$set" "$third" "$spare"
	no 1 '0 to 2' add "$set" "$third" --at 3
	no 1 '0 to 2' add "$set" "$third" --at x
	no 1 '0 to 2' add "$set" "$third" --at -1
	no 1 'tt_none' add "$set" /dev/tt_none --at 0
	no 1 'block device' add "$set" /dev/null --at 0
	no 1 'metadata of tt_set' add "$set" "$meta" --at 0
	no 1 'tier 1 of tt_set' add "$set" "$slow" --at 0
	no 1 'tiered device itself' add "$set" "$dev" --at 0
	dmsetup create tt_above --table "0 8192 linear $dev 0"
	no 1 'tt_above: lies on the device' add "$set" /dev/mapper/tt_above --at 0
	no 1 'tt_above: lies on the device' replace "$set" 0 /dev/mapper/tt_above
	dmsetup remove tt_above
	no 1 'small' add "$set" "$spare" --at 0
	no 1 'pvs|volume group' add "$set" --size 4m --pv "$third" --at 0
	no 1 'nosuch' add nosuch "$third"
	no 2 'few' remove "$set"
	no 1 '2 is none of its tiers' remove "$set" 2
	no 1 'none of its tiers' remove "$set" "$third"
	no 1 'none of its tiers' remove "$set" /dev/tt_none
	no 1 'none of its tiers' remove "$set" "$meta"
	no 1 'none of its tiers' remove --abort "$set" "$third"
	no 1 'nosuch' remove nosuch 0
	no 2 'few' replace "$set" 0
	no 1 '2 is none' replace "$set" 2 "$third"
	no 1 'small' replace "$set" 0 "$spare"
	no 1 'tt_none' replace "$set" 0 /dev/tt_none
	no 1 "tier 0 of it already. to take $slow out: tierctl remove $set $slow" replace "$set" 1 "$fast"
	no 1 'metadata of tt_set' replace "$set" 0 "$meta"
	no 2 'unit' resize "$set" --size 20
	no 2 'multiple of 4k' resize "$set" --size 0k
	no 2 'multiple of 4k' resize "$set" --size 1s
	no 1 'at most 46 mib' resize "$set" --size 100m
	no 1 'used up to 10 mib' resize -y "$set" --size 9m
	no 1 'nosuch' resize nosuch
	no 2 'few' rename "$set"
	no 2 'no name' rename "$set" 'a b'
	no 2 'no name' rename "$set" a/b
	no 2 'no name' rename --abort 'a b' "$set"
	no 1 'nosuch' rename nosuch tt_other
	dmsetup create tt_other --table "0 8 zero"
	no 1 'another device has the name' rename "$set" tt_other
	dmsetup remove tt_other
	for command in "add $set $third --at 0" "remove $set 0" "replace $set 0 $third" "resize $set" \
		       "rename $set tt_other"; do
		dmsetup suspend "$set"
		# shellcheck disable=SC2086	# words
		ctl_code 1 $command
		one_line 'suspended.*dmsetup resume'
		dmsetup resume "$set"
	done
	ctl deactivate -q "$set"
	ctl activate -q --read-only "$set"
	for command in "add $set $third --at 0" "remove $set 0" "replace $set 0 $third" "resize $set" \
		       "rename $set tt_other"; do
		# shellcheck disable=SC2086	# words
		no 1 'read-only' $command
	done
	ctl deactivate -q "$set"
	for command in "add $set $third --at 0" "remove $set 0" "resize $set" "rename $set tt_other"; do
		# shellcheck disable=SC2086	# words
		ctl_code 1 $command
		one_line 'not active'
	done
	one_line "type: tierctl activate --name tt_other $set$"
	dd if="$slow" of="$tmp/slow" bs=1M status=none
	disk_gone slow
	everything=("$meta" "$fast" "$third")
	ctl activate -q --degraded "$set" || true
	for command in "add $set $third --at 0" "remove $set 0" "replace $set 0 $third" "resize $set" \
		       "rename $set tt_other"; do
		# shellcheck disable=SC2086	# words
		no 1 'missing' $command
	done
}
test_case "misuse is refused and changes nothing" misuse

# ---- killed

# The new tier cannot be written: the old table is put back, at once or by the next call.
cannot_join()
{
	local rc=0
	modprobe dm-flakey
	make_small --feature no_discard_passdown
	wrap wthird "0 $(sectors_of "$third") flakey $third 0 0 1000 1 error_writes"
	load_on
	ctl_code 1 add "$set" /dev/mapper/tt_wthird --at 0
	matches 'could not do it' "$errors"
	same "fast slow" "$(layout)"
	same rw "$(info mode)"
	still_data check
	killed add-failed add "$set" /dev/mapper/tt_wthird --at 0
	same Suspended "$(dmsetup info -c --noheadings -o suspended "$set")"
	ctl_code 3 status "$set"
	matches "I/O to it waits \(tierctl resize --abort $set\)" "$output" "status"
	ctl_code 0 resize --abort "$set"
	same Active "$(dmsetup info -c --noheadings -o suspended "$set")"
	same "fast slow" "$(layout)"
	matches ' 1 no_discard_passdown ' "$(dmsetup table "$set")" "features"
	still_data check
	# The old table is put back even if nobody can read the message.
	"$tierctl" add "$set" /dev/mapper/tt_wthird --at 0 </dev/null 2>&1 >/dev/null | true || rc=$?
	same 141 "$rc" "exit status with a closed pipe"
	same Active "$(dmsetup info -c --noheadings -o suspended "$set")"
	same "fast slow" "$(layout)"
	still_data check
	load_off
}
test_case "a tier that cannot be written: all is put back" cannot_join

run_tests
