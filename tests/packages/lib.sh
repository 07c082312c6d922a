# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
#
# Debians of the release $suite: one in which packages are built, $root from the start, and others.
# Sourced by suite, and by ../boot/packages, which boots one.

case $suite in bookworm|trixie) ;; *) die "usage: ${0##*/} bookworm|trixie" ;; esac
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$top/dm-tier/dkms.conf")

if [ -z "${tmp:-}" ]; then
	mkdir -p "$cache/run"
	tmp=$(mktemp -d "$cache/run/packages.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
fi

bootstrap()
{
	[ ! -e "$base/complete" ] || return 0
	say "unpacking a $suite: $1"
	rm -rf "$base"
	mkdir -p "$base"
	if ! debootstrap --variant=minbase --include="$2" "$suite" "$base/root" "$(mirror main)" \
		>"$base/log" 2>&1; then
		tail -n 20 "$base/log" >&2
		die "debootstrap failed"
	fi
	rm -rf "$base"/root/var/cache/apt/archives/*.deb
	touch "$base/complete"
}
# unpack NAME PACKAGES: a Debian with these (separated by commas), of the cache; $root from now on. It
# is of that release without its security updates: a kernel that an update replaces comes with it.
unpack()
{
	base=$cache/$1-$suite-$(sha256sum <<<"$2" | cut -c1-12)
	locked "$1-$suite" bootstrap "$1" "$2" || exit
	root=$tmp/$1
	cp -a "$base/root" "$root"
	printf 'deb %s %s main\ndeb %s %s-security main\n' "$(mirror main)" "$suite" "$(mirror security)" "$suite" \
		>"$root/etc/apt/sources.list"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod +x "$root/usr/sbin/policy-rc.d"
}
needed=build-essential,ca-certificates,initramfs-tools,linux-image-amd64,linux-headers-amd64,dkms,openssl
needed+=,bpftool,pahole,dmsetup,udev,lvm2,systemd-sysv,$(sed -n '/^Build-Depends:/,/^$/s/^ \([a-z0-9-]*\).*/\1/p' \
	"$top/ci/package/debian/control" | paste -sd,),debhelper
unpack packages "$needed"

# within COMMAND...: in that Debian, with a /dev of its own
within()
{
	# shellcheck disable=SC2016	# the inner shell expands these
	unshare --mount --pid --fork --kill-child -- bash -c '
		mount -t proc proc "$1/proc" && mount -t tmpfs -o mode=755 dev "$1/dev" || exit
		for node in null zero full random urandom; do
			touch "$1/dev/$node"
			mount --bind "/dev/$node" "$1/dev/$node"
		done
		ln -s /proc/self/fd "$1/dev/fd"
		exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive "${@:2}"' bash "$root" "$@" </dev/null
}
apt_install() { within apt-get -qq -y --no-install-recommends -o APT::Sandbox::User=root install "$@"; }

# build VERSION: packages of that version, in /root/VERSION
build()
{
	local dir=$root/root/$1/dm-tier-$1
	mkdir -p "$dir"
	"$top/ci/package/source" "$dir" || return
	cp -r "$top/ci/package/debian" "$dir"
	sed -i "s/(${version//./\\.})/($1)/" "$dir/debian/changelog"
	# The modules of another version differ.
	[ "$1" = "$version" ] || echo "MODULE_INFO(made_as, \"$1\");" >>"$dir/dm-tier/target.c"
	sed -i "s/^PACKAGE_VERSION=.*/PACKAGE_VERSION=\"$1\"/" "$dir/dm-tier/dkms.conf"
	within sh -c "cd /root/$1/dm-tier-$1 && dpkg-buildpackage -b -uc -us" &&
	[ -e "$root/root/$1/dm-tier-dkms_$1_all.deb" ]
}
debs() { within sh -c "ls /root/$1/dm-tier-dkms_*.deb /root/$1/tierctl_*.deb"; }
