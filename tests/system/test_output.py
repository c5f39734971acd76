# SPDX-License-Identifier: GPL-2.0-or-later
"""What is printed, as text and as JSON lines."""

import re

import pytest

from helpers import apps, machine

SLEEP = "System.Threading.Thread::Sleep"
STATIC = apps.METHODS["static"]


@pytest.mark.kernel
def test_hits_in_json(place_probe, app):
    live = place_probe.live("-j", app.pid, apps.METHODS["over-two"])
    app.calls("over-two", 6, threads=2)
    result = live.stop().expect(0)
    hits = result.records("hit")
    assert len(hits) == 6
    assert {hit["pid"] for hit in hits} == {app.pid}
    assert len({hit["tid"] for hit in hits}) == 2 and app.pid not in {hit["tid"] for hit in hits}
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
def test_managed_stack(place_probe, app):
    """The probed method, then its callers: at least those that keep a frame pointer."""
    live = place_probe.live("-j", app.pid, f"{SLEEP}(int32)")
    app.calls("chain", 2)
    hits = live.stop().expect(0).records("hit")
    assert len(hits) == 2
    for hit in hits:
        names = [frame["name"] for frame in hit["stack"]]
        assert names[0] == f"{SLEEP}(int32)", names
        assert names[1] == "Counted.Chain::Inner(int32)", names
        assert {frame["kind"] for frame in hit["stack"][:2]} == {"dotnet"}
        assert "counter.dll" in hit["stack"][1]["module"]


def test_no_stack(place_probe, app):
    live = place_probe.live("-j", "--no-stack", app.pid, SLEEP)
    app.sleep(3)
    result = live.stop().expect(0)
    hits = result.records("hit")
    assert [hit["stack"] for hit in hits] == [[], [], []]
    assert result.summary()["stack_ends"] is None


def test_managed_frames_only(place_probe, app):
    """--stack=managed leaves out the runtime's frames, and nothing else."""
    kinds = {}
    for stack in ("full", "managed"):
        live = place_probe.live("-j", f"--stack={stack}", app.pid, f"{SLEEP}(int32)")
        app.calls("chain", 1)
        [hit] = live.stop().expect(0).records("hit")
        kinds[stack] = [frame["kind"] for frame in hit["stack"]]
        assert hit["stack_end"] == "whole"
    assert "native" in kinds["full"] and "native" not in kinds["managed"]
    assert [kind for kind in kinds["full"] if kind != "native"] == kinds["managed"]


def test_max_frames(place_probe, app):
    live = place_probe.live("-j", "--max-frames", "2", app.pid, SLEEP)
    app.calls("chain", 3)
    result = live.stop().expect(0)
    hits = result.records("hit")
    assert [len(hit["stack"]) for hit in hits] == [2, 2, 2]
    assert result.summary()["stack_ends"] == {"truncated": 3}
    assert "3 of 3 stacks do not go to the thread's start: 3 truncated" in result.err


def test_hits_as_text(place_probe, app):
    """Data on stdout, talk on stderr."""
    live = place_probe.live(app.pid, SLEEP)
    app.calls("chain", 2)
    result = live.stop().expect(0)
    assert result.out.count("System.Threading.Thread::Sleep(int32)") >= 2, str(result)
    assert result.out.count("Counted.Chain::Inner(int32)") == 2, str(result)
    # One line a frame, which begins with what the code is; the outermost is last.
    stacks = [stack.splitlines()[1:] for stack in result.out.strip().split("\n\n")]
    assert len(stacks) == 2
    for stack in stacks:
        assert all(re.match(r" {8}(dotnet   |native   |stub     |unknown  )\S", line)
                   for line in stack), result.out
        assert re.match(r" {8}dotnet   System.Threading.Thread::Sleep\(int32\)\+0x0 \(", stack[0])
        assert re.match(r" {8}native   (_start|clone3|__clone3|counter)\+0x", stack[-1]), stack[-1]
    assert str(app.pid) in result.out and "r2r" in result.out
    assert "place-probe:" not in result.out
    # Names without the version that a symbol table has with them.
    assert "__libc_start_main" in result.out and "@" not in result.out
    assert re.search(r"\b2\b", result.err.splitlines()[-1] + result.err), str(result)


