#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# timeout=120
# debug kernel only: others cannot make allocations fail
# provokes: vmalloc error|(kobject_add_internal|kmem_cache_create_usercopy).*error:? -(12|22)
#
# Allocations of the modules, and I/O of single disks, fail at random. This needs a kernel with
# fault injection (ci/setup/debug-kernel). ROUNDS in the environment: how often each case is
# tried.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"

debugfs=/sys/kernel/debug
mountpoint -q $debugfs || mount -t debugfs debugfs $debugfs
failslab=$debugfs/failslab
fail_request=$debugfs/fail_make_request
need fio
[ -d $failslab ] || skip_all "the kernel cannot make allocations fail (CONFIG_FAILSLAB)"
[ -e $failslab/require-start ] ||
	skip_all "the kernel cannot tell whose allocations are to fail (CONFIG_FAULT_INJECTION_STACKTRACE_FILTER)"
[ -d $fail_request ] || skip_all "the kernel cannot make I/O fail (CONFIG_FAIL_MAKE_REQUEST)"

rounds=${ROUNDS:-12}

# ---- faults on and off

# code_of MODULE: the addresses of its code, the first and the one after the last
code_of()
{
	local name size rest
	while read -r name size _ _ _ rest; do
		if [ "$name" = "$1" ]; then
			rest=${rest%% *}
			echo "$rest $(printf '0x%x' $((rest + size)))"
			return
		fi
	done </proc/modules
	fail "module $1 is not loaded"
}

# attribute DIR NAME=VALUE...
attribute()
{
	local word
	for word in "${@:2}"; do
		echo "${word#*=}" >"$1/${word%%=*}"
	done
}

budget=1000000000	# how often a fault may happen; the rest of the budget tells how often one did
faults=0

# allocations_fail PERCENT [library]: allocations by dm-tier's code and all code that it calls
# fail; those by dm-persistent-data only with `library`.
allocations_fail()
{
	local start end
	read -r start end <<<"$(code_of dm_tier)"
	all_works
	attribute "$failslab" interval=1 space=0 verbose=0 \
		task-filter=N ignore-gfp-wait=N cache-filter=N stacktrace-depth=32 \
		require-start="$start" require-end="$end"
	if [ "${2:-}" = library ]; then
		start=0 end=0
	else
		read -r start end <<<"$(code_of dm_persistent_data)"
	fi
	attribute "$failslab" reject-start="$start" reject-end="$end" probability="$1"
}

# requests_fail PERCENT DISK...: I/O of these disks fails
requests_fail()
{
	local disk
	all_works
	attribute "$fail_request" interval=1 space=0 verbose=0 task-filter=N
	for disk in "${@:2}"; do
		echo 1 >"$(block_of "$disk")/make-it-fail"
	done
	attribute "$fail_request" probability="$1"
}

all_works()
{
	local dir flag
	for dir in "$failslab" "$fail_request"; do
		echo 0 >"$dir/probability"
		faults=$((faults + budget - $(<"$dir/times")))
		echo "$budget" >"$dir/times"
	done
	for flag in /sys/block/tt_*/make-it-fail; do
		[ ! -e "$flag" ] || echo 0 >"$flag"
	done
}

# null_blk allocates memory at the first write of a sector, in the name of any process, and that
# must not fail: so all sectors are written at the start.
make_full_disks()
{
	local disk
	disk meta 4 discard=0
	disk fast 16 discard=0
	disk slow 32 discard=0
	for disk in "$meta" "$fast" "$slow"; do
		dd if=/dev/zero of="$disk" bs=1M oflag=direct status=none 2>/dev/null || true
	done
}

make_full_set()
{
	make_full_disks
	activate
}

# A test in which no fault happened proves nothing. From here on no fault happens.
faults_happened()
{
	all_works
	note "$faults faults"
	[ "$faults" -gt 0 ] || fail "no fault happened"
}

# ---- the state that a set must have afterwards

