#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
# timeout=4500
#
# Everything at once, for long: verified I/O, migrations, messages, suspends, reloads, power
# cuts. Nothing may fail, and nothing may grow: memory and metadata are measured after each
# round, and the last third of the rounds is compared with the first.
#
# SOAK in the environment: seconds, 3600 if it is not set. ci/test/soak runs this in a guest.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
[ -r /proc/slabinfo ] || skip_all "no /proc/slabinfo"

seconds=${SOAK:-3600}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || skip_all "SOAK=$seconds is no number of seconds"
round_seconds=5
cut_every=4		# rounds

# ---------------------------------------------------------------- values that must not grow

# The values that are measured, and by how much the means of two thirds of the rounds may differ
# although nothing grows: CPUs keep a few free objects and pages.
series=(slab_kib kernel_kib arrays_kib used_kib metadata_blocks)
declare -A tolerance=([slab_kib]=512 [kernel_kib]=3072 [arrays_kib]=64 [used_kib]=24576
		      [metadata_blocks]=12)

# Memory that null_blk loses each time a disk is switched on again; see on_cost().
on_bytes=0 times_on=0

# slab: bytes of the objects of dm_tier* and kmalloc-*, in use
slab()
{
	awk '/^(dm_tier|kmalloc-)/ { slab += $2 * $4 } END { print slab }' /proc/slabinfo
}

