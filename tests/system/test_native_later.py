# SPDX-License-Identifier: GPL-2.0-or-later
"""Native functions that are not there yet when place-probe comes: of libraries that are loaded later, and of
programs that it starts itself. All of their calls are counted, those while they are loaded as well."""

import signal

import pytest

from helpers import apps, follow, machine, probe

pytestmark = pytest.mark.beside

CALLS = 500
THREADS = 4
COUNTED = "later.so!later_counted"
ENTRY = "later_counted"


@pytest.fixture(scope="session")
def program():
    machine.program("later.so")
    return machine.program("calls")


@pytest.fixture(scope="session")
def library(program):
    return program.parent / "later.so"


@pytest.fixture
def target(start_app, program):
    return start_app("calls", executable=program)


@pytest.fixture
def command(place_probe, no_registers_library, start_app, program, tmp_path):
    """command(OPTION...): the native target, started by place-probe, whose output result_of() has."""
    def start(*words, extra=None):
        extra = {"LD_PRELOAD": str(no_registers_library)} | (extra or {})
        app = start_app("calls", executable=program, extra=extra, before=[
            place_probe.path, *probe.PATIENT, "-j", "-o", tmp_path / "output", *words, "--"])
        app.pid = app.own_pid
        return app

    return start


@pytest.fixture
def result_of(tmp_path):
    """result_of(TARGET): end it, and what place-probe has written of it."""
    def end(target):
        code = target.quit()
        return probe.Result(code, (tmp_path / "output").read_text(), "")

    return end


def make(target, kind, number=CALLS, threads=THREADS):
    """Have the target make calls; how many that were."""
    made = int(target.ask(f"{kind} {number} {threads}", "done")[2])
    assert made == number * threads
    return made


def load(target, library):
    """How many calls the library has counted by the time that it is there."""
    loaded = int(target.ask(f"load {library}", "loaded")[1])
    assert loaded >= 2, "the library made no calls while it was loaded"
    return loaded


def unload(target):
    """How many calls it has counted in all."""
    return int(target.ask("unload", "unloaded")[1])


def exact(result):
    summary = result.summary()
    assert summary["lost"] == {} and summary["lower_bound"] == [], str(result)
    assert all(record["lower_bound"] == [] for record in result.records("count")), str(result)
    return result


def all_timed(histogram):
    """Calls that have a beginning and an end, from the first one on."""
    assert histogram["unwound"] == histogram["unfinished"] == histogram["not_timed"] == 0, histogram
    return histogram["count"]


# A process that runs -----------------------------------------------------------------------------


def test_library_loaded_later(place_probe, target, library, uprobe_by):
    live = place_probe.count("--strict", uprobe_by, "--wait", target.pid, COUNTED)
    assert live.sites == 0
    load(target, library)
    make(target, "later")
    made = unload(target)
    result = exact(live.stop().expect(0))
    assert made > CALLS * THREADS and result.calls(ENTRY) == made, str(result)
    record, = result.records("count")
    assert {body["tier"] for body in record["bodies"]} == {"native"}


def test_loaded_again(place_probe, target, library, short_tmp):
    """The same file, which keeps its probes, and a copy of it, which is another file."""
    live = place_probe.count("--strict", "--wait", target.pid, COUNTED)
    copy = short_tmp / library.name
    copy.write_bytes(library.read_bytes())
    made = 0
    for path in (library, library, copy):
        load(target, path)
        make(target, "later")
        made += unload(target)
    assert exact(live.stop().expect(0)).calls(ENTRY) == made


def test_target_that_exits(place_probe, target, library):
    live = place_probe.count("--strict", "--wait", target.pid, COUNTED)
    load(target, library)
    make(target, "later")
    made = unload(target)
    assert target.quit() == 0
    assert exact(live.finish().expect(0)).calls(ENTRY) == made


def test_beside_a_function_that_is_there(place_probe, target, library):
    """What matches nothing yet is warned about, and stays armed all the same."""
    live = place_probe.count("--strict", target.pid, "calls!calls_plain", COUNTED)
    plain = make(target, "plain")
    load(target, library)
    make(target, "later")
    later = unload(target)
    result = exact(live.stop().expect(0))
    assert result.calls("calls_plain") == plain and result.calls(ENTRY) == later
    assert f"no native function matches '{COUNTED}' yet" in result.err, str(result)


