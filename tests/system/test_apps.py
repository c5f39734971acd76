# SPDX-License-Identifier: GPL-2.0-or-later
"""Every way in which a .NET program is published, on .NET 8, 9 and 10."""

import pytest

from helpers import apps, follow, machine, pairs

SLEEP = "System.Threading.Thread::Sleep(int32)"
pytestmark = pytest.mark.beside


@pytest.mark.parametrize("variant", pairs.few(apps.RUNTIMES, "il8", "sc9", "sf10"))
def test_targets_count_right(start, build_app, variant):
    """What everything else is held against: as many calls as asked for, of each kind."""
    app = start(variant)
    app.workers(3)
    for kind in [*apps.METHODS, *apps.FINALS, *apps.MOVING, "small"]:
        before = app.count(kind)
        app.calls(kind, 1003, threads=8)
        app.calls(kind, 10)
        app.work(kind, 101)
        app.nested(kind, 55, threads=4)
        assert app.count(kind) - before == 1003 + 10 + 101 + 55, kind
    for what in ("tally", "tally-threads", "tally-generic"):
        for how in ("file", "bytes", "collectible"):
            assert app.plugin(how, build_app("plugin"), what, 502) == 502
    assert app.unload() == 0
    assert app.plugin("collectible", build_app("plugin"), "tally", 7) == 7


def test_target_in_the_background(start):
    app = start("fd10")
    app.watch()
    before = app.count("static")
    app.run("static", 3)
    app.run("virtual", 2)
    assert app.count("static") > before
    assert app.halt() == 5
    after = app.count("static")
    app.calls("static", 10)
    assert app.count("static") == after + 10, "somebody still calls"
    longest, often = app.pauses()
    assert longest > 0 and (often > 0) == (longest >= 1000)


def test_target_that_only_counts(build_app):
    result = machine.run(build_app("fd10"), "--count", "virtual", 1003, 4,
                         env=apps.environment(tiered=True))
    assert result.stdout == "done virtual 1003\n"


def tally_of(place_probe, app):
    """The one body of the plugin's method, or what stands for it."""
    site, = place_probe.run("-l", "-j", app.pid, follow.KINDS["tally"]).expect(0).records("site")
    return site


@pytest.mark.parametrize("version, variant", [(8, "sc8"), (9, "sc9"), (10, "fd10")])
def test_precompiled_plugin(place_probe, start, build_app, version, variant):
    """The runtime takes its precompiled code, if only from a file."""
    app = start(variant)
    app.plugin("file", build_app(f"plugin-r2r{version}"), "tally", 1)
    site = tally_of(place_probe, app)
    assert (site["tier"], site["state"]) == ("r2r", "current")


@pytest.mark.parametrize("version, variant", [(8, "sc9"), (9, "fd10"), (10, "sc11")])
def test_plugin_precompiled_for_another_runtime(place_probe, start, build_app, version, variant):
    """The runtime does not take that code, so it is none of the method's."""
    app = start(variant)
    app.plugin("file", build_app(f"plugin-r2r{version}"), "tally-generic", 1)
    site = tally_of(place_probe, app)
    assert (site["tier"], site["reason"]) == ("unknown", "not-precompiled")
    app.plugin("file", build_app(f"plugin-r2r{version}"), "tally", 1)
    site = tally_of(place_probe, app)
    assert (site["tier"], site["state"]) == ("tier0", "current")


@pytest.mark.parametrize("variant", apps.by_lane(apps.RUNTIMES))
def test_framework_method(place_probe, share, variant):
    app = share(variant)
    live = place_probe.count(app.pid, SLEEP)
    app.sleep(300)
    result = live.stop().expect(0)
    assert result.calls() == 300, str(result)
    assert result.summary()["lost"] == {}


@pytest.mark.parametrize("variant", apps.PRECOMPILED)
def test_own_methods(place_probe, share, variant):
    app = share(variant)
    kinds = ["static", "virtual", "interface", "generic-ref", "generic-int", "throws", "recurse"]
    live = place_probe.count(app.pid, *(apps.METHODS[kind] for kind in kinds))
    for number, kind in enumerate(kinds, start=1):
        app.calls(kind, 20 * number, threads=2)
    result = live.stop().expect(0)
    counts = {kind: result.calls(apps.METHODS[kind]) for kind in kinds}
    assert counts == {kind: 20 * number for number, kind in enumerate(kinds, start=1)}


@pytest.mark.parametrize("variant", [name for name in apps.RUNTIMES if name != "sfc10"])
def test_list(place_probe, share, variant):
    """The bodies of Thread.Sleep: both overloads, precompiled, by uprobe, in a file with a size."""
    app = share(variant)
    sites = place_probe.run("-l", "-j", app.pid,
                            "System.Threading.Thread::Sleep").expect(0).records("site")
    methods = sorted(site["method"] for site in sites)
    assert methods == ["System.Threading.Thread::Sleep(System.TimeSpan)", SLEEP]
    for site in sites:
        assert site["mechanism"] == "uprobe" and site["tier"] == "r2r"
        assert site["file"].startswith("/") and site["file_offset"] > 0 and site["size"] > 0


@pytest.mark.registers
def test_never_called(place_probe, start_app):
    """An app that was not precompiled has no code of a method before its first call; then it is
    probed, but no command can be given for it before."""
    app = start_app("fd10")
    result = place_probe.run("-n", app.pid, apps.METHODS["static"])
    assert result.code == 4, str(result)
    assert result.err.startswith("place-probe: ")
    live = place_probe.count("--strict", app.pid, apps.METHODS["static"])
    app.calls("static", 30)
    assert live.stop().expect(0).calls() == 30


def test_with_tiering(place_probe, start_app):
    """As things are found: at least the first calls of a precompiled body are seen."""
    app = start_app("r2r10", tiered=True)
    live = place_probe.count(app.pid, apps.METHODS["over-two"])
    app.calls("over-two", 20)
    assert live.stop().expect(0).calls() == 20
