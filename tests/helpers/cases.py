# SPDX-License-Identifier: GPL-2.0-or-later
"""Following, as cases that can be repeated and drawn at random: what make soak runs."""

import contextlib
import dataclasses
import os
import signal

from . import apps, follow, probe
from .follow import EACH_VERSION, EXACT_FINAL, EXACT_MOVING, IL_ONLY

PLAIN = ["static", "over-int", "over-two"]
# Two names of one method, and a name that many methods share.
NEVER_TOGETHER = {"virtual", "delegate-virtual"}
ONE_THREAD = {"dynamic-fresh"}


@dataclasses.dataclass
class Case:
    """What is called, by whom, when place-probe comes, and what goes on beside."""
    variant: str
    kinds: list
    threads: int = 4
    calls: int = 10_000
    when: str = "before"      # before the first call, midway (calls go on), settled
    together: bool = False    # all kinds at the same time
    beside: str = "nothing"   # storm, gentle, churn, grow
    options: tuple = ()
    extra: dict = dataclasses.field(default_factory=dict)   # of its environment
    load: tuple = ()          # (how, plugin) for tallies
    command: bool = False     # place-probe starts it
    kill: bool = False        # and place-probe is killed in the middle
    rounds: int = 1
    timeout: int = 60

    def __str__(self):
        words = [self.variant, "+".join(self.kinds), f"{self.threads} threads"]
        words += [" ".join(self.load)] if self.load else []
        words += ["command" if self.command else self.when]
        words += ["at once"] if self.together else []
        words += [self.beside] if self.beside != "nothing" else []
        words += [*self.options] + (["kill -9"] if self.kill else [])
        return ", ".join(words)

    def is_exact(self):
        """Whether the count has to be exact, or may be a lower bound that says so."""
        if {"--no-hold", "--hold=1"} & set(self.options):
            return False
        if self.kinds == ["dynamic-fresh"]:
            return True
        moving = [kind for kind in self.kinds if kind not in apps.FINALS]
        return len(self.kinds) <= (EXACT_MOVING if moving else EXACT_FINAL)


@dataclasses.dataclass
class Outcome:
    """What came of a case. Those counted may be more than were made since place-probe had attached,
    if calls went on while it did."""
    made: int = 0
    counted: int = 0
    tiers: dict = dataclasses.field(default_factory=dict)
    reasons: list = dataclasses.field(default_factory=list)
    hold: int = None
    pause: int = None
    killed: bool = False

    def take(self, result, made):
        self.made = made
        self.counted = result.calls()
        self.hold = follow.longest_hold(result)
        self.reasons = result.summary()["lower_bound"]
        for record in result.records("count"):
            for body in record["bodies"]:
                self.tiers[body["tier"]] = self.tiers.get(body["tier"], 0) + body["calls"]

    def __str__(self):
        if self.killed:
            return f"place-probe killed, all {self.made} calls made"
        tiers = ", ".join(f"{calls} {tier}" for tier, calls in self.tiers.items())
        said = f"{self.counted} of {self.made} calls ({tiers})"
        return said + (f", lower bound: {' '.join(self.reasons)}" if self.reasons else "")


