# SPDX-License-Identifier: GPL-2.0-or-later
"""Latencies of methods that the runtime compiles anew meanwhile, against what the target says of its calls:
each body is timed from its first call, and what began in one ends there, or in the one it goes on in."""

import re
import time

import pytest

from helpers import follow, machine
from helpers.latency import ALL_SHARES, METHODS, change_ns, check_counts, check_shares, check_sum, hist, truth

pytestmark = [pytest.mark.alone, pytest.mark.breakpoints]

# The methods of an app that is precompiled begin so; else each is compiled when it is first called.
ALL_IS_COMPILED = {"DOTNET_ReadyToRun": "0"}
NO_WRITE_COPY = {"DOTNET_EnableWriteXorExecute": "0"}
STARTS = {
    "10": ("latency10-jit", {}),
    "10-precompiled": ("latency10", {}),
    "10-in-place": ("latency10-jit", NO_WRITE_COPY),
    "9": ("latency9", ALL_IS_COMPILED),
    "8": ("latency8", ALL_IS_COMPILED),
    "8-precompiled": ("latency8", {}),
}
ARMED = re.compile(r"(\S+) \[(\w+)\] at 0x[0-9a-f]+: compiled in .*, armed at its entry( and its exits)?(.*)")
# As many as call at the same time.
THREADS = 4
# Some registers were others' for a while, or there are too few for so many exits.
LATE, NEVER = ", not timed yet", ", not timed: it has more exits than there are debug registers"


@pytest.fixture
def begin(start_app, place_probe):
    """begin(START, METHOD...): a target that tiers, and a place-probe that times those methods."""
    def start(name, *methods, before=(), options=(), settings=()):
        variant, extra = STARTS[name]
        target = start_app(variant, tiered=True, extra=extra | dict(settings))
        for command in before:
            target.ask(command, "done")
        if before:
            target.ask("forget", "forgotten")
        live = place_probe.live("-H", "-j", "-v", *options, target.pid,
                                *(METHODS[method] for method in methods), timeout=120)
        return target, live

    return start


def call_until(live, target, command, pattern):
    """Go on until a body was compiled, and some more."""
    until = time.monotonic() + 60 * machine.SCALE
    while not live.has_said(pattern):
        assert time.monotonic() < until, f"'{pattern}' does not come"
        target.ask(command, "done")
    target.ask(command, "done")


def tier_pattern(method, tier):
    return re.escape(METHODS[method].partition("(")[0]) + r"\S* \[" + tier + r"\] at 0x[0-9a-f]+: compiled"


def armed_as(result, method, *how):
    """The tiers of the bodies of a method that were said to be armed so."""
    armed = [(tier, exits + rest) for name, tier, exits, rest in ARMED.findall(result.err) if name == METHODS[method]]
    assert all(said in (" and its exits", LATE, NEVER) for _, said in armed), f"{armed}: {result}"
    return [tier for tier, said in armed if said in how]


def check_all_told(result, target, name):
    """Each call once: timed, left by an exception, or told as not timed. That none is but those of bodies whose exits
    had no probes, as was said; and all of those that never had."""
    said, real = hist(result, name), truth(target, name)
    assert said["count"] + said["unwound"] + said["not_timed"] == real.entered, f"{real.entered}: {result}"
    assert said["unfinished"] == 0 and said["count"], str(result)
    calls = follow.calls_by_tier(result)[METHODS[name]]
    assert sum(calls.values()) == real.entered, str(result)
    least = sum(calls.get(tier, 0) for tier in armed_as(result, name, NEVER))
    late = armed_as(result, name, LATE)
    most = least + sum(calls.get(tier, 0) for tier in late)
    # Calls that were replaced on the stack end in a body whose registers another may have got meanwhile.
    if late:
        most += THREADS * len(re.findall(tier_pattern(name, "osr"), result.err))
    assert least <= said["not_timed"] <= most, f"{least} to {most} may be: {result}"
    if said["not_timed"]:
        assert said["count"] <= real.returned and said["unwound"] <= real.left, str(result)
        assert result.summary()["lost"] == {"call-not-timed": said["not_timed"]}
    else:
        check_counts(result, target, [name])
    return said, real


def check_exact(result, target, name):
    """All of them timed, unless it was said that one body was not at once."""
    said, real = check_all_told(result, target, name)
    assert not armed_as(result, name, NEVER), str(result)
    return (None if said["not_timed"] else said), real


@pytest.mark.parametrize("name", STARTS)
def test_tiers(begin, name, tell):
    target, live = begin(name, "Nap")
    call_until(live, target, "nap 1 40 4", tier_pattern("Nap", "tier1"))
    target.ask("nap 10 16 4", "done")
    result = live.stop().expect(0)
    armed = armed_as(result, "Nap", " and its exits", LATE)
    assert armed == ["instrumented", "tier1"], str(result)
    # Only one that came before the one before it was left may have to wait for registers.
    assert "instrumented" not in armed_as(result, "Nap", LATE), str(result)
    said, real = check_exact(result, target, "Nap")
    if said:
        check_sum(said["sum_ns"], real)
        check_shares(said, real, ALL_SHARES, change_ns(result))
    tell(f"{name}: {real.entered} calls by {len(armed) + 1} bodies, {hist(result, 'Nap')['not_timed']} not timed")


