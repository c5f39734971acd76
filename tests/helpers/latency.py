# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests/apps/latency says of its own calls, and what place-probe --hist says of them."""

import dataclasses
import math
import os
import pathlib
import random
import re
import time

from . import machine

# The names of the timed methods, by the app's own.
METHODS = {
    "Spin": "Timed.Work::Spin(int32)",
    "Nap": "Timed.Work::Nap(int32)",
    "Early": "Timed.Work::Early(int32,string)",
    "Tail": "Timed.Work::Tail(int32)",
    "Tailed": "Timed.Work::Tailed(int32)",
    "Ways": "Timed.Work::Ways(int32)",
    "Tick": "Timed.Work::Tick(int32)",
    "Judge": "Timed.Work::Judge(bool)",
    "Direct": "Timed.Recursion::Direct(int32)",
    "Ping": "Timed.Recursion::Ping(int32)",
    "Pong": "Timed.Recursion::Pong(int32)",
    "Plain": "Timed.Frames::Plain(string,int32)",
    "Catching": "Timed.Frames::Catching(string,int32)",
    "Rethrowing": "Timed.Frames::Rethrowing(string,int32)",
    "Replacing": "Timed.Frames::Replacing(string,int32)",
    "Finally": "Timed.Frames::Finally(string,int32)",
    "Filter": "Timed.Frames::Filter(string,int32,bool)",
    "Again": "Timed.Frames::Again(string,int32)",
    "Throws": "Timed.Frames::Throws(int32)",
}
FRAMES = ["Plain", "Catching", "Rethrowing", "Replacing", "Finally", "Filter", "Again", "Throws",
          "Tick", "Judge"]
# Durations are that exact; an estimate is that near to what it is of, and what the probes take is not known better.
EXACT = 0.02
NEAR = 0.03
PROBE_NS = 300
# They take longer at times: with 8 threads on 2 CPUs, of calls of 10 us each up to 900 ns more than the shortest.
PROBE_MORE_NS = 1000
# Fewer calls than beyond this lose their CPU between a probe and a look at the clock: hardly ever one in a hundred.
TYPICAL = 0.9
DEPTH = 128  # calls of a thread that are timed at once: LATENCY_DEPTH in bpf/latency.h
# Much of the framework that Storm.cs goes through all the time.
STORM = [f"System.Private.CoreLib!System.{types}::*" for types in (
    "String", "Number", "Enum", "Convert", "Exception", "Text.*", "Collections.*", "Globalization.*",
    "Threading.*", "Runtime.*")]
# Those of which Storm.cs has none compiled at run time. A breakpoint in them would end the target sooner or
# later where a hypervisor loses what debug exceptions were about (docs/limits.md, "Hardware breakpoints").
STORM_PRECOMPILED = [f"System.Private.CoreLib!System.{types}::*" for types in (
    "String", "Convert", "*Exception", "Text.*", "Globalization.*", "Threading.Tasks.*", "Threading.*Timer*",
    "Threading.ThreadPool*", "Threading.PortableThreadPool*", "Threading.*Lock*", "Threading.Monitor",
    "Collections.Concurrent.*", "Collections.Generic.Dictionary*", "Collections.Generic.HashSet*",
    "Collections.Generic.*Array*")]
STORM_COMPILED = ["Timed.Storm::Round", "Timed.Storm::Mix"]


@dataclasses.dataclass
class Truth:
    """The app's own account of a method: of one thread, or of all."""
    entered: int
    # In nanoseconds, of those that returned; the shortest first. A call took no less than it says itself, and no
    # more than its caller says: its thread may have had to wait between a probe and a look at the clock.
    took: list
    outside: list

    @property
    def returned(self):
        return len(self.took)

    @property
    def left(self):
        """By an exception, or not yet."""
        return self.entered - self.returned

    def around(self, share):
        """The durations next to the one that `share` of the calls did not exceed: what its callers say includes
        all that the probes take, and is asked only of those whose threads may have had to wait."""
        at = max(math.ceil(share * len(self.took)) - 1, 0)
        most = self.took if share <= TYPICAL else self.most
        return self.took[max(at - 1, 0)], most[min(at + 1, len(self.took) - 1)]

    @property
    def most(self):
        """How long each can have taken, if all callers have looked at the clock."""
        assert len(self.outside) == len(self.took), f"{len(self.took)} calls, {len(self.outside)} by who says"
        return self.outside


