#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Moving chunks by message: migrate, pin, evacuate, pause, and their limits.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2
need fio jq

# A chunk's data lies where the set says, byte for byte.
data_at() # CHUNK SEED
{
	local disks
	disks=("$fast" "$slow" "$third")
	chunk_info "$1"
	io check "${disks[C[rank]]}" at=$((C[place] * chunk * 512)) len=$((chunk * 512)) \
		seed="$2" as="$(at_chunk "$1")"
}

to_and_fro()
{
	make_set
	write_chunks 0 12 1
	move 2 6 1
	same 0 "$(on_rank 2 6 0)"
	check_chunks 0 12 1
	for n in 0 2 7 8; do data_at "$n" 1; done
	chunk_info 2
	same migrate "${C[reason]}"
	move 4 2 0
	check_chunks 0 12 1
	data_at 4 1
	deactivate
	activate
	check_chunks 0 12 1
	same 4 "$(on_rank 0 12 1)"
	data_at 2 1
	data_at 4 1
}
test_case "chunks move down and up with their data" to_and_fro

three_tiers()
{
	make_disks
	disk third 32
	tiers=("$fast" "$slow" "$third")
	activate
	write_chunks 0 9 1
	move 3 3 1
	move 6 3 2
	move 3 3 2
	move 6 2 0
	check_chunks 0 9 1
	same "5 0 4" "$(on_rank 0 9 0) $(on_rank 0 9 1) $(on_rank 0 9 2)"
	for n in {0..8}; do data_at "$n" 1; done
	status
	is 'S[promotions] == 2 && S[demotions] == 9'
}
test_case "between three tiers, past a neighbour too" three_tiers

already_there()
{
	make_set
	write_chunks 0 4 1
	msg migrate 0 4 0
	msg migrate 100 4 1	# unmapped: nothing to move
	sleep 1
	status
	same 0 "${S[migrated]}"
	same 4 "${S[mapped]}"
	same 0 "${S[failed]}"
}
test_case "nothing happens to chunks that are there already, or nowhere" already_there

home()
{
	local v
	make_set
	# Written in reverse, so that no chunk lies in its own place.
	for v in 40 39 38 37 36 35 34 33 32; do write_chunks "$v" 1 1; done
	move 32 9 0 home
	wait_for 20 at_home 0 32 33 34 35 36 37 38 39 40
	check_chunks 32 9 1
	for v in {32..40}; do data_at "$v" 1; done
	# On the other tier as well.
	msg migrate 32 9 1 home
	wait_for 20 at_home 1 {32..40}
	check_chunks 32 9 1
	for v in {32..40}; do data_at "$v" 1; done
}
at_home() # RANK CHUNK...
{
	local v rank=$1
	shift
	for v; do
		chunk_info "$v"
		[ "${C[rank]}" = "$rank" ] && [ "${C[place]}" = "$v" ] || return 1
	done
}
test_case "home: chunk v to place v" home

home_occupied()
{
	make_set
	write_chunks 100 1 1	# the first free place of fast, 16
	chunk_info 100
	place=${C[place]}
	note "the first chunk written lies at place $place"
	write_chunks "$place" 1 2
	msg migrate "$place" 1 0 home
	wait_for 20 at_home 0 "$place"
	check_chunks 100 1 1
	check_chunks "$place" 1 2
	data_at 100 1
	data_at "$place" 2
	# The chunk that made room lies elsewhere now.
	chunk_info 100
	is "C[rank] != 0 || C[place] != $place"
}
test_case "home: an occupant moves away first" home_occupied

# A permutation within a full tier: the own place of each chunk is taken by another chunk.
home_full()
{
	make_set
	write_chunks 0 240 1 block=1m
	# The reverse of the order of allocation, for all places inside.
	msg set migration_bandwidth 0
	msg migrate 16 224 0 home
	wait_for 60 at_home 0 16 17 100 238 239
	wait_for 60 settled
	check_chunks 0 240 1 block=1m
}
test_case "home in a tier that is full" home_full

