#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# packages: resource-agents
#
# The resource agent for clusters: what each action says and does; Debian's ocf-tester.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"

id=/etc/dm-tier/machine-id
[ ! -e "$id" ] || skip_all "$id is there already"
# Others have to be able to start it.
place=$(mktemp -d /tmp/dm-tier-ocf.XXXXXX)
agent=$place/agent
sed "s|@SBINDIR@|${tierctl%/*}|g" "$here/../../userspace/ocf/tierctl.in" >"$agent"
chmod 755 "$place" "$agent"
trap 'rm -rf "$id" "$place"; on_exit' EXIT

# agent CODE ACTION [PARAMETER=VALUE]...: the exit status is CODE
agent()
{
	local want=$1 action=$2 rc=0
	shift 2
	env "${@/#/OCF_RESKEY_}" "$agent" "$action" >"$tmp/out" 2>"$tmp/err" || rc=$?
	[ "$rc" = "$want" ] || fail "$action $*: exit status $rc instead of $want: $(<"$tmp/err")"
}
machine()
{
	mkdir -p "${id%/*}"
	printf '%032d\n' "$1" >"$id"
}

made()
{
	machine 1
	disk meta 8
	disk fast 16
	disk slow 32
	metadata=$meta
	ctl create "$set" -q -c 64k --policy static --metadata "$meta" "$fast" "$slow"
	write_chunks 0 5 1
}

actions()
{
	made
	agent 0 meta-data
	matches '<resource-agent name="tierctl"' "$(<"$tmp/out")"
	agent 0 validate-all "set=$set"
	agent 6 validate-all
	agent 6 validate-all "set=$set" take_over=maybe
	agent 6 validate-all "set=$set" reserve=2
	agent 3 promote "set=$set"
	agent 0 monitor "set=$set"
	agent 0 start "set=$set"
	agent 0 stop "set=$set"
	[ ! -e "$dev" ] || fail "it is still active"
	agent 7 monitor "set=$set"
	agent 0 stop "set=$set"
	agent 7 monitor set=nosuch
	agent 0 stop set=nosuch
	agent 1 start set=nosuch
	agent 0 start "set=$set"
	check_chunks 0 5 1
	agent 0 start "set=$set"
	# These disks cannot.
	agent 0 stop "set=$set"
	agent 1 start "set=$set" reserve=true
	matches 'knows no reservations' "$(<"$tmp/err")"
	agent 0 start "set=$set"
	# In use
	exec {held}<"$dev"
	agent 1 stop "set=$set"
	exec {held}<&-
	agent 0 monitor "set=$set"
	agent 0 stop "set=$set"
}
test_case "each action" actions

failover()
{
	made
	io sync "$dev"
	crash
	machine 2
	agent 7 monitor "set=$set"
	agent 1 start "set=$set"
	matches 'has not deactivated it' "$(<"$tmp/err")"
	agent 7 monitor "set=$set"
	agent 0 start "set=$set" take_over=true
	check_chunks 0 5 1
	agent 0 stop "set=$set"
	machine 1
	agent 0 start "set=$set"
	check_chunks 0 5 1
}
test_case "after a crash of the other node" failover

broken()
{
	made
	dmsetup suspend --noflush "$set"
	dmsetup load "$set" --table "0 $(blockdev --getsz "$dev") error"
	dmsetup resume "$set"
	agent 1 monitor "set=$set"
	agent 0 stop "set=$set"
	agent 7 monitor "set=$set"
	agent 0 start "set=$set"
	# Without a tier
	agent 0 stop "set=$set"
	disk_gone slow
	agent 7 monitor "set=$set"
	agent 1 start "set=$set"
	agent 0 start "set=$set" degraded=true
	agent 0 monitor "set=$set"
	agent 0 stop "set=$set"
}
test_case "a set that fails, or lacks a tier" broken

tester=$here/../../build/packages/resource-agents/usr
tested()
{
	if [ ! -x "$tester/sbin/ocf-tester" ]; then
		[ -z "${DM_TIER_GUEST:-}" ] || fail "ci/setup/unpacked was not called"
		skip "there is no ocf-tester"
	fi
	# It looks for its definitions there, in a guest's own copy of /usr.
	[ -z "${DM_TIER_GUEST:-}" ] || ln -s "$tester/share/resource-agents" /usr/share/
	made
	ctl deactivate -q "$set"
	OCF_ROOT=$tester/lib/ocf timeout 200 bash "$tester/sbin/ocf-tester" -n tier -o set="$set" "$agent" >"$tmp/tester" 2>&1 ||
		fail "ocf-tester: $(<"$tmp/tester")"
	note "$(tail -n 1 "$tmp/tester")"
}
test_case "ocf-tester" tested

run_tests
