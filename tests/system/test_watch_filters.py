# SPDX-License-Identifier: GPL-2.0-or-later
"""--if: the calls that are shown are those of which the target's own record says that they are what was asked for."""

import json
import re

import pytest

from helpers.watched import as_recorded, counted, exact

pytestmark = pytest.mark.beside

CALLS = 60
NULL = None


def of(call, name):
    """Of an order; None if there is none, of which nothing is so."""
    return None if call[1][0] is NULL else call[1][0][name]


def holds(value, test):
    return value is not None and test(value)


# Of the function of one kind: the condition, and the same of a call as the target has it.
CONDITIONS = {
    "order": [
        ("order.number > 30000000000", lambda call: holds(of(call, "number"), lambda x: x > 30000000000)),
        ("order.number >= 30000000210", lambda call: holds(of(call, "number"), lambda x: x >= 30000000210)),
        ("order.number < 30000000210", lambda call: holds(of(call, "number"), lambda x: x < 30000000210)),
        ("order.number <= 30000000210", lambda call: holds(of(call, "number"), lambda x: x <= 30000000210)),
        ("order.number == 0x3b9aca07", lambda call: of(call, "number") == 0x3b9aca07),
        ("!(order.number > 30000000000)",
         lambda call: not holds(of(call, "number"), lambda x: x > 30000000000)),
        ("order.note == \"Ada\"", lambda call: of(call, "note") == {"text": 1}),
        ("order.note != \"Ada\"", lambda call: holds(of(call, "note"), lambda x: x != {"text": 1})),
        ("order.note == \"\"", lambda call: of(call, "note") == {"text": 0}),
        ("order.note == \"Grüße, 世界\" && order.urgent",
         lambda call: of(call, "note") == {"text": 2} and of(call, "urgent")),
        ("order.state == LOST", lambda call: of(call, "state") == -3),
        ("order.state < OPEN", lambda call: holds(of(call, "state"), lambda x: x < 0)),
        ("order.state > -4", lambda call: holds(of(call, "state"), lambda x: x > -4)),
        ("order.urgent || shade == green", lambda call: of(call, "urgent") or call[1][2] == 200),
        ("shade > 199", lambda call: call[1][2] > 199),
        ("shade >= 1 && shade < 255", lambda call: True),
        ("order == null", lambda call: call[1][0] is NULL),
        ("order != null && order.items == 17", lambda call: of(call, "items") == 17),
        ("order.within.age < -40 || order.within.age == -1",
         lambda call: holds(of(call, "within"), lambda x: x["age"] < -40 or x["age"] == -1)),
        ("order.within.name == \"quote \\\" and \\\\ back\"", lambda call: call[1][0] is not NULL),
        ("(order.items < 5 || order.items > 55) && !order.urgent && order.state != LOST",
         lambda call: holds(of(call, "items"), lambda x: x < 5 or x > 55) and not of(call, "urgent")
         and of(call, "state") != -3),
    ],
    "integers": [
        ("a < 0", lambda call: call[1][0] < 0),
        ("a == -128 || a == 127 || a > 100", lambda call: call[1][0] == -128 or call[1][0] > 100),
        ("b > 127", lambda call: call[1][1] > 127),
        ("c <= -1", lambda call: call[1][2] <= -1),
        ("d >= 0x8000", lambda call: call[1][3] >= 0x8000),
        ("e < 0 && f > 2147483648", lambda call: call[1][4] < 0 and call[1][5] > 2147483648),
        ("g > 0", lambda call: call[1][6] > 0),
        ("g < -9000000000000000000 || g > 9000000000000000000", lambda call: abs(call[1][6]) > 9 * 10 ** 18),
        ("h != 3 && h < 50", lambda call: call[1][7] != 3 and call[1][7] < 50),
    ],
    "text": [
        ("text == null", lambda call: call[1][0]["text"] == 7),
        ("text != null && text != \"Ada\"", lambda call: call[1][0]["text"] not in (7, 1)),
        ("letter == 'c' || letter == 'z'", lambda call: call[1][1] in "cz"),
        ("yes && text == \"tab\\tand\x01\"", lambda call: call[1][2] and call[1][0]["text"] == 4),
        ("!yes", lambda call: not call[1][2]),
    ],
}


def shown(result):
    return [[record["method"].partition("(")[0], [as_recorded(value) for value in record["arguments"]],
             as_recorded(record["result"])] for record in result.records("call")]


@pytest.mark.parametrize("kind", CONDITIONS)
def test_conditions(place_probe, watched, kind):
    name = f"watched!watched_{kind}"
    for condition, is_so in CONDITIONS[kind]:
        live = place_probe.live("--watch", "-j", "--if", condition, watched.pid, name)
        recorded = watched.make(kind, CALLS, 2)
        result = exact(live.stop())
        expected = [call for call in recorded if is_so(call)]
        assert counted(shown(result)) == counted(expected), condition
        told = re.search(r"(\d+) calls were not what --if asks for", result.err)
        assert int(told[1]) == len(recorded) - len(expected), condition


def test_what_cannot_be_read_is_told(place_probe, watched):
    live = place_probe.live("--watch", "-j", "--if", 'text == "zz"', watched.pid, "watched!watched_text")
    watched.make("faults", 10)
    result = live.stop().expect(0)
    assert result.records("call") == []
    told = re.search(r"(\d+) calls are not shown since it could not be told", result.err)
    assert int(told[1]) == 5, "of the others all that is compared with is there"


@pytest.mark.parametrize("condition, column, words", [
    ("nosuch == 1", 1, "no parameter of watched_order, which has order, state, shade"),
    ("order.nosuch == 1", 1, "no field of 'order'"),
    ("state == PAID && order.note < 3", 18, "char \\*"),
    ("order.items > 70000", 15, "uint16_t"),
    ("order.items > -1", 15, "uint16_t"),
    ("state == NOSUCH", 10, "no 'NOSUCH'"),
    ("order.note == 3", 15, "compared otherwise"),
    ("order", 1, "compared otherwise"),
    ("state == ", 10, "should be a number"),
    ("state == 1 & shade == 2", 12, "&&"),
    ("(state == 1", 12, "parenthesis"),
    ("order.note == \"x", 17, "end of a string"),
    ("state == 1.5", 10, "whole number"),
    ("1 == state", 1, "name of a parameter"),
])
def test_errors_point_at_the_place(place_probe, watched, condition, column, words):
    result = place_probe.run("--watch", "--if", condition, watched.pid, "watched!watched_order")
    result.expect(2)
    assert re.search(f"at character {column} .*{words}", result.err), result.err


@pytest.mark.parametrize("condition, column, words", [
    ("first > 3 && x > 1", 14, "watched_floats has 'x' in xmm0, which programs in the kernel cannot read"),
    ("y == 2", 1, "'y' in xmm1,"),
    ("half.value == 0", 1, "'value' in xmm2,"),
])
def test_floats_in_registers_are_refused(place_probe, watched, condition, column, words):
    result = place_probe.run("--watch", "--if", condition, watched.pid, "watched!watched_floats").expect(2)
    assert re.search(f"at character {column} .*{words}", result.err), result.err
    assert len(result.err.splitlines()) == 1


def test_without_values(place_probe, watched):
    live = place_probe.live("--watch", "-j", "--no-values", "--if", "shade == green", watched.pid,
                            "watched!watched_order")
    recorded = watched.make("order", 10)
    calls = exact(live.stop()).records("call")
    assert len(calls) == sum(call[1][2] == 200 for call in recorded)
    assert {json.dumps(call["arguments"]) for call in calls} == {"null"}
