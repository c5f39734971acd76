# SPDX-License-Identifier: GPL-2.0-or-later
"""A Node process whose own native functions are timed: it lives, and its calls are all told apart."""

import shutil
import subprocess

import pytest

from helpers import latency, machine

PROGRAM = machine.TREE / "tests/apps/node/storm.js"
# The garbage collector's, those of isolates, which come and go, and some that call JavaScript back.
TIMED = ["node!v8::internal::Heap::*", "node!v8::internal::Isolate::*", "node!node::worker::*",
         "node!node::crypto::*", "node!v8::internal::Execution::*"]


class Node:
    """The target; it says what it has computed when it is told to."""

    def __init__(self):
        self.process = subprocess.Popen([shutil.which("node"), PROGRAM], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == f"ready {self.process.pid}\n"
        self.pid = self.process.pid

    def run(self, rounds):
        self.process.stdin.write(f"run {rounds}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self):
        self.process.stdin.close()
        return self.process.wait(timeout=30 * machine.SCALE)


@pytest.fixture
def node():
    if not shutil.which("node"):
        pytest.skip("there is no Node here")
    started = []

    def start():
        started.append(Node())
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


def test_storm_with_workers(place_probe, node, tell):
    target, other = node(), node()
    before, _ = latency.changed_code(target.pid)
    live = place_probe.live("-H", "-j", "--strict", target.pid, *TIMED, timeout=60)
    assert target.run(6) == other.run(6) != ""
    result = live.stop().expect(0)
    after, compared = latency.changed_code(target.pid)
    assert compared > 1 << 20 and after == before, "\n".join(["the code was changed:", *after])
    assert target.end() == 0 and other.end() == 0
    hists = result.records("hist")
    assert live.sites > 500 and len(hists) > 50
    calls = sum(record["count"] for record in hists)
    assert calls > 10_000 and result.summary()["hits"] == calls + sum(
        record["unwound"] + record["unfinished"] for record in hists)
    tell(f"node: storm with {live.sites} functions timed, {calls} calls of {len(hists)}")
