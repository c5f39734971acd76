# SPDX-License-Identifier: GPL-2.0-or-later
"""What a stack for each call, and what timing each call, costs the target with place-probe and others.

All probe the same function of the same process, one after the other, again and again; the best round
of each counts, since what else the machine does only adds to it.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from helpers import apps, machine

DEEP = machine.BUILD / "tests/apps/deep"
DEPTHS = (16, 32)
ROUNDS = 6
BATCHES = 40
# So few at a time that perf is not throttled (400 events in 4 ms) and no buffer fills up: what is
# dropped costs less.
CALLS = 300
PAUSE_S = 0.008
SETTLE_S = 0.5  # perf lets events through a while after the probe is there
LOOKS = 3
BARE_NS = 100  # what a call takes without a probe is far below
EVENT = f"place_probe_bench_{os.getpid()}"


class Target:
    """A process that says what a call of its function takes."""

    def __init__(self):
        self.app = apps.App([DEEP], dict(os.environ))
        self.pid = self.app.pid
        _, self.address, self.exit = self.app.ask("where", "at")

    def nanoseconds(self, calls, depth):
        time.sleep(PAUSE_S)
        return float(self.app.ask(f"calls {calls} {depth}", "done")[1])

    def probed(self):
        # Who has lost the CPU meanwhile has taken as long as with a probe.
        return min(self.nanoseconds(CALLS, DEPTHS[0]) for _ in range(LOOKS)) > BARE_NS


def end(process):
    """As Ctrl-C does; bpftrace has been seen to miss one."""
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
            return
    process.kill()
    process.wait()
    raise AssertionError(f"{process.args[0]} does not end")


@contextlib.contextmanager
def running(target, command):
    """A tool that probes the target; what it prints is thrown away."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        machine.wait_until(lambda: process.poll() is not None or target.probed(),
                           f"{command[0]} attaches")
        time.sleep(SETTLE_S)
        assert process.poll() is None, f"{command[0]} has ended with {process.returncode}"
        yield
    finally:
        end(process)
    machine.wait_until(lambda: not target.probed(), f"{command[0]} detaches")


@contextlib.contextmanager
def perf_event():
    """An event of perf's at the function, for as long as it is needed."""
    machine.run("perf", "probe", "-q", "-x", DEEP, "--add", f"{EVENT}=hit")
    try:
        yield f"probe_deep:{EVENT}"
    finally:
        machine.run("perf", "probe", "-q", "--del", f"probe_deep:{EVENT}")


def commands(target, event, directory):
    """What is compared, by name; None is without a probe."""
    found = {
        "no probe": None,
        "place-probe": [machine.BUILD / "tests/tools/native_stacks", target.pid, target.address],
        "perf record -g": ["perf", "record", "-q", "-g", "-e", event, "-p", target.pid,
                           "-o", directory / "perf.data"],
    }
    if shutil.which("bpftrace"):
        found["bpftrace printf(ustack)"] = [
            "bpftrace", "-p", target.pid,
            "-e", f'uprobe:{DEEP}:hit {{ printf("%s", ustack); }}']
    return found


def take_turns(target, found, depths, rounds=ROUNDS):
    """The least nanoseconds a call takes, by what probes it and by depth."""
    best = {}
    for _ in range(rounds):
        for name, command in found.items():
            with running(target, command) if command else contextlib.nullcontext():
                for depth in depths:
                    took = min(target.nanoseconds(CALLS, depth) for _ in range(BATCHES))
                    best[name, depth] = min(took, best.get((name, depth), took))
    return best


def compare():
    """Stacks."""
    with contextlib.ExitStack() as stack:
        target = Target()
        stack.callback(target.app.close)
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        event = stack.enter_context(perf_event())
        return take_turns(target, commands(target, event, directory), DEPTHS)


def why_not(command):
    """Why a tool that ends by itself after a second cannot be compared, or None."""
    if not shutil.which(command[0]):
        return "is not installed"
    result = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, check=False, timeout=120)
    lines = ["it says nothing", *f"{result.stdout}\n{result.stderr}".strip().splitlines()]
    # What bcc says first and explains last: without headers BCC_KERNEL_SOURCE has to name some.
    why = next((line for line in lines if "kernel headers" in line), lines[-1])
    return f"has ended with {result.returncode}: {why}" if result.returncode else None


def compare_latencies():
    """Durations: the least nanoseconds a call takes, by what times it; and who cannot, and why."""
    target = Target()
    with contextlib.closing(target.app):
        funclatency = ["funclatency-bpfcc", "-p", target.pid, f"{DEEP}:hit"]
        bpftrace = ["bpftrace", "-p", target.pid, "-e",
                    f"uprobe:{DEEP}:hit {{ @start[tid] = nsecs; }} "
                    f"uretprobe:{DEEP}:hit /@start[tid]/ "
                    "{ @ = hist(nsecs - @start[tid]); delete(@start[tid]); }"]
        peers = {
            "bpftrace uretprobe, hist()": (bpftrace, ["bpftrace", "-e", "BEGIN { exit(); }"]),
            "funclatency (bcc), uretprobe": (funclatency, [*funclatency, "-d", "1"]),
        }
        missing = {name: why_not(trial) for name, (_, trial) in peers.items()}
        found = {
            "no probe": None,
            "place-probe --hist": [machine.BUILD / "tests/tools/native_latency", target.pid,
                                   target.address, target.exit],
            **{name: command for name, (command, _) in peers.items() if not missing[name]},
        }
        best = take_turns(target, found, DEPTHS[:1])
    return {name: took for (name, _), took in best.items()}, missing
