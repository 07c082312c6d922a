#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tier_id on files: labels and metadata, whole, damaged, cut short, with names that would break a
# line of the output; each under AddressSanitizer.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

id=$top/userspace/tier_id.asan
restore=$top/userspace/tier_restore
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# labels KIND FILE: writes both slots of a tier. With a number as KIND: so many copies with
# random changes, FILE.1 and so on.
labels()
{
	python3 - "$@" <<'END'
import random, struct, sys

def crc32c(data, crc=0xffffffff):
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc

def label(generation, name=b"photos", identity=3, version=1):
    body = struct.pack("<IQ16s16sIIIIQQQQ128s288x", version, 0x4c42414c52454954, bytes(range(16)),
                       bytes(range(16, 32)), identity, 0, 0, 0, 1 << 20, 2048, 2048, generation, name)
    slot = struct.pack("<I", crc32c(body) ^ 0x3d90b64e) + body
    return slot.ljust(4096, b"\0")

kind, path = sys.argv[1:3]
data = bytearray(label(2) + label(1))
if kind == "second":
    data[:4096] = bytes(4096)
elif kind == "name":
    data = bytearray(label(2, b"a\nDM_TIER_SET=0 $(b)\"'\xff") + label(1))
elif kind == "checksum":
    data[200] ^= 1
    data[4096 + 200] ^= 1
elif kind == "version":
    data = bytearray(label(2, version=2) + label(1))
elif kind == "long":
    data = bytearray(label(2, b"x" * 128) + label(1, b"x" * 128))
elif kind == "short":
    data = data[:700]
elif kind == "blank":
    data = bytes(8192)
elif kind.isdigit():
    r = random.Random(1)
    for n in range(int(kind)):
        bent = data[:]
        for _ in range(r.randint(1, 6)):
            bent[r.randrange(512) + 4096 * r.randrange(2)] = r.randrange(256)
        # Most of the time the checksums are corrected.
        for slot in 0, 4096:
            if r.random() < 0.7:
                bent[slot:slot + 4] = struct.pack("<I", crc32c(bent[slot + 4:slot + 512]) ^ 0x3d90b64e)
        bent = bent[:r.choice([len(bent), len(bent), r.randrange(len(bent))])]
        open(f"{path}.{n + 1}", "wb").write(bent)
    sys.exit()
open(path, "wb").write(data)
END
}

metadata()
{
	printf '%s\n' '<tier_metadata>' \
		'<set version="1" uuid="00000000000000000000000000000001" name="films" state="live" policy="heat" chunk_sectors="2048" nr_chunks="64" length="131072" reserve="2" logical_block_size="512" generation="1" next_generation="1" trans_id="1" needs_check="0" clean="1" paused="0" compat="0" compat_ro="0"/>' \
		'<tier id="0" uuid="00000000000000000000000000000002" rank="0" size="204800" first_place="1" places="99" generation="1" next_generation="0" evacuate="0" endurance="0" reserve="0" landing="1" last_seen=""/>' \
		'</tier_metadata>' | "$restore" -q -i - -o "$1"
}

# says STATUS FILE: checks its exit status; $said is its output; it never prints an error
says()
{
	local rc=0
	said=$("$id" "$2" 2>"$tmp/stderr") || rc=$?
	[ "$rc" = "$1" ] && [ ! -s "$tmp/stderr" ]
}

make -s -C "$top/userspace" tier_id.asan tier_restore
point $? "tier_id compiles with sanitizers"

labels whole "$tmp/tier"
says 0 "$tmp/tier" && diff - <(echo "$said") <<'END'
ID_FS_TYPE=dm_tier_member
ID_FS_USAGE=raid
ID_FS_UUID=00010203-0405-0607-0809-0a0b0c0d0e0f
ID_FS_UUID_ENC=00010203-0405-0607-0809-0a0b0c0d0e0f
ID_FS_LABEL=photos
ID_FS_LABEL_ENC=photos
ID_FS_UUID_SUB=10111213-1415-1617-1819-1a1b1c1d1e1f
DM_TIER_SET=000102030405060708090a0b0c0d0e0f
DM_TIER_NAME=photos
DM_TIER_ROLE=tier
DM_TIER_ID=3
END
point $? "a tier"

labels second "$tmp/tier"
says 0 "$tmp/tier" && grep -qx DM_TIER_ROLE=tier <<<"$said"
point $? "a tier whose first slot is blank"

metadata "$tmp/meta"
says 0 "$tmp/meta" && grep -qx DM_TIER_ROLE=metadata <<<"$said" && grep -qx DM_TIER_STATE=live <<<"$said" &&
	grep -qx ID_FS_LABEL=films <<<"$said"
point $? "metadata"

printf x | dd of="$tmp/meta" bs=1 seek=4000 conv=notrunc status=none
says 0 "$tmp/meta" && [ -z "$said" ]
point $? "nothing is said of damaged metadata"

for kind in checksum version long short blank; do
	labels "$kind" "$tmp/tier"
	says "$([ $kind = short ] && echo 1 || echo 0)" "$tmp/tier" && [ -z "$said" ]
	point $? "nothing is said of labels: $kind"
done

labels name "$tmp/tier"
says 0 "$tmp/tier" && grep -qx 'DM_TIER_NAME=a_DM_TIER_SET=0___b____' <<<"$said" &&
	grep -qxF 'ID_FS_LABEL_ENC=a\x0aDM_TIER_SET=0\x20\x24\x28b\x29\x22\x27\xff' <<<"$said" &&
	[ "$(grep -c '^DM_TIER_SET=' <<<"$said")" = 1 ]
point $? "a name cannot add a line"

bad=0 told=0
labels 150 "$tmp/bent"
for file in "$tmp"/bent.*; do
	says 0 "$file" || says 1 "$file" || bad=$((bad + 1))
	[ -n "$said" ] || continue
	told=$((told + 1))
	while read -r line; do
		[[ $line =~ ^(ID_FS|DM_TIER)_[A-Z_]+=[]a-zA-Z0-9#+.:=@_\\-]*$ ]] || bad=$((bad + 1))
	done <<<"$said"
done
[ "$bad" = 0 ] && [ "$told" -gt 20 ]
point $? "150 labels with random changes, $told of them still good"

rc=0
said=$("$id" "$tmp/nowhere" 2>&1) || rc=$?
[ "$rc:$said" = "1:tier_id: $tmp/nowhere: No such file or directory." ]
point $? "a device that is not there"
rc=0
said=$("$id" 2>&1) || rc=$?
[ "$rc:$said" = "2:tier_id: names one device. Try: tier_id --help" ]
point $? "no device"
finish
