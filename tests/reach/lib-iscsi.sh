# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154	# used by the tests, assigned by lib.sh
#
# iSCSI, between the kernel's own target (LIO) and open-iscsi: what lib-reach.sh asks of a transport.
# A file that uses it names the packages of iscsi.sh.

modprobe -a target_core_mod target_core_iblock iscsi_target_mod iscsi_tcp sd_mod 2>/dev/null ||
	skip_all "there is no iSCSI target, or no initiator"
packages=$here/../../build/packages
[ -d "$packages/open-iscsi" ] || skip_all "ci/setup/unpacked open-iscsi was not called"
export LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(echo "$packages"/{libopeniscsiusr,libisns0}/usr/lib/*-linux-gnu | tr ' ' :)
PATH=$packages/open-iscsi/sbin:$packages/open-iscsi/usr/sbin:$PATH	# Debian 12, Debian 13
mkdir -p /etc/iscsi /var/target/pr		# the target keeps reservations there
sed 's|^iscsid.startup.*||' "$packages/open-iscsi/etc/iscsi/iscsid.conf" >/etc/iscsi/iscsid.conf
echo "InitiatorName=iqn.2026-01.test:here" >/etc/iscsi/initiatorname.iscsi

target=/sys/kernel/config/target
portal=127.0.0.1:3260
name() { echo "iqn.2026-01.test:tt$1"; }
admin() { iscsiadm "$@" >"$tmp/iscsiadm" 2>&1; }
iscsid || skip_all "iscsid does not start"

serve()
{
	local store=$target/core/iblock_$1/tt group
	group=$target/iscsi/$(name "$1")/tpgt_1
	mkdir -p "$store"
	echo "udev_path=$2" >"$store/control"
	echo 1 >"$store/enable"
	printf '%08d\n' "$1" >"$store/wwn/vpd_unit_serial"
	mkdir -p "$group/lun/lun_0" "$group/np/$portal"
	ln -s "$store" "$group/lun/lun_0/tt"
	echo 0 >"$group/attrib/authentication"
	echo 1 >"$group/attrib/generate_node_acls"
	echo 0 >"$group/attrib/demo_mode_write_protect"
	echo 1 >"$group/enable"
}

# device_of N WHO
device_of()
{
	local session dir
	attached=
	for session in /sys/class/iscsi_session/session*; do
		[ "$(<"$session/targetname")" = "$(name "$1")" ] || continue
		[ "$(<"$session/initiatorname")" = "iqn.2026-01.test:$2" ] || continue
		for dir in "$session"/device/target*/*/block/*; do
			[ ! -b "/dev/${dir##*/}" ] || attached=/dev/${dir##*/}
		done
	done
	[ -n "$attached" ]
}

# attach N [WHO]: as that initiator, who is "here"
attach()
{
	local who=${2:-here}
	admin -m iface -I "$who" -o new || true		# it is there already
	admin -m iface -I "$who" -o update -n iface.initiatorname -v "iqn.2026-01.test:$who"
	admin -m node -T "$(name "$1")" -p "$portal" -I "$who" -o new
	admin -m node -T "$(name "$1")" -p "$portal" -I "$who" --login
	wait_for 30 device_of "$1" "$who"
}

detach()
{
	admin -m node -T "$(name "$1")" -p "$portal" --logout
	admin -m node -T "$(name "$1")" -p "$portal" -o delete
}

reread() { :; }

switch()
{
	local group
	for group in "$target"/iscsi/*/tpgt_1; do
		[ ! -d "$group" ] || echo "$1" >"$group/enable"
	done
}
hang_up() { switch 0; }
answer() { switch 1; }

end_all()
{
	local n group
	for n in 0 1 2; do
		detach $n
		group=$target/iscsi/$(name $n)/tpgt_1
		[ -d "$group" ] || continue
		rm -f "$group/lun/lun_0/tt"
		rmdir "$group/lun/lun_0" "$group/np/$portal" "$group" "${group%/*}" \
			"$target/core/iblock_$n/tt" "$target/core/iblock_$n"
	done
}

over() { pkill -x iscsid; on_exit; }
trap over EXIT
