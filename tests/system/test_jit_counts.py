# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of code that was compiled at run time, by hardware breakpoint: as many as the target
itself counted, whoever makes them, or it is said that they may be more."""

import itertools
import os
import pathlib
import re
import signal
import subprocess

import pytest

from helpers import apps, machine, pairs
from helpers.gdb import Gdb

pytestmark = pytest.mark.breakpoints

FINALS = apps.FINALS
FINAL = FINALS["final-static"]
STATIC = apps.METHODS["static"]
FOUR = ["final-static", "final-other", "final-text", "final-recurse"]
FIVE = [*FOUR, "final-instance"]
# The one that is also there on the other kernels.
R2R10 = pytest.param("r2r10", marks=pytest.mark.kernel)
VARIANTS = ["fd10", R2R10, "sc8", "sc9", "sc10", "sf8", "sf10", "sfc10"]


@pytest.fixture
def start_final(start_app, build_app):
    """start_final(VARIANT, ...): a tiered target whose methods in FINALS have been compiled."""
    def start(variant="r2r10", extra=None):
        build_app("native")
        app = start_app(variant, tiered=True, extra=extra)
        for kind in FINALS:
            app.calls(kind, 1)
        return app

    return start


@pytest.fixture
def app(start_final):
    return start_final()


def check_exact(result, made):
    """The calls of each kind were counted, and nothing makes the counts doubtful."""
    assert result.code == 0, str(result)
    methods = {**apps.METHODS, **FINALS}
    assert {kind: result.calls(methods[kind]) for kind in made} == made, str(result)
    summary = result.summary()
    assert (summary["lost"], summary["lower_bound"]) == ({}, []), str(result)
    assert summary["hits"] == sum(made.values()), str(result)


def check_partial(result, made, left_out):
    """All but so many were counted exactly; those left out were not counted at all, and that
    is said."""
    counts = {kind: result.calls(FINALS[kind]) for kind in made}
    wrong = {kind: count for kind, count in counts.items() if count != made[kind]}
    assert len(wrong) == left_out and set(wrong.values()) <= {0}, f"{counts} of {made}\n{result}"
    if left_out:
        assert "debug register" in result.err, str(result)
        assert result.summary()["lower_bound"], str(result)


def count_finals(place_probe, app, kinds, act, *options):
    """What is counted while `act()` makes calls; with --strict, so that any doubt is a failure."""
    live = place_probe.count("--strict", *options, app.pid, *(FINALS[kind] for kind in kinds))
    act()
    return live.stop()


def make_calls(app, kinds, first=100):
    """A different number of calls of each kind, on several threads; returns how many."""
    made = {}
    for number, kind in enumerate(kinds):
        made[kind] = app.calls(kind, first + 10 * number, threads=4)
    return made


# Exact ------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", FINALS)
def test_kind(place_probe, app, kind):
    """One of each kind of method: also generic, recursive, throwing, by way of a stub."""

    def act():
        app.calls(kind, 50)
        app.calls(kind, 150, threads=3)

    check_exact(count_finals(place_probe, app, [kind], act), {kind: 200})


def use_threads(app, kind):
    """Threads that were there before, that come later, that come of each other."""
    app.work(kind, 3000)
    app.calls(kind, 16000, threads=8)
    app.nested(kind, 999, threads=9)
    app.calls(kind, 1)
    return 20000


@pytest.mark.parametrize("variant", VARIANTS)
def test_threads(place_probe, start_final, variant):
    app = start_final(variant)
    app.workers(5)
    check_exact(count_finals(place_probe, app, ["final-static"],
                             lambda: use_threads(app, "final-static")), {"final-static": 20000})


@pytest.mark.parametrize("variant", ["fd10", "sc9", "sc8"])
def test_threads_without_double_mapping(place_probe, start_final, variant):
    """W^X turned off: the code is in plain anonymous memory."""
    app = start_final(variant, extra={"DOTNET_EnableWriteXorExecute": "0"})
    app.workers(5)
    check_exact(count_finals(place_probe, app, ["final-static"],
                             lambda: use_threads(app, "final-static")), {"final-static": 20000})


def wait_for_state(place_probe, app, method, tier, state, act):
    """Do something until a method has a body in that tier and state."""

    def is_there():
        act()
        sites = place_probe.run("-l", "-j", app.pid, method).expect(0).records("site")
        return (tier, state) in {(site["tier"], site["state"]) for site in sites}

    machine.wait_until(is_there, f"{method} has a {state} body in {tier}", seconds=30)


@pairs.choose("variant, kind", itertools.product(["fd10", "r2r10", "sc8", "sc9", "sfc10"], ["static", "virtual"]),
              lambda variant, kind: (pairs.code_of(variant), kind))
def test_warm(place_probe, start_app, variant, kind):
    """A method that tiering has brought to its last body."""
    app = start_app(variant, tiered=True)
    method = apps.METHODS[kind]
    wait_for_state(place_probe, app, method, "tier1", "current", lambda: app.calls(kind, 50))
    app.workers(4)
    live = place_probe.count("--strict", app.pid, method)
    use_threads(app, kind)
    result = live.stop()
    check_exact(result, {kind: 20000})
    count, = result.records("count")
    assert {"tier": "tier1", "calls": 20000} in count["bodies"], count


@pytest.mark.parametrize("variant", [R2R10, "sc8"])
def test_children_are_not_counted(place_probe, start_final, variant):
    """A child takes the thread's debug registers with it, and may even share its memory."""
    app = start_final(variant)

    def act():
        app.calls("final-static", 100)
        for how in ("fork", "vfork", "clone"):
            app.child(how, "final-static", 500)
        app.child("spawn", "final-static", 500)
        app.run_true(3)
        app.calls("final-static", 20, threads=2)

    check_exact(count_finals(place_probe, app, ["final-static"], act), {"final-static": 120})


