# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency histograms against what the target says of its own calls, which it times itself."""

import itertools
import time

import pytest

from helpers import latency, machine, pairs
from helpers.latency import (ALL_SHARES, DEPTH, EXACT, EXTREMES, FRAMES, METHODS, STORM, STORM_COMPILED, change_ns, check_counts,
                             check_shares, check_sum, hist, is_within, truth, truth_by_tid)

pytestmark = pytest.mark.alone

VARIANTS = ["latency10", "latency9", "latency8"]


@pytest.fixture
def target(start_app):
    return start_app("latency10")


@pytest.fixture
def jitted(start_app):
    """Nothing of its own is precompiled; all is compiled once, optimised and for good."""
    return start_app("latency10-jit")


@pytest.fixture
def measure(place_probe):
    """measure(APP, METHODS, OPTION...): a place-probe that times those."""
    def start(app, methods, *options):
        return place_probe.live("-H", "-j", *options, app.pid, *(METHODS[name] for name in methods))

    return start


# Durations ------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_durations(start_app, measure, variant, tell):
    """From 10 us to 100 ms, on eight threads. No percentile is near where a group begins or ends: where the hypervisor
    has other work a tenth of the probes takes so long that their calls count for longer ones."""
    target = start_app(variant)
    live = measure(target, ["Spin", "Nap"], "-v")
    for microseconds, calls in ((10, 3000), (30, 1000), (100, 600), (300, 100)):
        target.ask(f"spin {microseconds} {calls} 8", "done")
    for milliseconds, calls in ((1, 240), (2, 80), (10, 40), (30, 8), (100, 8)):
        target.ask(f"nap {milliseconds} {calls} 8", "done")
    result = live.stop().expect(0)
    check_counts(result, target, ["Spin", "Nap"])
    said, real = hist(result, "Nap"), truth(target, "Nap")
    check_sum(said["sum_ns"], real)
    change = change_ns(result)
    check_shares(said, real, ALL_SHARES | EXTREMES, change)
    tell(f"{variant}: 376 calls of 1 to 100 ms: the sum is {said['sum_ns'] / sum(real.took) - 1:+.3%} off")
    said, real = hist(result, "Spin"), truth(target, "Spin")
    check_shares(said, real, ALL_SHARES | EXTREMES, change)


def test_ways_out(target, measure):
    """Many returns, one out of a try block, and calls at the very end."""
    live = measure(target, ["Early", "Tail", "Tailed", "Ways"])
    target.ask("early 4000 4", "done")
    target.ask("ways 3000 4", "done")
    target.ask("tail 3000 3", "done")
    target.ask("tail 7 0", "done")
    check_counts(live.stop().expect(0), target, ["Early", "Tail", "Tailed", "Ways"])


@pytest.mark.kernel
def test_either_means(target, measure, uprobe_by):
    live = measure(target, ["Nap", "Early"], uprobe_by)
    target.ask("nap 5 16 8", "done")
    target.ask("early 800 8", "done")
    result = live.stop().expect(0)
    check_counts(result, target, ["Nap", "Early"])
    # In a guest a thread that wakes up may wait for a CPU longer than it has slept.
    if machine.SCALE == 1:
        check_sum(hist(result, "Nap")["sum_ns"], truth(target, "Nap"))


def test_limit(target, measure):
    """-N ends the run after exactly so many durations."""
    live = measure(target, ["Spin"], "-N", "10")
    target.ask("spin 10 400 4", "done")
    assert hist(live.finish().expect(0), "Spin")["count"] == 10


# Recursion ------------------------------------------------------------------------------------


# What a call within another costs is measured when a run begins, and subtracted. It is some microseconds, and on a busy
# machine some more or less, so at each depth more time passes. How near it comes is to be seen by tests/bench/run.
PASSING = 50_000
# That much of what the calls did cost may be subtracted too much, where the machine was slower as that was measured.
WRONG = 0.5


