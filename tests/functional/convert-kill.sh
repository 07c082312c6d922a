#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at tierctl; what its steps ask of the kernel is in convert and revert
# udev
# timeout=1800
# long
#
# convert and revert, killed at each of their steps. The same command again, an activation
# as udev starts it, or --abort finishes or undoes the rest, also after a restart. Each row
# ends with a line that says so.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-reshape.sh
. "$(dirname "$0")/lib-reshape.sh"
# shellcheck source=lib-convert.sh
. "$(dirname "$0")/lib-convert.sh"

is_set() { [[ $(dmsetup table "$vg-data") == *" tier "* ]] || fail "$vg/data is no set: $(dmsetup table "$vg-data")"; }

is_plain()
{
	same "data " "$(lvm_names)" "volumes"
	same "" "$(tags data)" "tags"
	same "" "$(dmsetup ls --target tier)" "sets"
	matches '^LVM-' "$(dmsetup info -c --noheadings -o uuid "$vg-data")"
}

# restart: no device of the set is left; then LVM activates its volumes, then udev handles them
restart()
{
	local name
	for name in "$vg-data" "$vg-data_trevert"; do
		case $(dmsetup info -c --noheadings -o uuid "$name" 2>/dev/null) in
		TIER-*) dmsetup remove --retry "$name" ;;
		esac
	done
	vgchange -q -ay "$vg" >/dev/null
	ctl activate --auto
}

# row CONVERT_STEP HOW REVERT_STEP HOW
row()
{
	local words
	make_vg
	words=(convert "$vg/data" -c 64k --policy static --fast-size 4m --fast-pv "${loops[1]}")
	data write
	killed "convert-$1" "${words[@]}"
	case $2 in
	again)
		ctl_code 0 "${words[@]}" ;;
	auto)
		ctl_code 0 activate --auto ;;
	restart)
		restart ;;
	abort)
		data check
		ctl_code 0 convert --abort "$vg/data"
		is_plain
		data check
		ctl_code 0 "${words[@]}" ;;
	refused)
		# Nothing was changed yet, so --auto has nothing to finish.
		ctl_code 0 activate --auto
		data check
		ctl_code 1 activate "$vg/data"
		one_line "tierctl convert --abort $vg/data"
		ctl_code 0 convert --abort "$vg/data"
		is_plain
		data check
		ctl_code 0 "${words[@]}" ;;
	esac
	is_set
	same "data data_tiermeta data_torig data_tvol0 " "$(lvm_names)" "volumes"
	data check
	printf '# convert killed at %-12s %-8s -> a set\n' "$1" "$2" >&3

	ctl migrate -q "$vg/data" 100-130 --tier 0
	ctl wait -q "$vg/data"
	killed "revert-$3" revert "$vg/data"
	case $4 in
	again)
		ctl_code 0 revert "$vg/data" ;;
	auto)
		ctl_code 0 activate --auto ;;
	set)
		# After a restart the set is a set again, and can be reverted.
		restart
		is_set
		data check
		ctl_code 0 revert "$vg/data" ;;
	restart)
		restart ;;
	abort)
		ctl_code 0 revert --abort "$vg/data"
		is_set
		data check
		same running "$(json '.sets[0].migration' status "$vg/data")"
		ctl_code 0 revert "$vg/data" ;;
	late)
		# The set is a plain device already, whatever is left to clean up.
		ctl_code 1 revert --abort "$vg/data"
		one_line "all of it is back, so that this can only go on\. type: tierctl revert $vg/data"
		data check
		ctl_code 0 revert "$vg/data" ;;
	esac
	is_plain
	data check
	printf '# revert  killed at %-12s %-8s -> plain\n' "$3" "$4" >&3
}

