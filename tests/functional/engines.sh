#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=300
#
# Each engine of fio that takes block devices, with each flag that changes how it calls the
# kernel, gives the same result on a set as on dm-linear above the same disks: in chunks
# that were never written, in mapped chunks, and in moving chunks.
#
# Polled I/O differs (io_uring with IORING_SETUP_IOPOLL, fio's hipri): it is marked
# REQ_NOWAIT at each try, so EAGAIN would be the answer for ever.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=2
# shellcheck source=lib-loop.sh
. "$(dirname "$0")/lib-loop.sh"
need fio

AGAIN=11

# The jobs: a name and options. Jobs named `nowait` may get EAGAIN. The first job has to be
# mmap, which fio does from the beginning of the device, whatever the offset.
jobs=(
	"mmap               ioengine=mmap direct=0"
	"libaio             ioengine=libaio direct=1"
	"libaio-buffered    ioengine=libaio direct=0"
	"libaio-dsync       ioengine=libaio direct=1 sync=dsync"
	"libaio-trim        ioengine=libaio direct=1 rw=randtrimwrite"
	"nowait-libaio      ioengine=libaio direct=1 nowait=1"
	"uring              ioengine=io_uring direct=1"
	"uring-buffered     ioengine=io_uring direct=0"
	"uring-sync         ioengine=io_uring direct=1 fsync=8"
	"uring-split        ioengine=io_uring direct=1 bs=48k"
	"uring-fixed        ioengine=io_uring direct=1 fixedbufs=1 registerfiles=1"
	"uring-async        ioengine=io_uring direct=1 force_async=2 nonvectored=1"
	"uring-sqpoll       ioengine=io_uring direct=1 sqthread_poll=1"
	"nowait-uring       ioengine=io_uring direct=1 nowait=1"
	"nowait-sqpoll      ioengine=io_uring direct=1 nowait=1 sqthread_poll=1"
	"polled             ioengine=io_uring direct=1 hipri=1"
	"polled-buffered    ioengine=io_uring direct=0 hipri=1"
	"polled-fixed       ioengine=io_uring direct=1 hipri=1 fixedbufs=1 registerfiles=1"
	"polled-async       ioengine=io_uring direct=1 hipri=1 force_async=2 nonvectored=1"
	"polled-sqpoll      ioengine=io_uring direct=1 hipri=1 sqthread_poll=1"
	"nowait-polled      ioengine=io_uring direct=1 hipri=1 nowait=1"
	"polled-dsync       ioengine=io_uring direct=1 hipri=1 sync=dsync"
	"polled-trim        ioengine=io_uring direct=1 hipri=1 rw=randtrimwrite"
	"polled-chunks      ioengine=io_uring direct=1 hipri=1 bs=64k"
	"polled-split       ioengine=io_uring direct=1 hipri=1 bs=256k"
	"polled-mixed       ioengine=io_uring direct=1 hipri=1 rw=randrw"
	"posixaio           ioengine=posixaio direct=1"
	"sync               ioengine=sync direct=1"
	"psync              ioengine=psync direct=1"
	"psync-buffered     ioengine=psync direct=0"
	"psync-dsync        ioengine=psync direct=1 sync=dsync"
	"vsync              ioengine=vsync direct=0"
	"pvsync             ioengine=pvsync direct=1"
	"pvsync2            ioengine=pvsync2 direct=1"
	"pvsync2-hipri      ioengine=pvsync2 direct=1 hipri=1"
	"nowait-pvsync2     ioengine=pvsync2 direct=1 nowait=1"
	"nowait-hipri       ioengine=pvsync2 direct=1 nowait=1 hipri=1"
	"splice             ioengine=splice direct=0"
)

# job_file DEVICE [PATTERN]: one job after another, each on 256 KiB of its own
job_file()
{
	local job name options n=0
	printf '%s\n' "[global]" "filename=$1" rw=randwrite bsrange=4k-16k iodepth=8 size=256k \
		thread stonewall end_fsync=1 verify=crc32c verify_fatal=1 verify_state_save=0 \
		randseed=42
	for job in "${jobs[@]}"; do
		read -r name options <<<"$job"
		# shellcheck disable=SC2053	# a pattern is what it is
		if [[ $name == ${2:-*} ]]; then
			printf '%s\n' "[$name]" "offset=$((n * 262144))"
			tr ' ' '\n' <<<"$options"
		fi
		n=$((n + 1))
	done
}

# engines DEVICE [PATTERN]: writes a line "NAME ERRNO" for each job to $tmp/results, and
# fio's other output to $said
engines()
{
	local rc=0
	job_file "$@" >"$tmp/jobs"
	timeout -k 5 $((60 * patience)) fio --output-format=terse --terse-version=3 \
		"$tmp/jobs" >"$tmp/fio" 2>&1 || rc=$?
	[ "$rc" -lt 124 ] || fail "fio does not end (status $rc): $(<"$tmp/fio")"
	awk -F ';' '/^3;fio/ { print $3, $5 }' "$tmp/fio" >"$tmp/results"
	said=$(grep -v -e '^3;fio' -e '^note: both' "$tmp/fio" || true)
}

