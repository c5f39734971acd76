# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs that are recorded: what a record gives later is what the run has printed, to the byte, also without root, after
a kill, and of a file that was cut. That each format is the same whatever was printed beside the record is tests/unit's."""

import contextlib
import os
import re
import shutil
import signal
import subprocess

import pytest

from helpers import machine, openmetrics, perf_script, pprof, speedscope, trace_event, v8_hits

# All but one are of processes that compile no methods at addresses that a probe is put on.
pytestmark = pytest.mark.beside
RECURSIVE = "calls!calls_recursive"
SLEEPS = "calls!calls_sleep"
DEPTH = 10
NOBODY = 65534


@pytest.fixture
def target(share, calls_program):
    return share("calls", executable=calls_program)


def make(target, kind, number=1, threads=1):
    """Have it make calls; how many that were."""
    return int(target.ask(f"{kind} {number} {threads}", "done")[2])


class Recorded:
    """A run that has ended: what it printed, and its record."""

    def __init__(self, place_probe, directory, make_calls, *words):
        self.place_probe = place_probe
        self.file = directory / "run.record"
        self.out = directory / "live"
        self.again = directory / "replayed"
        live = place_probe.live(f"--record={self.file}", "-o", self.out, *words)
        self.calls = make_calls(live)
        self.result = live.stop().expect(0)

    def replay(self, *options):
        """What is printed of the record, as bytes."""
        self.again.unlink(missing_ok=True)
        self.place_probe.run(f"--replay={self.file}", "-o", self.again, *options).expect(0)
        return self.again.read_bytes()

    def text(self, *options):
        return self.replay(*options).decode()


WAYS = [[], ["-j", "--stack=managed"], ["-T", "--no-stack"], ["--format=perf-script", "-T"], ["--format=speedscope"],
        ["--format=trace-event"], ["--format=pprof"], ["-f", "-i", "0.1"], ["-f", "-j", "--by=tid"],
        ["-c", "-i", "0.1", "-j"], ["-c", "--format=openmetrics"], ["-H", "-u", "-i", "0.1"],
        ["-H", "-j", "--by=caller", "--hist=linear:0us:10ms:1ms"], ["-H", "--by=tid", "--format=openmetrics"],
        ["-H", "--min=1us", "-j"]]


@pytest.mark.parametrize("options", WAYS, ids=" ".join)
def test_replay_is_what_was_printed(place_probe, target, tmp_path, options):
    """In each mode: also of each interval, of which nobody knows before which calls are in it."""
    def calls(live):
        made = make(target, "recursive", 5, 2) + make(target, "sleep", 3)
        if "-i" in options:
            live.wait_out(lambda _: run_has(tmp_path / "live"), "the first interval")
        return made + make(target, "recursive", 2)

    run = Recorded(place_probe, tmp_path, calls, *options, target.pid, RECURSIVE, SLEEPS)
    assert run.calls == 123
    live = run.out.read_bytes()
    assert live
    assert run.replay(*options) == live
    # Without a mode it is the run's; how it is written must be said again.
    mode = {"-f", "-c", "-H", "-i", "0.1", "--min=1us", "--by=tid", "--by=caller", "--hist=linear:0us:10ms:1ms"}
    assert run.replay(*(option for option in options if option not in mode or option == "--by=tid" and "-f" in options)) \
        == live


def run_has(path):
    return machine.wait_until(lambda: path.exists() and path.stat().st_size, "something was printed") or True


def test_one_record_in_each_format(place_probe, target, tmp_path):
    """Each has the hits that the target has made: by readers that are not ours."""
    run = Recorded(place_probe, tmp_path, lambda _: make(target, "recursive", 5, 2), target.pid, RECURSIVE)
    number = run.calls
    assert number == 5 * 2 * DEPTH
    assert len(perf_script.parse(run.text("--format=perf-script"))[0]) == number
    document = speedscope.parse(run.text("--format=speedscope"))
    assert sum(profile["endValue"] for profile in document["profiles"]) == number
    assert len(trace_event.parse(run.text("--format=trace-event")).instants) == number
    profile = pprof.parse(run.replay("--format=pprof"))
    assert sum(sample.values["hits"] for sample in profile.samples) == number
    folded = [line.rpartition(" ") for line in run.text("-f").splitlines()]
    assert sum(int(count) for *_, count in folded) == number
    # Each depth is a stack of its own.
    assert sorted({stack.count("calls_recursive") for stack, *_ in folded}) == list(range(1, DEPTH + 1))
    assert re.search(rf"^ +{number}  calls_recursive \[native\]$", run.text("-c"), re.MULTILINE)
    families = openmetrics.parse(run.text("-c", "--format=openmetrics"))
    assert "place_probe_calls" in str(families)
    managed = run.text("--stack=managed")
    assert managed.count("calls_recursive [native]") == number and "native   " not in managed


