# SPDX-License-Identifier: GPL-2.0-or-later
"""Without --remap: code is made private only where debug registers do not suffice, or are not to be relied on."""

import pathlib
import re
import time

import pytest

from helpers import breakpoints, inject, machine, many
from helpers.many import by_number

pytestmark = [pytest.mark.beside,
              pytest.mark.skipif(not machine.is_root(), reason="only root can make code private")]

# There a hypervisor has a part in each debug exception.
IS_VIRTUAL = re.search(r"^flags\s*:.*\bhypervisor\b", pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii"), re.M)
CODE = many.CODE
PAIRS = 6


@pytest.fixture
def app():
    """Its methods are in their last tier, and most lie on sealed pages."""
    target = many.start("many10")
    try:
        target.seal()
        yield target
    finally:
        target.close()


@pytest.fixture(autouse=True)
def as_it_is(place_probe):
    """As users have it who say nothing of this."""
    place_probe.words = []


def watch(place_probe, app, *options, numbers):
    return place_probe.live("-c", "-j", *options, app.pid, *(f"Many.Generated::M{i:03}" for i in numbers))


def check_counts(app, live, numbers):
    made = app.go(5)
    result = live.stop().expect(0)
    counted = by_number(result.records("count"))
    assert [counted[i] for i in numbers] == [made[i] for i in numbers], str(result)
    assert not inject.is_private(app.pid, CODE) and inject.anonymous(app.pid, CODE) == 0
    return result


def test_no_register_is_free(place_probe, app):
    """Others have them all."""
    live = watch(place_probe, app, numbers=[1])
    assert live.has_said("is private until the end") and inject.is_private(app.pid, CODE)
    assert "--remap needs" not in check_counts(app, live, [1]).err


def test_two_at_once(place_probe, app):
    """One has its probes there first; the other has what registers there are, and uprobes once the first has ended."""
    for _ in range(PAIRS):
        runs = [place_probe.start("-c", "-j", app.pid, f"Many.Generated::M0{digit}*") for digit in (0, 1)]
        machine.wait_until(lambda: any(live.has_said("is private until the end") for live in runs), "one is there")
        assert all(live.has_attached() for live in runs)
        (first,), (second,) = ([live for live in runs if live.has_said("is private until the end") == had]
                               for had in (True, False))
        assert second.has_said("another place-probe has probes there")
        made = app.go(1)
        result = first.stop().expect(0)
        wrong = many.wrong_counts(result, made, range(10) if first is runs[0] else range(10, 20))
        assert result.calls() and not wrong, f"{wrong}\n{result}"
        second.wait_err("is private until the end")
        second.stop()
        assert not inject.is_private(app.pid, CODE) and inject.anonymous(app.pid, CODE) == 0


@pytest.mark.parametrize("way", ["exits", "killed"])
def test_end_takes_time(place_probe, app, way):
    """While a process exits its memory is gone and it is not: nothing was changed in it."""
    app.weigh(1500)
    live = watch(place_probe, app, numbers=[1])
    made = app.go(5)
    if way == "exits":
        assert app.quit(3) == 3
    else:
        app.process.kill()
    assert by_number(live.finish().expect(0).records("count"))[1] == made[1]


@pytest.mark.registers
def test_more_than_registers(place_probe, app):
    numbers = range(1, 7)
    live = watch(place_probe, app, numbers=numbers)
    assert live.has_said("is private until the end") and inject.is_private(app.pid, CODE)
    check_counts(app, live, numbers)


@pytest.mark.registers
@pytest.mark.breakpoints
def test_few(place_probe, app):
    """One method has a debug register at once; it moves only on a machine where that cannot be relied on."""
    live = watch(place_probe, app, "-v", numbers=[1])
    assert live.has_said("by hardware breakpoints$") and not inject.is_private(app.pid, CODE)
    if IS_VIRTUAL:
        live.wait_err("1 body has moved to uprobes")
        assert live.has_said("is private until the end")
    else:
        # It looks four times a second.
        time.sleep(1)
    assert inject.is_private(app.pid, CODE) == (IS_VIRTUAL is not None)
    check_counts(app, live, [1])


@pytest.mark.registers
@pytest.mark.breakpoints
def test_moves_while_it_is_called(place_probe, app):
    """Whether it moves meanwhile or not, each call counts once."""
    numbers = range(3)
    live = watch(place_probe, app, "--strict", numbers=numbers)
    made = [0] * many.NUMBER
    for _ in range(30):
        made = [had + now for had, now in zip(made, app.go(20))]
    result = live.stop().expect(0)
    counted = by_number(result.records("count"))
    assert [counted[i] for i in numbers] == [made[i] for i in numbers], str(result)


@pytest.mark.parametrize("options", [["--no-remap"], ["--remap=never"], ["--remap", "--no-remap"]], ids=" ".join)
def test_never(place_probe, app, options):
    """Though there is no register; the option that is given last counts."""
    refused = place_probe.run("-c", *options, app.pid, "Many.Generated::M001").expect(4)
    assert "no debug register is free" in refused.err and "or --remap, which needs none" in refused.err
    assert not inject.is_private(app.pid, CODE)


def test_always(place_probe, app):
    live = watch(place_probe, app, "--no-remap", "--remap=always", numbers=[1])
    assert inject.is_private(app.pid, CODE)
    check_counts(app, live, [1])


@pytest.mark.registers
@pytest.mark.breakpoints
def test_registers_become_few(place_probe):
    """All of it is compiled while it is watched: it moves once it is short of registers and its pages are full."""
    assert breakpoints.fire()
    numbers = range(1, 7)
    target = many.start("many10")
    try:
        live = watch(place_probe, target, "-v", "--wait", numbers=numbers)
        assert not inject.is_private(target.pid, CODE)
        target.seal()
        live.wait_err("bodies have moved to uprobes")
        assert inject.is_private(target.pid, CODE)
        live.stop().expect(0)
        assert not inject.is_private(target.pid, CODE)
    finally:
        target.close()


def test_nothing_is_done_to_list(place_probe, app):
    """What a dry run shows has no uprobes in such code, unless they are asked for."""
    sites = place_probe.run("-l", "-j", app.pid, "Many.Generated::M001").expect(0).records("site")
    assert sites and all(site["file"] != "memfd:doublemapper" for site in sites)
    assert not inject.is_private(app.pid, CODE)


def test_bad_word(place_probe):
    result = place_probe.run("-c", "--remap=sometimes", "1", "T::m").expect(2)
    assert "sometimes" in result.err and "always, auto or never" in result.err
