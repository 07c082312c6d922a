#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at the commands of LVM
# udev
# timeout=1200
# long
#
# LVM's own commands change the parts of a volume that was converted: status names the part
# and the command that mends it, and that command mends it.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-reshape.sh
. "$(dirname "$0")/lib-reshape.sh"
# shellcheck source=lib-convert.sh
. "$(dirname "$0")/lib-convert.sh"

converted()
{
	make_vg
	data write
	ctl convert -q "$vg/data" -c 64k --fast-size 8m --fast-pv "${loops[1]}" --policy static
	calm
}

# calm: nothing needs attention
calm()
{
	ctl_code 0 status "$vg/data"
	same "" "$errors" "errors"
	matches 'attention +none' "$output"
}

# flagged CODE DEVICE HEALTH: only that needs attention; $command is the command that mends it
flagged()
{
	ctl_code 3 status "$vg/data"
	note "${output##*attention }"
	matches '^[^:]*: (.*)$' "${output##*attention  }" "line"
	command=${BASH_REMATCH[1]}
	same "$1 $2 $3" "$(json '.sets[0] | (.attention[] | .code + " " + .device) + " " + .health' status "$vg/data")"
	matches "$vg/data.* $3 " "$(ctl list "$vg/data")" "list"
}

# mends: runs the command of the line, with tierctl as the tests call it
mends()
{
	local words
	read -ra words <<<"$command"
	case ${words[0]} in
	tierctl)	ctl "${words[@]:1}" ;;
	lv*|dmsetup)	"${words[@]}" ;;
	*)		fail "no command: $command" ;;
	esac >"$tmp/mends" 2>&1 || fail "$command: $(<"$tmp/mends")"
	calm
}

sizes()
{
	converted
	lvextend -q -L 28m "$vg/data" >/dev/null
	flagged placeholder_extended "$vg/data" attention
	mends
	same 57344 "$(sectors_of "$origin")" "sectors of the set"
	data check
	lvreduce -q -f -y -L 16m "$vg/data" >/dev/null
	flagged placeholder_reduced "$vg/data" attention
	mends
	same 28.00m "$(lvs --noheadings --units m -o lv_size "$vg/data" | tr -d ' ')"
	lvextend -q -L 28m "$vg/data_torig" >/dev/null
	flagged tier_extended "$vg/data_torig" attention
	mends
	data check
}
test_case "volumes that are extended, and a name that is reduced" sizes

# The set has its new size, and says so.
resized_without_lvm()
{
	local bin=$tmp/bin
	converted
	mkdir "$bin"
	# The real resize fails after the trial run succeeded, so the set is changed by then.
	cat >"$bin/lvresize" <<-'END'
		#!/bin/sh
		[ "$1" = --test ] || { echo "no lvresize" >&2; exit 5; }
	END
	chmod +x "$bin/lvresize"
	PATH=$bin:$PATH ctl_code 1 resize --size 29m "$vg/data"
	matches 'from 24 MiB to 29 MiB' "$output"
	matches 'no lvresize.*LVM does not show it' "${errors//$'\n'/ }"
	same 59392 "$(sectors_of "$origin")"
	flagged placeholder_reduced "$vg/data" attention
	ctl_code 0 resize --size 29m "$vg/data"
	calm
	data check
}
test_case "resize when LVM cannot" resized_without_lvm

reduced()
{
	converted
	lvreduce -q -f -y -L 16m "$vg/data_torig" >/dev/null
	flagged tier_reduced "$vg/data_torig" degraded
	same "lvextend -L 49152s $vg/data_torig" "$command"
	mends
	data check
	# An inactive set is refused, with the reason.
	ctl deactivate -q "$vg/data"
	lvreduce -q -f -y -L 16m "$vg/data_torig" >/dev/null
	ctl_code 1 activate "$vg/data"
	flagged tier_reduced "$vg/data_torig" degraded
	mends
	ctl activate -q "$vg/data"
	data check
}
test_case "a tier that is reduced, of a set in use and of one that is not" reduced

reduced_metadata()
{
	local size
	converted
	size=$(sectors_of "/dev/$vg/data_tiermeta")
	lvreduce -q -f -y -L "$((size - 1024))s" "$vg/data_tiermeta" >/dev/null
	flagged metadata_reduced "$vg/data_tiermeta" degraded
	same "lvextend -L ${size}s $vg/data_tiermeta" "$command"
	mends
	same "$size" "$(sectors_of "/dev/$vg/data_tiermeta")" "sectors of the metadata device"
	data check
	# An inactive set is refused, with the reason.
	ctl deactivate -q "$vg/data"
	lvreduce -q -f -y -L "$((size - 1024))s" "$vg/data_tiermeta" >/dev/null
	ctl_code 1 activate "$vg/data"
	flagged metadata_reduced "$vg/data_tiermeta" degraded
	same "lvextend -L ${size}s $vg/data_tiermeta" "$command"
	mends
	ctl activate -q "$vg/data"
	data check
	ctl_code 0 check "$vg/data"
}
test_case "metadata that is reduced" reduced_metadata

