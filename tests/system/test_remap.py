# SPDX-License-Identifier: GPL-2.0-or-later
"""--remap: any number of methods compiled at run time by uprobes, exactly; the target's mapping is private for so
long only, and the run ends where code changes that was thought to be final."""

import os
import pathlib
import re
import signal
import types

import pytest

from helpers import apps, breakpoints, inject, machine, records
from helpers.gdb import Gdb

FINALS = apps.FINALS
CODE = "doublemapper"
# All that is not precompiled is compiled: so there is much code before and behind what is probed.
ALL_COMPILED = {"DOTNET_ReadyToRun": "0", "DOTNET_TieredPGO": "0"}
VARIANTS = ["fd10", "il9", "il8"]
MUSL = ["musl10", "musl8"]

pytestmark = [pytest.mark.stepped,
              pytest.mark.skipif(not machine.is_root(), reason="only root can make code private")]


def bodies(pid):
    """{method: [(address, sealed, tier)]} of all that is compiled, by tests/tools/sealed.c."""
    found = {}
    for line in machine.run(machine.tool("sealed"), pid).stdout.splitlines():
        state, address, tier, method = line.split(" ", 3)
        found.setdefault(method, []).append((int(address, 16), state == "sealed", tier))
    return found


def are_sealed(pid, methods):
    known = bodies(pid)
    return all(all(sealed for _, sealed, _ in known.get(method, [(0, False, "")])) for method in methods)


def seal(app, methods):
    """Have other code compiled until the pages of these methods' bodies are full."""
    for kind in apps.METHODS:
        app.calls(kind, 1)
        if are_sealed(app.pid, methods):
            return
    raise AssertionError(f"some of {methods} lie on pages that may be written to")


@pytest.fixture
def start(start_app, build_app):
    """start(VARIANT): a target whose methods in FINALS are compiled, and lie on sealed pages."""
    def start(variant="fd10"):
        build_app("native")
        app = start_app(variant, tiered=True, extra=ALL_COMPILED)
        for kind in FINALS:
            app.calls(kind, 1)
        seal(app, FINALS.values())
        return app

    return start


def check_restored(app):
    """Nothing is private any more, no page is a copy, and the target ends as it should."""
    assert not inject.is_private(app.pid, CODE)
    assert inject.anonymous(app.pid, CODE) == 0
    assert app.quit(7) == 7


def call_all(app, first=1000):
    """A different number of calls of each, on several threads; returns how many."""
    return {kind: app.calls(kind, first + 10 * number, threads=3) for number, kind in enumerate(FINALS)}


# Exact ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", [*VARIANTS, *MUSL])
def test_counts(place_probe, start, variant):
    """Of three times as many methods as there are debug registers, as many calls as the target has counted."""
    app = start(variant)
    live = place_probe.count("--strict", "--remap", app.pid, *FINALS.values())
    assert live.sites == len(FINALS) > 4 and live.has_said("by uprobe_multi$")
    assert inject.is_private(app.pid, CODE) and inject.anonymous(app.pid, CODE) > 0
    made = call_all(app)
    result = live.stop().expect(0)
    assert {kind: result.calls(method) for kind, method in FINALS.items()} == made, str(result)
    assert result.summary()["lower_bound"] == [], str(result)
    check_restored(app)


def test_newest(place_probe, start_app, build_app):
    """.NET 11 puts stubs between bodies more often, and pages with stubs are never sealed: those that are will do."""
    build_app("native")
    app = start_app("sc11", extra=ALL_COMPILED)
    methods = FINALS | {kind: method for kind, method in apps.METHODS.items() if method.endswith(")")}
    for kind in [*methods, *apps.MOVING]:
        app.calls(kind, 1)
    methods = {kind: method for kind, method in methods.items() if are_sealed(app.pid, [method])}
    assert len(methods) > 4
    live = place_probe.count("--strict", "--remap", app.pid, *methods.values())
    assert live.has_said("by uprobe_multi$") and inject.is_private(app.pid, CODE)
    made = {kind: app.calls(kind, 1000 + 10 * number, threads=3) for number, kind in enumerate(methods)}
    result = live.stop().expect(0)
    assert {kind: result.calls(method) for kind, method in methods.items()} == made, str(result)
    check_restored(app)


