# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON lines that place-probe prints, checked against docs/json.md."""

import json

TIERS = {"r2r", "tier0", "minopt", "instrumented", "optimized", "tier1", "osr", "unknown",
         "interpreter", "baseline", "maglev", "turbofan", "native"}
MECHANISMS = {"uprobe", "breakpoint", "none"}
STATES = {"current", "superseded", "pending", "rejected", "unknown"}
ENDS = {"returned", "unwound", "not-known", "not-kept", "not-seen", "thread-ended", "running",
        "tail-call"}
FRAME_KINDS = {"native", "dotnet", "v8", "stub", "unknown"}

# One word per field: its Python type; a "?" says that it may be null.
SCHEMAS = {
    "site": {"method": "str", "image": "str", "tier": "tier", "state": "state?",
             "mechanism": "mechanism", "reason": "str?", "file": "str?", "file_offset": "int?", "address": "int?",
             "size": "int?", "made_from": "str?", "names_from": "strs",
             "native_function": "str?"},
    "hit": {"time_ns": "int", "pid": "int", "tid": "int", "comm": "str", "method": "str",
            "tier": "tier", "duration_ns": "int?", "stack": "frames", "stack_end": "str?"},
    "call": {"time_ns": "int", "pid": "int", "tid": "int", "comm": "str", "method": "str",
             "tier": "tier", "duration_ns": "int?", "instance": "str?", "end": "end",
             "arguments": "values?", "result": "value?", "no_values": "str?", "exception": "exception?",
             "no_exception": "str?", "stack": "frames", "stack_end": "str?"},
    "trace": {"time_ns": "int", "pid": "int", "tid": "int", "comm": "str", "method": "str", "tier": "tier",
              "duration_ns": "int?", "missing": "int", "not_followed": "int", "left_out": "int", "root": "traced"},
    "async": {"time_ns": "int", "pid": "int", "tid": "int", "comm": "str", "method": "str", "tier": "tier?",
              "duration_ns": "int", "id": "int", "outcome": "str", "arguments": "values?", "no_values": "str?",
              "exception": "str?"},
    "async_total": {"method": "str", "started": "int", "synchronous": "int", "completed": "int", "faulted": "int",
                    "canceled": "int", "paired": "int", "not_paired": "int", "unknown_steps": "int", "no_room": "int",
                    "open": "int?", "mean_ns": "int?"},
    "folded": {"stack": "strs", "count": "int"},
    "count": {"method": "str", "calls": "int", "bodies": "bodies"},
    "value": {"method": "str", "calls": "int", "by": "str", "value": "value?", "rest": "str?"},
    "hist": {"method": "str", "tid": "int?", "caller": "str?", "count": "int", "sum_ns": "int",
             "min_ns": "int?", "max_ns": "int?", "p50_ns": "int?", "p90_ns": "int?", "p99_ns": "int?",
             "p99_9_ns": "int?", "unwound": "int", "unfinished": "int?", "not_timed": "int",
             "buckets": "buckets"},
    "summary": {"hits": "int", "lost": "lost", "lower_bound": "strs", "filtered": "filtered",
                "stack_ends": "lost?", "guessed_frames": "int?"},
}
FRAME = {"kind": "kind", "name": "str?", "module": "str?", "offset": "int?",
         "file_offset": "int?", "file": "str?", "line": "int?", "made_from": "str?", "inlined": "bool", "guessed": "bool"}
FILTERED = {"method": "str", "calls": "int", "undecided": "int"}
TRACED = {"method": "str", "calls": "int", "took_ns": "int", "self_ns": "int", "unwound": "int", "not_seen": "int",
          "thread_ended": "int", "children": "traceds"}
BODY = {"tier": "tier", "calls": "int"}
BUCKET = {"low_ns": "int", "high_ns": "int", "count": "int"}


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_value(value):
    """One of the ways in which a value is told; or only that there is one."""
    told = sum(key in value for key in ("value", "fields", "elements", "unavailable"))
    return told == 1 or (told == 0 and value.get("cut") is True)


CHECKS = {
    "str": lambda value: isinstance(value, str),
    "int": is_number,
    "bool": lambda value: isinstance(value, bool),
    "tier": lambda value: value in TIERS,
    "state": lambda value: value in STATES,
    "mechanism": lambda value: value in MECHANISMS,
    "kind": lambda value: value in FRAME_KINDS,
    "frames": lambda value: all(fits(frame, FRAME) for frame in value),
    "bodies": lambda value: all(fits(body, BODY) for body in value),
    "filtered": lambda value: all(fits(item, FILTERED) for item in value),
    "buckets": lambda value: all(fits(bucket, BUCKET) for bucket in value),
    "end": lambda value: value in ENDS,
    "traced": lambda value: fits(value, TRACED),
    "traceds": lambda value: all(fits(call, TRACED) for call in value),
    "value": lambda value: isinstance(value.get("type"), str) and is_value(value),
    "values": lambda value: all(isinstance(item.get("name"), str) and is_value(item) for item in value),
    "exception": lambda value: isinstance(value.get("type"), str) and isinstance(value["message"], (str, type(None))),
    "strs": lambda value: all(isinstance(item, str) for item in value),
    "lost": lambda value: isinstance(value, dict) and all(map(is_number, value.values())),
}


def fits(record, schema):
    """Whether all fields are there and of the right type; there may be more."""
    for field, kind in schema.items():
        if field not in record:
            return False
        optional = kind.endswith("?")
        if record[field] is None and optional:
            continue
        if not CHECKS[kind.rstrip("?")](record[field]):
            return False
    return True


def parse(text, summarized=True):
    """All records of a run. "type" comes first in each, and the summary, if there must be one, is the last."""
    found = []
    for line in text.removesuffix("\n").split("\n") if text else ():
        pairs = json.loads(line, object_pairs_hook=list)
        assert pairs and pairs[0][0] == "type", f"type does not come first: {line}"
        record = json.loads(line)
        assert record["type"] in SCHEMAS, f"a type that nobody knows: {line}"
        assert fits(record, SCHEMAS[record["type"]]), f"not as documented: {line}"
        found.append(record)
    assert found, "no record at all was printed"
    summaries = [record["type"] for record in found].count("summary")
    assert summaries == 1 or (not summaries and not summarized), "not one summary"
    assert not summaries or found[-1]["type"] == "summary", f"the summary is not the last record: {found[-1]}"
    return found


# StackTrace leaves it out: .NET 11 has it below Main, with the attribute that says so.
HIDDEN = {"System.Environment::CallEntryPoint"}


def in_stack_trace(hit):
    """The frames of a hit's stack that a StackTrace may have."""
    return [frame for frame in hit["stack"] if frame["kind"] in ("dotnet", "unknown") and
            plain(frame["name"] or "?") not in HIDDEN]


def plain(name):
    """TYPE::METHOD of a canonical name: no signature, no generic arguments."""
    kept, depth = "", 0
    for letter in name.partition("(")[0]:
        depth += letter == "["
        if depth == 0:
            kept += letter
        depth -= letter == "]"
    return kept
