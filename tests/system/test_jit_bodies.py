# SPDX-License-Identifier: GPL-2.0-or-later
"""Every body that the runtime has compiled is listed, and the perf map that it wrote of them
says the same of each: address, size, tier and name; of whatever kind the method is, in programs
published in every way, on .NET 8, 9 and 10, also while code comes and goes."""

import collections
import itertools

import pytest

from helpers import apps, machine, pairs, perfmap
from helpers.compiler import CompilerServer

pytestmark = pytest.mark.beside

EVERYTHING = ("",)
# Quicker to list than everything, and where there is most to be seen.
OURS = ("Plugin.", "Counted.", "Emitted.", "dynamicClass", "System.Collections.")
VARIANTS = ["fd10", "sc8", "sc9", "sc10", "sc11", "sf8", "sf10", "sfc10"]
ALL_IS_COMPILED = {"DOTNET_ReadyToRun": "0"}
# Dynamic methods are collected when nobody needs them, and what they leave behind is not
# written over at once. Where the collector runs so many may be missing, and nothing else.
COLLECTED = 20


def list_all(place_probe, pid, prefixes=EVERYTHING):
    """The bodies compiled at run time, as place-probe lists them, of types that begin so."""
    result = place_probe.run("-l", "-j", pid, *(f"{prefix}*::*" for prefix in prefixes), timeout=60)
    assert result.code == 0, f"exit code {result.code}: {result.err[:2000]}"
    return perfmap.jit_sites(result.out)


def list_methods(place_probe, pid, *patterns):
    """Bodies of few methods, with each record checked."""
    sites = place_probe.run("-l", "-j", pid, *patterns).expect(0).records("site")
    return [site for site in sites if site["address"] is not None]


def rows_of(perf_map, prefixes=EVERYTHING):
    return [body for body in perf_map.bodies() if body.name.startswith(prefixes)]


def check(found, collected=0):
    if found.twice or found.extra or found.missing_besides("dynamicClass::") or \
            len(found.missing) > collected:
        pytest.fail(str(found), pytrace=False)


def compare(place_probe, pid, perf_map, prefixes=EVERYTHING, collected=0, write=lambda: None):
    """`write()` has what the map is to have by then written to it."""
    before = rows_of(perf_map, prefixes)
    sites = list_all(place_probe, pid, prefixes)
    write()
    after = rows_of(perf_map, prefixes)
    check(perfmap.compare(sites, before, after), collected)
    return sites, after


def use_plugin(app, plugin, hows=("file", "bytes", "collectible")):
    for how in hows:
        app.plugin(how, plugin, "menagerie")
        app.plugin(how, plugin, "made", 2)


def writer(app, perf_map):
    """.NET 11 writes blocks: the last one comes when there is more code."""
    def write():
        size = perf_map.path.stat().st_size
        for kind in [*apps.METHODS, *apps.MOVING]:
            app.calls(kind, 1)
            if perf_map.path.stat().st_size > size:
                return
        raise AssertionError("nothing more has been written to the perf map")

    return write if apps.RUNTIMES[app.variant] >= 11 else lambda: None


# The same as the runtime says -------------------------------------------------------------

@pytest.mark.parametrize("variant", pairs.few(VARIANTS, "sf8", "sc9", "fd10", "sfc10", "sc11"))
def test_small(place_probe, start_mapped, variant):
    """As a program is found: most of it precompiled, some methods compiled and some twice."""
    app, perf_map = start_mapped(variant)
    for kind in apps.FINALS:
        app.calls(kind, 3, threads=1)
    app.calls("static", 100)
    app.calls("loop", 1)
    sites, rows = compare(place_probe, app.pid, perf_map, write=writer(app, perf_map))
    assert len(rows) >= len(apps.FINALS)
    # An address that says no more than where it is: nothing of it is in a file.
    for site in sites:
        assert (site["file"], site["file_offset"]) == (None, None), site
        assert "metadata" in site["names_from"] or "dynamicClass::" in site["method"], site


