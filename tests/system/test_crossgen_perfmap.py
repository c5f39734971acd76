# SPDX-License-Identifier: GPL-2.0-or-later
"""What is found in a ReadyToRun image is what its compiler says it put there.

crossgen2 compiles assemblies and writes a map of the methods: addresses, sizes, names.
Each row must be found by build/tests/tools/r2r_names, and nothing else.

With PLACE_PROBE_WRITE_GOLDEN=1 the zoo's files in tests/golden are written again.
"""

import csv
import os
import pathlib
import shutil

import pytest

from helpers import machine
from helpers.crossgen import Crossgen2, WORK, build_il

pytestmark = [pytest.mark.anyone, pytest.mark.beside]

GOLDEN = machine.TREE / "tests/golden"
FIRST_PSEUDO_RVA = 0xfffffff0  # above it the map's rows speak of the map itself


@pytest.fixture(scope="session")
def names_tool():
    return machine.tool("r2r_names")


@pytest.fixture(scope="session")
def zoo():
    """The zoo as IL."""
    build_il("zoo", WORK / "zoo")
    return WORK / "zoo/zoo.dll"


def sdk():
    version, path = machine.run("dotnet", "--list-sdks").stdout.splitlines()[-1].split(" ", 1)
    return pathlib.Path(path.strip("[]")) / version




def rows_of(text):
    """{RVA: (size, name)} of "RVA SIZE NAME" lines."""
    rows = {}
    for line in text.splitlines():
        rva, size, name = line.split(" ", 2)
        if int(rva, 16) < FIRST_PSEUDO_RVA:
            assert int(rva, 16) not in rows, f"two rows for {rva}"
            rows[int(rva, 16)] = (int(size, 16), name)
    return rows


def compare(names_tool, image, perfmap, components=()):
    found = machine.run(names_tool, image, *components)
    assert "damaged 0 unnamed 0" in found.stderr
    ours, theirs = rows_of(found.stdout), rows_of(perfmap.read_text())
    assert len(theirs) > 50
    assert ours.keys() - theirs.keys() == set(), "found what the map lacks"
    assert theirs.keys() - ours.keys() == set(), "not found"
    differing = [(ours[rva], theirs[rva]) for rva in theirs if ours[rva] != theirs[rva]]
    assert differing == []


def components_of(image):
    return [path for path in image.parent.glob("*.dll") if path != image]


# Release, inputs (zoo, framework assemblies, or files of the SDK after a slash), options.
CASES = [
    (10, ["zoo"], []),
    (10, ["zoo"], ["--hot-cold-splitting"]),
    (10, ["zoo"], ["--composite", "--hot-cold-splitting"]),
    (10, ["System.Linq"], []),
    (10, ["System.Private.CoreLib"], []),
    (10, ["/FSharp/FSharp.Core"], []),
    (10, ["System.Linq", "System.Collections"], ["--composite"]),
    (10, ["System.Linq", "System.Private.CoreLib"], ["--composite", "--inputbubble"]),
    (8, ["System.Linq"], []),
    (8, ["System.Private.CoreLib"], []),
    (8, ["System.Linq", "System.Collections"], ["--composite"]),
]


def find_input(name, compiler, request):
    if name == "zoo":
        return request.getfixturevalue("zoo")
    if name.startswith("/"):
        return sdk() / (name[1:] + ".dll")
    return compiler.framework / (name + ".dll")


@pytest.mark.parametrize("release, inputs, options", CASES,
                         ids=lambda value: "-".join(map(str, value)).replace("/", "")
                         if isinstance(value, list) else str(value))
def test_perfmap(names_tool, request, release, inputs, options):
    compiler = Crossgen2(release)
    paths = [find_input(name, compiler, request) for name in inputs]
    out = WORK / "out" / request.node.callspec.id
    image, perfmap = compiler.compile(out, paths, *options)
    compare(names_tool, image, perfmap, components_of(image))


def map_of_cold_code(path):
    """{symbol: RVA} of entries, and {symbol of the entry: (RVA, length)} of cold code."""
    entries, cold = {}, {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["Node Type"] == "MethodWithGCInfo":
                entries[row["Symbol"]] = int(row["Rva"], 16)
            elif row["Node Type"] == "MethodColdCodeNode":
                symbol = row["Symbol"].removeprefix("__coldcode_")
                cold[symbol] = int(row["Rva"], 16), int(row["Length"])
    return entries, cold


def test_cold_parts(names_tool, zoo):
    """Each method's cold code is found, as long as it is, and with the right method."""
    compiler = Crossgen2(10)
    linq = compiler.framework / "System.Linq.dll"
    for source in (zoo, linq):
        out = WORK / "out" / f"cold-{source.stem}"
        image, _ = compiler.compile(out, [source], "--hot-cold-splitting", "--map", "--mapcsv")
        entries, cold = map_of_cold_code(next(out.glob("*.map.csv")))
        ours = {}
        for line in machine.run(names_tool, "-p", image).stdout.splitlines():
            entry, rva, size, kind = line.split()
            if kind == "cold":
                first, _ = ours.setdefault(int(entry, 16), (int(rva, 16), 0))
                ours[int(entry, 16)] = first, int(rva, 16) + int(size, 16) - first
        assert cold
        assert ours == {entries[symbol]: place for symbol, place in cold.items()}


def write_golden(names_tool, zoo):
    compiler = Crossgen2(10)
    image, perfmap = compiler.compile(WORK / "out/golden", [zoo], "--hot-cold-splitting")
    shutil.copy(image, GOLDEN / "zoo-r2r.dll")
    shutil.copy(perfmap, GOLDEN / "zoo-r2r.map")
    names = machine.run(names_tool, "-c", image).stdout
    (GOLDEN / "zoo-r2r.names").write_text(names)
    image, perfmap = compiler.compile(WORK / "out/golden-composite", [zoo], "--composite",
                                      "--hot-cold-splitting")
    shutil.copy(image, GOLDEN / "zoo-composite.r2r.dll")
    shutil.copy(image.with_name("zoo.dll"), GOLDEN / "zoo-component.dll")
    shutil.copy(perfmap, GOLDEN / "zoo-composite.map")


if os.environ.get("PLACE_PROBE_WRITE_GOLDEN") == "1":
    test_write_golden = write_golden
