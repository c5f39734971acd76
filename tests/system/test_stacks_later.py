# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks through code that came after place-probe: its frames have their exact names, and are left by
unwind information, soon after it has come. Until then a frame may be guessed, and says so."""

import shutil
import subprocess
import time

import pytest

from helpers import apps, machine, probe

PAUSE_S = 0.3  # longer than place-probe waits before it looks again
ROUNDS = 4
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


def again_and_again(act, live):
    """Act several times, with time to look in between; the hits, in their order."""
    for _ in range(ROUNDS):
        act()
        time.sleep(PAUSE_S * machine.SCALE)
    result = live.stop().expect(0)
    return sorted(result.records("hit"), key=lambda hit: hit["time_ns"])


def check_rounds(hits, expected, per_round):
    """All frames have their names from the first round on, and later none is guessed."""
    assert len(hits) == ROUNDS * per_round
    for hit in hits[:per_round]:
        guessed = any(frame["guessed"] for frame in hit["stack"])
        assert guessed or names(hit) == expected, hit["stack"]
    for hit in hits[2 * per_round:]:
        check_exact(hit, expected)


@pytest.mark.parametrize("variant", ["r2r10", "sc9", "sc8", "sf10"])
def test_precompiled_assembly(place_probe, start_app, build_app, variant):
    """Its frames keep no frame pointer; without tiering they stay precompiled."""
    app = start_app(variant)
    plugin = build_app(f"plugin-r2r{apps.RUNTIMES[variant]}")
    live = place_probe.live("-j", "--wait", "--stack=full", app.pid, "Plugin.Tally::One")
    hits = again_and_again(lambda: app.plugin("file", plugin, "tally", 3), live)
    assert {hit["tier"] for hit in hits} == {"r2r"}
    check_rounds(hits, TALLY, 3)


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
    hits = again_and_again(lambda: app.ask("fork static 1", "spawned"), live)
    assert len(hits) == 2 * ROUNDS
    for hit in hits[4:]:
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


@pytest.mark.parametrize("variant", ["r2r10", "sc8", "sf10"])
def test_command(place_probe, start_app, build_app, tmp_path, variant):
    """A program that is started has nothing yet: all of its images come."""
    output = tmp_path / "output"
    app = start_app(variant, before=[
        place_probe.path, *probe.PATIENT, "-j", "--stack=full", "-o", output,
        "Counted.Kinds::Static(int)", "Plugin.Tally::One", "--"])
    plugin = build_app(f"plugin-r2r{apps.RUNTIMES[variant]}")
    for _ in range(ROUNDS):
        app.calls("static", 2)
        app.plugin("file", plugin, "tally", 3)
        time.sleep(PAUSE_S * machine.SCALE)
    app.pid = app.own_pid
    assert app.quit() == 0
    hits = sorted(probe.Result(0, output.read_text(), "").records("hit"),
                  key=lambda hit: hit["time_ns"])
    check_rounds([hit for hit in hits if hit["method"] == STATIC[0]], STATIC, 2)
    check_rounds([hit for hit in hits if hit["method"] == TALLY[0]], TALLY, 3)


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

	for (int i = 1; i < argc; i++) {
		newest = (through *)dlsym(dlopen(argv[i], RTLD_NOW), "run_in_child");
		if (i == 1)
			pthread_create(&worker, NULL, work, NULL);
		usleep(i == 1 ? 1000000 : 250000);
		puts("loaded");
		fflush(stdout);
	}
	sleep(60);
	return 0;
}
"""


def test_changes_during_walks(place_probe, tmp_path):
    """A walk during which the tables change, once, goes by those that it began with to its end."""
    library, _ = make_library(tmp_path, "whole")
    libraries = [shutil.copy(library, tmp_path / f"later{i}.so") for i in range(10)]
    (tmp_path / "churn.c").write_text(CHURN)
    machine.run("gcc", "-O1", "-fomit-frame-pointer", "-fno-optimize-sibling-calls",
                tmp_path / "churn.c", "-o", tmp_path / "churn")
    with subprocess.Popen([tmp_path / "churn", *libraries], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True) as target:
        try:
            live = place_probe.live("-j", "--stack=managed", "--max-frames=512", target.pid,
                                    "churn!leaf")
            for _ in libraries:
                assert target.stdout.readline() == "loaded\n"
            time.sleep(PAUSE_S * machine.SCALE)
            result = live.stop().expect(0)
        finally:
            target.kill()
    hits = sorted(result.records("hit"), key=lambda hit: hit["time_ns"])
    ends = result.summary()["stack_ends"]
    # Only the tables lead through libraries without frame pointers, of which the last came last.
    assert len(hits) > 1000 and hits[-1]["stack_end"] == "whole"
    assert "unsure" not in ends, ends
