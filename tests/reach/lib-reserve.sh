# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154	# used by the tests, assigned by lib.sh
#
# Reservations: two machines that see the same disks, by the transport that was sourced before, in
# which attach takes a machine's name, too. They are one here, with two initiators, ids, and nodes in
# /dev, of which only one's are there at a time. `over` is what the transport does at the end.

id=/etc/dm-tier/machine-id
[ ! -e "$id" ] || skip_all "$id is there already"
at_the_end() { rm -f "$id"; over; }
trap at_the_end EXIT
one=11111111111111111111111111111111
other=22222222222222222222222222222222

# shown WHO: their nodes are in /dev, nobody else's
declare -A disks=() numbers=()
shown=
shown()
{
	local who disk
	for who in one other; do
		for disk in ${disks[$who]-}; do
			[ -n "${numbers[$disk]-}" ] || numbers[$disk]=$(majmin "$disk")
			rm -f "$disk"
			[ "$who" != "$1" ] || mknod "$disk" b "${numbers[$disk]%:*}" "${numbers[$disk]#*:}"
		done
	done
	# Each has a /run of its own.
	if [ "$1" != "$shown" ]; then
		mkdir -p "$tmp/run-$1" "$tmp/run-$shown"
		mv /run/dm-tier/reserved-* "$tmp/run-$shown/" 2>/dev/null || true
		mv "$tmp/run-$1"/* /run/dm-tier/ 2>/dev/null || true
	fi
	shown=$1
	mkdir -p "${id%/*}"
	echo "${!1}" >"$id"
}

# shared: a set on three disks that both machines see, made and let go of by machine one
shared()
{
	local n size=(8 32 64)
	trap undo EXIT
	disks=() numbers=() shown=
	rm -rf /run/dm-tier/reserved-* "$tmp"/run-*
	for n in 0 1 2; do
		far_disk "$n" "${size[n]}"
		disks[other]+=" $attached"
		attach "$n" one
		disks[one]+=" $attached"
	done
	shown other
	shown one
	read -ra mine <<<"${disks[one]}"
	read -ra theirs <<<"${disks[other]}"
	metadata=${mine[0]}
	ctl create "$set" -q -L 20m -c 64k --policy static --metadata "${mine[0]}" "${mine[1]}" "${mine[2]}"
	write_chunks 0 5 1
	ctl deactivate -q "$set"
}

# pr REQUEST DISK KEY [OTHER]: register, reserve (of the type that dm-tier takes), clear, or preempt
# and abort that other key, as another program would
pr()
{
	python3 - "$@" <<'END'
import fcntl, os, struct, sys
request, disk, key = sys.argv[1], sys.argv[2], int(sys.argv[3], 0)
nr, data = {"register": (200, struct.pack("QQII", 0, key, 1, 0)),
            "preempt": (204, struct.pack("QQII", key, int((*sys.argv, "0")[4], 0), 3, 0)),
            "clear": (205, struct.pack("QII", key, 0, 0)),
            "reserve": (201, struct.pack("QII", key, 3, 0))}[request]
fd = os.open(disk, os.O_RDWR)
# A positive answer is the disk's own status.
sys.exit(fcntl.ioctl(fd, 1 << 30 | len(data) << 16 | 0x70 << 8 | nr, bytearray(data), True) != 0)
END
}

# may_write DISK: a sector behind the label area can be rewritten
may_write()
{
	dd if="$1" of="$tmp/sector" bs=4k skip=500 count=1 iflag=direct status=none || fail "$1 cannot be read"
	dd if="$tmp/sector" of="$1" bs=4k seek=500 oflag=direct conv=notrunc status=none 2>"$tmp/dd"
}
# open_to WHO: they may write to all three disks; closed_to WHO: to none of them
open_to()
{
	local disk
	shown "$1"
	for disk in ${disks[$1]}; do may_write "$disk" || fail "$1 may not write to $disk"; done
}
closed_to()
{
	local disk
	shown "$1"
	for disk in ${disks[$1]}; do
		! may_write "$disk" || fail "$1 may write to $disk"
		matches "Invalid exchange" "$(<"$tmp/dd")" "error"
	done
}

kept()
{
	shared
	open_to other
	shown one
	ctl_code 0 activate --reserve "$set"
	check_chunks 0 5 1
	closed_to other
	shown one
	write_chunks 0 20 2
	io sync "$dev"
	ctl_code 0 deactivate "$set"
	open_to other
	open_to one
	[ -z "$(ls /run/dm-tier/reserved-* 2>/dev/null)" ] || fail "the mark is left"
	# Without --reserve nothing is reserved.
	ctl_code 0 activate "$set"
	open_to other
	shown one
	check_chunks 0 20 2
	ctl deactivate -q "$set"
}
test_case "while the set is active, only its machine may write" kept

taken_over()
{
	shared
	ctl_code 0 activate --reserve "$set"
	write_chunks 0 5 4
	io sync "$dev"
	crash
	closed_to other
	ctl_code 1 activate "$set"
	one_line "machine $one activated it"
	ctl_code 1 activate --reserve "$set"
	one_line "machine $one activated it"
	ctl_code 1 activate --take-over "$set"
	one_line "another machine has reserved it"
	ctl_code 0 activate --reserve --take-over "$set"
	check_chunks 0 5 4
	write_chunks 5 10 5
	io sync "$dev"
	# Whatever the loser still has under way, it is shut out.
	closed_to one
	shown other
	check_chunks 0 5 4
	check_chunks 5 10 5
	ctl_code 0 deactivate "$set"
	open_to one
	ctl_code 0 activate --reserve "$set"
	check_chunks 5 10 5
	closed_to other
	shown one
	ctl deactivate -q "$set"
}
test_case "take-over: the machine that had it cannot write any more" taken_over

# What the machine notices that goes on to use the set
shut_out()
{
	local n
	shared
	ctl_code 0 activate --reserve "$set"
	write_chunks 0 5 4
	io sync "$dev"
	shown other
	for n in 0 1 2; do
		pr register "${theirs[n]}" 0x7469222222222222
		pr preempt "${theirs[n]}" 0x7469222222222222 0x7469111111111111
	done
	shown one
	fails write_chunks 0 5 5
	ctl_code 3 status "$set"
	matches "tier 0 .*I/O errors" "$output" "attention"
	note "$(sed -n '/^attention/,$p' <<<"$output")"
	check_chunks 0 5 4
}
test_case "what the machine that was shut out says" shut_out

# A clean set whose disks another machine has reserved
reserved_clean()
{
	local disk
	shared
	ctl_code 0 activate --reserve "$set"
	# As dmsetup leaves it: let go of, but still reserved
	remove "$set"
	shown other
	ctl_code 1 activate --reserve "$set"
	one_line "another machine has reserved"
	same elsewhere "$(json '.errors[0].code' activate --reserve "$set")"
	ctl_code 0 activate --reserve --take-over "$set"
	check_chunks 0 5 1
	closed_to one
	shown other
	ctl_code 0 deactivate "$set"
}
test_case "a set that is let go of, but still reserved" reserved_clean

foreign()
{
	local disk
	shared
	for disk in ${disks[one]}; do
		pr register "$disk" 0x1234
		pr reserve "$disk" 0x1234
	done
	closed_to other
	shown one
	ctl_code 0 activate --reserve "$set"
	matches "is reserved by another program .key 0x0000000000001234., and left to that" "$errors"
	write_chunks 0 5 3
	ctl_code 0 deactivate "$set"
	closed_to other
	open_to one
	ctl_code 0 activate --reserve --take-over "$set"
	ctl_code 0 deactivate "$set"
	closed_to other
	shown one
	for disk in ${disks[one]}; do pr clear "$disk" 0x1234; done
	open_to other
}
test_case "a reservation of another program is left as it is" foreign

# Keys without a reservation, as between two of a cluster
keys_of_others()
{
	local disk
	shared
	for disk in ${disks[one]}; do pr register "$disk" 0x1234; done
	ctl_code 0 activate --reserve "$set"
	matches "and left to that" "$errors"
	ctl_code 0 deactivate "$set"
	# It still has its key, by which it may reserve.
	for disk in ${disks[one]}; do pr reserve "$disk" 0x1234; done
	closed_to other
	shown one
	for disk in ${disks[one]}; do pr clear "$disk" 0x1234; done
}
test_case "keys of another program are left as they are" keys_of_others

# The set is active already.
afterwards()
{
	shared
	ctl_code 0 activate "$set"
	open_to other
	shown one
	ctl_code 0 activate --reserve "$set"
	closed_to other
	shown one
	ctl_code 0 deactivate "$set"
	open_to other
}
test_case "an active set" afterwards

leaves()
{
	shared
	ctl_code 0 activate --reserve "$set"
	ctl remove -q "$set" "${mine[2]}"
	shown other
	may_write "${theirs[2]}" || fail "the disk that left is still reserved"
	! may_write "${theirs[1]}" || fail "the disk that stays is not reserved any more"
	shown one
	ctl add -q -y "$set" "${mine[2]}"
	closed_to other
	shown one
	disk spare 16
	unchanged /dev/tt_spare -- ctl_code 1 add -q -y "$set" /dev/tt_spare
	one_line "tt_spare knows no reservations"
	ctl_code 0 deactivate "$set"
	open_to other
}
test_case "a disk that leaves the set is let go of, one that joins it is reserved" leaves

# The path by which it was reserved is gone: another session of the same machine
other_path()
{
	shared
	ctl_code 0 activate --reserve "$set"
	write_chunks 0 5 4
	io sync "$dev"
	crash
	for n in 0 1 2; do again "$n"; done
	shown other
	closed_to other
	shown one
	ctl_code 0 activate --reserve "$set"
	check_chunks 0 5 4
	closed_to other
	shown one
	ctl_code 0 deactivate "$set"
	open_to other
}
[ -z "${has_paths-}" ] || test_case "the path by which it was reserved is gone" other_path

unfit()
{
	make_disks
	ctl create "$set" -q -c 64k --policy static --metadata "$meta" "$fast" "$slow"
	ctl deactivate -q "$set"
	unchanged "$meta" "$fast" "$slow" -- ctl_code 1 activate --reserve "$set"
	one_line "tt_meta knows no reservations"
	[ ! -e "$dev" ] || fail "active"
	same unsupported "$(json '.errors[0].code' activate --reserve "$set")"
}
test_case "disks that know no reservations" unfit

# Reservations on the set itself are not supported: what the kernel makes of them.
on_the_set()
{
	local request said disk
	shared
	ctl_code 0 activate "$set"
	for request in register reserve; do
		if pr $request "$dev" 0x77 2>/dev/null; then said="is done"; else said="is refused"; fi
		note "IOC_PR_${request^^} on a set $said"
	done
	check_chunks 0 5 1
	ctl_code 0 deactivate "$set"
	# What the kernel passed on to the tiers
	for disk in ${disks[one]}; do
		pr register "$disk" 0x77
		pr clear "$disk" 0x77
	done
	open_to other
}
test_case "a reservation on the set itself is not supported" on_the_set

