#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=1200
# long
#
# Metadata that lies on the tiers, and a set that outgrows it: refused, and made larger on tiers
# that have joined since; killed at each step.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-mirror.sh
. "$here/lib-mirror.sh"

big=/dev/tt_big
wide=/dev/tt_wide
steps=$here/../../userspace/tierctl.steps
[ -x "$steps" ] || skip_all "tierctl.steps is not built (make -C userspace steps)"

mirror_sectors() { sectors_of "/dev/mapper/$(the_mirror)"; }
# filled: a single leg, or no leg is being filled
filled() { [[ $(dmsetup status "$(the_mirror)") == *\ linear* ]] || synced; }
# The first place of each tier in the dump FILE.
first_places() { sed -n 's/.* first_place="\([0-9]*\)".*/\1/p' "$1"; }

# made [OPTION...]: a set of 94 MiB, whose metadata has room for some 11 GiB
# shellcheck disable=SC2120
made()
{
	disk fast 32
	disk slow 64
	ctl create "$set" -q -c 64k --policy static "$@" "$fast" "$slow"
	write_chunks 0 40 1
}

# joined: tiers that make it too large, both with room for its metadata then
joined()
{
	disk big 32768
	disk wide 2048
	ctl add -qy "$set" "$big"
	ctl add -qy "$set" "$wide"
}

# in_order: the data is there, and the metadata says so
far=
in_order()
{
	ctl_code 0 check "$set"
	check_chunks 0 40 1
	[ -z "$far" ] || io check "$dev" at=30g len=64k seed=2
}

# has_grown: the set is as large as its tiers allow
has_grown()
{
	is "$(info length) > 32 * 2097152"
	io write "$dev" at=30g len=64k seed=2
	far=1
	in_order
	wait_for 60 filled
	ctl_code 0 status "$set"
}

again()
{
	ctl deactivate -q "$set"
	same 0 "$(mirror_devices)" "devices of the mirror, inactive"
	ctl_code 0 activate "$set"
	in_order
}

too_small()
{
	local table length most first
	made
	disk big 32768
	ctl_code 0 add -y "$set" "$big"
	table=$(dmsetup table "$(the_mirror)") length=$(info length)
	ctl_code 1 resize "$set"
	one_line "the room for its metadata on its tiers is enough for [0-9.]+ gib at most \([0-9]+s\)\. .* add one \(tierctl add $set dev\)"
	[[ $errors =~ \(([0-9]+)s\) ]] || fail "no size"
	most=${BASH_REMATCH[1]}
	same "$table" "$(dmsetup table "$(the_mirror)")" "table of the mirror"
	ctl_code 1 resize --dry-run "$set"
	ctl_code 1 resize --size $((most + 128))s "$set"
	same "$length" "$(info length)" "length"
	in_order
	# It is what the message says.
	ctl_code 0 resize --size "${most}s" "$set"
	same "$most" "$(info length)" "length"
	in_order
	again
	# A device that the room would fill is no way out, but a tier all the same.
	disk third 32
	ctl_code 0 add -y "$set" "$third"
	ctl_code 1 resize "$set"
	ctl dump -q "$set" -o "$tmp/dump"
	mapfile -t first < <(first_places "$tmp/dump")
	same "${first[0]} ${first[0]}" "${first[1]} ${first[3]}" "first places"
	is "${first[2]} > 8 * ${first[0]}"
}
test_case "a set that would outgrow its metadata stays as it is" too_small

larger()
{
	local before
	made
	joined
	before=$(mirror_sectors)
	ctl_code 0 resize --dry-run "$set"
	matches "Would make the device of its metadata larger" "$output"
	same "$before" "$(mirror_sectors)" "sectors of the metadata"
	ctl_code 0 resize --size 33g "$set"
	matches "the metadata on $fast has moved to $big" "$output"
	matches "the device of its metadata has grown from 4.* MiB to 6.* MiB" "$output"
	is "$(mirror_sectors) > 8 * $before"
	is "$(info meta_total) * 8 == $(mirror_sectors)"
	same "[\"$big\",\"$wide\"]" "$(on_tiers)" "tiers of the legs"
	same 5 "$(mirror_devices)" "devices of the mirror"
	has_grown
	again
	# Both legs are good for themselves, and the first tiers can go.
	ctl_code 0 remove -y "$set" "$fast"
	again
	ctl deactivate -q "$set"
	dd if="$big" of="$tmp/head" bs=16k count=1 iflag=direct status=none
	dd if=/dev/zero of="$big" bs=16k count=1 oflag=direct status=none
	ctl_code 3 activate --degraded "$set"
	ctl_code 0 check "$set"
	ctl deactivate -q "$set"
	dd if="$tmp/head" of="$big" bs=16k count=1 oflag=direct status=none
	ctl_code 0 activate "$set"
	wait_for 60 filled
	in_order
}
test_case "the metadata moves to tiers with more room, and grows there" larger

# The legs have more room already, as their tiers were replaced.
replaced()
{
	made
	disk big 32768
	disk wide 2048
	ctl_code 0 replace -y "$set" "$slow" "$big"
	ctl_code 0 resize --size 100m "$set"
	ctl_code 0 replace -y "$set" "$fast" "$wide"
	same "[\"$wide\",\"$big\"]" "$(on_tiers)" "tiers of the legs"
	ctl_code 0 resize "$set"
	matches "the device of its metadata has grown" "$output"
	has_grown
	again
}
test_case "tiers were replaced by larger ones" replaced

