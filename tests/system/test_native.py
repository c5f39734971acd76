# SPDX-License-Identifier: GPL-2.0-or-later
"""Native functions, asked for as Image!symbol, of processes with a runtime and without."""

import os
import re
import select
import shutil
import signal
import subprocess

import pytest

from helpers import asking, machine
from helpers.latency import is_within

# All but a few are of processes without a runtime that compiles methods.
pytestmark = pytest.mark.beside

THREADS = 4
SLEEP_NS = 5_000_000
# An entry, and a return that the kernel steps over, on a slow virtual machine.
PROBES_NS = 12_000


@pytest.fixture
def start_calls(start_app, calls_program):
    """start_calls(): the native target, which knows what it has called."""
    def start(path=None):
        return start_app("calls", executable=path or calls_program)

    return start


@pytest.fixture
def target(share, calls_program):
    """One for all tests that do not end it: it makes calls, and no more."""
    return share("calls", executable=calls_program)


def make(target, kind, number=1, threads=1):
    """Have the target make calls; how many that were, returns of them, and their nanoseconds as they see
    them themselves, and as their caller does."""
    return [int(word) for word in target.ask(f"{kind} {number} {threads}", "done")[2:]]


@pytest.fixture(scope="module")
def interpreter():
    target = asking.start()
    yield target
    assert target.close() is None


@pytest.fixture
def python(interpreter):
    """An interpreter without a runtime of ours, whose only thread asks for its parent when told to."""
    yield interpreter
    interpreter.check_idle()


def sites(place_probe, pid, *patterns, options=()):
    result = place_probe.run("-l", "-j", *options, pid, *patterns).expect(0)
    return {site["method"]: site for site in result.records("site")}


def exact(result):
    summary = result.summary()
    assert summary["lost"] == {} and summary["lower_bound"] == [], str(result)
    assert "lower bound" not in result.err and "not followed" not in result.err, str(result)
    return result


# What is found ------------------------------------------------------------------------------------


def test_list(place_probe, target):
    found = sites(place_probe, target.pid, "calls!calls_plain", "calls!calls_alias")
    plain, alias = found["calls_plain"], found["calls_alias"]
    assert plain["tier"] == alias["tier"] == "native"
    assert plain["state"] == alias["state"] == "current"
    assert {(site["mechanism"], site["reason"]) for site in (plain, alias)} == {
        ("uprobe", None), ("none", "same-code")}
    assert plain["names_from"] == ["symbols"] and plain["image"] == "calls"
    assert plain["file_offset"] == alias["file_offset"]
    # The bytes that the kernel is told of are those that the process runs.
    size = min(plain["size"], 16)
    with open(plain["file"], "rb") as file:
        file.seek(plain["file_offset"])
        assert file.read(size) == machine.memory_of(target.pid, plain["address"], size)


@pytest.mark.parametrize("pattern, names", [
    ("calls!calls_plain", {"calls_plain"}),
    ("calls!calls_recursiv?", {"calls_recursive"}),
    ("calls!/^calls_(sleep|plain)$/", {"calls_sleep", "calls_plain"}),
    ("ca*s!calls_sleep", {"calls_sleep"}),
    ("calls!shop::till::add", {"shop::till::add(int)", "shop::till::add(shop::order const&)"}),
    ("calls!shop::till::add(int)", {"shop::till::add(int)"}),
    ("calls!shop::till::add(shop::order const &)", {"shop::till::add(shop::order const&)"}),
    ("calls!_ZN4shop4till3addEi", {"shop::till::add(int)"}),
    ("calls!shop::*::add", {"shop::till::add(int)", "shop::till::add(shop::order const&)"}),
    ("calls!shop::twice<int>", {"int shop::twice<int>(int)"}),
    ("calls!shop::twice<int>(int)", {"int shop::twice<int>(int)"}),
    ("calls!int shop::twice<int>(int)", {"int shop::twice<int>(int)"}),
    ("calls!shop::twice<*>", {"int shop::twice<int>(int)", "double shop::twice<double>(double)"}),
])
def test_patterns(place_probe, target, pattern, names):
    assert set(sites(place_probe, target.pid, pattern)) == names


