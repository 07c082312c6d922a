#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
# long
# timeout=1500
# packages: drbd-utils
#
# Tiers mirrored to another machine by DRBD. Without its peer a tier goes on, once DRBD has given
# it up; when the peer is back, it gets what it missed.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=../functional/lib-tierctl.sh
. "$here/lib-tierctl.sh"
# shellcheck source=lib-reach.sh
. "$(dirname "$0")/lib-reach.sh"

modprobe drbd minor_count=8 2>/dev/null || skip_all "there is no drbd"
tools=$here/../../build/packages/drbd-utils
[ -d "$tools" ] || skip_all "ci/setup/unpacked drbd-utils was not called"
drbdsetup() { "$tools/lib/drbd/drbdsetup-84" "$@"; }

# Resource here-N is minor N of this machine, there-N minor N + 10 of the other; each has a port.
served=()

metadata_of()
{
	"$tools/sbin/drbdmeta" "$1" v08 "/dev/tt_map$1" flex-external "${@:2}" >"$tmp/drbdmeta" 2>&1
}

# half SIDE MINOR STORE: a resource that is not connected yet
half()
{
	disk "map$2" 4
	metadata_of "$2" create-md --force
	drbdsetup new-resource "$1"
	drbdsetup new-minor "$1" "$2" 0
	drbdsetup attach "$2" "$3" "/dev/tt_map$2" flexible --on-io-error=detach
}

join_there() { drbdsetup connect "there-$1" "127.0.0.1:79$(($1 + 10))" "127.0.0.1:790$1"; }

serve()
{
	half "there-$1" $(($1 + 10)) "$2"
	join_there "$1"
	served+=("$1")
}

attach()
{
	copy "$1" "$(($(sectors_of "/dev/tt_store$1") / 2048 - 1))"
	half "here-$1" "$1" "$tmp/here$1"
	drbdsetup connect "here-$1" "127.0.0.1:790$1" "127.0.0.1:79$(($1 + 10))"
	drbdsetup wait-connect "$1" --wfc-timeout=60 --degr-wfc-timeout=60 --outdated-wfc-timeout=50
	# Two blank disks are equal.
	drbdsetup new-current-uuid "$1" --clear-bitmap
	drbdsetup primary "$1"
	attached=/dev/drbd$1
}

# copy N MIB: this machine's disk below that resource, without a node in /dev
copy()
{
	disk "here$1" $(($2 + 1))
	hidden "copy$1" "$tmp/here$1" "0 $(($2 << 11)) linear /dev/tt_here$1 2048"
}

detach() { drbdsetup down "here-$1"; }
hang_up() { for n in "${served[@]}"; do drbdsetup disconnect "127.0.0.1:79$((n + 10))" "127.0.0.1:790$n"; done; }
answer() { for n in "${served[@]}"; do [[ $(drbdsetup cstate $((n + 10))) != StandAlone ]] || join_there "$n"; done; }

in_sync() { [ "$(drbdsetup dstate "$1")" = UpToDate/UpToDate ]; }

# mirrored: in the end both machines have the same data
mirrored()
{
	local n
	happens "$@"
	remove "$set"
	for n in 0 2; do
		wait_for 60 in_sync "$n"
		cmp "$tmp/far$n" "$tmp/here$n"
		compared
	done
	note "both copies are the same"
}

end_all()
{
	local n
	for n in "${served[@]}"; do
		drbdsetup down "here-$n"
		drbdsetup down "there-$n"
	done
	served=()
}

test_case "the link stalls for 5 s" mirrored "link stalled" stalls 5
long_case "the link stalls for 30 s" mirrored "link stalled" stalls 30
long_case "the link stalls for 120 s" mirrored "link stalled" stalls 120
test_case "the server is away for 20 s" mirrored "server away" drops 20
test_case "the link is slow" mirrored "link slow" slow 20

# The disk on this machine fails: DRBD goes on with the other machine's, until it gets a new one.
copies_fail()
{
	for n in 0 2; do swap_table "copy$n" "0 $((32 << 11)) error"; done
	nap 5
	for n in 0 2; do
		swap_table "copy$n" "0 $((32 << 11)) linear /dev/tt_here$n 2048"
		metadata_of "$n" apply-al
		drbdsetup attach "$n" "$tmp/here$n" "/dev/tt_map$n" flexible --on-io-error=detach
	done
}
test_case "the disks here fail" mirrored "disks here broken" copies_fail

run_tests
