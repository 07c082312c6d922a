#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Wrong table lines on blank disks.  Each is refused with one line in the
# kernel log that says what is wrong, and no disk is written to.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

disks=("$meta" "$fast" "$slow" "$spare")
keep_disks=1
keep_dm=$set
# sysfs does not list the device before its first table.
trap 'dmsetup remove "$set" 2>/dev/null || true; on_exit' EXIT

# The disks stay for the whole file; so does an empty dm device to load into,
# which is faster than a new one for each line.
prepare()
{
	local disk
	if [ ! -b "$meta" ]; then
		disk meta 1
		disk fast 2
		disk slow 3
		disk spare 2
		disk zoned 8 zoned=1 zone_size=4 memory_backed=0
		dmsetup create "$set" --notable
	fi
	[ -e "$tmp/soiled" ] || return 0
	for disk in $(<"$tmp/soiled"); do
		blockdev --setrw "$disk"
		blkdiscard "$disk"
	done
	rm -f "$tmp/soiled" "$tmp/sums"
}

# soil DISK: the case changes DISK; it is made blank again before the next case.
soil()
{
	echo "$1" >>"$tmp/soiled"
	rm -f "$tmp/sums"
}

# refuse LENGTH REGEX WORD...: the words follow "tier" in the table line
refuse_length()
{
	local length=$1 want=$2 sums counts
	shift 2
	# The checksums after the last case are the checksums before this case.
	[ -e "$tmp/sums" ] || checksums "${disks[@]}" >"$tmp/sums"
	sums=$(<"$tmp/sums")
	counts=$(write_counts "${disks[@]}")
	trap 'dmsetup clear "$set"' EXIT	# in case the table was loaded in spite of all
	refused "$want" dmsetup load "$set" --table "0 $length tier $*"
	same "$counts" "$(write_counts "${disks[@]}")" "writes"
	checksums "${disks[@]}" >"$tmp/sums"
	same "$sums" "$(<"$tmp/sums")" "contents"
	same None "$(dmsetup info -c --noheadings -o tables_loaded "$set")" "tables"
	trap - EXIT
}

refuse()
{
	prepare
	refuse_length "$capacity" "$@"
}

# Places of fast 16, slow 32; two are the reserve.
capacity=$(((16 + 32 - 2) * 128))
good="$meta 128 2 $fast $slow"

# row DESCRIPTION REGEX WORD...
row() { test_case "$1" refuse "${@:2}"; }

row "nothing" 'argument' ''
row "only a metadata device" 'argument|chunk' "$meta"
row "no tiers" 'argument|tier' "$meta" 128
row "fewer tiers than their number" 'argument|tier|device' "$meta" 128 2 "$fast"
row "a number of tiers that takes in the feature count" 'device|tier' \
	"$meta" 128 3 "$fast" "$slow" 0 0 static 0
row "a number of tiers that leaves one over" 'feature' "$meta" 128 1 "$fast" "$slow" 0 0 static 0
row "no feature count" 'argument|feature' "$good"
row "no core argument count" 'argument|core' "$good" 0
row "no policy" 'argument|policy' "$good" 0 0
row "no policy argument count" 'argument|policy' "$good" 0 0 static
row "a word too many" 'argument|word|policy|extra|trailing' "$good" 0 0 static 0 extra
row "two words too many" 'argument|word|policy|extra|trailing' "$good" 0 0 static 0 migration_depth 4

row "metadata device that is not there" 'metadata' "/dev/tt_none 128 2 $fast $slow 0 0 static 0"
row "metadata device that is no path" 'metadata' "nonsense 128 2 $fast $slow 0 0 static 0"
row "metadata device missing, -" 'metadata' "- 128 2 $fast $slow 0 0 static 0"
row "metadata device that is a character device" 'metadata' "/dev/null 128 2 $fast $slow 0 0 static 0"

for size in abc 0 1 64 127 129 192 384 -128 +128x 128k 4194304 4294967424 \
	    18446744073709551744 '""' 1e3 0x80z; do
	row "chunk size $size" 'chunk' "$meta $size 2 $fast $slow 0 0 static 0"