class Bench:
    """Runs cases, with and without place-probe."""

    def __init__(self, program, directory):
        self.program = program
        self.directory = directory
        self.output = directory / "output"
        self.place_probe = probe.PlaceProbe(program)
        self.apps = []
        self.loaded = {}

    def start(self, case, following):
        before = []
        if case.command and following:
            before = [self.program, "-c", "-j", "--strict", "-o", self.output,
                      *follow.patience_for(case.options), *case.options,
                      *(follow.KINDS[kind] for kind in case.kinds), "--"]
        extra = {"TMPDIR": str(self.directory)} | case.extra
        app = apps.App([*before, apps.build(case.variant)], apps.environment(True, extra),
                       timeout=case.timeout)
        self.apps.append(app)
        # The process that was started may be place-probe.
        app.pid = app.own_pid
        self.loaded = {}
        return app

    def close(self):
        """End what a case has left."""
        self.place_probe.close()
        self.place_probe = probe.PlaceProbe(self.program)
        for app in self.apps:
            if app.alive():
                for pid in {app.pid, app.process.pid}:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                app.process.wait()
            app.close()
        self.apps = []

    def burst(self, case, app, calls):
        for kind in case.kinds:
            threads = 1 if kind in ONE_THREAD else case.threads
            if case.load:
                how, name = case.load
                what = kind if kind == "tally-generic" else "tally-threads"
                made = app.plugin(how, apps.build(name), what, calls)
                assert made == calls, f"the plugin miscounted: {made} calls of {calls}"
                self.loaded[kind] = self.loaded.get(kind, 0) + made
            else:
                app.calls(kind, calls, threads=threads)

    def beside(self, case, app, on):
        if case.beside in ("storm", "gentle"):
            app.storm(on, gentle=case.beside == "gentle")
        elif case.beside in ("churn", "grow"):
            getattr(app, case.beside)(on, apps.build("plugin"))

    def count(self, case, app):
        if case.load:
            return {kind: self.loaded.get(kind, 0) for kind in case.kinds}
        return {kind: app.count(kind) for kind in case.kinds}

    def act(self, case, app):
        """All calls of a case, from those at first to those in the last tier."""
        if case.together:
            for kind in case.kinds:
                app.run(kind, 1 if kind in ONE_THREAD else case.threads)
            follow.wait_until_final(self.place_probe, app, case.kinds)
            app.halt()
        for _ in range(case.rounds):
            self.burst(case, app, case.calls)
        if not ONE_THREAD & set(case.kinds):
            follow.settle(self.place_probe, app, case.kinds,
                          act=lambda: self.burst(case, app, 50))
        else:
            self.burst(case, app, 50)  # of a method that has not been there before
        self.burst(case, app, case.calls // 4)

    def prepare(self, case, app):
        """What has happened before place-probe comes."""
        if case.when == "settled":
            follow.settle(self.place_probe, app, case.kinds)
        if case.when == "midway":
            for kind in case.kinds:
                app.run(kind, case.threads)
        app.watch()

    def go_on(self, case, app):
        """With the calls that are being made without end, up to the last tier and beyond."""
        follow.wait_until_final(self.place_probe, app, case.kinds)
        app.halt()
        self.burst(case, app, case.calls)

    def alone(self, case):
        """The longest pause of the target when nobody follows it, in microseconds."""
        app = self.start(case, following=False)
        self.prepare(case, app)
        self.beside(case, app, True)
        if case.when == "midway":
            self.go_on(case, app)
        else:
            self.act(case, app)
        self.beside(case, app, False)
        return app.pauses()[0]

    def follow(self, case, app):
        wait = ["--wait"] if case.load else follow.options_for(case.kinds)
        return self.place_probe.count("--strict", "-v", *wait,
                                      *follow.patience_for(case.options), *case.options, app.pid,
                                      *(follow.KINDS[kind] for kind in case.kinds),
                                      timeout=case.timeout)

    def run(self, case):
        """Run a case with place-probe; a count that is wrong is an AssertionError."""
        app = self.start(case, following=True)
        self.prepare(case, app)
        before = self.count(case, app)
        live = None if case.command else self.follow(case, app)
        attached = self.count(case, app)
        self.beside(case, app, True)
        if case.kill:
            self.kill(case, app, live)
        elif case.when == "midway":
            self.go_on(case, app)
        else:
            self.act(case, app)
        self.beside(case, app, False)
        outcome = Outcome(pause=app.pauses()[0], killed=case.kill)
        after = self.count(case, app)
        if case.command:
            # It was started by place-probe, which has counted from the beginning.
            before = dict.fromkeys(case.kinds, 0)
            result = probe.Result(app.quit(), self.output.read_text(), "")
        elif case.kill:
            outcome.made = case.calls
            assert app.quit() == 0
            return outcome
        else:
            result = live.stop()
        self.judge(case, result, before, attached, after)
        since = attached if case.when == "midway" else before
        outcome.take(result, sum(after[kind] - since[kind] for kind in case.kinds))
        return outcome

    def kill(self, case, app, live):
        """The target makes all its calls whatever becomes of place-probe."""
        app.tell(f"calls {case.kinds[0]} {case.calls} {case.threads}")
        live.stop(signal.SIGKILL)
        assert app.answer("done")[2] == str(case.calls)

    def judge(self, case, result, before, attached, after):
        made = {kind: after[kind] - before[kind] for kind in case.kinds}
        if case.when != "midway":
            (follow.check_exact if case.is_exact() else follow.check_bounded)(result, made)
            return
        # Of the calls that were made while it attached nobody knows which came too early.
        follow.check_consistent(result, made)
        assert result.summary()["lower_bound"] == [] or not case.is_exact(), str(result)
        for kind in case.kinds:
            counted = follow.calls_of(result, kind)
            least = after[kind] - attached[kind] - case.threads
            assert counted <= made[kind], f"{kind}: {counted} of {made[kind]}: {result}"
            assert counted >= least or follow.reasons_of(result, kind), \
                f"{kind}: {counted}, {least} at least: {result}"


def matrix():
    """Everything once: what has to be exact, on each version and in each way of publishing."""
    cases = []
    for variant in [*IL_ONLY, *apps.PRECOMPILED, "sfc10"]:
        calls = 50_000 if variant in IL_ONLY else 200_000
        cases += [Case(variant, ["static"], threads, calls) for threads in (1, 8)]
        # Compressed assemblies are in no file: from its start that cannot be exact, and is said.
        cases += [Case(variant, ["static"], 8, command=True)] if variant != "sfc10" else []
    for variant in EACH_VERSION:
        cases += [Case(variant, group) for group in follow.GROUPS]
        cases += [Case(variant, PLAIN, 3, together=True),
                  Case(variant, ["static"], 8, when="midway"),
                  Case(variant, PLAIN, 2, when="midway"),
                  Case(variant, [*PLAIN[:2], "virtual"], 8, when="settled"),
                  Case(variant, ["static"], 20, calls=2000, rounds=10),
                  Case(variant, ["throws", "finally", "recurse"], 4, 3000, beside="storm"),
                  Case(variant, list(apps.FINALS)[:EXACT_FINAL], 8),
                  Case(variant, ["dynamic-fresh"], 1, 1000),
                  Case(variant, ["static"], 8, kill=True)]
    cases += [Case(variant, ["loop"], 4, 5000, rounds=5) for variant in IL_ONLY]
    for variant in ("fd10", "sc9", "sc8"):
        for name in ("plugin", f"plugin-r2r{apps.RUNTIMES[variant]}"):
            cases += [Case(variant, ["tally"], load=(how, name))
                      for how in ("file", "bytes", "collectible")]
        cases += [Case(variant, ["tally-generic"], load=("file", "plugin"))]
    return cases


def five_million():
    return Case("r2r10", ["static"], 8, 5_000_000, timeout=600)


def drawn(rng):
    """Any of it, with anything beside."""
    variant = rng.choice(list(apps.RUNTIMES))
    known = [*apps.METHODS, *apps.MOVING, *apps.FINALS]
    if variant == "sfc10":
        known = [kind for kind in known if kind not in ONE_THREAD]
    kinds = rng.sample(known, rng.choice([1, 1, 1, 2, 2, 3, 3, 4, 5]))
    if NEVER_TOGETHER <= set(kinds):
        kinds.remove("delegate-virtual")
    when = rng.choice(["before", "before", "before", "midway", "settled"])
    if ONE_THREAD & set(kinds):
        # Each time another method: with others there would be no telling how many.
        kinds, when = list(ONE_THREAD), "before"
    case = Case(variant, kinds, when=when, threads=rng.choice([1, 2, 3, 4, 8, 8, 12, 30]),
                calls=rng.choice([300, 3000, 20_000, 60_000]), together=rng.random() < 0.3,
                beside=rng.choice(["nothing"] * 4 + ["storm", "gentle", "churn", "grow"]))
    if case.beside == "grow":
        # As long as there is new code, the runtime would put off what makes methods move.
        case.extra = {"DOTNET_TC_CallCountingDelayMs": "0"}
    case.threads = min(case.threads, 24 // len(kinds))
    case.options = rng.choice([()] * 8 + [("--no-hold",), ("--hold=1",), ("--hold=50",)])
    if case.beside == "storm":
        # Calls without end would hardly get anywhere.
        case.calls, case.together = min(case.calls, 3000), False
        case.when = "before" if case.when == "midway" else case.when
    case.rounds = rng.choice([1, 1, 2, 5]) if case.calls < 20_000 else 1
    if case.when == "before" and not follow.MADE_LATER & set(kinds) and variant != "sfc10":
        case.command = rng.random() < 0.15
    case.kill = not case.command and case.when != "midway" and rng.random() < 0.05
    if ONE_THREAD & set(kinds):
        case.threads, case.together, case.rounds, case.kill = 1, False, 1, False
    return case
