# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands in documents, with what is shown as their output."""

import dataclasses
import re

from . import machine

PROGRAMS = re.compile(r"(place-probe|mapparse|make|go|perf|tests/\S+|\.ci/\S+|build/\S+)( |$)")
MANUALS = ["docs/place-probe.1", "docs/mapparse.1"]
IN_TEXT = re.compile(r"`((?:make|tests/\w+) [^`\n]+|\.ci/run|tests/\w+)`")


@dataclasses.dataclass(frozen=True)
class Command:
    document: str
    text: str
    output: tuple = ()

    def __str__(self):
        return f"{self.document}: {self.text}"


def documents():
    """All that describe it to people."""
    return ["README.md", "CONTRIBUTING.md", "tests/README.md", *MANUALS,
            *sorted(f"docs/{path.name}" for path in (machine.TREE / "docs").glob("*.md"))]


def blocks(text):
    """What is indented in Markdown, or between fences, a list of lines each."""
    block, fenced = [], False
    for line in [*text.splitlines(), "end"]:
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            block.append(line if fenced else line[4:])
            continue
        elif not line and block:
            # An empty line ends a block only if what comes after it is no more of it.
            block.append("")
            continue
        if block:
            yield block
        block = []


def of_block(document, block):
    """Behind a "$" each with its output; else every line that begins with a program."""
    if not any(line.startswith("$ ") for line in block):
        for line in filter(PROGRAMS.match, block):
            yield Command(document, re.sub(r"\s{2,}#.*", "", line).strip())
        return
    command, output = None, []
    for line in [*block, "$ "]:
        if not line.startswith("$ "):
            output.append(line)
            continue
        if command:
            yield Command(document, command, tuple(filter(None, output)))
        command, output = line[2:], []


def of_manual(document, text):
    """Those of the section EXAMPLES."""
    examples = text.partition(".SH EXAMPLES\n")[2].partition("\n.SH ")[0]
    for line in examples.splitlines():
        line = line.replace("\\-", "-").replace("\\(aq", "'").replace("\\(ga", "`")
        if PROGRAMS.match(line):
            yield Command(document, line)


def commands(document):
    text = (machine.TREE / document).read_text()
    if document in MANUALS:
        yield from of_manual(document, text)
        return
    for block in blocks(text):
        yield from of_block(document, block)
    # What lies in a block is told of there.
    outside = "\n".join(line for line in text.splitlines() if not line.startswith("    "))
    for found in IN_TEXT.findall(outside):
        yield Command(document, found)


NUMBER = r"0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?"


def normal(line):
    """Without what differs from run to run and from machine to machine: numbers, units, places, bars."""
    line = re.sub(r"\S*/(\S+)", r"\1", line)
    line = re.sub(r"\|[* ]*\|", "|", line)
    line = re.sub(rf"(?<![A-Za-z_])(?:{NUMBER})", "0", line)
    line = re.sub(r"\b0 [mun]?s\b", "0 s", line)
    line = re.sub(r"\b[mun]?secs\b", "secs", line)
    line = line.replace(", unfinished 0", "").replace("uprobe_multi", "perf events")
    return " ".join(line.split())


def missing(shown, *streams):
    """The first line that is shown and that no stream has, behind what it had before; or None."""
    streams = [[normal(line) for line in stream.splitlines()] for stream in streams]
    for line in shown:
        if line.strip() == "...":
            continue
        for number, stream in enumerate(streams):
            if normal(line) in stream:
                # What is counted stands there again and again.
                streams[number] = stream[stream.index(normal(line)):]
                break
        else:
            return line
    return None
