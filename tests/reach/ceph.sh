#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
# long
# timeout=1200
# packages: ceph=ceph-mon,ceph-osd,ceph-common
#
# An image of Ceph's RBD, mapped by the kernel, as the slow tier: a monitor and an OSD that keeps
# its objects in memory.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=lib-unpacked.sh
. "$(dirname "$0")/lib-unpacked.sh"

tree=$here/../../build/packages/ceph
[ -d "$tree" ] || skip_all "ceph is not unpacked: ci/setup/unpacked"
modprobe rbd 2>/dev/null || skip_all "there is no rbd"

place=$(mktemp -d /run/dm-tier-ceph.XXXXXX)
daemons=()
# The file's end
down()
{
	local dir
	for dir in /sys/bus/rbd/devices/*; do
		[ ! -e "$dir" ] || echo "${dir##*/} force" >/sys/bus/rbd/remove_single_major
	done
	kill -CONT "${daemons[@]}" 2>/dev/null
	kill -9 "${daemons[@]}" 2>/dev/null
	wait "${daemons[@]}" 2>/dev/null
	usr_without
	rm -rf "$place" /etc/ceph
	on_exit
}
trap down EXIT

# A command of Ceph is a program in Python: it takes seconds.
ceph_says() { timeout 120 ceph "$@" 2>>"$place/said"; }
osd_is_up() { ceph_says osd stat | grep -q ' 1 up'; }

cluster_up()
{
	local fsid=6b1d7a3e-5d5c-4a7e-9d6f-0a1b2c3d4e5f uuid
	usr_with "$tree"
	ip link set lo up
	mkdir -p /etc/ceph /dev/shm "$place"/{mon,osd}
	cat >/etc/ceph/ceph.conf <<-END
		[global]
		fsid = $fsid
		mon host = v1:127.0.0.1:6789
		run dir = $place
		auth cluster required = none
		auth service required = none
		auth client required = none
		osd pool default size = 1
		osd pool default min size = 1
		mon allow pool size one = true
		osd crush chooseleaf type = 0
		osd objectstore = memstore
		memstore device bytes = 536870912
		mon data = $place/mon
		osd data = $place/osd
	END
	monmaptool --create --addv a '[v1:127.0.0.1:6789]' --fsid $fsid "$place/monmap" >/dev/null
	ceph-mon -i a --mkfs --monmap "$place/monmap"
	ceph-mon -i a -f >"$place/mon.log" 2>&1 &
	daemons=($!)
	uuid=$(</proc/sys/kernel/random/uuid)
	wait_for 120 ceph_says osd new "$uuid" 0 >/dev/null
	ceph-osd -i 0 --mkfs --osd-uuid "$uuid" 2>>"$place/said"
	ceph-osd -i 0 -f >"$place/osd.log" 2>&1 &
	daemons+=($!)
	wait_for 180 osd_is_up
	ceph_says osd pool create rbd 8 8 >/dev/null
	timeout 120 rbd create rbd/slow --size 64 --image-feature layering,exclusive-lock
}
cluster_up || { cat "$place"/{said,mon.log,osd.log}; skip_all "Ceph does not start"; }

map_image()
{
	echo "127.0.0.1:6789 name=admin rbd slow" >/sys/bus/rbd/add_single_major
	slow=/dev/rbd$(basename "$(echo /sys/bus/rbd/devices/*)")
	wait_for 10 test -b "$slow"
}
note "a monitor and an OSD take $(ps -o rss= -p "$(IFS=,; echo "${daemons[*]}")" | awk '{ s += $1 } END { print int(s / 1024) }') MiB of memory"
map_image
ls -l /dev/rbd*
run_tests
