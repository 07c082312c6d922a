#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each command and each option of --help is completed, by bash, zsh and fish.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

folder=$top/userspace/completion
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
ln -s "$(realpath "$tierctl")" "$bin/tierctl"
export PATH=$bin:$PATH

# Called by the name of the shell.
# shellcheck disable=SC2317
# bash_offers WORD...: what it offers for the last word
bash_offers()
{
	bash --norc -c '
		. "$0"
		COMP_WORDS=(tierctl "$@")
		COMP_CWORD=$#
		_tierctl
		printf "%s\n" "${COMPREPLY[@]}"' "$folder/tierctl.bash" "$@"
}

# shellcheck disable=SC2317
zsh_offers()
{
	# shellcheck disable=SC2016	# for zsh to expand
	zsh -f -c '
		_describe() { [[ $1 != -o ]] || shift; local w; for w in ${(P)2}; do print -r -- ${w%%:*}; done }
		_files() { print -l -- *(N) }
		. $0
		words=(tierctl "$@")
		CURRENT=$#words
		_tierctl' "$folder/_tierctl" "$@"
}

# shellcheck disable=SC2317
fish_offers()
{
	# shellcheck disable=SC2016	# for fish to expand
	HOME=$bin fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' \
		"$folder/tierctl.fish" "tierctl $*" | cut -f1
}

# A tierctl that knows two sets, one of them with a name made to be expanded.
mkdir "$bin/fake"
cat >"$bin/fake/tierctl" <<EOF
#!/bin/sh
[ "\$1" != list ] || printf '      "name": "%s",\n' photos 'x\$(touch $bin/expanded)' vg/data
EOF
chmod +x "$bin/fake/tierctl"

# missing WANTED OFFERED: those that are not there
missing() { comm -23 <(sort -u <<<"$1") <(sort -u <<<"$2") | paste -sd' ' -; }

for shell in bash zsh fish; do
	if ! command -v "$shell" >/dev/null; then
		skip "$shell" "$shell is not installed"
		continue
	fi
	left=$(missing "$(commands)" "$("${shell}_offers" '')")
	[ -z "$left" ]
	point $? "$shell completes the commands${left:+, but not $left}"
	for command in $(commands); do
		left=$(missing "$(options "$command" | grep '^--')" "$("${shell}_offers" "$command" --)")
		[ -z "$left" ]
		point $? "$shell completes the options of $command${left:+, but not $left}"
	done
	# And nothing that is not there.
	left=$(missing "$("${shell}_offers" status -- | grep '^-')" "$(options status)")
	[ -z "$left" ]
	point $? "$shell offers no option that status does not have${left:+: $left}"
	left=$("${shell}_offers" pin photos --tier '' | grep -cx '[01]')
	[ "$left" = 2 ]
	point $? "$shell completes ranks"
	left=$(PATH=$bin/fake:$PATH "${shell}_offers" status '' | grep -x 'photos\|vg/data\|x.*' | paste -sd' ' -)
	[ "$left" = "photos vg/data" ] && [ ! -e "$bin/expanded" ]
	point $? "$shell completes names of sets, and expands none ($left)"
	left=$(cd "$folder" && "${shell}_offers" explain '' | grep -cx 'tierctl.bash')
	[ "$left" = 1 ]
	point $? "$shell completes files"
done
finish
