# SPDX-License-Identifier: GPL-2.0-or-later
"""--by=EXPR: calls, and how long they take, for each value of an argument, a field or a result, as the target has them."""

import collections
import itertools
import re

import pytest

from helpers import asked, pairs
from helpers.watched import exact

# Of .NET there is precompiled code only, which nothing replaces.
pytestmark = pytest.mark.beside

VARIANTS = ["values10", "values9", "values8"]
ROUNDS = 40
ROWS = [(variant, mode, method, number) for variant in VARIANTS for mode in ("count", "hist")
        for method in asked.BY for number in range(0, len(asked.BY[method]), 1 if pairs.is_full() else 2)]


def counts_in(result, mode):
    """How many calls of each value."""
    counts = collections.Counter()
    for record in result.records("value" if mode == "count" else "hist"):
        calls = record["calls"] if mode == "count" else record["count"] + record["unwound"]
        counts[asked.value_in(record)] += calls
    return counts


@pairs.choose("variant, mode, method, number", ROWS, lambda variant, mode, method, number: (method, number),
        lambda variant, mode, method, number: (variant, mode))
def test_dotnet(share, place_probe, tmp_path, variant, mode, method, number):
    expression, value_of = asked.BY[method][number]
    target = share(variant)
    live = place_probe.live(*asked.OPTIONS[mode], "-j", f"--by={expression}", target.pid, f"{asked.TYPE}::{method}")
    calls = asked.of_method(asked.make(target, tmp_path / "calls", ROUNDS, 2), method)
    result = exact(live.stop())
    assert counts_in(result, mode) == collections.Counter(map(value_of, calls))
    assert all(record["by"] == expression for record in result.records("value"))
    if mode == "count":
        assert result.calls() == len(calls)


@pytest.mark.parametrize("mode", ["count", "hist"])
def test_with_a_filter(share, place_probe, tmp_path, mode):
    """Of those that are asked for, at their end as well."""
    target = share("values10")
    for expression, holds in [asked.ENTRY["Work"][0], (asked.END["Work"][1])]:
        at_end = "result" in expression
        live = place_probe.live(*asked.OPTIONS[mode], "-j", "--by=status", "--if", expression, target.pid,
                                f"{asked.TYPE}::Work")
        calls = asked.of_method(asked.make(target, tmp_path / "calls", ROUNDS), "Work")
        result = exact(live.stop())
        expected = collections.Counter(asked.member(call[1]["status"]) for call in calls
                                       if holds(call if at_end else call[1]))
        assert counts_in(result, mode) == expected, expression


OF_NATIVE = [
    ("order", "state", lambda call: "OPEN"),
    ("order", "shade", lambda call: {1: "red", 200: "green"}[call[1][2]]),
    ("order", "order.items", lambda call: call[1][0] and call[1][0]["items"]),
    ("order", "result", lambda call: {0: "OPEN", 7: "PAID", -3: "LOST"}[call[2]]),
    ("integers", "a", lambda call: call[1][0]),
    ("integers", "g", lambda call: call[1][6]),
    ("text", "letter", lambda call: call[1][1]),
    ("text", "yes", lambda call: call[1][2]),
]


@pairs.choose("mode, number", itertools.product(["count", "hist"], range(len(OF_NATIVE))))
def test_native(place_probe, watched, mode, number):
    kind, expression, value_of = OF_NATIVE[number]
    live = place_probe.live(*asked.OPTIONS[mode], "-j", f"--by={expression}", watched.pid, f"watched!watched_{kind}")
    calls = watched.make(kind, 60, 2)
    result = exact(live.stop())
    assert counts_in(result, mode) == collections.Counter(map(value_of, calls))


