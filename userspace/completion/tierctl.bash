# SPDX-License-Identifier: GPL-2.0-only
# bash completion for tierctl and the tools for metadata.

# command|NAME|what is offered for each argument|summary
# option|SPELLING...|COMMAND...|what is offered for its value|help
# @set, @key, @rank, @volume and @file are looked up, other words are offered as they are, - is nothing.
_tierctl_table='
# BEGIN table (make -C userspace generate)
command|create|@volume @file|make a tiered device of several devices
command|convert|@volume @file|put faster devices in front of a device with data, in place
command|revert|@set|turn a set into one of its tiers, in use
command|destroy|@set @file|take a set apart, what is in it is lost
command|activate|@set|make the device of a set that was found
command|deactivate|@set|remove the device of a set, its contents stay
command|list|@set|list sets, active or not
command|scan|@file|list the devices that belong to sets
command|status|@set|show how sets are doing
command|pause|@set|stop migration
command|resume|@set|let migration go on
command|schedule|@set|let migration run at certain hours
command|set|@set,@key|change tunables, for good
command|get|@set,@key|show tunables, in the kernel'\''s units
command|migrate|@set @file|move chunks to a tier
command|wait|@set|wait until nothing moves
command|pin|@set @file|keep chunks on a tier
command|unpin|@set @file|let chunks move again
command|evacuate|@set,@rank @file,@file|empty a tier, place nothing on it
command|admit|@set,@rank @file,@file|use a tier again after evacuate or errors
command|top|@set|watch sets work
command|heatmap|@set @file|draw where things lie and how hot they are
command|explain|@set @file|say where chunks lie, and why
command|advise|@set|say what more fast storage would bring, and what holds chunks back
command|events|@set|say what happens, as it happens
command|metrics|@set|report in Prometheus'\'' text format
command|check|@set @file|check the metadata of a set
command|dump|@set @file|write the metadata of a set as text
command|backup|@set|keep dumps of the metadata of sets
command|restore|@file|make metadata of a dump
command|repair|@set @file|save what can be read of damaged metadata, or write a tier'\''s label anew
command|add|@set,@file|add a tier to a set in use
command|remove|@set,@rank @file,@file|empty a tier and take it out of the set
command|replace|@set,@rank @file,@file|put another device in the place of a tier
command|resize|@set|make a set larger, or smaller
command|rename|@set|give an active set another name
option|-m --metadata|create convert|@volume @file|the device for the metadata
option|--mirror|create|none|keep the metadata on the fastest tier alone
option|-c --chunksize|create convert|-|size of a chunk, a power of two from 64k to 1g (default 1m; more above 384t)
option|-L --size|create|-|size of the tiered device, a multiple of 4k (default: all that fits)
option|--policy|create convert|heat static|what decides on moves: heat, static (default heat)
option|--feature|create activate|paused no_discard_passdown skip_zeroing|one of paused, no_discard_passdown, skip_zeroing; repeatable
option|--set|create|-|a tunable, as with tierctl-set(8); repeatable
option|-f --force|create convert revert destroy activate deactivate pause resume schedule set migrate pin unpin evacuate admit check restore repair add remove replace resize rename||go on in spite of what would be lost (still asks)
option|-t --dry-run --test|create convert revert destroy activate deactivate pause resume schedule set migrate pin unpin evacuate admit backup restore repair add remove replace resize rename||say what would be done, change nothing
option|-y --yes|create convert revert destroy activate deactivate pause resume schedule set migrate pin unpin evacuate admit check restore repair add remove replace resize rename||answer yes to every question
option|--json|create convert revert destroy activate deactivate list scan status pause resume schedule set get migrate wait pin unpin evacuate admit top heatmap explain advise metrics check backup restore repair add remove replace resize rename||report as JSON
option|-h --help|create convert revert destroy activate deactivate list scan status pause resume schedule set get migrate wait pin unpin evacuate admit top heatmap explain advise events metrics check dump backup restore repair add remove replace resize rename||say how the command is used
option|-V --version|create convert revert destroy activate deactivate list scan status pause resume schedule set get migrate wait pin unpin evacuate admit top heatmap explain advise events metrics check dump backup restore repair add remove replace resize rename||say the version
option|-q --quiet|create convert revert destroy activate deactivate list scan status pause resume schedule set get migrate wait pin unpin evacuate admit top heatmap explain advise events metrics check dump backup restore repair add remove replace resize rename||say errors only
option|-v --verbose|create convert revert destroy activate deactivate list scan status pause resume schedule set get migrate wait pin unpin evacuate admit top heatmap explain advise events metrics check dump backup restore repair add remove replace resize rename||say more
option|--fast|convert|@volume @file|a device to put in front; repeatable, fastest first
option|--fast-size|convert|-|make a logical volume of that size to put in front
option|--fast-pv|convert|@file|the physical volume for --fast-size
option|-n --name|convert|-|what to call the new device, if the old one is no logical volume
option|--abort|convert||undo a conversion that was interrupted and that nobody has used yet
option|--at-boot|convert||let the initramfs do it at the next boot, before anything is mounted
option|--tier|revert|@rank|the tier that takes the set'\''s place, 0 is the fastest
option|--abort|revert||stay a set: chunks stop moving home
option|-a --all|activate||every set that was found
option|--auto|activate|@file|complete sets only, in silence (for udev)
option|--degraded|activate||go on without the tiers that are missing, stale or used otherwise
option|-r --read-only|activate||write nothing at all to the set
option|--no-check|activate||do not check the metadata first
option|--take-over|activate||use it although another machine has not deactivated it
option|--reserve|activate||reserve its disks, so that no other machine can write to them
option|-n --name|activate|-|call the device NAME
option|-a --all|deactivate||every active set
option|-a --all|scan||also the devices that belong to no set, and what they carry
option|-i --interval|status|-|measure rates for so long (1 to 86400), then report
option|--apply|schedule||change no timer, pause or resume as is right now
option|--clear|schedule||take the timer away: migration at all hours again
option|--tier|migrate|@rank|where to, 0 is the fastest tier
option|--home|migrate||put chunk N at place N of the tier
option|-w --wait|migrate pin||wait until the chunks are there
option|--offset|migrate pin unpin heatmap explain|-|where the range starts in the tiered device
option|--length|migrate pin unpin heatmap explain|-|how long it is
option|--evacuated|wait|@rank|wait until this tier is empty
option|--timeout|wait|-|give up after so long
option|--tier|pin|@rank|where they are to stay, 0 is the fastest tier
option|--refresh|pin||pin again the files that were pinned, wherever they lie now
option|-b --background|evacuate remove||do not wait until it is done
option|-i --interval|top|-|between two screens, 1 to 86400 (default 2, with --once and --json 1)
option|--batch|top||plain text, one screen after the other
option|--once|top||plain text, one screen
option|--files|top||name the files that are hot
option|--svg|heatmap|@file|draw to FILE as SVG
option|--png|heatmap|@file|draw to FILE as PNG
option|--exec|events|-|run COMMAND by the shell for each event
option|--journal|events||write to the journal, not to standard output
option|--once|events||end once something has happened
option|--timeout|events|-|end after so long
option|--json|events||an object a line, not wrapped as in other commands
option|-o --output|metrics dump|@file|write there, not to standard output
option|-t --dry-run --test|check||leave the flag needs_check as it is
option|-f --force|dump||dump a metadata snapshot that is held already, and keep it
option|--format|dump|xml json|how to write it: xml (default) or json
option|--json|dump||the same as --format json
option|--dir|backup|@file|where to keep them (default /var/lib/dm-tier/backup)
option|--keep|backup|-|how many of each set to keep (default 7)
option|--label|repair|0 1 2 3|write the label of this tier to DEV, which lost it
option|--tiers|repair||compare labels, make lost records of them: DEV..., fastest first
option|--at|add|0 1 2 3|where in the order of tiers, 0 is the fastest (default: last)
option|-L --size|add|-|make a logical volume of that size
option|--pv|add|@file|make a logical volume on this physical volume
option|-n --name|add|-|what to call the logical volume
option|--abort|add||undo what an unfinished call of this command did
option|--abort|remove||keep the tier: the emptying ends, and the tier is in use again
option|-b --background|replace||do not wait until OLD is empty
option|--abort|replace||go back: use OLD again, empty NEW and take it out
option|-L --size|resize|-|how large, a multiple of 4k (default: all that fits)
option|--abort|resize||forget a table that was loaded and not used
option|--abort|rename||go back to OLD
# END
'

