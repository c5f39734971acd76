# SPDX-License-Identifier: GPL-2.0-or-later
"""Others have all debug registers: nothing that needs one can be probed, and it is said who has them."""

import re
import subprocess

import pytest

from helpers import apps, machine
from helpers.gdb import Gdb

pytestmark = pytest.mark.breakpoints

FINALS = apps.FINALS
FOUR = ["final-other", "final-text", "final-recurse", "final-instance"]
STATIC = apps.METHODS["static"]
NONE_IS_FREE = "no debug register is free"


@pytest.fixture
def holder(place_probe, start_app, build_app):
    """Another place-probe, which has all four for a target of its own."""
    build_app("native")
    other = start_app("r2r10")
    for kind in FOUR:
        other.calls(kind, 1)
    holder = place_probe.count(other.pid, *(FINALS[kind] for kind in FOUR))
    assert holder.sites == 4
    return holder


@pytest.fixture
def users(holder):
    """What is said of them, as a regular expression."""
    return rf"itself has 0, .* 4 \(perf events are held by .*place-probe \({holder.process.pid}\)"


@pytest.fixture
def final(app):
    """The one body that is wanted, compiled for good; its method."""
    app.calls("final-static", 1)
    return FINALS["final-static"]


@pytest.mark.parametrize("mode", ["-c", "-j", "-f", "-H"])
def test_none_placeable(place_probe, app, final, users, mode):
    """It matched and cannot be placed: that is 4, and no error."""
    result = place_probe.run(mode, app.pid, final)
    result.expect_sentence(4, NONE_IS_FREE, users)


def test_names_a_debugger(place_probe, app, final):
    """It has those of one target's threads only, but a breakpoint of ours is on every CPU."""
    for kind in FOUR:
        app.calls(kind, 1)
    sites = place_probe.run("-l", "-j", app.pid, *(FINALS[kind] for kind in FOUR)).records("site")
    gdb = Gdb(app.pid, [site["address"] for site in sites])
    try:
        place_probe.run("-c", app.pid, final).expect_sentence(
            4, NONE_IS_FREE, rf"gdb \({gdb.process.pid}\) 4")
    finally:
        gdb.close()


def test_what_needs_none_is_probed(place_probe, app, final, holder, users):
    """Of two bodies one takes a uprobe: that is counted, and the other is told."""
    live = place_probe.count(app.pid, STATIC, final)
    assert live.sites == 1
    app.calls("static", 20)
    app.calls("final-static", 10)
    result = live.stop().expect(0)
    assert result.calls(STATIC) == 20 and result.calls(final) == 0, str(result)
    live.wait_err(NONE_IS_FREE)
    live.wait_err(users)
    # The other was not disturbed.
    assert holder.stop().expect(0).calls() == 0


def test_self_test(place_probe, holder):
    assert "hardware breakpoints: 0 of 4 free\n" in place_probe.run("--self-test").expect(0).out
    holder.stop().expect(0)
    assert "hardware breakpoints: 4 of 4 free\n" in place_probe.run("--self-test").expect(0).out


def test_dry_run(place_probe, app, final, users):
    """The commands are good once registers are free; that they are not is said."""
    result = place_probe.run("-n", app.pid, final).expect(0)
    assert "mem:0x" in result.out, str(result)
    line, = [line for line in result.err.splitlines() if "debug register" in line]
    assert "need 1 debug register, and 0 are free now" in line, str(result)
    assert re.search(users, line), str(result)


def test_dry_run_with_registers_enough(place_probe, app, final):
    assert "debug register" not in place_probe.run("-n", app.pid, final).expect(0).err


@pytest.mark.parametrize("options", [[], ["--strict"]], ids=["", "strict"])
def test_comes_up_later(place_probe, app, holder, users, options):
    """Nothing is there yet, and no register for what comes: it is said at the start, and 4 in the end."""
    live = place_probe.live("-c", "-j", *options, app.pid, FINALS["final-static"])
    live.wait_err(users)
    app.calls("final-static", 30)
    result = live.stop().expect(4)
    assert result.calls() == 0
    assert "none was probed" in result.err.splitlines()[-1], str(result)
    assert holder.stop().expect(0).calls() == 0


def test_never_called(place_probe, app, holder):
    """Nothing came up that would have needed a register: all is well."""
    live = place_probe.live("-c", "-j", "--strict", app.pid, FINALS["final-static"])
    assert live.stop().expect(0).calls() == 0


def test_free_meanwhile(place_probe, app, holder):
    """Once the other has gone what came up is probed after all, and counted from then on."""
    live = place_probe.live("-c", "-j", "-i", "0.1", app.pid, FINALS["final-static"])
    app.calls("final-static", 5)
    holder.stop().expect(0)

    def counted():
        return sum(record["calls"] for record in live.records_so_far()
                   if record["type"] == "count")

    machine.wait_until(lambda: app.calls("final-static", 1) and counted() > 0, "it is probed")
    result = live.stop().expect(0)
    assert "lower bound" in result.err, str(result)


def test_command(place_probe, build_app, holder, users):
    """A program that place-probe starts: none of its code comes to a register."""
    result = subprocess.run(
        place_probe.command(["-c", "--hold", "5000", STATIC, "--", build_app("fd10")]),
        input="calls static 20 0\nquit 0\n", capture_output=True, text=True,
        env=apps.environment(True), timeout=60 * machine.SCALE)
    assert "done static 20" in result.stdout, str(result)
    assert result.returncode == 4, str(result)
    assert NONE_IS_FREE in result.stderr and "none was probed" in result.stderr, str(result)
    assert holder.stop().expect(0).calls() == 0


def test_some_are_had(place_probe, start_app, app):
    """Others have two: what comes up takes turns on the rest, and how many those are is said, with who has the others."""
    other = start_app("r2r10")
    for kind in FOUR[:2]:
        other.calls(kind, 1)
    holder = place_probe.count(other.pid, *(FINALS[kind] for kind in FOUR[:2]))
    assert holder.sites == 2
    live = place_probe.count(app.pid, *(FINALS[kind] for kind in FOUR), "-v")
    live.wait_err(rf"others have debug registers, .*itself has 2, .* 2 \(perf events are held by .*place-probe \({holder.process.pid}\)")
    for _ in range(20):
        for kind in FOUR:
            app.calls(kind, 10)
    result = live.stop().expect(0)
    assert "registers, 2 of 4, others having the rest" in result.err, str(result)
    assert holder.stop().expect(0).calls() == 0