def test_c_strings(place_probe, watched):
    """Equal ones are one value, wherever they lie; longer than what is taken they are cut."""
    live = place_probe.live("-c", "-j", "--by=text", "--string-bytes=12", watched.pid, "watched!watched_text")
    calls = watched.make("text", 64)
    result = exact(live.stop())
    values = {asked.value_in(record): record["calls"] for record in result.records("value")}
    numbers = collections.Counter(call[1][0]["text"] for call in calls)
    assert values["Ada"] == numbers[1] and values[None] == numbers[7] and values[""] == numbers[0]
    assert values[("012345678901", "cut")] == numbers[5] + numbers[6]
    assert sum(values.values()) == len(calls)


@pytest.mark.parametrize("mode", ["count", "hist"])
def test_what_ends_in_a_tail_call_is_unknown(place_probe, watched, mode):
    """It has no result, and what is in the register of results is anything."""
    live = place_probe.live(*asked.OPTIONS[mode], "-j", "--by=result", watched.pid, "watched!watched_tail")
    watched.make("tail", 30, 4)
    assert counts_in(exact(live.stop()), mode) == {asked.UNKNOWN: 120}


def test_text(place_probe, watched):
    live = place_probe.live("-c", "--by=shade", watched.pid, "watched!watched_order")
    calls = watched.make("order", 30)
    out = live.stop().expect(0).out
    green = sum(call[1][2] == 200 for call in calls)
    assert re.search(r"^ +CALLS  shade  of watched_order\n +\d+  (red|green)\n", out, re.MULTILINE)
    assert re.search(rf"^ +{green}  green$", out, re.MULTILINE)


def test_text_of_histograms(place_probe, watched):
    live = place_probe.live("-H", "--by=shade", watched.pid, "watched!watched_order")
    watched.make("order", 30)
    out = live.stop().expect(0).out
    assert re.search(r"^watched_order, shade: green$", out, re.MULTILINE)
    assert re.search(r"^watched_order, shade: red$", out, re.MULTILINE)


def test_intervals_have_what_is_new(place_probe, watched):
    live = place_probe.live("-c", "-j", "-i", "1", "--by=shade", watched.pid, "watched!watched_order")
    calls = watched.make("order", 30)
    live.wait_out(lambda out: '"value"' in out, "an interval with values")
    calls += watched.make("order", 30)
    result = exact(live.stop())
    assert counts_in(result, "count") == collections.Counter({1: "red", 200: "green"}[call[1][2]] for call in calls)


def test_more_values_than_there_is_room_for(place_probe, watched):
    """What does not fit is counted together, and all together is all."""
    live = place_probe.live("-c", "-j", "--by=h", watched.pid, "watched!watched_integers")
    calls = watched.make("integers", 5000)
    result = exact(live.stop())
    values = result.records("value")
    other = sum(record["calls"] for record in values if record["rest"] == "other")
    assert len(values) == 4096 + 1 and other == len(calls) - 4096
    assert sum(record["calls"] for record in values) == len(calls) == result.calls()


def test_what_cannot_be_read_is_unknown(place_probe, watched):
    live = place_probe.live("-c", "-j", "--by=text", watched.pid, "watched!watched_text")
    calls = watched.make("faults", 10)
    result = live.stop().expect(0)
    values = {asked.value_in(record): record["calls"] for record in result.records("value")}
    assert values[asked.UNKNOWN] > 0 and sum(values.values()) == result.calls() <= len(calls)


@pytest.mark.parametrize("words, said", [
    (["-c", "--by=nosuch"], "at character 1 'nosuch' is no parameter"),
    (["-c", "--by=order"], "at character 1 .*told apart by"),
    (["-c", "--by=order.nosuch"], "at character 1 'nosuch' is no field"),
    (["-H", "--by=order.note", "--redact=note"], "values are not shown"),
    (["-c", "--by=@result"], "'result' is no parameter"),
])
def test_mistakes_are_pointed_at(place_probe, watched, words, said):
    result = place_probe.run(*words, watched.pid, "watched!watched_order").expect(2)
    assert re.search(said, result.err), result.err
