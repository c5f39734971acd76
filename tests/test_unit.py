# SPDX-License-Identifier: GPL-2.0-or-later
"""Each cmocka program is one test, as built for use and under the sanitizers."""

import pytest

from helpers import machine

PROGRAMS = sorted([f"unit/{path.stem}" for path in (machine.TREE / "tests/unit").glob("test_*.c")] +
                  [f"mapparse/{path.stem}"
                   for path in (machine.TREE / "mapparse/tests").glob("test_*.c")])


# What depends on the kernel runs on all of them.
ON_EACH_KERNEL = {"unit/test_breakpoints", "unit/test_capture", "unit/test_debug_registers",
                  "unit/test_entrants_x86"}


def cases():
    for build in ("build", "build/asan"):
        for program in PROGRAMS:
            marks = [pytest.mark.kernel] if build == "build" and program in ON_EACH_KERNEL else []
            yield pytest.param(build, program, marks=marks)


@pytest.mark.parametrize(("build", "program"), cases())
def test_unit(build, program):
    result = machine.run(machine.TREE / build / "tests" / program, cwd=machine.TREE,
                         timeout=120, check=False)
    assert result.returncode == 0, f"exit code {result.returncode}\n{result.stdout}{result.stderr}"


@pytest.mark.parametrize("build", ["build", "build/asan"])
def test_mapparse_command(build):
    result = machine.run(machine.TREE / "mapparse/tests/test_command",
                         machine.TREE / build / "mapparse", cwd=machine.TREE, timeout=300,
                         check=False)
    assert result.returncode == 0, f"exit code {result.returncode}\n{result.stdout}{result.stderr}"