full_destination()
{
	make_set
	write_chunks 0 260 1 block=1m
	status
	same 240 "${S[used0]}"
	msg migrate 240 20 0
	wait_for 60 all_on_rank 240 20 0
	wait_for 20 settled
	status
	is 'S[used0] <= 240'
	same 260 "$((S[used0] + S[used1]))"
	check_chunks 0 260 1 block=1m
}
test_case "to a tier that is full, others make room" full_destination

# On fast, only chunks 20, 55 and 58 are not requested themselves. All others are colder. They
# lie so that one from a random start on is hardly ever the coldest, and reads are no stream.
coldest_makes_room()
{
	local n
	policy=heat features=(paused)
	disk meta 4
	disk fast 2
	disk slow 4
	length=$((61 * chunk))
	activate
	write_chunks 1 13 1
	for n in 20 55 58 0; do write_chunks "$n" 1 1; done
	same 1 "$(on_rank 0 1 1)" "chunk 0 landed on slow"
	for n in {1..40}; do
		io check "$dev" at="$(at_chunk 20)" len=4k seed=1
		io check "$dev" at="$(at_chunk 55)" len=4k seed=1
		((n % 4)) || io check "$dev" at="$(at_chunk 58)" len=4k seed=1
	done
	msg migrate 0 14 0
	wait_for 20 all_on_rank 0 14 0
	wait_for 10 settled
	same 1 "$(on_rank 58 1 1)" "the coldest that was not requested moved"
	same "1 1" "$(on_rank 20 1 0) $(on_rank 55 1 0)" "the hot ones"
	check_chunks 0 14 1
}
test_case "the coldest chunk that is not requested itself makes room" coldest_makes_room

# The last request that names a chunk says where the chunk goes.
crossing_requests()
{
	local n first nr rank i chunks=200
	local wanted=()
	make_set
	msg set migration_bandwidth 1000
	write_chunks 0 "$chunks" 1 block=1m
	for ((i = 0; i < chunks; i++)); do wanted[i]=0; done
	RANDOM=7
	for n in {1..150}; do
		first=$((RANDOM % chunks)) rank=$((RANDOM % 2))
		nr=$((1 + RANDOM % (n % 5 ? 8 : 60)))
		nr=$((nr < chunks - first ? nr : chunks - first))
		msg migrate "$first" "$nr" "$rank"
		for ((i = first; i < first + nr; i++)); do wanted[i]=$rank; done
	done
	msg set migration_bandwidth 0
	wait_for 60 same_ranks
	wait_for 10 settled
	check_chunks 0 "$chunks" 1 block=1m
}
# Each bucket is a chunk.
same_ranks()
{
	local found
	found=$(msg heat 0 "$chunks" "$chunks" | awk '{ print $8 }')
	[ "$found" = "$(printf '%s\n' "${wanted[@]}")" ]
}
test_case "of requests that cross, the newest wins" crossing_requests

# Both tiers are full: only the reserve is left to move through.
full_set()
{
	local round
	make_set
	msg set migration_bandwidth 0
	write_chunks 0 731 1 block=1m
	for round in 1 2; do
		msg migrate $((400 + round * 20)) 20 0
		wait_for 60 all_on_rank $((400 + round * 20)) 20 0
	done
	wait_for 20 settled
	check_chunks 0 731 1 block=1m
	status
	same 731 "$((S[used0] + S[used1]))"
}
test_case "in a set that is full" full_set

while_paused()
{
	make_set
	msg pause
	write_chunks 0 8 1
	move 0 8 1
	check_chunks 0 8 1
	same paused "$(info running)"
	features=(paused)
	reload
	move 0 8 0
	same paused "$(info running)"
}
test_case "migrate works while paused" while_paused

