# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2119,SC2120	# used, and called with arguments, by the tests
#
# What the functional tests share.  Sourced by each of them.
#
# A test file registers its cases with test_case and ends with run_tests.  Each
# case runs in a subshell under set -e: the first command that fails ends it
# and is shown.  Whatever a case leaves behind (dm devices, disks, processes)
# is taken away after it; a dm device that cannot be removed fails the case.
#
# Every case starts with no disks, unless keep_disks is set; then disks, and the
# dm device that keep_dm names, stay until the end.  `disk fast 16` makes $fast, a null_blk disk
# of 16 MiB that holds data; `make_set` makes the usual three and a set on them.
#
# CASES='pattern' in the environment runs those cases alone whose description
# matches; MUTANT=name chooses the defect of a test build (ci/test/check-mutants).

set -Eeuo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
test_name=$(basename "$0" .sh)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/dm-tier-test.XXXXXX")

# The cast.  Names of disks are the last part of these.
meta=/dev/tt_meta
meta2=/dev/tt_meta2
fast=/dev/tt_fast
slow=/dev/tt_slow
third=/dev/tt_third
spare=/dev/tt_spare
set=tt_set
dev=/dev/mapper/$set

# Where processes are slow to start, the libraries of dmsetup are most of its time.  With
# udevd (see ci/guest/run-tests), there are cookies for it, and only dmsetup knows of these.
if [ -n "${DM_DISABLE_UDEV:-}" ] && [ -x "$here/quickdm" ]; then
	dmsetup() { "$here/quickdm" "$@"; }
fi

# ---------------------------------------------------------------- TAP

exec 3>&1		# where TAP goes, also from within a case
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

# skip REASON: within a case
skip()
{
	echo "$*" >"$tmp/skip"
	exit $SKIP
}

# skip_all REASON: before run_tests; a guest of ci/guest/run has all that tests want
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

# need COMMAND...: skip the file unless all are there.
need()
{
	local command
	for command; do
		command -v "$command" >/dev/null || skip_all "$command is not installed"
	done
}

