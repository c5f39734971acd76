# SPDX-License-Identifier: GPL-2.0-or-later
"""Each mode under the address, leak and undefined-behaviour sanitizers: the results are right, and nothing is reported.

The fixture sanitizer_reports of tests/conftest.py fails a test for any report. All other system tests can be run like
this too: PLACE_PROBE=build/asan/place-probe tests/check tests/system
"""

import os
import re
import signal

import pytest

from helpers import apps, follow, latency, machine, pairs, sanitizers
from helpers.follow import Followed, settle, tiers_of

STATIC = apps.METHODS["static"]
FOUR = ["final-static", "final-other", "final-text", "final-recurse"]
CALLS = 50_000
pytestmark = pytest.mark.beside


@pytest.fixture(scope="module")
def place_probe_path():
    """Not the one that is tested elsewhere."""
    return sanitizers.built_by("asan")


# That a test fails ---------------------------------------------------------------------------

FAULTS = {
    "heap-buffer-overflow": "volatile char *volatile p = malloc(4); p[4] = 1; free((void *)p);",
    "heap-use-after-free": "volatile char *volatile p = malloc(4); free((void *)p); p[0] = 1;",
    "LeakSanitizer": "void *volatile p = malloc(4); p = NULL;",
    "shift exponent": "volatile int by = 40; volatile int x = 1 << by; (void)x;",
    "signed integer overflow": "volatile int x = 0x7fffffff; x = x + argc;",
}


@pytest.mark.anyone
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_reported(tmp_path, fault):
    """Built as place-probe is: each kind of fault is found, though nobody looks at how the program ended."""
    source = tmp_path / "fault.c"
    source.write_text("#include <stdlib.h>\nint main(int argc, char **argv)\n"
                      f"{{ (void)argc; (void)argv; {FAULTS[fault]} return 0; }}\n")
    makefile = (machine.TREE / "Makefile").read_text()
    options = sanitizers.options_of("asan")
    options += re.search(r"^ASAN_LDFLAGS := .*,((?: ?-\S+)+)\)$", makefile, re.MULTILINE)[1].split()
    assert len(options) > 3, "how does make asan build?"
    machine.run("gcc", "-O1", "-g", *options, source, "-o", tmp_path / "fault")
    with pytest.raises(AssertionError, match=f"(?s)sanitizers have reported:.*{fault}"):
        with sanitizers.none_expected():
            ended = machine.run(tmp_path / "fault", check=False)
            assert ended.returncode != 0 and ended.stderr == "", "the report is in the file"


@pytest.mark.anyone
def test_no_fault_no_report(place_probe):
    """And a run without one leaves no report."""
    with sanitizers.none_expected() as reports:
        place_probe.run("--version").expect(0)
        assert reports.texts() == []


# What is printed and attaches nothing ----------------------------------------------------------

@pytest.mark.parametrize("options", [[], ["-v"], ["-j"], ["-H"], ["--nested"]], ids=" ".join)
def test_list(place_probe, app, options):
    result = place_probe.run("-l", *options, app.pid, "Counted.*::*", "libc.so.6!malloc").expect(0)
    assert STATIC in result.out and "malloc" in result.out, str(result)


def test_dry_run(place_probe, app):
    app.calls("final-static", 1)
    result = place_probe.run("-n", app.pid, "Counted.*::*").expect(0)
    assert "perf probe -x" in result.out and "mem:0x" in result.out, str(result)


def test_what_does_not_go(place_probe, app):
    place_probe.run("-c", app.pid, "Counted.Kinds::Statik").expect(3)
    place_probe.run("-c", app.pid, "/(/").expect(2)
    place_probe.run("--no-such-option").expect(2)
    place_probe.run("-c", machine.unused_pid(), STATIC).expect(1)
    place_probe.run("-o", "/nonexistent/out", app.pid, STATIC).expect(1)
    place_probe.run("-c", "-H", app.pid, STATIC).expect(2)


def test_self_test(place_probe):
    assert "BPF programs for perf events: loaded" in place_probe.run("--self-test").expect(0).out


# Precompiled code ------------------------------------------------------------------------------

@pytest.mark.parametrize("variant", apps.by_lane(pairs.few(["r2r10", "comp10", "sf10", "sfc10", "sc8"], "comp10", "sfc10")))
def test_count(place_probe, start_app, uprobe_by, variant):
    app = start_app(variant)
    live = place_probe.count(uprobe_by, app.pid, STATIC, "Counted.Generics::Same",
                             "System.Threading.Thread::Sleep")
    app.calls("static", 1000, threads=4)
    app.calls("generic-int", 30)
    result = live.stop().expect(0)
    assert result.calls(STATIC) == 1000
    assert result.calls(apps.METHODS["generic-int"]) == 30