@pytest.mark.parametrize("pattern, reason", [
    ("calls!calls_chosen", "indirect-function"),
    ("calls!calls_vex", "corrupted-instruction"),
    ("calls!calls_inside", "not-a-function-start"),
])
def test_refused(place_probe, target, pattern, reason):
    site, = sites(place_probe, target.pid, pattern).values()
    assert site["mechanism"] == "none" and site["reason"] == reason
    result = place_probe.run("-c", target.pid, pattern).expect(4)
    assert "none can be probed" in result.err and result.out == ""
    assert make(target, "chosen", 3)[0] == 3, "the target is no longer what it was"


def test_all_of_a_library(place_probe, python):
    """Each function of the C library that has a probe begins where .eh_frame or all of its code says so."""
    found = sites(place_probe, python.pid, "libc.so.6!*")
    placed = [site for site in found.values() if site["mechanism"] == "uprobe"]
    assert len(placed) > 1000
    offsets = [site["file_offset"] for site in placed]
    assert len(set(offsets)) == len(offsets), "two probes at one place"
    assert found["memcpy"]["reason"] == "indirect-function"
    assert not [name for name in found if ".cold" in name or "@@" in name]
    begins = set()
    path = placed[0]["file"]
    # Without "no-follow-links" it complains of the debug file, which has no such rows.
    rows = machine.run("readelf", "-W", "--debug-dump=frames,no-follow-links", path)
    for line in rows.stdout.splitlines():
        row = re.search(r" FDE .*pc=([0-9a-f]+)\.\.", line)
        if row:
            begins.add(int(row[1], 16))
    at_begin = sum(site["file_offset"] in begins for site in placed)
    assert at_begin > 0.9 * len(placed), f"{at_begin} of {len(placed)} stand where a row begins"


def test_stripped_with_a_debug_file(place_probe, start_calls, calls_program, short_tmp):
    path = short_tmp / "calls"
    shutil.copy(calls_program, path)
    machine.run("objcopy", "--only-keep-debug", path, short_tmp / "calls.debug")
    machine.run("strip", path)
    bare = start_calls(path)
    place_probe.run("-l", bare.pid, "calls!shop::risky").expect(3)
    machine.run("objcopy", f"--add-gnu-debuglink={short_tmp / 'calls.debug'}", path,
                short_tmp / "linked")
    (short_tmp / "linked").replace(path)
    target = start_calls(path)
    live = place_probe.count(target.pid, "calls!shop::risky")
    assert make(target, "risky", 10)[0] == 10
    assert exact(live.stop().expect(0)).calls("shop::risky") == 10


# What is counted ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, pattern", [
    ("plain", "calls!calls_plain"), ("recursive", "calls!calls_recursive"),
    ("risky", "calls!shop::risky"), ("jump", "calls!calls_jump"), ("add", "calls!shop::till::add"),
    ("template", "calls!shop::twice<*>")])
def test_counts(place_probe, target, uprobe_by, kind, pattern):
    live = place_probe.count(uprobe_by, target.pid, pattern)
    made = make(target, kind, 500, THREADS)[0]
    result = exact(live.stop().expect(0))
    assert made >= 500 * THREADS and result.calls() == made
    assert {body["tier"] for record in result.records("count")
            for body in record["bodies"]} == {"native"}


def test_target_that_exits(place_probe, start_calls):
    target = start_calls()
    live = place_probe.count(target.pid, "calls!calls_plain")
    made = make(target, "plain", 100, THREADS)[0]
    assert target.quit() == 0
    assert exact(live.finish().expect(0)).calls("calls_plain") == made


def test_strict(place_probe, target):
    live = place_probe.count("--strict", target.pid, "calls!calls_plain")
    made = make(target, "plain", 10, THREADS)[0]
    assert exact(live.stop().expect(0)).calls("calls_plain") == made


def test_library_function(place_probe, python):
    live = place_probe.count(python.pid, "libc.so.6!getppid")
    python.ask("parent 345", "done")
    assert exact(live.stop().expect(0)).calls("getppid") == 345


def test_function_of_the_runtime(place_probe, app):
    """Beside a method, and alone; what the runtime compiles has nothing to do with it."""
    pattern = "libcoreclr.so!coreclr_*"
    assert sites(place_probe, app.pid, pattern)["coreclr_initialize"]["tier"] == "native"
    live = place_probe.count(app.pid, "Counted.Kinds::Static", "libc.so.6!pthread_create")
    app.calls("static", 50, threads=3)
    result = exact(live.stop().expect(0))
    assert result.calls("Counted.Kinds::Static") == 50 and result.calls("pthread_create") == 3
    live = place_probe.count(app.pid, "libc.so.6!pthread_create", pattern)
    app.calls("static", 50, threads=4)
    assert app.quit() == 0
    result = exact(live.finish().expect(0))
    assert {record["method"]: record["calls"] for record in result.records("count")
            if record["calls"]} == {"pthread_create": 4, "coreclr_shutdown_2": 1}