@pairs.only_full
@pytest.mark.parametrize("variant", VARIANTS)
def test_large(place_probe, start_mapped, plugin, variant):
    """More than 10,000 bodies: all of the framework that it uses, and every kind of method,
    from a file, from bytes, collectible, emitted, dynamic, and many instantiations."""
    app, perf_map = start_mapped(variant, extra=ALL_IS_COMPILED)
    use_plugin(app, plugin)
    app.plugin("file", plugin, "framework")
    app.plugin("file", plugin, "mass", 1200)
    app.calls("throws", 100, threads=4)
    sites, rows = compare(place_probe, app.pid, perf_map, write=writer(app, perf_map))
    assert len(rows) > 10000
    assert {"tier0", "optimized", "minopt"} <= {site["tier"] for site in sites}


def test_compiler_server(place_probe, build_app, plugin, short_tmp):
    """A real program, larger and with more threads than any made for this."""
    server = CompilerServer(short_tmp, perfmap.environment(short_tmp) | ALL_IS_COMPILED)
    try:
        perf_map = perfmap.PerfMap(short_tmp / f"perf-{server.pid}.map")
        server.compile((machine.TREE / "tests/apps/plugin").glob("*.cs"), "compiled.dll")
        # It runs for so long that the collector does by itself.
        _, rows = compare(place_probe, server.pid, perf_map, collected=COLLECTED)
        assert len(rows) > 10000
    finally:
        server.close()


SETTINGS = [
    {"DOTNET_EnableWriteXorExecute": "0"}, {"DOTNET_TieredCompilation": "0"},
    {"DOTNET_TieredPGO": "0"}, {"DOTNET_TC_QuickJitForLoops": "0"}, {"DOTNET_TC_QuickJit": "0"},
    {"DOTNET_OSR_HitLimit": "1", "DOTNET_TC_OnStackReplacement_InitialCounter": "10"},
    {"DOTNET_gcServer": "1"},
]


@pairs.choose("variant, setting", itertools.product(["fd10", "sc8"], SETTINGS),
              ident=lambda value: value if isinstance(value, str) else "-".join(next(iter(value.items()))))
def test_settings(place_probe, start_mapped, plugin, variant, setting):
    """What changes where code lies, or in which tiers it is compiled."""
    app, perf_map = start_mapped(variant, extra=setting)
    use_plugin(app, plugin, hows=["bytes"])
    app.calls("loop", 5, threads=2)
    app.calls("static", 100)
    _, rows = compare(place_probe, app.pid, perf_map, OURS)
    assert len(rows) > 100


# Names that the perf map has not or not whole ---------------------------------------------

SPELLINGS = [
    "Plugin.Generics::Same[System.Int32](!!0)",
    "Plugin.Generics::Same[System.__Canon](!!0)",
    "Plugin.Generics::Same[Plugin.Point](!!0)",
    "Plugin.Generics::Same[System.Nullable`1[System.Int32]](!!0)",
    "Plugin.Generics::Same[System.ValueTuple`2[System.Int32,System.__Canon]](!!0)",
    "Plugin.Generics::Same[Plugin.Pair`2[Plugin.Point,Plugin.Pair`2[System.__Canon,Plugin.Colour]]](!!0)",
    "Plugin.Generics::MakeOne[System.__Canon,System.Int32]()",
    "Plugin.Outer`1+Middle+Inner`1[System.Int32,System.__Canon]::Both[System.Int64](!0,!1,!!0,!!0[])",
    "Plugin.Outer`1+Middle+Inner`1[System.__Canon,System.Int32]::Static[System.Int32](!!0,!1[,])",
    "Plugin.Outer`1[System.__Canon]::Generic[System.__Canon](!0,!!0)",
    "Plugin.Outer`1[System.Double]::Generic[Plugin.Point](!0,!!0)",
    "Plugin.Keeper::Plugin.IKeeper<System.String>.get_Kept()",
    "Plugin.Bodies::<Local>g__Echo|5_1[System.Int32](!!0)",
]


