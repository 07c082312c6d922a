#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# long
#
# Cases that no other file covers: a suspend that is interrupted, a resume that is killed,
# readahead that is refused, tables that are loaded but not live, requests that cross each
# other, messages about a missing tier.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# ---- a suspend that somebody interrupts

read_hangs()
{
	local reads
	read -r reads _ <"$(block_of "$dev")/inflight"
	[ "$reads" != 0 ]
}
stopping() { ! msg resume 2>/dev/null; }

# A set with chunks 0-9 on fast, 10-19 on a device that can be told to stop.
make_held()
{
	make_disks
	wrap held "0 $(sectors_of "$slow") linear $slow 0"
	tiers=("$fast" /dev/mapper/tt_held)
	length=$(capacity_of "$chunk" "$fast" "$slow")
	core=(migration_bandwidth 0)
	activate
	write_chunks 0 20 1
	move 10 10 1
	io sync "$dev"
	udevadm settle
}
hold()
{
	trap 'dmsetup resume tt_held' EXIT
	dmsetup suspend --noflush --nolockfs tt_held
}

interrupted_suspend()
{
	local reader suspender rc=0
	make_held
	hold
	background io check "$dev" at="$(at_chunk 10)" len=4k seed=1
	reader=$last_pid
	wait_for 10 read_hangs
	# The suspend waits for the read. Until the suspend is interrupted the set takes no
	# messages.
	# Do not call a function here: the signal would go to its shell.
	background "$here/quickdm" suspend --nolockfs "$set"
	suspender=$last_pid
	wait_for 10 stopping
	kill -TERM "$suspender"
	wait "$suspender" || rc=$?
	[ "$rc" != 0 ] || fail "the suspend ended well"
	# The set is in the state before the suspend.
	same Active "$(dmsetup info -c --noheadings -o suspended "$set")" "state of the device"
	write_chunks 0 5 2
	write_chunks 30 5 2
	dmsetup resume tt_held
	wait "$reader"
	move 0 5 1
	check_chunks 0 5 2
	check_chunks 5 15 1
	suspend
	resume
	check_chunks 30 5 2
}
test_case "a suspend that is interrupted changes nothing" interrupted_suspend

# A suspended dm device refuses readahead; a plain read waits.
refused_readahead()
{
	local reader
	make_held
	blockdev --flushbufs "$dev"
	hold
	background dd if="$dev" of="$tmp/read" bs=4k skip=$(($(at_chunk 10) / 4096)) count=1 \
		status=none
	reader=$last_pid
	wait_for 10 read_hangs
	dmsetup resume tt_held
	wait "$reader"
	status
	same "A 0" "${S[state1]} ${S[errors1]}" "state and errors of the tier"
}
test_case "readahead that was refused is no error of the tier" refused_readahead

# Some kernels check the buffer only in the disk's driver.
odd_buffer()
{
	make_disks
	activate
	io_fails 22 io write "$dev" at=0 len=64k seed=1 flags=odd
	status
	same "AA 0 0" "${S[state0]}${S[state1]} ${S[errors0]} ${S[errors1]}" "states and errors"
	same 0 "${S[mapped]}" "mapped"
	write_chunks 0 1 1
	io_fails 22 io write "$dev" at=0 len=64k seed=2 flags=odd
	check_chunks 0 1 1
	status
	same "AA 0 0" "${S[state0]}${S[state1]} ${S[errors0]} ${S[errors1]}" "states and errors"
	same 1 "${S[used0]}" "places taken"
}
test_case "a write from a buffer that no device takes" odd_buffer

# A move that an evacuation has begun ends with the suspend. Moves not yet begun wait for
# the resume.
suspended_evacuation()
{
	local suspender counts
	make_disks
	wrap held "0 $(sectors_of "$slow") linear $slow 0"
	tiers=("$fast" /dev/mapper/tt_held)
	length=$((200 * chunk))
	core=(migration_bandwidth 0 migration_depth 4)
	activate
	write_chunks 0 20 1
	io sync "$dev"
	udevadm settle
	hold
	msg evacuate 0
	wait_for 10 in_motion
	background dmsetup suspend --nolockfs "$set"
	suspender=$last_pid
	wait_for 10 stopping
	dmsetup resume tt_held
	wait "$suspender"
	status
	same "E 0" "${S[state0]} ${S[in_flight]}" "state of the tier and chunks in flight"
	is 'S[used0] > 0'
	counts=$(io_counts "$meta" "$fast" "$slow")
	nap 1
	same "$counts" "$(io_counts "$meta" "$fast" "$slow")" "I/O while suspended"
	resume
	wait_for 60 all_on_rank 0 20 1
	wait_for 10 settled
	same 0 "$(info used0)" "places used"
	check_chunks 0 20 1
}
test_case "suspend in the midst of an evacuation" suspended_evacuation

