# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154	# assigned by lib.sh
#
# Metadata that lies on the tiers. Sourced after lib-tierctl.sh.

mirror_devices() { dmsetup info -c --noheadings -o name | grep -c '^tier-.*-\(meta\|rmeta-.*\|rimage-.*\)$' || true; }
the_mirror() { dmsetup info -c --noheadings -o name | grep '^tier-.*-meta$'; }
# The health of its legs: AA, AD, ...
legs() { dmsetup status "$(the_mirror)" | cut -d' ' -f6; }
legs_are() { [ "$(legs)" = "$1" ]; }
# No leg is being filled.
synced() { [[ $(dmsetup status "$(the_mirror)") =~ \ AA\ ([0-9]+)/([0-9]+)\ idle ]] && [ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]; }
on_tiers() { json '.sets[0].metadata.on_tiers | tojson' status "$set"; }