done
row "chunk size larger than a tier" 'chunk|tier|small' "$meta 8192 2 $fast $slow 0 0 static 0"

for number in 0 -1 abc 4294967298 2x; do
	row "$number tiers" 'tier' "$meta 128 $number $fast $slow 0 0 static 0"
done
row "17 tiers" 'tier' "$meta 128 17 $fast $slow - - - - - - - - - - - - - - - 0 0 static 0"

row "first tier that is not there" 'tier' "$meta 128 2 /dev/tt_none $slow 0 0 static 0"
row "last tier that is not there" 'tier' "$meta 128 2 $fast /dev/tt_none 0 0 static 0"
row "a tier that is no path" 'tier' "$meta 128 2 $fast nonsense 0 0 static 0"
row "a tier that is a character device" 'tier' "$meta 128 2 $fast /dev/null 0 0 static 0"
row "a tier that is a folder" 'tier' "$meta 128 2 $fast /dev 0 0 static 0"
row "one tier twice" 'twice|same|more than once|already|duplicate' "$meta 128 2 $fast $fast 0 0 static 0"
row "one tier twice, not in sequence" 'twice|same|more than once|already|duplicate' \
	"$meta 128 3 $fast $slow $fast 0 0 static 0"
row "the metadata device as the first tier" 'metadata|twice|same' "$meta 128 2 $meta $slow 0 0 static 0"
row "the metadata device as the last tier" 'metadata|twice|same' "$meta 128 2 $fast $meta 0 0 static 0"
row "a missing tier of a set not made yet" 'missing|blank|format' "$meta 128 2 - $slow 0 0 static 0"
row "all tiers missing" 'missing|tier' "$meta 128 2 - - 0 0 static 0"

for number in abc -1 100 1 4294967296; do
	row "$number features, none given" 'feature|argument' "$good $number 0 static 0"
done
row "a feature that is not counted" 'core|feature|argument' "$good 0 paused 0 static 0"
row "two features counted as one" 'core|feature|argument' "$good 1 paused read_only 0 static 0"
row "an unknown feature" 'feature' "$good 1 fly 0 static 0"
row "an unknown feature after a known one" 'feature' "$good 2 paused fly 0 static 0"
row "a feature twice" 'twice' "$good 2 paused paused 0 static 0"
row "a feature in capitals" 'feature' "$good 1 Paused 0 static 0"
row "the beginning of a feature" 'feature' "$good 1 pause 0 static 0"
row "a feature with a tail" 'feature' "$good 1 paused2 0 static 0"
row "a feature with a value it does not take" 'feature' "$good 1 paused:1 0 static 0"
row "an unknown feature with a value" 'feature' "$good 1 fly:high 0 static 0"

for number in abc -1 100 3; do
	row "$number core arguments" 'core|argument' "$good 0 $number migration_depth 4 static 0"
done
row "an odd number of core arguments" 'core|argument|value' "$good 0 1 migration_depth static 0"
row "a core argument that is not counted" 'policy|argument' "$good 0 0 migration_depth 4 static 0"
row "an unknown key" 'migration_width|key|argument|unknown' "$good 0 2 migration_width 4 static 0"
row "an unknown key after a known one" 'migration_width|key|argument|unknown' \
	"$good 0 4 migration_depth 4 migration_width 4 static 0"
row "a key twice" 'twice' "$good 0 4 migration_depth 4 migration_depth 5 static 0"
row "a feature as a key" 'paused|key|argument|unknown' "$good 0 2 paused 1 static 0"
for pair in "migration_depth 0" "migration_depth 257" "migration_depth -1" "migration_depth x" \
	    "migration_depth 4x" "migration_depth 4.5" "migration_depth 18446744073709551617" \
	    "migration_bandwidth 4294967296" "migration_bandwidth -1" "migration_bandwidth 64m" \
	    "migration_bandwidth fast" "latency_guard 1001" "latency_guard -1" \
	    "latency_guard 10%" "heat_interval 0" "heat_interval 86401" "heat_interval 10m" \
	    "migration_min 4294967296" "migration_min -1" "migration_min 4m"; do
	row "core argument $pair" "${pair% *}" "$good 0 2 $pair static 0"
