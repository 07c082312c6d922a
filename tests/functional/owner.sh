#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Whose set it is: what two machines that see the same devices do with it. The machines are one
# here, under two names.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"

here_id=/etc/dm-tier/machine-id
[ ! -e "$here_id" ] || skip_all "$here_id is there already"
one=11111111111111111111111111111111
other=22222222222222222222222222222222

# machine ID: goes on as that machine
machine()
{
	mkdir -p "${here_id%/*}"
	echo "$1" >"$here_id"
}
unnamed()
{
	umount /etc/machine-id 2>/dev/null || true
	rm -f "$here_id" /etc/dm-tier/{not-auto,in-initramfs} /etc/modprobe.d/tt_owner.conf
	rm -f /etc/systemd/system/tier-activate@.service
}
trap 'unnamed; on_exit' EXIT

# made [OPTION]...: a set with metadata of its own, which machine one made and has active
# shellcheck disable=SC2120
made()
{
	machine "$one"
	disk meta 8
	disk fast 16
	disk slow 32
	metadata=$meta
	ctl create "$set" -q -c 64k --policy static --metadata "$meta" "$@" "$fast" "$slow"
}

# superblock FIELD, owner_of FIELD: of the inactive set, from a dump
superblock()
{
	"$here/../../userspace/tier_dump" -i "$metadata" >"$tmp/dump"
	sed -nE "s/.* $1=\"([^\"]*)\".*/\1/p" "$tmp/dump" | head -n 1 | tr -d -
}
owner_of() { superblock "owner_$1"; }
in_order() { ctl_code 0 check "$set"; }

refused_elsewhere()
{
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 "$@"
	one_line "machine $one activated it at 20[0-9-]+ [0-9:]+ and has not deactivated it"
}

recorded()
{
	local boot
	made
	ctl deactivate -q "$set"
	boot=$(</proc/sys/kernel/random/boot_id)
	same "$one" "$(owner_of machine)"
	same "${boot//-/}" "$(owner_of boot)"
	is "$(date +%s) - $(owner_of time) < 300"
	same "$(owner_of trans_id)" "$(superblock trans_id)"
	# Commits take it along.
	ctl activate -q "$set"
	write_chunks 0 20 1
	io sync "$dev"
	ctl deactivate -q "$set"
	same "$one" "$(owner_of machine)"
	same "$(owner_of trans_id)" "$(superblock trans_id)"
	in_order
}

test_case "the machine that activates a set is recorded, and stays so" recorded

clean_end()
{
	made
	write_chunks 0 5 1
	ctl deactivate -q "$set"
	machine "$other"
	ctl_code 0 activate "$set"
	check_chunks 0 5 1
	ctl deactivate -q "$set"
	same "$other" "$(owner_of machine)"
	machine "$one"
	ctl_code 0 activate "$set"
	check_chunks 0 5 1
}
test_case "a set that was deactivated is anybody's" clean_end

crashed()
{
	made
	write_chunks 0 5 1
	io sync "$dev"
	crash
	machine "$other"
	refused_elsewhere activate "$set"
	matches "tierctl activate --take-over $set" "$errors"
	same elsewhere "$(ctl activate --json "$set" 2>/dev/null | jq -r '.errors[0].code')"
	refused_elsewhere activate --read-only "$set"
	refused_elsewhere activate --auto "$fast"
	refused_elsewhere activate --dry-run "$set"
	refused_elsewhere destroy --yes "$set"
	ctl_code 0 status "$set"
	note "$output"
	# Who crashed may go on.
	machine "$one"
	ctl_code 0 activate "$set"
	check_chunks 0 5 1
	crash
	machine "$other"
	ctl_code 0 activate --take-over "$set"
	check_chunks 0 5 1
	crash
	same "$other" "$(owner_of machine)"
	machine "$one"
	ctl_code 1 activate "$set"
	one_line "machine $other activated it"
	machine "$other"
	ctl_code 0 activate "$set"
	in_order
}
test_case "a set that was not deactivated is that machine's, unless it is taken over" crashed

# An active set is not clean, even if nothing was changed since it was resumed.
idle()
{
	made
	ctl deactivate -q "$set"
	ctl activate -q "$set"
	dmsetup suspend "$set"
	dmsetup resume "$set"
	crash
	machine "$other"
	refused_elsewhere activate "$set"
	machine "$one"
	ctl_code 0 activate "$set"
}
test_case "an idle set is used, too" idle

nameless()
{
	made
	crash
	# Not known who asks
	machine uninitialized
	: >"$tmp/none"
	mount --bind "$tmp/none" /etc/machine-id
	ctl_code 0 activate "$set"
	umount /etc/machine-id
	crash
	# Nor who had it
	same 00000000000000000000000000000000 "$(owner_of machine)"
	machine "$other"
	ctl_code 0 activate "$set"
	crash
	: >/etc/dm-tier/in-initramfs
	machine "$one"
	ctl_code 0 activate "$set"
	rm /etc/dm-tier/in-initramfs
}
test_case "a machine without an id, or in its initramfs, is not held up" nameless

