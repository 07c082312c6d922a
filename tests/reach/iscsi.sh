#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# long
# timeout=1200
# The initiator, when it lets go of a target:
# provokes: WQ_MEM_RECLAIM iscsi_ctrl_.* is flushing !WQ_MEM_RECLAIM pm:pm_runtime_work
# packages: open-iscsi libopeniscsiusr libisns0|libisns0t64
#
# Tiers on another machine by iSCSI, between the kernel's own target (LIO) and open-iscsi.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=../functional/lib-tierctl.sh
. "$here/lib-tierctl.sh"
# shellcheck source=lib-reach.sh
. "$(dirname "$0")/lib-reach.sh"
# shellcheck source=lib-iscsi.sh
. "$(dirname "$0")/lib-iscsi.sh"

cases_of_a_disk

run_tests
