# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154	# used by the tests, assigned by lib.sh
#
# Shared by the tests of tiers on other machines. Sourced after tests/functional/lib.sh, by a file
# that defines, for one transport,
#
#   serve N STORE     offers STORE, a disk, to others, as number N
#   attach N          connects this machine with it; $attached is the device
#   detach N          this machine gives the device up
#   hang_up           the server ends all connections and takes no new ones
#   answer            it takes connections again
#   reread N          the server looks at the size of STORE again
#   end_all           nothing is served or attached any more, whatever there was
#
# The other machine is this one, at the other end of the loopback device: what link_as does to
# that device happens to the network. STORE is a dm device without a node in /dev, as tierctl
# would find the same label on it and on $attached.
#
# The set has three tiers and chunks of 64 KiB: the fastest and the slowest tier are far, the one
# between them is near. While something happens to the link,
#
# - chunks 0 to 99, on the near tier, are written and read, one at a time;
# - chunks 100 to 149 and 150 to 199, on the two far tiers, are tortured (tierio), with FLUSHes;
# - chunks 200 to 239 are to move to the first far tier, 240 to 279 to the other.
#
# No I/O fails, the near tier waits for nobody, and in the end all data is what was written and
# the chunks have moved.

# shellcheck source=lib-told.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib-told.sh"

# Cases that take minutes: not in turn, as in .ci/run.
long_case() { [ -n "${TURN:-}" ] || test_case "$@"; }

command -v tc >/dev/null || skip_all "tc is not installed"
modprobe sch_netem 2>/dev/null || skip_all "there is no sch_netem"

# link_as NETEM...: what happens to each packet; link_good ends that
link_as() { tc qdisc replace dev lo root netem limit 100000 "$@"; }
link_good() { tc qdisc del dev lo root 2>/dev/null || true; }

# undo: at the end of each case, however it ends
far_pids=() near_pid=()
undo()
{
	local pid
	set +eE
	trap - ERR
	link_good
	answer
	touch "$tmp/enough"
	for pid in "${far_pids[@]}"; do kill "$pid"; done
	for pid in "${far_pids[@]}" "${near_pid[@]}"; do wait "$pid"; done
	[ ! -e "$dev" ] || remove "$set"
	end_all
	rm -f "$tmp"/far? "$tmp"/here?
}

# far_disk N MIB: disk N of the other machine, $attached here
far_disk()
{
	disk "store$1" $(($2 + 1))
	# Nothing of the store lies where a label is looked for on the disk below it.
	hidden "far$1" "$tmp/far$1" "$(store_line "$1" "$2")"
	serve "$1" "$tmp/far$1"
	attach "$1"
}

# hidden NAME NODE TABLE: a dm device tt_NAME whose only node is NODE
hidden()
{
	local number block
	wrap "$1" "$3"
	number=$(majmin "/dev/mapper/tt_$1") block=$(readlink "/sys/dev/block/$number")
	rm "/dev/mapper/tt_$1" "/dev/${block##*/}"
	mknod "$2" b "${number%:*}" "${number#*:}"
}

store_line() { echo "0 $(($2 << 11)) linear /dev/tt_store$1 2048"; }

# far_tiers: the disks of a set, $far0, the near one and $far2 among them
far_tiers()
{
	local n
	trap undo EXIT
	disk meta 4
	disk near 32
	for n in 0 2; do
		far_disk $n 32
		declare -g far$n="$attached"
	done
	tiers=("$far0" /dev/tt_near "$far2")
	core=(migration_bandwidth 0)
}

# fill SEED: the set's data, in its place, on stable storage; that of the far tiers has this seed
fill()
{
	far_seed=$1
	write_chunks 0 100 1 block=1m
	write_chunks 100 100 "$1" block=1m
	write_chunks 200 80 1 block=1m
	move 0 100 1
	move 100 50 0
	move 150 50 2
	move 200 80 1
	io sync "$dev"
}
all_data()
{
	check_chunks 0 100 1
	check_chunks 100 100 "$far_seed"
	check_chunks 200 80 1
}

# near_goes_on: uses chunks 0 to 99 until $tmp/enough; $tmp/near says how often, and the longest
# wait in microseconds
near_goes_on()
{
	local n=0 most=0 start took
	while [ ! -e "$tmp/enough" ]; do
		start=${EPOCHREALTIME/./}
		write_chunks $((n % 100)) 1 2
		check_chunks $((n % 100)) 1 2
		took=$((${EPOCHREALTIME/./} - start))
		((took <= most)) || most=$took
		n=$((n + 1))
		echo "$n $most" >"$tmp/near"
	done
}

