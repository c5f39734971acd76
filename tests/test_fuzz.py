# SPDX-License-Identifier: GPL-2.0-or-later
"""Each fuzz target runs for a bounded time, beginning with its corpus in the tree."""

import os
import subprocess

import pytest

from helpers import machine

# (program in build/tests, corpus in the tree)
TARGETS = sorted(
    [(f"fuzz/{path.stem}", f"tests/fuzz/corpus/{path.stem.removeprefix('fuzz_')}")
     for path in (machine.TREE / "tests/fuzz").glob("fuzz_*.c")] +
    [(f"mapparse/{path.stem}", f"mapparse/tests/corpus/{path.stem}")
     for path in (machine.TREE / "mapparse/tests").glob("fuzz_*.c")])
SECONDS = int(os.environ.get("PLACE_PROBE_FUZZ_SECONDS", "10"))
INPUTS_KEPT = machine.BUILD / "fuzz-failures"


@pytest.mark.parametrize("target, corpus", TARGETS, ids=[target for target, _ in TARGETS])
def test_fuzz(target, corpus, tmp_path):
    corpus = machine.TREE / corpus
    assert corpus.is_dir() and any(corpus.iterdir()), f"{target} has no corpus in {corpus}"
    new_inputs = tmp_path / "corpus"
    new_inputs.mkdir()
    INPUTS_KEPT.mkdir(parents=True, exist_ok=True)
    # New inputs go to the first directory; the corpus in the tree is only read.
    command = [machine.BUILD / "tests" / target, f"-max_total_time={SECONDS}",
               "-rss_limit_mb=1024", "-timeout=5", "-print_final_stats=1",
               f"-artifact_prefix={INPUTS_KEPT}/{target.replace('/', '-')}-", new_inputs, corpus]
    result = subprocess.run(command, cwd=machine.TREE, stdin=subprocess.DEVNULL, text=True,
                            errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            timeout=SECONDS + 120)
    tail = "\n".join(result.stdout.splitlines()[-60:])
    assert result.returncode == 0, f"exit code {result.returncode}; input kept:\n{tail}"