def truth_by_tid(app, name):
    found = {}
    for words in app.ask(f"truth {name}", "truth")[1:]:
        tid, entered, *times = words.split(":")
        took, outside = ([int(time) for time in some.split(",") if time] for some in times)
        # The kernel gives numbers of threads again.
        old = found.get(int(tid), Truth(0, [], []))
        found[int(tid)] = Truth(old.entered + int(entered), sorted(old.took + took),
                                sorted(old.outside + outside))
    return found


def wait_for_threads(app, name):
    """Wait until the threads that have called a method are no more: to the runtime they have ended a moment before."""
    called = {str(tid) for tid in truth_by_tid(app, name)} - {str(app.pid)}
    assert called
    machine.wait_until(lambda: called.isdisjoint(os.listdir(f"/proc/{app.pid}/task")), f"{called} have ended")


def truth(app, name):
    by_tid = truth_by_tid(app, name).values()
    return Truth(sum(each.entered for each in by_tid),
                 sorted(time for each in by_tid for time in each.took),
                 sorted(time for each in by_tid for time in each.outside))


def hist(result, name):
    """The one histogram of a method, whose buckets are of all its calls."""
    record, = [record for record in result.records("hist") if record["method"] == METHODS[name]]
    assert sum(bucket["count"] for bucket in record["buckets"]) == record["count"], record
    return record


def check_counts(result, app, names, unfinished=0):
    """Calls that returned, were left by an exception, and none else: exactly as the app says."""
    wrong = []
    for name in names:
        said, real = hist(result, name), truth(app, name)
        told = [said[field] for field in ("count", "unwound", "unfinished", "not_timed")]
        expected = [real.returned, real.left - unfinished, unfinished, 0]
        if told != expected:
            wrong.append(f"{name}: returned, unwound, unfinished, not timed are {told}, not {expected}")
    assert not wrong, "\n".join([*wrong, str(result)])
    assert result.summary()["lost"] == {}, str(result)


def is_near(said, low, high, less_ns, more_ns):
    return low * (1 - NEAR) - less_ns <= said <= high * (1 + NEAR) + more_ns


def change_ns(result):
    """By how much what a probe takes may have changed since it was measured. Of a run with -v: a third of it, which is
    less than PROBE_NS but where a hypervisor has a part in each hit (6 us, and 20 while it has other work)."""
    said = re.search(r"a probe takes the target about (.*) at an exit", result.err)[1]
    return max(float(number) * {"ns": 1, "us": 1000}[unit]
               for number, unit in re.findall(r"([\d.]+) (ns|us)\b", said)) / 3


def check_shares(said, real, shares, change=0):
    """Percentiles and extremes, against the app's sorted list. The shortest call shows what the probes take at least."""
    less_ns = max(PROBE_NS, change)
    for field, share in shares.items():
        more_ns = max(PROBE_MORE_NS if share else PROBE_NS, change)
        assert is_near(said[field], *real.around(share), less_ns, more_ns), \
            f"{field}: {real.around(share)} expected, within {more_ns:.0f} ns: {said}"


def is_within(said, least, most):
    """As exact as --hist is to be, of a time between those; they are near each other unless threads have to wait."""
    return (1 - EXACT) * least <= said <= max((1 + EXACT) * least, most)


def check_sum(said, real):
    """`said`: of one histogram, or of several together."""
    assert is_within(said, sum(real.took), sum(real.most)), \
        f"{sum(real.took)} to {sum(real.most)} ns in all were expected, not {said}"


EXTREMES = {"min_ns": 0, "max_ns": 1}
ALL_SHARES = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99, "p99_9_ns": 0.999}


def drawn_plan(rng, depth):
    """Some frames, of which few go on twice: each doubles all that is below it."""
    plan = rng.choices("pppprtfffcwn", k=depth)
    for at in rng.sample(range(depth), k=min(depth, rng.randrange(4))):
        plan[at] = "a"
    return "".join(plan) + rng.choice("!!x.")


