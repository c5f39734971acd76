# SPDX-License-Identifier: GPL-2.0-or-later
"""Where all of a program's code is precompiled, .NET 11 loads its JIT when a method is first compiled
anew: what is attached before that follows its methods all the same."""

import re
import shutil

import pytest

CALLS = 100_000


def has_jit(app):
    with open(f"/proc/{app.pid}/maps", encoding="utf-8") as rows:
        return "libclrjit.so" in rows.read()


@pytest.fixture
def home(build_app, short_tmp):
    """The app in a directory of its own, with its runtime."""
    shutil.copytree(build_app("sc11").parent, short_tmp / "app")
    return short_tmp / "app"


def count_while_it_tiers(place_probe, app, *options, act=lambda: None):
    """What a count says of a method that gets other tiers meanwhile, and how often it was called."""
    assert not has_jit(app)
    before = app.count("static")
    live = place_probe.count("-v", "--strict", *options, app.pid, "Counted.Kinds::Static")
    act()
    while not has_jit(app):
        app.calls("static", CALLS)
    app.calls("static", CALLS)
    return live.stop(), app.count("static") - before


@pytest.mark.parametrize("means", ["any", "perf"])
def test_methods_are_followed(place_probe, start, means):
    result, made = count_while_it_tiers(place_probe, start("sc11"), f"--uprobe-by={means}")
    assert "not followed" not in result.err and "libclrjit" not in result.err, str(result)
    # Whether or not there is a debug register for it, the compilation was seen, and its thread held.
    assert re.search(r"Kinds::Static\(int32\) \[\w+\] at 0x\w+: compiled in \d+ us, held for \d+ us",
                     result.err), str(result)
    count, = result.records("count")
    assert count["calls"] == made or count["lower_bound"] == ["no-debug-register"], str(result)


def test_another_jit_is_loaded(place_probe, start, home):
    """The file that was found is replaced before the runtime opens it: that calls are missing is said."""
    def replace():
        shutil.copy(home / "libclrjit.so", home / "new")
        (home / "new").rename(home / "libclrjit.so")

    app = start("sc11", executable=home / "counter")
    result, made = count_while_it_tiers(place_probe, app, act=replace)
    count, = result.records("count")
    assert count["calls"] < made and count["lower_bound"], str(result)
    assert result.code == 5, str(result)


def test_jit_is_not_to_be_trusted(place_probe, start, home):
    (home / "libclrjit.so").chmod(0o666)
    app = start("sc11", executable=home / "counter")
    result, made = count_while_it_tiers(place_probe, app)
    assert "others than its owner may write it; chmod go-w" in result.err, str(result)
    count, = result.records("count")
    assert count["calls"] < made and count["lower_bound"], str(result)
