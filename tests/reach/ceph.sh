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
daemons=() name=$(hostname)
# The file's end
down()
{
	local dir
	set +e
	for dir in /sys/bus/rbd/devices/*; do
		[ ! -e "$dir" ] || echo "${dir##*/} force" >/sys/bus/rbd/remove_single_major
	done
	kill -CONT "${daemons[@]}" 2>/dev/null
	kill -9 "${daemons[@]}" 2>/dev/null
	wait "${daemons[@]}" 2>/dev/null
	tc qdisc del dev lo root 2>/dev/null
	hostname "$name"
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
	# A name that a bucket of CRUSH may have.
	hostname ceph
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
	# Every device is of one major number, as the module's default is.
	echo "127.0.0.1:6789 name=admin rbd slow" >/sys/bus/rbd/add_single_major
	number=$(basename /sys/bus/rbd/devices/*)
	slow=/dev/rbd$number
	wait_for 10 test -b "$slow"
}
unmap() { echo "$number force" >/sys/bus/rbd/remove_single_major; }

# undo: at the end of each case, however it ends
undo()
{
	set +eE
	trap - ERR
	kill -CONT "${daemons[1]}"
	tc qdisc del dev lo root 2>/dev/null
	ceph_says osd unset full >/dev/null
	[ ! -e "$dev" ] || remove "$set"
	[ ! -e "/sys/bus/rbd/devices/$number" ] || unmap
}

# made: chunks 0 to 39 on the near tier, 40 to 99 in Ceph
made()
{
	trap undo EXIT
	disk meta 4
	disk fast 16
	map_image
	tiers=("$fast" "$slow")
	core=(migration_bandwidth 0)
	activate
	write_chunks 0 100 1 block=1m
	move 0 40 0
	move 40 60 1
	io sync "$dev"
}
near() { write_chunks 0 40 2 block=1m && check_chunks 0 40 2; }
# waits_for WHAT UNDO...: reads, a write and moves of what lies in Ceph end once UNDO was called
waits_for()
{
	local what=$1 start far pid pids
	shift
	far=$EPOCHREALTIME
	background write_chunks 40 1 3
	pids=("$last_pid")
	background check_chunks 41 1 1
	pids+=("$last_pid")
	msg migrate 60 20 0
	msg migrate 20 10 1
	start=$EPOCHREALTIME
	near
	note "$what: the near tier was written and read in $(since "$start") s"
	nap 25
	same 20 "$(on_rank 60 20 1)" "chunks that wait to come"
	"$@"
	start=$EPOCHREALTIME
	for pid in "${pids[@]}"; do wait "$pid"; done
	wait_for 60 all_on_rank 60 20 0
	wait_for 60 all_on_rank 20 10 1
	note "$what for $(since "$far") s; after it all was done in $(since "$start") s," \
		"$(info failed) moves failed"
	status
	same 00 "${S[errors0]}${S[errors1]}" "errors of the tiers"
	check_chunks 0 40 2
	check_chunks 40 1 3
	check_chunks 41 59 1
}

stalled()
{
	made
	kill -STOP "${daemons[1]}"
	waits_for "the OSD hung" kill -CONT "${daemons[1]}"
}
test_case "an OSD that does not answer" stalled

cut()
{
	made
	tc qdisc replace dev lo root netem limit 100000 loss 100%
	waits_for "no packet arrived" tc qdisc del dev lo root
}
test_case "the link is gone for so long that watchers are forgotten" cut

full()
{
	made
	ceph_says osd set full >/dev/null
	# Reads are answered.
	check_chunks 41 59 1
	background write_chunks 40 1 3
	near
	nap 5
	kill -0 "$last_pid" || fail "a write did not wait"
	ceph_says osd unset full >/dev/null
	wait "$last_pid"
	check_chunks 40 1 3
	note "writes wait while Ceph is full, and go on"
}
test_case "a cluster that is full" full

blocklisted()
{
	local client
	made
	client=$(<"/sys/bus/rbd/devices/$number/client_addr")
	ceph_says osd blocklist add "$client" >/dev/null
	wait_for 60 lost
	near
	io_fails 5 check_chunks 40 1 1
	note "a client on the blocklist gets errors; the state of its tier is $(info state1)"
	deactivate
	unmap
	ceph_says osd blocklist rm "$client" >/dev/null
	map_image
	tiers=("$fast" "$slow")
	activate
	msg admit 1
	check_chunks 0 40 2
	check_chunks 40 60 1
}
lost() { ! check_chunks 41 1 1 2>/dev/null; }
test_case "a client on the blocklist" blocklisted

run_tests