# test_case DESCRIPTION FUNCTION [ARGUMENT]...
test_case()
{
	# shellcheck disable=SC2053	# a pattern is what it is
	[[ $1 == ${CASES:-*} ]] || return 0
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

# One case; everything it says is kept until it has failed.
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
	for i in "${!functions[@]}"; do
		number=$((i + 1))
		start=$EPOCHREALTIME
		klog_mark "case $number: ${descriptions[i]}"
		set +e
		trap - ERR
		(run_case "${functions[i]}") >"$tmp/out" 2>&1
		rc=$?
		# What a file keeps ends with its last case.
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

# since EPOCHREALTIME: seconds from then to now, with two decimals
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

# is EXPRESSION: it is true, as in is 'S[mapped] > 5'
is() { (($1)) || fail "not true: $1   (${S[line]-})"; }

# fails COMMAND...: it must not succeed; its output is in $output.
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

# How many times longer than on a quiet machine things may take here.
patience=${DM_TIER_TIMEOUT_FACTOR:-1}

# wait_for SECONDS COMMAND...: until it succeeds
wait_for()
{
	local end=$((SECONDS + $1 * patience))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || fail "still not true in time: $*"
		nap 0.2
	done
}

# has_ended PID: of a process in the background, to wait for
has_ended() { ! kill -0 "$1" 2>/dev/null; }

# ---------------------------------------------------------------- kernel log

klog_serial=0
klog_patience=$((10 * patience))

# One dmesg for all of the file, which is faster than one for each look.
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

# klog_until TEXT: pass on what the kernel log says until a line with TEXT
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

# Marks a place in the kernel log, which helps its reader too.
klog_mark()
{
	klog_write "${1:-}"
	klog_until "$klog_at" >/dev/null
	: >"$tmp/klog"
}

# The kernel log since the last mark.
klog()
{
	klog_write "read"
	klog_until "$klog_at" >>"$tmp/klog"
	echo "$(<"$tmp/klog")"
}

# klog_has REGEX: a line since the last mark
klog_has() { [[ $(klog) =~ $1 ]]; }

own_line='device-mapper: (table: .*: )?tier: '
# refused REGEX COMMAND...: fails, with exactly one line of the target in the
# kernel log that says why (dm's own "error adding target to table" or "preresume
# failed" follows it), and what it says matches REGEX in lower case.  It is left in $refusal.
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

# disk_gone NAME: take a disk away.
disk_gone()
{
	echo 0 >"$configfs/tt_$1/power"
	rmdir "$configfs/tt_$1"
}

# scsi_disk MIB [OPTION...]: $scsi is a SCSI disk, the only one, with such an option of
# scsi_debug; false if there is no driver
scsi_disk()
{
	modprobe -qr scsi_debug || true		# of a case that has failed
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

# cut_power DISK...: a power cut.  null_blk drops what was not flushed (cache_size=),
# even under an open dm device, to which the disk is dead from then on.  What lies on
# stable storage it overwrites there at once: only what is new, or was discarded, is lost.
cut_power()
{
	local disk
	for disk; do echo 0 >"$configfs/${disk#/dev/}/power"; done
	for disk; do echo 1 >"$configfs/${disk#/dev/}/power"; done
	for disk; do wait_for 10 test -b "$disk"; done
}

# bad_sectors DISK FIRST COUNT: they cannot be read or written any more
# (at most 512 in one go)
bad_sectors() { echo "+$2-$(($2 + $3 - 1))" >"$configfs/tt_${1##*_}/badblocks"; }
good_sectors() { echo "-$2-$(($2 + $3 - 1))" >"$configfs/tt_${1##*_}/badblocks"; }

# wrap NAME TABLE: a dm device tt_NAME with a single target in front of a disk
wrap() { dmsetup create "tt_$1" --table "$2"; }

linear_line() { echo "0 $(sectors_of "/dev/tt_$1") linear /dev/tt_$1 0"; }

# lower NAME LINE...: a new table for tt_u_NAME, above the disk of that name; what the
# old one held up goes on
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
	# A node of /dev/mapper is a link if udev made it, else a node of its own.
	[ -d "$dir" ] || dir=/sys/dev/block/$(stat -L -c %Hr:%Lr "$1")
	echo "$dir"
}

sectors_of() { echo "$(<"$(block_of "$1")/size")"; }
majmin() { echo "$(<"$(block_of "$1")/dev")"; }

# stat_of DISK N: the Nth number of its counts, from 0 (Documentation/block/stat.rst)
stat_of()
{
	local f
	read -ra f <"$(block_of "$1")/stat"
	echo "${f[$2]}"
}

# holds_io NAME: the dm-delay device of that name does
holds_io()
{
	local some=' delay [0-9 ]*[1-9]'
	[[ $(dmsetup status "$1") =~ $some ]]
}

# is_steady COMMAND...: it says the same for some time
is_steady()
{
	local before
	before=$("$@")
	nap 3
	[ "$("$@")" = "$before" ]
}

# io_counts DISK...: completed reads, writes, discards and flushes of each; a
# line that stays the same as long as a disk is left alone.
io_counts()
{
	local disk f
	for disk; do
		read -ra f <"$(block_of "$disk")/stat"
		echo "$disk reads ${f[0]} writes ${f[4]} discards ${f[11]} flushes ${f[15]}"
	done
}

# write_counts DISK...: the same without the reads
write_counts()
{
	local disk f
	for disk; do
		read -ra f <"$(block_of "$disk")/stat"
		echo "$disk writes ${f[4]} discards ${f[11]} flushes ${f[15]}"
	done
}

# checksums DISK...: read past the page cache, which does not see the target
checksums() { io sums "$@"; }

# ---------------------------------------------------------------- a set

# What the table line is made of; a case changes what it needs.
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

# capacity_of CHUNK_SECTORS DISK...: what a new set of these holds, in sectors
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

# remove DM_NAME...: as dmsetup remove, but with patience for udev's openings
remove() { dmsetup remove --retry "$@"; }

# load: a new table line; it takes effect with resume.
load() { dmsetup load "$set" --table "$(table_line)" "$@"; }
suspend() { dmsetup suspend "$set" "$@"; }
resume() { dmsetup resume "$set" "$@"; }
# Not named so in a condition: a failing load must stop the case.
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

# status: read INFO into the associative array S and the arrays below
#   S[meta_block] [meta_used] [meta_total] [held] [chunk] [mapped] [virtual]
#   [pinned] [tiers] [promotions] [demotions] [aborted] [failed] [in_flight]
#   [migrated] [policy] [mode] [check] [running]
#   S[id0] [state0] [used0] [places0] [reads0] [writes0] [errors0] and so on
#   S[features], S[core], S[args]: the words;  V[key]: value of a core or policy key
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

# info NAME: one field of a fresh status
info()
{
	status
	echo "${S[$1]}"
}

# chunk_info N: the words of the chunk message into C: C[rank], C[state]...
chunk_info()
{
	local w i
	C=()
	read -ra w <<<"$(msg chunk "$1")"
	for ((i = 0; i + 1 < ${#w[@]}; i += 2)); do C[${w[i]}]=${w[i + 1]}; done
}

# sector_of CHUNK: where it begins on its tier
sector_of()
{
	chunk_info "$1"
	echo $((C[place] * chunk))
}

# on_rank FIRST COUNT RANK: how many of these chunks lie there
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

# zero_some: 200 KiB in chunks 2 to 5; some_are_zero: of chunks 0 to 9, of seed 1, these alone
zero_some() { blkdiscard -z -o $(($(at_chunk 2) + 512)) -l 200k "$dev"; }
some_are_zero()
{
	io check "$dev" at="$(at_chunk 2)" len=512 seed=1
	io check "$dev" at=$(($(at_chunk 2) + 512)) len=200k seed=0
	io check "$dev" at=$(($(at_chunk 2) + 512 + 204800)) len=55808 seed=1
	check_chunks 0 2 1
	check_chunks 6 4 1
}

# move FIRST COUNT RANK [home]: migrate and wait until it is done
move()
{
	msg migrate "$@"
	wait_for 60 all_on_rank "$1" "$2" "$3"
	wait_for 10 settled
}

# quiet SECONDS DISK...: wait until nothing has touched the disks for so long
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

# io COMMAND DEV KEY=VALUE...: see tierio.c; chunks as offsets:
# at_chunk N gives bytes.
io() { "$tierio" "$@"; }
at_chunk() { echo $(($1 * chunk * 512)); }

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

# io_fails ERRNO COMMAND...: io must fail with this error number (5 EIO, 11
# EAGAIN, 28 ENOSPC)
io_fails()
{
	local want=$1
	shift
	fails "$@"
	same "$want" "$status_of_failure" "errno of '$*' ($output)"
}

# ---------------------------------------------------------------- blktrace

# trace_start DISK...: record what reaches these; trace_stop prints lines of
# "<major,minor> <action> <rwbs> <first sector> <sectors>".
trace_pid=
trace_start()
{
	local disk args=()
	mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
	rm -rf "$tmp/trace"
	mkdir "$tmp/trace"
	for disk; do args+=(-d "$(readlink -f "$disk")"); done
	blktrace "${args[@]}" -D "$tmp/trace" >"$tmp/trace.log" 2>&1 &
	trace_pid=$!
	# It runs once it has made its files, one a CPU and disk.
	wait_for 10 trace_runs $# "$trace_pid"
}

trace_runs()
{
	kill -0 "$2" 2>/dev/null || fail "blktrace: $(<"$tmp/trace.log")"
	[ "$(find "$tmp/trace" -name '*.blktrace.*' | wc -l)" -ge "$1" ] || return 1
	# And begins to trace a moment later.
	nap "$patience"
}

trace_stop()
{
	local file
	kill -INT "$trace_pid"
	wait "$trace_pid" || true
	trace_pid=
	for file in "$tmp"/trace/*.blktrace.0; do
		blkparse -q -i "${file%.blktrace.0}" -D "$tmp/trace" -f '%D %a %d %S %n\n' 2>/dev/null ||
		blkparse -q -i "$(basename "${file%.blktrace.0}")" -D "$tmp/trace" \
			-f '%D %a %d %S %n\n'
	done | awk 'NF == 5'
}

# ---------------------------------------------------------------- metadata

# damaged: this case damages metadata on purpose; nobody is to complain.
damaged() { : >"$tmp/damaged"; }

# patch DISK BYTE OCTAL LENGTH XOR: change a byte and make the checksum right
patch()
{
	# shellcheck disable=SC2059	# an octal escape
	printf "\\$3" | dd of="$1" bs=1 seek="$2" conv=notrunc,fsync status=none
	io seal "$1" at=$(($2 / 4096 * 4096)) len="$4" xor="$5"
}

# What every case must leave behind, whatever it did: metadata in good order, or none.
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

# find_ours [NAME]: fill ours with the names of our dm devices but one that is to be
# kept; those first that came last, as they may stand on the others
find_ours()
{
	local file name
	ours=()
	for file in /sys/block/dm-*/dm/name; do
		[ -e "$file" ] || continue
		name=$(<"$file")
		[[ $name != tt_* ]] || [ "$name" = "${1:-}" ] || ours=("$name" "${ours[@]}")
	done
}

# only_device NAME [WHAT]: it is the one dm device of ours
only_device()
{
	find_ours
	same "$1" "${ours[*]}" "${2:-dm devices}"
}

# clean [keep]: no dm device, process or disk of ours; with `keep` disks stay.
clean()
{
	local name pid item items=() mounts round rc=0

	[ ! -s "$tmp/pids" ] || while read -r pid; do
		# A function in the background has a command of its own.
		# shellcheck disable=SC2046
		kill "$pid" $(cat "/proc/$pid/task/$pid/children" 2>/dev/null) 2>/dev/null
	done <"$tmp/pids"
	: >"$tmp/pids"
	# All at once: read asks the kernel for one byte at a time.
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

# background COMMAND...: runs until the case ends, or until its job ends
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
modprobe configfs 2>/dev/null || true	# not a module everywhere
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
clean	# what a killed run may have left
