# SPDX-License-Identifier: GPL-2.0-or-later
"""--watch on .NET: what methods of all shapes were given and gave back, against what the target noted itself.

tests/apps/values spells each call's values out of C#, knowing nothing of registers or layouts.
"""

import collections
import json
import re

import pytest

from helpers import machine

pytestmark = pytest.mark.beside

VARIANTS = ["values11", "values10", "values9", "values8"]
PATTERNS = ["Values.Shapes::*", "Values.Point::*", "Values.Box`1::*", "Values.Pair`1::*"]
# Of these some instantiations, or all there is, have no precompiled body.
PARTLY_COMPILED = {"Shapes::Vectors", "Shapes::Generic", "Shapes::GenericInstance", "Shapes::GenericBuffer",
                   "Box::Put", "Box::Make", "Box::Swap", "Pair::Take"}
SOURCE = (machine.TREE / "tests/apps/values/Shapes.cs").read_text()
# Those that are precompiled in any case; the others are tried with --remap, which needs no debug registers.
PRECOMPILED = [f"Values.Shapes::{name}" for name in re.findall(r'Note\("(\w+)"', SOURCE)
               if f"Shapes::{name}" not in PARTLY_COMPILED] + ["Values.Point::*"]
SHARED = ("Generic", "GenericInstance", "GenericBuffer")
PRECOMPILED += [f"Values.Shapes::{name}[System.__Canon]" for name in SHARED]
KINDS = [f"Values.Kinds::{name}" for name in ("Delegates", "Tasks", "Derived")]
KINDS += ["Values.Built::.ctor", "Values.IGreets::Greet"]
# Private constructors and the like are noted nowhere.
UNNOTED = {"Shapes::.ctor", "Box::.ctor"}
LINE = re.compile(r"^\s*[\d.]+ .*?\d+/\d+ +(.*)$")
TOOK = re.compile(r" (?:took|ended in a tail call after) [\d.]+ \w+$")
# Of a field, and of an array that is declared as an object.
NOT_CAPTURED = re.compile(r": \.\.\.|\]\{\.\.\.\}")
UNAVAILABLE = re.compile(NOT_CAPTURED.pattern + "|<not in memory>|<left out>")


def short(call):
    """"Values.Box`1[System.__Canon]::Put[A](..)" as the target has it: "Box::Put(..)"."""
    head, arguments = call.split("(", 1)
    head = re.sub(r"\[[^:]*\]", "", head.removeprefix("Values."))
    return re.sub(r"`\d", "", head) + "(" + arguments


def calls_of(text):
    """The calls that were printed, as the target notes them."""
    lines = [LINE.match(line) for line in text.splitlines()]
    calls = [short(TOOK.sub("", line[1])) for line in lines if line and "::" in line[1]]
    return collections.Counter(call for call in calls if call.split("(")[0] not in UNNOTED)


def noted(target, path, *commands):
    target.ask(f"note {path}", "noting")
    for command in commands:
        target.ask(command, "collecting" if command.startswith("collect") else "done")
    target.ask("end", "noted")
    return collections.Counter(path.read_text().splitlines())


def method(call):
    return call.split("(")[0]


def by_method(calls):
    counts = collections.Counter()
    for call, count in calls.items():
        counts[method(call)] += count
    return counts


def check_none_wrong(said, real):
    """All that was printed is so, but for what says that it could not be had. How much that is."""
    wrong = said - real
    without = collections.Counter({call: count for call, count in wrong.items() if UNAVAILABLE.search(call)})
    assert not wrong - without, list((wrong - without).items())[:5]
    return without.total() / said.total()


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_value(start_app, place_probe, variant, tmp_path, tell):
    """Eight threads, while objects are collected and moved all the time."""
    target = start_app(variant)
    live = place_probe.live("--watch", "--string-bytes=64", target.pid, *PRECOMPILED)
    real = noted(target, tmp_path / "calls", "collect 2", "call 40 8", "collect 0")
    result = live.stop()
    said = calls_of(result.out)
    unavailable = check_none_wrong(said, real)
    assert unavailable < 0.005
    lost = re.search(r"(\d+) lost", result.err)
    if not lost:
        counts, expected = by_method(said), by_method(real)
        for name in expected.keys() - PARTLY_COMPILED:
            assert counts[name] == expected[name], name
        assert all(counts[f"Shapes::{name}"] > 0 for name in SHARED)
    tell(f"{variant}: {said.total()} of {real.total()} calls equal, {unavailable:.3%} not available")


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_at_run_time(start_app, place_probe, variant, tmp_path, tell):
    """Arguments are where precompiled code has them, too."""
    target = start_app(variant)
    live = place_probe.live("--watch", "--remap", target.pid, *PATTERNS, *KINDS)
    real = noted(target, tmp_path / "calls", "call 5 1", "kinds 5 1")
    result = live.stop()
    said = calls_of(result.out)
    # What they give back is not known where their ends are not.
    arguments = collections.Counter()
    for call, count in said.items():
        arguments[re.sub(r"\) (?:= .*|\(its end is not followed\))$", ")", call)] += count
    given = collections.Counter()
    for call, count in real.items():
        given[re.sub(r"\) = .*$", ")", call)] += count
    check_none_wrong(arguments, given)
    tell(f"{variant}: {said.total()} of {real.total()} calls, their arguments equal")


