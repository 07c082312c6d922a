# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154	# used by the tests, assigned by lib.sh
#
# The udev rules of the repository with the udevd of the guest, until the file ends.  Sourced
# after lib.sh by files with a line "# udev".

need udevadm
udevadm control --ping 2>/dev/null || skip_all "udevd does not run"
[ ! -d /run/systemd/system ] || skip_all "systemd runs here: tests/boot is for that"
source=$here/../../userspace
[ -x "$source/tier_id" ] || skip_all "tier_id is not built"

rules=/run/udev/rules.d
mkdir -p "$rules"
for file in 57-dm-tier 61-dm-tier; do
	sed "s|@SBINDIR@|$(realpath "$source")|g; s|@UDEVDIR@|$(realpath "$source")|g" \
		"$source/udev/$file.rules.in" >"$rules/$file.rules"
done
udevadm control --reload
without_rules()
{
	rm -f "$rules"/57-dm-tier.rules "$rules"/61-dm-tier.rules "$rules"/*-tt-marks.rules
	udevadm control --reload
	on_exit
}
trap without_rules EXIT

# An event is over before the activation that it has started.
settle()
{
	udevadm settle --timeout=$((60 * patience))
	wait_for 60 no_call_left
}
no_call_left() { ! pgrep -f 'tierctl activate --auto' >/dev/null; }
active() { [ -e "$dev" ]; }
