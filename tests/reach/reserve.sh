#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# long
# timeout=600
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
# shellcheck source=lib-reserve.sh
. "$(dirname "$0")/lib-reserve.sh"

run_tests
