#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
#
# The metadata device is full. The mapping is allocated in full from the beginning, so only a
# metadata snapshot fills the device: the snapshot's blocks stay, and changed blocks are written
# anew.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
turns=3
# shellcheck source=../functional/lib-tierctl.sh
. "$here/lib-tierctl.sh"
# shellcheck source=lib-faults.sh
. "$(dirname "$0")/lib-faults.sh"
need fio mkfs.ext4

# So many chunks that the smallest metadata device has less room than a copy of the mapping
# takes: 983 blocks.
nr=500000
spots=980
stride=509		# chunks described by a block of the mapping
within=300		# the chunk of each block that is used

# The metadata device is as small as the constructor allows, and can grow.
make_tight()
{
	disk meta 24 cache_size=2
	disk fast 8192
	disk slow 24576
	wrap m "0 8 linear $meta 0"
	metadata=/dev/mapper/tt_m
	length=$((nr * 128))
	features=(skip_zeroing) core=(migration_bandwidth 0)
	refused 'need at least [0-9]+' dmsetup create "$set" --table "$(table_line)"
	[[ $refusal =~ at\ least\ ([0-9]+) ]]
	least=${BASH_REMATCH[1]}
	swap m "0 $least linear $meta 0"
	activate
	write_chunks 0 20 1
	move 10 10 1
	io sync "$dev"
	status
	note "$least sectors of metadata, ${S[meta_used]}/${S[meta_total]} blocks used"
}

grow() { swap m "0 $((least + $1 * 8)) linear $meta 0"; }

# touch FIRST COUNT, verify FIRST COUNT: write or compare a sector of a chunk in each of these
# blocks of the mapping
spots_io()
{
	fio --name=touch --filename="$dev" --direct=1 --ioengine=libaio --iodepth=32 \
		--rw="$1:$((stride * 64 - 4))k" --bs=4k \
		--offset=$((($2 * stride + within) * 65536)) \
		--io_size=$(($3 * 4096)) --size=$(($3 * stride * 65536)) \
		--verify=crc32c --do_verify=0 --output="$tmp/fio" >/dev/null 2>&1
}
touch_spots() { spots_io write "$@"; }
verify_spots() { spots_io read "$@" || fail "spots $*: $(<"$tmp/fio")"; }

# fill STEP (a divisor of spots): first writes with a FLUSH now and then, until the set is ro.
# Sets filled to the number of writes that a FLUSH covered.
fill()
{
	local step=$1
	filled=0
	while [ $((filled + step)) -le "$spots" ]; do
		touch_spots "$filled" "$step" || break
		io sync "$dev" 2>/dev/null || break
		filled=$((filled + step))
		mode_is rw || break
	done
}

# Room for everything that can happen without a snapshot, also for much at once.
smallest()
{
	make_tight
	klog_mark
	touch_spots 0 "$spots"
	io sync "$dev"
	same rw "$(mode_now)" "mode after first writes all over the set"
	msg pin 0 "$nr" 1
	same "$nr" "$(info pinned)" "pinned"
	msg unpin 0 "$nr"
	suspend
	resume
	msg migrate 0 "$nr" 1
	wait_for 120 all_moved
	discard_chunks 0 20
	io sync "$dev"
	! klog_has 'nearly full' || fail "a warning for nothing"
	same rw "$(mode_now)" "mode"
	verify_spots 0 "$spots"
	deactivate
	activate
	verify_spots 0 "$spots"
	same "$spots" "$(info mapped)" "mapped"
}
all_moved() { [ "$(info used0)" = 0 ]; }
test_case "the smallest metadata device that is allowed is enough" smallest

# Works and does not work in a full set.
full_works()
{
	same ro "$(mode_now)" "mode"
	check_chunks 0 20 1
	write_chunks 5 10 2
	write_chunks 5 10 1
	check_chunks 21 10 0
	io_fails 5 write_chunks 30 1 1
	fails discard_chunks 0 1
	fails msg migrate 0 1 1
	fails msg pin 0 1 1
	same "$(info held)" "$held" "snapshot"
}

becomes_full()
{
	local before
	make_tight
	before=$(events)
	msg reserve_metadata_snap
	held=$(info held)
	[ "$held" != - ] || fail "no snapshot"
	klog_mark
	fill "$1"
	note "ro after $filled blocks, $(info meta_used)/$(info meta_total) used"
	wait_for 5 klog_has 'mode ro'
	klog >"$tmp/said"
	grep -q 'nearly full' "$tmp/said" || fail "full without a warning before"
	[ "$(sed -n '/nearly full/=' "$tmp/said" | head -n 1)" -lt \
	  "$(sed -n '/mode ro/=' "$tmp/said" | head -n 1)" ] ||
		fail "the warning came after the end"
	[ "$(events)" -gt "$before" ] || fail "no event"
	full_works
	same - "$(info check)" "needs_check"
}

