# SPDX-License-Identifier: GPL-2.0-or-later
"""place-probe is killed at any moment: the injector shares again what is private, at once, and ends."""

import random
import time

import pytest

from helpers import inject, machine, pairs

pytestmark = [pytest.mark.alone, pytest.mark.stepped,
              pytest.mark.skipif(not machine.is_root(), reason="only root can look at other processes")]

ROUNDS = 40 if pairs.is_full() else 20
LIMIT_S = 0.1
LATEST_S = 0.03


def has_gone(pid):
    return machine.process_state(pid) in (None, "Z")


def restored(pid, name, injector):
    """Seconds until nothing is private any more, and until the injector has ended."""
    begin = time.monotonic()
    while inject.is_private(pid, name):
        assert time.monotonic() < begin + 10, "it stays private"
        time.sleep(0.0005)
    shared = time.monotonic() - begin
    machine.wait_until(lambda: has_gone(injector), "the injector ends")
    return shared


def kill_at_random(pid, name, least, probes):
    """The seconds that it took each time."""
    times = []
    chance = random.Random(pid)
    for number in range(ROUNDS):
        with inject.on(pid, name, least) as tool:
            inject.done(tool.ask("private"))
            if probes and number % 2:
                # While they are there nobody maps the rows anew.
                inject.done(tool.ask(f"probe {probes}"))
                assert inject.anonymous(pid, name) > 0
            else:
                tool.ask("forever")
                time.sleep(chance.uniform(0, LATEST_S))
            tool.process.kill()
            times.append(restored(pid, name, tool.ready["injector"]))
            assert inject.anonymous(pid, name) == 0
    return times


def judge(times, what, tell):
    times.sort()
    tell(f"{what}: shared again in {times[len(times) // 2] * 1000:.1f} ms, at most {times[-1] * 1000:.1f}")
    assert times[-1] <= LIMIT_S * machine.SCALE, times


def test_killed(tell):
    """Of a target whose thread waits, with probes in it and without."""
    with inject.Talk(machine.program("blocked"), "futex") as target:
        pid = target.ready["pid"]
        times = kill_at_random(pid, "blocked-code", 0, 1)
        said = target.ask("go")
        assert (said["wrong"], said["interrupted"], said["code"]) == (0, 0, 0), said
        assert target.end() == 0
    judge(times, "a thread that waits", tell)


def test_killed_beside_calls(start_app, tell):
    """Of a runtime, under load. No probes here: which pages may have one is not known to this test."""
    app = start_app("fd10", tiered=True)
    app.run("generic-ref", 4)
    times = kill_at_random(app.pid, "doublemapper", 32 << 10, 0)
    assert app.halt() == 4
    app.calls("static", 1000, threads=2)
    assert app.quit() == 0
    judge(times, "a runtime", tell)


def test_killed_while_stopped():
    """A target that is stopped is restored, and stays stopped."""
    with inject.Talk(machine.program("blocked"), "futex") as target:
        pid = target.ready["pid"]
        with inject.on(pid) as tool:
            inject.done(tool.ask("private"))
            target.process.send_signal(19)
            machine.wait_until(lambda: machine.thread_states(pid) == {"T"}, "it is stopped")
            tool.process.kill()
            restored(pid, "blocked-code", tool.ready["injector"])
        machine.wait_until(lambda: machine.thread_states(pid) == {"T"}, "it is stopped again")
        target.process.send_signal(18)
        assert target.ask("go")["wrong"] == 0


