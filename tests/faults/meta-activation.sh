#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
#
# The metadata device fails while a set is formatted or activated.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
turns=2
# shellcheck source=lib-faults.sh
. "$(dirname "$0")/lib-faults.sh"

create() { dmsetup create "$set" --table "$(table_line)"; }
said() { klog_has "device-mapper: .*tier: .*$1" || fail "no word of /$1/ in the kernel log: $(klog)"; }
state_is() { [ "$(superblock 44)" = "$1" ]; }
FORMATTING=1 LIVE=3

# A new set works in every way.
new_set_works()
{
	activate
	same rw "$(mode_now)" "mode"
	write_chunks 0 20 1
	move 10 10 1
	deactivate
	activate
	same rw "$(mode_now)" "mode after an activation"
	check_chunks 0 20 1
	state_is "$LIVE" || fail "state on the disk is $(superblock 44)"
}

# ---- format

# No superblock, no label: all devices are as blank as before.
format_start()
{
	make_faulty_disks
	length=$(capacity_of 128 "$fast" "$slow")
	sums=$(checksums "$fast" "$slow")
	"meta_$1"
	klog_mark
	fails create
	said '[Mm]etadata'
	same "$sums" "$(checksums "$fast" "$slow")" "contents of the tiers"
	meta_good
	new_set_works
}

# The superblock says formatting, and no label is there: the set can only be formatted anew.
marked()
{
	make_faulty_disks
	length=$(capacity_of 128 "$fast" "$slow")
	wrap a "$(tier_table writes "$fast")"
	tiers=("$a" "$slow")
	klog_mark
	fails create
	said '[Tt]ier 0 .*label'
	state_is "$FORMATTING" || fail "state on the disk is $(superblock 44)"

	# Not if a device belongs to another set or carries other data.
	disk third 16
	disk meta2 4
	dmsetup create tt_second --table "0 128 tier $meta2 128 1 $third 0 0 static 0"
	remove tt_second
	disk spare 16
	echo something | dd of="$spare" conv=fsync status=none
	sums=$(checksums "$meta" "$fast" "$slow" "$third" "$spare")
	tiers=("$fast" "$third")
	refused 'tier 1 .* is a tier of set "tt_second", but the metadata device is blank' create
	tiers=("$fast" "$spare")
	refused 'tier 1 .*not a tier label' create
	tiers=("$fast" "$slow")
	refused 'not formatted' dmsetup create "$set" --readonly --table "$(table_line)"
	features=(read_only)
	refused 'not formatted' create
	features=()
	same "$sums" "$(checksums "$meta" "$fast" "$slow" "$third" "$spare")" "contents"

	# Then without the tier that failed; the slow tier has a label or not.
	swap a "$(tier_table good "$fast")"
	tiers=("$a" "$slow")
	new_set_works
}

# format_end KIND: the labels are written, the state formatting cannot be cleared
format_end()
{
	make_faulty_disks
	length=$(capacity_of 128 "$fast" "$slow")
	wrap a "$(tier_table hold "$fast")"
	tiers=("$a" "$slow")
	later create
	wait_for 20 state_is "$FORMATTING"
	wait_for 20 in_flight write a
	"meta_$1"
	swap a "$(tier_table good "$fast")"
	later_failed "formatted in spite of the metadata device"
	meta_good
	state_is "$FORMATTING" || fail "state on the disk is $(superblock 44)"
	new_set_works
}

# The state is cleared on the disk, but the write reported an error: the set is there.
format_end_unknown()
{
	make_faulty_disks
	length=$(capacity_of 128 "$fast" "$slow")
	wrap a "$(tier_table hold "$fast")"
	tiers=("$a" "$slow")
	later create
	wait_for 20 state_is "$FORMATTING"
	wait_for 20 in_flight write a
	hold up write
	swap a "$(tier_table good "$fast")"
	wait_for 20 in_flight write up
	meta_flushes
	hold up none
	later_failed "formatted in spite of the metadata device"
	meta_good
	state_is "$LIVE" || fail "state on the disk is $(superblock 44)"
	new_set_works
}

for kind in writes flushes dead; do
	test_case "format: metadata fails at once ($kind)" format_start "$kind"
done
test_case "format: a label cannot be written; what the mark means" marked
test_case "format: the mark cannot be taken off (writes)" format_end writes
test_case "format: the mark cannot be taken off (flushes)" format_end flushes
test_case "format: the mark is off, but the flush failed" format_end_unknown

# The same without removing the device: another resume tries again.
format_resume()
{
	make_faulty_disks
	length=$(capacity_of 128 "$fast" "$slow")
	dmsetup create "$set" --notable
	load
	meta_writes
	fails resume
	meta_good
	resume
	write_chunks 0 20 1
	check_chunks 0 20 1
	same rw "$(mode_now)" "mode"
}
test_case "format: a second resume after a failed one" format_resume

# The library returns another error for a bad medium than for other failing disks: a root that
# cannot be read must not be taken for an empty tree.
knobs=/sys/module/scsi_debug/parameters
# bad_medium BLOCK: this block cannot be read
bad_medium()
{
	echo $(($1 * 8)) >"$knobs/medium_error_start"
	echo 8 >"$knobs/medium_error_count"
	echo 2 >"$knobs/opts"
}
TIERS_ROOT=208 TUNABLES_ROOT=216

