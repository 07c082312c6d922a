# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154	# used by the tests, assigned by lib.sh
#
# Shared by the tests of faults. Sourced after tests/functional/lib.sh.

modprobe -a dm-delay dm-flakey 2>/dev/null ||
	skip_all "dm-delay or dm-flakey is not available"

# swap NAME TABLE: loads another table for the dm device tt_NAME. I/O in flight ends by the old
# table, later I/O uses the new table.
swap()
{
	dmsetup load "tt_$1" --table "$2"
	dmsetup resume --noflush --noudevsync "tt_$1"
}

# in_flight read|write NAME: tt_NAME, whose first part is a delay, holds such I/O
in_flight()
{
	local _ reads writes
	read -r _ _ _ reads writes _ < <(dmsetup status "tt_$2")
	case $1 in
	read) [ "$reads" -gt 0 ] ;;
	write) [ "$writes" -gt 0 ] ;;
	esac
}

# ---------------------------------------------------------------- metadata
#
# The metadata device is tt_up on tt_mid on tt_low on a disk with a volatile cache. tt_low fails.
# The two devices above it hold I/O of the superblock's block until it is released, so that
# tt_low can be changed in the middle of a commit:
#
#   meta_good, meta_writes, meta_flushes, meta_dead   nothing, writes, flushes, all I/O fail
#   hold up|mid read|write|none                       reads or writes of block 0 wait
#
# There are two of them because a delay target releases all held I/O before its device is
# suspended: I/O that follows a released write still meets the old table. So reads that are to
# wait then must already be held by the upper device.
#
# A flush is sent to each part of a table: if the part of the last block is of a kind that fails
# writes, all flushes fail, and no other write does.

up=/dev/mapper/tt_up
mid=/dev/mapper/tt_mid
low=/dev/mapper/tt_low
everything=("$meta" "$fast" "$slow")

low_table()
{
	local rest=$((meta_sectors - 8))
	case $1 in
	good)
		echo "0 $rest linear $meta 0"
		echo "$rest 8 linear $meta $rest" ;;
	flushes)
		echo "0 $rest linear $meta 0"
		echo "$rest 8 flakey $meta $rest 0 1 1 error_writes" ;;
	writes)
		echo "0 $meta_sectors flakey $meta 0 0 1 1 error_writes" ;;
	dead)
		echo "0 $meta_sectors error" ;;
	esac
}
meta_good() { swap low "$(low_table good)"; }
meta_writes() { swap low "$(low_table writes)"; }
meta_flushes() { swap low "$(low_table flushes)"; }
meta_dead() { swap low "$(low_table dead)"; }

# A delay target releases held I/O when its table is exchanged, so this time only matters for a
# test that has failed.
held_ms=60000
hold_table()
{
	local below=$low
	[ "$1" = mid ] || below=$mid
	case $2 in
	none) echo "0 8 linear $below 0" ;;
	read) echo "0 8 delay $below 0 $held_ms $below 0 0 $below 0 0" ;;
	write) echo "0 8 delay $below 0 0 $below 0 $held_ms $below 0 0" ;;
	esac
	echo "8 $((meta_sectors - 8)) linear $below 8"
}
hold() { swap "$1" "$(hold_table "$1" "$2")"; }

meta_disk()
{
	disk meta 4 cache_size=2
	meta_sectors=$(sectors_of "$meta")
	wrap low "$(low_table good)"
	wrap mid "$(hold_table mid none)"
	wrap up "$(hold_table up none)"
	metadata=$up
}

make_faulty_disks()
{
	meta_disk
	disk fast 16
	disk slow 32
}

# Chunks 0 to 9 on fast, 10 to 19 on slow, all committed; block 0 is cached.
make_faulty()
{
	make_faulty_disks
	activate
	write_chunks 0 20 1
	move 10 10 1
	io sync "$dev"
}

# mode_is MODE: rw, ro (for lack of space), needs_check (and ro), Fail
mode_now()
{
	local line
	line=$(dmsetup status "$set")
	case $line in
	*" Fail") echo Fail; return ;;
	esac
	parse_status "$line"
	case "${S[mode]} ${S[check]}" in
	"ro needs_check") echo needs_check ;;
	*" -") echo "${S[mode]}" ;;
	*) echo "${S[mode]} ${S[check]}" ;;
	esac
}
mode_is() { [ "$(mode_now)" = "$1" ]; }

# superblock OFFSET: a 32-bit field of the metadata on the disk
superblock()
{
	dd if="$meta" bs=4096 count=1 iflag=direct status=none | od -An -tu4 -j "$1" -N 4 | tr -d ' '
}
recorded_check() { (($(superblock 4) & 1)); }

# events, and events_since N: dm's count of events of the set
events() { dmsetup info -c --noheadings -o events "$set"; }

# later COMMAND...: runs in the background; its exit status is written to a file.
later()
{
	rm -f "$tmp/later"
	background later_body "$@"
}
later_body()
{
	local rc=0
	trap - ERR
	set +e
	"$@" >"$tmp/later.out" 2>&1
	rc=$?
	echo "$rc" >"$tmp/later.new"
	mv "$tmp/later.new" "$tmp/later"
}
later_done() { [ -e "$tmp/later" ]; }
still_waiting() { ! later_done || fail "did not wait: ${1:-it} ended with $(<"$tmp/later")"; }
later_status()
{
	wait_for 30 later_done
	echo "$(<"$tmp/later")"
}
# later_failed TEXT: the command has ended with an error
later_failed()
{
	local rc
	rc=$(later_status)	# not within a condition, or a command that never ends would count as failed
	[ "$rc" != 0 ] || fail "$1"
}

# ---------------------------------------------------------------- failing commits

faults="old_writes old_flushes new never never_flushes dead"

