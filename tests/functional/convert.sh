#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# timeout=900
# long
#
# A logical volume, and other devices, become a tiered set in place.  Data is
# compared before and after.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-reshape.sh
. "$(dirname "$0")/lib-reshape.sh"
# shellcheck source=lib-convert.sh
. "$(dirname "$0")/lib-convert.sh"

by_size()
{
	local before
	make_vg
	data write
	before=$(lvm_state)
	ctl_code 0 convert --dry-run "$vg/data" -c 64k --fast-size 8m --fast-pv "${loops[1]}"
	note "${output//$'\n'/$'\n# '}"
	same "$before" "$(lvm_state)" "volumes after a dry run"
	matches "Would run: lvcreate .*-n data_tvol0 .*$vg ${loops[1]}" "$output"
	matches "Would run: lvcreate .*--type raid1 -m1 $vg ${loops[1]} ${loops[0]}" "$output"
	matches "Would run: lvrename $vg data data_torig" "$output"
	matches "0 49152 tier /dev/$vg/data_tiermeta 128 2 /dev/$vg/data_tvol0 [0-9:]+ " "$output"
	data check
	ctl_code 0 convert "$vg/data" -c 64k --fast-size 8m --fast-pv "${loops[1]}"
	note "${output//$'\n'/$'\n# '}"
	same "" "$errors" "what it said on stderr"
	data check
	same "data data_tiermeta data_torig data_tvol0 " "$(lvm_names)"
	matches 'dm-tier.name=data,.*role=torig' "$(tags data_torig)"
	matches '^TIER-[0-9a-f]{32}-lv$' "$(dmsetup info -c --noheadings -o uuid "$vg-data")"
	same "$vg/data rw 368/368" "$(json '.sets[0] | .name + " " + .mode + " " +
		(.chunks.mapped|tostring) + "/" + (.chunks.total|tostring)' status "$vg/data" |
		sed s,384/384,368/368,)"
	# Each chunk lies in its own place, except those in the label area.
	set=$vg-data
	chunk_info 16
	same "1 16" "${C[rank]} ${C[place]}" "home of chunk 16"
	chunk_info 15
	same "0 31" "${C[rank]} ${C[place]}" "refuge of chunk 15"
	ctl_code 0 deactivate "$vg/data"
	ctl_code 0 activate "$vg/data"
	same "$vg/data: active as /dev/mapper/$vg-data." "$output"
	data check
	matches '-lv$' "$(dmsetup info -c --noheadings -o uuid "$vg-data")"
	# LVM's own activation does not interfere.
	ctl_code 0 deactivate "$vg/data"
	vgchange -q -ay "$vg" >/dev/null
	fails dmsetup info "$vg-data"
	ctl_code 0 activate --auto
	data check
	ctl migrate -q "$vg/data" 0-383 --tier 1
	ctl wait -q "$vg/data"
	data check
	fails lvremove -f "$vg/data_torig"
	fails lvrename "$vg" data_torig data
	ctl_code 1 convert "$vg/data" --fast-size 8m --fast-pv "${loops[1]}"
	one_line "$vg/data: is a tiered set already"
	ctl_code 1 rename "$vg/data" other
	one_line "$vg/data: keeps the name of its logical volume until tierctl revert"
	ctl_code 1 remove "$vg/data" 1
	one_line "data_torig: is what $vg/data was made of"
	ctl_code 0 check "$vg/data"
	matches "^/dev/$vg/data_tiermeta: nothing is wrong" "$output"
	ctl_code 0 destroy -y "$vg/data"
	same "data " "$(lvm_names)" "volumes of a set that was destroyed"
	same "" "$(tags data)" "tags"
}
test_case "a logical volume, in front of it one of a given size" by_size

