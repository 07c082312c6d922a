#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# timeout=1200
# long
#
# A set in use becomes one of its tiers again. Data is compared before and after.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-convert.sh
. "$(dirname "$0")/lib-convert.sh"

# plain: $vg/data is a plain volume, and nothing of the set is left
plain()
{
	same "linear" "$(lvs --noheadings -o segtype "$vg/data" | tr -d ' ')" "kind of $vg/data"
	same "" "$(tags data)" "tags of $vg/data"
	matches '^LVM-' "$(dmsetup info -c --noheadings -o uuid "$vg-data")"
	same 0 "$(dmsetup ls --target tier | grep -c "$vg" || true)" "sets"
	same "" "$(json '.sets[].name' list)" "sets by tierctl list"
}

closed()
{
	local before
	make_vg
	data write
	ctl convert -q "$vg/data" -c 64k --fast-size 8m --fast-pv "${loops[1]}" --policy static
	ctl migrate -q "$vg/data" 16-90 --tier 0
	ctl wait -q "$vg/data"
	# Discarded chunks read as zeroes afterwards, too.
	blkdiscard -o 8m -l 2m "$origin"
	before=$(lvm_state)
	ctl_code 0 revert --dry-run "$vg/data"
	note "${output//$'\n'/$'\n# '}"
	same "$before" "$(lvm_state)" "volumes after a dry run"
	matches "0 49152 linear [0-9:]+ 0" "$output" "table"
	matches "lvremove -y $vg/data_tvol0" "$output"
	ctl_code 0 revert "$vg/data"
	note "${output//$'\n'/$'\n# '}"
	same "data " "$(lvm_names)"
	plain
	io check "$origin" at=0 len=8m seed=31
	io check "$origin" at=8m len=2m seed=0
	io check "$origin" at=10m len=14m seed=31
	ctl_code 1 revert "$vg/data"
	# And once more from the start
	ctl convert -q "$vg/data" -c 64k --fast-size 8m --fast-pv "${loops[1]}" --policy static
	ctl revert -q "$vg/data"
	plain
	io check "$origin" at=10m len=14m seed=31
}
test_case "a logical volume that is not in use" closed

# A volume that was made for the set, and that somebody else uses by now, is no tier of the set.
foreign_volume()
{
	local tag words=() used
	make_vg
	data write
	ctl convert -q "$vg/data" -c 64k --fast-size 8m --fast-pv "${loops[1]}" --policy static
	for tag in $(tags data_tvol0 | tr , ' '); do words+=(--addtag "$tag"); done
	for used in 1 2 3; do
		lvcreate -q -y -n "data_tvol$used" -L 4m "${words[@]}" "$vg" "${loops[1]}" >/dev/null
	done
	mke2fs -q -F "/dev/$vg/data_tvol1"
	io write "/dev/$vg/data_tvol2" at=0 len=64k seed=5
	lvchange -q --setautoactivation n "$vg/data_tvol3" >/dev/null
	lvchange -q -an "$vg/data_tvol3"
	unchanged "/dev/$vg/data_tvol1" "/dev/$vg/data_tvol2" -- ctl_code 0 revert "$vg/data"
	matches 'data_tvol1: was made for the set, but carries ext2.*so it stays' "$errors" warning
	matches 'data_tvol2: was made for the set, but carries something unknown.*so it stays' "$errors" warning
	matches 'data_tvol3: was made for the set, but carries what nobody can .*so it stays' "$errors" warning
	same "data data_tvol1 data_tvol2 data_tvol3 " "$(lvm_names)"
	for used in 1 2 3; do same "" "$(tags "data_tvol$used")" "tags of a volume that stays"; done
	plain
	data check
}
test_case "a volume made for it that holds something else by now" foreign_volume

mounted()
{
	local mount=$tmp/mnt pid
	make_vg
	lvextend -q -L 24.5m "$vg/data" >/dev/null
	lv fast 12m "$vg" "${loops[1]}"
	lv meta 8m "$vg" "${loops[1]}"
	mkfs.ext4 -q -L photos "$origin"
	ctl convert -q "$vg/data" --fast "$vg/fast" --metadata "$vg/meta"
	mkdir -p "$mount"
	mount "$origin" "$mount"
	cp "$tierio" "$mount/io"
	dd if=/dev/urandom of="$mount/torture" bs=1M count=6 status=none conv=fsync
	ctl migrate -q "$vg/data" 0-23 --tier 0 || true
	io write "$mount/torture" at=0 len=6m seed=9
	background bash -c "i=0; while :; do i=\$((i + 1)); echo \$i >$mount/count; done"
	pid=$last_pid
	ctl_code 0 revert "$vg/data"
	matches "stays until it is closed" "$output"
	kill -0 "$pid" || fail "the writer ended"
	kill "$pid"
	wait "$pid" || true
	plain
	same "data fast meta " "$(lvm_names)"
	same "" "$(tags fast)$(tags meta)" "tags of the parts"
	io check "$mount/torture" at=0 len=6m seed=9
	cmp "$tierio" "$mount/io"
	dmsetup info "$vg-data_trevert" >/dev/null
	umount "$mount"
	wait_for 20 gone "$vg-data_trevert"
	fsck.ext4 -fn "$origin" >"$tmp/fsck" 2>&1 || fail "fsck: $(<"$tmp/fsck")"
	mount "$origin" "$mount"
	cmp "$tierio" "$mount/io"
	umount "$mount"
}
gone() { ! dmsetup info "$1" >/dev/null 2>&1; }
test_case "mounted, written, with volumes that were there before" mounted

