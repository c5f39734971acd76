# SPDX-License-Identifier: GPL-2.0-or-later
"""--if in each mode: as many calls are shown as the target says that are so, and all others are counted."""

import re

import pytest

from helpers import asked, pairs
from helpers.pairs import choose
from helpers.watched import exact
from system.test_watch_filters import CONDITIONS

# Of .NET there is precompiled code only, which nothing replaces.
pytestmark = pytest.mark.beside

VARIANTS = ["values10", "values9", "values8"]
ROUNDS = 40
MODES = [mode for mode in asked.OPTIONS if mode != "watch"]


def check_summary(result, shown, all_calls):
    """What was left out is counted, in JSON and as text; all together is all."""
    summary = exact(result).summary()
    assert summary["hits"] == shown
    filtered = {record["method"]: record for record in summary["filtered"]}
    assert sum(record["undecided"] for record in filtered.values()) == 0
    assert sum(record["calls"] for record in filtered.values()) == all_calls - shown
    assert asked.told_filtered(result.err) == all_calls - shown


def numbers(conditions):
    """Every third one in check; their machine is that of test_watch_filters.py."""
    return range(0, len(conditions), 1 if pairs.is_full() else 3)


ROWS = [(variant, mode, method, number) for variant in VARIANTS for mode in MODES for method in asked.ENTRY
        for number in numbers(asked.ENTRY[method])]


@choose("variant, mode, method, number", ROWS, lambda variant, mode, method, number: (method, number),
        lambda variant, mode, method, number: (variant, mode))
def test_dotnet(share, place_probe, tmp_path, variant, mode, method, number):
    expression, holds = asked.ENTRY[method][number]
    target = share(variant)
    live = place_probe.live(*asked.OPTIONS[mode], "-j", "--if", expression, target.pid, f"{asked.TYPE}::{method}")
    calls = asked.of_method(asked.make(target, tmp_path / "calls", ROUNDS, 2), method)
    result = live.stop().expect(0)
    expected = sum(holds(call[1]) for call in calls)
    assert asked.shown_by(mode, result, method) == expected, expression
    check_summary(result, expected, len(calls))


NATIVE = [(mode, kind, number) for mode in MODES for kind in CONDITIONS for number in numbers(CONDITIONS[kind])]


@choose("mode, kind, number", NATIVE, lambda mode, kind, number: (kind, number))
def test_native(place_probe, watched, mode, kind, number):
    """Functions with debug information likewise."""
    expression, holds = CONDITIONS[kind][number]
    live = place_probe.live(*asked.OPTIONS[mode], "-j", "--if", expression, watched.pid, f"watched!watched_{kind}")
    calls = watched.make(kind, 60, 2)
    result = live.stop().expect(0)
    expected = sum(bool(holds(call)) for call in calls)
    shown = {"count": lambda: result.calls(), "hist": lambda: result.records("hist")[0]["count"],
             "folded": lambda: sum(record["count"] for record in result.records("folded"))}.get(
                 mode, lambda: len(result.records("hit")))()
    assert shown == expected, expression
    check_summary(result, expected, len(calls))


def test_text_says_how_many(place_probe, watched):
    live = place_probe.live("-c", "--if", "shade == green", watched.pid, "watched!watched_order")
    calls = watched.make("order", 30)
    result = live.stop().expect(0)
    expected = sum(call[1][2] == 200 for call in calls)
    assert re.search(rf"^ +{expected}  watched_order", result.out, re.MULTILINE)
    assert asked.told_filtered(result.err) == len(calls) - expected


# Of a call with the number h: of 40 calls of the main thread, or of 30 of each of two more.
THREADS = [
    ('thread.name == "watched"', 40, 0), ('thread.name != "watched"', 0, 60), ('thread.name == "worker-1"', 0, 30),
    ('thread.name == "worker-"', 0, 0), ('thread.name == "worker-1" && h < 40', 0, 10),
    ("thread.id == {pid}", 40, 0), ("thread.id > {pid} || thread.id < {pid}", 0, 60),
    ('!(thread.id == {pid}) && thread.name != "worker-0"', 0, 30),
]


