#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The metadata of a large set: made from a dump, checked within a minute and 2 GiB
# of memory.
#
#   large-metadata.sh [CHUNKS]	default 64 Mi: 64 TiB in chunks of 1 MiB; needs 2 GiB
#				of disk for metadata below TMPDIR
# shellcheck disable=SC2317	# called by result
set -euo pipefail

chunks=${1:-$((64 << 20))}
tools=$(dirname "$0")/../../userspace
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Runs of 64 chunks on two tiers in turn; every other 32 chunks have heat.
dump()
{
	awk -v n="$chunks" 'BEGIN {
		half = int(n / 2) + 200
		printf "<tier_metadata>\n<set version=\"1\" uuid=\"%032d\" name=\"large\" state=\"live\" ", 1
		printf "policy=\"heat\" chunk_sectors=\"2048\" nr_chunks=\"%d\" length=\"%.0f\" ", n, n * 2048
		printf "reserve=\"64\" logical_block_size=\"512\" generation=\"1\" next_generation=\"1\" "
		printf "trans_id=\"1\" needs_check=\"0\" clean=\"1\" paused=\"0\" compat=\"0\" compat_ro=\"0\"/>\n"
		for (t = 0; t < 2; t++) {
			printf "<tier id=\"%d\" uuid=\"%032d\" rank=\"%d\" size=\"%.0f\" first_place=\"1\" ", t, t + 2, t,
				half * 2048
			printf "places=\"%d\" generation=\"1\" next_generation=\"1\" ", half - 1
			printf "evacuate=\"0\" endurance=\"0\" reserve=\"0\" landing=\"1\" last_seen=\"\"/>\n"
		}
		place[0] = place[1] = 1
		for (c = 0; c + 64 <= n; c += 64) {
			t = c / 64 % 2
			printf "<map chunk=\"%d\" chunks=\"64\" tier=\"%d\" place=\"%d\"/>\n", c, t, place[t]
			place[t] += 64
		}
		for (c = 0; c + 64 <= n; c += 64)
			printf "<heat chunk=\"%d\" chunks=\"32\" reads=\"%d\" writes=\"3\"/>\n", c, c / 64 % 65535
		print "</tier_metadata>"
	}'
}

# result NAME COMMAND...
nr=0 failed=0
result()
{
	local name=$1 start=$SECONDS
	shift
	nr=$((nr + 1))
	if "$@"; then
		echo "ok $nr - $name ($((SECONDS - start)) s)"
	else
		echo "not ok $nr - $name ($((SECONDS - start)) s)"
		failed=1
	fi
}

restore() { dump | "$tools/tier_restore" -q -i - -o "$tmp/metadata"; }

check()
(
	ulimit -v $((2 << 20))
	timeout 60 "$tools/tier_check" -i "$tmp/metadata"
)

echo "1..2"
result "$chunks chunks are restored" restore
result "and checked within 60 s and 2 GiB" check
exit $failed
