#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
#
# One tier takes seconds for each I/O, or does not answer at all: reads, writes, first writes and
# migrations of the other tiers go on. Their latencies are measured and bounded. The tiers'
# queues have room (tests/functional covers full queues).

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
turns=2
# shellcheck source=lib-faults.sh
. "$(dirname "$0")/lib-faults.sh"
need fio

# Limit for an I/O that does not touch the slow tier, with the start of its process: less than
# any I/O of the slow tier takes.
slow_ms=20000
limit_ms=10000
n=5			# of each kind
c=$third

# Chunks 0-39 on a, 40-79 on b, which will be slow, 80-119 on the third tier.
make_three()
{
	disk meta 4 cache_size=2
	disk fast 16 cache_size=4
	disk slow 32 cache_size=4
	disk third 32 cache_size=4
	wrap b "$(tier_table good "$slow")"
	tiers=("$fast" "$b" "$c")
	core=(migration_bandwidth 0 migration_depth 8)
	activate
	write_chunks 0 120 1 block=1m
	move 40 40 1
	move 80 40 2
	io sync "$dev"
}

# worst WHAT COUNT COMMAND...: runs COMMAND so many times, with N set to 0, 1...; prints the
# longest time and checks its limit
worst()
{
	local what=$1 count=$2 us longest=0 N start
	shift 2
	for ((N = 0; N < count; N++)); do
		start=$EPOCHREALTIME
		"$@" "$N"
		us=$((${EPOCHREALTIME/./} - ${start/./}))
		longest=$((us > longest ? us : longest))
	done
	note "$what: at most $((longest / 1000)) ms"
	[ $((longest / 1000)) -lt "$limit_ms" ] || fail "$what took $((longest / 1000)) ms"
}
read_one() { check_chunks $(($1 % 20)) 1 1; }
read_third() { check_chunks $((80 + $1)) 1 1; }
write_one() { write_chunks $((20 + $1)) 1 2; }
# Only FUA: the FLUSH after an O_DSYNC write would go to all tiers.
write_fua() { write_chunks $((100 + $1)) 1 2 flags=fua_alone; }
first_one() { write_chunks $((200 + $1)) 1 2; }
discard_one() { discard_chunks $((20 + $1)) 1; }

others_go_on()
{
	local start
	worst "reads of the fast tier" "$n" read_one
	worst "reads of the third" "$n" read_third
	worst "overwrites" $((2 * n)) write_one
	worst "FUA writes" "$n" write_fua
	worst "first writes" "$n" first_one
	start=$EPOCHREALTIME
	msg migrate 0 10 2
	wait_for 15 all_on_rank 0 10 2
	msg migrate 0 10 0
	wait_for 15 all_on_rank 0 10 0
	note "20 migrations between the others: $(since "$start") s"
	check_chunks 0 10 1
	worst "discards" "$n" discard_one
}

all_data()
{
	check_chunks 0 20 1
	check_chunks 20 "$n" 0
	check_chunks $((20 + n)) "$n" 2
	check_chunks $((20 + 2 * n)) $((80 - 2 * n)) 1
	check_chunks 100 "$n" 2
	check_chunks $((100 + n)) $((20 - n)) 1
	check_chunks 200 "$n" 2
}

# Each I/O of the tier takes seconds, while that tier is read, written and migrated.
slow()
{
	local start took
	make_three
	swap b "$(tier_table "$slow_ms" "$slow")"
	background io check "$dev" at="$(at_chunk 40)" len="$(at_chunk 20)" seed=1
	start=$EPOCHREALTIME
	check_chunks 60 1 1
	took=$(since "$start")
	note "a read of the slow tier: $took s"
	is "${took%.*} * 1000 >= slow_ms - 1000"
	msg migrate 60 4 0
	msg migrate 30 4 1
	others_go_on
	swap b "$(tier_table good "$slow")"
	wait_for 60 settled
	io sync "$dev"
	all_data
	deactivate
	activate
	all_data
}
test_case "a tier that takes 20 s for each I/O" slow

# The dm device below is suspended: I/O sent there waits.
hung()
{
	make_three
	dmsetup suspend --noflush --nolockfs tt_b
	later check_chunks 60 4 1
	background io write "$dev" at="$(at_chunk 70)" len="$(at_chunk 4)" seed=1
	# More migrations than migration_depth, from and to the tier that hangs.
	msg migrate 60 10 0
	msg migrate 30 10 1
	nap 6
	others_go_on
	still_waiting "a read of the tier that hangs"
	same rw "$(info mode)" "mode"
	same A "$(info state1)" "state of the tier that hangs"
	dmsetup resume tt_b
	same 0 "$(later_status)" "the read that waited"
	wait_for 60 all_on_rank 60 10 0
	wait_for 60 all_on_rank 30 10 1
	wait_for 60 settled
	io sync "$dev"
	all_data
	same 0 "$(info failed)" "failed migrations"
}
test_case "a tier that hangs" hung

