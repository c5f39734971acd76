# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts equal what the target itself counted, whoever calls and however."""

import pathlib
import time

import pytest

from helpers import apps, machine

pytestmark = pytest.mark.beside

STATIC = apps.METHODS["static"]
# Ten times what attaching to all of CoreLib takes: this machine may have other things to do.
SOON = 10 * machine.SCALE


def counted(place_probe, app, pattern, act, *options):
    """The calls that place-probe counts of `pattern` while `act()` happens."""
    live = place_probe.count(*options, app.pid, pattern)
    act()
    result = live.stop().expect(0)
    assert app.alive(), "the target did not survive"
    assert result.summary()["lost"] == {}, str(result)
    return result


@pytest.mark.kernel
def test_threads(place_probe, app, uprobe_by):
    """Exact for threads that were there before, that come later, and for the serving one."""
    app.workers(3)

    def act():
        app.calls("static", 1000)
        app.calls("static", 4000, threads=4)
        app.work("static", 3000)

    assert counted(place_probe, app, STATIC, act, uprobe_by).calls() == 8000


@pytest.mark.kernel
def test_children_are_not_counted(place_probe, app, uprobe_by):
    """A child is another process, also one (vfork, CLONE_VM) that runs in the same memory."""
    app.calls("static", 1)

    def act():
        app.calls("static", 100)
        for how in ("fork", "vfork", "clone"):
            app.child(how, "static", 1000)
        # By Process.Start: first this program, then another.
        app.child("spawn", "static", 1000)
        app.run_true(3)
        app.calls("static", 20)

    assert counted(place_probe, app, STATIC, act, uprobe_by).calls() == 120


@pytest.mark.kernel
def test_other_process_is_not_counted(place_probe, shared_app, start_app, uprobe_by):
    """The same program from the same file, in a process that is not asked about."""
    other = start_app("r2r10")

    def act():
        other.calls("static", 5000, threads=2)
        shared_app.calls("static", 30)

    assert counted(place_probe, shared_app, STATIC, act, uprobe_by).calls() == 30


@pytest.mark.kernel
@pytest.mark.parametrize("means", ["any", "perf"])
def test_main_thread_gone_before(place_probe, app, means):
    """uprobe_multi refuses such a process, and perf events do if asked plainly."""
    app.workers(2)
    app.exit_main()

    def act():
        app.calls("static", 500, threads=2)
        app.work("static", 300)

    assert counted(place_probe, app, STATIC, act, f"--uprobe-by={means}").calls() == 800


@pytest.mark.kernel
def test_main_thread_goes_meanwhile(place_probe, app, uprobe_by):
    app.workers(2)
    live = place_probe.count(uprobe_by, app.pid, STATIC)
    app.calls("static", 10)
    app.exit_main()
    app.work("static", 300)
    app.calls("static", 500, threads=2)
    result = live.stop().expect(0)
    if uprobe_by.endswith("multi"):
        assert result.calls() == 810
    else:
        # A perf event has to move to another thread once place-probe sees that the first one
        # has gone. Calls in between may be missed; then that is said.
        assert 10 <= result.calls() <= 810
        assert result.calls() == 810 or result.summary()["lost"], str(result)


@pytest.mark.kernel
def test_main_thread_goes_and_is_replaced(place_probe, app, by_perf):
    """The perf events hang on another thread, and what was missed until then is told once."""
    app.workers(2)
    live = place_probe.count(by_perf, "-i", "0.1", app.pid, STATIC)
    app.calls("static", 10)
    live.suspend()
    app.exit_main()
    app.work("static", 300)
    live.resume()
    tries = 0

    def are_counted_again():
        nonlocal tries
        tries += app.work("static", 1)
        return sum(record["calls"] for record in live.records_so_far()) > 10

    machine.wait_until(are_counted_again, "the probes hang on another thread")
    app.work("static", 500)
    result = live.stop().expect(0)
    assert result.summary()["lost"] == {"anchor-thread-exited": 1}, str(result)
    assert 10 + 500 < result.calls() <= 10 + tries + 500, str(result)


