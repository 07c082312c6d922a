#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it holds a manual page to what is typed
# udev
# timeout=900
# long
#
# The tutorial, lvmtier-tutorial(7): a logical volume of 64 GiB with an ext4 becomes a tiered
# volume, is looked at, changed, and becomes a plain volume again. Its contents are compared
# after each step. With TRANSCRIPT=FILE the commands and answers are left there.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-convert.sh
. "$(dirname "$0")/lib-convert.sh"
need mkfs.ext4 fsck.ext4

transcript=$tmp/transcript

# typed WORD...: runs a command as a user would type it; command and answer go into the transcript
typed()
{
	local rc=0 said
	echo "# $*" >>"$transcript"
	said=$(PATH=$(dirname "$tierctl"):$PATH "$@" 2>&1 </dev/null) || rc=$?
	[ -z "$said" ] || printf '%s\n' "$said" >>"$transcript"
	output=$said
	[ "$rc" = "${want:-0}" ] || fail "$*: exit status $rc: $said"
}

same_contents()
{
	(cd "$mount" && md5sum -c --quiet "$tmp/sums") || fail "contents differ after: $1"
}

first_hour()
{
	local slow nvme0 nvme1 mount=$tmp/srv start
	# Sparse: only written data takes memory.
	make_loops $((80 << 10)) $((250 << 10)) $((450 << 10))
	slow=${loops[0]} nvme0=${loops[1]} nvme1=${loops[2]}
	vgcreate -q -y "$vg" "$slow" >/dev/null
	lv data 64g "$vg"
	mkfs.ext4 -q -i 1048576 -E lazy_itable_init=1 "$origin"
	mkdir "$mount"
	echo "$origin $mount ext4 noinit_itable 0 2" >>/etc/fstab
	mount "$mount"
	mkdir "$mount/postgresql" "$mount/iso"
	cp -r /usr/share/doc/lvm2 "$mount/doc"
	dd if=/dev/urandom of="$mount/postgresql/base" bs=1M count=24 status=none
	dd if=/dev/urandom of="$mount/iso/debian.iso" bs=1M count=32 status=none
	(cd "$mount" && find . -type f -exec md5sum {} +) >"$tmp/sums"
	: >"$transcript"

	typed vgextend "$vg" "$nvme0"
	typed umount "$mount"
	typed tierctl convert "$vg/data" --fast-size 200g --fast-pv "$nvme0" --dry-run
	start=$SECONDS
	typed tierctl convert -y "$vg/data" --fast-size 200g --fast-pv "$nvme0"
	note "convert took $((SECONDS - start)) s"
	is "SECONDS - start < 10 * patience"
	# Uses the line of fstab.
	typed mount "$mount"
	same_contents convert
	typed tierctl status "$vg/data"
	typed tierctl top --once "$vg/data"
	typed tierctl heatmap "$vg/data"
	typed tierctl pin --tier 0 "$mount/postgresql"
	typed tierctl wait "$vg/data"
	typed tierctl explain "$mount/postgresql/base"
	typed tierctl explain "$mount/iso/debian.iso"
	same_contents pin
	typed tierctl set "$vg/data" migration_bandwidth=64m
	typed tierctl pause "$vg/data"
	typed tierctl resume "$vg/data"
	typed vgextend "$vg" "$nvme1"
	typed tierctl add "$vg/data" --size 400g --pv "$nvme1" --at 0
	matches "tier 0  $vg/data_tvol1 " "$output"
	same_contents add
	typed tierctl remove "$vg/data" "$vg/data_tvol0"
	same_contents remove
	typed tierctl status "$vg/data"
	typed tierctl revert -y "$vg/data"
	same_contents revert
	typed lvs "$vg"
	same "data" "$(lvs --noheadings -o lv_name "$vg" | tr -d ' ')" "volumes"
	same "linear" "$(lvs --noheadings -o segtype "$vg/data" | tr -d ' ')" "kind of volume"
	umount "$mount"
	fsck.ext4 -fn "$origin" >"$tmp/fsck" 2>&1 || fail "fsck: $(<"$tmp/fsck")"
	mount "$mount"
	same_contents "all of it"
	umount "$mount"
	# With names as on real disks.
	sed -i "s#$nvme0#/dev/nvme0n1#g; s#$nvme1#/dev/nvme1n1#g; s#$slow#/dev/sda#g
		s#$vg#vg#g; s#$tmp##g" "$transcript"
	[ -z "${TRANSCRIPT:-}" ] || cp "$transcript" "$TRANSCRIPT"
	same "$(sed -n 's/\\-/-/g; s/^# //p' "$here/../../man/lvmtier-tutorial.7")" \
		"$(sed -n 's/^# //p' "$transcript")" "commands of the page"
}
test_case "the first hour" first_hour

run_tests
