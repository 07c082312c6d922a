#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at the commands of LVM
# udev
# timeout=900
#
# A step that LVM or device-mapper would refuse after the commit point of a command is refused
# before it: with one line that names the volume, exit status 1, and nothing written, tagged or
# renamed.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
turns=3
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"
# shellcheck source=lib-reshape.sh
. "$(dirname "$0")/lib-reshape.sh"
# shellcheck source=lib-convert.sh
. "$(dirname "$0")/lib-convert.sh"

other=tt_other
tidy_more()
{
	vgchange -q -an --config "$foreign" >/dev/null 2>&1
	udevadm settle
}
foreign='global { system_id_source = "lvmlocal" } local { system_id = "elsewhere" }'

letters() { head -c "$1" /dev/zero | tr '\0' "$2"; }
everything() { lvs -a --noheadings -o vg_name,lv_name,lv_size,lv_tags,segtype 2>/dev/null; }

# refused REGEX COMMAND...: COMMAND is refused, and no volume and no sector has changed
refused()
{
	local before=$state
	ctl_code 1 "${@:2}"
	note "${errors:0:300}"
	one_line "$1"
	unset LVM_SYSTEM_DIR
	same "$before" "$(everything)" "volumes"
}
state=
look() { state=$(everything); }

# settings TEXT: the contents of lvm.conf until the next refused
settings()
{
	mkdir -p "$tmp/lvm"
	echo "$1" >"$tmp/lvm/lvm.conf"
	export LVM_SYSTEM_DIR=$tmp/lvm
}

# two_groups: as make_vg, and a volume x in a group of its own
two_groups()
{
	make_vg
	make_loops 32
	vgcreate -q -y -s 512k "$other" "${loops[2]}" >/dev/null
	lv x 8m "$other"
	data write
	look
}
by=(convert -q "$vg/data" -c 64k)

names()
{
	local long h
	two_groups
	# GROUP/NAME has 125 characters at most
	lv "$(letters 115 f)" 8m "$vg" "${loops[1]}"
	look
	long=$vg/$(letters 115 f)
	refused "$long: would get another name for $vg/data, .* 1 characters too long .*lvrename $long shorter" "${by[@]}" --fast "$long"
	lvrename -q "$vg" "$(letters 115 f)" "$(letters 114 f)" >/dev/null
	ctl_code 0 "${by[@]}" --fast "$vg/$(letters 114 f)" --dry-run
	lvremove -q -y "$vg/$(letters 114 f)" >/dev/null
	# The legs of a mirror have longer names, and another ending when the mirror is taken apart.
	lv "$(letters 96 m)" 4m --type raid1 -m1 "$vg"
	look
	refused "$vg/m.* 1 characters too long" "${by[@]}" --fast "$vg/$(letters 96 m)"
	lvremove -q -y "$vg/$(letters 96 m)" >/dev/null
	# device-mapper counts a hyphen twice; LVM finds that too late.
	h=h$(letters 60 -)
	lv "$h" 4m "$vg"
	look
	refused "$vg/h.* 5 characters too long" "${by[@]}" -f --fast "$vg/$h"
	lvremove -q -y "$vg/$h" >/dev/null
	# The metadata is named after the volume to be converted.
	lvrename -q "$vg" data "$(letters 111 d)" >/dev/null
	look
	refused "$other/x: would get another name for $vg/d.* 4 characters too long .*lvrename $vg/d.* shorter" \
		convert -q "$vg/$(letters 111 d)" -c 64k --fast-size 8m --fast-pv "${loops[1]}" --metadata "$other/x"
	refused "$vg/d.*_tiermeta: would be made for .* characters too long" \
		convert -q "$vg/$(letters 111 d)" -c 64k --fast-size 8m --fast-pv "${loops[1]}"
	lvrename -q "$vg" "$(letters 111 d)" data >/dev/null
	data check
}
test_case "names that LVM or device-mapper would find too long" names

taken()
{
	two_groups
	lv x_tvol 1m -an -Zn -Wn "$other"
	look
	refused "$other/x_tvol: exists" "${by[@]}" --fast "$other/x"
	lvremove -q -y "$other/x_tvol" >/dev/null
	lv data_tiermeta 1m -an -Zn -Wn "$other"
	look
	refused "$other/data_tiermeta: exists" "${by[@]}" --fast-size 8m --fast-pv "${loops[1]}" --metadata "$other/x"
	lv data_torig 1m -an -Zn -Wn "$vg"
	look
	refused "$vg/data_torig: exists" "${by[@]}" --fast "$other/x"
	data check
}
test_case "names that another volume of the group has" taken