done
row "migration_min above migration_bandwidth" 'migration_min must be at most migration_bandwidth, 999, not 1000' \
	"$good 0 4 migration_min 1000 migration_bandwidth 999 static 0"
for pair in "tier0.endurance 4294967296" "tier0.endurance -1" "tier0.endurance much" \
	    "tier1.reserve 4294967296" "tier1.reserve -1" "tier1.reserve x" "tier0.landing 4" "tier0.residence 4294967296" \
	    "tier0.landing -1" "tier0.landing yes" "tier0.latency 4000001" "tier0.latency -1" "tier1.latency 8ms" "tier0.watermark 51" "tier0.quiet 65536" "tier0.quiet 10m" "tier2.reserve 1" "tier16.reserve 1" \
	    "tier256.reserve 1" "tier4294967296.reserve 1" "tier-1.reserve 1" "tier.reserve 1" \
	    "tierx.reserve 1" "tier0.speed 1" "tier0. 1" "tier0 1" "tier0reserve 1" \
	    "tier00x.reserve 1" "reserve 1" "landing 0"; do
	row "tier argument $pair" 'tier|key|argument|unknown' "$good 0 2 $pair static 0"
done

row "an unknown policy" 'policy' "$good 0 0 mru 0"
row "an empty policy name" 'policy|argument' "$good 0 0 '' 0"
row "a policy with a path in its name" 'policy' "$good 0 0 ../heat 0"
row "a policy name of 200 characters" 'policy' "$good 0 0 $(printf 'x%.0s' {1..200}) 0"
for number in abc -1 100 2; do
	row "$number policy arguments, none given" 'policy|argument' "$good 0 0 static $number"
done
row "an odd number of policy arguments" 'policy|argument' "$good 0 0 heat 1 headroom"
row "a key for a policy without keys" 'headroom|key|argument|policy' "$good 0 0 static 2 headroom 2"
row "an unknown policy key" 'warmth|key|argument|policy' "$good 0 0 heat 2 warmth 2"
row "a core key among the policy's" 'migration_depth|key|argument|policy' \
	"$good 0 0 heat 2 migration_depth 2"
row "a policy value that is no number" 'headroom|value|policy' "$good 0 0 heat 2 headroom lots"
row "a policy value that does not fit in 64 bits" 'headroom|value|policy' \
	"$good 0 0 heat 2 headroom 18446744073709551616"
row "a policy key twice" 'twice' "$good 0 0 heat 4 headroom 2 headroom 3"
row "a negative policy value" 'headroom|value|policy' "$good 0 0 heat 2 headroom -1"

# ---- lengths; the refusal names what fits

refuse_too_long()
{
	prepare
	refuse_length "$1" "$capacity" "$good 0 0 static 0"
}
test_case "one sector too long" refuse_too_long $((capacity + 1))
test_case "one chunk too long" refuse_too_long $((capacity + 128))
test_case "twice too long" refuse_too_long $((capacity * 2))
test_case "as long as can be" refuse_too_long 9007199254740992

test_case "not alone in its table" refuse_company
refuse_company()
{
	local counts
	prepare
	counts=$(write_counts "${disks[@]}")
	fails dmsetup load "$set" <<-EOT
		0 128 tier $good 0 0 static 0
		128 128 zero
	EOT
	same "$counts" "$(write_counts "${disks[@]}")" "writes"
}

# ---- disks that are not suitable

# short NAME DISK SECTORS: /dev/mapper/tt_NAME is the first sectors of a disk
short() { wrap "$1" "0 $3 linear $2 0"; }

refuse_with_short()
{
	local disk=$1 sectors=$2 want=$3
	shift 3
	prepare
	short short "$disk" "$sectors"
	refuse_length 128 "$want" "$@"
}
test_case "metadata device of 4 KiB" refuse_with_short "$spare" 8 'metadata' \
	"/dev/mapper/tt_short 128 2 $fast $slow 0 0 static 0"