def test_json(start_app, place_probe, tmp_path):
    target = start_app("values10")
    live = place_probe.live("--watch", "-j", target.pid, "Values.Shapes::Strings", "Values.Shapes::Objects")
    real = noted(target, tmp_path / "calls", "call 3 1")
    calls = [json.loads(line) for line in live.stop().out.splitlines() if '"type":"call"' in line]
    assert len(calls) == 6
    for call in calls:
        if "Strings" in call["method"]:
            first, second = call["arguments"]
            assert (first["name"], first["type"], second["name"]) == ("s", "string", "t")
            assert call["result"]["value"] == first["value"]
            assert any(call.startswith("Shapes::Strings") and json.dumps(first["value"], ensure_ascii=False)[:8] in call
                       for call in real)
        else:
            order = call["arguments"][0]
            fields = {field["name"]: field for field in order["fields"]}
            assert order["type"] in ("Values.Order", "Values.Special")
            assert fields["Id"]["type"] == "int" and isinstance(fields["Id"]["value"], int)
            assert call["arguments"][2] == {"name": "c", "type": "string", "value": call["arguments"][2]["value"]}


def test_arguments_of_the_framework(start_app, place_probe, tmp_path):
    """A path that the target writes to, as the framework was given it."""
    target = start_app("values10")
    live = place_probe.live("--watch", target.pid, "System.IO.File::WriteAllLines")
    noted(target, tmp_path / "the-calls", "call 1 1")
    assert f'WriteAllLines(path: "{str(tmp_path)[:32]}"…, contents: ' in live.stop().out


