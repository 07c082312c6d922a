#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Standard output that cannot be written is an error, and is told.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

for argument in --help --version help; do
	rc=0
	said=$("$tierctl" "$argument" 2>&1 >/dev/full) || rc=$?
	[ "$rc" = 1 ]
	point $? "$argument to a full disk has the exit status 1"
	[ "$said" = "tierctl: standard output cannot be written: what should be there is not whole." ]
	point $? "and says why"
done
rc=0
said=$("$tierctl" --version 2>&1 >/dev/null) || rc=$?
[ "$rc$said" = 0 ]
point $? "else nothing is said"
finish
