# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether few rows stand for a whole product: helpers/pairs.py."""

import itertools
import os
import sys

import pytest

from helpers import apps, machine, pairs
from helpers.follow import EACH_VERSION

pytestmark = pytest.mark.beside

# Of sizes that tests have and of others, and how many rows there are at most.
PRODUCTS = [(["abc", "de", "fgh"], 9), (["abc", "de", range(12)], 36),
            ([range(5), range(4), range(3), "ab"], 25), (["ab"] * 6, 10), ([range(7), "a", "bc"], 14)]
THREADS = [0, 1, 8]


@pytest.fixture(autouse=True)
def not_full(monkeypatch):
    monkeypatch.delenv("PLACE_PROBE_TEST_FULL", raising=False)


def version_and_threads(variant, threads):
    return pairs.version_of(variant), threads


def choose():
    """A mark's rows and their names."""
    mark = pairs.choose("variant, threads", itertools.product(EACH_VERSION, THREADS), version_and_threads).mark
    assert mark.name == "parametrize" and mark.args[0] == "variant, threads"
    return mark.args[1], mark.kwargs["ids"]


@pytest.mark.parametrize("dimensions, most", PRODUCTS, ids=str)
def test_each_pair(dimensions, most):
    rows = pairs.pairwise(*dimensions)
    assert len(rows) <= most and len(set(rows)) == len(rows)
    assert set(rows) <= set(itertools.product(*dimensions))
    for one, other in itertools.combinations(range(len(dimensions)), 2):
        assert {(row[one], row[other]) for row in rows} == \
            set(itertools.product(dimensions[one], dimensions[other]))


@pytest.mark.parametrize("dimensions", [["abc"], ["abcd", "efg"], ["ab", range(9)]], ids=str)
def test_each_value_of_two(dimensions):
    rows = pairs.pairwise(*dimensions)
    assert len(rows) == max(map(len, dimensions))
    assert [{row[at] for row in rows} for at in range(len(dimensions))] == [set(values) for values in dimensions]


def test_values_without_a_hash():
    lists = [["static", "instance"], ["virtual"]]
    assert pairs.pairwise(lists, "a", "b") == [(lists[0], "a", "b"), (lists[1], "a", "b")]


def test_aspects():
    """Each value, each result of an aspect, and nothing that is no row."""
    rows, names = choose()
    assert len(rows) == 9 and names == [f"{variant}-{threads}" for variant, threads in rows]
    assert {variant for variant, _ in rows} == set(EACH_VERSION)
    assert {version_and_threads(*row) for row in rows} == set(itertools.product((8, 9, 10), THREADS))


def test_rows_that_are_no_product():
    """What does not go together is not made up."""
    rows = [("fd10", "il"), ("fd10", "r2r"), ("sf10", "il")]
    assert pairs.choose("variant, code", rows).mark.args[1] == [("fd10", "r2r"), ("sf10", "il")]


def test_same_each_time():
    """Also in another process, which hashes strings otherwise."""
    program = "from helpers import pairs; print(pairs.pairwise('abcde', 'fgh', 'ijk', 'lm'))"
    printed = {machine.run(sys.executable, "-c", program, cwd=machine.TREE / "tests",
                           env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}).stdout
               for seed in ("0", "1", "2", "3")}
    assert printed == {f"{pairs.pairwise('abcde', 'fgh', 'ijk', 'lm')}\n"}


def test_all_when_asked(monkeypatch):
    monkeypatch.setenv("PLACE_PROBE_TEST_FULL", "1")
    rows, names = choose()
    assert rows == list(itertools.product(EACH_VERSION, THREADS)) and len(set(names)) == len(rows)


def test_classes():
    """Of each variant it is known what it is."""
    assert {pairs.version_of(variant) for variant in apps.RUNTIMES} == {8, 9, 10, 11}
    assert [pairs.code_of(variant) for variant in EACH_VERSION] == ["il", "r2r"] * 3
    assert {pairs.layout_of(variant) for variant in apps.RUNTIMES} == \
        {"il", "r2r", "composite", "single-file", "compressed", "musl"}
