# SPDX-License-Identifier: GPL-2.0-or-later
"""What is printed, as text and as JSON lines."""

import collections
import pathlib
import re

import pytest

from helpers import apps, machine, objdump
from helpers.reader import SlowReader

pytestmark = pytest.mark.beside

SLEEP = "System.Threading.Thread::Sleep"
STATIC = apps.METHODS["static"]
OVERFLOW = 20_000  # hits


@pytest.mark.kernel
def test_hits_in_json(place_probe, shared_app):
    live = place_probe.live("-j", shared_app.pid, apps.METHODS["over-two"])
    shared_app.calls("over-two", 6, threads=2)
    result = live.stop().expect(0)
    hits = result.records("hit")
    assert len(hits) == 6
    assert {hit["pid"] for hit in hits} == {shared_app.pid}
    assert len({hit["tid"] for hit in hits}) == 2 and shared_app.pid not in {hit["tid"] for hit in hits}
    assert {hit["comm"] for hit in hits} <= {"caller-0", "caller-1", ".NET Long Runni", "counter"}
    assert {hit["method"] for hit in hits} == {"Counted.Kinds::Over(int32,int64)"}
    assert {hit["tier"] for hit in hits} == {"r2r"}
    # Each thread's in order; those of two threads may pass each other.
    for thread in {hit["tid"] for hit in hits}:
        times = [hit["time_ns"] for hit in hits if hit["tid"] == thread]
        assert times == sorted(times)
    assert result.summary()["hits"] == 6
    assert result.summary()["lost"] == {}


@pytest.mark.kernel
def test_managed_stack(place_probe, shared_app):
    """The probed method, then its callers: at least those that keep a frame pointer."""
    live = place_probe.live("-j", shared_app.pid, f"{SLEEP}(int32)")
    shared_app.calls("chain", 2)
    hits = live.stop().expect(0).records("hit")
    assert len(hits) == 2
    for hit in hits:
        names = [frame["name"] for frame in hit["stack"]]
        assert names[0] == f"{SLEEP}(int32)", names
        assert names[1] == "Counted.Chain::Inner(int32)", names
        assert {frame["kind"] for frame in hit["stack"][:2]} == {"dotnet"}
        assert "counter.dll" in hit["stack"][1]["module"]


def test_no_stack(place_probe, shared_app):
    live = place_probe.live("-j", "--no-stack", shared_app.pid, SLEEP)
    shared_app.sleep(3)
    result = live.stop().expect(0)
    hits = result.records("hit")
    assert [hit["stack"] for hit in hits] == [[], [], []]
    assert result.summary()["stack_ends"] is None


def test_managed_frames_only(place_probe, shared_app):
    """--stack=managed leaves out the runtime's frames, and nothing else."""
    kinds = {}
    for stack in ("full", "managed"):
        live = place_probe.live("-j", f"--stack={stack}", shared_app.pid, f"{SLEEP}(int32)")
        shared_app.calls("chain", 1)
        [hit] = live.stop().expect(0).records("hit")
        kinds[stack] = [frame["kind"] for frame in hit["stack"]]
        assert hit["stack_end"] == "whole"
    assert "native" in kinds["full"] and "native" not in kinds["managed"]
    assert [kind for kind in kinds["full"] if kind != "native"] == kinds["managed"]


def test_max_frames(place_probe, shared_app):
    live = place_probe.live("-j", "--max-frames", "2", shared_app.pid, SLEEP)
    shared_app.calls("chain", 3)
    result = live.stop().expect(0)
    hits = result.records("hit")
    assert [len(hit["stack"]) for hit in hits] == [2, 2, 2]
    assert result.summary()["stack_ends"] == {"truncated": 3}
    assert "3 of 3 stacks do not go to the thread's start: 3 truncated" in result.err


