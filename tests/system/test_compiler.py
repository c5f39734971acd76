# SPDX-License-Identifier: GPL-2.0-or-later
"""The JIT's compileMethod is found where binutils, given time, find it too; and uprobes at its
entry and its exit count as many compilations as the perf map that the runtime writes has rows."""

import re
import subprocess

import pytest

from helpers import apps, machine

pytestmark = pytest.mark.beside

LIBRARIES = ["sc8", "sc9", "sc10", "sc11"]
SINGLE_FILES = ["sf8", "sf10", "sfc10", "sf11"]
# In .NET 11 some compilations have no row in the perf map, 4 of 68, and the JIT is loaded late.
COUNTED = ["r2r10", "sc8", "sc9", "sc10", "sf8", "sf10", "sfc10"]
MANY = 50


@pytest.fixture(scope="session")
def jit_compiler():
    return machine.tool("jit_compiler")


# In files, as binutils see them --------------------------------------------------------------

class Oracle:
    """The file's functions, pointers and code, as readelf and objdump print them."""

    def __init__(self, path):
        self.path = path
        frames = machine.run("readelf", "--debug-dump=frames", path, timeout=300).stdout
        self.functions = {int(begin, 16): int(end, 16) for begin, end in
                          re.findall(r"FDE cie=\w+ pc=(\w+)\.\.(\w+)", frames)}
        rows = machine.run("readelf", "-W", "--relocs", path).stdout
        self.pointers = {int(at, 16): int(to, 16) for at, to in
                         re.findall(r"^(\w+) +\w+ R_X86_64_RELATIVE +(\w+)$", rows, re.M)}
        segments = machine.run("readelf", "-W", "--segments", path).stdout
        self.code = [tuple(int(number, 16) for number in row) for row in re.findall(
            r"^ +LOAD +(\w+) (\w+) \w+ (\w+) \w+ R E", segments, re.M)]

    def instructions(self, begin):
        """(address, mnemonic, operands with what they refer to) of the function that begins there"""
        text = machine.run("objdump", "-d", "--no-show-raw-insn", f"--start-address={begin}",
                           f"--stop-address={self.functions[begin]}", self.path).stdout
        rows = re.findall(r"^ +([0-9a-f]+):\t(\S+) *(.*)$", text, re.M)
        return [(int(address, 16), mnemonic, operands) for address, mnemonic, operands in rows]

    def offset(self, address):
        (offset, start, _), = [segment for segment in self.code
                               if segment[1] <= address < segment[1] + segment[2]]
        return address - start + offset

    def get_jit(self):
        """What getJit returns."""
        symbols = machine.run("nm", "-D", self.path).stdout
        begin = int(re.search(r"^(\w+) T getJit\b", symbols, re.M)[1], 16)
        objects = {int(address, 16) for _, mnemonic, operands in self.instructions(begin)
                   for address in re.findall(r"# (\w+)", operands) if mnemonic == "lea"}
        found, = objects & self.pointers.keys()
        return found

    def ends(self, begin):
        """File offsets of a function's first instruction and of its one ret."""
        code = self.instructions(begin)
        assert code[0][1:] == ("push", "%rbp"), code[0]
        ret, = [address for address, mnemonic, _ in code if mnemonic.startswith("ret")]
        for _, mnemonic, operands in code:
            if mnemonic.startswith("j"):
                target = int(operands.split()[0], 16)
                assert begin < target < self.functions[begin], f"{mnemonic} {operands}"
        return self.offset(begin), self.offset(ret)


def found_in(jit_compiler, way, path):
    line = machine.run(jit_compiler, way, path).stdout.split()
    assert line[0] == way
    return tuple(int(word, 16) for word in line[1:])


@pytest.mark.anyone
@pytest.mark.parametrize("variant", LIBRARIES)
def test_in_libraries(jit_compiler, build_app, variant):
    path = build_app(variant).parent / "libclrjit.so"
    oracle = Oracle(path)
    table = oracle.pointers[oracle.get_jit()]
    expected = oracle.ends(oracle.pointers[table])
    assert found_in(jit_compiler, "library", path) == expected
    # The way for single files needs no getJit, but finds it here as well.
    assert found_in(jit_compiler, "linked", path) == expected


