#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each command and each option of --help is completed by bash, zsh and fish, and so are arguments
# and values, if they can be known.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

folder=$top/userspace/completion
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
tools='tier_check tier_dump tier_restore tier_repair tier_metadata_size'
program=tierctl
for tool in $tools; do
	ln -s "$top/userspace/$tool" "$bin/$tool"
done
export PATH=$bin:$PATH

# Called by the name of the shell.
# shellcheck disable=SC2317
# bash_offers WORD...: prints bash's completions of the last word after $program
bash_offers()
{
	bash --norc -c '
		. "$0"
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		$(complete -p "$1" | grep -o "_tier[a-z_]*" | head -n 1)
		printf "%s\n" "${COMPREPLY[@]}"' "$folder/tierctl.bash" "$program" "$@"
}

# shellcheck disable=SC2317
zsh_offers()
{
	# shellcheck disable=SC2016	# for zsh to expand
	zsh -f -c '
		_describe() { [[ $1 != -o ]] || shift; local w; for w in ${(P)2}; do print -r -- ${w%%:*}; done }
		_files() { print -l -- *(N) }
		compset() { words[CURRENT]=${words[CURRENT]#*=} }
		. $0
		[[ " $(head -n 1 $0) " == *" $1 "* ]] || exit
		words=("$@")
		CURRENT=$#words
		_tierctl' "$folder/_tierctl" "$program" "$@"
}

# shellcheck disable=SC2317
fish_offers()
{
	# shellcheck disable=SC2016	# for fish to expand
	HOME=$bin fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' \
		"$folder/tierctl.fish" "$program $*" | cut -f1
}

# A tierctl that knows three sets; one name would do harm if a shell expanded it.
cat >"$bin/tierctl" <<EOF
#!/bin/sh
case \$* in
'list --json')	printf '      "name": "%s",\n' photos 'x\$(touch $bin/expanded)' vg/data ;;
'get photos')	printf '%s\n' migration_depth=4 tier0.landing=1 tier0.reserve=0 tier1.landing=1 tier1.reserve=0 ;;
*)		exec "$(realpath "$tierctl")" "\$@" ;;
esac
EOF
printf '#!/bin/sh\necho "  vg/slow"\n' >"$bin/lvs"
chmod +x "$bin/tierctl" "$bin/lvs"

# missing WANTED OFFERED: prints the words that are not offered
missing() { comm -23 <(sort -u <<<"$1") <(sort -u <<<"$2") | paste -sd' ' -; }

# offers KIND WORD...: $shell offers a set, a file, a rank, a key, a format and so on; with "no
# KIND", it offers none.
offers()
{
	local no="" kind regex want got
	if [ "$1" = no ]; then
		no='no '
		shift
	fi
	kind=$1
	shift
	case $kind in
	set)	regex=photos want=1 ;;
	file)	regex=tierctl.bash want=1 ;;
	rank)	regex='[01]' want=2 ;;
	key)	regex='migration_depth' want=1 ;;
	format)	regex='xml\|json' want=2 ;;
	volume)	regex=vg/slow want=1 ;;
	policy)	regex='\(--policy=\)\?\(heat\|static\)' want=2 ;;
	command) regex='create\|wait' want=2 ;;
	esac
	[ -z "$no" ] || want=0
	got=$(cd "$folder" && "${shell}_offers" "$@" | grep -cx "$regex")
	[ "$got" = "$want" ]
	point $? "$shell: $program $*: $no$kind ($got)"
}

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
	# And nothing that does not exist is offered.
	left=$(missing "$("${shell}_offers" status -- | grep '^-')" "$(options status)")
	[ -z "$left" ]
	point $? "$shell offers no option that status does not have${left:+: $left}"
	left=$("${shell}_offers" status '' | grep -x 'photos\|vg/data\|x.*' | paste -sd' ' -)
	[ "$left" = "photos vg/data" ] && [ ! -e "$bin/expanded" ]
	point $? "$shell completes names of sets, and expands none ($left)"
	for command in check dump repair destroy pin unpin migrate explain heatmap; do
		offers set $command ''
		offers file $command ''
	done
	for command in create convert restore scan; do
		offers no set $command ''
		offers file $command ''
	done
	for command in add remove replace evacuate admit; do
		offers set $command ''
		offers file $command photos ''
		offers no set $command photos ''
		# Only words that are no option and no value of an option count, wherever they
		# stand.
		offers set $command -q ''
		offers no file $command -q ''
		offers file $command photos -q ''
		offers no set $command photos -q ''
	done
	for command in remove replace evacuate admit; do
		offers rank $command photos ''
		offers rank $command -q photos ''
	done
	offers no rank add photos ''
	offers no rank replace photos 0 ''
	offers file replace photos 0 ''
	for option in $("$tierctl" add --help | grep -o -- '--[a-z]* [A-Z]\+ ' | grep -o -- '--[a-z]*') -L -n; do
		offers set add "$option" 1 ''
		offers no file add "$option" 1 ''
		offers file add photos "$option" 1 ''
		offers file add "$option" 1 photos ''
		offers no set add "$option" 1 photos ''
	done
	for command in set get; do
		offers set $command -q ''
		offers key $command photos ''
		offers key $command -q photos ''
	done
	offers no file list ''
	offers rank pin photos --tier ''
	offers rank add photos /dev/sdc --at ''
	offers rank wait --evacuated ''
	offers rank repair --label ''
	offers set repair --label 1 /dev/sdb ''
	offers format dump photos --format ''
	for option in -o --output; do
		offers file dump photos $option ''
		offers no set dump photos $option ''
	done
	offers no set wait --timeout ''
	# Bash makes three words of --policy=heat.
	if [ "$shell" = bash ]; then
		offers policy create --policy =
		offers policy create --policy = ''
	else
		offers policy create --policy=
	fi
	offers command help ''
	offers volume convert ''
	offers volume create -m ''
	offers no volume scan ''
	left=$("${shell}_offers" pin photos --tier '' | sed 's/ .*//' | sort -u | paste -sd' ' -)
	[ "$left" = "0 1" ]
	point $? "$shell offers the ranks that a set has ($left)"
	for program in $tools; do
		left=$(missing "$("$bin/$program" --help | grep -o -- '--[a-z-]*')" "$("${shell}_offers" --)")
		[ -z "$left" ]
		point $? "$shell completes the options of $program${left:+, but not $left}"
	done
	for program in tier_check tier_dump tier_restore tier_repair; do
		offers file -i ''
	done
	for program in tier_check tier_dump; do
		offers file ''
	done
	offers format --format ''
	offers no file --format ''
	program=tierctl
done
finish