def test_managed_image_wins(place_probe, app):
    """The host is called counter, and so is counter.dll."""
    found = sites(place_probe, app.pid, "counter!*Counted.Kinds::Static*")
    assert found and {site["tier"] for site in found.values()} <= {"r2r", "unknown"}
    everything = sites(place_probe, app.pid, "counter!*")
    assert "native" not in {site["tier"] for site in everything.values()}


# What is shown ------------------------------------------------------------------------------------


def test_stacks(place_probe, target):
    live = place_probe.live("-j", target.pid, "calls!shop::risky")
    make(target, "risky", 4)
    hits = live.stop().expect(0).records("hit")
    assert len(hits) == 4
    for hit in hits:
        assert hit["method"] == "shop::risky(int)" and hit["tier"] == "native"
        assert [frame["name"] for frame in hit["stack"][:2]] == ["shop::risky(int)",
                                                                 "shop::between(int)"]
        assert hit["stack_end"] == "whole", hit
        assert {frame["kind"] for frame in hit["stack"]} == {"native"}
        assert not any(frame["guessed"] for frame in hit["stack"])


def test_folded(place_probe, target):
    live = place_probe.live("-f", "-j", target.pid, "calls!shop::risky")
    make(target, "risky", 6)
    record, = live.stop().expect(0).records("folded")
    assert record["count"] == 6
    assert record["stack"][-2:] == ["shop::between(int)", "shop::risky(int)"]


def test_stack_of_a_library_function(place_probe, python):
    live = place_probe.live("-j", python.pid, "libc.so.6!getppid")
    python.ask("parent 3", "done")
    hits = live.stop().expect(0).records("hit")
    assert len(hits) == 3
    for hit in hits:
        names = [frame["name"] for frame in hit["stack"]]
        assert names[0] == "getppid" and names[-1] == "_start" and hit["stack_end"] == "whole", hit


SPLITTING = """
import ctypes, re
DONTDUMP, PAGE = 16, 4096
for row in open("/proc/self/maps"):
    code = re.match("([0-9a-f]+)-([0-9a-f]+) r-xp .*(python3|libc.so.6)", row)
    if code:
        begin, end = int(code[1], 16), int(code[2], 16)
        for at in range(begin + PAGE, end, 2 * PAGE):
            assert ctypes.CDLL(None).madvise(ctypes.c_void_p(at), ctypes.c_size_t(PAGE), DONTDUMP) == 0
"""


def test_stack_in_split_mappings(place_probe, python):
    """Every other page of the code is a mapping of its own, as rights and advice about pages have it."""
    split = asking.start(SPLITTING)
    try:
        stacks = []
        for target in (python, split):
            live = place_probe.live("-j", target.pid, "libc.so.6!getppid")
            target.ask("parent 3", "done")
            stacks += [[(frame["name"], frame["offset"], frame["guessed"]) for frame in hit["stack"]]
                       for hit in live.stop().expect(0).records("hit")]
        whole, *others = stacks
        assert len(others) == 5 and whole[0][0] == "getppid" and whole[-1][0] == "_start"
        assert all(other == whole for other in others)
    finally:
        assert split.close() is None


class PerfStat:
    """perf stat of an event of a process, from enable() on; what it counted is in "counted"."""

    def __init__(self, directory, event, pid):
        self.ways = [directory / name for name in ("told", "answered")]
        for way in self.ways:
            os.mkfifo(way)
        self.process = subprocess.Popen(
            ["perf", "stat", "-x,", "-o", directory / "counted", "-e", event, "-p", str(pid),
             "-D", "-1", f"--control=fifo:{self.ways[0]},{self.ways[1]}"], stdin=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def enable(self):
        # Neither way may wait for a perf that has ended.
        with open(os.open(self.ways[0], os.O_RDWR), "w") as told, \
                open(os.open(self.ways[1], os.O_RDWR), "rb", buffering=0) as answered:
            told.write("enable\n")
            told.flush()
            ready, _, _ = select.select([answered], [], [], 30 * machine.SCALE)
            assert ready and answered.read(4) == b"ack\n", "perf stat did not begin"

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=30 * machine.SCALE)


