#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=3600 (ci/test/fuzz: as N has it)
# expects: block manager: recursive lock detected in metadata
#
# Table lines, messages and metadata that are nearly right. Nothing may crash, warn or hang; a
# refusal changes nothing. N= is how many lines and messages, with one image for 20 of them, half
# of which hold a snapshot; SEED= is the first seed.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
tierfuzz=$here/../../build/fuzz/tierfuzz
[ -x "$tierfuzz" ] || skip_all "tierfuzz is not built"

: "${N:=1000}" "${SEED:=1}"

# fuzz COMMAND...: shows the last line of its output
fuzz()
{
	local rc=0
	"$tierfuzz" "$@" >"$tmp/fuzz" 2>&1 || rc=$?
	note "$(tail -n 1 "$tmp/fuzz" | tr '\r' '\n' | tail -n 1)"
	[ "$rc" = 0 ] || {
		tr '\r' '\n' <"$tmp/fuzz" | tail -n 3
		fail "tierfuzz $1"
	}
}

# A refusal writes a line to the kernel log, which need not go to the console.
quietly()
{
	local level
	read -r level _ </proc/sys/kernel/printk
	# shellcheck disable=SC2064	# the level as it is now
	trap "dmesg -n $level" EXIT
	dmesg -n 1
}

# An inactive set, and as many blank disks as for another set.
tables()
{
	local disks=("$meta" "$fast" "$slow" "$meta2" "$third" "$spare") sums counts
	quietly
	disk meta 1
	disk fast 2
	disk slow 3
	disk meta2 1
	disk third 2
	disk spare 3
	activate
	write_chunks 0 40 1
	deactivate
	dmsetup create tt_fuzz --notable
	sums=$(checksums "${disks[@]}")
	counts=$(write_counts "${disks[@]}")
	fuzz tables tt_fuzz "$N" "$SEED" "$length" "${disks[@]}"
	same "$counts" "$(write_counts "${disks[@]}")" "writes"
	same "$sums" "$(checksums "${disks[@]}")" "contents"
	remove tt_fuzz
	activate
	check_chunks 0 40 1
}
test_case "table lines change nothing, neither refused nor only loaded" tables

live_tables()
{
	quietly
	disk meta 1
	disk fast 2
	disk slow 3
	activate
	background io torture "$dev" at=0 len=2m chunk=64k seconds=$((3000 + N / 2)) seed=5 model="$tmp/model"
	fuzz tables "$set" $((N / 4)) $((SEED + N)) "$length" "$meta" "$fast" "$slow"
	still_works
}
# The I/O meanwhile met no error, and there is none now.
still_works()
{
	kill -0 "$last_pid" || fail "the I/O has ended"
	kill "$last_pid"
	wait "$last_pid" || fail "the I/O ended with status $?"
	write_chunks 0 46 3
	check_chunks 0 46 3
	same rw "$(info mode)"
}
test_case "table lines for a set in use" live_tables

settle()
{
	msg revert off
	msg admit 0
	msg admit 1
	msg set migration_bandwidth 0
	msg set migration_depth 4
	msg resume
	wait_for 60 settled
	msg pause
	quiet 2 "$meta" "$fast" "$slow"
}

messages()
{
	local sums counts
	quietly
	disk meta 1
	disk fast 2
	disk slow 3
	activate
	background io torture "$dev" at=0 len=2m chunk=64k seconds=$((3000 + N / 2)) seed=5 model="$tmp/model"
	fuzz messages "$set" "$N" "$SEED" "$tmp/refused"
	still_works
	# Sends the refused messages once more, and only these, one after the other. A round
	# drops messages that are accepted, so this ends.
	sort -zu -o "$tmp/refused" "$tmp/refused"
	while :; do
		settle
		sums=$(checksums "$meta" "$fast" "$slow")
		counts=$(io_counts "$meta" "$fast" "$slow")
		fuzz replay "$set" "$tmp/refused"
		! grep -q ' 0 accepted' "$tmp/fuzz" || break
	done
	same "$counts" "$(io_counts "$meta" "$fast" "$slow")" "I/O during refused messages"
	same "$sums" "$(checksums "$meta" "$fast" "$slow")" "contents"
	check_chunks 0 46 3
	deactivate
	activate
	check_chunks 0 46 3
}
test_case "messages, with I/O going on; those refused change nothing" messages

# udevd runs for few of the tests.
udev_queue() { [ ! -e /run/udev/control ] || udevadm control "--$1-exec-queue"; }

# images [snapshot]: images of a set, which holds a metadata snapshot that differs from it
images()
{
	local name
	damaged
	quietly
	disk meta 1
	disk fast 2
	disk slow 3
	activate
	# 16 chunks on fast, 25 on slow, 5 nowhere; see image.c.
	write_chunks 0 30 1
	msg pin 0 2 0
	msg set latency_guard 1
	if [ -n "${1:-}" ]; then
		io sync "$dev"
		msg reserve_metadata_snap
		msg set latency_guard 2
	fi
	write_chunks 30 11 1
	deactivate
	for name in meta fast slow; do
		dd if="/dev/tt_$name" of="$tmp/$name" bs=1M iflag=direct status=none
	done
	dmsetup create tt_fuzz --table "0 $length error"
	# No other process may open the device that comes and goes.
	udev_queue stop
	trap 'udev_queue start; dmesg -n 8' EXIT
	fuzz images tt_fuzz $(((N + 39) / 40)) "$SEED" "$length" "$meta" "$fast" "$slow" \
		"$tmp/meta" "$tmp/fast" "$tmp/slow"
	# The undamaged set is still good.
	for name in meta fast slow; do
		dd if="$tmp/$name" of="/dev/tt_$name" bs=1M oflag=direct status=none
	done
	udev_queue start
	remove tt_fuzz
	activate
	check_chunks 0 41 1
}
test_case "damaged metadata" images
test_case "damaged metadata that holds a snapshot" images snapshot

run_tests
