#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=600: the clock of a steady guest runs ahead (ci/guest/run)
# steady: it measures speed
#
# Limits of the policy's moves, measured: the endurance of a tier.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need fio

# 1 GiB a day are 24.3 sectors a second, a chunk of 64 KiB in 5.3 s; a tenth of
# a day, 1638 chunks, may be saved up.
day=1
saved=1638

# hot SECONDS: reads more chunks of the slow tier than fit the fast tier, so that the policy
# always wants to promote
hot()
{
	fio --name=hot --filename="$dev" --direct=1 --ioengine=libaio --iodepth=4 \
		--rw=randread --bs=4k --offset="$(at_chunk 2000)" --size=16m \
		--time_based --runtime="$1" --randseed=3 --output="$tmp/fio"
}

promotions() { info promotions; }

endurance()
{
	local start before now rate seconds
	policy=heat
	disk meta 4
	disk fast 256 irqmode=2 completion_nsec=20000
	disk slow 256 irqmode=2 completion_nsec=2000000
	core=(tier0.landing 0 migration_bandwidth 0)
	activate
	msg pause
	write_chunks 0 2300 1 block=1m
	io sync "$dev"
	msg set tier0.endurance "$day"
	# Moves by message are not stopped by the limit, but use it up.
	msg migrate 0 1700 0
	wait_for 60 all_on_rank 0 1700 0
	wait_for 10 settled
	before=$(promotions)
	same 1700 "$before" "promotions by message; more than the $saved saved up"

	msg resume
	start=$EPOCHREALTIME
	hot 30
	now=$(promotions) seconds=$(since "$start")
	rate=$((now - before))
	note "$rate promotions by the policy in $seconds s; the day's rate gives 5 to 6 in 30 s"
	is "rate * 3000 <= 8 * ${seconds/./}"
	# As the budget grows, the policy's moves go on.
	is "rate * 3000 >= 4 * ${seconds/./}"

	# Without the limit the same load is promoted at once.
	msg set tier0.endurance 0
	start=$EPOCHREALTIME
	hot 10
	note "$(($(promotions) - now)) in $(since "$start") s without the limit"
	is "$(promotions) - $now >= 40"
	check_chunks 0 2300 1 block=1m
}
test_case "endurance: promotions stop when it is used up and go on as it returns" endurance

# What users write is taken off the allowance.
endurance_users()
{
	local i before
	policy=heat
	disk meta 4
	disk fast 64 irqmode=2 completion_nsec=20000
	disk slow 256 irqmode=2 completion_nsec=2000000
	core=(tier0.landing 0 migration_bandwidth 0)
	activate
	msg pause
	write_chunks 0 2300 1 block=1m
	io sync "$dev"
	msg migrate 0 256 0
	wait_for 60 all_on_rank 0 256 0
	wait_for 10 settled
	msg set tier0.endurance "$day"
	# 16 MiB, ten times; 102 MiB may be saved up.
	for ((i = 0; i < 10; i++)); do write_chunks 0 256 2 block=1m; done
	before=$(promotions)
	msg resume
	hot 10
	note "$(($(promotions) - before)) promotions by the policy after users wrote too much"
	same "$before" "$(promotions)" "promotions"
	msg set tier0.endurance 0
	hot 5
	is "$(promotions) - $before >= 20"
}
test_case "endurance: nothing is promoted while users write more than it allows" endurance_users

# Another tier's endurance does not matter, and a table's key overrides.
endurance_other()
{
	policy=heat
	disk meta 4
	disk fast 64 irqmode=2 completion_nsec=20000
	disk slow 256 irqmode=2 completion_nsec=2000000
	core=(tier0.landing 0 tier1.endurance 1)
	activate
	write_chunks 2000 300 1 block=1m
	io sync "$dev"
	hot 10
	note "$(promotions) promotions with a limit on the other tier"
	is "$(promotions) >= 40"
}
test_case "endurance counts what is written to the tier itself" endurance_other

run_tests
