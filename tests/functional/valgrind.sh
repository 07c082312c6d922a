#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=2400
# udev
# long
# stock kernels only: it looks at the tools
#
# tierctl and the tools under valgrind, through the life of a set and some mistakes: no read of
# uninitialised memory, no use after free, no leak. On an emulated processor valgrind takes
# seconds to start, so this is a selection.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# valgrind and AddressSanitizer do not go together.
unset TIERCTL
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
need valgrind mkfs.ext4

[ -x "$here/faulty" ] || skip_all "faulty is not built: make -C tests/functional"
tools=$(dirname "$(realpath "$tierctl")")
keep_disks=1
keep_dm=$set
log=$tmp/valgrind.log
found=99		# no exit status of ours

# under_valgrind COMMAND...: returns its exit status, or $found
under_valgrind()
{
	valgrind -q --error-exitcode="$found" --leak-check=full --errors-for-leak-kinds=definite,indirect,possible \
		--log-file="$log" "$@" </dev/null
}

# findings: valgrind's complaints, without one about an unknown ioctl of libblkid to a CD drive
# (CDROM_LAST_WRITTEN)
findings() { sed '/unhandled ioctl 0x5395/,+2d' "$log"; }

# right CODE COMMAND...: COMMAND exits with CODE, and valgrind does not complain
right()
{
	local want=$1 rc=0
	shift
	rm -f "$log"
	output=$(under_valgrind "$@" 2>"$tmp/stderr") || rc=$?
	[ -e "$log" ] || fail "valgrind has not run"
	[ -z "$(findings)" ] || fail "$*: valgrind found: $(findings)"
	[ "$rc" = "$want" ] || fail "$*: exit status $rc instead of $want: $output $(<"$tmp/stderr")"
}

finds()
{
	local rc=0
	rm -f "$log"
	under_valgrind "$here/faulty" "$1" || rc=$?
	same "$found" "$rc" "exit status"
	[ -n "$(findings)" ] || fail "nothing in the log"
}
for fault in uninitialised overrun leak; do
	test_case "valgrind sees a fault: $fault" finds $fault
done
test_case "valgrind says nothing of none" right 0 "$here/faulty"

# ctl_row CODE ARGUMENT...: tierctl
ctl_row()
{
	local code=$1
	shift
	test_case "tierctl $*" run_row "$code" "$tierctl" "$@"
}
tool_row() { test_case "${*:2}" run_row "$1" "$tools/$2" "${@:3}"; }

run_row()
{
	if [ ! -b "$meta" ]; then
		make_disks
		disk third 16
		disk meta2 4
		mkdir "$tmp/srv"
	fi
	[ "$2" != "$tierctl" ] || [ "$3" = --help ] || stage "${@:3}"
	right "$@"
}

# stage COMMAND ARGUMENT...: prepares a set for COMMAND. Mounts of a case end with it.
stage()
{
	case $* in
	*"$tmp/srv/"*|top*)
		[ -e "$tmp/made" ] || mkfs.ext4 -q -O ^has_journal "$dev"
		mount "$dev" "$tmp/srv"
		[ -e "$tmp/made" ] || head -c 300k /dev/urandom >"$tmp/srv/file"
		: >"$tmp/made"
		sync -f "$tmp/srv" ;;
	esac
}

ctl_row 0 --help
ctl_row 2 statu
ctl_row 2 create tt_new --meta "$meta"
ctl_row 1 create tt_new -m "$meta" "$fast" /dev/tt_nowhere
ctl_row 0 create "$set" -m "$meta" -c 64k -L 14m "$fast" "$slow"
ctl_row 1 create tt_new -m "$meta2" -c 64k "$fast"
ctl_row 0 pin --tier 0 "$tmp/srv/file"
ctl_row 0 explain "$tmp/srv/file"
ctl_row 0 status "$set"
ctl_row 0 status --json "$set"
ctl_row 1 status tt_se
ctl_row 0 list
ctl_row 0 scan --all
ctl_row 0 scan --json
ctl_row 0 set "$set" migration_bandwidth=64m tier0.reserve=1m
ctl_row 2 set "$set" migration_bandwith=64m
ctl_row 0 get --json "$set"
# ext4 may have put the file there.
ctl_row 0 unpin "$tmp/srv/file"
ctl_row 0 migrate "$set" 0-20 --tier 1 --wait
ctl_row 0 heatmap "$set" --svg "$tmp/heat.svg" --png "$tmp/heat.png"
ctl_row 0 heatmap "$set" --json
ctl_row 0 top --once --files "$set"
ctl_row 0 metrics
ctl_row 0 events --timeout 1
ctl_row 0 add "$set" "$third" --at 0
ctl_row 0 evacuate "$set" 2
ctl_row 0 admit "$set" 2
ctl_row 0 remove "$set" 0
ctl_row 0 resize "$set"
ctl_row 1 deactivate nosuch
ctl_row 0 deactivate "$set"
ctl_row 0 activate "$set"
ctl_row 0 dump "$set" -o "$tmp/dump.json" --format json
ctl_row 0 check "$set"
ctl_row 0 deactivate --all
ctl_row 0 check --json "$set"
ctl_row 0 dump "$set" -o "$tmp/dump"
tool_row 0 tier_check -i "$meta" --tiers "$fast" "$slow"
tool_row 0 tier_restore -i "$tmp/dump" -o "$tmp/again"
tool_row 0 tier_dump -i "$tmp/again" -o "$tmp/dump2"
tool_row 0 tier_repair -i "$meta" -o "$tmp/repaired" --tiers "$fast" "$slow"
tool_row 1 tier_check -i "$slow"
ctl_row 0 restore -y --force "$tmp/dump" "$meta2" --dry-run
ctl_row 0 destroy -y "$set"

run_tests
