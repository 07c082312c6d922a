#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at the arguments of tierctl
#
# Misuse of tierctl: each call is refused with one line that says what is wrong, with the right
# exit status, and no device changes.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"

keep_disks=1
keep_dm=$set
usage=2 failed=1
everything=("$meta" "$fast" "$slow" "$third" "$meta2")

# A set, and two blank disks.
prepare()
{
	if [ ! -b "$meta" ]; then
		make_disks
		disk third 8
		disk meta2 2
		ctl create -q "$set" -m "$meta" -c 64k --policy heat --feature paused "$fast" "$slow"
		write_chunks 0 10 1
		io sync "$dev"
		udevadm settle
		ctl dump -q "$set" -o "$tmp/dump"
		checksums "${everything[@]}" >"$tmp/sums"
		settings >"$tmp/settings"
	fi
}

settings()
{
	status
	echo "${S[mapped]} ${S[pinned]} ${S[state0]} ${S[state1]} ${S[used0]} ${S[used1]}" \
	     "${S[core]} ${S[args]} ${S[running]}"
}

# wrong CODE REGEX ARGUMENT...
wrong()
{
	local code=$1 want=$2 before
	shift 2
	prepare
	# The settings that the case before has left.
	before=$(<"$tmp/settings")
	unchanged "${everything[@]}" -- ctl_code "$code" "$@"
	one_line "$want"
	settings >"$tmp/settings"
	same "$before" "$(<"$tmp/settings")" "status"
	only_device "$set"
}
row() { test_case "tierctl ${*:3}" wrong "$@"; }

row $usage 'no command'
row $usage 'frobnicate' frobnicate
row $usage '--frob' --frob
row $usage 'no command statu\. did you mean tierctl status\?' statu
row $usage 'no command frobnicate\. try' help frobnicate
row $usage 'no option --chunk-size\. did you mean --chunksize\?' create x -m y --chunk-size 1m z
row $failed 'did you mean tt_set\?' status tt_ste
row $usage 'usage: tierctl create name' create
for command in create destroy pause resume set get migrate wait pin unpin evacuate admit; do
	row $usage "$command.*missing|$command" $command
	row $usage '--frobnicate' $command --frobnicate
done
for command in activate deactivate list scan status; do
	row $usage '--frobnicate' $command --frobnicate
	row $usage '-z' $command -z
done
row $usage 'set|all' activate
row $usage 'set|all' deactivate
for name in control .. 'a b' a/b ''; do
	row $usage 'is no name' activate "$set" --name "$name"
done

# An option beside one with which it would do nothing
row $usage '--all and --auto: one of the two' activate --all --auto
row $usage '--no-check and --read-only' activate --no-check -r "$set"
row $usage '--take-over and --auto' activate --take-over --auto
row $usage '--take-over goes with sets' activate --take-over --all
row $usage '--reserve and --auto' activate --reserve --auto
row $usage '--reserve goes with sets' activate --reserve --all
row $usage '--tier and --refresh' pin --refresh --tier 0 "$set"
row $usage '--tiers and --label' repair --label 0 "$fast" "$set" --tiers
row $usage '--fast and --fast-size' convert vg/lv --fast "$third" --fast-size 1g --fast-pv "$meta2"
row $usage '--at-boot and --name' convert --at-boot vg/lv --name x --fast "$third"
row $usage '--apply and --clear' schedule --clear --apply "$set"
row $usage 'devices or say --all' scan --all "$third"

