# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks through code that came after place-probe: its frames have their exact names, and are left by
unwind information, soon after it has come. Until then a frame may be guessed, and says so."""

import json
import shutil
import time

import pytest

from helpers import apps, machine, probe

ROUNDS = 3
pytestmark = pytest.mark.beside
# Whoever calls Counted.Program::Obey, which obeys a command.
SERVING = ["Counted.Program::Serve(int32&)", "Counted.Program::Main(string[])"]
TALLY = ["Plugin.Tally::One(int32)", "Plugin.Tally::Repeat(int32)",
         "Plugin.Tally::Plain(int32,int32)", "Plugin.Entry::Run(string,int32)",
         "Counted.Plugins::Run(string,string,string,int32)", "Counted.Program::Obey(string[])",
         *SERVING]
STATIC = ["Counted.Kinds::Static(int32)", "Counted.Caller::CallStatic(int32)",
          "Counted.Caller::Total(string,int32,int32)", "Counted.Program::Obey(string[])", *SERVING]
LIBRARY = """
int run_in_child(int how, int (*function)(void *), void *argument);

__attribute__((noinline)) static int on_the_way(int (*function)(void *), void *argument, int how)
{
	volatile char room[512];

	room[how] = 1;
	return function(argument) + room[how] - 1;
}

/* No children here: it is only called through. */
int run_in_child(int how, int (*function)(void *), void *argument)
{
	volatile int result = on_the_way(function, argument, how);

	return result;
}
"""


def names(hit):
    return [frame["name"] for frame in hit["stack"] if frame["kind"] == "dotnet"]


def check_exact(hit, expected):
    assert names(hit) == expected, hit["stack"]
    assert hit["stack_end"] == "whole", hit["stack"]
    assert not [frame for frame in hit["stack"] if frame["guessed"]], hit["stack"]
    assert not [frame for frame in hit["stack"] if frame["kind"] == "unknown"], hit["stack"]


def is_exact(hit):
    return hit["stack_end"] == "whole" and not [
        frame for frame in hit["stack"] if frame["guessed"] or frame["kind"] == "unknown"]


def hits_of(text):
    return sorted((record for record in map(json.loads, text.splitlines()) if record["type"] == "hit"),
                  key=lambda hit: hit["time_ns"])


def act_until_exact(act, read, per_round):
    """
    Act, and again when place-probe has printed the hits of that, which read() gives, until it
    knows how to leave all code; then ROUNDS times more. Returns how many rounds that took.
    """
    rounds = 0

    def has_printed():
        text = read()
        return text[-1:] in ("", "\n") and len(hits_of(text)) >= rounds * per_round

    def act_once():
        nonlocal rounds
        act()
        rounds += 1
        machine.wait_until(has_printed, "the hits are printed", seconds=30)
        return all(map(is_exact, hits_of(read())[-per_round:]))

    machine.wait_until(act_once, "stacks are exact", seconds=30)
    for _ in range(ROUNDS):
        act_once()
    return rounds


def check_rounds(hits, rounds, expected, per_round):
    """No frame has another's name, from the first round on; in the last ones all have theirs."""
    assert len(hits) == rounds * per_round
    for hit in hits[:-ROUNDS * per_round]:
        # Frames may have no name yet, and a guess goes by frame pointers, past callers without one.
        named = iter(expected)
        assert all(name in named for name in names(hit)), hit["stack"]
        assert hit["method"] == expected[0]
        assert names(hit) == expected or not is_exact(hit), hit["stack"]
    for hit in hits[-ROUNDS * per_round:]:
        check_exact(hit, expected)


@pytest.mark.parametrize("variant", ["r2r10", "sc9", "sc8", "sf10"])
def test_precompiled_assembly(place_probe, start_app, build_app, variant):
    """Its frames keep no frame pointer; without tiering they stay precompiled."""
    app = start_app(variant)
    plugin = build_app(f"plugin-r2r{apps.RUNTIMES[variant]}")
    live = place_probe.live("-j", "--wait", "--stack=full", app.pid, "Plugin.Tally::One")
    rounds = act_until_exact(lambda: app.plugin("file", plugin, "tally", 3), live.out_so_far, 3)
    hits = hits_of(live.stop().expect(0).out)
    assert {hit["tier"] for hit in hits} == {"r2r"}
    check_rounds(hits, rounds, TALLY, 3)


def make_library(directory, kind):
    path = directory / "later.so"
    (directory / "later.c").write_text(LIBRARY)
    machine.run("gcc", "-O2", "-fomit-frame-pointer", "-shared", "-fPIC", directory / "later.c",
                "-o", path)
    begins = {name: int(address, 16) for address, _, name in map(
        str.split, machine.run("nm", "--defined-only", path).stdout.splitlines())}
    if kind != "whole":
        machine.run("objcopy", "--only-keep-debug", path, directory / "later.debug")
        machine.run("strip", path)
    if kind == "debug file":
        machine.run("objcopy", f"--add-gnu-debuglink={directory / 'later.debug'}", path)
    # Here the code is linked to where it is in the file.
    return path, begins


@pytest.mark.parametrize("kind, inner", [
    ("whole", "on_the_way"), ("stripped", None), ("debug file", "on_the_way")])
