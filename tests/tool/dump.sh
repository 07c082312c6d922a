#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A dump that cannot be written leaves the old dump, which may be the last one.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

tools=$(dirname "$tierctl")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/xml" <<'EOF'
<tier_metadata>
<set version="1" uuid="00112233445566778899aabbccddeeff" name="photos" state="live" policy="static"
 chunk_sectors="2048" nr_chunks="90" length="184320" reserve="2" logical_block_size="512" generation="2"
 next_generation="2" trans_id="1" needs_check="0" clean="1" paused="0" compat="0" compat_ro="0"/>
<tier id="0" uuid="ffeeddccbbaa99887766554433221100" rank="0" size="204800" first_place="1" places="99"
 generation="2" next_generation="0" evacuate="0" endurance="0" reserve="0" landing="1" last_seen="sdb"/>
<map chunk="0" chunks="90" tier="0" place="1"/>
</tier_metadata>
EOF
"$tools/tier_restore" -q -i "$work/xml" -o "$work/meta"
point $? "metadata is made of a dump"

"$tools/tier_dump" -i "$work/meta" -o "$work/dump"
"$tools/tier_dump" -i "$work/meta" | cmp -s - "$work/dump"
point $? "a dump to a file that was not there"

echo precious >"$work/kept"
chmod 600 "$work/kept"
ln -s kept "$work/link"
# shellcheck disable=SC2317	# called by name
full() { (trap '' XFSZ; ulimit -f 0; "$tools/tier_dump" -i "$work/meta" -o "$1") 2>/dev/null; }
! full "$work/kept"
point $? "a dump for which there is no room fails"
[ "$(<"$work/kept")" = precious ]
point $? "and the file is what it was"
! full "$work/new" && ! compgen -G "$work/new*" && ! compgen -G "$work/kept?*"
point $? "and no part of a dump is left"
"$tools/tier_dump" -i "$work/meta" -o "$work/link" && cmp -s "$work/dump" "$work/kept" && [ -L "$work/link" ] &&
	[ "$(stat -c %a "$work/kept")" = 600 ]
point $? "a dump to a link replaces what it leads to"
"$tools/tier_dump" -i "$work/meta" -o /dev/null && [ -c /dev/null ]
point $? "a dump to /dev/null"

# A file with a similar name is not overwritten: it may be the metadata.
cp "$work/meta" "$work/set.new"
"$tools/tier_dump" -i "$work/set.new" -o "$work/set" && cmp "$work/meta" "$work/set.new" && cmp -s "$work/dump" "$work/set"
point $? "a dump takes no other file away"
cp "$work/meta" "$work/other"
! "$tools/tier_dump" -i "$work/meta" -o "$work/other" 2>"$work/stderr" && cmp -s "$work/meta" "$work/other" &&
	grep -q 'metadata or a tier of a set' "$work/stderr"
point $? "a dump does not replace metadata"
(umask 027; "$tools/tier_dump" -i "$work/meta" -o "$work/masked") && [ "$(stat -c %a "$work/masked")" = 640 ] &&
	! compgen -G "$work/masked?*"
point $? "it has the mode that files have"
finish