test_case "metadata device of 16 KiB" refuse_with_short "$spare" 32 'metadata' \
	"/dev/mapper/tt_short 128 2 $fast $slow 0 0 static 0"
test_case "a tier of one sector" refuse_with_short "$spare" 1 'tier|small' \
	"$meta 128 2 $fast /dev/mapper/tt_short 0 0 static 0"
test_case "a tier of no more than the label area" refuse_with_short "$spare" 2048 'tier|small' \
	"$meta 128 2 $fast /dev/mapper/tt_short 0 0 static 0"
test_case "a tier one sector short of a place" refuse_with_short "$spare" 2175 'tier|small' \
	"$meta 128 2 $fast /dev/mapper/tt_short 0 0 static 0"
test_case "tiers with no room beyond the reserve" refuse_with_short "$spare" 2304 \
	'capacity|small|fit|reserve' "$meta 128 1 /dev/mapper/tt_short 0 0 static 0"
row "a zoned tier" 'zoned' "$meta 128 2 $fast /dev/tt_zoned 0 0 static 0"
row "a zoned metadata device" 'zoned|metadata' "/dev/tt_zoned 128 2 $fast $slow 0 0 static 0"

refuse_held()
{
	prepare
	background io hold "$1" >"$tmp/held"
	wait_for 10 grep -q held "$tmp/held"
	refuse_length "$capacity" "$2" "$good 0 0 static 0"
}
test_case "a tier that is in use" refuse_held "$slow" 'tier'
test_case "a metadata device that is in use" refuse_held "$meta" 'metadata'

refuse_protected()
{
	prepare
	soil "$1"
	blockdev --setro "$1"
	refuse_length "$capacity" "$2" "$good 0 0 static 0"
}
test_case "a write-protected tier" refuse_protected "$slow" 'tier'
test_case "a write-protected metadata device" refuse_protected "$meta" 'metadata'

test_case "a blank set, read_only" refuse 'read|format|blank' "$good" 1 read_only 0 static 0
test_case "a blank set, read-only table" refuse_readonly_table
refuse_readonly_table()
{
	local counts
	prepare
	counts=$(write_counts "${disks[@]}")
	refused 'read|format|blank' dmsetup load -r "$set" --table "0 $capacity tier $good 0 0 static 0"
	same "$counts" "$(write_counts "${disks[@]}")" "writes"
}

# ---- disks that are not blank

# refuse_dirty DISK BYTE REGEX: writes four bytes there, which must be refused
refuse_dirty()
{
	prepare
	soil "$1"
	printf 'data' | dd of="$1" bs=1 seek="$2" conv=notrunc,fsync status=none
	refuse_length "$capacity" "$3" "$good 0 0 static 0"
}
for byte in 0 508 512 4092; do
	test_case "metadata device with something at byte $byte" \
		refuse_dirty "$meta" $byte 'metadata|superblock'
done
for byte in 0 508 1080 4092; do
	test_case "first label slot with something at byte $byte" \
		refuse_dirty "$fast" $byte 'tier|label'
done
for byte in 4096 4604 8188; do
	test_case "second label slot only, with something at byte $byte" \
		refuse_dirty "$slow" $byte 'tier|label'
done

refuse_filesystem()
{
	command -v mke2fs >/dev/null || skip "mke2fs is not installed"
	prepare
	soil "$1"
	mke2fs -q -F "$1" 1M
	refuse_length "$capacity" "$2" "$good 0 0 static 0"
}
test_case "a tier with ext2 on it" refuse_filesystem "$fast" 'tier|label'
test_case "a metadata device with ext2 on it" refuse_filesystem "$meta" 'metadata|superblock'

# The other cases rely on this: the same disks and the right line do make a set.
accept_good()
{
	prepare
	dmsetup load "$set" --table "0 $capacity tier $good 0 0 static 0"
	dmsetup resume "$set"
	status
	same rw "${S[mode]}"
}
test_case "the good line is accepted" accept_good

run_tests
