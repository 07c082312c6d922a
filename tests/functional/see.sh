#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at the reports of tierctl
# udev
# timeout=480
# long
#
# Reports of a set: tierctl top, heatmap, explain, events and metrics; every report keeps to its
# schema.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"

# The words after the name of the policy and more options of create.
create_set()
{
	make_disks
	ctl create "$set" -q -m "$meta" -c 64k --policy "$@" "$fast" "$slow"
}

refuse()
{
	local code=$1 want=$2
	shift 2
	ctl_code "$code" "$@"
	one_line "$want"
}

# ---- top

# Some chunks that are hotter than others; $hottest is the hottest.
warm_up()
{
	local i
	create_set heat --feature paused
	write_chunks 0 40 1
	for ((i = 0; i < 30; i++)); do
		check_chunks 7 1 1
		[ $((i % 3)) != 0 ] || check_chunks 20 3 1
	done
	sleep 0.2
}

# "HEAT CHUNK", the hottest first
by_heat() { msg heat 0 731 731 | awk '$6 { print $6, $1 }' | sort -k1,1nr -k2,2n; }

top_batch()
{
	warm_up
	ctl_code 0 top --once "$set"
	same "" "$errors" "stderr"
	for word in "$set" 'tt_fast' 'tt_slow' 'reads/s' 'moving' 'chunk' 'heat'; do
		matches "$word" "$output"
	done
	by_heat >"$tmp/heat"
	is "$(wc -l <"$tmp/heat") >= 40"
	want=$(head -n 10 "$tmp/heat" | cut -d' ' -f1 | paste -sd' ' -)
	same "$want" "$(json '[.sets[0].hot_chunks[].heat | tostring] | join(" ")' top "$set")" "the ten hottest"
	same 7 "$(jq '.sets[0].hot_chunks[0].first' "$tmp/json")" "the hottest chunk"
	same null "$(jq '.sets[0].hot_files' "$tmp/json")" "hot files"
	is "$(jq '.sets[0].tiers | length' "$tmp/json") == 2"
	# Screen after screen, until told to stop.
	rc=0
	timeout -s INT $((4 * patience)) "$tierctl" top --batch --interval 1 "$set" </dev/null >"$tmp/batch" || rc=$?
	same 124 "$rc" "timeout's own status"
	is "$(grep -c '^moving' "$tmp/batch") >= 2"
	# Activity meanwhile.
	ctl_code 0 top --once "$set"
	matches "^$set  46 MiB" "$output"
	(sleep 3; exec "$tierctl" resize -q -y --size 40m "$set" </dev/null >"$tmp/resize" 2>&1) &
	timeout -s INT 10 "$tierctl" top --batch --interval 1 "$set" </dev/null >"$tmp/batch" || true
	wait "$!"
	matches "^$set  46 MiB" "$(<"$tmp/batch")"
	matches "$set  40 MiB" "$(<"$tmp/batch")" "screens ($(<"$tmp/resize"))"
	# top ends when its set goes.
	(sleep 2; dmsetup remove --retry "$set") &
	ctl_code 1 top --batch --interval 1 "$set"
	matches 'no such set' "$errors"
	wait
}
test_case "top in batches and as JSON" top_batch

top_rates()
{
	create_set static
	write_chunks 0 40 1
	background rewriting
	json . top --interval 2 "$set" >/dev/null
	touch "$tmp/done"
	is "$(jq '.sets[0].tiers[0].rate.writes' "$tmp/json") > 0"
	is "$(jq '.sets[0].tiers[0].rate.written_bytes' "$tmp/json") >= 65536"
	same 0 "$(jq '.sets[0].hot_chunks | length' "$tmp/json")" "hot chunks of the policy static"
	ctl_code 0 top --once
	matches 'nothing is hot' "$output"
}
rewriting() { while [ ! -e "$tmp/done" ]; do write_chunks 0 40 1; done; }
test_case "top measures rates" top_rates

top_screen()
{
	command -v script >/dev/null || skip "script is not installed"
	warm_up
	rm -f "$tmp/screen"
	(sleep 2; printf f; sleep 2; printf '+-'; sleep 1; printf q) |
		TERM=xterm COLUMNS=100 LINES=30 timeout 30 script -qec "stty rows 30 cols 100; $tierctl top -i 1 $set" "$tmp/screen" >/dev/null
	text=$(tr -d '\000' <"$tmp/screen")
	matches 'tierctl top' "$text"
	matches 'tt_slow' "$text"
	matches 'hot part' "$text" "the list of files, after f"
	matches 'COMMAND_EXIT_CODE="0"' "$text" "exit status"
	# The screen is restored.
	matches $'\e\\[\\?1049l' "$text" "the end"
}
test_case "top on a screen" top_screen