pause_stops_evacuation()
{
	disk meta 4
	disk fast 16
	disk slow 32
	length=$((200 * 128))
	core=(migration_bandwidth 1500)
	activate
	write_chunks 0 120 1
	msg evacuate 0
	wait_for 10 used_below 0 118
	msg pause
	wait_for 10 settled
	before=$(info used0)
	sleep 3
	same "$before" "$(info used0)" "places used on fast while paused"
	is 'before > 0'
	# At once means within a second or so, not at the next round of the mover.
	msg resume
	start=$EPOCHREALTIME
	wait_for 5 used_below 0 "$before"
	note "the first chunk moved $(since "$start") s after resume"
	check_chunks 0 120 1
	core=(migration_bandwidth 0)
	reload
	wait_for 30 used_below 0 1
	check_chunks 0 120 1
}
used_below() { [ "$(info "used$1")" -lt "$2" ]; }
test_case "pause stops an evacuation, resume starts it at once" pause_stops_evacuation

policy_pauses()
{
	policy=heat core=(tier0.landing 0)
	disk meta 4
	disk fast 16
	disk slow 32 irqmode=2 completion_nsec=3000000	# so that moving is worth the cost
	activate
	msg pause
	write_chunks 0 20 1
	for n in 1 2 3 4 5 6; do
		io check "$dev" at=0 len=1280k block=4k seed=1
	done
	sleep 2
	status
	same 0 "${S[promotions]}" "promotions while paused"
	same 20 "${S[used1]}"
	msg resume
	wait_for 30 promoted
	check_chunks 0 20 1
}
promoted() { [ "$(info promotions)" -gt 0 ]; }
test_case "pause stops the policy, resume lets it promote" policy_pauses

# ---- pin

pinned()
{
	policy=heat
	make_set
	write_chunks 0 8 1
	msg pin 2 3 1
	# The pin may move the chunk itself or wait for a migrate; afterwards the chunk stays.
	wait_for 20 all_on_rank 2 3 1
	chunk_info 3
	same 1 "${C[pin]}"
	same 3 "$(info pinned)"
	for n in 1 2 3 4 5 6; do
		io check "$dev" at="$(at_chunk 2)" len=192k block=4k seed=1
	done
	sleep 3
	same 3 "$(on_rank 2 3 1)" "hot pinned chunks on slow"
	msg unpin 2 3
	same 0 "$(info pinned)"
	chunk_info 3
	same - "${C[pin]}"
	check_chunks 0 8 1
}
test_case "a pinned chunk moves to its tier and stays there" pinned

pin_no_victim()
{
	make_set
	write_chunks 0 240 1 block=1m
	msg pin 0 239 0
	write_chunks 240 4 1
	msg migrate 241 1 0
	wait_for 20 all_on_rank 241 1 0
	same 239 "$(on_rank 0 239 0)" "pinned chunks on fast"
	same 0 "$(on_rank 239 1 0)" "the one that is not pinned"
	check_chunks 0 244 1 block=1m
}
test_case "a pinned chunk does not make room for another" pin_no_victim

pin_makes_room()
{
	make_set
	write_chunks 0 241 1 block=1m
	same 1 "$(on_rank 240 1 1)" "landed where there was room"
	msg pin 240 1 0
	wait_for 20 all_on_rank 240 1 0
	same 239 "$(on_rank 0 240 0)" "of those that were on fast"
	check_chunks 0 241 1 block=1m
}
test_case "a pin to a full tier sends another chunk away" pin_makes_room

# The tier of the pin is full at the first write, with chunks that are pinned there, too; later
# room appears.
pinned_first()
{
	make_set
	write_chunks 0 240 1 block=1m
	msg pin 0 240 0
	msg pin 300 1 0
	sleep 2
	write_chunks 300 1 2
	same 1 "$(on_rank 300 1 1)" "landed where there was room"
	discard_chunks 0 4
	wait_for 20 all_on_rank 300 1 0
	check_chunks 300 1 2
	check_chunks 4 236 1 block=1m
}
test_case "a chunk written away from its pin follows it" pinned_first

# ---- evacuate

