# SPDX-License-Identifier: GPL-2.0-or-later
"""What a session of tests, and a unit program, leaves to be counted; no skip is silent."""

import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys

import pytest

from helpers import cmocka, machine, results

pytestmark = pytest.mark.beside

SESSION = """
import pytest
def test_passes(): pass
def test_fails(): assert False, "the reason"
def test_skips(): pytest.skip("some reason")
def test_has_parts(skip_part): skip_part("test_part", "another reason")
@pytest.fixture
def late():
    yield
    assert False
def test_fails_late(late): pass
"""


@pytest.fixture
def session(tmp_path):
    """session(NAME...): these tests under tests/conftest.py: the exit code, what is printed, the results."""
    def run(*names):
        path = tmp_path / "test_session.py"
        path.write_text(SESSION)
        environment = {**os.environ, "PYTHONPATH": str(machine.TREE / "tests"),
                       "PLACE_PROBE_TEST_RESULTS": str(tmp_path / "results")}
        command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-q",
                   f"--rootdir={tmp_path}", *(f"{path}::{name}" for name in names)]
        result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
        return result.returncode, result.stdout, json.loads((tmp_path / "results").read_text())

    return run


def test_results(session):
    names = ["test_passes", "test_fails", "test_skips", "test_has_parts", "test_fails_late"]
    code, _, left = session(*names)
    assert code == 1
    assert {key: left[key] for key in ("passed", "failed", "skipped", "spoilt")} == {
        "passed": 2, "failed": 2, "skipped": 2, "spoilt": []}
    outcomes = {test.partition("::")[2]: outcome for test, _, outcome in left["tests"]}
    assert outcomes == dict(zip(names, ["passed", "failed", "skipped", "passed", "failed"])) | {
        "test_has_parts::test_part": "skipped"}
    assert all(seconds >= 0 for _, seconds, _ in left["tests"])
    test, late = (f"test_session.py::{name}" for name in ("test_fails", "test_fails_late"))
    assert results.failures([results.Part("lane", **left)]) == [
        f"failed: {test} (lane)", "    AssertionError: the reason assert False",
        f"failed: {late} (lane)", "    assert False"]


def test_long_reason():
    """Of what is long the beginning and the end are left."""
    class Report:
        longrepr = "begins " + 5000 * "x" + "\nends"

    said = results.why(Report)
    assert said.startswith("begins x") and said.endswith("x ends") and len(said) < 1000


@pytest.mark.parametrize("by_function", [False, True])
def test_shared_lane(tmp_path, by_function):
    """Two processes of one lane run each file once, or each function of it, and all of them."""
    claims = tmp_path / "claims"
    claims.mkdir()
    for number in range(6):
        (tmp_path / f"test_{number}.py").write_text(
            f"import time, pytest\npytestmark = pytest.mark.beside(by_function={by_function})\n"
            "@pytest.mark.parametrize('many', range(2))\ndef test_one(many): time.sleep(0.1)\n"
            "@pytest.mark.parametrize('many', range(2))\ndef test_two(many, tmp_path): time.sleep(0.1)\n")
    processes = []
    for number in range(2):
        environment = {**os.environ, "PYTHONPATH": str(machine.TREE / "tests"), "PLACE_PROBE_TEST_CLAIMS": str(claims),
                       "PLACE_PROBE_TEST_RESULTS": str(tmp_path / f"results-{number}")}
        processes.append(subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-q", f"--rootdir={tmp_path}",
             tmp_path], cwd=tmp_path, env=environment))
    assert [process.wait(60) for process in processes] == [0, 0]
    parts = [results.Part(f"part {number}", **json.loads((tmp_path / f"results-{number}").read_text()))
             for number in range(2)]
    ran = [[test for test, *_ in part.tests] for part in parts]
    assert len({*ran[0], *ran[1]}) == len(ran[0]) + len(ran[1]) == 24
    files, functions = ([{test.partition(end)[0] for test in tests} for tests in ran] for end in ("::", "["))
    assert bool(files[0] & files[1]) == by_function, "a file is shared where its functions are told apart"
    assert not functions[0] & functions[1], "a function was shared"
    assert [(part.collected, part.ran) for part in parts] == [(24, len(ran[0])), (24, len(ran[1]))]


