#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=300
#
# The examples of the manual pages do what they say: each is typed at a terminal,
# with the devices and files it speaks of.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
need script

man=$here/../../man
bin=$tmp/bin
mkdir "$bin"
ln -s "$(realpath "$tierctl")" "$bin/tierctl"
printf '#!/bin/sh\ncat >/dev/null\n' >"$bin/mail"
chmod +x "$bin/mail"
export PATH=$bin:$PATH

# examples PAGE: the commands in it, one a line
examples()
{
	sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$man/$1" |
		sed -n 's/\\f[BRI]//g; s/\\-/-/g; s/^\.B //; /^\(tierctl\|mkfs\|mount\|umount\) /p'
}

# The machine of the examples: /dev/md0, /dev/nvme0n1, /dev/sdb and so on, and the
# volume group vg.  Disks take memory for what is written alone.
machine()
{
	local name
	disk meta 64
	disk fast 1500
	disk slow 12000
	disk third 200
	disk spare 8
	for name in md0=meta nvme0n1=fast sdb=slow sdd=third sdc=spare; do
		ln -sf "/dev/tt_${name#*=}" "/dev/${name%=*}"
	done
}

photos() { ctl create -q photos -m /dev/md0 "$@" /dev/nvme0n1 /dev/sdb; }

# What most examples speak of.
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

small_photos()
{
	machine
	photos --size 500m
	dd if=/dev/urandom of=/dev/mapper/photos bs=1M count=8 oflag=direct status=none
}

stage_default() { mounted_photos; }
stage_create() { machine; }
# $1: the example that comes next
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
stage_deactivate() { machine; photos; }
between_deactivate() { ctl activate -q -a; }
stage_destroy()
{
	machine
	photos
	ctl create -q old -m /dev/sdc /dev/sdd
	ctl deactivate -q old
	disk_gone spare
}
stage_evacuate() { small_photos; }
stage_admit() { small_photos; ctl evacuate -q photos 1; }
stage_wait() { small_photos; }
between_wait() { ctl evacuate -q --background photos 1; }
stage_unpin() { mounted_photos; ctl pin -q --tier 0 /srv/postgresql; }

# A create needs its devices as logical volumes in one example and as they are in the other.
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
	mountpoint -q /srv && umount /srv
	for name in photos old vg-meta vg-fast vg-slow; do
		[ ! -e "/dev/mapper/$name" ] || dmsetup remove --retry "$name" || return 1
	done
	rm -f /dev/md0 /dev/nvme0n1 /dev/sd[bcd]
}

# Typed at a terminal, where somebody says yes.
typed()
{
	local rc=0
	[[ $1 != *' vg/'* ]] || as_volumes
	printf 'y\n' | TERM=xterm timeout 100 script -qec "stty cols 100; $1" /dev/null >"$tmp/typed" 2>&1 || rc=$?
	[[ $1 != *' vg/'* ]] || dmsetup remove --retry vg-meta vg-fast vg-slow
	echo "\$ $1"
	cat "$tmp/typed"
	[ "$rc" = 0 ] || fail "$1: exit status $rc"
	! grep -q '^tierctl: .*Try: ' "$tmp/typed" || fail "$1: usage"
}

page()
{
	local name=$1 what n=0
	what=${name#tierctl-}
	what=${what%.8}
	mountpoint -q /srv && skip "something is mounted on /srv"
	trap 'take_down || exit 1' EXIT
	if [ "$(type -t "stage_$what")" = function ]; then "stage_$what"; else stage_default; fi
	examples "$name" >"$tmp/examples"
	while read -r -u 9 line; do
		[ "$n" = 0 ] || [ "$(type -t "between_$what")" != function ] || "between_$what" "$line"
		typed "$line"
		n=$((n + 1))
	done 9<"$tmp/examples"
	is "$n > 0"
	trap - EXIT
	take_down
}

for file in "$man"/tierctl*.8; do
	test_case "${file##*/}" page "${file##*/}"
done

run_tests
