# SPDX-License-Identifier: GPL-2.0-or-later
"""Targets, and place-probe, that are frozen meanwhile: see helpers/freezer.py."""

import random
import time

import pytest

from helpers import follow, machine, many
from helpers.follow import Followed, settle
from helpers.freezer import Freezer
from helpers.many import by_number

pytestmark = pytest.mark.breakpoints

KINDS = ["static", "over-int", "over-two"]
CALLS = 50_000
FROZEN_SECONDS = 0.75


@pytest.fixture
def freezer():
    made = Freezer()
    yield made
    made.close()


@pytest.mark.parametrize("who", ["target", "place-probe", "both"])
def test_while_it_tiers(place_probe, start, freezer, who):
    """
    In the middle of calls, of which bodies are compiled and followed: each is counted, or said to be in doubt. Of a
    target that is frozen threads may be on the way into an old body all that time: each is counted if there are
    registers enough for that, as for two methods.
    """
    kinds = KINDS[:2] if who == "target" else KINDS
    app = start("fd10")
    followed = Followed(place_probe, app, kinds)
    own = [followed.live.process.pid, *machine.all_children_of(followed.live.process.pid)]
    frozen = {"target": [app.pid], "place-probe": own, "both": [app.pid, *own]}[who]
    for kind in kinds:
        app.tell(f"calls {kind} {CALLS} 4")
        for _ in range(2):
            freezer.freeze(*frozen)
            time.sleep(FROZEN_SECONDS)
            freezer.thaw()
            time.sleep(0.1)
        app.answer("done")
    settle(place_probe, app, kinds)
    result, made = followed.end()
    if who == "target":
        follow.check_exact(result, made)
    else:
        follow.check_bounded(result, made)


def test_again_and_again(place_probe, start, freezer):
    """More bodies are in use at a time than there are registers, and threads are frozen on their way between them."""
    app = start("fd10")
    followed = Followed(place_probe, app, KINDS)
    moments = random.Random(28)
    for kind in KINDS:
        app.tell(f"calls {kind} {CALLS} 4")
        for _ in range(25):
            freezer.freeze(app.pid)
            time.sleep(moments.choice([0.01, 0.05, 0.1]))
            freezer.thaw()
            time.sleep(moments.choice([0.001, 0.003, 0.01, 0.02]))
        app.answer("done")
    settle(place_probe, app, KINDS)
    result, made = followed.end()
    follow.check_bounded(result, made)
    # What was held while threads were frozen is no time in which it was not watched.
    assert all(record["watched"] > 0.9 for record in result.records("count")), result
    assert set(result.summary()["lower_bound"]) <= {"no-debug-register"}, result


def test_frozen_before(place_probe, start, freezer):
    """It attaches to what does not run; each call that is made once that does is counted."""
    app = start("fd10")
    settle(place_probe, app, KINDS)
    freezer.freeze(app.pid)
    live = place_probe.count(app.pid, *(follow.KINDS[kind] for kind in KINDS))
    assert live.sites == len(KINDS)
    freezer.thaw()
    made = {kind: app.calls(kind, 1000, threads=4) for kind in KINDS}
    follow.check_exact(live.stop(), made)


def test_frozen_when_it_is_to_be_remapped(place_probe, freezer):
    """No thread can be stopped for that: it is said, and done once there is one."""
    numbers = range(3)
    app = many.start("many10")
    try:
        app.go(30)
        freezer.freeze(app.pid)
        live = place_probe.live("-c", "-j", "-v", "--remap", app.pid, *(f"Many.Generated::M{i:03}" for i in numbers))
        live.wait_err("no thread of process .* could be stopped within a second")
        freezer.thaw()
        live.wait_err("bodies have moved to uprobes")
        made = app.go(5)
        assert by_number(live.stop().expect(0).records("count"))[:len(numbers)] == made[:len(numbers)]
    finally:
        freezer.thaw()
        app.close()