@pytest.mark.parametrize("variant", ["fd10", "sc8", "sc9", "sc11"])
def test_names_in_full(place_probe, start_mapped, plugin, variant):
    """With the arguments of generic methods, each instantiation apart."""
    app, _ = start_mapped(variant)
    app.plugin("bytes", plugin, "menagerie")
    methods = {site["method"] for site in list_methods(place_probe, app.pid, "Plugin.*::*")}
    assert [name for name in SPELLINGS if name not in methods] == []


def test_unicode(place_probe, start_app, plugin):
    """The perf map's rows of such names are garbled; the names themselves are not."""
    app = start_app("fd10", tiered=True)
    app.plugin("file", plugin, "unicode")
    site, = list_methods(place_probe, app.pid, "Plugin.Shapes::Größe")
    assert site["method"] == "Plugin.Shapes::Größe(string)"
    assert site["tier"] == "tier0" and site["image"] == "plugin.dll"


def test_dynamic_methods_by_name(place_probe, start_app, plugin):
    app = start_app("fd10", tiered=True)
    app.plugin("file", plugin, "made", 2)
    listed = {site["method"]: site
              for site in list_methods(place_probe, app.pid, "dynamicClass::*_1")}
    methods = sorted(name.partition("(")[0] for name in listed)
    assert methods == [f"dynamicClass::{name}_1" for name in ("Compiled", "Dynamic", "Owned")]
    for site in listed.values():
        assert (site["image"], site["tier"], site["state"]) == ("run-time code", "optimized",
                                                                "current")


def test_as_text(place_probe, start_app):
    app = start_app("fd10", tiered=True)
    app.calls("final-static", 1)
    site, = list_methods(place_probe, app.pid, apps.FINALS["final-static"])
    text = place_probe.run("-l", app.pid, apps.FINALS["final-static"]).expect(0).out
    for word in (site["method"], "optimized", "current", f"{site['address']:x}", "breakpoint",
                 "counter.dll"):
        assert word in text, text


# While code comes and goes ----------------------------------------------------------------

def test_unloaded(place_probe, start_mapped, plugin):
    """Of what has been unloaded nothing is listed any more, and of the rest everything."""
    app, perf_map = start_mapped("fd10")
    app.plugin("file", plugin, "menagerie")
    stays = perf_map.bodies()
    app.plugin("collectible", plugin, "menagerie")
    app.plugin("collectible", plugin, "made", 2)
    both = list_all(place_probe, app.pid, ["Plugin."])
    assert app.unload() == 0
    left = list_all(place_probe, app.pid)
    plugins = {site["address"] for site in left if site["method"].startswith("Plugin.")}
    assert {body.address for body in stays if body.name.startswith("Plugin.")} == plugins
    assert len(both) > len(plugins)
    check(perfmap.compare(left, stays, perf_map.bodies()), COLLECTED)


def has_lost_its_tier(body, rows):
    """As the runtime takes a method away it may have forgotten which tier a body is, which is said then."""
    return body.tier == "unknown" and any(body[:2] == row[:2] and body.name == row.name for row in rows)


@pytest.mark.parametrize("variant", pairs.few(["fd10", "sc9", "sc8"], "fd10"))
def test_churn(place_probe, start_mapped, plugin, variant):
    """Assemblies are loaded and unloaded all the time: a list may come too early or too late for
    one of them, but nothing is wrong in it, and what stays is always there."""
    app, perf_map = start_mapped(variant)
    app.plugin("file", plugin, "menagerie")
    stays = perf_map.bodies()
    app.churn(True, plugin)
    lists = []
    for number in range(20 if pairs.is_full() else 10):
        prefixes = EVERYTHING if number % 10 == 0 else ("Plugin.",)
        needed = [body for body in stays if body.name.startswith(prefixes)]
        lists.append((needed, list_all(place_probe, app.pid, prefixes)))
    assert app.churn(False, plugin) > 3
    rows = perf_map.bodies()
    for needed, sites in lists:
        found = perfmap.compare(sites, needed, rows)
        going = [body for body in found.extra if has_lost_its_tier(body, rows)]
        assert len(going) <= 2, going
        check(found._replace(extra=[body for body in found.extra if body not in going]), COLLECTED)
    app.calls("static", 10)


