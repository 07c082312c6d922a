#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# timeout=600
# long
#
# The udev rules, with the udevd of the guest: members are hidden and come back, the last member
# that appears assembles the set, and links of sets replace those of logical volumes.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-reshape.sh
. "$(dirname "$0")/lib-reshape.sh"
# shellcheck source=lib-convert.sh
. "$(dirname "$0")/lib-convert.sh"
# shellcheck source=lib-udev.sh
. "$(dirname "$0")/lib-udev.sh"

need lsblk losetup
modprobe loop 2>/dev/null || true

# property DEVICE KEY: what udev has stored
property() { udevadm info --query=property --property="$2" --value "$(readlink -f "$1")"; }

hidden_words="ID_FS_TYPE=dm_tier_member ID_FS_USAGE=raid SYSTEMD_READY=0 UDISKS_IGNORE=1
	DM_UDEV_DISABLE_DISK_RULES_FLAG=1 DM_UDEV_DISABLE_OTHER_RULES_FLAG=1"
is_hidden()
{
	local said word
	said=$(udevadm info --query=property "$(readlink -f "$1")")
	for word in $hidden_words; do
		[[ $'\n'$said$'\n' == *$'\n'"$word"$'\n'* ]] || return 1
	done
}
# is_plain DEVICE: udev treats the device as any other
is_plain()
{
	local said word
	said=$(udevadm info --query=property "$(readlink -f "$1")")
	for word in $hidden_words DM_TIER_; do
		[[ $'\n'$said != *$'\n'"$word"* ]] || return 1
	done
}
# shown WHAT-IS DEVICE...
shown()
{
	local disk
	for disk in "${@:2}"; do
		"$1" "$disk" || fail "not ${1#is_}: $disk: $(udevadm info --query=property "$(readlink -f "$disk")")"
	done
}

# A set of a disk, a disk and a dm device.
mapped=/dev/mapper/tt_mapped
make_mixed()
{
	make_disks
	wrap mapped "0 $(sectors_of "$slow") linear $slow 0"
	ctl create "$set" -q -c 64k -m "$meta" "$fast" "$mapped"
	settle
}

# away DISK: unplugs the disk; back DISK: plugs it in with its old contents
away()
{
	echo 0 >"$configfs/${1#/dev/}/power"
	settle
}
back()
{
	echo 1 >"$configfs/${1#/dev/}/power"
	wait_for 10 test -b "$1"
	settle
}

members_hide()
{
	make_mixed
	shown is_hidden "$meta" "$fast" "$mapped"
	same dm_tier_member "$(lsblk -ndo FSTYPE "$fast")" "what lsblk says"
	same metadata "$(property "$meta" DM_TIER_ROLE)"
	same tier "$(property "$mapped" DM_TIER_ROLE)"
	same 1 "$(property "$mapped" DM_TIER_ID)"
	same "$set" "$(property "$fast" DM_TIER_NAME)"
	same "$(property "$meta" ID_FS_UUID)" "$(property "$mapped" ID_FS_UUID)"
	same "$(dmsetup info -c --noheadings -o uuid "$set")" "TIER-$(property "$fast" DM_TIER_SET)"
	# The device of the set is shown as any other.
	same "" "$(property "$dev" DM_TIER_ROLE)"
	same tier-deactivate.service "$(property "$dev" SYSTEMD_WANTS)"
	mkfs.ext4 -q -F "$dev"
	settle
	wait_for 20 has_fs
}
has_fs() { [ "$(property "$dev" ID_FS_TYPE)" = ext4 ]; }
test_case "members are hidden, the set is not" members_hide

while_suspended()
{
	make_mixed
	ctl deactivate -q "$set"
	dmsetup suspend tt_mapped
	udevadm trigger --action=change --settle "$(readlink -f "$mapped")"
	shown is_hidden "$mapped"
	same 1 "$(property "$mapped" DM_TIER_ID)"
	dmsetup resume tt_mapped
	settle
	shown is_hidden "$mapped"
}
test_case "a member stays hidden while it is suspended" while_suspended

