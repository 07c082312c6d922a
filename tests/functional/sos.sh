#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# long
#
# The plugin for sos report, loaded by sos itself.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
need sos python3

plugin=$here/../../userspace/sos/dm_tier.py
[ -e "$plugin" ] || skip_all "the plugin is not here"

reported()
{
	local of
	disk meta 4
	disk fast 16
	disk slow 64
	activate
	# sos looks for plugins beside its own.
	of=$(python3 -c 'import os, sos; print(os.path.dirname(sos.__file__))')
	cp -r "$of" "$tmp/sos"
	cp "$plugin" "$tmp/sos/report/plugins"
	mkdir "$tmp/report"
	PATH=$(dirname "$tierctl"):$PATH PYTHONPATH=$tmp python3 "$(command -v sos)" report --batch --quiet \
		--build --tmp-dir "$tmp/report" --only-plugins dm_tier >"$tmp/out" 2>&1 || fail "$(<"$tmp/out")"
	of=$(echo "$tmp"/report/*/sos_commands/dm_tier)
	ls "$of" >"$tmp/files"
	grep -q "tier" "$of/dmsetup_status_--target_tier" || fail "no status: $(xargs <"$tmp/files")"
	same "$set" "$(jq -r '.sets[].name' "$of/tierctl_status_--json")" "set"
	grep -q "^dm_tier_" "$of/tierctl_metrics" || fail "no metrics"
	for of in "$of"/dmsetup_message_"$set"_0_{holds,latency,wear}; do
		[ -s "$of" ] || fail "$of: nothing, of $(xargs <"$tmp/files")"
	done
}
test_case "a report has what the target says" reported

run_tests