top_files()
{
	create_set heat --feature paused
	mkfs.ext4 -q -b 1024 "$dev"
	mkdir "$tmp/mnt"
	mount "$dev" "$tmp/mnt"
	mkdir "$tmp/mnt/dir"
	for name in cold hot dir/warm; do
		head -c 1m /dev/urandom >"$tmp/mnt/$name"
	done
	sync -f "$tmp/mnt"
	for i in {1..12}; do
		dd if="$tmp/mnt/hot" of=/dev/null bs=4k iflag=direct status=none
		[ $((i % 3)) != 0 ] || dd if="$tmp/mnt/dir/warm" of=/dev/null bs=4k iflag=direct status=none
	done
	sleep 0.2
	json . top --files "$set" >/dev/null
	same "$tmp/mnt/hot $tmp/mnt/dir/warm" "$(jq -r '[.sets[0].hot_files[:2][].path] | join(" ")' "$tmp/json")" \
		"the hottest files"
	is "$(jq '.sets[0].hot_files[0].hot_bytes[0]' "$tmp/json") >= 900000"
	ctl_code 0 top --once --files
	matches "$tmp/mnt/hot" "$output"
	umount "$tmp/mnt"
}
test_case "top names hot files" top_files

# Any user who may make files chooses their names.
odd_names()
{
	create_set heat --feature paused
	mkfs.ext4 -q -b 1024 "$dev"
	mkdir -p "$tmp/mnt"
	mount "$dev" "$tmp/mnt"
	name=$'hot\e[2J\n\xe4'
	head -c 1m /dev/urandom >"$tmp/mnt/$name"
	sync -f "$tmp/mnt"
	for i in {1..8}; do
		dd if="$tmp/mnt/$name" of=/dev/null bs=4k iflag=direct status=none
	done
	sleep 0.2
	ctl_code 0 top --once --files
	matches 'mnt/hot_\[2J_' "$output"
	[[ $output != *$'\e'* ]] || fail "the terminal obeys the name"
	json . top --files "$set" >/dev/null
	# Python checks more strictly than jq.
	/usr/bin/python3 -c 'import json, sys
report = json.loads(open(sys.argv[1], "rb").read().decode())
path = report["sets"][0]["hot_files"][0]["path"]
assert path.endswith("/hot\x1b[2J\n\ufffd"), path' "$tmp/json"
	ctl_code 0 explain "$tmp/mnt/$name"
	matches 'mnt/hot_\[2J_.*: 1 MiB of 1 file' "$output"
	ctl_code 1 explain "$tmp/mnt/no$name"
	one_line 'nohot_\[2j_.*no such file'
	umount "$tmp/mnt"
}
test_case "names that are no text" odd_names

# ---- heatmap

heatmap()
{
	warm_up
	msg migrate 20 5 1
	ctl wait -q "$set"
	COLUMNS=80 ctl_code 0 heatmap "$set"
	same "" "$errors" "stderr"
	matches 'tiers +0 /dev/tt_fast +1 /dev/tt_slow' "$output"
	# 731 chunks, 64 a row: two lines a row, the first one of ranks.
	row=$(sed -n 2p <<<"$output")
	same "$(printf '%10d ' 0)$(printf '0%.0s' {1..20})11111$(printf '0%.0s' {1..15})$(printf '.%.0s' {1..24})" "$row" \
		"ranks of the first row"
	heat=$(sed -n 3p <<<"$output")
	same '@' "${heat:$((11 + 7)):1}" "heat of the hottest chunk"
	same ' ' "${heat:$((11 + 50)):1}" "heat of a chunk without any"
	is "$(awk '{ if (length > n) n = length } END { print n + 0 }' <<<"$output") <= 80"
	[[ $output != *$'\e'* ]] || fail "colours where there is no terminal"

	# Sums agree with those of the kernel.
	json . heatmap "$set" >/dev/null
	same 731 "$(jq '[.sets[0].cells[].count] | add' "$tmp/json")" "chunks"
	same 40 "$(jq '[.sets[0].cells[].mapped] | add' "$tmp/json")" "mapped chunks"
	same "35 5" "$(jq -r '[.sets[0].cells[].tiers] | "\(map(.[0]) | add) \(map(.[1]) | add)"' "$tmp/json")" "chunks by tier"
	same "$(msg heat 0 731 1 | cut -d' ' -f6)" "$(jq '[.sets[0].cells[].heat] | add' "$tmp/json")" "heat"
	# Parts of it, named in any order and twice.
	same "5 7 20 21 22" "$(json '[.sets[0].cells[].first | tostring] | join(" ")' heatmap "$set" 20-22 7 5 21)" "cells"
	same "32 33" "$(json '[.sets[0].cells[].first | tostring] | join(" ")' heatmap "$set" --offset 2m --length 128k)" "cells"
	refuse 1 "$set: ends at 47906816 bytes \(46 mib\)" heatmap "$set" --offset 40m --length 10m
	ctl_code 0 heatmap "$set" 7
	matches '  1 chunk of 64 KiB$' "$(sed -n 1p <<<"$output")" "the title"
	matches 'tt_slow$' "$(sed -n '/^tiers/p' <<<"$output")" "the legend"
}
test_case "heatmap without colours and as JSON" heatmap

