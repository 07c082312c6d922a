#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
#
# Each command of tierctl in right use: its messages, its effect, and everything that it must
# leave alone.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"

everything=("$meta" "$fast" "$slow")

create_set() { ctl create "$set" -q -m "$meta" -c 64k "$@" "$fast" "$slow"; }

# ---- create, destroy

create()
{
	make_disks
	unchanged "${everything[@]}" -- ctl_code 0 create "$set" --dry-run -m "$meta" -c 64k "$fast" "$slow"
	matches 'tier ' "$output" "the table line"
	fails dmsetup info "$set"
	ctl_code 0 create "$set" -m "$meta" -c 64k "$fast" "$slow"
	matches "/dev/mapper/$set" "$output"
	matches 'mirror' "$errors" "the word about losing the metadata"
	status
	same 128 "${S[chunk]}"
	same 731 "${S[virtual]}"
	same heat "${S[policy]}"
	same rw "${S[mode]}"
	matches '^TIER-[0-9a-f]{32}$' "$(dmsetup info -c --noheadings -o uuid "$set")" "dm UUID"
	write_chunks 0 10 1
	check_chunks 0 10 1
}
test_case "create, after a dry run that changes nothing" create

create_options()
{
	make_disks
	ctl_code 0 create -q -y "$set" --metadata "$meta" --chunksize 128K --size 20m \
		--policy static --feature paused --feature skip_zeroing \
		--set migration_bandwidth=2m --set tier1.reserve=256k --set tier0.landing=no \
		"$fast" "$slow"
	same "" "$output" "stdout with -q"
	status
	same 256 "${S[chunk]}"
	same $((20 * 2048)) "${S[length]}"
	same static "${S[policy]}"
	same "paused skip_zeroing" "${S[features]}"
	same 2048 "${V[migration_bandwidth]}"
	same 2 "${V[tier1.reserve]}"
	same 0 "${V[tier0.landing]}"
	# The tunables survive a deactivation.
	ctl deactivate -q "$set"
	ctl activate -q "$set"
	status
	same 2048 "${V[migration_bandwidth]}"
	same 2 "${V[tier1.reserve]}"
	same 0 "${V[tier0.landing]}"
}
test_case "create with every option" create_options

create_over_signature()
{
	make_disks
	dd if=/dev/urandom of="$fast" bs=4k seek=1 count=1 oflag=direct status=none
	unchanged "${everything[@]}" -- ctl_code 1 create "$set" -m "$meta" -c 64k "$fast" "$slow"
	one_line 'tt_fast: carries something unknown.*: dd if=/dev/zero of=/dev/tt_fast bs=8k count=1 oflag=direct, or .*--force'
	dd if=/dev/zero of="$fast" bs=8k count=1 oflag=direct status=none
	ctl_code 0 create --dry-run "$set" -m "$meta" -c 64k "$fast" "$slow"
	mke2fs -q -F -L photos "$fast"
	unchanged "${everything[@]}" -- ctl_code 1 create "$set" -m "$meta" -c 64k "$fast" "$slow"
	one_line 'tt_fast: carries ext2.*photos.*wipefs.*--force'
	# --force asks all the same; without a terminal the answer is no.
	unchanged "${everything[@]}" -- ctl_code 1 create "$set" --force -m "$meta" -c 64k "$fast" "$slow"
	matches 'tierctl: ' "$errors"
	unchanged "${everything[@]}" -- ctl_code 0 create "$set" --force -t -m "$meta" -c 64k "$fast" "$slow"
	matches 'ext2' "$output" "what would be wiped"
	ctl_code 0 create "$set" -f -y -m "$meta" -c 64k "$fast" "$slow"
	write_chunks 0 4 1
	check_chunks 0 4 1
	same "" "$(blkid -p -s TYPE -o value "$fast" | grep ext || true)" "old signature"
}
test_case "create refuses a device that carries something, unless forced" create_over_signature

# The kernel wants the whole label area blank; for tierctl, only what has a signature is data.
create_over_old_data()
{
	make_disks
	disk third 16
	io write "$fast" at=8k len=2m seed=5
	io write "$third" at=8k len=2m seed=5
	ctl_code 0 create -q "$set" -m "$meta" -c 64k "$fast" "$slow"
	ctl_code 0 add -q -y "$set" "$third"
	io check "$fast" at=8k len=$((1048576 - 8192)) seed=0
	io check "$third" at=8k len=$((1048576 - 8192)) seed=0
}
test_case "create and add over what has no signature, behind the labels" create_over_old_data

# If the last device is refused, no other device may have been wiped.
create_too_many()
{
	make_disks
	mke2fs -q -F "$fast"
	dmsetup create tt_large --table "0 $((63 << 31)) zero"
	unchanged "${everything[@]}" -- ctl_code 1 create "$set" -f -y -m "$meta" -c 64k "$fast" /dev/mapper/tt_large
	one_line 'metadata cannot hold [0-9]+ chunks\. use a larger --chunksize'
	unchanged "${everything[@]}" -- ctl_code 1 convert -f -y -c 64k /dev/mapper/tt_large \
		--name "$set" --fast "$fast" --metadata "$meta"
	one_line 'metadata cannot hold [0-9]+ chunks\. use a larger --chunksize'
}
test_case "create and convert of more chunks than metadata can hold" create_too_many

# A device that is as large as wanted, and all zeroes.
zeroes() { dmsetup create "tt_$1" --table "0 $(($2 << 21)) zero"; }

