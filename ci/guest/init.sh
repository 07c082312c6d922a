# Sourced in the guest before the command: what a machine's own start-up would
# have done.  $run is the folder ci/guest/run made for this guest, $top the repository.
# shellcheck shell=bash
touch "${run:?}/started"

# The same /usr once more, through a page cache this time: emulated, a program
# that is read from the host at each start takes many times as long.
mkdir -p /run/cached
mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=524288,cache=loose usr /run/cached

# in_memory DIR LOWER: LOWER is seen at DIR, and what $run/often lists of it lies in memory.
# For each file that is opened the host is asked several times, for each library, too.
in_memory()
{
	local own=/run/in-memory$1
	mkdir -p "$own"/{upper,work}
	(cd "$2" && sed -n "s|^$1/||p" "$run/often" | xargs -d '\n' cp -a --parents -t "$own/upper")
	mount -t overlay -o "lowerdir=$2,upperdir=$own/upper,workdir=$own/work" overlay "$1"
}
in_memory /usr /run/cached
for dir in "${top:?}"/{userspace,tests}; do in_memory "$dir" "$dir"; done
touch -ac /etc/ld.so.cache /etc/lvm/lvm.conf	# /etc is an overlay already

# Modules were out of sight until now (see ci/guest/run).
mkdir -p /lib/modules
in_memory /lib/modules "$run/lib/modules"

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
