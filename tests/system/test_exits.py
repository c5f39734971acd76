# SPDX-License-Identifier: GPL-2.0-or-later
"""The exits that are found in whole frameworks, in what live processes have compiled and in native
libraries, held against what binutils say of the same code, and against unwind information: where a
call ends, the epilogue has taken back all that the prologue did."""

import bisect
import collections
import pathlib
import re
import struct

import pytest

from helpers import apps, machine, objdump, pairs
from helpers.compiler import CompilerServer

pytestmark = pytest.mark.beside

TOTALS = re.compile(r": (\d+) bodies, (\d+) known, (\d+) instructions, (\d+) tables, "
                    r"(\d+) exits of unknown depth, ")
JUMP = re.compile(r"(?:(?:bnd|notrack|rex\.?\w*|cs|ds|data16) +)*(j\w+|loop\w*|xbegin) +(.*)")
TARGET = re.compile(r"([0-9a-f]+|0x[0-9a-f]+)(?: <.*>)?$")
NUMBER = re.compile(r"0x[0-9a-f]+")
ADDRESSES = (1 << 64) - 1
ALL_IS_COMPILED = {"DOTNET_ReadyToRun": "0"}
# Most loops are left for a body that goes on in their middle.
# Compilations by the compiler server, until so many bodies of it are in the last tier.
TURNS, TIER1 = 20, 100
MUCH_OSR = {"DOTNET_TieredPGO": "0", "DOTNET_TC_OnStackReplacement_InitialCounter": "1",
            "DOTNET_OSR_HitLimit": "1"}

Exit = collections.namedtuple("Exit", "at kind length target depth taken_down pointer")


class Body:
    def __init__(self, begin):
        self.begin = begin
        self.name = self.tier = self.refused = self.code = None
        self.parts = []  # (begin, size, kind)
        self.exits = {}

    def holds(self, address):
        return any(begin <= address < begin + size for begin, size, _ in self.parts)


@pytest.fixture(scope="session")
def tool():
    return machine.tool("exits")


def run(tool, *arguments):
    """All bodies, and the number of each reason for which some were refused."""
    out = machine.run(tool, "-v", *arguments, timeout=120).stdout
    bodies, refused, totals = [], collections.Counter(), None
    for line in out.splitlines():
        words = line.split()
        if TOTALS.search(line):
            totals = [int(number) for number in TOTALS.search(line).groups()]
        elif totals:
            if words[0] == "refused":
                refused[words[1]] += int(words[2])
        elif words[0] == "body":
            bodies.append(Body(int(words[1], 16)))
        elif words[0] == "part":
            bodies[-1].parts.append((int(words[1], 16), int(words[2], 16), words[3]))
        elif words[0] == "exit":
            at = int(words[1], 16)
            bodies[-1].exits[at] = Exit(at, words[2], int(words[3]), int(words[4], 16),
                                        None if words[5] == "?" else int(words[5]), int(words[6]), words[7])
        elif words[0] == "code":
            bodies[-1].code = bytes.fromhex(words[1])
        else:
            setattr(bodies[-1], words[0], words[1])
    assert totals[0] == len(bodies) and totals[0] - totals[1] == sum(refused.values())
    print(f"{arguments}: {totals[0]} bodies, {totals[1]} known, {dict(refused)}")
    return bodies, refused


def jump_target(text, shift):
    """The kind of jump that an instruction is, and where it goes; None: it is none."""
    match = JUMP.match(text)
    if not match:
        return None
    name, operand = match.groups()
    target = TARGET.match(operand.split("#")[0].strip())
    if target:
        return "jump" if name == "jmp" else "branch", int(target[1], 16) + shift & ADDRESSES
    return "jump-memory" if "PTR" in operand else "jump-register", None


def is_return(text):
    return re.match(r"(?:(?:bnd|repz?) +)*ret\b", text) is not None


def where_probed(instructions, index):
    """The address of an exit's probe."""
    return instructions[objdump.where_taken_down(instructions, index)][0]


