#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317,SC2154	# the cases are called by name; assigned by the libraries
# udev
# long
# timeout=900
# The initiator, when it lets go of a target:
# provokes: WQ_MEM_RECLAIM iscsi_ctrl_.* is flushing !WQ_MEM_RECLAIM pm:pm_runtime_work
# packages: open-iscsi libopeniscsiusr libisns0|libisns0t64 multipath=multipath-tools
#
# Tiers on maps of multipath: Debian's multipath-tools, with two iSCSI sessions for each disk.  The
# target here has no ALUA groups, and what is built in for it expects them.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=../functional/lib-tierctl.sh
. "$here/lib-tierctl.sh"
# shellcheck source=../functional/lib-udev.sh
. "$here/lib-udev.sh"
# shellcheck source=lib-reach.sh
. "$(dirname "$0")/lib-reach.sh"
# shellcheck source=lib-iscsi.sh
. "$(dirname "$0")/lib-iscsi.sh"

[ ! -e /etc/multipath.conf ] || skip_all "/etc/multipath.conf is there already"
modprobe -a dm-multipath dm-service-time 2>/dev/null || skip_all "there is no dm-multipath"
tree=$packages/multipath/usr
[ -d "$tree" ] || skip_all "ci/setup/unpacked multipath=multipath-tools was not called"
cp -a "$tree"/lib/{libm*.so*,multipath} /usr/lib/
cp -a "$tree"/sbin/{multipath,multipathd} /usr/sbin/
cp "$tree"/lib/udev/rules.d/{56-dm-mpath,60-multipath}.rules "$rules/"
udevadm control --reload
mkdir -p /etc/multipath
cat >/etc/multipath.conf <<END
defaults {
	user_friendly_names yes
	polling_interval 1
	max_polling_interval 1
}
devices {
	device {
		vendor "LIO-ORG"
		product ".*"
		hardware_handler "0"
		prio const
		detect_prio no
		path_grouping_policy multibus
		fast_io_fail_tmo 5
		no_path_retry queue
	}
}
END
over()
{
	set +e
	pkill -x multipathd
	pkill -x iscsid
	rm -rf /etc/multipath /etc/multipath.conf "$enabled" "$rules"/{56-dm-mpath,60-multipath}.rules
	without_rules
}
# As if systemd would start it: paths are not marked for a multipathd that is not to run.
enabled=/etc/systemd/system/sysinit.target.wants/multipathd.service
mkdir -p "${enabled%/*}"
touch "$enabled"

# device_of, attach and detach as in lib-iscsi.sh, of a path
eval "path_$(declare -f attach)"
eval "path_$(declare -f detach)"
map_of()
{
	local slaves
	device_of "$1" other && slaves=(/sys/block/"${attached##*/}"/holders/dm-*/slaves/*) || return
	[ ${#slaves[@]} = 2 ] && attached=/dev/mapper/$(<"${slaves[0]%/slaves*}/dm/name") && [ -b "$attached" ]
}
one_path() { path_attach "$1" one; }
paths() { one_path "$1" && path_attach "$1" other; }
attach()
{
	paths "$1"
	# By default multipath waits for the word of the administrator for each disk.
	multipath -a "$attached" >/dev/null
	pgrep -x multipathd >/dev/null || multipathd
	wait_for 20 multipathd reconfigure >/dev/null
	wait_for 60 map_of "$1"
	settle
}
detach()
{
	# Nobody waits for a path any more.
	multipathd disablequeueing maps >/dev/null || true
	path_detach "$1"
	settle
	multipath -F >/dev/null 2>&1 || true	# there may be none left
}

# state FROM TO WHO...: of the paths of these sessions
state()
{
	local n who state
	for who in "${@:3}"; do
		for n in 0 2; do
			device_of "$n" "$who" || continue
			state=$(block_of "$attached")/device/state
			[ "$(<"$state")" != "$1" ] || echo "$2" >"$state"
		done
	done
}
break_paths() { state running offline "$@"; }
mend_paths() { state offline running one other; }
answer()
{
	switch 1
	mend_paths
}

says()
{
	ctl_code 3 status "$set"
	matches "$1" "$output" "attention"
}
path_fails()
{
	break_paths one
	nap "$1"
	says "/dev/mapper/mpath. \(tier 0\) has lost 1 of 2 paths: (multipath -ll /dev/mapper/mpath.)"
	matches "failed" "$(${BASH_REMATCH[1]})" "what multipath says of it"
	mend_paths
}
path_goes()
{
	local n
	for n in 0 2; do admin -m node -T "$(name "$n")" -p "$portal" -I one --logout; done
	nap "$1"
	for n in 0 2; do one_path "$n"; done
	for n in 0 2; do wait_for 60 map_of "$n"; done
}
paths_fail()
{
	break_paths one other
	nap "$1"
	says "/dev/mapper/mpath. \(tier 2\) has lost all of its 2 paths, I/O to it waits for one: multipath -ll"
	note "$(grep paths <<<"$output")"
	mend_paths
}
test_case "a path fails for 10 s" happens "a path failed" path_fails 10
test_case "a path is gone for 10 s" happens "a path was gone" path_goes 10
test_case "all paths fail for 20 s, and I/O waits" happens "all paths failed" paths_fail 20
test_case "the server is away for 20 s" happens "server away" drops 20

queue_not()
{
	local n
	for n in 0 2; do map_of "$n" && multipathd disablequeueing map "${attached##*/}" >/dev/null; done
	break_paths one other
}
queue_again()
{
	says "has lost all of its 2 paths, I/O to it fails"
	local n
	for n in 0 2; do map_of "$n" && multipathd restorequeueing map "${attached##*/}" >/dev/null; done
	mend_paths
}
test_case "all paths fail, and so does I/O" broken queue_not queue_again

