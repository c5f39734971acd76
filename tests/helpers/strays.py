# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that the hypervisor has spoilt are repeated, if the kernel's own log shows that it has.

Some hypervisors now and then lose what a debug exception was about (docs/limits.md, "Hardware
breakpoints"). The kernel then sends the target SIGTRAP with si_code TRAP_BRKPT, which nothing else
sends to a target (but who single-steps it through a system call: what such a tracer takes is not
delivered, and tests of the stepping itself are marked `stepped`, and never repeated), and .NET dies
of it. The witness is the kernel's trace, not place-probe. It counts only if the process was one of
ours, and a run has few repeats: what fails more often is no accident.
What the spoilt attempts failed with is told at the end.
"""

import contextlib
import dataclasses
import fcntl
import itertools
import os
import pathlib
import re

import pytest
from _pytest.runner import runtestprotocol

from . import machine

# Of all tests of a run together.
REPEATS = 3
# The soak's storms have that many each.
ATTEMPTS = 3
# INT3 has SI_KERNEL, and what people send SI_USER. Unit programs that provoke such signals have that name.
FILTER = 'sig == 5 && code == 1 && comm != "provoker"'
# Which process a line is of, or dashes where the kernel has not noted that.
PROCESS = re.compile(r"^ *.*-\d+ +\( *([\d-]+)\) \[")
WRITER = re.compile(r"-(\d+) .*tracing_mark_write:")
PREFIX = "place-probe-strays-"
NUMBERS = itertools.count()


class TraceLog:
    """What the kernel logs of such signals to our descendants, in a trace buffer of its own."""

    def __init__(self):
        instances = machine.TRACING / "instances"
        self.directory = instances / f"{PREFIX}{os.getpid()}-{next(NUMBERS)}"
        self.works = False
        self.held = None
        for stale in instances.glob(f"{PREFIX}*"):
            # What is held open by who made it stays: the others' were killed.
            with contextlib.suppress(OSError):
                stale.rmdir()
        with contextlib.suppress(OSError):
            self.directory.mkdir()
            self.held = open(self.directory / "trace_marker", "wb")
            event = self.directory / "events/signal/signal_deliver"
            # What this process and its threads start from now on is traced, and nothing else.
            (self.directory / "options/event-fork").write_text("1")
            (self.directory / "set_event_pid").write_text(str(self._own_pid()))
            (self.directory / "options/record-tgid").write_text("1")
            (event / "filter").write_text(FILTER)
            (event / "enable").write_text("1")
            self.works = True

    def _own_pid(self):
        """As the kernel knows it: in a container it is another than ours."""
        (self.directory / "trace_marker").write_text("ours")
        pid = WRITER.search((self.directory / "trace").read_text())[1]
        (self.directory / "trace").write_text("")
        return pid

    def clear(self):
        if self.works:
            (self.directory / "trace").write_text("")

    def lines(self, pids=None):
        """Of some processes, or of all that are ours."""
        if not self.works:
            return []
        return [line for line in (self.directory / "trace").read_text().splitlines()
                if "signal_deliver:" in line and (pids is None or may_be_of(line, pids))]

    def close(self):
        if self.held:
            self.held.close()
        with contextlib.suppress(OSError):
            self.directory.rmdir()


class NoLog:
    """Software emulation loses nothing."""

    def clear(self):
        pass

    def lines(self):
        return []

    def close(self):
        pass


def may_be_of(line, pids):
    match = PROCESS.match(line)
    return not match or not match[1].isdigit() or int(match[1]) in pids


class Budget:
    """The repeats of a run. PLACE_PROBE_TEST_REPEATS is a file by which several processes share them."""

    def __init__(self, path=None):
        self.path = path
        self.taken = 0

    def take(self):
        """Whether there was one left."""
        if not self.path:
            self.taken += 1
            return self.taken <= REPEATS
        with open(self.path, "a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            if len(file.read().splitlines()) >= REPEATS:
                return False
            file.write(f"{os.getpid()}\n")
            return True


@dataclasses.dataclass
class Attempt:
    """One that does not count, and what it failed with."""
    test: str
    signals: list
    reports: list

    def first_line(self):
        crash = getattr(self.reports[0].longrepr, "reprcrash", None)
        text = crash.message if crash else self.reports[0].longreprtext
        return machine.first_line(text)

    def lines(self):
        yield f"{self.test}: {len(self.signals)} debug exceptions without a cause, the first of them:"
        yield f"    {self.signals[0].strip()}"
        for report in self.reports:
            yield from report.longreprtext.splitlines()
            for name, content in report.sections:
                yield f"-- {name}"
                yield from content.splitlines()


class StrayTraps:
    """The pytest plugin. config.spoilt has (test, first line of its failure) of each repeat."""

    def __init__(self, log=None, budget=None):
        in_guest = machine.IS_GUEST
        self.log = log or (NoLog() if in_guest else TraceLog())
        shared = os.environ.get("PLACE_PROBE_TEST_REPEATS")
        self.budget = budget or Budget(pathlib.Path(shared) if shared else None)
        self.attempts = []
        self.stand = []

    def pytest_configure(self, config):
        config.spoilt = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        while True:
            self.log.clear()
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            failed = [report for report in reports if report.failed]
            signals = self.log.lines() if failed and not item.get_closest_marker("stepped") else []
            if not signals:
                break
            attempt = Attempt(item.nodeid, signals, failed)
            if not self.budget.take():
                self.stand.append(attempt)
                break
            self.attempts.append(attempt)
            item.config.spoilt.append((item.nodeid, attempt.first_line()))
            item._initrequest()  # its fixtures, made anew
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_terminal_summary(self, terminalreporter):
        if self.attempts:
            terminalreporter.section("spoilt by the hypervisor, and repeated")
        for attempt in self.attempts:
            for line in attempt.lines():
                terminalreporter.write_line(line)
        for attempt in self.stand:
            terminalreporter.write_line(
                f"spoilt by the hypervisor, and not repeated, after {REPEATS} repeats: {attempt.test}")
            terminalreporter.write_line(f"    {attempt.signals[0].strip()}")

    def pytest_unconfigure(self):
        self.log.close()
