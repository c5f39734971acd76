# SPDX-License-Identifier: GPL-2.0-or-later
"""--remap on a server as people write them (tests/apps/web), with all of ASP.NET probed beside its own methods, at each
time of its life. The oracle is its own counts."""

import collections
import concurrent.futures
import contextlib
import http.client
import itertools
import random
import re
import threading
import time

import pytest

from helpers import apps, breakpoints, inject, machine, pairs

OWN = {
    "Around": "Web.Counting::Around",
    "Order": "Web.Shop::Order", "Total": "Web.Shop::Total", "List": "Web.Shop::List", "Next": "Web.Shop::Next",
    "Price": "Web.Shop::Price", "Slowly": "Web.Shop::Slowly", "Waited": "Web.Shop::Waited",
    "Reversed": "Web.Shop::Reversed", "Twice": "Web.Shop::Twice", "Caught": "Web.Shop::Caught",
    "Fails": "Web.Shop::Fails",
}
ALL_OF_IT = "Microsoft.AspNetCore.*::*"
CODE = "doublemapper"
# Since so much has not registers enough, what is done by itself as well.
OPTIONS = ["--remap", "--remap=auto"]
# What its work asks for, in turn.
PATHS = ["/order/7", "/order/8?paid=1", "/list", "/slow", "/text/abc", "/throw"]
CLIENTS = 2
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


def counted_of(result):
    """{kind: how many calls were counted, and whether that is in doubt}"""
    counted = {kind: (0, False) for kind in OWN}
    for record in result.records("count"):
        for kind, method in OWN.items():
            if record["method"].startswith(method) and record["method"][len(method):][:1] in "([":
                calls, doubtful = counted[kind]
                counted[kind] = (calls + record["calls"], doubtful or bool(record["lower_bound"]))
    return counted


def compare(result, made):
    """How many counts are exact. Those that are not are too low, which is told of each."""
    counted = counted_of(result)
    wrong = {kind: (calls, made[kind], doubtful) for kind, (calls, doubtful) in counted.items()
             if calls > made[kind] or (calls < made[kind] and not doubtful)}
    assert not wrong, f"{wrong}\n{result}"
    return sum(calls == made[kind] for kind, (calls, _) in counted.items())


def tiers_of(result):
    """Those in which there were calls."""
    return {body["tier"] for record in result.records("count") for body in record["bodies"] if body["calls"]}


def stopped(live):
    """What came of it; None: nothing could be probed, as no page was full and there are no breakpoints."""
    result = live.stop()
    return None if result.code == 4 and not breakpoints.fire() else result.expect(0)


def without_uprobes(result):
    """How many bodies have breakpoints, as far as there are, since they lie on pages that are not full, or have stubs."""
    found = re.search(r"(\d+) of \d+ bodies compiled at run time are on pages that the runtime may still write to", result.err)
    return int(found.group(1)) if found else 0


def count(place_probe, app, number, patterns, settled=None, option="--remap"):
    """Count while so many requests are made; how many of the twelve are exact: 0 if it is to have `settled`, and other
    tiers than the last had calls. How many bodies have no uprobe is added to `settled`."""
    before = app.counts()
    live = place_probe.count(option, app.pid, *patterns)
    app.work(number)
    made = {kind: now - before[kind] for kind, now in app.counts().items()}
    result = stopped(live)
    assert not inject.is_private(app.pid, CODE) and inject.anonymous(app.pid, CODE) == 0
    if result is None:
        return 0
    exact = compare(result, made)
    if settled is None:
        return exact
    settled.append(without_uprobes(result))
    return exact if tiers_of(result) == {"tier1"} else 0


@pytest.mark.parametrize("when", pairs.few(TIMES, "tiering", "warmed"))
def test_server(place_probe, start, when):
    """No count is wrong without a word, all that is asked of it is answered, and it ends as it should."""
    app = start()
    app.work(TIMES[when])
    for option in OPTIONS:
        assert count(place_probe, app, 600, [*OWN.values(), ALL_OF_IT], option=option) >= 3
    app.work(60)
    assert app.quit(4) == 4


def test_all_exact(place_probe, start):
    """Once nothing is compiled any more all twelve are exact, with others beside them those that have uprobes."""
    app, settled = start(), []

    def all_are():
        app.work(600)
        exact = count(place_probe, app, 600, OWN.values(), settled)
        return exact and exact >= len(OWN) - (0 if breakpoints.fire() else settled[-1])

    machine.wait_until(all_are, "all are exact", seconds=60)
    assert settled[-1] <= 4, "more than there are registers"
    for _ in range(3):
        assert count(place_probe, app, 600, [*OWN.values(), ALL_OF_IT]) >= len(OWN) - settled[-1]
    assert app.quit(4) == 4


