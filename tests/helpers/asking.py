# SPDX-License-Identifier: GPL-2.0-or-later
"""An interpreter without a runtime of ours, which calls getppid() as often as it is told."""

from . import apps

SCRIPT = """
import os, sys
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    number = int(line.split()[1])
    for _ in range(number):
        os.getppid()
    print("done", number, flush=True)
"""


def start(before=""):
    """One that runs `before` first."""
    return apps.App(["/usr/bin/python3", "-c", before + SCRIPT], None)
