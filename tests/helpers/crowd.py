# SPDX-License-Identifier: GPL-2.0-or-later
"""Several place-probes at once on a server that works, one after the other, for random times: of one target each asks for
its code, has it or has not, gives it back, or is killed. The server must live, and its code be its own again; one that
the hypervisor has ended (strays.py) counts as skipped."""

import collections
import os
import random
import subprocess
import threading
import time

from . import apps, inject, machine, many, strays

VARIANT = "web10"
MODES = [["-c"], ["-H"], ["-f"], ["--no-stack"], ["--watch"], ["-c", "-i", "1"], [], ["-j"], ["-c", "--share"], ["-H", "--share"]]
PATTERNS = ["Web.Shop::*", "Web.Shop::Order", "Web.Shop::Price", "Microsoft.AspNetCore.Http.*::*", "Web.*::*"]
WORKED = [1, 60, 300, 3000]  # what it has had of requests when they come
AT_ONCE = 3
LIFE_SECONDS = 20
KILLED = 0.15
# It ended in order, or there was nothing to probe as another had all registers.
FINE = {0, 4}


class Crowd:
    """Servers one after the other; `failures` are sentences."""

    def __init__(self, program, seed, tell):
        self.program = program
        self.random = random.Random(seed)
        self.tell = tell
        self.log = strays.TraceLog()
        self.counts = collections.Counter()
        self.failures = []

    def close(self):
        self.log.close()

    def run_one(self, rng, pid):
        words = ["--remap=auto", *rng.choice(MODES), "-d", f"{rng.uniform(0.2, 2.5):.2f}", "-o", os.devnull,
                 str(pid), rng.choice(PATTERNS)]
        process = subprocess.Popen([self.program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, errors="replace")
        self.tell(f"{process.pid}: {' '.join(words)}")
        killed = rng.random() < KILLED
        if killed:
            time.sleep(rng.uniform(0, 1.5))
            process.kill()
        try:
            err = process.communicate(timeout=60 * machine.SCALE)[1]
        except subprocess.TimeoutExpired:
            self.failures.append(f"{' '.join(words)} does not end; it is here:\n{machine.stacks_of(process.pid)}")
            process.kill()
            err = process.communicate()[1]
        self.tell(f"{process.pid}: {process.returncode}")
        self.counts["kills" if killed else "runs"] += 1
        if not killed and process.returncode not in FINE:
            self.failures.append(f"{' '.join(words)} ended with {process.returncode}:\n{err}")

    def live(self, seconds):
        """One server, for so long."""
        self.log.clear()
        app = apps.App([apps.build(VARIANT)], apps.environment(tiered=True), timeout=120)
        stop = threading.Event()
        until = time.monotonic() + seconds

        def work():
            while not stop.is_set() and app.process.poll() is None:
                app.ask("work 100", "done")

        def probe(rng):
            while time.monotonic() < until and app.process.poll() is None:
                self.run_one(rng, app.pid)
                time.sleep(rng.uniform(0, 0.5))

        try:
            self.tell(f"server {app.pid}")
            app.ask(f"work {self.random.choice(WORKED)}", "done")
            threads = [threading.Thread(target=probe, args=(random.Random(self.random.random()),)) for _ in range(AT_ONCE)]
            threads.append(threading.Thread(target=work))
            for thread in threads:
                thread.start()
            for thread in threads[:-1]:
                thread.join()
            stop.set()
            threads[-1].join()
            signals = self.log.lines({app.pid})
            if signals and app.process.poll() is not None:
                self.counts["spoilt"] += 1
                self.tell(f"server {app.pid} has ended with {app.process.returncode}: {signals[0].strip()}")
                return
            self.counts["servers"] += 1
            if app.process.poll() is not None:
                self.failures.append(f"server {app.pid} has ended with {app.process.returncode}")
                return
            machine.wait_until(lambda: not inject.is_private(app.pid, many.CODE), "its code is its own again", seconds=5)
            assert inject.anonymous(app.pid, many.CODE) == 0
        finally:
            stop.set()
            app.close()


def run(crowd, seconds):
    """Until then, or a failure."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not crowd.failures:
        crowd.live(min(LIFE_SECONDS, until - time.monotonic()))
