#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=600: the clock of a steady guest runs ahead (ci/guest/run)
# steady: it measures speed
# stock kernels only: it measures speed
#
# A zipf working set that fits the fast tier and lies cold on the slow one must
# be served at least 90% from the fast tier within two minutes.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need fio bc

# 32 MiB fast (496 places) at 90 us, 256 MiB slow at 8 ms, as flash and a disk
# are; 24 MiB of working set among 160 MiB of data.
working_set=24

make_cold_set()
{
	cold_set 32 90000 256 8000000 2560
	same 2560 "$(info used1)" "chunks on the slow tier"
	core=()
	reload
}

climb()
{
	local start now r0 r1 hit=0 passed='' line rate
	make_cold_set
	background fio --name=zipf --filename="$dev" --direct=1 --ioengine=libaio --iodepth=8 \
		--rw=randread --bs=4k --offset=32m --size="${working_set}"m \
		--random_distribution=zipf:1.1 --norandommap --time_based --runtime=120 \
		--randseed=7 --output="$tmp/fio"
	start=$SECONDS
	status
	r0=${S[reads0]} r1=${S[reads1]}
	while [ $((SECONDS - start)) -lt 120 ]; do
		sleep 5
		status
		now=$((S[reads0] - r0 + S[reads1] - r1))
		hit=$(bc <<<"scale=1; 100 * ($((S[reads0] - r0))) / ($now + ($now == 0))")
		rate=$((now / 5))
		printf -v line '%3d s: %5s%% of reads from the fast tier, %5d reads/s, %4d promotions' \
			$((SECONDS - start)) "$hit" "$rate" "${S[promotions]}"
		note "$line"
		r0=${S[reads0]} r1=${S[reads1]}
		if [ "$(bc <<<"$hit >= 90")" = 1 ]; then
			passed=yes
			break
		fi
	done
	kill "$last_pid" 2>/dev/null || true
	wait "$last_pid" || true
	[ -n "$passed" ] || fail "only $hit% from the fast tier after two minutes"
	check_chunks 0 2560 1 block=1m
}
test_case "at least 90% from the fast tier within two minutes" climb

run_tests
