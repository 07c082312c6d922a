#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each command has a manual page that tells each of its options, has examples,
# and is well-formed; and a schema, if it reports as JSON.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

man=$top/man
# Told once, in tierctl(8).
common=' --help --version --quiet --verbose --yes --force '

for command in $(commands); do
	page=$man/tierctl-$command.8
	[ -e "$page" ]
	point $? "$command has a page"
	[ -e "$page" ] || continue
	text=$(sed 's/\\-/-/g; s/\\f[BRI]//g' "$page")
	left=
	while read -r option; do
		[[ $common == *" $option "* ]] || grep -qwF -- "$option" <<<"$text" || left+=" $option"
	done < <(options "$command" | grep '^--')
	[ -z "$left" ]
	point $? "its page tells its options${left:+, but not$left}"
	# Nor does it tell of others.
	left=
	while read -r option; do
		options "$command" | grep -qxF -- "$option" || left+=" $option"
	done < <(sed -n '/^\.SH OPTIONS/,/^\.PP/p' <<<"$text" | grep -A1 '^\.TP' | grep '^-' |
		 tr -s ', ' '\n' | grep '^-.*[a-zA-Z]')
	[ -z "$left" ]
	point $? "and no others${left:+, but$left}"
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