def expected_exits(body, code):
    """What binutils' reading of a body's parts makes of it: {where its probe is to be: kind}."""
    exits, registers = {}, set()
    for (_, _, kind), (shift, instructions) in zip(body.parts, code):
        for index, (address, text) in enumerate(instructions):
            jump = jump_target(text, shift)
            if is_return(text):
                if kind != "handler":
                    exits[where_probed(instructions, index)] = "return"
            elif jump and jump[1] is None:
                # RyuJIT marks tail calls by a REX prefix, for unwinders to know them.
                if "rex.W" in text:
                    exits[where_probed(instructions, index)] = jump[0]
                elif jump[0] == "jump-memory":
                    exits[where_probed(instructions, index)] = jump[0]
                else:
                    registers.add(address)
            elif jump and not body.holds(jump[1]):
                exits[where_probed(instructions, index)] = jump[0]
    return exits


# .NET images ---------------------------------------------------------------------------------


class Image:
    """The sections of a PE and its exception directory, read without place-probe."""

    def __init__(self, path):
        self.bytes = path.read_bytes()
        pe, = struct.unpack_from("<I", self.bytes, 0x3c)
        count, = struct.unpack_from("<H", self.bytes, pe + 6)
        optional, = struct.unpack_from("<H", self.bytes, pe + 20)
        self.sections = []
        for number in range(count):
            _, rva, size, offset = struct.unpack_from("<IIII", self.bytes,
                                                      pe + 24 + optional + 40 * number + 8)
            self.sections.append((rva, size, offset))
        table, size = struct.unpack_from("<II", self.bytes, pe + 24 + 112 + 8 * 3)
        rows = self.at(table, size)
        self.unwind = {begin: info & ~1 for begin, end, info in struct.iter_unpack("<III", rows)
                       if end > begin}

    def at(self, rva, size):
        for begin, length, offset in self.sections:
            if begin <= rva < begin + length:
                return self.bytes[offset + rva - begin:offset + rva - begin + size]
        raise AssertionError(f"no section holds RVA {rva:#x}")


UNWIND_MAX_BYTES = 4 + 2 * 255
REGISTERS = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"] + \
    [f"r{number}" for number in range(8, 16)]


def read_prologue(info):
    """(registers that are pushed, bytes that are allocated, what rbp is above the final rsp)"""
    slots = info[2]
    at, pushed, allocated, frame_at = 4, [], 0, None
    codes = []
    while at < 4 + 2 * slots:
        op, operand = info[at + 1] & 15, info[at + 1] >> 4
        extra = {1: 4 if operand else 2, 4: 2, 5: 4, 8: 2, 9: 4, 11: 4}.get(op, 0)
        codes.append((op, operand, int.from_bytes(info[at + 2:at + 2 + extra], "little")))
        at += 2 + extra
    depth = 0
    for op, operand, value in reversed(codes):
        if op == 0:
            pushed.append(REGISTERS[operand])
            depth += 8
        elif op in (1, 2):
            size = 8 * operand + 8 if op == 2 else value if operand else 8 * value
            allocated += size
            depth += size
        elif op in (3, 11):
            # rbp's depth below the entry's rsp
            frame_at = depth - 16 * (value if op == 11 else info[3] >> 4)
    return pushed, allocated, frame_at


def depth_before_exit(instructions, index, prologue):
    """How deep the stack is at an exit, by the prologue's information and the epilogue's text."""
    pushed, allocated, frame_at = prologue
    popped = []
    index -= 1
    while index >= 0 and instructions[index][1].startswith("pop "):
        popped.insert(0, instructions[index][1].split()[1])
        index -= 1
    depth = 8 * len(pushed) + allocated
    text = instructions[index][1] if index >= 0 else ""
    if re.match(r"add +rsp,0x", text):
        depth -= int(NUMBER.search(text)[0], 16)
    elif re.match(r"lea +rsp,\[rbp|mov +rsp,rbp", text):
        number = re.search(r"([+-])0x([0-9a-f]+)\]", text)
        moved = int(number[1] + number[2], 16) if number else 0
        depth = frame_at - moved
    if popped != pushed[::-1]:
        return None
    return depth - 8 * len(popped)


