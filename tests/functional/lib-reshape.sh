# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154	# tmp and others are assigned by lib.sh
#
# Shared by the tests of changes of the tiers and the size. Sourced after lib-tierctl.sh.

# The tool as built to die at the step TIERCTL_DIE_AT, with sanitizers.
steps=${TIERCTL_STEPS:-$here/../../userspace/tierctl.steps}
[ -x "$steps" ] || skip_all "tierctl.steps is not built (make -C userspace steps)"

# killed STEP ARGUMENT...: tierctl dies at that step, as by kill -9
killed()
{
	local step=$1 rc=0
	shift
	TIERCTL_DIE_AT=$step "$steps" "$@" </dev/null >"$tmp/killed" 2>&1 || rc=$?
	same 137 "$rc" "exit status of tierctl $* at $step ($(<"$tmp/killed"))"
}

# stopped STEP ARGUMENT...: tierctl runs to that step and waits there; go_on CODE lets it run to
# its end
stopped()
{
	TIERCTL_STOP_AT=$1 "$steps" "${@:2}" </dev/null >"$tmp/stopped" 2>&1 &
	stopped_pid=$!
	echo "$stopped_pid" >>"$tmp/pids"
	wait_for 60 is_stopped
}
is_stopped() { [[ $(<"/proc/$stopped_pid/stat") == *') T '* ]]; }
go_on()
{
	local rc=0
	kill -CONT "$stopped_pid"
	wait "$stopped_pid" || rc=$?
	same "$1" "$rc" "exit status of what had been stopped ($(<"$tmp/stopped"))"
}

# name_of MAJOR:MINOR: the name that users know, without tt_
name_of()
{
	local dir
	dir=$(readlink -f "/sys/dev/block/$1")
	if [ -e "$dir/dm/name" ]; then dir=$(<"$dir/dm/name"); fi
	dir=${dir##*/}
	echo "${dir#tt_}"
}

# layout: the tiers of the set, fastest first
layout()
{
	local w i names=()
	read -ra w <<<"$(dmsetup table "$set")"
	for ((i = 0; i < w[5]; i++)); do
		if [ -b "${w[6 + i]}" ]; then
			names+=("$(name_of "$(majmin "${w[6 + i]}")")")
		else
			names+=("$(name_of "${w[6 + i]}")")
		fi
	done
	echo "${names[*]}"
}

# blank DISK: no label is left on it
blank()
{
	[ "$(dd if="$1" bs=8k count=1 iflag=direct status=none | tr -d '\0' | wc -c)" = 0 ] ||
		fail "$1 is not blank"
}

# Reads, writes, discards, zeroes and flushes, which check the data that they read, on the first
# 6 MiB. Nothing touches the data behind.
load_on()
{
	rm -f "$tmp/model"
	background io torture "$dev" at=0 len=6m chunk=64k seconds=900 seed=$((RANDOM + 1)) \
		model="$tmp/model"
	load_pid=$last_pid
}

load_off()
{
	local rc=0
	kill -TERM "$load_pid"
	wait "$load_pid" || rc=$?
	same 0 "$rc" "exit status of the load"
	io recheck "$dev" at=0 len=6m model="$tmp/model"
}

still_data() { io "$1" "$dev" at=6m len=4m seed=77; }

# 14 MiB: the set fits each tier alone; the tiers have 15 and 31 MiB.
# shellcheck disable=SC2120	# options of create, from some
make_small()
{
	make_disks
	disk third 16
	ctl create "$set" -q -m "$meta" -c 64k -L 14m --policy static "$@" "$fast" "$slow"
	still_data write
	ctl migrate -q "$set" 96-127 --tier 1
	ctl wait -q "$set"
}
