# SPDX-License-Identifier: GPL-2.0-or-later
"""Repeats of tests that the hypervisor has spoilt: of no others, few, and nothing is lost of what they said."""

import contextlib
import json
import os
import subprocess
import sys

import pytest

from helpers import machine, strays

pytestmark = pytest.mark.beside

pytest_plugins = "pytester"

LINE = "   target-77  ( 77) [000] d.... 1.0: signal_deliver: sig=5 errno=0 code=1 sa_handler=0 sa_flags=0"
# Fails until the file "well" is there, and leaves a note of each attempt.
FAILING = """
import pathlib
def test_{name}():
    attempts = pathlib.Path("attempts")
    done = len(attempts.read_text()) if attempts.exists() else 0
    attempts.write_text("x" * (done + 1))
    print("said before it failed")
    assert done >= {failures}, f"attempt {{done}} went wrong"
"""
# Sends itself what the kernel sends who hit a breakpoint whose cause was lost.
STRAY = """
import ctypes, os, signal, sys
sys.stdin.readline()
signal.signal(signal.SIGTRAP, lambda *_: None)
info = (ctypes.c_int * 32)(signal.SIGTRAP, 0, int(sys.argv[1]))
assert ctypes.CDLL(None).syscall(129, os.getpid(), signal.SIGTRAP, info) == 0  # rt_sigqueueinfo
"""


class FakeLog:
    """One that has a line after each test."""

    def __init__(self, lines=(LINE,)):
        self.has = list(lines)
        self.cleared = 0

    def clear(self):
        self.cleared += 1

    def lines(self):
        return self.has

    def close(self):
        pass


def run(pytester, log, budget=None):
    plugin = strays.StrayTraps(log, budget or strays.Budget())
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", plugins=[plugin])
    return plugin, result


def attempts(pytester):
    return len((pytester.path / "attempts").read_text())


def test_repeated(pytester):
    pytester.makepyfile(FAILING.format(name="one", failures=1))
    plugin, result = run(pytester, FakeLog())
    result.assert_outcomes(passed=1)
    assert attempts(pytester) == 2 and plugin.log.cleared == 2
    # What it failed with is shown as a failure is.
    result.stdout.fnmatch_lines(["*spoilt by the hypervisor, and repeated*", "*::test_one: 1 debug exceptions *",
                                 f"    {LINE.strip()}", ">       assert done >= 1*",
                                 "E*AssertionError: attempt 0 went wrong*", "said before it failed"])


def test_not_repeated_without_a_line(pytester):
    pytester.makepyfile(FAILING.format(name="one", failures=1))
    plugin, result = run(pytester, FakeLog([]))
    result.assert_outcomes(failed=1)
    assert attempts(pytester) == 1 and not plugin.attempts


def test_not_repeated_if_it_is_stepped(pytester):
    """Stepping through a system call makes the very signals."""
    pytester.makepyfile("import pytest\npytestmark = pytest.mark.stepped\n" + FAILING.format(name="one", failures=1))
    plugin, result = run(pytester, FakeLog())
    result.assert_outcomes(failed=1)
    assert attempts(pytester) == 1 and not plugin.attempts


def test_not_repeated_if_it_passed(pytester):
    pytester.makepyfile(FAILING.format(name="one", failures=0))
    plugin, result = run(pytester, FakeLog())
    result.assert_outcomes(passed=1)
    assert attempts(pytester) == 1 and not plugin.attempts


def test_three_repeats_a_run(pytester):
    """Of all its tests together: the first takes two, and one is left to the other."""
    pytester.makepyfile(test_a=FAILING.format(name="one", failures=2),
                        test_b=FAILING.format(name="two", failures=9))
    plugin, result = run(pytester, FakeLog())
    result.assert_outcomes(passed=1, failed=1)
    assert attempts(pytester) == 3 + 2
    assert [attempt.test for attempt in plugin.attempts] == [
        "test_a.py::test_one", "test_a.py::test_one", "test_b.py::test_two"]
    result.stdout.fnmatch_lines(["*not repeated, after 3 repeats: test_b.py::test_two"])


def test_repeats_of_several_processes(tmp_path):
    budgets = [strays.Budget(tmp_path / "repeats") for _ in range(2)]
    assert [budgets[number % 2].take() for number in range(5)] == [True, True, True, False, False]


