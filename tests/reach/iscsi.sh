#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# long
# timeout=1200
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

test_case "the link stalls for 5 s" happens "link stalled" stalls 5
long_case "the link stalls for 30 s" happens "link stalled" stalls 30
long_case "the link stalls for 120 s" happens "link stalled" stalls 120
test_case "the server is away for 20 s" happens "server away" drops 20
test_case "the link is slow" happens "link slow" slow 20
test_case "errors" broken stores_fail stores_work
test_case "a device comes back under another name" renamed "detach 2" "attach 2"
test_case "a device comes back smaller" shrunk

run_tests