heatmap_colours()
{
	command -v script >/dev/null || skip "script is not installed"
	warm_up
	TERM=xterm-256color script -qec "stty cols 80; env -u COLORTERM -u NO_COLOR $tierctl heatmap $set" /dev/null </dev/null >"$tmp/screen"
	matches $'\e\\[48;5;[0-9]+m' "$(<"$tmp/screen")" "256 colours"
	COLORTERM=truecolor TERM=xterm script -qec "stty cols 80; env -u NO_COLOR $tierctl heatmap $set" /dev/null </dev/null >"$tmp/screen"
	matches $'\e\\[48;2;255;[0-9]+;[0-9]+m' "$(<"$tmp/screen")" "true colours"
	TERM=xterm script -qec "NO_COLOR=1 $tierctl heatmap $set" /dev/null </dev/null >"$tmp/screen"
	[[ $(<"$tmp/screen") != *$'\e['*m* ]] || fail "colours in spite of NO_COLOR"
}
test_case "heatmap in colours" heatmap_colours

pictures()
{
	warm_up
	ctl_code 0 heatmap "$set" --svg "$tmp/a.svg" --png "$tmp/a.png"
	same "" "$output$errors"
	/usr/bin/python3 - "$tmp" <<-'END'
	import struct, sys, xml.dom.minidom, zlib
	tmp = sys.argv[1]
	svg = xml.dom.minidom.parse(tmp + "/a.svg")
	cells = [r for r in svg.getElementsByTagName("rect") if r.getElementsByTagName("title")]
	assert len(cells) == 731, len(cells)
	titles = [r.getElementsByTagName("title")[0].firstChild.data for r in cells]
	assert titles[7].startswith("chunk 7, 1 on tier 0, heat "), titles[7]
	assert titles[100] == "chunk 100: nothing written", titles[100]
	texts = [e.firstChild.data for e in svg.getElementsByTagName("text")]
	rows = sorted({r.getAttribute("y") for r in cells}, key=int)
	columns = len(cells) - sum(r.getAttribute("y") != rows[0] for r in cells)
	assert "chunk" in texts and "0" in texts and str(2 * columns) in texts, texts
	assert any(e.startswith("tier 1, ") for e in texts), texts
	fills = {r.getAttribute("fill") for r in cells}
	assert len(fills) >= 3, fills
	data = open(tmp + "/a.png", "rb").read()
	assert data[:8] == b"\x89PNG\r\n\x1a\n"
	at, pixels, size = 8, b"", None
	while at < len(data):
	    length, kind = struct.unpack(">I4s", data[at:at + 8])
	    body = data[at + 8:at + 8 + length]
	    assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body)
	    if kind == b"IHDR":
	        size = struct.unpack(">II", body[:8])
	    if kind == b"IDAT":
	        pixels += body
	    at += 12 + length
	assert kind == b"IEND"
	assert len(zlib.decompress(pixels)) == size[1] * (1 + 3 * size[0]), size
	END
	# To standard output; over a file that is there; not over what is no file.
	ctl heatmap "$set" --svg - | cmp - "$tmp/a.svg"
	echo old >"$tmp/a.png"
	ctl_code 0 heatmap "$set" --png "$tmp/a.png" 5-9
	same 'PNG' "$(head -c 4 "$tmp/a.png" | tail -c 3)"
	for what in /dev/null "$fast" "$tmp"; do
		refuse 1 'is no file' heatmap "$set" --png "$what"
	done
	cp "$meta" "$tmp/image"
	refuse 1 'metadata or a tier of a set' heatmap "$set" --svg "$tmp/image"
	refuse 1 'no such file' heatmap "$set" --png "$tmp/none/a.png"
	refuse 2 'standard output' heatmap "$set" --png - --svg -
	echo old >"$tmp/b"
	chmod 444 "$tmp/b"
	mkdir "$tmp/full"
	mount -t tmpfs -o size=4k none "$tmp/full"
	echo old >"$tmp/full/a.svg"
	refuse 1 'no space' heatmap "$set" --svg "$tmp/full/a.svg"
	same "old a.svg" "$(<"$tmp/full/a.svg") $(ls "$tmp/full")" "a file that could not be replaced"
	umount "$tmp/full"
}
test_case "heatmap as SVG and PNG" pictures

