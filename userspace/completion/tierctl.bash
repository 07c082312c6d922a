# SPDX-License-Identifier: GPL-2.0-only
# bash completion for tierctl

_tierctl_sets()
{
	tierctl list --json 2>/dev/null | sed -n 's/^      "name": *"\(.*\)",$/\1/p'
}

_tierctl_keys()
{
	tierctl get "$1" 2>/dev/null | sed 's/=.*//'
}

_tierctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
	local words

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		words=$(tierctl --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
		mapfile -t COMPREPLY < <(compgen -W "$words --help --version" -- "$cur")
		return
	fi
	case $cur in
	-*)
		words=$(tierctl "$command" --help 2>/dev/null | grep -o -- '--[a-z-]*')
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
		;;
	esac
	case $prev in
	--policy)
		mapfile -t COMPREPLY < <(compgen -W 'heat static' -- "$cur")
		return
		;;
	--feature)
		mapfile -t COMPREPLY < <(compgen -W 'paused no_discard_passdown skip_zeroing' -- "$cur")
		return
		;;
	--format)
		mapfile -t COMPREPLY < <(compgen -W 'xml json' -- "$cur")
		return
		;;
	-m|--metadata|-o|--output|--pv)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	esac
	case $command in
	create|scan)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		;;
	restore)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		;;
	check|dump|repair)
		mapfile -t COMPREPLY < <(compgen -W "$(_tierctl_sets)" -- "$cur"; compgen -f -- "$cur")
		;;
	add|remove|replace)
		if [ "$COMP_CWORD" -gt 2 ]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -W "$(_tierctl_sets)" -- "$cur")
		fi
		;;
	set|get)
		if [ "$COMP_CWORD" -gt 2 ]; then
			mapfile -t COMPREPLY < <(compgen -W "$(_tierctl_keys "${COMP_WORDS[2]}")" -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -W "$(_tierctl_sets)" -- "$cur")
		fi
		;;
	*)
		mapfile -t COMPREPLY < <(compgen -W "$(_tierctl_sets)" -- "$cur")
		;;
	esac
}
complete -F _tierctl tierctl

_tier_tool()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words

	COMPREPLY=()
	case $prev:$cur in
	--format:*)
		mapfile -t COMPREPLY < <(compgen -W 'xml json' -- "$cur")
		;;
	*:-*)
		words=$("${COMP_WORDS[0]}" --help 2>/dev/null | grep -o -- '--[a-z-]*')
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		;;
	*)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		;;
	esac
}
complete -F _tier_tool tier_check tier_dump tier_restore tier_repair tier_metadata_size
