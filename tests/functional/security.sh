#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at what the tools leave
# long
#
# What SECURITY.md says of the user nobody.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
need setpriv python3

nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

create_set()
{
	make_disks
	ctl create "$set" -q -m "$meta" -c 64k --policy static "$fast" "$slow"
	write_chunks 0 10 1
}

# closed FILE: nobody can neither read nor write it, and root can
closed()
{
	[ -e "$1" ] || fail "$1: is not there"
	nobody test ! -r "$1" -a ! -w "$1" || fail "$1: nobody can open it: $(stat -L -c '%A %U:%G' "$1")"
	[ -r "$1" ] || fail "$1: root cannot open it"
}

nodes()
{
	local node
	create_set
	nobody test -r /proc/self/status
	for node in "$dev" "$(realpath "$dev")" "$meta" "$fast" "$slow" /dev/mapper/control; do
		closed "$node"
	done
	fails nobody dd if="$dev" of=/dev/null bs=512 count=1
	fails nobody dmsetup status "$set"
	fails nobody dmsetup message "$set" 0 pause
	fails nobody dmsetup table "$set"
	same running "$(info running)"
}
test_case "device nodes" nodes

# A process that root has handed the control node: the kernel refuses all but the version.
handed()
{
	create_set
	python3 - "$set" <<'END'
import errno, fcntl, os, struct, sys

fd = os.open("/dev/mapper/control", os.O_RDWR)

def ioctl(number, data=b""):
    size = 312 + len(data)
    head = struct.pack("<3IIIIiII4xQ128s129s7x", 4, 0, 0, size + 64, 312, 0, 0, 0, 0, 0, sys.argv[1].encode(), b"")
    assert len(head) == 312, len(head)
    buffer = bytearray(head + data + bytes(64))
    fcntl.ioctl(fd, 3 << 30 | 312 << 16 | 0xfd << 8 | number, buffer)
    return buffer

# DM_DEV_STATUS, DM_TABLE_STATUS, DM_TARGET_MSG, DM_DEV_SUSPEND, DM_DEV_REMOVE, DM_LIST_DEVICES
calls = {7: b"", 12: b"", 14: struct.pack("<Q", 0) + b"pause\0", 6: b"", 4: b"", 2: b""}
ioctl(7)
ioctl(12)
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
for number, data in calls.items():
    try:
        ioctl(number, data)
    except OSError as e:
        assert e.errno in (errno.EACCES, errno.EPERM), (number, e)
    else:
        sys.exit(f"ioctl {number} was allowed")
END
	same running "$(info running)"
	check_chunks 0 10 1
}
test_case "a control node that was handed over" handed

tools()
{
	local tool bin rc
	create_set
	bin=$(dirname "$(realpath "$tierctl")")
	for tool in tierctl tier_id tier_check tier_dump tier_restore tier_repair tier_metadata_size; do
		same "" "$(find "$bin/$tool" -perm /6000)" "a tool that is setuid"
	done
	for command in status list "pause $set" metrics "backup --dir $tmp/none" "dump $set" "activate --auto"; do
		rc=0
		# shellcheck disable=SC2086	# words of a command
		nobody "$tierctl" $command </dev/null >"$tmp/said" 2>&1 || rc=$?
		same "1 1" "$rc $(wc -l <"$tmp/said")" "status and lines of $command ($(<"$tmp/said"))"
		matches 'only root' "$(<"$tmp/said")"
	done
	nobody "$tierctl" --help >/dev/null
	fails nobody "$bin/tier_dump" -m "$meta"
	same running "$(info running)"
}
test_case "the tools" tools

# dm-tier adds no file of its own, and nobody can write to those that there are.
in_sysfs()
{
	create_set
	same "" "$(nobody find "$(block_of "$dev")/" /sys/module/dm_tier /sys/module/dm_tier_heat -not -type l -writable 2>/dev/null)" \
		"files that nobody can write"
	[ ! -e /sys/module/dm_tier/parameters ] || fail "the module has parameters: $(ls /sys/module/dm_tier/parameters)"
	same "$set" "$(nobody cat "$(block_of "$dev")/dm/name")" "the name, which all can read"
	same "" "$(find /proc -maxdepth 1 -iname '*tier*')" "files in /proc"
}
test_case "sysfs" in_sysfs

tracepoints()
{
	create_set
	mountpoint -q "$tracing" || mount -t tracefs tracefs "$tracing"
	[ -e "$tracing/events/dm_tier/dm_tier_mode/enable" ] || fail "there is no tracepoint"
	fails nobody ls "$tracing/events"
	fails nobody cat "$tracing/events/dm_tier/dm_tier_mode/enable"
	fails nobody cat "$tracing/trace"
}
test_case "tracepoints" tracepoints

files()
{
	local file
	# Other tests make locks of their own there.
	rm -rf /run/dm-tier
	create_set
	mkdir -m 755 "$tmp/state"
	chmod 755 "$tmp"
	ctl backup -q --dir "$tmp/state/backup"
	file=$(echo "$tmp"/state/backup/*/*.xml)
	closed "$file"
	fails nobody ls "$(dirname "$file")"
	ctl pause -q "$set"
	same 'root 755' "$(stat -c '%U %a' /run/dm-tier)" "the folder of locks"
	for file in /run/dm-tier/*; do
		closed "$file"
	done
	ctl metrics -q -o "$tmp/state/tierctl.prom"
	nobody test -r "$tmp/state/tierctl.prom" -a ! -w "$tmp/state/tierctl.prom"
}
test_case "locks, dumps and metrics" files

# A user has the root directory of a file system, as on a disk for one user.
pins()
{
	create_set
	mkfs.ext4 -q -b 1024 "$dev"
	mkdir "$tmp/mnt"
	chmod 755 "$tmp"
	mount "$dev" "$tmp/mnt"
	chown 65534 "$tmp/mnt"
	nobody dd if=/dev/zero of="$tmp/mnt/data" bs=64k count=4 status=none
	sync -f "$tmp/mnt"
	ctl pin -q --tier 1 "$tmp/mnt/data"
	[ -s "$tmp/mnt/.tierctl-pins" ]
	cp "$tmp/mnt/.tierctl-pins" "$tmp/pins"
	# Not root's any more, though nothing in it has changed
	rm "$tmp/mnt/.tierctl-pins"
	nobody cp "$tmp/pins" "$tmp/mnt/.tierctl-pins" 2>/dev/null || nobody tee "$tmp/mnt/.tierctl-pins" <"$tmp/pins" >/dev/null
	same 65534 "$(stat -c %u "$tmp/mnt/.tierctl-pins")"
	fails ctl pin --refresh "$set"
	# A pipe would hold up who opens it.
	nobody rm -f "$tmp/mnt/.tierctl-pins"
	nobody mkfifo "$tmp/mnt/.tierctl-pins"
	rc=0
	timeout 30 "$tierctl" pin --refresh "$set" </dev/null >/dev/null 2>&1 || rc=$?
	[ "$rc" != 124 ] || fail "a pipe holds tierctl up"
	umount "$tmp/mnt"
}
test_case "pins that a user wrote" pins

run_tests
