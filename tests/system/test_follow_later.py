# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that is not there yet when place-probe comes: assemblies that are loaded later, methods that
have no name before they are made, whole programs. All of its calls are counted as well."""

import itertools
import pathlib
import re
import signal

import pytest

from helpers import apps, follow, machine, pairs, probe
from helpers.follow import EACH_VERSION, Followed, check_consistent, check_exact, settle

pytestmark = pytest.mark.breakpoints

CALLS = 100_000


@pytest.fixture
def plugin_of(build_app):
    """plugin_of(VARIANT, CODE): an assembly that the variant can load, of `il` or of `r2r` code."""
    def choose(variant, code):
        return build_app("plugin" if code == "il" else f"plugin-r2r{apps.RUNTIMES[variant]}")

    return choose


# Assemblies, types and methods -------------------------------------------------------------------

def use_tally(place_probe, app, how, plugin, kind, what):
    """All tiers of a method of a plugin; returns how many calls it has counted."""
    made = [app.plugin(how, plugin, what, CALLS // 2)]
    settle(place_probe, app, [kind],
           act=lambda: made.append(app.plugin(how, plugin, what, 50)))
    made.append(app.plugin(how, plugin, what, CALLS // 10))
    return sum(made)


CODE = [("fd10", "il"), ("fd10", "r2r"), ("sc9", "il"), ("sc9", "r2r"), ("sc8", "il"), ("sc8", "r2r"),
        ("sf10", "il")]


@pairs.choose("variant, code, how", [(*code, how) for code in CODE for how in ("file", "bytes", "collectible")],
              lambda variant, code, _: (pairs.version_of(variant), code),
              lambda variant, _, how: (pairs.version_of(variant), how),
              lambda _, code, how: (code, how))
def test_assembly_loaded_later(place_probe, start, plugin_of, variant, code, how):
    app = start(variant)
    live = place_probe.count("--strict", "--wait", app.pid, follow.KINDS["tally"])
    made = use_tally(place_probe, app, how, plugin_of(variant, code), "tally", "tally-threads")
    check_exact(live.stop(), {"tally": made})


@pytest.mark.parametrize("variant", ["fd10", "sc8"])
def test_generics_of_an_assembly_loaded_later(place_probe, start, plugin_of, variant):
    """One method for all reference types, and one for each value type."""
    app = start(variant)
    live = place_probe.count("--strict", "--wait", app.pid, follow.KINDS["tally-generic"])
    made = use_tally(place_probe, app, "file", plugin_of(variant, "il"), "tally-generic",
                     "tally-generic")
    result = live.stop()
    check_exact(result, {"tally-generic": made})
    counts = {record["method"].partition("(")[0]: record["calls"]
              for record in result.records("count")}
    assert counts == {f"Plugin.Tally::Any[{argument}]": made // 2
                      for argument in ("System.__Canon", "Plugin.Point")}


@pytest.mark.parametrize("variant", ["fd10", "sc9", "sc8"])
def test_unloaded_and_loaded_again(place_probe, start, plugin_of, variant):
    """The same assembly again: another method in other memory, or in the same."""
    app = start(variant)
    plugin = plugin_of(variant, "il")
    live = place_probe.count("--strict", "--wait", app.pid, follow.KINDS["tally"])
    made = 0
    for number in (20000, 30000, 1, 10000):
        made += app.plugin("collectible", plugin, "tally-threads", number)
        assert app.unload() == 0
    assert made == 60001
    check_exact(live.stop(), {"tally": made})


@pytest.mark.parametrize("variant", ["fd10", "r2r10", "sc8"])
def test_beside_a_pattern_that_matches(place_probe, start, plugin_of, variant):
    """What matches nothing yet is warned about, and stays armed all the same."""
    app = start(variant)
    live = place_probe.count("--strict", app.pid, follow.KINDS["static"], follow.KINDS["tally"])
    before = app.count("static")
    app.calls("static", CALLS // 10, threads=4)
    made = use_tally(place_probe, app, "file", plugin_of(variant, "il"), "tally", "tally-threads")
    static = app.count("static") - before
    result = live.stop()
    check_exact(result, {"static": static, "tally": made})
    warned = result.err.partition("attached")[0]
    assert re.search(r"match.*Plugin\.Tally::One|Plugin\.Tally::One.*match", warned), str(result)


@pytest.mark.breakpoints(needed=False)
def test_nothing_yet_and_no_wait(place_probe, start):
    """Alone, such a pattern is most likely a slip of the pen."""
    app = start("fd10")
    result = place_probe.run("-c", app.pid, follow.KINDS["tally"])
    assert result.code == 3 and result.out == "", str(result)


@pytest.mark.breakpoints(needed=False)
def test_waiting_in_vain(place_probe, start):
    app = start("fd10")
    live = place_probe.count("--strict", "--wait", app.pid, follow.KINDS["tally"])
    assert live.sites == 0
    app.calls("static", 100, threads=2)
    result = live.stop().expect(0)
    assert result.calls() == 0 and result.summary()["lower_bound"] == [], str(result)


@pytest.mark.parametrize("variant", EACH_VERSION)
def test_dynamic_methods_by_name(place_probe, start, variant):
    """Three of the same name, one after the other; another name is not meant."""
    app = start(variant)
    followed = Followed(place_probe, app, ["dynamic-fresh"])
    app.calls("dynamic", 1000, threads=2)
    for number in (CALLS // 2, 1, CALLS // 10):
        app.calls("dynamic-fresh", number, threads=1)
    result = followed.end_exact()
    assert follow.calls_of(result, "dynamic") == 0, str(result)


@pytest.mark.parametrize("variant", EACH_VERSION)
def test_instantiations_by_one_name(place_probe, start, variant):
    """A name without arguments means all of them, also those that come later; each is counted
    for itself."""
    app = start(variant)
    kinds = ["generic-ref", "generic-int", "generic-point"]
    before = {kind: app.count(kind) for kind in kinds}
    live = place_probe.count("--strict", app.pid, "Counted.Generics::Same")
    follow.tier_at_once(place_probe, app, kinds, threads=2)
    made = {kind: app.count(kind) - before[kind] for kind in kinds}
    check_exact(live.stop(), made)


# Of kinds whose methods the compiler has made: the method in the source, and what finds them.
SOURCE = {
    "async": ("Counted.Moving::Steps",), "iterator": ("Counted.Moving::Turns",),
    "lambda": ("Counted.Moving::CallLambda", "--nested"), "local": ("Counted.Moving::CallLocal", "--nested"),
}


@pairs.choose("variant, kind", itertools.product(["fd10", "r2r10", "sc8"], SOURCE))
def test_named_as_their_author_did(place_probe, start, variant, kind):
    """The name in the source finds what the compiler has made of it, and the method itself."""
    user, *options = SOURCE[kind]
    app = start(variant)
    before = app.count(kind)
    live = place_probe.count("--strict", *options, app.pid, user)
    # The method itself is called once for each of these.
    for _ in range(20):
        app.calls(kind, CALLS // 100, threads=1)
    made = app.count(kind) - before
    result = live.stop()
    follow.check_consistent(result, {kind: made})
    assert follow.calls_of(result, kind) == made, str(result)
    assert result.calls(f"{user}(") == 20, str(result)
    assert result.summary()["lower_bound"] == [], str(result)


# While the probes are removed -----------------------------------------------------------------

INT3 = b"\xcc"


@pytest.mark.parametrize("variant, code", [("fd10", "r2r"), ("sc9", "il"), ("sc8", "r2r")])
def test_after_the_end(place_probe, start, plugin_of, by_perf, variant, code):
    """What comes up when calls are not counted any more is held against no count."""
    app = start(variant)
    # One probe after the other is removed in some tens of milliseconds each.
    others = "System.Private.CoreLib!System.Guid::Try*"
    sites = place_probe.run("-l", "-j", app.pid, others).expect(0).records("site")
    addresses = [site["address"] for site in sites if site["mechanism"] == "uprobe"]
    live = place_probe.count("--strict", by_perf, app.pid, follow.KINDS["static"],
                             follow.KINDS["tally"], others)

    def left():
        return sum(machine.memory_of(app.pid, address, 1) == INT3 for address in addresses)

    assert left() == len(addresses)
    before = app.count("static")
    app.calls("static", 25, threads=1)
    made = app.count("static") - before
    live.process.send_signal(signal.SIGINT)
    machine.wait_until(lambda: left() < len(addresses), "the first probe is removed")
    # It does not get further meanwhile, however long all this takes.
    live.suspend()
    assert left(), "all probes were removed before it stood still"
    settle(place_probe, app, ["static"])
    app.plugin("file", plugin_of(variant, code), "tally-threads", 1000)
    live.resume()
    result = live.finish()
    check_consistent(result, {"static": made, "tally": 0})
    assert follow.calls_of(result, "static") == made, str(result)
    assert result.summary()["lower_bound"] == [], str(result)


# A program that is started --------------------------------------------------------------------

def records_in(path, result):
    """What a run has written with -o."""
    result.out = path.read_text()
    return result


@pairs.choose("variant, threads", itertools.product([*EACH_VERSION, "comp10", "sf10", "sf8"], [0, 8]),
              lambda variant, threads: (pairs.version_of(variant), threads),
              lambda variant, threads: (pairs.code_of(variant), threads))
def test_command(place_probe, build_app, tmp_path, variant, threads):
    """From its first managed call, with the environment as it is."""
    output = tmp_path / "output"
    live = place_probe.start("-c", "-j", "--strict", "-o", output,
                             follow.KINDS["static"], "Counted.Program::Main", "--",
                             build_app(variant), "--count", "static", CALLS, threads,
                             env=apps.environment(tiered=True))
    result = live.finish()
    assert result.out == f"done static {CALLS}\n", str(result)
    assert live.sites is not None, str(result)
    result = records_in(output, result)
    follow.check_consistent(result, {"static": CALLS})
    assert follow.calls_of(result, "static") == CALLS, str(result)
    assert result.calls("Counted.Program::Main(") == 1, str(result)
    assert result.summary()["lower_bound"] == [] and result.code == 0, str(result)


def test_command_found_in_path(place_probe, build_app, tmp_path):
    output = tmp_path / "output"
    env = apps.environment(tiered=True)
    env["PATH"] = f"{build_app('fd10').parent}:{env['PATH']}"
    live = place_probe.start("-c", "-j", "--strict", "-o", output,
                             follow.KINDS["static"], "--", "counter", "--count", "static", 1000, 2,
                             env=env)
    result = live.finish()
    assert result.out == "done static 1000\n", str(result)
    check_exact(records_in(output, result), {"static": 1000})


@pytest.mark.parametrize("variant", ["fd10", "r2r10", "sc8"])
def test_command_as_if_it_were_alone(place_probe, start_app, build_app, tmp_path, variant):
    """Its standard input and output and its environment are what they would be without us, and
    what comes later (more threads, an assembly) is followed as ever."""
    output = tmp_path / "output"
    app = start_app(variant, tiered=True, before=[
        place_probe.path, "-c", "-j", "--strict", *probe.PATIENT, "-o", output,
        follow.KINDS["static"], follow.KINDS["tally"], "--"])
    app.pid = app.own_pid
    alone = start_app(variant, tiered=True)
    assert environment_of(app) == environment_of(alone)
    app.calls("static", CALLS // 4, threads=8)
    settle(place_probe, app, ["static"])
    app.calls("static", CALLS // 10)
    static = app.count("static")
    made = use_tally(place_probe, app, "file", build_app("plugin"), "tally", "tally-threads")
    # The process that was started is place-probe.
    assert app.quit() == 0
    result = records_in(output, probe.Result(0, "", ""))
    check_exact(result, {"static": static, "tally": made})


def environment_of(app):
    text = pathlib.Path(f"/proc/{app.pid}/environ").read_text()
    return text.split("\0")


@pytest.mark.breakpoints(needed=False)
def test_command_that_is_not_there(place_probe):
    result = place_probe.run("-c", follow.KINDS["static"], "--", "/nowhere/at-all")
    result.expect_sentence(1, "/nowhere/at-all")