evacuate()
{
	disk meta 4
	disk fast 16
	disk slow 32
	length=$((200 * 128))
	activate
	write_chunks 0 100 1
	msg pin 10 5 0
	event=$(dmsetup info -c --noheadings -o events "$set")
	msg evacuate 0
	wait_for 30 used_below 0 1
	same E "$(info state0)"
	check_chunks 0 100 1
	same 5 "$(info pinned)" "pins stay, overridden"
	timeout 10 dmsetup wait "$set" "$event" || fail "no event when the evacuation had finished"
	write_chunks 100 5 1
	same 0 "$(info used0)" "places used on a closed tier"
	msg migrate 0 2 0 || true	# refused or without effect
	sleep 1
	same 0 "$(info used0)" "places used on a closed tier after migrate"
	msg admit 0
	same A "$(info state0)"
	write_chunks 105 5 1
	wait_for 20 all_on_rank 105 5 0
	check_chunks 0 110 1
}
test_case "evacuate empties and closes a tier, admit opens it" evacuate

# More chunks are pinned to a tier than it has places. The chunks that lie elsewhere for this
# reason still leave a tier that is evacuated.
evacuate_pinned()
{
	make_disks
	disk third 32
	tiers=("$fast" "$slow" "$third")
	length=$((400 * 128))
	activate
	msg pin 0 260 0
	write_chunks 0 260 1 block=1m
	same 240 "$(info used0)" "places used on the tier of the pins"
	same 20 "$(info used1)" "places used on the next"
	msg evacuate 1
	wait_for 60 all_on_rank 240 20 2
	same 0 "$(info used1)" "places used on the tier that was evacuated"
	# Once there is room, these chunks follow their pins.
	msg unpin 0 20
	wait_for 60 all_on_rank 240 20 0
	check_chunks 0 260 1 block=1m
}
test_case "evacuate what is pinned to a tier that is full" evacuate_pinned

admit_midway()
{
	disk meta 4
	disk fast 16
	disk slow 32
	length=$((200 * 128))
	core=(migration_bandwidth 1500)
	activate
	write_chunks 0 100 1
	msg evacuate 0
	wait_for 10 used_below 0 98
	msg admit 0
	wait_for 10 settled
	before=$(info used0)
	sleep 2
	same "$before" "$(info used0)" "places used on fast after admit"
	same A "$(info state0)"
	check_chunks 0 100 1
}
test_case "admit ends an evacuation under way" admit_midway

evacuate_under_io()
{
	disk meta 4
	disk fast 16
	disk slow 32
	length=$((200 * 128))
	core=(migration_bandwidth 0)
	activate
	background io torture "$dev" at=0 len=4m chunk=64k seconds=8 seed=5 model="$tmp/model"
	sleep 2
	msg evacuate 0
	wait "$last_pid"
	wait_for 30 used_below 0 1
	io recheck "$dev" at=0 len=4m model="$tmp/model"
}
test_case "evacuate while everything is written all the time" evacuate_under_io

# ---- limits

bandwidth()
{
	make_set
	msg set migration_bandwidth "$1"
	write_chunks 0 200 1 block=1m
	# An idle set may have saved up bandwidth; it is spent first.
	msg migrate 0 40 1
	wait_for 60 all_on_rank 0 40 1
	status
	before=${S[migrated]} start=$EPOCHREALTIME
	msg migrate 40 "$2" 1
	wait_for 60 all_on_rank 40 "$2" 1
	took=$(since "$start")
	status
	moved=$(((S[migrated] - before) / 2))
	note "migration_bandwidth $1 KiB/s: $moved KiB in $took s, $(bc <<<"$moved / $took") KiB/s"
	# At most 20% above the limit. How far below depends on the machine, but half of the
	# limit must be reached.
	[ "$(bc <<<"$moved / $took <= $1 * 1.2")" = 1 ] || fail "faster than the limit"
	[ "$(bc <<<"$moved / $took >= $1 * 0.5")" = 1 ] || fail "far slower than the limit"
}
test_case "migration_bandwidth 1024 is kept" bandwidth 1024 80
test_case "migration_bandwidth 400 is kept" bandwidth 400 30

unlimited()
{
	make_set
	msg set migration_bandwidth 0
	write_chunks 0 200 1 block=1m
	start=$EPOCHREALTIME
	move 0 200 1
	note "no limit: 12800 KiB in $(since "$start") s"
	check_chunks 0 200 1 block=1m
}
test_case "migration_bandwidth 0 has no limit" unlimited

