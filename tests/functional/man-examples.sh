#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The examples in the manual pages do what they say they do: each is run, page by
# page, in order, on a set of its own.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"

pages=$here/../../man
[ -d "$pages" ] || skip_all "the manual pages are not here"
need lvm losetup

# examples PAGE: its commands, a line each
examples()
{
	sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$pages/tierctl-$1.8" |
		sed -n 's/\\fB//g; s/\\fR//g; s/\\-/-/g; /^tierctl /p'
}

# What stands in the pages, and what is here.
on_this_machine()
{
	sed -e "s#photos#$set#g; s#pictures#tt_other#g; s#/dev/nvme0n1#$fast#g; s#/dev/nvme1n1#$third#g" \
	    -e "s#/dev/sdb#$slow#g; s#/dev/sdc#$spare#g; s#/dev/sdd#${pv:-}#g" \
	    -e "s#0-1023#0-223#g; s#10g#10m#g; s#500m#2m#g"
}

tierctl() { ctl "$@"; }

run_page()
{
	local line n=0
	make_disks
	disk third 16
	disk spare 8
	if [ "$1" = add ]; then
		truncate -s 32M "$tmp/pv"
		pv=$(losetup -f --show "$tmp/pv")
		# The volume is a dm device of ours; what it lies on goes after it.
		trap 'set +e; trap - ERR; clean; losetup -d "$pv"' EXIT
		vgcreate -q -y -s 1m tt_vg "$pv" >/dev/null
	fi
	ctl create "$set" -q -m "$meta" -c 64k -L 14m --policy static "$fast" "$slow"
	write_chunks 0 60 1
	[ "$1" != wait ] || ctl evacuate -q --background "$set" 1
	while read -r line; do
		n=$((n + 1))
		line=$(on_this_machine <<<"$line")
		echo "+ $line"
		eval "$line"
	done < <(examples "$1")
	is "n > 0"
	check_chunks 0 60 1
}
for page in add admit evacuate get list migrate pause pin remove rename replace resize resume scan set \
	    status unpin wait; do
	test_case "examples of tierctl-$page(8)" run_page $page
done

run_tests
