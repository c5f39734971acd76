# SPDX-License-Identifier: GPL-2.0-or-later
"""What a flood of hits costs the target, and how much of it is shown, with place-probe and others.

All probe the same function of the same process, one after the other, round after round.
"""

import contextlib
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from helpers import apps, machine
from peers import DEEP, end

DEPTH = 26
ROUNDS = int(os.environ.get("PLACE_PROBE_BENCH_ROUNDS", 5))
FLOOD_MS = 2000
SINGLE = 50_000
BARE_NS = 100  # what a call takes without a probe is far below

OURS = {
    "--count": ["-c"], "--no-stack": ["--no-stack"], "text": [], "--stack=managed": ["--stack=managed"],
    "-j": ["-j"], "-f": ["-f"], "--sample=100": ["--sample=100"], "--max-rate=100": ["--max-rate=100"],
    "text, reader stopped": [],
}
THEIRS = {
    "bpftrace count()": "@ = count();",
    "bpftrace @[ustack] = count()": "@[ustack] = count();",
    "bpftrace printf(ustack)": 'printf("%s", ustack);',
}


@dataclasses.dataclass
class Best:
    """The best of all rounds: what else the machine does only adds to it."""
    ns: float = float("inf")
    p50: float = float("inf")
    p99: float = float("inf")
    shown: float = 0  # hits a second
    lost: float = 100  # percent, in that round

    def take(self, calls, spread, shown):
        self.ns = min(self.ns, FLOOD_MS * 1e6 / calls)
        self.p50 = min(self.p50, spread[0])
        self.p99 = min(self.p99, spread[1])
        if shown is not None and shown >= self.shown * FLOOD_MS / 1000:
            self.shown = shown / FLOOD_MS * 1000
            self.lost = 100 * (1 - shown / calls)

    def note(self):
        text = f"p50 {self.p50:.0f}, p99 {self.p99:.0f}"
        return text + (f"; {self.shown:.0f} hits/s, {self.lost:.1f} % of them lost" if self.shown else "")


class Target:
    def __init__(self):
        self.app = apps.App([DEEP], dict(os.environ))
        self.pid = self.app.pid

    def probed(self):
        time.sleep(0.01)
        return float(self.app.ask(f"calls 300 {DEPTH}", "done")[1]) > BARE_NS

    def flood(self):
        return int(self.app.ask(f"flood {FLOOD_MS} {DEPTH}", "flood")[1])

    def spread(self):
        return [float(ns) for ns in self.app.ask(f"spread {SINGLE} {DEPTH}", "spread")[1:3]]


def words_of(target, name):
    if name in OURS:
        return [machine.BUILD / "place-probe", *OURS[name], "-o", "/dev/null", target.pid, "deep!hit"]
    return ["bpftrace", "-p", target.pid, "-e", f"uprobe:{DEEP}:hit {{ {THEIRS[name]} }}"]


@contextlib.contextmanager
def running(target, name):
    """A tool that probes the target; gives what it says on standard error, once it has ended."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([str(word) for word in words_of(target, name)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=said)
        told = {}
        try:
            machine.wait_until(lambda: process.poll() is not None or target.probed(), f"{name} attaches")
            assert process.poll() is None, f"{name} has ended with {process.returncode}"
            yield process, told
        finally:
            process.send_signal(signal.SIGCONT)
            end(process)
            said.seek(0)
            told["err"] = said.read()
    machine.wait_until(lambda: not target.probed(), f"{name} detaches")


def lost_of(text):
    """Hits that are counted and not shown; what was left out as asked for is none."""
    return sum(int(number) for number in re.findall(r"^place-probe: lost: (\d+) hits found", text, re.M)) + \
        sum(int(number) for number in re.findall(r"^Lost (\d+) events", text, re.M))


def measure(target, name, best):
    with running(target, name) as (process, told):
        if "stopped" in name:
            process.send_signal(signal.SIGSTOP)
            target.flood()  # until the buffer is full
        spread = target.spread()
        calls = target.flood()
    shown = None if "stopped" in name or "=100" in name else max(0, calls - lost_of(told["err"]))
    best.take(calls, spread, shown)


def compare():
    target = Target()
    names = [*OURS, *(THEIRS if shutil.which("bpftrace") else ())]
    found = {name: Best() for name in names}
    with contextlib.closing(target.app):
        for _ in range(ROUNDS):
            for name in names:
                measure(target, name, found[name])
    return found