@contextlib.contextmanager
def load(port):
    """Clients that ask for one path after the other meanwhile, and get each."""
    ended = threading.Event()

    def ask(client):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for path in itertools.islice(itertools.cycle(PATHS), client, None):
            if ended.is_set():
                return
            connection.request("GET", path)
            answer = connection.getresponse()
            assert answer.read() and answer.status == 200, (path, answer.status)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        clients = [pool.submit(ask, client) for client in range(CLIENTS)]
        try:
            yield
        finally:
            ended.set()
        for client in clients:
            client.result()


@pairs.only_full
@pytest.mark.parametrize("life", range(5))
def test_attached_at_any_moment(place_probe, start, tell, life):
    """Ten moments of a server's life under load, from its first request on. What was called between attaching and
    detaching is known but for what was called while that was done. A call for each client may have begun before it was
    probed, and been counted by the app afterwards."""
    app, moments, sure = start(), random.Random(life), 0
    with load(int(app.ask("port", "port")[1])):
        for _ in range(10):
            time.sleep(moments.uniform(0, 0.7))
            before = app.counts()
            live = place_probe.count(moments.choice(OPTIONS), app.pid, *OWN.values(), ALL_OF_IT, timeout=60)
            attached = app.counts()
            time.sleep(moments.uniform(0.1, 0.7))
            until = app.counts()
            result = stopped(live)
            after = app.counts()
            assert not inject.is_private(app.pid, CODE) and inject.anonymous(app.pid, CODE) == 0
            for kind, (calls, doubtful) in counted_of(result).items() if result else ():
                least, most = until[kind] - attached[kind] - CLIENTS, after[kind] - before[kind]
                assert calls <= most and (doubtful or calls >= least), f"{kind}: {least} to {most}\n{result}"
                sure += least > 0 and not doubtful
    tell(f"life {life} of the server: {sure} of {10 * len(OWN)} counts beyond doubt")
    assert app.quit(4) == 4


def ended(result):
    """Calls whose end was seen. Of bodies that have breakpoints only the beginning may be."""
    return [call for call in result.records("call") if call["end"] in ("returned", "unwound")]


def watched(result):
    """How often each was called with what, and how that ended."""
    def value(of):
        return of["value"] if "value" in of else of["type"]

    calls = collections.Counter()
    for call in ended(result):
        given = tuple(value(argument) for argument in call["arguments"] if argument["name"] != "this")
        end = call["exception"]["message"] if call["exception"] else value(call["result"])
        calls[call["method"].partition("(")[0].rpartition("::")[2], given, end] += 1
    return calls


def expected(rounds):
    """Of so many times all paths, once each."""
    calls = collections.Counter()
    for call in [("Order", (7,), "order 7: 115"), ("Order", (8,), "order 8: 125"), ("Waited", ("slow",), "SLOW"),
                 ("Reversed", ("abc",), "cba"), ("Twice", ("abc",), "abcabc"), ("Caught", (), "as asked, 1"),
                 ("Fails", (1,), "as asked, 1"),
                 *(("Next", (number,), number * 17 % 13) for number in range(12)),
                 *(("Price", (number * 17 % 13,), number * 17 % 13 * 3) for number in range(12))]:
        calls[call] += rounds
    return calls


def test_watched(place_probe, start):
    """What is passed, comes back and is thrown, at the newest tier, under load. None is wrong; in the end all are there."""
    app, rounds = start(), 50
    names = {name for name, *_ in expected(1)}

    def all_are_told():
        app.work(600)
        live = place_probe.live("--watch", "-j", "--remap", app.pid, *(OWN[name] for name in names))
        app.work(rounds * len(PATHS))
        result = stopped(live)
        if result is None:
            return False
        calls = watched(result)
        assert not calls - expected(rounds), f"{calls - expected(rounds)}\n{result}"
        missing = expected(rounds) - calls
        unknown = len(result.records("call")) - len(ended(result))
        assert not missing or unknown or result.summary()["lower_bound"] or result.summary()["lost"], f"{missing}\n{result}"
        if {call["tier"] for call in result.records("call")} != {"tier1"}:
            return False
        # The end is not seen of what has a breakpoint, and where those do not work nothing is.
        return len({name for name, *_ in missing}) <= without_uprobes(result)

    machine.wait_until(all_are_told, "all are told", seconds=60)
    assert not inject.is_private(app.pid, CODE) and inject.anonymous(app.pid, CODE) == 0
    assert app.quit(4) == 4