chunk_size_by_capacity()
{
	local new=(-m /dev/mapper/tt_meta /dev/mapper/tt_quick) large=(-f --dry-run)
	zeroes meta 16
	zeroes quick 4096
	zeroes large $((1 << 20))
	zeroes small $((1 << 16))
	ctl_code 0 create "$set" "${large[@]}" "${new[@]}" /dev/mapper/tt_large
	matches 'chunk 4 MiB \(as it is so large; --chunksize for another\)' "$output"
	matches 'tier [0-9:]+ 8192 2 ' "$output" "the table"
	ctl_code 0 create "$set" "${large[@]}" "${new[@]}" -c 8m /dev/mapper/tt_large
	matches 'chunk 8 MiB'$'\n' "$output"
	ctl_code 0 create "$set" "${large[@]}" "${new[@]}" /dev/mapper/tt_small
	matches 'chunk 1 MiB'$'\n' "$output"
	ctl_code 0 convert "${large[@]}" /dev/mapper/tt_large --name "$set" \
		--fast /dev/mapper/tt_quick -m /dev/mapper/tt_meta
	matches 'chunk 4 MiB \(' "$output"
	same "$(tier_metadata_size -n -s 1p -c 4m)" "$(tier_metadata_size -n -s 1p)" "metadata for 1 PiB"
}
test_case "chunks are larger in very large sets, as is said" chunk_size_by_capacity

destroy()
{
	make_disks
	create_set
	write_chunks 0 10 1
	io sync "$dev"
	unchanged "${everything[@]}" -- ctl_code 0 destroy --dry-run "$set"
	unchanged "${everything[@]}" -- ctl_code 1 destroy "$set"
	check_chunks 0 10 1
	ctl_code 0 destroy -y "$set"
	fails dmsetup info "$set"
	for disk in "${everything[@]}"; do
		same "" "$(tr -d '\0' <<<"$(dd if="$disk" bs=4k count=1 status=none | tr -d '\0')")" \
			"what is left at the start of $disk"
	done
	create_set
	status
	same 0 "${S[mapped]}"
}
test_case "destroy, after a dry run and without a yes" destroy

destroy_inactive()
{
	make_disks
	create_set
	ctl deactivate -q "$set"
	ctl_code 0 destroy -y "$set"
	same 0 "$(json '.sets | length' list)" "sets left"
	create_set
	ctl deactivate -q "$set"
	# The rest of a set is destroyed: by name without a tier, by device without the metadata.
	disk_gone slow
	ctl_code 0 destroy -y "$set"
	same 0 "$(json '.sets | length' list)" "sets left"
	disk slow 32
	create_set
	ctl deactivate -q "$set"
	# The name is not free for another set.
	disk meta2 8
	disk third 16
	unchanged "$meta2" "$third" -- ctl_code 1 create "$set" -m "$meta2" "$third"
	one_line "^tierctl: $set: a set that is not active has that name \([0-9a-f]{32}\)\. choose another\.$"
	disk_gone meta
	# Except for a set that is made of the rest of that set.
	ctl_code 0 create --dry-run --force "$set" -m "$meta2" "$fast" "$slow"
	ctl_code 0 destroy -y "$fast" "$slow"
	same 0 "$(json '.sets | length' list)" "sets left"
}
test_case "destroy a set that is inactive, and remains of one" destroy_inactive

# A copy of a tier comes before the tier or behind it in the order of devices.
destroy_copies()
{
	local copy
	make_disks
	create_set
	ctl deactivate -q "$set"
	disk spare 32
	dd if="$slow" of="$spare" bs=1M count=1 oflag=direct status=none
	same duplicate "$(json '.devices[].state | select(. == "duplicate")' scan)" "state of one of the two"
	unchanged "${everything[@]}" "$spare" -- ctl_code 0 destroy --dry-run "$set"
	matches "Would wipe the label of tier 1 on ($slow|$spare)" "$output"
	matches "Would wipe what is left of it on ($slow|$spare)" "$output"
	matches "$slow.*$spare|$spare.*$slow" "${output//$'\n'/ }" "both"
	unchanged "${everything[@]}" "$spare" -- ctl_code 1 destroy -y "$fast"
	one_line 'is tier 0 of'
	# Either device can be the copy.
	for copy in "$spare" "$slow"; do
		unchanged "${everything[@]}" "$spare" -- ctl_code 0 destroy --dry-run "$copy"
	done
	ctl_code 0 destroy -q -y "$slow"
	ctl_code 0 activate -q "$set"
	ctl deactivate -q "$set"
	dd if="$spare" of="$slow" bs=1M count=1 oflag=direct status=none
	ctl_code 0 destroy -q -y "$set"
	same 0 "$(json '[.devices[] | select(.role == "tier" or .role == "metadata")] | length' scan)" "what is left"
}
test_case "destroy of a set of which a tier is there twice" destroy_copies

