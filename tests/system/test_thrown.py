# SPDX-License-Identifier: GPL-2.0-or-later
"""--watch of methods that throw: which exception has left each call, against what the target noted itself.

tests/apps/thrown throws in all ways that there are, and knows of each call what it was left by: it has caught that, or
C# says so.
"""

import collections
import json
import re

import pytest

from helpers import machine, pairs

pytestmark = pytest.mark.beside

SOURCE = (machine.TREE / "tests/apps/thrown/Cases.cs").read_text()
PATTERNS = [f"Thrown.Cases::{name}" for name in re.findall(r"public static \S+ (\w+)\(int id", SOURCE)]
TREES = [f"Thrown.Trees::{name}" for name in ("Return", "Throw", "Fault", "Each", "Finally", "Catch", "Rethrow",
                                             "Other", "Filter")]
CALL = re.compile(r"Thrown\.(?:Cases|Trees)::(\w+)\(id: (-?\d+)(?:, depth: \d+)?\)(.*)$")
THREW = re.compile(r' threw ([\w.]+)(?:: "(.*)"(…?))? after [\d.]+ \w+$')
UNKNOWN = re.compile(r" threw an exception that is not known after [\d.]+ \w+ \[no exception: (.*)\]$")
TWICE = "it was not read twice while no objects were moved"
SEVERAL = "several were under way, and it is one of them"
NATIVE = "not seen, or it came out of native code or went into it"
# Of which it is not known, and why: no more calls than there are of that method.
NOT_KNOWN = {("Reflected", NATIVE): "Reflected", ("FilterThrows", TWICE): "FilterThrows",
             ("GivenUp", SEVERAL): "GivenUp", ("GivenUpHere", SEVERAL): "GivenUpHere",
             ("ReplacedWithin", SEVERAL): "ReplacedWithin", ("Plain", SEVERAL): "StaleNested"}
# The runtime appends to their messages, or makes them up, when it is asked.
LONGER = {"System.ArgumentNullException"}
COMPUTED = {"Thrown.ComputedException"}


class Said:
    """What was printed of calls, in three lists: [call, ...], [(call, type, message, cut), ...], [(call, why), ...]."""

    def __init__(self, text):
        self.returned = []
        self.threw = []
        self.unknown = []
        for match in map(CALL.search, text.splitlines()):
            if match:
                self.take(f"{match[1]} {match[2]}", match[3])

    def take(self, call, end):
        if threw := THREW.match(end):
            self.threw.append((call, *threw.groups()))
        elif unknown := UNKNOWN.match(end):
            self.unknown.append((call, unknown[1]))
        else:
            assert " took " in end, call + end
            self.returned.append(call)

    def calls(self):
        return sorted([*self.returned, *(call for call, *_ in self.threw), *(call for call, _ in self.unknown)])


def is_message(type_name, said, cut, real):
    """Is what was said of a message so?"""
    if said is None:
        return type_name in COMPUTED
    # As C# has it; only these are spelled otherwise.
    said = said.replace('\\"', '"')
    if cut:
        return len(said) == 48 and real.startswith(said)
    return real.startswith(said) if type_name in LONGER else said == real


def noted(target, path, *commands):
    """{call: (type, message)} of what the target has noted meanwhile; ("-", ""): it returned."""
    target.ask(f"note {path}", "noting")
    for command in commands:
        target.ask(command, "collecting" if command.startswith("collect") else "done")
    target.ask("end", "noted")
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return {call: (type_name, message) for call, type_name, message in rows}


def check_none_wrong(said, real):
    """Each is so, or it is not known; what has returned has not thrown."""
    for call in said.returned:
        assert real[call][0] == "-", (call, real[call])
    for call, _ in said.unknown:
        assert real[call][0] != "-", call
    for call, type_name, message, cut in said.threw:
        real_type, real_message = real[call]
        assert (type_name, is_message(type_name, message, cut, real_message)) == (real_type, True), \
            (call, real[call], message)


def check_known(said, real):
    """Only of what is named above it is not known. Which share was not read twice, without those."""
    counts = collections.Counter(call.split()[0] for call in real)
    unknown = collections.Counter((call.split()[0], why) for call, why in said.unknown)
    moved = 0
    for (method, why), count in unknown.items():
        if (method, why) in NOT_KNOWN:
            assert count <= counts[NOT_KNOWN[method, why]], (method, why, count)
        else:
            assert why == TWICE, (method, why, count)
            moved += count
    return moved / len(said.threw)


