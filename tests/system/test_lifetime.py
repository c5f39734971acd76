# SPDX-License-Identifier: GPL-2.0-or-later
"""However a run ends, the target goes on as if nothing had been."""

import os
import signal
import time

import pytest

from helpers import apps, machine, records
from helpers.reader import SlowReader

pytestmark = [pytest.mark.beside, pytest.mark.usefixtures("no_traces")]

STATIC = apps.METHODS["static"]
FINAL = apps.FINALS["final-static"]
BREAKPOINT = 0xcc


class Entry:
    """The first bytes of a probed method, in the file and in the target's memory."""

    def __init__(self, place_probe, app, pattern=STATIC):
        listed = place_probe.run("-l", "-j", app.pid, pattern).expect(0)
        site, = [site for site in listed.records("site") if site["mechanism"] == "uprobe"]
        self.pid = app.pid
        self.address = site["address"]
        with open(site["file"], "rb") as image:
            image.seek(site["file_offset"])
            self.original = image.read(8)

    @classmethod
    def of_compiler(cls, app):
        """The JIT's compileMethod, which is probed as long as methods are followed."""
        with open(f"/proc/{app.pid}/maps", encoding="utf-8") as maps:
            row, = [line.split() for line in maps if line.rstrip().endswith("libclrjit.so") and " r-xp " in line]
        found = machine.run(machine.tool("jit_compiler"), "library", row[5]).stdout.split()
        entry = cls.__new__(cls)
        entry.pid = app.pid
        entry.address = int(row[0].partition("-")[0], 16) + int(found[1], 16) - int(row[2], 16)
        with open(row[5], "rb") as library:
            library.seek(int(found[1], 16))
            entry.original = library.read(8)
        return entry

    def now(self):
        return machine.memory_of(self.pid, self.address, 8)

    def is_restored(self):
        return self.now() == self.original

    def is_probed(self):
        return self.now()[0] == BREAKPOINT


@pytest.mark.kernel
def test_signals(place_probe, app, uprobe_by):
    """It ends by itself, in order, with what it counted."""
    entry = Entry(place_probe, app)
    assert entry.is_restored()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        live = place_probe.count(uprobe_by, app.pid, STATIC)
        app.calls("static", 50)
        assert entry.is_probed()
        result = live.stop(number).expect(0)
        assert result.calls() == 50
        assert entry.is_restored()
        app.calls("static", 50)


@pytest.mark.kernel
def test_killed(place_probe, app, uprobe_by):
    """The probes are descriptors of place-probe: the kernel takes them out with it."""
    entry = Entry(place_probe, app)
    assert entry.is_restored()
    live = place_probe.count(uprobe_by, app.pid, STATIC)
    app.calls("static", 50)
    assert entry.is_probed()
    assert live.stop(signal.SIGKILL).code == -signal.SIGKILL
    machine.wait_until(entry.is_restored, "the instruction comes back")
    app.calls("static", 50)


@pytest.mark.kernel
def test_killed_while_it_detaches(place_probe, app, uprobe_by):
    """The kernel leaves in the target what is still to go when whoever takes probes away is ended by a signal."""
    by_perf = uprobe_by == "--uprobe-by=perf"
    pattern = "System.Threading.Thread::Set*" if by_perf else "System.Threading.Thread::*"
    sites = [site for site in place_probe.run("-l", "-j", app.pid, pattern).expect(0).records("site")
             if site["mechanism"] == "uprobe"]
    assert len(sites) >= (3 if by_perf else 50)

    def entries():
        return [machine.memory_of(app.pid, site["address"], 1) for site in sites]

    original = entries()
    live = place_probe.count(uprobe_by, app.pid, pattern)
    assert any(byte[0] == BREAKPOINT for byte in entries())
    began = time.monotonic()
    live.stop().expect(0)
    took = time.monotonic() - began
    times = 4 if by_perf else 20
    for nth in range(times):
        live = place_probe.count(uprobe_by, app.pid, pattern)
        live.process.send_signal(signal.SIGINT)
        # Most of that is not theirs, and comes afterwards.
        time.sleep(took / 2 * nth / times)
        live.stop(signal.SIGKILL)
        machine.wait_until(lambda: entries() == original, f"all instructions come back, after kill {nth}")


def test_killed_with_ten_thousand(place_probe, app):
    if not machine.has_uprobe_multi():
        pytest.skip("this kernel has no uprobe_multi")
    live = place_probe.count(app.pid, "System.Private.CoreLib!*::*")
    app.calls("throws", 10)
    entry = Entry(place_probe, app, "System.Threading.Thread::Sleep(int)")
    assert entry.is_probed()
    assert live.stop(signal.SIGKILL).code == -signal.SIGKILL
    machine.wait_until(entry.is_restored, "the instruction comes back")
    app.calls("throws", 10)


@pytest.mark.kernel
def test_killed_while_hit(place_probe, app, uprobe_by):
    """In the middle of hits, many times over."""
    app.workers(4)
    for _ in range(3):
        live = place_probe.count(uprobe_by, app.pid, STATIC)
        app.tell("work static 20000")
        live.stop(signal.SIGKILL)
        assert app.answer("done")[2] == "20000"
    assert app.quit(6) == 6


@pytest.mark.kernel
def test_target_exits(place_probe, app, uprobe_by):
    """The target's end ends the run, with the summary and by itself."""
    live = place_probe.count(uprobe_by, app.pid, STATIC)
    app.calls("static", 60)
    assert app.quit(5) == 5
    result = live.finish().expect(0)
    assert result.calls() == 60
    assert result.summary()["hits"] == 60


