# SPDX-License-Identifier: GPL-2.0-or-later
"""What a session of tests, and a unit program, leaves to be counted; no skip is silent."""

import json
import os
import subprocess
import sys

import pytest

from helpers import cmocka, machine

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
    code, _, results = session(*names)
    assert code == 1
    assert {key: results[key] for key in ("passed", "failed", "skipped", "spoilt")} == {
        "passed": 2, "failed": 2, "skipped": 2, "spoilt": []}
    outcomes = {test.partition("::")[2]: outcome for test, _, outcome in results["tests"]}
    assert outcomes == dict(zip(names, ["passed", "failed", "skipped", "passed", "failed"])) | {
        "test_has_parts::test_part": "skipped"}
    assert all(seconds >= 0 for _, seconds, _ in results["tests"])


@pytest.mark.parametrize(("name", "reason"), [("test_skips", "some reason"), ("test_has_parts", "another reason")])
def test_unexpected_skip_fails(session, name, reason):
    code, printed, results = session("test_passes", name)
    assert code == 1 and results["failed"] == 0 and results["skipped"] == 1
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
