# shellcheck shell=bash
# Shared by the scripts of ci/. Sourced, never run.

# shellcheck disable=SC2034	# this and others are for whoever sources this file
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# All downloaded and unpacked files are here and can be fetched again.
cache=${DM_TIER_CACHE:-/var/cache/dm-tier}
# shellcheck disable=SC2034
all_series="6.1 6.12 7.x"
# The compiler of ci/setup/debug-kernel's kernels and of the modules for them.
# shellcheck disable=SC2034
debug_cc=gcc-12

# Lines of the kernel log that no test, however rough, may provoke.
# shellcheck disable=SC2034
alarming='WARNING:|BUG:|BUG |Oops|KASAN|KCSAN|KFENCE|KMSAN|UBSAN|Call Trace'
alarming+='|possible (circular|recursive|irq)|inconsistent lock state|suspicious RCU'
alarming+='|INFO: task .* blocked|rcu.*stall|soft lockup|hard LOCKUP|workqueue lockup'
alarming+='|general protection|unable to handle|invalid opcode|Kernel panic|divide error'
alarming+='|Objects remaining|still has objects|kmem_cache_destroy|Redzone|Poison overwritten'
alarming+='|list_(add|del) corruption|refcount_t:|scheduling while atomic|Bad page|bad page'
alarming+='|sleeping function called|page allocation failure|unreferenced object|kobject.*error'
alarming+='|recursive lock detected|dm_put_device call missing'

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$*"; exit 1; }

# kernel_dir SERIES: the folder of that kernel in the cache. A kernel of ci/setup/debug-kernel is
# built anew when its source or configuration changes.
kernel_dir()
{
	local version=none hash
	case $1 in
	debug|kcsan)
		[ ! -e "$cache/linux-source/version" ] || version=$(<"$cache/linux-source/version")
		hash=$(cd "$top/ci/setup/kernel-config" && sha256sum base.config "$1.config" | sha256sum)
		echo "$cache/kernels/$1-$version-${hash:0:12}" ;;
	*)
		echo "$cache/kernels/$1" ;;
	esac
}

# check_config WANTED CONFIG: does each line of the one hold in the other?
check_config()
{
	local line missing=()
	while read -r line; do
		case $line in
		"# CONFIG_"*" is not set")
			line=${line#\# }
			! grep -q "^${line%% *}=" "$2" || missing+=("${line%% *}=n") ;;
		CONFIG_*)
			grep -qxF "$line" "$2" || missing+=("$line") ;;
		esac
	done <"$1"
	[ ${#missing[@]} = 0 ] || die "not in force: ${missing[*]}"
}

# not_for SERIES FILE: why that test does not run on this kernel, or nothing
not_for()
{
	local words='debug kernel'
	case $1 in
	debug) words='stock kernels' ;;
	kcsan) words='stock kernels|debug kernel' ;;
	esac
	sed -nE "s/^# ($words) only: //p" "$2"
}

# locked NAME COMMAND...: runs COMMAND while it holds the lock NAME, so that two runs with the
# same cache do not unpack the same files at the same time.
locked()
{
	local name=$1 fd rc
	shift
	mkdir -p "$cache/lock"
	exec {fd}>"$cache/lock/$name"
	flock "$fd"
	"$@"		# not in a condition, which would switch off set -e inside
	rc=$?
	exec {fd}>&-
	return "$rc"
}

# kvm_works VMLINUZ: does a stock kernel boot under KVM here? /dev/kvm may be there and hang
# every guest. A kernel without a root file system panics once it is up, which is proof enough.
# The answer holds until this machine reboots.
kvm_works()
{
	local answer
	mkdir -p "$cache/run"
	answer=$cache/run/kvm-$(</proc/sys/kernel/random/boot_id)
	case ${DM_TIER_KVM:-} in
	yes) return 0 ;;
	no) return 1 ;;
	esac
	[ -w /dev/kvm ] || return 1
	if [ ! -s "$answer" ]; then
		(timeout -k 1 8 qemu-system-x86_64 -accel kvm -cpu host -m 512M \
			-nodefaults -display none -serial stdio -no-reboot \
			-kernel "$1" -append 'console=ttyS0 panic=-1' \
			</dev/null || true) 2>/dev/null |
		if grep -q 'Unable to mount root fs'; then echo yes; else echo no; fi >"$answer"
	fi
	[ "$(<"$answer")" = yes ]
}

# Settings without KVM. A plain CPU boots and runs faster than one with all features; a clock
# read from the TSC avoids a call of QEMU at each reading; and programs that always lie at the
# same address are translated only once. Emulated CPUs share one thread and take turns: in
# threads of their own, a CPU that waits for another would spin, which takes three times as long.
# DM_TIER_TCG=multi is for races that need CPUs at the same time. cmpxchg16b is left out: after
# it QEMU 7.2 may take the contents of a register for the flags, and if an interrupt comes right
# then the kernel single-steps, and warns about that. The kernel's test of its timer counts
# interrupts over a moment, in which a busy machine may give QEMU no time for any: it would panic.
# shellcheck disable=SC2034
emulated_qemu=(-accel "tcg,thread=${DM_TIER_TCG:-single}"
	       -cpu 'qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+aes,+pclmulqdq,+rdrand,+invtsc,-cx16')
# shellcheck disable=SC2034
emulated_kernel=(mitigations=off tsc=reliable norandmaps no_timer_check)

# mirror main
# security: the archive in this machine's own apt configuration, or Debian's public archive.
mirror()
{
	local kind=$1 uri
	# shellcheck disable=SC2016	# apt expands these
	uri=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
	      case $kind in
	      security)	grep -E -m1 'security/?$' ;;
	      *)	grep -E -m1 '^Debian |/debian/?$' ;;
	      esac) || true
	uri=${uri##* }
	case ${uri:-none-$kind} in
	none-security)	echo http://deb.debian.org/debian-security ;;
	none-*)		echo http://deb.debian.org/debian ;;
	*)		echo "${uri%/}" ;;
	esac
}

# private_apt DIR SUITE...: makes apt use only SUITEs, with its state in DIR, not /etc/apt and
# the machine's package database. Sets apt_options.
private_apt()
{
	local dir=$1 suite uri
	shift
	mkdir -p "$dir/lists/partial" "$dir/archives/partial"
	for suite; do
		case $suite in
		*-security) uri=$(mirror security) ;;
		*) uri=$(mirror main) ;;
		esac
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main"
	done >"$dir/sources.list"
	# shellcheck disable=SC2034
	apt_options=(
		-q
		-o "Dir::Etc::sourcelist=$dir/sources.list"
		-o Dir::Etc::sourceparts=/dev/null
		-o "Dir::State::lists=$dir/lists"
		-o Dir::State::status=/dev/null
		-o "Dir::Cache=$dir"
		-o APT::Sandbox::User=root
	)
}

# tap_count FILE: counts in the output of a TAP program, as "passed failed skipped planned
# bailed"; planned is -1 without a plan.
tap_count()
{
	awk '
	BEGIN { planned = -1 }
	/^1\.\.0/ { planned = 0; skip++; next }
	/^1\.\.[0-9]+/ { planned = substr($1, 4) + 0 }
	/^ok / || $0 == "ok" { if ($0 ~ /# *[Ss][Kk][Ii][Pp]/) skip++; else pass++ }
	/^not ok/ { if ($0 ~ /# *TODO/) skip++; else fail++ }
	/^Bail out!/ { bail = 1 }
	END { print pass + 0, fail + 0, skip + 0, planned, bail + 0 }' "$1"
}
