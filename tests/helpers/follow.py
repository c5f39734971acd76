# SPDX-License-Identifier: GPL-2.0-or-later
"""Following methods through their bodies: what the target counted, held against what place-probe did.

The rules are the same everywhere: a count is never above the truth; where it may be below, the
method says why; where nothing is said, it is the truth.
"""

import re

from . import apps, machine

# A variant of each version, without and with precompiled code of its own.
EACH_VERSION = ["fd10", "r2r10", "il9", "sc9", "il8", "sc8"]
IL_ONLY = ["fd10", "il9", "il8"]
# As many methods at once as are counted exactly while they tier, and once they are final.
EXACT_MOVING, EXACT_FINAL = 3, 4

KINDS = {**apps.METHODS, **apps.MOVING, **apps.FINALS, "small": apps.SMALL,
         "tally": "Plugin.Tally::One(int32)", "tally-generic": "Plugin.Tally::Any"}
# Of these there is nothing to be matched before their first call.
MADE_LATER = {"dynamic", "dynamic-fresh", "expression", "generic-ref", "generic-int",
              "generic-point", "box-ref", "box-int", "shelf-ref", "shelf-int", "shelf-point"}
# Calls of a kind stay in the tier in which they have arrived.
LAST_TIERS = {"tier1", "optimized"}
# The first tier of the app's own methods.
FIRST_TIER = dict.fromkeys(apps.RUNTIMES, "r2r") | dict.fromkeys(IL_ONLY, "tier0")

HELD = re.compile(r"held for (\d+) us")
LONGEST_HOLD = re.compile(r"^place-probe: longest hold (\d+) us", re.M)
# "METHOD: 12 r2r, 58 tier1" of the end's talk.
CALLS_BY_TIER = re.compile(r"^place-probe: (\S+): (\d+ [a-z0-9]+(?:, \d+ [a-z0-9]+)*)$", re.M)


def in_threes(kinds):
    kinds = list(kinds)
    return [kinds[at:at + EXACT_MOVING] for at in range(0, len(kinds), EXACT_MOVING)]


# Each kind once. A dynamic method that is another one each time is a case of its own, and the two
# kinds that call the same method are apart.
GROUPS = in_threes([*apps.METHODS, *(kind for kind in apps.MOVING if kind != "dynamic-fresh")])
assert not any({"virtual", "delegate-virtual"} <= set(group) for group in GROUPS)


def is_of(method, kind):
    """Whether a method's name is that of a kind."""
    pattern = re.escape(KINDS[kind]).replace(r"\*", ".*")
    return re.match(pattern, method) is not None


def records_of(result, kind):
    return [record for record in result.records("count") if is_of(record["method"], kind)]


def calls_of(result, kind):
    return sum(record["calls"] for record in records_of(result, kind))


def reasons_of(result, kind):
    return {reason for record in records_of(result, kind) for reason in record["lower_bound"]}


def tiers_of(result, kind):
    """{tier: calls} of a kind; tiers without calls are left out."""
    tiers = {}
    for record in records_of(result, kind):
        for body in record["bodies"]:
            if body["calls"]:
                tiers[body["tier"]] = tiers.get(body["tier"], 0) + body["calls"]
    return tiers


def check_consistent(result, made):
    """The run agrees with itself, and with the exit code of --strict."""
    counts = result.records("count")
    summary = result.summary()
    for record in counts:
        assert record["calls"] == sum(body["calls"] for body in record["bodies"]), str(result)
        assert not any(body["tier"] == "osr" and body["calls"] for body in record["bodies"]), \
            f"OSR bodies are entered by no call: {result}"
    assert summary["hits"] == sum(record["calls"] for record in counts), str(result)
    assert set(summary["lower_bound"]) == {reason for record in counts
                                           for reason in record["lower_bound"]}, str(result)
    assert all(record["watched"] == 1 or "no-debug-register" in record["lower_bound"]
               for record in counts if record["lower_bound"] is not None), str(result)
    assert result.code == (5 if summary["lower_bound"] or summary["lost"] else 0), str(result)
    for kind in made:
        assert not made[kind] or records_of(result, kind), f"no record of {kind}: {result}"


def check_exact(result, made):
    """Every call of each kind was counted, and nothing is said to be in doubt."""
    check_consistent(result, made)
    assert {kind: calls_of(result, kind) for kind in made} == made, f"{made} were made: {result}"
    assert (result.summary()["lost"], result.summary()["lower_bound"]) == ({}, []), str(result)
    assert result.code == 0, str(result)


def check_bounded(result, made):
    """No count is above the truth, and each that is below says why. Returns those that are below."""
    check_consistent(result, made)
    counts = {kind: calls_of(result, kind) for kind in made}
    assert all(counts[kind] <= made[kind] for kind in made), f"{made} were made: {result}"
    below = {kind for kind in made if counts[kind] < made[kind]}
    silent = {kind for kind in below if not reasons_of(result, kind)}
    assert not silent, f"{silent} should be in doubt, of {made}: {result}"
    return below


def longest_hold(result):
    """In microseconds, as -v says; None if it says nothing."""
    said = LONGEST_HOLD.search(result.err)
    return int(said[1]) if said else None


def calls_by_tier(result):
    """{method: {tier: calls}} as the end's talk has it."""
    return {method: {tier: int(calls) for calls, tier in
                     (part.split() for part in parts.split(", "))}
            for method, parts in CALLS_BY_TIER.findall(result.err)}


def options_for(kinds):
    return ["--wait"] if MADE_LATER & set(kinds) else []


class Followed:
    """place-probe following methods of a target; the target must be idle when this begins."""

    def __init__(self, place_probe, app, kinds, *options, timeout=30):
        self.app = app
        self.kinds = list(kinds)
        self.before = {kind: app.count(kind) for kind in kinds}
        self.live = place_probe.count("--strict", *options_for(kinds), *options, app.pid,
                                      *(KINDS[kind] for kind in kinds), timeout=timeout)

    def made(self):
        """Calls since the beginning, of an idle target."""
        return {kind: self.app.count(kind) - self.before[kind] for kind in self.kinds}

    def end(self):
        made = self.made()
        return self.live.stop(), made

    def end_exact(self):
        result, made = self.end()
        check_exact(result, made)
        return result


def final_bodies(place_probe, app, kinds):
    """Those of the kinds whose calls have arrived in the last tier."""
    listed = place_probe.run("-l", "-j", app.pid, *(KINDS[kind] for kind in kinds))
    if listed.code == 3:
        return set()
    sites = [site["method"] for site in listed.expect(0).records("site")
             if site["state"] == "current" and site["tier"] in LAST_TIERS]
    return {kind for kind in kinds if any(is_of(method, kind) for method in sites)}


def wait_until_final(place_probe, app, kinds):
    """Wait until the last tier of all kinds is in use, while others make the calls."""
    machine.wait_until(lambda: final_bodies(place_probe, app, kinds) == set(kinds),
                       f"{kinds} reach their last tier", seconds=30)


def tier_at_once(place_probe, app, kinds, threads):
    """All kinds up to their last tier, each on threads of its own."""
    for kind in kinds:
        app.run(kind, threads)
    wait_until_final(place_probe, app, kinds)
    assert app.halt() == threads * len(kinds)


def settle(place_probe, app, kinds, act=None):
    """Make calls (or act) until all kinds have arrived in their last tier."""
    def has_settled():
        if act:
            act()
        else:
            for kind in kinds:
                app.calls(kind, 50, threads=1)
        return final_bodies(place_probe, app, kinds) == set(kinds)

    machine.wait_until(has_settled, f"{kinds} reach their last tier", seconds=30)
