# SPDX-License-Identifier: GPL-2.0-or-later
"""Unwind rows of whole frameworks, held against what the code itself does to the stack."""

import re

import pytest

from helpers import machine

pytestmark = pytest.mark.beside

RESULT = re.compile(r": (\d+) functions, (\d+) followed through their prologue, (\d+) places, "
                    r"(\d+) without frame pointer, (\d+) wrong, \d+ rows, (\d+) damaged")


@pytest.fixture(scope="session")
def tool():
    return machine.tool("unwind_prologues")


@pytest.mark.anyone
@pytest.mark.parametrize("app, image", [
    ("sc8", "System.Private.CoreLib.dll"), ("sc9", "System.Private.CoreLib.dll"),
    ("sc10", "System.Private.CoreLib.dll"), ("sc10", "System.Linq.dll"),
    ("comp10", "counter.r2r.dll"), ("r2r10", "counter.dll")])
def test_prologues(tool, build_app, app, image):
    """Zydis follows each function through its prologue and on: nowhere may a row say otherwise."""
    path = build_app(app).parent / image
    result = machine.run(tool, path, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    functions, followed, places, frameless, wrong, damaged = map(
        int, RESULT.search(result.stdout).groups())
    assert wrong == damaged == 0
    assert followed == functions > 250
    assert places > 10 * functions
    assert frameless > 0.9 * functions
