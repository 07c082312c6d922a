#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Right table lines, which all come back from `dmsetup table` as they were given.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2
unset -f dmsetup	# the plain dmsetup that administrators use, only in this file

# ---- right lines

# with_numbers LINE: names replaced by major:minor, as dmsetup accepts both
with_numbers()
{
	local word words=()
	read -ra words <<<"$1"
	for word in "${!words[@]}"; do
		[[ ${words[word]} != /dev/* ]] || words[word]=$(majmin "${words[word]}")
	done
	echo "${words[*]}"
}

# table_back: dmsetup table prints the given line, and that line loads again.
table_back()
{
	local line given
	line=$(dmsetup table "$set")
	given=$(with_numbers "$(table_line)")
	same "$given" "$(with_numbers "$line")" "table"
	suspend
	dmsetup load "$set" --table "$line"
	same "$line" "$(dmsetup table --inactive "$set")" "inactive table"
	resume
	same "$line" "$(dmsetup table "$set")" "table after a reload with itself"
}

right_line()
{
	make_set
	table_back
	status
	same rw "${S[mode]}"
	same - "${S[check]}"
	same "${#tiers[@]}" "${S[tiers]}"
	write_chunks 0 4 1
	check_chunks 0 4 1
	check_chunks 4 1 0
}

with_features()
{
	features=("$@")
	make_set
	table_back
	status
	same "$*" "${S[features]}" "features in status"
}

# Keys of the table are in force; the others have their initial values.
with_core()
{
	local i
	core=("$@")
	make_set
	table_back
	status
	same 38 "$(wc -w <<<"${S[core]}")" "words of core arguments"
	for ((i = 0; i < $#; i += 2)); do
		same "${core[i + 1]}" "${V[${core[i]}]}" "${core[i]} in force"
	done
}

with_policy()
{
	policy=$1
	make_set
	table_back
	status
	same "$2" "${S[policy]}" "policy in status"
}

# Each tunable that the policy shows in its status can be given.
with_policy_keys()
{
	local words
	policy=heat
	make_set
	status
	[ -n "${S[args]}" ] || fail "the heat policy shows no tunables"
	read -ra words <<<"${S[args]}"
	deactivate
	policy_args=("${words[@]}")
	activate
	table_back
	status
	same "${words[*]}" "${S[args]}" "policy arguments in status"
}

test_case "no features, static" right_line
for feature in paused no_discard_passdown skip_zeroing; do
	test_case "feature $feature" with_features $feature
done
test_case "three features" with_features paused no_discard_passdown skip_zeroing
test_case "core arguments at their lowest" with_core \
	migration_bandwidth 0 migration_depth 1 latency_guard 0 heat_interval 1 migration_min 0 \
	tier0.endurance 0 tier0.reserve 0 tier0.landing 0 tier1.landing 0 tier0.latency 0 tier0.watermark 0 tier0.quiet 0 tier0.residence 0
test_case "core arguments at their highest" with_core \
	migration_bandwidth 4294967295 migration_depth 256 latency_guard 1000 heat_interval 86400 \
	migration_min 4294967295 \
	tier1.endurance 4294967295 tier1.reserve 4294967295 tier1.landing 3 tier1.latency 4000000 \
	tier1.watermark 50 tier1.quiet 65535 tier1.residence 4294967295
test_case "a single core argument" with_core tier1.endurance 200
test_case "policy heat" with_policy heat heat
test_case "policy default is heat" with_policy default heat
test_case "policy static" with_policy static static
test_case "every policy tunable in the table" with_policy_keys

read_only_line()
{
	make_set
	write_chunks 0 4 1
	deactivate
	features=(read_only)
	activate
	table_back
	status
	same ro "${S[mode]}"
	same read_only "${S[features]}"
	check_chunks 0 4 1
	fails write_chunks 0 1 2
	fails write_chunks 9 1 2
}
test_case "feature read_only on a set" read_only_line

shapes()
{
	local n
	make_disks
	disk third 8
	tiers=("$@") length=
	activate
	table_back
	status
	same $# "${S[tiers]}"
	same "$((length / chunk))" "${S[virtual]}" "virtual chunks"
	for ((n = 0; n < $#; n++)); do
		same "$n" "${S[id$n]}" "id of tier $n"
		same A "${S[state$n]}" "state of tier $n"
	done
}
test_case "one tier" shapes "$slow"
test_case "three tiers" shapes "$fast" "$slow" "$third"

sixteen()
{
	local n
	disk meta 4
	tiers=()
	for n in {0..15}; do
		disk "part$n" 2
		tiers+=("/dev/tt_part$n")
	done
	activate
	status
	same 16 "${S[tiers]}"
	same $(((16 * 16 - 2) * 128)) "$length" "length"
	write_chunks 0 254 5
	check_chunks 0 254 5
	deactivate
	activate
	check_chunks 0 254 5
}
test_case "sixteen tiers, filled to the last chunk" sixteen

other_chunk()
{
	chunk=$1
	disk meta 4
	disk fast 32
	disk slow "$2"
	activate
	table_back
	status
	same "$chunk" "${S[chunk]}"
	write_chunks 0 2 3 block=1m
	check_chunks 0 2 3 block=1m
}
test_case "chunks of 1 MiB" other_chunk 2048 32
test_case "chunks of 8 MiB" other_chunk 16384 64

# gibibyte_disk NAME: 3 GiB; only the first MiB of the label area is kept, as its zeroes
# would fill the memory
gibibyte_disk()
{
	disk "$1" 2049
	dmsetup create "tt_large_$1" <<-EOT
		0 2048 linear /dev/tt_$1 0
		2048 2095104 zero
		2097152 4194304 linear /dev/tt_$1 2048
	EOT
}

gibibyte_chunk()
{
	chunk=2097152
	features=(skip_zeroing)
	disk meta 4
	gibibyte_disk fast
	gibibyte_disk slow
	tiers=(/dev/mapper/tt_large_fast /dev/mapper/tt_large_slow)
	length=$(capacity_of "$chunk" "${tiers[@]}")
	activate
	status
	same "$chunk" "${S[chunk]}"
	same 4 "$((S[places0] + S[places1]))" "places"
	same 2 "${S[virtual]}"
	io write "$dev" at=1023m len=2m seed=3
	io check "$dev" at=1023m len=2m seed=3
	io check "$dev" at=1022m len=1m seed=0
}
test_case "chunks of 1 GiB" gibibyte_chunk

# Any length up to the capacity, the last chunk cut short.
odd_length()
{
	make_disks
	length=$1
	activate
	table_back
	same "$1" "$(sectors_of "$dev")" "size"
	io write "$dev" at=$((($1 - 1) * 512)) len=512 seed=9
	io check "$dev" at=$((($1 - 1) * 512)) len=512 seed=9
	status
	same $((($1 + 127) / 128)) "${S[virtual]}" "virtual chunks"
}
test_case "a length of one sector" odd_length 1
test_case "a length of a chunk and a sector" odd_length 129
test_case "a length one sector short of the capacity" odd_length $(((240 + 496 - 5) * 128 - 1))

set_uuid()
{
	local want=00112233445566778899aabbccddeeff
	make_disks
	activate --uuid "TIER-$want"
	same "$want" "$(od -An -tx1 -j16 -N16 "$meta" | tr -d ' \n')" "uuid in the superblock"
}
test_case "the dm UUID becomes the set's" set_uuid

run_tests
