#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# called by name
# long
# timeout=600
# The initiator, when it lets go of a target:
# provokes: WQ_MEM_RECLAIM iscsi_ctrl_.* is flushing !WQ_MEM_RECLAIM pm:pm_runtime_work
# packages: open-iscsi libopeniscsiusr libisns0|libisns0t64
#
# Reservations of SCSI disks, by iSCSI.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=../functional/lib-tierctl.sh
. "$here/lib-tierctl.sh"
# shellcheck source=lib-reach.sh
. "$(dirname "$0")/lib-reach.sh"
# shellcheck source=lib-iscsi.sh
. "$(dirname "$0")/lib-iscsi.sh"
# again N: machine one logs in anew, which is another nexus for the target
has_paths=1
again()
{
	local old
	admin -m node -T "$(name "$1")" -p "$portal" -I one --logout
	attached=
	admin -m node -T "$(name "$1")" -p "$portal" -I one --login
	wait_for 30 device_of "$1" one
	read -ra mine <<<"${disks[one]}"
	old=${mine[$1]}
	unset "numbers[$old]"
	mine[$1]=$attached
	disks[one]="${mine[*]}"
}
# shellcheck source=lib-reserve.sh
. "$(dirname "$0")/lib-reserve.sh"

run_tests
