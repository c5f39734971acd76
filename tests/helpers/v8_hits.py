# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of a Node process at calls of native functions, beside those that V8 told it in the same JavaScript call."""

import collections
import contextlib
import dataclasses
import itertools
import json
import os
import re
import threading

from . import apps, machine, node, v8

APP = machine.TREE / "tests/apps/node/probed.js"
# What stop() calls, as probed.js marks it: how V8 gets there differs.
TARGETS = {
    "api": "node!node::credentials::GetUid",
    "builtin": "node!v8::internal::Builtin_JsonParse",
    "code": "node!Builtins_ArrayPrototypeCopyWithin",
    "runtime": "node!v8::internal::Runtime_Throw",
}
# Builtins of the language on the way from stop() to the target.
BETWEEN = {"api": [], "builtin": [v8.Frame("JSON.parse")], "code": [], "runtime": []}
# Ways by which there are builtins, names of two bytes, scripts that are in no file, and parts of Node's own.
WAYS = ["builtins", "wide", "contexts", "inspected"]
# What calls JavaScript, and the code of a regular expression, which has a frame of its own since V8 14.
CALLS_JAVASCRIPT = "v8::internal::(anonymous namespace)::Invoke("
CALLS_EXPRESSION = "v8::internal::NativeRegExpMacroAssembler::"
MAX_FRAMES = 768
# Of so many there are so many of JavaScript at least.
JAVASCRIPT_FRAMES = 740
JAVASCRIPT = ("v8", "unknown")


def positions():
    """For each target the line and the column where stop() calls it."""
    found = {}
    for number, line in enumerate(APP.read_text().splitlines(), 1):
        match = re.match(r"( *(?:\w+\.|\[\]\.)?)\w.*// probed: (\w+)$", line)
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
    text = "\n".join(said for said in record["stack"].splitlines() if "wasm-function[" not in said)
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


def is_plainer(found, said):
    """Is it the same function at the same place, and nothing wrong in what is told of it? When it was named, what it was
    called on may have been elsewhere, or no more; and its script, or the line, may have been lost."""
    if found.script not in (None, said.script) or \
            (found.line and (found.line, found.column) != (said.line, said.column)):
        return False
    if (found.name, said.name) in UNGIVEN:
        return True
    name = re.sub(r" \[as [^]]*\]$", "", found.name)
    whole = re.sub(r" \[as [^]]*\]$", "", said.name)
    if name == whole or whole.endswith(f".{name}"):
        return True
    of, _, method = name.removeprefix("new ").rpartition(".")
    # What has no name in the source may have been given one.
    known = method == "<anonymous>" or method == whole.rpartition(".")[2]
    first = whole.split(".")[0]
    return known and of in {"", first, *TYPES.get(first, ())}


# What V8 calls a function by its place in the source, and by the name that it was given since.
UNGIVEN = {("Object.defineProperty.value.Object.defineProperty.value", "Object.given")}
# What V8 calls by where it is assigned, and of what types that is which it is called on.
TYPES = {"Readable": {"Socket"}, "traps": {"Traps"}, "list": {"Generator"}, "object": {"Object", "Array"}}


# What is inlined into one function, at most.
INLINED = 32


def is_likely(found, said):
    return found.name is None or v8.is_same(found, said) or is_plainer(found, said)


def spread(found, expected, is_whole):
    """What was said of each frame found, where one of which nothing is known may be of optimised code: then it is that
    of all that was inlined into it. None: however that is, they do not fit."""
    if len(found) <= len(expected) and (len(found) == len(expected) or not is_whole) and \
            all(map(is_likely, found, expected)):
        return expected[:len(found)]
    after = [set() for _ in range(len(found) + 1)]
    after[-1] = {len(expected)} if is_whole else set(range(len(expected) + 1))
    for i in reversed(range(len(found))):
        for j in range(len(expected)):
            if found[i].name is None:
                fits = any(j + count in after[i + 1] for count in range(1, INLINED + 1))
            else:
                fits = j + 1 in after[i + 1] and is_likely(found[i], expected[j])
            if fits:
                after[i].add(j)
    if 0 not in after[0]:
        return None
    chosen, j = [], 0
    for i, frame in enumerate(found):
        chosen.append(expected[j])
        j = j + 1 if frame.name else min(at for at in after[i + 1] if j < at <= j + INLINED)
    return chosen


