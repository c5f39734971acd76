# SPDX-License-Identifier: GPL-2.0-or-later
"""However many different stacks there are, no more is kept of them than --memory says."""

import pytest

from helpers import machine, ways

# It has no runtime that compiles methods.
pytestmark = pytest.mark.beside

MEMORY_MB = 16
WAYS = 400_000


@pytest.fixture
def deep(start_app):
    return start_app("deep", executable=machine.program("deep"))


@pytest.mark.parametrize("words", [[], ["-f"]], ids=["each", "merged"])
def test_many_stacks(place_probe, deep, short_tmp, words, unsanitized):
    outcome = ways.come(place_probe, deep, [*words, f"--memory={MEMORY_MB}M", "--buffer=4M"], short_tmp, ways=WAYS)
    assert outcome.memory_mb < MEMORY_MB + ways.BESIDE_MB, outcome
    if words:
        assert outcome.others, outcome
    else:
        assert outcome.evicted, outcome
