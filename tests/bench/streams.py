# SPDX-License-Identifier: GPL-2.0-or-later
"""What each call costs a target that does nothing else, and how many of its hits come through: all
modes of place-probe, with its reader stopped too, beside bpftrace and perf, in turns. And what they
cannot be below: a program that does nothing, a record that nothing is written to, and a walk of
which nobody hears. How long the programs themselves run is what the kernel says (bpf_stats_enabled),
which is some 60 ns more; the rest of a call is the kernel's way to them and back.
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
FEW_CALLS = 300  # so few that some times nothing else comes in between
FEW_TURNS = 30
STATS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
TURNS = 10
ROUNDS = 2

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

FLOORS = {"an empty program": "empty", "an empty record": "record", "the walk alone": "walk"}

# A row, what it is held against, and by what: what a call takes, or the calls that it leaves the target.
RATIOS = [
    ("-f", "bpftrace @[ustack] = count()", "of a call"),
    ("-f, reader stopped", "the walk alone", "of a call"),
    ("text", "bpftrace printf(ustack)", "of a call"),
    ("-j", "bpftrace printf(ustack)", "of a call"),
    ("text, reader stopped", "the walk alone", "of a call"),
    ("text", "perf record -g", "of a call"),
    ("--no-stack", "-c", "of the rate"),
    ("--no-stack", "an empty record", "of a call"),
    ("-c", "an empty program", "of a call"),
]


def commands(target, directory, event):
    """By name: the command, and whether it is stopped meanwhile."""
    found = {name: ([machine.BUILD / "place-probe", *words, "-o", "/dev/null", target.pid, "deep!hit"],
                    stopped) for name, (words, stopped) in OURS.items()}
    found |= {name: ([machine.BUILD / "tests/tools/native_floor", target.pid, target.address, what], False)
              for name, what in FLOORS.items()}
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


def program_runs(pid):
    """Of the program of a process that has run most: how long, and how often."""
    found = [(0, 0)]
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            words = dict(line.split(":", 1) for line in info.read_text(encoding="utf-8").splitlines() if ":" in line)
            if "run_time_ns" in words:
                found.append((int(words["run_time_ns"]), int(words["run_cnt"])))
    return max(found, key=lambda one: one[1])


def program_ns(target, pid):
    """What a run of its program takes at the least; None: it has none."""
    before, best = STATS.read_text(encoding="utf-8"), None
    STATS.write_text("1", encoding="utf-8")
    try:
        for _ in range(FEW_TURNS):
            target.app.ask(f"calls {FEW_CALLS} {DEPTH}", "done")
            spent, runs = program_runs(pid)
            target.app.ask(f"calls {FEW_CALLS} {DEPTH}", "done")
            more_spent, more_runs = program_runs(pid)
            if more_runs > runs:
                took = (more_spent - spent) / (more_runs - runs)
                best = took if best is None else min(best, took)
    finally:
        STATS.write_text(before, encoding="utf-8")
    return best


def compare():
    """By name: nanoseconds a call of all turns, what a run of the program takes, and the part of the
    hits that was lost in the best round, if it is told."""
    times, programs, lost = {}, {}, {}
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
                    took = program_ns(target, process.pid)
                    programs[name] = min(filter(None, (took, programs.get(name))), default=None)
                found = re.search(r"lost: (\d+) hits found", said.read_text(errors="replace"))
                part = int(found.group(1)) / (CALLS * TURNS + 2 * FEW_CALLS * FEW_TURNS) if found else 0
                lost[name] = min(part, lost.get(name, part))
    return times, programs, lost


def bench(row):
    print(f"A method of {DEPTH} frames called in a loop: what a call takes, and what of the hits is lost")
    times, programs, lost = compare()
    for name, took in times.items():
        took.sort()
        row(name, f"{took[0]:.0f} ns/call",
            (f"program {programs[name]:.0f}, " if programs[name] else "")
            + f"p50 {statistics.median(took):.0f}, p99 {took[int(0.99 * len(took))]:.0f} of {len(took)} times "
            f"{CALLS} calls; {1e9 / took[0]:.0f}/s"
            + (f"; {100 * lost[name]:.0f} % lost" if name in OURS else ""))
    for name, other, what in RATIOS:
        if other in times:
            ratio = times[name][0] / times[other][0]
            both = programs[name] and programs[other]
            row(f"{name} : {other}", f"{1 / ratio if what == 'of the rate' else ratio:.2f}",
                what + (f"; its program {programs[name] / programs[other]:.2f}" if both else ""))
