# SPDX-License-Identifier: GPL-2.0-or-later
"""Each fuzz target runs for a bounded time, beginning with its corpus in the tree."""

import os
import subprocess

import pytest

from helpers import machine

TARGETS = sorted(path.stem for path in (machine.TREE / "tests/fuzz").glob("fuzz_*.c"))
SECONDS = int(os.environ.get("PLACE_PROBE_FUZZ_SECONDS", "10"))
INPUTS_KEPT = machine.BUILD / "fuzz-failures"


@pytest.mark.parametrize("target", TARGETS)
def test_fuzz(target, tmp_path):
    corpus = machine.TREE / "tests/fuzz/corpus" / target.removeprefix("fuzz_")
    assert corpus.is_dir() and any(corpus.iterdir()), f"{target} has no corpus in {corpus}"
    new_inputs = tmp_path / "corpus"
    new_inputs.mkdir()
    INPUTS_KEPT.mkdir(parents=True, exist_ok=True)
    # New inputs go to the first directory; the corpus in the tree is only read.
    command = [machine.BUILD / "tests/fuzz" / target, f"-max_total_time={SECONDS}",
               "-rss_limit_mb=1024", "-timeout=5", "-print_final_stats=1",
               f"-artifact_prefix={INPUTS_KEPT}/{target}-", new_inputs, corpus]
    result = subprocess.run(command, cwd=machine.TREE, stdin=subprocess.DEVNULL, text=True,
                            errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            timeout=SECONDS + 120)
    tail = "\n".join(result.stdout.splitlines()[-60:])
    assert result.returncode == 0, f"exit code {result.returncode}; input kept:\n{tail}"
