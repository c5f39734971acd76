# SPDX-License-Identifier: GPL-2.0-or-later
"""However many different stacks there are, no more is kept of them than --memory says."""

import pathlib
import re

import pytest

from helpers import machine

# It has no runtime that compiles methods.
pytestmark = pytest.mark.beside(uprobes=True)

MEMORY_MB = 16
# Text that is being put together, what is read of it, of the allocator what is free; and what libdw has of the program,
# which is the same however many stacks there are.
BESIDE_MB = 8 + 16
WAYS = 400_000


@pytest.fixture
def deep(start_app):
    machine.run("make", "-C", machine.TREE, "build/tests/apps/deep")
    return start_app("deep", executable=machine.BUILD / "tests/apps/deep")


def anonymous_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"RssAnon:\s+(\d+) kB", status).group(1)) / 1024


def printed_of(words, path):
    text = path.read_text(encoding="utf-8")
    if "-f" in words:
        return sum(int(line.rpartition(" ")[2]) for line in text.splitlines())
    return text.count(" deep ")


@pytest.mark.parametrize("words", [[], ["-f"]], ids=["each", "merged"])
def test_many_stacks(place_probe, deep, tmp_path, words, unsanitized):
    live = place_probe.live(*words, f"--memory={MEMORY_MB}M", "--buffer=4M", "-o", tmp_path / "out", deep.pid,
                            "deep!hit")
    before = anonymous_mb(live.process.pid)
    deep.ask(f"ways {WAYS}", "done")
    most = anonymous_mb(live.process.pid)
    result = live.stop().expect(0)
    lost = sum(int(number) for number in re.findall(r"lost: (\d+) ", result.err))
    assert printed_of(words, tmp_path / "out") + lost == WAYS, result.err[-2000:]
    assert most < before + MEMORY_MB + BESIDE_MB
    if words:
        assert re.search(r"^\[other stacks\] \d+$", (tmp_path / "out").read_text(encoding="utf-8"), re.M)
    else:
        assert "for want of room, the oldest first" in result.err
