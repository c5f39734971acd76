# SPDX-License-Identifier: GPL-2.0-or-later
"""Methods that are calls of native functions (P/Invokes). The native functions count them."""

import pytest

from helpers import apps, machine

CONVERTED = ["pinvoke-text", "pinvoke-one", "pinvoke-other"]  # with two stubs
# Where the methods whose arguments are passed as they are have code of their own.
COMPILED = ["r2r10", "sc9", "sc8"]
pytestmark = pytest.mark.beside


@pytest.fixture
def start_calling(build_app, start):
    """start_calling(VARIANT): a target that can call the native functions."""
    def start_one(variant, **options):
        build_app("native")
        return start(variant, **options)

    return start_one


def listed(place_probe, app, *patterns):
    """{method: site} of methods with one body each."""
    sites = place_probe.run("-l", "-j", app.pid, *patterns).expect(0).records("site")
    assert len({site["method"] for site in sites}) == len(sites)
    return {site["method"]: site for site in sites}


def counts_of(result):
    return {record["method"]: record for record in result.records("count")}


@pytest.mark.parametrize("variant", COMPILED)
def test_code_of_its_own_is_listed(place_probe, start_calling, variant):
    """It is in the image, and what is in memory there is what the file has."""
    app = start_calling(variant)
    patterns = {apps.PINVOKES[kind] for kind in apps.PINVOKES_PASSED_ON}
    sites = listed(place_probe, app, *patterns)
    assert set(sites) == patterns
    for site in sites.values():
        assert (site["tier"], site["mechanism"], site["state"]) == ("r2r", "uprobe", "current")
        assert (site["image"], site["reason"]) == ("counter.dll", None)
        with open(site["file"], "rb") as file:
            file.seek(site["file_offset"])
            assert file.read(site["size"]) == machine.memory_of(app.pid, site["address"],
                                                                site["size"])


@pytest.mark.parametrize("variant", COMPILED)
def test_code_of_its_own_is_counted(place_probe, start_calling, variant):
    """Who calls by a delegate or a pointer comes by the body, each time."""
    app = start_calling(variant)
    kinds = {"pinvoke-delegate": 1000, "pinvoke-pointer": 700, "pinvoke-suppressed-delegate": 300}
    live = place_probe.count(app.pid, *(apps.PINVOKES[kind] for kind in kinds))
    made = {apps.PINVOKES[kind]: app.calls(kind, number, threads=2)
            for kind, number in kinds.items()}
    result = live.stop().expect(0)
    counts = counts_of(result)
    assert {method: counts[method]["calls"] for method in counts} == made, str(result)
    assert result.summary()["lost"] == {}, str(result)


def check_said(result, method):
    """That there may have been more calls of it, in the record, in words, and by the exit code."""
    assert counts_of(result)[method]["lower_bound"] == ["call-inlined"], str(result)
    assert result.summary()["lower_bound"] == ["call-inlined"], str(result)
    assert f"{method}: callers that were compiled ahead of time or optimised may call" in result.err
    assert f"lower bound: {method}" in result.err, str(result)
    assert f"{method} was not entered" not in result.err, str(result)


@pytest.mark.parametrize("kind, variant", [
    ("pinvoke-direct", "r2r10"), ("pinvoke-direct", "sc8"), ("pinvoke-guarded", "sc9"),
    ("pinvoke-suppressed", "sc8"), ("pinvoke-suppressed", "r2r10"), ("pinvoke-delegate", "sc9")])
def test_calls_of_the_callers_own_are_said(place_probe, start_calling, kind, variant):
    app = start_calling(variant)
    live = place_probe.count("--strict", app.pid, apps.PINVOKES[kind])
    made = app.calls(kind, 500)
    result = live.stop().expect(5)
    assert counts_of(result)[apps.PINVOKES[kind]]["calls"] <= made, str(result)
    check_said(result, apps.PINVOKES[kind])


