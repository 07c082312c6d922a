#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# If standard output cannot be written, the tool fails and says so.

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

# Whatever fails, a report as JSON stays one object.
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

# reason COMMAND: the code of the error, and how to check its report; with as many arguments as it takes
reason()
{
	local words rc
	for words in "" x "x y" "x y z"; do
		rc=0
		# shellcheck disable=SC2086
		"${become[@]}" "$bin/tierctl" "$1" --json $words >"$bin/$1.json" 2>/dev/null || rc=$?
		[ "$rc" = 2 ] || break
	done
	python3 -c 'import json, sys; print(sys.argv[1], *[e["code"] for e in json.load(sys.stdin)["errors"]])' \
		"$rc" <"$bin/$1.json"
}

for command in $(commands); do
	options "$command" | grep -qx -- --json
	point $? "$command takes --json"
	# These print objects of their own, or a dump.
	case $command in dump|events) continue ;; esac
	[ "$(reason "$command" 2>/dev/null)" = "1 permission" ]
	point $? "and says by a code that only root may"
	if python3 -c 'import jsonschema' 2>/dev/null; then
		complaint=$("$top/tests/functional/check-json.py" "$top/userspace/schema" "$bin/$command.json")
		point $? "as its schema says${complaint:+: $complaint}"
	else
		skip "as its schema says" "there is no jsonschema"
	fi
done
finish
