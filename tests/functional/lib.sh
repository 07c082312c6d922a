# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2119,SC2120	# used, and called with arguments, by the tests
#
# Shared by the functional tests. Sourced by each of them.
#
# A test file registers its cases with test_case and ends with run_tests. Each case runs in a
# subshell under set -e: the first command that fails ends the case and is shown. All dm devices,
# disks and processes that a case leaves behind are removed after it; a dm device that cannot be
# removed fails the case.
#
# Every case starts with no disks, unless keep_disks is set; then disks, and the dm device that
# keep_dm names, stay until the end. `disk fast 16` makes $fast, a null_blk disk of 16 MiB that
# holds data; `make_set` makes the usual three disks and a set on them.
#
# CASES='pattern' in the environment runs only the cases whose description matches; MUTANT=name
# chooses the defect of a test build (ci/test/check-mutants). A file whose cases are many and
# alike says turns=COUNT: with TURN=N in the environment one in COUNT of them runs, those whose
# turn it is.

set -Eeuo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
test_name=$(basename "$0" .sh)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/dm-tier-test.XXXXXX")

# The usual disks. The name of a disk is the last part.
meta=/dev/tt_meta
meta2=/dev/tt_meta2
fast=/dev/tt_fast
slow=/dev/tt_slow
third=/dev/tt_third
spare=/dev/tt_spare
set=tt_set
dev=/dev/mapper/$set

# On a slow machine dmsetup spends most of its time loading libraries. With udevd (see
# ci/guest/run-tests) cookies are needed, which only dmsetup can wait for.
if [ -n "${DM_DISABLE_UDEV:-}" ] && [ -x "$here/quickdm" ]; then
	dmsetup() { "$here/quickdm" "$@"; }
fi

# ---------------------------------------------------------------- TAP

exec 3>&1		# TAP goes here, also from within a case
descriptions=()
functions=()
SKIP=77

# note TEXT: a line for the reader of the test's output.
note() { printf '# %s\n' "$*" >&3; }

fail()
{
	echo "FAIL: $*" >&2
	exit 1
}

# skip REASON: called within a case
skip()
{
	echo "$*" >"$tmp/skip"
	exit $SKIP
}

# load_module NAME WHAT: called within a case; the module of test_modules that makes WHAT fail
load_module()
{
	[ ! -e "/sys/module/$1" ] || return 0
	modprobe "$1" 2>/dev/null || insmod "$here/test_modules/$1.ko" 2>/dev/null && return
	[ -z "${DM_TIER_GUEST:-}" ] || fail "$1 does not load"
	skip "no module that makes $2"
}

# skip_all REASON: called before run_tests; a guest of ci/guest/run has everything that tests want
skip_all()
{
	trap - EXIT
	[ -z "${klog_pid:-}" ] || kill "$klog_pid" 2>/dev/null || true
	rm -rf "$tmp"
	if [ -n "${DM_TIER_GUEST:-}" ]; then
		echo "Bail out! $*"
		exit 1
	fi
	echo "TAP version 13"
	echo "1..0 # SKIP $*"
	exit 4
}

# need COMMAND...: skips the file unless all of these are there.
need()
{
	local command
	for command; do
		command -v "$command" >/dev/null || skip_all "$command is not installed"
	done
}

# in_turn COUNT NUMBER: if one in COUNT runs, whether it is the turn of this one
in_turn() { [ -z "${TURN:-}" ] || (((TURN + $2) % $1 == 0)); }

# test_case DESCRIPTION FUNCTION [ARGUMENT]...
registered=0
test_case()
{
	registered=$((registered + 1))
	# shellcheck disable=SC2053	# a pattern is what it is
	[[ $1 == ${CASES:-*} ]] || return 0
	in_turn "${turns:-1}" "$registered" || return 0
	descriptions+=("$1")
	shift
	functions+=("$(printf '%q ' "$@")")
}

on_error()
{
	local rc=$?
	echo "FAIL: $1: line $2: '$3' gave $rc" >&2
	exit "$rc"
}