single()
{
	made --mirror none
	disk big 32768
	ctl_code 0 add -y "$set" "$big"
	ctl_code 0 resize "$set"
	matches "the device of its metadata has grown" "$output"
	same "[\"$big\"]" "$(on_tiers)" "tiers of the legs"
	has_grown
	again
}
test_case "metadata on one tier alone grows, too" single

# power_cut: all devices are gone, and what lies before the places is as it was a moment before
power_cut() { lose_power fast:8 slow:8 big:80 wide:80; }

# killed STEP [OPTION...]: resize ends there, and then the power goes
killed()
{
	made "${@:2}"
	joined
	io sync "$dev"
	! TIERCTL_DIE_AT=$1 "$steps" resize -y "$set" </dev/null >"$tmp/said" 2>&1 || fail "not killed at $1: $(<"$tmp/said")"
	power_cut
	ctl_code 0 activate "$set"
	in_order
	wait_for 60 filled
	again
	ctl_code 0 resize "$set"
	has_grown
	again
}
for step in leg-header grow-header grow-other grow-slices grow-larger grow-noted resize-loaded resize-done; do
	test_case "killed at $step" killed "$step"
done
for step in grow-header grow-slices grow-larger; do
	test_case "killed at $step, on one tier alone" killed "$step" --mirror none
done

# Nothing is put away: other commands find what the killed one left, and resize goes on.
repeated()
{
	made
	joined
	! TIERCTL_DIE_AT=$1 "$steps" resize -y "$set" </dev/null >"$tmp/said" 2>&1 || fail "not killed at $1: $(<"$tmp/said")"
	wait_for 60 filled
	ctl_code 0 rename "$set" tt_other
	ctl_code 0 rename tt_other "$set"
	ctl_code 0 resize "$set"
	has_grown
	again
}
for step in leg-header grow-header grow-other grow-larger; do
	test_case "killed at $step, and repeated" repeated "$step"
done

# dm-raid cannot resume, with the new table live already (test_modules/nobitmap.c).
nobitmap=/sys/module/nobitmap/parameters/times

# load_nobitmap: called within a case, before resumes_fail
load_nobitmap()
{
	modprobe dm-raid
	load_module nobitmap "dm-raid fail"
}

# resumes_fail COUNT STEP: that many after this step of resize, which says why
resumes_fail()
{
	local pid rc=0
	TIERCTL_STOP_AT=$2 "$steps" resize -y "$set" </dev/null >"$tmp/said" 2>&1 &
	pid=$!
	wait_for 60 grep -q ') T ' "/proc/$pid/stat"
	echo "$1" >"$nobitmap"
	kill -CONT "$pid"
	wait "$pid" || rc=$?
	same "1, 0 left" "$rc, $(<"$nobitmap") left" "exit status of resize ($(<"$tmp/said"))"
	rmmod nobitmap
}

# Once: the old table is put back. Twice: it cannot be.
grow_fails()
{
	local before
	load_nobitmap
	made
	joined
	before=$(mirror_sectors)
	resumes_fail "$1" grow-header
	matches "its metadata cannot grow: " "$(<"$tmp/said")"
	if [ "$1" = 1 ]; then
		same "$before" "$(mirror_sectors)" "sectors of the metadata"
		ctl_code 0 status "$set"
	else
		matches "I/O to the set waits. Once the cause is gone: tierctl resize --abort $set" "$(<"$tmp/said")"
		ctl_code 3 status "$set"
		matches "is suspended, I/O to it waits: tierctl resize --abort $set" "$output"
		ctl_code 0 resize --abort "$set"
	fi
	in_order
	ctl_code 0 resize "$set"
	has_grown
	again
}
test_case "a resume fails while the metadata grows" grow_fails 1
test_case "and the old table cannot be put back either" grow_fails 2

# The old leg stays, and counts: also if the other one drops out.
move_fails()
{
	local n
	load_nobitmap
	made
	joined
	resumes_fail 1 leg-header
	matches "the leg of its metadata cannot move to $big: " "$(<"$tmp/said")"
	same "[\"$fast\",\"$slow\"]" "$(on_tiers)" "tiers of the legs"
	in_order
	# Where the metadata lies.
	for n in {0..15}; do bad_sectors "$slow" $((4096 + n * 512)) 512; done
	write_chunks 40 20 1
	io sync "$dev"
	wait_for 20 legs_are AD
	for n in {0..15}; do good_sectors "$slow" $((4096 + n * 512)) 512; done
	again
	check_chunks 40 20 1
	wait_for 60 filled
	ctl_code 0 resize "$set"
	has_grown
}
test_case "a resume fails while a leg moves, then the other one drops out" move_fails

# A suspended device of the metadata does not keep the set from being deactivated.
move_hangs()
{
	load_nobitmap
	made
	joined
	resumes_fail 2 leg-header
	again
	wait_for 60 filled
	ctl_code 0 resize "$set"
	has_grown
}
test_case "it fails, and the old table cannot be put back either" move_hangs

run_tests
