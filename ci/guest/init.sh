# Sourced in the guest before the command: does what the start-up of a machine does.
# $run is the folder that ci/guest/run made for this guest, $top the repository.
# shellcheck shell=bash
touch "${run:?}/started"

# Mounts /usr a second time, with a page cache: in an emulated guest a program starts many
# times slower if it is read from the host at each start.
mkdir -p /run/cached
mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=524288,cache=loose usr /run/cached

# in_memory DIR LOWER: mounts LOWER at DIR, with copies in memory of the files that $run/often
# lists.  Opening any other file, also a library, asks the host several times.
in_memory()
{
	local own=/run/in-memory$1
	mkdir -p "$own"/{upper,work}
	(cd "$2" && sed -n "s|^$1/||p" "$run/often" | xargs -rd '\n' cp -a --parents -t "$own/upper")
	mount -t overlay -o "lowerdir=$2,upperdir=$own/upper,workdir=$own/work" overlay "$1"
}
in_memory /usr /run/cached
for dir in "${top:?}"/{userspace,tests}; do in_memory "$dir" "$dir"; done
touch -ac /etc/ld.so.cache /etc/lvm/lvm.conf	# copies them up: /etc is an overlay already

# ci/guest/run hid the modules until here.
mkdir -p /lib/modules
in_memory /lib/modules "$run/lib/modules"

# Replaces the root by one in memory: a link there, like /lib64, would be read from the host
# for each library that a program loads.  pivot_root also moves the processes that run already,
# udevd among them.
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
