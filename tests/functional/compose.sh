#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# timeout=900
# long
#
# Tiers of every kind: logical volumes, RAID1, md, dm-crypt, loop files, a RAM disk. Users
# of every kind above: dm-crypt, a thin pool, a volume group of its own, dm-writecache, a
# file system. Data is compared before and after each step that the set goes through.

# shellcheck disable=SC2119	# make_loops and others have defaults
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-reshape.sh
. "$(dirname "$0")/lib-reshape.sh"

# shellcheck source=lib-loop.sh
. "$(dirname "$0")/lib-loop.sh"

need mdadm cryptsetup
modprobe -a dm-crypt dm-raid dm-thin-pool dm-writecache raid1 2>/dev/null || true

tidy_more()
{
	[ ! -e /dev/md127 ] || mdadm --quiet --stop /dev/md127
	[ ! -d /sys/module/brd ] || rmmod brd
}

make_vg()
{
	make_loops 64 64
	vgcreate -q -y -s 1m "$vg" "${loops[@]}" >/dev/null
}

# make_volumes: $vg/meta, fast and slow; add_volume is the command that adds one more volume
# as the fastest tier
make_volumes()
{
	make_vg
	lv meta 4m "$vg"
	lv fast 16m "$vg" "${loops[0]}"
	lv slow 32m "$vg" "${loops[1]}"
	add_volume=(add "$set" --size 12m --pv "${loops[0]}" --at 0)
}

# set_of META TIER...: a set of 14 MiB with data on it
set_of()
{
	ctl create "$set" -q -m "$1" -c 64k -L 14m --policy static "${@:2}"
	still_data write
}

# set_of_volumes: the same of volumes
set_of_volumes()
{
	make_volumes
	set_of "$vg/meta" "$vg/fast" "$vg/slow"
}

# each_way: moves the data to every tier and back, deactivates and activates the set
each_way()
{
	local rank n
	n=$(info tiers)
	for ((rank = n - 1; rank >= 0; rank--)); do
		ctl migrate -q "$set" 0-223 --tier "$rank"
		ctl wait -q "$set"
		still_data check
	done
	ctl deactivate -q "$set"
	ctl activate -q "$set"
	still_data check
}

# goes CHECK...: changes the set in every way below the data that CHECK looks at; it needs
# $fast, $slow and $third
goes()
{
	"$@"
	ctl migrate -q "$set" 0-223 --tier 1
	ctl wait -q "$set"
	"$@"
	ctl add -q "$set" "$third" --at 0
	"$@"
	ctl migrate -q "$set" 0-100 --tier 0
	ctl wait -q "$set"
	"$@"
	ctl remove -q "$set" "$fast"
	"$@"
	ctl replace -q "$set" "$third" "$fast"
	"$@"
	ctl rename -q "$set" tt_other
	ctl rename -q tt_other "$set"
	"$@"
	ctl resize -q "$set"
	"$@"
	same "fast slow" "$(layout)"
}

# ---- below: devices that can be tiers

lvs_as_tiers()
{
	set_of_volumes
	ctl_code 0 status "$set"
	matches "$vg/fast .*$vg/slow .*$vg/meta" "${output//$'\n'/ }" "names"
	same "$vg/fast" "$(json '.sets[0].tiers[0].device' status "$set")"
	each_way
	load_on
	# LVM does not remove a volume that the set holds open.
	fails lvremove -f "$vg/fast"
	fails lvchange -an "$vg/slow"
	lvextend -q -L 40m "$vg/slow" >/dev/null
	ctl_code 0 resize "$set"
	same $(((240 + 624 - 5) * 128)) "$(info length)" "length after lvextend and resize"
	still_data check
	load_off
	each_way
}
test_case "logical volumes as tiers, extended in use" lvs_as_tiers