# sound SEED COUNT: a new activation finds a healthy set with its data.
sound()
{
	all_works
	[ ! -e "$dev" ] || deactivate
	activate
	status
	same "rw -" "${S[mode]} ${S[check]}" "mode and check"
	check_chunks 0 "$2" "$1"
	# The set takes new data, moves chunks, and reports that.
	write_chunks 200 4 5
	move 200 2 1
	check_chunks 200 4 5
	deactivate
	activate
	check_chunks 0 "$2" "$1"
	check_chunks 200 4 5
}

# no_set: no half-made device is left
no_set()
{
	[ ! -e "$dev" ] || fail "$dev was left behind"
	! dmsetup info "$set" >/dev/null 2>&1 || fail "the device was left behind"
}

# A command that fails may only say this. Opening a device without enough memory ends in "no such
# device".
excused='annot allocate memory|nput/output error|esource temporarily|esource busy|o such device'

tolerated()
{
	local rc=0
	"$@" >"$tmp/said" 2>&1 || rc=$?
	[ "$rc" = 0 ] || matches "$excused" "$(<"$tmp/said")" "what '$*' said"
	return "$rc"
}

# ---- allocations

activation()
{
	local n ok=0
	trap all_works EXIT
	make_full_set
	write_chunks 0 20 1
	msg pin 3 2 1
	msg set tier1.reserve 3
	deactivate
	for ((n = 0; n < rounds; n++)); do
		allocations_fail $((1 + n % 4)) library
		if tolerated activate; then
			all_works
			ok=$((ok + 1))
			check_chunks 0 20 1
			deactivate
		else
			no_set
		fi
	done
	note "$ok of $n activations succeeded"
	faults_happened
	! klog_has damaged || fail "what there was no memory for is said to be damaged"
	sound 1 20
}
test_case "activations while allocations fail" activation

formatting()
{
	local disk n ok=0
	# The library's space map returns -EINVAL if it cannot shadow a block.
	local excused="$excused|nvalid argument"
	trap all_works EXIT
	make_full_disks
	for ((n = 0; n < rounds; n++)); do
		allocations_fail $((1 + n % 4)) library
		if tolerated activate; then
			ok=$((ok + 1))
		else
			no_set
		fi
		all_works
		# Half a format does not prevent the next format.
		[ -e "$dev" ] || activate
		status
		same "rw - 0" "${S[mode]} ${S[check]} ${S[mapped]}" "mode, check, mapped"
		write_chunks 0 4 2
		check_chunks 0 4 2
		deactivate
		for disk in "$meta" "$fast" "$slow"; do
			dd if=/dev/zero of="$disk" bs=64k count=1 oflag=direct status=none
		done
	done
	note "$ok of $n formats succeeded"
	faults_happened
}
test_case "formats while allocations fail" formatting

messages()
{
	local n message refused=0
	trap all_works EXIT
	length=$((230 * 128))	# each tier has room for all
	make_full_set
	write_chunks 0 40 1
	for ((n = 0; n < rounds; n++)); do
		# The library is left out: a change of the metadata that fails is final.
		allocations_fail $((10 + n % 4 * 15))
		while read -r message; do
			# shellcheck disable=SC2086	# words
			tolerated msg $message || refused=$((refused + 1))
		done <<-END
			migrate 0 10 $((n % 2))
			migrate 5 20 $((1 - n % 2))
			pin 3 2 1
			unpin 3 2
			set migration_depth $((1 + n))
			set tier0.reserve $n
			heat 0 40 4
			chunk 7
			pause
			migrate 20 3 1 home
			resume
			evacuate $((n % 2))
			admit $((n % 2))
			reserve_metadata_snap
		END
		# There is no snapshot if reserving was refused.
		msg release_metadata_snap 2>/dev/null || true
		status
	done
	note "$refused refused"
	faults_happened
	status
	same "rw -" "${S[mode]} ${S[check]}" "mode and check"
	msg release_metadata_snap 2>/dev/null || true
	for message in "admit 0" "admit 1" "unpin 0 40" resume; do
		# shellcheck disable=SC2086	# words
		msg $message
	done
	wait_for 60 settled
	sound 1 40
}
test_case "messages while allocations fail" messages