# ---- explain

explain()
{
	create_set static
	write_chunks 0 10 1
	io sync "$dev"
	ctl_code 0 explain "$set" 3
	same "" "$errors" "stderr"
	chunk_info 3
	for word in "$set chunk 3: 64 KiB at 192 KiB" "tier +0 \(/dev/tt_fast\), place ${C[place]}" \
		    'pin +none' 'state +(mapped|new)' 'first write'; do
		matches "$word" "$output"
	done
	# The place is where the data is.
	sector=$(sed -n 's/.*which is sector \([0-9]*\) of it/\1/p' <<<"$output")
	cmp <(dd if="$fast" bs=512 skip="$sector" count=128 iflag=direct status=none) \
	    <(dd if="$dev" bs=64k skip=3 count=1 iflag=direct status=none)
	ctl_code 0 explain "$set" 700
	matches 'tier +none' "$output"
	matches 'never written' "$output"
	ctl migrate -q --wait "$set" 4-5 --tier 1
	ctl_code 0 explain "$set" 4
	matches 'tier +1 ' "$output"
	matches 'by tierctl migrate\.' "$output"
	ctl pin -q --wait "$set" 6 --tier 1
	ctl_code 0 explain "$set" 6
	matches 'pin +to tier 1' "$output"
	matches 'because it is pinned' "$output"
	# Chunks in the same state are reported together.
	ctl_code 0 explain "$set" 0-9
	matches '448 KiB on tier 0' "$output"
	matches 'chunks 0-3, 7-9' "$output"
	matches 'chunks 4-5' "$output"
	same "0 0 1 1 1 - null 1" "$(json '.sets[0].chunk_list | "\(.[0].tier) \(.[3].tier) \(.[4].tier) \(.[5].tier) \(.[6].pin) - \(.[10].tier) \(.[4].tier)"' \
		explain "$set" 0-10)" "tiers and pins"
	same 11 "$(jq '.sets[0].chunk_list | length' "$tmp/json")"
}
test_case "explain chunks" explain

# However large the set is, the answer about one chunk takes no longer.
explain_asks_for_one()
{
	[ -e "$here/refuse.so" ] || skip "refuse.so is not built (make -C tests/functional)"
	create_set static
	write_chunks 0 10 1
	mkdir "$tmp/asked"
	REFUSE=$tmp/asked LD_PRELOAD=$here/refuse.so ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 \
		ctl explain "$set" 3
	same "chunk 3" "$(<"$tmp/asked/asked")" "what the set was asked"
}
test_case "explain of one chunk asks for one chunk" explain_asks_for_one

explain_reasons()
{
	create_set static
	write_chunks 0 260 1
	# Full: 240 places on tier 0.
	ctl pin -q "$set" 0-239 --tier 0
	ctl wait -q "$set"
	ctl_code 1 migrate --wait "$set" 250 --tier 0
	matches '1 of 1 chunks are not on tier 0' "$errors"
	ctl_code 0 explain "$set" 250
	matches 'is full' "$output"
	ctl unpin -q "$set" 0-730
	ctl migrate -q --wait "$set" 100 --tier 1 --home
	ctl_code 0 explain "$set" 100
	matches 'migrate --home' "$output"
	ctl deactivate -q "$set"
	disk_gone slow
	ctl activate -q --degraded "$set" || true
	ctl_code 0 explain "$set" 100
	matches 'tier is missing' "$output"
	ctl_code 0 explain "$set" 3
	matches 'when the set was activated' "$output"
	ctl deactivate -q "$set"
}
test_case "explain why a chunk is there or was not moved" explain_reasons

# The policy heat, paused, on a disk that is slower than the other one
create_paused()
{
	disk meta 4
	disk fast 16 irqmode=2 completion_nsec=20000
	disk slow 32 irqmode=2 completion_nsec=2000000
	ctl create "$set" -q -m "$meta" -c 64k --feature paused "$fast" "$slow"
}

# read_again CHUNK TIMES: the same 4 KiB, which is no stream
read_again()
{
	local i
	for ((i = 0; i < $2; i++)); do
		dd if="$dev" of=/dev/null bs=4k count=1 skip=$(($1 * 16)) iflag=direct status=none
	done
}
paused_counted() { [ "$(hold_count paused)" -gt 0 ]; }