# A higher limit frees migrations that wait for a low limit.
limit_raised()
{
	make_set
	msg set migration_bandwidth 10
	write_chunks 0 60 1
	msg migrate 0 60 1
	sleep 1
	is "$(info migrated) < 60 * 128"
	msg set migration_bandwidth 0
	wait_for 10 all_on_rank 0 60 1
	check_chunks 0 60 1
}
test_case "a raised limit counts at once" limit_raised

queue_order()
{
	make_set
	# Seconds for each chunk, however slowly the test looks.
	msg set migration_bandwidth 60
	write_chunks 0 40 1
	msg migrate 30 4 1
	msg migrate 10 4 1
	wait_for 30 all_on_rank 30 4 1
	is "$(on_rank 10 4 1) < 4"
	msg set migration_bandwidth 0
	wait_for 30 all_on_rank 10 4 1
	check_chunks 0 40 1
}
test_case "what was asked for first moves first" queue_order

# migrate goes ahead of an evacuation's chunks.
ahead_of_evacuation()
{
	disk meta 4
	disk fast 16
	disk slow 32
	length=$((230 * 128))
	core=(migration_bandwidth 400)
	activate
	write_chunks 0 200 1 block=1m
	msg evacuate 0
	wait_for 20 used_below 0 199
	msg migrate 198 2 1
	wait_for 10 all_on_rank 198 2 1
	is "$(info used0) > 100"
	core=(migration_bandwidth 0)
	reload
	wait_for 30 used_below 0 1
	check_chunks 0 200 1 block=1m
}
test_case "migrate goes ahead of an evacuation" ahead_of_evacuation

# A slow copy does not hold up reads or writes of the moving chunk.
io_during_copy()
{
	disk meta 4
	disk fast 16
	disk spare 32
	wrap delay "0 $(sectors_of "$spare") delay $spare 0 0 $spare 0 4000"
	tiers=("$fast" /dev/mapper/tt_delay)
	length=$(capacity_of 128 "$fast" "$spare")
	activate
	write_chunks 0 4 1
	msg migrate 0 1 1
	wait_for 5 in_motion
	start=$EPOCHREALTIME
	check_chunks 0 1 1
	write_chunks 0 1 2
	check_chunks 0 1 2
	took=$(since "$start")
	note "read, write, read of a chunk in a slow move: $took s"
	[ "$(bc <<<"$took < 3.5")" = 1 ] || fail "I/O waited for the copy"
	chunk_info 0
	note "state of the chunk: ${C[state]}"
	wait_for 60 all_on_rank 0 1 1
	check_chunks 0 1 2
	check_chunks 1 3 1
}
test_case "a chunk can be read and written while it moves" io_during_copy

# A chunk that is written all the time still moves.
busy_chunk()
{
	make_set
	write_chunks 0 4 1
	background rewrite
	pid=$last_pid
	sleep 0.5
	move 0 2 1
	move 0 2 0
	move 0 2 1
	touch "$tmp/done"
	wait "$pid"
	check_chunks 0 1 3
	check_chunks 1 3 1
}
rewrite()
{
	while [ ! -e "$tmp/done" ]; do
		io write "$dev" at=0 len=64k block=4k seed=2
		io write "$dev" at=0 len=64k block=8k seed=3
	done
}
test_case "a chunk that is written all the time still moves" busy_chunk

read_error()
{
	disk meta 4
	disk fast 16
	disk slow 32
	wrap bad "0 $(sectors_of "$fast") linear $fast 0"
	tiers=(/dev/mapper/tt_bad "$slow")
	length=$(capacity_of 128 "$fast" "$slow")
	activate
	write_chunks 0 4 1
	dmsetup load tt_bad --table "0 $(sectors_of "$fast") error"
	dmsetup resume --noflush tt_bad
	msg migrate 0 2 1
	wait_for 20 copy_failed
	wait_for 10 settled
	same 0 "$(on_rank 0 2 1)" "chunks that could not be read"
	chunk_info 0
	note "reason given: ${C[reason]}"
	dmsetup load tt_bad --table "0 $(sectors_of "$fast") linear $fast 0"
	dmsetup resume tt_bad
	check_chunks 0 4 1
	move 0 2 1
	check_chunks 0 4 1
}
copy_failed() { [ "$(info failed)" -gt 0 ]; }
test_case "a copy that cannot read leaves the chunk where it was" read_error