VARIANTS = ["thrown11", "thrown10", "thrown9"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_exception(start_app, place_probe, variant, tmp_path, tell):
    """Eight threads, while objects are collected and moved all the time."""
    target = start_app(variant)
    live = place_probe.live("--watch", "--string-bytes=96", "--buffer=64M", target.pid, *PATTERNS)
    real = noted(target, tmp_path / "calls", "collect 2", "throw 30 8", "collect 0")
    result = live.stop()
    said = Said(result.out)
    check_none_wrong(said, real)
    moved = check_known(said, real)
    assert moved < 0.02
    if "nothing lost" in result.err:
        assert said.calls() == sorted(real)
    assert len(said.threw) > 6000
    tell(f"{variant}: {len(said.threw)} of {len(said.threw) + len(said.unknown)} exceptions known and right, "
         f"{moved:.3%} not read twice")


@pytest.mark.parametrize("variant", VARIANTS)
def test_calls_at_random(start_app, place_probe, variant, tmp_path, tell):
    """Exceptions within exceptions, of which some are given up and some go on: what is said is so."""
    target = start_app(variant)
    live = place_probe.live("--watch", "--string-bytes=128", "--buffer=64M", target.pid, *TREES)
    real = noted(target, tmp_path / "calls", "collect 5", "trees 60 8 1", "collect 0")
    said = Said(live.stop().out)
    check_none_wrong(said, real)
    count = len(said.threw) + len(said.unknown)
    assert len(said.threw) > 2000 and len(said.unknown) / count < 0.2
    tell(f"{variant}: {len(said.threw)} of {count} exceptions known and right; of the others: "
         f"{dict(collections.Counter(why for _, why in said.unknown))}")


def test_none_is_known(start_app, place_probe, tmp_path):
    """.NET 8 tells nobody which exception comes by a frame: it is said so, and nothing is wrong."""
    target = start_app("thrown8")
    live = place_probe.live("--watch", target.pid, *PATTERNS)
    real = noted(target, tmp_path / "calls", "throw 3 2")
    said = Said(live.stop().out)
    check_none_wrong(said, real)
    assert said.calls() == sorted(real) and not said.threw
    assert {why for _, why in said.unknown} == {".NET 8 does not tell which exception comes by a frame"}


def test_json(start_app, place_probe, tmp_path):
    target = start_app("thrown10")
    live = place_probe.live("--watch", "-j", "--string-bytes=20", target.pid, "Thrown.Cases::Plain",
                            "Thrown.Cases::Computed", "Thrown.Cases::FilterThrows", "Thrown.Cases::Caught")
    noted(target, tmp_path / "calls", "throw 1 1")
    calls = [json.loads(line) for line in live.stop().out.splitlines() if '"type":"call"' in line]
    by_method = {}
    for call in calls:
        by_method.setdefault(re.search(r"::(\w+)\(", call["method"])[1], call)
    id_ = by_method["Plain"]["arguments"][0]["value"]
    message = f"plain {id_}"
    assert by_method["Plain"]["exception"] == \
        {"type": "System.InvalidOperationException", "message": message[:10]} | \
        ({"length": len(message), "cut": True} if len(message) > 10 else {})
    assert by_method["Plain"]["no_exception"] is None and by_method["Plain"]["end"] == "unwound"
    assert by_method["Computed"]["exception"] == {"type": "Thrown.ComputedException", "message": None}
    assert (by_method["FilterThrows"]["exception"], by_method["FilterThrows"]["no_exception"]) == (None, TWICE)
    assert (by_method["Caught"]["exception"], by_method["Caught"]["no_exception"]) == (None, None)


def test_without_values_there_are_no_messages(start_app, place_probe, tmp_path):
    target = start_app("thrown10")
    live = place_probe.live("--watch", "--no-values", target.pid, "Thrown.Cases::Plain", "Thrown.Cases::Own")
    noted(target, tmp_path / "calls", "throw 2 1")
    out = live.stop().out
    assert out.count("threw System.InvalidOperationException after ") > 10
    assert out.count("threw Thrown.OwnException after ") > 10
    assert not re.search(r"plain \d|own \d", out)


# --if -----------------------------------------------------------------------------------------

# What the types of these exceptions derive from, as .NET's documentation has it; all do from System.Exception.
BASES = {
    "System.ArgumentNullException": {"System.ArgumentException", "System.SystemException"},
    "System.DivideByZeroException": {"System.ArithmeticException", "System.SystemException"},
    "System.OverflowException": {"System.ArithmeticException", "System.SystemException"},
    "System.Reflection.TargetInvocationException": {"System.ApplicationException"},
    "Thrown.OwnException": set(),
    "Thrown.ComputedException": set(),
}


def is_of(threw, asked):
    """Is it of that type, whose name may lack its namespace?"""
    if threw == "-":
        return False
    types = {threw, "System.Exception"} | BASES.get(threw, {"System.SystemException"})
    return asked in types or any(asked == name.rpartition(".")[2] for name in types)


CONDITIONS = [
    ("threw is System.InvalidOperationException",
     lambda type_name, id_: is_of(type_name, "System.InvalidOperationException")),
    ("threw is System.ArithmeticException", lambda type_name, id_: is_of(type_name, "System.ArithmeticException")),
    ("threw is OwnException", lambda type_name, id_: is_of(type_name, "OwnException")),
    ("threw is System.Exception && took < 1000s", lambda type_name, id_: type_name != "-"),
    ("threw is System.NoSuchException", lambda type_name, id_: False),
    ("threw && !(threw is System.SystemException)",
     lambda type_name, id_: type_name != "-" and not is_of(type_name, "System.SystemException")),
    ("threw is Thrown.OwnException || threw is System.NullReferenceException || id < 300 || took > 1000s",
     lambda type_name, id_: any(is_of(type_name, name) for name in ("OwnException", "NullReferenceException")) or
     id_ < 300),
    ("!(threw is System.Exception)", lambda type_name, id_: type_name == "-"),
]


# Those that have an `id`; an iterator's steps have none.
WITH_ID = [pattern for pattern in PATTERNS if not pattern.endswith("::Items")]


@pytest.mark.stepped
@pytest.mark.parametrize("variant", pairs.few(VARIANTS, VARIANTS[0]))
@pytest.mark.parametrize("condition, holds", CONDITIONS, ids=[condition for condition, _ in CONDITIONS])
def test_filters(share, place_probe, tmp_path, variant, condition, holds):
    """What is shown is so, and what is so is shown, or it is not known which exception it was, and it is counted."""
    target = share(variant)
    live = place_probe.live("--watch", "-j", "--remap", "--if", condition, target.pid, *WITH_ID)
    real = noted(target, tmp_path / "calls", "throw 3 2")
    real = {call: threw for call, threw in real.items() if not call.startswith("Items ")}
    result = live.stop().expect(0)
    shown = collections.Counter()
    for call in result.records("call"):
        method = re.search(r"::(\w+)\(", call["method"])[1]
        shown[f"{method} {call['arguments'][0]['value']}"] += 1
    assert set(shown.values()) <= {1}
    expected = {call for call, (type_name, _) in real.items() if holds(type_name, int(call.split()[1]))}
    assert shown.keys() <= expected
    filtered = result.summary()["filtered"]
    undecided = sum(of["undecided"] for of in filtered)
    assert len(shown) + sum(of["calls"] for of in filtered) + undecided == len(real)
    missing = {call.split()[0] for call in expected - shown.keys()}
    assert missing <= {method for method, _ in NOT_KNOWN} | {"CaughtAndThrown"}, missing
    assert len(expected - shown.keys()) <= undecided
    assert result.summary()["hits"] == len(shown)


def test_types_of_dotnet_8_are_refused(share, place_probe):
    """Nobody tells which exception comes by; `threw` alone is known."""
    target = share("thrown8")
    result = place_probe.run("--watch", "--if", "took > 1s || threw is System.Exception", target.pid,
                             "Thrown.Cases::Plain")
    result.expect_sentence(2, "at character 14 ", r"of Thrown.Cases::Plain\(int32\) none is known",
                           ".NET 8 does not tell which exception comes by a frame")