add_by_size()
{
	set_of_volumes
	uuid=$(dmsetup info -c --noheadings -o uuid "$set")
	load_on
	ctl_code 0 add --dry-run "$set" --size 12m --pv "${loops[0]}" --at 0
	matches "lvcreate .*-L 12582912b -n tt_set_tvol0 .*dm-tier.set=${uuid#TIER-} .*$vg ${loops[0]}" "$output"
	matches " 128 3 /dev/$vg/tt_set_tvol0 " "$output" "table line"
	same 3 "$(lvs --noheadings "$vg" | wc -l)" "volumes after a dry run"
	ctl_code 0 "${add_volume[@]}"
	same "$vg-tt_set_tvol0 $vg-fast $vg-slow" "$(layout | sed "s/vg-/$vg-/g")"
	same "dm-tier,dm-tier.role=tvol,dm-tier.set=${uuid#TIER-}" \
		"$(lvs --noheadings -o lv_tags "$vg/tt_set_tvol0" | tr -d ' ')" "tags"
	still_data check
	ctl_code 0 add "$set" --size 8m --pv "${loops[1]}" --name third -y
	same third "$(lvs --noheadings -o lv_name "$vg/third" | tr -d ' ')"
	# The same name again is the same tier.
	ctl_code 0 add "$set" --size 8m --pv "${loops[1]}" --name third -y
	matches 'is tier 3' "$output"
	ctl_code 0 remove --dry-run "$set" "$vg/third"
	matches "lvremove -y $vg/third" "$output"
	ctl_code 0 remove "$set" "$vg/third"
	fails lvs "$vg/third"
	ctl_code 0 remove "$set" 0
	fails lvs "$vg/tt_set_tvol0"
	# A volume that tierctl did not make is not removed.
	ctl_code 0 remove "$set" "$vg/fast"
	lvs "$vg/fast" >/dev/null
	still_data check
	# The size is larger than the free space.
	ctl_code 1 add "$set" --size 1g --pv "${loops[0]}" --at 0
	one_line "${loops[0]}: [0-9]+ mib free, 1 gib asked for"
	load_off
}
test_case "add --size makes a volume, remove takes it away" add_by_size

# A volume of another group gets a free name, too.
two_groups()
{
	make_loops 64 64
	vgcreate -q -y -s 1m "$vg" "${loops[0]}" >/dev/null
	vgcreate -q -y -s 1m "${vg}2" "${loops[1]}" >/dev/null
	lv meta 4m "$vg"
	lv slow 32m "$vg"
	set_of "$vg/meta" "$vg/slow"
	ctl_code 0 add "$set" --size 12m --pv "${loops[0]}" --at 0
	ctl_code 0 add "$set" --size 12m --pv "${loops[1]}" --at 0
	same "vg2-tt_set_tvol1 vg-tt_set_tvol0 vg-slow" "$(layout)"
	ctl_code 0 remove "$set" "$vg/tt_set_tvol0"
	ctl_code 0 remove "$set" "${vg}2/tt_set_tvol1"
	same "" "$(lvs --noheadings "${vg}2")" "volumes of the other group"
	still_data check
	ctl_code 0 destroy -y "$set"
	vgremove -q -y "${vg}2" >/dev/null
}
test_case "volumes are made in two groups" two_groups

# All data is on the volume then, and its first bytes may well be zero.
revert_to_made()
{
	local made=$vg/tt_set_tvol0 extent=(at=1m len=6m seed=5)
	make_vg
	lv meta 4m "$vg"
	lv fast 16m "$vg" "${loops[0]}"
	ctl create "$set" -q -m "$vg/meta" -c 64k -L 8m --policy static "$vg/fast"
	uuid=$(dmsetup info -c --noheadings -o uuid "$set")
	io write "$dev" "${extent[@]}"
	ctl add -q -y "$set" --size 16m --pv "${loops[1]}"
	ctl add -q "$set" --size 12m --pv "${loops[0]}" --at 0
	ctl_code 0 revert --dry-run "$set"
	matches "lvchange --addtag dm-tier.home=1 $made" "$output"
	matches "lvremove -y $vg/tt_set_tvol1" "$output"
	[[ $output != *"lvremove -y $made"* ]] || fail "$output"
	killed revert-begun revert "$set"
	matches 'dm-tier.home=1' "$(lvs --noheadings -o lv_tags "$made")" "tags"
	ctl_code 0 revert --abort "$set"
	same "dm-tier,dm-tier.role=tvol,dm-tier.set=${uuid#TIER-}" \
		"$(lvs --noheadings -o lv_tags "$made" | tr -d ' ')" "tags after --abort"
	killed revert-unmade revert "$set"
	io check "/dev/$made" "${extent[@]}"
	ctl_code 0 revert "$made"
	same "fast meta tt_set_tvol0 " "$(lvs --noheadings -o lv_name,lv_tags "$vg" | tr -d ' ' | sort | tr '\n' ' ')" \
		"volumes and tags"
	io check "/dev/$made" "${extent[@]}"
}
test_case "revert to a volume that was made for the set" revert_to_made

