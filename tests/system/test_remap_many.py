# SPDX-License-Identifier: GPL-2.0-or-later
"""--remap on two hundred methods (tests/apps/many), called from eight threads: by their own counts, while code of every
other sort comes up. Their bodies are in their last tier, and their pages full; else registers would have to do."""

import re

import pytest

from helpers import apps, inject, machine, pairs
from helpers.many import BODIES, CODE, JIT, PATTERN, THREADS, TIMES, Many, by_number, wrong_counts

REGISTERS = 4
NAMED = [f"Many.Generated::M{number:03}" for number in range(REGISTERS - 1)]
TIMED = len(TIMES)
NEAR = 0.02
STARTS = 10
# Tiers come at once, and R2R code of the framework is taken or not.
VARIANTS = [("many8", JIT), ("many9", JIT), ("many10", JIT), ("many10", {}), ("many10-r2r", {})]

pytestmark = [pytest.mark.stepped,
              pytest.mark.skipif(not machine.is_root(), reason="only root can make code private")]


@pytest.fixture
def start(build_app):
    """start(VARIANT, EXTRA, PREFIX, NUMBER, WORK, most=3): a target in which `WORK` has brought so many methods to
    their last tier, and no more than `most` of their bodies lie on pages that may be written to."""
    started = []

    def new(variant, extra):
        app = Many([build_app(variant)], apps.environment(tiered=True, extra=extra), timeout=120)
        started.append(app)
        return app

    def start(variant, extra, prefix, number, work, most=REGISTERS - 1):
        # Where stubs come to lie beside them, for good, differs from one process to the next; and with what is before.
        for attempt in range(STARTS):
            app = new(variant, extra)
            app.fill(7 * attempt)
            if is_settled(app, prefix, number, work, most):
                return app
            app.close()
        raise AssertionError(f"in {STARTS} processes they lie beside stubs")

    start.new = new
    yield start
    for app in started:
        app.close()


def current(pid, prefix):
    """{method: is it sealed?} of the methods that are in their last tier, by tests/tools/sealed.c."""
    found = {}
    for line in machine.run(machine.tool("sealed"), pid).stdout.splitlines():
        state, _, tier, method = line.split(" ", 3)
        if method.startswith(prefix) and tier == "tier1":
            found[method] = state == "sealed"
    return found


def is_settled(app, prefix, number, work, most):
    """Work until so many are in their last tier, then have others compiled until their pages are full."""
    def hot():
        work(app)
        return len(current(app.pid, prefix)) >= number

    # Stubs come first.
    app.go(1)
    app.spin(TIMED)
    app.fill(20)
    machine.wait_until(hot, "all are in their last tier", seconds=60)
    for _ in range(20):
        if sum(not sealed for sealed in current(app.pid, prefix).values()) <= most:
            return True
        app.fill(20)
    return False


@pytest.mark.parametrize(("variant", "extra"), pairs.few(VARIANTS, VARIANTS[0], VARIANTS[3], VARIANTS[4]))
def test_counts(place_probe, start, variant, extra):
    """Loops that are replaced while they run, recursion, exceptions, generics: all two hundred are exact."""
    app = start(variant, extra, "Many.Generated::M", BODIES, lambda app: app.go(20))
    live = place_probe.count("--strict", "--remap", app.pid, PATTERN)
    assert live.sites >= BODIES
    with app.beside():
        made = app.go(150)
    result = live.stop().expect(0)
    counted = by_number(result.records("count"))
    assert counted == made, {number: (a, b) for number, (a, b) in enumerate(zip(counted, made)) if a != b}
    assert result.summary()["lower_bound"] == [], str(result)
    assert not inject.is_private(app.pid, CODE) and inject.anonymous(app.pid, CODE) == 0
    app.go(1)
    assert app.quit(5) == 5