groups()
{
	two_groups
	vgchange -q -l 1 "$vg" >/dev/null
	refused "$vg/data: .*may have 1 volumes, and would have 3. type: vgchange -l 3 $vg" "${by[@]}" --fast "$other/x"
	vgchange -q -l 0 "$vg" >/dev/null
	# Tags fill the space of LVM's own metadata.
	readarray -t tags < <(for ((i = 100; i < 611; i++)); do printf '%s\n' --addtag "$i.$(letters 1000 t)"; done)
	lvchange -q "${tags[@]}" "$vg/data" >/dev/null
	look
	refused "$vg/data: lvm has [0-9]* bytes left for its own metadata of the group $vg" "${by[@]}" --fast "$other/x"
	data check
}
test_case "groups that take no more volumes or tags" groups

read_only()
{
	two_groups
	vgcfgbackup -q -f "$tmp/cfg" "$other" >/dev/null
	sed -i '/RESIZEABLE/s/, "WRITE"//' "$tmp/cfg"
	vgcfgrestore -q -y -f "$tmp/cfg" "$other" >/dev/null
	look
	refused "$other/x: its volume group is read-only" "${by[@]}" --fast "$other/x"
	sed -i '/RESIZEABLE/s/"READ"/"READ", "WRITE"/' "$tmp/cfg"
	vgcfgrestore -q -y -f "$tmp/cfg" "$other" >/dev/null
	# This machine may not change a group with another system ID.
	vgchange -q -an "$other" >/dev/null
	vgchange -q -y --systemid elsewhere --config "$foreign" "$other" >/dev/null
	vgchange -q -ay --config "$foreign" "$other" >/dev/null
	look
	refused "$other.*system id elsewhere" "${by[@]}" --fast "$other/x"
	vgchange -q -an --config "$foreign" "$other" >/dev/null
	vgchange -q -y --systemid "" --config "$foreign" "$other" >/dev/null
	vgchange -q -ay "$other" >/dev/null
	# An unused disk of the group is missing.
	make_loops 8
	vgextend -q "$other" "${loops[3]}" >/dev/null
	losetup -d "${loops[3]}"
	unset 'loops[3]'
	udevadm settle
	look
	refused "$other/x: a physical volume of its group is missing" "${by[@]}" --fast "$other/x"
	data check
}
test_case "groups that are read-only, another machine's, incomplete" read_only

configured()
{
	two_groups
	settings 'activation { volume_list = [ "tt_vg/data", "tt_other" ] }'
	refused "$vg/data: is to be called data_torig .*activation/volume_list.*\"$vg/data_torig\"" "${by[@]}" --fast "$other/x"
	settings 'activation { auto_activation_volume_list = [ "tt_vg", "tt_other/x" ] }'
	refused "$other/x: .*auto_activation_volume_list.*\"$other/x_tvol\"" "${by[@]}" --fast "$other/x"
	settings 'activation { read_only_volume_list = "tt_other/x_tvol" }'
	refused "$other/x: .*read_only_volume_list" "${by[@]}" --fast "$other/x"
	settings 'activation { volume_list = [ "@dm-tier", "tt_vg" ] }'
	ctl_code 0 "${by[@]}" --fast "$other/x" --dry-run
	unset LVM_SYSTEM_DIR
	data check
}
test_case "lists of lvm.conf that have the old name alone" configured

# Anything that LVM itself would refuse, with its reason.
tried()
{
	two_groups
	mkdir -p "$tmp/bin"
	printf '#!/bin/sh\necho "  no such option"; echo "  Run \\`lvcreate --help'"'"' for more information."; exit 3\n' >"$tmp/bin/lvcreate"
	chmod +x "$tmp/bin/lvcreate"
	PATH=$tmp/bin:$PATH refused "$vg/data: lvm would not do its part: no such option. .*work: lvcreate --test" \
		"${by[@]}" --fast "$other/x"
}
test_case "whatever LVM refuses by --test, with its reason" tried

# back: a set of given volumes, in two groups
back()
{
	two_groups
	lv m 4m "$vg" "${loops[0]}"
	lv w 8m "$vg" "${loops[1]}"
	ctl "${by[@]}" --fast "$other/x" --fast "$vg/w" --metadata "$vg/m" --policy static
	look
}