# More places than the reserve are being freed on the tier that hangs.
discards_hang()
{
	make_three
	dmsetup suspend --noflush --nolockfs tt_b
	msg migrate 60 1 0
	later discard_chunks 40 16
	wait_for 20 mapped_are 104
	nap 6
	msg migrate 0 10 2
	wait_for 15 all_on_rank 0 10 2
	still_waiting "a discard of the tier that hangs"
	dmsetup resume tt_b
	same 0 "$(later_status)" "the discard that waited"
	wait_for 60 all_on_rank 60 1 0
	wait_for 60 settled
	check_chunks 0 40 1
	check_chunks 40 16 0
	check_chunks 56 64 1
}
mapped_are() { [ "$(info mapped)" = "$1" ]; }
test_case "discards of a tier that hangs" discards_hang

# The held I/O ends with errors.
hung_then_lost()
{
	make_three
	dmsetup suspend --noflush --nolockfs tt_b
	later check_chunks 60 1 1
	msg migrate 60 4 0
	nap 1
	dmsetup load tt_b --table "$(tier_table all "$slow")"
	dmsetup resume tt_b
	same 5 "$(later_status)" "the read that waited"
	wait_for 30 settled
	same F "$(info state1)" "state"
	same 40 "$(on_rank 40 40 1)" "chunks on the tier that is lost"
	others_go_on
	swap b "$(tier_table good "$slow")"
	msg admit 1
	all_data
}
test_case "a tier that hangs and then fails" hung_then_lost

# The tier gets more first writes than it makes at once, and holds them. A later first write to
# another tier is not held up, and all of them are done in the end.
crowd()
{
	local n=400 since held
	disk meta 4
	disk fast 32
	disk slow 16
	wrap a "$(tier_table good "$fast")"
	tiers=("$a" "$slow")
	activate
	msg pin 600 1 1
	trap 'tier a good' EXIT		# otherwise nothing could be removed after a failure
	since=$SECONDS
	tier a hold
	later io scatter "$dev" at=0 len="$(at_chunk "$n")" chunk="$(at_chunk 1)" block=512 \
		seed=1 model="$tmp/model"
	wait_for 30 grep -q "under way" "$tmp/later.out"
	write_chunks 600 1 2
	all_on_rank 600 1 1 || fail "the pinned chunk is not on its tier"
	wait_for 30 many_held 256
	nap 2
	same 256 "$(writes_held)" "writes on their way to the tier"
	still_waiting "the first writes"
	tier a good
	held=$((SECONDS - since))
	same 0 "$(later_status)" "the first writes"
	# After 5 s the first writes that still wait go to another tier.
	if ((held < 5)); then
		same "$((n + 1)) $n" "$(info mapped) $(info used0)" "mapped, and on the tier"
	else
		same "$((n + 1))" "$(info mapped)" "mapped"
		is "$(info used0) >= 256"
	fi
	io recheck "$dev" at=0 len="$(at_chunk "$n")" model="$tmp/model"
	check_chunks 600 1 2
}
# writes_held: tt_a holds writes
writes_held()
{
	local _ writes
	read -r _ _ _ _ writes _ < <(dmsetup status tt_a)
	echo "$writes"
}
many_held() { [ "$(writes_held)" -ge "$1" ]; }
test_case "many first writes of a tier that hangs" crowd

# A new chunk stays in its place until it is committed, which takes seconds on a tier whose
# flushes do. A chunk that needs room there waits, and does not fail.
uncommitted()
{
	disk meta 4
	disk fast 16 cache_size=4
	disk slow 32 cache_size=4
	wrap b "$(tier_table good "$fast")"
	tiers=("$b" "$slow")
	core=(migration_bandwidth 0)
	activate
	swap b "0 $(sectors_of "$fast") delay $fast 0 0 $fast 0 0 $fast 0 60000"
	write_chunks 0 260 1 block=1m
	same 240 "$(info used0)" "places used of the fast tier"
	msg migrate 240 20 0
	nap 5
	same "0 0" "$(info failed) $(info promotions)" "failed migrations, promotions"
	swap b "$(tier_table good "$fast")"
	wait_for 60 all_on_rank 240 20 0
	same 0 "$(info failed)" "failed migrations"
	check_chunks 0 260 1 block=1m
}
test_case "room on a tier where nothing is committed yet" uncommitted