# Older copies, before the original or behind it.
destroy_old_copies()
{
	local newest copy old new another=/dev/tt_another
	make_disks
	create_set
	ctl deactivate -q "$set"
	dd if="$meta" of="$tmp/old.meta" bs=1M iflag=direct status=none
	dd if="$slow" of="$tmp/old.slow" bs=1M count=1 iflag=direct status=none
	ctl activate -q "$set"
	write_chunks 0 5 1
	ctl deactivate -q "$set"
	for newest in meta slow; do
		disk another 32
		for copy in "$another ${!newest}" "${!newest} $another"; do
			read -r old new <<<"$copy"
			dd if="${!newest}" of="$tmp/new" bs=1M iflag=direct status=none
			dd if="$tmp/new" of="$new" bs=1M oflag=direct status=none
			dd if="$tmp/old.$newest" of="$old" bs=1M oflag=direct status=none
			unchanged "${everything[@]}" "$another" -- ctl_code 1 activate "$set"
			matches "$old \(generation 1[,)]" "$errors"
			matches "$new \(generation 2[,)]" "$errors"
			unchanged "${everything[@]}" "$another" -- ctl_code 1 destroy -y "$new"
			one_line "$new: is the newest of those that say they are (the metadata|tier 1) of $set.*--force"
			unchanged "${everything[@]}" "$another" -- ctl_code 0 destroy --dry-run --force "$new"
			unchanged "${everything[@]}" "$another" -- ctl_code 0 destroy --dry-run "$old"
			dd if="$tmp/new" of="$old" bs=1M oflag=direct status=none
		done
		# Now both are equal, and either may be wiped, but not both.
		unchanged "${everything[@]}" "$another" -- ctl_code 1 destroy -y "$another" "${!newest}"
		one_line 'say that they are the same part of a set'
		ctl_code 0 destroy -q -y "$another"
		disk_gone another
	done
	ctl_code 0 activate "$set"
	check_chunks 0 5 1
}
test_case "destroy of an old copy, and not of what is newer" destroy_old_copies

# Restored metadata has fewer transactions than the metadata that it replaces.
destroy_replaced()
{
	local n another=/dev/tt_another
	make_disks
	create_set
	ctl dump "$set" -o "$tmp/early"
	for n in {0..9}; do
		write_chunks "$n" 1 1
		io sync "$dev"
	done
	ctl deactivate -q "$set"
	dd if="$meta" of="$tmp/replaced" bs=1M iflag=direct status=none
	ctl restore -q -y --force "$tmp/early" "$meta"
	ctl activate -q "$set"
	ctl deactivate -q "$set"
	disk another 32
	dd if="$tmp/replaced" of="$another" bs=1M oflag=direct status=none
	unchanged "${everything[@]}" "$another" -- ctl_code 1 destroy -y "$meta"
	one_line "$meta: is the newest"
	ctl_code 0 destroy -q -y "$another"
	disk_gone another
	ctl_code 0 activate "$set"
}
test_case "destroy of metadata that was replaced by what was restored" destroy_replaced

destroy_used_otherwise()
{
	local third=/dev/tt_third
	make_disks
	create_set
	disk third 16
	ctl add -q -y "$set" "$third"
	remove_but_for_label "$third"
	same unused "$(json '.devices[] | select(.device == "/dev/tt_third").state' scan)" "state"
	unchanged "$third" -- ctl_code 0 destroy --dry-run "$third"
	mkswap "$third" >/dev/null 2>&1
	same unused "$(json '.devices[] | select(.device == "/dev/tt_third").state' scan)" "state as swap"
	unchanged "$third" -- ctl_code 1 destroy -y "$third"
	one_line "$third: carries swap.*, too\. to lose that, repeat with --force"
	ctl deactivate -q "$set"
	unchanged "${everything[@]}" "$third" -- ctl_code 0 destroy --dry-run "$set"
	matches "$third carries swap.*, too, and stays as it is" "$output"
	# The same with a tier
	label_in_second_slot "$slow"
	printf '\125\252' | dd of="$slow" bs=1 seek=510 conv=notrunc status=none
	unchanged "${everything[@]}" "$third" -- ctl_code 1 destroy -y "$set"
	one_line "$slow: carries .*, too\. to lose that, repeat with --force"
	label_in_second_slot "$slow"
	unchanged "$third" -- ctl_code 0 destroy -y "$set"
	matches "$third: carries swap.*, too, and stays as it is" "$errors"
	ctl_code 0 destroy -q -y --force "$third"
	same "" "$(blkid -p -o value -s TYPE "$third" || true)" "signature"
}
test_case "destroy of what is used otherwise by now" destroy_used_otherwise

# There are copies of an active set's parts, newer than the parts it was activated with.
destroy_newer()
{
	local another=/dev/tt_another third=/dev/tt_third
	make_disks
	create_set
	ctl deactivate -q "$set"
	for disk in "${everything[@]}"; do
		dd if="$disk" of="$tmp/old.${disk##*/}" bs=1M iflag=direct status=none
	done
	ctl activate -q "$set"
	ctl deactivate -q "$set"
	disk another 32
	disk third 32
	dd if="$meta" of="$tmp/new.meta" bs=1M iflag=direct status=none
	dd if="$slow" of="$tmp/new.slow" bs=1M iflag=direct status=none
	for disk in "${everything[@]}"; do
		dd if="$tmp/old.${disk##*/}" of="$disk" bs=1M oflag=direct status=none
	done
	# A read-only activation does not change the generation.
	ctl activate -q --read-only "$set"
	dd if="$tmp/new.meta" of="$another" bs=1M oflag=direct status=none
	dd if="$tmp/new.slow" of="$third" bs=1M oflag=direct status=none
	same "duplicate duplicate" "$(json '.devices[] | select(.device == ("/dev/tt_another", "/dev/tt_third")).state' scan | tr '\n' ' ' | sed 's/ $//')" "states"
	for disk in "$another" "$third"; do
		unchanged "$another" "$third" -- ctl_code 1 destroy -y "$disk"
		one_line "$disk: is a part of $set, and newer than what the set goes by.*--force"
	done
	ctl_code 0 destroy -q -y --force "$another"
	dd if="$tmp/old.tt_meta" of="$another" bs=1M oflag=direct status=none
	unchanged "$another" -- ctl_code 1 destroy -q -y "$another"
	one_line "$another: may be the same disk as $meta, which is in use\. deactivate"
	ctl_code 0 destroy -q -y --force "$another"
}
test_case "destroy of what is newer than an active set" destroy_newer