# A size that is no multiple of the chunk, a file system, and volumes that existed before.
with_parts()
{
	local mount=$tmp/mnt
	make_vg
	lvextend -q -L 24.5m "$vg/data" >/dev/null
	lv fast 12m "$vg" "${loops[1]}"
	lv meta 8m "$vg" "${loops[1]}"
	mkfs.ext4 -q -L photos "$origin"
	mkdir "$mount"
	mount "$origin" "$mount"
	cp -r /etc/default "$mount/etc"
	md5sum "$tierio" | sed "s,$tierio,$mount/io," >"$tmp/sums"
	cp "$tierio" "$mount/io"
	ctl_code 1 convert "$vg/data" --fast "$vg/fast" --metadata "$vg/meta" --policy static
	one_line "$vg/data: mounted on /.*/mnt\. type: umount /.*/mnt, this command again, mount /.*/mnt"
	umount "$mount"
	sums=$(io sums "$origin" | md5sum)
	ctl_code 0 convert "$vg/data" --fast "$vg/fast" --metadata "$vg/meta" --policy static
	matches "keep the metadata on a mirror" "$errors"
	same "$sums" "$(io sums "$origin" | md5sum)"
	same "data data_tiermeta data_torig fast_tvol " "$(lvm_names)"
	mount "$origin" "$mount"
	md5sum -c --quiet "$tmp/sums"
	dd if=/dev/urandom of="$mount/more" bs=1M count=6 status=none
	umount "$mount"
	fsck.ext4 -fn "$origin" >/dev/null 2>&1
	ctl_code 0 deactivate "$vg/data"
	same "" "$(blkid -p -o value -s TYPE "/dev/mapper/$vg-data_torig" || true)" "what the old volume shows"
	ctl_code 0 activate "$vg/data"
	mount "$origin" "$mount"
	md5sum -c --quiet "$tmp/sums"
	umount "$mount"
}
test_case "with volumes that are there, an ext4 and a chunk that is not whole" with_parts

# stays REGEX ARGUMENT...: convert refuses, in one line, and changes nothing
stays()
{
	local regex=$1 before
	shift
	before=$(lvm_state)
	ctl_code 1 convert "$@"
	one_line "$regex"
	same "$before" "$(lvm_state)" "volumes"
}

refusals()
{
	local by=(--fast-size 4m --fast-pv) part
	make_vg
	by+=("${loops[1]}")
	data write
	stays "no such device" "$vg/nothing" "${by[@]}"
	dmsetup create tt_holder --table "0 8 linear $origin 0"
	stays "$vg/data: in use by /dev/mapper/tt_holder" "$vg/data" "${by[@]}"
	dmsetup remove tt_holder
	# A process that has the volume open without claiming it, such as a virtual machine,
	# would go on writing.
	background sleep 900 9<>"$origin"
	stays "$vg/data: open by sleep \(pid $last_pid\)\. close it" "$vg/data" "${by[@]}"
	kill "$last_pid"
	wait "$last_pid" || true
	loops+=("$(losetup -f --show "$origin")")
	stays "$vg/data: in use by ${loops[2]}\. close it" "$vg/data" "${by[@]}"
	# udev has a new device open for a moment.
	udevadm settle
	losetup -d "${loops[2]}"
	unset 'loops[2]'
	lvchange -q -pr "$vg/data" >/dev/null
	stays "is read-only.*lvchange -prw" "$vg/data" "${by[@]}"
	lvchange -q -prw "$vg/data" >/dev/null
	lv snap 4m -s "$vg/data"
	stays "snapshot" "$vg/data" "${by[@]}"
	stays "snapshot" "$vg/snap" "${by[@]}"
	lvremove -q -y "$vg/snap" >/dev/null
	stays "512.* asked|free, " "$vg/data" --fast-size 900m --fast-pv "${loops[1]}"
	stays "too small" "$vg/data" --fast-size 1m --fast-pv "${loops[1]}"
	lv fast 8m "$vg" "${loops[1]}"
	mkfs.ext4 -q "/dev/$vg/fast"
	stays "fast: carries ext4" "$vg/data" --fast "$vg/fast"
	stays "is the device to be converted" "$vg/data" --fast "$vg/data"
	lv fast_tvol 1m "$vg" "${loops[1]}"
	wipefs -q -a "/dev/$vg/fast"
	dd if=/dev/zero of="/dev/$vg/fast" bs=1M count=2 status=none oflag=direct
	stays "$vg/fast_tvol: exists" "$vg/data" --fast "$vg/fast"
	lv data_tiermeta 1m "$vg" "${loops[1]}"
	stays "$vg/data_tiermeta: exists" "$vg/data" "${by[@]}"
	lvremove -q -y "$vg/data_tiermeta" "$vg/fast_tvol" >/dev/null
	# Parts are renamed in the group they are in.
	make_loops 32
	stays "${loops[2]}: belongs to no volume group\. type: vgextend $vg ${loops[2]}$" "$vg/data" --fast-size 4m \
		--fast-pv "${loops[2]}"
	vgcreate -q -y -s 512k tt_vh "${loops[2]}" >/dev/null
	for part in fast fast_tvol meta data_tiermeta; do lv "$part" 5m tt_vh; done
	stays "tt_vh/fast_tvol: exists" "$vg/data" --fast tt_vh/fast
	stays "tt_vh/data_tiermeta: exists" "$vg/data" "${by[@]}" --metadata tt_vh/meta
	lvcreate -q -y --type thin-pool -n pool -L 8m "$vg" >/dev/null 2>&1
	lvcreate -q -y -T "$vg/pool" -n thin -V 8m >/dev/null 2>&1
	stays "thin pool" "$vg/thin" "${by[@]}"
	lvremove -q -y "$vg/thin" "$vg/pool" >/dev/null
	data check
	# A signature that the label would not overwrite: the backup of a GPT
	printf 'label: gpt\n,\n' | sfdisk -q "$origin" >/dev/null 2>&1
	stays "carries gpt partition table" "$vg/data" "${by[@]}"
	wipefs -q -f -a "$origin"
	pvcreate -q -y --config 'devices/scan_lvs=1' "$origin" >/dev/null
	stays "physical volume itself.*global_filter" "$vg/data" "${by[@]}"
	ctl_code 2 convert "$vg/data"
	ctl_code 2 convert "$vg/data" --fast x --fast-size 4m --fast-pv "${loops[1]}"
	one_line "one of the two"
	ctl_code 2 convert "$vg/data" "${by[@]}" -c 3m
	ctl_code 0 convert --abort "$vg/data"
	matches "nothing to undo" "$output"
}
test_case "what is refused is left as it was" refusals

