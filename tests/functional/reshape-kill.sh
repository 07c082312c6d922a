#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# timeout=1200
# long
#
# add, remove, replace, resize and rename, killed at each of their steps while the set is in use.
# The same command again does the rest, --abort undoes it, also after a restart. Each row ends
# with a line that says so.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-reshape.sh
. "$(dirname "$0")/lib-reshape.sh"
# shellcheck disable=SC2119	# make_small and layout have defaults

# kill_row COMMAND STEP HOW: kills COMMAND at STEP, then HOW it goes on: again, abort, or restart
# and again.
kill_row()
{
	local name=$1 step=$2 how=$3 words again want
	case $name in
	add)	words=(add "$set" "$third" --at 0) want="third fast slow" ;;
	remove)	words=(remove "$set" 0) want="slow" ;;
	remove-dev) words=(remove "$set" "$fast") want="slow" ;;
	replace) words=(replace "$set" 0 "$third") want="third slow" ;;
	replace-dev) words=(replace "$set" "$fast" "$third") want="third slow" ;;
	resize)	words=(resize "$set") want="fast slow" ;;
	rename)	words=(rename "$set" tt_other) want="fast slow" ;;
	esac
	make_small
	# The load would hold open a device whose name is to change.
	if [ "$name-$how" != rename-restart ]; then load_on; fi
	killed "$step" "${words[@]}"
	[ ! -e /dev/mapper/tt_other ] || set=tt_other dev=/dev/mapper/tt_other
	still_data check
	if [ "$how" = restart ]; then
		[ "$name" = rename ] || load_off
		ctl deactivate -q "$set"
		ctl activate -q --all
		find_ours
		set=${ours[*]} dev=/dev/mapper/$set
		[ "$name" = rename ] || load_on_again
		still_data check
	fi
	again=("${words[@]}")
	# The rank alone does not identify the tier that has left: the command asks.
	case $name-$step in
	remove-drop-done|replace-drop-done) again+=(-y) ;;
	esac
	if [ "$how" = abort ]; then
		again=("${words[0]}" --abort "${words[@]:1}")
		want="fast slow"
		# Nothing distinguishes the new tier from a tier that replaces nothing.
		if [ "$name-$step" = replace-add-done ]; then
			ctl_code 1 "${again[@]}"
			matches 'no replacement is under way' "$errors"
			again+=(-y)
		fi
	fi
	ctl_code 0 "${again[@]}"
	if [ "$name" = rename ]; then
		set=tt_other
		[ "$how" != abort ] || set=tt_set
		dev=/dev/mapper/$set
		only_device "$set"
	fi
	same "$want" "$(layout)" "tiers"
	[ "$name" != resize ] || [ "$how" = abort ] || same $((731 * 128)) "$(info length)" "length"
	case " $want " in *" third "*) ;; *) blank "$third" ;; esac
	case " $want " in *" fast "*) ;; *) blank "$fast" ;; esac
	for ((i = 0; i < $(info tiers); i++)); do same A "$(info "state$i")" "state of tier $i"; done
	still_data check
	if [ "$name-$how" != rename-restart ]; then load_off; fi
	# The devices say the same.
	ctl deactivate -q "$set"
	ctl activate -q --all
	only_device "$set"
	same "$want" "$(layout)" "tiers after a restart"
	still_data check
	printf '# %-12s killed at %-16s %-8s -> %s\n' "$name" "$step" "$how" "$want" >&3
}
load_on_again()
{
	discard_chunks 0 96
	load_on
}

rows()
{
	local name=$1 step how
	shift
	for step; do
		for how in ${step#*:}; do
			how=${how//,/ }
			for word in $how; do
				test_case "killed: $name at ${step%:*}, then $word" kill_row "$name" "${step%:*}" "$word"
			done
		done
	done
}
rows add add-wiped:again,abort add-loaded:again,abort,restart add-done:again,restart
rows remove evacuate-begun:again,abort,restart evacuate-done:again,abort drop-loaded:again,abort,restart \
	drop-done:again,restart
rows remove-dev drop-done:again,restart
rows replace add-loaded:again,abort add-done:again,abort,restart evacuate-begun:again,abort,restart \
	evacuate-done:again,abort drop-loaded:again,abort drop-done:again,restart clean-wiped:again
rows replace-dev add-done:restart drop-done:again clean-wiped:again
rows resize resize-loaded:again,abort,restart resize-done:again
rows rename rename-device:again,abort,restart rename-loaded:again,abort rename-done:again,abort

# The same at random moments: each call may run a little longer than the call before.
at_random()
{
	local from=$fast to=$third n kills=0 try life
	make_small
	load_on
	for n in 1 2 3 4; do
		for try in {1..40}; do
			life=0.05
			[ "$try" = 1 ] || life=$((try / 4)).$((RANDOM % 100 + 10))
			timeout -s KILL "$life" "$tierctl" replace "$set" "$from" "$to" \
				</dev/null >"$tmp/killed" 2>&1 && break
			[ "$?" = 137 ] || fail "replace $from $to: $(<"$tmp/killed")"
			kills=$((kills + 1))
			still_data check
		done
		same "${to#/dev/tt_} slow" "$(layout)"
		blank "$from"
		n=$from from=$to to=$n
	done
	load_off
	is "kills > 0"
	note "replace      killed $kills times at random moments, four replacements done"
}
test_case "killed at random moments" at_random

run_tests
