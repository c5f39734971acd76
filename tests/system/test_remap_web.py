# SPDX-License-Identifier: GPL-2.0-or-later
"""--remap on a server as people write them (tests/apps/web), with all of ASP.NET probed beside its own methods, at each
time of its life. The oracle is its own counts."""

import pytest

from helpers import apps, inject, machine, pairs

OWN = {
    "Around": "Web.Counting::Around",
    "Order": "Web.Shop::Order", "Total": "Web.Shop::Total", "List": "Web.Shop::List", "Next": "Web.Shop::Next",
    "Price": "Web.Shop::Price", "Slowly": "Web.Shop::Slowly", "Waited": "Web.Shop::Waited",
    "Reversed": "Web.Shop::Reversed", "Twice": "Web.Shop::Twice", "Caught": "Web.Shop::Caught",
    "Fails": "Web.Shop::Fails",
}
ALL_OF_IT = "Microsoft.AspNetCore.*::*"
CODE = "doublemapper"
# How much work it has had when probes come: not even one request, first tiers, many requests; and whether it goes on.
TIMES = {"start": 0, "tiering": 60, "warmed": 3000}

pytestmark = [pytest.mark.stepped,
              pytest.mark.skipif(not machine.is_root(), reason="only root can make code private")]


class Web(apps.App):
    def work(self, number):
        self.ask(f"work {number}", "done")

    def counts(self):
        return {word.split("=")[0]: int(word.split("=")[1]) for word in self.ask("counts", "counts")[1:]}


@pytest.fixture
def start(build_app):
    started = []

    def start():
        app = Web([build_app("web10")], apps.environment(tiered=True), timeout=120)
        started.append(app)
        return app

    yield start
    for app in started:
        app.close()


def compare(result, made):
    """How many counts are exact. Those that are not are too low, which is told of each."""
    counted = {kind: (0, False) for kind in OWN}
    for record in result.records("count"):
        for kind, method in OWN.items():
            if record["method"].startswith(method) and record["method"][len(method):][:1] in "([":
                calls, doubtful = counted[kind]
                counted[kind] = (calls + record["calls"], doubtful or bool(record["lower_bound"]))
    wrong = {kind: (calls, made[kind], doubtful) for kind, (calls, doubtful) in counted.items()
             if calls > made[kind] or (calls < made[kind] and not doubtful)}
    assert not wrong, f"{wrong}\n{result}"
    return sum(calls == made[kind] for kind, (calls, _) in counted.items())


def tiers_of(result):
    """Those in which there were calls."""
    return {body["tier"] for record in result.records("count") for body in record["bodies"] if body["calls"]}


def count(place_probe, app, number, patterns, only=None):
    """Count while so many requests are made; how many of the twelve are exact: 0 if `only` one tier is to have calls,
    and others had."""
    before = app.counts()
    live = place_probe.count("--remap", app.pid, *patterns)
    app.work(number)
    made = {kind: now - before[kind] for kind, now in app.counts().items()}
    result = live.stop().expect(0)
    exact = compare(result, made)
    assert not inject.is_private(app.pid, CODE) and inject.anonymous(app.pid, CODE) == 0
    return 0 if only and tiers_of(result) != {only} else exact


@pytest.mark.parametrize("when", pairs.few(TIMES, "tiering", "warmed"))
def test_server(place_probe, start, when):
    """No count is wrong without a word, all that is asked of it is answered, and it ends as it should."""
    app = start()
    app.work(TIMES[when])
    for _ in range(2):
        assert count(place_probe, app, 600, [*OWN.values(), ALL_OF_IT]) >= 3
    app.work(60)
    assert app.quit(4) == 4


def test_all_exact(place_probe, start):
    """Once nothing is compiled any more, and pages are full, all twelve are exact."""
    app = start()

    def all_are():
        app.work(600)
        return count(place_probe, app, 600, OWN.values(), only="tier1") == len(OWN)

    machine.wait_until(all_are, "all are exact", seconds=60)
    for _ in range(3):
        assert count(place_probe, app, 600, [*OWN.values(), ALL_OF_IT]) == len(OWN)
    assert app.quit(4) == 4
