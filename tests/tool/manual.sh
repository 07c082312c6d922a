#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each command has a manual page, which is well-formed and has examples, and of which the table
# of commands makes a part; and a schema, if it reports as JSON.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

man=$top/man

# The common text of help, pages and completion is generated.
complaint=$(make -s -C "$top/userspace" generated 2>&1 | sed "/^make:/d")
point $? "pages and completion say what the table of commands does${complaint:+: $complaint}"

for command in $(commands); do
	page=$man/tierctl-$command.8
	[ -e "$page" ]
	point $? "$command has a page"
	[ -e "$page" ] || continue
	text=$(sed 's/\\-/-/g; s/\\f[BRI]//g' "$page")
	[ "$(grep -cE "^... BEGIN (head|options) $command \(" "$page")" = 2 ]
	point $? "its head and its options are generated: BEGIN head $command, BEGIN options $command"
	sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' <<<"$text" | grep -qF "tierctl $command"
	point $? "its page has an example"
	if options "$command" | grep -qx -- --json; then
		[ -e "$top/userspace/schema/$command.json" ]
		point $? "its report has a schema"
	fi
	grep -qF "tierctl-$command" <(sed 's/\\-/-/g' "$man/tierctl.8")
	point $? "tierctl(8) names it"
done

if command -v groff >/dev/null; then
	for page in "$man"/*; do
		complaint=$(groff -man -t -ww -z "$page" 2>&1; grep -nE '^\.(PP|P|LP) .' "$page")
		[ -z "$complaint" ]
		point $? "${page##*/} is well-formed${complaint:+: $complaint}"
	done
else
	skip "well-formed pages" "groff is not installed"
fi
finish
