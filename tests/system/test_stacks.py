# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks at a hit, against the StackTrace that the target has taken in the same call.

tests/apps/stacks gets to the probed method by every way there is. Compared are the methods: names
without signature and generic arguments, since reflection spells these otherwise.
"""

import collections
import difflib
import itertools

import pytest

from helpers import apps, machine, objdump
from helpers.reader import SlowReader
from helpers.records import in_stack_trace, plain

ROUNDS = 50
PUSH_RBP = b"\x55"
VARIANTS = ["stacks8", "stacks9", "stacks10"]
PROBED = "Stacks.Place::Probed"
# What is compiled at run time.
JITTED = [pytest.mark.breakpoints, pytest.mark.registers]
pytestmark = pytest.mark.beside


def methods_of(hit):
    """The methods of a hit's stack from the probed method's caller on; what has no name is "?"."""
    return [plain(frame["name"] or "?") for frame in in_stack_trace(hit)][1:]


def frameless(place_probe, app, methods):
    """Those that keep no frame pointer, in one of their bodies at least."""
    sites = place_probe.run("-l", "-j", app.pid, *sorted(methods)).expect(0).records("site")
    return {plain(site["method"]) for site in sites if site["address"] and
            machine.memory_of(app.pid, site["address"], 1) != PUSH_RBP}


def behind_calls(app, sites, directory):
    """For each method the offsets in its bodies that calls come back to."""
    bodies = {site["address"]: site for site in sites if site["address"]}
    runs = [(address, machine.memory_of(app.pid, address, site["size"])) for address, site in bodies.items()]
    offsets = collections.defaultdict(set)
    for begin, _, code in objdump.disassemble(runs, directory):
        name, size = bodies[begin]["method"], bodies[begin]["size"]
        ends = [address - begin for address, _ in code[1:]] + [size]
        offsets[name] |= {end for (_, text), end in zip(code, ends) if text.startswith(("call", "rex"))}
    return offsets


def misplaced(place_probe, app, hits, directory):
    """Callers' frames that are not behind a call in a body of their method, or not where the file has that body."""
    frames = {(frame["name"], frame["offset"], frame["file_offset"])
              for hit in hits for frame in hit["stack"][1:] if frame["kind"] == "dotnet"}
    listed = place_probe.run("-l", "-j", app.pid, *sorted({plain(name) for name, *_ in frames})).expect(0)
    sites = listed.records("site")
    sizes = {(site["method"], site["file_offset"]): site["size"] for site in sites}
    calls = behind_calls(app, sites, directory)

    def is_in_place(name, offset, at):
        size = sizes.get((name, at and at - offset))
        # Handlers of precompiled methods are behind what is listed.
        return size is not None and (offset in calls[name] or at and offset > size)

    return [frame for frame in frames if not is_in_place(*frame)]


def is_unnamed_yet(truth, seen):
    """Do they differ by dynamic methods alone? Of code that is not followed such get their names within 200 ms."""
    return all(name == real or (name == "?" and (real or "").startswith("dynamicClass::"))
               for real, name in itertools.zip_longest(truth, seen))


def ends_in_musl(hit, truth):
    """Is it right as far as it goes? musl has no unwind tables, so at its qsort() there is no way up."""
    methods = methods_of(hit)
    return hit["stack_end"] == "broken" and methods == truth[:len(methods)] and methods[-1] == "Stacks.Ways::Compare"