def test_types_that_are_loaded_later(start_app, place_probe, tmp_path):
    """Of a struct that is not loaded when its method is probed, it is said so, until it is."""
    target = start_app("values10")
    live = place_probe.live("--watch", target.pid, "Values.Later::Late")
    target.ask("note /dev/null", "noting")
    for calls in range(1, 20):
        target.ask("late 2", "done")
        live.wait_out(lambda out, calls=calls: out.count("Later::Late(") == 2 * calls, "two calls more")
        if 'Text: "late 1"' in live.out_so_far():
            break
    said = calls_of(live.stop().out)
    late = [call for call in said if "<" not in call]
    assert late and set(late) <= {f'Later::Late(a: Values.LateStruct{{A: {i}, B: {-i}, Text: "late {i}"}}, b: {i}) = {i}'
                                  for i in range(2)}
    assert all("the runtime has not loaded yet" in call for call in said if call not in late)


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_values_turn_out_to_be(start_app, place_probe, variant, tmp_path, tell):
    """Tasks, delegates, and objects with more than the type has that they are declared as: nothing is missing any more
    once calls with the like have been seen."""
    target = start_app(variant)
    live = place_probe.live("--watch", target.pid, *KINDS)
    real, rounds = collections.Counter(), 0

    def is_whole():
        nonlocal rounds
        before = len(live.out_so_far())
        real.update(noted(target, tmp_path / f"calls{rounds}", "kinds 8 1"))
        rounds += 1
        live.wait_out(lambda out: calls_of(out).total() == real.total(), "all calls")
        return not NOT_CAPTURED.search(live.out_so_far()[before:])

    machine.wait_until(is_whole, "calls of which all is there", 30)
    said = calls_of(live.stop().out)
    assert real.total() == 40 * rounds
    wrong = said - real
    assert all(NOT_CAPTURED.search(call) for call in wrong), list(wrong)[:5]
    assert by_method(said) == by_method(real)
    for word in ("{Faulted}", "{Canceled}", "{WaitingForActivation}", "{Created}", "{RanToCompletion, result: ",
                 "{target: Values.Shop, method: Values.Shop::Checkout}", "{method: Values.Kinds::Twice}", "Wish: ", "Codes: int[3]{"):
        assert any(word in call for call in said & real), word
    tell(f"{variant}: {wrong.total()} of {said.total()} calls had something that was not captured yet")


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_compilers_make(start_app, place_probe, variant):
    """Arguments and locals of async methods and iterators, and what lambdas capture, by their names in the source."""
    target = start_app(variant)
    live = place_probe.live("--watch", "--nested", "-j", target.pid, "Values.Made::*")
    target.ask("made 6", "done")
    live.wait_out(lambda out: out.count('"type":"call"') >= 6 * 12, "all calls")
    seen = collections.Counter()
    for call in live.stop().records("call"):
        method = call["method"].partition("(")[0].removeprefix("Values.Made")
        given = {value["name"]: value for value in call["arguments"]}
        made = {field["name"]: field.get("value") for field in given["this"]["fields"]} if "this" in given else {}
        seen[method] += 1
        if method == "+<Work>d__0::MoveNext":
            step, i = made["<>1__state"], made["id"]
            assert (made["name"], made["doubled"], made["both"]) == \
                (f"name {i}", 0 if step < 0 else 2 * i, f"name {i}{2 * i}" if step == 1 else None)
        elif method == "+<Count>d__1::MoveNext":
            assert made["label"] == f"label {made['from']}" and 0 <= made["i"] <= made["from"] + 2
        elif method == "::Count":
            assert given["label"]["value"] == f"label {given['from']['value']}"
        elif method.endswith("::<Sum>b__0"):
            assert made["factor"] == 3 and call["result"]["value"] == 3 * given["x"]["value"] + len(made["word"])
        elif method == "::Work":
            assert given["name"]["value"] == f"name {given['id']['value']}"
            assert call["result"]["type"] == "System.Threading.Tasks.Task<int>"
        elif method == "::Sum":
            i = given["numbers"]["elements"][0]["value"]
            # It may leave the rest to another one, and has no result then.
            assert (call["end"], call["result"] and call["result"]["value"]) in (
                ("tail-call", None), ("returned", 3 * (2 * i + 1) + 2 * len(f"word {i}")))
    lambdas = sum(count for method, count in seen.items() if method.endswith("::<Sum>b__0"))
    assert (seen["+<Work>d__0::MoveNext"], seen["+<Count>d__1::MoveNext"], seen["::Work"], seen["::Count"],
            seen["::Sum"], lambdas) == (18, 24, 6, 6, 6, 12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_code_that_is_shared(start_app, place_probe, variant, tmp_path):
    """What it is called for, which it is told by what no source has."""
    target = start_app(variant)
    live = place_probe.live("--watch", "-j", target.pid,
                            *(f"Values.Shapes::{name}[System.__Canon]" for name in SHARED))
    noted(target, tmp_path / "calls", "call 3 1")
    calls = live.stop().records("call")
    assert {call["instance"] for call in calls} == {f"Values.Shapes::{name}[System.String]" for name in SHARED}
    assert len(calls) == 3 * len(SHARED) and all("[System.__Canon]" in call["method"] for call in calls)


def test_what_is_redacted_is_not_shown(start_app, place_probe, tmp_path):
    target = start_app("values10")
    live = place_probe.live("--watch", "--redact=^(s|Customer)$", target.pid, "Values.Shapes::Strings",
                            "Values.Shapes::Objects")
    noted(target, tmp_path / "calls", "call 20 1")
    out = live.stop().out
    assert out.count("Strings(s: <redacted>, t: ") == 20
    assert out.count("Customer: <redacted>") >= 20 and 'Customer: "' not in out


@pytest.mark.beside
@pytest.mark.parametrize("variant", VARIANTS)
def test_signatures_of_all_that_was_called(start_app, variant):
    """Of what has run, all types are loaded; so there is none whose layout is not known."""
    target = start_app(variant)
    target.ask("call 1 1", "done")
    result = machine.run(machine.tool("signatures"), target.pid, *PATTERNS)
    assert re.search(r"^\d\d+ methods in .*, 0 values of unknown types$", result.stderr, re.MULTILINE), result.stderr
    # Places that were measured with a debugger, of shapes where it is not plain.
    for line in ("  c: Values.FFI{A@0: float, B@4: float, C@8: int} xmm2/8 i2/4",
                 "  a: Values.Empty sp+8/1" if variant == "values8" else "  a: Values.Empty i1/1",
                 "  s: Values.S16{A@0: long, B@8: long} sp+8/16", "  h: double xmm7/8",
                 "  a: System.ValueTuple<int, string>{Item1@8: int, Item2@0: string} i0/8 i1/8",
                 "  ->: Values.S24{A@0: long, B@8: long, C@16: long} buffer0/24"):
        assert line in result.stdout.splitlines(), line
