#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2317	# the cases are called by name
# long
# timeout=600
#
# Reservations of NVMe disks. The kernel's own target knows them since 6.13.

# shellcheck source=../functional/lib.sh
. "$(dirname "$0")/../functional/lib.sh"
# shellcheck source=../functional/lib-tierctl.sh
. "$here/lib-tierctl.sh"
# shellcheck source=lib-reach.sh
. "$(dirname "$0")/lib-reach.sh"
# One host that connects twice would take the two for paths of one device.
modprobe -qr nvme-tcp nvme-fabrics nvme nvme-core || true
modprobe nvme-core multipath=N
# shellcheck source=lib-nvme.sh
. "$(dirname "$0")/lib-nvme.sh"
grep -qx N /sys/module/nvme_core/parameters/multipath || skip_all "nvme-core cannot be loaded anew"
over()
{
	on_exit
	modprobe -qr nvme-tcp nvme-fabrics nvme-core
}

# attach N [WHO]: as that host
attach()
{
	local id
	printf -v id '%012d' "$([ "${2:-here}" = here ] && echo 1 || echo 2)"
	attached=
	echo "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=tt$1,hostnqn=nqn.2026-01.test:${2:-here},hostid=00000000-0000-0000-0000-$id" >/dev/nvme-fabrics
	wait_for 30 device_of_host "$1" "${2:-here}"
}
device_of_host()
{
	local controller dir
	for controller in $(controllers "$1"); do
		[ "$(<"$controller/hostnqn")" = "nqn.2026-01.test:$2" ] || continue
		for dir in "$controller"/nvme*n*; do
			[ ! -b "/dev/${dir##*/}" ] || attached=/dev/${dir##*/}
		done
	done
	[ -n "$attached" ]
}
reservations=1

mkdir -p "$nvmet/subsystems/tt9/namespaces/1"
[ -e "$nvmet/subsystems/tt9/namespaces/1/resv_enable" ] || reservations=
rmdir "$nvmet/subsystems/tt9/namespaces/1" "$nvmet/subsystems/tt9"
if [ -z "$reservations" ]; then
	trap over EXIT
	nothing() { skip "nvmet of this kernel knows no reservations"; }
	test_case "reservations" nothing
	run_tests
fi
# shellcheck source=lib-reserve.sh
. "$(dirname "$0")/lib-reserve.sh"

run_tests