rows()
{
	while [ $# != 0 ]; do
		test_case "killed: convert at $1, then $2; revert at $3, then $4" row "$1" "$2" "$3" "$4"
		shift 4
	done
}
rows	tagged abort		begun abort \
	fast again		home set \
	volumes abort		suspended again \
	metadata refused	reverting again \
	copied abort		reverting set \
	labelled again		written set \
	committed again		committed again \
	committed auto		committed restart \
	cleared restart		linear again \
	renamed again		device again \
	renamed auto		placeholder restart \
	placeholder restart	renamed auto \
	live auto		released again \
	live restart		wiped again \
	live again		wiped late \
	live again		committed late \
	cleared again		retired auto \
	committed restart	unmade again

# undo CONVERT_STEP ABORT_STEP HOW: --abort, which undoes a conversion, is killed as well
undo()
{
	local words
	make_vg
	words=(convert "$vg/data" -c 64k --policy static --fast-size 4m --fast-pv "${loops[1]}")
	data write
	killed "convert-$1" "${words[@]}"
	killed "convert-abort-$2" convert --abort "$vg/data"
	case $3 in
	abort)
		ctl_code 0 convert --abort "$vg/data"
		is_plain ;;
	again)
		ctl_code 0 "${words[@]}"
		is_set ;;
	auto)
		restart
		if [ "$2" = committed ]; then
			data check
			ctl_code 0 convert --abort "$vg/data"
			is_plain
		else
			is_set
		fi ;;
	esac
	data check
	printf '# convert killed at %-12s, abort at %-10s %-8s -> %s\n' "$1" "$2" "$3" "$(lvm_names)" >&3
}
while read -r step of_abort how; do
	test_case "killed: convert at $step, its --abort at $of_abort, then $how" undo "$step" "$of_abort" "$how"
done <<'ROWS'
committed written abort
cleared named again
renamed named abort
placeholder committed again
live named auto
live written again
live committed auto
live written abort
ROWS

