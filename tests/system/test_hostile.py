# SPDX-License-Identifier: GPL-2.0-or-later
"""Targets that do all they can to be hard to look at: place-probe takes so much memory and time and no more, tells what
it does not know, and leaves nothing behind. The caps are those of docs/limits.md."""

import contextlib
import itertools
import os
import pathlib
import random
import signal
import time

import pytest

from helpers import apps, machine, pairs
from helpers.faults import Calls, Faulty, check_end

pytestmark = [pytest.mark.beside]

MB = 1024  # in KB, as the kernel has it
CAP_KB = 512 * MB
SECONDS = 60
HIT = "hostile!hostile_hit"
MODES = {
    "list": ["-l", "-j"],
    "count": ["-c", "-j", "-i", "0.1"],
    "hits": ["-j"],
    "folded": ["-f", "-j"],
    "hist": ["-H", "-j"],
    "watch": ["--watch", "-j"],
}
EVERYTHING = ["hostile!*", "lib*.so!*", "*.so!hostile*"]
NUMBER = {"hits": None, "count": "calls", "folded": "count", "hist": "count", "watch": None}
TYPE = {"hits": "hit", "count": "count", "folded": "folded", "hist": "hist", "watch": "call"}


@pytest.fixture(scope="session")
def hostile_program():
    return machine.program("hostile")


@pytest.fixture
def hostile(start_app, hostile_program, tmp_path):
    directory = tmp_path / "hostile"
    directory.mkdir()
    return start_app("hostile", executable=hostile_program, after=[directory])


@pytest.fixture
def place_probe(place_probe_path, no_registers_library):
    runner = Faulty(place_probe_path, no_registers_library)
    yield runner
    runner.close()


class Run:
    """A run of place-probe whose memory is looked at."""

    def __init__(self, place_probe, directory, *words, seconds=SECONDS, cap_kb=CAP_KB):
        self.calls = Calls(directory)
        self.seconds, self.cap_kb = seconds, cap_kb
        place_probe.again(self.calls.before("none"))
        self.began = time.monotonic()
        self.live = place_probe.start(*words, timeout=seconds)

    def end(self):
        """Interrupt it; what is only listed ends by itself."""
        return self.judge(self.live.stop() if self.live.has_attached() else self.live.finish())

    def finish(self):
        return self.judge(self.live.finish())

    def judge(self, result):
        check_end(result)
        told = self.calls.result()
        assert not told["left"], "a process is left"
        assert told["peak_kb"] < self.cap_kb, f"it took {told['peak_kb'] // MB} MB"
        assert time.monotonic() - self.began < self.seconds * machine.SCALE
        return result


def told_of(mode, result):
    """How many calls are printed, and how many are told as lost."""
    found = result.records(TYPE[mode])
    return sum(record[NUMBER[mode]] if NUMBER[mode] else 1 for record in found), sum(result.summary()["lost"].values())


def is_in_doubt(result):
    return result.code != 0 or bool(result.summary()["lower_bound"]) or "lower bound" in result.err


# Each way, in each mode ------------------------------------------------------------------------

# What it is asked for; how many; and whether hits are all calls that it has counted itself.
WAYS = {
    "rows": pairs.few([20_000], 5_000)[0],
    "threads": 10_000,
    "forks": 0,
    "unshare": 0,
    "files": 0,
    "traps": 0,
    "memory": 1,
    "symbols": 1,
    "truncate": 1,
}
TURNS = 30
CALLS = 1000
ROWS = 1_000_000


def hits_now(target):
    return int(target.ask("hits 0", "hits")[1])


def check_calls(run, mode, hostile):
    """Of the calls that are made from now on, and of some before, each is told or lost."""
    attached = run.live.has_attached()
    before = hits_now(hostile)
    made = int(hostile.ask(f"hits {CALLS}", "hits")[1]) - before
    hostile.ask("end", "ended")
    after = hits_now(hostile)
    result = run.end()
    assert attached, str(result)
    told, lost = told_of(mode, result)
    assert told + lost <= after, str(result)[-3000:]
    assert told + lost >= made >= CALLS or is_in_doubt(result), str(result)[-3000:]