class Comparison:
    """What was compared: frames, those of which nothing was known, those with a plainer name, and what was wrong."""

    def __init__(self, moving=False):
        self.moving = moving
        self.stacks = 0
        self.frames = 0
        self.unknown = 0
        self.partial = 0  # of these the script or the line was lost
        self.plainer = 0
        self.wrong = []
        self.tiers = collections.Counter()
        self.inlined = 0

    def compare(self, stop, target, hit):
        expected, found = stop.expected(target), javascript(hit)
        told = structure(hit)
        if self.moving and not all(frame.name for frame in found):
            expected = spread(found, expected, hit["stack_end"] == "whole") or expected
        if hit["stack_end"] == "truncated" and JAVASCRIPT_FRAMES < len(found) <= len(expected):
            expected = expected[:len(found)]
        elif hit["stack_end"] != "whole":
            told.append(f"the stack is {hit['stack_end']}, with {len(found)} frames of JavaScript")
        self.stacks += 1
        self.frames += len(expected)
        told += [f"{ours} is {theirs}" for ours, theirs in zip(found, expected) if not self.fits(ours, theirs)]
        if len(found) != len(expected):
            told.append("found: " + "; ".join(map(str, found)) + "\n    said: " + "; ".join(map(str, expected)))
            told.append("all: " + "; ".join(f"{frame['kind']} {frame.get('name')}" for frame in hit["stack"]))
        if told:
            self.wrong.append(f"{stop.way}, {target}: " + "\n    ".join(told))

    def fits(self, ours, theirs):
        self.tiers[ours.tier] += 1
        self.inlined += ours.inlined
        if ours.name is None:
            self.unknown += 1
            return self.moving
        if v8.is_same(ours, theirs):
            return True
        self.plainer += 1
        self.partial += ours.script != theirs.script or (theirs.line > 0 and not ours.line)
        return self.moving and is_plainer(ours, theirs)

    def check(self, unknown=0):
        assert not self.wrong, f"{len(self.wrong)} of {self}; these differ:\n" + "\n".join(self.wrong[:20])
        assert self.unknown <= unknown * self.frames, str(self)

    def __str__(self):
        tiers = ", ".join(f"{number} {tier}" for tier, number in self.tiers.most_common() if tier)
        return (f"{self.stacks} stacks, {self.frames} frames: {tiers}; {self.inlined} inlined; {self.unknown} unknown, "
                f"{self.plainer} with a plainer name, {self.partial} without script or line")


def structure(hit):
    """What is wrong with a stack whatever JavaScript is on it. _start has no size in all Nodes, so no name."""
    stack = hit["stack"]
    told = [f"{frame['name']} is guessed" for frame in stack if frame["guessed"]]
    told += [f"{frame['module']}+{frame['offset']:#x} has no name" for frame in stack
             if frame["kind"] == "native" and frame["name"] is None and frame["module"] == "node" and frame is not stack[-1]]
    # At its very first instruction a builtin has no frame that says which function it is.
    told += [f"{frame['name']} is native" for frame in stack[1:]
             if frame["kind"] == "native" and (frame["name"] or "").startswith("Builtins_")]
    if not hit["method"].startswith(stack[0]["name"].partition("(")[0]):
        told.append(f"the innermost frame is {stack[0]['name']}")
    # What is between JavaScript and its caller is V8's.
    for inner, outer in itertools.pairwise(stack):
        callers = (CALLS_JAVASCRIPT, CALLS_EXPRESSION) if inner["name"] == "[frame]" else CALLS_JAVASCRIPT
        if inner["kind"] != "native" and outer["kind"] == "native" and not (outer["name"] or "").startswith(callers):
            told.append(f"{outer['name']} calls {inner['name']}")
    return told