@pytest.mark.kernel
def test_target_is_killed(place_probe, app, uprobe_by):
    live = place_probe.count(uprobe_by, app.pid, STATIC)
    app.calls("static", 60)
    os.kill(app.pid, signal.SIGKILL)
    app.process.wait()
    assert live.finish().expect(0).calls() == 60


def test_dotnet_target_exits(place_probe, app):
    live = place_probe.count(app.pid, apps.METHODS["static"])
    app.calls("static", 12, threads=2)
    assert app.quit(3) == 3
    assert live.finish().expect(0).calls() == 12


@pytest.mark.registers
@pytest.mark.kernel
def test_duration(place_probe, app):
    began = time.monotonic()
    # The calls come within that time, also where all takes long.
    live = place_probe.count("-d", machine.SCALE, app.pid, STATIC)
    app.calls("static", 7)
    assert live.finish().expect(0).calls() == 7
    assert machine.SCALE <= time.monotonic() - began < 11 * machine.SCALE


STORM_CALLS = 4_000_000
STORM_BYTES = 1 << 20


def hits_and_lost(path):
    """Of a run that has written JSON there: how many it has seen, printed or not."""
    summary = records.parse(path.read_text().splitlines()[-1])[0]
    return summary["hits"] + sum(summary["lost"].values())


@pytest.mark.registers
def test_duration_of_a_storm(place_probe, app, tmp_path):
    """Hits that come faster than they are printed do not keep it from the clock."""
    live = place_probe.live("-j", "-d", "1", "-o", tmp_path / "hits", app.pid, STATIC)
    app.tell(f"calls static {STORM_CALLS} 2")
    began = time.monotonic()
    live.finish().expect(0)
    assert time.monotonic() - began < 1 + 5 * machine.SCALE
    assert 0 < hits_and_lost(tmp_path / "hits") < STORM_CALLS, "the storm was over before"
    app.answer("done")


@pytest.mark.registers
def test_interrupted_in_a_storm(place_probe, app, tmp_path):
    live = place_probe.live("-j", "-o", tmp_path / "hits", app.pid, STATIC)
    app.tell(f"calls static {STORM_CALLS} 2")
    machine.wait_until(lambda: (tmp_path / "hits").stat().st_size > STORM_BYTES, "it is in full swing")
    began = time.monotonic()
    live.stop().expect(0)
    assert time.monotonic() - began < 5 * machine.SCALE
    assert 0 < hits_and_lost(tmp_path / "hits") < STORM_CALLS, "the storm was over before"
    app.answer("done")


def test_nohup(place_probe, app):
    """Whoever ignores SIGHUP in its name wants it to go on."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        live = place_probe.count("-i", "0.1", app.pid, STATIC)
    finally:
        signal.signal(signal.SIGHUP, before)

    def counted():
        return sum(record["calls"] for record in live.records_so_far()
                   if record["type"] == "count")

    app.calls("static", 10)
    live.process.send_signal(signal.SIGHUP)
    # Who counts this has looked for signals since; and this, did not end then.
    app.calls("static", 1)
    machine.wait_until(lambda: counted() == 11, "it looks at what has come")
    app.calls("static", 20)
    machine.wait_until(lambda: counted() == 31, "it goes on")
    assert live.stop().expect(0).calls() == 31


@pytest.mark.registers
@pytest.mark.breakpoints
def test_detached_before_it_reports(place_probe, app, uprobe_by, short_tmp):
    """Whoever reads slowly keeps neither the target probed nor the debug registers."""
    app.calls("final-static", 1)
    entry, compiler = Entry(place_probe, app), Entry.of_compiler(app)
    reader = SlowReader(short_tmp / "pipe")
    live = place_probe.count(uprobe_by, "-o", short_tmp / "pipe", app.pid, STATIC, FINAL)
    app.calls("static", 50)
    app.calls("final-static", 30)
    assert entry.is_probed() and compiler.is_probed()
    reader.fill()
    live.process.send_signal(signal.SIGINT)
    machine.wait_until(entry.is_restored, "the instruction comes back")
    machine.wait_until(compiler.is_restored, "nor is it followed any more")
    assert "hardware breakpoints: 4 of 4 free\n" in place_probe.run("--self-test").expect(0).out
    assert live.process.poll() is None, "it did not wait for its reader"
    reader.read()
    result = live.finish().expect(0)
    result.out = reader.end().lstrip()
    assert result.calls(STATIC) == 50 and result.calls(FINAL) == 30


@pytest.mark.kernel
def test_stop_after(place_probe, app):
    """-N COUNT: that many hits are printed, not one more, then it ends."""
    live = place_probe.live("-j", "-N", "5", app.pid, STATIC)
    app.calls("static", 100)
    result = live.finish().expect(0)
    assert len(result.records("hit")) == 5


def test_two_at_once(place_probe, app):
    """Two runs on the same function do not disturb each other."""
    first = place_probe.count(app.pid, STATIC)
    app.calls("static", 10)
    second = place_probe.count(app.pid, STATIC)
    app.calls("static", 20)
    assert first.stop().calls() == 30
    app.calls("static", 40)
    assert second.stop().calls() == 60


def test_again_and_again(place_probe, app):
    for _ in range(10):
        live = place_probe.count(app.pid, STATIC)
        app.calls("static", 3)
        assert live.stop().expect(0).calls() == 3
