# SPDX-License-Identifier: GPL-2.0-or-later
"""Each fuzz target: its inputs in the tree, and new ones for a bounded time (tests/fuzz/run: for long)."""

import os
import re
import resource
import subprocess

import pytest

from helpers import fuzzed, machine, pairs

FULL = pairs.is_full()
pytestmark = pytest.mark.fuzz if FULL else pytest.mark.beside

SECONDS = int(os.environ.get("PLACE_PROBE_FUZZ_SECONDS", "60" if FULL else "0"))
# `make fuzz`: a run goes on from where the last one came to.
KEEPS = os.environ.get("PLACE_PROBE_FUZZ_KEEPS") == "1"
# "1/2" is every other target, beginning with the second: for two processes.
SHARE, OF = map(int, os.environ.get("PLACE_PROBE_FUZZ_SHARE", "0/1").split("/"))
TARGETS = fuzzed.TARGETS[SHARE::OF]
INPUTS_KEPT = machine.BUILD / "fuzz-failures"
# Of a clock on the wall: beside the registers' lane, which goes first, a target may be without a CPU for seconds.
INPUT_SECONDS = 5 if SECONDS else 60
# New inputs at least, however little of a CPU it has: of the slowest target 20 take a second.
LEAST_NEW = 50


def run(target, *words, seconds):
    """What the target says; it must end well."""
    INPUTS_KEPT.mkdir(parents=True, exist_ok=True)
    command = [machine.BUILD / "tests" / target, "-rss_limit_mb=1024", f"-timeout={INPUT_SECONDS}", "-print_final_stats=1",
               f"-artifact_prefix={INPUTS_KEPT}/{target.replace('/', '-')}-", *words]
    result = subprocess.run(command, cwd=machine.TREE, stdin=subprocess.DEVNULL, text=True, errors="replace",
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds + 120)
    tail = "\n".join(result.stdout.splitlines()[-60:])
    assert result.returncode == 0, f"exit code {result.returncode}; input kept:\n{tail}"
    return result.stdout


def cpu_seconds():
    """Of processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_and_keep(target, corpora):
    """On from where the last long run came to."""
    before, said = cpu_seconds(), None
    try:
        said = run(target, f"-max_total_time={SECONDS}", fuzzed.inputs(target), *corpora, seconds=SECONDS)
    finally:
        fuzzed.note(target, cpu_seconds() - before, said)


@pytest.fixture(scope="module", autouse=KEEPS)
def table(tell):
    yield
    for line in fuzzed.table():
        tell(line)


@pytest.mark.parametrize("target, corpus", TARGETS, ids=[target for target, _ in TARGETS])
def test_fuzz(target, corpus, tmp_path):
    # All files, and then new inputs, which go to the first directory; the corpus in the tree is only read.
    where = [tmp_path / "new", corpus, fuzzed.unpack(target, tmp_path / "distilled")]
    where[0].mkdir()
    files = sorted(path for directory in where for path in directory.iterdir() if path.is_file())
    assert files, f"{target} has no corpus in {corpus}"
    if FULL:
        # Each file of the corpus by itself, whatever the fuzzer makes of it afterwards.
        said = run(target, *files, seconds=60)
        assert len(re.findall(r"^Executed \S+ in \d+ ms", said, re.MULTILINE)) == len(files), said
    least = len(files) + LEAST_NEW
    said = run(target, f"-runs={least}", *where, seconds=60)
    assert fuzzed.executed(said) >= least, said
    for directory in where[1:]:
        assert f"{len(list(directory.iterdir()))} files found in {directory}" in said, said
    if KEEPS:
        run_and_keep(target, where[1:])
    elif SECONDS:
        run(target, f"-max_total_time={SECONDS}", *where, seconds=SECONDS)
