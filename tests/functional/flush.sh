#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Which tiers a flush reaches, FUA, what a flush makes durable, and that a set
# at rest does no I/O at all.  Seen by tracepoints, by blktrace and, for what would survive a
# power cut, with null_blk's volatile cache, which a power cycle drops.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need blktrace blkparse

# Volatile caches on all disks; without them the block layer drops flushes.
make_cached()
{
	disk meta 4 cache_size=2
	disk fast 16 cache_size=8
	disk slow 32 cache_size=8
	disk third 16 cache_size=8
	tiers=("$fast" "$slow" "$third")
	length=$((400 * 128))
	activate
	# Chunks 0-3 on fast, 4-7 on slow, 8-11 on third.
	write_chunks 0 12 1
	move 4 4 1
	move 8 4 2
	io sync "$dev"
	quiet 1 "$meta" "${tiers[@]}"
}

everything=("$meta" "$fast" "$slow" "$third")

# flushes_seen FILE: the disks that got a flush; a flush without data appears as F with 0 sectors
flushes_seen()
{
	local disk
	for disk in "${everything[@]}"; do
		awk -v d="$(majmin "$disk" | tr : ,)" -v name="${disk#/dev/tt_}" '
			$1 == d && $2 == "D" && $3 ~ /^F/ { n++ }
			END { if (n) printf "%s ", name }' "$1"
	done
}

# traced COMMAND...: records requests to the disks while COMMAND runs, in $tmp/t
traced()
{
	trace_start "${everything[@]}"
	"$@"
	trace_stop >"$tmp/t"
}

flush_after_write()
{
	local want=$1 first
	shift
	make_cached
	for first; do write_chunks "$first" 1 2; done
	traced io sync "$dev"
	same "$want" "$(flushes_seen "$tmp/t")" "disks flushed"
	traced io sync "$dev"
	same "" "$(flushes_seen "$tmp/t")" "disks flushed by a second flush"
}
test_case "a flush reaches the fast tier alone" flush_after_write "fast " 0
test_case "a flush reaches the slow tier alone" flush_after_write "slow " 5
test_case "a flush reaches two tiers written" flush_after_write "fast third " 1 9
test_case "a flush reaches all tiers written" flush_after_write "fast slow third " 0 1 4 5 8 9