def test_other_process_is_not_counted(place_probe, start_final, start_app):
    """One that has the same code at the same address, since both do without randomisation."""
    at = {}
    for _ in range(10):
        other = start_app("fd10", tiered=True, before=["setarch", "--addr-no-randomize"])
        other.calls("final-static", 1)
        address, = addresses_of(place_probe, other, ["final-static"])
        app = at.setdefault(address, other)
        if app is not other:
            break
    assert app is not other, f"no two had it at the same address: {at}"

    def act():
        other.calls("final-static", 2000, threads=2)
        app.calls("final-static", 30)

    check_exact(count_finals(place_probe, app, ["final-static"], act), {"final-static": 30})


@pytest.mark.kernel
def test_main_thread_gone_before(place_probe, app):
    app.workers(2)
    app.exit_main()

    def act():
        app.calls("final-static", 500, threads=2)
        app.work("final-static", 300)

    check_exact(count_finals(place_probe, app, ["final-static"], act), {"final-static": 800})


@pytest.mark.kernel
def test_main_thread_goes_meanwhile(place_probe, app):
    app.workers(2)

    def act():
        app.calls("final-static", 10)
        app.exit_main()
        app.calls("final-static", 500, threads=2)
        app.work("final-static", 300)

    check_exact(count_finals(place_probe, app, ["final-static"], act), {"final-static": 810})


@pytest.mark.parametrize("variant", [R2R10, "sc9", "sc8"])
def test_exceptions_and_collections(place_probe, start_final, variant):
    app = start_final(variant)
    kinds = ["final-throws", "final-finally", "final-recurse", "final-ref"]

    def act():
        app.storm(True)
        for kind in kinds:
            app.calls(kind, 200, threads=4)
        app.storm(False)

    check_exact(count_finals(place_probe, app, kinds, act), {kind: 200 for kind in kinds})


@pytest.mark.kernel
def test_threads_that_begin_while_it_attaches(place_probe, app):
    """Each thread is either seen when it attaches or is the child of one that was."""
    threads = 0
    for _ in range(4):
        app.tell("workers 60")
        live = place_probe.count("--strict", app.pid, FINAL)
        app.answer("workers")
        threads += 60
        app.work("final-static", 10 * threads)
        check_exact(live.stop(), {"final-static": 10 * threads})


def test_thread_storm(place_probe, app):
    """Threads come and go all the time, also between two looks at which there are."""

    def act():
        app.answer("done")
        app.calls("final-static", 200, threads=100)

    app.tell("calls final-other 3000 1000")
    check_exact(count_finals(place_probe, app, ["final-static"], act), {"final-static": 200})


