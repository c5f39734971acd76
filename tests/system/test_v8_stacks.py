# SPDX-License-Identifier: GPL-2.0-or-later
"""JavaScript stacks of hits, against `new Error().stack` that the target took in the same call: name, script, line and
column of every frame; and what is between and around them.

What differs, and why, is as in test_v8_names.py but for the innermost function, of which it is known where it calls what
is probed. Besides:
- Of a thousand frames (the way "recursion") there are as many as place-probe captures, the innermost ones.
- V8 has frames of WebAssembly in its stacks, which are no JavaScript.
- A function that has gone on by the time it is named may have a plainer name: without what it was called on, and without
  what it is called there. So where stacks are compared whole, it waits until that is done.
"""

import itertools
import re

import pytest

from helpers import node, pairs, v8_hits

# It has no runtime that compiles methods at addresses that a probe is put on.
pytestmark = pytest.mark.beside

ROUNDS = 3
# Rounds in which functions become warm; what the tiers of V8 are, is so told.
WARM = 60
NATIVES = "--allow-natives-syntax"
MODES = {
    "interpreter": ["--no-opt", "--no-sparkplug"],
    "baseline": ["--always-sparkplug", "--no-opt"],
    "default": [NATIVES],
    "lazy": ["--max-lazy"],
    "eager": ["--no-lazy"],
    "jitless": ["--jitless"],
    "maglev": [NATIVES, "--maglev", "--no-turbofan"],
    "turbofan": [NATIVES, "--no-maglev"],
}
WARMED = {"default", "maglev", "turbofan"}
# Node 22 and before are built without Maglev; 18 and before do not know the word. What is inlined in Node 16 is not all
# found (docs/limits.md): test_v8_names.py has that.
HAS_MAGLEV, KNOWS_MAGLEV, KNOWS_INLINED = 24, 20, 18
CASES = [(version, mode) for version in node.versions() for mode in MODES
         if node.line(version) >= {"maglev": HAS_MAGLEV, "turbofan": KNOWS_MAGLEV,
                                    "default": KNOWS_INLINED}.get(mode, 0)]

# What moves objects: the collector, asked for around each call, and by itself.
COMPACTS = ["--stress-compaction", "--max-semi-space-size=1"]
MOVES = {
    "running": [],
    "collected": COMPACTS,
    "scavenged": ["--max-semi-space-size=1", "--stress-scavenge=10"],
    "small": [*COMPACTS, "--max-old-space-size=24"],
}
MOVING_ROUNDS = {"running": 6, "collected": 1, "scavenged": 2, "small": 6}


def flags_of(version, mode):
    """Maglev has a flag of its own, where there is one."""
    without = mode in ("interpreter", "baseline") and node.line(version) >= KNOWS_MAGLEV
    return [*MODES[mode], *(["--no-maglev"] if without else [])]


@pytest.fixture
def start_probed(tmp_path):
    started = []

    def start(version, flags=(), waits=True, collects=False):
        pipe = tmp_path / f"pipe-{len(started)}" if waits else None
        started.append(v8_hits.Probed(version, flags, pipe, collects))
        return started[-1]

    yield start
    codes = [one.close() for one in started]
    assert codes == [None] * len(started), f"targets have ended by themselves: {codes}"


def expected_tiers(version, mode):
    if mode in WARMED:
        optimized = {"maglev": {"maglev"}, "turbofan": {"turbofan"}, "default": {"turbofan"}}[mode]
        return {"interpreter", "builtin"} | optimized
    return {"builtin", "baseline" if mode == "baseline" else "interpreter"}


def check_tiers(comparison, version, mode):
    assert expected_tiers(version, mode) <= set(comparison.tiers), str(comparison)
    assert bool(comparison.inlined) == (mode in WARMED), str(comparison)
    if mode not in WARMED and mode not in ("lazy", "eager"):
        assert not {"maglev", "turbofan"} & set(comparison.tiers), str(comparison)


@pairs.choose("version, mode", CASES)
def test_equal(place_probe, start_probed, tmp_path, tell, version, mode):
    target = start_probed(version, flags_of(version, mode))
    if mode in WARMED:
        target.warm(WARM)
    comparison, summary = v8_hits.compare(place_probe, target, lambda: target.run(ROUNDS, tmp_path / "said"))
    comparison.check()
    assert set(summary["stack_ends"]) == {"whole", "truncated"} and summary["guessed_frames"] == 0, summary
    check_tiers(comparison, version, mode)
    tell(f"v8 stacks: Node {version}, {mode}: {comparison}")


@pytest.mark.parametrize("version", node.some_versions())
def test_worker(place_probe, start_probed, tmp_path, tell, version):
    """A thread that begins during the run, with an isolate of its own."""
    target = start_probed(version)
    comparison, summary = v8_hits.compare(place_probe, target, lambda: target.work(ROUNDS, tmp_path / "said"))
    comparison.check()
    assert summary["guessed_frames"] == 0, summary
    tell(f"v8 stacks: Node {version}, worker: {comparison}")


# Which frames are of it, or around it.
WASM = re.compile(r"Wasm|WebAssembly|wasm://")


def is_wasm(frame):
    return frame["name"] is None or WASM.search(f"{frame['name']} {frame['file']}")


@pytest.mark.parametrize("version", node.versions())
def test_wasm(place_probe, start_probed, tmp_path, version):
    """JavaScript that WebAssembly calls, which JavaScript calls."""
    target = start_probed(version, waits=False)
    live = place_probe.live("-j", target.pid, v8_hits.TARGETS["api"], timeout=60)
    (stop,) = target.run(1, tmp_path / "said", "wasm")
    (hit,) = live.stop().expect(0).records("hit")
    assert hit["stack_end"] == "whole"
    others = [frame for frame in hit["stack"] if not is_wasm(frame)]
    assert v8_hits.javascript({"stack": others}) == stop.expected("api")
    assert not [frame for frame in others if frame["guessed"]]


@pairs.choose("version, move", itertools.product(node.versions(), MOVES))
def test_moving(place_probe, start_probed, tmp_path, tell, version, move):
    """While the collector moves what names are read from: what is told is right.

    How much is told depends on who is faster. On a quiet machine 1 to 4 % of the frames are unknown, and at most 12 where
    old ones move by themselves; where the target has all that it can collected, or has to (Node 20 does, where it is to
    have young objects moved all the time), code and functions have moved before they are looked at, or there are none any
    more; and if place-probe is kept from running while they move, more than half are.
    """
    target = start_probed(version, MOVES[move], waits=False, collects=move == "collected")
    comparison, summary = v8_hits.compare(place_probe, target,
                                          lambda: target.run(MOVING_ROUNDS[move], tmp_path / "said"))
    comparison.check(unknown=1)
    assert comparison.unknown < comparison.frames, str(comparison)
    # There are hits that belong to no stop, and so are not compared; and frames without a line.
    assert summary["lost"].get("v8-moved", 0) >= comparison.unknown, summary
    assert summary["guessed_frames"] == 0, summary
    tell(f"v8 stacks: Node {version}, {move}: {comparison}")