@pytest.mark.registers
def test_hits_as_text(place_probe, shared_app):
    """Data on stdout, talk on stderr."""
    live = place_probe.live(shared_app.pid, SLEEP)
    shared_app.calls("chain", 2)
    result = live.stop().expect(0)
    assert result.out.count("System.Threading.Thread::Sleep(int32)") == 2 * 2, str(result)
    assert result.out.count("Counted.Chain::Inner(int32)") == 2, str(result)
    # One line a frame, which begins with what the code is; the outermost is last.
    stacks = [stack.splitlines()[1:] for stack in result.out.strip().split("\n\n")]
    assert len(stacks) == 2
    for stack in stacks:
        assert all(re.match(r" {8}(dotnet   |native   |stub     |unknown  )\S", line)
                   for line in stack), result.out
        assert re.match(r" {8}dotnet   System.Threading.Thread::Sleep\(int32\)\+0x0 \(", stack[0])
        assert re.match(r" {8}native   (_start|clone3|__clone3|counter)\+0x", stack[-1]), stack[-1]
    headers = [stack.splitlines()[0] for stack in result.out.strip().split("\n\n")]
    for header in headers:
        assert re.fullmatch(rf" *\d+\.\d{{6}}  \S.* {shared_app.pid}/{shared_app.pid}  "
                            r"System\.Threading\.Thread::Sleep\(int32\) \[r2r\]", header), header
    assert "place-probe:" not in result.out
    # Names without the version that a symbol table has with them.
    assert "__libc_start_main" in result.out and "@" not in result.out
    attached, said = result.err.splitlines()
    assert attached.startswith("place-probe: attached 2 sites to "), str(result)
    assert re.fullmatch(r"place-probe: 2 hits in \d+\.\d s; nothing lost", said), str(result)


def folded_lines(text):
    """STACK COUNT of each line, the stack as a list."""
    lines = [re.fullmatch(r"(\S.*) (\d+)", line) for line in text.splitlines()]
    assert all(lines), text
    return [(line.group(1).split(";"), int(line.group(2))) for line in lines]


def test_folded(place_probe, shared_app):
    """Equal stacks are one line, "comm;outermost;...;innermost COUNT"."""
    live = place_probe.live("-f", "--strict", "--stack=managed", shared_app.pid, f"{SLEEP}(int32)")
    shared_app.calls("chain", 7)
    shared_app.sleep(3)
    lines = folded_lines(live.stop().expect(0).out)
    chains = [(stack, count) for stack, count in lines if "Counted.Chain::Inner(int32)" in stack]
    assert sum(count for _, count in lines) == 10
    assert sum(count for _, count in chains) == 7
    assert len({";".join(stack) for stack, _ in lines}) == len(lines)
    for stack, _ in chains:
        assert stack[-2:] == ["Counted.Chain::Inner(int32)", f"{SLEEP}(int32)"]
        assert stack[0] in ("caller-0", ".NET Long Runni", "counter")


def test_folded_as_the_hits_are(place_probe, shared_app):
    """The same frames that each hit has, full and cut, as text and as JSON."""
    wanted = f"{SLEEP}(int32)"
    live = place_probe.live("-j", "--max-frames=4", shared_app.pid, wanted)
    shared_app.calls("chain", 5)
    [*_, hit] = live.stop().expect(0).records("hit")
    live = place_probe.live("-f", "-j", "--max-frames=4", shared_app.pid, wanted)
    shared_app.calls("chain", 5)
    [record] = live.stop().expect(0).records("folded")
    assert record["count"] == 5
    assert record["stack"][1:] == ["[truncated]"] + [frame["name"] for frame in hit["stack"]][::-1]


def test_folded_by_thread(place_probe, shared_app):
    """Stacks of two threads are never one, and each thread has its own."""
    wanted = f"{SLEEP}(int32)"
    live = place_probe.live("-f", "-j", "--by=tid", shared_app.pid, wanted)
    hits = place_probe.live("-j", shared_app.pid, wanted)
    shared_app.calls("chain", 60, threads=3)
    made = collections.Counter(f"{hit['comm']}-{hit['tid']}" for hit in hits.stop().expect(0).records("hit"))
    folded = collections.Counter()
    for record in live.stop().expect(0).records("folded"):
        folded[record["stack"][0]] += record["count"]
    assert folded == made and len(folded) == 3 and folded.total() == 60


def test_folded_by_intervals(place_probe, shared_app):
    live = place_probe.live("-f", "-i", "0.3", shared_app.pid, f"{SLEEP}(int32)")
    shared_app.calls("chain", 2)
    live.wait_out(lambda text: text, "the first interval")
    shared_app.calls("chain", 3)
    assert sum(count for _, count in folded_lines(live.stop().expect(0).out)) == 5


def test_wall_clock(place_probe, shared_app):
    live = place_probe.live("-T", "--no-stack", shared_app.pid, SLEEP)
    shared_app.sleep(1)
    assert re.search(r"\b\d\d:\d\d:\d\d\b", live.stop().expect(0).out)


def test_hits_come_at_once(place_probe, shared_app):
    """A hit is printed when it happens, also into a pipe and while nothing else happens."""
    live = place_probe.live("-j", shared_app.pid, SLEEP)
    shared_app.sleep(1)
    live.wait_out(lambda text: text.count("\n") >= 1, "a line for the one hit")
    assert [record["type"] for record in live.records_so_far()] == ["hit"]
    live.stop().expect(0)


