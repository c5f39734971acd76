# SPDX-License-Identifier: GPL-2.0-or-later
"""Streams of hits: what was called is printed, counted or told as lost, however fast it comes."""

import collections
import itertools
import pathlib
import re
import signal
import time

import pytest

from helpers import machine, pairs
from helpers.reader import SlowReader

pytestmark = pytest.mark.beside

THREADS = 4


@pytest.fixture
def deep(start_app):
    """Calls `hit` so many frames deep."""
    return start_app("deep", executable=machine.program("deep"))


@pytest.fixture
def calls(start_app):
    return start_app("calls", executable=machine.program("calls"))


def counts(text):
    """STACK COUNT of each line."""
    lines = [re.fullmatch(r"(\S.*) (\d+)", line) for line in text.splitlines()]
    assert all(lines), text
    return collections.Counter({line.group(1): int(line.group(2)) for line in lines})


def lost(result):
    return sum(int(number) for number in re.findall(r"lost: (\d+) hits found", result.err))


@pytest.mark.kernel
def test_equal_stacks_are_counted(place_probe, deep):
    """Each depth is one line with all of its calls, and the ring buffer has each once."""
    live = place_probe.live("-f", "--strict", "--buffer=16384", deep.pid, "deep!hit")
    for depth in (5, 10, 20, 30):
        for number in (100, 900 + depth):
            deep.ask(f"calls {number} {depth}", "done")
    found = counts(live.stop().expect(0).out)
    by_depth = {stack.split(";").count("call_at"): count for stack, count in found.items()}
    assert by_depth == {depth - 2: 1000 + depth for depth in (5, 10, 20, 30)}, found


@pytest.mark.kernel
def test_threads(place_probe, calls):
    live = place_probe.live("-f", "--strict", calls.pid, "calls!calls_plain")
    calls.ask(f"plain 5000 {THREADS}", "done")
    assert sum(counts(live.stop().expect(0).out).values()) == THREADS * 5000


@pytest.mark.kernel
def test_reader_that_stands_still(place_probe, deep):
    """Nobody reads the ring buffer, and nothing is lost: it is counted."""
    live = place_probe.live("-f", "--buffer=16384", deep.pid, "deep!hit")
    live.suspend()
    deep.ask("calls 20000 20", "done")
    live.resume()
    result = live.stop().expect(0)
    assert list(counts(result.out).values()) == [20000], str(result)
    assert "nothing lost" in result.err


def test_intervals_have_what_is_new(place_probe, deep):
    """What is read while hits come has each of them once."""
    live = place_probe.live("-f", "-i", "0.1", "--strict", deep.pid, "deep!hit")
    for _ in range(20):
        deep.ask("calls 3000 10", "done")
        time.sleep(0.02)
    result = live.stop().expect(0)
    lines = result.out.splitlines()
    assert len(lines) > 2
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == 60_000


@pytest.mark.parametrize("options", [[], ["-j"], ["-f"], ["-f", "-j"], ["--no-stack"], ["-j", "--no-stack"]])
def test_nothing_goes_unsaid(place_probe, deep, tmp_path, options):
    """The app's own count is what is printed and what is told as lost."""
    out = tmp_path / "out"
    live = place_probe.live(*options, "--buffer=65536", "-o", out, deep.pid, "deep!hit")
    for number, pause in ((1, 0.1), (10, 0.05), (1000, 0), (50_000, 0), (1, 0)):
        deep.ask(f"calls {number} 20", "done")
        time.sleep(pause)
    result = live.stop().expect(0)
    text = out.read_text()
    if options == ["-f"]:
        printed = sum(counts(text).values())
    elif options == ["-f", "-j"]:
        printed = sum(int(number) for number in re.findall(r'"count":(\d+)', text))
    elif "-j" in options:
        printed = text.count('{"type":"hit"')
    else:
        printed = len(re.findall(rf" {deep.pid}/{deep.pid}  hit \[", text))
    assert printed + lost(result) == 51_012, str(result)[-2000:]