@pairs.choose("way, mode", itertools.product(WAYS, MODES))
def test_way(place_probe, hostile, tmp_path, way, mode):
    """What it counts is what the target has counted, whatever that does meanwhile."""
    hostile.ask(f"begin {way} {WAYS[way]}", "begun")
    words = [*MODES[mode], hostile.pid]
    if mode == "list":
        result = Run(place_probe, tmp_path, *words, *EVERYTHING).end()
        assert "hostile_hit" in result.out or result.code, str(result)
        hostile.ask("end", "ended")
        return
    check_calls(Run(place_probe, tmp_path, *words, HIT), mode, hostile)


@pytest.fixture
def many_mappings():
    """A process may have more of them than is usual."""
    limit = pathlib.Path("/proc/sys/vm/max_map_count")
    before = limit.read_text()
    limit.write_text(str(ROWS * 2))
    yield
    limit.write_text(before)


@pairs.only_full
@pytest.mark.parametrize("mode", ["count", "hits"])
def test_a_million_rows(many_mappings, place_probe, hostile, tmp_path, mode):
    """Each look at what it has mapped takes seconds."""
    hostile.ask(f"begin rows {ROWS}", "begun")
    assert len(pathlib.Path(f"/proc/{hostile.pid}/maps").read_bytes().splitlines()) > ROWS
    run = Run(place_probe, tmp_path, *MODES[mode], hostile.pid, HIT, seconds=5 * SECONDS, cap_kb=2 * CAP_KB)
    check_calls(run, mode, hostile)


@pytest.mark.parametrize("way", pairs.few(WAYS, "symbols"))
def test_everything_of_it(place_probe, hostile, tmp_path, way):
    """All functions that there seem to be, of whatever it makes of its files."""
    hostile.ask(f"begin {way} {WAYS[way]}", "begun")
    for _ in range(3):
        Run(place_probe, tmp_path, "-c", "-j", "--wait", "-d", "0.3", hostile.pid, "lib*.so!*", "*.so!hostile*").end()
    hostile.ask("end", "ended")
    assert int(hostile.ask(f"hits {CALLS}", "hits")[1]) >= CALLS


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "list"] if pairs.is_full() else ["count"])
def test_exec(place_probe, hostile, tmp_path, mode):
    """The same program again and again: its functions stay probed."""
    programs, of_each = 20, 10
    run = Run(place_probe, tmp_path, *MODES[mode], hostile.pid, HIT)
    assert run.live.has_attached()
    hostile.ask(f"begin exec {programs}", "ready")
    result = run.end()
    told, lost = told_of(mode, result)
    assert told + lost == (programs + 1) * of_each or is_in_doubt(result), str(result)[-3000:]
    assert told + lost <= (programs + 1) * of_each, str(result)[-3000:]


def test_exec_by_a_thread(place_probe, hostile, uprobe_by):
    """The kernel takes it for another process then: what was missed until the probes are renewed is told."""
    of_each = 10
    live = place_probe.count(uprobe_by, "-i", "0.1", hostile.pid, HIT)
    hostile.ask("begin thread-exec 1", "ready")
    tries = 0

    def is_counted_again():
        nonlocal tries
        tries += 1
        hostile.ask(f"hits {CALLS}", "hits")
        return sum(record["calls"] for record in live.records_so_far() if record["type"] == "count") > of_each

    machine.wait_until(is_counted_again, "the probes are renewed")
    hostile.ask(f"hits {CALLS}", "hits")
    result = live.stop().expect(0)
    # Perf uprobes may have hung on the thread that executes it, by its old number, in between.
    assert set(result.summary()["lost"]) == {"anchor-thread-exited"}, str(result)
    assert result.summary()["lost"]["anchor-thread-exited"] <= (2 if "perf" in uprobe_by else 1), str(result)
    # None is counted twice, also of those that are made while the probes are renewed.
    assert of_each + CALLS < result.calls() <= 2 * of_each + tries * CALLS + CALLS, str(result)


