# SPDX-License-Identifier: GPL-2.0-or-later
"""Where all of a program's code is precompiled, .NET 11 loads its JIT when a method is first compiled
anew: what is attached before that follows its methods all the same."""

import re
import shutil

import pytest

from helpers import machine

CALLS = 100_000
# Whether or not there is a debug register for it, the compilation was seen, and its thread held.
SEEN = re.compile(r"Kinds::Static\(int32\) \[\w+\] at 0x\w+: compiled in \d+ us, held for \d+ us")


def has_jit(app):
    with open(f"/proc/{app.pid}/maps", encoding="utf-8") as rows:
        return "libclrjit.so" in rows.read()


@pytest.fixture
def home(build_app, short_tmp):
    """The app in a directory of its own, with its runtime."""
    shutil.copytree(build_app("sc11").parent, short_tmp / "app")
    return short_tmp / "app"


class Counted:
    """A count of a method that gets other tiers meanwhile."""

    def __init__(self, place_probe, app, *options):
        self.app = app
        self.before = app.count("static")
        self.live = place_probe.count("-v", "--strict", *options, app.pid, "Counted.Kinds::Static")

    def end(self, is_warm):
        """What it says, and how many calls were made."""
        def make_calls():
            self.app.calls("static", CALLS)
            return is_warm()

        machine.wait_until(make_calls, "methods are compiled anew", seconds=30)
        self.app.calls("static", CALLS)
        return self.live.stop(), self.app.count("static") - self.before


# In a single file nothing leads to the JIT before it is used.
@pytest.mark.parametrize("variant, means", [("sc11", "any"), ("sc11", "perf"), ("sf11", "any")])
def test_methods_are_followed(place_probe, start, variant, means):
    app = start(variant)
    assert not has_jit(app)
    counted = Counted(place_probe, app, f"--uprobe-by={means}")
    result, made = counted.end(lambda: SEEN.search(counted.live.err_so_far()))
    assert "not followed" not in result.err and "libclrjit" not in result.err, str(result)
    count, = result.records("count")
    assert count["calls"] == made or count["lower_bound"] == ["no-debug-register"], str(result)


def check_unseen(result, made):
    count, = result.records("count")
    assert count["calls"] < made and count["lower_bound"], str(result)
    assert result.code == 5 and not SEEN.search(result.err), str(result)


def test_another_jit_is_loaded(place_probe, start, home):
    """The file that was found is replaced before the runtime opens it: that calls are missing is said."""
    app = start("sc11", executable=home / "counter")
    assert not has_jit(app)
    counted = Counted(place_probe, app)
    shutil.copy(home / "libclrjit.so", home / "new")
    (home / "new").rename(home / "libclrjit.so")
    check_unseen(*counted.end(lambda: has_jit(app)))


def test_jit_is_not_to_be_trusted(place_probe, start, home):
    (home / "libclrjit.so").chmod(0o666)
    app = start("sc11", executable=home / "counter")
    assert not has_jit(app)
    result, made = Counted(place_probe, app).end(lambda: has_jit(app))
    assert "others than its owner may write it; chmod go-w" in result.err, str(result)
    check_unseen(result, made)
