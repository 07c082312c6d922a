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

_tierctl_ranks()
{
	tierctl get "$1" 2>/dev/null | sed -n 's/^tier\([0-9]*\)\.reserve=.*/\1/p'
}

_tierctl_volumes()
{
	lvs --noheadings --separator / -o vg_name,lv_name 2>/dev/null | tr -d ' '
}

# Options with a value: one of a few, a file, and what nobody can guess.
_tierctl_choice='--policy|--feature|--format|--tier|--at|--evacuated|--label'
_tierctl_file='-m|--metadata|--pv|--fast|--fast-pv|-o|--output|--svg|--png|--auto'
_tierctl_other='-c|--chunksize|-L|--size|--fast-size|--set|-n|--name|-i|--interval|--timeout'
_tierctl_other+='|--offset|--length|--exec'

# The words before this one that are no option and no value of one, into given.
_tierctl_given()
{
	local i

	given=()
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == @($_tierctl_choice|$_tierctl_file|$_tierctl_other) ]]; then
			i=$((i + 1))
			# Bash makes three words of --at=1.
			[ "${COMP_WORDS[i]}" != = ] || i=$((i + 1))
		elif [[ ${COMP_WORDS[i]} != -* ]]; then
			given+=("${COMP_WORDS[i]}")
		fi
	done
}

_tierctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
	local words files='' given

	COMPREPLY=()
	# Bash makes three words of --policy=heat.
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	if [ "$COMP_CWORD" -eq 1 ] || [ "$COMP_CWORD:$command" = 2:help ]; then
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
	--tier|--at|--evacuated|--label)
		_tierctl_given
		words=
		[[ $prev == @(--at|--label) ]] || [ ${#given[@]} = 0 ] || words=$(_tierctl_ranks "${given[0]}")
		mapfile -t COMPREPLY < <(compgen -W "${words:-0 1 2 3}" -- "$cur")
		return
		;;
	esac
	if [[ $prev == @($_tierctl_file) ]]; then
		words=
		[[ $prev != @(-m|--metadata|--fast) ]] || words=$(_tierctl_volumes)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; compgen -f -- "$cur")
		compopt -o filenames 2>/dev/null
		return
	fi
	[[ $prev != @($_tierctl_other) ]] || return
	_tierctl_given
	words=
	case $command in
	convert|create)
		files=1
		words=$(_tierctl_volumes)
		;;
	restore|scan)
		files=1
		;;
	pin|unpin|migrate|explain|heatmap|check|dump|repair|destroy)
		files=1
		words=$(_tierctl_sets)
		;;
	add|remove|replace|evacuate|admit)
		if [ ${#given[@]} = 0 ]; then
			words=$(_tierctl_sets)
		else
			files=1
			[ "$command" = add ] || [ ${#given[@]} != 1 ] || words=$(_tierctl_ranks "${given[0]}")
		fi
		;;
	set|get)
		if [ ${#given[@]} = 0 ]; then
			words=$(_tierctl_sets)
		else
			words=$(_tierctl_keys "${given[0]}")
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
