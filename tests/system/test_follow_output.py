# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of methods that are followed: by -v, of each hit, at intervals, at the end."""

import pytest

from helpers import apps, follow, machine
from helpers.follow import Followed, settle, tiers_of

pytestmark = pytest.mark.breakpoints

CALLS = 100_000
# Of a thousand methods each: reports of more than half of them do not fit into the ring buffer.
ASSEMBLIES = 30
BODIES = 8192  # can be followed


@pytest.mark.parametrize("variant", ["fd10", "r2r10", "sc8"])
def test_narration(place_probe, start, variant):
    """-v tells the life of each body, and the end how many calls went to which."""
    app = start(variant)
    followed = Followed(place_probe, app, ["static"], "-v")
    app.calls("static", CALLS // 10, threads=2)
    settle(place_probe, app, ["static"])
    app.calls("static", CALLS // 10, threads=2)
    result = followed.end_exact()
    method = follow.records_of(result, "static")[0]["method"]
    assert method == apps.METHODS["static"]
    begin = f"place-probe: {method} ["
    lives = [line for line in result.err.splitlines() if line.startswith(begin)]
    compiled = {line.removeprefix(begin).partition("]")[0]
                for line in lines_with(lives, "compiled", "held for", "armed", "at 0x")}
    first = {follow.FIRST_TIER[variant]} - {"r2r"}
    assert compiled == first | {"instrumented", "tier1"}, str(result)
    held = [int(number) for number in follow.HELD.findall(result.err)]
    # The kernel's clock says it; and a thread may also be held for what is not a method of ours.
    assert len(held) == len(compiled) and max(held) <= follow.longest_hold(result), str(result)
    assert follow.calls_by_tier(result) == {method: tiers_of(result, "static")}, str(result)


def test_folded(place_probe, start):
    """Equal stacks are counted in the kernel, through the tiers."""
    app = start("fd10")
    live = place_probe.live("-f", "--strict", app.pid, apps.METHODS["static"])
    for _ in range(4):
        app.calls("static", 2000, threads=2)
    assert sum(int(line.rpartition(" ")[2]) for line in live.stop().expect(0).out.splitlines()) == 4 * 2000


def lines_with(lines, *words):
    return [line for line in lines if all(word in line for word in words)]


def test_what_is_not_meant_is_not_held(place_probe, start, plugin):
    """A thousand methods that nobody asked for are compiled meanwhile."""
    app = start("fd10")
    followed = Followed(place_probe, app, ["static"], "-v")
    app.calls("static", 1000, threads=2)
    app.plugin("file", plugin, "mass", 250)
    app.calls("static", 1000, threads=2)
    settle(place_probe, app, ["static"])
    result = followed.end_exact()
    bodies = [line for line in result.err.splitlines() if follow.HELD.search(line) and "::" in line]
    assert len(bodies) == 3 and all(apps.METHODS["static"] in line for line in bodies), str(result)


def test_reports_without_room(place_probe, start, plugin):
    """While nobody takes them more come than there is room for: how many were lost is told, and that of a method
    that is asked for may have been among them."""
    app = start("fd10")
    followed = Followed(place_probe, app, ["static"], "--no-hold")
    followed.live.suspend()
    for number in range(ASSEMBLIES):
        app.plugin("bytes", f"{plugin.parent}/{'./' * number}{plugin.name}", "mass", 250)
    app.calls("static", 10)
    followed.live.resume()
    result, made = followed.end()
    lost = result.summary()["lost"]
    assert set(lost) == {"compile-event-lost"} and 1000 < lost["compile-event-lost"] < 2 * 1000 * ASSEMBLIES, str(result)
    assert follow.check_bounded(result, made) == {"static"}
    assert "compile-event-lost" in follow.reasons_of(result, "static"), str(result)


def test_more_bodies_than_can_be_followed(place_probe, start, plugin):
    """What comes up after those is not probed, which is told: any count may lack it."""
    app = start("fd10")
    live = place_probe.count("--strict", "--wait", app.pid, "plugin!*::*", follow.KINDS["static"])
    app.plugin("file", plugin, "mass", BODIES // 4)
    app.calls("static", 10)
    result = live.stop().expect(5)
    assert f"there are more bodies than can be followed in one run ({BODIES})" in result.err
    counts = result.records("count")
    assert sum(len(record["bodies"]) for record in counts) >= BODIES
    assert follow.calls_of(result, "static") == 0, follow.records_of(result, "static")
    assert all("compile-event-lost" in record["lower_bound"] for record in counts)


@pytest.mark.parametrize("variant", ["fd10", "r2r10", "sc8"])
def test_hits(place_probe, start, variant):
    """Each call by itself, with the tier that it went to."""
    app = start(variant)
    before = app.count("static")
    live = place_probe.live("-j", "--strict", "--no-stack", app.pid,
                            follow.KINDS["static"])
    app.calls("static", 3000, threads=3)
    settle(place_probe, app, ["static"])
    app.calls("static", 3000, threads=3)
    made = app.count("static") - before
    result = live.stop()
    assert result.code == 0, f"exit code {result.code}: {result.err}"
    hits = result.records("hit")
    assert len(hits) == made
    assert {hit["tier"] for hit in hits} == {follow.FIRST_TIER[variant], "instrumented", "tier1"}
    assert {hit["method"] for hit in hits} == {apps.METHODS["static"]}
    assert hits[0]["tier"] == follow.FIRST_TIER[variant] and hits[-1]["tier"] == "tier1"


@pytest.mark.parametrize("variant", ["fd10", "r2r10"])
def test_intervals(place_probe, start, variant):
    """What the intervals' counts add up to is what was called."""
    app = start(variant)
    before = app.count("static")
    live = place_probe.live("-c", "-j", "-i", "0.2", app.pid, follow.KINDS["static"])
    app.calls("static", CALLS // 4, threads=4)
    settle(place_probe, app, ["static"])
    live.wait_out(lambda text: '"count"' in text, "the first interval")
    app.calls("static", CALLS // 4, threads=4)
    made = app.count("static") - before
    result = live.stop().expect(0)
    assert result.calls() == made == result.summary()["hits"], str(result)
    assert len(follow.records_of(result, "static")) >= 2, str(result)


@pytest.mark.parametrize("variant", ["fd10", "r2r10", "il8"])
def test_inlined_by_its_callers(place_probe, start, variant):
    """Listed, called all the time, and never entered: that needs an explanation."""
    app = start(variant)
    caller = "Counted.Moving::CallSmall(int32)"

    def is_warm():
        app.calls("small", 100)
        sites = place_probe.run("-l", "-j", app.pid, caller).expect(0).records("site")
        return ("tier1", "current") in {(site["tier"], site["state"]) for site in sites}

    machine.wait_until(is_warm, f"{caller} reaches its last tier", seconds=30)
    live = place_probe.count(app.pid, apps.SMALL)
    app.calls("small", CALLS, threads=4)
    result = live.stop()
    assert result.calls() == 0, str(result)
    hints = [line for line in result.err.splitlines() if apps.SMALL in line and "inlined" in line]
    assert hints, str(result)
