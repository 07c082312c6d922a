#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# long
# timeout=1200
#
# Tiers on another machine by NVMe over TCP, between the kernel's own target and host.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
turns=3
# shellcheck source=../functional/lib-tierctl.sh
. "$here/lib-tierctl.sh"
# shellcheck source=lib-reach.sh
. "$(dirname "$0")/lib-reach.sh"
# shellcheck source=lib-nvme.sh
. "$(dirname "$0")/lib-nvme.sh"

test_case "the link stalls for 5 s" happens "link stalled" stalls 5
long_case "the link stalls for 30 s" happens "link stalled" stalls 30
long_case "the link stalls for 120 s" happens "link stalled" stalls 120
test_case "the server is away for 20 s" happens "server away" drops 20
test_case "the link is slow" happens "link slow" slow 20
test_case "errors" broken stores_fail stores_work
test_case "a device comes back under another name" renamed "detach 2" "attach 2"
test_case "a device comes back smaller" shrunk

run_tests
