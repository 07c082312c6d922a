# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154	# used by the tests; assigned by lib.sh
#
# Loop devices, and LVM on them.  Sourced after lib.sh.

need lvm losetup
modprobe loop 2>/dev/null || true
export LVM_SUPPRESS_FD_WARNINGS=1
vg=tt_vg
loops=()

# A test redefines this to remove other devices before the loop devices.
tidy_more() { :; }

# tidy: removes devices that lib.sh does not know; dm devices on top go first
tidy()
{
	local loop
	set +e
	trap - ERR
	clean
	tidy_more
	for loop in "${loops[@]}"; do losetup -d "$loop"; done
}

# make_loops MIB...: loop devices in ${loops[@]}
make_loops()
{
	local mib file
	trap tidy EXIT
	for mib; do
		file=$tmp/file${#loops[@]}
		rm -f "$file"
		truncate -s "${mib}M" "$file"
		loops+=("$(losetup -f --show --direct-io=on "$file" 2>/dev/null || losetup -f --show "$file")")
	done
}

lv() { lvcreate -q -y -n "$1" -L "$2" "${@:3}" >/dev/null; }