class Probed(apps.App):
    """A Node process whose stop() calls the targets; with a pipe it goes on when it is let."""

    def __init__(self, version=None, flags=(), pipe=None, collects=False, timeout=60):
        self.pipe = pipe
        if pipe:
            os.mkfifo(pipe)
        arguments = ["collect"] if collects else [pipe] if pipe else []
        super().__init__([node.program(version), "--expose-gc", *flags, APP, *arguments], None, timeout=timeout)

    def warm(self, rounds):
        self.ask(f"warm {rounds}", "warm")

    def run(self, rounds, file, *ways):
        self.ask(f"run {rounds} {file} {' '.join(ways)}".rstrip(), "ran")
        return [stop_of(line) for line in file.read_text().splitlines()]

    def work(self, rounds, file):
        self.ask(f"work {rounds} {file}", "worked")
        return [stop_of(line) for line in file.read_text().splitlines()]

    def let_go_on(self, live):
        """Have each stop() go on once its hits are printed, of which that for the throw is the last."""
        with open(self.pipe, "wb", buffering=0) as pipe:
            is_stop = False
            for line in live.lines():
                is_stop = is_stop or is_line_of(line, "api")
                if is_stop and is_line_of(line, "runtime"):
                    pipe.write(b".")
                    is_stop = False


# Nothing is collected of what a few tests allocate, not even while nothing is asked of it: what frames are called on stays
# where it was, so it may be read as late as it is, however busy the machine.
MOVES_NOTHING = ["--min-semi-space-size=64", "--no-memory-reducer", "--no-incremental-marking"]


@contextlib.contextmanager
def probed(*flags):
    """One of the version that is used where it does not matter which."""
    with contextlib.closing(Probed(flags=[*flags, *MOVES_NOTHING])) as target:
        yield target
        assert target.quit() == 0


def printed(place_probe, target, file, *options):
    """What is printed of calls of stop(), by one each of WAYS, and what V8 said of each."""
    live = place_probe.live("--max-frames=256", *options, target.pid, TARGETS["api"], timeout=60)
    stops = target.run(1, file, *WAYS)
    return live.stop().expect(0), [stop.expected("api") for stop in stops]


def is_line_of(line, target):
    return line.startswith('{"type":"hit"') and f'"method":"{TARGETS[target].partition("!")[2]}(' in line


def compare(place_probe, target, make):
    """The stacks at all calls of stop() that make() has it make, which returns what V8 said of them. Unless each call
    waits, objects may have moved before they were looked at."""
    live = place_probe.live("-j", f"--max-frames={MAX_FRAMES}", "--buffer=64M", target.pid, *TARGETS.values(), timeout=60)
    if target.pipe:
        threading.Thread(target=target.let_go_on, args=(live,), daemon=True).start()
    stops = make()
    result = live.stop().expect(0)
    summary = result.summary()
    comparison = Comparison(moving=not target.pipe)
    assert set(summary["lost"]) <= ({"v8-moved"} if comparison.moving else set()), summary
    by_thread = collections.defaultdict(list)
    for hit in result.records("hit"):
        by_thread[hit["tid"]].append(hit)
    found = [found for hits in by_thread.values() for found in stops_of(hits)]
    assert len(found) == len(stops) > 0, f"{len(found)} stops were seen, {len(stops)} made: {summary}"
    for hits, stop in zip(found, stops):
        assert set(hits) == set(TARGETS), f"{stop.way}: only {set(hits)}"
        for name, hit in hits.items():
            comparison.compare(stop, name, hit)
    return comparison, summary
