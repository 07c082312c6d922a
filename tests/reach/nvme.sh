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

cases_of_a_disk

run_tests
