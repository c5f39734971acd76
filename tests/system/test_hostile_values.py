# SPDX-License-Identifier: GPL-2.0-or-later
"""--watch of objects that are none (tests/apps/values/Hostile.cs): strings of 2 GB, MethodTables that lie, pages that
are gone, what has itself, and memory that another thread rewrites meanwhile. Each call is shown once, in bounds; what
is not so is marked; and the target, which only passes them on, goes on."""

import unicodedata

import pytest

from helpers.watched import exact

# Of .NET there is precompiled code only, which nothing replaces.
pytestmark = pytest.mark.beside

TAKE = "Values.Hostile::Take"
CALLS = 1600
KINDS = 16
LONGEST = 2 ** 31 - 1
# A line of a call whose arguments have all that there can be is far below that.
LINE_MAX = 40_000
# Which are of memory that stands still, by the kind of the call.
STILL = set(range(14)) - {7}


def argument(call, name):
    [found] = [value for value in call["arguments"] if value["name"] == name]
    return found


def check_text(kind, text):
    """A string that is longer than what is there."""
    if kind in (0, 3):
        assert text["cut"] and text["length"] == (LONGEST if kind == 0 else 2 ** 32 - 1)
        # The first half of a character is not shown where the other is cut off.
        assert text["value"] == ("a" * 32 if kind == 0 else "\ud800" * 31)
    elif kind in (1, 2):
        assert text["unavailable"] == "not in memory"
    elif kind == 13:
        assert text["value"] == "cyclic"
    else:
        assert text["value"] is None


def check_gone(call):
    assert argument(call, "numbers")["unavailable"] == "not in memory"
    assert argument(call, "texts")["unavailable"] == "not in memory"
    assert argument(call, "of")["unavailable"] == "not in memory"


def check_cyclic(call):
    """As deep as is asked for, and no deeper."""
    fields = {field["name"]: field for field in argument(call, "of")["fields"]}
    assert fields["Number"]["value"] == argument(call, "id")["value"] and fields["Text"]["value"] == "cyclic"
    assert fields["Before"]["type"] == "Values.Receipt"


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("variant", ["values10", "values9", "values8"])
def test_each_call_is_shown_once(share, place_probe, variant, depth):
    target = share(variant)
    live = place_probe.live("--watch", "-j", f"--depth={depth}", "--buffer=64M", target.pid, TAKE, timeout=120)
    target.ask(f"hostile {CALLS} {depth}", "done")
    result = exact(live.stop())
    calls = result.records("call")
    assert [argument(call, "id")["value"] for call in calls] == list(range(CALLS))
    assert all(call["result"]["value"] == i for i, call in enumerate(calls))
    assert max(map(len, result.out.splitlines())) < LINE_MAX
    for i, call in enumerate(calls):
        if i % KINDS in STILL:
            check_text(i % KINDS, argument(call, "text"))
        if i % KINDS == 6 and depth:
            check_gone(call)
        if i % KINDS == 13 and depth:
            check_cyclic(call)


def test_as_text(share, place_probe):
    target = share("values10")
    live = place_probe.live("--watch", "--depth=2", "--buffer=64M", target.pid, TAKE, timeout=120)
    target.ask(f"hostile {CALLS} 5", "done")
    result = live.stop().expect(0)
    assert "nothing lost" in result.err
    lines = [line for line in result.out.splitlines() if "Hostile::Take(" in line]
    assert len(lines) == CALLS and max(map(len, lines)) < LINE_MAX
    assert not any(unicodedata.category(character) == "Cc" for character in "".join(lines))
    assert sum('text: "' + "a" * 32 + '"…' in line for line in lines) == CALLS / KINDS


@pytest.mark.parametrize("condition, kinds", [
    ("text.Length == 2147483647 && id >= 0", {0, 1}),
    ('text == "cyclic"', {13}),
    ("numbers.Length == 2147483647", {10}),
    ('of.Before.Before.Text == "cyclic"', {13}),
])
def test_filters(share, place_probe, condition, kinds):
    """What is so is shown, if it is of memory that stands still; what cannot be read is undecided. None is lost."""
    target = share("values10")
    live = place_probe.live("--watch", "-j", "--if", condition, target.pid, TAKE)
    target.ask(f"hostile {CALLS} 9", "done")
    result = live.stop().expect(0)
    shown = [argument(call, "id")["value"] for call in result.records("call")]
    [filtered] = result.summary()["filtered"]
    assert len(shown) + filtered["calls"] + filtered["undecided"] == CALLS
    assert [i for i in shown if i % KINDS in STILL] == [i for i in range(CALLS) if i % KINDS in kinds]
    assert filtered["undecided"] > 0
