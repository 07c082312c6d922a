# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced in a guest: packages of build/packages (ci/setup/unpacked), as if they were installed.

# usr_with FOLDER...: what these folders have in usr lies over /usr
usr_with()
{
	local lower
	lower=$(printf '%s/usr:' "$@")
	mkdir -p /run/unpacked/modules
	mount --bind /usr/lib/modules /run/unpacked/modules
	mount -t overlay -o "lowerdir=$lower/usr" overlay /usr
	mount --bind /run/unpacked/modules /usr/lib/modules
}
