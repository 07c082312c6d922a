#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# stock kernels only: it looks at the timers of tierctl
# udev
# timeout=120
# long
#
# tierctl schedule: the files that it installs, and the calls at each hour. A fake systemctl
# records its calls.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib-tierctl.sh
. "$(dirname "$0")/lib-tierctl.sh"

units=/etc/systemd/system
bin=$tmp/bin
mkdir "$bin"
cat >"$bin/systemctl" <<END
#!/bin/sh
echo "\$*" >>"$tmp/calls"
if test -e "$tmp/once-\$2"; then
	rm "$tmp/once-\$2"
	exit 1
fi
! test -e "$tmp/broken-\$2"
END
chmod +x "$bin/systemctl"
export PATH=$bin:$PATH

# hours FROM TO: minutes from now
hours()
{
	local now=$((10#$(date +%H) * 60 + 10#$(date +%M) + 1440)) from to
	from=$(((now + $1) % 1440)) to=$(((now + $2) % 1440))
	printf '%02d:%02d-%02d:%02d' $((from / 60)) $((from % 60)) $((to / 60)) $((to % 60))
}

# installed: prints the files of the schedule, "timer service" if all is well
installed()
{
	local file found=()
	for file in "$units"/tierctl-schedule-*; do
		[ ! -e "$file" ] || found+=("${file##*.}")
	done
	echo "${found[*]-}"
}

calls()
{
	[ ! -e "$tmp/calls" ] || sed "s/$hex/UUID/" "$tmp/calls" | paste -sd, -
	rm -f "$tmp/calls"
}

prepare()
{
	# Removed when the case's shell ends, also after a failure.
	trap 'rm -f "$units"/tierctl-schedule-* "$tmp/calls"; [ -z "${made:-}" ] || rmdir /run/systemd/system' EXIT
	make_disks
	ctl create "$set" -q -m "$meta" -c 64k "$fast" "$slow"
	hex=$(json '.sets[0].uuid' list | tr -d -)
	mkdir -p "$units"
	if [ ! -e /run/systemd/system ]; then
		mkdir -p /run/systemd
		mkdir /run/systemd/system
		made=1
	fi
}

install()
{
	local now next
	prepare
	now=$(hours -60 60) next=$(hours 120 180)
	ctl_code 0 schedule "$set"
	matches 'migration is not scheduled; now running' "$output"
	ctl_code 0 schedule --dry-run "$set" "$next"
	matches "OnCalendar=.*ExecStart|ExecStart.*OnCalendar=" "${output//$'\n'/ }"
	same "running |" "$(info running) $(installed)|$(calls)" "after a dry run"

	# No hour of the schedule is now.
	ctl_code 0 schedule "$set" "$next"
	same "paused service timer" "$(info running) $(installed)"
	same "--quiet daemon-reload,--quiet enable tierctl-schedule-UUID.timer,--quiet restart tierctl-schedule-UUID.timer" \
		"$(calls)" "calls of systemctl"
	grep -qx "OnCalendar=\*-\*-\* ${next%-*}:00" "$units/tierctl-schedule-$hex.timer"
	grep -qx "OnCalendar=\*-\*-\* ${next#*-}:00" "$units/tierctl-schedule-$hex.timer"
	same "[\"$next\"] paused" "$(json '.sets[0] | "\(.windows) \(.migration)"' schedule "$set")"
	# Calls what the timer would call.
	ctl resume -q "$set"
	run_service
	same paused "$(info running)"

	# Other hours replace the old ones; one of them is now.
	ctl_code 0 schedule "$set" "$next" "$now"
	same "running service timer" "$(info running) $(installed)"
	matches "migration from $next, $now; now running" "$output"
	ctl pause -q "$set"
	run_service
	same running "$(info running)"
	calls >/dev/null

	# A set that is inactive, or has another name.
	ctl rename -q "$set" tt_other
	set=tt_other dev=/dev/mapper/tt_other
	ctl pause -q "$set"
	run_service
	same running "$(info running)"
	ctl pause -q "$set"
	ctl deactivate -q "$set"
	run_service
	same "[\"$next\",\"$now\"] null" "$(json '.sets[0] | "\(.windows) \(.migration)"' schedule "$set")"
	# At activation the set follows the hours, unless a feature says otherwise.
	ctl activate -q --feature paused "$set"
	same paused "$(info running)"
	ctl deactivate -q "$set"
	ctl activate -q --read-only "$set"
	same paused "$(info running)"
	ctl deactivate -q "$set"
	ctl_code 0 activate "$set"
	same "" "$errors" "errors"
	same running "$(info running)"

	ctl pause -q "$set"
	ctl_code 0 schedule --clear "$set"
	matches 'is not scheduled; now running' "$output"
	same "running |--quiet disable --now tierctl-schedule-UUID.timer,--quiet daemon-reload" \
		"$(info running) $(installed)|$(calls)" "after --clear"
	# A pause from before stays.
	ctl pause -q "$set"
	ctl_code 0 schedule --clear "$set"
	same "paused " "$(info running) $(calls)"
}
run_service()
{
	local command
	command=$(sed -n 's/^ExecStart=//p' "$units/tierctl-schedule-$hex.service")
	[ -n "$command" ] || fail "the service has no command"
	eval "$command" >/dev/null
}
test_case "hours are installed, followed, changed, cleared" install

cleared()
{
	local next
	prepare
	next=$(hours 120 180)
	# systemd refuses to stop the timer: migration runs, and the next call knows that
	# something is left.
	ctl schedule -q "$set" "$next"
	: >"$tmp/broken-disable"
	ctl_code 1 schedule --clear "$set"
	matches 'systemctl disable' "$errors"
	same "running service timer" "$(info running) $(installed)"
	ctl pause -q "$set"
	rm "$tmp/broken-disable"
	ctl_code 0 schedule --clear "$set"
	matches 'is not scheduled; now running' "$output"
	same "running " "$(info running) $(installed)"
	# Somebody has removed the files of the timer, which systemd then does not know.
	ctl schedule -q "$set" "$next"
	rm "$units/tierctl-schedule-$hex.timer"
	: >"$tmp/broken-disable"
	ctl_code 0 schedule --clear "$set"
	same "running " "$(info running) $(installed)"
	rm "$tmp/broken-disable"
	# An inactive set cannot be resumed.
	ctl schedule -q "$set" "$next"
	ctl deactivate -q "$set"
	ctl_code 0 schedule --clear "$set"
	matches "paused when it is active again\. then: tierctl resume $set" "${errors,,}"
	same "" "$(installed)"
	ctl activate -q "$set"
	same paused "$(info running)"
	ctl schedule -q "$set" "$(hours -60 60)"
	ctl deactivate -q "$set"
	ctl_code 0 schedule --clear "$set"
	same "" "$errors" "errors"
}
test_case "the hours are cleared where something is in the way" cleared

destroyed()
{
	prepare
	ctl_code 0 schedule "$set" 22:00-06:00
	calls >/dev/null
	ctl_code 0 destroy -y "$set"
	same "--quiet disable --now tierctl-schedule-UUID.timer,--quiet daemon-reload" "$(calls)"
	same "" "$(installed)"
}
test_case "destroy takes the timer away" destroyed

analysed()
{
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze"
	prepare
	ctl_code 0 schedule "$set" 22:00-06:00 12:30-13:00
	systemd-analyze verify --man=no "$units/tierctl-schedule-$hex.timer" \
		"$units/tierctl-schedule-$hex.service" >"$tmp/verify" 2>&1 || fail "$(<"$tmp/verify")"
	! grep tierctl-schedule "$tmp/verify" || fail "systemd does not like it"
}
test_case "systemd understands the units" analysed

refuse()
{
	local code=$1 want=$2
	shift 2
	ctl_code "$code" schedule "$@"
	one_line "$want"
}

misuse()
{
	prepare
	refuse 1 'no such set' nosuch 22:00-06:00
	refuse 2 '22-6 is no part of a day' "$set" 22-6
	refuse 2 'is no part' "$set" 22:00-06:00 25:00-06:00
	refuse 2 'goes alone' --clear "$set" 22:00-06:00
	refuse 2 'goes alone' --apply "$set"
	same "running |" "$(info running) $(installed)|$(calls)"
	# systemd refuses to start the timer: nothing is left.
	: >"$tmp/broken-enable"
	ctl_code 1 schedule "$set" "$(hours 120 180)"
	matches 'systemctl enable' "$errors"
	same "running " "$(info running) $(installed)"
	rm "$tmp/broken-enable"
	# The old hours stay, otherwise nothing would end the pause.
	next=$(hours 120 180)
	ctl schedule -q "$set" "$next"
	cp "$units/tierctl-schedule-$hex.service" "$tmp/service"
	cp "$units/tierctl-schedule-$hex.timer" "$tmp/timer"
	: >"$tmp/once-restart"
	ctl_code 1 schedule "$set" "$(hours 300 360)"
	matches 'systemctl restart.*keeps the hours it had' "${errors//$'\n'/ }"
	same "paused service timer" "$(info running) $(installed)"
	cmp "$tmp/service" "$units/tierctl-schedule-$hex.service"
	cmp "$tmp/timer" "$units/tierctl-schedule-$hex.timer"
	mkdir "$units/tierctl-schedule-$hex.service.new"
	ctl_code 1 schedule "$set" "$(hours 300 360)"
	matches 'service: ' "$errors"
	rmdir "$units/tierctl-schedule-$hex.service.new"
	cmp "$tmp/service" "$units/tierctl-schedule-$hex.service"
	cmp "$tmp/timer" "$units/tierctl-schedule-$hex.timer"
	ctl schedule -q --clear "$set"
	[ -n "${made:-}" ] || return 0
	rmdir /run/systemd/system
	made=
	refuse 1 'systemd.*does not run here.*--apply' "$set" 22:00-06:00
	same "running " "$(info running) $(installed)"
	ctl_code 0 schedule --apply "$set" "$(hours 120 180)"
	same paused "$(info running)"
	ctl_code 0 schedule --apply "$set" "$(hours -60 60)"
	same "running " "$(info running) $(installed)"
}
test_case "misuse, and no systemd" misuse

run_tests