@pytest.mark.registers
def test_library_beside_a_method(place_probe, start, build_app):
    """A process with a runtime; its helper is a library that it loads when it is first needed."""
    build_app("native")
    app = start("fd10")
    live = place_probe.count("--strict", "--wait", app.pid, "Counted.Kinds::Static",
                             "helper.so!make_mappings")
    app.calls("static", CALLS, threads=THREADS)
    for _ in range(7):
        app.make_maps(2)
    result = exact(live.stop().expect(0))
    assert result.calls("make_mappings") == 7 and result.calls("Counted.Kinds::Static") == CALLS


def test_library_of_a_process_with_a_runtime(place_probe, start, build_app):
    """Nothing but a native function is asked for, so nothing that is compiled is followed."""
    build_app("native")
    app = start("fd10")
    live = place_probe.count("--strict", "--wait", app.pid, "helper.so!make_mappings")
    for _ in range(7):
        app.make_maps(2)
    assert exact(live.stop().expect(0)).calls("make_mappings") == 7


def test_stacks(place_probe, target, library):
    live = place_probe.live("-j", "--wait", target.pid, COUNTED)
    loaded = load(target, library)
    make(target, "later", 5, 1)
    hits = live.stop().expect(0).records("hit")
    assert len(hits) == loaded + 5
    for hit in hits[loaded:]:
        assert [frame["name"] for frame in hit["stack"][:2]] == [ENTRY, "later_function"], hit


@pytest.mark.alone
def test_durations(place_probe, target, library):
    live = place_probe.live("-H", "-j", "--wait", target.pid, COUNTED)
    load(target, library)
    make(target, "later")
    made = unload(target)
    histogram, = live.stop().expect(0).records("hist")
    assert all_timed(histogram) == made, histogram


@pytest.mark.parametrize("late", [None, "closed", "another"], ids=["at once", "late", "another file"])
def test_without_holding(place_probe, target, library, late):
    """The calls that it makes as it is loaded may be missed, and that is said; later ones are not. By then
    its descriptor may be closed, or be another file's."""
    live = place_probe.count("--no-hold", "--wait", "-i", "0.1", target.pid, COUNTED)
    if late:
        live.suspend()
    load(target, library)
    if late == "another":
        assert target.ask("open /usr/bin/env", "opened")[1] == "3"
    live.resume()

    def is_probed():
        make(target, "later", 1, 1)
        return any(record["type"] == "count" and record["calls"] for record in live.records_so_far())

    machine.wait_until(is_probed, "the library has a probe", seconds=30)
    later = make(target, "later")
    made = unload(target)
    result = live.stop().expect(0)
    assert later < result.calls(ENTRY) <= made, str(result)
    reasons = set(result.summary()["lower_bound"])
    # If the loader has closed the library's file by then, something else may have been missed as well.
    assert "not-held" in reasons <= {"not-held", "compile-event-lost"}, str(result)
    if late:
        assert "compile-event-lost" in reasons and result.calls(ENTRY) < made, str(result)


MAPPER = """
import ctypes, mmap, os, sys
call = ctypes.CDLL(None).syscall
call.restype = ctypes.c_long
call.argtypes = [ctypes.c_long] * 7
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    if line.startswith("quit"):
        break
    fd = os.open(line.split()[1], os.O_RDONLY)
    size = os.fstat(fd).st_size
    # By no function that is known for it.
    at = call(9, 0, size, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, fd, 0)
    print("mapped" if at > 0 else "failed", flush=True)
"""


def test_mapped_by_nobody_known(place_probe, library):
    """What comes by neither the loader nor the C library is found in the end, and told."""
    target = apps.App(["/usr/bin/python3", "-c", MAPPER], None)
    try:
        live = place_probe.count(target.pid, "libc.so.6!getppid", COUNTED)
        target.ask(f"map {library}", "mapped")
        result = live.stop().expect(0)
    finally:
        target.close()
    assert result.summary()["lower_bound"] == ["loaded-later"], str(result)
    assert f"{ENTRY} [native] is in later.so, which was loaded during the run" in result.err


@pytest.mark.parametrize("pattern", ["later.so!no_such_function", "nowhere.so!later_counted"])
def test_waiting_in_vain(place_probe, target, library, pattern):
    live = place_probe.count("--strict", "--wait", target.pid, pattern)
    load(target, library)
    make(target, "later")
    assert exact(live.stop().expect(0)).calls() == 0


def test_nothing_yet_and_no_wait(place_probe, target):
    """Alone, such a pattern is most likely a slip of the pen."""
    result = place_probe.run("-c", target.pid, COUNTED).expect(3)
    assert result.out == "" and "--wait" in result.err, str(result)


