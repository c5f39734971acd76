# SPDX-License-Identifier: GPL-2.0-or-later
"""The injector: what it does to a target is done, undone, and else not to be noticed.

The targets of tests/apps/blocked know themselves whether a register, their signal mask or the result of a system call
has changed, and whether a signal was lost. What is mapped is told by /proc.
"""

import pathlib
import shutil
import signal
import subprocess

import pytest

from helpers import gdb, inject, machine, pairs

pytestmark = [pytest.mark.beside, pytest.mark.stepped,
              pytest.mark.skipif(not machine.is_root(), reason="only root can look at other processes")]

# How a thread may be stopped unseen.
FIT = ["futex", "futex-timed", "futex-until", "nanosleep", "clock_nanosleep", "clock_nanosleep-until", "poll",
       "poll-timed", "ppoll", "select", "pselect6", "read-pipe", "read-eventfd", "wait4", "waitid", "spin"]
# The program would see that it was.
UNFIT = ["epoll_wait", "epoll_pwait", "epoll_pwait2", "sigtimedwait", "recv-timed", "read-timed"]
# Those that a handled signal does not end, as it is handled with SA_RESTART.
RESTARTED = ["futex", "read-pipe", "read-eventfd", "wait4", "waitid", "spin"]
# A sleep ends when it should have ended; the machine may be busy.
SLEEP_S, LATE_S = 8, 0.5
CYCLES = 100


@pytest.fixture
def start():
    """start(CALL, HOW...): a target whose one thread is in that call."""
    program = machine.program("blocked")
    targets = []

    def start_one(*words, before=()):
        target = inject.Talk(*before, program, *words)
        targets.append(target)
        target.pid = target.ready["pid"]
        return target

    yield start_one
    for target in targets:
        target.__exit__()


def waits(target, tid):
    """Has the thread come to where it is to be?"""
    call = pathlib.Path(f"/proc/{target.pid}/task/{tid}/syscall")
    machine.wait_until(lambda: not call.read_text().startswith("running"), "the thread waits")


def finish(target, was_stopped=False):
    """It has seen nothing. Who is stopped by a signal or a debugger gets EINTR from epoll_wait()."""
    said = target.ask("go")
    assert said["wrong"] == said["code"] == 0 and (was_stopped or said["interrupted"] == 0), said
    assert said["sent"] == said["handled"], said
    assert target.end() == 0
    return said


@pytest.mark.parametrize("call", pairs.few(FIT, *FIT[::3], "wait4"))
def test_unseen(start, call):
    """The thread is stopped again and again, and none of its registers changes, nor what its call returns."""
    target = start(call)
    if call != "spin":
        waits(target, target.ready["tid"])
    with inject.on(target.pid) as injector:
        assert injector.ready["rows"] == 1
        made = inject.done(injector.ask("private"))
        assert made["tid"] == target.ready["tid"] and made["stops"] == 1
        assert inject.is_private(target.pid)
        undone = inject.done(injector.ask("shared"))
        assert undone["tid"] == target.ready["tid"]
        assert not inject.is_private(target.pid)
        cycles = inject.done(injector.ask(f"cycle {CYCLES}"))
        assert cycles["stops"] == 2 * CYCLES
        assert injector.end() == 0
    said = finish(target)
    if call.startswith(("nano", "clock", "futex-until", "poll-timed")):
        assert SLEEP_S - 0.1 < said["seconds"] < SLEEP_S + LATE_S * machine.SCALE, said


@pytest.mark.parametrize("call", UNFIT)
def test_never(start, call):
    """Where the program would see it no thread is stopped, and that is said."""
    target = start(call)
    waits(target, target.ready["tid"])
    with inject.on(target.pid) as injector:
        answer = injector.ask("private")
        assert answer["code"] == -11 and answer["stops"] == 0
        assert "could be stopped within a second" in answer["error"]
        assert not inject.is_private(target.pid)
    finish(target)


def test_into_epoll(start):
    """A thread that runs when it is chosen, and is in epoll_wait() when it is stopped: it makes that call again."""
    target = start("waver")
    with inject.on(target.pid) as injector:
        # It may be there whenever it is looked at, for a second.
        assert inject.done(injector.ask("chase 300"))["done"] > 0
    finish(target)


@pytest.mark.parametrize("call", RESTARTED)
def test_storm(start, call):
    """Signals come all the while, to the thread and to the process: none is lost."""
    target = start(call, "storm")
    with inject.on(target.pid) as injector:
        cycles = inject.done(injector.ask("cycle 1000"))
        assert cycles["stops"] == 2000
    assert finish(target)["sent"] > 0


