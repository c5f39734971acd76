# SPDX-License-Identifier: GPL-2.0-or-later
"""Where breakpoints are dead a failure is put down to that only for tests that may be skipped for it."""

import pytest

from helpers import breakpoints, probe

pytestmark = pytest.mark.beside

pytest_plugins = "pytester"

TOLD = """
from helpers import probe
def {name}():
    probe.said_dead.append(probe.DEAD)
    assert False, "for a reason of its own"
"""


@pytest.fixture
def dead(monkeypatch):
    """A machine without breakpoints, and no trace left of what was said there."""
    monkeypatch.setattr(breakpoints, "fire", lambda: False)
    yield
    probe.said_dead.clear()


def run(pytester, name):
    pytester.makepyfile(TOLD.format(name=name))
    plugin = breakpoints.DeadBreakpoints(lambda test, reason: test.endswith("::test_listed")
                                         and reason == probe.DEAD)
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-rs", plugins=[plugin])


def test_listed_one_is_skipped(pytester, dead):
    result = run(pytester, "test_listed")
    result.assert_outcomes(skipped=1)
    # What is behind the skip is told as well.
    result.stdout.fnmatch_lines(["*::test_listed: AssertionError: for a reason of its own*", f"*{probe.DEAD}*"])


def test_other_one_fails_as_it_did(pytester, dead):
    result = run(pytester, "test_other")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*for a reason of its own*"])
