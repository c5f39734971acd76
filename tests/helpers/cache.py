#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What others' tools have made, kept outside the tree from one clone to the next. As a command:

cache.py get KIND KEY DIRECTORY    make DIRECTORY a copy of the entry; 1: there is none
cache.py put KIND KEY DIRECTORY    keep a copy of DIRECTORY
cache.py trim                      remove what was not used for longest, until the rest is within the bound

Only what others' tools make is kept, never what our own programs or tests come to. A key names all that the entry
depends on. An entry is KIND/KEY/content and a manifest with the checksum of each file. What is used is a copy that
was checked; what does not agree with its manifest is removed, which is said on stderr. Entries appear by rename(),
whole or not at all, so any number may write at once. Where nothing can be written nothing is kept, and all works.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
# KiB, of all entries; ccache's objects have a bound of their own.
BOUND = 5 << 20
# Who has not come to an end by then never will.
LEFT_S = 3600


def where():
    """$PLACE_PROBE_CACHE, or place-probe among the user's caches: as cache_root of tests/cache.sh."""
    if os.environ.get("PLACE_PROBE_CACHE"):
        return pathlib.Path(os.environ["PLACE_PROBE_CACHE"])
    # Without HOME the list of users is asked.
    home = os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or f"{home}/.cache") / "place-probe"


def prepare(kind):
    """Have a directory in the cache; the cache's, or None where it cannot be written to."""
    root = where()
    with contextlib.suppress(OSError):
        (root / kind).mkdir(parents=True, exist_ok=True)
        if os.access(root, os.W_OK) and os.access(root / kind, os.W_OK):
            tag = root / "CACHEDIR.TAG"
            if not tag.exists():
                tag.write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
            return root
    return None


def in_any_clone(word):
    """A word in which a path into the tree is what it is in every clone."""
    return str(word).replace(f"{TREE}/", "./")


def checksum(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def key(words, files):
    """One hash of the words and of the names and contents of the files: as cache_key of tests/cache.sh."""
    names = [in_any_clone(path) for path in files]
    sums = "\n".join(f"{checksum(TREE / name)}  {name}" for name in names)
    words = [*map(in_any_clone, words), "--", sums]
    return hashlib.sha256("".join(f"{word}\0" for word in words).encode()).hexdigest()


KINDS = {stat.S_IFREG: b"f", stat.S_IFDIR: b"d", stat.S_IFLNK: b"l"}


def manifest(home):
    """All that a directory holds, sorted: kinds, modes, names, targets of links; and the files as sha256sum has them."""
    entries, files = [], []
    for directory, directories, names in os.walk(os.fsencode(home)):
        for name in directories + names:
            path = os.path.join(directory, name)
            mode = os.lstat(path).st_mode
            shown = os.path.relpath(path, os.fsencode(home))
            link = os.readlink(path) if stat.S_ISLNK(mode) else b""
            entries.append(b"%s %o %s %s" % (KINDS.get(stat.S_IFMT(mode), b"?"), stat.S_IMODE(mode), shown, link))
            if stat.S_ISREG(mode):
                files.append((b"./" + shown, checksum(path)))
    lines = sorted(b"\n".join(entries).split(b"\n")) if entries else []
    for name, number in sorted(files):
        escaped = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
        lines.append(b"%s%s  %s" % (b"" if escaped == name else b"\\", number.encode(), escaped))
    return b"".join(line + b"\n" for line in lines)


def copy(source, destination):
    subprocess.run(["cp", "-a", "--reflink=auto", source, destination], check=True, stderr=subprocess.DEVNULL)


def drop(root, entry):
    """Out of sight first: nobody finds half of it."""
    away = tempfile.mkdtemp(prefix=".old.", dir=root)
    with contextlib.suppress(OSError):
        os.rename(entry, f"{away}/entry")
    shutil.rmtree(away, ignore_errors=True)


def read_checked(root, entry, new):
    """A copy of the entry; false if it is damaged. Nobody makes room meanwhile."""
    with open(root / ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        try:
            copy(entry / "content", new)
            whole = manifest(new) == (entry / "manifest").read_bytes()
        except (OSError, subprocess.CalledProcessError):
            return False
        if whole:
            os.utime(entry)
        return whole


def get(kind, name, directory):
    """Have a copy of an entry; false: there is none."""
    root, directory = prepare(kind), pathlib.Path(directory)
    entry = root / kind / name if root else None
    if not entry or not entry.is_dir():
        return False
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{directory.name}.", dir=directory.parent) as new:
        if read_checked(root, entry, f"{new}/content"):
            if directory.exists():
                shutil.rmtree(directory)
            os.rename(f"{new}/content", directory)
            return True
    print(f"tests/helpers/cache.py: {kind}/{name} is damaged: removed", file=sys.stderr, flush=True)
    drop(root, entry)
    return False


def put(kind, name, directory):
    root = prepare(kind)
    if not root:
        return
    new = tempfile.mkdtemp(prefix=".new.", dir=root)
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        copy(directory, f"{new}/content")
        pathlib.Path(new, "manifest").write_bytes(manifest(directory))
        # Whoever was first has put the same thing.
        if not (root / kind / name).exists():
            os.rename(new, root / kind / name)
    shutil.rmtree(new, ignore_errors=True)
    trim()


def size_kib(path):
    return sum(os.lstat(os.path.join(directory, name)).st_blocks
               for directory, _, files in os.walk(path) for name in files) // 2


def entries(root):
    """
    Those that may go, with when they were used last. What tests/setup has installed is no entry: nothing would bring it
    back while tests run. Nor is what fuzzing has come to, or what is being made, which has a dot.
    """
    for kind in root.iterdir():
        if kind.is_dir() and not kind.name.startswith((".", "ccache", "node-", "libnode-", "fuzz")):
            for entry in kind.iterdir():
                with contextlib.suppress(FileNotFoundError):
                    yield entry.lstat().st_mtime, entry


def trim():
    root, bound = where(), int(os.environ.get("PLACE_PROBE_CACHE_KIB", BOUND))
    if not (root / "CACHEDIR.TAG").exists():
        return
    with open(root / ".lock", "a") as lock:
        try:
            # While an entry is read, none goes; whoever puts the next one looks again.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        for left in root.glob(".*.*"):
            with contextlib.suppress(FileNotFoundError):
                if left.lstat().st_mtime < time.time() - LEFT_S:
                    shutil.rmtree(left, ignore_errors=True)
        total = 0
        for _, entry in sorted(entries(root), reverse=True):
            with contextlib.suppress(FileNotFoundError):
                total += size_kib(entry) if entry.is_dir() else entry.lstat().st_blocks // 2
                if total > bound:
                    shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


if __name__ == "__main__":
    verbs = {"get": (get, 3), "put": (put, 3), "trim": (trim, 0)}
    verb, wanted = verbs.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if not verb or len(sys.argv) != 2 + wanted:
        sys.exit(__doc__)
    sys.exit(1 if verb(*sys.argv[2:]) is False else 0)
