# SPDX-License-Identifier: GPL-2.0-or-later
"""More code compiled at run time in use than there are debug registers: bodies take turns by need, each count tells
of how much of the time it is, those named first stay exact, and all that is said in a few lines."""

import re

import pytest

from helpers import machine, pairs

OFTEN = ["Ada", "Bo", "Cal", "Dee", "Eve", "Fay", "Gus", "Hal", "Ida", "Jo", "Kit", "Lou"]
SELDOM = ["Max", "Ned", "Oz", "Pat"]
NEVER = ["Una", "Val", "Wes", "Zoe"]
CROWD = "Timed.Crowd::*"
BEGIN = "crowd on 2 2000"
LINES_MAX = 8


def method(name):
    return f"Timed.Crowd::{name}(int32)"


def truth(target):
    return dict(zip(OFTEN + SELDOM, (int(count) for count in target.ask("crowd truth", "crowd")[1:]), strict=True))


def begin(target):
    assert target.ask(BEGIN, "crowd") == ["crowd", "on"]


def end(target):
    assert target.ask("crowd off", "crowd") == ["crowd", "off"]


def tiers(place_probe, target):
    """Of the bodies that calls go to, by method."""
    listed = place_probe.run("-l", "-j", target.pid, CROWD).expect(0).records("site")
    return {site["method"]: site["tier"] for site in listed if site["state"] == "current"}


def warm_up(place_probe, target):
    machine.wait_until(lambda: all(tiers(place_probe, target).get(method(name)) == "tier1" for name in OFTEN),
                       "the crowd is in its last tier", seconds=60)


def counted(live):
    """So far, by method."""
    found = {}
    for record in live.records_so_far():
        if record["type"] == "count":
            found[record["method"]] = found.get(record["method"], 0) + record["calls"]
    return found


def wait_until_counted(live, names, least):
    def are():
        calls = counted(live)
        return all(calls.get(method(name), 0) >= least for name in names)

    machine.wait_until(are, f"{least} calls of each of {names} were seen", seconds=120)


def last_records(result):
    return {record["method"]: record for record in result.records("count") if "watched" in record}


@pytest.mark.alone
@pytest.mark.breakpoints
@pytest.mark.parametrize("when", ["moving", "warm", "cold"])
def test_each_is_seen(start_app, place_probe, when):
    """However it is attached, each method that is called has hits, and a share of the time."""
    target = start_app("latency10-jit", tiered=True)
    if when != "cold":
        begin(target)
    if when == "warm":
        warm_up(place_probe, target)
    live = place_probe.live("-c", "-j", "-i", "0.2", target.pid, CROWD)
    if when == "cold":
        begin(target)
    wait_until_counted(live, OFTEN, 100)
    wait_until_counted(live, SELDOM, 1)
    end(target)
    made, calls = truth(target), None
    result = live.stop().expect(0)
    calls, last = counted(live), last_records(result)
    for name in OFTEN + SELDOM:
        record = last[method(name)]
        assert 0 < calls[method(name)] <= made[name], str(result)
        assert 0 < record["watched"] < 1, str(result)
        assert record["lower_bound"] == ["no-debug-register"], str(result)
        # It is of the whole run, as the estimate is.
        assert record["estimate"] == pytest.approx(calls[method(name)] / record["watched"], rel=0.01, abs=1), str(result)
    if when == "cold":
        # All calls were made while it was watched which.
        assert sum(last[method(name)]["estimate"] for name in OFTEN) == pytest.approx(
            sum(made[name] for name in OFTEN), rel=0.3), f"{made}: {result}"
    # Nobody knows of a body that had no probe all the time.
    for name in NEVER + OFTEN + SELDOM:
        assert f"{method(name)} was not entered" not in result.err, str(result)


@pytest.mark.alone
@pytest.mark.breakpoints
def test_text(start_app, place_probe):
    """The share and the estimate stand beside each count."""
    target = start_app("latency10-jit", tiered=True)
    begin(target)
    warm_up(place_probe, target)
    live = place_probe.live("-c", target.pid, CROWD)
    machine.wait_until(lambda: "Dee" in str(tiers(place_probe, target)), "some time has passed")
    before = truth(target)
    machine.wait_until(lambda: truth(target)["Ada"] > before["Ada"] + 2000, "many calls were made", seconds=60)
    result = live.stop().expect(0)
    end(target)
    for name in OFTEN:
        said = re.search(rf"^ +(\d+)  {re.escape(method(name))} \[.*\]  watched ([0-9.]+) % of the time: about (\d+) in all$",
                         result.out, re.M)
        assert said, str(result)
        calls, share, about = int(said[1]), float(said[2]), int(said[3])
        assert 0 < calls < about and 0 < share < 100, said[0]
        assert about == pytest.approx(100 * calls / share, rel=0.02), said[0]


@pytest.mark.alone
@pytest.mark.breakpoints
def test_named_ones_are_exact(start_app, place_probe):
    """Three that are named are counted to the call through all tiers, beside all the others, which have hits too."""
    target = start_app("latency10-jit", tiered=True)
    names = ["Lou", "Max", "Dee"]
    live = place_probe.live("-c", "-j", "-i", "0.2", target.pid, CROWD, *(method(name) for name in names))
    begin(target)
    warm_up(place_probe, target)
    wait_until_counted(live, OFTEN, 1)
    end(target)
    made = truth(target)
    result = live.stop().expect(0)
    calls, last = counted(live), last_records(result)
    assert {name: calls[method(name)] for name in names} == {name: made[name] for name in names}, str(result)
    assert [last[method(name)]["lower_bound"] for name in names] == [[]] * 3, str(result)
    for name in set(OFTEN) - set(names):
        assert 0 < calls[method(name)] <= made[name] and last[method(name)]["watched"] < 1, str(result)


@pytest.mark.parametrize("when", pairs.few(["idle", "moving", "warm"], "moving"))
def test_few_lines(start_app, place_probe, when):
    """Hundreds of methods, and more than enough of them compiled at run time: it is said what is short, how much of
    it, and what helps. With -v it is told of each."""
    target = start_app("latency10-jit", tiered=True)
    if when != "idle":
        begin(target)
        target.ask("storm on 1", "storm")
    if when == "warm":
        warm_up(place_probe, target)
    asked = [target.pid, "Timed.*::*", "System.Text.*::*", "System.Collections.*::*"]
    results = {}
    for option in (), ("-v",):
        live = place_probe.live("-c", "-j", "-i", "0.5", *option, *asked)
        if when != "idle":
            live.wait_out(lambda text: any(f'"method":"{method(name)}' in text for name in OFTEN), "hits of the crowd")
        results[option] = live.stop().expect(0)
    short, long = (results[option].err.splitlines() for option in ((), ("-v",)))
    assert len(short) <= LINES_MAX, results[()].err
    assert len(long) > 100, results[("-v",)].err
    assert re.search(r"^place-probe: attached \d+ sites to ", results[()].err, re.M), results[()].err
    assert re.search(r"^place-probe: \d+ hits in ", results[()].err, re.M), results[()].err
    if when == "idle":
        return
    shortage, = (line for line in short if "lower bound" in line and "debug registers" in line)
    assert re.search(r"lower bound: \d+ methods .*--remap", shortage), results[()].err
    assert len([line for line in long if "took turns on the debug registers" in line]) >= len(OFTEN), results[("-v",)].err