@pytest.mark.parametrize("variant", VARIANTS)
def test_recursion(start_app, measure, variant):
    """Direct and mutual: exact at each depth."""
    target = start_app(variant)
    target.ask(f"pass {PASSING // 1000}", "passing")
    live = measure(target, ["Direct", "Ping", "Pong"])
    least_ns = {"direct": 0, "mutual": 0}
    for kind, depth in itertools.product(least_ns, (1, 2, 3, 9, 32, 64, 99, 100)):
        target.ask(f"{kind} {depth} 2 2", "done")
        least_ns[kind] += 2 * PASSING * depth * (depth + 1) // 2
    result = live.stop().expect(0)
    check_counts(result, target, ["Direct", "Ping", "Pong"])
    for kind, methods in (("direct", ["Direct"]), ("mutual", ["Ping", "Pong"])):
        took = sum(hist(result, name)["sum_ns"] for name in methods)
        most = sum(sum(truth(target, name).took) for name in methods)
        least = least_ns[kind] - max(0.1 * least_ns[kind], WRONG * (most - least_ns[kind]))
        assert least <= took <= (1 + EXACT) * most, \
            f"{kind} took {took} ns, not {least:.0f} to {most}: {result}"


def test_nesting(target, measure):
    """Of each call of a recursion, its stack and its duration, which is that of the call within it and some more."""
    depths = [1, 2, 5, 30, 100]
    target.ask(f"pass {PASSING // 1000}", "passing")
    live = measure(target, ["Direct"], "--min=1us", "--stack=managed", "--max-frames=127")
    for depth in depths:
        target.ask(f"direct {depth} 1 0", "done")
    result = live.stop().expect(0)
    hits = result.records("hit")
    nested = [sum(frame["name"] == METHODS["Direct"] for frame in hit["stack"]) for hit in hits]
    assert nested == [level for depth in depths for level in range(depth, 0, -1)], str(result)
    # The innermost ends first.
    took = [0, *(hit["duration_ns"] for hit in hits)]
    levels = [level for depth in depths for level in range(1, depth + 1)]
    inner = [took[at] if level > 1 else 0 for at, level in enumerate(levels)]
    short = [level for level, within, whole in zip(levels, inner, took[1:]) if whole - within < PASSING / 2]
    assert not short, f"{short} levels up: {took}"


def test_too_deep(target, measure):
    """What is beyond the limit is told, and all else is exact: also later."""
    live = measure(target, ["Direct", "Tick"])
    target.ask("direct 128 4 4", "done")
    target.ask("direct 129 4 2", "done")
    target.ask("direct 300 8 2", "done")
    target.ask("direct 100 4 0", "done")
    result = live.stop().expect(0)
    said, real = hist(result, "Direct"), truth(target, "Direct")
    beyond = 4 * (129 - DEPTH) + 8 * (300 - DEPTH)
    assert real.returned == 4 * 128 + 4 * 129 + 8 * 300 + 4 * 100
    assert said["not_timed"] == beyond, str(result)
    assert said["count"] == real.returned - beyond, str(result)
    assert (said["unwound"], said["unfinished"]) == (0, 0), str(result)
    assert result.summary()["lost"] == {"call-not-timed": beyond}


def test_too_deep_and_strict(target, measure):
    live = measure(target, ["Direct"], "--strict")
    target.ask("direct 129 1 0", "done")
    live.stop().expect(5)


# Exceptions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_exceptions(start_app, measure, variant):
    """Through 1 to 50 frames, caught where they may, with probed calls in handlers and filters, and
    once more on the same thread later."""
    target = start_app(variant)
    live = measure(target, FRAMES)
    for plan in latency.plans(seed=8):
        target.ask(f"frames-tick {plan} 3 2", "done")
    for plan in ("p" * 50 + "!", "pcpppf!", "fwpt!"):
        target.ask(f"frames-tick {plan} 20 0", "done")
    check_counts(live.stop().expect(0), target, FRAMES)


def test_sum_of_fates(target, measure):
    """Whatever is known of those that an exception left, none is missing and none counted twice."""
    live = measure(target, FRAMES)
    for plan in latency.plans(seed=9):
        target.ask(f"frames {plan} 2 2", "done")
    target.ask("frames pppp! 5 0", "done")
    result = live.stop().expect(0)
    for name in FRAMES:
        said, real = hist(result, name), truth(target, name)
        assert said["count"] == real.returned, f"{name}: {result}"
        assert said["unwound"] + said["unfinished"] == real.left, f"{name}: {result}"
    assert result.summary()["lost"] == {}


