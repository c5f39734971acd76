# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs the target that a call's values are captured (--watch), or looked at (--if), and what
bpftrace takes for the same, side by side: the cases take turns, again and again.

The probe at a return is single-stepped by the kernel, which takes several microseconds, all in all: so
what counts is what is more than the same without values. Told are the median of all batches and the best one,
and by how much the best ones differ: medians of returns that are stepped differ by more than what is looked
for. What the programs alone take is watch_cost.c's.
"""

import contextlib
import os
import shutil
import statistics
import time

import peers
from helpers import apps, machine

PRICED = machine.BUILD / "tests/apps/priced"
ROUNDS = 7
BATCHES = 60
CALLS = 200
# What a call without a probe takes is far below this.
BARE_NS = 200
WATCHED = ["--watch", "-j", "-o", "/dev/null"]
COUNTED = ["-c"]


class Priced:
    """A process that says what a call of one of its functions takes."""

    def __init__(self):
        self.app = apps.App([PRICED], dict(os.environ))
        self.pid = self.app.pid

    def nanoseconds(self, function):
        time.sleep(peers.PAUSE_S / 4)
        return float(self.app.ask(f"calls {function} {CALLS}", "done")[1])


class Of:
    """One function of it, for peers.running()."""

    def __init__(self, target, function):
        self.target = target
        self.function = function

    def probed(self):
        return min(self.target.nanoseconds(self.function) for _ in range(3)) > BARE_NS


def of_values(pid, words, function, binary=None):
    return [binary or machine.BUILD / "place-probe", *words, pid, f"priced!priced_{function}"]


def traced(pid, function, what, where=""):
    return ["bpftrace", "-p", pid, "-e", f"uprobe:{PRICED}:priced_{function} {where} {{ {what} }}"]


def commands(pid, binary=None):
    """The function, the command, and with what it is compared, by name."""
    count, bare = "-c", "--watch --no-values"
    found = {
        "no probe": ("ints", None, None),
        count: ("ints", COUNTED, None),
        "-c --if, rejects an int": ("ints", [*COUNTED, "--if=second > 0"], count),
        "-c --if, accepts an int": ("ints", [*COUNTED, "--if=second <= 0"], count),
        "-c --if, rejects an int in an object": ("object", [*COUNTED, "--if=order.number == 1"], count),
        "-c --if, rejects a string by its last character": (
            "text", [*COUNTED, '--if=text == "thirty-two characters, not more!"'], count),
        "-c --if, rejects a string by its first": ("text", [*COUNTED, '--if=text == "another"'], count),
        bare: ("ints", [*WATCHED, "--no-values"], None),
        "--watch, two ints": ("ints", WATCHED, bare),
        "--watch, two ints and the result": ("result", WATCHED, bare),
        "--watch, a string of 32": ("text", WATCHED, bare),
        "--watch, an object of two fields": ("object", WATCHED, bare),
        "--watch --if, rejects an int": ("ints", [*WATCHED, "--if=second > 0"], None),
    }
    found = {name: (function, words and of_values(pid, words, function, binary), base)
             for name, (function, words, base) in found.items()}
    if shutil.which("bpftrace"):
        found |= {
            "bpftrace, count()": ("ints", traced(pid, "ints", "@ = count();"), None),
            "bpftrace, rejects an int": ("ints", traced(pid, "ints", "@ = count();", "/(int32)arg1 > 0/"), "bpftrace, count()"),
            "bpftrace, rejects an int in an object": (
                "object", traced(pid, "object", "@ = count();", "/ *(int32*)arg0 == 1 /"), "bpftrace, count()"),
            "bpftrace, rejects a string": (
                "text", traced(pid, "text", "@ = count();", '/str(arg0) == "another"/'), "bpftrace, count()"),
            "bpftrace, printf of arg0 and arg1": (
                "ints", traced(pid, "ints", 'printf("%d %d\\n", arg0, arg1);'), "bpftrace, count()"),
            "bpftrace, printf of str(arg0)": (
                "text", traced(pid, "text", 'printf("%s\\n", str(arg0));'), "bpftrace, count()"),
        }
    return found


def take_turns(target, found, rounds=ROUNDS):
    """What all batches took, by name."""
    took = {name: [] for name in found}
    for _ in range(rounds):
        for name, (function, command, _) in found.items():
            of = Of(target, function)
            with peers.running(of, command) if command else contextlib.nullcontext():
                took[name] += [target.nanoseconds(function) for _ in range(BATCHES)]
    return took


def bench(row, rounds=ROUNDS):
    print("What a call's values cost the target, side by side (median; best)")
    target = Priced()
    with contextlib.closing(target.app):
        found = commands(target.pid)
        took = take_turns(target, found, rounds)
    for name, (_, _, base) in found.items():
        best = min(took[name])
        row(name, f"{statistics.median(took[name]):.0f} ns/call",
            f"best {best:.0f}" + (f", {best - min(took[base]):.0f} more than {base}" if base else ""))
    if not shutil.which("bpftrace"):
        print("  bpftrace is not installed: not compared")
