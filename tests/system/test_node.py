# SPDX-License-Identifier: GPL-2.0-or-later
"""A Node process whose own native functions are timed: it lives, and its calls are all told apart."""

import pytest

from helpers import node, pairs

# It has no runtime that compiles methods.
pytestmark = pytest.mark.beside


@pytest.fixture
def start_node():
    started = []

    def start():
        started.append(node.start())
        return started[-1]

    yield start
    for one in started:
        one.close()


def test_storm_with_workers(place_probe, start_node, tell):
    survival = node.survive(start_node, place_probe, node.TIMED, pairs.few([6], 3)[0])
    assert survival.sites > 500 and survival.called > 50 and survival.returned > 10_000, survival
    tell(f"node: storm: {survival}")
