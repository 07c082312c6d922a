#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=180
#
# What befalls the devices that a set stands on while it is in use: unplugged, suspended, an
# error where their table was, a leg of a mirror lost, smaller, read-only, larger blocks; and
# its own device.  tierctl status says so, with a way out, each time in words, by its exit
# status, as JSON and as metrics; and never waits for a device.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
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

# Last
test_case "every report keeps to its schema" schemas

run_tests
