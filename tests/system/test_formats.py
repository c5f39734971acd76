# SPDX-License-Identifier: GPL-2.0-or-later
"""Formats that other programs read, each by a reader of its own: of precompiled .NET methods, which the app has called
so many times, and of Node, whose stacks V8 tells itself."""

import re

import pytest

from helpers import machine, perf_script, v8_hits

SLEEP = "System.Threading.Thread::Sleep(int32)"
INNER = "Counted.Chain::Inner(int32)"
# It has no runtime that compiles methods at addresses that a probe is put on.
OF_NODE = pytest.mark.beside(uprobes=True)
VERSION = (machine.TREE / "tests/apps/node/version").read_text().strip()
WAYS = ["builtins", "wide", "contexts", "inspected"]


@pytest.fixture(scope="module")
def probed():
    target = v8_hits.Probed(VERSION)
    yield target
    assert target.quit() == 0
    target.close()


@pytest.fixture
def of_node(place_probe, probed, tmp_path):
    """of_node(OPTION...): what is printed of calls of stop(), and what V8 said of each."""
    def run(*options):
        live = place_probe.live("--max-frames=256", *options, probed.pid, v8_hits.TARGETS["api"], timeout=60)
        stops = probed.run(1, tmp_path / "said", *WAYS)
        return live.stop().expect(0), [stop.expected("api") for stop in stops]

    return run


def of_dotnet(place_probe, app, *options, calls=5):
    """What is printed of so many calls of Sleep() by Chain::Inner()."""
    live = place_probe.live(*options, app.pid, SLEEP)
    app.calls("chain", calls)
    return live.stop().expect(0)


# perf script ---------------------------------------------------------------------------------

@pytest.mark.kernel
def test_perf_script(place_probe, shared_app):
    result = of_dotnet(place_probe, shared_app, "--format=perf-script")
    samples, comments = perf_script.parse(result.out)
    assert comments == ["# 5 hits; lost: nothing"]
    assert len(samples) == 5
    for sample in samples:
        assert (sample.pid, sample.event, sample.period) == (shared_app.pid, "place_probe:hit", 1)
        assert [(frame.sym, frame.dso) for frame in sample.frames[:2]] == [
            (SLEEP, "System.Private.CoreLib.dll"), (INNER, "counter.dll")]
        assert sample.frames[0].offset == 0 and sample.frames[1].offset > 0
        assert re.fullmatch("_start|clone3|__clone3|counter|\\[unknown\\]", sample.frames[-1].sym)
    times = [sample.time_us for sample in samples]
    assert times == sorted(times) and len(set(times)) == 5


def test_perf_script_of_calls(place_probe, shared_app):
    """Their durations are the periods."""
    result = of_dotnet(place_probe, shared_app, "--format=perf-script", "-H", "--min=1us")
    samples, _ = perf_script.parse(result.out)
    assert [sample.event for sample in samples] == ["place_probe:call"] * 5
    assert all(1000 <= sample.period < 10**10 for sample in samples)
    assert all(sample.frames[0].sym == SLEEP for sample in samples)


@OF_NODE
def test_perf_script_of_node(of_node):
    result, expected = of_node("--format=perf-script")
    samples, _ = perf_script.parse(result.out)
    assert len(samples) == len(expected) == len(WAYS)
    for sample, said in zip(samples, expected):
        assert sample.frames[0].sym.startswith("node::credentials::GetUid("), sample
        found = [(frame.sym, frame.dso) for frame in sample.frames]
        wanted = [(frame.name, place_of(frame)) for frame in said]
        assert [frame for frame in found if frame in wanted] == wanted, sample


def place_of(frame):
    """As a reader may find it at the end of a line."""
    return re.sub("[()]", "_", f"{frame.script}:{frame.line}".replace(" ", "_")) if frame.script else "[unknown]"
