# SPDX-License-Identifier: GPL-2.0-or-later
"""--async: every call as a whole is one that the target has made, and became what it has noted itself."""

import collections
import itertools
import json
import re

import pytest

from helpers import machine, pairs

CALLS = "Asynced.Calls::"
METHODS = ("Plain", "Number", "Value", "Bare")
VARIANTS = ["asynced11", "asynced10", "asynced9", "asynced8"]
OUTCOMES = ("completed", "faulted", "canceled")
BUFFER = "--buffer=64M"
FILLS = 6  # as many as the target has
TARGETS = 16
pytestmark = pytest.mark.beside


class Run:
    """What the target has noted of its calls, by number and by method, and what place-probe has told of them."""

    def __init__(self, noted, collected, result):
        self.noted = {call["id"]: call for call in noted}
        assert len(self.noted) == len(noted)
        self.collections = collected
        self.result = result
        self.records = result.records("async")
        self.totals = {total["method"].removeprefix(CALLS).split("(")[0]: total
                       for total in result.records("async_total")}
        assert self.totals.keys() == {call["method"] for call in noted}

    def of(self, method):
        return [call for call in self.noted.values() if call["method"] == method]

    def sum(self, member):
        return sum(total[member] for total in self.totals.values())


def follow(place_probe, app, path, storm, times, workers, *options, methods=METHODS):
    """All that @app has done of these methods, and what was said of it."""
    live = place_probe.live("--watch", "--async", "-j", "--strict", BUFFER, *options, app.pid,
                            *(CALLS + method for method in methods))
    _, calls, collected = app.ask(f"run 1000 {times} {workers} {storm}", "done")
    app.ask(f"note {path}", "noted")
    noted = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(noted) == int(calls) == 28 * times * workers
    return Run([call for call in noted if call["method"] in methods], int(collected), live.stop())


@pytest.fixture
def run(place_probe, start_app, tmp_path):
    """run(VARIANT, STORM, TIMES, WORKERS, OPTION...): a target whose methods are precompiled."""
    def start(variant, *what, extra=None):
        return follow(place_probe, start_app(variant, extra=extra), tmp_path / "calls", *what)

    return start


def sealed_methods(app):
    """Those of which all code, the method's and its state machine's, lies where nothing is written any more."""
    bodies = [line.split(" ", 3) for line in machine.run(machine.tool("sealed"), app.pid).stdout.splitlines()]
    full = {name.split("(")[0] for state, _, _, name in bodies if state == "sealed"}
    return [method for method in METHODS if CALLS + method in full
            and any(re.fullmatch(rf"{CALLS[:-2]}\+<{method}>.*::MoveNext", name) for name in full)]


@pytest.fixture
def run_compiled(place_probe, start_app, tmp_path):
    """Likewise, but they are compiled at run time, and those that can be are followed by uprobes. Where they lie is chance:
    in some targets none can be."""
    def begin(variant):
        app = start_app(variant, tiered=False)
        for number in range(FILLS):
            app.ask(f"fill {number}", "filled")
        return app, sealed_methods(app)

    def start(variant, *what):
        tries = (begin(variant) for _ in range(TARGETS))
        app, methods = next(((app, methods) for app, methods in tries if methods), (None, None))
        assert methods
        return follow(place_probe, app, tmp_path / "calls", *what, "--remap", methods=methods)

    return start


def number_of(record):
    """That which the call was given; it is in the name of no method."""
    return int(next(value["value"] for value in record["arguments"] if value["name"] == "id"))


def check_records(run):
    """None is wrong, and none is told twice."""
    numbers = [number_of(record) for record in run.records]
    assert len(set(numbers)) == len(numbers) and set(numbers) <= run.noted.keys()
    assert len({record["id"] for record in run.records}) == len(run.records)
    for record, number in zip(run.records, numbers):
        call = run.noted[number]
        assert record["method"].startswith(CALLS + call["method"])
        assert record["outcome"] == call["outcome"] and record["exception"] == call["exception"], call
        # From before its first line until after its last one. When its last step has returned is only known of some;
        # that of others may still have been at it when whoever had waited for the result was on its way.
        assert record["duration_ns"] >= call["last"] - call["first"], call
        assert record["duration_ns"] <= record["time_ns"] - call["before"], call
        if call["after"]:
            assert record["duration_ns"] <= call["after"] - call["before"], call


