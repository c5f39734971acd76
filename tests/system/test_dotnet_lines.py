# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of source of .NET frames, against the StackTrace(true) that the target has taken in the same line.

tests/apps/sources calls a native function, which gets a uprobe, out of all kinds of source.
"""

import collections
import itertools
import os
import re
import shutil

import pytest

from helpers import machine, pairs
from helpers.records import in_stack_trace, plain

pytestmark = pytest.mark.beside

PROBED = "libc.so.6!mrand48"
VARIANTS = [f"sources{version}{code}" for code in ("", "-r2r") for version in (8, 9, 10, 11)]

# What is written as async or as an iterator.
STATE_MACHINES = {f"state machine of Lines.Sources::{method}" for method in
                  ("Asynchronous(int32)", "Inner(int32)", "Stream()", "Turns(int32)")}


def truth_of(line):
    """(method, file, line, column) of each frame that the app has noted."""
    frames = []
    for frame in line.split(";"):
        method, file, number, column = frame.split("?")
        frames.append((method, file or None, int(number) or None, int(column) or None))
    return frames


def frames_of(hit):
    return [(plain(frame["name"] or "?"), frame["file"], frame["line"], frame["column"])
            for frame in in_stack_trace(hit)]


def run(place_probe, app, directory, rounds, *options):
    """The frames of each call as the target has noted them, as they were printed, and all that was printed."""
    live = place_probe.live("-j", "--strict", "--stack=managed", "--max-frames=512", *options, app.pid, PROBED)
    app.ask(f"run {rounds} {directory / 'lines'}", "done")
    truths = [truth_of(line) for line in (directory / "lines").read_text().splitlines()]
    result = live.stop().expect(0)
    hits = sorted(result.records("hit"), key=lambda hit: hit["time_ns"])
    assert len(hits) == len(truths) > 40 * rounds
    return truths, [frames_of(hit) for hit in hits], hits


def marked(mark):
    """The lines of the app's source with a comment."""
    source = (machine.TREE / "tests/apps/sources/Sources.cs").read_text().splitlines()
    return {number for number, line in enumerate(source, 1) if line.endswith(f" // {mark}")}


def compare(truths, seen):
    """How many frames have a line; that of the innermost differs by the columns of two calls.

    Of a method one of whose handlers runs there is one frame. The runtime says the line that the exception has left,
    place-probe where the call is.
    """
    different, lines, handlers, left = collections.Counter(), 0, marked("handler"), marked("left")
    for truth, frames in zip(truths, seen):
        assert [frame[0] for frame in frames] == [frame[0] for frame in truth]
        assert frames[0][1:3] == truth[0][1:3]
        for is_so, said in zip(truth[1:], frames[1:]):
            lines += said[1] is not None
            in_handler = is_so[:2] == said[:2] and said[2] in handlers and is_so[2] in left
            if is_so != said and not in_handler:
                different[is_so, said] += 1
    assert not different, f"{sum(different.values())} of {lines} frames differ:\n" + "\n".join(
        f"{times} times {is_so} was said to be {said}" for (is_so, said), times in different.most_common(20))
    return lines


@pairs.choose("variant, tiered", itertools.product(VARIANTS, [True, False]))
def test_equal_to_stack_traces(place_probe, start_app, variant, tiered, short_tmp, tell):
    app = start_app(variant, tiered)
    truths, seen, hits = run(place_probe, app, short_tmp, 45)
    lines = compare(truths, seen)
    assert {frame["made_from"] for hit in hits for frame in hit["stack"]
            if re.match(r"Lines\.Sources\+<\w+>d__\d+::MoveNext\(\)$", frame["name"] or "")} == STATE_MACHINES
    # LINQ has some too.
    others = {frame["made_from"] for hit in hits for frame in hit["stack"]} - STATE_MACHINES - {None}
    assert all(other.startswith("state machine of System.Linq.") for other in others)
    files = {os.path.basename(frame[1]) for frames in seen for frame in frames if frame[1]}
    assert files == {"Program.cs", "Sources.cs", "Page.razor", "Other.razor"}
    tell(f"{variant}, {'' if tiered else 'not '}tiered: {lines} frames of {len(truths)} stacks have a line, "
         f"{len({frame for frames in seen for frame in frames if frame[1]})} different ones")


