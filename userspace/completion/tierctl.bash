# SPDX-License-Identifier: GPL-2.0-only
# bash completion for tierctl and the tools for metadata.  Commands and
# options are those that --help names.

# A name is what some disk says: nothing of it is for a shell to expand.
_tierctl_sets()
{
	tierctl list --json 2>/dev/null | sed -n 's|^      "name": *"\([A-Za-z0-9#+.:=@_/-]*\)",$|\1|p'
}

_tierctl_keys()
{
	tierctl get "$1" 2>/dev/null | sed 's/=.*//'
}

_tierctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
	local words files=

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		words=$(tierctl --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
		mapfile -t COMPREPLY < <(compgen -W "$words --help --version" -- "$cur")
		return
	fi
	case $cur in
	-*)
		words=$(tierctl "$command" --help 2>/dev/null | sed -n '/^Options:/,$p' |
			grep -o '^  [^ ].*\|^      --.*' | cut -c1-29 | grep -o -- '-[a-zA-Z-]*')
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
	--tier|--at|--evacuated)
		mapfile -t COMPREPLY < <(compgen -W '0 1 2 3' -- "$cur")
		return
		;;
	-m|--metadata|--pv|--fast|--fast-pv|-o|--output|--svg|--png|--auto)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		compopt -o filenames 2>/dev/null
		return
		;;
	-c|--chunksize|-L|--size|--fast-size|--set|-n|--name|-i|--interval|--timeout|--offset|--length|--exec)
		return
		;;
	esac
	words=
	case $command in
	convert|create|restore|scan)
		files=1
		;;
	pin|unpin|migrate|explain|heatmap|check|dump|repair|destroy)
		files=1
		words=$(_tierctl_sets)
		;;
	add|remove|replace|evacuate|admit)
		if [ "$COMP_CWORD" -gt 2 ] && [[ $prev != -* ]]; then
			files=1
		else
			words=$(_tierctl_sets)
		fi
		;;
	set|get)
		if [ "$COMP_CWORD" -gt 2 ]; then
			words=$(_tierctl_keys "${COMP_WORDS[2]}")
		else
			words=$(_tierctl_sets)
		fi
		;;
	*)
		words=$(_tierctl_sets)
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; [ -z "$files" ] || compgen -f -- "$cur")
	[ -z "$files" ] || compopt -o filenames 2>/dev/null
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
	-s:*|--size:*|-c:*|--chunksize:*)
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
