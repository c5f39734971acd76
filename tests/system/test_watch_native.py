# SPDX-License-Identifier: GPL-2.0-or-later
"""--watch on native functions: what is printed of each call is what the target itself has written down of it."""

import collections
import json
import re
import time

import pytest

from helpers import machine

pytestmark = pytest.mark.beside(uprobes=True)

THREADS = 8
BUFFER = "--buffer=256M"
# As tests/apps/watched has them, and how an enum's members are written there.
TEXTS = ["", "Ada", "Grüße, 世界", 'quote " and \\ back', "tab\tand\x01", "0123456789" * 6 + "0123",
         "0123456789" * 6 + "01234"]
MEMBERS = {"OPEN": 0, "PAID": 7, "LOST": -3, "red": 1, "green": 200}
ANY = {("watched_jump", 0), ("watched_reference", 1)}
LIMIT = 64


@pytest.fixture(scope="module")
def watched_program():
    machine.run("make", "-C", machine.TREE, "build/tests/apps/watched")
    return machine.BUILD / "tests/apps/watched"


class Target:
    def __init__(self, app, record):
        self.app, self.record = app, record
        self.pid = app.pid
        self.read_to = 0

    def make(self, kind, number, threads=1):
        made = int(self.app.ask(f"{kind} {number} {threads}", "done")[2])
        lines = self.record.read_text(encoding="utf-8").splitlines()[self.read_to:]
        self.read_to += len(lines)
        assert len(lines) == made
        return [json.loads(line) for line in lines]


@pytest.fixture
def target(start_app, watched_program, short_tmp):
    record = short_tmp / "record"
    return Target(start_app("watched", executable=watched_program, after=[record]), record)


def as_recorded(value):
    """A value of place-probe's in the words of the target's record."""
    if "unavailable" in value:
        why = value["unavailable"]
        xmm = re.fullmatch(r"in xmm(\d)", why)
        return {"unavailable": int(xmm[1])} if xmm else \
            {{"not in memory": "fault", "redacted": "redacted"}[why]: 0}
    if "fields" in value:
        return {field["name"]: as_recorded(field) for field in value["fields"] if field["name"] != "of"}
    is_text = value["type"] == "char *"
    plain = value["value"]
    if is_text and value.get("cut"):
        longer = [i for i, text in enumerate(TEXTS) if len(text.encode()) > LIMIT and text.startswith(plain)]
        assert len(plain.encode()) == LIMIT and len(longer) == 1, value
        return {"text": longer[0]}
    if is_text:
        return {"text": len(TEXTS) if plain is None else TEXTS.index(plain)}
    return MEMBERS.get(plain, plain) if isinstance(plain, str) and value["type"] != "char" else plain


def calls_of(result):
    """Each call as the target writes it down."""
    found = []
    for record in result.records("call"):
        name = record["method"].partition("(")[0]
        arguments = [{"any": 0} if (name, i) in ANY else as_recorded(value)
                     for i, value in enumerate(record["arguments"])]
        ended = as_recorded(record["result"]) if record["result"] else {record["end"]: 0}
        found.append([name, arguments, ended])
    return found


def counted(calls):
    return collections.Counter(json.dumps(call, sort_keys=True) for call in calls)


def check_same(result, recorded):
    shown, made = counted(calls_of(result)), counted(recorded)
    assert shown == made, f"shown and not made: {list((shown - made).items())[:5]}, " \
                          f"made and not shown: {list((made - shown).items())[:5]}"


def exact(result):
    summary = result.expect(0).summary()
    assert summary["lost"] == {} and summary["lower_bound"] == [], str(result)[:2000]
    return result


def test_values_of_many_threads(place_probe, target):
    """Every value of tens of thousands of calls, with recursion and longjmp() among them."""
    live = place_probe.live("--watch", "-j", BUFFER, target.pid, "watched!watched_*", timeout=120)
    recorded = target.make("all", 350, THREADS)
    result = exact(live.stop())
    assert len(recorded) > 40_000
    check_same(result, recorded)
    ends = collections.Counter(record["end"] for record in result.records("call"))
    assert set(ends) == {"returned", "unwound"}
    assert ends["unwound"] == sum(call[0] == "watched_jump" for call in recorded)


def test_stacks_and_perf_events(place_probe, target, uprobe_by):
    live = place_probe.live("--watch", "-j", "--stack=full", uprobe_by, target.pid, "watched!watched_*")
    recorded = target.make("all", 5, 2)
    result = exact(live.stop())
    check_same(result, recorded)
    for record in result.records("call"):
        names = [frame["name"] for frame in record["stack"] if not frame["inlined"]]
        if record["end"] == "returned":
            assert names[0] == record["method"] and len(names) > 2, record
        else:
            assert names == [] and record["stack_end"] is None


