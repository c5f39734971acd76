# SPDX-License-Identifier: GPL-2.0-or-later
"""More run-time compiled methods than there are debug registers, which they share by turns if they are asked to."""

import re
import time

import pytest

from helpers import machine
from helpers.latency import EXACT, METHODS, truth

pytestmark = [pytest.mark.alone, pytest.mark.breakpoints]

COMMANDS = {"Nap": "nap 5 4 2", "Spin": "spin 100 20 2", "Direct": "direct 3 20 2", "Tailed": "tail 10 2",
            "Tick": "frames-tick cpp. 3 2"}
TURNS = re.compile(r"(\S+) \[\w+\] took turns on the debug registers with others, and had its own for (\d+) % of the time")


def sums(live, field):
    """What the intervals say so far, by method."""
    found = {}
    for record in live.records_so_far():
        if record["type"] in ("count", "hist"):
            name = record["method"]
            found[name] = found.get(name, 0) + record[field]
    return found


def call_until_all_were_seen(target, live, commands, field):
    until = time.monotonic() + 60 * machine.SCALE
    while not all(sums(live, field).get(METHODS[name], 0) for name in commands):
        assert time.monotonic() < until, f"not all had their turn: {sums(live, field)}"
        for command in commands.values():
            target.ask(command, "done")


@pytest.mark.parametrize("tiered", [False, True], ids=["final", "tiered"])
def test_durations(start_app, place_probe, tiered):
    target = start_app("latency10-jit", tiered=tiered)
    live = place_probe.live("-H", "-j", "-v", "-i", "0.2", "--share=50", target.pid,
                            *(METHODS[name] for name in COMMANDS))
    call_until_all_were_seen(target, live, COMMANDS, "count")
    result = live.stop().expect(0)
    said = {}
    for record in result.records("hist"):
        of = said.setdefault(record["method"], {"calls": 0, "max_ns": 0})
        of["calls"] += record["count"] + record["unwound"] + record["not_timed"]
        if record["count"]:
            of["max_ns"] = max(of["max_ns"], record["max_ns"])
    for name in COMMANDS:
        real, of = truth(target, name), said[METHODS[name]]
        assert 0 < of["calls"] <= real.entered, f"{name}: {real.entered}: {result}"
        # A beginning is never taken together with another call's end.
        if name in ("Nap", "Spin"):
            assert of["max_ns"] <= real.most[-1] * (1 + EXACT), f"{real.most[-1]}: {result}"
    assert "no-debug-register" in result.summary()["lower_bound"], str(result)
    shares = {name: int(share) for name, share in TURNS.findall(result.err)}
    if not tiered:
        assert {METHODS[name] for name in COMMANDS} == shares.keys(), str(result)
        assert all(0 < share <= 100 for share in shares.values()), shares


def test_counts(start_app, place_probe):
    target = start_app("latency10-jit")
    commands = COMMANDS | {"Plain": "frames cpp. 3 2"}
    live = place_probe.live("-c", "-j", "-v", "-i", "0.2", "--share=50", target.pid,
                            *(METHODS[name] for name in commands))
    call_until_all_were_seen(target, live, commands, "calls")
    result = live.stop().expect(0)
    for name in commands:
        calls = sum(record["calls"] for record in result.records("count") if record["method"] == METHODS[name])
        assert 0 < calls <= truth(target, name).entered, str(result)
    assert "no-debug-register" in result.summary()["lower_bound"], str(result)


def test_not_unless_asked(start_app, place_probe):
    target = start_app("latency10-jit")
    live = place_probe.live("-H", "-j", target.pid, *(METHODS[name] for name in COMMANDS))
    for command in COMMANDS.values():
        target.ask(command, "done")
    result = live.stop().expect(0)
    probed = {record["method"]: record["count"] for record in result.records("hist")}
    # An entry and an exit each: two of them need all four registers, and each of those calls was timed.
    assert probed == {METHODS[name]: truth(target, name).returned for name in COMMANDS if METHODS[name] in probed}
    assert len(probed) == 2 and result.summary()["lower_bound"] == ["not-probed"], str(result)