taken_back()
{
	local disk
	make_mixed
	ctl destroy -q -y "$set"
	# When a written device is closed, udevd gets an event.
	for disk in "$meta" "$fast" "$mapped"; do
		wait_for 20 is_plain "$disk"
	done
	mkfs.ext4 -q -F "$mapped"
	settle
	wait_for 20 mapped_has_fs
}
mapped_has_fs() { [ "$(property "$mapped" ID_FS_TYPE)" = ext4 ]; }
test_case "without its label a member is a device like any other" taken_back

last_assembles()
{
	make_disks
	ctl create "$set" -q -c 64k -m "$meta" "$fast" "$slow"
	write_chunks 0 20 1
	ctl deactivate -q "$set"
	away "$meta"
	away "$slow"
	back "$meta"
	fails active
	shown is_hidden "$meta"
	back "$slow"
	wait_for 20 active
	check_chunks 0 20 1
}
test_case "the last member that appears assembles the set" last_assembles

mirrored_last()
{
	local mirror
	disk fast 32
	disk slow 64
	ctl create "$set" -q -c 64k "$fast" "$slow"
	settle
	shown is_hidden "$fast" "$slow"
	mirror=$(json '.sets[0].metadata.device' status "$set")
	# Hidden from all others, as the legs of a mirrored volume are.
	same 1 "$(property "$mirror" DM_UDEV_DISABLE_OTHER_RULES_FLAG)"
	same "" "$(property "$mirror" ID_FS_TYPE)"
	write_chunks 0 20 1
	ctl deactivate -q "$set"
	settle
	fails active
	# The device that the metadata gets for a while activates nothing.
	ctl check -q "$set"
	settle
	fails active
	fails test -e "$mirror"
	away "$slow"
	back "$slow"
	wait_for 20 active
	check_chunks 0 20 1
}
test_case "the last member assembles metadata that lies on the tiers, too" mirrored_last

dm_last()
{
	make_disks
	wrap mapped "0 $(sectors_of "$meta") linear $meta 0"
	ctl create "$set" -q -c 64k -m "$mapped" "$fast" "$slow"
	write_chunks 0 20 1
	ctl deactivate -q "$set"
	remove tt_mapped
	away "$meta"
	fails active
	echo 1 >"$configfs/${meta#/dev/}/power"
	wrap mapped "0 $(sectors_of "$meta") linear $meta 0"
	wait_for 20 active
	check_chunks 0 20 1
	# The resume of a member counts as its appearance, too.
	settle
	ctl deactivate -q "$set"
	settle
	fails active
	dmsetup suspend tt_mapped
	dmsetup resume tt_mapped
	wait_for 20 active
}
test_case "a dm device that appears assembles the set" dm_last

loop_last()
{
	local loop
	make_disks
	truncate -s 32M "$tmp/file"
	loop=$(losetup -f --show "$tmp/file")
	ctl create "$set" -q -c 64k -m "$meta" "$fast" "$loop"
	write_chunks 0 20 1
	ctl deactivate -q "$set"
	losetup -d "$loop"
	settle
	fails active
	losetup "$loop" "$tmp/file"
	wait_for 20 active
	shown is_hidden "$loop"
	check_chunks 0 20 1
	ctl destroy -q -y "$set"
	settle
	losetup -d "$loop"
}
test_case "so does a loop device that gets its file" loop_last

# A device that was there before must be checked first.
restored()
{
	local loop
	make_disks
	truncate -s 4M "$tmp/file"
	loop=$(losetup -f --show "$tmp/file")
	settle
	ctl create "$set" -q -c 64k -m "$meta" "$fast" "$slow"
	write_chunks 0 20 1
	ctl deactivate -q "$set"
	ctl dump -q "$set" -o "$tmp/dump.xml"
	away "$meta"
	ctl restore -q "$tmp/dump.xml" "$loop"
	settle
	wait_for 20 is_hidden "$loop"
	settle
	fails active
	ctl_code 0 activate -q -r "$set"
	check_chunks 0 20 1
	ctl deactivate -q "$set"
	losetup -d "$loop"
	settle
	losetup "$loop" "$tmp/file"
	wait_for 20 active
	ctl destroy -q -y "$set"
	settle
	losetup -d "$loop"
}
test_case "metadata that is restored activates nothing" restored