# A program that is started --------------------------------------------------------------------


def test_command(command, result_of, library, uprobe_by):
    """Its own functions, those of the C library, and those of what it loads, from the first call of each."""
    target = command("-c", "--strict", uprobe_by, "calls!main", "calls!calls_plain",
                     "libc.so.6!getppid", COUNTED)
    plain, parent = make(target, "plain"), make(target, "parent")
    load(target, library)
    make(target, "later")
    later = unload(target)
    result = exact(result_of(target).expect(0))
    assert result.calls("main") == 1 and result.calls("calls_plain") == plain, str(result)
    assert result.calls("getppid") == parent and result.calls(ENTRY) == later, str(result)


def test_command_that_goes_on(command, tmp_path, library):
    """When place-probe ends first it looks once more, and finds nothing that it has not probed."""
    target = command("-c", "--strict", "calls!calls_plain", "libc.so.6!getppid", COUNTED)
    plain = make(target, "plain")
    loaded = load(target, library)
    target.process.send_signal(signal.SIGINT)
    assert target.process.wait(timeout=target.timeout) == 0
    make(target, "plain", 1, 1)
    result = exact(probe.Result(0, (tmp_path / "output").read_text(), ""))
    assert result.calls("calls_plain") == plain and result.calls(ENTRY) == loaded, str(result)


def test_command_with_a_library_from_the_start(command, result_of, library, no_registers_library):
    """What it calls before main() is counted too: as it is relocated, and by its constructor."""
    target = command("-c", "--strict", COUNTED, extra={"LD_PRELOAD": f"{library}:{no_registers_library}"})
    loaded = load(target, library)
    make(target, "later")
    made = unload(target)
    assert made == loaded + CALLS * THREADS
    assert exact(result_of(target).expect(0)).calls(ENTRY) == made


def test_command_with_names_of_both_kinds(command, result_of):
    """What could be a method's name means a function as well, where there is no such program."""
    target = command("-c", "--strict", "calls!shop::till::add")
    made = int(target.ask(f"add {CALLS} {THREADS}", "done")[2])
    assert exact(result_of(target).expect(0)).calls("shop::till::add") == made == 2 * CALLS * THREADS


def test_dynamic_loader_of_a_command(command, result_of, library):
    """_dl_debug_state() is called twice at the start and as often for each library that comes or goes; by nobody
    of place-probe's before that."""
    target = command("-c", "--strict", "ld-linux-x86-64.so.2!_dl_debug_state")
    load(target, library)
    unload(target)
    assert exact(result_of(target).expect(0)).calls("_dl_debug_state") == 6


def test_stacks_of_a_command(command, result_of):
    """Whole and with names, also if it is over in a moment."""
    target = command("calls!shop::risky", "libc.so.6!getppid")
    target.ask("risky 4 1", "done")
    make(target, "parent", 3, 1)
    result = result_of(target).expect(0)
    hits = result.records("hit")
    risky = [hit for hit in hits if hit["method"] == "shop::risky(int)"]
    assert len(risky) == 4 and len(hits) == 7, str(result)
    for hit in hits:
        names = [frame["name"] for frame in hit["stack"]]
        assert hit["stack_end"] == "whole" and not any(frame["guessed"] for frame in hit["stack"]), hit
        assert names[0] == hit["method"] and names[-1] in ("__clone3", "clone3", "clone"), hit
    for hit in risky:
        assert hit["stack"][1]["name"] == "shop::between(int)", hit


def test_folded_of_a_short_command(place_probe, tmp_path):
    output = tmp_path / "output"
    result = place_probe.run("-f", "-j", "-o", output, "libc.so.6!exit", "--", "/bin/true").expect(0)
    result.out = output.read_text()
    record, = result.records("folded")
    assert record["count"] == 1 and record["stack"][-1] == "exit" and record["stack"][0] != "exit"
    assert "__libc_start_main" in " ".join(record["stack"]), str(result)


@pytest.mark.alone
def test_durations_of_a_command(command, result_of, library):
    target = command("-H", "calls!calls_plain", COUNTED)
    plain = make(target, "plain")
    load(target, library)
    make(target, "later")
    later = unload(target)
    result = result_of(target).expect(0)
    made = {record["method"]: all_timed(record) for record in result.records("hist")}
    assert made == {"calls_plain": plain, ENTRY: later}, str(result)