# ---- create
new="create tt_new"
# the words that complete a good command
# shellcheck disable=SC2086	# lists of words
{
row $usage 'missing|few|create' $new
row $usage 'metadata' $new $third
row $usage '-m|metadata' $new $third -m
row $usage '--mirror two: only none' $new --mirror two $third $meta2
row $usage '--mirror and --metadata' $new --mirror none -m $meta2 $third
row $failed 'small.*metadata' $new --mirror none -c 8m $third
row $usage 'few|missing|chunksize' $new -m $meta2 -c $third
row $usage 'chunksize|100k' $new -m $meta2 -c 100k $third
row $usage 'chunksize|32k' $new -m $meta2 -c 32k $third
row $usage 'chunksize|2g' $new -m $meta2 -c 2g $third
row $usage 'chunksize|64' $new -m $meta2 -c 64 $third
row $usage 'chunksize|-64k' $new -m $meta2 -c -64k $third
row $usage 'chunksize|big' $new -m $meta2 -c big $third
row $usage 'size' $new -m $meta2 -c 64k -L 1 $third
row $usage 'size' $new -m $meta2 -c 64k -L 0k $third
row $usage 'size' $new -m $meta2 -c 64k -L 5x $third
row $usage 'size' $new -m $meta2 -c 64k -L -1m $third
row $usage 'size' $new -m $meta2 -c 64k -L 99999999999999999999g $third
row $usage 'policy|mru' $new -m $meta2 --policy mru $third
row $usage 'feature|fly' $new -m $meta2 --feature fly $third
row $usage 'frob=1|frob' $new -m $meta2 -c 64k --set frob $third
row $usage 'migration_depth' $new -m $meta2 -c 64k --set migration_depth=0 $third
row $usage 'migration_depth' $new -m $meta2 -c 64k --set migration_depth=many $third
row $usage 'no key .*heat\. did you mean migration_bandwidth\?$' $new -m $meta2 -c 64k --set migration_bandwith=64m $third
row $usage 'no key .*policy static\.$' $new -m $meta2 -c 64k --policy static --set headroom=5 --dry-run $third
row $usage 'tier1' $new -m $meta2 -c 64k --set tier1.reserve=1 $third
row $usage 'name' create 'a b' -m $meta2 $third
row $usage 'name' create '' -m $meta2 $third
row $usage 'name' create a/b -m $meta2 $third
row $usage 'name' create .. -m $meta2 $third
row $usage 'name' create "$(printf 'x%.0s' {1..200})" -m $meta2 $third
row $usage 'no value' $new -m $meta2 --yes=1 $third
row $usage 'list: no option --force' list --force
row $usage 'status: no option -y' status -qy $set
row $usage 'dump: no option --yes' dump --force --yes $set
row $failed 'tt_none' $new -m $meta2 -c 64k /dev/tt_none
row $failed 'tt_none' $new -m /dev/tt_none -c 64k $third
row $failed 'block device' $new -m $meta2 -c 64k /dev/null
row $failed 'block device|no such' $new -m $meta2 -c 64k "$0"
row $failed 'twice' $new -m $meta2 -c 64k $third $third
row $failed 'twice' $new -m $third -c 64k $third
row $failed "$set|tier 0" $new -m $meta2 -c 64k $fast
row $failed "$set|tier 0" $new -m $meta2 -c 64k --force --yes $fast
row $failed "$set|metadata" $new -m $meta -c 64k $third
row $failed 'tiered' $new -m $meta2 -c 64k $dev
row $failed 'small' $new -m $meta2 -c 8m $third
row $failed 'fit' $new -m $meta2 -c 64k -L 8m $third
row $failed "$set|exists" create $set -m $meta2 -c 64k $third
}

# ---- metadata
for command in check dump 'restore x' 'repair x'; do
	# shellcheck disable=SC2086	# words of a command
	row $usage 'few' $command
done
row $usage 'yaml' dump $set --format yaml
row $usage '--json and --format xml' dump $set --json --format xml
row $failed 'no such set' dump nosuch --json
row $usage 'many: y' check $set y
row $failed 'nosuch' check nosuch
row $failed 'nosuch' dump nosuch
row $failed 'nosuch' restore nosuch $meta2
row $failed 'nosuch' repair nosuch $meta2
row $failed 'tier 0' check $fast
row $failed 'is active' restore "$tmp/dump" $meta
row $failed 'line 1' restore "$0" $meta2
row $failed 'active' repair $set $meta2

# ---- the set
for command in activate deactivate list status pause resume get wait; do
	row $failed 'nosuch' $command nosuch
done
row $failed 'nosuch' set nosuch migration_depth=4
row $failed 'nosuch' migrate nosuch 1 --tier 0
row $failed 'nosuch' pin nosuch 1 --tier 0
row $failed 'nosuch' unpin nosuch 1
row $failed 'nosuch' evacuate nosuch 0
row $failed 'nosuch' admit nosuch 0
row $failed 'nosuch' destroy -y nosuch
row $failed 'tt_none' scan /dev/tt_none
row $usage 'interval' status --interval 0 $set
row $usage 'interval' status --interval soon $set
row $usage 'interval' status --interval
row $usage 'too m' wait $set $set
row $usage 'timeout' wait --timeout 0 $set
row $usage 'timeout' wait --timeout x $set
row $failed 'tier 5|tier' wait --evacuated 5 $set
row $failed 'evacuated' wait --evacuated 1 $set
row $usage 'no option' pause --background $set
row $usage 'no option' list --dry-run