def test_nobody_replays(place_probe, place_probe_path, target, short_tmp):
    """Without root, by a user who may read it, from a file and from a pipe."""
    run = Recorded(place_probe, short_tmp, lambda _: make(target, "recursive", 3), "-j", target.pid, RECURSIVE)
    assert run.file.stat().st_mode & 0o777 == 0o600
    program = short_tmp / "place-probe"
    shutil.copy(place_probe_path, program)
    run.file.chmod(0o644)
    nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--bounding-set=-all", program, "-j"]
    for replayed in (subprocess.run([*nobody, f"--replay={run.file}"], capture_output=True),
                     subprocess.run([*nobody, "--replay=-"], input=run.file.read_bytes(), capture_output=True)):
        assert replayed.returncode == 0, replayed.stderr
        assert replayed.stdout == run.out.read_bytes()
        assert f"{run.calls} hits of {target.pid} (calls); lost: nothing" in replayed.stderr.decode()


def test_what_is_mapped(place_probe, target, calls_program, tmp_path):
    """-v tells it, with the build ID that readelf sees."""
    run = Recorded(place_probe, tmp_path, lambda _: make(target, "recursive"), target.pid, RECURSIVE)
    told = place_probe.run(f"--replay={run.file}", "-v").expect(0).err
    build_id = re.search("Build ID: ([0-9a-f]+)", subprocess.run(["readelf", "-n", calls_program], text=True,
                                                                 stdout=subprocess.PIPE, check=True).stdout)[1]
    assert re.search(rf"mapped 0x[0-9a-f]+-0x[0-9a-f]+ \+0x[0-9a-f]+ {calls_program} build id {build_id}$", told, re.MULTILINE)
    assert f"asked for: {RECURSIVE}" in told


@pytest.mark.parametrize("options", [[], ["-f"], ["-c"]], ids=["hits", "folded", "counts"])
def test_killed(place_probe, target, tmp_path, options):
    """What came more than a second before is there."""
    file = tmp_path / "run.record"
    live = place_probe.live(f"--record={file}", *options, target.pid, RECURSIVE)
    number = make(target, "recursive", 4)

    def hits():
        said = place_probe.run(f"--replay={file}", "-c" if options == ["-c"] else "-f").out
        return sum(map(int, re.findall(r"^ +(\d+)  |(?<= )\d+$", said, re.MULTILINE)
                       if options == ["-c"] else re.findall(r"\d+$", said, re.MULTILINE)))

    machine.wait_until(lambda: hits() == number, "they are in the record")
    live.process.send_signal(signal.SIGKILL)
    printed = live.finish().out
    replayed = place_probe.run(f"--replay={file}")
    replayed.expect(1)
    assert replayed.err.endswith(f"{file}: it ends before the run does: its writer was killed, or it was cut; docs/record.md says what is "
                                 "read of such a record\n")
    if not options:
        assert replayed.out == printed
    assert hits() == number


