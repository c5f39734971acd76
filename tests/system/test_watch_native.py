# SPDX-License-Identifier: GPL-2.0-or-later
"""--watch on native functions: what is printed of each call is what the target itself has written down of it."""

import collections
import json
import pathlib
import re
import time

import pytest

from helpers import machine, pairs
from helpers.watched import TEXTS, as_recorded, counted, exact

pytestmark = pytest.mark.beside

THREADS = 8
BUFFER = "--buffer=256M"
ANY = {("watched_jump", 0), ("watched_reference", 1)}


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


def check_same(result, recorded):
    shown, made = counted(calls_of(result)), counted(recorded)
    assert shown == made, f"shown and not made: {list((shown - made).items())[:5]}, " \
                          f"made and not shown: {list((made - shown).items())[:5]}"


def test_values_of_many_threads(place_probe, watched):
    """Every value of many calls, with recursion and longjmp() among them."""
    live = place_probe.live("--watch", "-j", BUFFER, watched.pid, "watched!watched_*", timeout=120)
    rounds, = pairs.few([350], 100)
    recorded = watched.make("all", rounds, THREADS)
    result = exact(live.stop())
    assert len(recorded) > 115 * rounds
    check_same(result, recorded)
    ends = collections.Counter(record["end"] for record in result.records("call"))
    assert set(ends) == {"returned", "unwound"}
    assert ends["unwound"] == sum(call[0] == "watched_jump" for call in recorded)


def test_stacks_and_perf_events(place_probe, watched, uprobe_by):
    live = place_probe.live("--watch", "-j", "--stack=full", uprobe_by, watched.pid, "watched!watched_*")
    recorded = watched.make("all", 5, 2)
    result = exact(live.stop())
    check_same(result, recorded)
    for record in result.records("call"):
        names = [frame["name"] for frame in record["stack"] if not frame["inlined"]]
        if record["end"] == "returned":
            assert names[0] == record["method"] and len(names) > 2, record
        else:
            assert names == [] and record["stack_end"] is None


def test_floats_in_registers(place_probe, watched):
    """Which register it is, in text and as the reason in JSON."""
    live = place_probe.live("--watch", watched.pid, "watched!watched_floats")
    watched.make("floats", 1)
    assert "(x: <in xmm0>, first: 1, y: <in xmm1>, second: 2, half: measure{value: <in xmm2>, count: 3})" in \
        live.stop().expect(0).out
    live = place_probe.live("--watch", "-j", watched.pid, "watched!watched_floats")
    watched.make("floats", 1)
    call, = exact(live.stop()).records("call")
    assert {"name": "x", "type": "double", "unavailable": "in xmm0"} in call["arguments"]


def test_faults(place_probe, watched):
    live = place_probe.live("--watch", "-j", watched.pid, "watched!watched_text")
    recorded = watched.make("faults", 50, 2)
    check_same(exact(live.stop()), recorded)


def test_redacted(place_probe, watched):
    """Nothing of what goes by such a name is printed, nor sent by the programs."""
    live = place_probe.live("--watch", "-j", watched.pid, "watched!watched_secret")
    recorded = watched.make("secret", 10)
    result = exact(live.stop())
    check_same(result, recorded)
    assert "hunter2" not in result.out and '"abc"' not in result.out
    live = place_probe.live("--watch", "-j", "--redact=^id$", watched.pid, "watched!watched_secret")
    watched.make("secret", 1)
    call, = exact(live.stop()).records("call")
    assert [value.get("value") for value in call["arguments"]] == [None, "hunter2", "abc"]
    assert call["arguments"][0]["unavailable"] == "redacted"


def test_without_values(place_probe, watched):
    live = place_probe.live("--watch", "-j", "--no-values", watched.pid, "watched!watched_*")
    recorded = watched.make("all", 3)
    calls = exact(live.stop()).records("call")
    assert len(calls) == len(recorded)
    assert {(call["arguments"], call["result"], call["no_values"]) for call in calls} == {(None, None, None)}


def test_string_bytes(place_probe, watched):
    live = place_probe.live("--watch", "-j", "--string-bytes=5", watched.pid, "watched!watched_text")
    watched.make("text", len(TEXTS))
    calls = exact(live.stop()).records("call")
    values = [call["arguments"][0] for call in calls]
    assert [bool(value.get("cut")) for value in values] == [len(text.encode()) > 5 for text in TEXTS]
    for value, text in zip(values, TEXTS):
        assert text.startswith(value["value"].rstrip("\ufffd")) and len(value["value"].encode()) <= 8