@pytest.mark.parametrize("options", pairs.few([["-c"], ["-j"], ["-f"], ["-H", "-j"], ["--format=pprof"]], ["-j"]), ids=" ".join)
def test_record(place_probe, app, tmp_path, options):
    """What has been recorded is told again, by a process that has no privileges either."""
    record, said, again = (tmp_path / name for name in ("record", "said", "again"))
    live = place_probe.live(*options, f"--record={record}", "-o", said, app.pid, STATIC)
    app.calls("static", 50, threads=2)
    live.stop().expect(0)
    place_probe.run(*options, f"--replay={record}", "-o", again).expect(0)
    assert again.read_bytes() == said.read_bytes() != b""


def test_count_thousands(place_probe, app):
    if not machine.has_uprobe_multi():
        pytest.skip("this kernel has no uprobe_multi")
    live = place_probe.count(app.pid, "System.Private.CoreLib!System.*::*")
    assert live.sites > 5000
    app.calls("throws", 10)
    app.sleep(10)
    result = live.stop().expect(0)
    assert result.calls("System.Threading.Thread::Sleep(int32)") == 10


@pytest.mark.parametrize("options", [[], ["-j"], ["-j", "--no-stack"], ["--stack=managed", "-T"],
                                     ["--max-frames=2"]], ids=" ".join)
def test_hits(place_probe, app, options):
    """With the whole stack of an exception's handler, among others."""
    live = place_probe.live(*options, app.pid, STATIC, "Counted.Kinds::Throws", "libc.so.6!malloc")
    app.calls("static", 200, threads=4)
    app.calls("throws", 20)
    result = live.stop().expect(0)
    assert result.out.count('"method":"Counted.Kinds::Static(int32)"' if "-j" in options
                            else "Counted.Kinds::Static(int32) [r2r]") == 200
    if not options:
        assert "  native   " in result.out and "  dotnet   " in result.out, result.out[:2000]


@pytest.mark.parametrize("options", [[], ["-j"], ["-i", "0.2"]], ids=" ".join)
def test_folded(place_probe, app, options):
    live = place_probe.live("-f", *options, app.pid, STATIC)
    app.calls("static", 300, threads=3)
    result = live.stop().expect(0)
    if "-j" in options:
        assert sum(record["count"] for record in result.records("folded")) == 300
    else:
        assert sum(int(line.rpartition(" ")[2]) for line in result.out.splitlines() if line) == 300


@pytest.mark.parametrize("options", [[], ["--by=tid"], ["--by=caller"], ["--hist=linear:0ms:50ms:5ms"],
                                     ["--min=1ms"]], ids=" ".join)
def test_hist(place_probe, start_app, options):
    """Of precompiled code: the calls that the target has made."""
    target = start_app("latency10")
    live = place_probe.live("-H", "-j", *options, target.pid, latency.METHODS["Nap"],
                            latency.METHODS["Throws"], latency.METHODS["Direct"])
    target.ask("nap 2 10 4", "done")
    target.ask("direct 3 20 2", "done")
    result = live.stop().expect(0)
    real = latency.truth(target, "Nap")
    if "--min=1ms" in options:
        naps = [hit for hit in result.records("hit") if hit["method"] == latency.METHODS["Nap"]]
        assert len(naps) == real.returned, str(result)
    else:
        naps = [hist for hist in result.records("hist") if hist["method"] == latency.METHODS["Nap"]]
        assert sum(hist["count"] for hist in naps) == real.returned, str(result)


def test_native(place_probe, app):
    live = place_probe.live("-j", app.pid, "libcoreclr.so!coreclr_*", "libc.so.6!nanosleep",
                            "libc.so.6!clock_nanosleep")
    app.sleep(10)
    live.stop().expect(0)
    counting = place_probe.count(app.pid, "libc.so.6!/^(malloc|free)$/")
    app.calls("static", 10, threads=2)
    assert counting.stop().expect(0).calls("malloc") > 0


def test_maps(place_probe, app, tmp_path):
    """A name that only the map has, and rows that are none."""
    sites = place_probe.run("-l", "-j", app.pid, "counter!*").expect(0).records("site")
    rows = [f"{site['file_offset'] + 0x10000:016X} {site['size']:x} instance void [counter] "
            f"{site['method']}" for site in sorted(sites, key=lambda site: site["file_offset"] or 0)
            if site["tier"] == "r2r"]
    assert len(rows) > 40
    old = tmp_path / "counter.map"
    old.write_text("\n".join([*rows, "garbage"]).replace("Counted.Kinds::Static(",
                                                         "Old.Name::Before(") + "\n")
    live = place_probe.count("--maps", old, app.pid, "Old.Name::Before")
    app.calls("static", 25)
    result = live.stop().expect(0)
    assert result.calls() == 25 and "1 bad row in all" in result.err, str(result)


# Code compiled at run time ---------------------------------------------------------------------

@pytest.mark.registers
@pytest.mark.breakpoints
def test_breakpoints(place_probe, app):
    for kind in FOUR:
        app.calls(kind, 1)
    live = place_probe.live("-c", "-j", "--strict", app.pid, *(apps.FINALS[kind] for kind in FOUR))
    assert live.sites == 4
    for kind in FOUR:
        app.calls(kind, 300, threads=3)
    result = live.stop().expect(0)
    for kind in FOUR[:3]:
        assert result.calls(apps.FINALS[kind]) == 300, str(result)


