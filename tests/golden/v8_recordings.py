#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the recordings of V8's memory (v8-*) and the frames that come of them (v8-*.names), as root, for each version
and way below; build/tests/tools/v8_record must be there. What differs from V8's own stack is told, and not written."""

import pathlib
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))

from helpers import machine, node, v8  # noqa: E402 (the path comes first)

GOLDEN = TESTS / "golden"
# (version of Node, way, flags): all tiers, and what each version does in its own way.
RECORDINGS = [
    ("16.9.1", "classes", []),
    ("16.9.1", "loop", []),
    ("20.20.2", "builtins", ["--always-sparkplug"]),
    ("20.20.2", "made", []),
    ("24.9.0", "wide", ["--always-sparkplug"]),
    ("24.9.0", "builtins", []),
    ("24.9.0", "called", ["--no-turbofan"]),
    ("24.9.0", "made", []),
    ("26.9.0", "classes", []),
    ("26.9.0", "made", []),
]
# Where the scripts are as the processes see it: no matter where the tree lies.
SCRIPTS = "/mnt"


def start(version, way, flags, said):
    """A process that waits, with its scripts there."""
    words = ["unshare", "--mount", "sh", "-c", f'mount --bind {TESTS}/apps/node {SCRIPTS} && exec "$@"', "sh",
             node.program(version), "--allow-natives-syntax", *flags, f"{SCRIPTS}/stacks.js", said, way]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def key(name, script, line, column):
    return name.partition(" [as ")[0].split(".")[-1], script, line, column


def is_own(frame):
    return not (frame.script or "").startswith("node:")


def differences(lines, said):
    """Between functions that are outside of the one that waits; where a recording has one twice it has moved."""
    fields = [line.split("\t") for line, before in zip(lines, ["", *lines]) if line != before]
    found = [key(one[3], one[5] if one[5] != "-" else None, int(one[6]), int(one[7])) for one in fields
             if one[0] == "js"]
    expected = [key(one.name, one.script, one.line, one.column) for one in said if is_own(one)]
    found = found[[one[0] for one in found].index("stop") + 1:]
    expected = expected[[one[0] for one in expected].index("stop") + 1:]
    return [] if found == expected and found else [f"found: {found}", f"said: {expected}"]


def record(version, way, flags):
    name = "-".join(["v8", str(node.line(version)), way, *[flag.removeprefix("--") for flag in flags]])
    with tempfile.TemporaryDirectory() as directory:
        said, out = pathlib.Path(directory) / "said", pathlib.Path(directory) / "out"
        with start(version, way, flags, said) as process:
            assert process.stdout.readline().startswith("ready")
            machine.wait_until(lambda: pathlib.Path(f"/proc/{process.pid}/syscall").read_text().startswith("0 0x0 "),
                               "it reads")
            names = machine.run(machine.tool("v8_record"), process.pid, out).stdout
            process.kill()
        told = differences(names.splitlines(), v8.oracle(said.read_text()))
        if told:
            print(name, *told, sep="\n", file=sys.stderr)
            return False
        (GOLDEN / name).write_bytes(out.read_bytes())
        (GOLDEN / f"{name}.names").write_text(names)
    return True


def main():
    return 0 if all([record(*one) for one in RECORDINGS]) else 1


if __name__ == "__main__":
    sys.exit(main())