# sample: one value for each series, on one line
#   slab_kib         the result of slab(), less the memory that null_blk lost
#   kernel_kib       all slab that cannot be reclaimed, percpu memory, dm-bufio's blocks
#   arrays_kib       memory of our modules from vmalloc
#   used_kib         memory that the kernel does not call available
#   metadata_blocks  of the set
sample()
{
	local bufio=/sys/module/dm_bufio/parameters/current_allocated_bytes bytes=0
	sync
	echo 3 >/proc/sys/vm/drop_caches
	nap 0.5
	[ ! -r "$bufio" ] || bytes=$(<"$bufio")
	status
	awk -v bufio=$((bytes / 1024)) -v metadata="${S[meta_used]}" \
		-v slab=$((($(slab) - times_on * on_bytes) / 1024)) '
		/^(SUnreclaim|Percpu):/ { kernel += $2 }
		/^MemTotal:/ { used += $2 }
		/^MemAvailable:/ { used -= $2 }
		/\[dm_tier/ { for (i = 1; i <= NF; i++)
			if ($i ~ /^pages=/) pages += substr($i, 7) }
		END { print slab, kernel + bufio, pages * 4, used, metadata }' \
		/proc/meminfo /proc/vmallocinfo
}

# on_cost DISK...: the kernel does not free all memory that null_blk and the block layer took
# when a disk was switched on. The loss is measured before the set is made.
on_cost()
{
	local before n cycles=40
	cut_power "$@"
	before=$(slab)
	for ((n = 0; n < cycles; n++)); do cut_power "$@"; done
	on_bytes=$((($(slab) - before) / (cycles * $#)))
	note "a disk that is switched on again leaves $on_bytes bytes behind"
}

# thirds COLUMN FILE: the means of the first and the last third, without the first
# fifth, in which the kernel fills its caches
thirds()
{
	awk -v c="$1" '{ v[NR] = $c }
		END {
			skip = int((NR + 4) / 5)
			n = int((NR - skip) / 3)
			if (n < 2) { print "-"; exit }
			for (i = 1; i <= n; i++) { a += v[skip + i]; b += v[NR - n + i] }
			printf "%d %d\n", a / n, b / n
		}' "$2"
}

# flat FILE: no value grew
flat()
{
	local i name first last grown=()
	for i in "${!series[@]}"; do
		name=${series[i]}
		read -r first last <<<"$(thirds $((i + 1)) "$1")"
		[ "$first" != - ] || fail "too few samples to judge: $(wc -l <"$1")"
		note "$name: $first in the first third, $last in the last"
		[ $((last - first)) -le "${tolerance[$name]}" ] ||
			grown+=("$name from $first to $last")
	done
	[ ${#grown[@]} = 0 ] || fail "grows: ${grown[*]}"
}

# samples COLUMN STEP: rounds in which one column grows
samples()
{
	awk -v c="$1" -v step="$2" 'BEGIN {
		for (n = 0; n < 40; n++) {
			for (i = 1; i <= 5; i++)
				printf "%d ", 5000 + (n * 7919 % 5) + (i == c) * n * step
			print "" } }'
}

# Shows that the check rejects a series that grows.
judge()
{
	local i
	samples 0 0 >"$tmp/none"
	silently flat "$tmp/none"
	for i in "${!series[@]}"; do
		samples $((i + 1)) $((tolerance[${series[i]}] / 10 + 1)) >"$tmp/grows"
		fails silently flat "$tmp/grows"
		matches "${series[i]} from" "$output" "verdict"
	done
	head -n 6 "$tmp/none" >"$tmp/few"
	fails silently flat "$tmp/few"
	matches 'too few' "$output" "verdict"
}
silently() { ("$@" 3>/dev/null); }
test_case "what grows is noticed" judge

# Kernel memory that is held: 6000 pipes, each with a buffer from kmalloc.
held_memory()
{
	local before after
	disk meta 4
	disk fast 16
	disk slow 32
	length=$((400 * 128))
	activate
	sample >/dev/null
	read -r before _ <<<"$(sample)"
	ulimit -n 20000
	background hold_pipes 6000
	wait_for 60 test -e "$tmp/held"
	read -r after _ <<<"$(sample)"
	note "$before KiB, then $after KiB"
	[ $((after - before)) -gt "${tolerance[slab_kib]}" ] || fail "not seen"
}
hold_pipes()
{
	perl -e 'for (1..$ARGV[0]) { pipe(my $r, my $w) or die "pipe: $!"; push @held, $r, $w; }
		open(my $f, ">", $ARGV[1]) or die; close $f; sleep 1000' "$1" "$tmp/held"
}
test_case "memory of the kernel's that is held is seen" held_memory

# ---------------------------------------------------------------- the load

chunks=400		# the slow tier can hold all of them, so the fast tier can be emptied
worker_mib=4
disks=("$meta" "$fast" "$slow")
running() { [ ! -e "$tmp/done" ]; }
# refusable WORD...: sends a message that may be refused: no room, the tier is closed, the set is
# suspended
refusable() { msg "$@" >/dev/null 2>&1 || true; }

moves()
{
	local count
	while running; do
		count=$((1 + RANDOM % 24))
		refusable migrate $((RANDOM % (chunks - count))) "$count" $((RANDOM % 2))
		nap 0.05
	done
}

# Each function undoes its change.
messages()
{
	local n=0
	while running; do
		case $((n % 6)) in
		0) refusable set migration_depth $((1 + RANDOM % 16)) ;;
		1) refusable pin 10 5 $((RANDOM % 2)); nap 0.2; refusable unpin 0 "$chunks" ;;
		2) refusable evacuate 0; nap 0.5; refusable admit 0; refusable admit 1 ;;
		3) refusable pause; refusable resume ;;
		4) refusable reserve_metadata_snap; nap 0.2; refusable release_metadata_snap ;;
		5) refusable heat 0 "$chunks" 8; refusable chunk $((RANDOM % chunks)) ;;
		esac
		n=$((n + 1))
		nap 0.1
	done
}

# Ends before the others: its steps must not fail, and would without power.
tables()
{
	local n=$RANDOM
	while [ ! -e "$tmp/tables_done" ]; do
		case $((n % 5)) in
		0) suspend; resume ;;
		1) suspend --noflush; resume ;;
		2) core=(migration_bandwidth 0 migration_depth $((1 + n % 16))); load; resume ;;
		3) tiers=("$slow" "$fast"); reload; tiers=("$fast" "$slow"); reload ;;
		4) policy=static; reload; policy=heat; reload ;;
		esac
		n=$((n + 1))
		nap 0.5
	done
}

# worker N SECONDS SEED: works on the data of the round before
worker()
{
	local again=0
	[ ! -e "$tmp/model$1" ] || again=1
	io torture "$dev" at=$(($1 * worker_mib * 1048576 + 1536)) len=$((worker_mib * 1048576 - 512)) \
		chunk=64k seconds="$2" seed="$3" model="$tmp/model$1" again="$again"
}

