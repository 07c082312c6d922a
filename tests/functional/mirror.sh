#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=400
#
# Metadata that lies on the tiers, mirrored by dm-raid on two of them: made, lost by halves,
# moved with the tiers, taken apart.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-mirror.sh
. "$here/lib-mirror.sh"

# How many devices the mirror has.
# made [OPTION...]: a set without a metadata device
# shellcheck disable=SC2120
made()
{
	disk fast 32
	disk slow 64
	ctl create "$set" -q -c 64k --policy static "$@" "$fast" "$slow"
}

# in_order [FIRST COUNT SEED]: the metadata is in order and the data is there
in_order()
{
	ctl_code 0 check "$set"
	[ $# = 0 ] || check_chunks "$@"
}

# leg_fails DISK, leg_works DISK: what lies in the first 4 MiB of its metadata
leg_fails() { local n; for n in {0..15}; do bad_sectors "$1" $((4096 + n * 512)) 512; done; }
leg_works() { local n; for n in {0..15}; do good_sectors "$1" $((4096 + n * 512)) 512; done; }

# away DISK: as if it were unplugged, its label is not there; back DISK: it is again
away()
{
	dd if="$1" of="$tmp/away_${1##*_}" bs=16k count=1 iflag=direct status=none
	dd if=/dev/zero of="$1" bs=16k count=1 oflag=direct status=none
}
back() { dd if="$tmp/away_${1##*_}" of="$1" bs=16k count=1 oflag=direct status=none; }

both_legs()
{
	local count
	disk fast 32
	disk slow 64
	unchanged "$fast" "$slow" -- ctl_code 0 create --dry-run "$set" -c 64k "$fast" "$slow"
	matches "meta    on $fast and $slow  [0-9.]+ MiB  \(mirrored\)" "$output"
	ctl_code 0 create "$set" -c 64k --policy static "$fast" "$slow"
	same 5 "$(mirror_devices)" "devices of the mirror"
	same AA "$(legs)"
	# Reads spare the leg on the slower tier, and a write waits for both.
	matches ' raid1 .* write_mostly 1 ' "$(dmsetup table "$(the_mirror)")"
	[[ $(dmsetup table "$(the_mirror)") != *max_write_behind* ]] || fail "write-behind"
	# Every place holds data, and the metadata is not under it.
	count=$(($(blockdev --getsz "$dev") / chunk))
	write_chunks 0 "$count" 1
	in_order 0 "$count" 1
	ctl_code 0 status "$set"
	ctl_code 0 deactivate "$set"
	same 0 "$(mirror_devices)" "devices of the mirror, inactive"
	ctl_code 0 list
	matches "$set +[0-9.]+ MiB +inactive" "$output"
	same "[\"$fast\",\"$slow\"]" "$(json '.sets[0].metadata.on_tiers | tojson' status "$set")" "tiers of the legs"
	same 0 "$(mirror_devices)" "devices of the mirror, listed"
	in_order
	ctl_code 0 dump "$set" -o "$tmp/dump"
	same 0 "$(mirror_devices)" "devices of the mirror, dumped"
	ctl_code 0 activate "$set"
	check_chunks 0 "$count" 1
	ctl deactivate -q "$set"
	ctl_code 0 activate --read-only "$set"
	check_chunks 0 "$count" 1
	ctl deactivate -q "$set"
}
test_case "metadata on both tiers: made, full, inactive, active" both_legs

# What waits for the disk is said, and how it waits for flash alone.
price()
{
	disk fast 32
	disk slow 64
	echo 1 >"$(block_of "$slow")/queue/rotational"
	ctl_code 0 create --dry-run "$set" -c 64k "$fast" "$slow"
	matches "waits for the disk $slow, too.*two to three times as long.*--metadata DEV" "$errors"
	echo 0 >"$(block_of "$slow")/queue/rotational"
	ctl_code 0 create --dry-run "$set" -c 64k "$fast" "$slow"
	same "" "$errors" "stderr, where no tier is a disk"
}
test_case "create says what half of the metadata on a disk costs" price

by_itself()
{
	made
	write_chunks 0 20 1
	ctl deactivate -q "$set"
	ctl_code 0 activate --auto "$slow"
	check_chunks 0 20 1
	same AA "$(legs)"
}
test_case "the set of two members is activated by itself" by_itself

# The leg on the fast tier stops at a write error; its tier goes on.
leg_lost()
{
	made
	write_chunks 0 20 1
	# All of its metadata from here on.
	leg_fails "$fast"
	write_chunks 20 20 1
	io sync "$dev"
	wait_for 20 legs_are DA
	ctl_code 3 status "$set"
	matches "lost 1 of 2 legs" "$output"
	check_chunks 0 40 1
	in_order
	leg_works "$fast"
	ctl deactivate -q "$set"
	ctl_code 0 activate "$set"
	wait_for 30 synced
	check_chunks 0 40 1
	in_order
}
test_case "a leg that stops comes back when the set is activated again" leg_lost

# Nothing is put away in order before the power goes.
other_lost()
{
	local age
	made
	write_chunks 0 20 1
	io sync "$dev"
	leg_fails "$fast"
	write_chunks 20 20 1
	io sync "$dev"
	wait_for 20 legs_are DA
	leg_works "$fast"
	lose_power fast:8 slow:8
	disk_gone slow
	ctl_code 0 activate --auto "$fast"
	ctl_code 1 activate "$set"
	one_line "a leg of its metadata is missing.*on $fast \(transaction [0-9]+ of generation [0-9]+, last assembled [0-9-]+ [0-9:]+\)"
	[[ $errors =~ \((transaction .*)\): ]] && age=${BASH_REMATCH[1]}
	same 0 "$(mirror_devices)" "devices of the mirror"
	ctl_code 3 activate --degraded "$set"
	matches "goes on with the leg of its metadata on $fast alone: $age\." "$errors"
	same A- "$(legs)" "health"
	# As it was when the leg stopped.
	check_chunks 0 10 1
	in_order
}
test_case "a leg stops while its tier stays, then the other device is lost, with the power" other_lost

both_alone()
{
	made
	write_chunks 0 20 1
	ctl deactivate -q "$set"
	away "$slow"
	ctl_code 3 activate --degraded "$set"
	ctl deactivate -q "$set"
	back "$slow"
	away "$fast"
	ctl_code 3 activate --degraded "$set"
	ctl deactivate -q "$set"
	back "$fast"
	ctl_code 1 activate "$set"
	one_line "the legs of its metadata on /dev/tt_[a-z]* \(.*\) and on /dev/tt_[a-z]* \(.*\) were each used without the other"
	same 0 "$(mirror_devices)" "devices of the mirror"
	# What the message says ends it.
	away "$fast"
	ctl_code 3 activate --degraded "$set"
	ctl deactivate -q "$set"
	back "$fast"
	# This tier was used by itself, too, so it does not belong to that metadata any more.
	ctl_code 1 activate "$set"
	one_line "metadata stale: tier 0 \\($fast\\)"
	away "$fast"
	ctl_code 3 activate --degraded "$set"
	in_order
}
test_case "two legs that were each used alone are not put together" both_alone

one_leg_back()
{
	made
	write_chunks 0 20 1
	ctl deactivate -q "$set"
	away "$slow"
	ctl_code 1 activate "$set"
	ctl_code 3 activate --degraded "$set"
	write_chunks 20 20 1
	ctl deactivate -q "$set"
	back "$slow"
	ctl_code 0 activate "$set"
	wait_for 30 synced
	check_chunks 0 40 1
	in_order
	# The leg that was filled is as good as the other.
	ctl deactivate -q "$set"
	away "$fast"
	ctl_code 3 activate --degraded "$set"
	in_order
}
test_case "a leg that was away is filled when it is back, and good for itself then" one_leg_back

moves()
{
	made -L 10m
	disk third 64
	write_chunks 0 40 1
	ctl_code 1 remove -y "$set" "$slow"
	matches "a half of its metadata lies on tier 1 \($slow\), and no other tier can take it" "$errors"
	ctl_code 0 add -y "$set" "$third"
	ctl_code 0 remove --dry-run "$set" "$slow"
	matches "Would move the metadata on tier 1 \($slow\) to tier 2 \($third\)" "$output"
	ctl_code 0 remove -y "$set" "$slow"
	matches "the metadata on $slow has moved to $third" "$output"
	same AA "$(legs)"
	same 5 "$(mirror_devices)" "devices of the mirror"
	check_chunks 0 40 1
	in_order
	ctl_code 0 replace -y "$set" "$fast" "$slow"
	same AA "$(legs)"
	ctl deactivate -q "$set"
	ctl_code 0 activate "$set"
	check_chunks 0 40 1
	in_order
	same "[\"$slow\",\"$third\"]" "$(json '.sets[0].metadata.on_tiers | tojson' status "$set")" "tiers of the legs"
}
test_case "a leg moves when its tier is removed, or replaced" moves

# A tier with the only good leg does not go.
only_good()
{
	made -L 10m
	disk third 64
	write_chunks 0 40 1
	ctl_code 0 add -y "$set" "$third"
	leg_fails "$fast"
	write_chunks 40 20 1
	io sync "$dev"
	wait_for 20 legs_are DA
	ctl_code 1 remove -y "$set" "$slow"
	one_line "the other leg of its metadata, on $fast, has dropped out, so this is the only good one"
	# Its data may go.
	ctl_code 0 evacuate "$set" "$slow"
	matches "a half of its metadata stays on tier 1 \($slow\): the other half is not whole" "$errors"
	ctl admit -q "$set" "$slow"
	leg_works "$fast"
	ctl_code 0 remove -y "$set" "$fast"
	same AA "$(legs)"
	check_chunks 0 60 1
	in_order
	ctl deactivate -q "$set"
	ctl_code 0 activate "$set"
	check_chunks 0 60 1
}
test_case "a tier with the only good leg stays, and the other one's leg moves" only_good

# A tier that is only emptied: the metadata leaves it all the same, or stays if there is no other place.
evacuated()
{
	made -L 10m
	write_chunks 0 40 1
	ctl_code 0 evacuate "$set" "$slow"
	matches "a half of its metadata stays on tier 1 \($slow\): no other tier can take it" "$errors"
	same "1 E 0" "$(wc -l <"$tmp/stderr") $(info state1) $(info used1)" "lines on stderr, and the tier"
	same "[\"$fast\",\"$slow\"]" "$(on_tiers)" "tiers of the legs"
	ctl admit -q "$set" "$slow"
	disk third 64
	ctl_code 0 add -y "$set" "$third"
	ctl_code 0 evacuate --dry-run "$set" "$slow"
	matches "Would move the metadata on tier 1 \($slow\) to tier 2 \($third\)" "$output"
	same "A [\"$fast\",\"$slow\"]" "$(info state1) $(on_tiers)" "the tier, and those of the legs"
	ctl_code 0 evacuate "$set" "$slow"
	matches "the metadata on $slow has moved to $third" "$output"
	same "AA E 0" "$(legs) $(info state1) $(info used1)" "the legs, and the tier"
	same 5 "$(mirror_devices)" "devices of the mirror"
	ctl admit -q "$set" "$slow"
	same "[\"$fast\",\"$third\"]" "$(on_tiers)" "tiers of the legs"
	# The set does not need the tier.
	ctl deactivate -q "$set"
	away "$slow"
	ctl_code 3 activate --degraded "$set"
	same AA "$(legs)"
	check_chunks 0 40 1
	ctl_code 0 evacuate "$set" "$third"
	matches "a half of its metadata stays on tier 2 \($third\): a tier is missing" "$errors"
	same "E 0" "$(info state2) $(info used2)" "the tier"
	in_order 0 40 1
}
test_case "a leg moves when its tier is evacuated, or stays with a warning" evacuated

# killed STEP: a removal ends there, and then the power goes
killed()
{
	made -L 10m
	disk third 64
	write_chunks 0 40 1
	ctl_code 0 add -y "$set" "$third"
	! TIERCTL_DIE_AT=$1 "$steps" remove -y "$set" "$slow" </dev/null >"$tmp/said" 2>&1 || fail "not killed at $1: $(<"$tmp/said")"
	# As after a power cut: all devices are gone, no unit has put anything away.
	dmsetup remove --retry "$set"
	ctl_code 0 activate "$set"
	wait_for 30 synced
	same 5 "$(mirror_devices)" "devices of the mirror"
	check_chunks 0 40 1
	in_order
	ctl_code 0 remove -y "$set" "$slow"
	same AA "$(legs)"
	same 5 "$(mirror_devices)" "devices of the mirror"
	ctl deactivate -q "$set"
	ctl_code 0 activate "$set"
	check_chunks 0 40 1
	in_order
}
steps=$here/../../userspace/tierctl.steps
[ -x "$steps" ] || skip_all "tierctl.steps is not built (make -C userspace steps)"
for step in leg-other leg-header leg-loaded; do
	test_case "killed at $step, and put in order by the next activation" killed "$step"
done

# Nobody waits for the leg to be filled; the same command again goes on.
again()
{
	made -L 10m
	disk third 64
	write_chunks 0 40 1
	ctl_code 0 add -y "$set" "$third"
	! TIERCTL_DIE_AT=leg-loaded "$steps" remove -y "$set" "$slow" </dev/null >"$tmp/said" 2>&1 || fail "not killed"
	ctl_code 0 remove -y "$set" "$slow"
	same AA "$(legs)"
	same 5 "$(mirror_devices)" "devices of the mirror"
	check_chunks 0 40 1
	in_order
}
test_case "killed while the leg is filled, and repeated" again

# What is on a tier that is left out stays as it is, the place of its leg included.
left_out()
{
	local before
	made
	write_chunks 0 20 1
	ctl deactivate -q "$set"
	mkswap -q "$slow"
	before=$(checksums "$slow")
	ctl_code 1 activate "$set"
	ctl_code 3 activate --degraded "$set"
	same A- "$(legs)" "health"
	in_order
	ctl deactivate -q "$set"
	same "$before" "$(checksums "$slow")" "contents of the tier that was left out"
}
test_case "a tier that is left out is not written to" left_out

# killed_create STEP: nothing is left that does not go away
killed_create()
{
	disk fast 32
	disk slow 64
	! TIERCTL_DIE_AT=$1 "$steps" create -q "$set" -c 64k "$fast" "$slow" </dev/null >"$tmp/said" 2>&1 || fail "not killed at $1"
	if [ "$1" = create-legs ]; then
		same "" "$(json '.sets[].name' list)" "sets"
	else
		ctl_code 1 activate "$set"
		ctl_code 0 destroy -y "$set"
	fi
	same 0 "$(mirror_devices)" "devices of the mirror"
	ctl_code 0 create -q "$set" -c 64k "$fast" "$slow"
}
for step in create-legs create-assembled; do
	test_case "killed at $step" killed_create "$step"
done

not_mirrored()
{
	disk fast 32
	disk slow 64
	ctl_code 0 create "$set" -c 64k -L 10m --policy static --mirror none "$fast" "$slow"
	matches "if $fast is lost, so is the whole set" "$errors"
	same 1 "$(mirror_devices)" "devices of the metadata"
	write_chunks 0 20 1
	ctl deactivate -q "$set"
	same 0 "$(mirror_devices)" "devices of the metadata, inactive"
	ctl_code 0 activate "$set"
	check_chunks 0 20 1
	ctl_code 0 remove -y "$set" "$fast"
	ctl deactivate -q "$set"
	ctl_code 0 activate "$set"
	check_chunks 0 20 1
	in_order
}
test_case "metadata on one tier alone: made, moved" not_mirrored

# killed_alone STEP: the metadata is suspended, and a second leg says that it is the latest
killed_alone()
{
	disk fast 32
	disk slow 64
	ctl create "$set" -q -c 64k -L 10m --policy static --mirror none "$fast" "$slow"
	write_chunks 0 20 1
	! TIERCTL_DIE_AT=$1 "$steps" remove -y "$set" "$fast" </dev/null >"$tmp/said" 2>&1 || fail "not killed at $1: $(<"$tmp/said")"
	ctl_code 3 status "$set"
	matches "is suspended, I/O to it waits: tierctl resize --abort $set" "$output"
	ctl_code 0 resize --abort "$set"
	matches "a move of its metadata that was killed had left it suspended; it works again" "$output"
	write_chunks 20 20 2
	ctl deactivate -q "$set"
	ctl_code 0 activate "$set"
	check_chunks 0 20 1
	check_chunks 20 20 2
	in_order
	ctl_code 0 remove -y "$set" "$fast"
	ctl deactivate -q "$set"
	ctl_code 0 activate "$set"
	check_chunks 20 20 2
	in_order
}
for step in leg-copied leg-waits; do
	test_case "metadata on one tier alone: killed at $step" killed_alone "$step"
done

refused_and_gone()
{
	made
	write_chunks 0 20 1
	ctl deactivate -q "$set"
	# Plain dmsetup does not make another set of them.
	disk meta 4
	tiers=("$fast" "$slow")
	refused "is a tier of set" activate
	# Nor is one of them taken for remains.
	ctl_code 1 destroy -y "$slow"
	one_line "is tier 1 of $set"
	ctl_code 0 destroy -y "$set"
	same 0 "$(mirror_devices)" "devices of the mirror"
	same "" "$(wipefs --noheadings "$fast" "$slow")" "signatures"
	ctl_code 0 scan
	same 0 "$(mirror_devices)" "devices of the mirror"
	# They are as good as new; and a set that is active goes, too.
	ctl_code 0 create "$set" -q -c 64k "$fast" "$slow"
	ctl_code 0 destroy -y "$set"
	same 0 "$(mirror_devices)" "devices of the mirror"
	ctl_code 2 create "$set" --mirror two "$fast" "$slow"
	ctl_code 2 create "$set" "$fast"
	one_line "one tier alone has no mirror"
	ctl_code 2 create "$set" --mirror none -m "$meta" "$fast"
}
test_case "no plain table over it; destroyed, inactive and active; what is refused" refused_and_gone

restored()
{
	made
	write_chunks 0 40 1
	io sync "$dev"
	ctl_code 0 dump "$set" -o "$tmp/dump"
	ctl deactivate -q "$set"
	ctl_code 0 restore -y -f "$tmp/dump" "$set"
	same 0 "$(mirror_devices)" "devices of the mirror"
	ctl_code 0 activate "$set"
	check_chunks 0 40 1
	in_order
}
test_case "a dump is restored to both legs" restored

run_tests