def test_slow_calls_of_a_command(command, result_of):
    """Each that takes so long at least is shown, with its stack."""
    target = command("-H", "--min", "1ms", "calls!calls_sleep")
    made = make(target, "sleep", 10)
    result = result_of(target).expect(0)
    hits = result.records("hit")
    assert len(hits) == made and result.summary()["lost"] == {}, str(result)
    for hit in hits:
        assert hit["duration_ns"] >= 1_000_000 and hit["stack"][0]["name"] == "calls_sleep", hit


def test_script(place_probe, tmp_path):
    """What runs is the interpreter."""
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    shell = machine.run("readlink", "-f", "/bin/sh").stdout.strip().rpartition("/")[2]
    output = tmp_path / "output"
    result = place_probe.run("-c", "-j", "--strict", "-o", output, f"{shell}!main",
                             "libc.so.6!__libc_start_main", "--", script)
    result.out = output.read_text()
    assert exact(result.expect(0)).calls("__libc_start_main") == 1, str(result)


def test_statically_linked(place_probe, tmp_path):
    """It loads nothing, and has what it has from the start."""
    source, built, output = (tmp_path / name for name in ("fixed.c", "fixed", "output"))
    source.write_text("__attribute__((noinline)) int fixed(int n) { return n * (n ^ 5); }\n"
                      "int main(int count, char **words)\n{\n\tint sum = 0;\n\n\t(void)words;\n"
                      "\tfor (volatile int i = 0; i < 1000; i++)\n\t\tsum += fixed(i + count);\n"
                      "\treturn sum == 42;\n}\n")
    machine.run("gcc", "-O1", "-static", source, "-o", built)
    result = place_probe.run("-c", "-j", "--strict", "-o", output, "fixed!fixed", "--", built)
    result.out = output.read_text()
    assert exact(result.expect(0)).calls("fixed") == 1000, str(result)


@pytest.mark.registers
def test_method_and_function_of_a_command(place_probe, start_app, build_app, tmp_path):
    """A program with a runtime, and a library that it loads later."""
    output = tmp_path / "output"
    build_app("native")
    app = start_app("fd10", tiered=True, before=[
        place_probe.path, "-c", "-j", "--strict", *probe.PATIENT, "-o", output,
        follow.KINDS["static"], "helper.so!make_mappings", "--"])
    app.pid = app.own_pid
    app.calls("static", 20_000, threads=2)
    for _ in range(5):
        app.make_maps(2)
    static = app.count("static")
    assert app.quit() == 0
    result = probe.Result(0, output.read_text(), "")
    assert result.calls("make_mappings") == 5, str(result)
    follow.check_exact(result, {"static": static})


@pytest.mark.registers
def test_stacks_of_a_function_of_a_managed_command(place_probe, start_app, build_app, tmp_path):
    """Nothing but a native function is asked for; who called it is managed all the same."""
    output = tmp_path / "output"
    build_app("native")
    app = start_app("fd10", tiered=True, before=[
        place_probe.path, "-j", *probe.PATIENT, "-o", output, "helper.so!make_mappings", "--"])
    app.pid = app.own_pid
    made = 0

    def has_its_caller():
        nonlocal made
        app.make_maps(2)
        made += 1
        return "Counted." in output.read_text()

    # How code is left that has just been loaded is known in a moment.
    machine.wait_until(has_its_caller, "a stack has managed callers", 60)
    assert app.quit() == 0
    hits = probe.Result(0, output.read_text(), "").records("hit")
    assert len(hits) == made
    assert hits[-1]["stack"][0]["name"] == "make_mappings" and hits[-1]["stack_end"] == "whole"


def test_command_in_vain(place_probe):
    result = place_probe.run("-c", "libc.so.6!no_such_function", "nowhere.so!main", "--",
                             "/bin/true").expect(3)
    for pattern in ("libc.so.6!no_such_function", "nowhere.so!main"):
        assert f"no native function matched '{pattern}'" in result.err, str(result)
    assert "nothing matched in /bin/true" in result.err and "runtime" not in result.err, str(result)


def test_method_of_a_native_command(place_probe):
    result = place_probe.run("-c", "App.Orders::Checkout", "--", "/bin/true").expect(3)
    assert "loaded no .NET runtime" in result.err, str(result)
    beside = place_probe.run("-c", "-j", "App.Orders::Checkout", "libc.so.6!exit", "--", "/bin/true")
    assert beside.expect(0).calls("exit") == 1
    assert "no method matched 'App.Orders::Checkout'" in beside.err, str(beside)