def check_totals(run, first_may_be_unknown=False):
    """Each call is counted once; those that are not known to be over are told as such."""
    for method, total in run.totals.items():
        calls = run.of(method)
        ended = sum(total[outcome] for outcome in OUTCOMES)
        assert total["started"] == len(calls)
        more = sum(call["synchronous"] for call in calls) - total["synchronous"]
        assert 0 <= more <= (total["unknown_steps"] if first_may_be_unknown else 0)
        assert total["paired"] + total["not_paired"] == ended
        assert total["paired"] == sum(record["method"] == total["method"] for record in run.records)
        assert total["no_room"] == 0
        missing = {outcome: sum(call["outcome"] == outcome for call in calls) - total[outcome] for outcome in OUTCOMES}
        assert all(count >= 0 for count in missing.values()), missing
        if total["unknown_steps"]:
            assert sum(missing.values()) <= total["unknown_steps"]
            assert total["open"] is None and total["mean_ns"] is None
        else:
            assert not any(missing.values())
            assert total["open"] == 0 and total["mean_ns"] > 0


def check_all(run):
    """Nothing is missing."""
    assert run.collections == 0
    check_records(run)
    check_totals(run)
    assert run.sum("not_paired") == run.sum("unknown_steps") == 0
    assert {number_of(record) for record in run.records} == run.noted.keys()
    for total in run.totals.values():
        durations = [record["duration_ns"] for record in run.records if record["method"] == total["method"]]
        assert total["mean_ns"] == sum(durations) // len(durations)
    assert run.result.code == 0


def check_collected(run, classes=False):
    """Nothing is wrong, and what is missing is counted. State machines that are no classes lie on the stack in their first
    step, where nothing is moved."""
    assert run.collections > 0
    check_records(run)
    check_totals(run, first_may_be_unknown=classes)
    # What is not exact is no success with --strict.
    exact = all(total["open"] is not None for total in run.totals.values())
    assert run.result.code == (0 if exact else 5)
    # Each worker has waited for a collection when calls were under way.
    assert run.sum("not_paired") + run.sum("unknown_steps") > 0
    return (f"{len(run.records)} of {len(run.noted)} calls equal, {run.sum('not_paired')} not paired, "
            f"{run.sum('unknown_steps')} steps unknown, {run.collections} collections")


@pytest.mark.parametrize("variant", VARIANTS)
def test_all_without_a_collection(run, variant, tell):
    done = run(variant, "none", 8, 8)
    check_all(done)
    tell(f"{variant}: {len(done.records)} calls equal")


@pairs.choose("variant, storm", itertools.product(VARIANTS, ["gen0", "full", "background", "compacting", "server"]))
def test_none_wrong_while_collected(run, variant, storm, tell):
    extra = {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"} if storm == "server" else None
    done = run(variant, "compacting" if storm == "server" else storm, 6, 8, extra=extra)
    tell(f"{variant}, {storm}: {check_collected(done)}")


# Without optimisation state machines are classes.
@pairs.choose("variant, storm", itertools.product(["asynced10-jit", "asynced10-debug"], ["none", "compacting"]))
def test_compiled_at_run_time(run_compiled, variant, storm, tell):
    done = run_compiled(variant, storm, 4, 8)
    if storm == "none":
        check_all(done)
    else:
        tell(f"{variant}, {storm}: {check_collected(done, classes=variant == 'asynced10-debug')}")


@pytest.mark.kernel
@pytest.mark.parametrize("storm", ["none", "compacting"])
def test_other_kernel(run, storm):
    done = run("asynced10", storm, 1, 2)
    if storm == "none":
        check_all(done)
    else:
        check_collected(done)


def test_without_values(run):
    done = run("asynced10", "none", 2, 2, "--no-values")
    check_totals(done)
    assert all(record["arguments"] is None for record in done.records)
    assert collections.Counter((record["method"].removeprefix(CALLS).split("(")[0], record["outcome"])
                               for record in done.records) == \
        collections.Counter((call["method"], call["outcome"]) for call in done.noted.values())


def test_short_ones(run):
    """They are counted, and not shown."""
    done = run("asynced10", "none", 2, 2, "--min=600s")
    assert not done.records
    assert all(total["paired"] == total["started"] == len(done.of(method)) for method, total in done.totals.items())
