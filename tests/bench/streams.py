# SPDX-License-Identifier: GPL-2.0-or-later
"""What each call costs a target that does nothing else, and how many of its hits come through: all
modes of place-probe, with its reader stopped too, beside bpftrace and perf, in turns.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import tempfile

from helpers import machine

import peers

DEPTH = 26
CALLS = 20_000  # at a time
TURNS = 10
ROUNDS = 3

OURS = {
    "-c": (["-c"], False),
    "-f": (["-f"], False),
    "-f, reader stopped": (["-f"], True),
    "text": ([], False),
    "-j": (["-j"], False),
    "text, reader stopped": ([], True),
    "--stack=managed": (["--stack=managed"], False),
    "--no-stack": (["--no-stack"], False),
    "--sample=100": (["--sample=100"], False),
}


def commands(target, directory, event):
    """By name: the command, and whether it is stopped meanwhile."""
    found = {name: ([machine.BUILD / "place-probe", *words, "-o", "/dev/null", target.pid, "deep!hit"],
                    stopped) for name, (words, stopped) in OURS.items()}
    if shutil.which("bpftrace"):
        for name, program in (("@[ustack] = count()", "@[ustack] = count();"),
                              ("printf(ustack)", 'printf("%s", ustack);')):
            found[f"bpftrace {name}"] = (
                ["bpftrace", "-p", target.pid, "-e", f"uprobe:{peers.DEEP}:hit {{ {program} }}"], False)
    if shutil.which("perf"):
        found["perf record -g"] = (["perf", "record", "-q", "-g", "-e", event, "-p", target.pid, "-o",
                                    directory / "perf.data"], False)
    return found


@contextlib.contextmanager
def running(target, command, directory):
    """The process that probes, and where what it says goes."""
    said = directory / "said"
    with open(said, "w", encoding="utf-8") as err:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=err)
    try:
        machine.wait_until(lambda: process.poll() is not None or target.probed(), f"{command[0]} attaches")
        yield process, said
    finally:
        process.send_signal(signal.SIGCONT)
        if process.poll() is None:
            peers.end(process)
    machine.wait_until(lambda: not target.probed(), f"{command[0]} detaches")


def figures(target):
    return [float(target.app.ask(f"calls {CALLS} {DEPTH}", "done")[1]) for _ in range(TURNS)]


def compare():
    """By name: nanoseconds a call of all turns, and the part of the hits that was lost in the best
    round, if it is told."""
    times, lost = {}, {}
    with contextlib.ExitStack() as stack:
        target = peers.Target()
        stack.callback(target.app.close)
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        event = stack.enter_context(peers.perf_event()) if shutil.which("perf") else ""
        for _ in range(ROUNDS):
            for name, (command, stopped) in commands(target, directory, event).items():
                with running(target, command, directory) as (process, said):
                    if stopped:
                        # Its probes are there before its hits count.
                        machine.wait_until(lambda said=said: "attached" in said.read_text(errors="replace"), "it counts")
                        os.kill(process.pid, signal.SIGSTOP)
                    times.setdefault(name, []).extend(figures(target))
                found = re.search(r"lost: (\d+) hits found", said.read_text(errors="replace"))
                part = int(found.group(1)) / (CALLS * TURNS) if found else 0
                lost[name] = min(part, lost.get(name, part))
    return times, lost


def bench(row):
    print(f"A method of {DEPTH} frames called in a loop: what a call takes, and what of the hits is lost")
    times, lost = compare()
    for name, took in times.items():
        took.sort()
        row(name, f"{took[0]:.0f} ns/call",
            f"p50 {statistics.median(took):.0f}, p99 {took[int(0.99 * len(took))]:.0f} of {len(took)} times "
            f"{CALLS} calls; {1e9 / took[0]:.0f}/s"
            + (f"; {100 * lost[name]:.0f} % lost" if name in OURS else ""))