def test_both_mechanisms_at_once(place_probe, start_app):
    """Precompiled methods by uprobe and compiled ones by breakpoint, in one run."""
    app = start_app("r2r10")
    kinds = ["static", "over-two", "final-static", "final-text"]
    for kind in kinds:
        app.calls(kind, 1)
    methods = {**apps.METHODS, **FINALS}
    live = place_probe.count(app.pid, *(methods[kind] for kind in kinds))
    made = make_calls(app, kinds)
    result = live.stop().expect(0)
    assert {kind: result.calls(methods[kind]) for kind in kinds} == made, str(result)
    assert result.summary()["lost"] == {}


def test_compressed_single_file(place_probe, start_app):
    """Precompiled code that is in no file: two of the app's methods, two of the framework's."""
    app = start_app("sfc10")
    sleep = "System.Threading.Thread::Sleep(int32)"
    app.calls("static", 1)
    app.calls("over-two", 1)
    live = place_probe.count(app.pid, STATIC, apps.METHODS["over-two"], sleep)
    app.calls("static", 300, threads=3)
    app.calls("over-two", 200)
    app.sleep(100)
    result = live.stop().expect(0)
    counts = [result.calls(name) for name in (STATIC, apps.METHODS["over-two"], sleep)]
    assert counts == [300, 200, 100], str(result)
    assert result.summary()["lost"] == {}


def test_body_that_is_only_a_loop(place_probe, start_app):
    """If its first instruction is where the loop jumps to, turns of the loop are no calls."""
    probed = set()
    for variant in ("fd10", "sc8", "sc9"):
        app = start_app(variant, tiered=True)
        app.calls("final-turn", 1)
        site, = place_probe.run("-l", "-j", app.pid, apps.TURN).expect(0).records("site")
        if site["mechanism"] == "none":
            assert site["reason"] == "entry-is-loop-target", site
            continue
        live = place_probe.count(app.pid, apps.TURN)
        app.calls("final-turn", 100, threads=2)
        assert live.stop().expect(0).calls() == 100
        probed.add(variant)
    assert probed, "the first instruction of each is where its loop jumps to"


# What may still be compiled again -----------------------------------------------------------

def test_not_final(place_probe, start_app):
    """A quick body counts as long as it is there: the target, looked at again, says it still was."""
    app = start_app("fd10", tiered=True)
    app.calls("over-two", 3)
    live = place_probe.count("--strict", app.pid, apps.METHODS["over-two"])
    app.calls("over-two", 20)
    check_exact(live.stop(), {"over-two": 20})


def test_not_final_and_gone(place_probe, start_app):
    """A target that has exited need not be asked what it compiled: that was reported."""
    app = start_app("fd10", tiered=True)
    app.calls("over-two", 3)
    live = place_probe.count("--strict", app.pid, apps.METHODS["over-two"])
    app.calls("over-two", 20)
    assert app.quit() == 0
    check_exact(live.finish(), {"over-two": 20})


def test_other_instantiations_of_a_target_that_is_gone(place_probe, start_app):
    """Final code is that of one instantiation; another is compiled and run, and counted apart."""
    app = start_app("fd10", tiered=True)
    app.calls("final-int", 5)
    live = place_probe.count("--strict", app.pid, "Counted.Finals::Same")
    app.calls("final-int", 10)
    app.calls("final-ref", 100)
    assert app.quit() == 0
    result = live.finish().expect(0)
    assert sorted(record["calls"] for record in result.records("count")) == [10, 100]


@pytest.mark.breakpoints(needed=False)
def test_methods_of_images_in_memory(place_probe, start_app):
    """Those without code are listed too, and doubtful when the target is gone."""
    app = start_app("sfc10", tiered=True)
    sites = place_probe.run("-l", "-j", app.pid, "Counted.Finals::*").expect(0).records("site")
    assert {site["reason"] for site in sites} >= {"not-precompiled"}, sites