# fail_commit FAULT [HOOK]: the metadata device fails in the middle of the next commit, which the
# command `provoke` starts.
#
#   old_writes     a write before the superblock fails, later I/O works
#   old_flushes    the flush before the superblock fails, later I/O works
#   new            the superblock is written, the flush after it fails
#   never          all writes fail from then on
#   never_flushes  all flushes fail from then on
#   dead           all I/O fails from then on
#
# With a fault that passes, HOOK is called while the superblock is read back: changes that are
# undecided must wait.
fail_commit()
{
	local hook=${2:-:}
	case $1 in
	old_writes) hold up read; meta_writes ;;
	old_flushes) hold up read; meta_flushes ;;
	new) hold up read; hold mid write ;;
	never) meta_writes ;;
	never_flushes) meta_flushes ;;
	dead) meta_dead ;;
	esac
	# udev reads a device that has a new table; that must not be taken for the set's I/O.
	[ -n "${DM_DISABLE_UDEV:-}" ] || udevadm settle
	provoke
	case $1 in
	new)
		wait_for 30 in_flight write mid
		meta_flushes
		hold mid none ;;
	esac
	case $1 in
	old_*|new)
		wait_for 30 in_flight read up
		$hook
		in_flight read up || fail "the hook took longer than reads are held"
		meta_good
		hold up none ;;
	esac
	wait_for 30 mode_is "$(mode_after "$1")"
	meta_good
}

mode_after()
{
	case $1 in
	old_*|new) echo needs_check ;;
	*) echo Fail ;;
	esac
}
# comes_true FAULT: the commit is on the disk
comes_true() { [ "$1" = new ]; }

# A set in ro: reads and overwrites work, everything that needs the metadata fails, and nothing
# makes the set rw again.
ro_works()
{
	mode_is "$1" || fail "mode is $(mode_now)"
	check_chunks 11 4 1
	write_chunks 11 4 1
	io_fails 5 write_chunks 150 1 1
	fails discard_chunks 12 1
	fails msg migrate 12 1 0
	fails msg pin 12 1 0
	fails msg set migration_depth 7
	# A message that changes nothing needs no commit.
	if [ "$(info running)" = paused ]; then fails msg resume; else fails msg pause; fi
	suspend
	resume
	mode_is "$1" || fail "mode is $(mode_now) after suspend and resume"
	reload
	mode_is "$1" || fail "mode is $(mode_now) after a reload"
	check_chunks 11 9 1
}

# A failed set gives errors to all I/O, and nothing makes it work again.
fail_works()
{
	mode_is Fail || fail "mode is $(mode_now)"
	io_fails 5 check_chunks 11 1 1
	io_fails 5 write_chunks 11 1 2
	fails discard_chunks 11 1
	fails io sync "$dev"
	fails msg migrate 12 1 0
	fails msg set migration_depth 7
	suspend
	resume
	mode_is Fail || fail "mode is $(mode_now) after suspend and resume"
	load
	resume || true
	mode_is Fail || fail "mode is $(mode_now) after a reload"
}

mode_works()
{
	case $(mode_after "$1") in
	Fail) fail_works ;;
	*) ro_works needs_check ;;
	esac
}

# comes_back FAULT: a new activation on devices that work again; needs_check is set as on the
# disk, and stays.
comes_back()
{
	local want=rw
	deactivate
	! recorded_check || want=needs_check
	case $1 in
	old_*|new) same needs_check "$want" "what the disk says of needs_check" ;;
	never|dead) same rw "$want" "what the disk says of needs_check" ;;
	esac
	activate
	mode_is "$want" || fail "mode is $(mode_now), the disk says $want"
}

# ---------------------------------------------------------------- tiers

# tier_table KIND DISK: good; writes, flushes, all: these fail; hold: writes wait for another
# table; MS: all I/O takes so many milliseconds
tier_table()
{
	local size rest
	size=$(sectors_of "$2")
	rest=$((size - 8))
	case $1 in
	good)
		echo "0 $rest linear $2 0"
		echo "$rest 8 linear $2 $rest" ;;
	flushes)
		echo "0 $rest linear $2 0"
		echo "$rest 8 flakey $2 $rest 0 1 1 error_writes" ;;
	writes) echo "0 $size flakey $2 0 0 1 1 error_writes" ;;
	all)
		# An error target alone would let flushes succeed.
		echo "0 $rest error"
		echo "$rest 8 flakey $2 $rest 0 1" ;;
	hold) echo "0 $size delay $2 0 0 $2 0 $held_ms $2 0 0" ;;
	*) echo "0 $size delay $2 0 $1" ;;
	esac
}

# tt_a is the fast tier, tt_b the slow tier; tier a KIND loads another table for tt_a.
a=/dev/mapper/tt_a
b=/dev/mapper/tt_b
tier()
{
	local disk=$fast
	[ "$1" = a ] || disk=$slow
	swap "$1" "$(tier_table "$2" "$disk")"
}

# Chunks 0 to 9 on a, 10 to 19 on b.
make_wrapped()
{
	disk meta 4 cache_size=2
	disk fast 16 cache_size=4
	disk slow 32 cache_size=4
	wrap a "$(tier_table good "$fast")"
	wrap b "$(tier_table good "$slow")"
	tiers=("$a" "$b")
	activate
	write_chunks 0 20 1
	move 10 10 1
	io sync "$dev"
}

# unflushed TIER FIRST COUNT: writes chunks first on this tier, with seed 2, that no flush can
# cover. The first failed flush closes the tier, so none may come before the last chunk: the
# timer armed by older first writes runs out first, and these chunks are one bio.
unflushed()
{
	nap 2
	tier "$1" flushes
	write_chunks "$2" "$3" 2 block="$(at_chunk "$3")"
}