# ---- activate, deactivate

up_and_down()
{
	make_disks
	create_set
	write_chunks 0 10 1
	uuid=$(dmsetup info -c --noheadings -o uuid "$set")
	ctl_code 0 deactivate -t "$set"
	dmsetup info "$set" >/dev/null
	ctl_code 0 deactivate "$set"
	fails dmsetup info "$set"
	ctl_code 0 activate --dry-run "$set"
	fails dmsetup info "$set"
	ctl_code 0 activate "$set"
	same "$uuid" "$(dmsetup info -c --noheadings -o uuid "$set")" "dm UUID"
	check_chunks 0 10 1
	ctl_code 0 deactivate --all
	fails dmsetup info "$set"
	ctl_code 0 activate --all
	check_chunks 0 10 1
	ctl_code 0 deactivate "/dev/mapper/$set"
	ctl_code 0 activate "${uuid#TIER-}"
	check_chunks 0 10 1
}
test_case "deactivate and activate, by name, device, UUID, all" up_and_down

# /usr has the libraries of the tool, and there is a device between it and the set.
of_system()
{
	local lib
	make_disks
	create_set
	wrap top "0 $(sectors_of "$dev") linear $dev 0"
	mke2fs -q -F /dev/mapper/tt_top
	mkdir "$tmp/usr"
	mount /dev/mapper/tt_top "$tmp/usr"
	for lib in $(ldd "$tierctl" | grep -o '/[^ ]*'); do
		install -D "$lib" "$tmp/usr/${lib#/usr}"
	done
	# shellcheck disable=SC2016	# for the other shell
	unshare --mount sh -c 'mount --bind "$1" /usr && exec "$2" deactivate --all' sh "$tmp/usr" "$tierctl" >"$tmp/said" 2>&1
	same "$set: stays active, as the system runs from it." "$(<"$tmp/said")"
	wait_for 20 umount "$tmp/usr"
	dmsetup remove --retry tt_top
	ctl_code 0 deactivate --all
	fails dmsetup info "$set"
}
test_case "deactivate --all leaves the set that the system runs from" of_system

# An activation that was killed leaves the device without a table.
killed_activation()
{
	local uuid words
	make_disks
	create_set
	write_chunks 0 10 1
	uuid=$(json '.sets[0].uuid' list)
	for words in "$set" --all --auto "--auto $fast"; do
		ctl deactivate -q "$set"
		dmsetup create "$set" --notable -u "TIER-$uuid"
		# shellcheck disable=SC2086
		ctl_code 0 activate $words
		[[ $words != --auto* ]] || same "" "$output$errors" "what --auto says"
		check_chunks 0 10 1
	done
	# An activation that still runs has the lock.
	ctl deactivate -q "$set"
	dmsetup create "$set" --notable -u "TIER-$uuid"
	ctl_code 0 activate --dry-run "$set"
	matches "would remove /dev/mapper/$set" "${output,,}"
	exec 9>"/run/dm-tier/$uuid.device"
	flock 9
	background "$tierctl" activate "$set" </dev/null >"$tmp/second" 2>&1 9>&-
	nap 2
	dmsetup load "$set" --table "$(table_line_of_two)"
	dmsetup resume "$set"
	exec 9>&-
	wait "$last_pid"
	same "$set: is active already." "$(<"$tmp/second")"
	check_chunks 0 10 1
	# It is not taken for an empty set, and is destroyed with all its parts.
	ctl deactivate -q "$set"
	dmsetup create "$set" --notable -u "TIER-$uuid"
	unchanged "${everything[@]}" -- ctl_code 0 destroy --dry-run "$set"
	matches "would remove /dev/mapper/$set, which has no table, and destroy" "${output,,}"
	ctl_code 0 destroy -y "$set"
	matches "Wipe the metadata on $meta" "$output"
	fails dmsetup info "$set"
	same 0 "$(json '[.devices[] | select(.role == "tier" or .role == "metadata")] | length' scan)" "what is left"
	# The set was being created.
	for words in 'activate 1' 'destroy 0'; do
		dmsetup create "$set" --notable -u "TIER-$uuid"
		ctl_code "${words#* }" "${words% *}" "$set"
		one_line "$set: nothing of it is on any device that is seen; /dev/mapper/$set, which had no table, is removed"
		fails dmsetup info "$set"
	done
}
table_line_of_two()
{
	policy=default length=$(capacity_of "$chunk" "${tiers[@]}")
	table_line
}
test_case "activate, where an activation was killed" killed_activation

# The name on the disk is not allowed: the user has to give one.
nameless()
{
	local uuid
	make_disks
	create_set
	uuid=$(json '.sets[0].uuid' list)
	write_chunks 0 10 1
	ctl deactivate -q "$set"
	ctl dump -q "$meta" -o "$tmp/dump"
	sed -i "s/\"$set\"/\"control\"/" "$tmp/dump"
	ctl restore -q -y "$tmp/dump" "$meta"
	ctl_code 1 activate --all
	one_line 'control: needs a name for its device: --name name'
	ctl_code 0 activate "$uuid" --name "$set"
	check_chunks 0 10 1
}
test_case "activate, of a set whose name is none" nameless

