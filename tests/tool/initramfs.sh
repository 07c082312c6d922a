#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The order of tierctl convert --at-boot, as the initramfs carries it out: once, for the volume with
# these UUIDs alone, and if it fails the old volume is there. LVM and tierctl are made up.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin" "$tmp/sbin"
ln -s "$(type -P true)" "$tmp/bin/udevadm"
ln -s "$(type -P true)" "$tmp/bin/sleep"

# A group with one volume; UUIDs and tags are in files. The calls that change something are kept.
cat >"$tmp/bin/lvm" <<'END'
#!/bin/sh
cd "$STATE" || exit
case $1 in
lvs)
	[ "$6" = "vg_uuid=\"$(cat vg)\" && lv_uuid=\"$(cat lv)\"" ] || exit 0
	case $4 in lv_full_name) echo "  sys/root" ;; lv_tags) echo "  other,$(cat tag)" ;; esac ;;
lvchange)
	echo "$*" >>calls
	[ -e full ] && exit 5
	: >tag ;;
esac
END
cat >"$tmp/sbin/tierctl" <<'END'
#!/bin/sh
cd "$STATE" || exit
[ "$1" != convert ] || { echo "tierctl $*" >>calls; [ "$2" = --abort ] || [ ! -e fails ] || exit 1; }
END
chmod 755 "$tmp/bin/lvm" "$tmp/sbin/tierctl"
sed -e "s|@SBINDIR@|$tmp/sbin|g; s|/etc/dm-tier|$tmp|g; s|/run/dm-tier|$tmp/run|g; s|/dev/console|$tmp/console|g" \
	"$top/userspace/initramfs/initramfs.in" >"$tmp/initramfs"
printf '%s\n' VG LV dm-tier.at-boot=1 sys/root --chunksize=64k --fast-size=1g >"$tmp/at-boot"

# boot: what a boot makes of the order, in $calls and $said
boot()
{
	rm -f "$tmp/calls"
	: >"$tmp/calls"
	STATE=$tmp PATH=$tmp/bin:$PATH sh "$tmp/initramfs" convert
	calls=$(paste -sd';' "$tmp/calls")
	said=$(<"$tmp/run/at-boot")
	[ "$said" = "$(grep -v '^dm-tier: converting a volume' "$tmp/console")" ] || said="not on the console"
}
# there VG LV TAG: the volume
there() { echo "$1" >"$tmp/vg"; echo "$2" >"$tmp/lv"; echo "$3" >"$tmp/tag"; rm -f "$tmp/console"; }
# is DESCRIPTION CALLS SAID
is()
{
	boot
	[ "$calls" = "$2" ] && [ "$said" = "$3" ] || printf '# %s\n' "calls: $calls" "said: $said"
	[ "$calls" = "$2" ] && [ "$said" = "$3" ]
	point $? "$1"
}

off="lvchange --deltag dm-tier.at-boot=1 sys/root"
order="tierctl convert --yes --chunksize=64k --fast-size=1g sys/root"
there VG LV dm-tier.at-boot=1
is "the order is carried out, after its tag has gone" "$off;$order" ""
is "once" "" "sys/root: was tried before: nothing is done"
for other in 'VX LV' 'VG LX'; do
	# shellcheck disable=SC2086	# two words
	there $other dm-tier.at-boot=1
	is "a volume of that name with other UUIDs stays ($other)" "" \
		"sys/root: the volume that was to be converted is not there: nothing is done"
done
there VG LV dm-tier.at-boot=2
is "another order's tag" "" "sys/root: was tried before: nothing is done"
there VG LV dm-tier.at-boot=1
touch "$tmp/fails"
is "if it fails, all is taken back, and said" "$off;$order;tierctl convert --abort --yes sys/root" "sys/root: was not converted"
is "and not tried again" "" "sys/root: was tried before: nothing is done"
there VG LV dm-tier.at-boot=1
touch "$tmp/full"
is "a tag that stays lets nothing begin" "$off" ""
finish