# A second, in which the reader finds it as it comes, or all at once; None: without a pause.
RATES = [1, 3, 10, 100, 300, 1000, 3000, 20_000, 50_000, None] if pairs.is_full() else [10, 3000, None]
STEPS = 10
FLAT_OUT = 40_000
MODES = ["", "-j", "-f", "-f -j", "-f --by=tid", "--no-stack", "-j --no-stack", "-c -j", "-j --sample=7",
         "-f --sample=7", "-j --max-rate=500", "-f -j --max-rate=500"]
DIMENSIONS = (MODES, RATES, ["reads", "reads late", "stands still"], [1, 8, 64])
ROWS = pairs.pairwise(*DIMENSIONS) if pairs.is_full() else \
    pairs.cover(itertools.product(*DIMENSIONS), lambda row: [*enumerate(row), *pairs.pairs_in(row[1:])])
STOPPED_SECONDS = 10 if pairs.is_full() else 0.5


def call_at(app, rate, threads):
    """Returns how many calls were made."""
    if rate is None:
        app.ask(f"plain {FLAT_OUT // threads} {threads}", "done")
        return FLAT_OUT // threads * threads
    made, steps = 0, min(rate, STEPS)
    for _ in range(steps):
        number = -(-rate // steps // threads)
        app.ask(f"plain {number} {threads}", "done")
        made += number * threads
        time.sleep(1 / steps / 2)
    return made


def told_of(options, result, text):
    """How many calls the output and the summary tell of."""
    told = lost(result)
    told += sum(map(int, re.findall(r": (\d+) hits are counted and not shown", result.err)))
    if "-c" in options:
        return told + sum(record["calls"] for record in result.records("count"))
    if "-f" in options and "-j" in options:
        return told + sum(record["count"] for record in result.records("folded"))
    if "-f" in options:
        return told + sum(counts(text).values())
    return told + len(re.findall(r'^{"type":"hit"' if "-j" in options else r"  calls_plain(?:\(.*\))? \[", text, re.M))


@pytest.mark.parametrize(("options", "rate", "reader", "threads"),
                         ROWS)
def test_the_sum_is_right(place_probe, calls, short_tmp, options, rate, reader, threads):
    """At each rate, whoever reads, and however many threads: shown, lost, and not to be shown are all that was called."""
    options = options.split()
    late = SlowReader(short_tmp / "out") if reader == "reads late" else None
    live = place_probe.live(*options, "--buffer=262144", *(["-o", late.path] if late else []), calls.pid,
                            "calls!calls_plain")
    if reader == "stands still":
        live.suspend()
    made = call_at(calls, rate, threads)
    if reader == "stands still":
        time.sleep(STOPPED_SECONDS)
        live.resume()
    if late:
        late.read()
    result = live.stop().expect(0)
    if late:
        result.out = late.end()
    assert told_of(options, result, result.out) == made, str(result)[-2000:]


@pytest.mark.parametrize("options", [["-j"], ["-f", "-j"]])
def test_sampled(place_probe, calls, options):
    """One hit in ten, exactly, and the others are counted by name."""
    live = place_probe.live(*options, "--sample=10", "--strict", calls.pid, "calls!calls_plain")
    calls.ask(f"plain 2500 {THREADS}", "done")
    result = live.stop().expect(0)
    shown = sum(record["count"] for record in result.records("folded")) + len(result.records("hit"))
    assert shown == result.summary()["hits"] == 1000
    assert result.summary()["not_shown"] == [
        {"method": "calls_plain", "sampled_out": 9000, "over_rate": 0}]
    assert "10000 hits in" in result.err
    assert "calls_plain: 9000 hits are counted and not shown (--sample)" in result.err


@pytest.mark.kernel
def test_rate_is_limited(place_probe, calls):
    """At most so many in any second of the clock, however many threads there are."""
    live = place_probe.live("-j", "--no-stack", "--max-rate=100", calls.pid, "calls!calls_plain")
    calls.ask(f"plain 20000 {THREADS}", "done")
    time.sleep(1.1)
    calls.ask("plain 1000 1", "done")
    result = live.stop().expect(0)
    hits = result.records("hit")
    by_second = collections.Counter(hit["time_ns"] // 1_000_000_000 for hit in hits)
    assert len(by_second) >= 2
    # What is let through at the end of a second may read the clock in the next.
    assert all(count <= 100 + THREADS for count in by_second.values()), by_second
    [others] = result.summary()["not_shown"]
    assert len(hits) + others["over_rate"] == THREADS * 20000 + 1000
    assert others["sampled_out"] == 0


def test_many_stacks(place_probe, deep, unsanitized):
    """More different stacks than there are places for: each call is in some line, and memory is bounded."""
    ways = 200_000
    live = place_probe.live("-f", "--memory=32M", "--buffer=64M", deep.pid, "deep!hit")
    deep.ask(f"ways {ways}", "done")
    deep.ask("calls 5000 10", "done")
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{live.process.pid}/status").read_text()).group(1))
    result = live.stop().expect(0)
    found = counts(result.out)
    assert found["[other stacks]"] > 0, result.err
    assert sum(found.values()) + lost(result) == ways + 5000, result.err
    assert peak < 200_000


def test_expires(place_probe, calls):
    """It ends by itself as with -d; and if it is stopped, it goes on then, and ends in order."""
    live = place_probe.live("-c", "-j", "--expire=300ms", calls.pid, "calls!calls_plain")
    calls.ask("plain 10 1", "done")
    assert live.finish().expect(0).calls() == 10
    live = place_probe.live("-c", "-j", "--expire=300ms", calls.pid, "calls!calls_plain")
    calls.ask("plain 20 1", "done")
    live.suspend()
    assert live.finish().expect(0).calls() == 20


@pytest.mark.parametrize("waits_for", ["its reader", "somebody to let it go on"])
def test_expires_where_it_cannot_end(place_probe, calls, short_tmp, waits_for):
    """It is killed, and its probes go with it."""
    reader = SlowReader(short_tmp / "out")
    live = place_probe.live("-j", "-o", short_tmp / "out", "--expire=2s", calls.pid, "calls!calls_plain")
    try:
        # Once its probes are gone it may wait for its reader as long as that takes: so it waits before.
        reader.fill()
        calls.ask("plain 5000 1", "done")
        while waits_for != "its reader" and live.process.poll() is None:
            live.process.send_signal(signal.SIGSTOP)
            time.sleep(0.01)
        assert live.finish().code == -signal.SIGKILL
    finally:
        reader.end()


def test_order_of_a_thread(place_probe, calls):
    live = place_probe.live("-j", "--no-stack", calls.pid, "calls!calls_plain")
    calls.ask(f"plain 20000 {THREADS}", "done")
    hits = live.stop().expect(0).records("hit")
    for thread in {hit["tid"] for hit in hits}:
        times = [hit["time_ns"] for hit in hits if hit["tid"] == thread]
        assert times == sorted(times)


def test_other_code_in_the_same_place(place_probe, app):
    """Dynamic methods that come where others were: each has its own name, and its own calls."""
    methods = 200
    live = place_probe.live("-f", "--stack=managed", "--strict", app.pid, "Counted.MovingTruth::NoteNamed")
    made = int(app.ask(f"calls dynamic-named {methods} 0", "done")[2])
    result = live.stop().expect(0)
    by_name = collections.Counter()
    unknown = 0
    for stack, count in counts(result.out).items():
        named = re.search(r"dynamicClass::CountedNamed(\d+)\(", stack)
        if named:
            by_name[int(named.group(1))] += count
        else:
            assert "[unknown]" in stack or "[dotnet]" in stack, stack
            unknown += count
    for number, count in by_name.items():
        assert count <= number % 7 + 1, (number, count, result.out)
    assert sum(by_name.values()) + unknown == made == sum(number % 7 + 1 for number in range(methods))