def wrong_depths(body, code, prologue_of):
    """
    Those exits at which the epilogue has not taken back what the prologue did, and those whose probes are not where
    all of it is still there.
    """
    wrong = []
    for (begin, _, _), (_, instructions) in zip(body.parts, code):
        prologue = prologue_of(begin)
        places = {address: number for number, (address, _) in enumerate(instructions)}
        for at in body.exits.keys() & places.keys():
            leaves = places[at]
            while objdump.TAKES_DOWN.match(instructions[leaves][1]):
                leaves += 1
            depth = depth_before_exit(instructions, leaves, prologue)
            site = body.exits[at]
            whole = prologue[2] if site.pointer == "frame" else 8 * len(prologue[0]) + prologue[1]
            if depth != 0 or site.taken_down != whole:
                wrong.append((hex(at), depth, site, prologue))
    return wrong


def check_managed(bodies, code_of, directory, prologue_of=None):
    runs = [(begin, code_of(body, begin, size)) for body in bodies for begin, size, _ in body.parts]
    disassembled = objdump.disassemble(runs, directory)
    wrong = []
    for body in bodies:
        code = []
        for part in body.parts:
            begin, shift, instructions = next(disassembled)
            assert begin == part[0]
            code.append((shift, instructions))
        if body.refused:
            continue
        found = {at: site.kind for at, site in body.exits.items()}
        expected = expected_exits(body, code)
        if found != expected:
            wrong.append((hex(body.begin), found, expected))
        elif prologue_of:
            wrong += wrong_depths(body, code, prologue_of)
    assert not wrong, f"{len(wrong)} differ: {wrong[:10]}"


@pytest.mark.anyone
@pytest.mark.parametrize("app, name", [
    *pairs.few([("sc8", "System.Private.CoreLib.dll"), ("sc9", "System.Private.CoreLib.dll")]),
    ("sc10", "System.Private.CoreLib.dll"), ("sc10", "System.Linq.Expressions.dll"),
    ("r2r10", "counter.dll")])
def test_precompiled(tool, build_app, tmp_path, app, name):
    """Each body of an image: the same exits as by binutils, each after a whole epilogue."""
    path = build_app(app).parent / name
    bodies, refused = run(tool, path)
    image = Image(path)
    assert not refused
    assert sum(len(body.exits) for body in bodies) > 0.9 * len(bodies)
    # Each function of the image is one body's, handlers too.
    parts = collections.Counter(begin for body in bodies for begin, _, _ in body.parts)
    assert parts.keys() == image.unwind.keys() and set(parts.values()) == {1}
    check_managed(bodies, lambda body, begin, size: image.at(begin, size), tmp_path,
                  lambda begin: read_prologue(image.at(image.unwind[begin], UNWIND_MAX_BYTES)))


@pytest.mark.anyone
@pytest.mark.parametrize("app", pairs.few(["sc8", "sc9", "sc10", "sc11", "comp10"], "sc8", "sc11", "comp10"))
def test_frameworks(tool, build_app, app):
    """No body of a whole framework is refused, and hardly one has more exits than registers."""
    bodies = refused = few = exits = unknown = unsafe = 0
    for path in build_app(app).parent.glob("*.dll"):
        out = machine.run(tool, path, timeout=120).stdout
        match = TOTALS.search(out)
        if not match:
            continue
        bodies += int(match[1])
        refused += int(match[1]) - int(match[2])
        counts = re.search(r"bodies with 0: (\d+) 1: (\d+) 2: (\d+) 3: (\d+)", out).groups()
        few += sum(map(int, counts))
        exits += sum(map(int, re.search(r"^exits return (\d+) jump (\d+) jump-memory (\d+) "
                                        r"jump-register (\d+)", out, re.M).groups()))
        unknown += int(match[5])
        unsafe += int(re.search(r"^placeable emulated \d+ stepped \d+ refused (\d+) ", out, re.M)[1])
    print(f"{app}: {bodies} bodies, {refused} refused, {few} with at most three exits")
    assert bodies > 100000
    # A switch whose bounds were checked before a jump to it.
    assert refused <= (1 if app == "sc11" else 0)
    assert few > 0.98 * bodies
    # Hardly an exit seems to be jumped to in the midst of what takes the frame down, by a table that is none.
    assert unsafe <= (1 if app == "sc11" else 0)
    # Nearly everywhere it is proved that the stack is where it was: not behind catch blocks.
    assert unknown < 0.002 * exits