# ---- disks that turn out not to support a command

# make_scsi [OPTION]...: a SCSI disk in two tiers, 16 and 32 MiB; it knows WRITE SAME,
# until it is told not to.
make_scsi()
{
	scsi_disk 48 "$@" || skip "sd_mod or scsi_debug is not available"
	disk meta 4
	wrap a "0 32768 linear $scsi 0"
	wrap b "0 65536 linear $scsi 32768"
	tiers=(/dev/mapper/tt_a /dev/mapper/tt_b)
	activate
	knows_zeroes "$dev"
}
knows_zeroes()
{
	[ "$(<"$(block_of "$1")/queue/write_zeroes_max_bytes")" != 0 ] || fail "$1 has no WRITE ZEROES"
}
refuse_zeroes() { echo 1 >/sys/module/scsi_debug/parameters/write_same_length; }
scsi_gone()
{
	same "A 0 A 0" "$(info state0) $(info errors0) $(info state1) $(info errors1)" \
		"states and errors of the tiers"
	deactivate
	remove "$@" tt_a tt_b
	scsi_disk_gone
}

# Each write-zeroes stays one command. If the disk refuses it, the caller gets the error and
# must write pages.
zeroes()
{
	make_scsi
	write_chunks 0 10 1
	zero_some
	blkdiscard -z -o $(($(at_chunk 20) + 512)) -l 200k "$dev"
	knows_zeroes "$dev"
	same 10 "$(info mapped)" "mapped chunks"
	io sync "$dev"
	deactivate
	activate
	some_are_zero
	check_chunks 20 4 0
	scsi_gone
}
test_case "WRITE ZEROES, on mapped chunks and others" zeroes

