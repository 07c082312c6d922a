# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154	# used by the tests; assigned by lib.sh
#
# Shared by the tests of convert and revert. Sourced after lib-tierctl.sh.

# shellcheck source=lib-loop.sh
. "$(dirname "$0")/lib-loop.sh"
modprobe -a dm-raid raid1 dm-thin-pool dm-snapshot 2>/dev/null || true
origin=/dev/mapper/$vg-data

# make_vg: a slow physical volume, a fast one, and $vg/data of 24 MiB on the slow one
make_vg()
{
	make_loops 64 64
	vgcreate -q -y -s 512k "$vg" "${loops[@]}" >/dev/null
	lv data 24m "$vg" "${loops[0]}"
}

# The data of $vg/data before the conversion, over its whole length
data() { io "$1" "$origin" at=0 len=24m seed=31; }

lvm_names() { lvs --noheadings -o lv_name "$vg" | tr -d ' ' | sort | tr '\n' ' '; }
tags() { lvs --noheadings -o lv_tags "$vg/$1" | tr -d ' '; }
# All but whether a volume is open: udevd opens it for a moment after it was written.
lvm_state()
{
	lvs --noheadings -o lv_name,lv_size,lv_attr,lv_tags,segtype,devices "$vg" |
		sed -E 's/^( *[^ ]+ +[^ ]+ +[^ ]{5})o/\1-/'
}
