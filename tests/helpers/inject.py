# SPDX-License-Identifier: GPL-2.0-or-later
"""The injector on a target (tests/tools/inject.c), and what the target's tables say."""

import json
import pathlib
import re
import subprocess

from . import machine

ROW = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (....) ([0-9a-f]+) \S+ (\d+) *(.*)$")


class Talk:
    """A program that answers lines with lines of JSON."""

    def __init__(self, *command, **options):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, **options)
        self.ready = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        assert line, f"it has ended with {self.process.wait()}"
        return json.loads(line)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line):
        self.tell(line)
        return self.answer()

    def end(self):
        """Its exit code, once its input has ended."""
        self.process.stdin.close()
        return self.process.wait(timeout=30 * machine.SCALE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def on(pid, name="blocked-code", least=0, **options):
    """The injector on the executable rows of files that are named so, of so many bytes at least."""
    return Talk(machine.tool("inject"), pid, name, least, **options)


def done(answer):
    """Of an answer that is no refusal."""
    assert answer["code"] == 0, answer
    return answer


def rows(pid, name="blocked-code"):
    """[(start, end, permissions, offset)] of the executable rows of such files."""
    found = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        start, end, permissions, offset, _, path = ROW.match(line).groups()
        if name in path and "x" in permissions:
            found.append((int(start, 16), int(end, 16), permissions, int(offset, 16)))
    return found


def is_private(pid, name="blocked-code"):
    """Is one of them?"""
    return any(permissions.endswith("p") for _, _, permissions, _ in rows(pid, name))


def anonymous(pid, name="blocked-code"):
    """KiB that the process has copies of in such files."""
    total, ours = 0, False
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        row = ROW.match(line)
        if row:
            ours = name in row[6]
        elif ours and line.startswith("Anonymous:"):
            total += int(line.split()[1])
    return total
