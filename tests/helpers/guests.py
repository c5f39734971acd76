#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What came of a guest of tests/kernels/check: its tests, and what its kernel said meanwhile.

    guests.py again CONSOLE                  exits with 0 if it panicked over nothing of ours
    guests.py complained CONSOLE             tells of what its kernel complained, and exits with 0 if of nothing
    guests.py judge NAME SECONDS STATUS EXCHANGE JSON
                                             tells, writes it to JSON, and exits with 0 if all was well
    guests.py sum JSON...                    the slowest tests of each, and the sum as the last line
"""

import json
import pathlib
import re
import sys

# What tests/kernels/init has the kernel say: without these the console has not been kept.
BEGINS = "place-probe: the guest begins"
ENDS = "place-probe: the guest ends"

COMPLAINT = re.compile("|".join([
    r"\bWARNING\b", r"\bBUG\b", r"\bOops\b", r"Kernel panic", r"general protection",
    r": [0-9a-f]{4} \[#\d+\]",  # any other exception in the kernel, with its error code and number
    r"\b(KASAN|KCSAN|KFENCE|UBSAN|KMSAN)\b",
    # Some releases of lockdep say INFO, and some WARNING.
    r"possible (circular locking|recursive locking|irq lock inversion)", r"inconsistent lock state",
    r"\b(detected stalls|self-detected stall|detected expedited stalls|stall on CPU)\b",
    r"\brcu\b.*\bstarved\b", r"INFO: task .* blocked for more than", r"soft lockup", r"hard LOCKUP",
    r"scheduling while atomic", r"Call Trace:"]))
# Those of a panic and of what leads to it.
CRASH = re.compile(r"\bBUG: (?!.*lockup)|\bOops\b|Kernel panic|general protection|: [0-9a-f]{4} \[#\d+\]|Call Trace:")
# What is harmless, as it is and why; with the time before it taken away.
HARMLESS = {
}
# What is probed with: a panic in there may well be our doing.
OURS = re.compile(r"bpf|probe|perf_|breakpoint|exc_debug|exc_int3|do_int3|do_debug|ftrace|trace_event|trampoline|"
                  r"text_poke|ring_buffer|ringbuf")
SYMBOL = re.compile(r"([\w.]+)\+0x[0-9a-f]+/0x[0-9a-f]+")
TIME = re.compile(r"^(<\d+>)?\[ *\d+\.\d+\](\[ *[TC]\d+\])? ")
# What there is of a trace after the line that complains, and of all lines in the table.
SHOWN = 40
ESSENCE = 6


def said(console):
    """The kernel's lines without their times."""
    return [TIME.sub("", line.rstrip("\r")) for line in console.splitlines()]


def is_complaint(line):
    return bool(COMPLAINT.search(line)) and line not in HARMLESS


def complaints(console):
    """What the kernel complains of, a line each."""
    return [line for line in said(console) if is_complaint(line)]


def shown(console):
    """From the first complaint on."""
    lines = said(console)
    first = next((number for number, line in enumerate(lines) if is_complaint(line)), len(lines))
    return lines[first:first + SHOWN]


def may_boot_again(console):
    """Whether it panicked, complained of nothing else, and the traces hold nothing that probes are made of."""
    told = complaints(console)
    if not any("Kernel panic" in line for line in told) or not all(CRASH.search(line) for line in told):
        return False
    symbols = SYMBOL.findall("\n".join(said(console)))
    return bool(symbols) and not any(OURS.search(symbol) for symbol in symbols)


def problems(console):
    """Why a guest's run is no success, whatever its tests say."""
    found = []
    if BEGINS not in console or ENDS not in console:
        found.append("its console was not kept from its beginning to its end")
    if complaints(console):
        found.append("its kernel complained:")
        found += [f"    {line}" for line in shown(console)]
    return found


def essence(told, console):
    """Those problems in a few lines: what the kernel complained of, and where it was."""
    heads = [line for line in told if not line.startswith("    ")]
    return heads + [line for line in said(console) if is_complaint(line) or line.startswith("RIP: ")][:ESSENCE]


def read(path):
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return ""


def judge(name, seconds, status, exchange):
    """The guest's results, and what is to be said of it; `status` is what its tests ended with."""
    results = {"passed": 0, "failed": 0, "skipped": 0, "tests": []}
    console = read(exchange / "console")
    told = problems(console)
    results["failed"] += bool(told)
    text = read(exchange / "results")
    if text:
        own = json.loads(text)
        for what in ("passed", "failed", "skipped"):
            results[what] += own[what]
        results |= {what: own[what] for what in ("tests", "why")}
    else:
        results["failed"] += 1
        told.append("the tests ended before they were counted")
    if status and not results["failed"]:
        # Such as a skip that nobody expects.
        results["failed"] += 1
        told.append(f"the tests ended with {status}")
    results["problems"] = essence(told, console)
    return {"name": name, "seconds": float(seconds), **results}, told


def slowest(guest, number=5):
    return sorted(guest["tests"], key=lambda test: -test[1])[:number]


def main(command, *arguments):
    if command == "again":
        return 0 if may_boot_again(read(pathlib.Path(arguments[0]))) else 1
    if command == "complained":
        told = problems(read(pathlib.Path(arguments[0])))
        print(*told, sep="\n", end="\n" if told else "")
        return 1 if told else 0
    if command == "judge":
        name, seconds, status, exchange, path = arguments
        guest, told = judge(name, seconds, int(status), pathlib.Path(exchange))
        pathlib.Path(path).write_text(json.dumps(guest))
        print(*told, sep="\n", end="\n" if told else "")
        return 1 if guest["failed"] else 0
    guests = [json.loads(pathlib.Path(path).read_text()) for path in arguments]
    for guest in guests:
        print(f"{guest['seconds']:6.0f} s  {guest['name']}")
        for test, seconds, *_ in slowest(guest):
            print(f"{seconds:12.1f} s  {test}")
    print(", ".join(f"{sum(guest[what] for guest in guests)} {what}" for what in ("passed", "failed", "skipped")))
    return 1 if any(guest["failed"] for guest in guests) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
