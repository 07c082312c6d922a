#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# timeout=400
#
# dm-writecache above a set, by the commands of lvmtier(7), BURSTS OF RANDOM WRITES.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"

page=$here/../../man/lvmtier.7
[ -e "$page" ] || skip_all "the manual page is not here"
need lvm
modprobe dm-writecache 2>/dev/null || skip_all "there is no dm-writecache"

mkdir "$tmp/lvm"
echo 'devices { types = [ "nullb", 16 ] }' >"$tmp/lvm/lvm.conf"
export LVM_SYSTEM_DIR=$tmp/lvm LVM_SUPPRESS_FD_WARNINGS=1
vg=tt_staged
top=/dev/$vg/data
tierctl() { ctl "$@"; }

# recipe N: runs the Nth block of commands of the section, with names of this machine
recipe()
{
	local line n=0
	while read -r line; do
		n=$((n + 1))
		echo "+ $line"
		eval "$line"
	done < <(sed -n '/^\.SH BURSTS/,/^\.SH CHANGING/p' "$page" |
		 awk -v block="$1" '/^\.nf/ { n++; inside = 1; next } /^\./ { inside = 0 } inside && n == block' |
		 sed "s#\\\\-#-#g; s#/dev/mapper/photos#$dev#g; s#photos#$set#g; s#/dev/nvme0n1p2#$spare#g" |
		 sed "s#\<staged\>#$vg#g")
	is "n > 0"
}

# staged [OPTION OF DISKS]...
staged()
{
	disk meta 4 "$@"
	disk fast 16 "$@"
	disk slow 32 "$@"
	disk spare 16 "$@"
	ctl create -q "$set" -m "$meta" -c 64k "$fast" "$slow"
	ctl set -q "$set" tier0.landing=no
	recipe 1
	matches ' writecache ' "$(dmsetup table "$vg-data")"
}

apart()
{
	vgchange -q -an "$vg" >/dev/null
	ctl deactivate -q "$set"
}

there_and_back()
{
	local before
	staged
	before=$(info writes1)
	io write "$top" at=0 len=4m seed=1 block=4k
	io sync "$top"
	is "$(info writes1) - before < 4"
	recipe 2
	matches ' writecache ' "$(dmsetup table "$vg-data")"
	io check "$top" at=0 len=4m seed=1
	# Chunks move below, and another burst comes.
	background io write "$top" at=4m len=8m seed=1 block=4k
	ctl migrate -q "$set" 0-223 --tier 0
	ctl wait -q "$set"
	wait "$last_pid"
	recipe 3
	matches ' linear ' "$(dmsetup table "$vg-data")"
	io check "$top" at=0 len=12m seed=1
	same "$dev" "$(pvs --noheadings -o pv_name -S "vg_name=$vg" | tr -d ' ')" "physical volumes"
	apart
}
test_case "by the commands of lvmtier(7), there and back" there_and_back

# after_power_cut: all devices lose at once what was not flushed; then everything is activated anew
after_power_cut()
{
	local name
	cut_power "$meta" "$fast" "$slow" "$spare"
	sleep 1	# the write-back has ended with errors
	for _ in 1 2 3 4; do
		find_ours
		for name in "${ours[@]}"; do dmsetup remove "$name" 2>/dev/null || true; done
	done
	find_ours
	same 0 "${#ours[@]}" "devices left"
	ctl activate -q "$set"
	vgchange -q -ay "$vg" >/dev/null
}

# What was flushed is there, whether it lies in the stage, is being written back, or moves below.
#
# "cleaner" writes back like "flush", which would wait for ever: dm-writecache forgets to wake it
# when the copies have ended and the FLUSH after them fails, as it does when the power is cut.
power_cuts()
{
	staged cache_size=4
	io write "$top" at=0 len=4m seed=1 block=4k
	io sync "$top"
	after_power_cut
	io check "$top" at=0 len=4m seed=1

	io write "$top" at=4m len=4m seed=1 block=4k
	io sync "$top"
	dmsetup message "$vg-data" 0 cleaner
	wait_for 20 written_back
	after_power_cut
	io check "$top" at=0 len=8m seed=1

	io write "$top" at=2m len=4m seed=2 block=4k
	io sync "$top"
	ctl migrate -q "$set" 0-223 --tier 0
	dmsetup message "$vg-data" 0 cleaner
	wait_for 20 in_motion
	after_power_cut
	io check "$top" at=0 len=2m seed=1
	io check "$top" at=2m len=4m seed=2
	io check "$top" at=6m len=2m seed=1
	apart
}
written_back() { [ "$(info writes1)" -gt 64 ]; }
test_case "power cuts" power_cuts

# after_fsync BELOW [FLUSH]: $lost is how often a file is lost that was fsynced, on dm-writecache
# above BELOW, if all stops right then. With FLUSH the device is sent one after the fsync.
after_fsync()
{
	local n top=/dev/mapper/tt_top
	lost=0
	for n in 1 2 3; do
		# Nothing commits by itself while the state is copied.
		wrap top "0 131072 writecache s $1 $spare 4096 2 autocommit_time 3600000"
		mkfs.ext4 -q -J size=4 "$top"
		mount "$top" "$tmp/mnt"
		dmsetup message tt_top 0 flush	# the journal lies below, as it does after a while
		echo "$n" >"$tmp/mnt/file"
		sync "$tmp/mnt/file"
		[ -z "${2:-}" ] || sync "$top"
		dd if="$spare" of="$copy" bs=1M iflag=direct oflag=direct status=none
		umount "$tmp/mnt"
		remove tt_top

		wrap top "0 131072 writecache s $1 $copy 4096 0"
		mount "$top" "$tmp/mnt"
		[ "$(cat "$tmp/mnt/file" 2>/dev/null)" = "$n" ] || lost=$((lost + 1))
		umount "$tmp/mnt"
		remove tt_top
		dd if=/dev/zero of="$spare" bs=1M count=1 oflag=direct status=none
	done
}

# dm-writecache of 6.1 and 6.12 takes a write with FUA, with which fsync() ends, and does not commit
# its own metadata; that is told in lvmtier(7), and is so without a set, too.
fsyncs()
{
	local below
	disk meta 4
	disk fast 16
	disk slow 64
	disk plain 64
	disk spare 16
	disk copy 16
	copy=/dev/tt_copy
	mkdir -p "$tmp/mnt"
	ctl create -q "$set" -m "$meta" -c 64k "$fast" "$slow"
	for below in /dev/tt_plain "$dev"; do
		after_fsync "$below"
		note "above $below: $lost of 3 files lost after fsync()"
		after_fsync "$below" flush
		same 0 "$lost" "files lost after fsync() and a FLUSH"
	done
	ctl deactivate -q "$set"
}
test_case "what fsync() is worth, and a FLUSH after it" fsyncs

run_tests