# What an exception has left is known to be left once the thread is seen further up its stack.
LEAVING = ["ppfx", "pcp!", "wnt!", "pr!", "p" * 50 + "!"]


def test_thread_that_ends(target, measure):
    """Nothing is called after the exception: that the thread ends settles what it had left."""
    live = measure(target, FRAMES)
    for plan in LEAVING:
        target.ask(f"frames {plan} 1 3", "done")
    latency.wait_for_threads(target, "Plain")
    check_counts(live.stop().expect(0), target, FRAMES)


def test_thread_that_goes_on(target, measure):
    """The same on a thread that waits at the end, further down its stack: nothing tells what it has left."""
    live = measure(target, FRAMES)
    for plan in LEAVING:
        target.ask(f"frames {plan} 1 0", "done")
    result = live.stop().expect(0)
    for name in FRAMES:
        said, real = hist(result, name), truth(target, name)
        assert said["count"] == real.returned, f"{name}: {result}"
        assert said["unwound"] + said["unfinished"] == real.left, f"{name}: {result}"


# Calls that are under way ---------------------------------------------------------------------


def test_attach_midway(target, measure):
    """Calls that had begun before are told and not counted."""
    target.ask("begin 4000 3", "begun")
    target.ask("forget", "forgotten")
    live = measure(target, ["Nap"])
    target.ask("nap 10 8 2", "done")
    target.ask("end", "ended")
    target.ask("nap 10 4 1", "done")
    result = live.stop().expect(0)
    said = hist(result, "Nap")
    assert [said[field] for field in ("count", "unwound", "unfinished", "not_timed")] == [12, 0, 0, 0]
    assert said["max_ns"] < 1_000_000_000, str(result)
    assert "3 calls ended that had begun before all their probes were there" in result.err


def test_detach_midway(target, measure):
    live = measure(target, ["Nap"])
    target.ask("nap 2 6 3", "done")
    target.ask("begin 3000 4", "begun")
    result = live.stop().expect(0)
    said = hist(result, "Nap")
    assert [said[field] for field in ("count", "unwound", "unfinished", "not_timed")] == [6, 0, 4, 0]
    # They return through instructions that were breakpoints a moment ago.
    target.ask("end", "ended")
    assert truth(target, "Nap").returned == 10


# Kept apart -----------------------------------------------------------------------------------


def test_by_tid(target, measure):
    live = measure(target, ["Nap", "Early"], "--by=tid")
    target.ask("nap 3 24 8", "done")
    target.ask("nap 5 2 0", "done")
    target.ask("early 100 3", "done")
    result = live.stop().expect(0)
    for name in ("Nap", "Early"):
        said = {record["tid"]: record for record in result.records("hist") if record["method"] == METHODS[name]}
        real = truth_by_tid(target, name)
        assert {tid: each["count"] for tid, each in said.items()} == \
            {tid: each.returned for tid, each in real.items()}, str(result)
        if name == "Nap":
            for tid, each in said.items():
                check_sum(each["sum_ns"], real[tid])
    assert result.summary()["hits"] == 24 + 2 + 100


def test_by_caller(target, measure):
    live = measure(target, ["Spin"], "--by=caller")
    target.ask("first 1000 20 2", "done")
    target.ask("second 2000 15 3", "done")
    result = live.stop().expect(0)
    said = {record["caller"].partition("(")[0]: record for record in result.records("hist")}
    assert {caller: record["count"] for caller, record in said.items()} == \
        {"Timed.Callers::First": 20, "Timed.Callers::Second": 30}, str(result)
    assert said["Timed.Callers::First"]["min_ns"] >= 990_000
    assert said["Timed.Callers::Second"]["min_ns"] >= 1_980_000
    check_sum(sum(record["sum_ns"] for record in said.values()), truth(target, "Spin"))