# When the waiting deactivate runs, the set has another name, and another device has its old name.
deactivate_waits()
{
	local rc=0
	make_disks
	create_set
	mkdir -p /run/dm-tier
	exec 9>"/run/dm-tier/$(json '.sets[0].uuid' list).change"
	flock 9
	background "$tierctl" deactivate "$set" </dev/null >"$tmp/second" 2>&1 9>&-
	wait_for 30 grep -q "$set: waiting for" "$tmp/second"
	dmsetup rename "$set" tt_other
	dmsetup create "$set" --table "0 8 zero"
	exec 9>&-
	wait "$last_pid" || rc=$?
	same 0 "$rc" "exit status ($(<"$tmp/second"))"
	dmsetup info "$set" >/dev/null
	fails dmsetup info tt_other
	# Once more, when nothing is left of the set
	dmsetup remove "$set"
	ctl activate -q "$set"
	exec 9>"/run/dm-tier/$(json '.sets[0].uuid' list).change"
	flock 9
	background "$tierctl" deactivate "$set" </dev/null >"$tmp/second" 2>&1 9>&-
	wait_for 30 grep -q "$set: waiting for" "$tmp/second"
	dmsetup remove "$set"
	dmsetup create "$set" --table "0 8 zero"
	exec 9>&-
	wait "$last_pid" || rc=$?
	same "0 $set: is inactive already." "$rc $(tail -n 1 "$tmp/second")"
	dmsetup info "$set" >/dev/null
}
test_case "deactivate, of a set that has become another meanwhile" deactivate_waits

read_only()
{
	make_disks
	create_set
	write_chunks 0 10 1
	ctl deactivate -q "$set"
	unchanged "${everything[@]}" -- activate_and_look
}
activate_and_look()
{
	ctl activate -q --read-only "$set"
	same ro "$(info mode)"
	check_chunks 0 10 1
	same ro "$(json '.sets[0].mode' status "$set")" "mode in JSON"
	ctl deactivate -q "$set"
}
test_case "activate --read-only writes nothing" read_only

degraded()
{
	make_disks
	create_set
	write_chunks 0 10 1
	ctl migrate -q "$set" 4-5 --tier 1
	ctl wait -q "$set"
	ctl deactivate -q "$set"
	dd if="$slow" of="$tmp/slow" bs=1M status=none
	disk_gone slow
	ctl_code 1 activate "$set"
	one_line 'tier 1.*missing.*--degraded'
	fails dmsetup info "$set"
	ctl_code 3 activate --degraded "$set"
	check_chunks 0 4 1
	io_fails 5 check_chunks 4 1 1
	ctl_code 3 status "$set"
	matches 'degraded' "$output"
	same degraded "$(json '.sets[0].health' status "$set")" "health"
	same missing "$(json '.sets[0].tiers[1].state' status "$set")" "state of tier 1"
	same "262144 131072" "$(json '.sets[0].lost_ranges[] | "\(.offset) \(.length)"' status "$set")" \
		"lost ranges"
	same true "$(jq '.sets[0].lost_ranges_complete' "$tmp/json")" "all of them"
	same "[] false" "$(json '.sets[0] | "\(.lost_ranges) \(.lost_ranges_complete)"' list "$set")" \
		"lost ranges where nobody has looked"
	ctl_code 3 list
	ctl deactivate -q "$set"
	disk slow 32
	dd if="$tmp/slow" of="$slow" bs=1M oflag=direct status=none
	ctl_code 0 activate "$set"
	check_chunks 0 10 1
	ctl_code 0 status "$set"
}
test_case "activate --degraded, and what status says of it" degraded

# When a report looks again, another set has that name.
degraded_meanwhile()
{
	local pid top rc=0
	make_disks
	create_set
	write_chunks 0 10 1
	ctl migrate -q "$set" 4-5 --tier 1
	ctl wait -q "$set"
	background "$tierctl" top --batch --interval 5 "$set" </dev/null >"$tmp/top" 2>&1
	top=$last_pid
	wait_for 10 top_says ok
	background "$tierctl" status --json --interval 10 "$set" </dev/null >"$tmp/json" 2>"$tmp/stderr"
	pid=$last_pid
	wait_for 10 grep -q nanosleep "/proc/$pid/wchan"
	kill -STOP "$pid" "$top"
	ctl deactivate -q "$set"
	dd if="$slow" of="$tmp/slow" bs=1M status=none
	disk_gone slow
	ctl_code 3 activate --degraded "$set"
	kill -CONT "$pid" "$top"
	wait "$pid" || rc=$?
	same 3 "$rc" "exit status ($(<"$tmp/stderr"))"
	keep_report status "$tmp/json"
	same "degraded missing null" \
		"$(jq -r '.sets[0] | "\(.health) \(.tiers[1].state) \(.tiers[1].device)"' "$tmp/json")"
	same "tier_missing null" "$(jq -r '.sets[0].attention[] | "\(.code) \(.device)"' "$tmp/json")" "attention"
	same "262144 131072 true" "$(jq -r '.sets[0] | "\(.lost_ranges[] | "\(.offset) \(.length)") \(.lost_ranges_complete)"' \
		"$tmp/json")" "lost ranges"
	wait_for 20 top_says degraded
	kill -STOP "$top"
	ctl deactivate -q "$set"
	disk slow 32
	dd if="$tmp/slow" of="$slow" bs=1M oflag=direct status=none
	ctl_code 0 activate "$set"
	kill -CONT "$top"
	wait_for 20 top_says ok
	kill "$top"
}
top_says() { [[ $(grep 'status: ' "$tmp/top" | tail -n 1) == *"status: $1" ]]; }
test_case "a set that is degraded by the end of --interval" degraded_meanwhile