# Killed just before and just after a volume is made or removed.
killed_volume()
{
	set_of_volumes
	load_on
	killed add-volume "${add_volume[@]}"
	same "vg-fast vg-slow" "$(layout)"
	# Data that looks like remains from before the volume was made, but differs from the
	# present contents.
	dd if="/dev/$vg/slow" of="/dev/$vg/tt_set_tvol0" bs=8k count=1 oflag=direct status=none
	printf other | dd of="/dev/$vg/tt_set_tvol0" bs=1 seek=2000 conv=notrunc,fsync status=none
	unchanged "/dev/$vg/tt_set_tvol0" -- ctl_code 1 "${add_volume[@]}"
	one_line 'tvol0: carries the label of tier id 1 .*--force'
	ctl_code 0 "${add_volume[@]}" -f -y
	same "vg-tt_set_tvol0 vg-fast vg-slow" "$(layout)"
	same 4 "$(lvs --noheadings "$vg" | wc -l)" "volumes"
	still_data check
	note "add --size   killed at add-volume       again    -> one volume"
	killed drop-done remove "$set" 0
	ctl_code 0 remove -y "$set" 0
	same "vg-fast vg-slow" "$(layout)"
	same 3 "$(lvs --noheadings "$vg" | wc -l)" "volumes"
	note "remove (lv)  killed at drop-done        again    -> volume gone"
	killed add-volume "${add_volume[@]}"
	ctl_code 0 add --abort "$set" --size 12m --pv "${loops[0]}"
	same 3 "$(lvs --noheadings "$vg" | wc -l)" "volumes"
	note "add --size   killed at add-volume       abort    -> volume gone"
	# The command removed only a left-over volume, not the tier that was asked for, so it fails.
	killed add-volume "${add_volume[@]}"
	ctl_code 1 remove -q "$set" 0
	one_line 'only a volume that an earlier call left was removed\..*tier 0, call again'
	same "vg-fast vg-slow" "$(layout)"
	same 3 "$(lvs --noheadings "$vg" | wc -l)" "volumes"
	ctl_code 0 "${add_volume[@]}"
	killed clean-wiped remove "$set" "$vg/tt_set_tvol0"
	lvs "$vg/tt_set_tvol0" >/dev/null
	ctl_code 0 remove "$set" "$vg/tt_set_tvol0"
	same 3 "$(lvs --noheadings "$vg" | wc -l)" "volumes"
	note "remove (lv)  killed at clean-wiped      again    -> volume gone"
	still_data check
	load_off
}
test_case "killed while a volume is made or removed" killed_volume

# The metadata is a volume whose superblock is destroyed, and a file has the name of that volume.
repaired_volume()
{
	set_of_volumes
	ctl deactivate -q "$set"
	lv meta2 4m "$vg"
	printf damage | dd of="/dev/$vg/meta" bs=1 seek=300 conv=notrunc,fsync status=none
	damaged
	mkdir "$tmp/$vg"
	head -c 4M /dev/zero >"$tmp/$vg/meta"
	cd "$tmp"
	ctl_code 3 check "$vg/meta"
	matches 'superblock is damaged' "$errors"
	ctl_code 0 repair -y "$vg/meta" "$vg/meta2" --tiers "$vg/fast" "$vg/slow"
	cd - >/dev/null
	ctl_code 0 activate "$set"
	same "vg-fast vg-slow" "$(layout)"
	still_data check
}
test_case "metadata on a volume is repaired by its name" repaired_volume

# Somebody changed a volume while it was a tier.
changed_volume()
{
	set_of_volumes
	ctl_code 0 "${add_volume[@]}"
	stopped evacuate-done remove "$set" "$vg/tt_set_tvol0"
	lvrename "$vg" tt_set_tvol0 renamed >/dev/null
	go_on 0
	same 3 "$(lvs --noheadings "$vg" | wc -l)" "volumes after it was renamed"

	ctl_code 0 "${add_volume[@]}"
	lvcreate -q -y -s -n before -L 4m "$vg/tt_set_tvol0" >/dev/null
	ctl_code 0 remove "$set" "$vg/tt_set_tvol0"
	matches "$vg/tt_set_tvol0: was made for the set, but has snapshots, so it stays\. .*lvremove $vg/tt_set_tvol0$" "$errors"
	same tt_set_tvol0 "$(lvs --noheadings -o origin "$vg/before" | tr -d ' ')" "origin of the snapshot"
	same "" "$(lvs --noheadings -o lv_tags "$vg/tt_set_tvol0" | tr -d ' ')" "tags"
	same "vg-fast vg-slow" "$(layout)"
	still_data check
}
test_case "a volume that is renamed or has snapshots" changed_volume

