# SPDX-License-Identifier: GPL-2.0-or-later
"""place-probe where calls and allocations fail: what starts it so, and what must be true of how it ended."""

import json
import os
import re
import struct

from . import machine, pairs, probe, records

# docs/place-probe.1, EXIT STATUS; 2 is the command line's.
STATUSES = {0, 1, 3, 4, 5}
# Nobody can do anything about such a line, or it is not ours.
NO_SENTENCE = re.compile(r"\(null\)|: Success\b|: *$|\bassert|double free|corrupt|core dumped|Unknown error", re.IGNORECASE)
# What tells that something is missing.
DOUBT = re.compile(r"memory was refused|lower bound|lost: [1-9]|cannot|could not|no memory|not |without|unknown|more than|too |missed", re.IGNORECASE)
FIXED_BASE = 0x555555554000  # where a program lies if it does not lie at random addresses
SITES_AT = 8 * (2 + 12)


class Calls:
    """tests/tools/failing_calls before place-probe."""

    def __init__(self, directory):
        self.path = directory / "failing-calls"

    def before(self, calls, what="EIO", nth=0):
        self.path.unlink(missing_ok=True)
        return [machine.tool("failing_calls"), self.path, calls, what, nth]

    def result(self):
        """What it has told: the calls, how many of them failed, the peak of its memory, and whether any process is left."""
        return json.loads(self.path.read_text())


class Allocator:
    """tests/helpers/failing_allocator.c in place-probe; @tried: the sites that failed in other modes."""

    def __init__(self, library, directory, tried):
        self.tried = tried
        self.library = library
        self.path = directory / "failing-allocator"

    # Sites are known by their addresses.
    before = ("setarch", "-R")

    def environment(self, fail="none 0"):
        self.path.unlink(missing_ok=True)
        return {"LD_PRELOAD": str(self.library), "FAIL": fail, "FAIL_RESULT": str(self.path)}

    def _words(self):
        return self.path.read_bytes()

    def calls(self):
        return struct.unpack_from("<Q", self._words())[0]

    def failed(self):
        return struct.unpack_from("<Q", self._words(), 8)[0]

    def sites(self):
        """In the order in which they were come to."""
        words = self._words()
        found = [pair[::-1] for pair in struct.iter_unpack("<QQ", words[SITES_AT:]) if pair[0]]
        return [site for _, site in sorted(found)]

    def where(self, program):
        """Who made the one that failed first."""
        frames = [frame for frame in struct.unpack_from("<12Q", self._words(), 16) if frame]
        own = [hex(frame - FIXED_BASE - 1) for frame in frames if FIXED_BASE <= frame < FIXED_BASE + (1 << 30)]
        lines = machine.run("addr2line", "-fpse", program, *own, check=False).stdout if own else ""
        return "\n".join(line for line in lines.splitlines() if "??" not in line) or "in a library"


def spread_evenly(items, most):
    """So many of them, from the first to the last."""
    items = list(items)
    if len(items) <= most:
        return items
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def spread(items, number):
    """The same; all where full products are tried."""
    return list(items) if pairs.is_full() else spread_evenly(items, number)


def check_words(text):
    """What it has said is its own, and can be understood."""
    for line in text.splitlines():
        assert line.startswith("place-probe: "), f"whose words are these? {line}\n{text}"
        assert not NO_SENTENCE.search(line), f"who can do anything about that? {line}\n{text}"


def check_end(result, summarized=True):
    """It has ended as documented, with a sentence if it failed, and what it has written is whole."""
    assert result.code in STATUSES, f"is that an exit status?\n{result}"
    check_words(result.err)
    assert result.code == 0 or result.err.strip(), f"it says nothing:\n{result}"
    if result.out.startswith("{"):
        assert result.out.endswith("\n"), result.out[-200:]
        records.parse(result.out, summarized)
    return result


def is_told(result, usual):
    """Whether it has said anything of what is missing that it does not say usually."""
    if result.code:
        return True
    known = {re.sub(r"\d+", "", line) for line in usual.splitlines()}
    return any(DOUBT.search(line) for line in result.err.splitlines() if re.sub(r"\d+", "", line) not in known)


class Faulty(probe.PlaceProbe):
    """place-probe with something before it, or in it, that has it fail. It never gets a debug register."""

    def __init__(self, path, no_registers):
        super().__init__(path)
        self.no_registers = str(no_registers)
        self.again()

    def again(self, before=(), env=None):
        self.before = list(before)
        # The kernel lets only one listen to what it calls: failing_calls, or a broker.
        listens = bool(before) and str(before[0]) == str(machine.tool("failing_calls")) and before[2] != "none"
        self.words = [*probe.NO_REMAP, *(["--no-sandbox"] if listens else [])]
        env = env or {}
        libraries = [env["LD_PRELOAD"]] if "LD_PRELOAD" in env else []
        self.env = os.environ | env | {"LD_PRELOAD": ":".join([*libraries, self.no_registers])}
        return self
