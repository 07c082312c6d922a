#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at the manual pages
#
# What dm-tier(7) offers those who know btier: each command of its table is run on a set and does
# what the name of btier says.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"

page=$here/../../man/dm-tier.7
[ -r "$page" ] || skip_all "the manual pages are not here"
need jq

tierctl() { ctl "$@"; }

# rows: a line for each command of the table, "NAME COUNT COMMAND", COUNT counting from 1
rows()
{
	sed -n '/^\.SH COMING FROM BTIER/,/^\.SH EXAMPLES/p' "$page" | sed "s/\\\\-/-/g; s/\\\\(aq/'/g" |
		awk '/^\.B / && tag { sub(/^\.B /, ""); sub(/,.*/, ""); name = $0; n = 0 }
		     { tag = /^\.TP/ }
		     /^\.fi/ { command = 0 }
		     command { print name, ++n, $0 }
		     /^\.nf/ { command = 1 }'
}

mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
tracing() { cat /sys/kernel/tracing/events/dm_tier/enable; }
setting() { same "$2" "$(ctl get "$set" "$1")" "$1"; }
running() { status; same "$1" "${S[running]}" "migration"; }

# done_by NAME COUNT: fails unless what that command said ($said) or did is what it is for
done_by()
{
	case "$1 $2" in
	"migration_enable 1") running paused ;;
	"migration_enable 2") running running ;;
	"migration_interval 1") setting migration_bandwidth 32768 ;;
	"migration_policy 1") setting half_life 32 ;;
	"migration_policy 2") setting admit 150 ;;
	"sequential_landing 1")
		setting tier0.landing 2
		write_chunks 70 1 1
		same 1 "$(on_rank 70 1 1)" "new chunks on slow" ;;
	"sequential_landing 2")
		setting tier0.landing 1
		write_chunks 71 1 1
		same 1 "$(on_rank 71 1 0)" "new chunks on fast" ;;
	"migrate_verbose 1")
		same 1 "$(tracing)" "events of dm_tier"
		echo 0 >/sys/kernel/tracing/events/dm_tier/enable ;;
	"migrate_block 1") wait_for 20 all_on_rank 22 1 1 ;;
	"migrate_block 2")
		wait_for 20 all_on_rank 23 1 1
		chunk_info 23
		same 1 "${C[pin]}" "pin" ;;
	"show_blockinfo 1")
		chunk_info 22
		matches "place ${C[place]}" "$said"
		matches "reads ${C[reads]}, writes ${C[writes]}" "$said" ;;
	"show_blockinfo 2") same 20 "$(wc -l <<<"$said")" "lines" ;;
	"size_in_blocks 1") same "${S[virtual]}" "$said" "chunks" ;;
	"device_usage 1")
		matches "tt_fast" "$said"
		matches "tt_slow" "$said" ;;
	"numreads 1")
		status
		matches "dm_tier_tier_writes_total\{[^}]*tier=\"0\"[^}]*\} ${S[writes0]}" "$said"
		matches "dm_tier_tier_reads_total" "$said" ;;
	"clear_statistics 1") matches "/s" "$said" ;;
	"uuid 1") matches '^[0-9a-f-]{32,36}$' "$said" ;;
	"resize 1")
		before=${S[virtual]}
		status
		is "S[virtual] > before" ;;
	"barriers 1")
		chunk_info 72
		same mapped "${C[state]}" "a chunk after a flush" ;;
	"detach 1") [ ! -e "/dev/mapper/$set" ] || fail "the device is there" ;;
	*) fail "nobody knows what the command is to do" ;;
	esac
}

table()
{
	local name count command n=0
	make_disks
	ctl create "$set" -q -m "$meta" -c 64k -L 14m --policy heat "$fast" "$slow"
	write_chunks 0 60 1
	status
	while read -r name count command; do
		[ "$name" != barriers ] || write_chunks 72 1 1
		command=${command//photos/$set}
		echo "+ $name: $command"
		said=$(eval "$command")
		done_by "$name" "$count"
		n=$((n + 1))
	done < <(rows)
	same 20 "$n" "commands of the table"
}
test_case "each command of the table for btier's users does what it is for" table

run_tests
