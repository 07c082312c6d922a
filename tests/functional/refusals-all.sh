#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at tierctl; what its steps ask of the kernel is in other files
# udev
# timeout=1800
# long
#
# LVM or device-mapper refuses one of the changes that a command asks for, each in turn, for
# convert, its --abort, revert, add, remove, replace, resize, rename and destroy. The command goes
# on once the cause is gone, or is undone if it can be. Prints a table, a line for each refusal: the
# step, who refused, how the command ended, which command was tried next and its result.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-reshape.sh
. "$(dirname "$0")/lib-reshape.sh"
# shellcheck source=lib-convert.sh
. "$(dirname "$0")/lib-convert.sh"
# shellcheck source=lib-refuse.sh
. "$(dirname "$0")/lib-refuse.sh"

is_set() { [[ $(dmsetup table "$vg-data") == *" tier "* ]]; }
is_plain()
{
	same "$before" "$(lvm_state)" "volumes after $who ($(<"$tmp/said"))"
	same "" "$(dmsetup ls --target tier)" "sets"
}
convert_words=(convert "$vg/data" -c 64k --policy static --fast "$vg/fast")

make_plain()
{
	make_vg
	lv fast 4m "$vg" "${loops[1]}"
	data write
	before=$(lvm_state)
}

# convert goes on, and so does revert, or each is undone.
there_and_back()
{
	local way done_there='' done_back=''
	make_plain
	for ((step = 1; ; step++)); do
		[ -n "$done_there" ] || refuse_at "$step" "${convert_words[@]}"
		if [ -n "$done_there" ] || [ -z "$who" ]; then
			done_there=1
			is_set || ctl convert -q "${convert_words[@]:1}"
		else
			way=none
			if ! is_set && ((step % 2)); then
				way=again
				ctl_code 0 "${convert_words[@]}"
			elif ! is_set; then
				# Follows the message, once something can go on.
				way=on
				way_on "${convert_words[@]}"
			fi
			is_set || fail "no set: $(<"$tmp/said")"
			outcome convert "$way" finished
		fi
		data check
		[ -z "$done_back" ] || break
		ctl migrate -q "$vg/data" 100-110 --tier 0
		ctl wait -q "$vg/data"
		refuse_at "$step" revert "$vg/data"
		if [ -z "$who" ]; then
			done_back=1
		else
			way=none
			if [ "$code" != 0 ] && ((step % 2)) && is_set &&
			   ctl revert --abort "$vg/data" >"$tmp/abort" 2>&1; then
				way=abort
				is_set || fail "no set after revert --abort: $(<"$tmp/abort")"
				data check
				outcome revert "$way" undone
				ctl_code 0 revert "$vg/data"
			else
				if [ "$code" != 0 ]; then
					way=on
					way_on revert "$vg/data"
				fi
				outcome revert "$way" finished
			fi
		fi
		data check
		is_plain
		[ -z "$done_back" ] || [ -z "$done_there" ] || break
	done
	is 'step > 8'
}
test_case "convert and revert, each of their steps refused" there_and_back

# The steps of convert --abort are refused in turn.
abort_refused()
{
	make_plain
	for ((step = 1; ; step++)); do
		killed convert-live "${convert_words[@]}"
		refuse_at "$step" convert --abort "$vg/data"
		[ -n "$who" ] || break
		if [ "$code" = 1 ] && ((step % 2)); then
			way_on convert --abort "$vg/data"
			is_plain
			outcome abort again undone
		elif [ "$code" = 1 ]; then
			ctl_code 0 "${convert_words[@]}"
			is_set
			outcome abort convert finished
			ctl revert -q "$vg/data"
		else
			is_plain
			outcome abort none undone
		fi
		is_plain
		data check
	done
	is_plain
	data check
	is 'step > 4'
}
test_case "convert --abort, each of its steps refused" abort_refused

# each_step NAME START FINISHED UNDONE: START brings a set in order; $words change it. After each
# refusal the change goes on, as the message says or by the same words, or $undo undoes it;
# FINISHED and UNDONE check the result.
each_step()
{
	local name=$1 start=$2 finished=$3 undone=$4 way
	for ((step = 1; ; step++)); do
		for way in again undo; do
			[ "$way" = again ] || [ -n "$undone" ] || continue
			"$start"
			refuse_at "$step" "${words[@]}"
			[ -n "$who" ] || break 2
			if [ "$code" = 0 ]; then
				"$finished"
				outcome "$name" none finished
			elif [ "$way" = again ]; then
				way_on "${words[@]}"
				"$finished"
				outcome "$name" on finished
			else
				way_back "${undo[@]}"
				"$undone"
				outcome "$name" undo undone
			fi
		done
	done
	"$finished"
	is 'step > 1'
}
tiers()
{
	local i
	same "$1" "$(layout)" "tiers after $who ($(<"$tmp/said"))"
	for ((i = 0; i < $(info tiers); i++)); do same A "$(info "state$i")" "state of tier $i"; done
	still_data check
}
three() { tiers "third fast slow"; }
two()
{
	tiers "fast slow"
	blank "$third"
}
others()
{
	tiers "third slow"
	blank "$fast"
}