def test_many_mappings(place_probe, app):
    """60,000 mappings more are read, and quickly enough."""
    app.make_maps(60000)
    result = counted(place_probe, app, STATIC, lambda: app.calls("static", 77))
    assert result.calls() == 77


@pytest.mark.parametrize("kind", apps.METHODS)
def test_kind(place_probe, shared_app, kind):
    """One of each kind of method, probed by its full name."""

    def act():
        shared_app.calls(kind, 50)
        shared_app.calls(kind, 150, threads=3)

    result = counted(place_probe, shared_app, apps.METHODS[kind], act)
    assert result.calls() == 200, str(result)


@pytest.mark.kernel
def test_kinds_by_either_means(place_probe, shared_app, uprobe_by):
    kinds = ["static", "virtual", "generic-ref", "throws", "recurse"]
    live = place_probe.count(uprobe_by, shared_app.pid, *(apps.METHODS[kind] for kind in kinds))
    for kind in kinds:
        shared_app.calls(kind, 90, threads=3)
    result = live.stop().expect(0)
    assert [result.calls(apps.METHODS[kind]) for kind in kinds] == [90] * len(kinds)


def test_all_at_once(place_probe, shared_app):
    """Many patterns in one run, each with its own count."""
    before = {kind: shared_app.count(kind) for kind in apps.METHODS}
    live = place_probe.count(shared_app.pid, *apps.METHODS.values())
    for number, kind in enumerate(apps.METHODS, start=1):
        shared_app.calls(kind, 10 * number)
    result = live.stop().expect(0)
    for kind in apps.METHODS:
        made = shared_app.count(kind) - before[kind]
        assert result.calls(apps.METHODS[kind]) == made > 0, f"{kind}: {result}"


def test_glob_counts_each_method(place_probe, shared_app):
    live = place_probe.count(shared_app.pid, "Counted.Kinds::*")
    shared_app.calls("static", 11)
    shared_app.calls("over-int", 12)
    shared_app.calls("over-two", 13)
    result = live.stop().expect(0)
    assert result.calls("Counted.Kinds::Static(") == 11
    assert result.calls("Counted.Kinds::Over(int32)") == 12
    assert result.calls("Counted.Kinds::Over(int32,int64)") == 13
    assert result.calls("Counted.Kinds::Over(string)") == 0
    assert result.calls() == 36


def test_name_counts_all_overloads_and_instantiations(place_probe, shared_app):

    def act():
        shared_app.calls("over-int", 5)
        shared_app.calls("over-string", 6)
        shared_app.calls("over-two", 7)
        shared_app.calls("generic-int", 8)
        shared_app.calls("generic-ref", 9)
        shared_app.calls("generic-point", 10)

    live = place_probe.count(shared_app.pid, "Counted.Kinds::Over", "Counted.Generics::Same")
    act()
    result = live.stop().expect(0)
    assert result.calls("Counted.Kinds::Over") == 18
    assert result.calls("Counted.Generics::Same") == 27


@pytest.mark.parametrize("pattern", [
    "Counted.Kinds::Over(int,long)", "Counted.Kinds::Over(int32,int64)",
    "Counted.Kinds::Over(System.Int32,System.Int64)", "Counted.Kinds::Over(int, long)",
    "/^Counted\\.Kinds::Over\\(int32,int64\\)$/", "counter!Counted.Kinds::Over(int,long)",
    "Counted.K?nds::Ov*(int,long)",
])
def test_spellings_of_one_overload(place_probe, shared_app, pattern):

    def act():
        shared_app.calls("over-int", 5)
        shared_app.calls("over-two", 7)

    assert counted(place_probe, shared_app, pattern, act).calls() == 7


