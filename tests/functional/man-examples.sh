#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at the manual pages
# udev
# timeout=400
# long
#
# The examples in the manual pages work: each is run, page by page, in order, on a set of its
# own.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"

pages=$here/../../man
[ -d "$pages" ] || skip_all "the manual pages are not here"
need lvm losetup script

# examples PAGE: prints its commands, a line each
examples()
{
	sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$pages/$1.8" |
		sed -n 's/\\f[BRI]//g; s/\\-/-/g; /^\(tierctl\|mkfs\.[a-z0-9]*\|mount\|umount\) /p'
}

# Replaces names of the pages by names of this machine.
on_this_machine()
{
	sed -e "s#photos#$set#g; s#pictures#tt_other#g; s#/dev/nvme0n1#$fast#g; s#/dev/nvme1n1#$third#g" \
	    -e "s#/dev/sdb#$slow#g; s#/dev/sdc#$spare#g; s#/dev/sdd#${pv:-}#g" \
	    -e "s#0-1023#0-223#g; s#10g#10m#g; s#500m#2m#g"
}

tierctl() { ctl "$@"; }

run_page()
{
	local line n=0
	make_disks
	disk third 16
	disk spare 8
	if [ "$1" = add ]; then
		modprobe loop
		truncate -s 32M "$tmp/pv"
		pv=$(losetup -f --show "$tmp/pv")
		# The volume is a dm device of ours; the loop device below is removed after it.
		trap 'rc=$?; trap - ERR; set +e; clean || rc=1; losetup -d "$pv"; exit $rc' EXIT
		vgcreate -q -y -s 1m tt_vg "$pv" >/dev/null
	fi
	ctl create "$set" -q -m "$meta" -c 64k -L 14m --policy static "$fast" "$slow"
	write_chunks 0 60 1
	[ "$1" != wait ] || ctl evacuate -q --background "$set" 1
	while read -r line; do
		n=$((n + 1))
		line=$(on_this_machine <<<"$line")
		echo "+ $line"
		eval "$line"
	done < <(examples "tierctl-$1")
	is "n > 0"
	check_chunks 0 60 1
}

# ---- examples with files, or that make and destroy the set: typed at a terminal, with
# ---- devices and files named as in the pages

bin=$tmp/bin
mkdir "$bin"
ln -s "$(realpath "$tierctl")" "$bin/tierctl"
printf '#!/bin/sh\ncat >/dev/null\n' >"$bin/mail"
chmod +x "$bin/mail"

# The machine of the examples: /dev/md0, /dev/nvme0n1, /dev/sdb and so on, and the volume group
# vg. Disks take memory only for written data.
machine()
{
	local name
	disk meta 64
	disk meta2 64
	disk fast 1500
	disk slow 12000
	disk third 200
	disk spare 8
	for name in md0=meta md1=meta2 nvme0n1=fast sdb=slow sdd=third sdc=spare; do
		ln -sf "/dev/tt_${name#*=}" "/dev/${name%=*}"
	done
}

photos() { ctl create -q photos -m /dev/md0 /dev/nvme0n1 /dev/sdb; }

# The set that most examples use.
mounted_photos()
{
	machine
	photos
	mkfs.ext4 -q -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 /dev/mapper/photos
	mount /dev/mapper/photos /srv
	mkdir /srv/postgresql /srv/iso
	head -c 3m /dev/urandom >/srv/postgresql/base
	head -c 5m /dev/urandom >/srv/iso/debian.iso
	sync -f /srv
}

stage_default() { mounted_photos; }
stage_create() { machine; }
# $1: the next example
between_create()
{
	case $1 in
	*' vg/'*) ctl destroy -q -y photos ;;
	*/dev/mapper/photos*) [ -e /dev/mapper/photos ] || photos ;;
	esac
}
stage_tierctl() { machine; }
stage_activate() { machine; photos; ctl deactivate -q photos; }
between_activate() { ctl deactivate -q photos; }
# A fake systemctl agrees to everything.
stage_schedule()
{
	machine
	photos
	mkdir -p /run/systemd /etc/systemd/system
	! mkdir /run/systemd/system 2>/dev/null || made_systemd=1
	printf '#!/bin/sh\n' >"$bin/systemctl"
	chmod +x "$bin/systemctl"
}
stage_deactivate() { mounted_photos; }
stage_destroy()
{
	machine
	photos
	ctl create -q old -m /dev/sdc /dev/sdd
	ctl deactivate -q old
	disk_gone spare
}
stage_check() { machine; photos; }
stage_dump() { machine; photos; }
stage_restore()
{
	machine
	photos
	ctl deactivate -q photos
	ctl dump -q -o "$tmp/photos.xml" photos
	disk_gone meta
}
stage_repair() { machine; photos; ctl deactivate -q photos; }
stage_unpin() { mounted_photos; ctl pin -q --tier 0 /srv/postgresql; }

