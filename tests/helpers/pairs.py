# SPDX-License-Identifier: GPL-2.0-or-later
"""Few rows of a product of parameters in which all values, and all pairs that matter, are together at least once.

PLACE_PROBE_TEST_FULL=1 has the whole product instead.
"""

import collections
import itertools
import os

import pytest

from . import apps


def is_full():
    return os.environ.get("PLACE_PROBE_TEST_FULL") == "1"


def few(all_of_them, *in_check):
    """What there is to try in check, and in a full run."""
    return list(all_of_them) if is_full() else list(in_check)


def only_full(test):
    """A decorator: it is tried in full runs, and is none in others."""
    return test if is_full() else None


def cover(rows, parts_of):
    """Some of the rows, in their order, in which all parts are that there are in any: the same ones each time."""
    rows = list(rows)
    parts = [frozenset(parts_of(row)) for row in rows]
    missing = frozenset().union(*parts)
    used = collections.Counter()

    # Of those that are as good, the one whose parts are the rarest so far.
    def worth(at):
        return len(parts[at] & missing), -sum(used[part] for part in parts[at]), -at

    chosen = []
    while missing:
        best = max(range(len(rows)), key=worth)
        chosen.append(best)
        missing -= parts[best]
        used.update(parts[best])
    # What was chosen first may be in those that came later.
    for at in list(chosen):
        others = frozenset().union(*(parts[other] for other in chosen if other != at))
        if parts[at] <= others:
            chosen.remove(at)
    return [rows[at] for at in sorted(chosen)]


def pairs_in(row):
    """Each two of its values, and which they are."""
    return itertools.combinations(enumerate(row), 2)


def pairwise(*dimensions):
    """Tuples in which each value occurs, and each two values of different dimensions. Of two dimensions that would be
    all tuples: then each value occurs, and no more is asked for."""
    dimensions = [list(dimension) for dimension in dimensions]
    places = itertools.product(*map(range, map(len, dimensions)))
    chosen = cover(places, enumerate if len(dimensions) < 3 else pairs_in)
    return [tuple(dimension[at] for dimension, at in zip(dimensions, row)) for row in chosen]


def version_of(variant):
    return apps.RUNTIMES[variant]


def code_of(variant):
    """Whether its own methods are precompiled."""
    return "r2r" if variant in apps.PRECOMPILED else "il"


def layout_of(variant):
    """Where its code lies, as far as that differs."""
    special = {"comp10": "composite", "sfc10": "compressed", **dict.fromkeys(("sf8", "sf10", "sf11"), "single-file"),
               **dict.fromkeys(("musl8", "musl10"), "musl")}
    return special.get(variant, code_of(variant))


def choose(names, rows, *aspects, ident=str):
    """A parametrize mark: of the rows, as many as have each value of each name and of each aspect. An aspect is
    a function of a row's values, of whose results all are wanted: pairs, say. ident() names a value."""
    rows = list(rows)

    def parts_of(row):
        yield from (("value", at, ident(value)) for at, value in enumerate(row))
        yield from (("aspect", at, aspect(*row)) for at, aspect in enumerate(aspects))

    chosen = rows if is_full() else cover(rows, parts_of)
    return pytest.mark.parametrize(names, chosen, ids=["-".join(map(ident, row)) for row in chosen])
