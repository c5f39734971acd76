# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of a Node process at calls of native functions, beside those that V8 told it in the same JavaScript call."""

import collections
import dataclasses
import itertools
import json
import re

from . import apps, machine, node, v8

APP = machine.TREE / "tests/apps/node/probed.js"
# What stop() calls, as probed.js marks it: how V8 gets there differs.
TARGETS = {
    "api": "libc.so.6!getuid",
    "builtin": "node!v8::internal::Builtin_JsonParse",
    "runtime": "node!v8::internal::Runtime_Throw",
}
# Builtins of the language on the way from stop() to the target.
BETWEEN = {"api": [], "builtin": [v8.Frame("JSON.parse")], "runtime": []}
# What calls JavaScript.
CALLS_JAVASCRIPT = "v8::internal::(anonymous namespace)::Invoke("
# Of which JavaScript has more in the way "recursion" alone.
MAX_FRAMES = 768
JAVASCRIPT = ("v8", "unknown")


def positions():
    """For each target the line and the column where stop() calls it."""
    found = {}
    for number, line in enumerate(APP.read_text().splitlines(), 1):
        match = re.match(r"( *(?:\w+\.)?)\w.*// probed: (\w+)$", line)
        if match:
            found[match[2]] = number, len(match[1]) + 1
    return found


POSITIONS = positions()


@dataclasses.dataclass
class Stop:
    """What V8 has said in a call of stop(), its own frame first; and where that was."""
    way: str
    said: list

    def expected(self, target):
        """The JavaScript frames that are on the stack when stop() calls this target."""
        line, column = POSITIONS[target]
        stop, *callers = self.said
        return [*BETWEEN[target], dataclasses.replace(stop, line=line, column=column), *callers]


def stop_of(line):
    record = json.loads(line)
    # WebAssembly is no JavaScript.
    text = "\n".join(said for said in record["stack"].splitlines() if "wasm://" not in said)
    return Stop(record["way"], v8.oracle(text))


def frame_of(frame):
    """A frame of a hit; one of which nothing is known has no name."""
    return v8.Frame(frame["name"], frame["file"], frame["line"] or 0, frame["column"] or 0, frame["tier"],
                    frame["inlined"])


def javascript(hit):
    return [frame_of(frame) for frame in hit["stack"] if frame["kind"] in JAVASCRIPT]


def is_target(hit, target):
    return hit["method"].partition("(")[0] == TARGETS[target].partition("!")[2]


def stops_of(hits):
    """For each call of stop() its hits by target. Others than stop() parse JSON and throw, but none between its calls,
    of which the first is that of what nothing else calls."""
    found = []
    for hit in sorted(hits, key=lambda hit: hit["time_ns"]):
        target = next(target for target in TARGETS if is_target(hit, target))
        if target == "api":
            found.append({})
        if found:
            found[-1].setdefault(target, hit)
    return found


class Comparison:
    """What was compared: frames, those of which nothing was known, and what was wrong."""

    def __init__(self):
        self.stacks = 0
        self.frames = 0
        self.unknown = 0
        self.wrong = []
        self.tiers = collections.Counter()
        self.inlined = 0

    def compare(self, stop, target, hit):
        expected, found = stop.expected(target), javascript(hit)
        self.stacks += 1
        self.frames += len(expected)
        told = structure(hit)
        if hit["stack_end"] == "truncated" and len(hit["stack"]) >= MAX_FRAMES < len(expected):
            expected = expected[:len(found)]
        elif hit["stack_end"] != "whole":
            told.append(f"the stack is {hit['stack_end']}")
        for ours, theirs in zip(found, expected):
            self.tiers[ours.tier] += 1
            self.inlined += ours.inlined
            if ours.name is None:
                self.unknown += 1
            elif not v8.is_same(ours, theirs):
                told.append(f"{ours} is {theirs}")
        if len(found) != len(expected):
            told.append("found: " + "; ".join(map(str, found)) + "\n    said: " + "; ".join(map(str, expected)))
        if told:
            self.wrong.append(f"{stop.way}, {target}: " + "\n    ".join(told))

    def check(self, unknown=0):
        assert not self.wrong, f"{len(self.wrong)} of {self.stacks} stacks differ:\n" + "\n".join(self.wrong[:20])
        assert self.unknown <= unknown * self.frames, f"{self.unknown} of {self.frames} frames are unknown"

    def __str__(self):
        tiers = ", ".join(f"{number} {tier}" for tier, number in self.tiers.most_common() if tier)
        return f"{self.stacks} stacks, {self.frames} frames: {tiers}; {self.inlined} inlined; {self.unknown} unknown"


def structure(hit):
    """What is wrong with a stack whatever JavaScript is on it."""
    stack = hit["stack"]
    told = [f"{frame['name']} is guessed" for frame in stack if frame["guessed"]]
    told += [f"{frame['module']}+{frame['offset']:#x} has no name" for frame in stack
             if frame["kind"] == "native" and frame["name"] is None and frame["module"] == "node"]
    told += [f"{frame['name']} is native" for frame in stack
             if frame["kind"] == "native" and (frame["name"] or "").startswith("Builtins_")]
    if not hit["method"].startswith(stack[0]["name"].partition("(")[0]):
        told.append(f"the innermost frame is {stack[0]['name']}")
    # What is between JavaScript and its caller is V8's.
    for inner, outer in itertools.pairwise(stack):
        if inner["kind"] != "native" and outer["kind"] == "native" and \
                not (outer["name"] or "").startswith(CALLS_JAVASCRIPT):
            told.append(f"{outer['name']} calls {inner['name']}")
    return told


class Probed(apps.App):
    """A Node process whose stop() calls the targets."""

    def __init__(self, version, flags=(), arguments=(), timeout=60):
        super().__init__([node.program(version), "--expose-gc", *flags, APP, *arguments], None, timeout=timeout)

    def warm(self, rounds):
        self.ask(f"warm {rounds}", "warm")

    def run(self, rounds, file, *ways):
        self.ask(f"run {rounds} {file} {' '.join(ways)}".rstrip(), "ran")
        return [stop_of(line) for line in file.read_text().splitlines()]

    def work(self, rounds, file):
        self.ask(f"work {rounds} {file}", "worked")
        return [stop_of(line) for line in file.read_text().splitlines()]


def compare(place_probe, target, make, *options):
    """The stacks at all calls of stop() that make() has it make, which returns what V8 said of them."""
    live = place_probe.live("-j", "--strict", f"--max-frames={MAX_FRAMES}", "--buffer=64M", *options, target.pid,
                            *TARGETS.values(), timeout=60)
    stops = make()
    result = live.stop().expect(0)
    summary = result.summary()
    assert set(summary["lost"]) <= {"v8-moved"}, summary
    by_thread = collections.defaultdict(list)
    for hit in result.records("hit"):
        by_thread[hit["tid"]].append(hit)
    found = [found for hits in by_thread.values() for found in stops_of(hits)]
    assert len(found) == len(stops) > 0, f"{len(found)} stops were seen, {len(stops)} made: {summary}"
    comparison = Comparison()
    for hits, stop in zip(found, stops):
        assert set(hits) == set(TARGETS), f"{stop.way}: only {set(hits)}"
        for name, hit in hits.items():
            comparison.compare(stop, name, hit)
    return comparison, summary