write_error()
{
	disk meta 4
	disk fast 16
	disk slow 32
	wrap bad "0 $(sectors_of "$slow") linear $slow 0"
	tiers=("$fast" /dev/mapper/tt_bad)
	length=$(capacity_of 128 "$fast" "$slow")
	activate
	write_chunks 0 4 1
	event=$(dmsetup info -c --noheadings -o events "$set")
	dmsetup load tt_bad --table "0 $(sectors_of "$slow") error"
	dmsetup resume --noflush tt_bad
	msg migrate 0 2 1
	wait_for 20 copy_failed
	wait_for 10 settled
	check_chunks 0 4 1
	same F "$(info state1)"
	timeout 10 dmsetup wait "$set" "$event" || fail "no event at the first error of a tier"
	same 4 "$(on_rank 0 4 0)"
}
test_case "a copy that cannot write leaves the chunk where it was" write_error

# ---- tracepoints and logs

traced()
{
	local trace
	trace=/sys/kernel/tracing
	mountpoint -q "$trace" || mount -t tracefs tracefs "$trace"
	make_set
	[ -d "$trace/events/dm_tier" ] || fail "no tracepoints dm_tier"
	for event in dm_tier_migrate_start dm_tier_migrate_end dm_tier_migrate_abort dm_tier_mode; do
		[ -d "$trace/events/dm_tier/$event" ] || fail "no tracepoint $event"
	done
	write_chunks 0 4 1
	echo >"$trace/trace"
	echo 1 >"$trace/events/dm_tier/enable"
	move 1 2 1
	echo 0 >"$trace/events/dm_tier/enable"
	cp "$trace/trace" "$tmp/traced"
	grep -E 'dm_tier_' "$tmp/traced"
	same 2 "$(grep -c 'dm_tier_migrate_start:' "$tmp/traced")" "starts"
	same 2 "$(grep -c 'dm_tier_migrate_end:' "$tmp/traced")" "ends"
}
test_case "tracepoints show a migration" traced

# 16 MiB are 256 pieces, of which 16 are copied at once, each time as long as the disk below
# takes. If everything is written again and again, the copy gets ahead only if some writes are
# held back. If writes are held during the whole copy, they wait too long.
large_while_written()
{
	local delay=$((patience > 4 ? 500 : 125 * patience)) longest
	large_disks 64
	wrap u_slow "0 $(sectors_of "$slow") delay $slow 0 0 $slow 0 $delay"
	tiers=("$fast" /dev/mapper/tt_u_slow)
	activate
	moves_under --rw=write --iodepth=8
	(load_large --rw=read --output="$tmp/read") || fail "$(<"$tmp/read")"
	longest=$(of_load 'write.clat_ns.max / 1000000 | floor')
	note "a write took $longest ms at most; a copy of all takes $((16 * delay))"
	is "longest < 10 * $delay"
}
# large_disks MIB: chunks of 16 MiB, a fast tier of that size, and nothing that slows moves down
large_disks()
{
	chunk=32768
	disk meta 4
	disk fast "$1"
	disk slow 64
	core=(migration_bandwidth 0 latency_guard 0)
}
# moves_under OPTION...: chunk 0 moves while such a load runs
moves_under()
{
	local load start
	background load_large --do_verify=0 --time_based --runtime=3600 \
		--output-format=json --output="$tmp/load" "$@"
	load=$last_pid
	wait_for 30 is_written_twice
	start=$EPOCHREALTIME
	msg migrate 0 1 1
	wait_for 60 all_on_rank 0 1 1
	note "moved in $(since "$start") s"
	kill -INT "$load"
	wait "$load" || true	# fio reports that it was stopped
	same 0 "$(of_load error)" "fio's error"
	same "0 0" "$(info aborted) $(info failed)" "aborted and failed moves"
}
# load_large OPTION...: writes the whole chunk, in order
load_large()
{
	exec fio --name=load --filename="$dev" --direct=1 --ioengine=libaio --bs=64k --size=16m \
		--verify=crc32c --verify_state_save=0 "$@"
}
# fio's report, behind the line that it was stopped.
of_load() { sed -n '/^{/,$p' "$tmp/load" | jq ".jobs[0].$1"; }
is_written_twice() { [ "$(info writes0)" -gt 512 ]; }
test_case "a large chunk moves while it is written all the time, and no write waits long" \
	large_while_written