names()
{
	local before words
	converted
	lv spare 30m "$vg" "${loops[1]}"
	lvrename -q "$vg" data_torig data_old >/dev/null
	flagged part_renamed "$vg/data_old" attention
	# The name tells lvremove's caller that the volume must not go.
	before=$(lvm_state)
	for words in "remove $vg/data 1" "remove --dry-run $vg/data $vg/data_old" "replace $vg/data 1 $vg/spare" \
		     "revert $vg/data"; do
		# shellcheck disable=SC2086	# several words
		ctl_code 1 $words
		one_line "$vg/data: $vg/data_old is what it was made of.*: $command$"
	done
	same "$before" "$(lvm_state)" "volumes"
	same "active active" "$(json '[.sets[0].tiers[].state] | join(" ")' status "$vg/data")" "states"
	mends
	lvrename -q "$vg" data other >/dev/null
	flagged placeholder_renamed "$vg/other" attention
	mends
	lvremove -q -y "$vg/data" >/dev/null
	flagged placeholder_missing "$vg/data" attention
	# Other commands that report only once say the same.
	for report in metrics wait top; do
		same "placeholder_missing attention" \
			"$(json '.sets[0] | "\(.attention[0].code) \(.health)"' "$report" "$vg/data")" "$report --json"
	done
	same 1 "$(ctl metrics "$vg/data" | sed -n 's/^dm_tier_attention{.*} //p')" "the metric attention"
	mends
	fails lvrename "$vg" data_torig data
	lvchange -q --deltag dm-tier.set="$(json '.sets[0].uuid' list "$vg/data")" "$vg/data_torig" >/dev/null
	flagged tags_lost "$vg/data_torig" attention
	before=$(lvm_state)
	ctl_code 1 revert "$vg/data"
	one_line "$vg/data: $vg/data_torig has lost its tags.*type: ${command,,}$"
	same "$before" "$(lvm_state)" "volumes"
	same "rw running" "$(ctl status "$vg/data" | awk 'NR == 1 { print $4, $5 }')"
	mends
	data check
	ctl_code 0 revert "$vg/data"
	same "data spare " "$(lvm_names)"
	data check
}
test_case "parts that are renamed, removed, or lose their tags" names

# Before the volume has made way for the set, no other volume may get its name.
lost_early()
{
	local words
	make_vg
	data write
	killed convert-cleared convert "$vg/data" -c 64k --fast-size 8m --fast-pv "${loops[1]}" --policy static
	lvchange -q --deltag dm-tier.role=torig "$vg/data" >/dev/null
	ctl_code 1 activate "$vg/data"
	matches "$vg/data: $vg/data has lost its tags.*Type: (lvchange .*)$" "${errors%%$'\n'*}"
	read -ra words <<<"${BASH_REMATCH[1]}"
	"${words[@]}" >/dev/null
	ctl_code 0 activate "$vg/data"
	calm
	data check
}
test_case "tags that are lost while convert is unfinished" lost_early

# Settings for the display of LVM's reports do not confuse tierctl.
reports()
{
	mkdir "$tmp/lvm"
	cat >"$tmp/lvm/lvm.conf" <<-EOF
		report {
			output_format="json" compact_output=1 list_item_separator=";" prefixes=1 quoted=1 columns_as_rows=1
			aligned=0 separator="!" buffered=0
		}
		log { report_command_log=1 command_names=1 prefix="lvm:" }
	EOF
	make_vg
	data write
	oddly 0 convert -q "$vg/data" -c 64k --fast-size 8m --fast-pv "${loops[1]}" --policy static
	oddly 0 status "$vg/data"
	matches 'attention +none' "$output"
	oddly 0 add -q "$vg/data" --size 4m --pv "${loops[1]}" --at 0
	oddly 0 remove -q "$vg/data" "$vg/data_tvol1"
	same "data data_tiermeta data_torig data_tvol0 " "$(lvm_names)"
	oddly 0 revert -q "$vg/data"
	same "data " "$(lvm_names)"
	same "" "$(tags data)" "tags"
	data check
}
oddly() { LVM_SYSTEM_DIR=$tmp/lvm ctl_code "$@"; }
test_case "reports of lvm2 that lvm.conf makes look otherwise" reports