refusals()
{
	make_disks
	ctl create -q "$set" -m "$meta" -c 64k --policy static "$fast" "$slow"
	ctl_code 1 revert "$set"
	one_line "$set: is larger \(.*\) than $slow \(32 mib\)"
	ctl_code 1 revert "$set" --tier 0
	one_line "is larger .*than $fast"
	ctl_code 1 revert "$set" --tier 7
	ctl_code 1 revert nothing
	one_line "nothing: no such set"
	ctl destroy -q -y "$set"
	ctl create -q "$set" -m "$meta" -c 64k -L 14m --policy static "$fast" "$slow"
	ctl evacuate -q "$set" 1
	ctl_code 1 revert "$set"
	one_line "is being emptied.*tierctl admit $set 1"
	ctl deactivate -q "$set"
	ctl_code 1 revert "$set"
	one_line "not active"
}
test_case "what is refused" refusals

plain_device()
{
	local timer
	make_disks
	io write "$slow" at=0 len=32m seed=8
	ctl convert -q "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static
	ctl migrate -q "$set" 40-200 --tier 0
	ctl wait -q "$set"
	ctl_code 0 revert --abort "$set"
	ctl_code 0 revert "$set"
	fails dmsetup info "$set"
	io check "$slow" at=0 len=32m seed=8
	for disk in "$fast" "$meta"; do
		same 0 "$(dd if="$disk" bs=4k count=2 iflag=direct status=none | grep -c 'TIERLABL\|DTIERBLK' || true)"
	done
	# A set that was made by create
	ctl create -q "$set" -f -y -m "$meta" -c 64k -L 14m --policy static "$fast" "$slow"
	io write "$dev" at=0 len=5m seed=3
	# The timer of its schedule is removed.
	timer=/etc/systemd/system/tierctl-schedule-$(json '.sets[0].uuid' list).timer
	mkdir -p "${timer%/*}"
	: >"$timer"
	mkdir "$tmp/bin"
	printf '#!/bin/sh\n' >"$tmp/bin/systemctl"
	chmod +x "$tmp/bin/systemctl"
	PATH=$tmp/bin:$PATH ctl_code 0 revert "$set" --tier 0
	[ ! -e "$timer" ] || fail "its timer is still there"
	io check "$fast" at=0 len=5m seed=3
	io check "$fast" at=5m len=9m seed=0
}
test_case "disks" plain_device

# A device that still has its label after a remove, and is swap by now
used_otherwise()
{
	make_disks
	disk third 16
	ctl convert -q "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static
	ctl add -q -y "$set" "$third" --at 0
	remove_but_for_label "$third"
	mkswap "$third" >/dev/null 2>&1
	unchanged "$third" -- ctl_code 0 revert "$set"
	matches "$third: carries swap.*, too, and stays as it is" "$errors"
}
test_case "a stray label on what is used otherwise by now" used_otherwise

# Own places begin behind the label area.
small()
{
	local size
	for size in 1m 500k; do
		make_disks
		ctl create -q "$set" -m "$meta" -c 64k -L "$size" --policy static "$fast" "$slow"
		io write "$dev" at=0 len="$size" seed=3
		ctl_code 0 revert "$set"
		same "" "$(json '.sets[].name' list)" "sets"
		io check "$slow" at=0 len="$size" seed=3
		for disk in meta fast slow; do disk_gone "$disk"; done
	done
}
test_case "a set that is no larger than the label area" small

# LVM's other volumes are not reverted, however similar their names are.
parts()
{
	local before part active
	make_vg
	data write
	ctl convert -q "$vg/data" -c 64k --fast-size 8m --fast-pv "${loops[1]}" --policy static
	for active in yes no; do
		before=$(lvm_state)
		for part in data_torig data_tvol0 data_tiermeta; do
			ctl_code 1 revert "$vg/$part"
			one_line "$vg/$part: is .* of $vg/data\. name $vg/data"
		done
		same "$before" "$(lvm_state)" "volumes"
		[ "$active" = no ] || ctl deactivate -q "$vg/data"
	done
	ctl activate -q "$vg/data"
	data check
}
test_case "parts of a set are refused" parts

# The size changes after the last chunk has moved and before the tier takes the set's place.
resized()
{
	local pid rc=0
	make_disks
	ctl create -q "$set" -m "$meta" -c 64k -L 14m --policy static "$fast" "$slow"
	io write "$dev" at=0 len=14m seed=3
	ctl set "$set" migration_bandwidth=64k
	# shellcheck disable=SC2016	# for the other shell to expand
	background bash -c 'exec "$0" revert "$1" </dev/null 2>"$2"' "$tierctl" "$set" "$tmp/said"
	pid=$last_pid
	wait_for 30 going_home
	# tierctl waits its turn; dmsetup does not.
	policy=static length=$((24 << 11))
	reload
	io write "$dev" at=14m len=10m seed=4
	ctl migrate -q "$set" 250-350 --tier 1
	ctl set "$set" migration_bandwidth=0
	wait "$pid" || rc=$?
	same 1 "$rc" "exit status of revert"
	matches "was changed by somebody else meanwhile" "$(<"$tmp/said")"
	ctl wait -q "$set"
	io check "$dev" at=0 len=14m seed=3
	io check "$dev" at=14m len=10m seed=4
	ctl_code 0 revert "$set"
	io check "$slow" at=0 len=14m seed=3
	io check "$slow" at=14m len=10m seed=4
}
going_home() { [[ $(dmsetup status "$set") == *paused ]]; }
test_case "a set that is resized meanwhile" resized

run_tests