@pairs.only_full
@pytest.mark.parametrize("attempt", range(5))
def test_none_is_told_twice(place_probe, hostile, uprobe_by, attempt):
    """Nor those that are made while the probes are renewed: of a round each call has another argument."""
    live = place_probe.live(uprobe_by, "-j", "--watch", "--buffer=64M", hostile.pid, HIT)
    hostile.ask("begin thread-exec 1", "ready")
    until = time.monotonic() + 2
    while time.monotonic() < until:
        hostile.ask("hits 2000", "hits")
    calls = [call["arguments"][0]["value"] for call in live.stop().expect(0).records("call")]
    # More than those before the program was executed.
    assert len(calls) > 100
    assert [at for at, (one, next_one) in enumerate(itertools.pairwise(calls)) if one == next_one] == []


@pytest.mark.parametrize("mode", pairs.few([mode for mode in MODES if mode != "list"], "hits"))
def test_ring(place_probe, hostile, tmp_path, mode):
    """More hits with stacks than there is room for: each is told or lost."""
    number = 1_000_000 if pairs.is_full() else 40_000
    run = Run(place_probe, tmp_path, *MODES[mode], "--buffer=65536", hostile.pid, HIT)
    assert run.live.has_attached()
    hostile.ask(f"begin ring {number}", "begun")
    hostile.ask("end", "ended")
    result = run.end()
    assert sum(told_of(mode, result)) == number, str(result)[-2000:]


# Runtimes ----------------------------------------------------------------------------------------

WRITES = 20_000


def writable(pid):
    """[(start, end)] of memory that a runtime's structures may lie in."""
    rows = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        where, rights, _, _, _, *path = line.split(maxsplit=5)
        start, end = (int(word, 16) for word in where.split("-"))
        if rights.startswith("rw") and (not path or "[stack" not in path[0]):
            rows.append((start, end))
    return rows


class Scribbler:
    """Writes words of its memory over others, as a program would that has gone mad; from outside, so that it need not."""

    def __init__(self, pid, seed):
        self.chance = random.Random(seed)
        self.rows = writable(pid)
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)

    def _place(self):
        start, end = self.chance.choice(self.rows)
        # Mostly where something is: what is used first is written first.
        return start + self.chance.randrange(min(end - start, 1 << 20)) // 8 * 8

    def write(self, number):
        written = 0
        for _ in range(number):
            with contextlib.suppress(OSError):
                word = os.pread(self.memory, 8, self._place())
                if any(word):
                    written += os.pwrite(self.memory, word, self._place())
        return written // 8

    def close(self):
        os.close(self.memory)


@pytest.mark.parametrize("seed", range(20) if pairs.is_full() else range(1))
@pytest.mark.parametrize("runs", ["stopped", "running"])
def test_dotnet_gone_mad(place_probe, build_app, tmp_path, runs, seed):
    """Its structures are overwritten at random while they are read. It may die of that."""
    build_app("native")
    app = apps.App([build_app("r2r10")], apps.environment(True), timeout=60)
    scribbler = Scribbler(app.pid, seed)
    try:
        app.run("static", 2)
        if runs == "stopped":
            os.kill(app.pid, signal.SIGSTOP)
            assert scribbler.write(WRITES) > WRITES / 10
        for words in (["-l", "-j"], ["-c", "-j", "-d", "0.5"], ["-j", "-d", "0.3"]):
            run = Run(place_probe, tmp_path, *words, app.pid, "Counted.*::*")
            while runs == "running" and run.live.process.poll() is None:
                scribbler.write(100)
            run.finish()
    finally:
        scribbler.close()
        app.close()
