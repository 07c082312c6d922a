#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Lists that must be complete: the places that name each tunable, each event's MESSAGE_ID, and the
# places that name each test file of tests/functional.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# keys PREFIX: the tunables whose index in the modules' tables begins with PREFIX, as in
# [TIER_TUNABLE_DEPTH] = { "migration_depth", ...
keys() { grep -rhoE --include='*.c' "\[$1_[A-Z_]+\] = \{ \"[a-z_]+\"" "$top/dm-tier" | sed 's/.*"\(.*\)"/\1/'; }

# named KEY WHERE TEXT WORD: the TEXT of WHERE names KEY, spelt as WORD
named()
{
	grep -qF -- "$4" <<<"$3"
	point $? "$2 names the tunable $1"
}

rst=$(<"$top/dm-tier/dm-tier.rst")
page=$(<"$top/man/dm-tier.7")
set_page=$(<"$top/man/tierctl-set.8")
set_help=$("$tierctl" set --help)
source=$(find "$top/userspace" -name tunable.c -exec cat {} +)
fuzzed=$(<"$top/tests/fuzz/words.c")

for key in $(keys TIER_TUNABLE); do
	named "$key" dm-tier.rst "$rst" "\`\`$key\`\`"
	named "$key" "dm-tier(7)" "$page" ".B $key"
	named "$key" "tierctl-set(8)" "$set_page" ".B $key"
	named "$key" "tierctl set --help" "$set_help" "$key"
	named "$key" tunable.c "$source" "{ \"$key\","
	named "$key" tests/fuzz/words.c "$fuzzed" "\"$key\""
done
for key in $(keys TIER_TIER); do
	named "$key" dm-tier.rst "$rst" "\`\`tierN.$key\`\`"
	named "$key" "dm-tier(7)" "$page" ".BI tier N .$key"
	named "$key" "tierctl-set(8)" "$set_page" ".BI tier N .$key"
	named "$key" "tierctl set --help" "$set_help" "tierN.$key"
	named "$key" tunable.c "$source" "{ \"$key\","
	named "$key" tests/fuzz/words.c "$fuzzed" ".$key\""
done
for key in $(keys HEAT_KEY); do
	named "$key" dm-tier.rst "$rst" "\`\`$key\`\`"
	named "$key" "dm-tier(7)" "$page" ".B $key"
	named "$key" tunable.c "$source" "\"$key\""
	named "$key" tests/fuzz/words.c "$fuzzed" "\"$key\""
done
# An empty list would prove nothing.
[ "$(keys TIER_TUNABLE | wc -l)" -ge 3 ] && [ "$(keys TIER_TIER | wc -l)" -ge 3 ] && [ "$(keys HEAT_KEY | wc -l)" -ge 3 ]
point $? "the tunables were found"

# Each event's MESSAGE_ID, as journalctl --catalog looks it up
sent=$(sed -n 's/^\t{ "\([a-z_]*\)", LOG_[A-Z]*, "\([0-9a-f]\{32\}\)" },$/\1 \2/p' "$top/userspace/cmd/events.c" | sort)
[ -n "$sent" ] && [ "$sent" = "$(sed -n '/^# SPDX/d; s/^# \([a-z_]*\)$/\1/p; s/^-- //p' "$top/userspace/systemd/dm-tier.catalog" |
	paste -d' ' - - | sort)" ]
point $? "the catalog has each event's MESSAGE_ID"

# words VARIABLE: its value in the Makefile of tests/functional
words() { echo " $(sed -n "/^$1/,/[^\\\\]\$/{s/\\\\\$//;p}" "$top/tests/functional/Makefile" | tr -s ' \t\n' ' ') "; }
programs=$(words TEST_PROGS) files=$(words TEST_FILES)
for file in "$top"/tests/functional/*.sh; do
	name=${file##*/}
	if [[ $name == lib*.sh ]]; then
		[[ $files == *" $name "* ]]
		point $? "TEST_FILES in tests/functional/Makefile names $name"
		continue
	fi
	[[ $programs == *" $name "* ]]
	point $? "TEST_PROGS in tests/functional/Makefile names $name"
	grep -qE "^\| ([a-z-]+, )*${name%.sh}(, [a-z-]+)* \|" "$top/tests/functional/README.md"
	point $? "the table in tests/functional/README.md names ${name%.sh}"
done
finish
