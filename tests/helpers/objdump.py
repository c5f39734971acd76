# SPDX-License-Identifier: GPL-2.0-or-later
"""Code as binutils reads it, which share nothing with Zydis."""

import re
import subprocess

from . import machine

# What .NET's unwinder takes for the end of a frame, if a return or a jump follows.
TAKES_DOWN = re.compile(r"pop +r|add +rsp,0x|lea +rsp,\[rbp|mov +rsp,rbp|leave")

# So much is put behind each run of code that a mistake in one is over before the next begins.
GAP = bytes([0xcc]) * 16


def _write_elf(runs, directory):
    """An object file with all runs in a row, each with a symbol, where objdump begins anew."""
    with open(directory / "code.bin", "wb") as blob, open(directory / "code.s", "w") as source:
        source.write(f'.text\nbase: .incbin "{blob.name}"\n')
        offset = 0
        for number, (_, code) in enumerate(runs):
            source.write(f".set run_{number}, base + {offset}\n.type run_{number}, @function\n"
                         f".set gap_{number}, base + {offset + len(code)}\n")
            blob.write(code + GAP)
            offset += len(code) + len(GAP)
    machine.run("as", "-o", directory / "code.o", directory / "code.s", timeout=120)
    return directory / "code.o"


def where_taken_down(instructions, index):
    """The index of the first instruction that takes down the frame for an exit, or of the exit."""
    while index > 0 and TAKES_DOWN.match(instructions[index - 1][1]):
        index -= 1
    return index


def disassemble(runs, directory):
    """
    Yield (begin, shift, [(address, text), ...]) of each of `runs`, a list of (begin, bytes), in
    Intel's syntax. Addresses in a text are those of the file made for objdump: `shift` less.
    """
    elf = _write_elf(runs, directory)
    process = subprocess.Popen(["objdump", "-d", "-M", "intel", "--no-show-raw-insn", elf],
                               stdout=subprocess.PIPE, text=True)
    begin = shift = None
    found = []
    for line in process.stdout:
        if line.endswith(">:\n"):
            if begin is not None:
                yield begin, shift, found
            address, name = line.split()
            begin, found = None, []
            kind, _, number = name.strip("<>:").partition("_")
            if kind == "run":
                begin = runs[int(number)][0]
                shift = begin - int(address, 16)
        elif begin is not None and line.startswith(" "):
            address, _, text = line.partition(":\t")
            found.append((int(address, 16) + shift, text.rstrip()))
    if begin is not None:
        yield begin, shift, found
    assert process.wait() == 0