revert_names()
{
	back
	# A snapshot of the empty volume that keeps the name
	lv snap 1m -an -s "$vg/data"
	look
	refused "$vg/snap: is a snapshot of the empty volume that keeps the name of $vg/data" revert -q "$vg/data"
	refused "$vg/snap: is a snapshot" destroy -q -y "$vg/data"
	ctl_code 3 status "$vg/data"
	matches "$vg/snap is a snapshot of the empty volume.*: lvremove $vg/snap" "$output"
	lvremove -q -y "$vg/snap" >/dev/null
	# Another volume has the name that is to be given back.
	lv x 1m -an -Zn -Wn "$other"
	lv y 8m "$vg" "${loops[1]}"
	look
	refused "$other/x: is another volume by now, .*$other/x_tvol.* lvrename $other x other" revert -q "$vg/data"
	refused "$other/x: is another volume" remove -q "$vg/data" 0
	refused "$other/x: is another volume" replace -q "$vg/data" 0 "$vg/y"
	refused "$other/x: is another volume" destroy -q -y "$vg/data"
	lvrename -q "$other" x z >/dev/null
	lvrename -q "$vg" data empty >/dev/null
	lv data 1m -an -Zn -Wn "$vg"
	look
	refused "$vg/data: is another volume by now" revert -q "$vg/data"
	lvremove -q -y "$vg/data" >/dev/null
	lvrename -q "$vg" empty data >/dev/null
	dmsetup create "$vg-data_trevert" --table "0 8 zero"
	look
	refused "$vg-data_trevert.* dmsetup rename" revert -q "$vg/data"
	dmsetup remove "$vg-data_trevert"
	data check
	ctl_code 0 revert -q "$vg/data"
	same "data m w y " "$(lvm_names)"
	data check
}
test_case "revert, remove, replace and destroy with names that are taken, and a snapshot" revert_names

back_read_only()
{
	back
	vgcfgbackup -q -f "$tmp/cfg" "$vg" >/dev/null
	sed '/RESIZEABLE/s/, "WRITE"//' "$tmp/cfg" >"$tmp/cfg.ro"
	vgcfgrestore -q -y -f "$tmp/cfg.ro" "$vg" >/dev/null
	look
	refused "its volume group is read-only" revert -q "$vg/data"
	refused "its volume group is read-only" destroy -q -y "$vg/data"
	refused "its volume group is read-only" resize -q --size 25m "$vg/data"
	vgcfgrestore -q -y -f "$tmp/cfg" "$vg" >/dev/null
	# Another machine takes the group, and does not see that the set is in use here.
	sed '/RESIZEABLE/a system_id = "elsewhere"' "$tmp/cfg" >"$tmp/cfg.theirs"
	vgcfgrestore -q -y -f "$tmp/cfg.theirs" "$vg" >/dev/null
	look
	refused "$vg.* system id elsewhere" revert -q "$vg/data"
	refused "$vg.* system id elsewhere" destroy -q -y "$vg/data"
	ctl deactivate -q "$vg/data"
	look
	refused "$vg/data: the volume group $vg belongs to another machine, with the system id elsewhere" activate -q "$vg/data"
	vgchange -q -an --config "$foreign" "$vg" >/dev/null
	vgchange -q -y --systemid "" --config "$foreign" "$vg" >/dev/null
	vgchange -q -ay "$vg" >/dev/null
	ctl activate -q "$vg/data"
	# A disk of the group, without a part of the set, is missing.
	make_loops 8
	vgextend -q "$other" "${loops[3]}" >/dev/null
	losetup -d "${loops[3]}"
	unset 'loops[3]'
	udevadm settle
	look
	refused "$other/x_tvol: a physical volume of its group is missing" revert -q "$vg/data"
	refused "$other/x_tvol: a physical volume of its group is missing" remove -q "$vg/data" 0
	refused "$other/x_tvol: a physical volume of its group is missing" destroy -q -y "$vg/data"
	data check
	# A tier that is given up needs no name in the set.
	vgreduce -q --removemissing "$other" >/dev/null
	ctl_code 0 revert -q "$vg/data"
	data check
}
test_case "revert, remove, resize and destroy in groups that are read-only or incomplete" back_read_only

advice()
{
	local line words
	make_vg
	data write
	ctl convert -q "$vg/data" -c 64k --fast-size 8m --fast-pv "${loops[1]}" --policy static
	ctl deactivate -q "$vg/data"
	lvchange -q -an "$vg/data_tvol0"
	lvchange -q -ky "$vg/data_tvol0" >/dev/null
	settings 'activation { volume_list = [ "tt_vg/data_torig" ] }'
	ctl_code 3 status "$vg/data"
	note "$output"
	matches "$vg/data_tvol0 is a part of it and not active: add .$vg/data_tvol0. to activation/volume_list in lvm.conf, then lvchange -ay -K $vg/data_tvol0" "$output"
	unset LVM_SYSTEM_DIR
	ctl_code 3 status "$vg/data"
	line=${output##*not active: }
	same "lvchange -ay -K $vg/data_tvol0" "$line"
	read -ra words <<<"$line"
	"${words[@]}"
	ctl activate -q "$vg/data"
	data check
}
test_case "the advice to activate a volume that is left out by lvm.conf, or to be skipped" advice

run_tests
