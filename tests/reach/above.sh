#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
# long
# timeout=600
# The initiator, when it lets go of a target:
# provokes: WQ_MEM_RECLAIM iscsi_ctrl_.* is flushing !WQ_MEM_RECLAIM pm:pm_runtime_work
# packages: open-iscsi libopeniscsiusr libisns0|libisns0t64 nfs-kernel-server nfs-common libnfsidmap1 libwrap0
#
# A set that other machines use: exported by iSCSI as a disk, and by NFS as a file system.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=../functional/lib-tierctl.sh
. "$here/lib-tierctl.sh"
# shellcheck source=lib-reach.sh
. "$(dirname "$0")/lib-reach.sh"
# shellcheck source=lib-iscsi.sh
. "$(dirname "$0")/lib-iscsi.sh"

# By iSCSI: writes, FLUSH and discard of the other machine reach the set as its own do.
by_iscsi()
{
	trap 'set +eE; trap - ERR; end_all' EXIT
	make_disks
	activate
	serve 0 "$dev"
	echo 1 >"$target/core/iblock_0/tt/attrib/emulate_tpu"
	echo 1 >"$target/core/iblock_0/tt/attrib/emulate_tpws"
	attach 0
	note "write cache of the exported disk: $(<"$(block_of "$attached")/queue/write_cache")"
	io write "$attached" at=0 len=8m seed=1
	io sync "$attached"
	same 128 "$(info mapped)" "chunks"
	check_chunks 0 128 1
	msg migrate 0 64 1
	io write "$attached" at=1m len=1m seed=2
	wait_for 30 all_on_rank 0 64 1
	io check "$attached" at=0 len=1m seed=1
	io check "$attached" at=1m len=1m seed=2
	blkdiscard -f -o 4m -l 2m "$attached"
	same 96 "$(info mapped)" "chunks after a discard"
	io write "$attached" at=4m len=1m seed=3
	io sync "$attached"
	ctl_code 1 deactivate "$set"
	one_line "close it first"
	note "$errors"
	# What was flushed there is there after a crash here.
	dd if="$meta" of="$tmp/image" bs=1M iflag=direct status=none
	end_all || true		# only one of its disks is there
	deactivate
	dd if="$tmp/image" of="$meta" bs=1M oflag=direct status=none
	activate
	io check "$dev" at=0 len=1m seed=1
	io check "$dev" at=1m len=1m seed=2
	io check "$dev" at=4m len=1m seed=3
	io check "$dev" at=5m len=1m seed=0
}
test_case "exported by iSCSI" by_iscsi

nfs=$packages/nfs-kernel-server/usr/sbin
end_nfs()
{
	set +eE
	trap - ERR
	mountpoint -q "$tmp/there" && umount "$tmp/there"
	"$nfs/exportfs" -ua
	"$nfs/rpc.nfsd" 0
	pkill -x rpc.mountd
	mountpoint -q "$tmp/here" && umount "$tmp/here"
}

by_nfs()
{
	local first before limit
	modprobe -a nfsd nfs nfsv4 2>/dev/null || skip "there is no nfsd"
	trap end_nfs EXIT
	LD_LIBRARY_PATH+=$(printf ':%s' "$packages"/{libnfsidmap1,libwrap0}/usr/lib/*-linux-gnu)
	make_disks
	activate
	mkfs.ext4 -q "$dev"
	mkdir -p "$tmp/here" "$tmp/there" /var/lib/nfs/v4recovery
	touch /var/lib/nfs/{etab,rmtab} /etc/exports
	mount "$dev" "$tmp/here"
	mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
	for limit in grace lease; do echo 10 >"/proc/fs/nfsd/nfsv4${limit}time"; done
	"$nfs/rpc.nfsd" -N 3 -V 4 2
	"$nfs/rpc.mountd" -N 2 -N 3
	"$nfs/exportfs" -o rw,no_root_squash,insecure,fsid=0 "127.0.0.1:$tmp/here"
	"$packages/nfs-common/sbin/mount.nfs" 127.0.0.1:/ "$tmp/there" -o vers=4.2
	dd if=/dev/urandom of="$tmp/there/file" bs=1M count=10 conv=fsync status=none
	first=$(md5sum <"$tmp/there/file")
	msg migrate 0 200 1
	dd if=/dev/urandom of="$tmp/there/other" bs=1M count=5 conv=fsync status=none
	wait_for 60 settled
	echo 3 >/proc/sys/vm/drop_caches
	same "$first" "$(md5sum <"$tmp/there/file")" "what the other machine reads"
	same "$first" "$(md5sum <"$tmp/here/file")" "what lies on the set"
	compared
	before=$(info mapped)
	rm "$tmp/there/other"
	umount "$tmp/there"
	# The server keeps what it served open for a moment.
	wait_for 60 trimmed "$before"
	note "$before chunks mapped, $(info mapped) after a file of 5 MiB was removed there, and fstrim here"
	ctl_code 1 deactivate "$set"
	note "$errors"
	"$nfs/exportfs" -ua
	wait_for 20 umount "$tmp/here"
	ctl_code 0 deactivate "$set"
}
trimmed()
{
	sync
	fstrim "$tmp/here"
	[ "$(info mapped)" -lt $(($1 - 70)) ]
}
test_case "exported by NFS" by_nfs

over() { rm -rf /var/lib/nfs/v4recovery; pkill -x iscsid; on_exit; }
trap over EXIT
run_tests
