#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What is worth keeping from one clone of the tree to the next. Sourced, or run as a command:
#
# cache.sh where                     the directory: $PLACE_PROBE_CACHE, or place-probe among the user's caches
# cache.sh key WORD... -- FILE...    one hash of the words and of the names and contents of the files
# cache.sh get KIND KEY DIRECTORY    make DIRECTORY a copy of the entry; 1: there is none
# cache.sh put KIND KEY DIRECTORY    keep a copy of DIRECTORY
# cache.sh compile COMMAND...        run COMMAND with $CCACHE naming ccache, if there is one, which keeps objects here
# cache.sh trim                      remove what was not used for longest, until the rest is within the bound
# cache.sh clean                     remove it all
#
# What is kept, and how, is said in tests/helpers/cache.py, which entries with content are up to.

# ccache's objects, beside all entries.
CACHE_OBJECTS_BOUND=1G

cache_root()
{
	local caches=${XDG_CACHE_HOME:-}
	# Without HOME the shell asks the list of users.
	[ -n "$caches" ] || caches=$([ -n "${HOME:-}" ] || unset HOME; echo ~/.cache)
	echo "${PLACE_PROBE_CACHE:-$caches/place-probe}"
}

# Have directory $1 in the cache and print the cache's; fails where it cannot be written to.
cache_prepare()
{
	local root
	root=$(cache_root)
	mkdir -p "$root/$1" 2>/dev/null && [ -w "$root" ] && [ -w "$root/$1" ] || return 1
	[ -e "$root/CACHEDIR.TAG" ] ||
		echo 'Signature: 8a477f597d28d172789f06886806bc55' >"$root/CACHEDIR.TAG" || return 1
	echo "$root"
}

cache_key()
{
	local words=() sums=
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	shift $(($# > 0))
	# A file that is not there makes no key.
	[ $# = 0 ] || sums=$(sha256sum -- "$@") || return 1
	printf '%s\0' "${words[@]}" -- "$sums" | sha256sum | cut -d' ' -f1
}

# Entries with content; where and what they are is in it.
cache_get()
{
	"${BASH_SOURCE[0]%/*}/helpers/cache.py" get "$@"
}

cache_put()
{
	"${BASH_SOURCE[0]%/*}/helpers/cache.py" put "$@"
}

cache_trim()
{
	"${BASH_SOURCE[0]%/*}/helpers/cache.py" trim
}

# An entry without content: that what key $2 of kind $1 says is so.
cache_note()
{
	local root new
	root=$(cache_prepare "$1") && new=$(mktemp "$root/.new.XXXXXX") || return 0
	echo "$1 $2" >"$new" && mv -T "$new" "$root/$1/$2"
}

# Those of the keys on stdin that were noted as kind $1.
cache_noted()
{
	local root key text found=()
	root=$(cache_root)
	while read -r key; do
		[ -e "$root/$1/$key" ] || continue
		text=
		# All there is, and no zero byte in it.
		if ! IFS= read -r -d '' text <"$root/$1/$key" && [ "$text" = "$1 $key"$'\n' ]; then
			found+=("$root/$1/$key")
			echo "$key"
		else
			echo "tests/cache.sh: $1/$key is damaged: removed" >&2
			rm -f "$root/$1/$key"
		fi
	done
	[ ${#found[@]} = 0 ] || printf '%s\0' "${found[@]}" | xargs -0 touch -c
}

cache_clean()
{
	local root
	root=$(cache_root)
	[ -e "$root" ] || return 0
	if [ ! -e "$root/CACHEDIR.TAG" ]; then
		echo "tests/cache.sh: $root is no cache of ours: left as it is" >&2
		return 1
	fi
	rm -rf "$root"
}

# Objects are the same in every clone but for the directory that debugging information names: the first one's.
cache_compile()
{
	local root
	if [ -z "${CCACHE+set}" ] && command -v ccache >/dev/null && root=$(cache_prepare ccache); then
		export CCACHE=ccache CCACHE_DIR=$root/ccache CCACHE_NOHASHDIR=1
		export CCACHE_MAXSIZE=$CACHE_OBJECTS_BOUND
	fi
	"$@"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	set -u
	verb=${1:-}
	shift
	case $verb in
	where)	cache_root ;;
	key|get|put|compile|trim|clean) "cache_$verb" "$@" ;;
	*)	sed -n '/^# cache.sh/s/^# //p' "$0" >&2; exit 2 ;;
	esac
fi
