# SPDX-License-Identifier: GPL-2.0-or-later
"""Source lines and inlined functions of native frames, against binutils' and LLVM's addr2line on the same addresses."""

import lzma
import re
import secrets
import shutil
import subprocess

import pytest

from helpers import machine, pairs

pytestmark = [pytest.mark.beside,
              pytest.mark.skipif(not machine.is_root(), reason="only root can look at other processes")]

SOURCES = machine.TREE / "tests/apps/lines"
# (compiler, source, options, where its debug information is)
BUILDS = [
    ("gcc", "lines.c", "-gdwarf-5", "inside"),
    ("gcc", "lines.c", "-gdwarf-4", "inside"),
    ("gcc", "lines.c", "-gdwarf-5 -gz=zlib", "inside"),
    ("gcc", "lines.c", "-gdwarf-4 -gz=zlib-gnu", "inside"),
    ("gcc", "lines.c", "-gdwarf-5", "linked"),
    ("gcc", "lines.c", "-gdwarf-4 -gz=zlib", "linked"),
    ("gcc", "lines.c", "-gdwarf-5 -static", "build id"),
    ("gcc", "lines.c", "-gdwarf-4 -fno-pie -no-pie", "linked with its symbols kept"),
    ("gcc", "lines.c", "-gdwarf-5 -static -O3 -funroll-loops", "build id"),
    ("clang", "lines.c", "-gdwarf-5", "inside"),
    ("clang", "lines.c", "-gdwarf-4", "linked"),
    ("g++", "lines.cpp", "-gdwarf-5", "inside"),
    ("g++", "lines.cpp", "-gdwarf-4", "linked"),
    ("clang++", "lines.cpp", "-gdwarf-5", "inside"),
]
HITS = 40


class Program:
    """One that is built for a test; `debug` has its debug information."""

    def __init__(self, directory, compiler, source, options, where="inside"):
        # binutils 2.40 leaves out functions that clang has inlined in more than one piece.
        self.oracles = ["llvm-addr2line"] if "clang" in compiler else ["addr2line", "llvm-addr2line"]
        self.path = self.debug = directory / "lines"
        build_id = secrets.token_hex(20)
        machine.run(compiler, "-O2", *options.split(), f"-Wl,--build-id=0x{build_id}", SOURCES / source, "-o", self.path)
        self.whole = directory / "whole"
        shutil.copy(self.path, self.whole)
        if where != "inside":
            self.debug = directory / "lines.debug"
            if where == "build id":
                self.debug = directory / "usr/lib/debug/.build-id" / build_id[:2] / f"{build_id[2:]}.debug"
                self.debug.parent.mkdir(parents=True)
            machine.run("objcopy", "--only-keep-debug", self.path, self.debug)
            machine.run("strip", *(["-g"] if "symbols" in where else []), self.path)
        if where.startswith("linked"):
            machine.run("objcopy", f"--add-gnu-debuglink={self.debug}", self.path)
        self.command = ["chroot", directory, "/lines"] if where == "build id" else [self.path]
        # (offset, address, bytes) of what is loaded.
        self.segments = [tuple(int(words[at], 16) for at in (1, 2, 4))
                         for words in map(str.split, machine.run("readelf", "-lW", self.whole).stdout.splitlines())
                         if words[:1] == ["LOAD"]]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        self.pid = int(self.process.stdout.readline().split()[1])
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def linked(self, offset):
        """The address, as linked, of what the file has there."""
        for at, address, size in self.segments:
            if at <= offset < at + size:
                return address + offset - at
        raise AssertionError(f"nothing is loaded from {offset:#x}")

    def at(self, tool, addresses):
        """What `tool` has for each: (function, file, line), the innermost first."""
        said = machine.run(tool, "-a", "-i", "-f", "-C", "-e", self.whole, *map(hex, addresses)).stdout
        # Before what is at an address it says that again.
        of_each = [part.splitlines()[1:] for part in re.split("^(?=0x)", said, flags=re.M)[1:]]
        assert len(of_each) == len(addresses), said
        return [[place_of(*pair) for pair in zip(lines[::2], lines[1::2])] for lines in of_each]


def place_of(function, place):
    file, line = re.match(r"(.*):(\d+|\?)", place).groups()
    return plain(function), file, None if line in ("?", "0") else int(line)


def plain(name):
    """Without the compiler's marks of copies and parts; functions without a name as LLVM has them."""
    name = re.sub(r"\{lambda\(([^)]*)\)#\d+\}", r"'lambda'(\1)", name or "")
    return re.sub(r"(\.(constprop|isra|part|cold|\d+))+$|( \[clone [^]]*\])+$|( \(\.[^)]*\))+$", "", name)


def raw_frames(stack, module):
    """The frames of `module`, those of one address together, with whether it is where a call returns to."""
    together = []
    for i, frame in enumerate(stack):
        if frame["module"] != module:
            continue
        if together and together[-1][-1]["inlined"]:
            together[-1].append(frame)
        else:
            together.append([frame])
    innermost = stack[0]
    return [(frames, not any(frame is innermost for frame in frames)) for frames in together]