left_alone()
{
	make_mixed
	ctl deactivate -q "$set"
	udevadm trigger --action=change --settle "$meta" "$fast" "$(readlink -f "$mapped")"
	fails active
}
test_case "a set that was deactivated stays so" left_alone

quietly()
{
	make_mixed
	ctl_code 0 activate --auto "$fast"
	same "" "$output$errors" "what is said of an active set"
	disk spare 4
	ctl_code 0 activate --auto "$spare"
	same "" "$output$errors" "what is said of a blank disk"
	ctl deactivate -q "$set"
	away "$meta"
	ctl_code 0 activate --auto "$fast"
	same "" "$output$errors" "what is said without the metadata"
	back "$meta"
	wait_for 20 active
	ctl deactivate -q "$set"
	away "$fast"
	ctl_code 0 activate --auto "$(majmin "$meta")"
	same "" "$output$errors" "what is said without a tier"
	fails active
	ctl_code 1 activate --auto /dev/tt_nowhere
}
test_case "activate --auto DEVICE says nothing of what it cannot do" quietly

at_once()
{
	local disk pid pids=() n=0
	make_mixed
	ctl deactivate -q "$set"
	for disk in "$meta" "$fast" "$mapped" "$meta"; do
		n=$((n + 1))
		ctl activate --auto "$disk" >"$tmp/said$n" 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid"; done
	same "" "$(cat "$tmp"/said?)" "what they said"
	active
	same rw "$(info mode)"
}
test_case "four calls at once" at_once

# Like a virtual machine, in which the set may be active: open for writing without O_EXCL.
hold()
{
	background bash -c "exec 5$1$mapped; touch $tmp/held; exec sleep 900"
	wait_for 10 test -e "$tmp/held"
	rm "$tmp/held"
}
let_go()
{
	kill "$last_pid"
	wait "$last_pid" || true
	settle
}
held_elsewhere()
{
	make_mixed
	write_chunks 0 20 1
	ctl deactivate -q "$set"
	settle
	hold '<>'
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 activate "$set"
	one_line "$mapped is open by .*pid $last_pid\). free it first"
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 activate --auto "$fast"
	one_line "$mapped is open by .*pid $last_pid\). free it first"
	fails active
	ctl_code 0 activate -q -r "$set"
	ctl deactivate -q "$set"
	let_go
	fails active
	hold '<'
	ctl_code 0 activate -q "$set"
	check_chunks 0 20 1
	let_go
}
test_case "a member that somebody may write to" held_elsewhere

# LVM resumes the legs of a mirror before the mirror, and only their names show that they are legs.
leg_alone()
{
	local uuid=LVM-0123456789abcdefghijklmnopqrstuv0123456789abcdefghijklmnopqrstuv name table
	disk pv 8
	disk fast 16
	table="0 8192 linear /dev/tt_pv 2048"
	wrap mapped "$table"
	ctl create "$set" -q -c 64k -m "$mapped" "$fast"
	ctl deactivate -q "$set"
	remove tt_mapped
	for name in meta_rimage_0 meta_corig pvmove0 meta-real; do
		dmsetup create "tt_vg-$name" --uuid "$uuid${name#"${name%-real}"}" --table "$table"
		settle
		ctl_code 0 activate --auto "$fast"
		fails active
		remove "tt_vg-$name"
	done
	# The name of a volume group may look like that of a leg.
	dmsetup create tt_vg_rimage-meta --uuid "$uuid" --table "$table"
	ctl_code 0 activate --auto "$fast"
	wait_for 20 active
}
test_case "the leg of a mirrored volume is not taken for the volume" leg_alone