held()
{
	create_paused
	write_chunks 0 250 1
	io sync "$dev"
	ctl pin -q "$set" 245 --tier 1
	ctl_code 0 explain "$set" 3
	matches 'stays +No faster tier takes chunks' "$output"
	ctl_code 0 explain "$set" 245
	matches 'stays +Its pin decides' "$output"
	ctl_code 0 explain "$set" 700
	[[ $output != *stays* ]] || fail "a chunk that is nowhere stays: $output"
	same "nothing_faster cold pinned unmapped" "$(json '[.sets[0].chunk_list[].held] | join(" ")' \
		explain "$set" 3 244 245 700)" "what holds chunks"
	ctl_code 0 status "$set"
	[[ $output != *held* ]] || fail "shown without -v: $output"
	read_again 244 30
	wait_for 20 paused_counted
	ctl_code 0 status -v "$set"
	matches $'\nheld back +.*paused [0-9]+' "$output"
	same null "$(json .sets[0].held_back status "$set")"
	is "$(json .sets[0].held_back.paused status -v "$set") > 0"
	is "$(json .sets[0].held_back.paused metrics "$set") > 0"
	ctl_code 0 metrics "$set"
	matches "dm_tier_held_back_total\{set=\"$set\",reason=\"paused\"\} [1-9]" "$output"
}
test_case "what keeps chunks from a faster tier, in explain, status -v and metrics" held

# Every other chunk of 480 is read once, so the share is about that of places: 120 of 240 for half the
# fast tier.
advise()
{
	local i
	create_paused
	ctl_code 0 advise "$set"
	matches 'No chunk has heat' "$output"
	matches 'Nothing has held chunks back' "$output"
	same null "$(json .sets[0].share_now advise "$set")"
	ctl set -q "$set" tier0.landing=no
	write_chunks 0 480 1 block=64k
	io sync "$dev"
	# Backwards, as a stream would weigh nothing.
	for ((i = 478; i >= 0; i -= 2)); do
		dd if="$dev" of=/dev/null bs=4k count=1 skip=$((i * 16)) iflag=direct status=none
	done
	read_again 470 30
	wait_for 20 paused_counted
	ctl_code 0 advise "$set"
	matches '[0-9]+% at most with a fast tier of 7\.5 MiB, half its size' "$output"
	matches 'not moved up' "$output"
	same "1 2 4 8" "$(json '[.sets[0].fast_tier[].factor * 2] | join(" ")' advise "$set")" "sizes, in halves"
	same "7864320 15728640 31457280 62914560" "$(jq -r '[.sets[0].fast_tier[].size] | join(" ")' "$tmp/json")" "bytes"
	same true "$(jq '.sets[0] | .share_now < .001 and ([.fast_tier[].share] | . == sort) and .fast_tier[3].share > .999' "$tmp/json")" \
		"shares grow with the size: $(jq -c '.sets[0]' "$tmp/json")"
	same true "$(jq '.sets[0].fast_tier[0].share > .4 and .sets[0].fast_tier[0].share < .95' "$tmp/json")" "half the size serves more than half"
	same true "$(jq '.sets[0] | [.held_back[] | select(.reason == "paused").count] | .[0] > 0' "$tmp/json")" "paused chunks are counted"
	same "0 0 0" "$(jq -r '.sets[0].last_day | "\(.promotions) \(.demotions) \(.moved_bytes)"' "$tmp/json")" "moves"
	ctl migrate -q --wait "$set" 0-9 --tier 0
	same "10 0 655360 0" "$(json '.sets[0].last_day | "\(.promotions) \(.demotions) \(.moved_bytes) \(.served_faster)"' advise "$set")" "moves by hand"
	# What the policy moves serves faster from then on.
	ctl resume -q "$set"
	read_again 300 30
	wait_for 20 all_on_rank 300 1 0
	read_again 300 20
	nap 1
	is "$(json .sets[0].last_day.served_faster advise "$set") >= 20"
	ctl_code 0 advise "$set"
	matches 'about [1-9][0-9]* accesses were served faster' "$output"
	ctl_code 1 advise nothing
}
test_case "advise: shares by size, what holds chunks back, the last day" advise

# ---- events

# watch OPTION...: tierctl events in the background; $watcher is its process
watch()
{
	: >"$tmp/events"
	"$tierctl" events "$@" </dev/null >"$tmp/events" 2>"$tmp/events.err" &
	watcher=$!
	echo "$watcher" >>"$tmp/pids"
	# tierctl events listens once it sleeps in poll().
	wait_for 10 grep -q poll "/proc/$watcher/wchan"
}

said() { grep -qE "$1" "$tmp/events"; }

