# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154	# used by the tests; assigned by lib.sh
#
# LVM or device-mapper refuses one of the changes that tierctl asks for. Sourced after
# lib-tierctl.sh.

[ -e "$here/refuse.so" ] || skip_all "refuse.so is not built (make -C tests/functional)"
refuse=$tmp/refuse
mkdir -p "$refuse/bin"
# LVM's commands that change something; report commands stay as they are.
cat >"$refuse/bin/lvcreate" <<'WRAPPER'
#!/bin/bash
unset LD_PRELOAD
PATH=${PATH#*:}
name=${0##*/}
# A trial run changes nothing.
[[ " $* " != *" --test "* ]] || exec "$name" "$@"
count=$(($(<"$REFUSE/count") + 1))
echo "$count" >"$REFUSE/count"
if [ "$count" = "$(<"$REFUSE/at")" ]; then
	echo "LVM: $name $*" >"$REFUSE/refused"
	echo "  Volume group is not in the mood." >&2
	exit 5
fi
exec "$name" "$@"
WRAPPER
chmod +x "$refuse/bin/lvcreate"
for name in lvchange lvconvert lvextend lvreduce lvremove lvrename lvresize vgchange vgextend; do
	ln -s lvcreate "$refuse/bin/$name"
done

# refuse_at N ARGUMENT...: calls tierctl, whose Nth change is refused. $code is the exit status;
# $who names the refused call, empty if there were fewer calls.
refuse_at()
{
	rm -f "$refuse/refused"
	echo 0 >"$refuse/count"
	echo "$1" >"$refuse/at"
	code=0
	REFUSE=$refuse PATH=$refuse/bin:$PATH LD_PRELOAD=$here/refuse.so \
		ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 \
		"$tierctl" "${@:2}" </dev/null >"$tmp/said" 2>&1 || code=$?
	who=
	[ ! -e "$refuse/refused" ] || who=$(sed -E 's/ --addtag [^ ]*|-(y|Wy|Zy|an|ky|Zn|Wn) //g; s/[0-9a-f]{32}/UUID/g' "$refuse/refused")
	[[ $code == [01] ]] || fail "tierctl ${*:2}: exit status $code: $(<"$tmp/said")"
	# The message has the reason and, if the command stopped, the way out.
	[ "$code" = 0 ] || [[ $(<"$tmp/said") == *tierctl:* ]] || fail "it says nothing: $(<"$tmp/said")"
}

# outcome COMMAND WAY RESULT: prints a line of the table
outcome() { printf '# %-8s %2d  %-58.58s exit %d; %-6s -> %s\n' "$1" "$step" "$who" "$code" "$2" "$3" >&3; }

# follow PREFIX COMMAND...: runs PREFIX and the command that the last message names, or COMMAND
# if the message names none
follow()
{
	local named
	named=$(sed -n "s/.*$1: tierctl \([^.]*\).*/\1/p" "$tmp/said" | tail -n 1)
	if [ -n "$named" ]; then
		read -ra named <<<"$named"
		ctl_code 0 "${named[@]}" -y
	else
		ctl_code 0 "${@:2}"
	fi
}
way_on() { follow 'cause is gone' "$@"; }
way_back() { follow 'go back' "$@"; }
