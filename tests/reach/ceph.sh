#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
# long
# timeout=1200
# packages: ceph=ceph-mon,ceph-osd,ceph-common
#
# Tiers on images of Ceph's RBD, mapped by the kernel. A monitor and one OSD, which keeps its objects
# in memory, are the whole cluster.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=../functional/lib-tierctl.sh
. "$here/lib-tierctl.sh"
# shellcheck source=lib-reach.sh
. "$(dirname "$0")/lib-reach.sh"

tree=$here/../../build/packages/ceph/usr
[ -d "$tree" ] || skip_all "ci/setup/unpacked ceph=... was not called"
modprobe rbd 2>/dev/null || skip_all "there is no rbd"
libs=$(echo "$tree"/lib/*-linux-gnu)
place=$(mktemp -d /run/dm-tier-ceph.XXXXXX)
export CEPH_CONF=$place/conf
daemons=()

# of_ceph PROGRAM...: where time is emulated, a command of Ceph takes up to a minute beside the
# work that `survives` does
of_ceph()
{
	LD_LIBRARY_PATH=$libs:$libs/ceph PYTHONPATH=$tree/lib/python3/dist-packages \
		timeout $((60 * patience)) "$tree/bin/$1" "${@:2}" >>"$place/said.log" 2>&1 ||
		fail "$* failed: $(tail -n 5 "$place"/*.log)"
}

# daemon mon|osd ID. Without --no-mon-config an OSD begins with the monitor's address alone. What it
# asks before it knows the cluster's id is refused, and the OSD ends.
daemon()
{
	LD_LIBRARY_PATH=$libs:$libs/ceph "$tree/bin/ceph-$1" -i "$2" -f --no-mon-config >"$place/$1.log" 2>&1 &
	daemons+=($!)
}

# The settings that Ceph would not need elsewhere:
#
# - crush location: a guest's name, (none), is no place for an OSD.
# - read lease: an OSD answers as long as it has a lease, of 16 s. A replica would acknowledge the
#   next one. Here there is none: requests that an OSD without a lease finds when it wakes up
#   may wait forever ("waiting for readable"), so its lease of 200 s has to outlast the cases.
# - nearfull, backfillfull: Ceph takes no full ratio below these for true.
cluster_up()
{
	local id=6b1d7a3e-5d5c-4a7e-9d6f-0a1b2c3d4e5f uuid
	ip link set lo up
	mkdir "$place"/{data-mon,data-osd}
	cat >"$CEPH_CONF" <<-END
		[global]
		fsid = $id
		monmap = $place/monmap
		run dir = $place
		mon data = $place/data-mon
		osd data = $place/data-osd
		osd class dir = $libs/rados-classes
		plugin dir = $libs/ceph
		erasure code dir = $libs/ceph/erasure-code
		auth cluster required = none
		auth service required = none
		auth client required = none
		osd objectstore = memstore
		memstore device bytes = 536870912
		osd pool default size = 1
		osd pool default min size = 1
		mon allow pool size one = true
		osd crush chooseleaf type = 0
		crush location = root=default host=here
		osd pool default read lease ratio = 10
		mon osd nearfull ratio = 0.001
		mon osd backfillfull ratio = 0.001
	END
	of_ceph monmaptool --create --addv a '[v1:127.0.0.1:6789]' --fsid $id "$place/monmap"
	of_ceph ceph-mon -i a --mkfs --monmap "$place/monmap"
	daemon mon a
	uuid=$(</proc/sys/kernel/random/uuid)
	of_ceph ceph osd new "$uuid" 0
	of_ceph ceph-osd -i 0 --mkfs --osd-uuid "$uuid"
	daemon osd 0
	of_ceph ceph osd pool create rbd 8 8
}

# An image as large as STORE, which is not used; for each case another one.
serve() { of_ceph rbd create "$BASHPID-$1" --size $(($(sectors_of "$2") >> 11)); }
# attach N [noshare]: the images share one client of the cluster, unless one wants its own
attach()
{
	local had
	had=$(echo /dev/rbd*)
	of_ceph rbd map "$BASHPID-$1" -o "noudev${2:+,$2}"
	for attached in /dev/rbd*; do [[ " $had " = *" $attached "* ]] || return 0; done
	fail "there is no new device"
}
hang_up() { kill -STOP "${daemons[1]}"; }
answer() { kill -CONT "${daemons[1]}"; }
end_all()
{
	local dir
	for dir in /sys/bus/rbd/devices/*; do
		[ ! -e "$dir" ] || echo "${dir##*/} force" >/sys/bus/rbd/remove_single_major
	done
}

down()
{
	set +e
	end_all
	kill -9 "${daemons[@]}"
	wait "${daemons[@]}" 2>/dev/null
	rm -rf "$place"
	on_exit
}
trap down EXIT
cluster_up

# forgotten COMMAND...: takes so long (over 30 s) that the OSD drops the client as a watcher of its
# image
forgotten()
{
	"$@"
	wait_for 60 klog_has 'rbd[0-9]+: encountered watch error'
}
hung()
{
	hang_up
	nap 40
	no_attention
	answer
}
test_case "an OSD does not answer for 40 s" happens "OSD hung" forgotten hung
test_case "the link stalls for 40 s" happens "link stalled" forgotten stalls 40

# full: the pool counts as full as soon as its OSD has told the monitor
full()
{
	of_ceph ceph osd set-full-ratio 0.002
	wait_for 60 no_writes
	# Reads are answered.
	dd if="$dev" of=/dev/null bs=64k skip=200 count=80 iflag=direct status=none
	no_writes || fail "something was written"
	no_attention
	of_ceph ceph health detail
	of_ceph ceph osd set-full-ratio 0.95
}
written() { echo "$(stat_of "$far0" 4) $(stat_of "$far2" 4)"; }
no_writes()
{
	local before
	before=$(written)
	nap 5
	[ "$before" = "$(written)" ]
}
test_case "the cluster is full" happens "cluster full" full

blocklist() { of_ceph ceph osd blocklist add "$(<"/sys/bus/rbd/devices/${far0#/dev/rbd}/client_addr")"; }
new_client() { for n in 0 2; do attach "$n" noshare; done; }
blocklisted()
{
	renamed blocklist new_client
	for n in "$far0" "$far2"; do of_ceph rbd unmap "$n" -o noudev; done
}
test_case "a client is on the blocklist: another one is mapped" blocklisted

run_tests
