# SPDX-License-Identifier: GPL-2.0-or-later
"""Cycles of --remap: attached and detached again and again, while code of every sort comes up, exceptions are thrown,
the collector runs, sessions of EventPipe begin and end, and processes start."""

import collections
import contextlib
import random
import re
import signal
import socket
import struct
import subprocess
import threading
import time

from . import breakpoints, inject, machine, many

# A target does not live for ever: what comes up beside it is never taken away.
CYCLES_OF_A_TARGET = 100
VARIANTS = ["many8", "many9", "many10"]
# By perf events each probe takes long to remove, and no more than a hundred are had.
ALL = machine.has_uprobe_multi()
NUMBERS = range(many.NUMBER if ALL else 10)
PATTERN = many.PATTERN if ALL else "Many.Generated::M00*"
# How often each comes, of 100 times or so. What takes longest comes least.
KINDS = {"attach": 80, "count": 12, "time": 4, "fold": 4, "kill": 4}
# The guardian restores the mapping within 100 ms; the machine is busy.
RESTORED_SECONDS = 5
STOPPED = re.compile(r"one thread of it was stopped for (\d+) us")

# The runtime's diagnostic server, as its documentation has it: a header, and commands of EventPipe.
MAGIC = b"DOTNET_IPC_V1\0"
EVENT_PIPE, COLLECT_2 = 2, 3
NETTRACE = 1
# At the end of a session it would go over all methods, of which collectible ones are no more: .NET 8 dies of that by
# itself, within 40 s of such sessions.
NO_RUNDOWN = 0
PROVIDER = "Microsoft-Windows-DotNETRuntime"
# Collections, the loader, the JIT, and exceptions.
KEYWORDS, VERBOSE = 0x8019, 5


def collect_message():
    name = (PROVIDER + "\0").encode("utf-16-le")
    provider = struct.pack("<QII", KEYWORDS, VERBOSE, len(PROVIDER) + 1) + name + struct.pack("<I", 0)
    payload = struct.pack("<IIBI", 16, NETTRACE, NO_RUNDOWN, 1) + provider
    return MAGIC + struct.pack("<HBBH", 20 + len(payload), EVENT_PIPE, COLLECT_2, 0) + payload


def event_session(pid, seconds):
    """How many bytes the runtime sent of a session of so long."""
    # Another process that had its number may have left one: the second number is when it began.
    address = f"/tmp/dotnet-diagnostic-{pid}-{machine.start_time(pid)}-socket"
    end, total = time.monotonic() + seconds, 0
    with socket.socket(socket.AF_UNIX) as pipe:
        pipe.settimeout(0.2)
        pipe.connect(address)
        pipe.sendall(collect_message())
        while time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                got = pipe.recv(1 << 16)
                total += len(got)
                if not got:
                    break
    return total


class Beside:
    """What goes on beside a target until it is closed."""

    def __init__(self, pid):
        self.pid = pid
        self.bytes = self.started = 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self.trace, self.spawn)]
        for thread in self.threads:
            thread.start()

    def trace(self):
        while not self.over.wait(0.5):
            # The target may be at its end.
            with contextlib.suppress(OSError, ValueError):
                self.bytes += event_session(self.pid, 1)

    def spawn(self):
        while not self.over.wait(0.1):
            for process in [subprocess.Popen(["/bin/true"]) for _ in range(5)]:
                process.wait()
                self.started += 1

    def close(self):
        self.over.set()
        for thread in self.threads:
            thread.join()


def check_restored(pid):
    machine.wait_until(lambda: not inject.is_private(pid, many.CODE) and inject.anonymous(pid, many.CODE) == 0,
                       "its mapping is as it was", seconds=RESTORED_SECONDS)