@pytest.mark.parametrize("variant", pairs.few(["fd10", "sc8"], "fd10"))
def test_growing(place_probe, start_mapped, plugin, variant):
    """Methods are compiled all the time: all that were there when a list was begun are in it."""
    app, perf_map = start_mapped(variant)
    app.grow(True, plugin)
    lists = []
    for _ in range(6):
        before = rows_of(perf_map, OURS)
        lists.append((before, list_all(place_probe, app.pid, OURS)))
    assert app.grow(False, plugin) > 3
    rows = perf_map.bodies()
    sizes = [len(sites) for _, sites in lists]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]
    for before, sites in lists:
        check(perfmap.compare(sites, before, rows))


# Tiers, and which body is current ---------------------------------------------------------

def bodies(place_probe, app, method):
    """{tier: state} of a method, with one body in each tier."""
    sites = place_probe.run("-l", "-j", app.pid, method).expect(0).records("site")
    assert len({site["tier"] for site in sites}) == len(sites), sites
    return {site["tier"]: site["state"] for site in sites}


def warm(place_probe, app, kind, method):
    """Call until the last tier has been reached and is in use."""

    def is_warm():
        app.calls(kind, 50)
        return bodies(place_probe, app, method).get("tier1") == "current"

    machine.wait_until(is_warm, f"{method} reaches tier 1", seconds=30)


STATIC = apps.METHODS["static"]


@pytest.mark.parametrize("variant, setting, first, then", [
    ("r2r10", {}, "r2r", ["instrumented", "tier1"]),
    ("sc9", {}, "r2r", ["instrumented", "tier1"]),
    ("sc8", {}, "r2r", ["instrumented", "tier1"]),
    ("sfc10", {}, "r2r", ["instrumented", "tier1"]),
    ("r2r10", {"DOTNET_TieredPGO": "0"}, "r2r", ["tier1"]),
    ("fd10", {}, "tier0", ["instrumented", "tier1"]),
    ("fd10", {"DOTNET_TieredPGO": "0"}, "tier0", ["tier1"]),
], ids=str)
def test_through_the_tiers(place_probe, start_mapped, variant, setting, first, then):
    """Each body is listed in its tier, and the one that calls reach is current."""
    app, perf_map = start_mapped(variant, extra=setting)
    app.calls("static", 3)
    assert bodies(place_probe, app, STATIC) == {first: "current"}
    warm(place_probe, app, "static", STATIC)
    expected = {tier: "superseded" for tier in [first, *then]} | {"tier1": "current"}
    assert bodies(place_probe, app, STATIC) == expected
    assert perf_map.tiers(STATIC) == ([] if first == "r2r" else [first]) + then
    sites = place_probe.run("-l", "-j", app.pid, STATIC).records("site")
    for site in sites:
        if site["tier"] in ("tier0", "instrumented"):
            assert (site["mechanism"], site["reason"]) == ("none", "superseded"), site
        if site["tier"] == "tier1":
            assert (site["mechanism"], site["reason"]) == ("breakpoint", None), site


def test_never_called(place_probe, start_mapped):
    app, _ = start_mapped("fd10")
    site, = place_probe.run("-l", "-j", app.pid, STATIC).records("site")
    assert (site["tier"], site["state"], site["mechanism"]) == ("unknown", None, "none")
    assert (site["address"], site["reason"]) == (None, "not-precompiled")


def test_replaced_within_a_loop(place_probe, start_mapped):
    """The body that goes on in the middle of a loop is none that is called."""
    app, perf_map = start_mapped("fd10")
    app.calls("loop", 1)
    machine.wait_until(lambda: "osr" in perf_map.tiers(apps.LOOP), "the loop is replaced")
    sites = {site["tier"]: site for site in list_methods(place_probe, app.pid, apps.LOOP)}
    assert sorted(sites) == sorted(set(perf_map.tiers(apps.LOOP)))
    assert sites["tier0"]["state"] == "current" and sites["tier0"]["mechanism"] == "breakpoint"
    assert (sites["osr"]["mechanism"], sites["osr"]["reason"]) == ("none", "osr-body")
    assert sites["osr"]["state"] != "current"