def test_nobody_knows_who_has_the_call(place_probe, start_calling):
    """Of what precompiled callers have in them images say nothing."""
    app = start_calling("r2r10")
    sites = listed(place_probe, app, "Counted.PInvokes::*")
    inlined = {method: site["inlined_into"] for method, site in sites.items()}
    for method in apps.PINVOKES_PASSED_ON.values():
        assert inlined[method] is None
    for method in apps.PINVOKES_CONVERTED.values():
        assert inlined[method] == []


# By stubs ---------------------------------------------------------------------------------------


def make_calls(app, kinds, number=600):
    return {apps.PINVOKES[kind]: app.calls(kind, number, threads=2) for kind in kinds}


def check_exact(result, made):
    counts = counts_of(result)
    assert {method: record["calls"] for method, record in counts.items()} == made, str(result)
    assert all(record["lower_bound"] == [] for record in counts.values()), str(result)
    assert result.summary()["lost"] == {} and result.summary()["lower_bound"] == [], str(result)


# Each version with and without precompiled code, and stubs that are there or are made while we look.
@pytest.mark.registers
@pytest.mark.breakpoints
@pytest.mark.parametrize("variant, called_before", [
    ("fd10", True), ("fd10", False), ("r2r10", False), ("il9", True), ("sc9", False),
    ("il8", False), ("il8", True), ("sc8", True)])
def test_calls_by_stubs(place_probe, start_calling, variant, called_before):
    app = start_calling(variant)
    if called_before:
        make_calls(app, CONVERTED, 20)
    live = place_probe.count("--strict", app.pid, *(apps.PINVOKES[kind] for kind in CONVERTED))
    made = make_calls(app, CONVERTED)
    check_exact(live.stop().expect(0), made)


@pytest.mark.registers
@pytest.mark.breakpoints
@pytest.mark.parametrize("variant, called_before", [
    pytest.param("fd10", False, marks=pytest.mark.kernel), ("il9", True), ("sc8", False)])
def test_who_shares_a_stub_is_not_counted(place_probe, start_calling, variant, called_before):
    """The other one is called as often, and makes the stub."""
    app = start_calling(variant)
    kinds = ["pinvoke-other", "pinvoke-one"]
    if called_before:
        make_calls(app, kinds, 20)
    live = place_probe.count("--strict", app.pid, apps.PINVOKES["pinvoke-one"])
    app.calls("pinvoke-other", 400)
    app.calls("pinvoke-one", 300, threads=2)
    app.calls("pinvoke-other", 400)
    check_exact(live.stop().expect(0), {apps.PINVOKES["pinvoke-one"]: 300})


@pytest.mark.registers
@pytest.mark.parametrize("called_before", [True, False])
def test_all_others_of_a_stub(place_probe, start_calling, called_before):
    """The stub itself can be asked for too: it has the calls that are of no method asked for."""
    app = start_calling("fd10")
    if called_before:
        make_calls(app, ["pinvoke-one", "pinvoke-other"], 20)
    stub = "dynamicClass::IL_STUB_PInvoke(int32,int32)"
    live = place_probe.count("--strict", app.pid, apps.PINVOKES["pinvoke-one"], stub)
    app.calls("pinvoke-other", 400, threads=2)
    app.calls("pinvoke-one", 300, threads=2)
    check_exact(live.stop().expect(0), {apps.PINVOKES["pinvoke-one"]: 300, stub: 400})


@pytest.mark.registers
@pytest.mark.breakpoints
@pytest.mark.parametrize("variant", ["fd10", "il9", "il8"])
def test_stubs_of_what_is_passed_on(place_probe, start_calling, variant):
    """Without precompiled code delegates and pointers lead to stubs; others may call by themselves."""
    app = start_calling(variant)
    kinds = ["pinvoke-delegate", "pinvoke-pointer", "pinvoke-suppressed-delegate"]
    live = place_probe.count("-v", app.pid, *(apps.PINVOKES[kind] for kind in kinds))
    made = make_calls(app, kinds)
    result = live.stop().expect(0)
    counts = counts_of(result)
    assert {method: record["calls"] for method, record in counts.items()} == made, str(result)
    assert {tuple(record["lower_bound"]) for record in counts.values()} == {("call-inlined",)}
    for method in made:
        assert result.err.count(f"{method}: callers that were compiled") == 1, str(result)


