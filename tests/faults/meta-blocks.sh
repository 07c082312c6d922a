#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=1200
# long
# shellcheck disable=SC2317	# the cases are called by name
#
# Each single block of the metadata device fails in turn.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
turns=2
# shellcheck source=lib-faults.sh
. "$(dirname "$0")/lib-faults.sh"

create() { dmsetup create "$set" --table "$(table_line)"; }

# Each block of the metadata in turn, used or not used yet, cannot be read or written, from
# before or after the activation, while everything that needs metadata is tried. A change that
# was reported as done is found afterwards; a change that was reported as failed may be found or
# not. Nothing else changes, and the mode says why.
each_block()
{
	local when=$1 block last outcome
	policy=heat
	make_faulty
	last=$(($(info meta_used) + 12))
	deactivate
	declare -A seen
	for ((block = 0; block < last; block++)); do
		one_block "$when" "$block"
		seen[$outcome]="${seen[$outcome]:-} $block"
	done
	for outcome in "${!seen[@]}"; do
		note "$outcome: blocks${seen[$outcome]}"
	done
	[[ "${!seen[*]}" == *activated,* ]] || fail "never activated"
	# Or the block was never bad.
	case $when in
	before) [ -n "${seen["not activated"]:-}" ] || fail "always activated" ;;
	after) [[ "${!seen[*]}" == *needs_check* ]] || fail "no commit ever failed" ;;
	esac
}

one_block()
{
	local when=$1 block=$2 depth=$((2 + $2)) new=$((100 + $2)) set_done='' durable='' gone=''
	local mode now
	[ "$when" = after ] || bad_sectors "$meta" $((block * 8)) 8
	if ! create 2>/dev/null; then
		[ "$when" = before ] || fail "block $block: not activated, with nothing bad yet"
		outcome="not activated"
	else
		[ "$when" = before ] || bad_sectors "$meta" $((block * 8)) 8
		if msg set migration_depth "$depth" 2>/dev/null; then set_done=1; fi
		mode=$(mode_now)
		[ "$mode" != ro ] || fail "block $block: ro without a reason after set"
		if write_chunks "$new" 1 7 2>/dev/null && io sync "$dev" 2>/dev/null; then
			durable=1
		fi
		if discard_chunks 19 1 2>/dev/null; then gone=1; fi
		msg migrate 2 2 1 2>/dev/null || true
		wait_for 20 not_moving
		mode=$(mode_now)
		case $mode in
		rw|needs_check|Fail) ;;
		*) fail "block $block: mode $mode" ;;
		esac
		[ "$mode" = Fail ] || check_chunks 0 19 1
		deactivate
		outcome="activated, then $mode"
	fi
	good_sectors "$meta" $((block * 8)) 8
	activate
	now=$(mode_now)
	[[ $now = rw || $now = needs_check ]] || fail "block $block: mode $now after all"
	case "${mode:-} $now" in
	"needs_check rw") fail "block $block: needs_check was forgotten" ;;
	esac
	check_chunks 0 19 1
	if [ -n "$gone" ]; then
		check_chunks 19 1 0
	else
		check_chunks 19 1 1 2>/dev/null || check_chunks 19 1 0
	fi
	if [ -n "$durable" ]; then
		check_chunks "$new" 1 7
	else
		check_chunks "$new" 1 0 2>/dev/null || check_chunks "$new" 1 7
	fi
	status
	[ -z "$set_done" ] || same "$depth" "${V[migration_depth]}" "block $block: migration_depth"
	if [ "$now" = rw ]; then
		write_chunks 19 1 1
		discard_chunks "$new" 1
		move 0 10 0
		deactivate
	else
		outcome+=", needs_check stays"
		# Only a check leads back from here; the next block gets a new set.
		clean >/dev/null
		make_faulty
		deactivate
	fi
}
not_moving() { mode_is Fail || settled; }
test_case "each block of the metadata fails, from before the activation" each_block before
test_case "each block of the metadata fails, after the activation" each_block after

run_tests
