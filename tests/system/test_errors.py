# SPDX-License-Identifier: GPL-2.0-or-later
"""Each failure: one sentence that a user can act on, and its exit code."""

import os
import shutil
import subprocess

import pytest

from helpers import apps, machine, probe

SLEEP = "System.Threading.Thread::Sleep"
STATIC = apps.METHODS["static"]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.fixture
def process():
    """process(COMMAND): an ordinary process, ended with the test. Returns its pid."""
    running = []

    def start(*command, **options):
        child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                 **options)
        running.append(child)
        return child

    yield start
    for child in running:
        child.kill()
        child.wait()


@pytest.mark.kernel
def test_dead_process(place_probe):
    pid = machine.unused_pid()
    place_probe.run(pid, SLEEP).expect_sentence(1, str(pid), "no such process|no process")


@pytest.mark.kernel
def test_zombie(place_probe, process):
    child = process("/bin/true")
    machine.wait_until(lambda: machine.process_state(child.pid) == "Z", "the child ends")
    place_probe.run(child.pid, SLEEP).expect_sentence(1, str(child.pid), "zombie|exited|ended")


@pytest.mark.kernel
def test_kernel_thread(place_probe):
    pid = machine.kernel_thread()
    if pid is None:
        pytest.skip("there is no kernel thread to be seen here")
    place_probe.run(pid, SLEEP).expect_sentence(1, str(pid), "kernel thread")


@pytest.mark.kernel
def test_thread_id_for_a_process(place_probe, app):
    """The id of a thread is none of a process."""
    tid = max(int(task) for task in os.listdir(f"/proc/{app.pid}/task"))
    assert tid != app.pid
    place_probe.run(tid, SLEEP).expect_sentence(1, str(tid), "thread")


def test_no_dotnet_in_there(place_probe, process):
    pid = process("/bin/sleep", "1000").pid
    place_probe.run(pid, SLEEP).expect_sentence(1, str(pid), r"\.NET")


@pytest.mark.kernel
def test_32_bit_process(place_probe, process, short_tmp):
    program = short_tmp / "pause32"
    machine.write_elf32(program)
    try:
        child = process(program)
    except OSError:
        pytest.skip("this kernel runs no 32-bit programs")
    place_probe.run(child.pid, SLEEP).expect_sentence(1, str(child.pid), "32-bit")


@pytest.fixture
def as_nobody(place_probe, short_tmp):
    """as_nobody(WORDS...): run place-probe as an ordinary user, from where that user may read it."""
    program = short_tmp / "place-probe"
    shutil.copy(place_probe.path, program)

    def run(*words):
        result = subprocess.run([*NOBODY, program, *map(str, words)], capture_output=True, text=True,
                                stdin=subprocess.DEVNULL, timeout=30, cwd=short_tmp)
        return probe.Result(result.returncode, result.stdout, result.stderr)

    return run


def test_no_permission(as_nobody, app):
    """An ordinary user may not look at root's process."""
    as_nobody("-c", app.pid, STATIC).expect_sentence(1, str(app.pid), "root|permi")


def test_own_process_but_no_capability(as_nobody, start_app, build_app, short_tmp):
    """An ordinary user may look at an own process, but not put probes on it."""
    home = short_tmp / "app"
    shutil.copytree(build_app("r2r10").parent, home)
    short_tmp.chmod(0o777)
    app = start_app("r2r10", executable=home / "counter", before=NOBODY)
    as_nobody("-c", app.pid, STATIC).expect_sentence(1, "root|permi|CAP_")
    listed = as_nobody("-l", "-j", app.pid, STATIC)
    assert listed.code in (0, 1), str(listed)


@pytest.mark.anyone
@pytest.mark.parametrize("words", [
    [], ["1"], ["--no-such-option", "1", SLEEP], ["nonsense", SLEEP], ["-1", SLEEP], ["0", SLEEP],
    ["99999999999999999999", SLEEP], ["-d", "soon", "1", SLEEP], ["-d", "-1", "1", SLEEP],
    ["-N", "0x", "1", SLEEP], ["-N", "0", "1", SLEEP], ["-i", "never", "1", SLEEP],
    ["-d"], ["1", ""], ["--stack=deep", "1", SLEEP],
    ["--max-frames", "0", "1", SLEEP], ["--uprobe-by=magic", "1", SLEEP],
    ["--hold", "0", "1", SLEEP], ["--hold=10001", "1", SLEEP],
    ["--hold=5", "--no-hold", "1", SLEEP], ["--wait", "-l", "1", SLEEP],
    ["--"], [SLEEP, "--"], ["--", "true"], ["-t", "1", SLEEP, "--", "true"],
    ["-l", SLEEP, "--", "true"], ["-n", SLEEP, "--", "true"],
])
def test_usage(place_probe, words):
    result = place_probe.run(*words).expect(2)
    assert result.out == "", str(result)
    assert result.err.startswith("place-probe: ") or result.err.startswith("Usage:"), str(result)