def check(place_probe, app, directory, rounds):
    """Run so many rounds, and compare each stack. Returns the stacks, what they lack of ours, and the hits."""
    live = place_probe.live("-j", "--strict", "--stack=managed", "--max-frames=512", app.pid, PROBED)
    app.ask(f"run {rounds} {directory / 'stacks'}", "done")
    truths = [line.split(";") for line in (directory / "stacks").read_text().splitlines()]
    result = live.stop()
    assert result.code == 0, f"exit code {result.code}: {result.err}"
    # One at a time, so they come in the order of their calls.
    hits = sorted(result.records("hit"), key=lambda hit: hit["time_ns"])
    assert len(hits) == len(truths) > 50 * rounds
    ends = collections.Counter(hit["stack_end"] for hit in hits)
    assert set(ends) <= ({"whole", "broken"} if "musl" in app.variant else {"whole"})
    assert result.summary()["stack_ends"] == dict(ends)
    different = [(truth, methods_of(hit)) for hit, truth in zip(hits, truths)
                 if methods_of(hit) != truth and not ("musl" in app.variant and ends_in_musl(hit, truth))]
    if app.variant.endswith(("-r2r", "-musl")):
        unnamed = [pair for pair in different if is_unnamed_yet(*pair)]
        assert len(unnamed) < len(hits) / 100
        different = [pair for pair in different if pair not in unnamed]
    assert not different, f"{len(different)} of {len(hits)} differ; the first:\n" + "\n".join(
        difflib.unified_diff(*different[0], "StackTrace", "place-probe", lineterm="", n=20))
    dropped = {plain(frame["name"] or "without a name") for hit in hits for frame in hit["stack"]
               if frame["kind"] == "stub"}
    return truths, dropped, hits


@pytest.mark.parametrize("tiered", [True, False], ids=["tiered", "optimized"])
@pytest.mark.parametrize("variant", [*(pytest.param(variant, marks=JITTED) for variant in VARIANTS),
                                     pytest.param("stacks11", marks=pytest.mark.registers),
                                     "stacks10-r2r", "stacks10-musl", "stacks11-r2r"])
def test_equal_to_stack_traces(place_probe, start_app, variant, tiered, short_tmp, tell):
    app = start_app(variant, tiered)
    truths, dropped, hits = check(place_probe, app, short_tmp, ROUNDS)
    assert {hit["stack"][0]["offset"] for hit in hits} == {0}
    assert misplaced(place_probe, app, hits, short_tmp) == []
    assert max(map(len, truths)) > 200, "no recursion was deep"
    without = frameless(place_probe, app, set().union(*truths))
    across = sum(1 for truth in truths if without & set(truth))
    tell(f"{variant}, {'' if tiered else 'not '}tiered: {len(truths)} stacks equal; "
         f"{across} through methods without a frame pointer; "
         f"not in StackTrace: {', '.join(sorted(dropped)) or 'nothing'}")
    # Where a walk by frame pointers would lose a caller.
    assert across > len(truths) / 4


@pytest.mark.registers
@pytest.mark.kernel
def test_equal_on_other_kernel(place_probe, start_app, short_tmp):
    """The programs are the same, the verifier and the helpers are not."""
    check(place_probe, start_app("stacks10"), short_tmp, 10)


@pytest.mark.parametrize("kind", ["static", pytest.param("final-static", marks=pytest.mark.registers)])
def test_under_load(place_probe, start_app, short_tmp, tell, kind):
    """A hot method and a reader who does not read: what is seen and what is lost are all calls, and
    the target waits for nobody."""
    calls, threads = 100_000, 4
    app = start_app("r2r10")
    app.calls(kind, 1)
    reader = SlowReader(short_tmp / "pipe")
    live = place_probe.live("-j", "--buffer", "1M", "-o", short_tmp / "pipe", app.pid,
                            (apps.METHODS | apps.FINALS)[kind])
    # Nothing is read until all of these have been made.
    app.calls(kind, calls, threads=threads)
    reader.read()
    app.calls(kind, calls, threads=threads)
    result = live.stop().expect(0)
    result.out = reader.end()
    hits = result.records("hit")
    summary = result.summary()
    assert set(summary["lost"]) == {"ring-buffer-full"}
    assert summary["hits"] == len(hits) > 1000
    assert len(hits) + summary["lost"]["ring-buffer-full"] == 2 * calls
    assert {hit["stack_end"] for hit in hits} == {"whole"}
    assert all(len(hit["stack"]) > 5 for hit in hits)
    tell(f"{kind}: {len(hits)} hits with their stacks and {summary['lost']['ring-buffer-full']} "
         f"lost are the {2 * calls} calls")