def test_superseded_meanwhile(place_probe, start_app):
    """Where nobody is held, calls of a body that is not there yet may be missed; that is said."""
    app = start_app("fd10", tiered=True)
    app.calls("over-two", 3)
    live = place_probe.count("--strict", "--no-hold", app.pid, apps.METHODS["over-two"])
    made = []
    wait_for_state(place_probe, app, apps.METHODS["over-two"], "tier1", "current",
                   lambda: made.append(app.calls("over-two", 100, threads=2)))
    result = live.stop().expect(5)
    assert 0 < result.calls() <= sum(made)
    assert result.summary()["lower_bound"] == ["not-held"]


def test_without_tiering_all_is_final(place_probe, start_app):
    app = start_app("fd10", tiered=False)
    app.calls("static", 1)
    live = place_probe.count("--strict", app.pid, STATIC)
    app.calls("static", 500, threads=5)
    check_exact(live.stop(), {"static": 500})


# Options ----------------------------------------------------------------------------------

def test_hits(place_probe, app):
    live = place_probe.live("-j", "--strict", app.pid, FINALS["final-text"])
    app.calls("final-text", 60, threads=2)
    result = live.stop().expect(0)
    hits = result.records("hit")
    assert len(hits) == 60 and result.summary()["hits"] == 60
    assert {(hit["method"], hit["tier"], hit["pid"]) for hit in hits} == \
        {(FINALS["final-text"], "optimized", app.pid)}
    assert len({hit["tid"] for hit in hits}) == 2
    for hit in hits:
        names = [frame["name"] for frame in hit["stack"]]
        assert names[0] == FINALS["final-text"], names
        assert names[1] == "Counted.Caller::CallFinalText(int32)", names
    # Each thread's in order; of two at a time the one with the longer stack comes later.
    for thread in {hit["tid"] for hit in hits}:
        times = [hit["time_ns"] for hit in hits if hit["tid"] == thread]
        assert times == sorted(times)


def test_more_hits_than_can_be_printed(place_probe, app):
    """What nobody reads meanwhile does not fit, and is told as lost."""
    live = place_probe.live("-j", "--buffer", "4096", app.pid, FINAL)
    live.suspend()
    app.calls("final-static", 30000, threads=4)
    live.resume()
    result = live.stop()
    assert result.code == 0, str(result)[:2000]
    lost = result.summary()["lost"]
    assert lost.keys() == {"ring-buffer-full"} and lost["ring-buffer-full"] > 20000, str(result)[:2000]
    assert len(result.records("hit")) + sum(lost.values()) == 30000


def test_stop_after(place_probe, app):
    live = place_probe.live("-j", "-N", "5", app.pid, FINAL)
    app.calls("final-static", 100, threads=2)
    assert len(live.finish().expect(0).records("hit")) == 5


def test_duration(place_probe, app):
    live = place_probe.count("-d", "0.5", app.pid, FINAL)
    app.calls("final-static", 70)
    assert live.finish().expect(0).calls() == 70


def test_intervals(place_probe, app):
    live = place_probe.live("-c", "-j", "-i", "0.3", app.pid, FINAL)
    app.calls("final-static", 10)
    live.wait_out(lambda text: '"count"' in text, "the first interval")
    app.calls("final-static", 20)
    result = live.stop().expect(0)
    assert len(result.records("count")) >= 2 and result.calls() == 30


