# SPDX-License-Identifier: GPL-2.0-or-later
"""A strict reader of the JSON array of Chrome's trace event format, by the document that describes it."""

import dataclasses
import json

# What each phase has, beside "args".
MEMBERS = {"M": {"ph", "name", "pid", "tid"},
           "i": {"ph", "name", "cat", "s", "pid", "tid", "ts"},
           "b": {"ph", "name", "cat", "id", "pid", "tid", "ts"},
           "e": {"ph", "name", "cat", "id", "pid", "tid", "ts"}}


@dataclasses.dataclass
class Trace:
    """Instants of threads, slices as (beginning, end), names of threads, and what was said at the end."""
    instants: list
    slices: list
    threads: dict
    summaries: list


def no_constant(word):
    raise AssertionError(f"{word} is no JSON")


def only_once(pairs):
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)


def check_event(event):
    wanted = MEMBERS[event["ph"]]
    assert event.keys() - {"args"} == wanted, event
    assert isinstance(event["name"], str) and event["name"]
    assert all(isinstance(event[key], int) for key in ("pid", "tid"))
    if "ts" in wanted:
        assert isinstance(event["ts"], float) and event["ts"] >= 0, event
    if event["ph"] == "i":
        assert event["s"] in ("t", "g"), event
    if event["ph"] == "M":
        assert event["name"] == "thread_name" and event["args"].keys() == {"name"}, event


def parse(text):
    """The trace; each slice that begins ends, later, and each thread has a name by its first event."""
    events = json.loads(text, parse_constant=no_constant, object_pairs_hook=only_once)
    assert isinstance(events, list)
    trace, begun = Trace([], [], {}, []), {}
    for event in events:
        check_event(event)
        thread = event["pid"], event["tid"]
        if event["ph"] == "M":
            trace.threads[thread] = event["args"]["name"]
            continue
        if event["ph"] == "i" and event["s"] == "g":
            trace.summaries.append(event)
            continue
        assert thread in trace.threads, event
        slice_of = event.get("cat"), event.get("id")
        if event["ph"] == "i":
            trace.instants.append(event)
        elif event["ph"] == "b":
            assert slice_of not in begun, event
            begun[slice_of] = event
        else:
            beginning = begun.pop(slice_of)
            assert beginning["name"] == event["name"] and beginning["ts"] <= event["ts"], event
            trace.slices.append((beginning, event))
    assert not begun, begun
    return trace
