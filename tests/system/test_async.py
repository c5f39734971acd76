# SPDX-License-Identifier: GPL-2.0-or-later
"""--async: every call as a whole is one that the target has made, and became what it has noted itself."""

import json

import pytest

pytestmark = pytest.mark.beside(uprobes=True)

CALLS = "Asynced.Calls::"
METHODS = ("Plain", "Number", "Value", "Bare")
VARIANTS = ["asynced10", "asynced9", "asynced8"]
OUTCOMES = ("completed", "faulted", "canceled")
BUFFER = "--buffer=64M"


class Run:
    """What the target has noted of its calls, by number and by method, and what place-probe has told of them."""

    def __init__(self, noted, collections, result):
        self.noted = {call["id"]: call for call in noted}
        assert len(self.noted) == len(noted)
        self.collections = collections
        self.result = result
        self.records = result.records("async")
        self.totals = {total["method"].removeprefix(CALLS).split("(")[0]: total
                       for total in result.records("async_total")}
        assert self.totals.keys() == set(METHODS)

    def of(self, method):
        return [call for call in self.noted.values() if call["method"] == method]

    def sum(self, member):
        return sum(total[member] for total in self.totals.values())


@pytest.fixture
def run(place_probe, no_registers, start_app, tmp_path):
    """run(VARIANT, STORM, TIMES, WORKERS, OPTION...): a target whose methods are precompiled, and all it has done."""
    def start(variant, storm, times, workers, *options, extra=None):
        app = start_app(variant, extra=extra)
        live = place_probe.live("--watch", "--async", "-j", "--strict", BUFFER, *options, app.pid,
                                *(CALLS + method for method in METHODS))
        _, calls, collections = app.ask(f"run 1000 {times} {workers} {storm}", "done")
        app.ask(f"note {tmp_path / 'calls'}", "noted")
        noted = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
        assert len(noted) == int(calls) == 28 * times * workers
        return Run(noted, int(collections), live.stop())

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
        assert record["outcome"] == call["outcome"], call
        # From before its first line until after its last one. When its last step has returned is only known of some;
        # that of others may still have been at it when whoever had waited for the result was on its way.
        assert record["duration_ns"] >= call["last"] - call["first"], call
        assert record["duration_ns"] <= record["time_ns"] - call["before"], call
        if call["after"]:
            assert record["duration_ns"] <= call["after"] - call["before"], call


def check_totals(run):
    """Each call is counted once; those that are not known to be over are told as such."""
    for method, total in run.totals.items():
        calls = run.of(method)
        ended = sum(total[outcome] for outcome in OUTCOMES)
        assert total["started"] == len(calls)
        assert total["synchronous"] == sum(call["synchronous"] for call in calls)
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


@pytest.mark.parametrize("variant", VARIANTS)
def test_all_without_a_collection(run, variant, tell):
    done = run(variant, "none", 8, 8)
    assert done.collections == 0
    check_records(done)
    check_totals(done)
    assert done.sum("not_paired") == done.sum("unknown_steps") == 0
    assert {number_of(record) for record in done.records} == done.noted.keys()
    for total in done.totals.values():
        durations = [record["duration_ns"] for record in done.records if record["method"] == total["method"]]
        assert total["mean_ns"] == sum(durations) // len(durations)
    assert done.result.code == 0
    tell(f"{variant}: {len(done.records)} calls equal")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("storm", ["gen0", "full", "background", "compacting", "server"])
def test_none_wrong_while_collected(run, variant, storm, tell):
    extra = {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"} if storm == "server" else None
    done = run(variant, "compacting" if storm == "server" else storm, 6, 8, extra=extra)
    assert done.collections > 0
    check_records(done)
    check_totals(done)
    # What is not exact is no success with --strict.
    exact = all(total["open"] is not None for total in done.totals.values())
    assert done.result.code == (0 if exact else 5)
    # Each worker has waited for a collection when calls were under way.
    assert done.sum("not_paired") + done.sum("unknown_steps") > 0
    tell(f"{variant}, {storm}: {len(done.records)} of {len(done.noted)} calls equal, {done.sum('not_paired')} not "
         f"paired, {done.sum('unknown_steps')} steps unknown, {done.collections} collections")