# survives WHAT COMMAND...: work goes on while COMMAND does something to the link, and undoes it
survives()
{
	local what=$1 first start back far n most pid
	shift
	rm -f "$tmp/enough"
	near_goes_on &
	near_pid=($!)
	far_pids=()
	for first in 100 150; do
		"$tierio" torture "$dev" at="$(at_chunk $first)" len="$(at_chunk 50)" chunk=64k \
			seconds=100000 seed=$first model="$tmp/model$first" discard=0 &
		far_pids+=($!)
	done
	nap 1
	msg migrate 200 40 0
	msg migrate 240 40 2
	start=$EPOCHREALTIME
	"$@"
	far=$(since "$start")
	back=$EPOCHREALTIME
	for first in 100 150; do
		dd if="$dev" of=/dev/null bs=4k skip=$((first * 16)) count=1 iflag=direct status=none
	done
	note "$what for $far s: far tiers answer $(since "$back") s after it"
	wait_for 120 all_on_rank 200 40 0
	wait_for 120 all_on_rank 240 40 2
	touch "$tmp/enough"
	wait "${near_pid[0]}"
	read -r n most <"$tmp/near"
	note "near meanwhile: $n times written and read, at most $((most / 1000)) ms;" \
		"80 chunks moved, $(info failed) moves failed"
	is "$n > 5"
	is "$most < 10000000 * patience"
	kill "${far_pids[@]}"
	for pid in "${far_pids[@]}"; do wait "$pid"; done
	far_pids=()
	status
	same 000 "${S[errors0]}${S[errors1]}${S[errors2]}" "errors of the tiers"
	for first in 100 150; do
		io recheck "$dev" at="$(at_chunk $first)" len="$(at_chunk 50)" model="$tmp/model$first"
	done
	check_chunks 200 80 1
}

# no_attention: the set knows nothing of all this
no_attention() { ctl_code 0 status "$set"; }

# stalls SECONDS: no packet arrives for so long
stalls()
{
	link_as loss 100%
	nap "$1"
	no_attention
	link_good
}

# drops SECONDS: the server is gone for so long
drops()
{
	hang_up
	nap "$1"
	answer
}

# slow SECONDS
slow()
{
	link_as delay 5ms
	nap "$1"
	link_good
}

# happens WHAT COMMAND...: a set, and COMMAND with its link
happens()
{
	far_tiers
	activate
	fill 0		# as torture expects
	survives "$@"
}

# broken BREAK MEND: the far tiers answer with errors after BREAK, until MEND
broken()
{
	far_tiers
	activate
	fill 3
	$1
	io_fails 5 check_chunks 100 1 3
	io_fails 5 check_chunks 150 1 3
	check_chunks 0 100 1
	msg pin 200 40 0
	msg pin 240 40 2
	wait_for 60 closed 0
	wait_for 60 closed 2
	same 80 "$(on_rank 200 80 1)" "chunks that stay where they can be read"
	write_chunks 0 100 1
	check_chunks 200 80 1
	$2
	# From now on only the administrator's word is missing.
	wait_for 60 readable 100
	wait_for 60 readable 150
	msg admit 0
	msg admit 2
	wait_for 60 all_on_rank 200 40 0
	wait_for 60 all_on_rank 240 40 2
	all_data
	note "errors: $(info failed) moves failed; 80 chunks moved after admit"
}
closed() { [ "$(info "state$1")" = F ]; }
unreadable() { ! readable "$1"; }
readable() { check_chunks "$1" 1 3 2>/dev/null; }
stores_fail() { for n in 0 2; do swap_store $n "0 $((32 << 11)) error"; done; }
stores_work() { for n in 0 2; do swap_store $n "$(store_line $n 32)"; done; }
swap_store() { swap_table "far$1" "$2"; }
swap_table()
{
	dmsetup load "tt_$1" --table "$2"
	dmsetup resume --noflush "tt_$1"
}

made_by_tool()
{
	far_tiers
	ctl create "$set" -q -c 64k --policy static --metadata "$meta" "${tiers[@]}"
	fill 3
}

# renamed LOSE FIND: a far disk is lost, and comes back under another name
renamed()
{
	made_by_tool
	$1
	wait_for 30 unreadable 150
	io_fails 5 check_chunks 150 1 3
	write_chunks 0 100 1
	ctl_code 3 status "$set"
	note "$(grep -m 1 "tier 2" <<<"$output$errors")"
	$2
	[ "$attached" != "$far2" ] || fail "it has the old name, $far2"
	ctl deactivate -q "$set"
	ctl_code 0 activate "$set"
	matches "$(majmin "$attached")" "$(dmsetup table "$set")" "table"
	all_data
	note "the set is activated with $attached instead of $far2"
}

# shrunk: a far disk comes back smaller
shrunk()
{
	made_by_tool
	ctl deactivate -q "$set"
	detach 2
	swap_store 2 "$(store_line 2 24)"
	reread 2
	attach 2
	ctl_code 1 activate "$set"
	one_line "has shrunk from 32 mib to 24 mib"
	note "$errors"
	ctl_code 3 activate --degraded "$set"
	io_fails 5 check_chunks 150 1 3
	check_chunks 0 100 1
	check_chunks 100 50 3
	ctl deactivate -q "$set"
	detach 2
	swap_store 2 "$(store_line 2 32)"
	reread 2
	attach 2
	ctl_code 0 activate "$set"
	all_data
}

# cases_of_a_disk: those of a transport that waits for a server that is away
cases_of_a_disk()
{
	test_case "the link stalls for 5 s" happens "link stalled" stalls 5
	long_case "the link stalls for 30 s" happens "link stalled" stalls 30
	long_case "the link stalls for 120 s" happens "link stalled" stalls 120
	test_case "the server is away for 20 s" happens "server away" drops 20
	test_case "the link is slow" happens "link slow" slow 20
	test_case "errors" broken stores_fail stores_work
	test_case "a device comes back under another name" renamed "detach 2" "attach 2"
	test_case "a device comes back smaller" shrunk
}