taken()
{
	converted
	lvrename -q "$vg" data other >/dev/null
	lvcreate -q -an -Zn -Wn -n data -L 1m "$vg" >/dev/null 2>&1
	flagged name_taken "$vg/data" attention
	same "lvrename $vg data OTHER" "$command"
	read -ra words <<<"$command"
	"${words[@]}" >/dev/null
	flagged placeholder_renamed "$vg/other" attention
	mends
	same "OTHER data data_tiermeta data_torig data_tvol0 " "$(lvm_names)"
	data check
}
test_case "a volume that has taken the name" taken

group()
{
	converted
	vgrename -q "$vg" tt_vh >/dev/null
	ctl_code 3 status "$vg/data"
	matches 'attention +its volume group is called tt_vh now: (dmsetup .*)$' "$output"
	command=${BASH_REMATCH[1]} vg=tt_vh origin=/dev/mapper/tt_vh-data
	mends
	data check
	ctl deactivate -q "$vg/data"
	ctl activate -q "$vg/data"
	calm
	ctl_code 0 revert "$vg/data"
	same "data " "$(lvm_names)"
	data check
}
test_case "a volume group that is renamed" group

# Another tier may have a name that looks converted.
namesake()
{
	converted
	lv own_torig 8m "$vg" "${loops[1]}"
	ctl_code 1 add -y "$vg/data" "$vg/own_torig"
	one_line "$vg/own_torig: its name ends in _torig, .*rename it first"
	lvrename -q "$vg" own_torig own >/dev/null
	ctl add -q -y "$vg/data" "$vg/own"
	lvrename -q "$vg" own own_torig >/dev/null
	calm
	ctl_code 1 remove "$vg/data" "$vg/data_torig"
	one_line "$vg/data_torig: is what $vg/data was made of"
	ctl_code 0 revert --dry-run "$vg/data"
	matches "all of it .* goes back to $vg/data_torig\." "$output"
	ctl deactivate -q "$vg/data"
	ctl_code 0 activate "$vg/data"
	same "$vg/data: active as /dev/mapper/$vg-data." "$output"
	# The group has another name, but the set does not yet.
	vgrename -q "$vg" tt_vh >/dev/null
	ctl_code 1 remove "$vg/data" tt_vh/data_torig
	one_line "tt_vh/data_torig: is what $vg/data was made of"
	ctl deactivate -q "$vg/data"
	vg=tt_vh origin=/dev/mapper/tt_vh-data
	ctl_code 0 activate "$vg/data"
	same "$vg/data: active as /dev/mapper/$vg-data." "$output"
	data check
	ctl_code 0 revert "$vg/data"
	same "data own_torig " "$(lvm_names)"
	data check
}
test_case "another tier whose name ends in _torig" namesake

inactive()
{
	converted
	ctl deactivate -q "$vg/data"
	lvchange -q -ay -K "$vg/data" >/dev/null
	flagged placeholder_active "$vg/data" attention
	ctl_code 1 activate "$vg/data"
	mends
	lvchange -q -an "$vg/data_torig" >/dev/null
	ctl_code 3 status "$vg/data"
	matches "attention +$vg/data_torig is a part of it and not active: lvchange -ay $vg/data_torig" "$output"
	lvchange -q -ay "$vg/data_torig" >/dev/null
	calm
	lvchange -q -pr "$vg/data_torig" >/dev/null
	flagged part_read_only "$vg/data_torig" attention
	mends
	ctl activate -q "$vg/data"
	data check
}
test_case "parts that are active, inactive or read-only" inactive

# The set becomes active under its old name all the same.
renamed_inactive()
{
	converted
	ctl deactivate -q "$vg/data"
	lvrename -q "$vg" data_torig data_old >/dev/null
	flagged part_renamed "$vg/data_old" attention
	ctl_code 0 activate "$vg/data"
	same "$vg/data: active as /dev/mapper/$vg-data." "$output"
	matches '^TIER-[0-9a-f]{32}-lv$' "$(dmsetup info -c --noheadings -o uuid "$vg-data")"
	flagged part_renamed "$vg/data_old" attention
	mends
	ctl_code 0 revert "$vg/data"
	same "data " "$(lvm_names)"
	data check
}
test_case "a part that is renamed while the set is inactive" renamed_inactive