def test_linear(target, measure):
    """Buckets of the asked size, with one for what is below and one for what is above."""
    live = measure(target, ["Nap"], "--hist=linear:10ms:50ms:10ms")
    for milliseconds, calls in ((2, 12), (14, 6), (25, 4), (26, 2), (64, 2)):
        target.ask(f"nap {milliseconds} {calls} 2", "done")
    result = live.stop().expect(0)
    check_counts(result, target, ["Nap"])
    said, real = hist(result, "Nap")["linear"], truth(target, "Nap")
    assert sum(said) == real.returned and len(said) == 6, str(result)
    # A thread that has to wait may be near a limit.
    for number, limit in enumerate((10e6, 20e6, 30e6, 40e6, 50e6), start=1):
        least, most = sum(took < limit for took in real.most), sum((1 - EXACT) * took < limit for took in real.took)
        assert least <= sum(said[:number]) <= most, f"{least} to {most} below {limit} ns: {result}"


def test_intervals(target, measure):
    """What is printed every second adds up."""
    live = measure(target, ["Nap", "Early"], "-i", "1")

    def intervals():
        target.ask("nap 8 16 8", "done")
        target.ask("early 64 8", "done")
        return sum(record["type"] == "hist" and record["method"] == METHODS["Nap"] for record in live.records_so_far())

    machine.wait_until(lambda: intervals() >= 3, "three intervals", seconds=30)
    result = live.stop().expect(0)
    for name in ("Nap", "Early"):
        said = [record for record in result.records("hist") if record["method"] == METHODS[name]]
        real = truth(target, name)
        assert len(said) >= 4 and all(record["count"] for record in said[:3]), str(result)
        assert sum(record["count"] for record in said) == real.returned
        assert sum(bucket["count"] for record in said for bucket in record["buckets"]) == real.returned
        if name == "Nap":
            check_sum(sum(record["sum_ns"] for record in said), real)
            for record in said[:3]:
                assert record["min_ns"] <= record["p50_ns"] <= record["max_ns"]
    assert result.summary()["lost"] == {}


def test_slow_calls(target, measure):
    """--min: those and no others, each with its stack at the entry and its duration."""
    live = measure(target, ["Nap"], "--min=20ms")
    slow_ns = 20_000_000
    target.ask("nap 1 100 8", "done")
    target.ask("nap 30 6 3", "done")
    target.ask("nap 60 2 0", "done")
    result = live.stop().expect(0)
    hits = result.records("hit")
    for tid, real in truth_by_tid(target, "Nap").items():
        said = sorted(hit["duration_ns"] for hit in hits if hit["tid"] == tid)
        count = len(said)
        assert all(map(is_within, said, real.took[len(real.took) - count:],
                       real.most[len(real.most) - count:])), str(result)
        # None of these is missing; near the limit a call may be of either kind.
        assert sum(took >= slow_ns for took in real.took) <= count <= sum(took >= slow_ns for took in real.most)
    assert len(hits) >= 8
    for hit in hits:
        names = [frame["name"] for frame in hit["stack"] if frame["kind"] == "dotnet"]
        assert hit["method"] == names[0] == METHODS["Nap"]
        # Called from a loop, which is a lambda.
        assert names[1].startswith("Timed.Program+<>c__DisplayClass"), names
        assert hit["stack_end"] == "whole", str(result)
    assert not result.records("hist")


# Code compiled at run time --------------------------------------------------------------------
# Counts of these are tried in guests as well: where breakpoints do not fire nothing else would.


@pytest.mark.breakpoints
def test_jit_exact(jitted, measure):
    """Two methods with one return each have all four debug registers."""
    live = measure(jitted, ["Spin", "Nap"], "-v")
    jitted.ask("spin 200 400 8", "done")
    jitted.ask("nap 2 160 8", "done")
    jitted.ask("nap 50 4 2", "done")
    result = live.stop().expect(0)
    check_counts(result, jitted, ["Spin", "Nap"])
    check_sum(hist(result, "Nap")["sum_ns"], truth(jitted, "Nap"))
    check_shares(hist(result, "Nap"), truth(jitted, "Nap"), ALL_SHARES, change_ns(result))


@pytest.mark.kernel
@pytest.mark.breakpoints
def test_jit_several_exits(jitted, measure):
    live = measure(jitted, ["Early"])
    jitted.ask("early 4000 4", "done")
    check_counts(live.stop().expect(0), jitted, ["Early"])


