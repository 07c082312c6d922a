#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at what tierctl prints
#
# --json of the commands that change something: the object has changes, messages and errors, as
# userspace/schema describes.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"

keep_disks=1
keep_dm=$set

# done_by "CHANGED DRY_RUN EXIT_STATUS SETS CODES" COMMAND ARGUMENT...: the object has these
# values, and stdout has nothing else
done_by()
{
	local want=$1
	shift
	same "$want" "$(json '[.changed, .dry_run, .exit_status, (.sets | map(.name) | join(",")),
		(.errors | map(.code) | join(","))] | map(tostring) | join(" ") | rtrimstr(" ")' "$@")" "$*"
	same "$1" "$(jq -r .tierctl.command "$tmp/json")" "command"
}

# wrong_usage COMMAND ARGUMENT...
wrong_usage()
{
	ctl_code 2 "$@" --json
	same "false 2 usage" "$(jq -r '"\(.changed) \(.exit_status) \(.errors[0].code)"' <<<"$output")" "$*"
	echo "$output" >"$tmp/json"
	keep_report "$1" "$tmp/json"
}

prepare()
{
	[ -b "$meta" ] || make_disks
}

made()
{
	prepare
	disk third 32
	done_by "false true 0 " create "$set" -t -m "$meta" -c 64k -L 16m "$fast" "$slow"
	matches "Would create $set with the table" "$(jq -r '.messages[]' "$tmp/json")"
	done_by "true false 0 $set" create "$set" -m "$meta" -c 64k -L 16m "$fast" "$slow"
	matches "Created /dev/mapper/$set" "$(jq -r '.messages[]' "$tmp/json")"
	done_by "false false 1  exists" create "$set" -m "$meta" -c 64k "$fast" "$slow"
	matches 'exists' "$(jq -r '.errors[0].message' "$tmp/json")"
	write_chunks 0 10 1
}
test_case "create" made

ran()
{
	done_by "true false 0 $set" pause "$set"
	done_by "true false 0 $set" resume "$set"
	done_by "false true 0 $set" set "$set" migration_depth=4 -t
	done_by "true false 0 $set" set "$set" migration_depth=4
	wrong_usage set "$set" frequency=4
	done_by "true false 0 $set" migrate "$set" 0-3 --tier 1 --wait
	done_by "true false 0 $set" pin "$set" 0-3 --tier 1
	done_by "true false 0 $set" unpin "$set" 0-3
	wrong_usage migrate "$set" 0-3
	done_by "true false 0 $set" evacuate "$set" 0
	done_by "true false 0 $set" admit "$set" 0
	done_by "null null null $set unsuitable" wait "$set" --evacuated 0
	done_by "false false 1  not_found" pause elsewhere
}
test_case "pause, resume, set, migrate, pin, unpin, evacuate, admit" ran

reshaped()
{
	done_by "true false 0 $set" add "$set" "$third" -y
	done_by "true false 0 $set" resize "$set" -y
	done_by "true false 0 $set" resize "$set" --size 16m -y
	done_by "true false 0 $set" remove "$set" 2 -y
	done_by "true false 0 $set" replace "$set" 1 "$third" -y
	# Which it is already.
	done_by "false false 0 $set" add "$set" "$fast"
	done_by "true false 0 ${set}2" rename "$set" "${set}2" -y
	done_by "true false 0 $set" rename "${set}2" "$set" -y
}
test_case "add, resize, remove, replace, rename" reshaped

stopped()
{
	local holder
	background io hold "$dev"
	holder=$last_pid
	nap 1
	done_by "false false 1 $set in_use" deactivate "$set"
	kill "$holder"
	wait "$holder" || true
	done_by "true false 0 $set" deactivate "$set"
	done_by "false true 0 $set" activate "$set" -t
	done_by "true false 0 $set" activate "$set"
	done_by "false false 0 $set" activate "$set"
	matches 'is active already' "$(jq -r '.messages[]' "$tmp/json")"
	ctl deactivate -q "$set"
	done_by "true false 0 ${set}2" activate "$set" --name "${set}2"
	ctl deactivate -q "${set}2"
	done_by "true false 0 $set" activate "${set}2" --name "$set"
	ctl dump -q "$set" -o "$tmp/dump"
	ctl dump -q "$set" -o "$tmp/dump.json" --json --format json
	jq -e . "$tmp/dump.json" >/dev/null
	done_by "false false 1 $set active" restore "$tmp/dump" "$meta"
	ctl deactivate -q "$set"
	done_by "false false 1 $set declined" destroy "$set"
	done_by "true false 0 $set" restore "$tmp/dump" "$tmp/metadata"
	done_by "true false 0 " repair "$tmp/metadata" "$tmp/repaired"
}
test_case "deactivate, activate, restore, repair" stopped

reverted()
{
	ctl activate -q "$set"
	done_by "true false 0 $set" revert "$set" -y
	dmsetup remove "$set" 2>/dev/null || true
	done_by "true false 0 $set" convert -y "$slow" --name "$set" --fast "$fast" --metadata "$meta" -c 64k
	done_by "true false 0 $set" deactivate "$set"
	done_by "true false 0 $set" destroy "$set" -y
}
test_case "revert, convert, destroy" reverted

# Of all reports above.
schemas()
{
	is "$(find "$reports" -type f | wc -l) > 30"
	"$here/check-json.py" "$here/../../userspace/schema" "$reports"/*
}
test_case "every report is as its schema says" schemas

run_tests