def test_counts_as_text(place_probe, shared_app):
    live = place_probe.live("-c", shared_app.pid, STATIC)
    shared_app.calls("static", 4321)
    result = live.stop().expect(0)
    assert result.out.split("\n") == [
        f"{'CALLS':>12}  METHOD", f"{4321:12}  Counted.Kinds::Static(int32) [r2r]", "", ""], str(result)


def test_intervals(place_probe, shared_app):
    """-i SEC: every so often, the calls that have come since."""
    live = place_probe.live("-c", "-j", "-i", "0.5", shared_app.pid, STATIC)
    shared_app.calls("static", 10)
    live.wait_out(lambda text: '"count"' in text, "the first interval")
    shared_app.calls("static", 20)
    result = live.stop().expect(0)
    assert len(result.records("count")) >= 2
    assert result.calls() == 30
    assert result.summary()["hits"] == 30


def test_output_file(place_probe, shared_app, tmp_path):
    path = tmp_path / "out.jsonl"
    live = place_probe.count("-o", path, shared_app.pid, STATIC)
    shared_app.calls("static", 9)
    result = live.stop().expect(0)
    assert result.out == ""
    result.out = path.read_text()
    assert result.calls() == 9


def test_list_as_text(place_probe, shared_app):
    result = place_probe.run("--list", shared_app.pid, SLEEP).expect(0)
    one, at, other, and_at = result.out.splitlines()
    assert {one, other} == {f"{SLEEP}(int32)", f"{SLEEP}(System.TimeSpan)"}, str(result)
    for line in (at, and_at):
        assert re.match(r"    r2r +current +uprobe +/\S.*/System\.Private\.CoreLib\.dll\+0x[0-9a-f]+ ",
                        line), str(result)


def test_list_attaches_nothing(place_probe, shared_app, no_traces):
    """Where a method is said to be, the target's memory holds what the file holds."""
    sites = place_probe.run("-l", "-j", shared_app.pid, "Counted.*::*").expect(0).records("site")
    placed = [site for site in sites if site["mechanism"] == "uprobe"]
    assert len(placed) > 20
    for site in placed:
        with open(site["file"], "rb") as image:
            image.seek(site["file_offset"])
            in_file = image.read(min(16, site["size"]))
        assert machine.memory_of(shared_app.pid, site["address"], len(in_file)) == in_file, site


@pytest.fixture(scope="module")
def listed_once():
    return []


@pytest.fixture
def core_library(place_probe, shared_app, listed_once):
    """All sites of System.Private.CoreLib, and the bytes of its file."""
    if not listed_once:
        listed = place_probe.run("-l", "-j", shared_app.pid, "System.Private.CoreLib!*::*")
        sites = listed.expect(0).records("site")
        path, = {site["file"] for site in sites if site["mechanism"] == "uprobe"}
        listed_once[:] = sites, pathlib.Path(path).read_bytes()
    return listed_once


def test_what_is_refused(core_library):
    """In all of CoreLib no EVEX or locked instruction gets a uprobe, nor one with VEX that the kernel
    takes for a jump, a call, a return or a nop by its opcode; each refusal has a reason."""
    sites, code = core_library
    placed = [site for site in sites if site["mechanism"] == "uprobe"]
    refused = [site for site in sites if site["mechanism"] == "none"]
    assert len(placed) > 10000
    assert all(site["reason"] for site in refused)
    assert [site for site in placed if code[site["file_offset"]] in (0x62, 0xf0)] == []
    vex = {code[site["file_offset"] + (2 if code[site["file_offset"]] == 0xc5 else 3)]
           for site in placed if code[site["file_offset"]] in (0xc4, 0xc5)}
    taken_for_others = {*range(0x70, 0x80), 0x90, 0x9a, 0x9d, 0xc2, 0xc3, 0xca, 0xcb, *range(0xe8, 0xec), 0xff}
    assert not vex & taken_for_others
    # Its memory barriers.
    locked = [site for site in refused if site["reason"] == "refused-instruction"]
    assert locked and {code[site["file_offset"]] for site in locked} == {0xf0}


