# What the demonstration measures.  Sourced by demo.sh, never run.
# shellcheck shell=bash disable=SC2034	# the results are for whoever sources this

# Counters of a set's status line (dm-tier.rst), as variables.
read_status()
{
	local w n

	read -ra w < <(dmsetup status "$1")
	n=$((10 + 6 * w[9]))
	fast_used=${w[12]%/*} fast_places=${w[12]#*/} fast_reads=${w[13]}
	slow_used=${w[18]%/*} slow_reads=${w[19]}
	moved_up=${w[n]} moved_down=${w[n + 1]} moving=${w[n + 4]}
}

# read_heat SET FIRST CHUNKS BUCKETS: sets $heat to the sum, $on_fast and $mapped
# to numbers of chunks, and $map to a sign for each bucket.
read_heat()
{
	local count present bucket_heat fast

	heat=0 on_fast=0 mapped=0 map=''
	while read -r _ count present _ _ bucket_heat fast _; do
		heat=$((heat + bucket_heat))
		on_fast=$((on_fast + fast))
		mapped=$((mapped + present))
		if [ "$fast" = 0 ]; then
			map+=.
		elif [ $((fast * 2)) -lt "$count" ]; then
			map+=+
		else
			map+=#
		fi
	done < <(dmsetup message "$1" 0 heat "$2" "$3" "$4")
}

# file_chunks FILE: sets $first and $chunks to the range of 1 MiB chunks that FILE
# lies in.
file_chunks()
{
	read -r first chunks < <(filefrag -v "$1" | tr -d '.:' | awk '
		$1 ~ /^[0-9]+$/ { a = $4; b = $5; if (!n++ || a < min) min = a; if (b > max) max = b }
		END { print int(min / 256), int(max / 256) - int(min / 256) + 1 }')
}

# start_reader FILE SECONDS ZONES: fio reads 4 KiB at a time in the background, past
# the page cache, so that the disks are measured and not the memory.
start_reader()
{
	fio_out=$(mktemp)
	fio --name=reader --filename="$1" --readonly --rw=randread --bs=4k --direct=1 \
		--random_distribution="zoned:$3" --time_based --runtime="$2" --randrepeat=0 \
		--status-interval=1 --output-format=terse >"$fio_out" &
	reader=$!
	fio_count=0 fio_time=0 fio_clock=0
}

# stop_reader: stops fio without counting that as a failure.
stop_reader()
{
	kill "$reader" 2>/dev/null || true
	wait "$reader" || true
}

# read_latency: sets $latency to the mean of the reads since the last call, in
# microseconds, and $rate to how many they were a second; false if there are no
# new ones.  In fio's terse format field 6 is KiB read, 9 the time in milliseconds,
# 40 the mean latency of all reads so far.
read_latency()
{
	local last kib clock_ms mean count total

	last=$(tail -n 1 "$fio_out")
	IFS=';' read -r _ _ _ _ _ kib _ _ clock_ms _ <<<"$last"
	mean=$(cut -d';' -f40 <<<"$last")
	[ -n "$mean" ] && [ $((kib / 4)) -gt "$fio_count" ] || return 1
	count=$((kib / 4 - fio_count)) total=$((kib * ${mean%.*} / 4))
	latency=$(((total - fio_time) / count))
	rate=$((count * 1000 / (clock_ms > fio_clock ? clock_ms - fio_clock : 1)))
	fio_count=$((kib / 4)) fio_time=$total fio_clock=$clock_ms
}

# ms MICROSECONDS: sets $ms to milliseconds with two digits after the point.
ms() { printf -v ms '%d.%02d ms' $(($1 / 1000)) $(($1 % 1000 / 10)); }
