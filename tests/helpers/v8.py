# SPDX-License-Identifier: GPL-2.0-or-later
"""JavaScript stacks of Node processes: as V8 itself prints them, and as tests/tools/v8_stack finds them."""

import contextlib
import dataclasses
import pathlib
import re
import subprocess

from . import machine, node

APP = machine.TREE / "tests/apps/node/stacks.js"
MODULE = machine.TREE / "tests/apps/node/stacks.mjs"
WAYS = machine.TREE / "tests/apps/node/ways.js"
ANONYMOUS = "<anonymous>"


@dataclasses.dataclass(frozen=True)
class Frame:
    name: str
    script: str = None
    line: int = 0
    column: int = 0
    tier: str = dataclasses.field(default=None, compare=False)
    inlined: bool = dataclasses.field(default=False, compare=False)

    def __str__(self):
        where = f" {self.script}:{self.line}:{self.column}" if self.line else ""
        return f"{self.name}{where}" + (f" [{self.tier}{', inlined' if self.inlined else ''}]" if self.tier else "")


def oracle_frame(text):
    """Of `NAME (PLACE)` or `PLACE`, as V8 writes it behind "at"."""
    name, separator, place = text.partition(" (") if text.endswith(")") else ("", "", text)
    place = place.removesuffix(")") if separator else place
    # eval() says where it was called, what it was given has no name.
    place = re.sub(r"^eval at .*, (?=[^,]*$)", "", place)
    match = re.fullmatch(r"(.*):(\d+):(\d+)", place)
    if not match:
        return Frame(name or ANONYMOUS)
    script = match[1] if match[1] != ANONYMOUS else None
    return Frame(name or ANONYMOUS, script, int(match[2]), int(match[3]))


def oracle(text):
    """The frames of an Error's stack, the innermost first, but those that are not on the stack: of functions that
    will go on once something has come that they await."""
    lines = [line.removeprefix("    at ") for line in text.splitlines() if line.startswith("    at ")]
    return [oracle_frame(line) for line in lines if not line.startswith("async ")]


def own_name(frame):
    return frame.name.partition(" [as ")[0].split(".")[-1]


def is_same(found, said):
    """What was inlined is named without what it was called on."""
    if found.inlined and (found.name == own_name(said) or said.name.endswith(f".{found.name}")):
        said = dataclasses.replace(said, name=found.name)
    return found == said


def found_frame(line):
    kind, tier, inlined, name, _, script, line_number, column, reason, script_id, _, again = line.split("\t")
    assert kind == "js", line
    # All but builtins can be found by their numbers, should they have moved.
    assert again == ("1" if int(script_id) else "0"), line
    none = {"-": None}
    return Frame(none.get(name, name), none.get(script, script), int(line_number), int(column),
                 none.get(tier, tier) + (f": {reason}" if reason else ""), inlined == "1")


class Stack:
    """What v8_stack has found."""

    def __init__(self, pid, tid=None):
        result = machine.run(machine.tool("v8_stack"), pid, *([tid] if tid else []))
        self.version, *self.lines = result.stdout.splitlines()

    def frames(self):
        assert not [line for line in self.lines if line.startswith("unknown")], str(self)
        return [found_frame(line) for line in self.lines if line.startswith("js")]

    def kinds(self):
        return [line.split("\t")[0] for line in self.lines]

    def __str__(self):
        return "\n".join([self.version, *self.lines])


class Waiting:
    """A Node process whose innermost JavaScript function waits for the end of its input."""

    def __init__(self, version, way, directory, flags=(), program=APP, executable=None):
        self.way = way
        self.file = directory / f"{version}-{way}-{program.suffix[1:]}.stack"
        self.process = subprocess.Popen([executable or node.program(version), *flags, program, self.file, way],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait_ready(self):
        """The thread whose innermost function is in read()."""
        line = self.process.stdout.readline()
        assert line.startswith("ready"), f"{self.way}: ended with {self.process.wait()}"
        machine.wait_until(self.reading, "it reads")
        return self.reading()

    def reading(self):
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            # A thread that has just ended says nothing.
            with contextlib.suppress(OSError):
                if (task / "syscall").read_text().startswith("0 0x0 "):
                    return int(task.name)
        return None

    def oracle(self):
        return oracle(self.file.read_text())

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.kill()
        self.process.wait()