@pytest.mark.kernel
def test_other_kernel(place_probe, start_app):
    """Without uprobe_multi as well. In emulation all takes long, so few are asked for, and nobody looks for seals."""
    app = start_app("fd10", tiered=True, extra=ALL_COMPILED)
    app.calls("final-static", 1)
    app.calls("final-finally", 1)
    for kind in apps.METHODS:
        app.calls(kind, 1)
    methods = {kind: FINALS[kind] for kind in ("final-static", "final-finally")}
    live = place_probe.count("--strict", "--remap", app.pid, *methods.values())
    assert live.has_said("probes: one thread of it was stopped for") and inject.is_private(app.pid, CODE)
    made = {kind: app.calls(kind, 200 + number, threads=2) for number, kind in enumerate(methods)}
    result = live.stop().expect(0)
    assert {kind: result.calls(method) for kind, method in methods.items()} == made, str(result)
    check_restored(app)


@pytest.mark.parametrize("mode", ["-f", "hits"])
def test_stacks(place_probe, start, mode):
    app = start()
    options = ["-f"] if mode == "-f" else []
    live = place_probe.live("-j", "--strict", "--remap", *options, app.pid, *FINALS.values())
    made = {kind: app.calls(kind, 20) for kind in FINALS}
    result = live.stop().expect(0)
    if mode == "-f":
        stacks = [(record["stack"], record["count"]) for record in result.records("folded")]
    else:
        stacks = [([frame["name"] for frame in reversed(record["stack"])], 1)
                  for record in result.records("hit")]
    for kind, method in FINALS.items():
        name = method.split("(")[0].split("[")[0]
        count = sum(number for frames, number in stacks if frames[-1] and frames[-1].startswith(name))
        if kind not in ("final-int", "final-ref"):
            assert count == made[kind], f"{kind}\n{result}"
    assert all(any("Counted.Caller" in (frame or "") for frame in frames) for frames, _ in stacks), str(result)
    check_restored(app)


@pytest.mark.parametrize("variant", [*VARIANTS, *MUSL])
def test_histograms(place_probe, start, variant):
    """Entries and exits have uprobes, however many exits there are."""
    app = start(variant)
    live = place_probe.live("-H", "-j", "--strict", "--remap", app.pid, *FINALS.values())
    assert live.sites == len(FINALS)
    made = call_all(app, first=300)
    result = live.stop().expect(0)
    counted = {record["method"]: record["count"] + record.get("unwound", 0) for record in result.records("hist")}
    for kind, method in FINALS.items():
        assert counted.get(method) == made[kind], f"{kind}\n{result}"
    check_restored(app)


def test_while_code_comes(place_probe, start, build_app):
    """Ever more is compiled behind what is probed, with collections and exceptions meanwhile."""
    app = start()
    plugin = build_app("plugin")
    app.storm(True, gentle=True)
    app.grow(True, plugin)
    for _ in range(5):
        live = place_probe.count("--strict", "--remap", app.pid, *FINALS.values())
        assert live.sites == len(FINALS)
        made = call_all(app)
        app.run_true(5)
        result = live.stop().expect(0)
        assert {kind: result.calls(method) for kind, method in FINALS.items()} == made, str(result)
    app.grow(False, plugin)
    app.storm(False)
    check_restored(app)


def test_tiered(place_probe, start_app):
    """Hot methods of tier-1, and what is not sealed beside them: by registers, and said."""
    app = start_app("fd10", tiered=True, extra=ALL_COMPILED)
    kinds = ["static", "instance", "virtual", "interface", "delegate", "over-int", "over-string", "over-two"]

    def hot():
        for kind in kinds:
            app.calls(kind, 5000)
        known = bodies(app.pid)
        return all(any(tier == "tier1" for _, _, tier in known.get(apps.METHODS[kind], [])) for kind in kinds)

    machine.wait_until(hot, "all are in their last tier")
    seal(app, [apps.METHODS[kind] for kind in kinds])
    live = place_probe.count("--strict", "--remap", app.pid, *(apps.METHODS[kind] for kind in kinds))
    made = {kind: app.calls(kind, 2000 + number, threads=2) for number, kind in enumerate(kinds)}
    result = live.stop().expect(0)
    assert {kind: result.calls(apps.METHODS[kind]) for kind in kinds} == made, str(result)
    check_restored(app)