def check(program, hits):
    """Each frame of the program is what the oracles say. How many addresses, and how deep functions were inlined."""
    compared = {}
    for hit in hits:
        for frames, returned in raw_frames(hit["stack"], program.path.name):
            address = program.linked(frames[0]["file_offset"] - returned)
            said = [(plain(frame["name"]), frame["file"], frame["line"]) for frame in frames]
            assert compared.setdefault(address, said) == said
            assert len({frame["offset"] for frame in frames}) == 1
    # libc's own code has no lines; binutils knows the file by its symbol.
    bare = [address for address, said in compared.items() if said[0][1] is None]
    for said in program.at("addr2line", bare) if bare else []:
        assert all(file is None or "/" not in file for _, file, _ in said)
    known = [address for address in compared if address not in bare]
    for tool in program.oracles if known else []:
        for address, said in zip(known, program.at(tool, known)):
            assert compared[address] == said, (hex(address), tool)
    deepest = max((len(compared[address]) for address in known), default=0)
    return len(compared), deepest


@pairs.choose("compiler, source, options, where", BUILDS)
def test_lines(place_probe, short_tmp, compiler, source, options, where):
    with Program(short_tmp, compiler, source, options, where) as program:
        module = "lines" if "-static" in options else "libc.so.6"
        image = f"{module}!getppid"
        hits = place_probe.run("-j", "-N", HITS, program.pid, image).expect(0).records("hit")
        count, deepest = check(program, hits)
        assert count >= 4 and deepest >= (4 if source == "lines.c" else 2), f"{count} addresses, {deepest} deep"
        names = {frame["name"] for hit in hits for frame in hit["stack"] if frame["inlined"]}
        expected = {"innermost", "middle", "outermost"} if source == "lines.c" else {"shop::counter<long>::add(long)"}
        assert expected <= names


@pytest.mark.parametrize("function", ["work", "by_tail_call", "sort_some"])
def test_at_the_entry(place_probe, short_tmp, function):
    """The innermost frame is where the function begins, and not one byte before."""
    with Program(short_tmp, "gcc", "lines.c", "-gdwarf-5") as program:
        hits = place_probe.run("-j", "-N", 10, program.pid, f"lines!{function}").expect(0).records("hit")
        assert {hit["stack"][0]["name"] for hit in hits} == {function}
        assert {hit["stack"][0]["offset"] for hit in hits} == {0}
        assert check(program, hits)[0] >= 2


def test_text_and_no_lines(place_probe, short_tmp):
    with Program(short_tmp, "gcc", "lines.c", "-gdwarf-5") as program:
        args = ("-N", 3, program.pid, "libc.so.6!getppid")
        text = place_probe.run(*args).expect(0).out
        assert re.search(r"^        native   innermost \(lines\) lines\.c:\d+ \[inlined\]\n"
                         r"        native   middle \(lines\) lines\.c:\d+ \[inlined\]\n"
                         r"        native   outermost \(lines\) lines\.c:\d+ \[inlined\]\n"
                         r"        native   work\+0x[0-9a-f]+ \(lines\) lines\.c:\d+$", text, re.M), text
        bare = place_probe.run("--no-lines", *args).expect(0).out
        assert "lines.c" not in bare and "inlined" not in bare and re.search(r"work\+0x[0-9a-f]+ \(lines\)$", bare, re.M)
        for hit in place_probe.run("--no-lines", "-j", *args).expect(0).records("hit"):
            assert all(frame["file"] is frame["line"] is frame["column"] is None and not frame["inlined"]
                       for frame in hit["stack"])
        folded = place_probe.run("-f", *args).expect(0).out
        assert ";work;outermost;middle;innermost;getppid " in folded and "lines.c" not in folded


def test_another_debug_file_is_not_taken(place_probe, short_tmp):
    """Of the same name, and of another build."""
    (short_tmp / "other").mkdir()
    other = Program(short_tmp / "other", "gcc", "lines.c", "-gdwarf-5 -DOTHER", "linked")
    with Program(short_tmp, "gcc", "lines.c", "-gdwarf-5", "linked") as program:
        shutil.copy(other.debug, program.debug)
        hits = place_probe.run("-j", "-N", 3, program.pid, "libc.so.6!getppid").expect(0).records("hit")
        assert not [frame for hit in hits for frame in hit["stack"] if frame["module"] == "lines" and frame["file"]]


def test_names_that_are_compressed(place_probe, short_tmp):
    """.gnu_debugdata, as rpm makes it: functions that .dynsym has not, of a program that was stripped."""
    program = Program(short_tmp, "gcc", "lines.c", "-g0")
    names, whole, bare = short_tmp / "names", program.whole, short_tmp / "bare"
    functions = {line.split()[2] for line in machine.run("nm", "--defined-only", whole).stdout.splitlines()
                 if line.split()[1] in "tT"}
    assert {"work", "compare", "main"} <= functions
    machine.run("objcopy", "-S", "--only-keep-debug", *(f"--keep-symbol={name}" for name in functions), whole, names)
    (short_tmp / "names.xz").write_bytes(lzma.compress(names.read_bytes()))
    machine.run("objcopy", "-S", "--add-section", f".gnu_debugdata={short_tmp / 'names.xz'}", whole, bare)
    assert machine.run("nm", bare, check=False).stdout == ""
    program.command = [bare]
    with program:
        hits = place_probe.run("-j", "-N", HITS, program.pid, "bare!by_tail_call").expect(0).records("hit")
        expected = re.compile(r"work|by_tail_call|two_in_a_line|compare|sort_some|main|_start")
        for hit in hits:
            found = [frame for frame in hit["stack"] if frame["module"] == "bare"]
            assert len(found) >= 4 and all(expected.fullmatch(frame["name"]) for frame in found), found
            assert found[0]["name"] == "by_tail_call" and found[0]["offset"] == 0
    text = machine.run("gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off",
                       "-ex", f"info symbol {program.linked(found[1]['file_offset'] - 1):#x}", bare).stdout
    assert text.split()[0] == found[1]["name"]
