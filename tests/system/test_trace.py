# SPDX-License-Identifier: GPL-2.0-or-later
"""--trace: every tree is that which the target has noted itself."""

import json
import re
import time

import pytest

from helpers import machine, trees

pytestmark = pytest.mark.beside

ROOT, CALLS = "tree!tree_root", "--calls=tree!tree_*"
SHOP, STEPS = "Traced.Shop::Checkout", "--calls=Traced.Steps::*"
VARIANTS = ["traced11", "traced10", "traced9", "traced8"]
BUFFER = "--buffer=64M"


class Tree:
    """The native target, and the trees that it has written down since the last time."""

    def __init__(self, app, record):
        self.app, self.record, self.pid, self.read_to = app, record, app.pid, 0

    def run(self, kind, times=1, threads=1):
        self.app.ask(f"run {kind} {times} {threads}", "done")
        lines = self.record.read_text().splitlines()[self.read_to:]
        self.read_to += len(lines)
        assert len(lines) == times * threads
        return [json.loads(line) for line in lines]


@pytest.fixture
def tree(start_app, tree_program, short_tmp):
    record = short_tmp / "record"
    return Tree(start_app("tree", executable=tree_program, after=[record]), record)


@pytest.fixture
def shop(place_probe, start_app, tmp_path):
    """shop(VARIANT, OPTION...): a target whose methods are precompiled, and a --trace of it."""
    def start(variant, *options):
        app = start_app(variant)
        live = place_probe.live("--trace", *options, BUFFER, app.pid, SHOP, STEPS)

        def run(kinds, times, threads):
            app.ask(f"run {kinds} {times} {threads}", "done")
            app.ask(f"note {tmp_path / 'trees'}", "noted")
            return [json.loads(line) for line in (tmp_path / "trees").read_text().splitlines()]

        return live, run

    return start


def traces_of(result):
    summary = result.expect(0).summary()
    traces = result.records("trace")
    assert summary["hits"] == len(traces)
    return traces


def test_trees_of_native_functions(place_probe, tree, tell):
    live = place_probe.live("--trace", "-j", BUFFER, tree.pid, ROOT, CALLS)
    noted = []
    for kind in ("loop", "dive10", "jump", "throw", "inner", "none", "dive200"):
        noted += tree.run(kind, 20, 8)
    traces = traces_of(live.stop())
    trees.check_same(traces, noted)
    tell(f"{len(traces)} trees of {sum(map(trees.total, noted))} calls equal")


def test_only_what_is_asked_for(place_probe, tree):
    """What lies between is not in the tree, and what is below that is."""
    live = place_probe.live("--trace", "-j", tree.pid, ROOT, "--calls=tree!tree_leaf", "--calls", "tree!tree_loop")
    tree.run("loop", 1)
    trace, = traces_of(live.stop())
    assert trees.plain(trace["root"])["children"] == [
        {"method": "tree_loop", "calls": 1, "unwound": 0, "children": [
            {"method": "tree_leaf", "calls": 15, "unwound": 0, "children": []}]}]


def test_min_is_of_the_root(place_probe, tree):
    live = place_probe.live("--trace", "-j", "--min=15ms", tree.pid, ROOT, CALLS)
    tree.run("loop", 20, 2)
    noted = tree.run("spin20", 3, 2)
    tree.run("loop", 20, 2)
    traces = traces_of(live.stop())
    assert all(trace["duration_ns"] >= 15_000_000 for trace in traces)
    spun = [trace for trace in traces if "tree_spin" in trees.by_method(trace["root"])]
    trees.check_same(spun, noted)
    for trace in spun:
        spin = trace["root"]["children"][-1]
        assert spin["self_ns"] == spin["took_ns"] >= 19_900_000


@pytest.mark.parametrize("options", [[], ["--min=10ms"]])
def test_exactly_so_many(place_probe, tree, options):
    live = place_probe.live("--trace", "-j", "-N5", *options, tree.pid, ROOT, CALLS)
    tree.run("spin10", 4, 4)
    assert len(traces_of(live.finish())) == 5


