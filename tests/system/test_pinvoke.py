# SPDX-License-Identifier: GPL-2.0-or-later
"""Methods that are calls of native functions (P/Invokes). The native functions count them."""

import pytest

from helpers import apps, machine

# Where the methods whose arguments are passed as they are have code of their own.
COMPILED = ["r2r10", "sc9", "sc8"]


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
    assert "so the counts are lower bounds" in result.err, str(result)
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