events()
{
	make_disks
	dmsetup create tt_flaky --table "0 $(sectors_of "$fast") linear $fast 0"
	watch --json
	ctl create -q "$set" -m "$meta" -c 64k --policy static --size 8m /dev/mapper/tt_flaky "$slow"
	wait_for 10 said '"event":"activated"'
	write_chunks 0 20 1
	io sync "$dev"
	ctl evacuate -q "$set" 0
	wait_for 10 said '"event":"evacuated","tier":0,"mode":"rw"'
	ctl admit -q "$set" 0
	ctl evacuate -q "$set" 1
	wait_for 10 said '"event":"evacuated","tier":1'
	# Errors of a tier.
	dmsetup load tt_flaky --table "0 $(sectors_of "$fast") error"
	dmsetup suspend --noflush tt_flaky
	dmsetup resume tt_flaky
	io_fails 5 check_chunks 0 1 1
	wait_for 10 said '"event":"tier_errors","tier":0'
	dmsetup load tt_flaky --table "0 $(sectors_of "$fast") linear $fast 0"
	dmsetup resume tt_flaky
	# Device-mapper has no event for this; earlier events are reported by then.
	nap 2
	msg admit 0
	wait_for 20 said '"event":"tier_admitted","tier":0'
	# A table that writes nothing.
	dmsetup load "$set" --readonly --table "$(dmsetup table "$set")"
	dmsetup resume "$set"
	wait_for 10 said '"event":"mode".*went from rw to ro'
	ctl deactivate -q "$set"
	wait_for 10 said '"event":"deactivated"'
	remove tt_flaky
	disk_gone slow
	ctl_code 3 activate -q --degraded "$set"
	wait_for 10 said '"event":"tier_missing","tier":1'
	ctl deactivate -q "$set"
	kill -INT "$watcher"
	rc=0
	wait "$watcher" || rc=$?
	same 0 "$rc" "exit status"
	same "" "$(<"$tmp/events.err")" "stderr"
	keep_report events "$tmp/events"
	same "$set" "$(jq -r .set "$tmp/events" | sort -u)" "sets"
}
test_case "events as they happen, as JSON" events

events_exec()
{
	create_set static --size 8m
	write_chunks 0 20 1
	# shellcheck disable=SC2016	# for its shell
	watch --once --exec 'echo "$TIER_EVENT $TIER_SET $TIER_RANK $TIER_MODE: $TIER_TEXT" >'"$tmp/told" "$set"
	ctl evacuate -q "$set" 0
	rc=0
	wait "$watcher" || rc=$?
	same 0 "$rc" "exit status of --once"
	same "evacuated $set 0 rw: tier 0 (/dev/tt_fast) is empty" "$(<"$tmp/told")" "what the command was told"
	matches "$set: tier 0 .* is empty" "$(<"$tmp/events")"
	watch --once --exec 'exit 7'
	ctl admit -q "$set" 0
	ctl deactivate -q "$set"
	wait "$watcher"
	matches 'command failed \(exit status 7\)' "$(<"$tmp/events.err")"
	# An idle set ends the wait at once.
	ctl activate -q "$set"
	ctl_code 0 events --timeout 1 "$set"
	ctl_code 1 events --timeout 1 --once "$set"
	one_line 'nothing happened in 1 s'
	refuse 1 'no such set' events nosuch
	refuse 2 'timeout' events --timeout x
	refuse 2 'too many' events "$set" "$set"
}
test_case "events --exec, --once, --timeout" events_exec

# The command still watches a set that was renamed.
events_renamed()
{
	create_set static --size 8m
	write_chunks 0 20 1
	watch --json "$set"
	ctl rename -q "$set" tt_other
	ctl evacuate -q tt_other 0
	wait_for 10 said '"set":"tt_other".*"event":"evacuated"'
	ctl remove -q tt_other 0
	wait_for 10 said '"event":"tier_removed","tier":0,.*"tier 0 \(/dev/tt_fast\) was removed"'
	ctl resize -q --size 9m tt_other
	wait_for 10 said '"event":"resized".*"has 9 MiB now"'
	ctl rename -q tt_other "$set"
	wait_for 10 said '"set":"'"$set"'".*"event":"renamed".*"was called tt_other"'
	kill -INT "$watcher"
	wait "$watcher"
	same "renamed evacuated tier_removed resized renamed" "$(jq -r .event "$tmp/events" | paste -sd' ' -)" "events"
}
test_case "events of a set that is renamed" events_renamed

# In the background. The parent may ignore signals: systemd ignores SIGPIPE, others SIGCHLD.
ignoring()
{
	local signal=$1
	shift
	exec /usr/bin/python3 -c 'import os, signal, sys
signal.signal(getattr(signal, sys.argv[1]), signal.SIG_IGN)
os.execv(sys.argv[2], sys.argv[2:])' "$signal" "$tierctl" "$@"
}

