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
# Only what others' tools make is kept, never what our own programs or tests come to. A key names all that the entry
# depends on. An entry is KIND/KEY/content and a manifest with the checksum of each file. What is used is a copy that
# was checked; what does not agree with its manifest is removed, which is said on stderr. Entries appear by rename(),
# whole or not at all, so any number may write at once. Where nothing can be written nothing is kept, and all works.

# KiB, of all entries; ccache's objects have a bound of their own.
CACHE_BOUND=${PLACE_PROBE_CACHE_KIB:-$((5 << 20))}
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

# All that directory $1 holds: kinds, modes, names, targets of links; and the contents.
cache_manifest()
(
	set -o pipefail
	cd "$1" || exit 1
	export LC_ALL=C
	find . -mindepth 1 -printf '%y %m %P %l\n' | sort || exit 1
	find . -type f -print0 | sort -z | xargs -r -0 sha256sum
)

# Out of sight first: nobody finds half of it.
cache_drop()
{
	local away
	away=$(mktemp -d "$1/.old.XXXXXX") || return
	mv -T "$2" "$away/entry" 2>/dev/null
	rm -rf "$away"
}

cache_get()
{
	local root entry new
	root=$(cache_prepare "$1") || return 1
	entry=$root/$1/$2
	[ -d "$entry" ] || return 1
	mkdir -p "$(dirname "$3")" && new=$(mktemp -d "$3.XXXXXX") || return 1
	# Nobody makes room meanwhile.
	(
		flock -s 8
		cp -a --reflink=auto "$entry/content" "$new/content" 2>/dev/null &&
			cache_manifest "$new/content" 2>/dev/null | cmp -s - "$entry/manifest" && touch -c "$entry"
	) 8>>"$root/.lock"
	case $? in
	0)
		rm -rf "$3" && mv -T "$new/content" "$3" && rmdir "$new" && return 0
		;;
	*)
		echo "tests/cache.sh: $1/$2 is damaged: removed" >&2
		cache_drop "$root" "$entry"
		;;
	esac
	rm -rf "$new"
	return 1
}

cache_put()
{
	local root new
	root=$(cache_prepare "$1") && new=$(mktemp -d "$root/.new.XXXXXX") || return 0
	# Whoever was first has put the same thing.
	if cp -a --reflink=auto "$3" "$new/content" && cache_manifest "$3" >"$new/manifest"; then
		[ -d "$root/$1/$2" ] || mv -T "$new" "$root/$1/$2" 2>/dev/null
	fi
	rm -rf "$new"
	cache_trim
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

cache_trim()
{
	local root
	root=$(cache_root)
	[ -e "$root/CACHEDIR.TAG" ] || return 0
	(
		# While an entry is read, none goes; whoever puts the next one looks again.
		flock -n 8 || exit 0
		find "$root" -ignore_readdir_race -maxdepth 1 -name '.*.??????' -mmin +60 -exec rm -rf {} +
		# What tests/setup has installed is no entry: nothing would bring it back while tests run.
		# Nor is what is being made, which has a dot.
		find "$root"/* -ignore_readdir_race -mindepth 1 -maxdepth 1 ! -path "$root/ccache/*" \
			! -path "$root/node-*" ! -path "$root/libnode-*" -printf '%T@ %p\n' |
			sort -rn | cut -d' ' -f2- | xargs -r -d '\n' du -sk 2>/dev/null |
			awk -v bound="$CACHE_BOUND" '(sum += $1) > bound { sub(/^[0-9]+\t/, ""); print }' |
			xargs -r -d '\n' rm -rf
	) 8>>"$root/.lock"
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
