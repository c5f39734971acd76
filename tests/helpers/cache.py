# SPDX-License-Identifier: GPL-2.0-or-later
"""What others' tools have made, kept outside the tree: tests/cache.sh."""

import pathlib
import subprocess

from . import machine

CACHE = machine.TREE / "tests/cache.sh"


def where():
    return pathlib.Path(machine.run(CACHE, "where").stdout.strip())


def in_any_clone(word):
    """A word in which a path into the tree is what it is in every clone."""
    return str(word).replace(f"{machine.TREE}/", "./")


def key(words, files):
    """One hash of the words and of the names and contents of the files."""
    words = [in_any_clone(word) for word in words]
    files = [in_any_clone(path) for path in files]
    return machine.run(CACHE, "key", *words, "--", *files, cwd=machine.TREE).stdout.strip()


def get(kind, name, directory):
    """Have a copy of an entry; false: there is none."""
    # What it says of damaged entries belongs to the test's output.
    return subprocess.run([CACHE, "get", kind, name, directory]).returncode == 0


def put(kind, name, directory):
    machine.run(CACHE, "put", kind, name, directory, timeout=120)