# made: an inactive set on maps
made()
{
	made_by_tool
	ctl deactivate -q "$set"
	settle
}

# booted PATHS: an inactive set, whose paths are there before multipathd; the metadata comes last
booted()
{
	local n
	for n in 0 2; do detach "$n"; done
	echo 0 >"$configfs/tt_meta/power"
	settle
	for n in 0 2; do "$@" "$n"; done
	settle
	echo 1 >"$configfs/tt_meta/power"
	wait_for 10 test -b "$meta"
	settle
}
stop()
{
	pkill -x multipathd
	wait_for 20 gone multipathd
}
gone() { ! pgrep -x "$1" >/dev/null; }
on_maps()
{
	local n
	for n in 0 2; do
		map_of "$n"
		matches "\($(majmin "$attached" | sed 's/:/, /')\)" "$(dmsetup deps "$set")" "devices of the set"
	done
	all_data
}
before_the_map()
{
	made
	stop
	booted paths
	fails active
	ctl_code 1 activate "$set"
	one_line "tier 0 .*is a path of multipath"
	says "tier 0 .* is a path of multipath"
	[[ $output != *"two devices"* ]] || fail "$output"
	multipathd
	wait_for 60 active
	on_maps
}
test_case "paths that are there before the map" before_the_map

# A machine that was not told takes a path; what lvmtier(7) advises mends that.
not_told()
{
	local n
	made
	stop
	rm /etc/multipath/wwids
	booted one_path
	active
	for n in 0 2; do path_attach "$n" other; done
	multipathd
	settle
	all_data
	ctl deactivate -q "$set"
	for n in 0 2; do
		device_of "$n" one
		multipath -a "$attached"
	done
	wait_for 20 multipathd reconfigure
	wait_for 60 map_of 0
	wait_for 60 map_of 2
	settle
	ctl_code 0 activate "$set"
	on_maps
}
test_case "a machine that was not told of the disks" not_told

# udev marks a map without paths; afterwards it is a member as before.
without_paths()
{
	local n
	made
	break_paths one other
	wait_for 60 is_ready 0
	ctl_code 1 activate "$set"
	note "$errors"
	mend_paths
	wait_for 60 is_ready 1
	settle
	ctl_code 0 activate "$set"
	all_data
	# In use the map stays.
	for n in 0 2; do path_detach "$n"; done
	wait_for 60 is_ready 0
	for n in 0 2; do paths "$n"; done
	wait_for 60 is_ready 1
	all_data
	settle
	ctl deactivate -q "$set"
	settle
	fails active
	ctl_code 0 activate "$set"
	on_maps
}
is_ready() { udevadm info "$far0" | grep -q "MPATH_DEVICE_READY=$1" && udevadm info "$far2" | grep -q "MPATH_DEVICE_READY=$1"; }
test_case "a map without paths" without_paths

run_tests