def test_cut(place_probe, target, tmp_path):
    """It gives the beginning of what the whole one gives."""
    run = Recorded(place_probe, tmp_path, lambda _: make(target, "recursive", 100), "-j", target.pid, RECURSIVE)
    whole = run.replay("-j").decode()
    data = run.file.read_bytes()
    for size in (len(data) - 1, len(data) * 2 // 3, 100):
        run.file.write_bytes(data[:size])
        cut = place_probe.run(f"--replay={run.file}", "-j").expect(1)
        assert whole.startswith(cut.out) and len(cut.out) < len(whole)
        assert "it was cut" in cut.err, cut


def test_no_room(place_probe, target, tmp_path):
    """The output goes on, and what is in the record is read."""
    room = tmp_path / "room"
    room.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", room], check=True)
    with contextlib.ExitStack() as after:
        after.callback(subprocess.run, ["umount", "-l", room], check=True)
        file = room / "run.record"
        live = place_probe.live(f"--record={file}", "-j", target.pid, RECURSIVE)
        number = make(target, "recursive", 50, 8)
        result = live.stop().expect(1)
        assert result.out.count('{"type":"hit",') == number
        assert result.err.count(f"the record {file} ends here, the output goes on: No space left on device") == 1
        assert result.err.endswith(f"place-probe: the record {file} is not whole: No space left on device\n")
        assert place_probe.run(f"--replay={file}", "-j").expect(1).err.count("it ends before the run does") == 1


@pytest.mark.anyone
def test_no_record(place_probe, tmp_path):
    """Files that are none, and command lines that no record can follow."""
    other = tmp_path / "other"
    for content, words in ((b"PERFILE2" * 20, ["it is no record: name a file that "]), (b"", ["it is no record"]),
                           (b"\x89PPR\r\n\x1a\n" + bytes(8), ["it is damaged"])):
        other.write_bytes(content)
        place_probe.run(f"--replay={other}").expect_sentence(1, str(other), *words)
    place_probe.run(f"--replay={tmp_path}").expect_sentence(1, "Is a directory")
    place_probe.run(f"--replay={tmp_path}/none").expect_sentence(1, "No such file")
    place_probe.run(f"--replay={other}", "1", "x").expect_sentence(2, "takes no PID")
    place_probe.run(f"--replay={other}", "-d", "1").expect_sentence(2, "--duration is for a run")
    place_probe.run(f"--replay={other}", f"--record={other}").expect_sentence(2, "only one of")
    place_probe.run(f"--record={other}", "-o", other, os.getpid(), "x").expect_sentence(2, "one file")
    place_probe.run(f"--record={tmp_path}/no/such", os.getpid(), "x").expect_sentence(1, "cannot write the record")


def test_what_it_does_not_hold(place_probe, target, tmp_path):
    run = Recorded(place_probe, tmp_path, lambda _: make(target, "recursive"), "-c", target.pid, RECURSIVE)
    replay = f"--replay={run.file}"
    place_probe.run(replay, "-f").expect_sentence(2, "--folded cannot be had of it: it holds counts")
    place_probe.run(replay, "-H").expect_sentence(2, "--hist cannot be had of it: it holds counts")
    place_probe.run(replay, "--format=pprof").expect_sentence(2, "--format=pprof is for hits")
    place_probe.run(replay, "-c", "-i", "1").expect_sentence(2, "it has no intervals")


def test_sites(place_probe, target, tmp_path):
    file = tmp_path / "run.record"
    for recorded, others in (("-l", ["-j", "-v"]), ("-n", [])):
        for option in ["", *others]:
            options = [recorded, option] if option else [recorded]
            place_probe.run(f"--record={file}", recorded, target.pid, "calls!*").expect(0)
            live = place_probe.run(*options, target.pid, "calls!*").expect(0)
            assert place_probe.run(f"--replay={file}", *options).expect(0).out == live.out


@pytest.mark.parametrize("options", [["-j"], ["-f"]], ids=["hits", "folded"])
def test_node(place_probe, tmp_path, options):
    """JavaScript frames, with scripts, lines and tiers."""
    with v8_hits.probed() as probed:
        result, expected = v8_hits.printed(place_probe, probed, tmp_path / "said", *options,
                                           f"--record={tmp_path}/run.record")
    replayed = place_probe.run(f"--replay={tmp_path}/run.record", *options).expect(0)
    assert replayed.out == result.out
    managed = place_probe.run(f"--replay={tmp_path}/run.record", "-j" if options == ["-j"] else "-f", "--stack=managed")
    for said in expected:
        assert said[0].name in managed.expect(0).out


def test_dotnet(place_probe, shared_app, tmp_path):
    """Precompiled methods, all of a stack and what is managed of it, told by two runs at once."""
    file = tmp_path / "run.record"
    method = "System.Threading.Thread::Sleep(int32)"
    live = place_probe.live(f"--record={file}", "-j", shared_app.pid, method)
    managed = place_probe.live("-j", "--stack=managed", shared_app.pid, method)
    shared_app.calls("chain", 5)
    whole, managed = live.stop().expect(0), managed.stop().expect(0)
    assert place_probe.run(f"--replay={file}", "-j").expect(0).out == whole.out
    assert len(whole.records("hit")) == len(managed.records("hit")) == 5
    replayed = place_probe.run(f"--replay={file}", "-j", "--stack=managed").expect(0)
    assert [hit["stack"] for hit in replayed.records("hit")] == [hit["stack"] for hit in managed.records("hit")]
    assert replayed.summary() == managed.summary()