recheck()
{
	local n
	for n in 0 1 2 3; do
		io recheck "$dev" at=$((n * worker_mib * 1048576 + 1536)) \
			len=$((worker_mib * 1048576 - 512)) model="$tmp/model$n"
	done
}

# The chunks above those of the workers, whose last region ends a little way into a chunk:
# written, moved and discarded as well, but nobody knows their contents after a power cut.
scribble()
{
	local first=$((4 * worker_mib * 16 + 1))
	while running; do
		io write "$dev" at="$(at_chunk $((first + RANDOM % 100)))" len=192k seed=$((1 + RANDOM)) || true
		blkdiscard -f -o "$(at_chunk $((first + RANDOM % 100)))" -l 256k "$dev" || true
		io sync "$dev" || true
	done 2>/dev/null
}

start_all()
{
	rm -f "$tmp/done" "$tmp/tables_done"
	others=()
	background moves; others+=("$last_pid")
	background messages; others+=("$last_pid")
	background scribble; others+=("$last_pid")
	background tables; tables=$last_pid
}

work()
{
	local n pid workers=()
	for n in 0 1 2 3; do
		background worker "$n" "$round_seconds" $((round * 4 + n)) >"$tmp/worker$n" 2>&1
		workers+=("$last_pid")
	done
	for pid in "${workers[@]}"; do wait "$pid" || fail "$(cat "$tmp"/worker?)"; done
	ops=$((ops + $(awk '{ n += $1 } END { print n }' "$tmp"/worker?)))
}

# one_round: the load, then perhaps a cut in the middle of migrations and writes, then silence
one_round()
{
	local pid cut=''
	start_all
	work
	touch "$tmp/tables_done"
	wait "$tables" || fail "a suspend or a reload failed"
	moved=$(info migrated)
	if [ $((round % cut_every)) = 0 ]; then
		io sync "$dev"
		# Migrations are under way at the cut.
		refusable migrate 0 "$chunks" $((round / cut_every % 2))
		nap "0.$((RANDOM % 9))"
		cut_power "${disks[@]}"
		cut=1 cuts=$((cuts + 1)) times_on=$((times_on + ${#disks[@]}))
		moved_before=$((moved_before + moved)) moved=0
	fi
	touch "$tmp/done"
	for pid in "${others[@]}"; do wait "$pid" || fail "a background job failed"; done
	: >"$tmp/pids"
	if [ -n "$cut" ]; then
		deactivate
		check_metadata || fail "the metadata after a power cut"
		activate
	else
		same "0 0" "$(info errors0) $(info errors1)" "errors of the tiers"
	fi
	refusable release_metadata_snap
	msg admit 0
	msg admit 1
	msg unpin 0 "$chunks"
	msg resume
	same "rw -" "$(status; echo "${S[mode]} ${S[check]}")" "mode"
	recheck
	wait_for 60 settled
	io sync "$dev"
}

soak()
{
	local round=0 cuts=0 ops=0 moved=0 moved_before=0 end line others tables
	disk meta 4 cache_size=2
	disk fast 16 cache_size=2
	disk slow 32 cache_size=2
	on_cost "${disks[@]}"
	# null_blk allocates memory at writes: all sectors are written now, not in the course of
	# time.
	for line in "${disks[@]}"; do
		dd if=/dev/zero of="$line" bs=1M oflag=direct status=none 2>/dev/null || true
	done
	length=$((chunks * 128 - 8))
	core=(migration_bandwidth 0 migration_depth 8)
	features=(no_discard_passdown)
	policy=heat
	activate
	: >"$tmp/samples"
	end=$((SECONDS + seconds))
	# With fewer rounds there are no thirds to compare.
	while [ "$SECONDS" -lt "$end" ] || [ "$round" -lt 10 ]; do
		round=$((round + 1))
		one_round
		sample >>"$tmp/samples"
		note "round $round, $((end - SECONDS)) s to go: $(tail -n 1 "$tmp/samples")"
	done
	moved=$((moved + moved_before))
	note "$round rounds, $ops operations that were verified, $((moved / 128)) chunks moved, $cuts power cuts"
	is 'cuts > 0 && ops > 0 && moved > 0'
	flat "$tmp/samples"
}
test_case "$seconds s: all data is right, memory and metadata stay as they are" soak

run_tests