def test_churn():
    """Threads that come and go, children, and signals."""
    with inject.Talk(machine.program("churn")) as target, inject.on(target.ready["pid"]) as injector:
        cycles = inject.done(injector.ask("cycle 1000"))
        assert cycles["stops"] >= 2000
        assert injector.end() == 0
        said = target.ask("end")
        assert target.end() == 0
    assert said["made"] > 0 and said["children"] > 0
    assert said["made"] == said["finished"] and said["sent"] == said["handled"], said
    assert said["wrong"] == 0 and said["backwards"] == 0, said


def test_exec():
    """It becomes another program, by a thread that then is the main one, at any moment."""
    done = turns = 0

    def has_chased():
        nonlocal done, turns
        answer = inject.done(injector.ask("chase 20"))
        done, turns = done + answer["done"], turns + answer["turns"]
        return done >= 20

    with subprocess.Popen([machine.program("churn"), "again"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        with inject.on(process.pid) as injector:
            machine.wait_until(has_chased, "its code is mapped anew between two programs", seconds=60)
        said, _ = process.communicate(timeout=60)
    print(f"mapped anew {done} times of {turns}")
    assert process.returncode == 0 and said == '{"wrong": 0}\n'


def test_stopped(start):
    """A stopped target stays so, and its code can be mapped all the same."""
    target = start("futex")
    target.process.send_signal(signal.SIGSTOP)
    machine.wait_until(lambda: machine.thread_states(target.pid) == {"T"}, "it is stopped")
    with inject.on(target.pid) as injector:
        for _ in range(20):
            inject.done(injector.ask("private"))
            assert inject.is_private(target.pid)
            inject.done(injector.ask("shared"))
        machine.wait_until(lambda: machine.thread_states(target.pid) == {"T"}, "it is stopped again")
        assert not inject.is_private(target.pid)
    target.process.send_signal(signal.SIGCONT)
    finish(target, was_stopped=True)


def test_stopped_and_continued(start):
    """Stops and continuations at any moment."""
    target = start("futex", "storm")
    with inject.on(target.pid) as injector:
        injector.tell("cycle 2000")
        for _ in range(200):
            target.process.send_signal(signal.SIGSTOP)
            target.process.send_signal(signal.SIGCONT)
        inject.done(injector.answer())
    target.process.send_signal(signal.SIGCONT)
    finish(target, was_stopped=True)


@pytest.mark.parametrize(("how", "code", "sentence"), [
    ("errno", -1, "its mmap() failed: Operation not permitted"),
    ("trap", -38, "a seccomp filter forbids it"),
    ("kill", -1, "a seccomp filter would end it"),
    ("kill-thread", -1, "a seccomp filter would end it"),
    ("supervisor", -1, "or ask a supervisor"),
])
def test_seccomp(start, how, code, sentence):
    """A filter that refuses, or ends who tries, is not an accident."""
    target = start("futex", how)
    with inject.on(target.pid) as injector:
        answer = injector.ask("private")
        assert answer["code"] == code and sentence in answer["error"], answer
        assert not inject.is_private(target.pid)
    finish(target)


def test_other_filter(start):
    """One that minds other system calls does not matter."""
    target = start("futex", "kill-other")
    with inject.on(target.pid) as injector:
        inject.done(injector.ask("cycle 10"))
    finish(target)


def test_ignores_trap(start):
    target = start("futex", "ignore")
    with inject.on(target.pid) as injector:
        assert injector.ready["code"] == -95 and "it ignores SIGTRAP" in injector.ready["error"]
    finish(target)


@pytest.mark.skipif(not shutil.which("gdb"), reason="there is no gdb")
def test_traced(start):
    target = start("futex")
    debugger = gdb.Gdb(target.pid, [])
    try:
        with inject.on(target.pid) as injector:
            assert injector.ready["code"] == -16
            assert f"process {debugger.process.pid} (gdb) traces it" in injector.ready["error"]
    finally:
        debugger.detach()
    finish(target, was_stopped=True)


def test_exited(start):
    """It ends while its code is private."""
    target = start("futex")
    with inject.on(target.pid) as injector:
        inject.done(injector.ask("private"))
        target.process.kill()
        target.process.wait()
        answer = injector.ask("shared")
        assert answer["code"] == -3 and "has exited" in answer["error"]
        assert injector.end() == 0


def test_other_row(start):
    """Rows that no descriptor of the target leads to are not touched."""
    target = start("futex")
    with inject.on(target.pid, "libc.so") as injector:
        answer = injector.ask("private")
        assert answer["code"] == -22 and "no pages of a file" in answer["error"], answer
    finish(target)


def test_own_namespaces(start):
    """Ids and mounts are the target's own; who starts it does not see them."""
    target = start("futex", before=["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"])
    assert target.pid == 1
    target.pid, = machine.children_of(target.process.pid)
    with inject.on(target.pid) as injector:
        inject.done(injector.ask("private"))
        assert inject.is_private(target.pid)
        inject.done(injector.ask("cycle 20"))
        inject.done(injector.ask("restore"))
        assert not inject.is_private(target.pid)
    finish(target)


def test_probed(start):
    """Copies come with probes, and go with the shared mapping."""
    target = start("futex")
    (begin, *_), = inject.rows(target.pid)
    entry = machine.memory_of(target.pid, begin, 1)
    with inject.on(target.pid) as injector:
        inject.done(injector.ask("private"))
        inject.done(injector.ask("probe 2"))
        assert inject.anonymous(target.pid) == 8
        assert machine.memory_of(target.pid, begin, 1) == b"\xcc" != entry
        inject.done(injector.ask("unprobe"))
        assert machine.memory_of(target.pid, begin, 1) == entry
        copies = inject.anonymous(target.pid) // 4
        assert inject.done(injector.ask("shared"))["copies"] == copies
        assert inject.anonymous(target.pid) == 0
    finish(target)


def test_left_behind(start):
    """The rows of a run before, of which both processes were killed, can be shared again by the next."""
    target = start("futex")
    with inject.on(target.pid) as injector:
        inject.done(injector.ask("private"))
        for pid in (injector.ready["injector"], injector.process.pid):
            subprocess.run(["kill", "-KILL", str(pid)], check=True)
        injector.process.wait()
    assert inject.is_private(target.pid)
    with inject.on(target.pid) as injector:
        inject.done(injector.ask("shared"))
        assert not inject.is_private(target.pid)
    finish(target)


def test_one_at_a_time(start):
    """Who has a file's rows has them until they are shared again, with probes in them or not."""
    target = start("futex")
    with inject.on(target.pid) as first, inject.on(target.pid) as second:
        inject.done(first.ask("private"))
        answer = second.ask("private")
        assert answer["code"] == -16 and "another place-probe" in answer["error"] and answer["stops"] == 0, answer
        assert inject.is_private(target.pid)
        assert first.end() == 0
        assert not inject.is_private(target.pid)
        inject.done(second.ask("private"))
        assert inject.is_private(target.pid)
        assert second.end() == 0
    assert not inject.is_private(target.pid)
    finish(target)


APPS = ["il8", "il9", "fd10"]
KINDS = ["static", "instance", "throws", "finally", "recurse", "box-int"]
# Smaller ones are no heaps of code.
HEAP_BYTES = 32 << 10
JIT = "doublemapper"


@pytest.mark.parametrize("variant", APPS)
def test_dotnet(start_app, variant, tell):
    """Rows of run-time compiled code, while methods are called, compiled and collected; the app counts its own calls."""
    app = start_app(variant, tiered=True)
    app.calls("static", 100)
    app.run("generic-ref", 4)
    app.run("virtual", 4)
    app.storm(True, gentle=True)
    with inject.on(app.pid, JIT, HEAP_BYTES) as injector:
        assert injector.ready["rows"] > 0
        inject.done(injector.ask("private"))
        assert inject.is_private(app.pid, JIT)
        busy = inject.done(injector.ask("cycle 200"))
        for kind in KINDS:
            app.calls(kind, 1000, threads=2)
            inject.done(injector.ask("look"))
            inject.done(injector.ask("cycle 10"))
        assert app.halt() == 8
        app.storm(False)
        quiet = inject.done(injector.ask("cycle 200"))
        inject.done(injector.ask("restore"))
        assert injector.end() == 0
    assert not inject.is_private(app.pid, JIT) and inject.anonymous(app.pid, JIT) == 0
    for kind in KINDS:
        app.calls(kind, 1000, threads=2)
    assert app.quit() == 0
    tell(f"{variant}: a thread is stopped for {quiet['p50_us']} us, at most {quiet['max_us']}; "
         f"with 8 busy threads {busy['p50_us']}, at most {busy['max_us']}")