# Memory for I/O is set aside beforehand: no I/O fails, whatever else does.
io_and_moves()
{
	local worker n
	trap all_works EXIT
	make_full_set
	core=(migration_bandwidth 0 migration_depth 8)
	reload
	background io torture "$dev" at=0 len=20m chunk=64k seconds=20 seed=9 \
		model="$tmp/model" >"$tmp/worker" 2>&1
	worker=$last_pid
	allocations_fail 30
	for ((n = 0; n < 10000; n++)); do
		kill -0 "$worker" 2>/dev/null || break
		msg migrate $((RANDOM % 300)) $((1 + RANDOM % 20)) $((RANDOM % 2)) 2>/dev/null || true
		nap 0.1
	done
	wait "$worker" || fail "$(<"$tmp/worker")"
	faults_happened
	wait_for 60 settled
	status
	same "rw -" "${S[mode]} ${S[check]}" "mode and check"
	is 'S[migrated] > 0'
	note "migrated $((S[migrated] / 128)) chunks, aborted ${S[aborted]}, failed ${S[failed]}"
	io recheck "$dev" at=0 len=20m model="$tmp/model"
	deactivate
	activate
	io recheck "$dev" at=0 len=20m model="$tmp/model"
}
test_case "I/O and migrations while allocations fail" io_and_moves

# More discards and first writes at once than the pools hold, while all other allocations fail.
bursts()
{
	trap all_works EXIT
	make_full_set
	write_chunks 0 600 1 block=1m
	io sync "$dev"
	allocations_fail 100
	discard_chunks 0 600
	fio --name=burst --filename="$dev" --direct=1 --ioengine=libaio --iodepth=256 --thread \
		--rw=write:60k --bs=4k --number_ios=256 --minimal >/dev/null
	faults_happened
	same 256 "$(info mapped)" "mapped chunks"
	write_chunks 20 4 5
	deactivate
	activate
	check_chunks 20 4 5
}
test_case "bursts of first writes and discards while every allocation fails" bursts

reloads()
{
	local worker n ok=0
	trap all_works EXIT
	make_full_set
	background io torture "$dev" at=0 len=20m chunk=64k seconds=20 seed=8 \
		model="$tmp/model" >"$tmp/worker" 2>&1
	worker=$last_pid
	for ((n = 0; n < 10000; n++)); do
		kill -0 "$worker" 2>/dev/null || break
		core=(migration_depth $((1 + n % 16)))
		policy=$([ $((n % 3)) = 0 ] && echo heat || echo static)
		allocations_fail $((2 + n % 4 * 8))
		if tolerated load && tolerated resume; then
			ok=$((ok + 1))
		else
			# Whichever table is active now can go on.
			all_works
			dmsetup clear "$set"
			resume
		fi
		all_works
		status
		same "rw -" "${S[mode]} ${S[check]}" "mode and check"
		nap 0.3
	done
	wait "$worker" || fail "$(<"$tmp/worker")"
	note "$ok of $n reloads succeeded"
	faults_happened
	io recheck "$dev" at=0 len=20m model="$tmp/model"
	deactivate
	policy=static
	activate
	io recheck "$dev" at=0 len=20m model="$tmp/model"
}
test_case "reloads while allocations fail" reloads

# A policy whose module cannot be loaded for lack of memory is not reported as unknown.
policy_loads()
{
	local n
	trap all_works EXIT
	make_full_set
	policy=heat
	for ((n = 0; n < 3 * rounds; n++)); do
		modprobe -qr dm-tier-heat
		allocations_fail 6
		tolerated load || true
		all_works
		dmsetup clear "$set"
	done
	faults_happened
	klog_has "Policy heat cannot be loaded, out of memory" ||
		fail "memory was never short for the policy"
}
test_case "a policy is loaded while allocations fail" policy_loads