# A converted set has no other name. A name given by hand is recorded and ignored.
another_name()
{
	local table
	converted
	table=$(dmsetup table "$vg-data")
	ctl deactivate -q "$vg/data"
	ctl_code 1 activate --name tt_another "$vg/data"
	one_line "$vg/data: was a logical volume, and keeps the name $vg-data until tierctl revert"
	dmsetup create tt_another --table "$table"
	dmsetup remove --retry tt_another
	ctl_code 0 activate "$vg/data"
	same "$vg/data: active as /dev/mapper/$vg-data." "$output"
	matches '^TIER-[0-9a-f]{32}-lv$' "$(dmsetup info -c --noheadings -o uuid "$vg-data")"
	calm
	data check
	ctl deactivate -q "$vg/data"
	dmsetup create tt_another --table "$table"
	dmsetup remove --retry tt_another
	ctl_code 0 destroy -y "$vg/data"
	same "data " "$(lvm_names)"
	same "" "$(tags data)" "tags"
}
test_case "a set that was activated under another name" another_name

suspended()
{
	converted
	dmsetup suspend "$vg-data_torig"
	flagged part_suspended "$vg/data_torig" attention
	same "dmsetup resume $vg-data_torig" "$command"
	mends
	data check
}
test_case "a part that is suspended" suspended

# The set is larger than the volume: revert extends the volume, if it is allowed to.
outgrown()
{
	local before
	converted
	ctl resize -q --size 29m "$vg/data"
	calm
	io write "$origin" at=24m len=5m seed=5
	before=$(lvm_state)
	ctl_code 1 revert "$vg/data"
	one_line "$vg/data: is larger \(29 mib\) than $vg/data_torig \(24 mib\)\. run lvextend -l 59392s $vg/data_torig\?.* -y"
	ctl_code 0 revert --dry-run "$vg/data"
	matches "Would run: lvextend -L 59392s $vg/data_torig" "$output"
	matches "0 59392 linear [0-9:]+ 0" "$output" "table"
	same "$before" "$(lvm_state)" "volumes"
	data check
	ctl_code 0 revert -y "$vg/data"
	same "data " "$(lvm_names)"
	same 59392 "$(sectors_of "$origin")"
	data check
	io check "$origin" at=24m len=5m seed=5
}
test_case "revert extends a volume that the set has outgrown" outgrown

# killed_outgrown STEP...
killed_outgrown()
{
	local step
	converted
	ctl resize -q --size 29m "$vg/data"
	io write "$origin" at=24m len=5m seed=5
	for step; do
		killed "$step" revert -y "$vg/data"
		data check
	done
	ctl_code 0 revert "$vg/data"
	same "data " "$(lvm_names)"
	data check
	io check "$origin" at=24m len=5m seed=5
}
test_case "killed while it does" killed_outgrown revert-extended revert-loaded
test_case "killed when the set has taken the room" killed_outgrown revert-done

# vgimportclone leaves such names after a volume group was copied disk by disk.
copied()
{
	local tags=(--addtag dm-tier --addtag dm-tier.role=torig --addtag dm-tier.name=data)
	local tag before
	converted
	tag=dm-tier.set=$(json '.sets[0].uuid' list "$vg/data")
	lv copy 1m "$vg" "${loops[0]}"
	lvchange -q "${tags[@]}" --addtag "$tag" "$vg/copy" >/dev/null
	before=$(lvm_state)
	ctl_code 1 revert "$vg/data"
	one_line "$vg/(copy|data_torig), $vg/(copy|data_torig): have the same tags.*lvchange --deltag $tag vg/lv"
	same "$before" "$(lvm_state)" "volumes"
	lvchange -q --deltag "$tag" "$vg/copy" >/dev/null
	ctl_code 0 revert "$vg/data"
	same "copy data " "$(lvm_names)"
	data check
}
test_case "a copy with the tags of the set" copied

# A volume that existed before convert gets its old name back when it is taken out.
given()
{
	make_vg
	lv fast 12m "$vg" "${loops[1]}"
	lv other 8m "$vg" "${loops[1]}"
	lv spare 8m "$vg" "${loops[1]}"
	data write
	ctl convert -q "$vg/data" -c 64k --fast "$vg/fast" --fast "$vg/other" --policy static
	ctl_code 0 remove --dry-run "$vg/data" 0
	matches "Would run: lvrename $vg fast_tvol fast" "$output"
	ctl_code 0 remove "$vg/data" "$vg/fast_tvol"
	matches "$vg/fast_tvol: is called $vg/fast again" "$output"
	same "data data_tiermeta data_torig fast other_tvol spare " "$(lvm_names)"
	same "" "$(tags fast)" "tags"
	killed clean-wiped replace "$vg/data" 0 "$vg/spare"
	ctl_code 0 replace "$vg/data" 0 "$vg/spare"
	same "data data_tiermeta data_torig fast other spare " "$(lvm_names)"
	same "" "$(tags other)" "tags"
	calm
	data check
	ctl_code 0 revert "$vg/data"
	same "data fast other spare " "$(lvm_names)"
	data check
}
test_case "volumes that were given as tiers, taken out" given

run_tests
