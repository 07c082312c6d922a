# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# TAP, and what tierctl --help says.
set -uo pipefail
export LC_ALL=C
unset MAKEFLAGS MFLAGS MAKELEVEL	# options of an outer make are not meant for these

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tierctl=${TIERCTL:-$top/userspace/tierctl}
run=0 failed=0

# point RESULT DESCRIPTION: RESULT is 0 for a pass
point()
{
	run=$((run + 1))
	if [ "$1" = 0 ]; then
		echo "ok $run - $2"
	else
		echo "not ok $run - $2"
		failed=$((failed + 1))
	fi
}

# skip DESCRIPTION REASON
skip()
{
	run=$((run + 1))
	echo "ok $run - $1 # SKIP $2"
}

finish()
{
	echo "1..$run"
	[ "$failed" = 0 ]
	exit
}

commands() { "$tierctl" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'; }

# options COMMAND: every spelling, one a line
options()
{
	"$tierctl" "$1" --help | sed -n '/^Options:/,$p' | sed 1d |
		sed -n 's/^  \(-[a-zA-Z], \|    \)\(--[a-z-]*\(, --[a-z-]*\)*\).*/\1 \2/p' |
		tr -s ', ' '\n' | grep .
}

# Checked, as an empty list would pass all tests.
[ "$(commands | wc -l)" -gt 10 ] || { echo "1..0 # SKIP tierctl is not built"; exit 1; }
