# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154	# used by the tests; set by lib.sh
#
# For tests in which a tier hangs or memory runs out.  Sourced after lib.sh.

# in_time WHAT COMMAND...: COMMAND succeeds although a tier hangs
in_time()
{
	local what=$1 pid start=$EPOCHREALTIME
	shift
	"$@" &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		[ "${EPOCHREALTIME%.*}" -lt $((${start%.*} + 20)) ] || fail "$what waits"
		nap 0.1
	done
	wait "$pid" || fail "$what: status $?"
	note "$what: $(since "$start") s"
}

# all_arrive FIRST COUNT RANK: waits until these chunks lie on that tier
all_arrive() { until all_on_rank "$@"; do nap 0.2; done; }

# full_disk NAME MIB: null_blk allocates memory at the first write of a sector, in the name of any
# process; this disk does not any more.
full_disk()
{
	disk "$1" "$2" discard=0
	dd if=/dev/zero of="/dev/tt_$1" bs=1M oflag=direct status=none 2>/dev/null || true
}

# load_nomem: called within a case, before no_memory
load_nomem() { load_module nomem "page allocations fail"; }

# no_memory: from here on page allocations fail, see test_modules/nomem.c
nomem=/sys/module/nomem/parameters
no_memory() { echo 1 >$nomem/on; }

# memory_again: denied[workers], denied[threads], denied[others] is how many have failed
declare -A denied
memory_again()
{
	local who
	[ -d $nomem ] || return 0
	echo 0 >$nomem/on
	for who in workers threads others; do denied[$who]=$(<$nomem/$who); done
	note "allocations that failed: ${denied[workers]} of workers," \
		"${denied[threads]} of kthreadd, ${denied[others]} of others"
	rmmod nomem
}
