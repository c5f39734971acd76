# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/apps/many as a target: two hundred methods that count their calls, and some that take a known time."""

import contextlib

from . import apps

NUMBER = 200
BODIES = 250  # each eighth has three instantiations
THREADS = 8
PATTERN = "Many.Generated::M*"
# Each takes a millisecond or more, and says how long.
TIMES = ["Many.Timed::T0", "Many.Timed::T1", "Many.Timed::T2", "Many.Timed::T3Ways", "Many.Timed::T4", "Many.Timed::T5"]
CODE = "doublemapper"
JIT = {"DOTNET_ReadyToRun": "0"}


class Many(apps.App):
    def go(self, rounds, threads=THREADS):
        """Call all of them; returns the counts of it, by number."""
        before = self.counts()
        self.ask(f"go {rounds} {threads}", "done")
        return [now - had for now, had in zip(self.counts(), before)]

    def counts(self):
        return [int(word) for word in self.ask("counts", "counts")[1:]]

    def spin(self, calls, threads=4):
        """Call those that take their time; returns [(calls, nanoseconds at least, at most)]."""
        before = self.times()
        self.ask(f"spin {calls} {threads}", "done")
        return [tuple(now - had for now, had in zip(*both)) for both in zip(self.times(), before)]

    def times(self):
        words = [int(word) for word in self.ask("times", "times")[1:]]
        return list(zip(words[::3], words[1::3], words[2::3]))

    def fill(self, number):
        self.ask(f"fill {number}", "filled")

    def seal(self):
        """All methods are in their last tier then, and most lie on pages that are full."""
        self.go(40)
        self.fill(400)

    def weigh(self, megabytes):
        """Its end takes so much longer: about a tenth of a second for each 1,000."""
        self.ask(f"weigh {megabytes}", "weighs")

    @contextlib.contextmanager
    def beside(self):
        self.ask("beside on", "beside")
        yield
        self.ask("beside off", "beside")


def start(variant, extra=JIT, tiered=True):
    return Many([apps.build(variant)], apps.environment(tiered=tiered, extra=extra), timeout=120)


def by_number(records, key="calls"):
    """Of the methods of generate.py, M000 to M199; instantiations of one are added."""
    counted = [0] * NUMBER
    for record in records:
        counted[int(record["method"].split("::M")[1][:3])] += record[key]
    return counted


def wrong_counts(result, made, numbers=range(NUMBER)):
    """{number: (counted, made)} of those whose counts are too high, or too low without a word."""
    counts = result.records("count")
    counted = by_number(counts)
    doubtful = by_number([{"method": record["method"], "calls": bool(record["lower_bound"])} for record in counts])
    return {number: (counted[number], made[number]) for number in numbers
            if counted[number] > made[number] or (counted[number] < made[number] and not doubtful[number])}
