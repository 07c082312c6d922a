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

# Whatever fails, a report as JSON is one object.
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
chmod 755 "$bin"
become=()
cp "$tierctl" "$bin/tierctl"
[ "$(id -u)" != 0 ] || become=(setpriv --reuid 65534 --clear-groups)
rc=0
said=$("${become[@]}" "$bin/tierctl" status --json 2>/dev/null) || rc=$?
[ "$rc $(python3 -c 'import json, sys; print(*[e["message"] for e in json.load(sys.stdin)["errors"]])' <<<"$said")" = \
	"1 status: only root can do that." ]
point $? "status --json of who may not is an object that says so"
finish