# same_results WHAT [MAY]: compares the results of the set and of dm-linear; `nowait` jobs
# MAY get EAGAIN
same_results()
{
	local name want got differ=()
	while read -r name want got; do
		[ "$got" != "$want" ] || continue
		[[ $name == nowait-* && -n ${2:-} && $got = "$AGAIN" ]] ||
			differ+=("$name: errno $got, on dm-linear $want;")
	done < <(join -a 1 -a 2 -e none -o 0,1.2,2.2 <(sort "$tmp/linear") <(sort "$tmp/results"))
	note "$1: $(wc -l <"$tmp/results") jobs, $(grep -cv ' 0$' "$tmp/results") with an error"
	[ ${#differ[@]} = 0 ] || fail "$1: ${differ[*]} $said"
}

# on_linear DEVICE MIB [PATTERN]: makes the expected results. The first MiB later gets a label.
on_linear()
{
	wrap linear "0 $((($2 - 1) * 2048)) linear $1 2048"
	engines /dev/mapper/tt_linear "${3:-}"
	mv "$tmp/results" "$tmp/linear"
	remove tt_linear
	note "dm-linear: $(tr '\n' ';' <"$tmp/linear")"
	grep -q ' 0$' "$tmp/linear" || fail "nothing works: $said"
}

to_and_fro()
{
	local n
	for n in {1..1000}; do
		msg migrate 0 "$((${#jobs[@]} * 4))" $((n % 2))
		nap 0.1
	done
}

all_engines()
{
	local which=$1
	shift
	core=(migration_bandwidth 0)
	disk meta 4
	disk fast 16 submit_queues=2 "$@"
	disk slow 32 submit_queues=2 "$@"
	on_linear "$slow" 32 "$which"
	activate
	engines "$dev" "$which"
	same_results "never written" may
	# Writes the chunks that jobs left out because of EAGAIN.
	write_chunks 0 $((${#jobs[@]} * 4)) 1
	engines "$dev" "$which"
	same_results "mapped"
	background to_and_fro
	engines "$dev" "$which"
	same_results "on the move" may
	is "$(info migrated) > 0"
}
test_case "all engines, disks with a queue for polling" all_engines '*' poll_queues=1
test_case "polled or not to wait, disks without" all_engines '@(polled|nowait)*'

# Loop devices cannot be polled, and a thread of the kernel does their I/O: one part of a
# split write may be under way when the other part is refused.
loop_devices()
{
	disk meta 4
	make_loops 20 40
	on_linear "${loops[1]}" 40 '@(uring|polled)*'
	tiers=("${loops[@]}")
	activate
	engines "$dev" '@(uring|polled)*'
	same_results "never written"
}
test_case "io_uring, loop devices" loop_devices

# Each layer passes polling on to the next.
below_linear()
{
	disk meta 4
	disk fast 16 submit_queues=2 poll_queues=1
	disk slow 32 submit_queues=2 poll_queues=1
	on_linear "$slow" 32 'polled*'
	activate
	wrap above "0 $length linear $dev 0"
	engines /dev/mapper/tt_above 'polled*'
	same_results "never written, below dm-linear"
}
test_case "polled, below dm-linear" below_linear

# A move's commit holds back a write: the write waits if it is polled, or if its submitter may wait.
held_back()
{
	disk meta 4
	disk fast 16 submit_queues=2 "$@"
	disk slow 32 submit_queues=2 "$@"
	wrap u_meta "$(linear_line meta)"
	trap 'lower meta "$(linear_line meta)"' EXIT
	metadata=/dev/mapper/tt_u_meta
	job=(--name=held --ioengine=io_uring --hipri=1 --direct=1 --thread --rw=write --bs=4k
	     --size=64k --verify=crc32c --verify_state_save=0)
	on_linear "$slow" 32 polled
	[ "$(<"$tmp/linear")" = "polled 0" ] || skip "this kernel does not poll such a disk"
	activate
	write_chunks 0 2 1
	io sync "$dev"
	lower meta "0 $(sectors_of "$meta") delay $meta 0 0 $meta 0 600000"
	msg migrate 0 1 1
	wait_for 10 holds_io tt_u_meta
	io_fails "$AGAIN" timeout 5 "$tierio" write "$dev" at=4k len=4k seed=2 flags=nowait
	background fio "${job[@]}" --filename="$dev" --output="$tmp/fio"
	pid=$last_pid
	nap $((1 + patience / 2))
	holds_io tt_u_meta
	kill -0 "$pid" || fail "it has ended: $(<"$tmp/fio")"
	lower meta "$(linear_line meta)"
	wait "$pid" || fail "$(<"$tmp/fio")"
	wait_for 10 all_on_rank 0 1 1
	check_chunks 1 1 1
}
test_case "polled, held back by a move" held_back poll_queues=1
test_case "polled, held back by a move, disks without a queue for it" held_back

run_tests
