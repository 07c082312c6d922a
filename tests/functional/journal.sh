#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Events in systemd's journal: what tierctl sends to its socket, and whether the catalog explains
# each of them.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
need python3

socket=/run/systemd/journal/socket
catalog=$here/../../userspace/systemd/dm-tier.catalog
[ -e "$catalog" ] || catalog=/usr/lib/systemd/catalog/dm-tier.catalog

# Writes each message that comes to the socket, as a line, to a file.
listen()
{
	python3 - "$socket" "$tmp/journal" <<-'EOT'
		import os, socket, sys
		path, log = sys.argv[1:]
		os.makedirs(os.path.dirname(path), exist_ok=True)
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind(path)
		with open(log, "w") as f:
		    while True:
		        print(s.recv(65536).decode().replace("\n", "\t"), file=f, flush=True)
	EOT
}
# entry EVENT: the message of that event
entry() { grep -P "\tTIER_EVENT=$1\t" "$tmp/journal"; }
# field NAME EVENT
field() { entry "$2" | tr '\t' '\n' | sed -n "s/^$1=//p"; }

sent()
{
	[ ! -e "$socket" ] || skip "a journal runs here"
	background listen
	wait_for 10 test -S "$socket"
	watched_set
	background ctl events --journal
	nap 2
	msg evacuate 0
	wait_for 20 entry evacuated
	deactivate
	wait_for 20 entry deactivated
	rm "$socket"
	same "0 5 rw tierctl" "$(field TIER_RANK evacuated) $(field PRIORITY evacuated) $(field TIER_MODE evacuated) \
$(field SYSLOG_IDENTIFIER evacuated)"
	same "$set $(field TIER_UUID evacuated)" "$(field TIER_SET deactivated) $(field TIER_UUID deactivated)"
	[[ $(field MESSAGE evacuated) == "$set: tier 0 ("*") is empty" ]] || fail "message: $(field MESSAGE evacuated)"
	grep -A1 -x "# evacuated" "$catalog" | grep -qx -e "-- $(field MESSAGE_ID evacuated)" ||
		fail "the catalog has another MESSAGE_ID"
}
watched_set()
{
	disk meta 4
	disk fast 16
	disk slow 64
	length=$((500 * chunk))		# all of it fits the slow tier
	activate
	write_chunks 0 4 1
	io sync "$dev"
}
test_case "events come with their fields" sent

explained()
{
	local page=$here/../../man/tierctl-events.8 words
	[ -e "$page" ] || skip "the page is not here"
	words=$(sed -n '/^\.SH DESCRIPTION/,/^The state at/p' "$page" | sed -n 's/^\.BR\? //p' |
		tr -d '",' | tr ' ' '\n' | grep -E '^[a-z_]+$' | sort)
	same "$words" "$(sed -n '/^# SPDX/d; s/^# \([a-z_]*\)$/\1/p' "$catalog" | sort)" "events"
	same "" "$(sed -n 's/^-- //p' "$catalog" | sort | uniq -d)" "ids that are there twice"
}
test_case "the catalog explains each event" explained

nobody()
{
	[ ! -e "$socket" ] || skip "a journal runs here"
	watched_set
	background ctl events --journal --once
	nap 2
	deactivate
	wait "$last_pid" || fail "without a journal: exit status $?"
	ctl_code 2 events --journal --json
}
test_case "without a journal nothing is lost but the entry" nobody

run_tests
