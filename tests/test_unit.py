# SPDX-License-Identifier: GPL-2.0-or-later
"""Each cmocka program is one test, as built for use and under the sanitizers."""

import shutil
import subprocess

import pytest

from helpers import cmocka, machine, pairs

SOURCES = machine.TREE / "tests/unit"
PROGRAMS = sorted([f"unit/{path.stem}" for path in SOURCES.glob("test_*.c")] +
                  [f"mapparse/{path.stem}"
                   for path in (machine.TREE / "mapparse/tests").glob("test_*.c")])
NEED_ROOT = sorted(path.stem for path in SOURCES.glob("test_*.c")
                   if "\tunit_needs_root(" in path.read_text())
NOBODY = 65534


# These take debug registers, and they and the next depend on the kernel: they run on all of them.
TAKES_REGISTERS = {"unit/test_breakpoints", "unit/test_capture", "unit/test_debug_registers",
                   "unit/test_in_flight_x86", "unit/test_rates", "unit/test_ring"}
KERNELS = {"unit/test_btf", "unit/test_vex_x86"}
MEASURES = {"unit/test_calibrate"}


def marks_of(build, program):
    if program in TAKES_REGISTERS:
        return [pytest.mark.kernel] if build == "build" else []
    other = [pytest.mark.kernel] if program in KERNELS and build == "build" else []
    return [pytest.mark.alone if program in MEASURES else pytest.mark.beside, *other]


def where_in_check(program):
    """What depends on the kernel is tried in guests, which have no sanitized build: `make unit-of-kernel`."""
    return "build" if program in KERNELS or program.removeprefix("unit/") in NEED_ROOT else "build/asan"


def cases():
    for build in ("build", "build/asan"):
        for program in PROGRAMS:
            if pairs.is_full() or build == where_in_check(program):
                yield pytest.param(build, program, marks=marks_of(build, program))


@pytest.mark.parametrize(("build", "program"), cases())
def test_unit(build, program, skip_part):
    result = machine.run(machine.TREE / build / "tests" / program, cwd=machine.TREE,
                         timeout=120, check=False)
    output = result.stdout + result.stderr
    outcome = cmocka.outcome(result.returncode, output)
    assert not outcome.failure, f"{outcome.failure}\n{output}"
    for part, why in outcome.parts.items():
        skip_part(part, why)
    if outcome.skipped:
        pytest.skip(outcome.skipped)


@pytest.mark.beside
@pytest.mark.skipif(not machine.is_root(), reason="only root can be somebody else")
@pytest.mark.parametrize("program", NEED_ROOT)
def test_without_root(program, short_tmp):
    """Who is not root is told what was not tried, and why."""
    shutil.copy(machine.BUILD / "tests/unit" / program, short_tmp)
    result = subprocess.run([short_tmp / program], cwd=short_tmp, user=NOBODY, group=NOBODY, extra_groups=[],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    outcome = cmocka.outcome(result.returncode, result.stdout + result.stderr)
    assert not outcome.failure and outcome.skipped.startswith("only root can "), result


@pytest.mark.beside
@pytest.mark.parametrize("build", ["build", "build/asan"])
def test_mapparse_command(build):
    result = machine.run(machine.TREE / "mapparse/tests/test_command",
                         machine.TREE / build / "mapparse", cwd=machine.TREE, timeout=300,
                         check=False)
    assert result.returncode == 0, f"exit code {result.returncode}\n{result.stdout}{result.stderr}"
