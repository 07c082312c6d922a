#!/bin/bash
# The demonstration itself. Runs in a guest that ci/demo/run starts, with $SLOW_DISK and
# $FAST_DISK. It checks all that it claims, and fails if a claim does not hold.
set -Eeuo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=screen.sh
. "$here/screen.sh"
# shellcheck source=measure.sh
. "$here/measure.sh"
PATH=$(cd "$here/../../userspace" && pwd):$PATH

screen_options "$@"
trap 'fail "a command went wrong (line $LINENO of demo.sh)"' ERR

steps=8
map_width=24
[ "$screen" = plain ] || map_width=64
set=photos
place=/run/photos
data=$place/library.db
# Which part of the file is busy, as fio's zones: percent of reads / of the file.
morning=2/25:96/15:2/60
evening=2/65:96/15:2/20

# ---- 1: the disks ----

find_disks()
{
	local fast sectors

	fast=$(readlink -f "$FAST_DISK")
	slow_dev=$(readlink -f "$SLOW_DISK")
	sectors=$(blockdev --getsz "$fast")
	# Partitions: only the kernel is told, so no partition table is needed.
	addpart "$fast" 1 2048 32768
	addpart "$fast" 2 34816 $((sectors - 34816))
	udevadm settle
	map_dev=${fast}1 fast_dev=${fast}2
}

# raw_speed DEVICE: sets $ms to the mean time of a small random read.
raw_speed()
{
	local us

	us=$(fio --name=raw --filename="$1" --readonly --rw=randread --bs=4k --direct=1 \
		--time_based --runtime=2 --output-format=terse | cut -d';' -f40)
	ms "${us%.*}"
}

step_disks()
{
	begin "Two disks"
	find_disks
	text "This machine has a fast disk and a slow one, as yours may have an SSD and a" \
	     "hard disk. The slow one is large, but it has to move its head to the right" \
	     "place before it can read:" ''
	raw_speed "$fast_dev"
	text "$fast_dev   fast, 255 MiB    a small read somewhere takes $ms"
	raw_speed "$slow_dev"
	text "$slow_dev    slow, 8 GiB      a small read somewhere takes $ms" '' \
	     "Tiering makes ONE disk of both, as large as both together. It notices which" \
	     "parts of it are busy and keeps those on the fast disk, by itself." \
	     "$map_dev, 16 MiB, will hold the map: what lies where."
}

# ---- 2: by hand ----

# capacity DEVICE...: sets $sectors to the capacity: the disks without a chunk for the label on
# each and without the set's reserve (dm-tier.rst).
capacity()
{
	local dev chunks=0 reserve

	for dev; do
		chunks=$((chunks + $(blockdev --getsz "$dev") / 2048 - 1))
	done
	reserve=$((chunks / 128))
	[ "$reserve" -ge 2 ] || reserve=2
	[ "$reserve" -le 64 ] || reserve=64
	sectors=$(((chunks - reserve) * 2048))
}

explain_table()
{
	printf '    %-12s %s\n' \
		0 "the new disk begins at its beginning," \
		"$sectors" "is that many sectors of 512 bytes long: both disks, less" \
		'' "1 MiB each for a label, and a little room for moving," \
		tier "is of the kind this project is about," \
		"$map_dev" "keeps its map here," \
		2048 "moves things in chunks of 2048 sectors, 1 MiB," \
		2 "is made of two disks:" \
		"$fast_dev" "the fastest comes first," \
		"$slow_dev" "then the slower one," \
		0 "has no special features switched on," \
		0 "and no settings changed;" \
		heat "what decides on moving is the policy \"heat\": busy goes up," \
		0 "and it has no settings changed either."
}

step_by_hand()
{
	local table

	begin "One disk of two, by hand"
	capacity "$fast_dev" "$slow_dev"
	table="0 $sectors tier $map_dev 2048 2 $fast_dev $slow_dev 0 0 heat 0"
	text "Linux makes disks of disks with one line, the table. This is the whole of it," \
	     "word by word:" ''
	explain_table
	echo
	show "dmsetup create byhand --table '$table'"
	dmsetup create byhand --table "$table"
	run lsblk --nodeps --output NAME,SIZE /dev/mapper/byhand
	echo 'written by hand' | dd of=/dev/mapper/byhand conv=fsync status=none
	[ "$(head -c 15 /dev/mapper/byhand)" = 'written by hand' ] ||
		fail "what was written to the disk made by hand does not come back"
	good "what is written to it comes back"
	run dmsetup remove byhand
	run tierctl destroy --quiet --yes byhand
	good "the tool finds the set that was made without it, and takes it apart again"
}

# ---- 3: with the tool ----

step_tool()
{
	begin "The same with the tool"
	text "tierctl works out the numbers, and refuses disks that carry something." ''
	run tierctl create "$set" --metadata "$map_dev" "$fast_dev" "$slow_dev"
	text '' "New files would go to the fast disk while it has room. Here they shall go to" \
	     "the slow one, and no more than 8 MiB a second shall move, so that there is" \
	     "something to watch:" ''
	run tierctl set "$set" tier0.landing=no migration_bandwidth=8m
	[ "$(blockdev --getsz /dev/mapper/$set)" = "$sectors" ] ||
		fail "tierctl's disk is not as large as the one made by hand"
}

