#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
# long
# timeout=1200
#
# Tiers on another machine by NBD, between nbdkit and the kernel's client.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=../functional/lib-tierctl.sh
. "$here/lib-tierctl.sh"
# shellcheck source=lib-reach.sh
. "$(dirname "$0")/lib-reach.sh"

need nbdkit nbd-client
modprobe nbd nbds_max=8 2>/dev/null || skip_all "there is no nbd"
stores=()
servers=()
clients=()

serve()
{
	stores[$1]=$2
	nbdkit --foreground --ipaddr 127.0.0.1 --port $((10809 + $1)) --filter=error file "$2" error=EIO error-rate=100% error-file="$tmp/broken" 2>"$tmp/nbdkit" &
	servers[$1]=$!
}

attach()
{
	: "${clients[$1]:=$(($1 * 2 - 1))}"
	clients[$1]=$((clients[$1] + 1))
	attached=/dev/nbd${clients[$1]}
	connect "$1"
}

# At first the server may not listen yet.
connect() { wait_for 10 nbd-client 127.0.0.1 "$((10809 + $1))" "/dev/nbd${clients[$1]}" -timeout 0 >"$tmp/nbd" 2>&1; }
detach() { nbd-client -d "/dev/nbd${clients[$1]}" >/dev/null 2>&1; }
reread() { :; }
# Asked politely, nbdkit waits for its clients.
hang_up()
{
	kill -9 "${servers[@]}"
	wait "${servers[@]}" 2>/dev/null || true
}
new_client()
{
	answer
	for n in 0 2; do attach "$n"; done
}

answer()
{
	local n
	for n in "${!stores[@]}"; do
		kill -0 "${servers[n]}" 2>/dev/null || serve "$n" "${stores[n]}"
	done
}

end_all()
{
	local dir
	hang_up
	for dir in /sys/block/nbd*/pid; do
		dir=${dir%/pid}
		[ ! -e "$dir/pid" ] || nbd-client -d "/dev/${dir##*/}" >/dev/null 2>&1
	done
	stores=() servers=() clients=()
}

test_case "the link stalls for 5 s" happens "link stalled" stalls 5
long_case "the link stalls for 30 s" happens "link stalled" stalls 30
long_case "the link stalls for 120 s" happens "link stalled" stalls 120

# The client ends when it loses the server. The kernel does not let go of the device while the set
# uses it, so the next client needs another one.
test_case "the server is away: the device is lost, and another is connected" renamed hang_up new_client

test_case "errors" broken "touch $tmp/broken" "rm $tmp/broken"
test_case "a device comes back under another name" renamed "detach 2" "attach 2"
test_case "a device comes back smaller" shrunk

run_tests
