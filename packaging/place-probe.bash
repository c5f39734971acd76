# SPDX-License-Identifier: GPL-2.0-or-later
# What bash completes of place-probe: options, processes that run .NET or Node, and methods of one.

_place_probe_options()
{
	place-probe --help 2>/dev/null | sed -nE 's/^ +(-., )?(--[a-z-]+)(\[?=[^ ]*)?.*/\2\3/p'
}

# PID and name of each process that has a runtime's code mapped.
_place_probe_processes()
{
	local maps pid
	# shellcheck disable=SC2013 # no path of these has a blank
	for maps in $(grep -l -s -E 'libcoreclr\.so|libnode\.so|/node$' /proc/[0-9]*/maps); do
		pid=${maps#/proc/}
		pid=${pid%/maps}
		echo "$pid $(cat "/proc/$pid/comm" 2>/dev/null)"
	done
}

# What names of process $1 begin with $2: types up to "::", or methods of one.
_place_probe_methods()
{
	local pattern="$2*"
	[[ $2 == *::* ]] || pattern="$2*::*"
	timeout 2 place-probe --list --json "$1" "$pattern" 2>/dev/null |
		sed -nE 's/^.*"method":"([^"(]+).*$/\1/p' |
		if [[ $2 == *::* ]]; then sort -u; else sed -E 's/::.*/::/' | sort -u; fi | head -n 200
}

_place_probe()
{
	local word=${COMP_LINE:0:COMP_POINT} pid='' i list
	word=${word##*[[:blank:]]}
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ -z $pid && ${COMP_WORDS[i]} =~ ^[0-9]+$ && -d /proc/${COMP_WORDS[i]} ]] && pid=${COMP_WORDS[i]}
	done
	if [[ $word == -* ]]; then
		mapfile -t list < <(_place_probe_options | sed -E 's/\[=.*//; s/=.*/=/')
		mapfile -t COMPREPLY < <(compgen -W "${list[*]}" -- "$word")
		[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
	elif [[ -z $pid ]]; then
		mapfile -t list < <(_place_probe_processes | grep "^$word")
		# Names are shown while there is a choice.
		if [[ ${#list[@]} == 1 ]]; then COMPREPLY=("${list[0]%% *}"); else COMPREPLY=("${list[@]}"); fi
	else
		word=${word#[\'\"]}
		compopt -o nospace
		mapfile -t COMPREPLY < <(_place_probe_methods "$pid" "$word")
		# Readline takes a colon for a break between words.
		if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then
			COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
		fi
	fi
} && complete -F _place_probe place-probe