def test_call_that_outlives_its_body(begin):
    """It began in the first one, and ends there when calls have long gone elsewhere."""
    # So many that the third one, for which the first would lose its registers, does not come.
    target, live = begin("10", "Nap", settings={"DOTNET_TC_CallCountThreshold": "800"})
    target.ask("begin 6000 3", "begun")
    call_until(live, target, "nap 1 40 2", tier_pattern("Nap", "instrumented"))
    target.ask("end", "ended")
    result = live.stop().expect(0)
    _, real = check_exact(result, target, "Nap")
    said = hist(result, "Nap")
    assert real.took[-3] > 5e9
    assert armed_as(result, "Nap", " and its exits") == ["instrumented"], str(result)
    assert said["max_ns"] == pytest.approx(real.took[-1], rel=0.01)
    assert sum(bucket["count"] for bucket in said["buckets"] if bucket["low_ns"] > 5e9) == 3, str(result)


@pytest.mark.parametrize("name", ["10", "9", "8"])
def test_replaced_on_the_stack(begin, name):
    """One call: it begins in a body, and ends in another that was compiled while it ran."""
    target, live = begin(name, "Spin")
    target.ask("spin 300000 1 1", "done")
    result = live.stop().expect(0)
    assert re.search(tier_pattern("Spin", "osr"), result.err), str(result)
    check_counts(result, target, ["Spin"])
    said, real = hist(result, "Spin"), truth(target, "Spin")
    check_sum(said["sum_ns"], real)


def test_replaced_on_the_stack_before(begin):
    """Calls go on in a body that was there when the probes came."""
    target, live = begin("10", "Spin", before=["spin 300000 1 1"])
    target.ask("spin 100000 3 1", "done")
    result = live.stop().expect(0)
    check_counts(result, target, ["Spin"])
    said, real = hist(result, "Spin"), truth(target, "Spin")
    check_sum(said["sum_ns"], real)


@pytest.mark.parametrize("name", ["10", "8-precompiled"])
def test_loops_and_tiers(begin, name):
    """Bodies that loop are replaced within calls, and between them."""
    target, live = begin(name, "Spin")
    call_until(live, target, "spin 2000 40 4", tier_pattern("Spin", "tier1"))
    check_all_told(live.stop().expect(0), target, "Spin")


@pytest.mark.parametrize("name", ["10", "10-precompiled", "8"])
def test_recursion(begin, name):
    target, live = begin(name, "Direct")
    call_until(live, target, "direct 30 4 2", tier_pattern("Direct", "tier1"))
    check_exact(live.stop().expect(0), target, "Direct")


@pytest.mark.parametrize("name", ["10", "9", "8-precompiled"])
def test_exceptions(begin, name):
    target, live = begin(name, "Plain")
    # Calls that return, while the first body has all its probes: the last one's exits may get theirs after its calls.
    target.ask("frames cp. 10 2", "done")
    for plan in ("cpp!", "cp.", "pcpfp!"):
        call_until(live, target, f"frames {plan} 10 2", tier_pattern("Plain", "tier1"))
    said, real = check_all_told(live.stop().expect(0), target, "Plain")
    assert said["unwound"] and real.left


def test_many_exits(begin):
    """A body with more exits than there are registers is counted."""
    target, live = begin("10-precompiled", "Ways")
    call_until(live, target, "ways 40 2", tier_pattern("Ways", "tier1"))
    result = live.stop().expect(0)
    said, _ = check_all_told(result, target, "Ways")
    assert armed_as(result, "Ways", NEVER) and said["not_timed"], str(result)


def test_several_methods(begin):
    """The first has what it needs; whatever comes of the others, none of its calls is missed, and theirs are not
    counted twice."""
    target, live = begin("10-precompiled", "Nap", "Early", "Tick")
    for tier in ("instrumented", "tier1"):
        call_until(live, target, "nap 1 20 2", tier_pattern("Nap", tier))
        target.ask("early 400 2", "done")
        target.ask("frames-tick . 1 8", "done")
    result = live.stop().expect(0)
    said, real = hist(result, "Nap"), truth(target, "Nap")
    assert said["count"] + said["not_timed"] == real.entered and said["unwound"] == 0, str(result)
    for name in ("Early", "Tick"):
        said, real = hist(result, name), truth(target, name)
        told = said["count"] + said["not_timed"] + said["unwound"] + said["unfinished"]
        assert 0 < real.entered and told <= real.entered, f"{real.entered}: {result}"
        assert told == real.entered or result.summary()["lower_bound"], f"{real.entered}: {result}"


def test_no_hold(begin):
    """Nobody waits: the first calls of a body may be missed, which is said, and none is timed wrongly."""
    target, live = begin("10", "Nap", options=["--no-hold"])
    call_until(live, target, "nap 2 40 2", tier_pattern("Nap", "tier1"))
    target.ask("nap 50 6 2", "done")
    result = live.stop().expect(0)
    said, real = hist(result, "Nap"), truth(target, "Nap")
    assert result.summary()["lower_bound"] == ["not-held"], str(result)
    assert said["count"] + said["not_timed"] <= real.entered and said["unwound"] == 0, str(result)
    calls = follow.calls_by_tier(result)[METHODS["Nap"]]
    assert said["count"] + said["not_timed"] == sum(calls.values()), str(result)
    # Those of the first body need not wait for anything; the last ones are no others'.
    assert said["count"] >= calls["tier0"] > 0, str(result)
    assert sum(bucket["count"] for bucket in said["buckets"] if bucket["low_ns"] > 45e6) <= \
        sum(took > 45e6 for took in real.took), str(result)
    assert 0.98 * real.took[0] <= said["min_ns"], str(result)
    assert said["max_ns"] <= 1.02 * real.most[-1], str(result)
