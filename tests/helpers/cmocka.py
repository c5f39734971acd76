# SPDX-License-Identifier: GPL-2.0-or-later
"""What came of a cmocka program, by its exit code and what it printed."""

import dataclasses
import re

SKIPPED = 77  # UNIT_SKIPPED in tests/unit/unit.h
PASSED = re.compile(r"^\[ +PASSED +\] (\d+) test", re.M)
SKIPPED_TEST = re.compile(r"^\[ +SKIPPED +\] (\w+)$", re.M)
WHY_PROGRAM = re.compile(r"^skipped: (.+)$", re.M)
WHY_TEST = re.compile(r"^skipped: (\w+): (.+)$", re.M)


@dataclasses.dataclass
class Outcome:
    failure: str = ""
    # Why the whole program tried nothing.
    skipped: str = ""
    # Why which of its tests were not tried.
    parts: dict = dataclasses.field(default_factory=dict)


def outcome(code, output):
    if code == SKIPPED and not PASSED.search(output):
        why = WHY_PROGRAM.search(output)
        return Outcome(skipped=why[1]) if why else Outcome(failure="it was skipped and did not say why")
    if code != 0:
        return Outcome(failure=f"exit code {code}")
    reasons = dict(WHY_TEST.findall(output))
    parts = {test: reasons.get(test) for test in SKIPPED_TEST.findall(output)}
    silent = [test for test, why in parts.items() if not why]
    if silent:
        return Outcome(failure=f"these were skipped and did not say why: {', '.join(silent)}")
    passed = PASSED.search(output)
    if not (passed and int(passed[1])) and not parts:
        return Outcome(failure="exit code 0, and no test was run")
    return Outcome(parts=parts)
