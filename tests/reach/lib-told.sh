# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154	# assigned by lib.sh
#
# Each case says how long it took, and how often data was compared. Had any been lost, it would have
# failed. Sourced after tests/functional/lib.sh.

export TIMES=1
compared() { echo >>"$tmp/compared"; }
io()
{
	"$tierio" "$@" || return
	[[ $1 != *check ]] || compared
}
eval "plain_$(declare -f run_case)"
run_case()
{
	rm -f "$tmp/compared"
	plain_run_case "$1"
	[ ! -e "$tmp/compared" ] || note "data compared $(wc -l <"$tmp/compared") times, nothing is lost"
}