@pytest.mark.parametrize(("ran", "problems"), [((7, 5), []), ((7, 4), ["11 tests of 12 were run"]),
                                               ((12, 5), ["17 tests of 12 were run"]),
                                               ((7, 0), ["7 tests of 12 were run"])])
def test_none_is_left_out(monkeypatch, tmp_path, ran, problems):
    """What nobody has run, or two have, fails the lane."""
    monkeypatch.setattr(results, "DIRECTORY", tmp_path)
    parts = [results.Part(f"part {number}", collected=12, ran=each) for number, each in enumerate(ran)]
    assert results.judge_shared(parts)[-1].problems == problems
    assert [part.is_good() for part in parts] == [True, not problems]
    assert bool([*tmp_path.iterdir()]) == bool(problems)


@pytest.mark.parametrize(("lanes", "left"), [({"long": 90, "short": 10}, ["long"]),
                                             ({"short": 10, "long": 90}, ["long"]),
                                             ({"one": 10, "long": 90, "two": 10}, ["long"]), ({"only": 10}, ["only"])])
def test_what_begins_later(monkeypatch, lanes, left):
    """It begins once no more than one lane is left; all are waited for."""
    loader = importlib.machinery.SourceFileLoader("lanes", str(machine.TREE / "tests/check"))
    check = importlib.util.module_from_spec(importlib.util.spec_from_loader("lanes", loader))
    loader.exec_module(check)
    begun = []

    class Lane:
        def __init__(self, name, looks):
            self.name, self.looks = name, looks
            self.beside = [lane.name for lane in begun if lane.looks]
            begun.append(self)

        def has_ended(self):
            """It has when it was looked at so often."""
            self.looks = max(self.looks - 1, 0)
            return self.looks == 0

        def finish(self):
            assert self.looks == 0
            return [self.name]

        def kill(self):
            self.name = None

    monkeypatch.setattr(check, "Lane", Lane)
    monkeypatch.setattr(check.time, "sleep", lambda _: None)
    parts = check.run(*({"name": name, "looks": looks} for name, looks in lanes.items()),
                      then=lambda: Lane("later", 200))
    assert parts == [*lanes, "later"]
    assert begun[-1].beside == left
    assert all(lane.name is None for lane in begun)


@pytest.mark.parametrize(("name", "reason"), [("test_skips", "some reason"), ("test_has_parts", "another reason")])
def test_unexpected_skip_fails(session, name, reason):
    code, printed, left = session("test_passes", name)
    assert code == 1 and left["failed"] == 0 and left["skipped"] == 1
    assert f"skipped, and not in tests/expected-skips: {reason}" in printed
    assert session("test_passes")[0] == 0


RAN = "[==========] 2 test(s) run.\n[  PASSED  ] {} test(s).\n"
ONE_SKIPPED = RAN.format(1) + "[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] test_one\n"


@pytest.mark.parametrize(("code", "output", "expected"), [
    (0, RAN.format(2), cmocka.Outcome()),
    (77, "skipped: only root can tell\n", cmocka.Outcome(skipped="only root can tell")),
    (0, "skipped: test_one: it is dark\n" + ONE_SKIPPED, cmocka.Outcome(parts={"test_one": "it is dark"})),
    (0, "skipped: test_two: it is dark\n" + ONE_SKIPPED, None),
    (0, ONE_SKIPPED, None),
    (77, "", None),
    (77, "skipped: test_one: it is dark\n" + RAN.format(1), None),
    (0, "", None),
    (0, "only root can tell: skipped\n", None),
    (0, RAN.format(0), None),
    (1, RAN.format(2), None),
    (-11, "", None),
])
def test_outcome(code, output, expected):
    """None: the program has failed."""
    outcome = cmocka.outcome(code, output)
    assert outcome == expected if expected else outcome.failure
