# SPDX-License-Identifier: GPL-2.0-or-later
"""Collections while calls begin and end: the runtime unwinds threads that it has interrupted in the midst of what takes
a frame down, by a look at the code there, and writes where it takes the return address to be."""

import contextlib
import ctypes
import os

import pytest

from helpers import breakpoints, objdump, pairs

# It holds the registers of all CPUs, for long.
pytestmark = [pytest.mark.alone, pytest.mark.breakpoints]

METHOD = "Timed.Interrupted::Work"
# What NativeAOT makes of it is a function of an ELF file.
FUNCTION = "latency!latency_Timed_Interrupted__Work"
SECONDS, THREADS = 8, 2


def last_instructions(app, body, directory):
    """Addresses of those that take down the frame, of a body with one exit, and of the exit."""
    with open(f"/proc/{app.pid}/mem", "rb") as memory:
        memory.seek(body["address"])
        code = memory.read(body["size"])
    [(_, _, instructions)] = objdump.disassemble([(body["address"], code)], directory)
    [leaves] = [index for index, (_, text) in enumerate(instructions) if text.startswith("ret")]
    first = objdump.where_taken_down(instructions, leaves)
    assert leaves - first > 2, instructions
    return [address for address, _ in instructions[first:leaves + 1]]


@contextlib.contextmanager
def watched_by_others(addresses):
    """Breakpoints of somebody else: where they are hit the kernel is left again, and delivers signals."""
    libc = ctypes.CDLL(None, use_errno=True)
    events = [breakpoints.event_at(libc, address, -1, cpu)
              for address in addresses for cpu in os.sched_getaffinity(0)]
    assert min(events) >= 0
    try:
        yield events
    finally:
        for event in events:
            os.close(event)


@pytest.mark.parametrize("app, method", [
    *pairs.few([("latency8", METHOD), ("latency9", METHOD)]), ("latency10", METHOD), ("latency10-aot", FUNCTION)])
def test_collections(place_probe, start_app, tmp_path, app, method):
    """No call has a wrong result, and each is timed, with threads interrupted all the time where it begins and ends."""
    target = start_app(app)
    target.ask(f"interrupted 1 {THREADS}", "interrupted")
    [body] = place_probe.run("--list", "-j", target.pid, method).expect(0).records("site")
    last = last_instructions(target, body, tmp_path)
    with watched_by_others([body["address"], last[0], last[-1]]) as events:
        live = place_probe.live("-H", "-j", target.pid, method)
        live.wait_attached()
        calls, wrong, collections = map(int, target.ask(f"interrupted {SECONDS * 1000} {THREADS}", "interrupted")[1:4])
        hits = sum(int.from_bytes(os.read(event, 8), "little") for event in events)
    result = live.stop().expect(0)
    print(f"{app}: {calls} calls, {wrong} wrong, {collections} collections, {hits} hits of breakpoints")
    assert wrong == 0
    assert calls > 1000 and collections > 100 and hits > calls
    [timed] = result.records("hist")
    assert timed["count"] == calls, str(result)