def test_dry_run(place_probe, target, tmp_path, no_traces):
    """The commands, as they are, count what the target counts."""
    out = place_probe.run("-n", target.pid, "calls!calls_plain").expect(0).out
    lines = [line for line in out.splitlines() if line and not line.startswith("#")]
    add, = [line for line in lines if "--add" in line]
    delete, = [line for line in lines if "--del" in line]
    event = re.search(r"--add '([^=]+)=", add)[1]
    machine.run("/bin/bash", "-c", add)
    try:
        # A comment in the command says how perf would record; counting is quicker, and exact.
        with PerfStat(tmp_path, event, target.pid) as counting:
            counting.enable()
            made = make(target, "plain", 50, 1)[0]
    finally:
        machine.run("/bin/bash", "-c", delete)
    counted = [line.split(",")[0] for line in (tmp_path / "counted").read_text().splitlines()
               if event in line]
    assert counted == [str(made)], (tmp_path / "counted").read_text()


# How long -----------------------------------------------------------------------------------------


def hist(place_probe, target, pattern, kind, number, threads=1):
    """The histogram of a function, and what the target says of its calls."""
    live = place_probe.live("-H", "-j", target.pid, pattern)
    told = make(target, kind, number, threads)
    result = exact(live.stop().expect(0))
    histogram, = result.records("hist")
    return histogram, *told


@pytest.mark.alone
def test_durations(place_probe, target):
    histogram, made, _, ns, most_ns = hist(place_probe, target, "calls!calls_sleep", "sleep", 50, THREADS)
    assert histogram["count"] == made == 50 * THREADS
    assert histogram["unwound"] == histogram["unfinished"] == histogram["not_timed"] == 0
    # What the probes take was measured at the start, and may be too much for now.
    assert ns - made * PROBES_NS / 4 <= histogram["sum_ns"], (ns, histogram["sum_ns"])
    assert is_within(histogram["sum_ns"], ns, most_ns), (ns, most_ns, histogram["sum_ns"])
    assert SLEEP_NS <= histogram["min_ns"] <= histogram["sum_ns"] / made <= histogram["max_ns"]
    assert histogram["max_ns"] <= most_ns - (made - 1) * SLEEP_NS


def test_recursion(place_probe, target):
    histogram, made, *_ = hist(place_probe, target, "calls!calls_recursive", "recursive", 100,
                               THREADS)
    assert histogram["count"] == made == 10 * 100 * THREADS
    assert histogram["unwound"] == histogram["unfinished"] == 0


def test_exceptions(place_probe, target):
    histogram, made, returned, *_ = hist(place_probe, target, "calls!shop::risky", "risky", 200,
                                        THREADS)
    assert made == 200 * THREADS and returned == made // 2
    assert histogram["count"] == returned
    assert histogram["unwound"] + histogram["unfinished"] == made - returned
    # The last one of a thread is only known to be over when something else is called at its place.
    assert histogram["unfinished"] <= THREADS


def test_longjmp(place_probe, target):
    histogram, made, *_ = hist(place_probe, target, "calls!calls_jump", "jump", 100, THREADS)
    assert histogram["count"] == 0
    assert histogram["unwound"] + histogram["unfinished"] == made == 5 * 100 * THREADS
    assert histogram["unfinished"] <= 5 * THREADS


# What is said -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [(), ("-c",), ("-l",), ("-n",), ("-f",), ("-H",)])
def test_method_of_a_process_without_a_runtime(place_probe, python, mode):
    place_probe.run(*mode, python.pid, "libc.so.6!getppid", "App.Orders::Checkout").expect_sentence(
        1, str(python.pid), r"not a \.NET process", "Image!function")


def test_nothing_matches(place_probe, python):
    result = place_probe.run(python.pid, "libc.so.6!no_such_function").expect(3)
    assert "no native function matches 'libc.so.6!no_such_function'" in result.err
    assert "--wait waits for libraries" in result.err


def test_no_methods_name(place_probe, app):
    result = place_probe.run(app.pid, "counter!Static").expect(3)
    assert "no native function matches 'counter!Static'" in result.err
    assert "has no '::'" in result.err