_tierctl_commands()
{
	awk -F'|' '$1 == "command" { print $2 }' <<<"$_tierctl_table"
}

# What is offered for the arguments of a command: the first, the second and so on, with commas between.
_tierctl_arguments()
{
	awk -F'|' -v name="$1" '$1 == "command" && $2 == name { print $3 }' <<<"$_tierctl_table"
}

# The options of a command
_tierctl_options()
{
	awk -F'|' -v name=" $1 " '$1 == "option" && index(" " $3 " ", name) { print $2 }' <<<"$_tierctl_table"
}

# What is offered for the value of an option.  Fails if that takes none.
_tierctl_value()
{
	awk -F'|' -v name=" $1 " '
		$1 == "option" && $4 && index(" " $2 " ", name) { print $4; found = 1; exit }
		END { exit !found }' <<<"$_tierctl_table"
}

# A name is what some disk says: nothing of it is for a shell to expand.
_tierctl_sets()
{
	tierctl list --json 2>/dev/null | sed -n 's|^      "name": *"\([A-Za-z0-9#+.:=@_/-]*\)",$|\1|p'
}

# _tierctl_get EXPRESSION: of the tunables of the set that is named, what sed makes of them
_tierctl_get()
{
	[ ${#given[@]} = 0 ] || tierctl get "${given[0]}" 2>/dev/null | sed -n "$1"
}

# The words before this one that are no option and no value of one, into given.
_tierctl_given()
{
	local i

	given=()
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} != -* ]]; then
			given+=("${COMP_WORDS[i]}")
		elif _tierctl_value "${COMP_WORDS[i]}" >/dev/null; then
			i=$((i + 1))
			# Bash makes three words of --at=1.
			[ "${COMP_WORDS[i]}" != = ] || i=$((i + 1))
		fi
	done
}