# A loop device of a file on the set would wait for the set, and the set for the loop device.
on_itself()
{
	set_of_volumes
	mke2fs -q -F "$dev"
	mkdir -p "$tmp/mnt"
	mount "$dev" "$tmp/mnt"
	truncate -s 8M "$tmp/mnt/file"
	loop=$(losetup -f --show "$tmp/mnt/file")
	loops+=("$loop")
	ctl_code 1 add "$set" "$loop" --at 0
	one_line "$loop: lies on the device that it is to become part of"
	# A device that lies on a suspended set is not read.
	dmsetup suspend "$set"
	timeout 60 "$tierctl" scan </dev/null >"$tmp/scan" || fail "scan: status $?: $(<"$tmp/scan")"
	dmsetup resume "$set"
	pvcreate -q -y "$loop" >/dev/null
	vgcreate -q -y -s 1m "${vg}2" "$loop" >/dev/null
	ctl_code 1 add "$set" --size 4m --pv "$loop" --at 0
	one_line "$loop: lies on the device that it is to become part of"
	vgremove -q -y "${vg}2" >/dev/null
	losetup -d "$loop"
	wait_for 20 umount "$tmp/mnt"	# udev may have it open for a moment
}
test_case "a tier that would lie on its own set is refused" on_itself

# A volume that a removal left, and that somebody uses for something else now, is not touched.
foreign_volume()
{
	local volume=/dev/$vg/tt_set_tvol0
	set_of_volumes
	ctl_code 0 "${add_volume[@]}"
	killed drop-done remove "$set" 0
	# mkswap leaves the second slot of the label.
	mkswap "$volume" >/dev/null
	unchanged "$volume" -- ctl_code 1 remove "$set" "$vg/tt_set_tvol0"
	one_line 'none of the tiers of tt_set, but carries swap.*lvremove'
	unchanged "$volume" -- ctl_code 1 "${add_volume[@]}"
	one_line 'tvol0: carries .*--force'
	unchanged "$volume" -- ctl_code 1 "${add_volume[@]}" --force
	matches 'Wipe' "$errors" question
	unchanged "$volume" -- ctl_code 1 add --abort "$set" --size 12m --pv "${loops[0]}"
	one_line 'tvol0: carries swap.*stays.*lvremove'
	# The volume is not in the way of a removal by rank either.
	unchanged "$volume" -- ctl_code 0 remove "$set" 0
	matches 'tvol0: was made for tt_set, and stays: carries swap.*deltag' "$errors" warning
	same "vg-slow" "$(layout)"
	dd if=/dev/zero of="$volume" bs=8k count=1 oflag=direct status=none
	mke2fs -q -F "$volume"
	mount "$volume" /mnt
	ctl_code 1 remove "$set" 0
	umount /mnt
	matches 'and stays: mounted on /mnt' "$errors" warning
	ctl_code 0 "${add_volume[@]}" -f -y
	same "vg-tt_set_tvol0 vg-slow" "$(layout)"
	still_data check
}
test_case "a volume of a removed tier that holds something else by now" foreign_volume