# A volume group with a volume on the slow disk
with_volume()
{
	machine
	# LVM does not know null_blk.
	mkdir -p "$tmp/lvm"
	echo 'devices { types = [ "nullb", 16 ] }' >"$tmp/lvm/lvm.conf"
	export LVM_SYSTEM_DIR=$tmp/lvm LVM_SUPPRESS_FD_WARNINGS=1
	vgcreate -q -y vg /dev/tt_slow /dev/tt_fast >/dev/null
	lvcreate -q -y -n data -L 1g vg /dev/tt_slow >/dev/null
	mkfs.ext4 -q -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 /dev/mapper/vg-data
}
stage_convert() { with_volume; }
stage_revert() { with_volume; ctl convert -q vg/data --fast-size 100m --fast-pv /dev/tt_fast; }

# One example of create needs logical volumes, the other needs plain devices.
as_volumes()
{
	local name
	for name in meta fast slow; do
		[ -e "/dev/mapper/vg-$name" ] ||
			dmsetup create "vg-$name" --table "0 $(sectors_of "/dev/tt_$name") linear /dev/tt_$name 0"
	done
}

take_down()
{
	local name
	# Anything else on /srv was mounted there before.
	if grep -q '^/dev/mapper/photos /srv ' /proc/mounts; then umount /srv; fi
	dmsetup remove --retry vg-data_trevert 2>/dev/null || true
	case $(dmsetup info -c --noheadings -o uuid vg-data 2>/dev/null) in
	TIER-*) dmsetup remove --retry vg-data ;;
	esac
	[ ! -e /dev/mapper/photos ] || dmsetup remove --retry photos || return 1
	[[ $(vgs --noheadings -o vg_name 2>/dev/null) != *" vg"* ]] || vgremove -q -f -y vg >/dev/null || return 1
	for name in photos old vg-meta vg-fast vg-slow; do
		[ ! -e "/dev/mapper/$name" ] || dmsetup remove --retry "$name" || return 1
	done
	rm -f /dev/md[01] /dev/nvme0n1 /dev/sd[bcd]
	# Other tests check whether systemd runs.
	[ -z "${made_systemd:-}" ] || rmdir /run/systemd/system
}

# typed COMMAND: types the command at a terminal and answers yes.
typed()
{
	local rc=0
	[[ $what-$1 != create-*' vg/'* ]] || as_volumes
	printf 'y\n' | TERM=xterm PATH=$bin:$PATH timeout 100 script -qec "stty cols 100; $1" /dev/null >"$tmp/typed" 2>&1 || rc=$?
	[[ $what-$1 != create-*' vg/'* ]] || dmsetup remove --retry vg-meta vg-fast vg-slow
	echo "\$ $1"
	cat "$tmp/typed"
	[ "$rc" = 0 ] || fail "$1: exit status $rc"
	! grep -q '^tierctl: .*Try: ' "$tmp/typed" || fail "$1: usage"
}

typed_page()
{
	local what=${1#tierctl-} n=0
	trap 'take_down || exit 1' EXIT
	if [ "$(type -t "stage_$what")" = function ]; then "stage_$what"; else stage_default; fi
	examples "$1" | sed "s#/root/#$tmp/#g; s#/mnt/usb#$tmp/usb#; s#200g#100m#" >"$tmp/examples"
	while read -r -u 9 line; do
		[ "$n" = 0 ] || [ "$(type -t "between_$what")" != function ] || "between_$what" "$line"
		typed "$line"
		n=$((n + 1))
	done 9<"$tmp/examples"
	is "$n > 0"
	trap - EXIT
	take_down
}

on_a_set='add admit evacuate get list pause remove rename replace resize resume scan set status wait'
for page in $on_a_set; do
	test_case "examples of tierctl-$page(8)" run_page "$page"
done
for file in "$pages"/tierctl*.8; do
	page=$(basename "$file" .8)
	[[ " $on_a_set " == *" ${page#tierctl-} "* ]] ||
		test_case "examples of $page(8)" typed_page "$page"
done

run_tests
