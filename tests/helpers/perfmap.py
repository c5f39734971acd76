# SPDX-License-Identifier: GPL-2.0-or-later
"""The perf map that the runtime writes of all it compiles: what is found in memory is held against it.

The runtime is told to write it where place-probe does not look, or that would read its names there.
"""

import bisect
import json
import pathlib
import re
import typing

from . import machine

# What the runtime calls its tiers, and what we do.
TIERS = {"QuickJitted": "tier0", "MinOptJitted": "minopt", "InstrumentedTier": "instrumented",
         "InstrumentedTierOptimized": "instrumented", "Optimized": "optimized",
         "OptimizedTier1": "tier1", "OptimizedTier1OSR": "osr"}
ROW = re.compile(r"0x([0-9a-f]+) ([0-9a-f]+) (.*)\[(\w+)\]$")
# In signatures that are in no metadata the runtime says of each type where it is.
WHERE = re.compile(rb" /\* MT: 0x[0-9a-f]+ \*/")
# Lines of --list that cannot be bodies that were compiled at run time.
OTHER_LINE = re.compile(r'"tier" ?: ?"r2r"|"address" ?: ?null')
# By which P/Invokes go.
STUB = "dynamicClass::IL_STUB_PInvoke("


class Body(typing.NamedTuple):
    """A body as both sides know it: the perf map does not print arguments of generic methods."""
    address: int
    size: int
    tier: str
    name: str


def environment(directory):
    return {"DOTNET_PerfMapEnabled": "3", "DOTNET_PerfMapJitDumpPath": str(directory)}


def without_method_arguments(name):
    """`T[A]::M[B](C)` as `T[A]::M(C)`."""
    depth, start = 0, len(name)
    for start in range(len(name) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(name[start], 0)
        if depth == 0:
            break
    method = name.rindex("::", 0, start) + 2
    bracket = name.find("[", method, start)
    # Explicit implementations have brackets within angle brackets, and something after them.
    if name[start - 1] == "]" and bracket > 0:
        return name[:bracket] + name[start:]
    return name


class PerfMap:
    """The rows of methods, in the order in which they were compiled."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def __len__(self):
        return len(self.bodies())

    def bodies(self):
        """All rows ever written. The names are put into our spelling by build/mapparse."""
        # What is not a whole line yet is not there yet.
        text = self.path.read_bytes()
        text = WHERE.sub(b"", text[:text.rfind(b"\n") + 1])
        copy = self.path.with_suffix(".copy")
        copy.write_bytes(text)
        listed = machine.run(machine.BUILD / "mapparse", "-j", copy).stdout
        copy.unlink()
        lines = text.decode().split("\n")
        found = []
        for row in map(json.loads, listed.splitlines()):
            if row["kind"] == "stub":
                continue
            raw = ROW.match(lines[row["line"] - 1])
            assert raw, f"a row that nobody can read: {lines[row['line'] - 1]}"
            body = Body(int(raw[1], 16), int(raw[2], 16), TIERS[raw[4]], row["name"])
            assert (row["address"], row["size"]) == body[:2], f"read otherwise by mapparse: {row}"
            found.append(body)
        return found

    def tiers(self, method):
        """The tiers in which a method was compiled, in that order."""
        return [body.tier for body in self.bodies() if body.name.startswith(method)]


def alive(rows):
    """Those whose code was not written over by that of a later row."""
    starts, kept = [], []
    for body in reversed(rows):
        at = bisect.bisect_right(starts, body.address)
        overlaps = (at > 0 and kept[at - 1].address + kept[at - 1].size > body.address or
                    at < len(kept) and body.address + body.size > kept[at].address)
        if not overlaps:
            starts.insert(at, body.address)
            kept.insert(at, body)
    return set(kept)


def jit_sites(text):
    """Of what `--list -j` printed, the bodies that were compiled at run time."""
    sites = [json.loads(line) for line in text.splitlines() if not OTHER_LINE.search(line)]
    return [site for site in sites if site["type"] == "site"]


def bodies_of(sites):
    return [Body(site["address"], site["size"], site["tier"],
                 without_method_arguments(site["method"])) for site in sites]


class Comparison(typing.NamedTuple):
    """A list held against the rows from before and after it was made."""
    listed: int
    twice: list     # listed more than once
    extra: list     # listed, but never compiled
    missing: list   # compiled before, not written over since, not listed

    def missing_besides(self, *prefixes):
        return [body for body in self.missing if not body.name.startswith(prefixes)]

    def __str__(self):
        def some(bodies):
            return "".join(f"\n    {body.address:x} {body.size:x} {body.tier} {body.name}"
                           for body in sorted(bodies)[:20])

        return (f"{self.listed} listed, {len(self.twice)} twice:{some(self.twice)}\n"
                f"{len(self.extra)} extra:{some(self.extra)}\n"
                f"{len(self.missing)} missing:{some(self.missing)}")


def imports(bodies, rows):
    """The bodies that are P/Invokes: to the runtime each is a stub, whoever goes by it, and we list both."""
    stubs = {row[:3] for row in rows if row.name.startswith(STUB)}
    return {body for body in bodies if body[:3] in stubs and not body.name.startswith(STUB)}


def compare(sites, before, after):
    """Where nothing is compiled meanwhile, `before` and `after` are the same."""
    ours = bodies_of(sites)
    passed_on = imports(ours, after)
    ours = [body for body in ours if body not in passed_on]
    known = set(after)
    needed = alive(after) & set(before)
    found = set(ours)
    return Comparison(len(ours), sorted(set(body for body in ours if ours.count(body) > 1))
                      if len(found) < len(ours) else [],
                      sorted(found - known), sorted(needed - found))