def test_missing_calls_are_told(place_probe, tree):
    """Nobody reads the ring buffer for a while, and it is small."""
    live = place_probe.live("--trace", "-j", "--buffer=64K", tree.pid, ROOT, CALLS)
    live.suspend()
    noted = tree.run("loop", 100, 4)
    resumed = time.monotonic_ns()
    live.resume()

    def whole_again(records):
        return any(record["type"] == "trace" and record["time_ns"] > resumed and record["missing"] == 0
                   for record in records)

    # Until the reader has been through the buffer, calls are missing of those that follow, too.
    machine.wait_until(lambda: tree.run("loop") and whole_again(live.records_so_far()), "a tree is whole again")
    result = live.stop()
    traces = traces_of(result)
    assert result.summary()["lost"]["ring-buffer-full"] > 0 and "full" in result.err
    expected = trees.plain(noted[0])
    assert traces and sum(trace["time_ns"] < resumed for trace in traces) < len(noted)
    for trace in traces:
        assert trees.total(trace["root"]) + trace["missing"] == trees.total(expected)
        if trace["missing"] == 0:
            assert trees.plain(trace["root"]) == expected
    assert whole_again(traces)


def test_of_a_command(place_probe, tree_program, short_tmp):
    record = short_tmp / "record"
    result = place_probe.run("--trace", "-j", BUFFER, ROOT, CALLS, "--", tree_program, record, "jump", "5", "3")
    trees.check_same(traces_of(result), [json.loads(line) for line in record.read_text().splitlines()])


def test_text(place_probe, tree):
    live = place_probe.live("--trace", tree.pid, ROOT, CALLS)
    tree.run("jump")
    text = live.stop().expect(0).out
    took = r"[\d.]+ (?:us|ms|s)"
    assert re.fullmatch(
        rf" *[\d.]+  tree +{tree.pid}/\d+  tree_root took {took}, self {took}\n"
        rf" +{took}  tree_jump, self {took}\n"
        rf" +{took}    tree_leaves, self {took}, left by an exception or a jump\n"
        rf" +{took}      tree_leaf\n"
        rf" +{took}      tree_leaves, self {took}, left by an exception or a jump\n"
        rf" +{took}        tree_leaf\n"
        rf" +{took}        tree_leaves, self {took}, left by an exception or a jump\n"
        rf" +{took}          tree_leaf\n"
        rf" +{took}          tree_leaves, left by an exception or a jump\n"
        rf" +{took}    tree_leaf\n"
        rf" +{took}  tree_leaf\n\n", text), text


def test_what_is_missing_in_text(place_probe, tree):
    live = place_probe.live("--trace", tree.pid, ROOT, CALLS)
    tree.run("dive200")
    assert "[73 calls are missing: too deep" in live.stop().expect(0).out


def test_no_root(place_probe, tree):
    result = place_probe.run("--trace", tree.pid, "tree!tree_rot", CALLS)
    result.expect(3)
    assert "no method to --trace" in result.err and "tree_rot" in result.err


def test_list(place_probe, tree):
    sites = place_probe.run("--list", "--trace", "-j", tree.pid, ROOT, CALLS).expect(0).records("site")
    assert {"tree_root", "tree_leaf", "tree_loop"} <= {site["method"] for site in sites}
    assert all(site["mechanism"] == "uprobe" for site in sites)


@pytest.mark.parametrize("variant", VARIANTS)
def test_trees_of_methods(shop, variant, tell):
    live, run = shop(variant, "-j")
    noted = run("012345678", 10, 8)
    traces = traces_of(live.stop())
    trees.check_same(traces, noted)
    tell(f"{variant}: {len(traces)} trees of {sum(map(trees.total, noted))} calls equal")


@pytest.mark.parametrize("variant", VARIANTS)
def test_calls_of_a_handler(shop, variant):
    """Their place is below what threw, and there are as many."""
    live, run = shop(variant, "-j")
    noted = run("9", 5, 2)
    traces = traces_of(live.stop())
    assert len(traces) == len(noted)
    for trace, tree_ in zip(traces, noted):
        assert trees.by_method(trace["root"]) == trees.by_method(tree_)
        trees.check_sums(trace["root"])


def test_slow_calls_of_methods(shop):
    live, run = shop("traced10", "-j", "--min=10ms")
    noted = run("0467", 5, 2)
    traces = [trace for trace in traces_of(live.stop()) if "Spin" in trees.by_method(trace["root"])]
    trees.check_same(traces, [tree_ for tree_ in noted if "Spin" in trees.by_method(tree_)])


@pytest.mark.kernel
def test_compiled_at_run_time(place_probe, start_app, tmp_path):
    """By uprobes, as other code lies behind: that of the framework, which is not precompiled here."""
    app = start_app("traced10-jit", tiered=False, extra={"DOTNET_ReadyToRun": "0"})
    live = place_probe.live("--trace", "-j", "--remap", BUFFER, app.pid, SHOP, STEPS)
    app.ask("run 01234678 5 2", "done")
    app.ask(f"note {tmp_path / 'trees'}", "noted")
    trees.check_same(traces_of(live.stop()), [json.loads(line) for line in (tmp_path / "trees").read_text().splitlines()])
