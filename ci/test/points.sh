# shellcheck shell=bash
# Points that pass or fail, and the unit tests.  Sourced after lib.sh by ci/test/check and
# ci/test/check-unit, which set $logs to a folder for the output of what runs, and end with finish.

# shellcheck disable=SC2154	# $logs

passed=0 failed=0 skipped=0
complaints=()		# what has failed; finish says it again
jobs=$(nproc)

# point ok|"not ok" DESCRIPTION
point()
{
	printf '%s - %s\n' "$1" "$2"
	if [ "$1" = ok ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		complaints+=("$2")
	fi
}

# step DESCRIPTION COMMAND...: a point that is failed if COMMAND is
step()
{
	local what=$1 start=$SECONDS
	shift
	if "$@" >"$logs/step" 2>&1 </dev/null; then
		point ok "$what ($((SECONDS - start)) s)"
	else
		sed 's/^/# /' "$logs/step"
		point "not ok" "$what"
		return 1
	fi
}

finish()
{
	[ ${#complaints[@]} = 0 ] || printf '# failed: %s\n' "${complaints[@]}"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
	exit
}

# count_unit COMMAND STATUS FILE: FILE is what COMMAND said; without TAP it is one point.
count_unit()
{
	local p f s line
	cat "$3"
	read -r p f s _ < <(tap_count "$3")
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	while read -r line; do
		complaints+=("$1: $line")
	done < <(grep '^not ok' "$3")
	if [ "$2" != 0 ] && [ "$f" = 0 ]; then
		point "not ok" "$1: status $2"
	elif [ $((p + f + s)) = 0 ]; then
		point ok "$1"
	fi
}

# units: the check target of each folder of tests/ that has one, and the tests of the
# scripts of ci/ that count, side by side, since each of them keeps one CPU busy at most.
units()
{
	local dir i commands=(ci/test/selftest/check-*) pids=()
	for dir in tests/*/; do
		! grep -qs '^check *:' "$dir/Makefile" || commands+=("make -s -j$jobs -C ${dir%/} check")
	done
	for i in "${!commands[@]}"; do
		# shellcheck disable=SC2086	# several words
		${commands[i]} >"$logs/unit-$i" 2>&1 </dev/null &
		pids+=($!)
	done
	for i in "${!commands[@]}"; do
		wait "${pids[i]}"
		count_unit "${commands[i]}" $? "$logs/unit-$i"
	done
}