def test_rejected_precompiled_body(place_probe, start_mapped):
    """The runtime was told not to use precompiled code, and has compiled the method itself."""
    app, _ = start_mapped("r2r10", extra=ALL_IS_COMPILED)
    app.calls("static", 3)
    assert bodies(place_probe, app, STATIC) == {"r2r": "rejected", "tier0": "current"}


@pytest.mark.parametrize("setting, method, tier", [
    ({"DOTNET_TieredCompilation": "0"}, "static", "optimized"),
    ({"DOTNET_TC_QuickJitForLoops": "0"}, "loop", "optimized"),
    ({"DOTNET_TC_QuickJit": "0"}, "static", "optimized"),
    ({}, "final-static", "optimized"),
], ids=str)
def test_compiled_once(place_probe, start_mapped, setting, method, tier):
    name = {"loop": apps.LOOP, **apps.METHODS, **apps.FINALS}[method]
    app, perf_map = start_mapped("fd10", extra=setting)
    app.calls(method, 3)
    assert perf_map.tiers(name) == [tier]
    assert bodies(place_probe, app, name) == {tier: "current"}


def test_built_without_optimisation(place_probe, start_mapped, build_app):
    """A debug build: the runtime does not optimise it, however warm it gets."""
    app, perf_map = start_mapped("fd10")
    app.plugin("file", build_app("plugin-debug"), "menagerie")
    sites = list_methods(place_probe, app.pid, "Plugin.*::*")
    # But for what asks to be optimised by itself.
    tiers = {site["method"]: site["tier"] for site in sites}
    assert set(tiers.values()) <= {"minopt", "optimized"}
    assert tiers["Plugin.Shapes::Nothing()"] == "minopt"
    assert perf_map.tiers("Plugin.Shapes::Nothing()") == ["minopt"]
    assert {site["state"] for site in sites} == {"current"}


@pytest.mark.parametrize("variant", ["fd10", "sc8", "sc9", "sc10"])
def test_one_current_body_each(place_probe, start_mapped, plugin, variant):
    """Whatever has been compiled, one body of each method is the one that is called."""
    app, perf_map = start_mapped(variant)
    app.plugin("file", plugin, "menagerie")
    app.plugin("file", plugin, "framework")
    for kind in apps.METHODS:
        app.calls(kind, 50)
    warm(place_probe, app, "static", STATIC)

    def one_current_each():
        # A body that is compiled but not in place yet is pending; then another list will do.
        before = perf_map.bodies()
        sites = list_methods(place_probe, app.pid, "Plugin.*::*", "Counted.*::*", "System.Linq*::*",
                             "System.Text.*::*", "System.Collections.*::*")
        states = {site["state"] for site in sites}
        if perf_map.bodies() != before or "pending" in states:
            return False
        assert states <= {"current", "superseded", "rejected"}, states
        compiled = {(site["image"], site["method"]) for site in sites
                    if site["tier"] not in ("r2r", "osr")}
        current = collections.Counter((site["image"], site["method"])
                                      for site in sites if site["state"] == "current")
        assert len(compiled) > 300
        wrong = {method: current[method] for method in compiled if current[method] != 1}
        assert not wrong, wrong
        return True

    machine.wait_until(one_current_each, "nothing is being compiled", seconds=30)


# The precompiled code of a compressed single file -------------------------------------------

def test_compressed_single_file(place_probe, start_mapped):
    """Its precompiled code is in no file: listed where it is in memory, for a breakpoint."""
    app, _ = start_mapped("sfc10")
    app.calls("static", 3)
    site, = place_probe.run("-l", "-j", app.pid, STATIC).expect(0).records("site")
    assert (site["tier"], site["state"], site["mechanism"]) == ("r2r", "current", "breakpoint")
    assert (site["file"], site["file_offset"]) == (None, None)
    assert site["address"] and site["size"]
