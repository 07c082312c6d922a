# SPDX-License-Identifier: GPL-2.0-only
# fish completion for tierctl.  Commands and options are those that --help names.

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

function __tierctl_keys
	set -l words (commandline -opc)
	tierctl get $words[3] 2>/dev/null | sed 's/=.*//'
end

# Whether the command is there already, and one of those named if any are.
function __tierctl_in
	set -l words (commandline -opc)
	test (count $words) -ge 2; and begin
		test (count $argv) -eq 0; or contains -- $words[2] $argv
	end
end

function __tierctl_after
	set -l words (commandline -opc)
	contains -- $words[-1] $argv
end

complete -c tierctl -f
complete -c tierctl -n 'not __tierctl_in' -a '(__tierctl_commands)'
complete -c tierctl -n 'not __tierctl_in' -l help -d 'say how it is used'
complete -c tierctl -n 'not __tierctl_in' -l version -d 'say the version'
complete -c tierctl -n '__tierctl_in; and string match -q -- "-*" (commandline -ct)' -a '(__tierctl_options)'
complete -c tierctl -n '__tierctl_in; and not __tierctl_in convert create scan' -a '(__tierctl_sets)'
complete -c tierctl -n '__tierctl_in convert create scan pin unpin migrate explain heatmap' -F
complete -c tierctl -n '__tierctl_in set get' -a '(__tierctl_keys)'
complete -c tierctl -n '__tierctl_after --policy' -a 'heat static'
complete -c tierctl -n '__tierctl_after --feature' -a 'paused no_discard_passdown skip_zeroing'
complete -c tierctl -n '__tierctl_after --tier --evacuated' -a '0 1 2 3'
complete -c tierctl -n '__tierctl_after -m --metadata --pv --fast --fast-pv --svg --png --auto' -F
