# SPDX-License-Identifier: GPL-2.0-or-later
"""JavaScript stacks out of a live process's memory, against `new Error().stack` that it took in the same call: name,
script, line and column of every frame.

What differs, and why:
- The function that waits has gone on to another line since, and has called what waits for it.
- What was inlined into optimised code is named without what it was called on, unless that is always the same: it is
  in a place that only the engine knows. So "method" for "Class.method", and no "[as name]".
- Builtins that were inlined are not found in V8 9 (Node 16), whose translations for deoptimisation are not read.
- What eval() was given has no name of its own; V8 says where it was called instead.
- "at async f": it is not on the stack, but will go on once what it awaits has come.
"""

import itertools
import re
import subprocess

import pytest

from helpers import machine, node, pairs, v8

pytestmark = [pytest.mark.beside,
              pytest.mark.skipif(not machine.is_root(), reason="only root can look at other processes")]

WAYS = re.findall(r"^  (?:async )?(\w+)\(\) {$", v8.WAYS.read_text().partition("const ways = ")[2], re.M)
MODES = {
    "interpreter": ["--no-opt", "--no-sparkplug"],
    "baseline": ["--always-sparkplug", "--no-opt"],
    "default": [],
    "jitless": ["--jitless"],
    "eager": ["--no-lazy"],
}


def in_check(row):
    """What of a row is to be there: each mode with each version and with each way; each version with every other way."""
    version, mode, way = row
    yield version, mode
    yield mode, way
    if (node.versions().index(version) + WAYS.index(way)) % 2 == 0:
        yield version, way


# (version, mode, way)
CASES = list(itertools.product(node.versions(), MODES, WAYS))
if not pairs.is_full():
    CASES = pairs.cover(CASES, in_check)

# How functions become warm, and what is inlined then: with "loop" no builtins are. Node 22 and before have no Maglev.
TIERS = [(version, mode, way) for version in node.versions() for mode in ("default", "maglev", "turbofan")
         for way in ("loop", "called", "made")
         if (mode == "default" or node.line(version) >= 24) and (way == "loop" or node.line(version) >= 18)]
TIER_FLAGS = {"default": [], "maglev": ["--no-turbofan"], "turbofan": ["--no-maglev"]}


def differences(stack, expected):
    frames = stack.frames()
    ours = [v8.own_name(frame) for frame in frames].index("stop")
    theirs = [v8.own_name(frame) for frame in expected].index("stop")
    assert frames[ours].script == expected[theirs].script
    found, said = frames[ours + 1:], expected[theirs + 1:]
    told = [f"{one} is {other}" for one, other in zip(found, said) if not v8.is_same(one, other)]
    if len(found) != len(said):
        told.append("found: " + "; ".join(map(str, found)) + " said: " + "; ".join(map(str, said)))
    return told


@pytest.fixture
def wait_in(tmp_path):
    """wait_in(VERSION, WAY, ...): a process that waits, and the thread that does."""
    started = []

    def start(version, way, *flags, **options):
        waiting = v8.Waiting(version, way, tmp_path, flags, **options)
        started.append(waiting)
        return waiting, waiting.wait_ready()

    yield start
    for waiting in started:
        waiting.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", node.versions())
def test_ways(wait_in, tell, version, mode):
    wrong = {}
    tiers = set()
    frames = 0
    for way in (one for *which, one in CASES if which == [version, mode]):
        waiting, tid = wait_in(version, way, *MODES[mode])
        stack = v8.Stack(waiting.process.pid, tid)
        told = differences(stack, waiting.oracle())
        tiers |= {frame.tier for frame in stack.frames()}
        frames += len(stack.frames())
        waiting.close()
        if told:
            wrong[way] = told
    assert not wrong, "\n".join(f"{way}: {one}" for way, told in wrong.items() for one in told)
    assert {"baseline": "baseline"}.get(mode, "interpreter") in tiers, tiers
    tell(f"v8 names: Node {version}, {mode}: {frames} frames")


@pytest.mark.parametrize("version, mode, way", TIERS)
def test_tiers(wait_in, version, mode, way):
    waiting, tid = wait_in(version, way, "--allow-natives-syntax", *TIER_FLAGS[mode])
    stack = v8.Stack(waiting.process.pid, tid)
    told = differences(stack, waiting.oracle())
    assert not told, "\n".join(told) + f"\n{stack}"
    tiers = {frame.tier for frame in stack.frames() if frame.inlined}
    assert tiers and tiers <= {"maglev", "turbofan"} - {"default": set(), "maglev": {"turbofan"},
                                                        "turbofan": {"maglev"}}[mode], str(stack)


@pytest.mark.parametrize("way", ["first", "awaited"])
@pytest.mark.parametrize("version", node.versions())
def test_modules(wait_in, version, way):
    waiting, tid = wait_in(version, way, program=v8.MODULE)
    assert not differences(v8.Stack(waiting.process.pid, tid), waiting.oracle())


@pytest.mark.parametrize("version", node.versions())
def test_worker(wait_in, version):
    """A thread with an isolate of its own, which counts its scripts anew."""
    waiting, tid = wait_in(version, "worker")
    assert tid != waiting.process.pid
    assert not differences(v8.Stack(waiting.process.pid, tid), waiting.oracle())


@pytest.mark.parametrize("version", [one for one in node.versions() if node.line(one) <= 24])
def test_stripped(wait_in, tmp_path, version):
    """As distributions build it: only what is exported has a symbol, so its data tell where builtins are. Later
    versions do not export how to find an isolate either."""
    program = tmp_path / "node"
    machine.run("strip", "-o", program, node.program(version))
    waiting, tid = wait_in(version, "builtins", "--always-sparkplug", executable=program)
    stack = v8.Stack(waiting.process.pid, tid)
    assert not differences(stack, waiting.oracle())
    whole, tid = wait_in(version, "builtins")
    assert v8.Stack(whole.process.pid, tid).version == stack.version


def test_others():
    with subprocess.Popen(["sleep", "60"]) as process:
        result = machine.run(machine.tool("v8_stack"), process.pid, check=False)
        process.kill()
    assert result.returncode == 1 and result.stderr.endswith("(sleep) has no V8 in it\n"), str(result)