@pytest.mark.parametrize("mode", pairs.few([*MODES, "watch"], "count", "watch"))
def test_threads(place_probe, watched, mode):
    """By their names and ids; their calls are told apart by what they are given."""
    for expression, main, others in THREADS:
        live = place_probe.live(*asked.OPTIONS[mode], "-j", "--if", expression.format(pid=watched.pid), watched.pid,
                                "watched!watched_integers")
        calls = watched.make("integers", 40, 0) + watched.make("integers", 30, 2)
        result = live.stop().expect(0)
        assert len(calls) == 100
        shown = {"count": lambda: result.calls(), "hist": lambda: result.records("hist")[0]["count"],
                 "folded": lambda: sum(record["count"] for record in result.records("folded")),
                 "watch": lambda: len(result.records("call"))}.get(mode, lambda: len(result.records("hit")))()
        assert shown == main + others, expression
        check_summary(result, main + others, len(calls))


@pytest.mark.parametrize("mode", MODES)
def test_what_cannot_be_read_is_undecided(place_probe, watched, mode):
    live = place_probe.live(*asked.OPTIONS[mode], "-j", "--if", 'text == "zz"', watched.pid, "watched!watched_text")
    watched.make("faults", 10)
    result = live.stop().expect(0)
    [filtered] = result.summary()["filtered"]
    assert filtered["undecided"] == 5 and filtered["calls"] > 0
    assert re.search(r"watched_text.*: 5 calls are undecided", result.err)
    assert result.summary()["hits"] == 0


def test_functions_of_which_nothing_is_known_are_undecided(place_probe, calls_program, start_app):
    """Without debug information nobody knows what is where; they are neither passed nor dropped."""
    target = start_app("calls", executable=calls_program)
    result = place_probe.run("-c", "--if", "size > 3", target.pid, "libc.so.6!malloc")
    result.expect(2)
    assert "malloc" in result.err and "at character 1" in result.err


def test_limits_count_what_is_asked_for(place_probe, watched):
    """-N: so many that are so."""
    live = place_probe.live("-c", "-j", "-N", "3", "--if", "shade == green", watched.pid, "watched!watched_order")
    watched.make("order", 30)
    result = live.finish().expect(0)
    assert result.calls() == 3


def test_nothing_needs_be_captured(place_probe, watched):
    """--no-values forbids values that leave the kernel, and a filter sends none."""
    live = place_probe.live("-c", "-j", "--no-values", "--if", "shade == green", watched.pid, "watched!watched_order")
    calls = watched.make("order", 10)
    assert exact(live.stop()).calls() == sum(call[1][2] == 200 for call in calls)


@pytest.mark.parametrize("mode", ["count", "hist", "hits", "folded"])
def test_a_record_has_what_was_filtered(place_probe, watched, tmp_path, mode):
    """It is replayed as it was printed."""
    record = tmp_path / "record"
    live = place_probe.live(*asked.OPTIONS[mode], "-j", f"--record={record}", "--if", "shade == green", watched.pid,
                            "watched!watched_order")
    watched.make("order", 20)
    result = exact(live.stop())
    replayed = place_probe.run("-j", *asked.OPTIONS[mode], f"--replay={record}").expect(0)
    assert replayed.summary()["filtered"] == result.summary()["filtered"] != []
    refused = place_probe.run("-j", *asked.OPTIONS[mode], "--if", "shade == red", f"--replay={record}")
    refused.expect_sentence(2, "--if is for a run")


@pytest.mark.parametrize("words, said", [
    (["-l"], "--if is for calls"),
    (["-n"], "--if is for calls"),
])
def test_what_it_does_not_go_with(place_probe, watched, words, said):
    place_probe.run(*words, "--if", "shade == red", watched.pid, "watched!watched_order").expect_sentence(2, said)


# What only the end tells ---------------------------------------------------------------------

