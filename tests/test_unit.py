# SPDX-License-Identifier: GPL-2.0-or-later
"""Each cmocka program of tests/unit is one test, as built for use and under the sanitizers."""

import pytest

from helpers import machine

PROGRAMS = sorted(path.stem for path in (machine.TREE / "tests/unit").glob("test_*.c"))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("build", ["build", "build/asan"])
def test_unit(build, program):
    result = machine.run(machine.TREE / build / "tests/unit" / program, cwd=machine.TREE,
                         timeout=120, check=False)
    assert result.returncode == 0, f"exit code {result.returncode}\n{result.stdout}{result.stderr}"
