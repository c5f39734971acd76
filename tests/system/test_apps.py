# SPDX-License-Identifier: GPL-2.0-or-later
"""Every way in which a .NET program is published, on .NET 8, 9 and 10."""

import pytest

from helpers import apps

SLEEP = "System.Threading.Thread::Sleep(int32)"


@pytest.mark.parametrize("variant", apps.RUNTIMES)
def test_framework_method(place_probe, start_app, variant):
    app = start_app(variant)
    live = place_probe.count(app.pid, SLEEP)
    app.sleep(300)
    result = live.stop().expect(0)
    assert result.calls() == 300, str(result)
    assert result.summary()["lost"] == {}


@pytest.mark.parametrize("variant", apps.PRECOMPILED)
def test_own_methods(place_probe, start_app, variant):
    app = start_app(variant)
    kinds = ["static", "virtual", "interface", "generic-ref", "generic-int", "throws", "recurse"]
    live = place_probe.count(app.pid, *(apps.METHODS[kind] for kind in kinds))
    for number, kind in enumerate(kinds, start=1):
        app.calls(kind, 20 * number, threads=2)
    result = live.stop().expect(0)
    counts = {kind: result.calls(apps.METHODS[kind]) for kind in kinds}
    assert counts == {kind: 20 * number for number, kind in enumerate(kinds, start=1)}


@pytest.mark.parametrize("variant", [name for name in apps.RUNTIMES if name != "sfc10"])
def test_list(place_probe, start_app, variant):
    """The bodies of Thread.Sleep: both overloads, precompiled, by uprobe, in a file with a size."""
    app = start_app(variant)
    sites = place_probe.run("-l", "-j", app.pid,
                            "System.Threading.Thread::Sleep").expect(0).records("site")
    methods = sorted(site["method"] for site in sites)
    assert methods == ["System.Threading.Thread::Sleep(System.TimeSpan)", SLEEP]
    for site in sites:
        assert site["mechanism"] == "uprobe" and site["tier"] == "r2r"
        assert site["file"].startswith("/") and site["file_offset"] > 0 and site["size"] > 0


def test_never_called(place_probe, start_app):
    """An app that was not precompiled has no code of a method before its first call."""
    app = start_app("fd10")
    result = place_probe.run("-c", app.pid, apps.METHODS["static"])
    assert result.code == 4, str(result)
    assert result.err.startswith("place-probe: ")


def test_with_tiering(place_probe, start_app):
    """As things are found: at least the first calls of a precompiled body are seen."""
    app = start_app("r2r10", tiered=True)
    live = place_probe.count(app.pid, apps.METHODS["over-two"])
    app.calls("over-two", 20)
    assert live.stop().expect(0).calls() == 20
