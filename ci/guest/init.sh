# Sourced in the guest before the command: what a machine's own start-up would
# have done.  $run is the folder ci/guest/run made for this guest.
# shellcheck shell=bash
touch "${run:?}/started"

# The same /usr once more, through a page cache this time: emulated, a program
# that is read from the host at each start takes many times as long.
mkdir -p /run/cached /run/usr/upper /run/usr/work
mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=524288,cache=loose usr /run/cached
mount -t overlay -o lowerdir=/run/cached,upperdir=/run/usr/upper,workdir=/run/usr/work overlay /usr

# Modules were out of sight until now (see ci/guest/run).
mkdir -p /lib/modules
mount --bind "$run/lib/modules" /lib/modules

# And a root of its own.  A link there, like /lib64, would be read from the host anew for
# each library that a program loads.  This goes for all that runs already, udevd included.
mount -t tmpfs -o mode=755 root /mnt
links=() dirs=()
for path in /*; do
	if [ -L "$path" ]; then links+=("$path"); elif [ -d "$path" ]; then dirs+=("$path"); fi
done
cp -P "${links[@]}" /mnt/
mkdir "${dirs[@]/#//mnt}"
for path in "${dirs[@]// /\\040}"; do
	[ "$path" = /mnt ] || echo "$path /mnt$path none rbind"
done >/run/root.fstab
mount --all --fstab /run/root.fstab
pivot_root /mnt /mnt/mnt
umount --lazy /mnt

modprobe -a virtio_blk configfs dm-mod
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
udevadm settle
dmesg -n 8