# up_and_down NAME TABLE: activates and deactivates a set many times
up_and_down()
{
	local i
	for ((i = 0; i < 25; i++)); do
		dmsetup create "$1" --table "$2" || return
		dmsetup remove --retry "$1" || return
	done
}

# As at boot. The kernel's slab caches, made and destroyed all the time, are shared.
together()
{
	local other pids=()
	make_disks
	disk meta2 4
	disk third 16
	disk spare 32
	activate
	deactivate
	other=$(table_line)
	metadata=$meta2 tiers=("$third" "$spare")
	up_and_down tt_one "$other" &
	pids+=($!)
	up_and_down tt_two "$(table_line)" &
	pids+=($!)
	wait "${pids[0]}"
	wait "${pids[1]}"
}
test_case "two sets come and go at the same time" together

hex=0123456789abcdef0123456789abcdef
lv_links()
{
	disk spare 4
	dmsetup create tt_vg-data --uuid "TIER-$hex-lv" --table "0 64 linear $spare 0"
	settle
	same "$(readlink -f /dev/mapper/tt_vg-data)" "$(readlink -f /dev/tt_vg/data)"
	remove tt_vg-data
	settle
	[ ! -e /dev/tt_vg/data ]
	# The set was reverted: its links stay until another device has them.
	dmsetup create tt_vg-data_trevert --uuid "TIER-$hex-lv" --table "0 64 linear $spare 0"
	settle
	same "$(readlink -f /dev/mapper/tt_vg-data_trevert)" "$(readlink -f /dev/tt_vg/data)"
	same "$(readlink -f /dev/mapper/tt_vg-data_trevert)" "$(readlink -f /dev/mapper/tt_vg-data)"
	dmsetup create tt_vg-data --uuid "TIER-${hex/0/1}-lv" --table "0 64 linear $spare 0"
	settle
	same "$(readlink -f /dev/mapper/tt_vg-data)" "$(readlink -f /dev/tt_vg/data)"
	[ "$(readlink -f /dev/mapper/tt_vg-data_trevert)" != "$(readlink -f /dev/mapper/tt_vg-data)" ]
	remove tt_vg-data_trevert
	settle
	same "$(readlink -f /dev/mapper/tt_vg-data)" "$(readlink -f /dev/tt_vg/data)"
}
test_case "a set in the place of a logical volume has its links" lv_links

# Volumes appear, and their events finish an interrupted convert. That waits for events, which
# must not wait for it: udev would kill it after three minutes.
left_by_convert()
{
	make_vg
	data write
	killed "convert-$1" convert "$vg/data" -c 64k --policy static --fast-size 4m \
		--fast-pv "${loops[1]}"
	if is_set; then remove "$vg-data"; fi
	vgchange -q -an "$vg" >/dev/null
	settle
	vgchange -q -ay "$vg" >/dev/null
	wait_for 100 is_set
	settle
	data check
}
is_set() { [[ $(dmsetup table "$vg-data" 2>/dev/null) == *" tier "* ]]; }
for step in committed renamed live; do
	test_case "killed: convert at $step, finished by the events of the volumes" left_by_convert "$step"
done

udevd_goes_on() { kill -CONT "$udevd"; }
udevd_hangs()
{
	local start
	make_disks
	ctl create "$set" -q -c 64k -m "$meta" "$fast" "$slow"
	write_chunks 0 20 1
	settle
	ctl deactivate -q "$set"
	udevd=$(pgrep -o systemd-udevd || pgrep -o udevd)
	trap udevd_goes_on EXIT
	kill -STOP "$udevd"
	start=$SECONDS
	ctl_code 0 activate "$set"
	matches "^tierctl: udev has not handled an event within 30 s" "$errors" "what is said"
	same 1 "$(wc -l <"$tmp/stderr")" "lines on stderr"
	note "udevd hangs: $((SECONDS - start)) s"
	check_chunks 0 20 1
	udevd_goes_on
	settle
	ctl deactivate -q "$set"
}
test_case "a udevd that hangs" udevd_hangs

run_tests
