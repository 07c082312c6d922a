# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2119,SC2120,SC2154	# make takes a name, or none; assigned by lib.sh and lib-tierctl.sh
#
# Shared by the tests of the devices below a set. Sourced after lib-tierctl.sh.

# make [NAME]: the usual set; with NAME (meta, fast or slow) $NAME is a dm device in front of
# that disk, tt_held
make()
{
	make_disks
	if [ -n "${1:-}" ]; then
		wrap held "$(linear_line "$1")"
		printf -v "$1" %s /dev/mapper/tt_held
	fi
	ctl create "$set" -q -m "$meta" -c 64k --policy static "$fast" "$slow"
	io write "$dev" at=0 len=1m seed=1
	io sync "$dev"
	well
}

# well: nothing needs attention
well()
{
	ctl_code 0 status "$set"
	matches 'attention +none' "$output"
	same 0 "$(json '[.sets[0] | .metadata.problems, .tiers[].problems | .[]] | length' status "$set")" "problems"
	ctl metrics "$set" >"$tmp/metrics"
	same "" "$(sed -n '/^dm_tier_device_problem.* 1$/p' "$tmp/metrics")" "problems by metrics"
	same 0 "$(sed -n 's/^dm_tier_attention{.*} //p' "$tmp/metrics")" "the metric attention"
}

# within SECONDS COMMAND...: COMMAND ends in that time; a process that waits in the kernel would not
within()
{
	local pid n
	"${@:2}" &
	pid=$!
	for ((n = 0; n < $1 * 10 * patience; n++)); do
		[[ -e /proc/$pid/stat && $(awk '{ print $3 }' "/proc/$pid/stat") != Z ]] || break
		nap 0.1
	done
	if [[ -e /proc/$pid/stat && $(awk '{ print $3 }' "/proc/$pid/stat") != Z ]]; then
		fail "does not end within $1 s: ${*:2}; it waits in $(head -n 4 "/proc/$pid/stack" | tr '\n' ' ')"
	fi
	wait "$pid"
}

# ill PART PROBLEM CODE TEXT [HEALTH]: PART, a rank or "metadata", has that problem, and a line
# of attention with CODE contains TEXT
ill()
{
	local part=$1 filter=.metadata
	[ "$part" = metadata ] || filter=".tiers[$part]"
	ctl_code 3 status "$set"
	note "$(grep '^attention' <<<"$output")"
	matches "attention +[^"$'\n'"]*$4" "$output"
	ctl_code 3 list
	json . status "$set" >"$tmp/report"
	same true "$(jq ".sets[0]$filter.problems | contains([\"$2\"])" "$tmp/report")" "the problem of $part in JSON"
	same true "$(jq "[.sets[0].attention[].code] | contains([\"$3\"])" "$tmp/report")" "the code in JSON"
	same "${5:-attention}" "$(jq -r '.sets[0].health' "$tmp/report")" "health"
	ctl metrics "$set" >"$tmp/metrics"
	matches "dm_tier_device_problem\{set=\"$set\",part=\"$part\",device=\"[^\"]*\",problem=\"$2\"\} 1" "$(<"$tmp/metrics")"
	matches 'dm_tier_attention\{[^}]*\} [1-9]' "$(<"$tmp/metrics")"
}

# told PART: each report says that tt_held is suspended, and does not wait for it
told()
{
	dmsetup suspend --noflush tt_held
	within 10 ctl_to 3 status "$set"
	matches "attention +[^"$'\n'"]*is suspended, I/O to it waits: dmsetup resume tt_held" "$(<"$tmp/said")"
	ill "$1" suspended part_suspended "is suspended, I/O to it waits: dmsetup resume tt_held" "${2:-attention}"
	# Another set on other devices.
	within 10 ctl_to 1 status nothing
	matches 'nothing: no such set' "$(<"$tmp/said")"
	dmsetup resume tt_held
}

# ctl_to CODE ARGUMENT...: as ctl_code, but can run in the background
ctl_to()
{
	local want=$1 rc=0
	shift
	ctl "$@" >"$tmp/said" 2>&1 || rc=$?
	[[ $want == any || $rc == "$want" ]] || fail "tierctl $*: exit status $rc instead of $want: $(<"$tmp/said")"
}

unplugged()
{
	make
	echo 0 >"$configfs/tt_$1/power"
	wait_for 10 test ! -e "/sys/block/tt_$1"
	ill "$2" missing "$3" "$4" degraded
	# The disk comes back with the same number, but for the set it is another disk.
	echo 1 >"$configfs/tt_$1/power"
	wait_for 10 test -b "/dev/tt_$1"
	ill "$2" missing "$3" "is missing, and back as /dev/tt_$1, .*: tierctl deactivate $set && tierctl activate $set" degraded
	ctl deactivate -q "$set"
	ctl activate -q "$set"
	io check "$dev" at=0 len=1m seed=1
	well
}

# schemas: a case that checks the reports of the cases before
schemas()
{
	"$here/check-json.py" "$here/../../userspace/schema" "$reports"/*
}