# The status calls the metadata nearly full at the same point as the kernel. The event comes
# while changes still find room, whether first writes or messages make them.
nearly_full()
{
	local n before after args
	make_tight
	msg reserve_metadata_snap
	klog_mark
	! says_low || fail "status: $(<"$tmp/status")"
	before=$(events)
	for ((n = 0; n < spots; n += 20)); do
		"$1" "$n" 20
		after=$(events)
		! klog_has 'nearly full' || break
		! says_low || fail "status: $(<"$tmp/status")"
		same "$before" "$after" "events before the warning"
	done
	same rw "$(mode_now)" "mode"
	[ "$(events)" -gt "$before" ] || fail "no event"
	says_low || fail "status: $(<"$tmp/status")"
	note "from $(info meta_used)/$(info meta_total) blocks on"
	# A change of the tiers could fail half-way.
	ctl_code 1 resize -y --size "$(((nr - 1) * 64))k" "$set"
	one_line "^tierctl: $set: .*has no room for that beside a metadata snapshot\. release it: dmsetup message $set 0 release_metadata_snap$"
	same "$length" "$(blockdev --getsz "$dev")" "length"
	# None of these commands begins.
	disk third 8192
	mkfs.ext4 -q -F "$third"
	for args in "rename $set tt_other" "add -y --force $set $third" \
		    "replace -y --force $set 0 $third" "remove $set 0"; do
		# shellcheck disable=SC2086	# words
		ctl_code 1 $args
		one_line "has no room for that beside a metadata snapshot"
		same ext4 "$(blkid -p -o value -s TYPE "$third")" "signature after: $args"
		same "A A" "$(info state0) $(info state1)" "states after: $args"
		[ -b "$dev" ] || fail "the set has another name after: $args"
	done
}
# The pins to a tier are dropped with the tier: as many entries change as there are pins.
drop_pins()
{
	make_tight
	msg pin 0 "$nr" 0
	msg reserve_metadata_snap
	! says_low || fail "status: $(<"$tmp/status")"
	ctl_code 1 remove "$set" 0
	one_line "has no room for that beside a metadata snapshot"
	same "A $nr" "$(info state0) $(info pinned)" "state and pins"
	ctl_code 0 rename "$set" tt_other
	ctl_code 0 rename tt_other "$set"
	msg release_metadata_snap
	ctl_code 1 remove "$set" 0
	one_line "the set needs"
}
says_low()
{
	ctl status "$set" >"$tmp/status" || true
	grep -q 'of its metadata device is used: grow it' "$tmp/status"
}
write_spots()
{
	touch_spots "$@"
	io sync "$dev"
}
pin_spots()
{
	local i
	for ((i = $1; i < $1 + $2; i++)); do msg pin $((i * stride + within)) 1 0; done
}
test_case "nearly full is the same to all" nearly_full write_spots
test_case "nearly full by messages alone is told in time" nearly_full pin_spots
test_case "a tier with more pins than a snapshot leaves room for is not dropped" drop_pins

# A larger device is the way out; first writes that waited for room are kept.
grown()
{
	becomes_full "$1"
	# The last first writes wait for room: a FLUSH that covers them fails.
	io_fails 5 io sync "$dev"
	# A FLUSH under a read-only table fails, too.
	features=(skip_zeroing read_only)
	reload
	io_fails 5 io sync "$dev"
	features=(skip_zeroing)
	reload
	suspend
	resume
	same ro "$(mode_now)" "mode after a resume without growth"
	grow 4
	suspend
	resume
	same ro "$(mode_now)" "mode after growth by too little"
	grow 1200
	before=$(events)
	suspend
	resume
	same rw "$(mode_now)" "mode after growth"
	event_seen "$before" || fail "no event"
	io sync "$dev"
	touch_spots "$filled" $((spots - filled))
	io sync "$dev"
	msg release_metadata_snap
	discard_chunks 21 1
	move 0 4 1
	deactivate
	activate
	same rw "$(mode_now)" "mode"
	check_chunks 0 20 1
	verify_spots 0 "$spots"
}
event_seen() { [ "$(events)" -gt "$1" ]; }
test_case "full at once, grown" grown "$spots"
test_case "full by small steps, grown" grown 49

# With a reload instead of suspend and resume.
grown_reload()
{
	becomes_full 245
	grow 1200
	reload
	same rw "$(mode_now)" "mode after growth"
	io sync "$dev"
	[ "$filled" = 0 ] || verify_spots 0 "$filled"
}
test_case "grown, then a reload" grown_reload

# A table with another order loads the map anew, so waiting first writes are committed before.
grown_reordered()
{
	becomes_full 245
	grow 1200
	tiers=("${tiers[1]}" "${tiers[0]}")
	reload
	same rw "$(mode_now)" "mode after growth"
	io sync "$dev"
	check_chunks 0 20 1
	[ "$filled" = 0 ] || verify_spots 0 "$filled"
}
test_case "grown, then a reload with another order of tiers" grown_reordered