# Moving ---------------------------------------------------------------------------------------

MOVED = re.compile(r"(\d+) bod.* moved to uprobes")
FOUR = ["final-static", "final-other", "final-finally", "final-struct"]


def wait_moved(live, number):
    """Wait until so many bodies have moved, at least."""
    machine.wait_until(lambda: sum(map(int, MOVED.findall(live.err_so_far()))) >= number, f"{number} bodies move")


@pytest.mark.breakpoints
@pytest.mark.parametrize(("variant", "mode"), [*((variant, "-c") for variant in VARIANTS), ("fd10", "hits")])
def test_moving(place_probe, start_app, variant, mode):
    """Bodies move from registers to uprobes while threads enter them without a pause: each call counts once."""
    app = start_app(variant, tiered=True, extra=ALL_COMPILED)
    for kind in FOUR:
        app.calls(kind, 1)
    live = place_probe.live("-v", mode if mode == "-c" else "--no-stack", "-j", "--buffer=256M", "--strict", "--remap",
                            app.pid, *(FINALS[kind] for kind in FOUR))
    assert live.has_said("hardware breakpoints")
    made = {}
    for kind in FOUR:
        before = app.count(kind)
        app.run(kind, 4)
        if kind == FOUR[0]:
            seal(app, [FINALS[kind] for kind in FOUR])
            wait_moved(live, 1)
            assert inject.is_private(app.pid, CODE)
        app.halt()
        made[kind] = app.count(kind) - before
    result = live.stop().expect(0)
    kind_of_record = {"-c": "count", "hits": "hit"}[mode]
    counted = {kind: sum(record.get("calls", 1) for record in result.records(kind_of_record)
                         if record["method"] == FINALS[kind]) for kind in FOUR}
    assert counted == made, str(result)
    check_restored(app)


@pytest.mark.breakpoints
def test_moving_tiers(place_probe, start_app, build_app):
    """What is compiled while it is watched gets uprobes as well; what had no register until then is told."""
    build_app("native")
    app = start_app("fd10", tiered=True, extra=ALL_COMPILED)
    app.calls("final-static", 1)
    live = place_probe.count("-v", "--remap", app.pid, *FINALS.values())
    made = call_all(app)
    seal(app, FINALS.values())
    wait_moved(live, len(FINALS))
    assert inject.anonymous(app.pid, CODE) > 0
    for _ in range(3):
        for kind, calls in call_all(app).items():
            made[kind] += calls
    result = live.stop().expect(0)
    doubtful = {record["method"] for record in result.records("count") if record["lower_bound"]}
    for kind, method in FINALS.items():
        counted = result.calls(method)
        assert counted == made[kind] or (method in doubtful and 3000 <= counted < made[kind]), f"{kind}\n{result}"
    assert result.calls(FINALS["final-static"]) == made["final-static"], str(result)
    check_restored(app)


def latest(app):
    """A kind whose method has just been compiled, and lies on a page that is not full."""
    for kind in FOUR:
        app.calls(kind, 1)
        if not are_sealed(app.pid, [FINALS[kind]]):
            return kind
    raise AssertionError("each page is full")


def timed(result):
    """{method: (calls that have ended, and calls that are not known to)} of -H."""
    return {record["method"]: (record["count"] + record.get("unwound", 0), record.get("not_timed", 0))
            for record in result.records("hist")}


