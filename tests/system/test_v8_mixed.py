# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks through .NET and JavaScript in one process, against what both engines said in the same call: `new
Error().stack` and StackTrace, taken by the innermost managed method or JavaScript function (tests/apps/mixed).

Compared are name, script, line and column of JavaScript, names without signature and generic arguments of .NET, and by
which native functions the one has called the other; all of them in one order, up to the thread's start.
"""

import collections
import dataclasses
import itertools
import pathlib
import re

import pytest

from helpers import mixed, node, pairs, v8, v8_hits
from helpers.records import plain

CALLS = 1000
LEVELS = 2
# What is probed is native, or precompiled and, as its process has no tiers, never compiled anew.
pytestmark = pytest.mark.beside

VERSIONS = [one for one in node.versions() if node.line(one) in (20, 22, 24, 26)]
DOTNETS = [8, 10]
WHERE = ["main", "worker", "both"]
PROBED = {"sleep": "System.Threading.Thread::Sleep", "reach": "mixed.node!mixed_reach", "open": "libc.so.6!open64"}
MODES = {
    "default": [],
    "interpreter": ["--no-opt", "--no-sparkplug"],
    "baseline": ["--always-sparkplug", "--no-opt"],
}
CASES = [(*case, mode) for case, mode in zip(
    itertools.product(VERSIONS, DOTNETS, PROBED, WHERE), itertools.cycle(MODES))] if pairs.is_full() else \
    pairs.cover(itertools.product(VERSIONS, DOTNETS, PROBED, WHERE, MODES), lambda row: [*enumerate(row), row[:2]])
# Native functions by which the engines call each other, and chains end.
MARKERS = {"mixed_enter", "mixed_call", "mixed_reach", "mixed_reach_noted", "napi_call_function", "node::Start",
           "uv_fs_open"}
TO_THE_END = {"sleep": [], "reach": ["mixed_reach", "mixed_reach_noted"], "open": ["uv_fs_open"]}
# What has V8 in it.
ENGINES = {"node", "libnode.so.108"}
# call to an address that follows, and through memory or a register
CALL = re.compile(rb"\xe8....|\xff(?:[\xd0-\xd7]|\x15....|[\x10-\x17].?|[\x50-\x57]..?|[\x90-\x97].{4,5})", re.DOTALL)


@pytest.fixture
def start_mixed(start_app, build_app, short_tmp):
    """start_mixed(HOW, VERSION, DOTNET, ...): see mixed.start()."""
    def start(*which, end=None, **options):
        return mixed.start(start_app, build_app, *which, short_tmp, tiered=end != "sleep", **options)

    return start


def found_frames(hit):
    """From the caller of what is probed on, innermost first; of native ones those that matter."""
    for at, frame in enumerate(hit["stack"]):
        kind, name = frame["kind"], frame["name"] or "?"
        if kind == "dotnet" and at:
            yield kind, plain(name)
        elif kind == "v8":
            yield kind, v8.Frame(name, frame["file"], frame["line"] or 0, frame["column"] or 0, frame["tier"],
                                 frame["inlined"])
        elif kind == "native" and name.partition("(")[0] in MARKERS:
            yield kind, name.partition("(")[0]


def crossing(how, inner, outer, is_base):
    """The native functions by which one engine's part of a stack was called by the other's."""
    if (inner, outer) == ("dotnet", "v8"):
        return ["mixed_enter"] if how == "addon" else []
    return ["node::Start"] if is_base else ["napi_call_function"] + (["mixed_call"] if how == "addon" else [])


def expected_frames(how, end, chain, outermost):
    parts = [(engine, [item for _, item in items])
             for engine, items in itertools.groupby(chain.frames, lambda frame: frame[0])]
    frames = [("native", name) for name in TO_THE_END[end]]
    for at, (engine, items) in enumerate(parts):
        frames += [(engine, item) for item in items]
        if at + 1 < len(parts):
            is_base = at + 2 == len(parts) and parts[-1][0] == "dotnet"
            frames += [("native", name) for name in crossing(how, engine, parts[at + 1][0], is_base)]
    return frames + [("native", name) for name in outermost]


def is_as_expected(found, said):
    # What it was called on may have moved since, more than once.
    if found[0] == said[0] == "v8":
        return v8.is_same(found[1], said[1]) or v8_hits.is_plainer(found[1], said[1])
    return found == said


def after_note(end, frames, said):
    """The function that opens a file has gone on in its line since, and to functions of Node's own."""
    if end != "open":
        return frames, said
    at = next((at for at, (kind, frame) in enumerate(frames) if kind == "v8" and frame.script != "node:fs"), 0)
    own = [frame for kind, frame in frames[:at] if kind == "v8"]
    assert own and v8.own_name(own[-1]) == "openSync", frames[:at]
    there = len(TO_THE_END[end])
    (kind, found), noted = frames[at], said[there]
    assert is_as_expected((kind, dataclasses.replace(found, column=noted[1].column)), noted), f"{found} is {noted[1]}"
    assert frames[:there] == said[:there]
    return frames[at + 1:], said[there + 1:]


def tell_apart(found, said):
    lines = [f"{'  ' if is_as_expected(one, other) else '! '}{one[0]} {one[1]}    {other[0]} {other[1]}"
             for one, other in itertools.zip_longest(found, said, fillvalue=("-", "-"))]
    return "\n".join(lines)


def check_hit(how, end, hit, chain, outermost):
    wrong = [frame for frame in hit["stack"] if frame["kind"] == "unknown" or frame["guessed"]]
    assert hit["stack_end"] == "whole" and not wrong, f"{hit['stack_end']}: {wrong}\n{hit['stack']}"
    found, said = after_note(end, list(found_frames(hit)), expected_frames(how, end, chain, outermost))
    assert len(found) == len(said) and all(map(is_as_expected, found, said)), tell_apart(found, said)


def files_of(pid):
    """What is mapped, by its name without directory."""
    paths = {line.split(maxsplit=5)[5] for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
             if line.count("/") > 1}
    return {pathlib.Path(path).name: pathlib.Path(path) for path in paths}


def not_behind_calls(pid, hits):
    """Native callers whose place in their file is not behind an instruction that calls."""
    places = {(frame["module"], frame["file_offset"]) for hit in hits for frame in hit["stack"][1:]
              if frame["kind"] == "native"}
    files = files_of(pid)
    wrong = []
    for module, offset in places:
        with files[module].open("rb") as file:
            file.seek(offset - 7)
            before = file.read(7)
        if not any(CALL.fullmatch(before, at) for at in range(6)):
            wrong.append((module, hex(offset)))
    return wrong


def natives_of(hit):
    """But for those between JavaScript and the first that is not the engine's own."""
    natives, own = [], False
    for frame in reversed(hit["stack"]):
        own = frame["kind"] in ("v8", "stub") or (own and frame["module"] in ENGINES)
        if frame["kind"] == "native" and not own:
            natives.append((frame["module"], frame["name"]))
    return tuple(reversed(natives))


def check(place_probe, target, how, end, where, outermost):
    """Compare all stacks of CALLS chains. Returns the hits."""
    calls = CALLS // 2 if where == "both" else CALLS
    options = ["-j", "--strict", "--max-frames=512", "--buffer=64M"]
    # The worker is there, with its engine, and the threads have opened what they open for themselves.
    target.run(end, LEVELS, 1, where)
    options += ["-N", CALLS] if end != "open" else []
    live = place_probe.live(*options, target.pid, PROBED[end], timeout=120)
    threads = target.run(end, LEVELS, calls, where)
    result = (live.stop() if end == "open" else live.finish()).expect(0)
    by_thread = collections.defaultdict(list)
    for hit in sorted(result.records("hit"), key=lambda hit: hit["time_ns"]):
        by_thread[hit["tid"]].append(hit)
    if end == "open":
        # A collection by .NET opens files too, and the last one of Node's is where the chains are written to.
        by_thread = {tid: [hit for hit in hits if "uv_fs_open" in {frame["name"] for frame in hit["stack"]}][:-1]
                     for tid, hits in by_thread.items()}
    hits = []
    for chains in threads:
        tid = chains[0].thread
        assert len(by_thread[tid]) == len(chains) == calls
        for hit, chain in zip(by_thread[tid], chains):
            check_hit(how, end, hit, chain, outermost if tid == target.pid else [])
        # JavaScript is compiled anew meanwhile, and what of it is inlined changes; native functions do not, but for
        # those of V8 and Node by which it calls them, which optimised code does without.
        ways = {natives_of(hit) for hit in by_thread[tid]}
        assert len(ways) == 1, "\n".join(map(str, ways))
        hits += by_thread[tid]
    assert len(hits) == CALLS
    assert not_behind_calls(target.pid, hits) == []
    return hits


def tell_tiers(tell, name, hits):
    tiers = collections.Counter((frame["tier"], frame["inlined"]) for hit in hits for frame in hit["stack"]
                                if frame["kind"] == "v8")
    spelled = ", ".join(f"{count} {tier}{' inlined' if inlined else ''}"
                        for (tier, inlined), count in sorted(tiers.items(), key=str))
    tell(f"{name}: {len(hits)} stacks equal; of JavaScript {spelled}")


@pytest.mark.parametrize("version, dotnet, end, where, mode", CASES)
def test_addon(place_probe, start_mixed, tell, version, dotnet, end, where, mode):
    """Node hosts .NET by an addon."""
    target = start_mixed("addon", version, dotnet, end=end, flags=[*MODES[mode], *v8_hits.MOVES_NOTHING])
    hits = check(place_probe, target, "addon", end, where, ["node::Start"])
    assert {hit["stack"][-1]["name"] for hit in hits if hit["tid"] == target.pid} <= {"_start"}
    assert {hit["stack"][-1]["module"] for hit in hits if hit["tid"] != target.pid} <= {"libc.so.6"}
    tell_tiers(tell, f"addon: Node {version}, {mode}, .NET {dotnet}, {end} on {where}", hits)


@pairs.choose("version, dotnet", itertools.product(VERSIONS, DOTNETS))
def test_package(place_probe, start_mixed, tell, version, dotnet):
    """Node hosts .NET as node-api-dotnet does it, which makes methods of its own at run time."""
    target = start_mixed("package", version, dotnet, end="sleep")
    hits = check(place_probe, target, "package", "sleep", "main", ["node::Start"])
    assert {hit["stack"][-1]["name"] for hit in hits} == {"_start"}
    tell_tiers(tell, f"node-api-dotnet: Node {version}, .NET {dotnet}", hits)


@pytest.mark.parametrize("dotnet, where, end", [
    *itertools.product([8], ["main"], PROBED), *itertools.product([10], ["both"], PROBED)])
def test_libnode(place_probe, start_mixed, tell, dotnet, where, end):
    """A .NET process hosts Node: V8 is in a library without symbols for its own."""
    target = start_mixed("addon", None, dotnet, end=end)
    hits = check(place_probe, target, "addon", end, where, [])
    assert {hit["stack"][-1]["module"] for hit in hits if hit["tid"] == target.pid} == {"mixed"}
    assert {hit["stack"][-1]["module"] for hit in hits if hit["tid"] != target.pid} <= {"libc.so.6"}
    tell_tiers(tell, f"libnode: .NET {dotnet}, {end} on {where}", hits)


def lies_low(maps):
    """Is libnode just above a multiple of 4 GB, where the lower halves of its addresses look like sizes?"""
    first = next(row.split("-")[0] for row in maps.splitlines() if row.endswith("/libnode.so.108"))
    return int(first, 16) & 0xffffffff < 16 << 20


def has_copy(maps):
    """Has V8 copied the code of its builtins, because compiled code is too far away from it?"""
    rows = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) r-xp 00000000 00:00 0 *$", maps, re.MULTILINE)
    return any(int(end, 16) - int(begin, 16) > 1 << 20 for begin, end in rows)


@pytest.mark.parametrize("condition", [lies_low, has_copy])
def test_libnode_in_a_crowd(place_probe, start_mixed, condition):
    """Where what is mapped before libnode leaves it a bad place. Which one it gets, the kernel's dice say."""
    for low in itertools.islice(itertools.cycle([0x3000000, 0x2600000]), 60):
        target = start_mixed("addon", None, 8, end="sleep", crowd=low)
        # The engine starts with the first chain.
        target.run("sleep", LEVELS, 1, "main")
        if condition((pathlib.Path("/proc") / str(target.pid) / "maps").read_text()):
            break
        target.app.close()
    else:
        pytest.fail("no process got such a place")
    check(place_probe, target, "addon", "sleep", "main", [])


# What the targets say themselves -----------------------------------------------------------------

def engines(chain):
    return [engine for engine, _ in itertools.groupby(chain.frames, lambda frame: frame[0])]


@pytest.mark.beside
@pytest.mark.parametrize("how, version, dotnet", [
    ("addon", VERSIONS[0], 10), ("addon", VERSIONS[-1], 8), ("package", VERSIONS[0], 8), ("package", VERSIONS[-1], 10),
    ("addon", None, 8), ("addon", None, 10)])
def test_targets_note_right(start_mixed, how, version, dotnet):
    """What all is held against: the engines take turns, and each part has the functions that must be in it."""
    target = start_mixed(how, version, dotnet)
    ends = PROBED if how == "addon" else ["sleep", "open"]
    for end, where in itertools.product(ends, WHERE if how == "addon" else ["main"]):
        for chains in target.run(end, LEVELS, 20, where):
            is_main = chains[0].thread == target.pid
            for chain in chains:
                turns = ["dotnet", "v8"] * (LEVELS + 1) if end == "sleep" else ["v8", "dotnet"] * LEVELS + ["v8"]
                assert engines(chain) == turns + (["dotnet"] if version is None and is_main else [])
                names = [item if kind == "dotnet" else item.name for kind, item in chain.frames]
                assert names[0] == ("Mixed.Chain::Sleep" if end == "sleep" else f"Walk.{end}")
                assert names.count("Mixed.Chain::Enter") == LEVELS + (end == "sleep")
                assert names.count("Walk.cross") == names.count("Array.map") == LEVELS + (end == "sleep")
                assert ("Mixed.Program::Main" in names) == (version is None and is_main)
