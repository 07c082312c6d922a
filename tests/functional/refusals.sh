#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at tierctl; what its steps ask of the kernel is in convert and revert
# udev
# timeout=600
#
# LVM or device-mapper refuses one of the changes that convert asks for, each in turn: convert is
# undone, or goes on once the cause is gone. Prints a table, a line for each refusal: the step,
# who refused, how convert ended, which command was tried next and its result.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-convert.sh
. "$(dirname "$0")/lib-convert.sh"
# shellcheck source=lib-refuse.sh
. "$(dirname "$0")/lib-refuse.sh"

is_set() { [[ $(dmsetup table "$vg-data") == *" tier "* ]]; }
words=(convert "$vg/data" -c 64k --policy static --fast "$vg/fast")

# Everything that a call left is undone, and the volume is as before.
steps_undone()
{
	local before way
	make_vg
	lv fast 4m "$vg" "${loops[1]}"
	data write
	before=$(lvm_state)
	for ((step = 1; ; step++)); do
		in_turn 3 "$step" || continue
		refuse_at "$step" "${words[@]}"
		[ -n "$who" ] || break
		if is_set; then
			# convert did the step in another way.
			same 0 "$code" "exit status"
			ctl revert -q "$vg/data"
			way=revert
		else
			same 1 "$code" "exit status"
			way=abort
			way_back convert --abort "$vg/data"
		fi
		data check
		same "$before" "$(lvm_state)" "volumes after step $step ($who; $(<"$tmp/said"))"
		outcome convert "$way" undone
	done
	is 'step > 8'
}
test_case "convert, each of its steps refused, undone" steps_undone

run_tests
