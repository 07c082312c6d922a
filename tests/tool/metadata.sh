#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The metadata tools on files: outputs that they refuse to overwrite, labels, and metadata that
# this version must not write.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

tools=$(dirname "$tierctl")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

set=00112233445566778899aabbccddeeff
fast=ffeeddccbbaa99887766554433221100
slow=0123456789abcdef0123456789abcdef

# xml [NR_CHUNKS [COMPAT_RO]]
xml()
{
	cat <<-END
	<tier_metadata>
	<set version="1" uuid="$set" name="photos" state="live" policy="static" chunk_sectors="2048"
	 nr_chunks="${1:-90}" length="184320" reserve="2" logical_block_size="512" generation="2" next_generation="2"
	 trans_id="1" needs_check="1" clean="1" paused="0" compat="0" compat_ro="${2:-0}"/>
	<tier id="0" uuid="$fast" rank="0" size="204800" first_place="1" places="99" generation="2"
	 next_generation="0" evacuate="0" endurance="0" reserve="0" landing="1" last_seen="sdb"/>
	<tier id="1" uuid="$slow" rank="1" size="204800" first_place="1" places="99" generation="2"
	 next_generation="0" evacuate="1" endurance="0" reserve="0" landing="1" last_seen="sdc"/>
	<map chunk="0" chunks="90" tier="0" place="1"/>
	</tier_metadata>
	END
}

# root_point DESCRIPTION COMMAND...: a point that COMMAND decides; only for root, which tierctl
# needs
root_point()
{
	if [ "$(id -u)" != 0 ]; then
		skip "$1" "tierctl is for root alone"
		return
	fi
	"${@:2}"
	point $? "$1"
}

