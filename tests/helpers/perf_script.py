# SPDX-License-Identifier: GPL-2.0-or-later
"""A strict reader of what `perf script -F comm,pid,tid,time,period,event,ip,sym,symoff,dso` prints, by perf-script(1)."""

import dataclasses
import re

HEADER = re.compile(r"(?P<comm>\S+) +(?P<pid>\d+)/(?P<tid>\d+) +(?P<seconds>\d+)\.(?P<micros>\d{6}): +"
                    r"(?P<period>\d+) (?P<event>[\w-]+:[\w-]+): \n")
FRAME = re.compile(r"\t(?P<ip> *[0-9a-f]+) (?P<sym>\S.*?)(?:\+0x(?P<offset>[0-9a-f]+))? \((?P<dso>[^ ()]+)\)\n")


@dataclasses.dataclass
class Frame:
    """One line of a stack."""
    ip: int
    sym: str
    offset: int
    dso: str


@dataclasses.dataclass
class Sample:
    """A header and its stack, innermost first."""
    comm: str
    pid: int
    tid: int
    time_us: int
    period: int
    event: str
    frames: list


def frame_of(line):
    match = FRAME.fullmatch(line)
    assert match, f"no line of a stack: {line!r}"
    assert len(match["ip"]) >= 16, line
    return Frame(int(match["ip"], 16), match["sym"], int(match["offset"] or "0", 16), match["dso"])


def parse(text):
    """All samples, each ended by an empty line, and the comments."""
    comments = [line for line in text.splitlines() if line.startswith("#")]
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("#")]
    samples, head = [], None
    for line in lines:
        if head is None:
            head = HEADER.fullmatch(line)
            assert head, f"no head of a sample: {line!r}"
            frames = []
        elif line == "\n":
            samples.append(Sample(head["comm"], int(head["pid"]), int(head["tid"]),
                                  int(head["seconds"]) * 1_000_000 + int(head["micros"]),
                                  int(head["period"]), head["event"], frames))
            head = None
        else:
            frames.append(frame_of(line))
    assert head is None, f"a sample has no end: {text[-200:]}"
    return samples, comments
