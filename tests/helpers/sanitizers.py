# SPDX-License-Identifier: GPL-2.0-or-later
"""What AddressSanitizer, LeakSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer report, whoever was run and however
it ended."""

import contextlib
import functools
import os
import pathlib
import shutil
import tempfile

from . import machine

# Beside the report, so that no run that was found fault with is taken for another.
EXIT_CODE = 99


@functools.cache
def is_sanitized(program):
    """Was it built by `make asan` or `make tsan`?"""
    code = program.read_bytes()
    return any(mark in code for mark in (b"__asan_init", b"__tsan_init"))


def built_by(target):
    """The place-probe that `make asan` or `make tsan` builds."""
    path = machine.BUILD / target / "place-probe"
    assert path.exists(), f"{path} has not been built: make {target}"
    assert is_sanitized(path)
    return path


def options_of(target):
    """What `make asan` or `make tsan` has the compiler look for."""
    makefile = (machine.TREE / "Makefile").read_text()
    return makefile.partition(f"\n{target}:")[2].partition('SANITIZE="')[2].partition('"')[0].split()


class Reports:
    """Sanitized programs that are started with `environment` write their reports into files."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="place-probe-reports-"))
        # Whoever runs it, in whatever sandbox that still lets it write.
        self.directory.chmod(0o777)
        common = f"log_path={self.directory}/report:exitcode={EXIT_CODE}"
        self.environment = {"ASAN_OPTIONS": f"{common}:detect_leaks=1",
                            "UBSAN_OPTIONS": f"{common}:print_stacktrace=1",
                            # The broker's threads are there to its end.
                            "TSAN_OPTIONS": f"{common}:report_thread_leaks=0"}

    def texts(self):
        return [path.read_text(errors="replace") for path in sorted(self.directory.iterdir())]

    def close(self):
        shutil.rmtree(self.directory, ignore_errors=True)


@contextlib.contextmanager
def none_expected():
    """No sanitized program that is started in here, or by what is, may report anything."""
    reports = Reports()
    before = {name: os.environ.get(name) for name in reports.environment}
    os.environ.update(reports.environment)
    try:
        yield reports
        texts = reports.texts()
        assert not texts, "sanitizers have reported:\n" + "\n".join(texts)
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        reports.close()
