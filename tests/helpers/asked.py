# SPDX-License-Identifier: GPL-2.0-or-later
"""What filters are tried on: the calls of Asked in tests/apps/values as the target noted them, and what is asked of them.

A condition is an expression of place-probe's and the same of a call: a function of what it was given and what came
of it. What a null leads to is nothing, of which nothing holds.
"""

import json
import re

TYPE = "Values.Asked"
THREW = "threw"
MEMBERS = {0: "Open", 7: "Paid", -3: "Lost"}


def make(target, path, rounds, threads=1):
    """The calls of that many rounds, as [method, given, result]."""
    target.ask(f"note {path}", "noting")
    target.ask(f"asked {rounds} {threads}", "done")
    target.ask("end", "noted")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("[")]


def reach(value, *names):
    """The field of a field; NotImplemented where there is none on the way."""
    for name in names:
        if value is None or value is NotImplemented or value == THREW:
            return NotImplemented
        value = value[name]
    return value


def so(test, value, *names):
    """Does the test hold of what is there?"""
    value = reach(value, *names)
    return value is not NotImplemented and value is not None and test(value)


# By method: the expression, and the same as a function of what was given.
ENTRY = {
    "Work": [
        ("id > 20", lambda a: a["id"] > 20),
        ("id >= 10 && id < 30", lambda a: 10 <= a["id"] < 30),
        ("id == 0x10 || id == 3", lambda a: a["id"] in (16, 3)),
        ("!(id <= 12)", lambda a: a["id"] > 12),
        ('customer == "Ada"', lambda a: a["customer"] == "Ada"),
        ('customer != "Ada"', lambda a: a["customer"] != "Ada"),
        ('customer == "Grüße, 世界" || customer == ""', lambda a: a["customer"] in ("Grüße, 世界", "")),
        ("customer == null", lambda a: a["customer"] is None),
        ("customer.Length > 3", lambda a: so(lambda text: len(text) > 3, a["customer"])),
        ("status == Paid", lambda a: a["status"] == 7),
        ("status < Open", lambda a: a["status"] < 0),
        ("status != Lost && urgent", lambda a: a["status"] != -3 and a["urgent"]),
        ("urgent", lambda a: a["urgent"]),
        ("!urgent || letter == 'c'", lambda a: not a["urgent"] or a["letter"] == "c"),
        ("letter >= 'm'", lambda a: a["letter"] >= "m"),
        ("last == null", lambda a: a["last"] is None),
        ("last.Number > 5", lambda a: so(lambda x: x > 5, a["last"], "Number")),
        ("!(last.Number > 5)", lambda a: not so(lambda x: x > 5, a["last"], "Number")),
        ("last.Status == Lost", lambda a: so(lambda x: x == -3, a["last"], "Status")),
        ('last.Text == "Ada" && id != 7', lambda a: so(lambda x: x == "Ada", a["last"], "Text") and a["id"] != 7),
        ("last.Before.Number == 3", lambda a: False),
        ("(id < 5 || id > 35) && !urgent && status != Lost",
         lambda a: (a["id"] < 5 or a["id"] > 35) and not a["urgent"] and a["status"] != -3),
    ],
    "Judge": [
        ("number < 0", lambda a: a["number"] < 0),
        ("number >= -9999999930", lambda a: a["number"] >= -9999999930),
        ("small > 127", lambda a: a["small"] > 127),
        ("negative < -1", lambda a: a["negative"] < -1),
        ("negative == -128 || negative >= 100", lambda a: a["negative"] == -128 or a["negative"] >= 100),
        ("two >= 0x8000", lambda a: a["two"] >= 0x8000),
        ("big > 18446744073709551600", lambda a: a["big"] > 18446744073709551600),
        ("big == 18446744073709551615", lambda a: a["big"] == 2 ** 64 - 1),
        ("!(small != 37 && negative != 11)", lambda a: a["small"] == 37 or a["negative"] == 11),
    ],
    "Name": [
        ("of == null", lambda a: a["of"] is None),
        ('of.Text != "ada" && yes', lambda a: a["of"] is not None and a["of"]["Text"] != "ada" and a["yes"]),
        ("of.Text == null", lambda a: a["of"] is not None and a["of"]["Text"] is None),
        ("of.Text.Length == 71", lambda a: so(lambda x: len(x) == 71, a["of"], "Text")),
        ("of.Status == 5 || !yes", lambda a: so(lambda x: x == 5, a["of"], "Status") or not a["yes"]),
    ],
    "Even": [
        ("number > 100", lambda a: a["number"] > 100),
        ("number == 50 || number == 55 || number == 60", lambda a: a["number"] in (50, 55, 60)),
    ],
    "Deep": [
        ("depth == 0", lambda a: a["depth"] == 0),
        ("depth > 1", lambda a: a["depth"] > 1),
        ("depth != 2", lambda a: a["depth"] != 2),
    ],
}


def of_method(calls, method):
    return [call for call in calls if call[0] == method]


def told_filtered(err):
    """What was said of those that were not asked for."""
    told = re.search(r"(\d+) calls were not what --if asks for", err)
    return int(told[1])


def shown_by(mode, result, method):
    """How many calls of the method a run in that mode shows."""
    name = f"{TYPE}::{method}("
    if mode == "count":
        return result.calls(name)
    if mode == "hist":
        [hist] = [record for record in result.records("hist") if record["method"].startswith(name)]
        assert hist["unfinished"] == 0 and hist["not_timed"] == 0
        return hist["count"] + hist["unwound"]
    if mode == "folded":
        return sum(record["count"] for record in result.records("folded"))
    kind = "call" if mode == "watch" else "hit"
    return sum(record["method"].startswith(name) for record in result.records(kind))


