# SPDX-License-Identifier: GPL-2.0-or-later
"""The fuzz targets; and how far each has come in all long runs: the inputs that reached something new, from which the
next run goes on, and what each run did, in a log. Both are in the cache; no other run depends on them. What it takes of
those inputs to reach as much is in the tree, an archive for each target (tests/fuzz/distil)."""

import dataclasses
import fcntl
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import time

from . import cache, machine

HOUR = 3600
# (program in build/tests, corpus in the tree)
TARGETS = sorted(
    [(f"fuzz/{path.stem}", machine.TREE / "tests/fuzz/corpus" / path.stem.removeprefix("fuzz_"))
     for path in (machine.TREE / "tests/fuzz").glob("fuzz_*.c")] +
    [(f"mapparse/{path.stem}", machine.TREE / "mapparse/tests/corpus" / path.stem)
     for path in (machine.TREE / "mapparse/tests").glob("fuzz_*.c")])


def build(*variables):
    """Make all targets, with these variables of the Makefile."""
    subprocess.run([machine.TREE / "tests/cache.sh", "compile", "make", f"-j{os.cpu_count()}", "--no-print-directory",
                    *variables, "fuzzers"], cwd=machine.TREE, stdout=sys.stderr, check=True)


def archive(target):
    return machine.TREE / "tests/fuzz/distilled" / f"{target.replace('/', '-')}.tar.xz"


def unpack(target, where):
    """The inputs in a target's archive, into the directory `where`, which is made."""
    where.mkdir()
    if archive(target).exists():
        with tarfile.open(archive(target)) as packed:
            for member in packed:
                (where / pathlib.Path(member.name).name).write_bytes(packed.extractfile(member).read())
    return where


def pack(target, files):
    """The same files make the same archive."""
    archive(target).parent.mkdir(exist_ok=True)
    with tarfile.open(archive(target), "w:xz", format=tarfile.USTAR_FORMAT) as packed:
        for file in sorted(files):
            member = tarfile.TarInfo(file.name)
            member.size = file.stat().st_size
            with file.open("rb") as data:
                packed.addfile(member, data)


def directory():
    root = cache.prepare("fuzz")
    assert root, "nothing can be kept in the cache, and so no long run can go on from another"
    return root / "fuzz"


def inputs(target):
    """Where a target's inputs are kept."""
    path = directory() / target.replace("/", "-")
    path.mkdir(exist_ok=True)
    return path


def executed(said):
    """How many inputs libFuzzer says that it has run."""
    return int(re.search(r"^stat::number_of_executed_units: (\d+)", said, re.MULTILINE)[1])


def note(target, cpu_seconds, said):
    """A run has ended, well or not (`said` is None): what libFuzzer said at its end."""
    row = {"target": target, "at": int(time.time()), "cpu_seconds": round(cpu_seconds, 1), "failed": said is None}
    if said is not None:
        row["executed"] = executed(said)
        done = re.search(r"^#\d+\s+DONE\s+cov: (\d+) ft: (\d+) corp: (\d+)/", said, re.MULTILINE)
        row |= dict(zip(("edges", "features", "inputs"), map(int, done.groups())))
    with open(directory() / "log", "a", encoding="utf-8") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        log.write(json.dumps(row) + "\n")


@dataclasses.dataclass
class Sum:
    """Of a target, since it last failed."""
    cpu_seconds: float = 0
    executed: int = 0
    last: dict = dataclasses.field(default_factory=dict)

    def add(self, row):
        if row["failed"]:
            self.cpu_seconds, self.executed = 0, 0
        else:
            self.cpu_seconds += row["cpu_seconds"]
            self.executed += row["executed"]
            self.last = row


def sums():
    """{target: Sum} of all runs that are noted."""
    found = {}
    with open(directory() / "log", encoding="utf-8") as log:
        for line in log:
            row = json.loads(line)
            found.setdefault(row["target"], Sum()).add(row)
    return found


def table():
    """Lines: each target's, and the sum."""
    rows = sorted(sums().items())
    for target, done in rows:
        yield (f"{target}: {done.cpu_seconds / HOUR:.2f} CPU hours without a finding, {done.executed} executions, "
               f"{done.last.get('edges', 0)} edges, {done.last.get('inputs', 0)} inputs")
    yield f"all targets: {sum(done.cpu_seconds for _, done in rows) / HOUR:.2f} CPU hours without a finding"
