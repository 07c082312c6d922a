#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# udev
# timeout=240
# long
#
# tierctl with files: pin, unpin, migrate, explain and heatmap of paths. The chunks of a file are
# compared with the places where its data is found on the device.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
need mkfs.ext4

mnt=$tmp/mnt
mkdir "$mnt"
chunk_bytes=$((chunk * 512))

create_set()
{
	make_disks
	ctl create "$set" -q -m "$meta" -c 64k --policy static "$fast" "$slow"
}

# A set with an ext4 of 1 KiB blocks on $1, mounted on $mnt.
mount_fs()
{
	local on=${1:-$dev}
	[ $# = 0 ] || shift
	mkfs.ext4 -q -b 1024 "$@" "$on"
	mount "$on" "$mnt"
}

make_mounted()
{
	create_set
	mount_fs
}

# marked FILE KIB MARKER: makes a file in which every sector begins with the marker, since a
# block of the file system may lie across the border of two chunks
marked()
{
	awk -v n="$2" -v m="$3" 'BEGIN { n *= 2; while (n--) printf "%-511s\n", m }' >"$1"
	sync "$1"
}

# found MARKER [DEV]: the chunks of the device with the marker, "3 4 7"
found()
{
	sync -f "$mnt"
	echo 3 >/proc/sys/vm/drop_caches
	LC_ALL=C grep -obUaF "$1" "${2:-$dev}" | cut -d: -f1 |
		awk -v c="$chunk_bytes" '{ n = int($1 / c); if (n != last) print n; last = n }' last=-1 |
		sort -nu | paste -sd' ' -
}

# explained ARGUMENT...: the chunks that tierctl names
explained() { json '[.sets[0].chunk_list[].chunk] | sort | map(tostring) | join(" ")' explain "$@"; }

# pinned_are LIST RANK: these chunks are pinned to the tier, and no others
pinned_are()
{
	local i
	same "$(wc -w <<<"$1")" "$(info pinned)" "number of pinned chunks (to be $1)"
	for i in $1; do
		chunk_info "$i"
		same "$2" "${C[pin]}" "pin of chunk $i"
	done
}

# all_of MARKER...: the chunks that hold any of them
all_of()
{
	local marker
	for marker; do found "$marker"; done | tr ' ' '\n' | sort -nu | paste -sd' ' -
}

# ---- from a file to chunks

one_file()
{
	make_mounted
	marked "$mnt/a" 700 MARKER-A
	marked "$mnt/b" 300 MARKER-B
	want=$(found MARKER-A)
	is "$(wc -w <<<"$want") >= 11"
	same "$want" "$(explained "$set" "$mnt/a")" "chunks of a"
	same "$want" "$(explained "$mnt/a")" "chunks of a, the set not named"
	same "$want" "$(cd "$mnt" && explained "$set" a)" "chunks of a, by a relative path"
	same "$(found MARKER-B)" "$(explained "$mnt/b")" "chunks of b"
	same "$(all_of MARKER-A MARKER-B)" "$(explained "$mnt/a" "$mnt/b")" "chunks of both"
	same "1 1 716800" "$(json '.sets[0].paths[0] | "\(.files) \(.extents) \(.bytes)"' explain "$mnt/a")" \
		"files, extents, bytes"
	ctl_code 0 explain "$mnt/a"
	matches "a: 700 KiB of 1 file, 1 extent" "$output"
	matches "on tier 0" "$output"
	matches "first write" "$output"
	ctl_code 0 heatmap "$mnt/a"
	same "$(wc -w <<<"$want")" "$(json '[.sets[0].cells[].count] | add' heatmap "$mnt/a")" "chunks drawn"
}
test_case "explain and heatmap of a file" one_file

# Behind a set numbers are chunks; without a set they are files.
numbers()
{
	make_mounted
	marked "$mnt/1" 300 MARKER-1
	marked "$mnt/700" 200 MARKER-7
	cd "$mnt"
	same "$(all_of MARKER-1 MARKER-7)" "$(explained 1 700)" "chunks of the files"
	same "5 700" "$(explained "$set" 5 700)" "chunks"
	same "$(all_of MARKER-7 MARKER-1)" "$(explained "$set" ./700 ./1)" "chunks of the files, the set named"
	ctl_code 2 explain 1 5
	one_line '5 is not chunk.*no file'
	ctl_code 0 pin 1 700 --tier 1
	cd /
	pinned_are "$(all_of MARKER-1 MARKER-7)" 1
}
test_case "files whose names are numbers" numbers

# A file with holes and many extents.
scattered()
{
	local i
	make_mounted
	for ((i = 0; i < 300; i++)); do
		printf '%-1023s\n' MARKER-S | dd of="$mnt/s" bs=1k seek=$((i * 3)) conv=notrunc status=none
		printf 'x%.0s' {1..1024} >"$mnt/x$i"
		[ $((i % 20)) != 0 ] || sync -f "$mnt"
	done
	is "$(json '.sets[0].paths[0].extents' explain "$mnt/s") >= 100"
	same "$(found MARKER-S)" "$(explained "$mnt/s")" "chunks"
}
test_case "a file of many extents" scattered

directory()
{
	make_mounted
	mkdir -p "$mnt/d/e" "$mnt/other" "$mnt/d/tmp"
	marked "$mnt/d/1" 100 MARKER-D
	marked "$mnt/d/e/2" 200 MARKER-D
	marked "$mnt/other/3" 100 MARKER-O
	ln -s ../other "$mnt/d/link"
	ln -s ../other/3 "$mnt/d/link3"
	mkfifo "$mnt/d/fifo"
	: >"$mnt/d/empty"
	same "$(found MARKER-D)" "$(explained "$mnt/d")" "chunks of the directory"
	same "2" "$(json '.sets[0].paths[0].files' explain "$mnt/d")" "files with blocks"
	# Another file system below is left out, with a message.
	mount -t tmpfs none "$mnt/d/tmp"
	head -c 100k /dev/urandom >"$mnt/d/tmp/4"
	same "$(found MARKER-D)" "$(explained "$mnt/d")" "chunks with a mount below"
	ctl_code 0 explain "$mnt/d"
	matches 'd: 1 directory below it on other file systems left out' "$errors"
	umount "$mnt/d/tmp"
	# A symlink that is named is followed.
	same "$(found MARKER-O)" "$(explained "$mnt/d/link3")" "chunks behind a link"
}
test_case "a directory, with links, a fifo and a mount in it" directory

# ---- through devices in between

through_linear()
{
	create_set
	# Parts of the set, in the wrong order, and not at the border of a chunk.
	dmsetup create tt_lin --table "0 20000 linear $dev 30001
20000 20480 linear $dev 100"
	mount_fs /dev/mapper/tt_lin
	marked "$mnt/a" 9000 MARKER-A
	marked "$mnt/b" 6000 MARKER-B
	same "$(found MARKER-A)" "$(explained "$mnt/a")" "chunks of a"
	same "$(found MARKER-B)" "$(explained "$mnt/b")" "chunks of b"
	# The device itself can be named, too: 40480 sectors.
	ctl_code 0 pin /dev/mapper/tt_lin --tier 1
	same "$(( (20579 / 128 + 1) + (50000 / 128 - 30001 / 128 + 1) ))" "$(info pinned)" "pinned chunks"
	umount "$mnt"
	dmsetup remove --retry tt_lin
}
test_case "through dm-linear in pieces" through_linear

through_striped()
{
	create_set
	disk third 32
	# Half of the device lies elsewhere.
	dmsetup create tt_str --table "0 60000 striped 3 40 $dev 16 $dev 40960 $third 0"
	mount_fs /dev/mapper/tt_str
	marked "$mnt/a" 5000 MARKER-A
	same "$(found MARKER-A)" "$(explained "$mnt/a")" "chunks"
	ctl_code 0 explain "$mnt/a"
	matches "does not lie on $set" "$errors"
	umount "$mnt"
	dmsetup remove --retry tt_str
}
test_case "through dm-striped, partly on another disk" through_striped

# The encrypted data cannot be searched: see which chunks change.
chunk_sums()
{
	echo 3 >/proc/sys/vm/drop_caches
	/usr/bin/python3 - "$dev" <<-'END'
	import sys, zlib
	with open(sys.argv[1], "rb") as dev:
	    for chunk in iter(lambda: dev.read(65536), b""):
	        print(zlib.crc32(chunk))
	END
}

through_crypt()
{
	modprobe -q dm-crypt || skip "no dm-crypt"
	create_set
	dmsetup create tt_cry --table "0 30000 crypt aes-xts-plain64 $(printf '7%.0s' {1..128}) 0 $dev 12345"
	# Otherwise the kernel zeroes tables of inodes in the background while it is mounted.
	mount_fs /dev/mapper/tt_cry -E lazy_itable_init=0,lazy_journal_init=0
	marked "$mnt/a" 3000 MARKER-A
	sync -f "$mnt"
	want=$(explained "$mnt/a")
	umount "$mnt"
	chunk_sums >"$tmp/before"
	mount -o noatime /dev/mapper/tt_cry "$mnt"
	dd if=/dev/urandom of="$mnt/a" bs=1k count=3000 conv=notrunc,fsync status=none
	umount "$mnt"
	dmsetup remove --retry tt_cry
	chunk_sums >"$tmp/after"
	changed=" $(paste "$tmp/before" "$tmp/after" | awk '$1 != $2 { printf "%d ", NR - 1 }')"
	for n in $want; do
		[[ $changed == *" $n "* ]] || fail "chunk $n did not change: $changed"
	done
	# Other changes: superblock, inodes, journal.
	is "$(wc -w <<<"$changed") <= $(wc -w <<<"$want") + 8"
	is "$(wc -w <<<"$want") >= 47"
}
test_case "through dm-crypt" through_crypt

through_lvm()
{
	create_set
	export LVM_SYSTEM_DIR=$tmp/lvm
	mkdir -p "$tmp/lvm"
	printf 'devices { filter=["a|^%s$|","r|.*|"] use_devicesfile=0 }\n' "$dev" >"$tmp/lvm/lvm.conf"
	lvm pvcreate -q -q "$dev" >/dev/null 2>&1 || skip "pvcreate does not work here"
	lvm vgcreate -q -q -s 128k tt_vg "$dev" >/dev/null 2>&1
	lvm lvcreate -q -q -n pad -L 1m -an -Zn -Wn tt_vg >/dev/null 2>&1
	lvm lvcreate -q -q -n data -L 20m tt_vg >/dev/null 2>&1 || skip "lvcreate does not work here"
	mount_fs /dev/mapper/tt_vg-data
	marked "$mnt/a" 3000 MARKER-A
	want=$(found MARKER-A)
	same "$want" "$(explained "$mnt/a")" "chunks"
	umount "$mnt"
	lvm vgchange -an tt_vg >/dev/null 2>&1
}
test_case "through a logical volume" through_lvm

# ---- pin, unpin, migrate

pin_file()
{
	make_mounted
	marked "$mnt/a" 700 MARKER-A
	want=$(found MARKER-A)
	n=$(wc -w <<<"$want")
	ctl_code 0 pin --dry-run "$mnt/a" --tier 1
	same 0 "$(info pinned)" "pinned by a dry run"
	[ ! -e "$mnt/.tierctl-pins" ] || fail "a dry run recorded something"
	ctl_code 0 pin --wait --tier 1 "$mnt/a"
	matches "$n chunks are on tier 1" "$output"
	same "$n" "$(info pinned)"
	pinned_are "$want" 1
	for i in $want; do
		same 1 "$(on_rank "$i" 1 1)" "chunk $i on tier 1"
	done
	same "600 0" "$(stat -c '%a %u' "$mnt/.tierctl-pins")" "mode and owner of the record"
	ctl_code 0 explain "$mnt/a"
	matches "pinned to tier 1" "$output"
	ctl_code 0 unpin "$mnt/a"
	same 0 "$(info pinned)"
	[ ! -e "$mnt/.tierctl-pins" ] || fail "the record is not empty: $(<"$mnt/.tierctl-pins")"
	ctl_code 0 migrate --tier 0 --wait "$set" "$mnt/a"
	for i in $want; do
		same 1 "$(on_rank "$i" 1 0)" "chunk $i on tier 0"
	done
	same MARKER-A "$(head -c 8 "$mnt/a")"
}
test_case "pin, unpin and migrate a file" pin_file

refresh()
{
	make_mounted
	mkdir "$mnt/d"
	marked "$mnt/d/a" 300 MARKER-1
	marked "$mnt/b" 300 MARKER-B
	marked "$mnt/gone" 200 MARKER-G
	ctl_code 0 pin --tier 1 "$mnt/d" "$mnt/b" "$mnt/gone"
	pinned_are "$(all_of MARKER-1 MARKER-B MARKER-G)" 1
	# Nothing to do, even if nobody knows the names of the files.
	umount "$mnt"
	mount "$dev" "$mnt"
	ctl_code 0 pin --refresh
	for name in d b gone; do
		matches "$name: 0 chunks pinned, 0 chunks unpinned" "$output"
	done
	same 3 "$(grep -c ^pin "$mnt/.tierctl-pins")" "files on record"
	same "b d gone" "$(sed -n 's/^pin .* //p' "$mnt/.tierctl-pins" | sort | paste -sd' ' -)" "their names"
	# One file grows, one is replaced, one renamed, one removed.
	marked "$mnt/d/new" 400 MARKER-2
	marked "$mnt/space" 2000 x
	marked "$mnt/b.new" 350 MARKER-C
	mv "$mnt/b.new" "$mnt/b"
	mv "$mnt/d" "$mnt/moved"
	rm "$mnt/gone"
	sync -f "$mnt"
	before=$(info pinned)
	ctl_code 0 pin --refresh --dry-run "$mnt"
	same "$before" "$(info pinned)" "pinned after a dry run"
	ctl_code 0 pin --refresh "$set"
	matches 'moved: [1-9][0-9]* chunks pinned' "$output"
	matches 'gone: gone, ' "$output"
	pinned_are "$(all_of MARKER-1 MARKER-2 MARKER-C)" 1
	same 2 "$(grep -c ^pin "$mnt/.tierctl-pins")" "files on record"
	# Chunks that two files share stay pinned for the other file.
	ctl_code 0 unpin "$mnt/b"
	pinned_are "$(all_of MARKER-1 MARKER-2)" 1
	# Pins that the set has dropped, as when a tier was taken out.
	msg unpin 0 731
	ctl_code 0 pin --refresh
	matches 'moved: [1-9][0-9]* chunks pinned' "$output"
	pinned_are "$(all_of MARKER-1 MARKER-2)" 1
	# A file below a pinned directory is not unpinned alone.
	before=$(info pinned)
	ctl_code 1 unpin "$mnt/moved/new"
	one_line 'is pinned as part of .*/moved'
	same "$before" "$(info pinned)"
	ctl_code 0 unpin "$mnt"
	same 0 "$(info pinned)"
}
test_case "pin --refresh follows files" refresh

# A chunk at the border of two files belongs to the file that was pinned last.
border()
{
	make_mounted
	marked "$mnt/a" 90 MARKER-A
	marked "$mnt/b" 90 MARKER-B
	ctl pin -q --tier 1 "$mnt/a"
	ctl pin -q --tier 0 "$mnt/b"
	a=$(explained "$mnt/a") b=$(explained "$mnt/b") shared=0
	msg unpin 0 731
	ctl_code 0 pin --refresh
	for n in $a; do
		chunk_info "$n"
		if [[ " $b " = *" $n "* ]]; then shared=1; else same 1 "${C[pin]}" "pin of chunk $n"; fi
	done
	same 1 "$shared" "a chunk of both ($a, $b)"
	for n in $b; do
		chunk_info "$n"
		same 0 "${C[pin]}" "pin of chunk $n"
	done
}
test_case "pin --refresh of files that share a chunk" border

# Directories deeper than tierctl goes, and a mount of only a part of the file system.
unseen()
{
	make_mounted
	mkdir -p "$mnt/d/$(printf 'x/%.0s' {1..300})" "$tmp/part"
	marked "$mnt/d/a" 300 MARKER-1
	ctl_code 0 pin --tier 1 "$mnt/d"
	want=$(found MARKER-1)
	mv "$mnt/d/a" "$mnt/d/$(printf 'x/%.0s' {1..300})"
	ctl_code 1 pin --refresh
	matches 'd: 1 file or directory could not be looked at.*stays so' "$errors"
	pinned_are "$want" 1
	same 1 "$(grep -c ^pin "$mnt/.tierctl-pins")" "files on record"
	mv "$mnt/d/$(printf 'x/%.0s' {1..300})a" "$mnt/d"
	rm -r "$mnt/d/x"
	ctl_code 0 pin --refresh
	pinned_are "$want" 1

	mount --bind "$mnt/d" "$tmp/part"
	umount "$mnt"
	ctl_code 1 pin --refresh "$tmp/part"
	one_line 'root of the file system is mounted nowhere'
	ctl_code 0 pin --refresh
	umount "$tmp/part"
}
test_case "pin --refresh of what cannot be seen" unseen

# The record must be of this file system, and only root may write it.
strange_record()
{
	make_mounted
	marked "$mnt/a" 100 MARKER-A
	ctl pin -q --tier 1 "$mnt/a"
	before=$(info pinned)
	chmod 666 "$mnt/.tierctl-pins"
	ctl_code 1 pin --refresh
	one_line "root's alone"
	chmod 600 "$mnt/.tierctl-pins"
	cp "$mnt/.tierctl-pins" "$tmp/record"
	sed -i 's/^\(tierctl-pins 1 \).*/\100000000-1111-2222-3333-444444444444/' "$mnt/.tierctl-pins"
	ctl_code 0 pin --refresh
	matches 'another file system' "$errors"
	echo 'pin of something' >>"$tmp/record"
	cp "$tmp/record" "$mnt/.tierctl-pins"
	ctl_code 1 pin --refresh
	one_line 'line 4 is damaged'
	ctl_code 1 unpin "$mnt/a"
	one_line 'line 4 is damaged'
	cmp "$tmp/record" "$mnt/.tierctl-pins"
	same "$before" "$(info pinned)"
}
test_case "a record that is not to be trusted" strange_record

# The owner of the root of a file system can put anything there.
pipe_as_record()
{
	make_mounted
	marked "$mnt/a" 100 MARKER-A
	mkfifo -m 600 "$mnt/.tierctl-pins"
	for command in "pin --refresh" "pin --tier 1 $mnt/a" "unpin $mnt/a"; do
		# shellcheck disable=SC2086	# words
		{
		rc=0
		timeout 60 "$tierctl" $command </dev/null >"$tmp/said" 2>&1 || rc=$?
		}
		same 1 "$rc" "exit status of $command"
		matches "root's alone" "$(<"$tmp/said")"
	done
}
test_case "a pipe in the place of the record" pipe_as_record

# A file that became smaller and is pinned again, without a refresh.
pin_again()
{
	make_mounted
	marked "$mnt/a" 700 MARKER-A
	ctl pin -q --tier 1 "$mnt/a"
	before=$(info pinned)
	truncate -s 100k "$mnt/a"
	ctl_code 0 pin --tier 0 "$mnt/a"
	same "$before" "$(info pinned)" "pinned, those of its former blocks too"
	ctl_code 0 pin --refresh
	same "$(explained "$mnt/a" | wc -w)" "$(info pinned)" "pinned after a refresh"
	truncate -s 40k "$mnt/a"
	ctl pin -q --tier 1 "$mnt/a"
	ctl_code 0 unpin "$mnt/a"
	same 0 "$(info pinned)" "pinned"
}
test_case "pinned again after it has changed" pin_again

# Recorded chunks that the set does not have any more.
smaller_set()
{
	local file
	make_mounted
	for file in a b; do
		marked "$mnt/$file" 100 MARKER-A
		ctl pin -q --tier 1 "$mnt/$file"
	done
	sed -i 's/^\(pin [^ ]* [^ ]* [^ ]* [^ ]*\) /\1,729-90000,100000 /' "$mnt/.tierctl-pins"
	grep -q ',729-90000,100000 a' "$mnt/.tierctl-pins"
	rm "$mnt/a"
	sync -f "$mnt"
	ctl_code 0 pin --refresh
	matches 'a: gone, ' "$output"
	! grep -q 90000 "$mnt/.tierctl-pins" || fail "what is on record: $(<"$mnt/.tierctl-pins")"
	sed -i 's/^\(pin [^ ]* [^ ]* [^ ]* [^ ]*\) /\1,729-90000,100000 /' "$mnt/.tierctl-pins"
	ctl_code 0 unpin "$mnt/b"
	same 0 "$(info pinned)" "pinned"
}
test_case "a record of more chunks than there are" smaller_set

# One command after the other: otherwise each would overwrite the other's record.
one_at_a_time()
{
	make_mounted
	marked "$mnt/a" 100 MARKER-A
	hold_pins
	for command in "pin --refresh" "pin --tier 1 $mnt/a" "unpin $mnt/a"; do
		# shellcheck disable=SC2086	# words
		{
		rc=0
		timeout 5 "$tierctl" $command -q </dev/null >/dev/null 2>&1 || rc=$?
		}
		same 124 "$rc" "timeout's own status: $command"
		same 0 "$(info pinned)" "pinned by $command"
	done
	let_pins_go
	ctl_code 0 pin --tier 1 "$mnt/a"
	is "$(info pinned) > 0"
}
hold_pins()
{
	hex=$(json '.sets[0].uuid' list | tr -d -)
	mkdir -p /run/dm-tier
	flock "/run/dm-tier/$hex.pins" sleep 1000 &
	holder=$!
	wait_for 10 held
}
held() { ! flock -n "/run/dm-tier/$hex.pins" true; }
let_pins_go()
{
	pkill -P "$holder" -x sleep
	wait "$holder" || true
}
test_case "who pins waits for another" one_at_a_time

# A tier is added in front while a pin waits.
shifted()
{
	make_mounted
	disk third 8
	marked "$mnt/a" 100 MARKER-A
	want=$(found MARKER-A)
	hold_pins
	ctl pin -v --tier 1 "$mnt/a" >"$tmp/said" 2>&1 &
	pinner=$!
	wait_for 30 grep -q 'waiting for another' "$tmp/said"
	ctl add -q "$set" "$third" --at 0
	let_pins_go
	wait "$pinner"
	pinned_are "$want" 2
	hold_pins
	ctl pin -v --refresh >"$tmp/said" 2>&1 &
	pinner=$!
	wait_for 30 grep -q 'waiting for another' "$tmp/said"
	ctl remove -q "$set" 0
	let_pins_go
	wait "$pinner"
	pinned_are "$want" 1
}
test_case "a tier has another rank by the time it is pinned to" shifted

read_only_fs()
{
	make_mounted
	marked "$mnt/a" 100 MARKER-A
	mount -o remount,ro "$mnt"
	ctl_code 1 pin --tier 1 "$mnt/a"
	matches 'Read-only' "$errors"
	matches 'does not know of it' "$errors"
	ctl_code 0 explain "$mnt/a"
}
test_case "a file system that is read-only" read_only_fs

# ---- misuse

refuse()
{
	local code=$1 want=$2
	shift 2
	ctl_code "$code" "$@"
	one_line "$want"
}

misuse()
{
	make_mounted
	disk third 8
	disk spare 16
	mkfs.ext4 -q "$spare"
	mkdir "$tmp/spare"
	mount "$spare" "$tmp/spare"
	head -c 100k /dev/urandom >"$tmp/spare/file"
	marked "$mnt/a" 100 MARKER-A
	: >"$mnt/empty"
	mkfifo "$mnt/fifo"
	mkdir "$mnt/nothing"
	refuse 1 "/mnt: lies on $set\. name $set" status "$mnt"
	for command in "pin --tier 1" "migrate --tier 1" unpin explain heatmap; do
		# shellcheck disable=SC2086	# words
		{
		refuse 1 'no such file' $command "$mnt/none"
		refuse 1 'no such file' $command "$set" "$mnt/none"
		refuse 1 'is no file, directory or block device' $command "$mnt/fifo"
		refuse 1 'tt_spare, which is on no tiered set' $command "$tmp/spare/file"
		refuse 1 'tt_spare, which is on no tiered set' $command "$set" "$tmp/spare"
		refuse 1 'does not tell on which blocks' $command /proc/version
		refuse 1 'a/b/c: no such set' $command a/b/c
		}
	done
	for command in "pin --tier 1" "migrate --tier 1" explain heatmap; do
		# shellcheck disable=SC2086	# words
		{
		refuse 1 'it is empty' $command "$mnt/empty"
		refuse 1 'no file below it has blocks' $command "$mnt/nothing"
		}
	done
	refuse 2 'no file' explain "$set" nofile
	refuse 2 'home' migrate "$mnt/a" --tier 1 --home
	refuse 2 'where' migrate "$mnt/a"
	refuse 2 'refresh' pin --refresh --tier 1
	refuse 2 'too few' pin
	refuse 1 'no such set' pin --refresh nosuch
	refuse 1 'on no tiered set' pin --refresh "$tmp/spare"
	same 0 "$(info pinned)" "pinned"
	umount "$tmp/spare"
}
test_case "files that cannot be named" misuse

inline_data()
{
	create_set
	mkfs.ext4 -q -b 1024 -I 256 -O inline_data "$dev"
	mount "$dev" "$mnt"
	echo tiny >"$mnt/tiny"
	sync -f "$mnt"
	refuse 1 'inline data' pin --tier 1 "$mnt/tiny"
	marked "$mnt/large" 200 MARKER-L
	same "$(found MARKER-L)" "$(explained "$mnt")" "chunks of a directory with a tiny file"
}
test_case "inline data" inline_data

no_fiemap()
{
	modprobe -q minix || skip "no minix file system"
	command -v mkfs.minix >/dev/null || skip "no mkfs.minix"
	create_set
	mkfs.minix -3 "$dev" >/dev/null
	mount -t minix "$dev" "$mnt"
	head -c 100k /dev/urandom >"$mnt/a"
	refuse 1 'minix.*fiemap' explain "$mnt/a"
	refuse 1 'minix.*fiemap' pin "$mnt" --tier 1
}
test_case "a file system without FIEMAP" no_fiemap

on_xfs()
{
	modprobe -q xfs || skip "no XFS"
	command -v mkfs.xfs >/dev/null || skip "no mkfs.xfs"
	make_disks
	disk third 400
	ctl create "$set" -q -m "$meta" -c 64k --policy static "$fast" "$third"
	mkfs.xfs -q "$dev"
	mount "$dev" "$mnt"
	marked "$mnt/a" 3000 MARKER-A
	same "$(found MARKER-A)" "$(explained "$mnt/a")" "chunks"
	ctl_code 0 pin --tier 1 "$mnt/a"
	mv "$mnt/a" "$mnt/b"
	ctl_code 0 pin --refresh
	matches 'b: 0 chunks pinned' "$output"
	ctl_code 0 unpin "$mnt/b"
	same 0 "$(info pinned)"
}
test_case "XFS" on_xfs

run_tests