# One chunk is not written yet. Moves that take long leave a place for it.
last_place()
{
	disk meta 4
	disk fast 16
	disk slow 32
	wrap b "$(tier_table good "$fast")"
	tiers=("$b" "$slow")
	core=(migration_bandwidth 0 migration_depth 16)
	activate
	write_chunks 0 730 1 block=1m
	io sync "$dev"
	swap b "0 $(sectors_of "$fast") delay $fast 0 60000 $fast 0 0"
	msg migrate 0 16 1
	wait_for 20 moving 5
	nap 1
	timeout $((10 * patience)) "$tierio" write "$dev" at="$(at_chunk 730)" len=64k seed=1 ||
		fail "the first write waits"
	same "731 0" "$(info mapped) $(info promotions)" "chunks mapped, promotions"
	swap b "$(tier_table good "$fast")"
	wait_for 60 all_on_rank 0 5 1
	wait_for 60 settled
	check_chunks 0 731 1 block=1m
}
moving() { [ "$(info in_flight)" -ge "$1" ]; }
test_case "a first write does not wait for moves that have taken all places" last_place

# slow_writes: a set of two tiers; the slower tier takes 7 s for each write from now on; chunk 0
# lies on tier $1.
slow_writes()
{
	make_disks
	wrap b "0 $(sectors_of "$slow") linear $slow 0"
	tiers=("$fast" "$b")
	core=(migration_bandwidth 0)
	activate
	write_chunks 0 1 1
	[ "$1" = 0 ] || move 0 1 1
	io sync "$dev"
	swap b "0 $(sectors_of "$slow") delay $slow 0 0 $slow 0 7000"
}

# A chunk that always has a write in flight: later writes wait until the last of these has ended,
# even if that takes longer than a device is given to answer.
never_quiet()
{
	local i
	slow_writes 1
	for i in 0 1 2; do
		background fio --name="w$i" --filename="$dev" --size="$(at_chunk 1)" --bs=4k --rw=write \
			--direct=1 --time_based --runtime=600 --startdelay=$((2 * i)) --output=/dev/null
	done
	nap 8
	msg migrate 0 1 0
	wait_for 30 all_on_rank 0 1 0
	wait_for 30 settled
}
test_case "a chunk that moves while slow writes to it never end" never_quiet

# The latest request counts, also for a chunk that is moving.
changed_mind()
{
	slow_writes 0
	msg migrate 0 1 1
	wait_for 5 in_motion
	msg migrate 0 1 0
	wait_for 60 came_back
	wait_for 60 settled
	same 1 "$(on_rank 0 1 0)" "chunks on the tier asked for last"
	check_chunks 0 1 1
}
came_back() { [ "$(info promotions)" = 1 ]; }
test_case "a chunk is asked back while it moves away" changed_mind

# new_chunks N: starts a first write to each of N chunks in the background
new_chunks()
{
	background fio --name=new --filename="$dev" --size="$(at_chunk "$1")" --io_size=$(($1 * 4))k --bs=4k \
		--rw=write:60k --direct=1 --ioengine=libaio --iodepth=64 --output=/dev/null
}