OPTIONS = {"count": ["-c"], "hist": ["-H"], "folded": ["-f"], "hits": ["--no-stack"], "stacks": [], "watch": ["--watch"]}


def result_of(call):
    """None where it was left by an exception, of which nothing is so."""
    return NotImplemented if call[2] == THREW else call[2]


# What only the end tells: of a call. Those that are left by an exception have no result, and nothing is so of it.
END = {
    "Work": [
        ("result == null", lambda call: call[2] is None),
        ("result != null", lambda call: isinstance(call[2], dict)),
        ("result.Status == Lost", lambda call: so(lambda x: x == -3, result_of(call), "Status")),
        ("!(result.Status == Lost)", lambda call: not so(lambda x: x == -3, result_of(call), "Status")),
        ('result.Text == "Ada" || id == 10', lambda call: so(lambda x: x == "Ada", result_of(call), "Text") or call[1]["id"] == 10),
        ("result.Number >= 60 && urgent", lambda call: so(lambda x: x >= 60, result_of(call), "Number") and call[1]["urgent"]),
        ('customer == "ada" && result.Before != null',
         lambda call: call[1]["customer"] == "ada" and so(lambda x: True, result_of(call), "Before")),
        ("result.Before.Number > 20 && (status == Paid || letter < 'g')",
         lambda call: so(lambda x: x > 20, result_of(call), "Before", "Number")
         and (call[1]["status"] == 7 or call[1]["letter"] < "g")),
        ("id < 20 || result == null", lambda call: call[1]["id"] < 20 or call[2] is None),
        ("!urgent && !(result == null || id > 30)",
         lambda call: not call[1]["urgent"] and not (call[2] is None or call[1]["id"] > 30)),
        ("took >= 0ns && id > 3", lambda call: call[1]["id"] > 3),
        ("took > 1000s || status == Lost", lambda call: call[1]["status"] == -3),
        ("!(took < 1000s)", lambda call: False),
    ],
    "Judge": [
        ("result == Paid", lambda call: call[2] == 7),
        ("result < Open || small > 200", lambda call: call[2] < 0 or call[1]["small"] > 200),
        ("result != Lost && negative > 0", lambda call: call[2] != -3 and call[1]["negative"] > 0),
        ("result == 12", lambda call: call[2] == 12),
    ],
    "Name": [
        ("result == null", lambda call: call[2] is None),
        ('result == "Ada" || of == null', lambda call: call[2] == "Ada" or call[1]["of"] is None),
        ("result.Length > 3", lambda call: so(lambda x: len(x) > 3, call[2])),
    ],
    "Even": [
        ("result", lambda call: call[2]),
        ("!result && number > 20", lambda call: not call[2] and call[1]["number"] > 20),
    ],
    "Deep": [
        ("result > 1", lambda call: call[2] > 1),
        ("result == 0 || depth == 3", lambda call: call[2] == 0 or call[1]["depth"] == 3),
    ],
}
END_MODES = ["watch", "hist", "count"]


# What calls are told apart by: the expression, and the same of a call. UNKNOWN: it has no such value.
UNKNOWN = ("rest", "unknown")


def member(number):
    return MEMBERS.get(number, number)


def through(value, *names):
    """What is reached, null where something on the way is."""
    value = reach(value, *names)
    return None if value is NotImplemented else value


def cut(text, bytes=64):
    """As much of a text as is taken of it, and whether that is not all."""
    units = None if text is None else text.encode("utf-16-le")
    return text if units is None or len(units) <= bytes else (units[:bytes].decode("utf-16-le"), "cut")


BY = {
    "Work": [
        ("id", lambda call: call[1]["id"]),
        ("customer", lambda call: cut(call[1]["customer"])),
        ("customer.Length", lambda call: None if call[1]["customer"] is None else len(call[1]["customer"])),
        ("status", lambda call: member(call[1]["status"])),
        ("urgent", lambda call: call[1]["urgent"]),
        ("letter", lambda call: call[1]["letter"]),
        ("last.Number", lambda call: through(call[1]["last"], "Number")),
        ("last.Text", lambda call: cut(through(call[1]["last"], "Text"))),
        ("result.Status", lambda call: UNKNOWN if call[2] == THREW else
         None if call[2] is None else member(call[2]["Status"])),
        ("result.Text", lambda call: UNKNOWN if call[2] == THREW else cut(through(call[2], "Text"))),
    ],
    "Judge": [
        ("small", lambda call: call[1]["small"]),
        ("negative", lambda call: call[1]["negative"]),
        ("big", lambda call: call[1]["big"]),
        ("result", lambda call: member(call[2])),
    ],
    "Name": [
        ("result", lambda call: cut(call[2])),
        ("of.Status", lambda call: None if call[1]["of"] is None else member(call[1]["of"]["Status"])),
    ],
    "Even": [("result", lambda call: call[2])],
    "Deep": [("depth", lambda call: call[1]["depth"]), ("result", lambda call: call[2])],
}


def value_in(record):
    """What a record is of, in the words of the target's."""
    if record["rest"]:
        return ("rest", record["rest"])
    value = record["value"]
    return (value["value"], "cut") if value.get("cut") else value["value"]