END_ROWS = [(variant, mode, method, number) for variant in VARIANTS for mode in asked.END_MODES
            for method in asked.END for number in numbers(asked.END[method])]


@choose("variant, mode, method, number", END_ROWS, lambda variant, mode, method, number: (method, number),
        lambda variant, mode, method, number: (variant, mode))
def test_ends_of_dotnet(share, place_probe, tmp_path, variant, mode, method, number):
    expression, holds = asked.END[method][number]
    target = share(variant)
    live = place_probe.live(*asked.OPTIONS[mode], "-j", "--if", expression, target.pid, f"{asked.TYPE}::{method}")
    # The last call, which nobody asks for, ends those that were left by an exception before it.
    calls = asked.of_method(asked.make(target, tmp_path / "calls", ROUNDS, 2), method)
    result = live.stop().expect(0)
    expected = sum(bool(holds(call)) for call in calls)
    assert asked.shown_by(mode, result, method) == expected, expression
    check_summary(result, expected, len(calls))


NATIVE_END = [
    ("integers", "result < 0", lambda call: call[2] < 0),
    ("integers", "result > 9000000000000000000 || a < 0", lambda call: call[2] > 9 * 10 ** 18 or call[1][0] < 0),
    ("text", "result == null", lambda call: call[2] == {"text": 7}),
    ("text", 'result == "Ada" && yes', lambda call: call[2] == {"text": 1} and call[1][2]),
    ("order", "result == LOST", lambda call: call[2] == -3),
    ("order", "result != PAID && order.items > 20", lambda call: call[2] != 7 and call[1][0] and call[1][0]["items"] > 20),
]


@choose("mode, number", [(mode, number) for mode in asked.END_MODES for number in range(len(NATIVE_END))])
def test_ends_of_native_functions(place_probe, watched, mode, number):
    kind, expression, holds = NATIVE_END[number]
    live = place_probe.live(*asked.OPTIONS[mode], "-j", "--if", expression, watched.pid, f"watched!watched_{kind}")
    calls = watched.make(kind, 60, 2)
    result = live.stop().expect(0)
    expected = sum(bool(holds(call)) for call in calls)
    shown = {"count": lambda: result.calls(), "hist": lambda: result.records("hist")[0]["count"],
             "watch": lambda: len(result.records("call"))}[mode]()
    assert shown == expected, expression
    check_summary(result, expected, len(calls))


def test_how_long_it_took(share, place_probe, tmp_path):
    """All that sleep are shown; who else is has taken as long."""
    target = share("values10")
    live = place_probe.live("--watch", "-j", "--if", "took > 30ms", target.pid, f"{asked.TYPE}::Work")
    calls = asked.of_method(asked.make(target, tmp_path / "calls", 59), "Work")
    result = exact(live.stop())
    shown = result.records("call")
    slow = {call[1]["id"] for call in calls if call[1]["id"] % 25 == 24 and call[2] != asked.THREW}
    assert slow <= {call["arguments"][0]["value"] for call in shown}
    assert all(call["duration_ns"] > 30 * 10 ** 6 for call in shown)
    assert asked.told_filtered(result.err) == len(calls) - len(shown)


@pytest.mark.parametrize("mode", asked.END_MODES)
def test_what_an_exception_has_left(share, place_probe, tmp_path, mode):
    """Whatever it is, of each version of .NET; and how long it took."""
    for variant in pairs.few(VARIANTS, VARIANTS[asked.END_MODES.index(mode)]):
        for expression, holds in [*pairs.few([("threw", lambda call: call[2] == asked.THREW)]),
                                  ("!threw && id > 20",
                                   lambda call: call[2] != asked.THREW and call[1]["id"] > 20),
                                  ("threw == true && took < 1000s", lambda call: call[2] == asked.THREW),
                                  *pairs.few([("threw != true || urgent",
                                               lambda call: call[2] != asked.THREW or call[1]["urgent"])])]:
            target = share(variant)
            live = place_probe.live(*asked.OPTIONS[mode], "-j", "--if", expression, target.pid, f"{asked.TYPE}::Work")
            calls = asked.of_method(asked.make(target, tmp_path / "calls", ROUNDS, 2), "Work")
            result = live.stop().expect(0)
            expected = sum(bool(holds(call)) for call in calls)
            assert asked.shown_by(mode, result, "Work") == expected, expression
            check_summary(result, expected, len(calls))