# The words that WORD... stand for, but files
_tierctl_offer()
{
	local word ranks

	for word; do
		case $word in
		@set)	 _tierctl_sets ;;
		@key)	 _tierctl_get 's/=.*//p' ;;
		@rank)	 ranks=$(_tierctl_get 's/^tier\([0-9]*\)\.reserve=.*/\1/p')
			 echo "${ranks:-0 1 2 3}" ;;
		@volume) lvs --noheadings --separator / -o vg_name,lv_name 2>/dev/null | tr -d ' ' ;;
		@file|-) ;;
		*)	 echo "$word" ;;
		esac
	done
}

_tierctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
	local words places given offered

	COMPREPLY=()
	# Bash makes three words of --policy=heat.
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	if [ "$COMP_CWORD" -eq 1 ] || [ "$COMP_CWORD:$command" = 2:help ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_tierctl_commands) --help --version" -- "$cur")
		return
	fi
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_tierctl_options "$command")" -- "$cur")
		return
	fi
	_tierctl_given
	if ! offered=$(_tierctl_value "$prev"); then
		IFS=, read -ra places <<<"$(_tierctl_arguments "$command")"
		offered=${places[${#given[@]}]-${places[-1]}}
	fi
	read -ra words <<<"$offered"
	mapfile -t COMPREPLY < <(compgen -W "$(_tierctl_offer "${words[@]}")" -- "$cur"
				 [[ $offered != *@file* ]] || compgen -f -- "$cur")
	[[ $offered != *@file* ]] || compopt -o filenames 2>/dev/null
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