@pytest.mark.breakpoints
@pytest.mark.parametrize("variant", VARIANTS)
def test_moving_timed(place_probe, start_app, variant):
    """Entry and exits move while threads are in calls; each call is timed once, or said not to be."""
    app = start_app(variant, tiered=True, extra=ALL_COMPILED)
    kind = latest(app)
    live = place_probe.live("-v", "-H", "-j", "--strict", "--remap", app.pid, FINALS[kind])
    assert live.has_said("hardware breakpoints")
    before = app.count(kind)
    app.run(kind, 4)
    seal(app, [FINALS[kind]])
    wait_moved(live, 1)
    app.halt()
    made = app.count(kind) - before
    # No breakpoint is left: calls that are still timed are timed by uprobes.
    made += app.calls(kind, 20000, threads=3)
    result = live.stop().expect(0)
    assert timed(result) == {FINALS[kind]: (made, 0)}, str(result)
    check_restored(app)


@pytest.mark.breakpoints
def test_command(place_probe, build_app, short_tmp):
    """All code of a COMMAND comes while it is watched."""
    path = short_tmp / "counts"
    command = place_probe.command(["--hold=5000", "-c", "-j", "-v", "-o", path, "--remap",
                                   *(FINALS[kind] for kind in FOUR), "--", build_app("fd10")])
    app = apps.App(command, apps.environment(tiered=True, extra=ALL_COMPILED), timeout=60)
    try:
        made = {kind: app.calls(kind, 1000, threads=2) for kind in FOUR}
        pid = app.own_pid
        seal(types.SimpleNamespace(pid=pid, calls=app.calls), [FINALS[kind] for kind in FOUR])
        machine.wait_until(lambda: inject.anonymous(pid, CODE) > 0, "they move")
        for kind in FOUR:
            made[kind] += app.calls(kind, 5000, threads=3)
        assert app.quit() == 0
    finally:
        app.close()
    counted = {record["method"]: (record["calls"], record["lower_bound"])
               for record in records.parse(path.read_text()) if record["type"] == "count"}
    assert counted == {FINALS[kind]: (made[kind], []) for kind in FOUR}


# What is shown --------------------------------------------------------------------------------


def test_list(place_probe, start):
    app = start()
    sites = place_probe.run("--list", "-j", "--remap", app.pid, *FINALS.values()).expect(0).records("site")
    placed = [site for site in sites if site["state"] == "current"]
    assert len(placed) == len(FINALS)
    for site in placed:
        assert (site["mechanism"], site["file"]) == ("uprobe", "memfd:doublemapper"), site
        row = next(row for row in inject.rows(app.pid, CODE) if row[0] <= site["address"] < row[1])
        assert site["file_offset"] == site["address"] - row[0] + row[3]
    plain = place_probe.run("--list", "-j", app.pid, *FINALS.values()).expect(0).records("site")
    assert "uprobe" not in {site["mechanism"] for site in plain}
    dry = place_probe.run("--dry-run", "--remap", app.pid, *FINALS.values()).expect(0)
    assert dry.out.count("mapped privately, which perf cannot do") == len(FINALS), str(dry)
    check_restored(app)


@pytest.mark.breakpoints
def test_frontier(place_probe, start_app):
    """What was compiled last has a register, as its page is still written to."""
    app = start_app("fd10", tiered=True, extra=ALL_COMPILED)
    app.calls("static", 1)
    app.calls("final-static", 1)
    assert not are_sealed(app.pid, [FINALS["final-static"]])
    live = place_probe.count("--strict", "--remap", app.pid, FINALS["final-static"])
    assert live.has_said("1 of 1 bodies .* may still write to")
    assert not inject.is_private(app.pid, CODE)
    made = app.calls("final-static", 500, threads=2)
    assert live.stop().expect(0).calls() == made
    check_restored(app)


def test_without_registers(place_probe, start_app):
    """Where there is none at all, a body on a page that is written to is probed once that is full; until then calls
    are missed, which is said."""
    app = start_app("fd10", tiered=True, extra=ALL_COMPILED)
    app.calls("static", 1)
    app.calls("final-static", 1)
    with breakpoints.all_held():
        live = place_probe.count("-v", "--remap", app.pid, FINALS["final-static"])
        app.calls("final-static", 500)
        seal(app, [FINALS["final-static"]])
        wait_moved(live, 1)
        made = app.calls("final-static", 5000, threads=3)
        result = live.stop().expect(0)
    record, = result.records("count")
    assert record["calls"] == made and record["lower_bound"] == ["no-debug-register"], str(result)
    check_restored(app)


