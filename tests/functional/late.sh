#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=240
#
# Devices that do not answer, which shows only while waiting: a report on the other sets takes no
# longer than one time limit, however many devices hang.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
modprobe dm-delay 2>/dev/null || skip_all "no dm-delay"

limit=10		# seconds

table_of() { echo "0 $(sectors_of "$1") $2 $1 0${3:+ $3}"; }
hang()
{
	trap go_on EXIT
	lower fast "$(table_of "$fast" delay 600000)"
	lower slow "$(table_of "$slow" delay 600000)"
}
go_on()
{
	lower fast "$(table_of "$fast" linear)"
	lower slow "$(table_of "$slow" linear)"
}

# in_time COMMAND...: as ctl_code; it ends in less than the limit and a second, so it does not
# wait for one device after another
in_time()
{
	local start=$SECONDS
	ctl_code "$@"
	note "tierctl ${*:2}: $((SECONDS - start)) s"
	[ $((SECONDS - start)) -lt $((2 * limit)) ] || fail "tierctl ${*:2} took $((SECONDS - start)) s"
}
says_late() { matches "tt_u_$1: does not answer within $limit s" "$errors" "what is said"; }

# One set on devices that answer, another set on two devices that do not
others_go_on()
{
	make_disks
	disk meta2 4
	disk third 16
	disk spare 16
	wrap u_fast "$(table_of "$fast" linear)"
	wrap u_slow "$(table_of "$slow" linear)"
	ctl create tt_late -q -c 64k -m "$meta2" /dev/mapper/tt_u_fast /dev/mapper/tt_u_slow
	ctl create "$set" -q -c 64k -m "$meta" "$third" "$spare"
	write_chunks 0 20 1
	ctl deactivate -q --all
	hang
	in_time 0 activate --auto "$third"
	same "" "$output$errors" "what is said"
	check_chunks 0 20 1
	in_time 3 list
	matches "$set .* active" "$output" "list"
	says_late fast
	says_late slow
	same 2 "$(wc -l <"$tmp/stderr")" "lines on stderr"
	in_time 1 activate tt_late
	says_late fast
	go_on
	ctl_code 0 activate -q tt_late
}
test_case "devices that hang delay no other set" others_go_on

run_tests