def test_limit_is_exact(place_probe, watched):
    live = place_probe.live("--watch", "-j", "-N", "7", watched.pid, "watched!watched_depth")
    watched.make("depth", 20, 2)
    assert len(live.finish().expect(0).records("call")) == 7


def test_still_running(place_probe, watched):
    live = place_probe.live("--watch", "-j", watched.pid, "watched!watched_wait")
    watched.app.ask("hold", "held")
    call, = exact(live.stop()).records("call")
    assert call["end"] == "running" and call["result"] is None and call["duration_ns"] > 0
    assert [value["value"] for value in call["arguments"]] == [42, "long"]


def test_a_thread_that_ends_within_a_call(place_probe, watched):
    live = place_probe.live("--watch", "-j", watched.pid, "watched!watched_leave")
    recorded = watched.make("leave", 1, 6)
    live.wait_out(lambda text: text.count('"call"') == 6, "six calls")
    result = exact(live.stop())
    check_same(result, recorded)
    assert len(recorded) == 6 and all(call["duration_ns"] > 0 for call in result.records("call"))


def test_what_ends_in_a_tail_call_has_no_result(place_probe, watched):
    """What is in the register of results when it jumps is anything."""
    live = place_probe.live("--watch", "-j", watched.pid, "watched!watched_tail", "watched!watched_straight",
                            "watched!watched_last")
    recorded = watched.make("tail", 30, 4)
    result = exact(live.stop())
    check_same(result, recorded)
    assert sum(call["end"] == "tail-call" for call in result.records("call")) == len(recorded) / 2 == 240


def test_an_end_that_nothing_sees(place_probe, watched):
    """Its frame is gone at the end of the run, by longjmp(), and its thread has come by no probe since."""
    tasks = pathlib.Path(f"/proc/{watched.pid}/task")
    live = place_probe.live("--watch", "-j", watched.pid, "watched!watched_jump")
    watched.app.ask("stray", "held")
    # Where a thread that runs is on its stack nobody knows.
    machine.wait_until(lambda: not any((task / "syscall").read_text().startswith("running") for task in tasks.iterdir()),
                       "all threads asleep")
    call, = exact(live.stop()).records("call")
    assert (call["end"], call["result"], call["duration_ns"]) == ("not-seen", None, None)
    assert call["arguments"][1]["value"] == 0


def test_slow_calls_only(place_probe, watched):
    live = place_probe.live("--watch", "-j", "--min=20ms", watched.pid, "watched!watched_wait",
                             "watched!watched_depth")
    made = watched.make("depth", 10)
    watched.app.ask("hold", "held")
    time.sleep(0.05)
    watched.app.tell("release")
    watched.app.unanswered -= 1
    # Of the others some may have waited for a CPU for so long.
    live.wait_out(lambda text: any('"call"' in line and '"watched_wait"' in line for line in text.splitlines()),
                  "the call that waits")
    calls = exact(live.stop()).records("call")
    assert all(call["duration_ns"] >= 20_000_000 for call in calls)
    assert len(calls) <= len(made)
    waited, = [call for call in calls if call["method"] == "watched_wait"]
    assert waited["result"]["value"] == 46


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


def test_library_that_is_loaded_later(place_probe, start_app, calls_program):
    """Its functions are probed before it is mapped. What they are given is known once a call has been seen."""
    library = machine.program("later.so")
    target = start_app("calls", executable=calls_program)
    live = place_probe.live("--watch", "-j", "--wait", target.pid, "later.so!later_function", "calls!calls_plain")
    target.ask(f"load {library}", "loaded")
    target.ask("later 1 1", "done")
    live.wait_out(lambda text: '"later_function"' in text, "the first call")
    target.ask("later 20 1", "done")
    calls = [call for call in exact(live.stop()).records("call") if call["method"] == "later_function"]
    assert len(calls) == 21
    assert [call["arguments"][0]["value"] for call in calls[1:]] == list(range(20))


def test_text(place_probe, watched):
    live = place_probe.live("--watch", watched.pid, "watched!watched_*")
    watched.make("order", 2)
    watched.make("text", 2)
    watched.make("jump", 1)
    lines = live.stop().expect(0).out.splitlines()
    told = [re.sub(r"^ *[\d.]+  \S+ +\d+/\d+  ", "", line) for line in lines]
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