# Many small writes, slow on the source, while copies are fast: fewer must be let through,
# however few pieces are dirty.
many_in_flight()
{
	large_disks 64
	wrap u_fast "0 $(sectors_of "$fast") delay $fast 0 0 $fast 0 200"
	tiers=(/dev/mapper/tt_u_fast "$slow")
	activate
	moves_under --rw=randwrite --bs=4k --iodepth=64 --verify=0
}
test_case "a large chunk moves while many small writes to it are in flight" many_in_flight

# Pieces with writes in flight at the end of a pass will be dirty. Writes are not held while
# there are more of these than fit one copy, here half of the chunk.
large_in_flight()
{
	local start half end discard n
	large_disks 64
	wrap u_fast "$(linear_line fast)"
	tiers=(/dev/mapper/tt_u_fast "$slow")
	activate
	write_chunks 0 1 1
	half=$(($(sector_of 0) + chunk / 2)) end=$(($(sector_of 0) + chunk))
	lower fast "0 $half linear $fast 0" "$half $((chunk / 2)) delay $fast $half 0 $fast $half 60000" \
		"$end $(($(sectors_of "$fast") - end)) linear $fast $end"
	msg set migration_bandwidth 4096
	msg migrate 0 1 1
	wait_for 10 in_motion
	background blkdiscard -o 8m -l 8m "$dev"
	discard=$last_pid
	wait_for 20 holds_io tt_u_fast
	# Lets the rest of the first pass, and some more passes, run
	msg set migration_bandwidth 0
	for n in {1..12}; do
		start=$EPOCHREALTIME
		io write "$dev" at=0 len=4k seed=1
		[ "$(bc <<<"$(since "$start") < 2.5")" = 1 ] || fail "write $n waited for the discard: $(since "$start") s"
		nap 0.3
	done
	in_motion || fail "the chunk has moved before the discard has ended"
	lower fast "$(linear_line fast)"
	wait "$discard"
	wait_for 60 all_on_rank 0 1 1
	same "0 0" "$(info aborted) $(info failed)" "aborted and failed moves"
	io check "$dev" at=0 len=8m seed=1
}
test_case "writes to a large chunk do not wait for a large one in flight" large_in_flight

# A tier is closed while a chunk moves to it: the chunk does not arrive.
closed_destination()
{
	large_disks 80
	length=$((2 * chunk))
	core=(migration_bandwidth 1024)
	activate
	write_chunks 0 1 1
	move 0 1 1
	write_chunks 1 1 2
	same "1 1" "$(info demotions) $(info used1)" "moves to and chunks on slow"
	msg migrate 1 1 1
	wait_for 10 in_motion
	"$1"
	msg set migration_bandwidth 0
	wait_for 30 settled
	same "1 1 0" "$(info demotions) $(info aborted) $(info failed)" "moves to slow, aborted and failed ones"
	same 1 "$(on_rank 1 1 0)" "still on fast"
	check_chunks 1 1 2
	msg admit 1
	move 1 1 1
	check_chunks 0 1 1
	check_chunks 1 1 2
}
by_evacuate() { msg evacuate 1; msg pause; }
# Writes fail at the place of the chunk that is on slow already.
by_write_error()
{
	local sector
	sector=$(sector_of 0)
	bad_sectors "$slow" "$sector" 8
	fails io write "$dev" at=0 len=4k seed=3
	good_sectors "$slow" "$sector" 8
	same F "$(info state1)" "state of slow"
}
test_case "an evacuation ends the moves to its tier" closed_destination by_evacuate
test_case "a write error ends the moves to its tier" closed_destination by_write_error

run_tests