# A change of the metadata that fails for lack of memory makes the set read-only at worst;
# flushed data stays.
metadata_changes()
{
	local n
	trap all_works EXIT
	make_full_set
	write_chunks 0 40 1
	io sync "$dev"
	allocations_fail 20 library
	for ((n = 0; n < rounds; n++)); do
		io write "$dev" at="$(at_chunk $((100 + n)))" len=64k seed=2 2>/dev/null || true
		msg migrate 0 20 $((n % 2)) 2>/dev/null || true
		discard_chunks $((100 + n)) 1 2>/dev/null || true
		io sync "$dev" 2>/dev/null || true
		check_chunks 0 40 1
	done
	faults_happened
	wait_for 60 settled
	status
	note "mode ${S[mode]} ${S[check]}"
	check_chunks 0 40 1
	deactivate
	activate
	check_chunks 0 40 1
}
test_case "changes of the metadata while allocations fail" metadata_changes

# ---- I/O

# A block whose write succeeded holds the new data; a block whose write failed holds the old data
# or the new.
faulty_tiers()
{
	local n chunk_nr errors=0 rc
	local -a has
	trap all_works EXIT
	make_full_set
	core=(migration_bandwidth 0)
	reload
	write_chunks 0 30 1
	for ((n = 0; n < 30; n++)); do has[n]=1; done
	requests_fail 5 "$fast" "$slow"
	for ((n = 2; n < 2 + 6 * rounds; n++)); do
		chunk_nr=$((RANDOM % 30))
		if [ $((n % 10)) = 0 ]; then
			msg admit 0 2>/dev/null || true
			msg admit 1 2>/dev/null || true
			msg migrate $((RANDOM % 20)) 10 $((RANDOM % 2)) || true
			io sync "$dev" 2>/dev/null || errors=$((errors + 1))
		fi
		if write_chunks "$chunk_nr" 1 "$n" 2>/dev/null; then
			has[chunk_nr]=$n
		else
			has[chunk_nr]=	# unknown until the chunk is written again
			errors=$((errors + 1))
		fi
		chunk_nr=$((RANDOM % 30))
		[ -n "${has[chunk_nr]}" ] || continue
		rc=0
		check_chunks "$chunk_nr" 1 "${has[chunk_nr]}" 2>"$tmp/said" || rc=$?
		[ "$rc" != 200 ] || fail "chunk $chunk_nr: $(<"$tmp/said")"
		[ "$rc" = 0 ] || errors=$((errors + 1))
	done
	faults_happened
	note "$errors errors"
	all_works
	msg admit 0
	msg admit 1
	wait_for 60 settled
	status
	same "rw -" "${S[mode]} ${S[check]}" "mode and check"
	note "migrated $((S[migrated] / 128)) chunks, failed ${S[failed]}"
	for ((n = 0; n < 30; n++)); do
		[ -n "${has[n]}" ] || { write_chunks "$n" 1 99; has[n]=99; }
	done
	deactivate
	activate
	for ((n = 0; n < 30; n++)); do
		check_chunks "$n" 1 "${has[n]}"
	done
}
test_case "I/O of both tiers fails at random" faulty_tiers

# An activation that cannot read or write its devices fails; the next activation finds the set
# whole.
faulty_activation()
{
	local n ok=0
	# If the newer slot of a label cannot be read, the older slot makes the tier stale.
	local excused="$excused|nvalid argument"
	trap all_works EXIT
	make_full_set
	write_chunks 0 20 1
	deactivate
	for ((n = 0; n < rounds; n++)); do
		requests_fail $((2 + n % 4 * 6)) "$meta" "$fast" "$slow"
		if tolerated activate; then
			ok=$((ok + 1))
			deactivate || true
			all_works
			[ ! -e "$dev" ] || deactivate
		else
			all_works
			no_set
		fi
	done
	note "$ok of $n activations succeeded"
	faults_happened
	activate
	check_chunks 0 20 1
	status
	note "mode ${S[mode]} ${S[check]}"
}
test_case "activations while I/O of all devices fails at random" faulty_activation

all_works	# so that each case starts to count from nothing
faults=0
run_tests