@pytest.mark.parametrize("mode", asked.END_MODES)
def test_what_longjmp_has_left(place_probe, watched, mode):
    live = place_probe.live(*asked.OPTIONS[mode], "-j", "--if", "threw && depth > 1", watched.pid,
                            "watched!watched_jump", "watched!watched_depth")
    calls = watched.make("jump", 20) + watched.make("depth", 20)
    result = live.stop().expect(0)
    expected = sum(call[0] == "watched_jump" and call[1][1] > 1 for call in calls)
    # The last ones are known to be left by what comes by behind them.
    check_summary(result, expected, len(calls))


def test_calls_that_have_not_ended_are_undecided(place_probe, watched):
    """Nobody knows what they would have given back."""
    live = place_probe.live("--watch", "-j", "--if", "result > 3", watched.pid, "watched!watched_wait")
    watched.app.ask("hold", "held")
    result = live.stop().expect(0)
    [filtered] = result.summary()["filtered"]
    assert filtered["undecided"] == 1 and result.records("call") == []


@pytest.mark.parametrize("condition, column, words", [
    ("took > 5", 8, "a time with its unit"),
    ("took == urgent", 9, "a time with its unit"),
    ("took.Seconds > 5ms", 1, "without fields"),
    ("took > 5minutes", 8, "or a time such as 5ms"),
    ("shade > 5ms", 9, "compared otherwise"),
    ("result.nosuch == 3", 1, "no field of"),
    ("shade == red && result == NOSUCH", 27, "no 'NOSUCH'"),
    ("@result == 3", 1, "'result' is no parameter of"),
    ("@threw", 1, "'threw' is no parameter of"),
    ("@thread.id == 3", 1, "'thread' is no parameter of"),
    ("shade == red && threw == 3", 26, "'threw' is true or false"),
    ("threw.Message == \"x\"", 1, "'threw' has no fields"),
    ("threw is 3", 10, "the type of an exception"),
    ("shade is System.Exception", 1, "'threw' should be"),
    ("shade == red || threw is E", 17, "native code throws nothing"),
    ("thread == 5", 1, "'thread.id' and 'thread.name'"),
    ("thread.name == 5", 16, "the name of a thread"),
    ("took > 99999999999s", 8, "or a time such as"),
])
def test_errors_point_at_the_end(place_probe, watched, condition, column, words):
    result = place_probe.run("--watch", "--if", condition, watched.pid, "watched!watched_order")
    result.expect(2)
    assert re.search(f"at character {column} .*{words}", result.err), result.err


def test_what_gives_nothing_back(place_probe, watched):
    result = place_probe.run("-H", "--if", "result == 1", watched.pid, "watched!watched_jump").expect(2)
    assert re.search("at character 1 .*watched_jump gives nothing back", result.err)


@pytest.mark.parametrize("words, said", [
    ([], "hits are its beginning"),
    (["-f"], "-f has stacks of its beginning"),
    (["-c", "-N", "3"], "-N counts calls that begin"),
])
def test_what_ends_do_not_go_with(place_probe, watched, words, said):
    result = place_probe.run(*words, "--if", "shade == red || result == PAID", watched.pid, "watched!watched_order")
    result.expect_sentence(2, said)


def test_what_ends_in_a_tail_call_has_no_result(place_probe, watched):
    """What is in the register of results when it jumps is anything."""
    live = place_probe.live("-c", "-j", "--if", "result >= 0 || result < 0", watched.pid, "watched!watched_tail",
                            "watched!watched_straight", "watched!watched_last")
    calls = watched.make("tail", 30, 4)
    result = live.stop().expect(0)
    assert len(calls) == 480
    assert result.calls("watched_last") == 240
    check_summary(result, 240, 480)
