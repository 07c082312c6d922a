#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
# long
# timeout=300
#
# Sets whose volume group belongs to another machine by LVM's system ID: refused with the command that
# takes the group over, and that command works.  The other machine is this one with another lvm.conf
# and another id.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=../functional/lib-tierctl.sh
. "$here/lib-tierctl.sh"
# shellcheck source=../functional/lib-loop.sh
. "$here/lib-loop.sh"
# shellcheck source=lib-told.sh
. "$(dirname "$0")/lib-told.sh"

id=/etc/dm-tier/machine-id
[ ! -e "$id" ] || skip_all "$id is there already"
mkdir -p "${id%/*}"
over() { rm -f "$id"; on_exit; }
trap over EXIT

# as WHO: from now on this is the machine "one" or "other"
as()
{
	export LVM_SYSTEM_DIR=$tmp/lvm-$1
	mkdir -p "$LVM_SYSTEM_DIR"
	printf 'global { system_id_source = "lvmlocal" }\nlocal { system_id = "%s" }\n' "$1" >"$LVM_SYSTEM_DIR/lvm.conf"
	printf '%-32s' "${#1}" | tr ' ' 0 >"$id"
}

tidy_more()
{
	as one
	vgremove -q -ff -y "$vg" --config 'local/extra_system_ids=["other"]' >/dev/null 2>&1
	rm -rf "/dev/${vg:?}"		# what it left there without udev
}

# grouped: a group of machine one, with a set on its volumes, which is inactive
grouped()
{
	as one
	make_loops 32 64
	vgcreate -q -y -s 512k "$vg" "${loops[@]}" >/dev/null
	lv meta 4m "$vg"
	lv fast 16m "$vg" "${loops[0]}"
	lv slow 32m "$vg" "${loops[1]}"
	ctl create "$set" -q -c 64k --policy static -m "$vg/meta" "$vg/fast" "$vg/slow"
	write_chunks 0 300 1
	ctl deactivate -q "$set"
}
away() { vgchange -q -an "$vg" >/dev/null; }

# The way out that the last message names
foreign='the volume group tt_vg belongs to another machine, with the system ID one\..*: (vgchange .*tt_vg && vgchange -ay tt_vg)$'
way_out()
{
	matches "$foreign" "$errors" "message"
	bash -c "${BASH_REMATCH[1]}" >/dev/null
}

# all_refused WHY: nothing touches the volumes
all_refused()
{
	local word
	ctl_code 1 activate "$set"
	one_line "$1the volume group tt_vg belongs"
	note "$errors"
	for word in 1 0; do		# with and without volumes that exist
		ctl_code 1 create tt_new -c 64k -m "$vg/meta" "$vg/fast" "$vg/slow"
		same 3 "$(grep -c "^tierctl: $vg/[a-z]*: the volume group tt_vg belongs" <<<"$errors")" "lines of create"
		ctl_code 1 convert "$vg/slow" -c 64k --fast "$vg/fast"
		one_line "^tierctl: $vg/slow: the volume group tt_vg belongs"
	done
}

active_there()
{
	grouped
	as other
	unchanged "${loops[@]}" -- all_refused "$set: "
	same elsewhere "$(json '.errors[0].code' activate "$set")" code
	ctl_code 3 status "$set"
	matches "the volume group tt_vg belongs to another machine" "$output" attention
	ctl_code 1 activate --force --take-over "$set"
	way_out
	ctl_code 0 activate "$set"
	check_chunks 0 300 1
	# The machine that had it, and has its volumes active yet
	as one
	ctl_code 3 status "$set"
	matches "its volume group was given to another machine.*tierctl deactivate $set" "$output" attention
	ctl_code 0 deactivate "$set"
}
test_case "a group of another machine, its volumes active" active_there

inactive_there()
{
	grouped
	away
	as other
	unchanged "${loops[@]}" -- all_refused "$set: no such set here; but "
	ctl_code 1 activate "$set"
	way_out
	ctl_code 0 activate "$set"
	check_chunks 0 300 1
	ctl deactivate -q "$set"
}
test_case "a group of another machine" inactive_there

given()
{
	grouped
	away
	vgchange -q -y --systemid other "$vg" >/dev/null
	as other
	vgchange -q -ay "$vg" >/dev/null
	ctl_code 0 activate "$set"
	check_chunks 0 300 1
	ctl deactivate -q "$set"
}
test_case "a group that is given to another machine" given

one_tier()
{
	as one
	make_disks
	make_loops 64
	vgcreate -q -y -s 512k "$vg" "${loops[@]}" >/dev/null
	lv slow 32m "$vg"
	ctl create "$set" -q -c 64k --policy static -m "$meta" "$fast" "$vg/slow"
	write_chunks 0 300 1
	ctl deactivate -q "$set"
	away
	as other
	unchanged "$meta" "$fast" "${loops[@]}" -- ctl_code 1 activate "$set"
	one_line "tier 1 .*missing.* also, the volume group tt_vg belongs"
	way_out
	ctl_code 0 activate "$set"
	check_chunks 0 300 1
	ctl deactivate -q "$set"
}
test_case "one tier is in a group of another machine" one_tier

# The group says who may have the set, the set's own record that it was in use.
crashed()
{
	local began=$EPOCHREALTIME
	grouped
	ctl activate -q "$set"
	write_chunks 0 300 2
	io sync "$dev"
	metadata=/dev/$vg/meta
	[ -e "$metadata" ] || metadata=/dev/mapper/$vg-meta
	crash
	as other
	ctl_code 1 activate "$set"
	way_out
	ctl_code 1 activate "$set"
	one_line "has not deactivated it.*--take-over"
	ctl_code 0 activate --take-over "$set"
	check_chunks 0 300 2
	note "a machine has crashed, the other has its set after $(since "$began") s, nothing that was flushed is lost"
	ctl deactivate -q "$set"
}
test_case "the machine that had the group has crashed" crashed

run_tests
