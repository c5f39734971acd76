# SPDX-License-Identifier: GPL-2.0-or-later
"""Formats that other programs read, each by a reader of its own: of precompiled .NET methods, which the app has called
so many times, and of Node, whose stacks V8 tells itself."""

import collections
import itertools
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

from helpers import machine, openmetrics, pairs, perf_script, pprof, speedscope, trace_event, v8_hits

SLEEP = "System.Threading.Thread::Sleep(int32)"
INNER = "Counted.Chain::Inner(int32)"
pytestmark = pytest.mark.beside


@pytest.fixture(scope="module")
def probed():
    with v8_hits.probed() as target:
        yield target


@pytest.fixture
def of_node(place_probe, probed, tmp_path):
    """of_node(OPTION...): what is printed of calls of stop(), and what V8 said of each."""
    def run(*options):
        return v8_hits.printed(place_probe, probed, tmp_path / "said", *options)

    return run


PROCESS = "libc.so.6!getppid"
CALLS_GETPPID = """
import os, sys
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        os.getppid()
        os.getuid()
    print("done", flush=True)
"""


class Caller:
    """A process without a runtime that calls getppid() and getuid() by turns, as often as it is told to."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", CALLS_GETPPID], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().startswith("ready")
        self.pid = self.process.pid

    def call(self, number):
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self):
        self.process.stdin.close()
        self.process.wait()


@pytest.fixture
def caller():
    one = Caller()
    yield one
    one.process.kill()
    one.process.wait()
    one.process.stdout.close()


def of_dotnet(place_probe, app, *options, calls=5):
    """What is printed of so many calls of Sleep() by Chain::Inner()."""
    live = place_probe.live(*options, app.pid, SLEEP)
    app.calls("chain", calls)
    return live.stop().expect(0)


# perf script ---------------------------------------------------------------------------------

def test_perf_script(place_probe, shared_app):
    result = of_dotnet(place_probe, shared_app, "--format=perf-script")
    samples, comments = perf_script.parse(result.out)
    assert comments == ["# 5 hits; lost: nothing"]
    assert len(samples) == 5
    for sample in samples:
        assert (sample.pid, sample.event, sample.period) == (shared_app.pid, "place_probe:hit", 1)
        assert [(frame.sym, frame.dso) for frame in sample.frames[:2]] == [
            (SLEEP, "System.Private.CoreLib.dll"), (INNER, "counter.dll")]
        assert sample.frames[0].offset == 0 and sample.frames[1].offset > 0
        assert re.fullmatch("_start|clone3|__clone3|counter|\\[unknown\\]", sample.frames[-1].sym)
    times = [sample.time_us for sample in samples]
    assert times == sorted(times) and len(set(times)) == 5


def test_perf_script_of_calls(place_probe, shared_app):
    """Their durations are the periods."""
    result = of_dotnet(place_probe, shared_app, "--format=perf-script", "-H", "--min=1ns")
    samples, _ = perf_script.parse(result.out)
    assert [sample.event for sample in samples] == ["place_probe:call"] * 5
    assert all(1 <= sample.period < 10**10 for sample in samples)
    assert all(sample.frames[0].sym == SLEEP for sample in samples)


def test_perf_script_of_node(of_node):
    result, expected = of_node("--format=perf-script")
    samples, _ = perf_script.parse(result.out)
    assert len(samples) == len(expected) == len(v8_hits.WAYS)
    for sample, said in zip(samples, expected):
        assert sample.frames[0].sym.startswith("node::credentials::GetUid("), sample
        found = [(frame.sym, frame.dso) for frame in sample.frames]
        wanted = [(frame.name, place_of(frame)) for frame in said]
        assert [frame for frame in found if frame in wanted] == wanted, sample


def place_of(frame):
    """As a reader may find it at the end of a line."""
    return re.sub("[()]", "_", f"{frame.script}:{frame.line}".replace(" ", "_")) if frame.script else "[unknown]"


# speedscope ----------------------------------------------------------------------------------

def total(document):
    return sum(profile["endValue"] for profile in document["profiles"])


def test_speedscope(place_probe, shared_app):
    result = of_dotnet(place_probe, shared_app, "--format=speedscope")
    document = speedscope.parse(result.out)
    assert document["name"] == "5 hits; lost: nothing"
    assert total(document) == 5
    for profile in document["profiles"]:
        assert re.fullmatch(r".+ \(\d+\)", profile["name"]) and profile["unit"] == "none"
        for stack, _ in speedscope.stacks(document, profile):
            assert stack[0] == {"name": SLEEP, "file": "System.Private.CoreLib.dll"}
            # Where the app was built, and no line: of functions pictures are made.
            assert set(stack[1]) == {"name", "file"} and stack[1]["name"] == INNER
            assert stack[1]["file"].endswith("/counter/Kinds.cs"), stack[1]


def test_speedscope_of_calls(place_probe, shared_app):
    """Their durations are the weights."""
    result = of_dotnet(place_probe, shared_app, "--format=speedscope", "-H", "--min=1ns")
    document = speedscope.parse(result.out)
    assert document["name"] == "5 calls; lost: nothing"
    assert {profile["unit"] for profile in document["profiles"]} == {"nanoseconds"}
    assert 5 <= total(document) < 10**10


def test_speedscope_of_node(of_node):
    result, expected = of_node("--format=speedscope")
    document = speedscope.parse(result.out)
    found = [stack for profile in document["profiles"] for stack, _ in speedscope.stacks(document, profile)]
    assert len(found) == len(expected) == len(v8_hits.WAYS) == total(document)
    for said in expected:
        wanted = [{"name": frame.name} | ({"file": frame.script, "line": frame.line, "col": frame.column}
                                          if frame.script else {}) for frame in said]
        assert any([frame for frame in stack if frame in wanted] == wanted for stack in found), said


# trace events --------------------------------------------------------------------------------

def test_trace_event(place_probe, shared_app):
    result = of_dotnet(place_probe, shared_app, "--format=trace-event")
    trace = trace_event.parse(result.out)
    assert not trace.slices and len(trace.instants) == 5
    for event in trace.instants:
        assert (event["name"], event["pid"], event["args"]["tier"]) == (SLEEP, shared_app.pid, "r2r")
        sleep, inner = event["args"]["stack"][:2]
        assert sleep == f"{SLEEP} (System.Private.CoreLib.dll)"
        assert inner.startswith(f"{INNER} (/") and re.search(r"/counter/Kinds\.cs:\d+\)$", inner), inner
        assert event["args"]["stack_end"] == "whole"
    times = [event["ts"] for event in trace.instants]
    assert times == sorted(times) and len(set(times)) == 5
    summary, = trace.summaries
    assert summary["args"] == {"hits": 5, "lost": {}}


def test_trace_event_of_calls(place_probe, shared_app):
    """A slice is as long as its call, and calls of one thread follow each other."""
    result = of_dotnet(place_probe, shared_app, "--format=trace-event", "-H", "--min=1ns", "--no-stack")
    trace = trace_event.parse(result.out)
    assert not trace.instants and len(trace.slices) == 5
    for begin, end in trace.slices:
        assert begin["name"] == SLEEP and "stack" not in begin["args"]
        assert end["ts"] - begin["ts"] == pytest.approx(begin["args"]["duration_ns"] / 1000, abs=0.01)
        assert trace.threads[begin["pid"], begin["tid"]] == begin["args"]["comm"]
    assert all(end["ts"] <= begin["ts"] for (_, end), (begin, _) in zip(trace.slices, trace.slices[1:]))


def test_trace_event_of_node(of_node):
    result, expected = of_node("--format=trace-event", "-T")
    trace = trace_event.parse(result.out)
    assert len(trace.instants) == len(expected) == len(v8_hits.WAYS)
    for event, said in zip(trace.instants, expected):
        assert abs(event["ts"] / 1e6 - time.time()) < 600
        wanted = [f"{frame.name} ({frame.script}:{frame.line})" if frame.script else frame.name for frame in said]
        assert [frame for frame in event["args"]["stack"] if frame in wanted] == wanted, event


# OpenMetrics ---------------------------------------------------------------------------------

DURATION = "place_probe_call_duration_seconds"


def test_openmetrics_of_counts(place_probe, shared_app):
    result = of_dotnet(place_probe, shared_app, "--format=openmetrics", "-c", calls=7)
    found = openmetrics.parse(result.out)
    assert openmetrics.get(found, "place_probe_calls_total", method=SLEEP, tier="r2r") == 7
    assert openmetrics.get(found, "place_probe_watched_ratio", method=SLEEP) == 1
    assert {name for name, _ in found} == {"place_probe_calls_total", "place_probe_watched_ratio"}


def test_openmetrics_of_durations(place_probe, shared_app):
    """They sum up to what the histogram in JSON may be."""
    result = of_dotnet(place_probe, shared_app, "--format=openmetrics", "-H", calls=9)
    found = openmetrics.parse(result.out)
    assert openmetrics.get(found, f"{DURATION}_count", method=SLEEP) == 9
    bounds = openmetrics.buckets(found, DURATION, method=SLEEP)
    assert bounds[-1] == (float("inf"), 9)
    assert [calls for _, calls in bounds] == sorted(calls for _, calls in bounds)
    assert 0 < openmetrics.get(found, f"{DURATION}_sum", method=SLEEP) < 9
    assert openmetrics.get(found, "place_probe_unwound_calls_total", method=SLEEP) == 0
    assert openmetrics.get(found, "place_probe_unfinished_calls", method=SLEEP) == 0


@pytest.mark.parametrize("options", [["--by=tid"], ["--by=caller"], ["--hist=linear:0ms:1ms:1us"]])
def test_openmetrics_of_kinds(place_probe, caller, options):
    live = place_probe.live("--format=openmetrics", "-H", *options, caller.pid, PROCESS)
    caller.call(50)
    found = openmetrics.parse(live.stop().expect(0).out)
    (_, labels), = [key for key in found if key[0] == f"{DURATION}_count"]
    by = {"--by=tid": {"tid": str(caller.pid)}}.get(options[0], {})
    assert dict(labels).items() >= by.items() and ("caller" in dict(labels)) == (options[0] == "--by=caller")
    assert found[f"{DURATION}_count", labels] == 50
    bounds = openmetrics.buckets(found, DURATION, **dict(labels))
    assert bounds[-1][1] == 50 and len(bounds) == (1001 if "linear" in options[0] else 28)


def test_openmetrics_of_node(place_probe, probed, tmp_path):
    live = place_probe.live("--format=openmetrics", "-c", probed.pid, v8_hits.TARGETS["api"], timeout=60)
    probed.run(1, tmp_path / "said", *v8_hits.WAYS)
    found = openmetrics.parse(live.stop().expect(0).out)
    calls, = [value for (name, _), value in found.items() if name == "place_probe_calls_total"]
    assert calls == len(v8_hits.WAYS)


def test_openmetrics_into_a_file(place_probe, caller, tmp_path):
    """Whoever reads it has a whole exposition each time; it is another file each time, and nothing is left beside it."""
    path = tmp_path / "place-probe.prom"
    live = place_probe.live("--format=openmetrics", "-c", "-i", "0.1", "-o", path, caller.pid, PROCESS)
    seen, files = [], set()
    for number in range(1, 6):
        caller.call(100)
        machine.wait_until(lambda: path.exists() and calls_in(path) == 100 * number, "the file has them")
        seen.append(calls_in(path))
        files.add(path.stat().st_ino)
    assert live.stop().expect(0).out == ""
    assert calls_in(path) == 500 and seen == sorted(seen)
    assert len(files) > 1
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o644


def calls_in(path):
    found = openmetrics.parse(path.read_text())
    return openmetrics.get(found, "place_probe_calls_total", method="getppid", tier="native")


def test_openmetrics_where_there_is_something(place_probe, caller, tmp_path):
    """A file keeps its owner and mode, a link its place; what is no file is written to; a run that fails leaves it alone."""
    path, link = tmp_path / "old.prom", tmp_path / "link.prom"
    path.write_text("old\n")
    path.chmod(0o640)
    os.chown(path, 65534, 65534)
    link.symlink_to(path)
    words = ["--format=openmetrics", "-c", "-d", "0.3"]
    place_probe.run(*words, "-o", link, caller.pid, "libc.so.6!no_such_function", timeout=60).expect(3)
    assert path.read_text() == "old\n"
    place_probe.run(*words, "-o", link, caller.pid, PROCESS).expect(0)
    assert calls_in(path) == 0 and link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)
    place_probe.run(*words, "-o", "/dev/null", caller.pid, PROCESS).expect(0)
    assert pathlib.Path("/dev/null").is_char_device()
    # It leads to a pipe here.
    where = os.readlink("/dev/stdout")
    result = place_probe.run(*words, "-o", "/dev/stdout", caller.pid, PROCESS).expect(0)
    assert openmetrics.parse(result.out) and os.readlink("/dev/stdout") == where
    nowhere = tmp_path / "nowhere.prom"
    nowhere.symlink_to(tmp_path / "missing")
    place_probe.run(*words, "-o", nowhere, caller.pid, PROCESS).expect_sentence(1, "nowhere.prom: No such file")
    nowhere.unlink()
    place_probe.run(*words, "-o", tmp_path / "none/x", caller.pid, PROCESS).expect_sentence(1, "none/x")
    place_probe.run(*words, "-o", tmp_path, caller.pid, PROCESS).expect_sentence(1, "directory")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link.prom", "old.prom"]


# pprof ---------------------------------------------------------------------------------------

def profile_in(path):
    return pprof.parse(path.read_bytes())


def test_pprof(place_probe, shared_app, tmp_path):
    began = time.time_ns()
    result = of_dotnet(place_probe, shared_app, "--format=pprof", "-o", tmp_path / "p.pb.gz")
    profile = profile_in(tmp_path / "p.pb.gz")
    assert result.out == "" and profile.units == {"hits": "count"}
    assert profile.comments == ["5 hits; lost: nothing"]
    assert profile.total("hits") == 5
    for sample in profile.samples:
        first, second = sample.lines()[:2]
        assert (first.name, first.module) == (SLEEP, "System.Private.CoreLib.dll")
        assert (second.name, second.module) == (INNER, "counter.dll")
        assert sample.labels.keys() == {"thread", "tid"}
    assert began <= profile.message.time_nanos <= time.time_ns()
    assert 0 < profile.message.duration_nanos <= time.time_ns() - began


def test_pprof_of_calls(place_probe, shared_app, tmp_path):
    of_dotnet(place_probe, shared_app, "--format=pprof", "-H", "--min=1ns", "-o", tmp_path / "p.pb.gz")
    profile = profile_in(tmp_path / "p.pb.gz")
    assert profile.units == {"calls": "count", "time": "nanoseconds"}
    assert profile.message.string_table[profile.message.default_sample_type] == "time"
    assert profile.total("calls") == 5 and 5 <= profile.total("time") < 10**10


def test_pprof_of_node(of_node, tmp_path):
    _, expected = of_node("--format=pprof", "-o", tmp_path / "p.pb.gz")
    profile = profile_in(tmp_path / "p.pb.gz")
    assert len(profile.samples) == len(expected) == len(v8_hits.WAYS) == profile.total("hits")
    for said in expected:
        wanted = [(frame.name, frame.script or "", frame.line, frame.column) for frame in said]
        assert any([line for line in found if line in wanted] == wanted for found in
                   ([(line.name, line.file, line.line, line.column) for line in sample.lines()]
                    for sample in profile.samples)), said


def test_pprof_of_inlined(place_probe, tmp_path):
    """What V8 has inlined is in one location with what has inlined it, which is the last there: as JSON has it of the
    same calls."""
    with v8_hits.probed("--allow-natives-syntax", "--no-maglev") as target:
        args = ("--max-frames=256", target.pid, v8_hits.TARGETS["api"])
        of_json = place_probe.live("-j", *args, timeout=60)
        of_pprof = place_probe.live("--format=pprof", "-o", tmp_path / "p.pb.gz", *args, timeout=60)
        target.run(10, tmp_path / "said", "loop", "called", "made")
        hits = of_json.stop().expect(0).records("hit")
        of_pprof.stop().expect(0)
    inlined = collections.Counter((frame["name"], caller["name"]) for hit in hits
                                  for frame, caller in zip(hit["stack"], hit["stack"][1:]) if frame["inlined"])
    found = collections.Counter()
    for sample in profile_in(tmp_path / "p.pb.gz").samples:
        for location in sample.locations:
            for inner, outer in zip(location, location[1:]):
                found[inner.name, outer.name] += sample.values["hits"]
    assert found == inlined and len(inlined) >= 4, inlined


# Documents are whole however the run ends ----------------------------------------------------

DOCUMENTS = {"speedscope": lambda path: total(speedscope.parse(path.read_text())),
             "trace-event": lambda path: len(trace_event.parse(path.read_text()).instants),
             "pprof": lambda path: profile_in(path).total("hits")}


@pairs.choose("name, end", itertools.product(DOCUMENTS, ["interrupt", "terminate", "duration", "hits", "exit",
                                                        "kill target"]))
def test_whole_at_each_end(place_probe, caller, tmp_path, name, end):
    options = {"duration": ["-d", "1"], "hits": ["-N", "30"]}.get(end, [])
    path = tmp_path / "document"
    live = place_probe.live(f"--format={name}", "-o", path, *options, caller.pid, PROCESS)
    caller.call(30)
    if end == "exit":
        caller.end()
    if end == "kill target":
        caller.process.kill()
    result = live.stop({"interrupt": signal.SIGINT, "terminate": signal.SIGTERM}[end]) \
        if end in ("interrupt", "terminate") else live.finish()
    result.expect(0)
    assert DOCUMENTS[name](path) == 30


@pytest.mark.parametrize("name", DOCUMENTS)
def test_nothing_where_nothing_ran(place_probe, caller, tmp_path, name):
    """A run that does not begin writes no document; one without a hit writes an empty one."""
    path = tmp_path / "document"
    words = [f"--format={name}", "-d", "0.2", "-o", path, caller.pid]
    place_probe.run(*words, "libc.so.6!no_such_function", timeout=60).expect(3)
    assert path.read_bytes() == b""
    place_probe.run(*words, PROCESS).expect(0)
    assert DOCUMENTS[name](path) == 0


def test_without_room(place_probe, caller):
    """--memory bounds what is kept; hits that it does not suffice for are counted, and told."""
    live = place_probe.live("--format=speedscope", "--memory=4096", "--strict", caller.pid, PROCESS,
                            "libc.so.6!getuid")
    caller.call(1000)
    result = live.stop().expect(5)
    document = speedscope.parse(result.out)
    assert total(document) == 2000
    left_out, = re.findall(r"lost: (\d+) hits have no stack of their own", result.err)
    others = sum(weight for profile in document["profiles"] for stack, weight in
                 speedscope.stacks(document, profile) if stack == [{"name": "[other stacks]"}])
    assert others == int(left_out) > 0


def test_pprof_without_room(place_probe, caller, tmp_path):
    live = place_probe.live("--format=pprof", "--memory=4096", "--strict", "-o", tmp_path / "p.pb.gz", caller.pid,
                            PROCESS, "libc.so.6!getuid")
    caller.call(100)
    result = live.stop().expect(5)
    profile = profile_in(tmp_path / "p.pb.gz")
    assert profile.total("hits") == 200
    left_out, = re.findall(r"lost: (\d+) hits have no stack of their own", result.err)
    others = [sample.values["hits"] for sample in profile.samples
              if [line.name for line in sample.lines()] == ["[other stacks]"]]
    assert others == [int(left_out)]


@pytest.mark.parametrize("words", [["perf-script"], ["speedscope"], ["trace-event"], ["pprof"], ["openmetrics", "-c"]],
                         ids=lambda words: words[0])
def test_no_room_on_the_disk(place_probe, caller, words):
    """What could not be written is a failure, and said."""
    live = place_probe.live("--format", *words, "-o", "/dev/full", caller.pid, PROCESS)
    caller.call(10)
    result = live.stop().expect(1)
    assert result.err.splitlines()[-1] == "place-probe: cannot write the output: No space left on device (-o names another place)"


def test_nothing_binary_on_a_terminal(place_probe, caller):
    terminal, program_side = pty.openpty()
    with open(terminal, "rb", buffering=0), open(program_side, "wb", buffering=0) as stdout:
        ended = subprocess.run(place_probe.command(["--format=pprof", "-d", "0.1", caller.pid, PROCESS]), check=False,
                               stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr == ("place-probe: --format=pprof is binary, and standard output is a terminal: "
                            "name a file with -o FILE\n")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_of_a_command(place_probe, tmp_path, name):
    """Its end is that of the run."""
    path = tmp_path / "document"
    place_probe.run(f"--format={name}", "-o", path, PROCESS, "--", sys.executable, "-c",
                    "import os\nfor _ in range(30): os.getppid()", timeout=60).expect(0)
    assert DOCUMENTS[name](path) == 30


def test_trace_event_of_a_killed_run(place_probe, caller, tmp_path):
    """There is all that was written, an event a line, and its viewers do not miss the end."""
    path = tmp_path / "trace.json"
    live = place_probe.live("--format=trace-event", "-o", path, caller.pid, PROCESS)
    caller.call(30)
    machine.wait_until(lambda: path.read_text().count('"ph":"i"') == 30, "hits are written when they come")
    live.process.kill()
    live.finish()
    trace = trace_event.parse(path.read_text() + "]")
    assert len(trace.instants) == 30 and not trace.summaries
