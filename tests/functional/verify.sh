#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=300
#
# Data stays right while everything goes on at once: writes and reads of all
# sizes, flushes, discards, forced migrations, suspends, reloads.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2
need fio

# make_odd_set [ATTRIBUTE=VALUE]...: a set whose length ends inside a chunk, without moves by a
# policy; the slow disk gets the attributes
fast_mib=16 slow_mib=32
make_odd_set()
{
	# The cache is larger than the disk: a null_blk that must make room in its cache may spin
	# for ever.
	disk meta 4 cache_size=64
	disk fast "$fast_mib" cache_size=64
	disk slow "$slow_mib" cache_size=64 "$@"
	length=$(($(capacity_of "$chunk" "${tiers[@]}") - 8))
	core=(migration_bandwidth 0 migration_depth 8)
	activate
}

chunks=731

# The region of the case: only mapped chunks can move.
base=0
region=$chunks

# disturb_by_moves: random ranges to random ranks until $tmp/done appears
disturb_by_moves()
{
	local first count n=0
	while [ ! -e "$tmp/done" ]; do
		count=$((1 + RANDOM % (region < 24 ? region : 24)))
		first=$((base + RANDOM % (region - count + 1)))
		if msg migrate "$first" "$count" $((RANDOM % 2)) 2>"$tmp/refused"; then
			n=$((n + 1))
		else
			# Refused between a suspend and its resume.
			matches 'busy' "$(<"$tmp/refused")" "answer to migrate"
		fi
		nap 0.05
	done
	note "$n ranges asked to move"
}

# disturb_by_tables: suspend, resume, reload, all kinds. Each ends the moves under way, so every
# second one waits until a move has arrived, however long that takes here.
disturb_by_tables()
{
	local n=0 moved
	while [ ! -e "$tmp/done" ]; do
		case $((n % 4)) in
		0) suspend; resume ;;
		1) suspend --noflush; resume ;;
		2) load; resume ;;
		3) core=(migration_bandwidth 0 migration_depth $((1 + n % 16))); load; resume --noflush ;;
		esac
		n=$((n + 1))
		nap 0.7
		moved=$(info migrated)
		while ((n % 2)) && [ ! -e "$tmp/done" ] && [ "$(info migrated)" = "$moved" ]; do
			nap 0.2
		done
	done
	note "$n suspends and reloads"
}

disturb()
{
	rm -f "$tmp/done"
	background disturb_by_moves
	moves=$last_pid
	background disturb_by_tables
	tables=$last_pid
}

# The first chunk has arrived. How long that takes depends on the machine.
moves_succeed() { wait_for 120 some_moved; }
some_moved() { [ "$(info migrated)" -gt 0 ]; }

end_disturbance()
{
	moves_succeed
	touch "$tmp/done"
	wait "$moves"
	wait "$tables"
	status
	note "migrated $((S[migrated] / chunk)) chunks, aborted ${S[aborted]}"
	same 0 "${S[failed]}" "failed migrations"
	same rw "${S[mode]}"
}

# fio_verify NAME OPTION...: write and verify on the whole device
fio_verify()
{
	fio --name="$1" --filename="$dev" --direct=1 --ioengine=libaio \
		--verify=crc32c --verify_fatal=1 --verify_state_save=0 --randseed=42 \
		--output-format=terse --output="$tmp/fio.$1" "${@:2}" ||
		fail "fio: $(cat "$tmp/fio.$1")"
}

fio_random_sizes()
{
	make_odd_set
	region=384	# 24 MiB
	write_chunks 0 "$region" 3 block=1m
	disturb
	fio_verify sizes --rw=randwrite --bsrange=512-1m --blockalign=512 --iodepth=8 \
		--fsync=64 --size=24m --io_size=24m --verify_backlog=64
	end_disturbance
	fio_verify sizes --rw=randwrite --bsrange=512-1m --blockalign=512 --iodepth=8 \
		--fsync=64 --size=24m --io_size=24m --verify_only
	deactivate
	activate
	fio_verify sizes --rw=randwrite --bsrange=512-1m --blockalign=512 --iodepth=8 \
		--fsync=64 --size=24m --io_size=24m --verify_only
}
test_case "fio crc32c, 512 B to 1 MiB, moved and suspended all the time" fio_random_sizes