# The same requests as an administrator would look at them.
seen_by_blktrace()
{
	local disk tracer args=()
	make_cached
	write_chunks 5 1 2
	mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
	mkdir "$tmp/blk"
	for disk in "${everything[@]}"; do args+=(-d "$(readlink -f "$disk")"); done
	blktrace "${args[@]}" -D "$tmp/blk" >"$tmp/blktrace.log" 2>&1 &
	tracer=$!
	# blktrace runs once it has made its files, one for each CPU and disk, and a moment more.
	wait_for 10 blktrace_files ${#everything[@]}
	nap "$patience"
	io sync "$dev"
	kill -INT "$tracer"
	wait "$tracer" || true
	for disk in "$tmp"/blk/*.blktrace.0; do
		blkparse -q -i "$(basename "${disk%.blktrace.0}")" -D "$tmp/blk" -f '%D %a %d %S %n\n'
	done >"$tmp/t"
	same "slow " "$(flushes_seen "$tmp/t")" "disks flushed"
}
blktrace_files() { [ "$(find "$tmp/blk" -name '*.blktrace.*' | wc -l)" -ge "$1" ]; }
test_case "blktrace sees a flush of the slow tier alone" seen_by_blktrace

flush_commits()
{
	make_cached
	# In one trace, as a first write is soon committed by the set itself.
	traced write_and_flush
	same "meta fast " "$(flushes_seen "$tmp/t")" "disks flushed"
	traced io sync "$dev"
	same "" "$(flushes_seen "$tmp/t")" "disks flushed by a second flush"
}
write_and_flush()
{
	write_chunks 20 1 2
	io sync "$dev"
}
test_case "a flush after a first write commits too" flush_commits

# blocks_changed FILE: blocks of the metadata device that differ from the file
blocks_changed()
{
	{ cmp -l "$1" <(dd if="$meta" iflag=direct bs=1M status=none) || true; } |
		awk '{ b[int(($1 - 1) / 4096)] } END { print length(b) }'
}

# An fsync after a write to a new chunk writes each sector and each block of the metadata once,
# and flushes the tier once and the metadata twice: before the superblock and after it.
new_chunk()
{
	local n blocks
	make_cached
	for n in 40 41 42; do
		dd if="$meta" of="$tmp/before" iflag=direct bs=1M status=none
		count_ops
		io write "$dev" at=$(($(at_chunk "$n") + 16384)) len=4k seed=1
		io sync "$dev"
		count_ops
		blocks=$(blocks_changed "$tmp/before")
		note "tier: ${ops[$fast]}; metadata: ${ops[$meta]}, $blocks blocks differ"
		# The data, and the zeroes before and after it, are a chunk.
		same "128 sectors 1 flushes" "${ops[$fast]}" "I/O of the tier"
		same "$((blocks * 8)) sectors 2 flushes" "${ops[$meta]}" "I/O of the metadata"
		same "0 sectors 0 flushes" "${ops[$slow]}" "I/O of another tier"
	done
}
# count_ops: ops[DISK] is what was written to each disk since the last call
declare -A ops seen
count_ops()
{
	local disk f s
	for disk in "$meta" "$fast" "$slow"; do
		read -ra f <"$(block_of "$disk")/stat"
		read -ra s <<<"${seen[$disk]:-0 0}"
		ops[$disk]="$((f[6] - s[0])) sectors $((f[15] - s[1])) flushes"
		seen[$disk]="${f[6]} ${f[15]}"
	done
}
test_case "what an fsync of a new chunk writes and flushes" new_chunk

flush_reads()
{
	make_cached
	check_chunks 0 12 1
	traced io sync "$dev"
	same "" "$(flushes_seen "$tmp/t")" "disks flushed after reads"
}
test_case "reads make nothing to flush" flush_reads

flush_after_resume()
{
	make_cached
	suspend
	traced resume_and_flush
	same "fast slow third " "$(flushes_seen "$tmp/t" | sed 's/meta //')" "disks flushed"
}
resume_and_flush()
{
	resume
	io sync "$dev"
}
test_case "after a resume every tier counts as written" flush_after_resume

# A FUA write to a mapped chunk carries FUA to its tier, or is followed by a
# flush of it; and touches no other.
fua()
{
	make_cached
	traced io write "$dev" at="$(at_chunk 5)" len=4k seed=3 flags=fua
	grep -qE "^$(majmin "$slow" | tr : ,) Q F?WF[A-Z]* [0-9]+ 8$" "$tmp/t" ||
		fail "no FUA write on the slow tier: $(<"$tmp/t")"
	same "slow " "$(flushes_seen "$tmp/t")" "disks flushed"
}
test_case "FUA passes to the tier" fua

no_cache()
{
	disk meta 4
	disk fast 16
	disk slow 32 cache_size=8
	activate
	write_chunks 0 8 1
	move 4 4 1
	write_chunks 0 8 2
	trace_start "$fast" "$slow"
	io sync "$dev"
	trace_stop >"$tmp/t"
	d=$(majmin "$slow" | tr : ,)
	awk -v d="$d" '$1 == d && $2 == "D" && $3 ~ /^F/ { found = 1 }
		END { exit !found }' "$tmp/t" || fail "no flush on the slow tier"
	io sync "$dev"
	# A flush commits a new chunk on the tier without one, too.
	counts=$(write_counts "$meta")
	write_chunks 20 1 2
	io sync "$dev"
	[ "$counts" != "$(write_counts "$meta")" ] || fail "the new chunk is not committed"
}
test_case "one tier with a volatile cache, one without" no_cache

# ---- power cuts

# The set loses its disks in the given order, and is activated again.
power_cut()
{
	cut_power "$@"
	remove "$set"
	activate
}

make_for_cut()
{
	disk meta 4 cache_size=4
	disk fast 8 cache_size=8
	disk slow 8 cache_size=8
	disk third 8 cache_size=8
	tiers=("$fast" "$slow" "$third")
	core=(migration_bandwidth 0)
	activate
}

# Shows that the method finds faults: without a flush data is lost.
cut_loses()
{
	disk spare 16 cache_size=8
	io write "$spare" at=0 len=1m seed=1
	cut_power "$spare"
	fails io check "$spare" at=0 len=1m seed=1
	io write "$spare" at=0 len=1m seed=1
	io sync "$spare"
	cut_power "$spare"
	io check "$spare" at=0 len=1m seed=1
}
test_case "a power cut takes what was not flushed (the method works)" cut_loses

cut_after_flush()
{
	make_for_cut
	write_chunks 0 20 1
	move 5 5 1
	write_chunks 10 2 2
	write_chunks 6 2 3
	io sync "$dev"
	write_chunks 0 2 4
	write_chunks 30 2 4
	power_cut "$@"
	check_chunks 2 3 1
	check_chunks 5 1 1
	check_chunks 6 2 3
	check_chunks 8 2 1
	check_chunks 10 2 2
	check_chunks 12 8 1
	same rw "$(info mode)"
	same - "$(info check)"
}
tiers_first=("$fast" "$slow" "$third" "$meta")
meta_first=("$meta" "$third" "$slow" "$fast")
test_case "what was flushed survives a power cut" cut_after_flush "${tiers_first[@]}"
test_case "what was flushed survives, metadata cut first" cut_after_flush "${meta_first[@]}"

cut_after_fua()
{
	make_for_cut
	io write "$dev" at="$(at_chunk 3)" len=8k seed=1 flags=fua
	io write "$dev" at="$(at_chunk 9)" len=64k seed=1 flags=fua
	power_cut "$@"
	io check "$dev" at="$(at_chunk 3)" len=8k seed=1
	io check "$dev" at=$(($(at_chunk 3) + 8192)) len=56k seed=0
	check_chunks 9 1 1
}
test_case "FUA first writes survive a power cut" cut_after_fua "${tiers_first[@]}"

# Many flushes at once all end, and each has made its own write durable.
many_flushes()
{
	local pid workers=()
	make_for_cut
	for n in 0 1 2 3; do
		background write_and_sync "$n"
		workers+=("$last_pid")
	done
	for pid in "${workers[@]}"; do wait "$pid"; done
	power_cut "$@"
	for n in 0 1 2 3; do check_chunks $((n * 3)) 1 15; done
}
write_and_sync()
{
	local round
	for round in {1..15}; do
		write_chunks $(($1 * 3)) 1 "$round"
		io sync "$dev"
	done
}
test_case "many flushes at once, then a power cut" many_flushes "${tiers_first[@]}"

# A migration's data is on stable storage before the mapping names the new place.
cut_after_move()
{
	make_for_cut
	write_chunks 0 20 1
	io sync "$dev"
	move 0 20 2
	move 0 10 1
	power_cut "$@"
	check_chunks 0 20 1
}
test_case "migrated chunks survive a power cut" cut_after_move "${meta_first[@]}"

# During migrations, several times.
cut_while_moving()
{
	make_for_cut
	write_chunks 0 60 1
	io sync "$dev"
	msg set migration_bandwidth $((2000 / patience))
	msg migrate 0 60 2
	sleep "$1"
	power_cut "${@:2}"
	check_chunks 0 60 1
	moved=$(on_rank 0 60 2)
	note "chunks on rank 2 after the cut: $moved"
	is "moved < 60"
	same 60 "$(info mapped)"
}
test_case "power cut while chunks move, early" cut_while_moving 0.3 "${tiers_first[@]}"
test_case "power cut while chunks move, later" cut_while_moving 0.8 "${meta_first[@]}"

# ---- idle means idle

idle()
{
	local seconds=6
	policy=$1
	disk meta 4 cache_size=2
	disk fast 16 cache_size=8
	disk slow 32 cache_size=8
	everything=("$meta" "$fast" "$slow")
	core=(tier0.landing 0 migration_bandwidth 0)
	activate
	write_chunks 0 60 1
	for n in 1 2 3; do io check "$dev" at=0 len=1m block=16k seed=1; done
	start=$EPOCHREALTIME
	quiet 3 "${everything[@]}"
	note "settled after $(since "$start") s"
	counts=$(io_counts "${everything[@]}")
	traced sleep "$seconds"
	same "$counts" "$(io_counts "${everything[@]}")" "I/O of an idle set within $seconds s"
	same "" "$(awk '$2 ~ /^[QDC]$/' "$tmp/t")" "I/O of an idle set within $seconds s"
	# And it wakes up.
	write_chunks 60 2 1
	check_chunks 0 62 1
}
test_case "an idle set does no I/O (static)" idle static
test_case "an idle set does no I/O (heat)" idle heat

suspended_idle()
{
	make_cached
	msg migrate 0 4 1
	suspend
	quiet 1 "${everything[@]}"
	counts=$(io_counts "${everything[@]}")
	traced sleep 3
	same "$counts" "$(io_counts "${everything[@]}")" "I/O of a suspended set"
	same "" "$(awk '$2 ~ /^[QDC]$/' "$tmp/t")" "I/O of a suspended set"
	resume
	wait_for 20 all_on_rank 0 4 1
	check_chunks 0 12 1
}
test_case "a suspended set does no I/O" suspended_idle

run_tests