# ---- list, scan, status

list()
{
	make_disks
	ctl_code 0 list
	same "[]" "$(json '.sets | tostring' list)" "sets"
	create_set
	ctl_code 0 list
	matches "$set" "$output"
	same "$set" "$(json '.sets[0].name' list)"
	ctl deactivate -q "$set"
	ctl_code 0 list
	matches "$set" "$output"
	same "$set null" "$(json '.sets[0] | "\(.name) \(.device)"' list)" "an inactive set"
	ctl_code 0 list "$set"
	unchanged "${everything[@]}" -- ctl_code 0 list --json
}
test_case "list sets, active and inactive" list

# no_dm CODE ARGUMENT...: as ctl_code, without device-mapper
no_dm()
{
	local want=$1 rc=0
	shift
	output=$(unshare -m sh -c 'mount -t tmpfs -o ro tmpfs /dev/mapper && exec "$@"' sh \
		"$tierctl" "$@" 2>"$tmp/stderr" </dev/null) || rc=$?
	errors=$(<"$tmp/stderr")
	same "$want" "$rc" "exit status of tierctl $* ($output $errors)"
}

without_dm()
{
	local words
	make_disks
	create_set
	ctl dump "$set" -o "$tmp/dump"
	for words in list "status $set" "list -q" "metrics" "wait $set" "pause $set" "activate $set" \
		     "create tt_other -m /dev/tt_none $fast"; do
		# shellcheck disable=SC2086	# words
		no_dm 1 $words
		one_line 'cannot talk to device-mapper'
	done
	no_dm 1 list --json
	echo "$output" >"$tmp/json"
	keep_report list "$tmp/json"
	no_dm 1 scan
	matches "$fast" "$output"
	matches 'cannot ask device-mapper' "$errors"
	# Commands on files do not need device-mapper.
	no_dm 0 restore "$tmp/dump" "$tmp/meta"
	no_dm 0 check "$tmp/meta"
	no_dm 0 dump "$tmp/meta" -o "$tmp/again"
	cmp "$tmp/dump" "$tmp/again"
	unchanged "${everything[@]}" -- no_dm 1 restore -y "$tmp/dump" "$slow"
	no_dm 1 check "$set"
	one_line "$set: cannot talk to device-mapper"
	no_dm 0 list --help
}
test_case "device-mapper that cannot be asked is an error, but not for files" without_dm

scan()
{
	make_disks
	disk third 16
	mke2fs -q -F "$third"
	create_set
	ctl_code 0 scan
	for disk in "${everything[@]}"; do matches "${disk#/dev/}" "$output"; done
	[[ ! $output =~ tt_third ]] || fail "scan lists a stranger: $output"
	ctl_code 0 scan --all
	matches 'tt_third' "$output"
	same "metadata tier tier" "$(json '[.devices[].role] | sort | join(" ")' scan)" "roles"
	same "0 1" "$(json '[.devices[] | select(.role == "tier") | .tier] | sort | map(tostring) | join(" ")' scan)" \
		"ranks"
	ctl deactivate -q "$set"
	same 3 "$(json '.devices | length' scan)" "members of an inactive set"
	unchanged "${everything[@]}" "$third" -- ctl_code 0 scan --all
}
test_case "scan devices" scan

# at_end DISK BYTES TEXT: writes TEXT so many bytes before the end of the disk
at_end()
{
	local at=$(($(sectors_of "$1") * 512 - $2))
	printf '%b' "$3" | dd of="$1" bs=64 count=1 seek="$at" oflag=seek_bytes conv=notrunc,fsync status=none
}
roles() { echo "$(role "$meta") $(role "$fast") $(role "$slow")"; }
role() { json '.devices[] | select(.device == "'"$1"'") | .role' scan --all; }

# An array that is smaller than its legs has its metadata behind the end of the set; metadata
# before that end belongs to an array that lies on the set.
legs()
{
	local kind
	make_disks
	wrap tier "0 49152 linear $slow 0"
	wrap metadata "0 7168 linear $meta 0"
	ctl create -q "$set" -m /dev/mapper/tt_metadata -c 64k "$fast" /dev/mapper/tt_tier
	ctl deactivate -q "$set"
	remove tt_tier tt_metadata
	for kind in '4036 \x83\x74\x02\x6b' '1024 Intel\x20Raid\x20ISM\x20Cfg\x20Sig.\x201.1.00'; do
		same "metadata tier tier" "$(roles)" "without a signature"
		# shellcheck disable=SC2086
		for disk in "${everything[@]}"; do at_end "$disk" $kind; done
		same "other tier other" "$(roles)" "with that of $(blkid -p -o value -s TYPE "$slow")"
		for disk in "${everything[@]}"; do at_end "$disk" "${kind%% *}" "$(printf '\\0%.0s' {1..32})"; done
	done
}
test_case "the leg of an array that is not md's is not taken for the tier" legs