def test_native_library(place_probe, start_app, tmp_path, kind, inner):
    """From managed code through a library that is loaded then, and back into managed code."""
    library, begins = make_library(tmp_path, kind)
    app = start_app("r2r10", extra={"COUNTED_HELPER": str(library)})
    live = place_probe.live("-j", "--stack=full", app.pid, "Counted.Caller::CallStatic")
    # Twice each time: CallInChild() runs it once without a child, and this library makes none.
    rounds = act_until_exact(lambda: app.ask("fork static 1", "spawned"), live.out_so_far, 2)
    hits = hits_of(live.stop().expect(0).out)
    assert len(hits) == 2 * rounds
    for hit in hits[-2 * ROUNDS:]:
        assert hit["stack_end"] == "whole", hit["stack"]
        assert names(hit) == [
            "Counted.Caller::CallStatic(int32)", "Counted.Native::InChild(void*)",
            "Counted.Native::CallInChild(string,string,int32)", "Counted.Program::Obey(string[])",
            *SERVING], hit["stack"]
        native = [frame for frame in hit["stack"] if frame["module"] == "later.so"]
        assert [frame["name"] for frame in native] == [inner, "run_in_child"], hit["stack"]
        assert all(0 < frame["offset"] < 100 for frame in native if frame["name"]), hit["stack"]
        assert not any(frame["guessed"] for frame in native), hit["stack"]
        assert hit["stack"][0]["file_offset"] is not None, "precompiled code is in a file"
        for frame in native:
            assert frame["file_offset"] == (begins[frame["name"]] + frame["offset"] if frame["name"]
                                            else frame["offset"]), hit["stack"]


@pytest.mark.registers
def test_images_that_are_unpacked_in_memory(place_probe, start_app):
    """Those of a compressed single-file executable are in no file."""
    app = start_app("sfc10")
    live = place_probe.live("-j", "--stack=full", app.pid, "Counted.Kinds::Static(int)")
    app.calls("static", 30)
    hits = live.stop().expect(0).records("hit")
    assert len(hits) == 30 and {hit["tier"] for hit in hits} == {"r2r"}
    for hit in hits:
        check_exact(hit, STATIC)
        assert {frame["module"] for frame in hit["stack"][:6]} == {"counter.dll"}


@pytest.mark.registers
@pytest.mark.parametrize("variant", ["r2r10", "sc8", "sf10"])
def test_command(place_probe, start_app, build_app, tmp_path, variant):
    """A program that is started has nothing yet: all of its images come."""
    output = tmp_path / "output"
    app = start_app(variant, before=[
        place_probe.path, *probe.PATIENT, "-j", "--stack=full", "-o", output,
        "Counted.Kinds::Static(int)", "Plugin.Tally::One", "--"])
    plugin = build_app(f"plugin-r2r{apps.RUNTIMES[variant]}")
    def act():
        app.calls("static", 2)
        app.plugin("file", plugin, "tally", 3)

    rounds = act_until_exact(act, output.read_text, 2 + 3)
    app.pid = app.own_pid
    assert app.quit() == 0
    hits = hits_of(output.read_text())
    assert probe.Result(0, output.read_text(), "").summary()["hits"] == len(hits)
    check_rounds([hit for hit in hits if hit["method"] == STATIC[0]], rounds, STATIC, 2)
    check_rounds([hit for hit in hits if hit["method"] == TALLY[0]], rounds, TALLY, 3)


CHURN = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

typedef int through(int how, int (*function)(void *), void *argument);

static through *_Atomic newest;

__attribute__((noinline)) int leaf(void *argument)
{
	return *(volatile int *)argument;
}

__attribute__((noinline)) static int deeper(void *left)
{
	int less = *(int *)left - 1;

	return (less ? deeper(&less) : leaf(left)) + *(volatile int *)left;
}

static void *work(void *unused)
{
	for (;;) {
		int depth = 400;

		newest(0, deeper, &depth);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t worker;

	printf("ready %d\\n", getpid());
	for (int i = 1; i < argc; i++) {
		newest = (through *)dlsym(dlopen(argv[i], RTLD_NOW), "run_in_child");
		if (i == 1)
			pthread_create(&worker, NULL, work, NULL);
		puts("loaded");
		fflush(stdout);
		/* Until it is told to go on. */
		if (getchar() < 0)
			break;
	}
	return 0;
}
"""


def wait_for_whole_stacks(live, since_ns):
    """Only the tables lead through a library without frame pointers: until they have that of `since_ns`."""
    def are_whole():
        lines = live.out_so_far()[-100_000:].splitlines(keepends=True)[1:]
        ends = [hit["stack_end"] for hit in hits_of("".join(
            line for line in lines if line.endswith("\n"))) if hit["time_ns"] > since_ns]
        # The first of them may have been on their way through the library before.
        return "whole" in ends[10:]

    machine.wait_until(are_whole, "there are whole stacks through what has been loaded", seconds=30)


def test_changes_during_walks(place_probe, tmp_path):
    """A walk during which the tables change, once, goes by those that it began with to its end."""
    library, _ = make_library(tmp_path, "whole")
    libraries = [shutil.copy(library, tmp_path / f"later{i}.so") for i in range(10)]
    (tmp_path / "churn.c").write_text(CHURN)
    machine.run("gcc", "-O1", "-fomit-frame-pointer", "-fno-optimize-sibling-calls",
                tmp_path / "churn.c", "-o", tmp_path / "churn")
    target = apps.App([tmp_path / "churn", *libraries], None)
    try:
        target.answer("loaded")
        live = place_probe.live("-j", "--stack=managed", "--max-frames=512", target.pid, "churn!leaf")
        for _ in libraries[1:]:
            target.ask("", "loaded")
            wait_for_whole_stacks(live, time.monotonic_ns())
        result = live.stop().expect(0)
    finally:
        assert target.close() is None
    assert result.summary()["hits"] > 1000
    assert "unsure" not in result.summary()["stack_ends"], str(result.summary())
