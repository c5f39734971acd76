# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/lint/rooms: which edges between rooms are found, and which table passes for them."""

import shutil

import pytest

from helpers import machine

pytestmark = [pytest.mark.beside, pytest.mark.anyone]

FILES = {
    "src/main.c": '#include "upper/a.h"\n#include <stdio.h>\n',
    "src/upper/a.h": '#include "lower/b.h"\n',
    "src/upper/a.c": '#include "upper/a.h"\n#include "bpf/event.h"\n  #  include "lower/b.h"\n',
    "src/lower/b.h": "int b;\n",
    "src/lower/deep/c.c": '#include "lower/b.h"\n',
    "bpf/event.h": '#include "bpf/other/d.h"\n',
    "bpf/other/d.h": "int d;\n",
}
TABLE = ["main: upper", "upper: lower", "lower:", "lower/deep: lower"]


@pytest.fixture
def rooms(tmp_path):
    """rooms(LINES, {FILE: TEXT}, ARGUMENT...): exit code and output, with that table and, in the tree, those files too."""
    def run(table, files=(), *arguments):
        for made in ("src", "bpf"):
            shutil.rmtree(tmp_path / made, ignore_errors=True)
        for name, text in {**FILES, **dict(files), "tests/lint/layers": "# words\n" + "\n".join(table)}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        shutil.copy(machine.TREE / "tests/lint/rooms", tmp_path / "rooms")
        result = machine.run("./rooms", *arguments, check=False, cwd=tmp_path)
        return result.returncode, result.stdout + result.stderr

    return run


def test_all_allowed(rooms):
    assert rooms(TABLE) == (0, "")


UP = {"src/lower/e.c": '#include "upper/a.h"\n'}
EDGE = "src/lower/e.c upper/a.h"


def test_an_edge_that_is_not(rooms):
    code, output = rooms(TABLE, UP)
    assert code == 1
    assert output == "src/lower/e.c includes upper/a.h, which tests/lint/layers does not allow\n"
    assert rooms(TABLE, UP, "--debts") == (0, EDGE + "\n")
    assert rooms(TABLE + [EDGE], UP) == (0, "")


def test_debts_get_fewer(rooms):
    code, output = rooms(TABLE + [EDGE])
    assert code == 1 and f"{EDGE}: has gone" in output
    code, output = rooms(TABLE + ["src/main.c upper/a.h"])
    assert code == 1 and "src/main.c upper/a.h: is allowed" in output


def test_one_file_of_a_room(rooms):
    more = {"src/upper/f.c": '#include "lower/deep/c.h"\n', "src/lower/deep/c.h": "int c;\n"}
    assert rooms(TABLE + ["src/upper/f.c: lower/deep"], more) == (0, "")
    code, output = rooms(TABLE + ["src/upper/a.c: lower/deep"], more)
    assert code == 1 and output.splitlines() == [
        "src/upper/f.c includes lower/deep/c.h, which tests/lint/layers does not allow",
        "src/upper/a.c does not include lower/deep, so take it out of tests/lint/layers"]
    code, output = rooms(TABLE + ["src/lower/deep/c.c: upper"], {"src/lower/deep/c.c": '#include "upper/a.h"\n'})
    assert code == 0  # upper includes lower, not lower/deep
    code, output = rooms(TABLE + ["src/lower/e.c: upper"], UP)
    assert code == 1 and "these include each other: lower upper" in output


def test_a_circle(rooms):
    code, output = rooms(["main: upper", "upper: lower", "lower: upper", "lower/deep: lower"])
    assert code == 1 and output.splitlines() == [
        "tests/lint/layers: these include each other: lower upper"]


def test_a_room_that_is_not_there(rooms):
    code, output = rooms(TABLE[:-1])
    assert code == 1
    assert "src/lower/deep/c.c includes lower/b.h" in output and "lower/deep is not in tests/lint/layers" in output


def test_a_line_that_is_neither(rooms):
    code, output = rooms(TABLE + ["one two three"])
    assert code == 1 and "neither a room nor an edge" in output