def folded_lines(text):
    """STACK COUNT of each line, the stack as a list."""
    lines = [re.fullmatch(r"(\S.*) (\d+)", line) for line in text.splitlines()]
    assert all(lines), text
    return [(line.group(1).split(";"), int(line.group(2))) for line in lines]


def test_folded(place_probe, app):
    """Equal stacks are one line, "comm;outermost;...;innermost COUNT"."""
    live = place_probe.live("-f", "--strict", "--stack=managed", app.pid, f"{SLEEP}(int32)")
    app.calls("chain", 7)
    app.sleep(3)
    lines = folded_lines(live.stop().expect(0).out)
    chains = [(stack, count) for stack, count in lines if "Counted.Chain::Inner(int32)" in stack]
    assert sum(count for _, count in lines) == 10
    assert sum(count for _, count in chains) == 7
    assert len({";".join(stack) for stack, _ in lines}) == len(lines)
    for stack, _ in chains:
        assert stack[-2:] == ["Counted.Chain::Inner(int32)", f"{SLEEP}(int32)"]
        assert stack[0] in ("caller-0", ".NET Long Runni", "counter")


def test_folded_as_the_hits_are(place_probe, app):
    """The same frames that each hit has, full and cut, as text and as JSON."""
    wanted = f"{SLEEP}(int32)"
    live = place_probe.live("-j", "--max-frames=4", app.pid, wanted)
    app.calls("chain", 5)
    [*_, hit] = live.stop().expect(0).records("hit")
    live = place_probe.live("-f", "-j", "--max-frames=4", app.pid, wanted)
    app.calls("chain", 5)
    [record] = live.stop().expect(0).records("folded")
    assert record["count"] == 5
    assert record["stack"][1:] == ["[truncated]"] + [frame["name"] for frame in hit["stack"]][::-1]


def test_folded_by_intervals(place_probe, app):
    live = place_probe.live("-f", "-i", "0.3", app.pid, f"{SLEEP}(int32)")
    app.calls("chain", 2)
    live.wait_out(lambda text: text, "the first interval")
    app.calls("chain", 3)
    assert sum(count for _, count in folded_lines(live.stop().expect(0).out)) == 5


def test_wall_clock(place_probe, app):
    live = place_probe.live("-T", "--no-stack", app.pid, SLEEP)
    app.sleep(1)
    assert re.search(r"\b\d\d:\d\d:\d\d\b", live.stop().expect(0).out)


def test_hits_come_at_once(place_probe, app):
    """A hit is printed when it happens, also into a pipe and while nothing else happens."""
    live = place_probe.live("-j", app.pid, SLEEP)
    app.sleep(1)
    live.wait_out(lambda text: text.count("\n") >= 1, "a line for the one hit")
    live.stop().expect(0)


def test_counts_as_text(place_probe, app):
    live = place_probe.live("-c", app.pid, STATIC)
    app.calls("static", 4321)
    result = live.stop().expect(0)
    assert "4321" in result.out and "Counted.Kinds::Static(int32)" in result.out, str(result)


def test_intervals(place_probe, app):
    """-i SEC: every so often, the calls that have come since."""
    live = place_probe.live("-c", "-j", "-i", "0.5", app.pid, STATIC)
    app.calls("static", 10)
    live.wait_out(lambda text: '"count"' in text, "the first interval")
    app.calls("static", 20)
    result = live.stop().expect(0)
    assert len(result.records("count")) >= 2
    assert result.calls() == 30
    assert result.summary()["hits"] == 30


def test_output_file(place_probe, app, tmp_path):
    path = tmp_path / "out.jsonl"
    live = place_probe.count("-o", path, app.pid, STATIC)
    app.calls("static", 9)
    result = live.stop().expect(0)
    assert result.out == ""
    result.out = path.read_text()
    assert result.calls() == 9


def test_list_as_text(place_probe, app):
    result = place_probe.run("--list", app.pid, SLEEP).expect(0)
    for word in (f"{SLEEP}(int32)", f"{SLEEP}(System.TimeSpan)", "System.Private.CoreLib", "uprobe",
                 "r2r"):
        assert word in result.out, str(result)


