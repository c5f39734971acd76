# SPDX-License-Identifier: GPL-2.0-or-later
"""What the parts of a run took and how they ended: a JSON file each in build/results/, and the table of them all.

A part is lint, the build, a lane of tests (tests/check), a guest (tests/kernels/check). tests/part has it written for a
command, tests/conftest.py for a process of pytest.
"""

import dataclasses
import json
import re

from . import machine

DIRECTORY = machine.BUILD / "results"
COUNTS = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")
SLOWEST = 20
# Of why a test failed, so many characters of its beginning and of its end are in the table.
WHY = 400
# Rows of their own within a lane, by where the tests are.
WITHIN = {"tests/test_unit.py": "unit programs", "tests/test_fuzz.py": "fuzz targets"}


@dataclasses.dataclass
class Part:
    """One part of a run."""
    name: str
    seconds: float = 0
    status: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    # How many tests it was to run with others that share its lane, and how many it has run.
    collected: int = 0
    ran: int = 0
    # [node id, seconds, outcome] of each test, and what its hypervisor has spoilt: [node id, the kernel's words].
    tests: list = dataclasses.field(default_factory=list)
    spoilt: list = dataclasses.field(default_factory=list)
    # What was wrong with each test that failed.
    why: dict = dataclasses.field(default_factory=dict)
    # What is wrong beside its tests, a line each: of a guest.
    problems: list = dataclasses.field(default_factory=list)

    def is_good(self):
        return self.status == 0 and self.failed == 0

    def count(self, text):
        self.passed, self.failed, self.skipped = map(int, COUNTS.fullmatch(text).groups())


def why(report):
    """What pytest says of a test that failed, in a line."""
    said = getattr(getattr(report.longrepr, "reprcrash", None), "message", None) or str(report.longrepr)
    line = " ".join(said.split())
    return line if len(line) <= 2 * WHY else f"{line[:WHY]} [...] {line[-WHY:]}"


def path(name):
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    return DIRECTORY / f"{re.sub(r'[^a-z0-9.]+', '-', name)}.json"


def write(part):
    """A part has ended now."""
    path(part.name).write_text(json.dumps(dataclasses.asdict(part), indent=1) + "\n")


def read(file, **known):
    """A part, from what its file says and what is known besides."""
    fields = {field.name for field in dataclasses.fields(Part)}
    said = {key: value for key, value in json.loads(file.read_text()).items() if key in fields}
    return Part(**(said | known))


def finish(name, status, seconds):
    """A process that was to leave its results has ended. Without any it has failed, however it ended."""
    try:
        part = read(path(name), name=name, status=status, seconds=seconds)
    except (OSError, ValueError) as error:
        print(f"{name}: ended with {status} before its tests were counted ({error})")
        part = Part(name, seconds, status or 1, failed=1)
    if status and not part.failed:
        # Nothing that it counted failed, yet it did: a skip that nobody expects, or a crash.
        part.failed += 1
    write(part)
    return part


def judge_shared(parts):
    """The processes of one lane must have run all its tests, each once; what is wrong fails the last of them."""
    ran, wanted = sum(part.ran for part in parts), max(part.collected for part in parts)
    if ran != wanted:
        parts[-1].problems.append(f"{ran} tests of {wanted} were run")
        parts[-1].failed += 1
        write(parts[-1])
    return parts


def guests():
    """Those of tests/kernels/check."""
    return [read(file) for file in sorted(DIRECTORY.glob("guest-*.json"))]


def written():
    """All parts, in the order in which they ended."""
    return [read(file) for file in sorted(DIRECTORY.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)]


def counts(parts):
    passed, failed, skipped = (sum(getattr(part, field) for part in parts)
                               for field in ("passed", "failed", "skipped"))
    return f"{passed} passed, {failed} failed, {skipped} skipped"


def rows_within(part):
    """Seconds and counts of the tests of a lane that are of a kind of their own."""
    for file, kind in WITHIN.items():
        tests = [test for test in part.tests if test[0].startswith(file)]
        if tests and len(tests) < len(part.tests):
            outcomes = [outcome for _, _, outcome in tests]
            yield (f"    {kind}", sum(seconds for _, seconds, _ in tests),
                   *(outcomes.count(outcome) for outcome in ("passed", "failed", "skipped")))


def failures(parts):
    """What failed and why: the last thing to be read of a run whose output is cut."""
    lines = []
    for part in parts:
        for what in [test for test, _, outcome in part.tests if outcome == "failed"] + part.problems:
            lines.append(f"failed: {what} ({part.name})")
            if what in part.why:
                lines.append(f"    {part.why[what]}")
    return lines


def table(parts):
    """Seconds of each part, the slowest tests, and what failed."""
    rows = [f"{'part':<44} {'seconds':>8} {'passed':>7} {'failed':>7} {'skipped':>7}"]
    for part in parts:
        rows += [f"{name:<44} {seconds:8.1f} {passed:7} {failed:7} {skipped:7}"
                 for name, seconds, passed, failed, skipped in [
                     (part.name, part.seconds, part.passed, part.failed, part.skipped), *rows_within(part)]]
    rows.append(f"the {SLOWEST} slowest tests")
    tests = [(seconds, test, part.name) for part in parts for test, seconds, *_ in part.tests]
    rows += [f"{seconds:8.1f} s  {test} ({name})" for seconds, test, name in sorted(tests, reverse=True)[:SLOWEST]]
    for part in parts:
        rows += [f"spoilt by the hypervisor, and repeated: {test} ({part.name}): {words}"
                 for test, words in part.spoilt]
    return "\n".join(rows + failures(parts))