def test_faults(place_probe, target):
    live = place_probe.live("--watch", "-j", target.pid, "watched!watched_text")
    recorded = target.make("faults", 50, 2)
    check_same(exact(live.stop()), recorded)


def test_redacted(place_probe, target):
    """Nothing of what goes by such a name is printed, nor sent by the programs."""
    live = place_probe.live("--watch", "-j", target.pid, "watched!watched_secret")
    recorded = target.make("secret", 10)
    result = exact(live.stop())
    check_same(result, recorded)
    assert "hunter2" not in result.out and '"abc"' not in result.out
    live = place_probe.live("--watch", "-j", "--redact=^id$", target.pid, "watched!watched_secret")
    target.make("secret", 1)
    call, = exact(live.stop()).records("call")
    assert [value.get("value") for value in call["arguments"]] == [None, "hunter2", "abc"]
    assert call["arguments"][0]["unavailable"] == "redacted"


def test_without_values(place_probe, target):
    live = place_probe.live("--watch", "-j", "--no-values", target.pid, "watched!watched_*")
    recorded = target.make("all", 3)
    calls = exact(live.stop()).records("call")
    assert len(calls) == len(recorded)
    assert {(call["arguments"], call["result"], call["no_values"]) for call in calls} == {(None, None, None)}


def test_string_bytes(place_probe, target):
    live = place_probe.live("--watch", "-j", "--string-bytes=5", target.pid, "watched!watched_text")
    target.make("text", len(TEXTS))
    calls = exact(live.stop()).records("call")
    values = [call["arguments"][0] for call in calls]
    assert [bool(value.get("cut")) for value in values] == [len(text.encode()) > 5 for text in TEXTS]
    for value, text in zip(values, TEXTS):
        assert text.startswith(value["value"].rstrip("\ufffd")) and len(value["value"].encode()) <= 8


def test_limit_is_exact(place_probe, target):
    live = place_probe.live("--watch", "-j", "-N", "7", target.pid, "watched!watched_depth")
    target.make("depth", 20, 2)
    assert len(live.finish().expect(0).records("call")) == 7


def test_still_running(place_probe, target):
    live = place_probe.live("--watch", "-j", target.pid, "watched!watched_wait")
    target.app.ask("hold", "held")
    call, = exact(live.stop()).records("call")
    assert call["end"] == "running" and call["result"] is None and call["duration_ns"] > 0
    assert [value["value"] for value in call["arguments"]] == [42, "long"]


def test_slow_calls_only(place_probe, target):
    live = place_probe.live("--watch", "-j", "--min=20ms", target.pid, "watched!watched_wait",
                            "watched!watched_depth")
    target.make("depth", 10)
    target.app.ask("hold", "held")
    time.sleep(0.05)
    target.app.tell("release")
    target.app.unanswered -= 1
    live.wait_out(lambda text: '"call"' in text, "a call")
    call, = exact(live.stop()).records("call")
    assert call["method"] == "watched_wait" and call["duration_ns"] >= 20_000_000
    assert call["result"]["value"] == 46


def test_command(place_probe, watched_program, short_tmp):
    """All calls of a program, from its first on, have their values."""
    record, output = short_tmp / "record", short_tmp / "output"
    result = place_probe.run("--watch", "-j", BUFFER, "-o", output, "watched!watched_*", "--",
                             watched_program, record, "all 20 2")
    result.out = output.read_text(encoding="utf-8")
    result.expect(0)
    recorded = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert {call["no_values"] for call in result.records("call")} == {None}
    check_same(result, recorded)


def test_text(place_probe, target):
    live = place_probe.live("--watch", target.pid, "watched!watched_*")
    target.make("order", 2)
    target.make("text", 2)
    target.make("jump", 1)
    lines = live.stop().expect(0).out.splitlines()
    told = [re.sub(r"^ *[\d.]+  watched +\d+/\d+  ", "", line) for line in lines]
    expected = [
        r"watched_order\(order: null, state: OPEN, shade: green\) = OPEN took [\d.]+ [num]?s",
        r'watched_order\(order: order\{number: 1000000007, note: "Ada", state: PAID, urgent: false, items: 1, '
        r'of: 0x[0-9a-f]+, within: customer\{name: "quote \\" and \\\\ back", age: -1\}\}, state: OPEN, shade: red\) '
        r"= PAID took [\d.]+ [num]?s",
        r"watched_text\(text: \"\", letter: 'a', yes: false\) = null took [\d.]+ [num]?s",
        r"watched_text\(text: \"Ada\", letter: 'b', yes: true\) = \"Ada\" took [\d.]+ [num]?s",
        r"watched_jump\(to: .*, depth: 0\) left by an exception or a jump after [\d.]+ [num]?s",
    ]
    assert len(told) == len(expected), lines
    for line, pattern in zip(told, expected):
        assert re.fullmatch(pattern, line), line
