# SPDX-License-Identifier: GPL-2.0-or-later
"""The runtime's own code, named by what its books say, against the perf map that it writes itself."""

import collections
import pathlib
import re

import pytest

from helpers import apps, machine

pytestmark = pytest.mark.beside

# How the perf maps of the versions call them, and how the runtime's source does.
NAMES = {
    "PRECODE_STUB": {"FixupPrecode", "StubPrecode"},
    "GenerateVTableCallStub": {"VSD_VTableStub"}, "GenerateResolveStub": {"VSD_ResolveStub"},
    "GenerateDispatchStub": {"VSD_DispatchStub"}, "GenerateLookupStub": {"VSD_LookupStub"},
    "VSD_VTableStub": {"VSD_VTableStub"}, "VSD_ResolveStub": {"VSD_ResolveStub"},
    "VSD_DispatchStub": {"VSD_DispatchStub"}, "VSD_LookupStub": {"VSD_LookupStub"},
}
# There are more of these in .NET 8, each with a row of its own; later versions report blocks.
LEAST = {8: 1000, 9: 25, 10: 4, 11: 4}
ROW = re.compile(r"^(?:0x)?([0-9a-f]+) ([0-9a-f]+) (.*)$")


@pytest.fixture(scope="session")
def tool():
    return machine.tool("stub_names")


def names_of(tool, pid, path, addresses):
    path.write_text("".join(f"{at:x}\n" for at in addresses))
    lines = machine.run(tool, pid, path).stdout
    return dict((int(at, 16), name) for at, name in map(str.split, lines.splitlines()))


@pytest.mark.parametrize("variant", ["sc8", "sc9", "r2r10", "sfc10", "sc11"])
def test_equal_to_perf_map(tool, start_app, plugin, short_tmp, variant):
    app = start_app(variant, tiered=True, extra={"DOTNET_PerfMapEnabled": "1"})
    for kind in ("interface", "virtual", "explicit", "delegate", "generic-ref"):
        app.calls(kind, 2000, threads=2)
    app.plugin("file", plugin, "menagerie")
    path = next(path for path in (short_tmp / f"perf-{app.own_pid}.map",
                                  pathlib.Path(f"/tmp/perf-{app.own_pid}.map")) if path.exists())
    rows = [(int(row[1], 16), int(row[2], 16), row[3])
            for row in map(ROW.match, path.read_text().splitlines()) if row]
    stubs = {(start, size): name.rpartition("<")[2].rstrip(">")
             for start, size, name in rows if name.startswith("stub")}
    known = {place: name for place, name in stubs.items() if name in NAMES}
    methods = {start: name for start, _, name in rows if not name.startswith("stub")}
    places = [at for start, size in known for at in {start, start + size - 1}]
    named = names_of(tool, app.pid, short_tmp / "addresses", places + [*methods])
    wrong = collections.Counter(
        (name, named[at]) for (start, size), name in known.items()
        for at in (start, start + size - 1) if named[at] not in NAMES[name])
    assert not wrong, str(wrong)
    assert len(known) >= LEAST[apps.RUNTIMES[variant]], str(stubs)
    taken = [(hex(at), name, named[at]) for at, name in methods.items() if named[at] != "-"]
    assert len(methods) > 50 and not taken, f"{len(taken)} of {len(methods)} methods are no stubs: {taken}"