# ---- 4: files ----

# For the part that is read again and again later, and for everything beside it.
checksums() { (cd "$place" && find . -type f -print0 | sort -z | xargs -0 md5sum); }

step_files()
{
	begin "A file system, and files"
	run mkfs.ext4 -q "/dev/mapper/$set"
	mkdir -p "$place"
	# mkfs would otherwise go on in the background and disturb.
	mount -o noatime,noinit_itable "/dev/mapper/$set" "$place"
	show "mount /dev/mapper/$set $place"
	run cp -r /usr/include/linux /usr/lib/gcc "$place"
	text "and a file of 384 MiB that stands for a database or a virtual machine:"
	fio --name=fill --filename="$data" --rw=write --bs=1m --size=384m --direct=1 \
		--end_fsync=1 --output=/dev/null
	sync -f "$place"
	text "$(find "$place" -type f | wc -l) files, $(du -sm "$place" | cut -f1) MiB. Taking their checksums."
	checksums >/run/before
	read_status "$set"
	text "fast disk: $fast_used MiB in use. slow disk: $slow_used MiB in use."
}

# ---- 5: the live view ----

# show_sample: one sample, as a screenful on a terminal, else as a line.
show_sample()
{
	local now first_ms

	ms "$before"; first_ms=$ms
	ms "$latency"; now=$ms
	bar "$share" 100 20
	if [ "$screen" = live ]; then
		live "  after $clock s" \
		     "    average read   $now, at first $first_ms; $rate reads a second" \
		     "    fast disk      serves $share% of the reads  [$bar]" \
		     "    chunks moved   $moved_up up, $moved_down down, $moving on the way" \
		     "    the file       . on the slow disk, # on the fast disk, + partly" \
		     "    $map"
	else
		printf '  %3d s  %9s a read  fast disk %3d%%  %3d moved  %s\n' \
			"$clock" "$now" "$share" $((moved_up + moved_down)) "$map"
	fi
}

# sample: wait for the next second's numbers; false after a while without any.
sample()
{
	local tries=0 fast=$fast_reads slow=$slow_reads all

	until sleep 0.5 && read_latency; do
		tries=$((tries + 1))
		[ "$tries" -lt 60 ] || fail "fio says nothing any more"
	done
	read_status "$set"
	read_heat "$set" "$first" "$chunks" "$map_width"
	all=$((fast_reads - fast + slow_reads - slow))
	[ "$all" -gt 0 ] || return 1
	share=$((100 * (fast_reads - fast) / all))
	clock=$((SECONDS - reading_since))
}

# watch SECONDS DONE: show samples until DONE says so; false after SECONDS.
watch()
{
	local limit=$((SECONDS + $1))

	live_lines=0
	[ "$screen" = live ] || text "     (the file is drawn on the right: . on the slow disk, # fast, + partly)"
	while [ "$SECONDS" -lt "$limit" ]; do
		sample || continue
		[ "$before" != 0 ] || before=$latency
		show_sample
		if "$2"; then
			return 0
		fi
		[ "$screen" = live ] || sleep 1
	done
	return 1
}

# begin_reading ZONES SECONDS
begin_reading()
{
	sync
	start_reader "$data" "$2" "$1"
	reading_since=$SECONDS before=0 steady=0
	read_status "$set"
}

# mostly_fast: three samples in a row with nine reads of ten from the fast disk.
mostly_fast()
{
	if [ "$share" -ge 90 ]; then steady=$((steady + 1)); else steady=0; fi
	[ "$steady" -ge 3 ]
}

step_heat()
{
	local was now

	begin "Busy parts climb to the fast disk"
	text "Now a program reads the large file, 4 KiB here and 4 KiB there. 96 of 100" \
	     "reads fall into one part of it, 58 MiB long: the busy part. All of it lies on" \
	     "the slow disk. Nobody tells the policy anything." ''
	file_chunks "$data"
	begin_reading "$morning" 110
	watch 100 mostly_fast ||
		fail "the fast disk serves $share% of the reads, not 90%, after $clock seconds"
	stop_reader
	ms "$before"; was=$ms
	ms "$latency"; now=$ms
	echo
	good "average read took $was, now $now; $share% served by the fast disk"
	[ $((latency * 2)) -lt "$before" ] || fail "reads did not get twice as fast"
	[ "$moved_up" -ge 30 ] || fail "only $moved_up chunks moved up"
}

# ---- 6: pause and resume ----

six_seconds() { [ "$clock" -ge $((paused_at + 6)) ]; }

# quiet: waits until chunks that were moving when migration was paused have arrived.
quiet()
{
	local tries

	for tries in {1..50}; do
		read_status "$set"
		[ "$moving" != 0 ] || return 0
		sleep 0.2
	done
	fail "$moving chunks are still moving $((tries / 5)) seconds after the pause"
}

