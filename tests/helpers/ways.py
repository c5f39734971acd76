# SPDX-License-Identifier: GPL-2.0-or-later
"""A native app that comes to a function by many ways, each a stack of its own, and what place-probe keeps of them."""

import dataclasses
import os
import pathlib
import re
import threading
import time

# Text that is being put together, what is read of it, of the allocator what is free; and what libdw has of the program,
# which is the same however many stacks there are.
BESIDE_MB = 8 + 16
DEFAULT_MB = 256
WAYS_AT_ONCE = 100_000  # between two looks at the memory
WAYS_MAX = 1_000_000


class Told:
    """Reads a named pipe of text or of folded stacks, and keeps how many calls it tells of, and of no known stack."""

    def __init__(self, path, folded):
        os.mkfifo(path)
        self.folded = folded
        self.calls = self.others = 0
        self.descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.writer = os.open(path, os.O_WRONLY)
        os.set_blocking(self.descriptor, True)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _take(self, lines):
        if not self.folded:
            self.calls += lines.count(b" deep ")
            return
        for line in lines.splitlines():
            stack, _, count = line.rpartition(b" ")
            self.calls += int(count)
            if stack == b"[other stacks]":
                self.others += int(count)

    def _read(self):
        rest = b""
        while part := os.read(self.descriptor, 1 << 20):
            lines, newline, rest = (rest + part).rpartition(b"\n")
            self._take(lines + newline)
        os.close(self.descriptor)

    def end(self):
        os.close(self.writer)
        self.thread.join()
        return self


@dataclasses.dataclass
class Outcome:
    called: int
    told: int
    others: int
    lost: int
    evicted: int
    memory_mb: float

    def __str__(self):
        return (f"{self.called} calls by up to {WAYS_MAX} ways: {self.told} told of, {self.others} of them as of other stacks, "
                f"{self.lost} lost; {self.evicted} names of stacks thrown away; at most {self.memory_mb:.0f} MB more")


def anonymous_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"RssAnon:\s+(\d+) kB", status).group(1)) / 1024


def sum_of(pattern, text):
    return sum(int(number) for number in re.findall(pattern, text))


def come(place_probe, app, words, directory, *, ways, seconds=0, timeout=30):
    """By @ways, again and again for @seconds. Each call is told of or lost."""
    told = Told(directory / "told", "-f" in words)
    live = place_probe.live(*words, "-o", directory / "told", app.pid, "deep!hit", timeout=timeout)
    before = most = anonymous_mb(live.process.pid)
    until, called = time.monotonic() + seconds, 0
    while not called or time.monotonic() < until:
        for first in range(0, ways, WAYS_AT_ONCE):
            number = min(WAYS_AT_ONCE, ways - first)
            app.ask(f"ways {number} {first}", "done")
            called += number
            most = max(most, anonymous_mb(live.process.pid))
    result = live.stop().expect(0)
    told.end()
    outcome = Outcome(called, told.calls, told.others, sum_of(r"lost: (\d+) ", result.err),
                      sum_of(r"(\d+) stacks was thrown away for want of room, the oldest first", result.err),
                      most - before)
    assert outcome.told + outcome.lost == called, f"{outcome}\n{result.err[-2000:]}"
    return outcome
