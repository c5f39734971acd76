# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines whose debug registers are dead: the hypervisor lets a guest set them and delivers no exception.

place-probe has to say so, in each run that would need one. A test that fails where it has said so, on a machine
where it is so, is skipped with that reason if expected-skips has it: what it tests cannot be had there. The witness is the kernel's own count
of a breakpoint's hits, not place-probe; where the two disagree the test fails. Once it has been said nobody waits long.
"""

import collections
import contextlib
import ctypes
import functools
import os
import struct

import pytest

from . import machine, pairs, probe

WHY = probe.DEAD
PERF_EVENT_OPEN = 298  # x86-64
EVENT_BYTES = 112
TYPE_BREAKPOINT = 5
EXECUTE = 4
EXCLUDE_KERNEL = 1 << 5
CALLS = 10
REGISTERS = 4


def event_at(libc, address, pid, cpu):
    """The descriptor of a breakpoint at that address; negative: there is none."""
    attr = struct.pack("<IIQQQQQIIQQ", TYPE_BREAKPOINT, EVENT_BYTES, 0, 0, 0, 0, EXCLUDE_KERNEL, 0, EXECUTE, address,
                       8).ljust(EVENT_BYTES, b"\0")
    return libc.syscall(PERF_EVENT_OPEN, attr, pid, cpu, -1, 0)


@contextlib.contextmanager
def all_held():
    """All registers of all CPUs are taken, for a place that nobody comes to."""
    libc = ctypes.CDLL(None, use_errno=True)
    events = [event_at(libc, 8, -1, cpu) for cpu in os.sched_getaffinity(0) for _ in range(REGISTERS)]
    try:
        yield
    finally:
        for event in events:
            if event >= 0:
                os.close(event)


@functools.cache
def fire():
    """Whether a breakpoint of our own fires; true as well where it cannot be tried."""
    libc = ctypes.CDLL(None, use_errno=True)
    event = event_at(libc, ctypes.cast(libc.getppid, ctypes.c_void_p).value, 0, -1)
    if event < 0:
        return True
    for _ in range(CALLS):
        libc.getppid()
    hits = int.from_bytes(os.read(event, 8), "little")
    os.close(event)
    return hits != 0


def is_hopeless():
    """Whether the running test has been told so: what it waits for may never come."""
    return bool(probe.said_dead) and not fire()


class DeadBreakpoints:
    """The pytest plugin."""

    def __init__(self, is_expected):
        """Of a test and a reason: whether it may be skipped for that. What may not fails as it failed."""
        self.is_expected = is_expected
        self.failures = []
        machine.Patience.is_hopeless = staticmethod(is_hopeless)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item):
        probe.said_dead.clear()
        yield from self._judge(item)

    # Around the plugin that takes what was written, which it then has.
    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        yield from self._judge(item)

    def _judge(self, item):
        outcome = yield
        # What a target was started by writes to the test's own standard error.
        probe.said_dead.extend(text for _, name, text in item._report_sections if name == "stderr" and WHY in text)
        if not probe.said_dead:
            return
        if fire():
            raise AssertionError(f"it said '{WHY}', and they do: {probe.said_dead[0]}")
        elif (outcome.excinfo and not issubclass(outcome.excinfo[0], (pytest.skip.Exception, KeyboardInterrupt))
              and self.is_expected(item.nodeid, WHY)):
            kind, error, _ = outcome.excinfo
            self.failures.append(f"{item.nodeid}: {kind.__name__}: {machine.first_line(str(error))}")
            raise pytest.skip.Exception(WHY)

    def pytest_terminal_summary(self, terminalreporter):
        """It may be for another reason that one failed: whoever doubts a skip finds here what it was."""
        if self.failures:
            terminalreporter.section("skipped, as there are no breakpoints; these failed so")
        for failure in self.failures:
            terminalreporter.write_line(failure)


def file_of(nodeid):
    return nodeid.partition("::")[0]


def needs_some(item):
    """Whether all variants of it do. One of a file that is marked may need none: breakpoints(needed=False)."""
    mark = item.get_closest_marker("breakpoints")
    return bool(mark) and mark.kwargs.get("needed", True)


class FewAreEnough:
    """Of the tests of a file that need breakpoints in all variants (a mark) few show that place-probe says what is
    wrong, where there are none. In a full run all are tried: a mark may be wrong."""

    TRIED = 2

    def __init__(self):
        self.skipped = collections.Counter()
        self.marked = set()
        self.passed = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        if not needs_some(item):
            return
        self.marked.add(item.nodeid)
        if self.skipped[file_of(item.nodeid)] >= self.TRIED and not pairs.is_full():
            pytest.skip(WHY)

    def pytest_runtest_logreport(self, report):
        if report.skipped and WHY in str(report.longrepr):
            self.skipped[file_of(report.nodeid)] += 1
        elif report.passed and report.when == "call" and report.nodeid in self.marked and not fire():
            self.passed.append(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter):
        """What need not be skipped next time."""
        for test in self.passed:
            terminalreporter.write_line(f"marked as in need of breakpoints, and passed without: {test}")