status_json()
{
	local filter
	make_disks
	create_set
	write_chunks 0 10 1
	# On a slow machine the policy would have the time to take them back.
	ctl set -q "$set" tier1.residence=3600
	ctl migrate -q "$set" 0-2 --tier 1
	ctl wait -q "$set"
	udevadm settle
	ctl status "$set" --json >"$tmp/json"
	status
	field() { jq -r "$1" "$tmp/json"; }
	same 1 "$(field .tierctl.schema)"
	same status "$(field .tierctl.command)"
	same 0 "$(field '.errors | length')"
	same "$set" "$(field '.sets[0].name')"
	same "/dev/mapper/$set" "$(field '.sets[0].device')"
	same $((S[length] * 512)) "$(field '.sets[0].size')"
	same 65536 "$(field '.sets[0].chunk_size')"
	same rw "$(field '.sets[0].mode')"
	same false "$(field '.sets[0].needs_check')"
	same running "$(field '.sets[0].migration')"
	same heat "$(field '.sets[0].policy')"
	same "10 731 0" "$(field '.sets[0].chunks | "\(.mapped) \(.total) \(.pinned)"')" "chunks"
	same "7 240" "$(field '.sets[0].tiers[0].chunks | "\(.used) \(.total)"')" "chunks of tier 0"
	same "3 496" "$(field '.sets[0].tiers[1].chunks | "\(.used) \(.total)"')" "chunks of tier 1"
	same $((16 * 1048576)) "$(field '.sets[0].tiers[0].size')" "size of tier 0"
	same active "$(field '.sets[0].tiers[1].state')"
	same "${S[writes0]}" "$(field '.sets[0].tiers[0].writes')" "writes of tier 0"
	same "3 $((3 * 65536))" "$(field '.sets[0].migrations | "\(.demotions) \(.migrated)"')" "migrations"
	same "[] true" "$(field '.sets[0] | "\(.lost_ranges) \(.lost_ranges_complete)"')" "lost ranges"
	same "[]" "$(field '.sets[0].attention | tostring')"
	same ok "$(field '.sets[0].health')"
	ctl_code 0 status "$set"
	for word in "$set" 'chunk 64 KiB' 'status: ok' 'tt_fast' 'tt_slow' 'tt_meta' 'none'; do
		matches "$word" "$output"
	done
	same "" "$errors" "stderr"
	is "$(awk '{ if (length > n) n = length } END { print n + 0 }' <<<"$output") <= 100"
}
test_case "status on a screen and as JSON" status_json

status_interval()
{
	make_disks
	create_set
	write_chunks 0 40 1
	background rewriting
	ctl status "$set" --interval 2 --json >"$tmp/json"
	touch "$tmp/done"
	is "$(jq '.sets[0].tiers[0].rate.writes | floor' "$tmp/json") > 0"
	ctl status -i 1 "$set" >/dev/null
}
rewriting() { while [ ! -e "$tmp/done" ]; do write_chunks 0 40 1; done; }
test_case "status --interval measures rates" status_interval

# ---- pause, resume, set, get

pause()
{
	make_disks
	create_set
	ctl_code 0 pause --dry-run "$set"
	same running "$(info running)"
	ctl_code 0 pause "$set"
	same paused "$(info running)"
	ctl_code 0 pause "$set"
	same paused "$(json '.sets[0].migration' status "$set")"
	ctl_code 0 resume -t "$set"
	same paused "$(info running)"
	ctl_code 0 resume "$set"
	same running "$(info running)"
}
test_case "pause and resume" pause