# What a process has compiled -----------------------------------------------------------------------


def check_compiled(tool, pid, directory):
    bodies, refused = run(tool, "-p", pid)
    # The process runs on: code may be gone before it is read.
    assert refused.keys() <= {"unreadable-code"} and refused.total() <= 5, refused
    # What the other tool takes most of the time for.
    check_managed([body for body in bodies if body.parts[0][1]][::1 if pairs.is_full() else 8],
                  lambda body, begin, size: body.code[begin - body.begin:][:size], directory)
    for body in bodies:
        depths = {site.depth for site in body.exits.values()} - {None}
        # A body that is entered midway takes down the frame of the one before as well.
        assert len(depths) <= 1 and (body.tier == "osr" or depths <= {0}), hex(body.begin)
        assert body.tier != "osr" or max(depths, default=0) <= 0, hex(body.begin)
    by_tier = collections.defaultdict(list)
    for body in bodies:
        by_tier[body.tier].append(len(body.exits))
    for tier, counts in by_tier.items():
        few = sum(count <= 3 for count in counts)
        print(f"{tier}: {few} of {len(counts)} bodies have at most three exits")
    return by_tier


def count_tier1(tool, pid):
    bodies, _ = run(tool, "-p", pid)
    return sum(body.tier == "tier1" for body in bodies)


@pytest.mark.anyone
@pytest.mark.parametrize("setting", pairs.few([{"DOTNET_TieredCompilation": "0"}, MUCH_OSR], MUCH_OSR),
                         ids=lambda setting: "osr" if setting is MUCH_OSR else "optimized")
def test_compiled(tool, short_tmp, setting):
    """All that a large program has compiled, in each tier."""
    server = CompilerServer(short_tmp, ALL_IS_COMPILED | setting)
    try:
        for turn in range(TURNS):
            server.compile((machine.TREE / "tests/apps/plugin").glob("*.cs"), f"{turn}.dll")
            # What is called again and again is compiled anew once nothing new has come up for a while.
            if turn and (setting is not MUCH_OSR or count_tier1(tool, server.pid) > TIER1):
                break
        tiers = check_compiled(tool, server.pid, short_tmp)
    finally:
        server.close()
    assert sum(map(len, tiers.values())) > 10000
    if setting is MUCH_OSR:
        assert len(tiers["osr"]) > 500 and len(tiers["tier1"]) > TIER1
    else:
        assert len(tiers["optimized"]) > 10000


@pytest.mark.anyone
@pytest.mark.parametrize("app", ["sc8", "sc9", "sc11"])
def test_compiled_by_others(tool, start_app, tmp_path, app):
    """The same of other runtimes."""
    target = start_app(app, tiered=True, extra=ALL_IS_COMPILED)
    for kind in apps.MOVING:
        target.calls(kind, 1000)
    tiers = check_compiled(tool, target.pid, tmp_path)
    assert sum(map(len, tiers.values())) > 500


# Native code -----------------------------------------------------------------------------------------


class Native:
    """The segments of an ELF file."""

    def __init__(self, path):
        self.bytes = path.read_bytes()
        headers, = struct.unpack_from("<Q", self.bytes, 32)
        count, = struct.unpack_from("<H", self.bytes, 56)
        self.segments = []
        for number in range(count):
            kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", self.bytes,
                                                                  headers + 56 * number)
            if kind == 1:
                self.segments.append((address, size, offset))

    def at(self, address, size):
        for begin, length, offset in self.segments:
            if begin <= address < begin + length:
                return self.bytes[offset + address - begin:offset + address - begin + size]
        raise AssertionError(f"no segment holds {address:#x}")


def functions_of(path):
    """The begins and ends of all functions but of their cold parts, sorted."""
    table = machine.run("readelf", "-sW", path, timeout=60).stdout
    rows = re.findall(r"^ *\d+: ([0-9a-f]+) +(\d+|0x[0-9a-f]+) (?:FUNC|IFUNC) .* (\S+)$", table, re.M)
    return sorted((int(address, 16), int(address, 16) + int(size, 0))
                  for address, size, name in rows if ".cold" not in name and int(address, 16))