events_ignored()
{
	local end
	create_set static --size 8m
	mkfifo "$tmp/pipe"
	ignoring SIGPIPE events "$set" </dev/null >"$tmp/pipe" 2>"$tmp/events.err" &
	watcher=$!
	echo "$watcher" >>"$tmp/pids"
	exec {end}<"$tmp/pipe"
	wait_for 10 grep -q poll "/proc/$watcher/wchan"
	exec {end}<&-
	# The command ends when nobody reads its output.
	ctl evacuate -q "$set" 0
	wait_for 10 grep -q 'standard output cannot be written' "$tmp/events.err"
	rc=0
	wait "$watcher" || rc=$?
	same 1 "$rc" "exit status"
	ctl admit -q "$set" 0
	ignoring SIGCHLD events --once --exec 'exit 7' "$set" </dev/null >/dev/null 2>"$tmp/events.err" &
	watcher=$!
	echo "$watcher" >>"$tmp/pids"
	wait_for 10 grep -q poll "/proc/$watcher/wchan"
	ctl evacuate -q "$set" 0
	rc=0
	wait "$watcher" || rc=$?
	same 0 "$rc" "exit status"
	matches 'command failed \(exit status 7\)' "$(<"$tmp/events.err")"
}
test_case "events where signals are ignored" events_ignored

# ---- metrics

metrics()
{
	create_set static
	write_chunks 0 10 1
	ctl pin -q --wait "$set" 1-3 --tier 1
	udevadm settle
	ctl_code 0 metrics
	same "" "$errors" "stderr"
	# Every line is a comment or a sample; every sample has a type before it.
	same "" "$(grep -vE '^# (HELP|TYPE) dm_tier_[a-z_]+ .+|^dm_tier_[a-z_]+\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\} [0-9.e+-]+$' <<<"$output")" \
		"lines that are not of the format"
	same "$(grep -o '^dm_tier_[a-z_]*' <<<"$output" | sort -u)" "$(sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' <<<"$output" | sort -u)" \
		"names with a type"
	metric() { sed -n "s/^dm_tier_$1{set=\"$set\"${2:-}} //p" <<<"$output"; }
	status
	same $((S[length] * 512)) "$(metric size_bytes)"
	same $((10 * 65536)) "$(metric mapped_bytes)"
	same $((3 * 65536)) "$(metric pinned_bytes)"
	same "0 0 0" "$(metric failed) $(metric read_only) $(metric missing_tiers)"
	same 3 "$(metric demotions_total)"
	same $((7 * 65536)) "$(metric tier_used_bytes ',tier="0",device="\/dev\/tt_fast"')"
	same "${S[writes0]}" "$(metric tier_writes_total ',tier="0",device="\/dev\/tt_fast"')"
	same "$set" "$(json '.sets[].name' metrics "$set")"
	refuse 1 'no such set' metrics nosuch
	ctl pause -q "$set"
	ctl_code 0 metrics "$set"
	same 1 "$(metric paused)"
}
test_case "metrics" metrics

# For node exporter, which reads NAME.prom at any moment.
metrics_file()
{
	create_set static
	mkdir "$tmp/collector"
	ctl_code 0 metrics --output "$tmp/collector/tierctl.prom"
	same "" "$output$errors" "output"
	same "tierctl.prom 644" "$(cd "$tmp/collector" && stat -c '%n %a' -- *)" "files"
	# udev may still read.
	same "$(ctl metrics | sed 's/ [^ ]*$//')" "$(sed 's/ [^ ]*$//' "$tmp/collector/tierctl.prom")" "all but the values"
	exec 5<"$tmp/collector/tierctl.prom"
	ctl pause -q "$set"
	ctl metrics -q -o "$tmp/collector/tierctl.prom"
	matches 'dm_tier_paused\{set="tt_set"\} 0' "$(cat <&5)" "the file that was open"
	exec 5<&-
	matches 'dm_tier_paused\{set="tt_set"\} 1' "$(<"$tmp/collector/tierctl.prom")"
	refuse 1 'no such file' metrics -o "$tmp/nosuch/tierctl.prom"
	refuse 1 'no regular file' metrics -o /dev/stdout
	refuse 2 'one of the two' metrics -o "$tmp/collector/tierctl.prom" --json
	# Nothing of a set that is not active any more.
	ctl deactivate -q "$set"
	ctl metrics -q -o "$tmp/collector/tierctl.prom"
	same "" "$(<"$tmp/collector/tierctl.prom")" "contents"
}
test_case "metrics in a file" metrics_file

# ---- waiting

