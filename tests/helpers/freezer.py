# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that are frozen: by the kernel's freezer, as all are where a machine goes to sleep and as containers are
that are paused. Unlike one that is stopped by a signal, a frozen one and its parent are told nothing."""

import pathlib
import uuid

from . import machine

V1 = pathlib.Path("/sys/fs/cgroup/freezer")
V2 = pathlib.Path("/sys/fs/cgroup")


class Freezer:
    """A control group for those of this test, gone with it."""

    def __init__(self):
        self.is_old = (V1 / "cgroup.procs").exists()
        self.parent = V1 if self.is_old else V2
        self.group = self.parent / f"place-probe-{uuid.uuid4().hex[:8]}"
        self.group.mkdir()

    def set(self, frozen):
        if self.is_old:
            (self.group / "freezer.state").write_text("FROZEN" if frozen else "THAWED")
        else:
            (self.group / "cgroup.freeze").write_text(str(int(frozen)))

    def is_frozen(self):
        if self.is_old:
            return (self.group / "freezer.state").read_text() == "FROZEN\n"
        return "frozen 1" in (self.group / "cgroup.events").read_text()

    def freeze(self, *pids):
        """These, with all their threads; returns once none runs."""
        for pid in pids:
            (self.group / "cgroup.procs").write_text(str(pid))
        self.set(True)
        machine.wait_until(self.is_frozen, f"{pids} are frozen")

    def thaw(self):
        self.set(False)

    def close(self):
        self.thaw()
        for pid in (self.group / "cgroup.procs").read_text().split():
            (self.parent / "cgroup.procs").write_text(pid)
        machine.wait_until(lambda: not (self.group / "cgroup.procs").read_text(), "all have left the freezer")
        self.group.rmdir()