@pytest.mark.kernel
@pytest.mark.breakpoints
def test_jit_tail_call(jitted, measure):
    """One method jumps to the other, whose stack pointer is then the same."""
    live = measure(jitted, ["Tail", "Tailed"])
    jitted.ask("tail 2000 4", "done")
    check_counts(live.stop().expect(0), jitted, ["Tail", "Tailed"])


@pytest.mark.kernel
@pytest.mark.breakpoints
def test_jit_recursion(jitted, measure):
    live = measure(jitted, ["Ping", "Pong"])
    for depth in (1, 2, 50, 100):
        jitted.ask(f"mutual {depth} 20 4", "done")
    check_counts(live.stop().expect(0), jitted, ["Ping", "Pong"])


@pytest.mark.breakpoints
def test_jit_exceptions(jitted, measure):
    live = measure(jitted, ["Plain", "Catching"])
    for plan in ("cp!", "ccppp!", "c" + "p" * 40 + "!", "cpcpx", "crpft!"):
        jitted.ask(f"frames {plan} 10 3", "done")
    check_counts(live.stop().expect(0), jitted, ["Plain", "Catching"])


@pytest.mark.breakpoints
def test_jit_too_many_exits(jitted, place_probe, measure):
    """A method with more exits than registers are left is refused, and the plan says so."""
    listed = place_probe.run("-l", "-H", "-j", jitted.pid, METHODS["Ways"], METHODS["Nap"]).expect(0)
    sites = {site["method"]: (site["mechanism"], site["reason"]) for site in listed.records("site")}
    assert sites == {METHODS["Nap"]: ("breakpoint", None), METHODS["Ways"]: ("none", "no-debug-register")}
    refused = place_probe.run("-H", "-d", "1", jitted.pid, METHODS["Ways"]).expect(4)
    assert "register" in refused.err, str(refused)
    live = measure(jitted, ["Ways", "Nap"])
    jitted.ask("ways 60 2", "done")
    jitted.ask("nap 5 10 2", "done")
    result = live.stop().expect(0)
    said = hist(result, "Nap")
    assert [said[field] for field in ("count", "unwound", "unfinished", "not_timed")] == \
        [truth(jitted, "Nap").returned, 0, 0, 0], str(result)
    assert METHODS["Ways"] not in {record["method"] for record in result.records("hist")}
    assert result.summary()["lost"] == {}, str(result)
    assert result.summary()["lower_bound"] == ["not-probed"], str(result)
    assert "1 of 2 bodies are not probed (--list says why" in result.err, str(result)


# Survival -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "seconds"), pairs.few([("latency10", 20), ("latency8", 8)],
                                                           ("latency10", 8)))
def test_storm(start_app, place_probe, variant, seconds, tell):
    """Exceptions, collections, and thousands of the framework's own methods timed."""
    survival = latency.survive(lambda: start_app(variant), place_probe, STORM, seconds)
    assert survival.sites >= 400 and survival.called >= 200 and survival.unwound, survival
    tell(f"{variant}: storm: {survival}")


@pytest.mark.breakpoints
def test_storm_of_jitted(start_app, place_probe, tell):
    survival = latency.survive(lambda: start_app("latency10-jit"), place_probe, STORM_COMPILED, 6)
    counts = {record["method"].partition("(")[0]: record["count"] for record in survival.result.records("hist")}
    assert counts.keys() == set(STORM_COMPILED) and all(counts.values()), survival.result
    tell(f"latency10-jit: storm: {survival}")


def test_detach(target, place_probe, tell):
    """Well over a thousand sites are gone at once, and the target's code is as it was."""
    if not machine.has_uprobe_multi():
        pytest.skip("this kernel has no uprobe_multi")
    before, _ = latency.changed_code(target.pid)
    live = place_probe.live("-H", "-j", target.pid, "System.Private.CoreLib!System.Collections.*::*",
                            "System.Private.CoreLib!System.Text.*::*")
    assert latency.changed_code(target.pid)[0] != before
    began = time.monotonic()
    live.stop().expect(0)
    took = time.monotonic() - began
    tell(f"{live.sites} methods were detached in {took:.2f} s")
    after, compared = latency.changed_code(target.pid)
    # One by one they would take a hundred seconds.
    assert live.sites >= 1000 and took < 10 * machine.SCALE
    assert after == before and compared > 1 << 20
    target.ask("early 80 2", "done")
