#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=300
# stock kernels only: it measures time and memory
#
# A virtual device of 1 TiB on disks that take memory only where they are
# written: how long activation takes, how much memory a chunk costs, and whether
# status lists all that lies on a missing tier.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$here/lib-tierctl.sh"

chunks=$((1024 * 1024))
chunk=2048

# kernel_memory: KiB of slab and percpu memory and of dm-bufio's blocks. MemFree and
# MemAvailable would also count pages in the CPUs' own lists, which differ by tens of MiB
# between the two measurements.
kernel_memory()
{
	local bufio=/sys/module/dm_bufio/parameters/current_allocated_bytes n=0
	udevadm settle 2>/dev/null || true
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 0.5
	[ ! -r "$bufio" ] || n=$(<"$bufio")
	awk -v n=$((n / 1024)) '/^(SUnreclaim|Percpu):/ { n += $2 } END { print n }' /proc/meminfo
}

# vmalloced: bytes the target's large arrays take
vmalloced()
{
	awk '/\[dm_tier/ { for (i = 1; i <= NF; i++) if ($i ~ /^pages=/) n += substr($i, 7) }
		END { print n * 4096 }' /proc/vmallocinfo
}

per_chunk() { bc <<<"scale=2; $1 / $chunks"; }

one_tebibyte()
{
	local start before after used arrays
	disk meta 128
	disk fast $((128 * 1024))
	disk slow $((1024 * 1024))
	length=$((chunks * chunk))

	start=$EPOCHREALTIME
	activate
	note "1 TiB in chunks of 1 MiB, first activation (format): $(since "$start") s"
	same "$chunks" "$(info virtual)"
	io write "$dev" at=0 len=2m seed=1 block=1m
	io write "$dev" at=$((length * 512 - 1048576)) len=1m seed=2 block=1m
	io write "$dev" at=512g len=4k seed=3
	move 0 1 1
	status
	note "metadata used: $((S[meta_used] * 4)) KiB"
	start=$EPOCHREALTIME
	deactivate
	note "deactivation: $(since "$start") s"

	before=$(kernel_memory)
	start=$EPOCHREALTIME
	activate
	note "activation: $(since "$start") s"
	after=$(kernel_memory)
	arrays=$(vmalloced)
	used=$((arrays + (after - before) * 1024))
	note "memory: $((used / 1024)) KiB, $(per_chunk "$used") bytes a chunk"
	note "        $((arrays / 1024)) KiB of it in large arrays, $(per_chunk "$arrays") bytes a chunk"

	io check "$dev" at=0 len=2m seed=1 block=1m
	io check "$dev" at=$((length * 512 - 1048576)) len=1m seed=2 block=1m
	io check "$dev" at=512g len=4k seed=3
	io check "$dev" at=$((512 * 1073741824 + 4096)) len=1020k seed=0
	same 1 "$(on_rank 0 "$chunks" 1)"

	[ "$arrays" -ge $((8 * chunks)) ] || fail "/proc/vmallocinfo does not show the map"
	[ "$used" -le $((16 * chunks)) ] || fail "more than 16 bytes a chunk"
	same 4096 "$(msg heat 0 "$chunks" 4096 | wc -l)" "buckets of heat"
}
test_case "1 TiB activates and takes at most 16 bytes a chunk" one_tebibyte

# Of the first eighth of all chunks every second one lies on a missing tier, of the rest one
# in 64. So each of the 4096 buckets of the first answer has a missing chunk.
gone='function gone(c) { return c < chunks / 8 ? c % 2 : c % 64 == 10 }'

scattered_and_missing()
{
	local start rc=0 chunks=$((256 * 1024))
	disk meta 64
	disk fast $((64 * 1024))
	disk slow $((256 * 1024))
	length=$((chunks * chunk))
	activate
	deactivate
	ctl dump "$meta" | awk -v chunks="$chunks" "$gone"'
		/<\/tier_metadata>/ {
			for (c = 0; c < chunks; c++) {
				tier = gone(c) ? 0 : 1
				printf "<map chunk=\"%d\" chunks=\"1\" tier=\"%d\" place=\"%d\"/>\n", c, tier, ++place[tier]
			}
		}
		{ print }' >"$tmp/scattered"
	ctl restore -qy "$tmp/scattered" "$meta"
	rm "$tmp/scattered"
	disk_gone fast
	tiers=(- "$slow")
	activate
	start=$EPOCHREALTIME
	ctl status --json "$set" >"$tmp/json" || rc=$?
	note "status of 256 GiB, scattered: $(since "$start") s"
	same 3 "$rc" "exit status"
	same true "$(jq '.sets[0].lost_ranges_complete' "$tmp/json")" "all ranges"
	awk -v chunks="$chunks" "$gone"'
		BEGIN { for (c = 0; c < chunks; c++) if (gone(c)) printf "%.0f 1048576\n", c * 1048576 }' >"$tmp/lost"
	note "$(wc -l <"$tmp/lost") ranges, $(stat -c %s "$tmp/json") bytes of JSON"
	jq -r '.sets[0].lost_ranges[] | "\(.offset) \(.length)"' "$tmp/json" | cmp - "$tmp/lost" ||
		fail "not the ranges that are lost"
}
test_case "256 GiB, scattered: status lists all that lies on a missing tier" scattered_and_missing

too_many_chunks()
{
	chunk=128
	disk meta 64
	disk fast $((1024 * 1024 * 257))
	disk slow 32
	# 2^32 chunks of 64 KiB are 256 TiB.
	length=$((4294967296 * 128))
	counts=$(write_counts "$meta" "$fast" "$slow")
	refused 'chunk|length|metadata|exceed|capacity' dmsetup create "$set" --table "$(table_line)"
	same "$counts" "$(write_counts "$meta" "$fast" "$slow")" "writes"
}
test_case "more than 2^32 - 1 chunks are refused" too_many_chunks

metadata_too_small()
{
	disk meta 8
	disk fast 16
	disk slow $((1024 * 1024))
	length=$((1000000 * 2048))
	counts=$(write_counts "$meta" "$fast" "$slow")
	refused 'metadata' dmsetup create "$set" --table "$(table_line)"
	same "$counts" "$(write_counts "$meta" "$fast" "$slow")" "writes"
}
test_case "metadata too small for so many chunks is refused" metadata_too_small

run_tests