# Zeroes within a piece, across two and several pieces, ahead of the copy and behind it.
zeroes_during_copy()
{
	local range at=0 chunk=4096 ranges=(4096:8192 65024:1024 262144:196608 1310208:131584)
	make_scsi
	write_chunks 0 1 1 block=1m
	dmsetup load tt_b --table "0 65536 delay $scsi 32768 0 $scsi 32768 600000"
	dmsetup resume tt_b
	msg migrate 0 1 1
	wait_for 10 holds_io tt_b
	for range in "${ranges[@]}"; do
		blkdiscard -z -o "${range%:*}" -l "${range#*:}" "$dev"
	done
	knows_zeroes "$dev"
	holds_io tt_b || fail "the copy went on"
	dmsetup load tt_b --table "0 65536 linear $scsi 32768"
	dmsetup resume tt_b
	wait_for 10 all_on_rank 0 1 1
	for range in "${ranges[@]}" 2097152:0; do
		io check "$dev" at="$at" len=$((${range%:*} - at)) seed=1
		at=$((${range%:*} + ${range#*:}))
		[ "${range#*:}" = 0 ] || io check "$dev" at="${range%:*}" len="${range#*:}" seed=0
	done
	scsi_gone
}
test_case "WRITE ZEROES to a chunk that is being copied" zeroes_during_copy

# A refused write-zeroes of a first write is done with pages.
refused_first_write()
{
	make_scsi
	io write "$dev" at="$(at_chunk 1)" len=4k seed=1
	knows_zeroes /dev/mapper/tt_a
	refuse_zeroes
	io write "$dev" at="$(at_chunk 2)" len=4k seed=1
	# The rest of the chunk is zeroed now.
	io sync "$dev"
	same 0 "$(<"$(block_of /dev/mapper/tt_a)/queue/write_zeroes_max_bytes")" "write_zeroes_max_bytes"
	for n in 1 2; do
		io check "$dev" at="$(at_chunk "$n")" len=4k seed=1
		io check "$dev" at=$(($(at_chunk "$n") + 4096)) len=60k seed=0
	done
	all_on_rank 1 2 0 || fail "they are not on the fast tier"
	scsi_gone
}
test_case "WRITE ZEROES is refused: first write" refused_first_write

# The device in between claims to support the command, although the device below does not.
unsupported_first_write()
{
	make_scsi
	deactivate
	wrap c "0 32768 linear /dev/mapper/tt_a 0"
	tiers[0]=/dev/mapper/tt_c
	activate
	disk fast 16
	dmsetup load tt_a --table "0 32768 linear $fast 0"
	dmsetup resume tt_a
	io write "$dev" at="$(at_chunk 1)" len=4k seed=1
	knows_zeroes /dev/mapper/tt_c
	io check "$dev" at="$(at_chunk 1)" len=4k seed=1
	io check "$dev" at=$(($(at_chunk 1) + 4096)) len=60k seed=0
	all_on_rank 1 1 0 || fail "it is not on the fast tier"
	scsi_gone tt_c
}
test_case "WRITE ZEROES is not supported below any more: first write" unsupported_first_write

# A caller of write-zeroes gets the refusal, and sends pages.
refused_zeroes()
{
	make_scsi
	write_chunks 0 4 1
	refuse_zeroes
	blkdiscard -z -o "$(at_chunk 1)" -l "$(at_chunk 2)" "$dev"
	check_chunks 0 1 1
	check_chunks 1 2 0
	check_chunks 3 1 1
	scsi_gone
}
test_case "WRITE ZEROES is refused: overwrite" refused_zeroes

# Another table below, whose device does not support the command: the block layer says NOTSUPP.
unsupported_zeroes()
{
	make_scsi
	write_chunks 0 4 1
	disk fast 16
	dmsetup load tt_a --table "0 32768 linear $fast 0"
	dmsetup resume tt_a
	knows_zeroes "$dev"
	blkdiscard -z -o "$(at_chunk 0)" -l "$(at_chunk 4)" "$dev"
	check_chunks 0 4 0
	scsi_gone
}
test_case "WRITE ZEROES is not supported any more" unsupported_zeroes

# The disk supports only UNMAP, but is sent WRITE SAME.
refused_discards()
{
	make_scsi lbpu=1
	knows_discards "$dev"
	write_chunks 0 4 1
	echo writesame_16 >"/sys/block/${scsi##*/}/device/scsi_disk/"*"/provisioning_mode"
	blkdiscard -o "$(at_chunk 1)" -l 32k "$dev"
	same 0 "$(<"$(block_of "$scsi")/queue/discard_max_bytes")" "discard_max_bytes of the disk"
	knows_discards "$dev"
	blkdiscard -o "$(at_chunk 2)" -l 64k "$dev"
	io check "$dev" at=0 len=64k seed=1
	io check "$dev" at=$(($(at_chunk 1) + 32768)) len=32k seed=1
	check_chunks 2 1 0
	check_chunks 3 1 1
	scsi_gone
}
knows_discards()
{
	[ "$(<"$(block_of "$1")/queue/discard_max_bytes")" != 0 ] || fail "$1 has no discards"
}
test_case "DISCARD is refused: a part of a chunk" refused_discards

# The first refused discard is for a chunk that the set has unmapped.
refused_unmap()
{
	make_scsi lbpu=1
	write_chunks 0 4 1
	echo writesame_16 >"/sys/block/${scsi##*/}/device/scsi_disk/"*"/provisioning_mode"
	blkdiscard -o "$(at_chunk 1)" -l 64k "$dev"
	same 0 "$(<"$(block_of "$scsi")/queue/discard_max_bytes")" "discard_max_bytes of the disk"
	knows_discards "$dev"
	check_chunks 0 1 1
	check_chunks 1 1 0
	check_chunks 2 2 1
	scsi_gone
}
test_case "DISCARD is refused: a whole chunk" refused_unmap

# ---- tables that are not live

only_loaded()
{
	make_disks
	length=$(capacity_of "$chunk" "${tiers[@]}")
	dmsetup create "$set" --notable
	load
	same "0 $length tier Error" "$(dmsetup status --inactive "$set")" "status"
	resume
	same rw "$(info mode)"
	# The loaded table has features of its own, and shows the set's numbers.
	features=(paused skip_zeroing)
	load
	parse_status "$(dmsetup status --inactive "$set")"
	same "paused skip_zeroing" "${S[features]}" "features of the table that is loaded"
	same "" "$(info features)" "features of the live table"
	dmsetup clear "$set"
}
test_case "status of a table that is only loaded" only_loaded

# Between load and resume somebody writes to a tier.
failed_resume()
{
	make_disks
	length=$(capacity_of "$chunk" "${tiers[@]}")
	dmsetup create "$set" --notable
	load
	printf 'data' | dd of="$fast" bs=4 conv=notrunc,fsync status=none
	refused 'tier 0 .*not a tier label' resume
	same "0 $length tier Error" "$(dmsetup status "$set")" "status"
	fails msg chunk 0
	matches 'nput/output error' "$output" "error"
	blkdiscard -f "$fast"
	resume
	write_chunks 0 5 1
	check_chunks 0 5 1
}
test_case "a resume that fails leaves a device that can be resumed" failed_resume

is_resuming() { grep -q dm_table_resume_targets "/proc/$1/stack"; }

# In a killed process the kernel lets allocations fail that would have to wait, such as
# percpu allocations during others.
killed_resume()
{
	local n resumer
	make_disks
	length=$(capacity_of "$chunk" "${tiers[@]}")
	wrap wmeta "0 $(sectors_of "$meta") delay $meta 0 100"
	metadata=/dev/mapper/tt_wmeta
	activate
	write_chunks 0 10 1
	# Each mount needs percpu memory.
	unshare --mount true
	for n in 1 2; do
		background bash -c 'while unshare --mount true; do :; done'
	done
	for n in {1..4}; do
		deactivate
		dmsetup create "$set" --notable
		load
		background "$here/quickdm" resume "$set"
		resumer=$last_pid
		wait_for 10 is_resuming "$resumer"
		kill -KILL "$resumer"
		wait "$resumer" || true
		same Active "$(dmsetup info -c --noheadings -o suspended "$set")" "state after resume $n"
		dmsetup mknodes "$set"
		check_chunks 0 10 1
	done
}
test_case "a resume whose process is killed" killed_resume

# ---- messages

# For each chunk the latest request counts, whatever part of an older request it replaces.
crossing()
{
	local first count rank
	core=(migration_bandwidth 64 migration_depth 1)
	make_set
	write_chunks 0 40 1 block=1m
	io sync "$dev"
	msg migrate 0 30 1
	msg migrate 10 5 0	# from its middle
	msg migrate 25 10 0	# its end, and more
	msg migrate 0 5 0	# its beginning
	msg migrate 26 3 1	# in the middle of another
	msg set migration_bandwidth 0
	while read -r first count rank; do
		wait_for 60 all_on_rank "$first" "$count" "$rank"
	done <<-END
		0 5 0
		5 5 1
		10 5 0
		15 10 1
		25 1 0
		26 3 1
		29 11 0
	END
	wait_for 10 settled
	check_chunks 0 40 1 block=1m
}
test_case "requests that cross: the last one counts" crossing

about_missing()
{
	make_set
	write_chunks 0 10 1
	move 5 5 1
	deactivate
	tiers=("$fast" -)
	activate
	chunk_info 7
	same "1 missing" "${C[rank]} ${C[state]}"
	refused 'tier is missing' msg set tier1.reserve 3
	refused 'tier is missing' msg pin 0 1 1
	refused 'tier is missing' msg evacuate 1
	refused 'tier is missing' msg admit 1
	refused 'missing, evacuated or failing' msg migrate 0 1 1
	refused 'a tier is missing' msg revert 0
	check_chunks 0 5 1
}
test_case "messages about a tier that is missing" about_missing

# A chunk that is moving, a chunk that is not committed, a chunk that nobody asked about.
states()
{
	make_held
	msg pin 2 1 0
	hold
	msg migrate 0 1 1
	wait_for 10 state_is 0 migrating
	chunk_info 2
	same "0 mapped first_write 0" "${C[rank]} ${C[state]} ${C[reason]} ${C[pin]}"
	# Repeating a message changes nothing.
	msg pin 2 1 0
	dmsetup resume tt_held
	wait_for 20 all_on_rank 0 1 1
	wait_for 10 settled
	chunk_info 0
	same "1 mapped migrate" "${C[rank]} ${C[state]} ${C[reason]}"
	same 1 "$(info pinned)"
	check_chunks 0 20 1
}
state_is() { chunk_info "$1"; [ "${C[state]}" = "$2" ]; }
test_case "what chunk says while one moves" states

evacuated_twice()
{
	length=$((200 * chunk))
	make_disks
	activate
	write_chunks 0 20 1
	msg evacuate 0
	msg evacuate 0
	wait_for 60 all_on_rank 0 20 1
	wait_for 10 settled
	same "E 0" "$(info state0) $(info used0)"
	msg admit 0
	check_chunks 0 20 1
}
test_case "evacuate, once more" evacuated_twice

run_tests