tunables()
{
	make_disks
	create_set
	ctl_code 0 set "$set" -t migration_depth=9
	status
	same 4 "${V[migration_depth]}"
	ctl_code 0 set "$set" migration_bandwidth=3m migration_depth=9 latency_guard=50% \
		tier0.endurance=2t tier1.reserve=1m tier1.landing=off tier1.latency=8ms tier0.watermark=5 tier1.quiet=600
	same "$set: migration_bandwidth=3072 (3 MiB/s) $set: migration_depth=9 $set: latency_guard=50 (50%)$(
		) $set: tier0.endurance=2048 (2 TiB a day) $set: tier1.reserve=16 (1 MiB) $set: tier1.landing=0 (no) $set: tier1.latency=8000 (8 ms) $set: tier0.watermark=5 (5%) $set: tier1.quiet=600 (600 s)" \
		"${output//$'\n'/ }" "what it says"
	status
	same 3072 "${V[migration_bandwidth]}"
	same 9 "${V[migration_depth]}"
	same 50 "${V[latency_guard]}"
	same 2048 "${V[tier0.endurance]}"
	same 16 "${V[tier1.reserve]}"
	same 0 "${V[tier1.landing]}"
	same 8000 "${V[tier1.latency]}"
	ctl_code 0 get "$set" migration_depth
	matches '\b9$' "$output"
	ctl_code 0 get "$set"
	for key in migration_bandwidth migration_depth latency_guard tier0.endurance tier1.reserve; do
		matches "$key" "$output"
	done
	same 3072 "$(json '.sets[0].tunables.migration_bandwidth' get "$set")"
	same 9 "$(json '.sets[0].tunables.migration_depth' get "$set" migration_depth)"
	# Sets each tunable of the policy to its present value.
	read -ra words <<<"${S[args]}"
	for ((i = 0; i < ${#words[@]}; i += 2)); do
		ctl_code 0 set "$set" "${words[i]}=${words[i + 1]}"
	done
}
test_case "set and get" tunables

# All values are set, or none.
set_partly_wrong()
{
	make_disks
	create_set
	ctl_code 2 set "$set" migration_depth=9 migration_bandwidth=wrong
	status
	same 4 "${V[migration_depth]}"
}
test_case "set changes all or nothing" set_partly_wrong

# ---- migrate, wait, pin, unpin, evacuate, admit

move_chunks()
{
	make_disks
	create_set --policy static
	write_chunks 0 40 1
	ctl_code 0 migrate -t "$set" 3 --tier 1
	sleep 0.5
	same 0 "$(info used1)"
	ctl_code 0 migrate "$set" 3 --tier 1
	ctl_code 0 wait "$set"
	same 1 "$(on_rank 3 1 1)"
	ctl_code 0 migrate "$set" 10-19 --tier 1
	ctl_code 0 wait --timeout 60 "$set"
	same 10 "$(on_rank 10 10 1)"
	ctl_code 0 migrate "$set" --offset 2m --length 100k --tier 1
	ctl_code 0 wait "$set"
	same "2 13" "$(on_rank 32 2 1) $(on_rank 0 731 1)"
	ctl_code 0 migrate "$set" 20-21 --tier 1 --home
	ctl_code 0 wait "$set" --json
	chunk_info 20
	same "1 20" "${C[rank]} ${C[place]}"
	check_chunks 0 40 1
}
test_case "migrate and wait" move_chunks

wait_detached()
{
	make_disks
	create_set --policy static --set migration_bandwidth=100k
	write_chunks 0 40 1
	ctl migrate -q "$set" 0-39 --tier 1
	ctl_code 1 wait --timeout 1 "$set"
	matches 'goes on' "$errors"
	rc=0
	timeout -s INT 2 "$tierctl" wait "$set" </dev/null >"$tmp/wait" 2>&1 || rc=$?
	same 124 "$rc" "timeout's own status"
	matches 'goes on' "$(<"$tmp/wait")"
	(sleep 1; exec "$tierctl" wait "$set") </dev/null >"$tmp/wait" 2>&1 &
	pid=$!
	sleep 2
	kill -INT "$pid"
	rc=0
	wait "$pid" || rc=$?
	same 130 "$rc" "exit status of a wait that was interrupted"
	ctl set -q "$set" migration_bandwidth=0
	ctl_code 0 wait "$set"
	same 40 "$(on_rank 0 40 1)"
}
test_case "wait gives up or detaches, the work goes on" wait_detached

pins()
{
	make_disks
	create_set
	write_chunks 0 10 1
	ctl_code 0 pin -t "$set" 2-4 --tier 1
	same 0 "$(info pinned)"
	ctl_code 0 pin "$set" 2-4 --tier 1
	same 3 "$(info pinned)"
	same 3 "$(json '.sets[0].chunks.pinned' status "$set")"
	matches 'pinned +192 KiB' "$(ctl status "$set")" "status"
	ctl_code 0 unpin -t "$set" 2-4
	ctl_code 0 unpin "$set" --offset 128k --length 64k
	same 2 "$(info pinned)"
	ctl_code 0 unpin "$set" 0-730
	same "$set: 2 chunks may move again." "$output"
	same 0 "$(info pinned)"
	ctl_code 0 unpin "$set" 0-730
	same "$set: 0 chunks may move again." "$output"
	# More chunks than the tier has places
	ctl_code 0 pin "$set" 0-399 --tier 0
	matches 'tier 0 has room for 240 chunks, not for 400 chunks' "$errors"
	ctl_code 0 pin "$set" 0-10 --tier 0
	same "" "$errors"
	ctl_code 0 unpin "$set" 0-730
}
test_case "pin and unpin" pins

evacuation()
{
	make_disks
	create_set --size 12m
	write_chunks 0 60 1
	ctl_code 0 evacuate -t "$set" 0
	same A "$(info state0)"
	ctl_code 0 evacuate "$set" "$fast"
	same "E 0" "$(info state0) $(info used0)"
	ctl_code 0 admit -t "$set" 0
	same E "$(info state0)"
	ctl_code 0 admit "$set" "$fast"
	same A "$(info state0)"
	ctl set -q "$set" migration_bandwidth=128k
	ctl_code 0 evacuate --background "$set" 1
	same evacuating "$(json '.sets[0].tiers[1].state' status "$set")"
	same evacuate "$(json '.sets[0].operation.type' status "$set")"
	ctl set -q "$set" migration_bandwidth=0
	ctl_code 0 wait --evacuated 1 "$set"
	same 0 "$(info used1)"
	ctl admit -q "$set" 1
	check_chunks 0 60 1
}
test_case "evacuate and admit" evacuation

# ---- a whole life through the tool, with a file system

life()
{
	make_disks
	create_set
	mkfs.ext4 -q "$dev"
	mkdir "$tmp/mnt"
	mount "$dev" "$tmp/mnt"
	dd if=/dev/urandom of="$tmp/mnt/data" bs=1M count=12 conv=fsync status=none
	sum=$(sha256sum <"$tmp/mnt/data")
	ctl_code 1 deactivate "$set"
	one_line "mounted on .*umount"
	ctl_code 1 destroy -y "$set"
	one_line "mounted on .*umount"
	ctl migrate -q "$set" 0-300 --tier 1
	ctl wait -q "$set"
	umount "$tmp/mnt"
	ctl deactivate -q "$set"
	ctl activate -q "$set"
	mount "$dev" "$tmp/mnt"
	same "$sum" "$(sha256sum <"$tmp/mnt/data")" "checksum of the file"
	umount "$tmp/mnt"
	ctl destroy -q -y "$set"
}
test_case "a file system on it" life

help_and_version()
{
	local command
	ctl_code 0 --version
	matches '^tierctl [0-9]+\.[0-9]+' "$output"
	ctl_code 0 --help
	for command in create destroy activate deactivate list scan status pause resume set get \
		       migrate wait pin unpin evacuate admit check dump restore repair; do
		matches "$command" "$output"
		help=$(ctl "$command" --help)
		matches "Usage: tierctl $command" "$help"
		ctl "$command" --version >/dev/null
	done
}
test_case "help and version" help_and_version

run_tests
