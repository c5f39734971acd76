# SPDX-License-Identifier: GPL-2.0-or-later
"""A thread that has lost its CPU on the way into a body: calls have gone to a newer one for long, nobody comes
by any more, and still that one call is to come. It is counted, or the count is said to be too low."""

import contextlib
import os
import pathlib
import subprocess
import time

import pytest

from helpers import follow, machine
from helpers.follow import Followed, check_bounded, check_exact

pytestmark = [pytest.mark.stepped, pytest.mark.breakpoints]

# Two bodies of each method, and so many calls of the first that there is time to stop a thread in it.
TIERS = {"DOTNET_TieredPGO": "0", "DOTNET_TC_CallCountingDelayMs": "0",
         "DOTNET_TC_CallCountThreshold": "7fff"}
COUNTED = 0x7fff
# Stepping takes its time: so many are left for it.
BEFORE_LAST = 300
THROUGH_ALL = COUNTED + 2000
KINDS = ["static", "over-int", "over-two"]
QUIET_LOOKS = 20


class Entrant:
    """A thread that calls a method all the time, stopped before the first instruction of its body; or anywhere, to
    step on to system calls in the @runtime's code, where that finds out which body to go to."""

    def __init__(self, tool, app, kind, address, runtime=()):
        made = app.count(kind)
        app.run(kind, 1)
        machine.wait_until(lambda: app.count(kind) > made, "the thread calls")
        self.tid = runner_of(app, kind)
        self.process = subprocess.Popen(
            [tool, str(self.tid), *(f"{number:x}" for number in (address, *runtime))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "on the way\n"

    def step(self):
        """On to the next system call."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "on the way\n"

    def go_on(self):
        self.process.communicate(timeout=10)
        assert self.process.returncode == 0


def runner_of(app, kind):
    """The one thread that makes calls. What it has started may have its name for a moment."""
    def runners():
        return [int(tid) for tid in os.listdir(f"/proc/{app.pid}/task")
                if pathlib.Path(f"/proc/{app.pid}/task/{tid}/comm").read_text() == f"runner-{kind}\n"]

    machine.wait_until(lambda: len(runners()) == 1, "one thread is there that calls")
    return runners()[0]


def entry_of(place_probe, app, kind):
    listed = place_probe.run("-l", "-j", app.pid, follow.KINDS[kind]).expect(0)
    (site,) = [site for site in listed.records("site") if site["state"] == "current"]
    assert site["tier"] == "tier0"
    return site["address"]


def replace(place_probe, app, kind, meanwhile=lambda: None):
    """Make so many calls of a kind that they go to its last body. Something may be done once that is being made."""
    app.calls(kind, THROUGH_ALL, threads=1)
    meanwhile()
    machine.wait_until(lambda: follow.final_bodies(place_probe, app, [kind]) == {kind},
                       f"{kind} reaches its last tier")
    app.calls(kind, 100, threads=1)


@pytest.fixture(scope="session")
def on_the_way():
    return machine.tool("on_the_way")


@pytest.fixture
def prepare(place_probe, start, on_the_way):
    """prepare(VARIANT, OPTION...): three methods are followed, and a thread is on its way into the first one's
    old body, whose register is the next that another body needs."""
    def make(variant, *options):
        app = start(variant, extra=TIERS)
        for kind in KINDS:
            app.calls(kind, 1)
        followed = Followed(place_probe, app, KINDS, *options)
        entrant = Entrant(on_the_way, app, KINDS[0], entry_of(place_probe, app, KINDS[0]))
        replace(place_probe, app, KINDS[0])
        return app, followed, entrant

    return make


def code_of_runtime(app):
    """Where it begins and ends."""
    rows = pathlib.Path(f"/proc/{app.pid}/maps").read_text(encoding="utf-8").splitlines()
    (row,) = [row.split() for row in rows if "r-xp" in row and row.endswith("/libcoreclr.so")]
    return tuple(int(number, 16) for number in row[0].split("-"))


def is_compiling(app):
    """Does a thread of the runtime that compiles want to run?"""
    for stat in pathlib.Path(f"/proc/{app.pid}/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            name, _, rest = stat.read_text(encoding="utf-8").partition("(")[2].rpartition(")")
            if name.startswith(".NET Tiered") and rest.split()[0] == "R":
                return True
    return False


def has_new_body(place_probe, app):
    """Once that thread waits for the stopped one, or is done: what calls the new body never comes by where it could be
    stopped."""
    looks = 0
    while looks < QUIET_LOOKS:
        looks = 0 if is_compiling(app) else looks + 1
        time.sleep(0.01)
    return follow.final_bodies(place_probe, app, [KINDS[0]]) == {KINDS[0]}


@pytest.mark.parametrize("variant", follow.IL_ONLY)
def test_it_comes_out_of_the_runtime(place_probe, start, on_the_way, variant):
    """It has made the last call that is counted, and the runtime a new body because of it. No register of it tells
    that it goes to the old one."""
    app = start(variant, extra=TIERS)
    for kind in KINDS:
        app.calls(kind, 1)
    followed = Followed(place_probe, app, KINDS, "--hold", "400")
    entrant = Entrant(on_the_way, app, KINDS[0], entry_of(place_probe, app, KINDS[0]), code_of_runtime(app))
    app.calls(KINDS[0], COUNTED - BEFORE_LAST - app.count(KINDS[0]))
    while not has_new_body(place_probe, app):
        entrant.step()
    app.calls(KINDS[0], 100, threads=1)
    replace(place_probe, app, KINDS[1])
    entrant.go_on()
    all_made(place_probe, app)
    result, made = followed.end()
    check_bounded(result, made)
    assert follow.reasons_of(result, KINDS[0]) == {"no-debug-register"}, str(result)
    assert made[KINDS[0]] - follow.calls_of(result, KINDS[0]) == 1, str(result)


def all_made(place_probe, app):
    replace(place_probe, app, KINDS[2])
    assert app.halt() == 1


@pytest.mark.parametrize("variant", follow.IL_ONLY)
def test_it_comes_when_its_register_is_another_body_s(place_probe, prepare, variant):
    app, followed, entrant = prepare(variant, "--hold", "400")
    replace(place_probe, app, KINDS[1])
    entrant.go_on()
    all_made(place_probe, app)
    result, made = followed.end()
    assert check_bounded(result, made) == {KINDS[0]}
    assert follow.reasons_of(result, KINDS[0]) == {"no-debug-register"}, str(result)
    assert made[KINDS[0]] - follow.calls_of(result, KINDS[0]) == 1, str(result)


@pytest.mark.parametrize("variant", follow.IL_ONLY)
def test_it_comes_while_another_body_waits_for_its_register(place_probe, prepare, variant):
    app, followed, entrant = prepare(variant, "--hold", "10000")

    def go_on():
        # No calls are made: who waits for the register is held within the kernel, where it looks at the clock.
        before = machine.system_seconds(app.pid)
        machine.wait_until(lambda: machine.system_seconds(app.pid) > before + 0.2, "another body waits")
        entrant.go_on()

    replace(place_probe, app, KINDS[1], meanwhile=go_on)
    all_made(place_probe, app)
    check_exact(*followed.end())