@pytest.mark.kernel
def test_latencies_are_read_meanwhile(place_probe, app):
    """A kernel with full preemption may run the target in the middle of a bpf() call, and no program for its hits."""
    live = place_probe.live("-H", "-j", "-i", "0.1", app.pid, FINAL)
    made = sum(app.calls("final-static", 20_000 // machine.SCALE, threads=4) for _ in range(10))
    result = live.stop().expect(0)
    assert sum(record["count"] for record in result.records("hist")) == made, result.err
    assert result.summary()["lost"] == {}, result.err


def test_one_thread(place_probe, app):

    def act():
        app.calls("final-static", 25)
        app.calls("final-static", 400, threads=4)

    check_exact(count_finals(place_probe, app, ["final-static"], act, "-t", app.pid),
                {"final-static": 25})


# Four registers -----------------------------------------------------------------------------

@pytest.mark.parametrize("variant", [R2R10, "sc8"])
def test_four(place_probe, start_final, variant):
    app = start_final(variant)
    made = {}
    result = count_finals(place_probe, app, FOUR, lambda: made.update(make_calls(app, FOUR)))
    check_exact(result, made)


@pytest.mark.kernel
def test_five(place_probe, app):
    """More than there are registers: three are counted exactly, two take turns, and that is said."""
    sites = place_probe.run("-l", "-j", app.pid, *(FINALS[kind] for kind in FIVE)).expect(0) \
        .records("site")
    reasons = [(site["mechanism"], site["reason"]) for site in sites]
    assert sorted(reasons, key=str) == [("breakpoint", None)] * 4 + [("none", "no-debug-register")]

    live = place_probe.count("--strict", app.pid, *(FINALS[kind] for kind in FIVE))
    assert live.sites == 4
    made = make_calls(app, FIVE)
    result = live.stop().expect(5)
    counts = {record["method"]: record for record in result.records("count")}
    for kind in FIVE[:3]:
        assert counts[FINALS[kind]]["calls"] == made[kind], str(result)
        assert counts[FINALS[kind]]["lower_bound"] == [], str(result)
    # Whose turn it was is nobody's business, but the other's count says so.
    doubtful = [kind for kind in FIVE[3:] if counts[FINALS[kind]]["lower_bound"]]
    assert doubtful, str(result)
    for kind in FIVE[3:]:
        assert counts[FINALS[kind]]["calls"] <= made[kind], str(result)
        assert kind in doubtful or counts[FINALS[kind]]["calls"] == made[kind], str(result)
    for kind in doubtful:
        assert counts[FINALS[kind]]["lower_bound"] == ["no-debug-register"], str(result)
        # It may have had its turn for as long as it was called at all.
        assert counts[FINALS[kind]]["watched"] < 1 or counts[FINALS[kind]]["calls"] == made[kind], str(result)
    assert "debug register" in result.err, str(result)


@pytest.mark.kernel
@pytest.mark.parametrize("firsts, seconds", [
    (["final-static", "final-text"], ["final-other", "final-recurse"]),
    (["final-static"], ["final-static"]),
    (FOUR[:3], ["final-instance", "final-interface", "final-ref"]),
    (FOUR, ["final-instance"]),
], ids=["two and two", "the same", "three and three", "four and one"])
def test_two_at_once(place_probe, app, firsts, seconds):
    """What the first has taken the second cannot have: then it says so. Neither counts wrong."""
    first = place_probe.count("--strict", app.pid, *(FINALS[kind] for kind in firsts))
    second = place_probe.start("-c", "-j", app.pid, *(FINALS[kind] for kind in seconds))
    attached = second.has_attached()
    made = make_calls(app, dict.fromkeys([*firsts, *seconds]))
    free = 4 - len(firsts)
    if attached:
        assert free > 0 and second.sites == min(free, len(seconds))
        check_partial(second.stop().expect(0), {kind: made[kind] for kind in seconds},
                      left_out=len(seconds) - second.sites)
    else:
        assert free < len(seconds), "there were registers enough"
        result = second.finish()
        assert result.code == 4 and "debug register" in result.err, str(result)
        assert result.out == "" or result.calls() == 0, str(result)
    check_exact(first.stop(), {kind: made[kind] for kind in firsts})
    # What was taken is free again.
    check_exact(count_finals(place_probe, app, FOUR, lambda: made.update(make_calls(app, FOUR))),
                {kind: made[kind] for kind in FOUR})


def addresses_of(place_probe, app, kinds):
    sites = place_probe.run("-l", "-j", app.pid,
                            *(FINALS[kind] for kind in kinds)).expect(0).records("site")
    assert len(sites) == len(kinds)
    return [site["address"] for site in sites]


def test_beside_a_debugger(place_probe, app):
    """gdb holds two of the registers: two methods are counted exactly, the third is told no."""
    gdb = Gdb(app.pid, addresses_of(place_probe, app, ["final-instance", "final-interface"]))
    try:
        two = ["final-static", "final-other"]
        made = {}
        result = count_finals(place_probe, app, two, lambda: made.update(make_calls(app, two)))
        check_exact(result, made)
        three = [*two, "final-text"]
        result = count_finals(place_probe, app, three,
                              lambda: made.update(make_calls(app, three)))
        assert result.code == 5, str(result)
        check_partial(result, made, left_out=1)
        gdb.detach()
        # The kernel keeps a debugger's registers for it, for as long as the thread lives.
        result = count_finals(place_probe, app, two, lambda: made.update(make_calls(app, two)))
        check_exact(result, {kind: made[kind] for kind in two})
    finally:
        gdb.close()
    app.calls("final-instance", 10, threads=2)
    assert app.quit(0) == 0


# Its end ------------------------------------------------------------------------------------

@pytest.mark.kernel
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed(place_probe, app, number):
    """However it ends, the registers are free and the target goes on."""
    for _ in range(3):
        live = place_probe.count(app.pid, *(FINALS[kind] for kind in FOUR))
        app.tell("calls final-static 2000 4")
        live.stop(number)
        app.answer("done")
    made = {}
    result = count_finals(place_probe, app, FOUR, lambda: made.update(make_calls(app, FOUR)))
    check_exact(result, made)
    assert app.quit(7) == 7


@pytest.mark.kernel
def test_target_exits(place_probe, app):
    live = place_probe.count("--strict", app.pid, FINAL)
    app.calls("final-static", 60, threads=3)
    assert app.quit(5) == 5
    check_exact(live.finish(), {"final-static": 60})


def test_target_is_killed(place_probe, app):
    live = place_probe.count(app.pid, FINAL)
    app.calls("final-static", 60, threads=3)
    os.kill(app.pid, signal.SIGKILL)
    app.process.wait()
    assert live.finish().expect(0).calls() == 60


def test_unloaded_meanwhile(place_probe, app, build_app):
    """The probed method's assembly is unloaded: its memory may become anything else's."""
    plugin = build_app("plugin")
    app.plugin("collectible", plugin, "menagerie")
    live = place_probe.count(app.pid, "Plugin.Bodies::Once", FINAL)
    app.plugin("collectible", plugin, "menagerie")
    assert app.unload() == 0
    app.calls("final-static", 50)
    result = live.stop().expect(0)
    assert result.calls("Plugin.Bodies::Once") == 1, str(result)
    assert result.calls(FINAL) == 50


# perf -----------------------------------------------------------------------------------------

POLL = 7  # the number of that system call


def is_polling(pid):
    return pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0] == str(POLL)


def test_dry_run(place_probe, app, tmp_path):
    """perf takes the commands as they are printed, and sees the same calls."""
    kinds = ["final-static", "final-text"]
    result = place_probe.run("-n", app.pid, *(FINALS[kind] for kind in kinds)).expect(0)
    lines = [line for line in result.out.splitlines() if line and not line.startswith("#")]
    assert all(line.startswith("perf ") for line in lines), result.out
    record = [line for line in lines if line.startswith("perf record")]
    printed = {int(address, 16) for line in record
               for address in re.findall(r"mem:0x([0-9a-f]+)(?:/\d+)?:x", line)}
    assert printed == set(addresses_of(place_probe, app, kinds)), result.out
    assert not any("perf probe" in line for line in lines), "there is nothing for uprobes"

    running = []
    for number, line in enumerate(record):
        directory = tmp_path / str(number)
        directory.mkdir()
        assert re.search(rf"-p '?{app.pid}\b", line), line
        running.append((directory, line, subprocess.Popen(
            ["/bin/bash", "-c", f"exec {line}"], cwd=directory, stdin=subprocess.DEVNULL,
            stdout=(directory / "said").open("w"), stderr=subprocess.STDOUT)))
    try:
        for directory, line, process in running:
            machine.wait_until(lambda: list(directory.glob("perf.data*")) or process.poll(),
                               "perf records")
            assert process.poll() is None, f"{line}\n{(directory / 'said').read_text()}"
        # perf does not say when its events are there: it waits for them once they are enabled.
        for _, _, process in running:
            machine.wait_until(lambda: is_polling(process.pid), "perf waits for events", seconds=30)
        app.calls("final-static", 30)
        app.calls("final-text", 20)
    finally:
        for _, _, process in running:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
    samples = 0
    for directory, line, _ in running:
        listed = machine.run("perf", "script", "-F", "ip,event", "-i",
                             next(directory.glob("perf.data*")))
        samples += len(listed.stdout.splitlines())
    assert samples == 50, f"{record}\n{(running[0][0] / 'said').read_text()}"
