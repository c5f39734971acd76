# SPDX-License-Identifier: GPL-2.0-or-later
"""What AddressSanitizer, LeakSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer report, whoever was run and however
it ended."""

import contextlib
import os
import pathlib
import shutil
import tempfile

# Beside the report, so that no run that was found fault with is taken for another.
EXIT_CODE = 99


def is_sanitized(program):
    """Was it built by `make asan` or `make tsan`?"""
    return any(mark in program.read_bytes() for mark in (b"__asan_init", b"__tsan_init"))


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