start_two() { [[ $(layout) != *third* ]] || ctl remove -q "$set" "$third"; }
start_three() { [[ $(layout) == *third* ]] || ctl add -q "$set" "$third" --at 0; }
start_fast()
{
	[[ $(layout) != *third* ]] || ctl replace -q "$set" "$third" "$fast"
	ctl migrate -q "$set" 100-105 --tier 0
	ctl wait -q "$set"
}
start_small() { ctl resize -q -y "$set" --size 14m; }
is_large() { same "$((731 * 128))" "$(sectors_of "$dev")" "sectors"; }
start_named() { [ -e "$dev" ] || ctl rename -q tt_other "$set"; }
is_other()
{
	[ -e /dev/mapper/tt_other ] || fail "no tt_other: $(<"$tmp/said")"
	same tt_other "$(ctl dump tt_other | grep -o 'name="tt_[a-z]*"' | tr -d '"' | cut -d= -f2)"
}
is_named()
{
	same "$set" "$(ctl dump "$set" | grep -o 'name="tt_[a-z]*"' | tr -d '"' | cut -d= -f2)"
	still_data check
}

of_disks()
{
	make_small
	words=(add "$set" "$third" --at 0) undo=(add --abort "$set" "$third")
	each_step add start_two three two
	words=(remove "$set" "$third") undo=(remove --abort "$set" "$third")
	each_step remove start_three two three
	words=(replace "$set" "$fast" "$third") undo=(replace --abort "$set" "$fast" "$third" -y)
	each_step replace start_fast others two
	ctl replace -q "$set" "$third" "$fast"
	words=(resize "$set") undo=()
	each_step resize start_small is_large ""
	start_small
	words=(rename "$set" tt_other) undo=(rename --abort "$set" tt_other)
	each_step rename start_named is_other is_named
}
test_case "add, remove, replace, resize and rename, each of their steps refused" of_disks

set_of_volumes()
{
	[ ! -e "/dev/$vg/data_torig" ] || return 0
	ctl convert -q "$vg/data" -c 64k --policy static --fast-size 4m --fast-pv "${loops[1]}"
}
volumes() { same "$1" "$(lvm_names)" "volumes after $who ($(<"$tmp/said"))"; }
parts="data data_tiermeta data_torig data_tvol0 "
without()
{
	volumes "$parts"
	data check
}
with()
{
	volumes "${parts}data_tvol1 "
	data check
}
start_without()
{
	set_of_volumes
	[ ! -e "/dev/$vg/data_tvol1" ] || ctl remove -q "$vg/data" "$vg/data_tvol1"
}
start_with()
{
	set_of_volumes
	[ -e "/dev/$vg/data_tvol1" ] || ctl add -q "$vg/data" --size 4m --pv "${loops[1]}" --at 0
}
start_24m() { ctl resize -q -y "$vg/data" --size 24m; }
is_larger()
{
	same "$((26 * 2048))" "$(sectors_of "$origin")" "sectors"
	same "26.00m" "$(lvs --noheadings --units m -o lv_size "$vg/data" | tr -d ' ')" "size of the placeholder"
	data check
}
is_gone()
{
	volumes "data "
	same "" "$(tags data)" "tags"
	same "" "$(dmsetup ls --target tier)" "sets"
}

of_volumes()
{
	make_vg
	data write
	words=(add "$vg/data" --size 4m --pv "${loops[1]}" --at 0)
	undo=(add --abort "$vg/data" --size 4m --pv "${loops[1]}")
	each_step add start_without with without
	words=(remove "$vg/data" "$vg/data_tvol1") undo=()
	each_step remove start_with without ""
	start_with
	words=(resize "$vg/data" --size 26m) undo=()
	each_step resize start_24m is_larger ""
	start_24m
	start_without
	words=(destroy -y "$vg/data") undo=()
	each_step destroy set_of_volumes is_gone ""
}
test_case "add, remove, resize and destroy of logical volumes, each of their steps refused" of_volumes

run_tests