# first_move SINCE MOVED: sets $waited to how long it took after SINCE until more
# than MOVED chunks have moved or are on their way.
first_move()
{
	local start=$1 had=$2 us

	until [ $((moved_up + moved_down)) -gt "$had" ] || [ "$moving" -gt 0 ]; do
		[ $((${EPOCHREALTIME/./} - start)) -lt 5000000 ] ||
			fail "nothing has moved 5 seconds after the resume"
		read_status "$set"
	done
	us=$((${EPOCHREALTIME/./} - start))
	printf -v waited '%d.%d s' $((us / 1000000)) $((us % 1000000 / 100000))
}

step_pause()
{
	local had start

	begin "Pause and resume"
	text "In the evening another part of the file gets busy. But first somebody says" \
	     "that nothing may move for now:" ''
	run tierctl pause "$set"
	quiet
	had=$((moved_up + moved_down))
	begin_reading "$evening" 150
	sample || true
	paused_at=$clock
	watch 30 six_seconds || fail "fio is too slow to tell"
	[ $((moved_up + moved_down + moving)) = "$had" ] ||
		fail "$((moved_up + moved_down + moving - had)) chunks moved during the pause"
	echo
	good "nothing moved during the pause, and the reads go on, from the slow disk"
	start=${EPOCHREALTIME/./}
	run tierctl resume "$set"
	first_move "$start" "$had"
	good "the first chunk was on its way at once (seen after $waited)"
	echo
	steady=0
	watch 100 mostly_fast ||
		fail "the fast disk serves $share% of the reads, not 90%, after $clock seconds"
	stop_reader
	echo
	good "the new busy part is on the fast disk, too: it serves $share% of the reads"
}

# ---- 7: off and on ----

step_reboot()
{
	local was_heat was_fast was_map

	begin "Off and on again"
	text "What is busy is remembered in the map, not only in memory. So nothing has to" \
	     "be learnt again after a reboot:" ''
	run umount "$place"
	read_heat "$set" "$first" "$chunks" "$map_width"
	was_heat=$heat was_fast=$on_fast was_map=$map
	run tierctl deactivate "$set"
	run tierctl list
	run tierctl activate "$set"
	read_heat "$set" "$first" "$chunks" "$map_width"
	text '' "        heat of the file   chunks of it on the fast disk" \
	     "$(printf 'before  %16d   %29d' "$was_heat" "$was_fast")" \
	     "$(printf 'after   %16d   %29d' "$heat" "$on_fast")"
	# Heat is stored in quarters of a half-life: it may differ by a sixth at most.
	[ $((heat * 100)) -ge $((was_heat * 80)) ] || fail "heat was not kept"
	[ "$on_fast $map" = "$was_fast $was_map" ] || fail "chunks are not where they were"
	good "heat was kept, and each chunk is where it was"
	show "mount /dev/mapper/$set $place"
	mount -o noatime,noinit_itable "/dev/mapper/$set" "$place"
	read_again
}

read_again()
{
	begin_reading "$evening" 20
	sample || sample
	stop_reader
	ms "$latency"
	[ "$share" -ge 90 ] || fail "only $share% of the reads are served by the fast disk after the restart"
	good "the same reads, at once: $ms on average, $share% served by the fast disk"
}

# ---- 8: is all well? ----

step_checks()
{
	local differing

	begin "Was anything lost?"
	text "All files are read once more."
	checksums >/run/after
	differing=$(comm -13 <(sort /run/before) <(sort /run/after))
	[ -z "$differing" ] || fail "checksums differ: ${differing%%$'\n'*}"
	cmp -s /run/before /run/after || fail "files are missing"
	good "$(wc -l </run/after) files have the checksums they had before anything moved"
	run tierctl status "$set"
	umount "$place"
	tierctl deactivate --quiet "$set"
	modprobe -r dm-tier-heat dm-tier || fail "the kernel modules cannot be unloaded"
	good "the set was shut down and the kernel modules are unloaded"
	check_log
}

check_log()
{
	local found

	found=$(dmesg | grep -E 'WARNING|\<BUG\>|Oops|Call Trace|blocked for more than|lockup|I/O error|EXT4-fs (error|warning)' |
		head -n 3) || true
	[ -z "$found" ] || fail "the kernel complains: $found"
	good "the kernel has nothing to complain about in its log"
}

last_words()
{
	elapsed
	bar 1 1 24
	printf '\n%s[%s] done, %s%s\n\n' "$bold" "$bar" "$time" "$off"
	text "On real disks. What is on them will be lost; and put the map on a mirror, for" \
	     "without the map all is lost:" '' \
	     "  sudo make install" \
	     "  sudo tierctl create photos --metadata /dev/MAP /dev/FAST /dev/SLOW --dry-run" \
	     "  sudo tierctl create photos --metadata /dev/MAP /dev/FAST /dev/SLOW" \
	     "  sudo mkfs.ext4 /dev/mapper/photos" \
	     "  sudo mount /dev/mapper/photos /srv" \
	     "  sudo tierctl status photos" '' \
	     "README.md goes on from there."
}

modprobe dm-tier
step_disks
step_by_hand
step_tool
step_files
step_heat
step_pause
step_reboot
step_checks
last_words