# Another machine saw a clean set.
suspended()
{
	made
	write_chunks 0 5 1
	dmsetup suspend "$set"
	dd if="$meta" of="$tmp/saved" bs=1M iflag=direct status=none
	dmsetup resume "$set"
	write_chunks 5 5 2
	dmsetup suspend "$set"
	dd if="$meta" of="$tmp/now" bs=1M iflag=direct status=none
	dd if="$tmp/saved" of="$meta" bs=1M oflag=direct status=none
	fails dmsetup resume "$set"
	klog | grep -q "The metadata was changed while the set was suspended" || fail "no reason in the log"
	dd if="$tmp/now" of="$meta" bs=1M oflag=direct status=none
	dmsetup resume "$set"
	check_chunks 0 5 1
	check_chunks 5 5 2
}
test_case "a set that was used elsewhere while it was suspended is not resumed" suspended

# The kernel refuses the table: as before.
unclaimed()
{
	made --policy heat
	ctl deactivate -q "$set"
	dd if="$meta" of="$tmp/before" bs=4k count=1 iflag=direct status=none
	machine "$other"
	echo "install dm_tier_heat /bin/false" >/etc/modprobe.d/tt_owner.conf
	rmmod dm_tier_heat
	ctl_code 1 activate "$set"
	rm /etc/modprobe.d/tt_owner.conf
	matches 'the kernel refused it' "$errors"
	cmp "$tmp/before" <(dd if="$meta" bs=4k count=1 iflag=direct status=none)
	same "$one" "$(owner_of machine)"
}
test_case "an activation that fails takes its record back" unclaimed

by_itself()
{
	made
	write_chunks 0 5 1
	ctl deactivate -q "$set"
	printf '%s\n' "# sets of the cluster" "$set" >/etc/dm-tier/not-auto
	unchanged "$meta" "$fast" "$slow" -- ctl_code 0 activate --auto "$fast"
	[ ! -e "$dev" ] || fail "activated"
	ctl_code 0 activate "$set"
	ctl deactivate -q "$set"
	# Nor in an initramfs for others
	echo "$one" >/etc/dm-tier/in-initramfs
	rm /etc/dm-tier/not-auto
	unchanged "$meta" "$fast" "$slow" -- ctl_code 0 activate --auto "$fast"
	[ ! -e "$dev" ] || fail "activated"
	superblock uuid >>/etc/dm-tier/in-initramfs
	ctl_code 0 activate --auto "$fast"
	rm /etc/dm-tier/in-initramfs
	check_chunks 0 5 1
}
test_case "a set of not-auto is not activated by itself" by_itself

# The root file system is told to be on a device above the set.
initramfs() { PATH=$tmp:$PATH sh "$here/../../userspace/initramfs/initramfs.in" "$@"; }
in_initramfs()
{
	made
	printf '#!/bin/sh\ncase $* in *" /") echo /dev/mapper/tt_top ;; *) exit 1 ;; esac\n' >"$tmp/findmnt"
	chmod 755 "$tmp/findmnt"
	wrap top "0 64 linear $slow 0"
	fails initramfs needed
	fails initramfs wanted
	dmsetup remove --retry tt_top
	wrap middle "0 128 linear $dev 0"
	wrap top "0 64 linear /dev/mapper/tt_middle 0"
	initramfs needed
	initramfs wanted
	same "" "$(initramfs chosen)"
	ln -s /dev/null /etc/systemd/system/tier-activate@.service
	initramfs wanted
	initramfs chosen >"$tmp/chosen"
	rm /etc/systemd/system/tier-activate@.service
	dmsetup remove --retry tt_top
	dmsetup remove --retry tt_middle
	ctl deactivate -q "$set"
	same "$(superblock uuid)" "$(<"$tmp/chosen")"
}
test_case "an initramfs has the set of the root file system, and where udev starts nothing, only that" in_initramfs

# A dump of the active set
dumped()
{
	made
	write_chunks 0 5 1
	io sync "$dev"
	ctl dump "$set" -o "$tmp/backup"
	crash
	machine "$other"
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 restore "$tmp/backup" "$meta" --yes
	one_line "machine $one activated it"
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 repair --label 0 "$fast" "$set" --yes
	ctl_code 0 restore "$tmp/backup" "$meta" --yes --force
	ctl_code 0 activate "$set"
	check_chunks 0 5 1
}
test_case "a set of another machine is not restored over; a restored one is nobody's" dumped

messages()
{
	local wrong
	made
	for wrong in "owner" "owner $one" "owner $one ${one}0" "owner ${one%1} $one" "owner ${one%1}g $one"; do
		# shellcheck disable=SC2086	# several words
		fails msg $wrong
	done
	msg owner "$other" "$one"
	ctl deactivate -q "$set"
	same "$other" "$(owner_of machine)"
	same "$one" "$(owner_of boot)"
}
test_case "the message" messages

mirrored()
{
	machine "$one"
	disk fast 32
	disk slow 64
	ctl create "$set" -q -c 64k --policy static "$fast" "$slow"
	write_chunks 0 5 1
	io sync "$dev"
	for disk in "$fast" "$slow"; do
		dd if="$disk" of="$tmp/${disk##*_}" bs=1M iflag=direct status=none
	done
	ctl deactivate -q "$set"
	for disk in "$fast" "$slow"; do
		dd if="$tmp/${disk##*_}" of="$disk" bs=1M oflag=direct status=none
	done
	machine "$other"
	unchanged "$fast" "$slow" -- ctl_code 1 activate "$set"
	one_line "machine $one activated it"
	echo nothing >"$tmp/dump"
	unchanged "$fast" "$slow" -- ctl_code 1 restore "$tmp/dump" "$set" --yes
	one_line "machine $one activated it"
	ctl_code 0 activate --take-over "$set"
	check_chunks 0 5 1
	in_order
}
test_case "metadata on the tiers" mirrored

run_tests
