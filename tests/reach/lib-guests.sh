# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Sourced on the host by tests of several guests, each a machine of its own: $top, $series and $tmp,
# a folder for this run, are set.  The guests do what they are told through a folder.

declare -A job=()
logs=() killed=0

# The guest's half, sourced there too.  serve FOLDER: runs what it finds in the folder
serve()
{
	: >"$1/up"
	while [ ! -e "$1/end" ]; do
		if [ -e "$1/todo" ]; then
			mv "$1/todo" "$1/doing"
			bash "$1/doing" >"$1/out" 2>&1 </dev/null
			echo $? >"$1/rc.new"
			mv "$1/rc.new" "$1/rc"
		fi
		sleep 0.1
	done
}

# start_guest WHO OPTION... -- COMMAND...: by options of ci/guest/run; the guest finds $tmp/shared/WHO
start_guest()
{
	local who=$1
	shift
	rm -rf "${tmp:?}/shared/$who"
	mkdir -p "$tmp/shared/$who"
	"${top:?}/ci/guest/run" --kernel "${series:?}" --cpus 1 --log "$tmp/$who.log" --rwdir "$tmp/shared" \
		--qemu-opt -pidfile --qemu-opt "$tmp/$who.pid" "$@" >"$tmp/$who.out" 2>&1 &
	job[$who]=$!
}
is_up()
{
	local i
	for ((i = 0; i < 3000; i++)); do
		[ ! -e "$tmp/shared/$1/up" ] || return 0
		kill -0 "${job[$1]}" 2>/dev/null || break
		sleep 0.1
	done
	echo "Bail out! guest $1 did not come up"
	tail -n 20 "$tmp/$1.out"
	exit 1
}

# on WHO COMMAND...: what the guest's shell says and returns
on()
{
	local folder=$tmp/shared/$1 i
	shift
	rm -f "$folder/rc"
	echo "$*" >"$folder/new"
	mv "$folder/new" "$folder/todo"
	for ((i = 0; i < 1200; i++)); do
		if [ -e "$folder/rc" ]; then
			cat "$folder/out"
			return "$(<"$folder/rc")"
		fi
		sleep 0.1
	done
	echo "no answer to: $*"
	return 124
}

# reap WHO: after its QEMU has ended, or is about to
reap()
{
	wait "${job[$1]}" 2>/dev/null
	logs+=("$tmp/$1.log.$((++killed))")
	mv "$tmp/$1.log" "${logs[-1]}"
	unset "job[$1]"
}
kill_guest()
{
	# It may have ended by itself.
	if [ -e "$tmp/$1.pid" ]; then
		kill -CONT "$(<"$tmp/$1.pid")"
		kill -9 "$(<"$tmp/$1.pid")"
	fi 2>/dev/null
	reap "$1"
}
kill_guests()
{
	local who
	for who in "${!job[@]}"; do kill_guest "$who"; done
}
# end_guests WHO...: in order
end_guests()
{
	local who
	for who; do
		touch "$tmp/shared/$who/end"
		wait "${job[$who]}" || problem+=("guest $who ended with $?")
		unset "job[$who]"
		logs+=("$tmp/$who.log")
	done
	! grep -hE "${alarming:?}" "${logs[@]}" >"$tmp/alarms" || problem+=("$(<"$tmp/alarms")")
}

# monitor WHO COMMAND [NAME=VALUE]...: to its QEMU, by the socket $tmp/WHO.test; prints what it answers
monitor()
{
	python3 - "$tmp/$1.test" "${@:2}" <<'END'
import json, socket, sys
with socket.socket(socket.AF_UNIX) as s:
    s.connect(sys.argv[1])
    stream = s.makefile("rw")
    stream.readline()
    values = {k: {"true": True, "false": False}.get(v, v) for k, v in (a.split("=", 1) for a in sys.argv[3:])}
    for command, arguments in (("qmp_capabilities", {}), (sys.argv[2], values)):
        stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        stream.flush()
        while "event" in (reply := json.loads(stream.readline())):
            pass
    if reply.get("return"):
        print(json.dumps(reply["return"]))
    sys.exit("error" in reply)
END
}

# ---- cases

n=0 failed=0 began=$SECONDS compared=0 problem=()
# may WHO COMMAND..., must_not WHO REGEX COMMAND...: a step of the case
may()
{
	local said
	if said=$(on "$@"); then
		[[ ! $* =~ (tierio|files)\ check ]] || compared=$((compared + 1))
		return
	fi
	problem+=("$*: $said")
}
must_not()
{
	local who=$1 regex=$2 said
	shift 2
	if said=$(on "$who" "$@"); then
		problem+=("$who: succeeded: $*")
	elif ! [[ $said =~ $regex ]]; then
		problem+=("$who: $*: does not say /$regex/: $said")
	fi
}
# case_is DESCRIPTION: the steps since the last one
case_is()
{
	n=$((n + 1))
	if [ ${#problem[@]} = 0 ]; then
		[ "$compared" = 0 ] || echo "# data compared $compared times, nothing is lost"
		echo "ok $n - $1 ($((SECONDS - began)) s)"
	else
		failed=$((failed + 1))
		echo "not ok $n - $1"
		printf '%s\n' "${problem[@]}" | sed 's/^/# /'
	fi
	problem=() compared=0 began=$SECONDS
}
# cases_end: the plan and the counts
cases_end()
{
	echo "1..$n"
	echo "$((n - failed)) passed, $failed failed, 0 skipped"
	exit $((failed > 0))
}