# undone_cut CONVERT_STEP ABORT_STEP: as undo, with a power cut after the kill
undone_cut()
{
	local words=(convert "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static)
	local slow_data=(at=0 len=32m seed=8)
	disk meta 4 cache_size=4
	disk fast 16 cache_size=16
	disk slow 32 cache_size=8
	io write "$slow" "${slow_data[@]}"
	io sync "$slow"
	killed "convert-$1" "${words[@]}"
	killed "convert-abort-$2" convert --abort "$slow" --name "$set"
	cut_power "$meta" "$fast" "$slow"
	ctl_code 0 convert --abort "$slow" --name "$set"
	same "" "$(json '.sets[].name' list)" "sets"
	io check "$slow" "${slow_data[@]}"
}
for pair in committed:written cleared:committed live:named live:written live:committed; do
	test_case "power cut: convert at ${pair%:*}, its --abort at ${pair#*:}" undone_cut "${pair%:*}" "${pair#*:}"
done

# Only revert turns back a set that was active. --abort does not take such a set for one
# that was never active.
used()
{
	local all=("$slow" "$fast" "$meta")
	make_disks
	io write "$slow" at=0 len=32m seed=8
	ctl convert -q "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static
	unchanged "${all[@]}" -- ctl_code 1 convert --abort "$set"
	one_line "$set: has been used as a tiered set.*: tierctl revert $set$"
	ctl deactivate -q "$set"
	unchanged "${all[@]}" -- ctl_code 1 convert --abort "$set"
	one_line "$set: has been used as a tiered set.*: tierctl activate $set, then: tierctl revert $set$"
	ctl activate -q "$set"
	ctl revert -q "$set"
	io check "$slow" at=0 len=32m seed=8
	ctl create -q "$set" -f -y -m "$meta" -c 64k -L 14m "$fast" "$slow"
	ctl deactivate -q "$set"
	unchanged "${all[@]}" -- ctl_code 1 convert --abort "$set"
	one_line "$set: .*tierctl activate $set, then: tierctl revert $set$"
}
test_case "--abort of a set that was used" used

# cut STEP: the tool has died at STEP; now the disks lose power, and all devices come back
cut()
{
	cut_power "$meta" "$fast" "$slow"
	[ ! -e "$dev" ] || dmsetup remove --retry "$set"
	ctl activate --auto
}

# power_cuts CONVERT_STEP REVERT_STEP
power_cuts()
{
	local words=(convert "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static)
	local slow_data=(at=0 len=32m seed=8)
	disk meta 4 cache_size=4
	disk fast 16 cache_size=16
	disk slow 32 cache_size=8
	io write "$slow" "${slow_data[@]}"
	io sync "$slow"
	killed "convert-$1" "${words[@]}"
	cut
	if [ -e "$dev" ]; then
		is_tier
		printf '# convert power cut at %-10s -> a set\n' "$1" >&3
	else
		io check "$slow" "${slow_data[@]}"
		printf '# convert power cut at %-10s -> the disk\n' "$1" >&3
		# Before a label is written only its size identifies the disk.
		ctl convert --abort -q -y "$slow" --name "$set"
		ctl_code 0 "${words[@]}"
	fi
	io check "$dev" "${slow_data[@]}"
	ctl migrate -q "$set" 100-130 --tier 0
	ctl wait -q "$set"
	killed "revert-$2" revert "$set"
	cut
	if [ -e "$dev" ]; then
		is_tier
		io check "$dev" "${slow_data[@]}"
		printf '# revert  power cut at %-10s -> a set\n' "$2" >&3
		ctl_code 0 revert "$set"
	else
		printf '# revert  power cut at %-10s -> the disk\n' "$2" >&3
	fi
	io check "$slow" "${slow_data[@]}"
	same "" "$(json '.sets[].name' list)" "sets"
}
is_tier() { [[ $(dmsetup table "$set") == *" tier "* ]] || fail "$set: $(dmsetup table "$set")"; }

cuts="metadata:home copied:suspended labelled:reverting committed:written cleared:committed live:linear"
cuts+=" labelled:released copied:wiped metadata:retired committed:noted"
for pair in $cuts; do
	test_case "power cut: convert at ${pair%:*}, revert at ${pair#*:}" power_cuts "${pair%:*}" "${pair#*:}"
done

# A device without a label may be missing: nothing is removed because of that.
missing_disk()
{
	local words=(convert "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static)
	local slow_data=(at=0 len=32m seed=8) words_of_abort
	make_disks
	io write "$slow" "${slow_data[@]}"
	killed convert-copied "${words[@]}"
	for words_of_abort in "$slow" "$slow --name tt_misspelt"; do
		# shellcheck disable=SC2086
		unchanged "$fast" "$meta" "$slow" -- ctl_code 1 convert --abort $words_of_abort
		one_line "$slow: nothing to undo of that name\. was it for $set\? then: tierctl convert --abort $slow --name $set"
	done
	ctl_code 1 convert --abort "$set"
	one_line "connect it.*tierctl convert --abort dev --name $set"
	# Before a label is written only its size identifies a disk, and another disk has
	# the same size.
	unchanged "$fast" "$meta" "$slow" -- ctl_code 1 "${words[@]}"
	one_line "connect it.*tierctl convert --abort dev --name $set"
	unchanged "$fast" "$meta" "$slow" -- ctl_code 1 convert --abort "$slow" --name "$set"
	one_line "$set: no tier is there, .* whether $slow is .*\(then $slow\)\. is it that device"
	ctl_code 0 convert --abort "$slow" --name "$set" -y
	same "" "$(json '.sets[].name' list)" "sets"
	killed convert-labelled "${words[@]}"
	# One of the same size
	disk third 32
	unchanged "$fast" "$meta" "$third" -- ctl_code 1 convert --abort "$third" --name "$set"
	one_line "$third does not begin with what is kept .*\(then $slow\)\. is it that device"
	ctl_code 0 convert --abort "$set"
	io check "$slow" "${slow_data[@]}"
	killed convert-committed "${words[@]}"
	unchanged "$fast" "$meta" "$third" "$slow" -- \
		ctl_code 1 convert "$third" --name "$set" -c 64k --fast "$fast" --metadata "$meta"
	one_line "$set: its conversion, of $slow, was interrupted, so $third needs another name\. .*activate $set"
	echo 0 >"$configfs/${slow#/dev/}/power"
	unchanged "$fast" "$meta" -- ctl_code 1 convert --abort "$set"
	one_line "connect it"
	unchanged "$fast" "$meta" -- ctl_code 1 activate "$set"
	matches "is missing" "$errors"
	echo 1 >"$configfs/${slow#/dev/}/power"
	wait_for 10 test -b "$slow"
	ctl activate --auto
	io check "$dev" "${slow_data[@]}"
}
test_case "the disk that was being converted is missing" missing_disk

# activate --auto cleans up nothing as long as a device would be left out; activate by name says so.
comes_later()
{
	local by
	make_disks
	io write "$slow" at=0 len=32m seed=8
	for by in itself hand; do
		ctl convert -q "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static
		killed revert-linear revert "$set"
		dmsetup remove --retry "$set"
		echo 0 >"$configfs/${fast#/dev/}/power"
		unchanged "$meta" "$slow" -- ctl_code 0 activate --auto
		same "$set" "$(json '.sets[].name' list)" "sets"
		if [ "$by" = hand ]; then
			ctl_code 0 revert "$set"
			matches "tier 0 \\(${fast#/dev/}\\) is not there, and keeps its label" "$errors"
		fi
		echo 1 >"$configfs/${fast#/dev/}/power"
		wait_for 10 test -b "$fast"
		if [ "$by" = hand ]; then
			ctl_code 0 destroy -y "$fast"
		else
			ctl_code 0 activate --auto
		fi
		same "" "$(json '.sets[].name' list)" "sets"
		io check "$slow" at=0 len=32m seed=8
	done
}
test_case "a disk that has still to be cleaned up comes late" comes_later

# follow: runs the command that the last message names
follow()
{
	local command
	matches ': (dd [^,]*), and as INTERRUPTED' "$errors"
	read -ra command <<<"${BASH_REMATCH[1]}"
	"${command[@]}" status=none
}

# As long as the label area is not cleared, the disk can be used as before. Data written
# that way is newer than the set, and must not be lost.
used_since()
{
	local words=(convert "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static)
	local mount=$tmp/mnt all=("$slow" "$fast" "$meta") head
	make_disks
	mkfs.ext4 -q "$slow"
	mkdir "$mount"
	killed convert-committed "${words[@]}"
	unchanged "${all[@]}" -- ctl_code 0 activate --auto --read-only
	unchanged "${all[@]}" -- ctl_code 1 activate --read-only "$set"
	one_line "to finish that writes, so not with --read-only: tierctl activate $set"
	mount "$slow" "$mount"
	unchanged "$fast" "$meta" -- ctl_code 1 activate "$set"
	matches "$set: $slow is mounted on $mount" "$errors"
	cp "$tierio" "$mount/io"
	umount "$mount"
	unchanged "${all[@]}" -- ctl activate --auto
	unchanged "${all[@]}" -- ctl_code 1 "${words[@]}"
	unchanged "${all[@]}" -- ctl_code 1 activate "$set"
	matches "$set: $slow was written to" "$errors"
	follow
	ctl_code 0 convert --abort "$slow" --name "$set" -y
	same "" "$(json '.sets[].name' list)" "sets"
	mount "$slow" "$mount"
	cmp "$tierio" "$mount/io"
	umount "$mount"
	# The same while reverting
	ctl_code 0 "${words[@]}"
	head=$(dd if="$dev" bs=8k count=1 iflag=direct status=none | md5sum)
	killed revert-written revert "$set"
	dmsetup remove --retry "$set"
	unchanged "${all[@]}" -- ctl_code 1 activate --read-only "$set"
	one_line "so not with --read-only"
	io write "$slow" at=640k len=64k seed=9
	unchanged "${all[@]}" -- ctl activate --auto
	unchanged "${all[@]}" -- ctl_code 1 revert "$set"
	matches "$set: $slow was written to" "$errors"
	follow
	ctl_code 0 destroy -y "$set"
	same "" "$(json '.sets[].name' list)" "sets"
	same "$head" "$(dd if="$slow" bs=8k count=1 iflag=direct status=none | md5sum)" "what it begins with"
	io check "$slow" at=640k len=64k seed=9
}
test_case "the disk was used for what it was in between" used_since

# A label is smaller than a block of these disks, and a signature in the rest of the block stays.
large_blocks()
{
	local zeroes
	disk meta 4 blocksize=4096
	disk fast 16 blocksize=4096
	disk slow 32 blocksize=4096
	io write "$slow" at=0 len=32m seed=8
	killed convert-live convert "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta"
	zeroes=$(dd if="$slow" bs=4k count=256 iflag=direct status=none | tail -c +513 | tr -d '\0' | wc -c)
	same 0 "$zeroes" "bytes behind the label that are not zero"
	ctl activate -q "$set"
	io check "$dev" at=0 len=32m seed=8
}
test_case "a disk with blocks of 4 KiB" large_blocks

# A copy of a tier, like a snapshot: nobody can say which of the two is right.
copied_tier()
{
	local words=(convert "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static)
	local slow_data=(at=0 len=32m seed=8) step all=("$slow" "$fast" "$meta" "$third")
	make_disks
	disk third 32
	io write "$slow" "${slow_data[@]}"
	killed convert-committed "${words[@]}"
	dd if="$slow" of="$third" bs=1M oflag=direct status=none
	unchanged "${all[@]}" -- ctl activate --auto
	unchanged "${all[@]}" -- ctl_code 1 activate "$set"
	one_line "two devices say that they are its tier 1"
	unchanged "${all[@]}" -- ctl_code 1 convert --abort "$set"
	unchanged "${all[@]}" -- ctl_code 1 "${words[@]}"
	disk_gone third
	ctl activate --auto
	io check "$dev" "${slow_data[@]}"
	for step in reverting written; do
		killed "revert-$step" revert "$set"
		dmsetup remove --retry "$set"
		disk third 32
		dd if="$fast" of="$third" bs=1M oflag=direct status=none
		unchanged "${all[@]}" -- ctl activate --auto
		unchanged "${all[@]}" -- ctl_code 1 revert "$set"
		one_line "two devices say that they are its tier 0"
		disk_gone third
		ctl activate --auto
		if [ "$step" = reverting ]; then is_tier; fi
	done
	if [ -e "$dev" ]; then ctl_code 0 revert "$set"; fi
	io check "$slow" "${slow_data[@]}"
}
test_case "a copy of a tier is there" copied_tier

# refused_suspended REGEX ARGUMENT...: revert changes nothing, and the set stays suspended
refused_suspended()
{
	unchanged "$fast" "$meta" "$slow" -- ctl_code 1 revert "$set" "${@:2}"
	one_line "$1"
	same Suspended "$(dmsetup info -c --noheadings -o suspended "$set")" "the device"
}

# The slowest tier is not the tier that takes the set's place.
other_tier()
{
	local step
	make_disks
	for step in committed noted; do
		ctl create -q "$set" -f -y -m "$meta" -c 64k -L 14m --policy static "$fast" "$slow"
		io write "$dev" at=0 len=14m seed=3
		killed "revert-$step" revert "$set" --tier 0
		refused_suspended "is on its way back to tier 0 already.*--tier 0" --tier 1
		ctl_code 0 revert "$set"
		same "" "$(json '.sets[].name' list)" "sets"
		io check "$fast" at=0 len=14m seed=3
	done
}
test_case "a call for another tier than the slowest" other_tier

# Old data on a tier is not taken for data that somebody wrote after the conversion.
not_blank()
{
	local step
	make_disks
	disk third 48
	for step in reverting written committed noted; do
		io write "$slow" at=0 len=32m seed=8
		io write "$third" at=0 len=48m seed=4
		dd if=/dev/zero of="$third" bs=8k count=1 oflag=direct conv=notrunc status=none
		ctl convert -q "$slow" --name "$set" -c 64k --fast "$third" --metadata "$meta" --policy static
		ctl migrate -q "$set" 0-200 --tier 0
		ctl wait -q "$set"
		killed "revert-$step" revert "$set" --tier 0
		dmsetup remove --retry "$set"
		ctl_code 0 activate --auto
		[ ! -e "$dev" ] || ctl_code 0 revert "$set" --tier 0
		same "" "$(json '.sets[].name' list)" "sets"
		io check "$third" at=0 len=32m seed=8
		wipefs -q -a "$slow"
	done
}
test_case "back to a tier that was not blank all over when it joined" not_blank

# revert resumes only a set that revert itself suspended, and only while no other command
# works on it.
suspended_by_others()
{
	local fd uuid
	make_small
	dmsetup suspend "$set"
	refused_suspended "is suspended\. type: dmsetup resume"
	dmsetup resume "$set"
	killed revert-suspended revert "$set"
	uuid=$(dmsetup info -c --noheadings -o uuid "$set")
	exec {fd}<>"/run/dm-tier/${uuid#TIER-}.change"
	flock -n "$fd"
	refused_suspended "tierctl revert \(process [0-9]+\) is changing it" -q
	exec {fd}<&-
	ctl_code 0 revert --abort "$set"
	same running "$(json '.sets[0].migration' status "$set")"
	still_data check
}
test_case "a set that others have suspended" suspended_by_others

# Writes from here on would be lost: the set is not resumed, and no message tells the user
# to resume it.
not_resumed()
{
	local step
	make_disks
	for step in reverting committed noted; do
		ctl create -q "$set" -f -y -m "$meta" -c 64k -L 14m --policy static "$fast" "$slow"
		io write "$dev" at=0 len=14m seed=3
		killed "revert-$step" revert "$set"
		fails dmsetup resume "$set"
		matches "tier: .*: On its way back to one device: tierctl revert" "$(klog)"
		ctl_code 1 resize "$set"
		one_line "$set: is suspended\. type: tierctl revert $set$"
		ctl_code 1 set "$set" migration_bandwidth=1m
		one_line "it is suspended\. first: tierctl revert $set$"
		ctl_code 3 status "$set"
		matches "attention +suspended: I/O to it waits \(tierctl revert $set\)" "$output"
		ctl_code 0 revert "$set"
		same "" "$(json '.sets[].name' list)" "sets"
		io check "$slow" at=0 len=14m seed=3
	done
}
test_case "a set that was left suspended is not resumed without revert" not_resumed

# A write behind the end of the set makes the device look like another device.
killed_twice()
{
	make_disks
	io write "$slow" at=0 len=32m seed=8
	ctl convert -q "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static
	killed revert-committed revert "$set"
	killed revert-linear revert "$set"
	io write "$dev" at=0 len=64k seed=9
	dmsetup remove --retry "$set"
	ctl_code 0 activate --auto
	same "" "$(json '.sets[].name' list)" "sets"
	io check "$slow" at=0 len=64k seed=9
}
test_case "killed at the moment, and once more when that goes on" killed_twice

# After a restart disks came in another order: the name belongs to another disk.
another_disk()
{
	local home other home_data=(at=0 len=32m seed=8) step
	make_loops 32 32
	home=${loops[0]} other=${loops[1]}
	disk meta 4
	disk fast 16
	io write "$home" "${home_data[@]}"
	io write "$other" at=0 len=32m seed=9
	losetup -d "$other"
	ctl convert -q "$home" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static
	for step in reverting written; do
		killed "revert-$step" revert "$set"
		dmsetup remove --retry "$set"
		losetup -d "$home"
		losetup "$home" "$tmp/file1"
		unchanged "$fast" "$meta" -- ctl_code 0 activate --auto
		unchanged "$fast" "$meta" -- ctl_code 1 revert "$set"
		one_line "is missing\. connect it"
		losetup -d "$home"
		losetup "$home" "$tmp/file0"
		ctl activate --auto
		wait_for 10 test -e "$dev"
		io check "$dev" "${home_data[@]}"
	done
	ctl_code 0 revert "$set"
	io check "$home" "${home_data[@]}"
	loops=("$home")
}
test_case "another disk has the name of the one that is to take the set's place" another_disk

# While the set is suspended, reading a device that lies on it would wait for ever.
below_others()
{
	local length
	make_disks
	io write "$slow" at=0 len=32m seed=8
	ctl convert -q "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static
	length=$(sectors_of "$dev")
	wrap above "0 $length linear $dev 0"
	wrap top "0 $length linear /dev/mapper/tt_above 0"
	killed revert-written revert "$set"
	background "$tierctl" revert "$set" </dev/null >"$tmp/said" 2>&1
	wait_for 60 has_ended "$last_pid"
	wait "$last_pid" || fail "revert: exit status $? ($(<"$tmp/said"))"
	io check /dev/mapper/tt_top at=0 len=32m seed=8
	remove tt_top tt_above
	same "" "$(json '.sets[].name' list)" "sets"
	io check "$slow" at=0 len=32m seed=8
}
test_case "a set left suspended that other devices lie on" below_others

# The set's own data may begin with a tier's label, or metadata, at the place of the set's
# own label.
label_in_it()
{
	local what=$1 at=0
	shift
	make_disks
	io write "$slow" at=0 len=32m seed=8
	ctl convert -q "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static
	! cmp -s -n 4096 "$fast" /dev/zero || at=1
	dd if="$fast" of="$tmp/slot" bs=4k skip="$at" count=1 iflag=direct status=none
	[ "$what" = label ] || dd if="$meta" of="$tmp/slot" bs=4k count=1 iflag=direct status=none
	ctl revert -q "$set"
	cat "$tmp/slot" "$tmp/slot" >"$tmp/label"
	ctl convert -q "$slow" --name "$set" -c 64k --fast "$fast" --metadata "$meta" --policy static
	dd if="$tmp/label" of="$dev" bs=4k oflag=direct status=none
	killed revert-written revert "$set"
	if [ "$1" = restart ]; then
		shift
		dmsetup remove --retry "$set"
	fi
	ctl_code 0 "$@" "$set"
	[ "$*" = revert ] || ctl revert -q "$set"
	dd if="$slow" bs=8k count=1 iflag=direct status=none | cmp - "$tmp/label"
	io check "$slow" at=8k len=32760k seed=8
}
test_case "a label in the set's data, revert killed, again" label_in_it label revert
test_case "a label in the set's data, revert killed, undone" label_in_it label revert --abort
test_case "a label in the set's data, revert killed, activated" label_in_it label restart activate
test_case "metadata in the set's data, revert killed, undone" label_in_it metadata restart revert --abort

# The terminal goes away while I/O is held: revert first finishes the step that holds I/O.
hung_up()
{
	local rc=0
	make_vg
	data write
	ctl convert -q "$vg/data" -c 64k --policy static --fast-size 4m --fast-pv "${loops[1]}"
	stopped revert-suspended revert "$vg/data"
	kill -HUP "$stopped_pid"
	kill -CONT "$stopped_pid"
	wait "$stopped_pid" || rc=$?
	same "129 Active" "$rc $(dmsetup info -c --noheadings -o suspended "$vg-data")" "exit status and state"
	data check
	ctl_code 0 revert "$vg/data"
	is_plain
	data check
}
test_case "hung up on while the set is suspended" hung_up

run_tests