# Killed between wiping the labels, wiping the metadata and renaming the volumes.
killed_destroy()
{
	local step before
	make_vg
	lv data 24m "$vg" "${loops[0]}"
	for step in labels metadata; do
		ctl convert -q "$vg/data" -c 64k --fast-size 8m --fast-pv "${loops[1]}"
		killed "destroy-$step" destroy -y "$vg/data"
		same 4 "$(lvs --noheadings "$vg" | wc -l)" "volumes after it was killed at $step"
		[ "$step" = labels ] || ctl_code 1 destroy "$vg/data"
		ctl_code 0 destroy -y "$vg/data"
		same "data" "$(lvs --noheadings -o lv_name,lv_tags "$vg" | tr -d ' ')" "volumes and tags"
		note "destroy      killed at destroy-$step again    -> one volume, its name back"
	done
	# convert --abort cleans up the volume that is named, and not the volume that has
	# the old name.
	ctl convert -q "$vg/data" -c 64k --fast-size 8m --fast-pv "${loops[1]}"
	killed destroy-metadata destroy -y "$vg/data"
	before=$(lvs --noheadings -o lv_name,lv_attr,lv_tags "$vg")
	ctl_code 1 convert "$vg/data_torig" -c 64k --fast-size 8m --fast-pv "${loops[1]}"
	one_line "data_torig: is what is left of a set .*tierctl destroy $vg/data_torig"
	ctl_code 0 convert --abort --dry-run "$vg/data_torig"
	same "$before" "$(lvs --noheadings -o lv_name,lv_attr,lv_tags "$vg")" "volumes"
	ctl_code 0 convert --abort "$vg/data_torig"
	same "data" "$(lvs --noheadings -o lv_name,lv_tags "$vg" | tr -d ' ')" "volumes and tags"
	note "destroy      killed at destroy-metadata convert --abort -> one volume, its name back"
	# A volume that was only tagged, and renamed since, keeps its new name.
	killed convert-tagged convert "$vg/data" -c 64k --fast-size 8m --fast-pv "${loops[1]}"
	lvrename -q "$vg" data other >/dev/null
	ctl_code 0 convert --abort "$vg/other"
	same "other" "$(lvs --noheadings -o lv_name,lv_tags "$vg" | tr -d ' ')" "volumes and tags"
	lvrename -q "$vg" other data >/dev/null
	# Nothing is left to finish.
	ctl_code 1 destroy -y "$vg/data"
	one_line 'is no device of a tiered set'
}
test_case "killed while a volume that was converted is destroyed" killed_destroy

# When lvs fails, nobody knows whether the volume was made for the set.
no_lvs()
{
	local bin=$tmp/bin
	set_of_volumes
	ctl "${add_volume[@]}" -q
	mkdir "$bin"
	printf '#!/bin/sh\necho "no lvs" >&2\nexit 5\n' >"$bin/lvs"
	chmod +x "$bin/lvs"
	PATH=$bin:$PATH ctl_code 1 remove "$set" "$vg/tt_set_tvol0"
	matches 'no lvs' "$errors"
	same "vg-tt_set_tvol0 vg-fast vg-slow" "$(layout)"
	killed drop-done remove "$set" "$vg/tt_set_tvol0"
	PATH=$bin:$PATH ctl_code 1 remove "$set" "$vg/tt_set_tvol0"
	matches 'no lvs' "$errors"
	[[ $output != *'and free'* ]] || fail "$output"
	same "vg-fast vg-slow" "$(layout)"
	PATH=$bin:$PATH ctl_code 1 replace "$set" "$vg/tt_set_tvol0" "$vg/fast"
	matches 'no lvs' "$errors"
	lvs "$vg/tt_set_tvol0" >/dev/null
	ctl_code 0 remove "$set" "$vg/tt_set_tvol0"
	fails lvs "$vg/tt_set_tvol0"
	still_data check
}
test_case "remove when LVM does not answer" no_lvs

# A symlink in the working directory has the name that the new volume gets.
planted()
{
	make_disks
	set_of_volumes
	io write "$fast" at=0 len=1m seed=5
	mkdir -p "$tmp/here/$vg"
	cd "$tmp/here"
	ln -s "$fast" "$vg/tt_set_tvol0"
	touch "$vg/tt_set_tvol1"
	unchanged "$fast" -- ctl_code 0 "${add_volume[@]}"
	ctl_code 0 add "$set" --size 8m --pv "${loops[1]}" --at 0
	same "vg-tt_set_tvol1 vg-tt_set_tvol0 vg-fast vg-slow" "$(layout)"
	ctl_code 1 scan "$vg/none"
	ln -s "$fast" "$vg/none"
	ctl_code 1 scan "$vg/none"
	one_line "no such device. did you mean ./$vg/none"
	io check "$fast" at=0 len=1m seed=5
	cd /
}
test_case "what has a volume's name in the working directory is none" planted

