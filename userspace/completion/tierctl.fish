# SPDX-License-Identifier: GPL-2.0-only
# fish completion for tierctl and the tools for metadata.  Commands and
# options are those that --help names.

function __tierctl_commands
	tierctl --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\)  *\(.*\)/\1\t\2/p'
end

# "--quiet<tab>say errors only", and the same for the letter
function __tierctl_options
	set -l words (commandline -opc)
	tierctl $words[2] --help 2>/dev/null | awk '
		/^Options:/ { on = 1; next }
		on && /^  / {
			n = match(substr($0, 7), /  +/)
			names = substr($0, 3, n + 3)
			text = substr($0, 6 + n + RLENGTH)
			gsub(/^ +/, "", text)
			while (match(names, /-[a-zA-Z-]+/)) {
				print substr(names, RSTART, RLENGTH) "\t" text
				names = substr(names, RSTART + RLENGTH)
			}
		}'
end

# A name is what some disk says: nothing of it is for a shell to expand.
function __tierctl_sets
	tierctl list --json 2>/dev/null | sed -n 's|^      "name": *"\([A-Za-z0-9#+.:=@_/-]*\)",$|\1|p'
end

function __tierctl_volumes
	lvs --noheadings --separator / -o vg_name,lv_name 2>/dev/null | tr -d ' '
end

# Options with a value: one of a few, a file, and what nobody can guess.
set -g __tierctl_choice --policy --feature --format --tier --at --evacuated --label
set -g __tierctl_file -m --metadata --pv --fast --fast-pv -o --output --svg --png --auto
set -g __tierctl_other -c --chunksize -L --size --fast-size --set -n --name -i --interval --timeout \
	--offset --length --exec

# The words before the one that is being typed that are no option and no value of one.
function __tierctl_given
	set -l words (commandline -opc)
	set -l value 0
	for word in $words[3..-1]
		if test $value -eq 1
			set value 0
		else if contains -- $word $__tierctl_choice $__tierctl_file $__tierctl_other
			set value 1
		else if not string match -q -- "-*" $word
			echo $word
		end
	end
end

function __tierctl_keys
	set -l given (__tierctl_given)
	tierctl get $given[1] 2>/dev/null | sed 's/=.*//'
end

function __tierctl_ranks
	set -l given (__tierctl_given)
	tierctl get $given[1] 2>/dev/null | sed -n 's/^tier\([0-9]*\)\.reserve=.*/\1/p'
end

# The values of the option $argv[1], where they are few.
function __tierctl_values
	set -l given (__tierctl_given)
	set -l ranks
	switch $argv[1]
	case --policy
		printf '%s\n' heat static
	case --feature
		printf '%s\n' paused no_discard_passdown skip_zeroing
	case --format
		printf '%s\n' xml json
	case --tier --evacuated
		test (count $given) -eq 0; or set ranks (__tierctl_ranks)
		test (count $ranks) -gt 0; or set ranks 0 1 2 3
		printf '%s\n' $ranks
	case --at --label
		printf '%s\n' 0 1 2 3
	end
end

# The option whose value is being typed: "--at 1"
function __tierctl_option
	set -l words (commandline -opc)
	echo -- $words[-1]
end

# "--at=1", which is one word
function __tierctl_assigned
	set -l option (string replace -r '=.*' '' -- (commandline -ct))
	for value in (__tierctl_values $option)
		echo -- $option=$value
	end
end

function __tierctl_after
	contains -- (__tierctl_option) $argv
end

# What the word is that is being typed: command, option, assigned, nothing, file, volume, rank,
# or else words for those that the command takes.
function __tierctl_place
	set -l words (commandline -opc)
	set -l n (count $words)
	if test $n -lt 2; or test $n -eq 2 -a $words[-1] = help
		echo command
		return
	end
	if string match -q -- "--*=*" (commandline -ct)
		echo assigned
		return
	end
	if string match -q -- "-*" (commandline -ct)
		echo option
		return
	end
	if contains -- $words[-1] $__tierctl_file
		echo file
		not contains -- $words[-1] -m --metadata --fast; or echo volume
		return
	end
	if contains -- $words[-1] $__tierctl_choice
		echo value
		return
	end
	if contains -- $words[-1] $__tierctl_other
		echo nothing
		return
	end
	set n (count (__tierctl_given))
	switch $words[2]
	case convert create
		printf '%s\n' volume file
	case restore scan
		echo file
	case pin unpin migrate explain heatmap check dump repair destroy
		printf '%s\n' set file
	case add remove replace evacuate admit
		if test $n -eq 0
			echo set
		else
			echo file
			test $words[2] = add; or test $n -gt 1; or echo rank
		end
	case set get
		test $n -eq 0; and echo set; or echo key
	case '*'
		echo set
	end
end

function __tierctl_at
	contains -- $argv[1] (__tierctl_place)
end

complete -c tierctl -f
complete -c tierctl -n '__tierctl_at command' -a '(__tierctl_commands)'
complete -c tierctl -n '__tierctl_at command' -l help -d 'say how it is used'
complete -c tierctl -n '__tierctl_at command' -l version -d 'say the version'
complete -c tierctl -n '__tierctl_at option' -a '(__tierctl_options)'
complete -c tierctl -n '__tierctl_at set' -a '(__tierctl_sets)'
complete -c tierctl -n '__tierctl_at key' -a '(__tierctl_keys)'
complete -c tierctl -n '__tierctl_at rank' -a '(__tierctl_ranks)'
complete -c tierctl -n '__tierctl_at file' -F
complete -c tierctl -n '__tierctl_at volume' -a '(__tierctl_volumes)'
complete -c tierctl -n '__tierctl_at value' -a '(__tierctl_values (__tierctl_option))'
complete -c tierctl -n '__tierctl_at assigned' -a '(__tierctl_assigned)'

function __tier_tool_options
	set -l words (commandline -opc)
	$words[1] --help 2>/dev/null | grep -o -- '--[a-z-]*' | sort -u
end

for tool in tier_check tier_dump tier_restore tier_repair tier_metadata_size
	complete -c $tool -n 'string match -q -- "-*" (commandline -ct)' -a '(__tier_tool_options)'
	complete -c $tool -n '__tierctl_after --format' -f -a 'xml json'
	complete -c $tool -n '__tierctl_after -s --size -c --chunksize' -f
end
