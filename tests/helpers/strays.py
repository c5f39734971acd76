# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that the hypervisor has spoilt are repeated, if the kernel's own log shows that it has.

Some hypervisors now and then lose what a debug exception was about (docs/limits.md, "Hardware
breakpoints"). The kernel then sends the target SIGTRAP with si_code TRAP_BRKPT, which nothing else
sends to a target, and .NET dies of it. The witness is the kernel's trace, not place-probe.
"""

import contextlib
import os
import re

import pytest
from _pytest.runner import runtestprotocol

from . import machine

ATTEMPTS = 3
# INT3 has SI_KERNEL, and what people send SI_USER.
FILTER = "sig == 5 && code == 1"
# Which process a line is of, or dashes where the kernel has not noted that.
PROCESS = re.compile(r"^ *.*-\d+ +\( *([\d-]+)\) \[")


class TraceLog:
    """What the kernel logs of such signals, in a trace buffer of its own."""

    def __init__(self):
        self.directory = machine.TRACING / "instances" / f"place-probe-tests-{os.getpid()}"
        self.works = False
        with contextlib.suppress(OSError):
            self.directory.mkdir()
            event = self.directory / "events/signal/signal_generate"
            (self.directory / "options/record-tgid").write_text("1")
            (event / "filter").write_text(FILTER)
            (event / "enable").write_text("1")
            self.works = True

    def clear(self):
        if self.works:
            (self.directory / "trace").write_text("")

    def lines(self, pids=None):
        """Of some processes, or of all that there are."""
        if not self.works:
            return []
        return [line for line in (self.directory / "trace").read_text().splitlines()
                if "signal_generate:" in line and (pids is None or may_be_of(line, pids))]

    def close(self):
        with contextlib.suppress(OSError):
            self.directory.rmdir()


def may_be_of(line, pids):
    match = PROCESS.match(line)
    return not match or not match[1].isdigit() or int(match[1]) in pids


class StrayTraps:
    """The pytest plugin."""

    def __init__(self):
        self.log = TraceLog()
        self.spoilt = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for attempt in range(ATTEMPTS):
            self.log.clear()
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            signals = self.log.lines()
            if not any(report.failed for report in reports) or not signals:
                break
            self.spoilt.append((item.nodeid, len(signals), signals[0].strip()))
            if attempt < ATTEMPTS - 1:
                item._initrequest()  # its fixtures, made anew
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_terminal_summary(self, terminalreporter):
        for test, count, first in self.spoilt:
            terminalreporter.write_line(
                f"spoilt by the hypervisor, which lost the cause of {count} debug exceptions, "
                f"and repeated: {test}")
            terminalreporter.write_line(f"    {first}")

    def pytest_sessionfinish(self):
        self.log.close()