@pytest.mark.breakpoints
def test_no_file(place_probe, start_app):
    """W^X turned off: the code is in plain memory."""
    app = start_app("fd10", tiered=True, extra={**ALL_COMPILED, "DOTNET_EnableWriteXorExecute": "0"})
    app.calls("final-static", 1)
    live = place_probe.count("--strict", "--remap", app.pid, FINALS["final-static"])
    assert live.has_said("1 body .* in plain memory")
    made = app.calls("final-static", 500, threads=2)
    assert live.stop().expect(0).calls() == made
    assert app.quit() == 0


def test_either_means(place_probe, start, by_perf):
    """By perf events as well."""
    app = start()
    live = place_probe.count("--strict", by_perf, "--remap", app.pid, *FINALS.values())
    assert live.sites == len(FINALS) and live.has_said("by perf events")
    made = call_all(app)
    result = live.stop().expect(0)
    assert {kind: result.calls(method) for kind, method in FINALS.items()} == made, str(result)
    check_restored(app)


@pytest.mark.breakpoints
def test_refused(place_probe, start):
    """Where no thread can be stopped there are debug registers, and that is said."""
    app = start()
    gdb = Gdb(app.pid, [])
    live = place_probe.live("-c", "-j", "--remap", app.pid, *FINALS.values())
    assert live.has_said("debug registers only .*: no thread of process .* traces it")
    assert not inject.is_private(app.pid, CODE)
    live.stop().expect(0)
    gdb.detach()
    assert not inject.is_private(app.pid, CODE)


# When it must end -----------------------------------------------------------------------------


def unused_byte(pid, method):
    """The address of a byte between two bodies on the page of @method's."""
    known = sorted(address for found in bodies(pid).values() for address, _, _ in found)
    (address, _, _), = bodies(pid)[method]
    for body in known:
        if (body - 9) // 4096 == address // 4096 and machine.memory_of(pid, body - 9, 1) == b"\0":
            return body - 9
    raise AssertionError("there is no byte to change")


def descriptor(pid):
    """The target's own of the file that its code is in."""
    return next(entry.path for entry in os.scandir(f"/proc/{pid}/fd") if CODE in os.readlink(entry.path))


@pytest.mark.parametrize("where", ["file", "copy"])
def test_guard(place_probe, start, where):
    """One byte on a probed page is changed, where nobody runs it: all is undone within a second."""
    app = start()
    live = place_probe.count("--remap", app.pid, *FINALS.values())
    at = unused_byte(app.pid, FINALS["final-static"])
    row = next(row for row in inject.rows(app.pid, CODE) if row[0] <= at < row[1])
    path, offset = (descriptor(app.pid), at - row[0] + row[3]) if where == "file" else (f"/proc/{app.pid}/mem", at)
    fd = os.open(path, os.O_RDWR)
    try:
        os.pwrite(fd, b"\x01", offset)
        result = live.finish().expect(1)
        if where == "file":
            os.pwrite(fd, b"\0", offset)
    finally:
        os.close(fd)
    assert re.search("code that was thought to be final at 0x[0-9a-f]+ was changed", result.err), str(result)
    app.calls("final-static", 100, threads=2)
    check_restored(app)


