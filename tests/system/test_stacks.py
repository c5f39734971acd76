# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks at a hit, against the StackTrace that the target has taken in the same call.

tests/apps/stacks gets to the probed method by every way there is. Compared are the methods: names
without signature and generic arguments, since reflection spells these otherwise.
"""

import collections
import difflib

import pytest

from helpers import follow

ROUNDS = 45
VARIANTS = ["stacks8", "stacks9", "stacks10", "stacks10-r2r"]
PROBED = "Stacks.Place::Probed"


def plain(name):
    """TYPE::METHOD of a canonical name: no signature, no generic arguments."""
    kept, depth = "", 0
    for letter in name.partition("(")[0]:
        depth += letter == "["
        if depth == 0:
            kept += letter
        depth -= letter == "]"
    return kept


def methods_of(hit):
    """The methods of a hit's stack from the probed method's caller on; what has no name is "?"."""
    frames = [frame for frame in hit["stack"] if frame["kind"] in ("dotnet", "unknown")]
    return [plain(frame["name"] or "?") for frame in frames][1:]


def check(place_probe, app, directory, rounds, hold):
    """Run so many rounds, and compare each stack."""
    live = place_probe.live("-j", "--strict", *hold, app.pid, PROBED)
    app.ask(f"run {rounds} {directory / 'stacks'}", "done")
    truths = [line.split(";") for line in (directory / "stacks").read_text().splitlines()]
    result = live.stop()
    assert result.code == 0, f"exit code {result.code}: {result.err}"
    # One at a time, so they come in the order of their calls.
    hits = sorted(result.records("hit"), key=lambda hit: hit["time_ns"])
    assert len(hits) == len(truths) > 50 * rounds
    ends = collections.Counter(hit["stack_end"] for hit in hits)
    assert set(ends) == {"whole"}, str(ends)
    different = [(truth, methods_of(hit)) for hit, truth in zip(hits, truths)
                 if methods_of(hit) != truth]
    assert len(different) <= len(hits) / 1000, "\n".join(
        difflib.unified_diff(*different[0], "StackTrace", "place-probe", lineterm="", n=20))


@pytest.mark.parametrize("tiered", [True, False], ids=["tiered", "optimized"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_equal_to_stack_traces(place_probe, start_app, variant, tiered, short_tmp):
    check(place_probe, start_app(variant, tiered), short_tmp, ROUNDS, follow.PATIENT)


@pytest.mark.kernel
def test_equal_on_other_kernel(place_probe, start_app, short_tmp):
    """The programs are the same, the verifier and the helpers are not."""
    check(place_probe, start_app("stacks10"), short_tmp, 10, follow.GUEST_HOLD)