def may_jump_back(code):
    """Whether any bytes of it, instructions or not, would jump to its beginning."""
    for short in re.finditer(rb"[\x70-\x7f\xe0-\xe3\xeb]", code[:128]):
        if code[short.end():short.end() + 1] == bytes([-(short.end() + 1) & 0xff]):
            return True
    return any(code[near.end():near.end() + 4] == (-(near.end() + 4)).to_bytes(4, "little", signed=True)
               for near in re.finditer(rb"\xe9|\x0f[\x80-\x8f]", code))


def loops(bodies, directory):
    """Those of (address, code) that jump back to their own entry, as another disassembler sees it."""
    runs = [(at, code) for at, code in bodies if may_jump_back(code)]
    return [at for at, shift, instructions in objdump.disassemble(runs, directory)
            if any(re.match(rf"(?:j|loop|xbegin)\w* +(?:0x)?{at - shift:x}\b", text)
                   for _, text in instructions)]


def test_no_entry_is_a_loop(core_library, tmp_path):
    """No probed body of CoreLib jumps back to its own entry."""
    sites, code = core_library
    placed = [site for site in sites if site["mechanism"] == "uprobe"]
    assert len(placed) > 10000
    bodies = [(site["file_offset"], code[site["file_offset"]:site["file_offset"] + site["size"]])
              for site in placed]
    # These do, but the first jumps to its second instruction: it is not the eye that is blind.
    known = [(1 << 40, b"\x90\xeb\xfe"), (2 << 40, b"\x90\xeb\xfd"),
             (3 << 40, b"\x90\x0f\x85\xf9\xff\xff\xff")]
    assert loops([*bodies, *known], tmp_path) == [2 << 40, 3 << 40]


def test_same_in_list_and_hits(place_probe, shared_app):
    """A method has one spelling, wherever it is printed."""
    pattern = "Counted.*::*"
    listed = {site["method"] for site in
              place_probe.run("-l", "-j", shared_app.pid, pattern).expect(0).records("site")}
    live = place_probe.count(shared_app.pid, pattern)
    for kind in apps.METHODS:
        shared_app.calls(kind, 1)
    counted = {count["method"] for count in live.stop().records("count") if count["calls"]}
    assert counted <= listed
    for kind, name in apps.METHODS.items():
        assert [method for method in counted if method.startswith(name)], f"{kind}: {counted}"
    assert {"Counted.Kinds::Over(int32,int64)", "Counted.Box`1[System.Int32]::Put(!0)",
            "Counted.Item::.ctor(int32)"} <= counted


def overflow(place_probe, app, directory, *options):
    """Far more hits than there is room for, read only when all have been made: how that ended."""
    reader = SlowReader(directory / "pipe")
    live = place_probe.live("-j", "--buffer", "4096", "-o", directory / "pipe", *options, app.pid, STATIC)
    app.calls("static", OVERFLOW, threads=4)
    reader.read()
    result = live.stop()
    result.out = reader.end()
    return result


def test_buffer_too_small_is_told(place_probe, shared_app, short_tmp):
    """Lost events are counted in the kernel, so hits seen and lost are the calls made."""
    result = overflow(place_probe, shared_app, short_tmp)
    assert result.code == 0, str(result)[:2000]
    seen = len(result.records("hit"))
    lost = result.summary()["lost"]
    assert seen > 0 and lost.keys() == {"ring-buffer-full"}
    assert seen + lost["ring-buffer-full"] == OVERFLOW
    assert result.summary()["hits"] == seen
    assert f"lost: {lost['ring-buffer-full']} " in result.err, result.err


def test_strict(place_probe, shared_app, short_tmp):
    """What was lost is a failure; where nothing was it is none."""
    result = overflow(place_probe, shared_app, short_tmp, "--strict")
    assert result.code == 5 and result.summary()["lost"]["ring-buffer-full"] > 0, str(result)[:2000]
    live = place_probe.live("-j", "--strict", shared_app.pid, STATIC)
    shared_app.calls("static", 10, threads=4)
    assert live.stop().expect(0).summary()["lost"] == {}


@pytest.mark.parametrize("format", ["text", "json"])
def test_nothing_commands_the_terminal(place_probe, start_app, build_app, short_tmp, format):
    """The target names itself, and its threads."""
    link = short_tmp / "\x1b[31m\x9b1mred"
    link.symlink_to(build_app("r2r10"))
    app = start_app("r2r10", executable=link)
    live = place_probe.live("-v", "-N", "1", "--format", format, app.pid, "System.Threading.Thread::Sleep(int)")
    app.sleep(1)
    told = live.finish().expect(0)
    for printed in (told.out, told.err):
        assert "31m" in printed, str(told)
        assert "\x1b" not in printed and "\x9b" not in printed