# Without room for them, a table with another order drops the waiting first writes. The next
# FLUSH fails.
dropped()
{
	becomes_full 245
	io_fails 5 io sync "$dev"
	tiers=("${tiers[1]}" "${tiers[0]}")
	load
	fails resume
	klog_has 'not durable; these are lost' || fail "no word why the reload is refused"
	grow 1200
	resume
	same rw "$(mode_now)" "mode after growth"
	io_fails 5 io sync "$dev"
	io sync "$dev"
	check_chunks 0 20 1
	[ "$filled" = 0 ] || verify_spots 0 "$filled"
}
test_case "another order of tiers without growth, then growth" dropped

# Or the snapshot, which took the space, is released, as in lvmtier(7).
released()
{
	becomes_full 245
	ctl_code 3 status "$set"
	matches 'has fallen to read-only; the kernel log says why' "$output" "status"
	matches '9[0-9]% of its metadata device is used: grow it' "$output" "status"
	dmsetup message "$set" 0 release_metadata_snap
	same rw "$(mode_now)" "mode without the snapshot"
	io sync "$dev"
	touch_spots "$filled" $((spots - filled))
	io sync "$dev"
	deactivate
	activate
	check_chunks 0 20 1
	verify_spots 0 "$spots"
	ctl status "$set" >"$tmp/status" || true
	! grep -q 'read-only' "$tmp/status" || fail "status: $(<"$tmp/status")"
}
test_case "the snapshot is released" released

# Neither: the set can be activated read-only, and for writing once the device has grown.
activated_full()
{
	becomes_full 245
	deactivate
	refused 'metadata .*no room.*grow' dmsetup create "$set" --table "$(table_line)"
	note "$refusal"
	ctl_code 1 activate "$set"
	matches "$set: .*no room" "$errors"
	ctl_code 0 activate -r "$set"
	check_chunks 0 20 1
	[ "$filled" = 0 ] || verify_spots 0 "$filled"
	same "$held" "$(info held)" "snapshot"
	deactivate
	grow 400
	ctl_code 0 activate "$set"
	same rw "$(mode_now)" "mode"
	check_chunks 0 20 1
	[ "$filled" = 0 ] || verify_spots 0 "$filled"
	msg release_metadata_snap
	touch_spots "$filled" $((spots - filled))
	io sync "$dev"
	verify_spots 0 "$spots"
}
test_case "a new activation of a set that is full" activated_full

# Pins need room, too: a pin without room is refused, and the set stays rw.
pins()
{
	make_tight
	msg reserve_metadata_snap
	fails msg pin 0 "$nr" 1
	note "after pins: $(mode_now), $(info meta_used)/$(info meta_total) blocks"
	same - "$(info check)" "needs_check"
	check_chunks 0 20 1
	write_chunks 0 20 2
	pinned=$(info pinned)
	is "pinned < $nr"
	grow 1200
	suspend
	resume
	same rw "$(mode_now)" "mode after growth"
	deactivate
	activate
	same "$pinned" "$(info pinned)" "pins after an activation"
	msg pin 0 "$nr" 1
	same "$nr" "$(info pinned)" "pinned"
	check_chunks 0 20 2
}
test_case "pins on a set that is full" pins

# A batch that takes the last room is committed whole: refused half-way it would be a failed
# commit. The estimate of the cost of a batch is tightest if the mapping is small. In each round
# the free blocks are reduced to about the estimate for a batch of 128, and as many first writes
# follow.
last_batch()
{
	local policy=heat nr=170000 spots=334 within=300 batch=128 more wanted free next step
	make_tight
	take_spots 0 "$spots"
	for more in -1 0 1 2; do
		msg reserve_metadata_snap
		wanted=$((batch + 2 * (S[meta_total] / 16320 + 17) + 2 * 6 + more))
		# Heat that changed everywhere is saved by suspends, 64 blocks by each, and takes
		# room. In parts, as of a burst of accesses the policy sees the beginning.
		for next in 0 100 200 300; do
			step=$((spots - next))
			take_spots "$next" $((step < 100 ? step : 100))
			nap 0.3
		done
		for next in 1 2 3; do
			suspend
			resume
		done
		within=$((within + 1)) next=0
		while status && free=$((S[meta_total] - S[meta_used])) && [ "$free" -gt "$wanted" ]; do
			step=$(((free - wanted) / 2))
			[ "$step" -ge 1 ] || step=1
			is "next + step + batch <= spots"
			take_spots "$next" "$step"
			next=$((next + step))
		done
		same rw "$(mode_now)" "mode before the batch"
		take_spots "$next" "$batch" || true
		note "$free blocks were free: $(mode_now), $(info meta_used)/$(info meta_total) used"
		same - "$(info check)" "needs_check"
		msg release_metadata_snap
		same rw "$(mode_now)" "mode without the snapshot"
		# Chunks left out of this round would be first writes of the next round.
		take_spots 0 "$spots"
	done
}
take_spots() { touch_spots "$@" && io sync "$dev"; }
test_case "a batch that takes the last of the room" last_batch

run_tests