# A set that was not converted
destroy_made()
{
	local step
	make_volumes
	for step in '' labels metadata; do
		set_of "$vg/meta" "$vg/fast" "$vg/slow"
		ctl "${add_volume[@]}" -q
		if [ "$step" ]; then
			killed "destroy-$step" destroy -y "$set"
			lvs "$vg/tt_set_tvol0" >/dev/null
		fi
		if [ "$step" = metadata ]; then
			ctl_code 1 destroy "$vg/tt_set_tvol0"
			matches 'Finish that' "$errors"
			ctl_code 0 destroy -y "$vg/tt_set_tvol0"
		else
			ctl_code 0 destroy -y "$set"
		fi
		same "fast meta slow " "$(lvs --noheadings -o lv_name,lv_tags "$vg" | tr -d ' ' | sort | tr '\n' ' ')" \
			"volumes and tags"
	done
}
test_case "destroy removes the volumes that were made for the set" destroy_made

raid1_lv()
{
	make_vg
	lv meta 4m --type raid1 -m1 --nosync --monitor n "$vg"
	lv fast 16m --type raid1 -m1 --nosync --monitor n "$vg"
	lv slow 24m "$vg"
	set_of "$vg/meta" "$vg/fast" "$vg/slow"
	ctl_code 0 status "$set"
	matches "$vg/fast" "$output"
	same 1 "$(json '[.devices[] | select(.role == "metadata")] | length' scan)" "metadata devices, legs left out"
	same 2 "$(json '[.devices[] | select(.role == "tier")] | length' scan)" "tiers, legs left out"
	each_way
}
test_case "RAID1 volumes as a tier and for the metadata" raid1_lv

md_mirror()
{
	disk meta 4
	disk slow 32
	make_loops 20 20
	mdadm --quiet --create /dev/md127 --level=1 --raid-devices=2 --metadata=1.2 --assume-clean --run \
		"${loops[@]}" </dev/null
	set_of "$meta" /dev/md127 "$slow"
	ctl_code 0 status "$set"
	matches "/dev/md127" "$output"
	each_way
	ctl migrate -q "$set" 0-223 --tier 0
	ctl wait -q "$set"
	mdadm --quiet --fail /dev/md127 "${loops[0]}"
	still_data check
	ctl_code 0 remove "$set" /dev/md127
	still_data check
	ctl_code 0 add "$set" /dev/md127 --at 0
	each_way
}
test_case "an md mirror as a tier, a leg fails" md_mirror

crypt_tier()
{
	make_disks
	head -c 32 /dev/urandom >"$tmp/key"
	cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --key-file "$tmp/key" "$fast" tt_crypt
	# Zeroes on the disk are noise through dm-crypt, which create refuses as contents of
	# a device.
	dd if=/dev/zero of=/dev/mapper/tt_crypt bs=8k count=1 oflag=direct status=none
	set_of "$meta" /dev/mapper/tt_crypt "$slow"
	each_way
	ctl_code 0 remove "$set" 0
	still_data check
	ctl_code 0 add "$set" /dev/mapper/tt_crypt --at 0
	each_way
	[ "$(grep -c -a TIERLABL "$fast")" = 0 ] || fail "the label is in the clear"
}
test_case "dm-crypt as a tier" crypt_tier

loop_and_ram()
{
	make_loops 32 4
	modprobe brd rd_nr=1 rd_size=16384 max_part=0
	set_of "${loops[1]}" /dev/ram0 "${loops[0]}"
	ctl_code 0 status "$set"
	matches "/dev/ram0 .*${loops[0]}" "${output//$'\n'/ }"
	each_way
	load_on
	ctl_code 0 remove "$set" 0
	still_data check
	ctl_code 0 add "$set" /dev/ram0 --at 0
	still_data check
	load_off
	each_way
	ctl_code 0 remove "$set" 0
}
test_case "a loop file and a RAM disk as tiers" loop_and_ram

# ---- users above

# top_set: $fast, $slow, and $third to change with
top_set()
{
	trap tidy EXIT
	make_disks
	disk third 16
	ctl create "$set" -q -m "$meta" -c 64k -L 14m --policy static "$fast" "$slow"
}

top_check() { io check "$top" at=0 len=8m seed=9; }

crypt_on_top()
{
	top_set
	head -c 32 /dev/urandom >"$tmp/key"
	open=(cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --key-file "$tmp/key"
	      --allow-discards)
	"${open[@]}" "$dev" tt_crypt
	top=/dev/mapper/tt_crypt
	io write "$top" at=0 len=8m seed=9
	goes top_check
	cryptsetup close tt_crypt
	ctl deactivate -q "$set"
	ctl activate -q "$set"
	"${open[@]}" "$dev" tt_crypt
	top_check
}
test_case "dm-crypt on top" crypt_on_top