# What is looked at is put in its place in a mount namespace of the command.
at_boot()
{
	local tierctl=$tmp/apart by=("$vg/data" --at-boot --dry-run --fast "$vg/fast") folder
	make_vg
	lv fast 8m "$vg" "${loops[1]}"
	mkfs.ext4 -q "$origin"
	# shellcheck disable=SC2016	# for the shell in the name space
	printf '#!/bin/bash\nset -e\neval "$BEFORE"\nexec %q "$@"\n' "$(realpath "${TIERCTL:-$here/../../userspace/tierctl}")" >"$tmp/inner"
	printf '#!/bin/sh\nexec unshare --mount bash %q "$@"\n' "$tmp/inner" >"$tierctl"
	chmod 755 "$tierctl"
	# A root file system is mounted, and may be.
	export BEFORE="mount $origin /mnt"
	ctl_code 0 convert "${by[@]}"
	matches "$vg/data: would be converted when the machine boots next" "$output"
	BEFORE="mount $origin /boot"
	stays "$vg/data: /boot lies on it.*move it to a partition of its own" "${by[@]}"
	for folder in /boot/grub /boot/grub2 /boot/efi; do
		BEFORE="mount -t tmpfs none /boot; mkdir $folder; mount $origin $folder"
		stays "$vg/data: $folder lies on it.*move it to a partition of its own" "${by[@]}"
	done
	lsblk -ndo MAJ:MIN "$origin" | tr -d ' ' >"$tmp/resume"
	BEFORE="mount --bind $tmp/resume /sys/power/resume"
	stays "$vg/data: the machine hibernates to it.*echo 0:0 >/sys/power/resume" "${by[@]}"
	echo "root=/dev/mapper/x rd.lvm.lv=$vg/data quiet" >"$tmp/cmdline"
	BEFORE="mount --bind $tmp/cmdline /proc/cmdline"
	stays "the kernel's command line has rd.lvm.lv=$vg/data.*say rd.lvm.vg=$vg there" "${by[@]}"
	BEFORE=
	dmsetup create tt_holder --table "0 8 linear $origin 0"
	stays "$vg/data: another device is made of it" "${by[@]}"
	dmsetup remove tt_holder
	ctl_code 1 convert "${by[@]:0:3}" --fast-size 8m --fast-pv "${loops[1]}"
	matches "${loops[1]}: may be another disk when the machine boots. Name it by a link in /dev/disk/by-id" "$errors"
	[ ! -e /etc/dm-tier/at-boot ] || fail "an order was left"
}
test_case "what a conversion at boot is refused for" at_boot

label_of() { dd if="$1" bs=8k count=1 iflag=direct status=none | tr -d '\0' | grep -ao TIER | head -n 1 || true; }

plain_device()
{
	make_disks
	io write "$slow" at=0 len=32m seed=8
	ctl_code 1 convert "$slow" --fast "$fast" --metadata "$meta"
	one_line "needs a name"
	ctl_code 1 convert "$slow" --name "$set" --fast "$fast"
	one_line "metadata"
	background sleep 900 9<>"$fast"
	unchanged "$slow" "$fast" "$meta" -- \
		ctl_code 1 convert "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --force -y
	one_line "$fast: open by sleep \(pid $last_pid\)\. free it"
	kill "$last_pid"
	wait "$last_pid" || true
	unchanged "$slow" "$fast" "$meta" -- \
		ctl_code 0 convert --dry-run "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta"
	ctl_code 0 convert "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta"
	io check "$dev" at=0 len=32m seed=8
	ctl deactivate -q "$set"
	same TIER "$(label_of "$slow")" "what the disk carries"
	ctl activate -q "$set"
	io check "$dev" at=0 len=32m seed=8
}
test_case "a disk" plain_device

