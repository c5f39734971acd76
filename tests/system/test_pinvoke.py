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