def may_be_cold(functions, address):
    index = bisect.bisect(functions, (address, ADDRESSES))
    return not any(begin <= address < end for begin, end in functions[max(index - 20, 0):index])


def missing(body, expected, instructions, functions):
    """Exits that binutils' reading has and ours has not, unless it is seen why."""
    places = {address: number for number, (address, _) in enumerate(instructions)}
    for at in expected.keys() - body.exits.keys():
        kind, target = expected[at]
        before = " ".join(text for _, text in instructions[max(places[at] - 40, 0):places[at] + 1])
        # A jump to the function's own cold part; and a switch, which reads a table.
        if not (target and may_be_cold(functions, target)) and \
                not (kind in ("jump-memory", "jump-register") and re.search(r"\*[48]", before)):
            yield at, kind


def check_native(tool, path, directory):
    bodies, refused = run(tool, path)
    native, functions = Native(path), functions_of(path)
    wrong, elsewhere = [], []
    runs = [(body.begin, native.at(body.begin, body.parts[0][1])) for body in bodies]
    for body, (begin, shift, instructions) in zip(bodies, objdump.disassemble(runs, directory)):
        assert begin == body.begin
        if body.refused:
            continue
        expected = {}
        for address, text in instructions:
            jump = jump_target(text, shift)
            if is_return(text):
                expected[address] = "return", None
            elif jump and (jump[1] is None or not body.holds(jump[1])):
                expected[address] = jump
        wrong += missing(body, expected, instructions, functions)
        for at, site in body.exits.items():
            if not body.holds(at):
                elsewhere.append(site)
            elif at not in expected or expected[at][0] != site.kind:
                wrong.append((hex(at), site, expected.get(at)))
    assert not wrong, f"{len(wrong)} differ: {wrong[:10]}"
    # In cold parts: each is what it is said to be.
    runs = [(site.at, native.at(site.at, site.length)) for site in elsewhere]
    for site, (begin, shift, instructions) in zip(elsewhere, objdump.disassemble(runs, directory)):
        assert begin == site.at and len(instructions) == 1
        text = instructions[0][1]
        assert site.kind == ("return" if is_return(text) else jump_target(text, shift)[0])
    return bodies, refused


@pytest.mark.parametrize("library", ["libc.so.6", "libstdc++.so.6", "libcrypto.so.3"])
def test_native(tool, tmp_path, library):
    """Functions that gcc compiled, and some that people wrote."""
    cache = machine.run("ldconfig", "-p").stdout
    path = re.search(rf"\t{re.escape(library)} \(libc6,x86-64[^)]*\) => (.*)", cache)[1]
    bodies, refused = check_native(tool, pathlib.Path(path).resolve(), tmp_path)
    assert len(bodies) > 2000
    # Code that people wrote may jump behind a prefix.
    assert refused.keys() <= {"jump-into-instruction"} and refused.total() <= 3, refused


COLD = """
#include <stdlib.h>
int *volatile kept;
int depth(int n);
__attribute__((cold, noinline)) static int seldom(int n) { return *kept + n; }
int work(int n, int *p)
{
	int a[8] = { 0 };

	kept = a;
	if (n < 0) {
		a[0] = seldom(n);
		p[3] = seldom(a[0]);
		return p[3] + depth(n);
	}
	for (int i = 0; i < n; i++)
		a[i & 7] += depth(i);
	return a[n & 7];
}
"""


def test_cold_parts(tool, tmp_path):
    """What gcc has put elsewhere is a part of the function, whether its name is there or not."""
    (tmp_path / "cold.c").write_text(COLD)
    for name, flags in (("named.so", []), ("stripped.so", ["-s"])):
        machine.run("gcc", "-O2", "-fPIC", "-shared", *flags, "-o", tmp_path / name,
                    tmp_path / "cold.c")
    assert " work.cold" in machine.run("nm", tmp_path / "named.so").stdout
    assert "no symbols" in machine.run("nm", tmp_path / "stripped.so").stderr
    for name in ("named.so", "stripped.so"):
        bodies, refused = check_native(tool, tmp_path / name, tmp_path)
        assert "work" in {body.name for body in bodies}
        assert not refused