# First writes come faster than slow metadata can commit them: they wait, and a FLUSH does not
# wait for later first writes.
backlog()
{
	local size nr=30000 discards=20000 m=/dev/mapper/tt_m flush during
	disk meta 8
	disk fast 2100
	disk slow 2100
	size=$(sectors_of "$meta")
	wrap m "0 $size linear $meta 0"
	metadata=$m tiers=("$fast" "$slow") features=(skip_zeroing) core=(tier1.landing 0)
	activate
	swap m "0 $size delay $meta 0 0 $meta 0 60000"
	new_chunks "$nr"
	wait_for 60 no_more_written
	note "$(nr_written) chunks are written without a commit"
	[ "$(nr_written)" -lt 9000 ] || fail "$(nr_written) chunks are written without a commit"
	# First writes do not go to another tier: the tier is not the slow device.
	nap 7
	[ "$(nr_written "$slow")" -lt 100 ] || fail "$(nr_written "$slow") chunks are written to the slow tier"
	swap m "0 $size delay $meta 0 0 $meta 0 2000"
	io sync "$dev"
	during=$(nr_written)
	note "$during chunks are written when the FLUSH ends"
	# The FLUSH waits for earlier first writes, of which a commit takes 4096 at once.
	[ "$during" -lt 24000 ] || fail "the FLUSH has waited for writes that came after it"
	kill -0 "$last_pid" || fail "the FLUSH has waited for writes that came after it"
	swap m "0 $size linear $meta 0"
	wait "$last_pid"
	io sync "$dev"
	same "$nr" "$(info mapped)" "chunks mapped"

	# A FLUSH does not wait for later discards either, however many there are at once.
	swap m "0 $size delay $meta 0 0 $meta 0 60000"
	io write "$dev" at="$(at_chunk "$nr")" len=4k seed=1
	wait_for 20 holds_io tt_m
	io write "$dev" at="$(at_chunk $((nr + 1)))" len=4k seed=1
	background io sync "$dev"
	flush=$last_pid
	nap 3
	background blkdiscard -f -o 0 -l $((discards * chunk * 512)) "$dev"
	wait_for 60 all_submitted "$last_pid"
	swap m "0 $size delay $meta 0 0 $meta 0 2000"
	if ! (wait_for 40 has_ended "$flush"); then
		swap m "0 $size linear $meta 0"
		fail "the FLUSH waits for discards that came after it"
	fi
	wait "$flush"
	swap m "0 $size delay $meta 0 0 $meta 0 60000"
	wait_for 60 is_steady nr_discarded
	during=$(nr_discarded)
	swap m "0 $size linear $meta 0"
	note "$during chunks are discarded when the FLUSH ends"
	[ "$during" -lt "$discards" ] ||
		fail "the FLUSH has waited for discards that came after it"
	wait "$last_pid"
	io sync "$dev"
	same $((nr + 2 - discards)) "$(info mapped)" "chunks mapped"
}
# all_submitted PID: the process waits for the end of its I/O (a status would wait for the commit)
all_submitted() { [[ $(<"/proc/$1/stat") == *") D "* ]]; }
# Counted by the disk, as status waits for the commit: nr_written [DISK], nr_discarded
nr_written() { stat_of "${1:-$fast}" 4; }
nr_discarded() { echo $(($(stat_of "$fast" 13) / chunk)); }
no_more_written() { [ "$(nr_written)" -gt 1000 ] && is_steady nr_written; }
test_case "first writes that are faster than the metadata" backlog

# I/O of decided chunks, and reads of all, do not wait for a commit that is under way.
commit_under_way()
{
	local size m=/dev/mapper/tt_m
	disk meta 4
	disk fast 16
	size=$(sectors_of "$meta")
	wrap m "0 $size linear $meta 0"
	metadata=$m tiers=("$fast")
	activate
	write_chunks 0 40 1 block=1m
	io sync "$dev"
	swap m "0 $size delay $meta 0 0 $meta 0 60000"
	write_chunks 50 1 1
	background io sync "$dev"
	wait_for 20 holds_io tt_m
	worst "reads during a commit" "$n" read_one
	worst "writes during a commit" "$n" write_one
	worst "reads of the chunk that is committed" "$n" read_new
	worst "reads of a chunk without a place" "$n" read_unmapped
	kill -0 "$last_pid" || fail "the commit has ended meanwhile"
	swap m "0 $size linear $meta 0"
	wait "$last_pid"
	check_chunks 50 1 1
}
read_new() { check_chunks 50 1 1; }
read_unmapped() { check_chunks 60 1 0; }
test_case "I/O while a commit is under way" commit_under_way

# Only so many first writes wait for a tier whose flush does not end: the others go to another
# tier.
hanging_flush()
{
	local size nr=20000
	disk meta 8
	disk fast 1400 cache_size=8
	disk slow 1400
	size=$(sectors_of "$fast")
	wrap a "0 $size linear $fast 0"
	tiers=("$a" "$slow") features=(skip_zeroing)
	activate
	swap a "0 $size delay $fast 0 0 $fast 0 0 $fast 0 600000"
	new_chunks "$nr"
	wait_for 120 has_ended "$last_pid"
	wait "$last_pid"
	note "$(nr_written) chunks are written to the tier that does not flush"
	[ "$(nr_written)" -lt 9000 ] || fail "$(nr_written) chunks are written to it"
	swap a "0 $size linear $fast 0"
	io sync "$dev"
	same "$nr" "$(info mapped)" "chunks mapped"
}
test_case "first writes to a tier that does not come to an end with a flush" hanging_flush

run_tests
