# SPDX-License-Identifier: GPL-2.0-or-later
"""Trees of calls: those that --trace prints, and those that its targets note themselves."""

import collections
import json
import re

DEEPEST = 128  # calls within each other, the root among them


def short(method):
    """"Traced.Steps::Query(int32)" as the target has it: "Query"."""
    return re.sub(r"\(.*", "", method).split("::")[-1]


def plain(call):
    """What the target knows, too."""
    return {"method": short(call["method"]), "calls": call["calls"], "unwound": call["unwound"],
            "children": [plain(child) for child in call["children"]]}


def cut(tree, depth=DEEPEST):
    """As deep as calls are followed, and how many calls are deeper."""
    if depth == 0:
        return None, total(tree)
    children = [cut(child, depth - 1) for child in tree["children"]]
    kept = tree | {"children": [child for child, _ in children if child]}
    return kept, sum(deeper for _, deeper in children)


def total(tree):
    return tree["calls"] + sum(total(child) for child in tree["children"])


def by_method(tree):
    calls = collections.Counter({short(tree["method"]): tree["calls"]})
    for child in tree["children"]:
        calls.update(by_method(child))
    return calls


def counted(trees):
    return collections.Counter(json.dumps(tree, sort_keys=True) for tree in trees)


def check_sums(call):
    """What is its own and what is within it make all of a call, but for what is known of probes on average."""
    within = sum(child["took_ns"] for child in call["children"])
    assert call["took_ns"] == call["self_ns"] + within or (call["self_ns"] == 0 and within > call["took_ns"]), call
    assert call["calls"] > 0 and call["unwound"] + call["not_seen"] + call["thread_ended"] <= call["calls"]
    for child in call["children"]:
        check_sums(child)


def check_same(traces, noted):
    """All that was printed is what the target has noted, and nothing is missing that is not told."""
    expected, deeper = zip(*(cut(tree) for tree in noted))
    shown = counted(plain(trace["root"]) for trace in traces)
    assert shown == counted(expected), \
        f"shown and not made: {list((shown - counted(expected)).items())[:2]}, " \
        f"made and not shown: {list((counted(expected) - shown).items())[:2]}"
    assert sum(trace["not_followed"] for trace in traces) == sum(deeper)
    for trace in traces:
        assert trace["missing"] == trace["left_out"] == 0, trace
        assert (trace["duration_ns"] or 0) == trace["root"]["took_ns"] and trace["root"]["calls"] == 1
        check_sums(trace["root"])
