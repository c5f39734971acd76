# SPDX-License-Identifier: GPL-2.0-or-later
"""Hits that are counted and not shown (--sample, --max-rate), and --expire. The app's own count tells."""

import os
import signal
import time

import pytest

from helpers import apps, machine
from helpers.reader import SlowReader

STATIC = apps.METHODS["static"]
OTHER = apps.METHODS["over-two"]
CALLS = 20_000
RATE = 100  # hits a second


@pytest.fixture
def app():
    app = apps.App([apps.build("r2r10")], apps.environment())
    yield app
    app.close()


def shed_of(result):
    """What the summary says of each method, by its name up to the parameters."""
    return {method["method"].partition("(")[0]: method for method in result.summary()["shed"]}


def accounted(result):
    """All calls: those that were printed, and those that were not."""
    summary = result.summary()
    printed = sum(record["count"] for record in result.records("folded")) or summary["hits"]
    return printed + sum(summary["lost"].values()) + sum(
        method["sampled_out"] + method["over_rate"] for method in summary["shed"])


def seconds_of(hits):
    """How many seconds of the clock they may have been counted in: one is stamped after that."""
    times = [hit["time_ns"] for hit in hits]
    return max(times) // 10**9 - min(times) // 10**9 + 2


@pytest.mark.kernel
@pytest.mark.parametrize("every", [1, 2, 7, 1000])
def test_sample(place_probe, shared_app, every):
    live = place_probe.live("-j", "--buffer=64M", f"--sample={every}", shared_app.pid, STATIC)
    made = shared_app.calls("static", CALLS, threads=2)
    result = live.stop().expect(0)
    of = shed_of(result)["Counted.Kinds::Static"]
    assert of["calls"] == made and of["over_rate"] == 0
    assert accounted(result) == made
    shown = made - of["sampled_out"]
    assert made // every - os.cpu_count() <= shown <= made // every + os.cpu_count()
    if every > 1:
        assert f"{of['sampled_out']} of {made} calls are counted and not shown" in result.err


@pytest.mark.kernel
def test_sample_of_two_methods_in_turns(place_probe, shared_app):
    """What comes in turns is not seen in part only."""
    live = place_probe.live("-j", "--sample=10", "--no-stack", shared_app.pid, STATIC, OTHER)
    made = 0
    for _ in range(20):
        made += shared_app.calls("static", 100) + shared_app.calls("over-two", 100)
    result = live.stop().expect(0)
    assert accounted(result) == made
    for method in (STATIC, OTHER):
        shown = sum(hit["method"] == method for hit in result.records("hit"))
        assert abs(shown - made // 2 // 10) <= os.cpu_count()


@pytest.mark.kernel
def test_sample_of_merged_stacks(place_probe, shared_app):
    live = place_probe.live("-f", "-j", "--sample=10", shared_app.pid, STATIC)
    made = shared_app.calls("static", CALLS, threads=2)
    result = live.stop().expect(0)
    assert accounted(result) == made
    assert shed_of(result)["Counted.Kinds::Static"]["calls"] == made


@pytest.mark.kernel
def test_rate(place_probe, shared_app):
    """Of each method apart: what floods does not keep another from being seen."""
    live = place_probe.live("-j", f"--max-rate={RATE}", shared_app.pid, STATIC, OTHER)
    made = shared_app.calls("static", CALLS, threads=2)
    others = shared_app.calls("over-two", 6)
    result = live.stop().expect(0)
    hits = [hit for hit in result.records("hit") if hit["method"] == STATIC]
    shed = shed_of(result)
    assert accounted(result) == made + others
    assert shed["Counted.Kinds::Static"]["calls"] == made
    assert shed["Counted.Kinds::Static"]["sampled_out"] == 0
    assert RATE <= len(hits) <= RATE * seconds_of(hits)
    assert sum(hit["method"] == OTHER for hit in result.records("hit")) == others
    assert shed["Counted.Kinds::Over"]["over_rate"] == 0


@pytest.mark.kernel
def test_few_hits_are_all_shown(place_probe, shared_app):
    live = place_probe.live("-j", f"--max-rate={RATE}", shared_app.pid, STATIC)
    shared_app.calls("static", RATE)
    result = live.stop().expect(0)
    assert len(result.records("hit")) == RATE
    assert "counted and not shown" not in result.err
    live = place_probe.live("-j", shared_app.pid, STATIC)
    shared_app.calls("static", 1)
    assert live.stop().expect(0).summary()["shed"] is None


@pytest.mark.parametrize("words", [["--sample=10"], [f"--max-rate={RATE}"], ["--sample=3", f"--max-rate={RATE}"]],
                         ids=["sample", "rate", "both"])
def test_method_with_several_bodies(place_probe, words):
    """Probed by breakpoints too, and compiled anew meanwhile: its bodies are one method."""
    app = apps.App([apps.build("fd10")], apps.environment(tiered=True))
    try:
        live = place_probe.live("-j", *words, app.pid, STATIC)
        made = 0
        while sum(record["type"] == "hit" for record in live.records_so_far()) == 0 or made < 3 * CALLS:
            made += app.calls("static", CALLS // 10, threads=2)
        result = live.stop().expect(0)
        of = shed_of(result)["Counted.Kinds::Static"]
        hits = result.records("hit")
        assert of["calls"] == made and accounted(result) == made
        if words[-1].startswith("--max-rate"):
            # A body that is not known yet has a rate of its own, for a moment.
            assert len(hits) <= RATE * (seconds_of(hits) + 3)
    finally:
        app.close()


def test_expired_while_it_is_stopped(place_probe, app):
    """It goes on by itself, and ends in order."""
    live = place_probe.live("-j", "--expire=3s", app.pid, STATIC)
    made = app.calls("static", 50)
    live.suspend()
    result = live.finish().expect(0)
    assert len(result.records("hit")) == made
    assert app.calls("static", 10) == 10


def test_expired_while_nobody_reads(place_probe, app, short_tmp):
    """It waits for who reads its output, so its probes only go with it."""
    reader = SlowReader(short_tmp / "out")
    live = place_probe.live("-j", "-o", short_tmp / "out", "--expire=2s", app.pid, STATIC)
    app.calls("static", 500)
    machine.wait_until(lambda: machine.process_state(live.process.pid) == "S", "it waits")
    result = live.finish()
    reader.end()
    assert result.code == -signal.SIGKILL
    assert "killed, since it had not begun to remove its probes" in result.err
    assert app.calls("static", 10) == 10


def watchers_of(pid):
    return [child for child in machine.children_of(pid)
            if open(f"/proc/{child}/comm", encoding="utf-8").read().strip() == "place-probe-exp"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ended", "killed"])
def test_watcher_goes_with_the_run(place_probe, app, number):
    """Nothing is left of it, and it has nothing of the output open."""
    began = time.monotonic()
    live = place_probe.live("-c", "-j", "--expire=1000s", app.pid, STATIC)
    watchers = watchers_of(live.process.pid)
    assert len(watchers) == 1
    app.calls("static", 7)
    result = live.stop(number)
    if number == signal.SIGINT:
        assert result.expect(0).calls() == 7
    assert time.monotonic() - began < 500
    machine.wait_until(lambda: not os.path.exists(f"/proc/{watchers[0]}"), "the watcher is gone")


def test_expired_as_duration(place_probe, app):
    """Nothing hinders it: it ends in order, sooner than -d says."""
    live = place_probe.live("-c", "-j", "--expire=1.5s", "-d", "1000", app.pid, STATIC)
    app.calls("static", 7)
    assert live.finish().expect(0).calls() == 7