def test_exceptions_and_collections(place_probe, app):
    """Probes at entries survive what uprobes on returns do not: exceptions and the collector."""

    def act():
        app.storm(True)
        app.calls("throws", 300, threads=3)
        app.calls("finally", 300, threads=3)
        app.calls("recurse", 300, threads=3)
        app.storm(False)

    result = counted(place_probe, app, "Counted.Kinds::*", act)
    assert result.calls() == 900


@pytest.mark.kernel
def test_clock_is_set(place_probe, app):
    """Two hours on, and a day back: all that lasts goes by a clock that nobody sets."""
    if not machine.IS_GUEST:
        pytest.skip("the clock is set in the guests of check-kernels alone")
    began = time.monotonic()
    live = place_probe.count("-i", "1", "-d", "3600", app.pid, STATIC)
    made = 0
    for away in (7200, -86400, 79200):
        machine.run("date", "--set", f"@{int(time.time()) + away}")
        made += app.calls("static", 100)
    assert not live.has_ended()
    result = live.stop().expect(0)
    assert result.calls() == made
    assert 0 < len(result.records("count")) <= time.monotonic() - began + 1, str(result)


@pytest.mark.kernel
def test_machine_is_paused(place_probe, app):
    """As hypervisors do it to take a snapshot, or to move it, in the middle of calls: none is lost."""
    if not machine.IS_GUEST:
        pytest.skip("the machine is paused in the guests of check-kernels alone")
    pause = pathlib.Path("/run/exchange/pause")
    live = place_probe.count("-i", "1", app.pid, STATIC)
    app.tell("calls static 20000 4")
    pause.write_text("3")
    machine.wait_until(lambda: not pause.exists(), "it has been paused", seconds=10)
    made = int(app.answer("done")[2])
    made += app.calls("static", 100)
    result = live.stop().expect(0)
    assert result.calls() == made and result.summary()["lost"] == {}, str(result)


@pytest.mark.kernel
def test_machine_goes_to_sleep(place_probe, app, uprobe_by):
    """All processes are frozen in the middle of calls, as before each sleep, and thawed: none is lost."""
    if not machine.IS_GUEST:
        pytest.skip("the machine is put to sleep in the guests of check-kernels alone")
    power = pathlib.Path("/sys/power")
    # The devices stay as they are: those that the guest's files come by would not come back.
    (power / "pm_test").write_text("freezer")
    pathlib.Path("/sys/module/suspend/parameters/pm_test_delay").write_text("2")
    live = place_probe.count("-i", "1", uprobe_by, app.pid, STATIC)
    app.tell("calls static 20000 4")
    (power / "state").write_text("freeze")
    made = int(app.answer("done")[2])
    made += app.calls("static", 100)
    result = live.stop().expect(0)
    assert result.calls() == made and result.summary()["lost"] == {}, str(result)


def test_one_thread(place_probe, shared_app):
    """-t TID counts that thread's calls alone."""

    def act():
        shared_app.calls("static", 25)
        shared_app.calls("static", 400, threads=4)

    result = counted(place_probe, shared_app, STATIC, act, "-t", str(shared_app.pid))
    assert result.calls() == 25


def test_ten_thousand_methods(place_probe, shared_app):
    """All attached and detached, soon (tests/bench/run says how soon), and the target goes on."""
    if not machine.has_uprobe_multi():
        pytest.skip("this kernel has no uprobe_multi")
    live = place_probe.count(shared_app.pid, "System.Private.CoreLib!*::*", "Counted.Kinds::Static")
    assert live.sites >= 10000
    assert live.attached_after < SOON, f"{live.attached_after} s for {live.sites} sites"
    shared_app.calls("static", 123)
    began = time.monotonic()
    result = live.stop().expect(0)
    assert time.monotonic() - began < SOON, "detaching took too long"
    assert result.calls("Counted.Kinds::Static") == 123
    shared_app.calls("static", 10)