def test_embedded(place_probe, start_app, build_app, short_tmp):
    app = start_app("sources10-embedded", False)
    assert not (build_app("sources10-embedded").parent / "sources.pdb").exists()
    truths, seen, _ = run(place_probe, app, short_tmp, 2)
    assert compare(truths, seen) > 100


@pytest.fixture
def moved(start_app, build_app, short_tmp):
    """The app in another place than its PDB, which is in a directory of its own."""
    shutil.copytree(build_app("sources10").parent, short_tmp / "app")
    (short_tmp / "symbols").mkdir()
    shutil.move(short_tmp / "app/sources.pdb", short_tmp / "symbols")
    return start_app("sources10", executable=short_tmp / "app/sources"), short_tmp


def lines_of(seen):
    return {frame[1:] for frames in seen for frame in frames if frame[1] or frame[2] or frame[3]}


def test_in_a_directory_of_the_users(place_probe, moved, short_tmp):
    app, directory = moved
    _, seen, _ = run(place_probe, app, short_tmp, 1)
    assert lines_of(seen) == set()
    _, seen, _ = run(place_probe, app, short_tmp, 1, "--symbols", short_tmp, "--symbols", directory / "symbols")
    assert len(lines_of(seen)) > 50
    _, seen, _ = run(place_probe, app, short_tmp, 1, "--no-lines", "--symbols", directory / "symbols")
    assert lines_of(seen) == set()


def said_of(place_probe, app, *options):
    """What standard error has on PDBs after a run with a stack of the app's."""
    live = place_probe.live(*options, app.pid, PROBED)
    app.ask("run 1 /dev/null", "done")
    return [line for line in live.stop().expect(0).err.splitlines() if "PDB" in line or "no source lines" in line]


def test_where_they_were_looked_for(place_probe, moved, short_tmp):
    """With -v for each assembly that is in a stack; without, that a directory of the user's was of no use."""
    app, directory = moved
    shutil.copy(machine.TREE / "LICENSE", short_tmp / "sources.pdb")
    assert said_of(place_probe, app) == []
    only, = said_of(place_probe, app, "--symbols", short_tmp)
    assert re.fullmatch(r"place-probe: --symbols: of \d+ PDBs? that were looked for none is there "
                        r"\(-v says which and where\)", only)
    told = said_of(place_probe, app, "-v", "--symbols", short_tmp)
    assert f"place-probe: sources.dll: no source lines: sources.pdb is not in {directory}/app, in {short_tmp} " \
           f"(not of this build), nor in the assembly itself (--symbols names more directories)" in told, told
    told = said_of(place_probe, app, "-v", "--symbols", directory / "symbols")
    assert told and not [line for line in told if "--symbols: of" in line or " sources.dll: " in line], told


def test_of_another_build(place_probe, moved, short_tmp):
    """What is there by that name is not taken if it has another id, whatever it says."""
    app, directory = moved
    pdb = bytearray((directory / "symbols/sources.pdb").read_bytes())
    at = pdb.index(b"#Pdb") - 8
    pdb[int.from_bytes(pdb[at:at + 4], "little")] ^= 1
    (directory / "app/sources.pdb").write_bytes(pdb)
    _, seen, _ = run(place_probe, app, short_tmp, 1)
    assert lines_of(seen) == set()
    # Nor does it stand in the way of the right one.
    _, seen, _ = run(place_probe, app, short_tmp, 1, "--symbols", directory / "symbols")
    assert len(lines_of(seen)) > 50


def test_that_others_may_write(place_probe, moved, short_tmp):
    """The target's own files are trusted as far as it trusts them."""
    app, directory = moved
    (directory / "app/sources.pdb").symlink_to(directory / "symbols/sources.pdb")
    _, seen, _ = run(place_probe, app, short_tmp, 1)
    assert lines_of(seen) == set()
    (directory / "app/sources.pdb").unlink()
    shutil.copy(directory / "symbols/sources.pdb", directory / "app")
    (directory / "app/sources.pdb").chmod(0o666)
    _, seen, _ = run(place_probe, app, short_tmp, 1)
    assert lines_of(seen) == set()
    assert any("others than its owner may write it; chmod" in line for line in said_of(place_probe, app, "-v"))
