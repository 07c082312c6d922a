# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154	# tmp and others are assigned by lib.sh
#
# Shared by the tests of the tool. Sourced after lib.sh.

tierctl=${TIERCTL:-$here/../../userspace/tierctl}
[ -x "$tierctl" ] || tierctl=$(command -v tierctl) ||
	skip_all "tierctl is not built (set TIERCTL to its path)"
need jq

# ctl ARGUMENT...: never asks, as it has no terminal
ctl() { "$tierctl" "$@" </dev/null; }

# ctl_code CODE ARGUMENT...: tierctl exits with CODE; $output and $errors are its output
ctl_code()
{
	local want=$1 rc=0
	shift
	output=$(ctl "$@" 2>"$tmp/stderr") || rc=$?
	errors=$(<"$tmp/stderr")
	[ "$rc" = "$want" ] ||
		fail "tierctl $*: exit status $rc instead of $want: $output $errors"
}

# The exit status of a sanitizer, which tierctl does not use itself.
export ASAN_OPTIONS=exitcode=99

# Reports are kept for check-json.py.
reports=$tmp/reports
mkdir "$reports"

# keep_report COMMAND FILE
keep_report() { cp "$2" "$(mktemp "$reports/$1.XXXXXX")"; }

# json FILTER COMMAND ARGUMENT...: prints jq's result for a report; a report of an error or of
# attention is a report, too
json()
{
	local filter=$1 rc=0
	shift
	ctl "$@" --json >"$tmp/json" || rc=$?
	# Shown, as the error may be unexpected.
	if [[ $rc != [013] ]] || [ ! -s "$tmp/json" ]; then
		echo "no report: exit status $rc"
		return 1
	fi
	keep_report "$1" "$tmp/json"
	jq -r "$filter" "$tmp/json"
}

# unchanged DISK... -- COMMAND...: no write, discard or flush reaches any of the disks while
# COMMAND runs
unchanged()
{
	local disks=() counts
	while [ "$1" != -- ]; do
		disks+=("$1")
		shift
	done
	shift
	counts=$(write_counts "${disks[@]}")
	"$@"
	same "$counts" "$(write_counts "${disks[@]}")" "writes"
}

# one_line REGEX: the last ctl_code printed one line on stderr, and nothing else
one_line()
{
	local lines
	same "" "$output" "stdout"
	mapfile -t lines <"$tmp/stderr"
	same 1 "${#lines[@]}" "lines on stderr ($errors); number"
	matches '^tierctl: .+' "$errors" "message"
	[[ ${errors,,} =~ $1 ]] || fail "the message does not say /$1/: $errors"
}

# lose_power NAME:MIB...: the set is gone, and as many MiB of these disks are as they were before
lose_power()
{
	local disk
	for disk; do
		dd if="/dev/tt_${disk%:*}" of="$tmp/before_${disk%:*}" bs=1M count="${disk#*:}" iflag=direct conv=sparse status=none
	done
	ctl deactivate -q "$set"
	for disk; do
		dd if="$tmp/before_${disk%:*}" of="/dev/tt_${disk%:*}" bs=1M oflag=direct status=none
		rm "$tmp/before_${disk%:*}"
	done
}

# label_in_second_slot DEV [FROM]: writes the label of DEV, or of FROM, a copy of its beginning,
# to the second slot only, as mkswap leaves it
label_in_second_slot()
{
	dd if="${2:-$1}" of="$tmp/label" bs=512 count=9 status=none
	dd if="$tmp/label" bs=512 count=1 status=none | grep -q TIERLABL ||
		dd if="$tmp/label" of="$tmp/label" bs=512 skip=8 count=1 conv=notrunc status=none
	dd if=/dev/zero of="$1" bs=4k count=1 oflag=direct status=none
	dd if="$tmp/label" of="$1" bs=512 seek=8 count=1 oflag=direct status=none
}

# remove_but_for_label DEV: as if the removal had been killed before the label in the second slot
# was wiped
remove_but_for_label()
{
	dd if="$1" of="$tmp/head" bs=4k count=2 iflag=direct status=none
	ctl remove -q "$set" "$1"
	label_in_second_slot "$1" "$tmp/head"
}