@pytest.mark.parametrize(("variant", "extra"), pairs.few(VARIANTS[:4], VARIANTS[1], VARIANTS[3]))
def test_latencies(place_probe, start, variant, extra):
    """-H: as many as were made of each, with one exit or several; the sums are theirs, within two in a hundred."""
    app = start(variant, extra, "Many.Timed::T", TIMED + 1, lambda app: (app.spin(60), app.go(5)), most=0)
    live = place_probe.live("-H", "-j", "--strict", "--remap", app.pid, *TIMES)
    assert live.sites == TIMED
    with app.beside():
        made = app.spin(300)
    check_times(live.stop().expect(0), made)
    assert app.quit(5) == 5


def check_times(result, made, which=range(TIMED)):
    found = {record["method"]: record for record in result.records("hist")}
    for number in which:
        calls, took, around = made[number]
        record, = (record for method, record in found.items() if method.startswith(f"Many.Timed::T{number}"))
        assert (record["count"], record["unwound"], record["not_timed"]) == (calls, 0, 0), f"T{number}\n{result}"
        assert took * (1 - NEAR) <= record["sum_ns"] <= around * (1 + NEAR), \
            f"T{number}: {took} to {around} ns\n{result}"


MOVED = re.compile(r"(\d+) bod.* moved to uprobes")


def moved(live):
    return sum(map(int, MOVED.findall(live.err_so_far())))


def time_while_it_moves(place_probe, app):
    """Did it move? Exact it has to be either way."""
    app.spin(TIMED)
    app.fill(20)
    live = place_probe.live("-H", "-v", "-j", "--remap", app.pid, TIMES[5])
    assert live.has_said("hardware breakpoints")
    made = [(0, 0, 0)] * TIMED
    for turn in range(60):
        made = [tuple(map(sum, zip(*both))) for both in zip(made, app.spin(60))]
        # What is compiled behind it fills its page.
        if turn == 0:
            app.go(5)
        if moved(live):
            break
    made = [tuple(map(sum, zip(*both))) for both in zip(made, app.spin(60))]
    result = live.stop().expect(0)
    record, = result.records("hist")
    # Three bodies have entry and exit: what is called before its exit has a register is not timed, and told.
    left = record["not_timed"]
    calls, took, around = made[5]
    assert (record["count"] + left, record["unwound"]) == (calls, 0), str(result)
    assert left <= 2 * THREADS and result.summary()["lost"].get("call-not-timed", 0) == left, str(result)
    assert took * (1 - NEAR) - left * record["max_ns"] <= record["sum_ns"] <= around * (1 + NEAR), \
        f"{made[5]}\n{result}"
    assert inject.anonymous(app.pid, CODE) == 0
    assert app.quit(5) == 5
    return moved(live)


@pytest.mark.breakpoints
@pytest.mark.parametrize("variant", ["many8", "many9", "many10"])
def test_latencies_while_it_moves(place_probe, start, variant):
    """The body that replaces the first one moves to uprobes while threads are in calls of it, of 2.5 ms each."""
    assert any(time_while_it_moves(place_probe, start.new(variant, JIT)) for _ in range(STARTS))


@pytest.mark.breakpoints
@pytest.mark.parametrize("variant", ["many8", "many10"])
def test_from_the_first_call(place_probe, start, variant):
    """Nothing is compiled when probes come. Those named first have a register from their first call on; of the others,
    which take turns, it is told that calls are missing, and no count is too high. Once all have moved each call is
    seen."""
    app = start.new(variant, JIT)
    live = place_probe.count("-v", "--remap", app.pid, *NAMED, PATTERN)
    app.go(1, threads=1)

    def all_moved():
        app.go(5)
        app.fill(20)
        known = current(app.pid, "Many.Generated::M")
        return len(known) == BODIES and moved(live) >= sum(known.values()) > BODIES * 3 / 4

    machine.wait_until(all_moved, "they move", seconds=60)
    made = app.counts()
    result = live.stop().expect(0)
    wrong = wrong_counts(result, made)
    assert not wrong, f"{wrong}\\n{result}"
    named = [record for record in result.records("count") if record["method"].startswith(tuple(NAMED))]
    assert by_number(named)[:len(NAMED)] == made[:len(NAMED)], str(result)
    assert not any(record["lower_bound"] for record in named), str(result)
    assert app.quit(5) == 5