# The last contents of the device are unknown, so nothing is undone until the device answers.
no_label()
{
	modprobe -q dm-flakey || skip "dm-flakey is not available"
	make_disks
	io write "$slow" at=0 len=32m seed=8
	wrap weak "0 $(sectors_of "$slow") flakey $slow 0 0 1000 1 error_writes"
	ctl_code 1 convert /dev/mapper/tt_weak --name "$set" -c 64k --fast "$fast" --metadata "$meta"
	matches "tt_weak: cannot be labelled: .*work again\. Then undo .*convert --abort $set" "${errors//$'\n'/ }"
	same TIER "$(label_of "$fast")" "what the fast tier carries"
	dmsetup suspend tt_weak
	dmsetup load tt_weak --table "0 $(sectors_of "$slow") linear $slow 0"
	dmsetup resume tt_weak
	ctl_code 0 convert --abort "$set"
	io check "$slow" at=0 len=32m seed=8
	same "" "$(label_of "$fast")$(label_of "$slow")" "what the tiers carry"
	same "" "$(json '.sets[].name' list)" "sets"
}
test_case "a disk that cannot be labelled" no_label

# The fast device holds the only copy of the label area: no other set may take it meanwhile.
at_once()
{
	local rc=0 words=(-c 64k --policy static)
	make_disks
	disk third 32
	words+=(--fast "$fast" --metadata "$meta")
	io write "$slow" at=0 len=32m seed=8
	io write "$third" at=0 len=32m seed=9
	stopped convert-tagged convert "$third" --name tt_other "${words[@]}"
	unchanged "$slow" "$fast" "$meta" -- ctl_code 1 convert "$slow" --name "$set" "${words[@]}"
	one_line "$fast: (in use|open by )"
	go_on 0
	io check /dev/mapper/tt_other at=0 len=32m seed=9
	ctl revert -q tt_other
	# Nor may another conversion take a device that was used since the check
	stopped convert-checked convert "$third" --name tt_other "${words[@]}"
	ctl convert -q "$slow" --name "$set" "${words[@]}"
	ctl deactivate -q "$set"
	kill -CONT "$stopped_pid"
	wait "$stopped_pid" || rc=$?
	same 1 "$rc" "exit status of who came second"
	matches "$fast: carries the label of tier id 0 of the set \"$set\"" "$(<"$tmp/stopped")"
	io check "$third" at=0 len=32m seed=9
	ctl activate -q "$set"
	io check "$dev" at=0 len=32m seed=8
}
test_case "two at once for one fast device" at_once

# While the question waits for its answer, another device takes the name.
named_anew()
{
	local name=$tmp/name all=("$slow" "$fast" "$meta" "$third" "$meta2")
	make_disks
	disk third 32
	disk meta2 4
	io write "$slow" at=0 len=32m seed=8
	ln -s "$slow" "$name"
	stopped convert-checked convert "$name" --name "$set" -c 64k --policy static --fast "$fast" --metadata "$meta"
	ln -sfn "$third" "$name"
	unchanged "${all[@]}" -- go_on 1
	matches "$name: is another device by now" "$(<"$tmp/stopped")"
	ctl create -q "$set" -m "$meta" -c 64k "$fast" "$third"
	ctl deactivate -q "$set"
	ctl dump -q "$set" -o "$tmp/dump"
	ln -sfn "$meta" "$name"
	stopped overwrite-agreed restore -y "$tmp/dump" "$name"
	ln -sfn "$meta2" "$name"
	unchanged "${all[@]}" -- go_on 1
	matches "$name: is another device by now" "$(<"$tmp/stopped")"
	io write "$meta2" at=0 len=4m seed=9
	stopped overwrite-agreed repair -y "$meta" "$name"
	ln -sfn "$slow" "$name"
	unchanged "${all[@]}" -- go_on 1
	matches "$name: is another device by now" "$(<"$tmp/stopped")"
	# Or the device carries a signature by then.
	ln -sfn "$meta2" "$name"
	stopped overwrite-agreed repair -y "$meta" "$name"
	mke2fs -q -F "$meta2"
	unchanged "${all[@]}" -- go_on 1
	matches "$meta2: is not what it was any more" "$(<"$tmp/stopped")"
}
test_case "a name that is another device's by the time of the answer" named_anew

run_tests