@pytest.mark.registers
@pytest.mark.breakpoints
def test_hist_of_breakpoints(place_probe, start_app):
    target = start_app("latency10-jit")
    target.ask("nap 1 1 1", "done")
    before = latency.truth(target, "Nap").returned
    live = place_probe.live("-H", "-j", target.pid, latency.METHODS["Nap"])
    target.ask("nap 2 10 4", "done")
    result = live.stop().expect(0)
    assert latency.hist(result, "Nap")["count"] == latency.truth(target, "Nap").returned - before


@pytest.mark.registers
@pytest.mark.breakpoints
@pytest.mark.parametrize("variant", ["fd10", "r2r10", "il9", "sc8"])
def test_follow(place_probe, start, variant):
    """From the first call through all tiers."""
    app = start(variant)
    followed = Followed(place_probe, app, ["static", "box-int"], "-v")
    for kind in ("static", "box-int"):
        app.calls(kind, CALLS, threads=4)
    settle(place_probe, app, ["static", "box-int"])
    app.calls("static", 1000)
    assert "tier1" in tiers_of(followed.end_exact(), "static")


@pytest.mark.registers
@pytest.mark.breakpoints
def test_follow_hist(place_probe, start_app):
    """Exits of new bodies are found while a thread waits."""
    target = start_app("latency10-jit", tiered=True)
    live = place_probe.live("-H", "-j", "-v", target.pid, latency.METHODS["Nap"])
    target.ask("nap 1 200 4", "done")
    result = live.stop().expect(0)
    record = latency.hist(result, "Nap")
    assert record["count"] + record["not_timed"] == latency.truth(target, "Nap").returned, str(result)


@pytest.mark.registers
@pytest.mark.breakpoints
def test_share(place_probe, app):
    """More bodies than registers, by turns."""
    five = [*FOUR, "final-instance"]
    for kind in five:
        app.calls(kind, 1)
    live = place_probe.live("-c", "-j", "-i", "0.1", "--share=20", app.pid,
                            *(apps.FINALS[kind] for kind in five))

    def seen():
        for kind in five:
            app.calls(kind, 10)
        return len({record["method"] for record in live.records_so_far()
                    if record["type"] == "count" and record["calls"]}) == 5

    machine.wait_until(seen, "each has had its turn", 60)
    live.stop().expect(0)


@pytest.mark.registers
@pytest.mark.breakpoints
def test_loaded_and_unloaded(place_probe, start, build_app):
    """An assembly that comes later, and goes again."""
    plugin = build_app("plugin")
    app = start("fd10")
    live = place_probe.count("--wait", app.pid, follow.KINDS["tally"])
    made = app.plugin("collectible", plugin, "tally-threads", 1000)
    app.unload()
    result = live.stop().expect(0)
    assert 0 < made == follow.calls_of(result, "tally"), str(result)


@pytest.mark.registers
@pytest.mark.breakpoints
def test_command(place_probe, build_app, tmp_path):
    """A program from its first call on, and the names of its stacks."""
    output = tmp_path / "output"
    live = place_probe.start("-c", "-j", "--strict", "-o", output, STATIC, "Counted.Program::Main",
                             "libc.so.6!malloc", "--", build_app("fd10"), "--count", "static",
                             CALLS, 4, env=apps.environment(tiered=True))
    result = live.finish().expect(0)
    assert result.out == f"done static {CALLS}\n", str(result)
    result.out = output.read_text()
    assert result.calls(STATIC) == CALLS, str(result)
    hits = tmp_path / "hits"
    live = place_probe.start("-o", hits, "-N", "20", STATIC, "--", build_app("fd10"), "--count",
                             "static", 1000, 0, env=apps.environment(tiered=True))
    live.finish().expect(0)
    assert hits.read_text().count("Counted.Kinds::Static(int32) [") >= 20


# Ends ----------------------------------------------------------------------------------------

@pytest.mark.registers
@pytest.mark.breakpoints
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(place_probe, start, number):
    """While all is going on."""
    app = start("fd10")
    app.run("static", 2)
    live = place_probe.live("-j", app.pid, STATIC, "Counted.Finals::*", "libc.so.6!malloc")
    machine.wait_until(live.records_so_far, "there are hits")
    live.stop(number).expect(0)
    app.halt()


@pytest.mark.registers
@pytest.mark.breakpoints
@pytest.mark.parametrize("options", [["-c"], ["-f"], ["-H"], []], ids=" ".join)
def test_target_is_killed(place_probe, start, options):
    app = start("fd10")
    live = place_probe.live(*options, app.pid, STATIC)
    app.calls("static", 10_000)
    os.kill(app.pid, signal.SIGKILL)
    app.process.wait()
    assert "the target has exited" in live.finish().expect(0).err
