# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154	# used by the tests, assigned by lib.sh
#
# NVMe over TCP, between the kernel's own target and host: what lib-reach.sh asks of a transport.

modprobe -a nvmet nvmet-tcp nvme-tcp 2>/dev/null || skip_all "there is no nvmet-tcp or nvme-tcp"
nvmet=/sys/kernel/config/nvmet
port=$nvmet/ports/1

serve()
{
	local subsystem=$nvmet/subsystems/tt$1
	mkdir "$subsystem" "$subsystem/namespaces/1"
	echo 1 >"$subsystem/attr_allow_any_host"
	echo "$2" >"$subsystem/namespaces/1/device_path"
	[ -z "${reservations-}" ] || echo 1 >"$subsystem/namespaces/1/resv_enable"
	echo 1 >"$subsystem/namespaces/1/enable"
	if [ ! -d "$port" ]; then
		mkdir "$port"
		echo ipv4 >"$port/addr_adrfam"
		echo tcp >"$port/addr_trtype"
		echo 127.0.0.1 >"$port/addr_traddr"
		echo 4420 >"$port/addr_trsvcid"
	fi
	ln -s "$subsystem" "$port/subsystems/"
}

# controllers N: their directories in sysfs
controllers() { grep -lx "tt$1" /sys/class/nvme/nvme*/subsysnqn 2>/dev/null | sed 's|/subsysnqn$||'; }

# device_of N: the one that has a capacity
device_of()
{
	local subsystem dir
	for subsystem in /sys/class/nvme-subsystem/*/; do
		[ "$(<"$subsystem/subsysnqn")" = "tt$1" ] || continue
		for dir in "$subsystem"nvme*n*; do
			[ ! -e "/dev/${dir##*/}" ] || attached=/dev/${dir##*/}
		done
	done
	[ -n "$attached" ]
}

attach()
{
	attached=
	echo "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=tt$1,reconnect_delay=2,ctrl_loss_tmo=600" >/dev/nvme-fabrics
	wait_for 30 device_of "$1"
}

detach()
{
	local dir
	for dir in $(controllers "$1"); do echo 1 >"$dir/delete_controller"; done
}

reread()
{
	local enable=$nvmet/subsystems/tt$1/namespaces/1/enable
	echo 0 >"$enable"
	echo 1 >"$enable"
}

hang_up() { rm "$port"/subsystems/*; }

answer()
{
	local subsystem
	for subsystem in "$nvmet"/subsystems/tt*; do
		[ ! -d "$subsystem" ] || [ -e "$port/subsystems/${subsystem##*/}" ] ||
			ln -s "$subsystem" "$port/subsystems/"
	done
}

end_all()
{
	local dir n
	for n in 0 1 2; do detach $n; done
	for dir in "$nvmet"/subsystems/tt*; do
		[ -d "$dir" ] || continue
		rm -f "$port/subsystems/${dir##*/}"
		rmdir "$dir/namespaces/1" "$dir"
	done
	[ ! -d "$port" ] || rmdir "$port"
}