class Cycles:
    """Targets one after the other, and cycles of each."""

    def __init__(self, place_probe, seed):
        self.place_probe = place_probe
        self.random = random.Random(seed)
        self.counts = collections.Counter()
        self.stops = []
        self.restored = []
        self.app = self.beside = None

    def start(self, variant):
        self.close()
        self.app = many.start(variant)
        self.app.go(30)
        self.app.spin(60)
        self.app.ask("beside on", "beside")
        self.beside = Beside(self.app.pid)

    def end(self):
        """As it would without all that, and with probes in it."""
        self.app.ask("beside off", "beside")
        self.app.go(1)
        self.beside.close()
        self.counts["bytes of events"] += self.beside.bytes
        self.counts["processes"] += self.beside.started
        # That code goes with the process is no change of it.
        live = self.place_probe.count("--remap", self.app.pid, PATTERN)
        assert self.app.quit(5) == 5
        live.finish().expect(0)
        self.counts["end"] += 1
        self.close()

    def close(self):
        if self.beside:
            self.beside.close()
        if self.app:
            self.app.close()
        self.app = self.beside = None

    def note(self, err):
        self.stops += map(int, STOPPED.findall(err))

    def count(self):
        live = self.place_probe.count("--remap", self.app.pid, PATTERN)
        made = self.app.go(self.random.randrange(1, 4))
        result = live.stop().expect(0)
        wrong = many.wrong_counts(result, made, NUMBERS)
        assert not wrong, f"{wrong}\n{result}"
        self.counts["calls"] += sum(made[number] for number in NUMBERS)
        self.note(result.err)

    def attach(self):
        """On and off again, of all methods or of one."""
        pattern = self.random.choice([PATTERN, self.random.choice(many.TIMES)])
        result = self.place_probe.run("-c", "-j", "--remap", "-d", "0.01", self.app.pid, pattern)
        # One whose page is not full yet would have a register.
        if result.code != 4 or breakpoints.fire():
            result.expect(0)
        self.note(result.err)

    def time(self):
        live = self.place_probe.live("-H", "-j", "--remap", self.app.pid, *many.TIMES)
        made = self.app.spin(self.random.randrange(6, 30))
        result = live.stop().expect(0)
        for record in result.records("hist"):
            number = next(i for i, name in enumerate(many.TIMES) if record["method"].startswith(name))
            assert record["count"] + record["not_timed"] <= made[number][0], f"{made[number]}\n{result}"
            self.counts["calls timed"] += record["count"]
        self.note(result.err)

    def fold(self):
        live = self.place_probe.live("-f", "--remap", self.app.pid, PATTERN)
        made = self.app.go(1, threads=2)
        result = live.stop().expect(0)
        folded = sum(int(line.rpartition(" ")[2]) for line in result.out.splitlines())
        assert folded <= sum(made[number] for number in NUMBERS), str(result)
        self.counts["stacks"] += folded
        self.note(result.err)

    def kill(self):
        """At any moment."""
        live = self.place_probe.start("-c", "-j", "--remap", self.app.pid, PATTERN)
        self.app.tell("go 3 8")
        if self.random.random() < 0.5:
            live.has_attached()
        time.sleep(self.random.random() * 0.3)
        live.process.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        check_restored(self.app.pid)
        self.restored.append(time.monotonic() - killed)
        self.app.answer("done")
        live.close()

    def cycle(self):
        """One of them; what it was."""
        kind = self.random.choices([getattr(self, kind) for kind in KINDS], weights=KINDS.values())[0]
        kind()
        check_restored(self.app.pid)
        self.counts[kind.__name__] += 1
        # Each run of place-probe is kept until it is closed.
        self.place_probe.close()
        return kind.__name__

    def told(self):
        stops, restored = sorted(self.stops), sorted(self.restored)
        counts = ", ".join(f"{number} {what}" for what, number in self.counts.items())
        if not stops:
            return counts
        killed = (f"; after a kill shared again in {restored[len(restored) // 2] * 1000:.0f} ms, at most "
                  f"{restored[-1] * 1000:.0f}") if restored else ""
        return (f"{counts}; a thread was stopped for {stops[len(stops) // 2]} us, "
                f"99 % {stops[len(stops) * 99 // 100]}, at most {stops[-1]}{killed}")


def run(cycles, number, until, tell):
    """So many, or until then; the last target has ended as well. Returns how many."""
    done = run_all(cycles, number, until, tell)
    cycles.end()
    # A target that has come last may have been there for a moment only.
    assert cycles.counts["bytes of events"] and cycles.counts["processes"], "nothing went on beside it"
    return done


def run_all(cycles, number, until, tell):
    for done in range(number):
        if time.monotonic() > until:
            return done
        if done % CYCLES_OF_A_TARGET == 0:
            if cycles.app:
                cycles.end()
            variant = VARIANTS[done // CYCLES_OF_A_TARGET % len(VARIANTS)]
            tell(f"[{done}/{number}] {variant}; {cycles.told()}")
            cycles.start(variant)
        cycles.cycle()
    return number