row $usage 'missing|few' set $set
row $usage 'key=value' set $set migration_depth
row $usage 'frobnicate' set $set frobnicate=1
row $usage 'frobnicate' set $set migration_depth=5 frobnicate=1
for word in migration_depth= migration_depth=0 migration_depth=257 migration_depth=x \
	    migration_depth=-1 migration_bandwidth=fast migration_bandwidth=99999999g \
	    latency_guard=1001 latency_guard=50m tier0.landing=4 tier0.landing=maybe tier0.residence=1h tier0.latency=5s tier0.latency=8m tier0.watermark=51 tier0.watermark=51% tier0.quiet=65536 tier0.quiet=10m \
	    tier2.reserve=1 tier0.speed=1 tierx.reserve=1 tier0.endurance=x =1 \
	    headroom=x; do
	row $usage "${word%%=*}" set $set "$word"
done
row $failed 'frobnicate' get $set frobnicate
row $usage 'too m' get $set a b

row $usage 'tier|where' migrate $set 1
row $usage 'chunk' migrate $set --tier 1
row $usage 'chunk' migrate $set 1 --tier 1 --offset 1m --length 1m
row $usage 'x' migrate $set x --tier 1
row $usage '5-3' migrate $set 5-3 --tier 1
row $usage '1-' migrate $set 1- --tier 1
row $usage 'length' migrate $set --offset 1m --tier 1
row $usage 'length' migrate $set --length 0k --tier 1
row $usage 'offset|size' migrate $set --offset 5 --length 1m --tier 1
row $failed '730' migrate $set 731 --tier 1
row $failed '730' migrate $set 0-731 --tier 1
row $failed '730' migrate $set --offset 1t --length 1m --tier 1
row $failed 'tier 2' migrate $set 1 --tier 2
row $failed 'tier' migrate $set 1 --tier x
row $failed 'tier' migrate $set 1 --tier -1
row $failed 'place|home' migrate $set 0 --tier 0 --home
row $usage 'tier|where' pin $set 1
row $failed '730' pin $set 731 --tier 1
row $failed 'tier 2' pin $set 1 --tier 2
row $usage 'home' pin $set 1 --tier 1 --home
row $failed '730' unpin $set 731
row $usage 'tier' unpin $set 1 --tier 1
row $failed 'tier 2' evacuate $set 2
row $failed 'tier' evacuate $set x
row $failed 'tier' evacuate $set $third
row $usage 'where: --tier' pin $set -t 1 3
row $failed 'own place' replace $set $slow $slow
row $failed 'own place' replace $set $dev $dev
row $failed 'did you mean migration_depth\?' get $set migration_dept
row $usage 'migration_bandwith is no key.*did you mean migration_bandwidth\?' set $set migration_bandwith=64m
row $failed "no such device\. did you mean $third\?" create tt_new -m $meta2 ${third#/dev/}
row $failed '[0-9.]+ mib.*[0-9.]+ mib' evacuate $set 0
row $failed 'tier 2' admit $set 2
row $usage 'too m' admit $set 1 1

# Without --yes and without a terminal no data is lost.
declined()
{
	prepare
	unchanged "${everything[@]}" -- ctl_code 1 destroy "$set"
	same 1 "$(wc -l <"$tmp/stderr")" "lines on stderr ($errors); number"
	only_device "$set"
}
test_case "tierctl destroy $set, without an answer" declined

again()
{
	prepare
	unchanged "${everything[@]}" -- ctl_code 0 activate "$set"
	matches 'active' "$output$errors"
}
test_case "tierctl activate $set, which is active" again

still_whole()
{
	prepare
	same "$(<"$tmp/sums")" "$(checksums "${everything[@]}")" "contents"
	check_chunks 0 10 1
	ctl_code 0 status "$set"
}
test_case "after all these the set is whole" still_whole

# Without root's rights.
unprivileged()
{
	prepare
	command -v setpriv >/dev/null || skip "setpriv is not installed"
	cp "$tierctl" "$tmp/tierctl"
	chmod 755 "$tmp" "$tmp/tierctl"
	rc=0
	setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/tierctl" pause "$set" \
		>"$tmp/stdout" 2>"$tmp/stderr" </dev/null || rc=$?
	same 1 "$rc" "exit status"
	is "$(wc -l <"$tmp/stderr") >= 1"
	matches 'tierctl: ' "$(<"$tmp/stderr")"
}
test_case "without privileges" unprivileged

run_tests
