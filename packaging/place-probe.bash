# SPDX-License-Identifier: GPL-2.0-or-later
# What bash completes of place-probe: options, processes that run .NET or Node, and names of methods of one; those are
# found by place-probe --complete.

_place_probe_options()
{
	place-probe --help 2>/dev/null | sed -nE 's/^ +(-., )?(--[a-z-]+)(\[?=)?.*/\2\3/p' | sed 's/\[=$//'
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
		mapfile -t list < <(_place_probe_options)
		mapfile -t COMPREPLY < <(compgen -W "${list[*]}" -- "$word")
		[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
	elif [[ -z $pid ]]; then
		mapfile -t list < <(place-probe --complete 2>/dev/null | grep "^$word")
		# Names are shown while there is a choice.
		if [[ ${#list[@]} == 1 ]]; then COMPREPLY=("${list[0]%% *}"); else COMPREPLY=("${list[@]}"); fi
	else
		word=${word#[\'\"]}
		compopt -o nospace
		mapfile -t COMPREPLY < <(timeout 2 place-probe --complete "$pid" "$word" 2>/dev/null)
		# Readline takes a colon for a break between words.
		if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then
			COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
		fi
	fi
} && complete -F _place_probe place-probe