# Runs one case; its output is kept, and shown if it fails.
run_case()
{
	set -Eeuo pipefail
	trap - EXIT
	trap 'on_error "${FUNCNAME[0]:-$0}" "$LINENO" "$BASH_COMMAND"' ERR
	# shellcheck disable=SC2294	# quoted by test_case
	eval "$1"
}

run_tests()
{
	local i rc failed=0 passed=0 skipped=0 number start keep=${keep_disks:-}

	echo "TAP version 13"
	if [ ${#functions[@]} = 0 ]; then
		echo "Bail out! no case is called ${CASES:-anything}"
		exit 1
	fi
	echo "1..${#functions[@]}"
	[ "$registered" = ${#functions[@]} ] || note "${#functions[@]} of $registered cases"
	for i in "${!functions[@]}"; do
		number=$((i + 1))
		start=$EPOCHREALTIME
		klog_mark "case $number: ${descriptions[i]}"
		set +e
		trap - ERR
		(run_case "${functions[i]}") >"$tmp/out" 2>&1
		rc=$?
		# Kept devices are removed after the last case.
		[ "$number" != ${#functions[@]} ] || keep=
		clean "$keep" >>"$tmp/out" 2>&1 || rc=1
		set -e
		case $rc in
		0)
			passed=$((passed + 1))
			printf 'ok %d %s\n' "$number" "${descriptions[i]}" ;;
		"$SKIP")
			skipped=$((skipped + 1))
			printf 'ok %d %s # SKIP %s\n' "$number" "${descriptions[i]}" \
				"$(<"$tmp/skip")" ;;
		*)
			failed=$((failed + 1))
			printf 'not ok %d %s\n' "$number" "${descriptions[i]}"
			sed 's/^/#   /' "$tmp/out"
			klog | tail -n 30 | sed 's/^/#   kernel: /' ;;
		esac
		[ -z "${TIMES:-}" ] || note "took $(since "$start") s," \
			"$(awk '/MemAvailable/ { print int($2 / 1024) }' /proc/meminfo) MiB available"
	done
	[ "$skipped" = 0 ] || note "$test_name: $skipped SKIPPED of ${#functions[@]}"
	[ "$failed" = 0 ] || exit 1
	[ "$passed" != 0 ] || exit 4
	exit 0
}

now_us() { echo "${EPOCHREALTIME/./}"; }

# since EPOCHREALTIME: seconds since then, with two decimals
since()
{
	local us=$((${EPOCHREALTIME/./} - ${1/./}))
	printf '%d.%02d' $((us / 1000000)) $((us / 10000 % 100))
}

# ---------------------------------------------------------------- checks

# same EXPECTED FOUND [WHAT]
same()
{
	[ "$1" = "$2" ] || fail "${3:-value}: expected '$1', found '$2'"
}

# matches REGEX TEXT [WHAT]
matches()
{
	[[ $2 =~ $1 ]] || fail "${3:-text}: expected /$1/, found '$2'"
}

# is EXPRESSION: EXPRESSION is true, as in is 'S[mapped] > 5'
is() { (($1)) || fail "not true: $1   (${S[line]-})"; }

# fails COMMAND...: COMMAND must not succeed; its output is in $output.
fails()
{
	local rc=0
	output=$("$@" 2>&1) || rc=$?
	[ "$rc" != 0 ] || fail "succeeded: $*"
	status_of_failure=$rc
}

# nap SECONDS: sleep, without a process
exec {nap_fd}<> <(:)
nap() { read -r -t "$1" -u "$nap_fd" || true; }

# How many times longer than on a quiet machine everything may take here.
patience=${DM_TIER_TIMEOUT_FACTOR:-1}

# wait_for SECONDS COMMAND...: repeats COMMAND until it succeeds
wait_for()
{
	local end=$((SECONDS + $1 * patience))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || fail "still not true in time: $*"
		nap 0.2
	done
}

# has_ended PID: a process in the background has ended; for wait_for
has_ended() { ! kill -0 "$1" 2>/dev/null; }

# ---------------------------------------------------------------- kernel log

klog_serial=0
klog_patience=$((10 * patience))

# One dmesg runs for the whole file, which is faster than one for each look.
klog_start()
{
	echo on >/proc/sys/kernel/printk_devkmsg || true
	exec {klog_fd}< <(exec dmesg --follow-new)
	klog_pid=$!
	klog_patience=0.3
	until klog_write "$test_name begins" && klog_until "$klog_at" >/dev/null; do
		kill -0 "$klog_pid" 2>/dev/null || skip_all "dmesg --follow-new does not work"
	done
	klog_patience=$((10 * patience))
}

# klog_until TEXT: prints the kernel log up to a line with TEXT
klog_until()
{
	local line
	while IFS= read -r -t "$klog_patience" -u "$klog_fd" line; do
		[[ $line != *"$1 "* ]] || return 0
		printf '%s\n' "$line"
	done
	return 1
}

klog_write()
{
	klog_serial=$((klog_serial + 1))
	klog_at="dm-tier-test: $test_name.$BASHPID.$klog_serial"
	echo "<6>$klog_at $1" >/dev/kmsg
}

# klog_mark: marks a place in the kernel log, also for a reader.
klog_mark()
{
	klog_write "${1:-}"
	klog_until "$klog_at" >/dev/null
	: >"$tmp/klog"
}

# klog: the kernel log since the last mark.
klog()
{
	klog_write "read"
	klog_until "$klog_at" >>"$tmp/klog"
	echo "$(<"$tmp/klog")"
}

# klog_has REGEX: the log since the last mark has a matching line
klog_has() { [[ $(klog) =~ $1 ]]; }

own_line='device-mapper: (table: .*: )?tier: '
# refused REGEX COMMAND...: COMMAND fails, with exactly one line of the target in the kernel log
# that says why (dm's own "error adding target to table" or "preresume failed" follows). The
# line, in lower case, matches REGEX and is left in $refusal.
refused()
{
	local want=$1 line lines=()
	shift
	klog_mark
	fails "$@"
	while read -r line; do
		[[ ! $line =~ $own_line || $line == *' preresume failed'* ]] || lines+=("$line")
	done <<<"$(klog)"
	same 1 "${#lines[@]}" "lines in the kernel log, ${lines[*]-none} (error: $output); number"
	refusal=${lines[0]#*tier: }
	[[ ${refusal,,} =~ $want ]] || fail "the refusal does not say /$want/: $refusal"
}

# ---------------------------------------------------------------- disks

configfs=/sys/kernel/config/nullb

# disk NAME MIB [ATTRIBUTE=VALUE]...: a null_blk disk that holds data.
disk()
{
	local item=$configfs/tt_$1 word
	mkdir "$item"
	echo "$2" >"$item/size"
	echo 1 >"$item/memory_backed"
	echo 1 >"$item/discard"
	for word in "${@:3}"; do
		echo "${word#*=}" >"$item/${word%%=*}"
	done
	echo 1 >"$item/power"
	[ -b "/dev/tt_$1" ] || wait_for 10 test -b "/dev/tt_$1"
}

# disk_gone NAME: removes a disk.
disk_gone()
{
	echo 0 >"$configfs/tt_$1/power"
	rmdir "$configfs/tt_$1"
}

# scsi_disk MIB [OPTION...]: $scsi is a SCSI disk, the only one, with these options of
# scsi_debug; false if there is no driver
scsi_disk()
{
	modprobe -qr scsi_debug || true		# left by a case that failed
	modprobe -q sd_mod && modprobe -q scsi_debug dev_size_mb="$1" "${@:2}" || return
	wait_for 20 scsi_disk_there
}
scsi_disk_there()
{
	local dir
	for dir in /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*:*/block/*; do
		scsi=/dev/${dir##*/}
	done
	[ -b "$scsi" ]
}
scsi_disk_gone() { wait_for 20 modprobe -qr scsi_debug; }

# cut_power DISK...: a power cut. null_blk drops all that was not flushed (cache_size=), even under
# an open dm device, for which the disk is dead from then on. A sector that is on stable storage
# already is overwritten there at once: only sectors that are new, or were discarded, are lost.
cut_power()
{
	local disk
	for disk; do echo 0 >"$configfs/${disk#/dev/}/power"; done
	for disk; do echo 1 >"$configfs/${disk#/dev/}/power"; done
	for disk; do wait_for 10 test -b "$disk"; done
}

# crash: the set is gone, and its metadata is as it was before
crash()
{
	dd if="$metadata" of="$tmp/image" bs=1M iflag=direct status=none
	deactivate
	dd if="$tmp/image" of="$metadata" bs=1M oflag=direct status=none
	rm "$tmp/image"
}

# bad_sectors DISK FIRST COUNT: these sectors cannot be read or written any more (at most 512 a
# call)
bad_sectors() { echo "+$2-$(($2 + $3 - 1))" >"$configfs/tt_${1##*_}/badblocks"; }
good_sectors() { echo "-$2-$(($2 + $3 - 1))" >"$configfs/tt_${1##*_}/badblocks"; }

# wrap NAME TABLE: a dm device tt_NAME with a single target in front of a disk
wrap() { dmsetup create "tt_$1" --table "$2"; }

linear_line() { echo "0 $(sectors_of "/dev/tt_$1") linear /dev/tt_$1 0"; }

# lower NAME LINE...: loads a new table for tt_u_NAME, above the disk of that name; I/O that the
# old table held goes on
lower()
{
	local name=$1
	shift
	printf '%s\n' "$@" | dmsetup load "tt_u_$name"
	dmsetup resume "tt_u_$name"
}

# block_of DISK: its directory in /sys, without a process if possible
block_of()
{
	local dir=/sys/block/${1##*/}
	# A node of /dev/mapper is a link if udev made it, else a device node.
	[ -d "$dir" ] || dir=/sys/dev/block/$(stat -L -c %Hr:%Lr "$1")
	echo "$dir"
}

sectors_of() { echo "$(<"$(block_of "$1")/size")"; }
majmin() { echo "$(<"$(block_of "$1")/dev")"; }

# stat_of DISK N: the Nth number of the disk's statistics, from 0 (Documentation/block/stat.rst)
stat_of()
{
	local f
	read -ra f <"$(block_of "$1")/stat"
	echo "${f[$2]}"
}

# holds_io NAME: the dm-delay device of that name holds I/O
holds_io()
{
	local some=' delay [0-9 ]*[1-9]'
	[[ $(dmsetup status "$1") =~ $some ]]
}

# is_steady COMMAND...: the output of COMMAND stays the same for some time
is_steady()
{
	local before
	before=$("$@")
	nap 3
	[ "$("$@")" = "$before" ]
}

# io_counts DISK...: completed reads, writes, discards and flushes of each disk; the line stays
# the same as long as nobody uses the disk.
io_counts()
{
	local disk f
	for disk; do
		read -ra f <"$(block_of "$disk")/stat"
		echo "$disk reads ${f[0]} writes ${f[4]} discards ${f[11]} flushes ${f[15]}"
	done
}

# write_counts DISK...: as io_counts, without the reads
write_counts()
{
	local disk f
	for disk; do
		read -ra f <"$(block_of "$disk")/stat"
		echo "$disk writes ${f[4]} discards ${f[11]} flushes ${f[15]}"
	done
}

# checksums DISK...: reads past the page cache, which does not see the target's writes
checksums() { io sums "$@"; }

# ---------------------------------------------------------------- a set

# The parts of the table line; a case changes the parts it needs.
chunk=128		# sectors: 64 KiB
tiers=("$fast" "$slow")
features=()
core=()
policy=static
policy_args=()
metadata=$meta
length=

# table_args: everything after "tier" of the table line
table_args()
{
	echo "$metadata $chunk ${#tiers[@]} ${tiers[*]}" \
	     "${#features[@]}${features[*]:+ ${features[*]}}" \
	     "${#core[@]}${core[*]:+ ${core[*]}}" \
	     "$policy ${#policy_args[@]}${policy_args[*]:+ ${policy_args[*]}}"
}

# capacity_of CHUNK_SECTORS DISK...: capacity of a new set on these disks, in sectors
capacity_of()
{
	local chunk=$1 disk area places=0 reserve
	area=$((chunk > 2048 ? chunk : 2048))
	for disk in "${@:2}"; do
		places=$((places + $(sectors_of "$disk") / chunk - area / chunk))
	done
	reserve=$((places / 128))
	reserve=$((reserve < 2 ? 2 : reserve > 64 ? 64 : reserve))
	echo $(((places - reserve) * chunk))
}

table_line() { echo "0 $length tier $(table_args)"; }

# activate [DMSETUP OPTION]...: create $set from the variables above.
activate()
{
	[ -n "$length" ] || length=$(capacity_of "$chunk" "${tiers[@]}")
	dmsetup create "$set" --table "$(table_line)" "$@"
}

deactivate() { remove "${1:-$set}"; }

# remove DM_NAME...: as dmsetup remove, but waits while udev has the device open
remove() { dmsetup remove --retry "$@"; }

# load: loads a new table line, which takes effect with resume.
load() { dmsetup load "$set" --table "$(table_line)" "$@"; }
suspend() { dmsetup suspend "$set" "$@"; }
resume() { dmsetup resume "$set" "$@"; }
# Do not call this in a condition: a failing load must stop the case.
reload()
{
	load "$@"
	resume
}
msg() { dmsetup message -- "$set" 0 "$@"; }

# The usual set: 4 MiB of metadata, fast tier 16 MiB, slow tier 32 MiB, chunks
# of 64 KiB: 240 places on fast (16 to 255), 496 on slow; 731 chunks.
make_disks()
{
	disk meta 4
	disk fast 16
	disk slow 32
}

make_set()
{
	make_disks
	activate
}

# status: reads INFO into the associative array S and the arrays below
#   S[meta_block] [meta_used] [meta_total] [held] [chunk] [mapped] [virtual]
#   [pinned] [tiers] [promotions] [demotions] [aborted] [failed] [in_flight]
#   [migrated] [policy] [mode] [check] [running]
#   S[id0] [state0] [used0] [places0] [reads0] [writes0] [errors0] and so on
#   S[features], S[core], S[args]: the words; V[key]: value of a core or policy key
declare -A S V C
status()
{
	local line
	line=$(dmsetup status "${1:-$set}")
	parse_status "$line"
}

parse_status()
{
	local w i n t
	S=() V=()
	read -ra w <<<"$1"
	S[line]=$1 S[start]=${w[0]} S[length]=${w[1]} S[target]=${w[2]}
	same tier "${w[2]}" "target in status"
	[ ${#w[@]} -gt 20 ] || fail "status is short: $1"
	S[meta_block]=${w[3]} S[meta_used]=${w[4]%/*} S[meta_total]=${w[4]#*/}
	S[held]=${w[5]} S[chunk]=${w[6]} S[mapped]=${w[7]%/*} S[virtual]=${w[7]#*/}
	S[pinned]=${w[8]} S[tiers]=${w[9]}
	i=10
	for ((t = 0; t < S[tiers]; t++)); do
		S[id$t]=${w[i]} S[state$t]=${w[i + 1]}
		S[used$t]=${w[i + 2]%/*} S[places$t]=${w[i + 2]#*/}
		S[reads$t]=${w[i + 3]} S[writes$t]=${w[i + 4]} S[errors$t]=${w[i + 5]}
		i=$((i + 6))
	done
	S[promotions]=${w[i]} S[demotions]=${w[i + 1]} S[aborted]=${w[i + 2]}
	S[failed]=${w[i + 3]} S[in_flight]=${w[i + 4]} S[migrated]=${w[i + 5]}
	i=$((i + 6))
	n=${w[i]}; S[features]=${w[*]:i + 1:n}; i=$((i + 1 + n))
	n=${w[i]}; S[core]=${w[*]:i + 1:n}
	for ((t = i + 1; t <= i + n; t += 2)); do V[${w[t]}]=${w[t + 1]}; done
	i=$((i + 1 + n))
	S[policy]=${w[i]}; i=$((i + 1))
	n=${w[i]}; S[args]=${w[*]:i + 1:n}
	for ((t = i + 1; t <= i + n; t += 2)); do V[${w[t]}]=${w[t + 1]}; done
	i=$((i + 1 + n))
	S[mode]=${w[i]} S[check]=${w[i + 1]} S[running]=${w[i + 2]}
	S[words]=${#w[@]} S[parsed]=$((i + 3))
}

# info NAME: one field of a new status
info()
{
	status
	echo "${S[$1]}"
}

# chunk_info N: reads the answer to the message chunk into C: C[rank], C[state]...
chunk_info()
{
	local w i
	C=()
	read -ra w <<<"$(msg chunk "$1")"
	for ((i = 0; i + 1 < ${#w[@]}; i += 2)); do C[${w[i]}]=${w[i + 1]}; done
}

# hold_of CHUNK: the word for what keeps it from moving
hold_of() { chunk_info "$1"; echo "${C[held]}"; }

# hold_count WORD: how often that held back a chunk
hold_count() { msg holds | tr ' ' '\n' | grep -A1 -x "$1" | tail -n 1; }

# sector_of CHUNK: the first sector of the chunk on its tier
sector_of()
{
	chunk_info "$1"
	echo $((C[place] * chunk))
}

# on_rank FIRST COUNT RANK: how many of these chunks lie on that tier
on_rank()
{
	local w
	read -ra w <<<"$(msg heat "$1" "$2" 1)"
	echo "${w[6 + $3]}"
}

all_on_rank() { [ "$(on_rank "$1" "$2" "$3")" = "$2" ]; }
settled() { [ "$(info in_flight)" = 0 ]; }
mapped_is() { [ "$(info mapped)" = "$1" ]; }
in_motion() { [ "$(info in_flight)" -gt 0 ]; }

# zero_some: zeroes 200 KiB in chunks 2 to 5; some_are_zero: of chunks 0 to 9, of seed 1, only
# these are zero
zero_some() { blkdiscard -z -o $(($(at_chunk 2) + 512)) -l 200k "$dev"; }
some_are_zero()
{
	io check "$dev" at="$(at_chunk 2)" len=512 seed=1
	io check "$dev" at=$(($(at_chunk 2) + 512)) len=200k seed=0
	io check "$dev" at=$(($(at_chunk 2) + 512 + 204800)) len=55808 seed=1
	check_chunks 0 2 1
	check_chunks 6 4 1
}

# move FIRST COUNT RANK [home]: sends migrate and waits until it is done
move()
{
	msg migrate "$@"
	wait_for 60 all_on_rank "$1" "$2" "$3"
	wait_for 10 settled
}

# quiet SECONDS DISK...: waits until nobody has used the disks for so long
quiet()
{
	local seconds=$1 before now n=0 end=$((SECONDS + 60 * patience))
	shift
	before=$(io_counts "$@")
	while [ "$n" -lt "$seconds" ]; do
		[ $SECONDS -lt $end ] || fail "no silence on $* in time: $before -> $now"
		nap 1
		now=$(io_counts "$@")
		if [ "$now" = "$before" ]; then n=$((n + 1)); else n=0; fi
		before=$now
	done
}

# ---------------------------------------------------------------- data

# io COMMAND DEV KEY=VALUE...: see tierio.c; at_chunk N gives the offset of a chunk in bytes.
io() { "$tierio" "$@"; }
at_chunk() { echo $(($1 * chunk * 512)); }

# cold_set FAST_MIB FAST_NS SLOW_MIB SLOW_NS COUNT: activates a set of the policy heat, whose disks
# answer after so long, with COUNT chunks of data on the slow one.
cold_set()
{
	policy=heat
	disk meta 4
	disk fast "$1" irqmode=2 completion_nsec="$2"
	disk slow "$3" irqmode=2 completion_nsec="$4"
	core=(tier0.landing 0)
	activate
	write_chunks 0 "$5" 1 block=1m
	io sync "$dev"
}

# write_chunks FIRST COUNT SEED [KEY=VALUE]...; check_chunks likewise
write_chunks()
{
	io write "$dev" at="$(at_chunk "$1")" len="$(at_chunk "$2")" seed="$3" "${@:4}"
}

check_chunks()
{
	io check "$dev" at="$(at_chunk "$1")" len="$(at_chunk "$2")" seed="$3" "${@:4}"
}

discard_chunks()
{
	blkdiscard -f -o "$(at_chunk "$1")" -l "$(at_chunk "$2")" "${3:-$dev}"
}

# io_fails ERRNO COMMAND...: io must fail with this error number (5 EIO, 11 EAGAIN, 28 ENOSPC)
io_fails()
{
	local want=$1
	shift
	fails "$@"
	same "$want" "$status_of_failure" "errno of '$*' ($output)"
}

# ---------------------------------------------------------------- tracepoints

# trace_start DISK...: record what reaches these; trace_stop prints lines of
# "<major,minor> <action> <rwbs> <first sector> <sectors>", where the action is Q for a bio,
# D for a request that begins and C for one that has ended.
tracing=/sys/kernel/tracing
trace_start()
{
	local disk event filter=''
	mountpoint -q "$tracing" || mount -t tracefs tracefs "$tracing"
	for disk; do
		disk=$(majmin "$(readlink -f "$disk")")
		filter+="${filter:+ || }dev == $((${disk%:*} << 20 | ${disk#*:}))"
	done
	: >"$tracing/trace"
	for event in bio_queue rq_issue rq_complete; do
		echo "$filter" >"$tracing/events/block/block_$event/filter"
		echo 1 >"$tracing/events/block/block_$event/enable"
	done
}

trace_stop()
{
	echo 0 >"$tracing/events/block/enable"
	! grep -q "^overrun: [^0]" "$tracing"/per_cpu/cpu*/stats || fail "more was traced than is kept"
	sed -nE 's/.* block_(bio_queu|rq_issu|rq_complet)e: ([0-9,]+) ([A-Z]+) ([0-9]+ )?(\(.*\) )?([0-9]+) \+ ([0-9]+) .*/\2 \1 \3 \6 \7/p' \
		"$tracing/trace" | sed 's/ bio_queu / Q /; s/ rq_issu / D /; s/ rq_complet / C /'
}

# ---------------------------------------------------------------- metadata

# damaged: this case damages metadata on purpose; check_metadata skips it.
damaged() { : >"$tmp/damaged"; }

# patch DISK BYTE OCTAL LENGTH XOR: changes a byte and corrects the checksum
patch()
{
	# shellcheck disable=SC2059	# an octal escape
	printf "\\$3" | dd of="$1" bs=1 seek="$2" conv=notrunc,fsync status=none
	io seal "$1" at=$(($2 / 4096 * 4096)) len="$4" xor="$5"
}

# Every case must leave metadata in good order, or none.
check_metadata()
{
	local disk said
	[ ! -e "$tmp/damaged" ] || return 0
	for disk in "$meta" "$meta2"; do
		[ -b "$disk" ] || continue
		said=$("$checker" -i "$disk" 2>&1) || case $said in
		*"is blank"* | *"not tier metadata"*) ;;
		*)	echo "FAIL: tier_check of $disk: $said"
			return 1 ;;
		esac
	done
}

# ---------------------------------------------------------------- cleaning up

# find_ours [NAME]: fills ours with the names of our dm devices, except NAME, which is kept;
# newest first, as they may lie on the others
find_ours()
{
	local file name
	ours=()
	for file in /sys/block/dm-*/dm/name; do
		[ -e "$file" ] || continue
		name=$(<"$file")
		[[ $name != tt_* && $name != tier-*-@(meta|rmeta-*|rimage-*) ]] || [ "$name" = "${1:-}" ] ||
			ours=("$name" "${ours[@]}")
	done
}

# only_device NAME [WHAT]: NAME is our only dm device
only_device()
{
	find_ours
	same "$1" "${ours[*]}" "${2:-dm devices}"
}

# clean [keep]: removes our dm devices, processes and disks; with `keep` disks stay.
clean()
{
	local name pid item items=() mounts round rc=0

	[ ! -s "$tmp/pids" ] || while read -r pid; do
		# A function in the background runs commands of its own.
		# shellcheck disable=SC2046
		kill "$pid" $(cat "/proc/$pid/task/$pid/children" 2>/dev/null) 2>/dev/null
	done <"$tmp/pids"
	: >"$tmp/pids"
	# The whole file at once: read gets one byte at a time from the kernel.
	mapfile -t mounts </proc/mounts
	for name in "${mounts[@]}"; do
		name=${name#* } name=${name%% *}
		[[ $name != "$tmp/"* ]] || items+=("$name")
	done
	[ ${#items[@]} = 0 ] || umount "${items[@]}"
	items=()
	for round in 1 2 3 4 5 6; do
		find_ours "${1:+${keep_dm:-}}"
		[ ${#ours[@]} != 0 ] || break
		for name in "${ours[@]}"; do
			dmsetup resume "$name" 2>/dev/null
			dmsetup remove --retry "$name" 2>/dev/null
		done
		[ "$round" -lt 3 ] || nap 1
	done
	[ ${#ours[@]} = 0 ] || {
		echo "FAIL: cannot be removed: ${ours[*]}"
		rc=1
	}
	[ -z "${1:-}" ] || return $rc
	check_metadata || rc=1
	rm -f "$tmp/damaged"
	for item in "$configfs"/tt_*; do
		[ -d "$item" ] || continue
		echo 0 >"$item/power"
		items+=("$item")
	done
	[ ${#items[@]} = 0 ] || rmdir "${items[@]}"
	return $rc
}

# background COMMAND...: runs COMMAND until the case ends, or until its job ends
background()
{
	if [ "$1" = io ]; then
		"$tierio" "${@:2}" &
	else
		"$@" &
	fi
	last_pid=$!
	echo "$last_pid" >>"$tmp/pids"
}

on_exit()
{
	set +e
	clean
	kill "$klog_pid"
	rm -rf "$tmp"
}

# ---------------------------------------------------------------- start

[ "$(id -u)" = 0 ] || skip_all "needs root"
need dmsetup dmesg
modprobe configfs 2>/dev/null || true	# configfs is not a module everywhere
modprobe null_blk nr_devices=0 2>/dev/null || [ -d "$configfs" ] ||
	skip_all "null_blk does not load"
mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
[ -d "$configfs" ] || skip_all "null_blk has no configfs interface"
modprobe dm-tier ${MUTANT:+"mutant=$MUTANT"} 2>/dev/null || dmsetup targets | grep -q '^tier ' ||
	skip_all "dm-tier does not load"
[ -z "${MUTANT:-}" ] || [ "$(cat /sys/module/dm_tier/parameters/mutant 2>&1)" = "$MUTANT" ] ||
	skip_all "dm-tier is loaded with another defect than $MUTANT"
checker=$here/../../userspace/tier_check
[ -x "$checker" ] || checker=$(command -v tier_check) || skip_all "tier_check is not built"
klog_start
tierio=$here/tierio
if [ ! -x "$tierio" ]; then
	tierio=$tmp/tierio
	"${CC:-cc}" -O2 -o "$tierio" "$here/tierio.c" ||
		skip_all "tierio is not built and there is no C compiler"
fi
trap on_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
clean	# devices that a killed run may have left
