#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Power cuts at random and at chosen moments; see README.md. CUTS and SEED in the environment
# choose how many and which; KIND only one kind; CHECKER names the program that checks the
# metadata, if not tier_check. MUTANT chooses the defect of a test build (ci/build-modules
# --mutants).
#
# timeout=3000

cd "$(dirname "$0")" || exit 1

# skip REASON: a guest of ci/guest/run has everything that is needed
skip()
{
	if [ -n "${DM_TIER_GUEST:-}" ]; then
		echo "Bail out! $*"
		exit 1
	fi
	echo "TAP version 13"
	echo "1..0 # SKIP $*"
	exit 4
}

[ -x ./cut ] || skip "make -C tests/crash first"
# Without it half of the damage by cuts would not be seen.
CHECKER=${CHECKER:-$(realpath ../../userspace/tier_check)}
if [ ! -x "$CHECKER" ]; then
	echo "Bail out! $CHECKER is not there; make -C userspace first"
	exit 1
fi
modprobe nbd nbds_max=20 max_part=0 || skip "nbd does not load"
# mq-deadline warns about requests that a dead disk gave back (dd_exit_sched, 6.1).
for scheduler in /sys/block/nbd*/queue/scheduler; do echo none >"$scheduler"; done
modprobe dm-tier ${MUTANT:+"mutant=$MUTANT"} || skip "dm-tier does not load"
modprobe dm-tier-heat || skip "dm-tier-heat does not load"
[ -d /sys/kernel/tracing ] || skip "no tracing"

# Rules of udev for each disk at each power-on are not needed.
rules=/run/udev/rules.d
masked=()
mkdir -p "$rules"
for rule in /usr/lib/udev/rules.d/*{block,storage,dm,lvm,probe,bcache,md,mpath}*.rules; do
	if [ ! -e "$rule" ] || [ -e "$rules/${rule##*/}" ]; then continue; fi
	ln -s /dev/null "$rules/${rule##*/}"
	masked+=("$rules/${rule##*/}")
done
reload_rules() { [ ! -e /run/udev/control ] || udevadm control --reload; }
reload_rules

clean()
{
	dmsetup remove --retry --force tc_set >/dev/null 2>&1
	if [ -d /sys/kernel/tracing/instances/tc ]; then
		echo 0 >/sys/kernel/tracing/instances/tc/events/enable
		rmdir /sys/kernel/tracing/instances/tc
		echo '-:tc/*' >>/sys/kernel/tracing/kprobe_events
	fi 2>/dev/null
	rm -f "${masked[@]}"
	reload_rules
	rmmod nbd
}
trap clean EXIT

options=(--cuts "${CUTS:-50}")
[ -z "${SEED:-}" ] || options+=(--seed "$SEED")
[ -z "${KIND:-}" ] || options+=(--kind "$KIND")
options+=(--checker "$CHECKER")
[ -z "${VERBOSE:-}" ] || options+=(--verbose)
./cut "${options[@]}"