def pretend_sealed(app):
    """
    Have the heap say, until something is compiled, that the page of a method, which is the last one, is full; its kind.
    The runtime compiles on a thread of its own too, so that there may be a page behind a method's as soon as it is there.
    """
    for kind in FOUR:
        app.calls(kind, 1)
        (address, _, _), = bodies(app.pid)[FINALS[kind]]
        said = machine.run(machine.tool("heap_end"), app.pid, hex(address)).stdout
        end_at, end = (int(word, 16) for word in said.split())
        if end // 4096 == address // 4096 and end % 4096 != 0:
            break
    else:
        raise AssertionError("no method lies on the last page")
    row = next(row for row in inject.rows(app.pid, CODE) if row[0] <= address < row[1])
    rest = 4096 - end % 4096
    with open(descriptor(app.pid), "r+b", buffering=0) as file:
        file.seek(end - row[0] + row[3])
        file.write(b"\xcc" * rest)
    with open(f"/proc/{app.pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(end_at)
        memory.write((end + rest).to_bytes(8, "little"))
    return kind


@pytest.mark.parametrize("variant", [pytest.param("fd10", marks=pytest.mark.kernel), "il9", "il8"])
def test_compiled_to_a_copy(place_probe, start_app, variant):
    """If the runtime puts a method on a page with probes after all, it is not run before the probes are gone."""
    app = start_app(variant, tiered=True, extra=ALL_COMPILED)
    kind = pretend_sealed(app)
    live = place_probe.count("--hold=5000", "--remap", app.pid, FINALS[kind])
    assert live.has_said("by (uprobe_multi|perf events)$") and inject.is_private(app.pid, CODE)
    made = app.calls(kind, 10)
    for other in ["static", "instance", "final-recurse", "finally", "over-int"]:
        app.calls(other, 50)
    result = live.finish().expect(1)
    assert re.search("it has compiled a method to 0x[0-9a-f]+, where code was thought to be final", result.err), \
        str(result)
    assert "have not waited" not in result.err, str(result)
    assert app.calls(kind, 100, threads=2) == 10 * made
    check_restored(app)


def injector_of(live):
    """The process of it, a child of place-probe's broker's."""
    injector, = machine.children_of(machine.broker_of(live.process.pid))
    return injector


def kill_by_name(live):
    """As `pkill -9 -f place-probe` does, of one run; the injector has another name."""
    pids = [live.process.pid, machine.broker_of(live.process.pid), injector_of(live)]
    named = [pid for pid in pids if b"place-probe" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert named == pids[:2]
    for pid in named:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("kill", [lambda live: live.process.kill(), kill_by_name], ids=["one", "by_name"])
def test_killed(place_probe, start, kill):
    """The injector shares all again, however place-probe ends."""
    app = start()
    live = place_probe.count("--remap", app.pid, *FINALS.values())
    kill(live)
    machine.wait_until(lambda: not inject.is_private(app.pid, CODE), "it is shared again")
    call_all(app)
    check_restored(app)


def test_what_is_closed_first(place_probe, start):
    """Of who is killed the kernel closes the highest descriptor first: the injector waits for no probe to go."""
    app = start()
    live = place_probe.count("--remap", app.pid, *FINALS.values())
    names = {int(entry.name): os.readlink(entry.path) for entry in os.scandir(f"/proc/{live.process.pid}/fd")}
    assert "bpf_link" in "".join(names.values()) or "perf_event" in "".join(names.values())
    assert names[max(names)].startswith("socket:"), names
    live.stop().expect(0)


def test_both_killed(place_probe, start):
    """What then stays private the next run takes over, and shares again; beside another run it is refused."""
    app = start()
    live = place_probe.count("--remap", app.pid, *FINALS.values())
    other = place_probe.start("-c", "-j", "--remap", app.pid, *FINALS.values())
    other.wait_err("another place-probe has probes there")
    other.close()
    injector = injector_of(live)
    os.kill(injector, signal.SIGKILL)
    live.process.send_signal(signal.SIGKILL)
    live.process.wait()
    machine.wait_until(lambda: machine.process_state(injector) in (None, "Z"), "the injector has gone")
    assert inject.is_private(app.pid, CODE)
    call_all(app)
    live = place_probe.count("--strict", "--remap", app.pid, *FINALS.values())
    assert live.sites == len(FINALS) and live.has_said("by uprobe_multi$")
    made = call_all(app)
    assert live.stop().expect(0).calls() == sum(made.values())
    check_restored(app)


def test_target_exits(place_probe, start):
    app = start()
    live = place_probe.count("--remap", app.pid, *FINALS.values())
    made = call_all(app)
    assert app.quit(3) == 3
    assert live.finish().expect(0).calls() == sum(made.values())
