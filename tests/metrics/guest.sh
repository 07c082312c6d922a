#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
#
# What tierctl metrics prints of a set that works, and of one that fails: for tests/metrics/run, in
# the folder $METRICS: STATE.0 and STATE.1 are of two moments of the same activation.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=../functional/lib-tierctl.sh
. "$(dirname "$0")/../functional/lib-tierctl.sh"
[ -d "${METRICS:-}" ] || skip_all "METRICS names no folder"

printed() { ctl metrics -q -o "$METRICS/$1"; }

well()
{
	make_disks
	ctl create "$set" -q -m "$meta" -c 64k "$fast" "$slow"
	write_chunks 0 40 1
	printed well.0
	move 0 20 1
	move 0 10 0
	check_chunks 0 40 1
	printed well.1
	ctl destroy -q -y "$set"
}
test_case "of a set in order" well

ill()
{
	make_disks
	ctl create "$set" -q -m "$meta" -c 64k "$fast" "$slow"
	write_chunks 0 40 1
	move 0 20 1
	ctl pause -q "$set"
	bad_sectors "$slow" 2048 512
	io_fails 5 check_chunks 0 20 1
	printed ill.0
	io_fails 5 check_chunks 0 20 1
	check_chunks 20 20 1
	printed ill.1
	good_sectors "$slow" 2048 512
	ctl destroy -q -y "$set"
}
test_case "of a set with a disk that fails" ill

run_tests