thin_on_top()
{
	top_set
	disk spare 4
	dmsetup create tt_pool --table "0 28672 thin-pool $spare $dev 128 0"
	dmsetup message tt_pool 0 "create_thin 0"
	dmsetup create tt_thin --table "0 65536 thin /dev/mapper/tt_pool 0"
	top=/dev/mapper/tt_thin
	io write "$top" at=0 len=8m seed=9
	goes top_check
	dmsetup suspend tt_thin
	dmsetup message tt_pool 0 "create_snap 1 0"
	dmsetup resume tt_thin
	io write "$top" at=0 len=1m seed=10
	dmsetup create tt_snap --table "0 65536 thin /dev/mapper/tt_pool 1"
	io check /dev/mapper/tt_snap at=0 len=8m seed=9
	# Space that the pool discards is free in the set again.
	before=$(info mapped)
	remove tt_snap
	dmsetup message tt_pool 0 "delete 1"
	blkdiscard "$top"
	io sync "$top"
	wait_for 30 less_mapped "$before"
	remove tt_thin tt_pool
}
less_mapped() { [ "$(info mapped)" -lt "$1" ]; }
test_case "a thin pool on top" thin_on_top

vg_on_top()
{
	top_set
	pvcreate -q -y "$dev" >/dev/null
	vgcreate -q -s 1m tt_in "$dev" >/dev/null
	lv data 10m tt_in
	top=/dev/tt_in/data
	io write "$top" at=0 len=8m seed=9
	goes top_check
	# The set is larger now, so the volume group can grow.
	pvresize -q "$dev" >/dev/null
	lvextend -q -L 20m tt_in/data >/dev/null
	io write "$top" at=8m len=8m seed=9
	io check "$top" at=0 len=16m seed=9
	# The physical volume is found on the set only, never on a tier.
	same "$dev" "$(pvs --noheadings -o pv_name -S vg_name=tt_in | tr -d ' ')" "physical volumes"
	# With this filter, as for a guest's disk, the host does not look inside.
	udevadm settle
	filter='devices { global_filter = [ "r|/dev/disk/by-id/dm-uuid-TIER-.*|" ] }'
	same "" "$(pvs --config "$filter" --noheadings -o pv_name -S vg_name=tt_in | tr -d ' ')" \
		"physical volumes that the filter lets through"
	vgchange -q -an tt_in >/dev/null
	ctl deactivate -q "$set"
	fails vgs tt_in
	ctl activate -q "$set"
	vgchange -q -ay tt_in >/dev/null
	io check "$top" at=0 len=16m seed=9
	vgchange -q -an tt_in >/dev/null
}
test_case "a volume group of its own on top, and a filter that hides it" vg_on_top

writecache_on_top()
{
	top_set
	disk spare 8
	dmsetup create tt_wc --table "0 28672 writecache s $dev $spare 4096 0"
	top=/dev/mapper/tt_wc
	io write "$top" at=0 len=8m seed=9
	goes top_check
	dmsetup message tt_wc 0 flush
	io check "$dev" at=0 len=8m seed=9
	remove tt_wc
	io check "$dev" at=0 len=8m seed=9
}
test_case "dm-writecache on top" writecache_on_top

file_check()
{
	echo 3 >/proc/sys/vm/drop_caches
	same "$sum" "$(sha256sum <"$tmp/mnt/data")" "checksum of the file"
}
file_system()
{
	top_set
	mkfs.ext4 -q "$dev"
	mkdir -p "$tmp/mnt"
	mount "$dev" "$tmp/mnt"
	dd if=/dev/urandom of="$tmp/mnt/data" bs=1M count=9 conv=fsync status=none
	sum=$(sha256sum <"$tmp/mnt/data")
	goes file_check
	resize2fs "$dev" >/dev/null 2>&1
	dd if=/dev/urandom of="$tmp/mnt/more" bs=1M count=20 conv=fsync status=none
	file_check
	umount "$tmp/mnt"
	e2fsck -f -n "$dev" >/dev/null
}
test_case "a mounted file system on top, made larger" file_system

run_tests
