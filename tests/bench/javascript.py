# SPDX-License-Identifier: GPL-2.0-or-later
"""What JavaScript stacks of hits in a Node process cost: the target, and place-probe to name them."""

import contextlib
import os
import pathlib
import statistics
import tempfile
import time

import peers
from helpers import apps, machine, node, probe

CHAIN = machine.TREE / "tests/apps/node/chain.js"
PLACE_PROBE = machine.BUILD / "place-probe"
PROBED = "node!node::credentials::GetUid"
DEPTHS = (10, 40, 100)
# What the functions of the chain are; in the last each is optimised, and none is inlined.
TIERS = {
    "interpreter": ["--no-opt", "--no-maglev", "--no-sparkplug"],
    "baseline": ["--always-sparkplug", "--no-opt", "--no-maglev"],
    "turbofan": ["--no-maglev", "--no-turbo-inlining"],
}
WARM = 20_000
ROUNDS = 3
# Stacks to be named.
FRESH, SEEN, NAMED_DEPTH = 300, 20_000, 40
BATCH = 500
# Of a process that has nothing to do: the share of a CPU that it takes, looked at for so long.
IDLE, SETTLE_S = 0.02, 0.2


class Target:
    """As peers.Target: a Node process that says what a call of its native function takes."""

    def __init__(self, flags=(), version=None, cwd=None):
        self.app = apps.App([node.program(version), *flags, CHAIN], None, cwd=cwd)
        self.pid = self.app.pid
        for depth in DEPTHS:
            for _ in range(WARM // 100):
                self.calls(1, depth)
            self.calls(WARM, depth)
        self.bare = min(self.calls(peers.CALLS, DEPTHS[0]) for _ in range(peers.BATCHES))

    def calls(self, number, depth):
        return float(self.app.ask(f"calls {number} {depth}", "done")[1])

    def nanoseconds(self, calls, depth):
        time.sleep(peers.PAUSE_S)
        return self.calls(calls, depth)

    def probed(self):
        return min(self.nanoseconds(peers.CALLS, DEPTHS[0]) for _ in range(5)) > 3 * self.bare

    def fresh(self, number, depth):
        self.app.ask(f"fresh {number} {depth}", "done")

    def close(self):
        self.app.close()


@contextlib.contextmanager
def perf_event():
    """An event of perf's at the probed function, for as long as it is needed."""
    program = node.program()
    target = Target()
    try:
        listed = probe.PlaceProbe(PLACE_PROBE).run("-l", "-j", target.pid, PROBED).expect(0)
    finally:
        target.close()
    (site,) = listed.records("site")
    name = f"place_probe_chain_{os.getpid()}"
    machine.run("perf", "probe", "-q", "-x", program, "--add", f"{name}={site['file_offset']:#x}")
    try:
        yield f"probe_node:{name}"
    finally:
        machine.run("perf", "probe", "-q", "--del", f"probe_node:{name}")


def cost(flags):
    """The least nanoseconds that a call takes, by what probes it and by depth."""
    target = Target(flags)
    with contextlib.closing(target):
        words = [PLACE_PROBE, "-o", "/dev/null", "--buffer=64M", f"--max-frames={2 * DEPTHS[-1]}", target.pid, PROBED]
        return peers.take_turns(target, {
            "no probe": None,
            "--count": [*words[:1], "-c", *words[1:]],
            "--no-stack": [*words[:1], "-j", "--no-stack", *words[1:]],
            "stack": [*words[:1], "-f", *words[1:]],
        }, DEPTHS, ROUNDS)


def cost_of_perf():
    """Likewise, of perf with frame pointers, of a Node that writes down what perf is to name."""
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        event = stack.enter_context(perf_event())
        target = stack.enter_context(contextlib.closing(Target(["--perf-basic-prof", *TIERS["baseline"]], cwd=directory)))
        stack.callback(pathlib.Path(f"/tmp/perf-{target.pid}.map").unlink, missing_ok=True)
        return peers.take_turns(target, {"perf record --call-graph fp": [
            "perf", "record", "-q", "--call-graph", "fp", "-e", event, "-p", target.pid, "-o", directory / "perf.data",
        ]}, DEPTHS, ROUNDS)


def cpu_ns(pid):
    """How long the threads of a process have run."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir())


def settle(pid):
    """How long they have run once they only look now and then whether there is something to do."""
    before = cpu_ns(pid)
    while True:
        time.sleep(SETTLE_S)
        now = cpu_ns(pid)
        if now - before < SETTLE_S * 1e9 * IDLE:
            return now
        before = now


def naming(runner):
    """Microseconds of CPU for a stack: of functions that were not seen yet, and of those that were."""
    target = Target()
    with contextlib.closing(target):
        live = runner.live("-f", "--buffer=64M", "-o", "/dev/null", target.pid, PROBED)
        costs = []
        for make, number in ((lambda: target.fresh(FRESH, NAMED_DEPTH), FRESH),
                             (lambda: [target.nanoseconds(BATCH, NAMED_DEPTH) for _ in range(SEEN // BATCH)], SEEN)):
            before = settle(live.process.pid)
            make()
            costs.append((settle(live.process.pid) - before) / number / 1000)
        live.stop().expect(0)
    return costs


def bench(row, attach_once):
    print("JavaScript stacks: what a call of a native function costs Node (the best of each)")
    for tier, flags in TIERS.items():
        best = cost(flags)
        for depth in DEPTHS:
            row(f"{tier}, {depth} functions", f"{best['stack', depth] - best['--no-stack', depth]:.0f} ns",
                ", ".join(f"{name} {best[name, depth]:.0f}" for name, at in best if at == depth))
        first, *_, last = DEPTHS
        row(f"{tier}: each function beyond the first {first}",
            f"{(best['stack', last] - best['stack', first]) / (last - first):.0f} ns")
    best = cost_of_perf()
    for (name, depth), took in best.items():
        row(f"{name}, baseline, {depth} functions", f"{took:.0f} ns/call")
    runner = probe.PlaceProbe(PLACE_PROBE)
    new, seen = naming(runner)
    row(f"naming a stack of {NAMED_DEPTH} new functions", f"{new:.0f} us", "CPU time, with what it takes to read it")
    row(f"naming a stack of {NAMED_DEPTH} functions that were seen", f"{seen:.1f} us")
    for version in node.versions():
        target = Target(version=version, flags=[])
        runs = [1000 * attach_once("-f", "-o", "/dev/null", str(target.pid), "node!uv_fs_read")[0] for _ in range(9)]
        target.close()
        row(f"Node {version}: from start to attached", f"{statistics.median(runs):.0f} ms", f"best {min(runs):.0f}")