@pytest.mark.parametrize("variant", ["fd10", "il8"])
def test_calls_of_run_time_compiled_callers_are_said(place_probe, start_calling, variant):
    """Also where none came by: there is no body then, and no stub."""
    app = start_calling(variant)
    live = place_probe.count("--strict", app.pid, apps.PINVOKES["pinvoke-direct"])
    app.calls("pinvoke-direct", 500)
    result = live.stop().expect(5)
    assert result.summary()["lower_bound"] == ["call-inlined"], str(result)
    assert "may call its native function themselves" in result.err, str(result)


@pytest.mark.registers
@pytest.mark.breakpoints
@pytest.mark.parametrize("variant", ["fd10", "r2r10", "il8"])
def test_callers_that_are_optimised_come_by_the_stub(place_probe, start_calling, variant):
    app = start_calling(variant)
    kind, caller = "pinvoke-error", "Counted.PInvokeCallers::CallError"
    before = app.count(kind)
    live = place_probe.count("--strict", app.pid, apps.PINVOKES[kind])
    app.run(kind, 1)

    def is_optimised():
        sites = place_probe.run("-l", "-j", app.pid, caller).expect(0).records("site")
        return any(site["state"] == "current" and site["tier"] == "tier1" for site in sites)

    machine.wait_until(is_optimised, "the caller is optimised", seconds=30)
    app.halt()
    app.calls(kind, 1000)
    made = app.count(kind) - before
    check_exact(live.stop().expect(0), {apps.PINVOKES[kind]: made})


@pytest.mark.registers
def test_from_the_start(place_probe, build_app):
    build_app("native")
    kind = "pinvoke-one"
    command = [build_app("fd10"), "--count", kind, 500, 2]
    result = place_probe.run("-c", "-j", "--strict", apps.PINVOKES[kind], "--", *command,
                             env=apps.environment(tiered=True)).expect(0)
    lines = result.out.splitlines()
    assert f"done {kind} 500" in lines, str(result)
    result.out = "\n".join(line for line in lines if line.startswith("{"))
    check_exact(result, {apps.PINVOKES[kind]: 500})


def test_stubs_are_not_timed(place_probe, start_calling):
    app = start_calling("fd10")
    make_calls(app, ["pinvoke-one"], 20)
    one = apps.PINVOKES["pinvoke-one"]
    site, = place_probe.run("-l", "-H", "-j", app.pid, one).expect(0).records("site")
    assert (site["mechanism"], site["reason"]) == ("none", "native-call")
    assert "none can be probed" in place_probe.run("-H", app.pid, one).expect(4).err
    # Nor does perf ask who is called.
    assert f"# not placed: {one}: other methods may go by its stub" in \
        place_probe.run("--dry-run", app.pid, one).out


# The native function ----------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["r2r10", "il9"])
def test_the_native_function_is_named(place_probe, start_calling, variant):
    """As a pattern that finds it; not where only the program knows its library, or there is none."""
    app = start_calling(variant)
    make_calls(app, ["pinvoke-one"], 1)
    calling, library = "Counted.Program::Syscall(int64,int64)", "Interop+Sys::GetPid()"
    sites = listed(place_probe, app, calling, library, apps.PINVOKES["pinvoke-one"],
                   "Counted.Program::Serve", "System.Math::Sqrt(float64)")
    named = {method: site["native_function"] for method, site in sites.items()}
    assert named.pop(calling) == "libc.so.6!syscall"
    assert named.pop(library) == "libSystem.Native.so!SystemNative_GetPid"
    assert len(named) == 3 and set(named.values()) == {None}
    for method in (calling, library):
        found, = listed(place_probe, app, sites[method]["native_function"]).values()
        assert (found["tier"], found["mechanism"]) == ("native", "uprobe")
    result = place_probe.run("-c", "-j", "-d", "0.1", app.pid, calling).expect(0)
    assert "('libc.so.6!syscall' has all calls)" in result.err, str(result)
