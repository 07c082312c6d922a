# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154	# tmp and others are assigned by lib.sh
#
# Shared by the tests of overwritten labels. Sourced after lib-tierctl.sh.

# An inactive set; chunks 0 to 60 and 127 lie on the slow tier, chunk 127 in its last place.
whole()
{
	disk meta 4
	disk fast 16
	disk slow 8
	ctl create "$set" -q -m "$meta" -c 64k -L 14m --policy static "$fast" "$slow"
	write_chunks 0 200 1
	ctl migrate -q "$set" 127 --tier 1 --home
	ctl migrate -q "$set" 0-60 --tier 1
	ctl wait -q "$set"
	ctl deactivate -q "$set"
}

zero_head() { dd if=/dev/zero of="$1" bs=16k count=1 oflag=direct status=none; }

# hinted RANK DISK WHAT: status and activate name the command that writes the label
hinted()
{
	local want="tier $1 is missing, or has lost its label: $2 has its size and last name, but $3; if that is the tier: tierctl repair --label $1 $2 $set"
	ctl_code 3 status "$set"
	matches "$want"$'(\n|$)' "$output"
	same tier_missing "$(json '.sets[0].attention[0].code' status "$set")" "code"
	ctl_code 1 activate "$set"
	one_line "^tierctl: $set: $want; else connect it, or: tierctl activate --degraded $set \([0-9.]* [kmg]?i?b unreadable\)\.$"
}

# mended RANK DISK [OPTION...]: the label is written, and the set is active
mended()
{
	ctl_code 0 repair -y "${@:3}" --label "$1" "$2" "$set"
	ctl_code 0 check "$set"
	ctl_code 0 status "$set"
	ctl_code 0 activate "$set"
}
# back RANK DISK: as mended, and all data is there
back()
{
	mended "$@"
	check_chunks 0 200 1
}

# refused_for WORDS ARGUMENT...: one line refuses, and nothing is written
refused_for()
{
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 repair -y "${@:2}"
	matches "^tierctl: [^"$'\n'"]*$1[^"$'\n'"]*$" "$errors" "message"
}