# crc XOR: the checksum of hex digits on stdin, as hex digits of 4 bytes
crc()
{
	local hex i j n c=$((0xffffffff)) table=()
	for ((i = 0; i < 256; i++)); do
		n=$i
		for ((j = 0; j < 8; j++)); do n=$(((n >> 1) ^ (n & 1 ? 0x82f63b78 : 0))); done
		table[i]=$n
	done
	read -r hex
	for ((i = 0; i < ${#hex}; i += 2)); do
		c=$((table[(c ^ 0x${hex:i:2}) & 255] ^ (c >> 8)))
	done
	le32 $((c ^ $1))
}

le32() { printf '%02x%02x%02x%02x' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255)); }
le64() { le32 "$1"; le32 0; }
# shellcheck disable=SC2059,SC2001	# it is a format
bytes() { local hex; read -r hex; printf "$(sed 's/../\\x&/g' <<<"$hex")"; }
zeroes() { printf "%0$((2 * $1))d" 0; }

# label FILE ID UUID GENERATION [SECTORS]: writes a label to both slots
label()
{
	local slot
	slot=$(le32 1; echo 544945524c41424c | tr -d '\n'
	       echo "$set$3" | tr -d '\n'; le32 "$2"; zeroes 12
	       le64 "${5:-204800}"; le64 2048; le64 2048; le64 "$4"
	       printf photos | od -An -tx1 | tr -d ' \n'; zeroes 410)
	slot=$(crc 0x3d90b64e <<<"$slot")$slot
	truncate -s 0 "$1"
	truncate -s $((204800 * 512)) "$1"
	bytes <<<"$slot" | dd of="$1" conv=notrunc status=none
	bytes <<<"$slot" | dd of="$1" bs=4096 seek=1 conv=notrunc status=none
}

# seal FILE BLOCK XOR: corrects the checksum
seal()
{
	od -An -v -tx1 -j$(($2 * 4096 + 4)) -N4092 "$1" | tr -d ' \n' | crc "$3" | bytes |
		dd of="$1" bs=4096 seek="$2" conv=notrunc status=none
}

# word FILE BYTE VALUE: writes a word of the superblock and corrects the checksum
word()
{
	le32 "$3" | bytes | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
	seal "$1" 0 0x7e12a5c3
}

# says REGEX TOOL ARGUMENT...: TOOL fails, and its message matches
says()
{
	local regex=$1 rc=0
	shift
	said=$("$tools/$1" "${@:2}" 2>&1 </dev/null) || rc=$?
	if [ "$rc" = 1 ] && [[ $said =~ $regex ]]; then return 0; fi
	echo "# exit status $rc: $said"
	return 1
}

xml >dump
"$tools/tier_restore" -q -i dump -o meta
point $? "metadata is made of a dump"
label t0 0 $fast 2
label t1 1 $slow 2
"$tools/tier_check" -i meta --tiers t0 t1 >/dev/null
point $? "and fits the labels"

# The metadata is the argument before --tiers, or that of -i
"$tools/tier_check" meta >one && "$tools/tier_check" -i meta | cmp -s - one &&
	POSIXLY_CORRECT=1 "$tools/tier_check" -q meta --tiers t0 t1 && "$tools/tier_check" -q --tiers t0 -i meta t1 &&
	"$tools/tier_check" -q --tiers t0 -q t1 -i meta && "$tools/tier_check" -q -- meta
point $? "tier_check META is tier_check -i META, with tiers or without"
"$tools/tier_dump" meta >one && "$tools/tier_dump" -i meta | cmp -s - one &&
	"$tools/tier_dump" meta --format json -o two && "$tools/tier_dump" --format json -i meta | cmp -s - two
point $? "so it is for tier_dump"
says '^tier_check: no input: name DEV, or -i FILE. Try: tier_check --help$' tier_check &&
	says '^tier_check: no input: name DEV, or -i FILE' tier_check --tiers t0 meta &&
	says '^tier_dump: no input: name DEV, or -i FILE. Try: tier_dump --help$' tier_dump
point $? "one of them is needed"
many='one argument too many: other. The input is meta'
says "^tier_check: $many, and tiers come after --tiers. Try: tier_check --help$" tier_check -i meta other &&
	says "^tier_check: $many" tier_check other -i meta && says "^tier_check: $many" tier_check meta other &&
	says "^tier_check: $many" tier_check meta -- other --tiers && says '^tier_check: --tiers wants devices' tier_check meta --tiers
point $? "and one alone: tier_check says where tiers go"
says "^tier_dump: $many. Try: tier_dump --help$" tier_dump -i meta other && says "^tier_dump: $many" tier_dump other -i meta &&
	says "^tier_dump: $many" tier_dump meta other
point $? "so it is for tier_dump, which takes no tiers"

# Outputs that are overwritten
label other 1 $slow 1
cksum t0 t1 other meta >before
says 'other: is a tier of the set "photos"' tier_restore -i dump -o other &&
	says 'other: is a tier of the set "photos"' tier_repair -i meta -o other
point $? "a tier is not written over"
ln -s t1 link
says 'link: is one of the tiers' tier_repair -i meta -o link --tiers t0 t1
point $? "nor is one that is named"
cksum t0 t1 other meta | cmp -s - before
point $? "all are what they were"
missing=/dev/dm-tier-test.$$
says "$missing: no such device" tier_restore -i dump -o "$missing" &&
	says "$missing: no such device" tier_repair -i meta -o "$missing" &&
	says "$missing: no such device" tier_dump -i meta -o "$missing" && [ ! -e "$missing" ]
point $? "no file is made in /dev"

# Text behind a dump is found, also if it is not read together with the end
"$tools/tier_dump" --format json -i meta -o json
object=$(<json)
for more in 0 1; do
	printf "{%$((65536 + more - ${#object}))s%s" '' "${object#\{}" >long
	"$tools/tier_restore" -q -i long -o new && rm new &&
		echo ' ' >>long && "$tools/tier_restore" -q -i long -o new && rm new &&
		echo '{"more": 1}' >>long && says 'long: ' tier_restore -i long -o new && [ ! -e new ]
	point $? "an object that ends $more bytes behind what is read at once"
done

# Labels
printf 'spoilt' | dd of=t1 bs=4096 seek=1 conv=notrunc status=none
says 't1: one of the two copies of its label is lost; the next activation' tier_check -i meta --tiers t0 t1 &&
	"$tools/tier_check" -q -i meta --ignore-non-fatal-errors --tiers t0 t1
point $? "a copy of a label that is lost is minor"
dd if=/dev/zero of=t1 bs=4096 seek=1 count=1 conv=notrunc status=none
"$tools/tier_check" -q -i meta --tiers t0 t1
point $? "one that was never written is none"
label resized 1 $slow 2 202752
says 'resized: its label says 202752 sectors, the metadata 204800' tier_check -i meta --tiers t0 resized &&
	"$tools/tier_check" -q -i meta --ignore-non-fatal-errors --tiers t0 resized
point $? "a label of another size than the record's is minor"
says 't0: is tier id 0, as t0 is' tier_check -i meta --tiers t0 t0
point $? "a tier that is named twice is an error"
says '--metadata-snap goes without --tiers' tier_check -m -i meta --tiers t0 t1
point $? "labels are not compared with a snapshot"

cp t0 torn
for slot in 0 1; do
	printf 'spoilt' | dd of=torn bs=1 seek=$((slot * 4096 + 100)) conv=notrunc status=none
done
cp torn before
says 'torn: tier label is damaged' tier_restore -i dump -o torn && says 'torn: tier label is damaged' tier_repair -i meta -o torn &&
	cmp -s torn before
point $? "a tier whose label is damaged is not written over"

# Records that are lost
records=$(od -An -tu8 -j208 -N8 meta)
cp meta lost
printf '\x5a' | dd of=lost bs=1 seek=$((records * 4096 + 2000)) conv=notrunc status=none
label new 1 $slow 3
label t1 1 $slow 2
says '--tiers DEV' tier_repair -i lost -o saved && says 'metadata stale' tier_repair -i lost -o saved --tiers t0 new &&
	[ ! -e saved ]
point $? "records are not made of labels that are newer than the set"
said=$("$tools/tier_repair" -i lost -o saved --tiers t0 t1) && [[ $said == *"if it was being emptied"* ]] &&
	"$tools/tier_check" -i saved --tiers t0 t1 >/dev/null
point $? "they are of those that are not"
said=$("$tools/tier_repair" -i lost -o saved --tiers t0 other) && [[ $said == *"It counts as stale"* ]] &&
	says 'other: tier stale' tier_check -i saved --tiers t0 other
point $? "an old copy of a tier is stale"
rm saved
# shellcheck disable=SC2317	# called by name
tierctl_repairs()
{
	! "$tierctl" repair lost saved t0 t1 2>/dev/null && [ ! -e saved ] &&
		"$tierctl" repair -q lost saved --tiers t0 t1 &&
		"$tools/tier_check" -i saved --tiers t0 t1 >/dev/null
}
root_point "by tierctl repair, too" tierctl_repairs

# The scope of each of the three checks
cp meta whole
mapping=$(od -An -tu8 -j192 -N8 whole)
heat=$(od -An -tu8 -j200 -N8 whole)
index=$(od -An -tu8 -j80 -N8 whole)
bitmap=$(od -An -tu8 -j$((index * 4096 + 16)) -N8 whole)

# spoil BLOCK: makes a copy of the metadata, spoilt, in which this block is damaged
spoil()
{
	cp whole spoilt
	printf '\x5a' | dd of=spoilt bs=1 seek=$(($1 * 4096 + 2000)) conv=notrunc status=none
}

# checks WHOLE SKIP SUPERBLOCK: the complaints about spoilt of a whole check, of a check without
# mappings, and of a check of only the superblock; - for none
checks()
{
	local option i=0
	for option in "" --skip-mappings --super-block-only; do
		i=$((i + 1))
		if [ "${!i}" = - ]; then
			said=$("$tools/tier_check" -i spoilt ${option:+"$option"} 2>&1) &&
				[ "$said" = "spoilt: nothing is wrong; the flag needs_check is set" ]
		else
			says "${!i}" tier_check -i spoilt ${option:+"$option"}
		fi || { echo "# ${option:-a whole check}: $said"; return 1; }
	done
}

cp whole spoilt
checks - - -
point $? "sound metadata, by each part of the check"
spoil "$mapping" && checks 'mapping: chunks 0 to 89' - -
point $? "a damaged mapping: a whole check finds it"
spoil "$heat" && checks 'heat: chunks 0 to 89' - -
point $? "so it does damaged heat"
# The bits of the superblock in the space map: one reference more than there is
cp whole spoilt
[ "$(od -An -tx1 -j$((bitmap * 4096 + 16)) -N1 spoilt)" = " aa" ] &&
	printf '\xa9' | dd of=spoilt bs=1 seek=$((bitmap * 4096 + 16)) conv=notrunc status=none &&
	seal spoilt "$bitmap" 240779 &&
	checks 'blocks 0 to 0 have count 2, but are referenced 1 times; space is lost' - -
point $? "and a count of references that is wrong"
spoil "$records" && checks 'tiers: node in block' 'tiers: node in block' -
point $? "damaged records of tiers: it takes more than the superblock"
spoil "$bitmap" && checks 'space map: bitmap in block' 'space map: bitmap in block' -
point $? "so it does for a damaged space map"
wrong='superblock: metadata superblock is damaged: checksum'
spoil 0 && checks "$wrong" "$wrong" "$wrong"
point $? "a damaged superblock is found by all"

# Metadata that this version may only read
xml 90 4 >later
says 'features that only allow' tier_restore -i later -o new
point $? "a dump of metadata that is only to be read"
root_point "by tierctl restore, too" says 'features that only allow' tierctl restore -y later meta2
cp meta later
word later 52 4
says 'needs_check stays: it has features that only allow' tier_check -i later --clear-needs-check-flag &&
	says 'features that only allow' tier_repair -i later -o meta2
point $? "and such metadata"
word later 52 0
cmp -s later meta && "$tools/tier_check" -q -i later --clear-needs-check-flag
point $? "else the flag is cleared"
word later 40 2
says 'unknown format version' tier_repair -i later -o meta2 && [ ! -e meta2 ]
point $? "metadata of a newer version is not repaired"

# A dump that needs more memory than the output has room
xml 300000000 | sed 's/<map.*/<map chunk="0" chunks="300000000" pin="0"\/>/' >large
(ulimit -v 1000000; says '300000000 chunks need at least' tier_restore -i large -o meta)
point $? "a dump that is too large for its output is refused at once"

# sparse [SHIFT]: 40000 chunks far from each other on a tier of half a Ti places; with SHIFT two
# chunks on one place
sparse()
{
	xml 40000 | sed "s/length=\"[0-9]*\"/length=\"81920000\"/; s/size=\"204800\"/size=\"$(((2 ** 39 + 1) * 2048))\"/
		s/places=\"99\"/places=\"$((2 ** 39))\"/; /<map/d; /<.tier_metadata/d"
	awk -v shift="${1:-0}" 'BEGIN {
		for (c = 0; c < 40000; c++)
			printf "<map chunk=\"%d\" chunks=\"1\" tier=\"0\" place=\"%.0f\"/>\n", c, 1 + (c == 39999 ? c - shift : c) * 2 ^ 23
		print "</tier_metadata>"
	}'
}
sparse >scattered
sparse 1 >twice
(ulimit -v 100000; "$tools/tier_restore" -q -i scattered -o sparse && "$tools/tier_check" -q -i sparse &&
	says 'chunk 39999: claims place 335527542785 of tier id 0, which chunk 39998 keeps' tier_restore -i twice -o new)
point $? "memory goes with the chunks, not with the places that a tier says it has"
finish
