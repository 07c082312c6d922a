#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=180
#
# What can happen to the devices below a set in use: unplugged, suspended, an error table, a
# mirror that loses a leg, smaller, read-only, larger blocks; and to the set's own device.
# tierctl status reports each case, with a way out, in words, by its exit status, as JSON
# and as metrics; and it never waits for a device.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-below.sh
. "$(dirname "$0")/lib-below.sh"

test_case "the metadata device is unplugged, and comes back" \
	unplugged meta metadata metadata_missing 'its metadata device is gone.*tierctl deactivate tt_set && tierctl activate tt_set'

plain()
{
	make meta
	ctl deactivate -q "$set"
	dmsetup create "$set" --table "0 $(sectors_of "$slow") tier $meta 128 2 $fast $slow 0 0 default 0"
	told metadata
}
test_case "the metadata is suspended, of a set that dmsetup made" plain

# left_by COMMAND...: the state in which COMMAND leaves an open set
left_by()
{
	local holder
	make
	background io hold "$dev"
	holder=$last_pid
	nap 1
	"$@" "$set" || true		# --force says that the device is busy, and has replaced the table
	same error "$(dmsetup table "$set" | cut -d' ' -f3)" "table"
	ctl_code 3 status "$set"
	note "$(grep '^attention' <<<"$output")"
	matches 'status: failed' "$output"
	matches "attention .*has a table of \"error\" and fails every I/O.*: close it, then tierctl activate $set" "$output"
	ctl_code 3 list
	matches "$set .*failed" "$output"
	same "failed failed error_table" "$(json '.sets[0] | .state + " " + .health + " " + .attention[0].code' status "$set")"
	ctl metrics "$set" >"$tmp/metrics"
	matches "dm_tier_failed\{set=\"$set\"\} 1" "$(<"$tmp/metrics")"
	matches "dm_tier_attention\{set=\"$set\"\} 1" "$(<"$tmp/metrics")"
	# The device stays as long as it is open.
	ctl_code 1 activate "$set"
	one_line 'open by|in use'
	# --auto does not activate the set again.
	ctl_code 0 activate --auto
	same error "$(dmsetup table "$set" | cut -d' ' -f3)" "table"
	kill "$holder"
	wait "$holder" || true
	ctl_code 0 activate "$set"
	io check "$dev" at=0 len=1m seed=1
	well
	dmsetup wipe_table "$set"
	ctl_code 0 deactivate "$set"
	only_device ""
	ctl_code 0 activate -q "$set"
	well
}
test_case "remove --force of a set in use" left_by dmsetup remove --force

# Must be the last case.
test_case "every report keeps to its schema" schemas

run_tests
