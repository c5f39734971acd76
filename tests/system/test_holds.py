# SPDX-License-Identifier: GPL-2.0-or-later
"""What following cannot keep up with: then a count says that it is a lower bound and why, and the
target goes on within the bound whatever happens to place-probe."""

import itertools
import pathlib
import re
import signal
import time

import pytest

from helpers import apps, follow, machine, pairs
from helpers.follow import EACH_VERSION, Followed, settle

pytestmark = pytest.mark.breakpoints

CALLS = 100_000
PLAIN = ["static", "over-int", "over-two", "over-string", "instance"]
FINAL = ["final-static", "final-other", "final-text", "final-recurse", "final-instance"]
# All are of Counted.Kinds, and have no body before their first call.
COLD = ["static", "delegate", "over-int", "over-two", "over-string", "finally", "recurse", "throws"]


# More bodies than debug registers -----------------------------------------------------------

@pytest.mark.parametrize("variant", ["fd10", "r2r10", "il8"])
def test_five_final(place_probe, start, variant):
    """The first three are counted exactly; the others take turns, and say what they lacked."""
    app = start(variant)
    followed = Followed(place_probe, app, FINAL)
    for kind in FINAL:
        app.calls(kind, CALLS // 10, threads=8)
    for kind in reversed(FINAL):
        app.calls(kind, CALLS // 10, threads=8)
    result, made = followed.end()
    below = follow.check_bounded(result, made)
    assert below and below <= set(FINAL[3:]), str(result)
    for kind in FINAL:
        assert follow.reasons_of(result, kind) <= ({"no-debug-register"} if kind in FINAL[3:] else set()), str(result)
    assert "debug register" in result.err, str(result)


@pytest.mark.parametrize("variant", ["fd10", "r2r10", "il8", "sc8"])
def test_five_that_tier(place_probe, start, variant):
    """Not all of them can be exact, and each is or says that it is not."""
    app = start(variant)
    followed = Followed(place_probe, app, PLAIN)
    follow.tier_at_once(place_probe, app, PLAIN, threads=2)
    for kind in PLAIN:
        app.calls(kind, CALLS // 10, threads=4)
    result, made = followed.end()
    below = follow.check_bounded(result, made)
    assert below, f"five bodies in four registers: {result}"
    doubtful = {kind for kind in PLAIN if follow.reasons_of(result, kind)}
    assert doubtful <= set(PLAIN[3:]), f"the first three are exact: {result}"
    for kind in doubtful:
        assert follow.reasons_of(result, kind) == {"no-debug-register"}, str(result)


# Not held -------------------------------------------------------------------------------------

@pytest.mark.parametrize("variant", EACH_VERSION)
def test_no_hold(place_probe, start, variant):
    """Nobody waits for the probes, so the first calls of a body may be missed; that is said."""
    app = start(variant)
    followed = Followed(place_probe, app, ["static"], "--no-hold")
    app.calls("static", CALLS, threads=8)
    settle(place_probe, app, ["static"])
    app.calls("static", CALLS // 10, threads=8)
    result, made = followed.end()
    follow.check_bounded(result, made)
    assert follow.reasons_of(result, "static") == {"not-held"}, str(result)
    assert result.code == 5
    assert follow.calls_of(result, "static") >= CALLS // 10, str(result)


@pytest.mark.breakpoints(needed=False)
def test_no_hold_and_nothing_compiled(place_probe, start):
    """Where no body comes up meanwhile, nothing can have been missed."""
    app = start("r2r10", tiered=False)
    followed = Followed(place_probe, app, ["static"], "--no-hold")
    app.calls("static", CALLS, threads=8)
    followed.end_exact()


@pytest.mark.breakpoints(needed=False)
@pytest.mark.parametrize("value", ["0", "10001", "-1", "soon", ""])
def test_bad_bounds(place_probe, value):
    place_probe.run("-c", "--hold", value, "1", "A::b").expect_sentence(2, "hold", "10000")


# Held for too long ----------------------------------------------------------------------------

@pytest.mark.parametrize("variant", ["fd10", "il9", "il8"])
def test_hold_times_out(place_probe, start, variant):
    """place-probe stands still while a method is compiled: the target goes on after the bound."""
    app = start(variant)
    followed = Followed(place_probe, app, ["static", "virtual"], "--hold", "1")
    followed.live.suspend()
    app.calls("static", 500, threads=1)
    followed.live.resume()
    app.calls("static", CALLS // 10, threads=4)
    app.calls("virtual", CALLS // 10, threads=4)
    result, made = followed.end()
    below = follow.check_bounded(result, made)
    assert "static" in below, f"nobody can have seen the first calls: {result}"
    assert "hold-timed-out" in follow.reasons_of(result, "static"), str(result)
    assert result.code == 5
    # What was compiled afterwards may have timed out as well, the bound being so short.
    assert follow.reasons_of(result, "virtual") <= {"hold-timed-out", "not-held"}, str(result)


@pytest.mark.parametrize("variant", ["fd10", "il9", "il8"])
def test_usual_bound(place_probe, start, variant):
    """Without --hold it is 5 ms: far less than the 5 s that the other tests give."""
    app = start(variant)
    app.calls("over-int", 1)
    before = app.count("static")
    live = place_probe.start("-c", "-j", "--strict", app.pid, follow.KINDS["static"],
                             patient=False)
    live.wait_attached().suspend()
    began = time.monotonic()
    app.calls("static", 1)
    took = time.monotonic() - began
    live.resume()
    # With the other bound: until place-probe has not been seen alive for 5 s.
    assert took < 4, f"{took:.1f} s"
    app.calls("static", 50)
    made = {"static": app.count("static") - before}
    result = live.stop()
    assert follow.check_bounded(result, made) == {"static"}, str(result)
    assert "hold-timed-out" in follow.reasons_of(result, "static"), str(result)


# After so many in a row nobody is held any more.
TIMEOUTS = 3


@pytest.mark.parametrize("variant", ["fd10", "il8"])
def test_holding_stops_by_itself(place_probe, start, variant):
    """After repeated time-outs nobody is kept waiting any more, and that is said."""
    app = start(variant)
    # All of them together take less than the half second after which a place-probe that stands still counts as dead.
    bound = 0.05
    followed = Followed(place_probe, app, COLD, "--hold", str(int(1000 * bound)))
    followed.live.suspend()
    began = time.monotonic()
    for kind in COLD:
        app.calls(kind, 1)
    took = time.monotonic() - began
    followed.live.resume()
    for kind in COLD:
        app.calls(kind, 20)
    result, made = followed.end()
    follow.check_bounded(result, made)
    reasons = {kind: follow.reasons_of(result, kind) for kind in COLD}
    timed_out = [kind for kind in COLD if "hold-timed-out" in reasons[kind]]
    # On a machine so busy that it counts as dead before, it is fewer.
    assert timed_out in [COLD[:count] for count in range(1, TIMEOUTS + 1)], str(result)
    assert took >= bound * len(timed_out), f"{took:.3f} s"
    assert all("not-held" in reasons[kind] for kind in COLD[TIMEOUTS:]), str(result)
    said = [line for line in result.err.splitlines()
            if re.match(r"place-probe: .*\bh[eo]ld", line) and
            re.search(r"\bstop|no longer|no more|any more", line)]
    assert said, str(result)


# Huge pages ---------------------------------------------------------------------------------

def may_have_huge_pages(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return re.search(r"^THP_enabled:\s*([01])$", status, re.MULTILINE)[1] == "1"


@pytest.mark.breakpoints(needed=False)
def test_no_huge_pages(place_probe, app, tmp_path):
    """On busy CPUs khugepaged would lock its memory for seconds. Nobody else loses them by that."""
    usual = may_have_huge_pages("self")
    live = place_probe.count(app.pid, follow.KINDS["static"])
    assert not may_have_huge_pages(live.process.pid)
    assert may_have_huge_pages(app.pid) == usual
    live.stop().expect(0)
    started = place_probe.run("-c", "-o", tmp_path / "counts", "libc.so.6!exit", "--", "grep",
                              "^THP_enabled:", "/proc/self/status").expect(0)
    assert started.out.split() == ["THP_enabled:", str(int(usual))], str(started)


# Killed ---------------------------------------------------------------------------------------

@pytest.mark.breakpoints(needed=False)
@pytest.mark.parametrize("variant", [pytest.param("fd10", marks=pytest.mark.kernel), "il9", "il8"])
def test_killed_during_a_hold(place_probe, start, variant):
    """Whoever is held goes on, and nobody else has waited at all. How long others stand still while place-probe does
    its work is to be seen by tests/bench/run."""
    bound = 2
    app = start(variant)
    app.calls("over-int", 1)
    app.watch()
    followed = Followed(place_probe, app, ["static"], "--hold", str(1000 * bound))
    followed.live.suspend()
    before = machine.system_seconds(app.pid)
    began = time.monotonic()
    app.tell("calls static 10 0")
    # It is held within the kernel, where it does nothing but look at the clock.
    machine.wait_until(lambda: machine.system_seconds(app.pid) > before + 0.2, "a thread is held")
    assert followed.live.stop(signal.SIGKILL).code == -signal.SIGKILL
    assert app.answer("done")[2] == "10"
    took = time.monotonic() - began
    assert took < 2 * bound * machine.SCALE, f"{took:.1f} s"
    longest, _ = app.pauses()
    print(f"held for {took:.2f} s; another thread paused for {longest} us at most")
    assert longest < bound * 1e6 / 2, f"another thread stood still for {longest} us"
    app.calls("static", 1000, threads=4)
    app.calls("over-int", 1000, threads=4)
    assert app.quit(3) == 3


@pairs.choose("variant, when", itertools.product(["fd10", "r2r10", "sc8"], ["attached", "instrumented", "tier1"]),
              lambda variant, when: (pairs.code_of(variant), when))
def test_killed_while_it_follows(place_probe, start, variant, when):
    """At full speed, between two tiers: the target goes on, and ends as ever."""
    app = start(variant)
    followed = Followed(place_probe, app, ["static"], "-v")
    app.run("static", 8)
    if when != "attached":
        followed.live.wait_err(rf"{re.escape(apps.METHODS['static'])} \[{when}\]")
    assert followed.live.stop(signal.SIGKILL).code == -signal.SIGKILL
    killed = app.count("static")
    app.calls("over-int", 1000, threads=4)
    assert app.halt() == 8
    assert app.count("static") > killed, "nobody calls any more"
    # The next one finds everything as if nobody had been there.
    followed = Followed(place_probe, app, ["static"])
    app.calls("static", CALLS // 10, threads=8)
    settle(place_probe, app, ["static"])
    followed.end_exact()
    assert app.quit(4) == 4


@pytest.mark.parametrize("variant", ["fd10", "r2r10"])
def test_interrupted_while_it_follows(place_probe, start, variant):
    """Ctrl-C in the middle: an orderly end, with no more than had been called until then."""
    app = start(variant)
    live = place_probe.count("--strict", app.pid, follow.KINDS["static"])
    app.run("static", 8)
    seen = app.count("static")
    result = live.stop()
    calls = app.count("static")
    follow.check_consistent(result, {"static": calls})
    counted = follow.calls_of(result, "static")
    # A call under way in each thread may have been counted here and not yet by the target.
    assert seen <= counted <= calls + 8, f"{seen} before it ended and {calls} after: {result}"
    assert app.halt() == 8
