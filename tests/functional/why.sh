#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=600: the clock of a steady guest runs ahead (ci/guest/run)
#
# Why chunks stay where they are: the word `held` of the message chunk, and how often each of them
# held back a chunk that was worth a look (the message holds).  The heat engine alone: unit/test-heat.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2

# make_set CHUNKS [SLOW-OPTION...]: CHUNKS with data, all on the slow tier, paused
make_set()
{
	policy=${own_policy:-heat}
	features=(paused)
	# What is measured of the disks, on a busy machine, says little of them.
	core=(tier0.landing 0 migration_bandwidth 0 latency_guard 0 tier0.latency 20 tier1.latency 2000
	      "${core[@]}")
	disk meta 4
	disk fast 16 irqmode=2 completion_nsec=20000
	disk slow 64 irqmode=2 completion_nsec=2000000 "${@:2}"
	activate
	write_chunks 0 "$1" 1 block=1m
	io sync "$dev"
}

# heat_up CHUNK [TIMES]: reads the same 4 KiB, which never looks like a stream
heat_up()
{
	local i before
	before=$(heat_of "$1")
	for ((i = 0; i < ${2:-30}; i++)); do
		dd if="$dev" of=/dev/null bs=4k count=1 skip=$(($1 * chunk / 8)) iflag=direct status=none
	done
	# What was noted reaches the policy a moment later.
	wait_for 20 hotter "$1" "$before"
}
heat_of() { msg heat "$1" 1 1 | awk '{ print $4 + $5 }'; }
hotter() { [ "$(heat_of "$1")" -gt "$2" ]; }

held_is() { [ "$(hold_of "$1")" = "$2" ]; }
counted() { [ "$(hold_count "$1")" -gt "${2:-0}" ]; }

words="nothing_faster cold price budget endurance guard load residence pinned paused full quiet \
depth unread busy requested static read_only unmapped missing"

answers()
{
	make_set 8
	same "$words" "$(msg holds | tr ' ' '\n' | grep -v '^[0-9]' | xargs)" "words, in their order"
	same "" "$(msg holds | tr ' ' '\n' | awk 'NR % 2 == 0 && !/^[0-9]+$/')" "what is no number"
	same cold "$(hold_of 0)" "a chunk without heat"
	same unmapped "$(hold_of 700)" "a chunk without data"
	move 3 1 0
	wait_for 10 held_is 3 nothing_faster
	msg pin 5 1 1
	same pinned "$(hold_of 5)" "a pinned chunk"
	same 0 "$(hold_count cold)" "how often chunks that nobody wants were held back"
}
test_case "each chunk says what holds it; chunks without heat are not counted" answers

paused()
{
	make_set 300
	heat_up 200
	same paused "$(hold_of 200)" "a hot chunk of a paused set"
	wait_for 10 counted paused
	same 0 "$(hold_count pinned)" "chunks counted as pinned"
	msg resume
	wait_for 20 all_on_rank 200 1 0
	same nothing_faster "$(hold_of 200)" "once it has moved"
	before=$(hold_count paused)
	heat_up 250
	wait_for 20 all_on_rank 250 1 0
	same "$before" "$(hold_count paused)" "chunks counted as paused after resume"
}
test_case "paused: a hot chunk stays, and moves after resume" paused

pinned()
{
	make_set 300
	msg resume
	msg pin 200 1 1
	heat_up 200
	same pinned "$(hold_of 200)"
	counted pinned || fail "it was not counted"
	same 1 "$(on_rank 200 1 1)" "chunks on slow"
	msg unpin 200 1
	heat_up 200 4
	wait_for 20 all_on_rank 200 1 0
}
test_case "pinned: a hot chunk stays until it is unpinned" pinned

# A request takes each token that comes, one in 8 seconds.
budget()
{
	make_set 300
	msg set migration_bandwidth 8
	msg migrate 0 100 0
	wait_for 200 all_on_rank 0 1 0
	msg resume
	heat_up 200
	same budget "$(hold_of 200)"
	wait_for 20 counted budget
	same 1 "$(on_rank 200 1 1)" "chunks on slow"
	msg set migration_bandwidth 0
	wait_for 20 all_on_rank 200 1 0
}
test_case "budget: a hot chunk waits for migration_bandwidth" budget

# Of 1 GiB a day, 102 chunks of 1 MiB may be saved up, and another one is allowed every 84 seconds.
endurance()
{
	local i
	chunk=2048
	make_set 60
	msg set tier0.endurance 1
	for ((i = 0; i < 12; i++)); do
		move 0 10 0
		move 0 10 1
	done
	msg resume
	heat_up 50
	same endurance "$(hold_of 50)"
	wait_for 20 counted endurance
	same 1 "$(on_rank 50 1 1)" "chunks on slow"
	msg set tier0.endurance 0
	heat_up 50 4
	wait_for 20 all_on_rank 50 1 0
}
test_case "endurance: a hot chunk waits while that of the fast tier is spent" endurance