# Two jobs side by side, mixed reads, small blocks split and large ones.
fio_split()
{
	make_odd_set
	region=384
	write_chunks 0 "$region" 3 block=1m
	disturb
	fio_verify split --rw=randrw --bssplit=512/10:4k/40:20k/10:64k/20:192k/10:1m/10 \
		--iodepth=16 --size=11m --numjobs=2 --offset_increment=12m --fdatasync=32 \
		--verify_backlog=128 --time_based --runtime=8
	end_disturbance
}
test_case "fio crc32c, mixed sizes, reads and writes" fio_split

# The end of the device, last partial chunk included.
fio_end()
{
	make_odd_set
	region=64
	base=$((chunks - region))
	io write "$dev" at="$(at_chunk "$base")" len=$(((length - base * chunk) * 512)) seed=3
	disturb
	fio_verify end --rw=randwrite --bsrange=512-64k --blockalign=512 --iodepth=4 \
		--offset=$(((length - 4096) * 512)) --size=$((4096 * 512)) --fsync=16 \
		--verify_backlog=32 --time_based --runtime=4
	end_disturbance
	io write "$dev" at=$(((length - 129) * 512)) len=$((129 * 512)) seed=77 block=64k
	move $((chunks - 2)) 2 1
	io check "$dev" at=$(((length - 129) * 512)) len=$((129 * 512)) seed=77 block=64k
	fails io write "$dev" at=$((length * 512)) len=512 seed=1
}
test_case "fio crc32c on the last, partial chunk" fio_end

# Trims among writes: trimmed sectors are not verified, all others are.
fio_trim()
{
	make_odd_set
	region=256	# 16 MiB
	write_chunks 0 "$region" 3 block=1m
	disturb
	fio_verify trim --rw=randtrimwrite --bsrange=4k-256k --blockalign=512 --iodepth=4 \
		--size=16m --io_size=16m --verify_backlog=16
	end_disturbance
}
test_case "fio crc32c with trims" fio_trim

# Four workers whose regions share chunks with their neighbours; each knows the data of every
# sector of its region, discards and write-zeroes included.
torture()
{
	local n pid workers=()
	"$@"
	disturb
	for n in 0 1 2 3; do
		background io torture "$dev" at=$((n * 6 * 1048576 + 1536)) len=$((6 * 1048576 - 512)) \
			chunk=$((chunk * 512)) seconds=3600 seed=$((n + 1)) model="$tmp/model$n" >"$tmp/worker$n" 2>&1
		workers+=("$last_pid")
	done
	nap 14
	# Only written chunks can move, so the workers go on until a chunk has moved.
	moves_succeed
	kill "${workers[@]}" || true
	for pid in "${workers[@]}"; do wait "$pid" || fail "$(cat "$tmp"/worker?)"; done
	note "$(awk '{ n += $1 } END { print n }' "$tmp"/worker?) operations"
	end_disturbance
	recheck
	io sync "$dev"
	deactivate
	activate
	recheck
	# Some chunks are unmapped. An active policy would take the hot chunks back.
	policy=static
	reload
	msg migrate 0 "$region" 1
	wait_for 60 all_gone
	recheck
}
all_gone() { [ "$(on_rank 0 "$region" 0)" = 0 ]; }
recheck()
{
	local n
	for n in 0 1 2 3; do
		io recheck "$dev" at=$((n * 6 * 1048576 + 1536)) len=$((6 * 1048576 - 512)) \
			model="$tmp/model$n"
	done
}
heat_policy()
{
	make_odd_set
	policy=heat
	reload
}
# The workers' 24 MiB in chunks of several pieces, on disks so slow that writes meet moving chunks.
large_chunks()
{
	fast_mib=48 slow_mib=64 chunk=$1
	region=$((24 * 2048 / chunk))
	make_odd_set irqmode=2 completion_nsec=2000000
}
test_case "reads, writes, discards, zeroes, flushes of four workers" torture make_odd_set
test_case "the same with the heat policy at work" torture heat_policy
test_case "the same in chunks of 1 MiB" torture large_chunks 2048
test_case "the same in chunks of 8 MiB" torture large_chunks 16384

# On disks with 4 KiB sectors.
torture_4k()
{
	disk meta 4 blocksize=4096
	disk fast 16 blocksize=4096
	disk slow 32 blocksize=512
	core=(migration_bandwidth 0)
	activate
	disturb
	io torture "$dev" at=4k len=20m chunk=64k seconds=$((5 + patience)) seed=9 model="$tmp/model"
	end_disturbance
	io recheck "$dev" at=4k len=20m model="$tmp/model"
}
test_case "tiers of 4096- and 512-byte sectors" torture_4k

run_tests