progress()
{
	command -v script >/dev/null || skip "script is not installed"
	create_set static --set migration_bandwidth=600k
	write_chunks 0 40 1
	ctl_code 0 pause "$set"
	TERM=xterm script -qec "stty cols 80; $tierctl migrate --wait $set 0-39 --tier 1" /dev/null </dev/null >"$tmp/screen"
	matches 'to tier 1 \[#+\.+\] [0-9]+%' "$(<"$tmp/screen")" "a bar"
	matches '40 chunks are on tier 1' "$(<"$tmp/screen")"
	same 40 "$(on_rank 0 40 1)"
	# Interrupted, the work goes on.
	(rc=0; "$tierctl" migrate --wait "$set" 0-39 --tier 0 </dev/null >"$tmp/wait" 2>&1 || rc=$?
	 echo "$rc" >"$tmp/rc") &
	sleep 1.5
	pkill -INT -P "$!" -x 'tierctl(\.asan)?'
	wait
	same 130 "$(<"$tmp/rc")" "exit status of a wait that was interrupted"
	matches 'the work goes on' "$(<"$tmp/wait")"
	ctl set -q "$set" migration_bandwidth=0
	ctl wait -q "$set"
	same 40 "$(on_rank 0 40 0)"
}
test_case "a bar for what takes long" progress

# A tier of a read-only set never becomes empty.
wait_in_vain()
{
	create_set static --size 8m
	write_chunks 0 20 1
	ctl pause -q "$set"
	ctl evacuate -q --background "$set" 0
	(rc=0; timeout 60 "$tierctl" wait --evacuated 0 "$set" </dev/null >"$tmp/wait" 2>&1 || rc=$?
	 echo "$rc" >"$tmp/rc") &
	wait_for 10 grep -q 'migration is paused' "$tmp/wait"
	dmsetup load "$set" --readonly --table "$(dmsetup table "$set")"
	dmsetup resume "$set"
	wait
	same 1 "$(<"$tmp/rc")" "exit status"
	matches 'is read-only' "$(<"$tmp/wait")"
	same 1 "$(grep -c 'migration is paused' "$tmp/wait")" "times that the pause is told"
	refuse 1 'is read-only' wait --evacuated 0 "$set"
}
test_case "waiting for what cannot be" wait_in_vain

# ---- misuse

misuse()
{
	local command
	create_set static
	refuse 2 'control is no name' create control -m "$meta" "$fast" "$slow"
	for command in heatmap explain; do
		refuse 2 'too few' "$command"
		refuse 1 'no such set' "$command" nosuch
		refuse 1 '730' "$command" "$set" 731
		refuse 1 '730' "$command" "$set" 5-731
		refuse 2 'not CHUNK|not chunk' "$command" "$set" 5-3
		refuse 2 'length' "$command" "$set" --offset 1m
		refuse 2 'no option' "$command" --tier 1 "$set"
	done
	refuse 2 'name the chunks' explain "$set"
	refuse 2 'value' heatmap "$set" --svg
	refuse 2 'interval' top --interval 0
	refuse 2 'interval' top --interval x "$set"
	refuse 1 'no such set' top --once nosuch
	refuse 1 'tier 0' top --once "$fast"
	ctl deactivate -q "$set"
	refuse 1 'not active' explain "$set" 1
	refuse 1 'not active' heatmap "$set"
	refuse 1 'not active' top --once "$set"
	refuse 1 'not active' metrics "$set"
	ctl_code 0 top --once
	matches 'no tiered set is active' "${output,,}"
	ctl_code 0 metrics
}
test_case "misuse" misuse

# ---- JSON

# One report of each command that the cases above did not call.
schemas()
{
	local command schema
	/usr/bin/python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is not installed"
	create_set heat
	write_chunks 0 10 1
	json . list >/dev/null
	json . scan --all >/dev/null
	json . get "$set" >/dev/null
	json . schedule "$set" >/dev/null
	json . wait "$set" >/dev/null
	json . status --interval 1 "$set" >/dev/null
	json . status nosuch >/dev/null
	json . check "$set" >/dev/null
	ctl deactivate -q "$set"
	json . check "$set" >/dev/null
	json . status "$set" >/dev/null
	disk_gone slow
	json . status "$set" >/dev/null
	json . scan >/dev/null
	json . dump "$set" >/dev/null
	for schema in "$here"/../../userspace/schema/*.json; do
		command=$(basename "$schema" .json)
		# Those that are links are for json.sh.
		[ -L "$schema" ] || [[ $command = c@(ommon|hange) ]] || [ -n "$(find "$reports" -name "$command.*")" ] ||
			fail "no case makes a report of $command"
	done
	"$here/check-json.py" "$here/../../userspace/schema" "$reports"/*
	# Shows that the check can fail.
	mkdir "$tmp/bad"
	jq '.sets[0].size = "big"' "$tmp/json" >"$tmp/bad/status.0.json"
	{ ctl list --json || [ $? = 3 ]; } | jq '.more = 1' >"$tmp/bad/list.0.json"
	for command in status list; do
		fails "$here/check-json.py" "$here/../../userspace/schema" "$tmp/bad/$command.0.json"
	done
}
test_case "every report keeps to its schema" schemas

run_tests