lands_slow_again()
{
	move "$1" 1 0
	move "$1" 1 1
}

residence()
{
	make_set 300
	msg set tier1.residence $((10 * patience))
	heat_up 200
	# Nothing is known of what came before.
	same paused "$(hold_of 200)"
	lands_slow_again 200
	msg resume
	same residence "$(hold_of 200)"
	heat_up 200 4
	wait_for 5 counted residence
	same 1 "$(on_rank 200 1 1)" "chunks on slow"
	wait_for 15 held_is 200 nothing
	heat_up 200 1
	wait_for 5 all_on_rank 200 1 0
}
test_case "residence: a hot chunk that came lately stays for that time" residence

# Places of the fast tier: 240.  What is asked for does not heed the policy's rules.
watermark()
{
	make_set 300
	msg set tier0.watermark 50
	msg set tier0.residence $((15 * patience))
	move 0 200 0
	msg resume
	nap 5
	same 200 "$(info used0)" "chunks that came lately"
	# Nobody uses the set: it looks by itself.
	wait_for 30 used_fast 120
	is "$(info used0) >= 116"
	heat_up 250
	heat_up 270
	wait_for 30 hot_is_up
	is "$(info used0) <= 120"
	msg pause
	msg set tier0.residence 3600
	status
	msg pin 0 "${S[places0]}" 0
	wait_for 30 all_on_rank 0 "${S[places0]}" 0
}
hot_is_up() { [ "$(on_rank 270 1 0)" = 1 ]; }
used_fast() { [ "$(info used0)" -le "$1" ]; }
test_case "watermark: the policy leaves so much free, and makes it free" watermark

full()
{
	local places
	make_set 300
	status
	places=${S[places0]}
	msg pin 0 "$places" 0
	wait_for 60 all_on_rank 0 "$places" 0
	msg resume
	heat_up 270
	same full "$(hold_of 270)"
	wait_for 20 counted full
	same 1 "$(on_rank 270 1 1)" "chunks on slow"
	msg unpin 0 "$places"
	heat_up 270 4
	wait_for 20 all_on_rank 270 1 0
}
test_case "full: all that lies on the fast tier is pinned" full

# make_crowd: cold chunks of 1 MiB fill the fast tier; a swap costs some accesses
make_crowd()
{
	chunk=2048
	make_set 60 mbps=100
	status
	move 0 "${S[places0]}" 0
	msg set headroom 0
}

# Warm enough to be looked at, and too cold to move: counted once it is weighed.
too_dear()
{
	local i
	make_crowd
	for ((i = 0; i < 100; i++)); do
		heat_up 50 1
		! held_is 50 price || break
	done
	same 0 "$(hold_count price)" "chunks counted before the policy looks at any"
	msg resume
	wait_for 20 counted price
	same 1 "$(on_rank 50 1 1)" "chunks on slow"
}
test_case "price: a chunk that is too cold for a swap stays, and is counted" too_dear

# hot_ones KEY VALUE END WORD: chunks of 1 MiB, 30, 32 and so on, are hot on the slow tier; the word
# has held back none yet
hot_ones()
{
	local i
	chunk=2048
	make_set 60 mbps=100
	msg set "$1" "$2"
	for ((i = 30; i < $3; i += 2)); do heat_up "$i" 8; done
	same 0 "$(hold_count "$4")" "looks that $4 held back, before anything moved"
}

depth()
{
	hot_ones migration_depth 1 54 depth
	msg resume
	wait_for 60 counted depth
}
test_case "depth: hot chunks wait for others" depth

# Beside reads of the slow tier, a chunk of 1 MiB moves in a quarter of a second at first. What is read
# several times in 10 s would not wait.
guard()
{
	hot_ones latency_guard 20 38 guard
	nap 31
	background dd if="$dev" of=/dev/null bs=4k count=100000 iflag=direct status=none
	msg resume
	wait_for 20 counted guard
}
test_case "guard: hot chunks wait beside foreground I/O" guard

no_policy()
{
	own_policy=static
	make_set 8
	same static "$(hold_of 0)"
	msg resume
	move 0 1 0
	wait_for 10 held_is 0 static
}
test_case "static: the policy moves nothing" no_policy

requested()
{
	make_set 300
	msg set migration_bandwidth 8
	msg migrate 0 100 0
	wait_for 200 all_on_rank 0 1 0
	same requested "$(hold_of 0)" "a chunk of a request that is under way"
}
test_case "requested: as long as migrate is at work" requested

frozen()
{
	make_set 8
	deactivate
	features=(read_only)
	activate
	same read_only "$(hold_of 0)"
	deactivate
	features=() core=()
	tiers=(- "$slow")
	activate
	same nothing_faster "$(hold_of 0)" "a chunk, with no faster tier there"
	deactivate
	tiers=("$fast" -)
	activate
	same missing "$(hold_of 0)" "a chunk of a missing tier"
}
test_case "read_only, missing" frozen

run_tests
