# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/lint/sizes: which lines and files are too long, and which may be."""

import re

import pytest

from helpers import machine

pytestmark = [pytest.mark.beside, pytest.mark.anyone]


@pytest.fixture
def sizes(tmp_path):
    """sizes({FILE: TEXT}, DEBT...): the faults that are found, with those debts."""
    script = (machine.TREE / "tests/lint/sizes").read_text()

    def run(files, *debts):
        (tmp_path / "sizes").write_text(re.sub("DEBTS = .*", f"DEBTS = set({debts})", script, count=1))
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = machine.run("/usr/bin/python3", "sizes", check=False, cwd=tmp_path)
        assert result.returncode == bool(result.stdout)
        return result.stdout.splitlines()

    return run


def test_widths(sizes):
    assert sizes({"src/base/a.c": "x" * 100 + "\n\t" + "x" * 92 + "\n" + "ä" * 100 + "\n"}) == []
    assert sizes({"src/base/a.c": "x\n\t" + "x" * 93 + "\n", "mapparse/b.h": "x" * 101}) == [
        "mapparse/b.h:1: more than 100 columns", "src/base/a.c:2: more than 100 columns"]


def test_strings(sizes):
    assert sizes({"src/base/a.c": 'tell("' + "x" * 200 + r"\"y" * 30 + '");\n'}) == []
    assert sizes({"src/base/a.c": 'tell("x"); /* ' + "x" * 100 + " */\n"}) == ["src/base/a.c:1: more than 100 columns"]


def test_lengths(sizes):
    assert sizes({"bpf/a.h": "x\n" * 500, "tests/unit/test_a.c": "x\n" * 501}) == []
    assert sizes({"bpf/a.h": "x\n" * 501}) == ["bpf/a.h: 501 lines, which is more than 500"]


def test_debts_get_fewer(sizes):
    files = {"src/base/a.c": "x" * 101, "bpf/a.h": "x\n" * 501}
    assert sizes(files, "src/base", "bpf/a.h") == []
    assert sizes(files, "src/base", "bpf/a.h", "mapparse") == [
        "tests/lint/sizes: mapparse has nothing too long any more: take it out of DEBTS"]
    assert sizes(files, "bpf/a.h") == ["src/base/a.c:1: more than 100 columns"]
