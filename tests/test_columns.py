# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/lint/columns: which lines are too long, and which rooms may have such."""

import shutil

import pytest

from helpers import machine

pytestmark = [pytest.mark.beside, pytest.mark.anyone]


@pytest.fixture
def columns(tmp_path):
    """columns({FILE: TEXT}): the faults that are found, without debts or, with debts=True, those alone."""
    shutil.copy(machine.TREE / "tests/lint/columns", tmp_path / "columns")

    def run(files, debts=False):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = machine.run("./columns", check=False, cwd=tmp_path)
        faults = [line for line in result.stdout.splitlines() if ("DEBTS" in line) == debts]
        assert result.returncode == bool(result.stdout)
        return faults

    return run


def test_widths(columns):
    assert columns({"src/base/a.c": "x" * 100 + "\n\t" + "x" * 92 + "\n" + "ä" * 100 + "\n"}) == []
    assert columns({"src/base/a.c": "x\n\t" + "x" * 93 + "\n", "mapparse/b.h": "x" * 101}) == [
        "mapparse/b.h:1: more than 100 columns", "src/base/a.c:2: more than 100 columns"]


def test_strings(columns):
    assert columns({"src/base/a.c": 'tell("' + "x" * 200 + r"\"y" * 30 + '");\n'}) == []
    assert columns({"src/base/a.c": 'tell("x"); /* ' + "x" * 100 + " */\n"}) == ["src/base/a.c:1: more than 100 columns"]


def test_debts_get_fewer(columns):
    paid = columns({}, debts=True)
    assert paid and all(line.endswith("has no long line any more: take it out of DEBTS") for line in paid)
    room = paid[0].split(": ")[1].split(" ")[0]
    assert columns({f"{room}/a.c": "x" * 101}) == []
    assert columns({}, debts=True) == paid[1:]