@pytest.mark.anyone
@pytest.mark.parametrize("single, library", [("sf8", "sc8"), ("sf10", "sc10"), ("sfc10", "sc10"), ("sf11", "sc11")])
def test_in_single_files(jit_compiler, build_app, single, library):
    """The function is the one of the library of the same version, linked elsewhere."""
    path, library = build_app(single), build_app(library).parent / "libclrjit.so"
    entry, end = found_in(jit_compiler, "linked", path)
    entry_there, end_there = found_in(jit_compiler, "library", library)
    size = end - entry
    assert size == end_there - entry_there
    code, code_there = path.read_bytes(), library.read_bytes()
    differences = [i for i in range(size) if code[entry + i] != code_there[entry_there + i]]
    # Where it calls to, and what it is called with, are each four bytes.
    assert len(differences) <= 2 * 4, differences


@pytest.mark.anyone
def test_in_other_files(jit_compiler):
    for way, path, why in [("library", "/bin/sh", "does not export getJit"),
                           ("linked", "/bin/sh", "0 functions begin as it does"),
                           ("library", "/etc/passwd", "no 64-bit ELF file"),
                           ("linked", "/dev/null", "no 64-bit ELF file")]:
        result = machine.run(jit_compiler, way, path, check=False)
        assert result.returncode == 1 and why in result.stderr, result


# In processes --------------------------------------------------------------------------------

needs_root = pytest.mark.skipif(not machine.is_root(),
                                reason="only root can put probes on a process")


class Counter:
    """Counts what goes in and out of compileMethod of a process, from now on."""

    def __init__(self, jit_compiler, pid):
        self.process = subprocess.Popen([str(jit_compiler), str(pid)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ways = {}
        for line in self.process.stdout:
            if line == "counting\n":
                return
            way, entry, end = line.split()
            self.ways[way] = (int(entry, 16), int(end, 16))
        raise AssertionError(f"jit_compiler ended with {self.process.wait()}")

    def stop(self):
        """How many were counted going in, and out."""
        text, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        word, entries, exits = text.split()
        assert word == "counted"
        return int(entries), int(exits)


@needs_root
@pytest.mark.parametrize("variant", COUNTED)
def test_counts(jit_compiler, start_mapped, plugin, variant):
    """Without tiers nothing is compiled but what we ask for: each row is one call."""
    app, perf_map = start_mapped(variant, tiered=False)
    app.calls("final-static", 1)
    before = len(perf_map)
    counter = Counter(jit_compiler, app.pid)
    app.plugin("file", plugin, "menagerie")
    app.calls("final-other", 2, threads=2)
    rows = len(perf_map) - before
    entries, exits = counter.stop()
    assert rows > MANY and entries == rows and exits == rows, (rows, entries, exits)
    if variant in SINGLE_FILES:
        assert set(counter.ways) == {"linked", "running"}
        assert counter.ways["linked"] == counter.ways["running"]
    else:
        assert set(counter.ways) == {"library"}


@needs_root
@pytest.mark.parametrize("variant", ["r2r10", "sc8", "sc9", "sf8", "sf10"])
def test_counts_through_the_tiers(jit_compiler, start_mapped, plugin, variant):
    """A thread of the runtime's own compiles, too: it may just be at it when counting begins or
    ends, at which one call may be half counted."""
    app, perf_map = start_mapped(variant)
    before_all = len(perf_map)
    counter = Counter(jit_compiler, app.pid)
    before = len(perf_map)
    app.plugin("file", plugin, "menagerie")

    def is_warm():
        app.calls("static", 50)
        return "tier1" in perf_map.tiers(apps.METHODS["static"])

    machine.wait_until(is_warm, "a method reaches tier 1", seconds=30)
    rows = len(perf_map) - before
    entries, exits = counter.stop()
    # The row of what is being compiled comes behind its exit.
    most = len(perf_map) - before_all
    assert abs(entries - exits) <= 1 and MANY < rows <= entries + 1, (rows, entries, exits)
    assert entries <= most + 1, (most, entries, exits)
