# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# Virtual machines that boot from a disk image: sourced by the tests beside it. Takes the options
# --kernel SERIES, --image DIR and --keep off the arguments.

# shellcheck source=../../ci/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../ci/lib.sh"

series=6.1 keep='' image=''
while :; do
	case ${1:-} in
	--kernel) series=$2; shift 2 ;;
	--image) image=$(realpath "$2"); shift 2 ;;
	--keep)	keep=1; shift ;;
	*)	break ;;
	esac
done
# need_rounds [N]: sets $rounds
need_rounds()
{
	rounds=${1:-10}
	if [[ ! $rounds =~ ^[1-9][0-9]*$ ]] || [ $# -gt 1 ]; then
		echo "usage: ${0##*/} [--kernel SERIES] [--image DIR] [--keep] [N]" >&2
		exit 2
	fi
}
limit=900	# seconds a boot may take: emulated, on a machine with other work

mkdir -p "$cache/run"
tmp=$(mktemp -d "$cache/run/boot.XXXXXX")
qemu_pid=
tidy()
{
	[ -z "$qemu_pid" ] || kill -9 "$qemu_pid" 2>/dev/null
	if [ -n "$keep" ]; then echo "# kept: $tmp"; else rm -rf "$tmp"; fi
}
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
share=$tmp/share
mkdir "$share"

passed=0 failed=0
point()
{
	local n=$((passed + failed + 1)) rc=$1
	shift
	if [ "$rc" = 0 ]; then
		passed=$((passed + 1))
		echo "ok $n - $*"
	else
		failed=$((failed + 1))
		echo "not ok $n - $*"
	fi
}
finish()
{
	echo "1..$((passed + failed))"
	echo "$passed passed, $failed failed, 0 skipped"
	[ "$failed" = 0 ]
	exit
}
# why: the last output of the guest.
why()
{
	local file
	for file in "$share/said.$boot" "$tmp/console.$boot"; do
		[ ! -e "$file" ] || tail -n 25 "$file" | tr -d '\r' | sed 's/^/# /'
	done
}

# make_image [OPTION]...: $image, unless one was given, and the machine for it
make_image()
{
	if [ -z "$image" ]; then
		image=$tmp/image
		if ! make -s -C "$top/userspace" ||
		   ! "$top/tests/boot/image" --kernel "$series" "$@" "$image" >"$tmp/image.log" 2>&1; then
			sed 's/^/# /' "$tmp/image.log"
			point 1 "a disk image is made"
			finish
		fi
	fi
	machine "$image/vmlinuz"
}

# machine KERNEL: $qemu, how QEMU is called for it, and $append, words for the kernel
machine()
{
	qemu=(qemu-system-x86_64 -nodefaults -display none -no-reboot -m 1G -smp 2)
	append=(console=ttyS0 loglevel=5 systemd.show_status=no oops=panic panic=-1)
	if locked kvm-probe kvm_works "$1"; then
		qemu+=(-accel kvm -cpu host)
	else
		qemu+=("${emulated_qemu[@]}")
		append+=("${emulated_kernel[@]}")
	fi
	qemu+=(-kernel "$1"
	       -virtfs "local,path=$share,mount_tag=share,security_model=none")
}

# drive NAME FILE [OPTION,...]: sets $drive, options of QEMU for a disk
drive() { drive=(-drive "if=none,id=$1,format=raw,file=$2${3:+,$3}" -device "virtio-blk-pci,drive=$1,serial=$1"); }

# launch INITRAMFS OPTIONS MODE WORD...: the next boot, with more options of QEMU, an array of that
# name, and more words for the kernel
boot=0
launch()
{
	local initramfs=$1 mode=$3
	local -n more=$2
	shift 3
	boot=$((boot + 1))
	TMPDIR=$tmp "${qemu[@]}" "${more[@]}" -initrd "$initramfs" \
		-append "${append[*]} boot_test=$mode:$boot $*" \
		-serial "file:$tmp/console.$boot" </dev/null >"$tmp/qemu.$boot" 2>&1 &
	qemu_pid=$!
	started=$SECONDS
}

# until_true SECONDS COMMAND...: false if COMMAND does not succeed in that time, or the guest ends
until_true()
{
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] && kill -0 "$qemu_pid" 2>/dev/null || return 1
		sleep 0.5
	done
}

# stop: the guest ends by itself
stop()
{
	local end=$((SECONDS + limit)) rc
	while kill -0 "$qemu_pid" 2>/dev/null; do
		if [ $SECONDS -ge $end ]; then
			echo "# the guest does not end"
			kill -9 "$qemu_pid"
		fi
		sleep 0.5
	done
	wait "$qemu_pid"
	rc=$?
	qemu_pid=
	return $rc
}

off()
{
	# Hides the shell's message about the kill.
	{ kill -9 "$qemu_pid"; stop; } 2>/dev/null
}

looked() { [ -s "$share/result.$boot" ]; }
# verdict: the guest found everything right, and its kernel log has no warning
verdict()
{
	if grep -aE "$alarming" "$tmp/console.$boot" >"$tmp/alarms"; then
		head -n 10 "$tmp/alarms" | tr -d '\r' | sed 's/^/# kernel: /'
		return 1
	fi
	if looked && [ "$(<"$share/result.$boot")" = ok ]; then
		# Checked already; the guest drops these at the next boot.
		find "$share" -name 'list.*' ! -name "list.*.$boot" -delete
		return 0
	fi
	[ ! -e "$share/result.$boot" ] || sed 's/^/# wrong: /' "$share/result.$boot"
	return 1
}

# clean_flag METADATA VALUE
clean_flag()
{
	"$top/userspace/tier_dump" -i "$1" >"$tmp/dump" && grep -q "clean=\"$2\"" "$tmp/dump"
}

# lines SET: files that were fsynced
lines() { wc -l <"$share/list.$1.$boot" 2>/dev/null || echo 0; }

# until_end DESCRIPTION: the guest looks at everything, and ends by itself
until_end()
{
	local rc
	until_true $limit looked
	stop && verdict
	rc=$?
	point $rc "$1 ($((SECONDS - started)) s)"
	[ $rc = 0 ] || why
	return $rc
}
