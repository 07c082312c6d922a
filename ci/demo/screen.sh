# The output of the demonstration. Sourced by demo.sh, never run.
# shellcheck shell=bash disable=SC2034	# some is for whoever sources this

screen=plain color=no columns=80 since=$(date +%s)
steps=1 step=0 live_lines=0

# screen_options ARGUMENT...: properties of the screen, from ci/demo/run.
screen_options()
{
	while [ $# -gt 1 ]; do
		case $1 in
		--screen)	screen=$2 ;;
		--color)	color=$2 ;;
		--columns)	columns=$2 ;;
		--since)	since=$2 ;;
		*)		break ;;
		esac
		shift 2
	done
	[ $# = 0 ] || { echo "demo.sh: what is $1?" >&2; exit 2; }
	bold='' green='' red='' off=''
	if [ "$color" = yes ]; then
		bold=$'\e[1m' green=$'\e[32m' red=$'\e[31m' off=$'\e[0m'
	fi
}

# elapsed: sets $time to minutes and seconds since the start.
elapsed()
{
	local s=$(($(date +%s) - since))

	printf -v time '%d:%02d' $((s / 60)) $((s % 60))
}

# bar PART WHOLE WIDTH: sets $bar to that many signs, the part filled.
bar()
{
	local full=$(($2 > 0 ? $1 * $3 / $2 : 0)) signs dots

	[ "$full" -le "$3" ] || full=$3
	printf -v signs '%*s' "$full" ''
	printf -v dots '%*s' $(($3 - full)) ''
	bar=${signs// /#}${dots// /.}
}

# begin TITLE: the next step, with the bar over all of them.
begin()
{
	step=$((step + 1))
	elapsed
	bar $((step - 1)) "$steps" 24
	printf '\n%s[%s] step %d of %d, %s   %s%s\n\n' \
		"$bold" "$bar" "$step" "$steps" "$time" "$1" "$off"
}

text() { printf '  %s\n' "$@"; }

# good TEXT: a claim that was checked and holds.
good() { printf '  %sok%s  %s\n' "$green" "$off" "$1"; }

fail()
{
	printf '\n  %sFAILED%s  %s\n' "$red" "$off" "$1"
	exit 1
}

# show COMMAND: shows the command that would be typed.
show() { printf '  %s$ %s%s\n' "$bold" "$1" "$off"; }

# run COMMAND...: shows a command, runs it, indents its output.
run()
{
	show "$*"
	"$@" 2>&1 | sed 's/^/    /'
}

# live LINE...: replaces the lines shown last time.
live()
{
	local line

	[ "$live_lines" = 0 ] || printf '\e[%dA' "$live_lines"
	for line; do
		printf '\e[K%s\n' "${line:0:columns - 1}"
	done
	live_lines=$#
}