roots_unread()
{
	local meta offset
	scsi_disk 8 delay=0
	meta=$scsi metadata=$scsi
	disk fast 16
	disk slow 32
	activate
	write_chunks 0 20 1
	msg set migration_depth 9
	deactivate
	for offset in $TIERS_ROOT $TUNABLES_ROOT; do
		bad_medium "$(superblock "$offset")"
		klog_mark
		fails create
		! klog_has 'wipe it' || fail "a good tier is said to be none: $(klog)"
		said "[Mm]etadata"
		echo 0 >"$knobs/opts"
		activate
		same rw "$(mode_now)" "mode"
		status
		same 9 "${V[migration_depth]}" "migration_depth"
		check_chunks 0 20 1
		deactivate
	done
	scsi_disk_gone
}
test_case "the root of a tree cannot be read for a medium error" roots_unread

# ---- generation

make_down()
{
	make_faulty
	[ -z "${1:-}" ] || {
		deactivate
		wrap a "$(tier_table good "$fast")"
		tiers=("$a" "$slow")
		activate
	}
	deactivate
}

intact()
{
	activate
	same rw "$(mode_now)" "mode"
	check_chunks 0 20 1
	same 10 "$(on_rank 10 10 1)" "chunks on slow"
	deactivate
}

bump_start()
{
	make_down
	sums=$(checksums "$fast" "$slow")
	"meta_$1"
	klog_mark
	fails create
	said '[Mm]etadata'
	same "$sums" "$(checksums "$fast" "$slow")" "contents of the tiers"
	meta_good
	intact
	intact
}

bump_start_unknown()
{
	make_down
	hold up write
	later create
	wait_for 20 in_flight write up
	meta_flushes
	hold up none
	later_failed "activated in spite of the metadata device"
	meta_good
	intact
	intact
}

# cut_short FAULT: an activation writes the labels, then the metadata device fails
cut_short()
{
	swap a "$(tier_table hold "$fast")"
	later create
	wait_for 20 in_flight write a
	"meta_$1"
	swap a "$(tier_table good "$fast")"
	later_failed "activated in spite of the metadata device"
	meta_good
}

# New labels are written, and the metadata still has the old generation. The other tier is away
# when an activation completes the change, and is still accepted after several such changes.
bump_end()
{
	local _
	make_down wrapped
	for _ in 1 2; do
		cut_short "$1"
		tiers=("$a" -)
		for _ in 1 2; do
			activate
			check_chunks 0 10 1
			deactivate
		done
		tiers=("$a" "$slow")
	done
	intact
	intact
}

# The new label is written, but a slot can be neither read nor written for a while: the tier
# counts as failed. The next activation finds it good.
bump_misread()
{
	make_down wrapped
	cut_short writes
	for sector in 0 8; do
		swap a "$(printf '%s\n' "0 $sector linear $fast 0" "$sector 8 error" \
			"$((sector + 8)) $(($(sectors_of "$fast") - sector - 8)) linear $fast $((sector + 8))" |
			grep -v '^0 0 ')"
		activate
		same F "$(info state0)" "state of the tier"
		check_chunks 0 20 1
		deactivate
	done
	swap a "$(tier_table good "$fast")"
	intact
	intact
}

# A tier joins, and is interrupted twice before the metadata records it.
join_interrupted()
{
	local _
	make_down wrapped
	disk third 16
	tiers=("$a" "$third" "$slow")
	for _ in 1 2; do
		cut_short writes
	done
	activate
	same 3 "$(info tiers)" "tiers"
	check_chunks 0 20 1
	deactivate
}

for kind in writes flushes dead; do
	test_case "generation: metadata fails before the labels ($kind)" bump_start "$kind"
done
test_case "generation: a new label that cannot be read for a moment" bump_misread
test_case "generation: a tier that joins, interrupted twice" join_interrupted
test_case "generation: the new one is on the disk, but the flush failed" bump_start_unknown
for kind in writes flushes; do
	test_case "generation: metadata fails after the labels ($kind)" bump_end "$kind"
done

# A change of the list of a set in use: the device is suspended; another resume completes the
# change, or loading the old table undoes it.
shape() { echo "$(info tiers) $(sectors_of "$dev") $(on_rank 0 1 0)"; }
emptied() { [ "$(info used1)" = 0 ]; }

# list_change CHANGE FAULT again
# back SHAPE: SHAPE is the result of the change
list_change()
{
	local old_tiers old_length new_tiers new_length
	length=$((200 * 128))
	make_faulty
	old_tiers=("${tiers[@]}") old_length=$length
	case $1 in
	joins)
		disk third 16
		tiers+=("$third") ;;
	leaves)
		msg evacuate 1
		wait_for 30 emptied
		tiers=("$fast") ;;
	order) tiers=("$slow" "$fast") ;;
	length) length=$((300 * 128)) ;;
	esac
	new_tiers=("${tiers[@]}") new_length=$length
	load
	# The commit of the suspend is done first.
	suspend
	"meta_$2"
	fails resume
	meta_good
	if [ "$3" = again ]; then
		resume
		same "$4" "$(shape)" "tiers, length, chunk 0 on rank 0"
	else
		tiers=("${old_tiers[@]}") length=$old_length
		load
		resume || {
			tiers=("${new_tiers[@]}") length=$new_length
			load
			resume
		}
	fi
	same rw "$(mode_now)" "mode"
	check_chunks 0 20 1
	write_chunks 40 2 1
	io sync "$dev"
	deactivate
	activate
	check_chunks 0 20 1
	check_chunks 40 2 1
}
for how in "writes again" "writes back" "dead again"; do
	# shellcheck disable=SC2086	# two words
	test_case "a tier joins: metadata, then the table: $how" list_change joins $how "3 25600 1"
done
for how in "writes back" "dead again"; do
	# shellcheck disable=SC2086
	{
		test_case "a tier leaves: metadata, then the table: $how" \
			list_change leaves $how "1 25600 1"
		test_case "another order: metadata, then the table: $how" \
			list_change order $how "2 25600 0"
		test_case "more length: metadata, then the table: $how" \
			list_change length $how "2 38400 1"
	}
done

run_tests