def plans(seed):
    """Of one to fifty frames, with an exception through all of them or some."""
    fixed = ["p" * depth + end for depth in (1, 2, 5, 10, 25, 50) for end in "!x."]
    fixed += ["cp!", "pcpp!", "ppprpppc!", "ftftft!", "wpnpnpf!", "napafx", "f" * 50 + "!", "r" * 20 + "x",
              "t" * 20 + "!", "n" * 20 + "!", "fr" * 10 + "c" + "fr" * 10 + "!", "c" * 50 + "!"]
    rng = random.Random(seed)
    return fixed + [drawn_plan(rng, rng.randint(1, 50)) for _ in range(40)]


class Survival:
    """A storm that the target came through as if nothing had been, and what was counted meanwhile."""

    def __init__(self, sites, rounds, detached_after, threads, result):
        """There were so many threads when the probes went."""
        self.sites, self.rounds, self.detached_after, self.result = sites, rounds, detached_after, result
        hists = result.records("hist")
        self.called = sum(record["count"] > 0 for record in hists)
        self.returned, self.unwound, self.unfinished, not_timed = (
            sum(record[field] for record in hists) for field in ("count", "unwound", "unfinished", "not_timed"))
        self.hits = result.summary()["hits"]
        assert result.summary()["lost"] == {} and not_timed == 0, result
        assert self.hits == self.returned + self.unwound + self.unfinished, result
        # Of a pair that was taken for none, both are left over.
        begun_before = re.search(r"^place-probe: (\d+) calls? that had begun before", result.err, re.MULTILINE)
        assert self.unfinished <= threads * DEPTH, f"of {threads} threads: {result}"
        assert not begun_before or int(begun_before[1]) <= threads * DEPTH, f"of {threads} threads: {result}"

    def __str__(self):
        return (f"{self.rounds} rounds, {self.hits} calls of {self.called} of {self.sites} methods, "
                f"{self.unwound} unwound and {self.unfinished} unfinished, "
                f"detached in {self.detached_after:.2f} s")


def end_storm(target):
    """How many rounds there were, and what each results in."""
    rounds = int(target.ask("storm rounds", "storm")[1])
    digest, wrong = target.ask("storm off", "storm")[1:]
    assert rounds > 0 and wrong == "0", f"{rounds} rounds, of which {wrong} went wrong"
    return rounds, digest


def survive(start, place_probe, patterns, seconds):
    """Time much of a target in a storm, for so long; start() starts one. Its results, its code after
    that and its end are as without probes."""
    target, other = start(), start()
    other.ask("storm on 4", "storm")
    machine.wait_until(lambda: other.ask("storm rounds", "storm")[1] != "0", "a round ends")
    _, expected = end_storm(other)
    assert other.quit() == 0
    before, _ = changed_code(target.pid)
    target.ask("storm on 4", "storm")
    live = place_probe.live("-H", "-j", target.pid, *patterns, timeout=60)
    live.run_on(seconds)
    threads = threads_of(target.pid)
    began = time.monotonic()
    result = live.stop().expect(0)
    detached_after = time.monotonic() - began
    assert target.alive(), f"the target ended with {target.process.wait()}:\n{result.err}"
    rounds, digest = end_storm(target)
    assert digest == expected, f"each round resulted in {digest}, without probes in {expected}"
    check_unchanged(target.pid, before)
    assert target.quit() == 0
    return Survival(live.sites, rounds, detached_after, threads, result)


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


# The target's code ----------------------------------------------------------------------------

MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r.xp ([0-9a-f]+) \S+ \d+ +(/.*)")


def changed_code(pid):
    """Executable mappings of files that are not what the file is, and how many bytes were compared."""
    changed, compared = [], 0
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        match = MAPPING.match(line)
        if not match or not pathlib.Path(match[4]).is_file():
            continue
        begin, end, offset = (int(match[number], 16) for number in (1, 2, 3))
        with open(match[4], "rb") as image:
            image.seek(offset)
            in_file = image.read(end - begin)
        if machine.memory_of(pid, begin, len(in_file)) != in_file:
            changed.append(line)
        compared += len(in_file)
    return changed, compared


def check_unchanged(pid, before):
    """Its code is what changed_code() had found before the probes."""
    after, compared = changed_code(pid)
    assert compared > 1 << 20 and after == before, "\n".join(["the code was changed:", *after])