@pytest.mark.parametrize("pattern", ["/(/", "/[/", "A::B(", "A::B(int", "Counted.Kinds.Static"])
def test_bad_pattern(place_probe, app, pattern):
    result = place_probe.run(app.pid, pattern)
    assert result.code in (1, 2), str(result)
    assert len(result.err.splitlines()) <= 2 and result.out == "", str(result)


@pytest.mark.anyone
def test_help_and_version(place_probe):
    for option in ("-h", "--help"):
        assert "Usage" in place_probe.run(option).expect(0).out
    for option in ("-V", "--version"):
        result = place_probe.run(option).expect(0)
        assert result.out.startswith("place-probe ") and len(result.out.splitlines()) == 1


@pytest.mark.anyone
def test_help_names_every_option(place_probe):
    text = place_probe.run("--help").out
    for option in ("--list", "--dry-run", "--count", "--json", "-d", "-i", "-N", "-t", "-o", "-T",
                   "--no-stack", "--max-frames", "--force", "--buffer", "--strict",
                   "--hold", "--no-hold", "--wait", "-- COMMAND",
                   "-v", "-V", "-h"):
        assert option in text, option


@pytest.mark.parametrize("pattern, meant", [
    ("System.Threading.Thread::Slep", "System.Threading.Thread::Sleep"),
    ("System.Threading.Tread::Sleep", "System.Threading.Thread::Sleep"),
    ("Counted.Kinds::static", "Counted.Kinds::Static"),
    ("Counted.Kind::Static", "Counted.Kinds::Static"),
])
def test_near_miss(place_probe, app, pattern, meant):
    """Nothing matches: exit 3, with what was probably meant."""
    result = place_probe.run("-c", app.pid, pattern).expect(3)
    assert meant in result.err, str(result)
    assert result.out == ""


def test_nothing_like_it(place_probe, app):
    result = place_probe.run("-c", app.pid, "Qqqqqq.Wwwwww::Zzzzzz").expect(3)
    assert "Qqqqqq.Wwwwww::Zzzzzz" in result.err


def test_overload_that_is_not_there(place_probe, app):
    """The method exists, with other parameters: they are said."""
    result = place_probe.run("-c", app.pid, "Counted.Kinds::Over(double)").expect(3)
    assert "Counted.Kinds::Over" in result.err


def test_one_of_two_matches(place_probe, app):
    """What matches is probed, what does not is warned about."""
    live = place_probe.count(app.pid, "Counted.Kinds::Static", "Counted.Kinds::Nowhere")
    app.calls("static", 8)
    result = live.stop().expect(0)
    assert result.calls() == 8
    assert "Nowhere" in result.err


def test_too_many_for_perf_events(place_probe, app):
    """Closing a perf event takes a while each: more than 100 are refused, with what it would take."""
    result = place_probe.run("-c", "--uprobe-by=perf", app.pid, "System.Private.CoreLib!System.*::*")
    result.expect(1)
    assert "--force" in result.err and result.out == ""


def test_output_file_that_cannot_be(place_probe, app):
    place_probe.run("-o", "/nonexistent/out", "-d", "1", app.pid,
                    STATIC).expect_sentence(1, "/nonexistent/out")


def test_output_is_closed(place_probe, app):
    """A reader that goes away (`| head`) ends the run, not the target."""
    with subprocess.Popen(place_probe.command([app.pid, STATIC]), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert "attached" in process.stderr.readline()
            process.stdout.close()
            machine.wait_until(lambda: app.calls("static", 10) and process.poll() is not None,
                               "place-probe ends when nobody reads")
            assert process.returncode in (0, 1), process.returncode
        finally:
            process.kill()
    assert app.calls("static", 10) == 10