def test_list_attaches_nothing(place_probe, app, no_traces):
    """Where a method is said to be, the target's memory holds what the file holds."""
    sites = place_probe.run("-l", "-j", app.pid, "Counted.*::*").expect(0).records("site")
    placed = [site for site in sites if site["mechanism"] == "uprobe"]
    assert len(placed) > 20
    for site in placed:
        with open(site["file"], "rb") as image:
            image.seek(site["file_offset"])
            in_file = image.read(min(16, site["size"]))
        assert machine.memory_of(app.pid, site["address"], len(in_file)) == in_file, site


def test_what_is_refused(place_probe, app):
    """In all of CoreLib no VEX or EVEX instruction gets a uprobe, and each refusal has a reason."""
    sites = place_probe.run("-l", "-j", app.pid, "System.Private.CoreLib!*::*").records("site")
    placed = [site for site in sites if site["mechanism"] == "uprobe"]
    refused = [site for site in sites if site["mechanism"] == "none"]
    assert len(placed) > 10000 and refused
    assert all(site["reason"] for site in refused)
    with open(placed[0]["file"], "rb") as image:
        code = image.read()
    vector = [site for site in placed if code[site["file_offset"]] in (0xc4, 0xc5, 0x62)]
    assert vector == []


def test_no_entry_is_a_loop(place_probe, app):
    """No probed body jumps back to its own entry, as another disassembler sees it."""
    sites = place_probe.run("-l", "-j", app.pid, "System.Private.CoreLib!System.*::*").records("site")
    placed = [site for site in sites if site["mechanism"] == "uprobe"]
    for site in placed[::max(1, len(placed) // 300)]:
        start = site["file_offset"]
        listing = machine.run("objdump", "-D", "-b", "binary", "-m", "i386:x86-64",
                              f"--start-address={start}", f"--stop-address={start + site['size']}",
                              site["file"]).stdout
        back = re.findall(rf"\bj[a-z]+ +0x{start:x}\b", listing)
        assert not back, f"{site}\n{listing}"


def test_same_in_list_and_hits(place_probe, app):
    """A method has one spelling, wherever it is printed."""
    pattern = "Counted.*::*"
    listed = {site["method"] for site in
              place_probe.run("-l", "-j", app.pid, pattern).expect(0).records("site")}
    live = place_probe.count(app.pid, pattern)
    for kind in apps.METHODS:
        app.calls(kind, 1)
    counted = {count["method"] for count in live.stop().records("count") if count["calls"]}
    assert counted <= listed
    assert {"Counted.Kinds::Over(int32,int64)", "Counted.Box`1[System.Int32]::Put(!0)",
            "Counted.Item::.ctor(int32)"} <= {name.replace("Put(int32)", "Put(!0)") for name in listed}


def test_buffer_too_small_is_told(place_probe, app):
    """Lost events are counted in the kernel, so hits seen and lost are the calls made."""
    live = place_probe.live("-j", "--buffer", "4096", app.pid, STATIC)
    app.calls("static", 50000, threads=4)
    result = live.stop()
    assert result.code == 0, str(result)[:2000]
    seen = len(result.records("hit"))
    lost = sum(result.summary()["lost"].values())
    assert seen + lost == 50000
    assert result.summary()["hits"] in (seen, seen + lost)


def test_strict(place_probe, app):
    live = place_probe.live("-j", "--strict", "--buffer", "4096", app.pid, STATIC)
    app.calls("static", 50000, threads=4)
    result = live.stop()
    lost = sum(result.summary()["lost"].values())
    assert result.code == (5 if lost else 0)


def test_nothing_commands_the_terminal(place_probe, start_app, build_app, short_tmp):
    """The target names itself, and its threads."""
    link = short_tmp / "\x1b[31m\x9b1mred"
    link.symlink_to(build_app("r2r10"))
    app = start_app("r2r10", executable=link)
    live = place_probe.live("-v", "-N", "1", app.pid, "System.Threading.Thread::Sleep(int)")
    app.sleep(1)
    told = live.finish().expect(0)
    for printed in (told.out, told.err):
        assert "31m" in printed, str(told)
        assert "\x1b" not in printed and "\x9b" not in printed