def test_told_to_who_started_it(pytester):
    """config.spoilt, and so what tests/conftest.py writes down."""
    pytester.makepyfile(FAILING.format(name="one", failures=1))
    pytester.makeconftest("def pytest_sessionfinish(session):\n"
                          "    import json, pathlib\n"
                          "    pathlib.Path('spoilt').write_text(json.dumps(session.config.spoilt))\n")
    run(pytester, FakeLog())
    (test, line), = json.loads((pytester.path / "spoilt").read_text())
    assert test.endswith("::test_one") and line == "AssertionError: attempt 0 went wrong"


@contextlib.contextmanager
def stray(code=1):
    """A process that gets such a signal when it is told to."""
    process = subprocess.Popen([sys.executable, "-c", STRAY, str(code)], stdin=subprocess.PIPE, text=True)

    def go():
        process.communicate("\n", timeout=60)
        assert process.returncode == 0

    try:
        yield go
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def log():
    log = strays.TraceLog()
    yield log
    log.close()
    assert not log.directory.exists()


NEEDS_ROOT = pytest.mark.skipif(not machine.is_root(), reason="only root can trace signals")


@NEEDS_ROOT
def test_own_process_is_logged(log):
    assert log.works
    with stray() as go:
        go()
    assert len(log.lines()) == 1
    log.clear()
    assert not log.lines()


@NEEDS_ROOT
def test_child_of_a_child_is_logged(log):
    """As the target of a COMMAND is."""
    command = ["/bin/sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", STRAY, "1"]
    subprocess.run(command, input="\n", text=True, check=True, timeout=60)
    assert len(log.lines()) == 1


@NEEDS_ROOT
def test_other_signals_are_not_logged(log):
    """INT3's, and those that people send."""
    for code in (128, -1):
        with stray(code) as go:
            go()
    assert not log.lines()


@NEEDS_ROOT
def test_other_process_is_not_logged():
    """As if another session had started it: its log has it, and this session's has not."""
    with stray() as go:
        log = strays.TraceLog()
        try:
            go()
            assert log.works and not log.lines()
        finally:
            log.close()


@NEEDS_ROOT
def test_left_by_who_was_killed(log):
    """It is removed by who comes next, and what is in use stays."""
    stale = machine.TRACING / "instances" / f"{strays.PREFIX}killed"
    stale.mkdir()
    another = strays.TraceLog()
    another.close()
    assert not stale.exists() and log.directory.exists()


@NEEDS_ROOT
def test_two_sessions(pytester):
    """At once, of which the target of one gets a signal: the other's failure stands."""
    pytester.makeconftest(f"import sys\nsys.path.insert(0, {str(machine.TREE / 'tests')!r})\n"
                          "from helpers import strays\n"
                          "def pytest_configure(config):\n"
                          "    config.pluginmanager.register(strays.StrayTraps())\n")
    pytester.makepyfile(f"""
        import pathlib, subprocess, sys
        def note(text):
            with open("attempts", "a") as file:
                file.write(text + "\\n")
        def test_with_stray():
            note("stray")
            subprocess.run([sys.executable, "-c", {STRAY!r}, "1"], input="\\n", text=True, check=True)
            assert False
        def test_without():
            note("begins")
            sys.stdin.readline()
            note("plain")
            assert False
        """)
    environment = {**os.environ, "PLACE_PROBE_TEST_GUEST": "", "PLACE_PROBE_TEST_REPEATS": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-k"]

    def begin(name):
        return subprocess.Popen([*command, name], cwd=pytester.path, env=environment, stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, text=True)

    def noted():
        path = pytester.path / "attempts"
        return path.read_text().splitlines() if path.exists() else []

    other = begin("without")
    machine.wait_until(lambda: "begins" in noted(), "the other session's test begins")
    assert begin("with_stray").wait(timeout=60) == 1
    other.communicate("\n", timeout=60)
    assert other.returncode == 1
    assert noted().count("stray") == 1 + strays.REPEATS and noted().count("plain") == 1


@NEEDS_ROOT
def test_provoked_by_a_unit_program(log):
    """By its name: caller_provoke() in tests/unit/caller.h."""
    with open(machine.TREE / "tests/unit/caller.h", encoding="utf-8") as file:
        assert 'PR_SET_NAME, "provoker"' in file.read()
    named = 'open("/proc/self/comm", "w").write("provoker")\n' + STRAY
    subprocess.run([sys.executable, "-c", named, "1"], input="\n", text=True, check=True, timeout=60)
    assert not log.lines()
