# SPDX-License-Identifier: GPL-2.0-or-later
"""The targets: programs that make as many calls as they are told and say how many they made."""

import contextlib
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import threading

import pytest

from . import machine

# Which variants of tests/apps/counter there are, and what is special about each.
RUNTIMES = {"r2r10": 10, "fd10": 10, "sc8": 8, "sc9": 9, "sc10": 10, "comp10": 10, "sf10": 10,
            "sf8": 8, "sfc10": 10, "il8": 8, "il9": 9, "musl8": 8, "musl10": 10, "sc11": 11, "sf11": 11}
# Those whose own methods are precompiled, in code that a file backs.
PRECOMPILED = ["r2r10", "sc8", "sc9", "sc10", "comp10", "sf10", "sf8", "musl8", "musl10", "sc11", "sf11"]

# Images are compressed in the one file, so that no code of theirs is file-backed.
IN_MEMORY = ["sfc10"]


def by_lane(variants):
    """As parameters of a test that needs no debug register but for some of them."""
    return [pytest.param(name, marks=pytest.mark.registers) if name in IN_MEMORY else name for name in variants]


# The canonical name of the one method that each kind calls.
METHODS = {
    "static": "Counted.Kinds::Static(int32)",
    "instance": "Counted.Square::Plain(int32)",
    "virtual": "Counted.Square::Draw(int32)",
    "interface": "Counted.Square::Name(int32)",
    "explicit": "Counted.Square::Counted.IShape.Area(int32)",
    "struct": "Counted.Point::Length()",
    "delegate": "Counted.Kinds::ByDelegate(int32)",
    "generic-ref": "Counted.Generics::Same[System.__Canon]",
    "generic-int": "Counted.Generics::Same[System.Int32]",
    "generic-point": "Counted.Generics::Same[Counted.Point]",
    "box-ref": "Counted.Box`1[System.__Canon]::Put",
    "box-int": "Counted.Box`1[System.Int32]::Put",
    "ctor": "Counted.Item::.ctor(int32)",
    "getter": "Counted.Item::get_Value",
    "throws": "Counted.Kinds::Throws",
    "finally": "Counted.Kinds::Finally",
    "recurse": "Counted.Kinds::Recurse",
    "over-int": "Counted.Kinds::Over(int32)",
    "over-string": "Counted.Kinds::Over(string)",
    "over-two": "Counted.Kinds::Over(int32,int64)",
    "chain": "Counted.Chain::Inner",
}
# Those that are compiled once, at run time and for good.
FINALS = {
    "final-static": "Counted.Finals::Static(int32)",
    "final-other": "Counted.Finals::Other(int32)",
    "final-text": "Counted.Finals::Text(string)",
    "final-throws": "Counted.Finals::Throws(int32)",
    "final-finally": "Counted.Finals::Finally(int32)",
    "final-recurse": "Counted.Finals::Recurse(int32)",
    "final-int": "Counted.Finals::Same[System.Int32](!!0)",
    "final-ref": "Counted.Finals::Same[System.__Canon](!!0)",
    "final-instance": "Counted.Final::Area(int32)",
    "final-interface": "Counted.Final::Name(int32)",
    "final-struct": "Counted.FinalPoint::Length()",
}
# More of those that tiering moves from body to body. A name ends where its "*" or its text does.
MOVING = {
    "delegate-virtual": "Counted.Square::Draw(int32)",
    "pointer": "Counted.Moving::ByPointer(int32)",
    "reflected": "Counted.Moving::Reflected(int32)",
    "shelf-ref": "Counted.Shelf`1[System.__Canon]::Add",
    "shelf-int": "Counted.Shelf`1[System.Int32]::Add",
    "shelf-point": "Counted.Shelf`1[Counted.Point]::Add",
    "lambda": "Counted.Moving+<>c::<CallLambda>b__*",
    "closure": "Counted.Moving+<>c__DisplayClass*::<CallClosure>b__*",
    "local": "Counted.Moving::<CallLocal>g__Local|*",
    "dynamic": "dynamicClass::CountedMade",
    "dynamic-fresh": "dynamicClass::CountedFresh",
    "expression": "dynamicClass::CountedExpression",
    "async": "Counted.Moving+<Steps>d__*::MoveNext",
    "async-pool": "Counted.Moving+<PoolSteps>d__*::MoveNext",
    "iterator": "Counted.Moving+<Turns>d__*::MoveNext",
    "loop": "Counted.Loops::Long(int32)",
}
# Methods that are calls of native functions. Those whose arguments are passed on as they are may be
# compiled ahead of time; the others have a stub that is compiled at run time.
PINVOKES_PASSED_ON = {
    "pinvoke-direct": "Counted.PInvokes::Direct(int32)",
    "pinvoke-delegate": "Counted.PInvokes::ByDelegate(int32)",
    "pinvoke-pointer": "Counted.PInvokes::ByPointer(int32)",
    "pinvoke-guarded": "Counted.PInvokes::Guarded(int32)",
    "pinvoke-suppressed": "Counted.PInvokes::Suppressed(int32)",
    "pinvoke-suppressed-delegate": "Counted.PInvokes::Suppressed(int32)",
}
PINVOKES_CONVERTED = {
    "pinvoke-error": "Counted.PInvokes::Error(int64)",
    "pinvoke-text": "Counted.PInvokes::Text(string)",
    "pinvoke-one": "Counted.PInvokes::One(int32,int32)",
    "pinvoke-other": "Counted.PInvokes::Other(int32,int32)",
}
PINVOKES = PINVOKES_PASSED_ON | PINVOKES_CONVERTED
# In nobody's optimised code is there a call of it left.
SMALL = "Counted.Small::Tiny(int32)"
# A loop and nothing else, and one that is replaced while it runs.
TURN = "Counted.Finals::Turn(int64&,int64)"
LOOP = "Counted.Loops::Long(int32)"


class Unavailable(Exception):
    """An app that cannot be built here, and why."""


def build(name):
    """Build an app unless it is there already. Returns its program."""
    if os.environ.get("PLACE_PROBE_TEST_BUILT") != "1":
        result = subprocess.run([machine.TREE / "tests/apps/build", name], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
        if result.returncode == 3:
            raise Unavailable("there is no .NET 10 SDK")
        assert result.returncode == 0, result.stdout
    program = "counter"
    for project in ("stacks", "sources", "latency", "mixed", "many", "web", "values", "thrown", "traced", "asynced"):
        program = project if name.startswith(project) else program
    program = {"native": "helper.so", "mixed": "mixed.node", "sleeper": "sleeper",
               "musl": "ld-linux-x86-64.so.2"}.get(name, program)
    if name.startswith("plugin"):
        program = "plugin.dll"
    executable = machine.APPS / name / program
    if not executable.exists():
        note = machine.APPS / f"{name}.unavailable"
        why = note.read_text().strip() if note.exists() else "it has not been built"
        raise Unavailable(f"the app {name} cannot be had: {why}")
    return executable


def environment(tiered=False, extra=None):
    """The environment of a .NET target: as it is found here, minus what would change its code."""
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("DOTNET_", "COMPlus_"))}
    # Framework-dependent programs look here for the runtime.
    dotnet = shutil.which("dotnet")
    if dotnet:
        env["DOTNET_ROOT"] = str(pathlib.Path(dotnet).resolve().parent)
    if not tiered:
        env["DOTNET_TieredCompilation"] = "0"
    env["COUNTED_HELPER"] = str(machine.APPS / "native/helper.so")
    env.update(extra or {})
    return env


class App:
    """A running target that speaks the protocol of tests/apps/counter."""

    def __init__(self, command, env, cwd=None, timeout=30):
        self.timeout = timeout * machine.SCALE
        self.process = subprocess.Popen([str(word) for word in command], env=env, cwd=cwd,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)
        self._lines = queue.Queue()
        self.unanswered = 1
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        ready = self.answer("ready")
        # As the process sees itself; who starts it in a namespace sets .pid afterwards.
        self.own_pid = int(ready[1])
        self.pid = self.process.pid

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def answer(self, expected):
        try:
            line = self._lines.get(timeout=self.timeout)
        except queue.Empty:
            raise AssertionError(f"the target did not answer '{expected}' "
                                 f"in {self.timeout} s") from None
        if line is None:
            raise AssertionError(f"the target ended with {self.process.wait()} before "
                                 f"'{expected}'")
        self.unanswered -= 1
        words = line.split()
        assert words[:1] == [expected], f"the target said '{line}', not '{expected}'"
        return words

    def tell(self, command):
        self.unanswered += 1
        # Of one that has ended answer() says so, and how.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()

    def ask(self, command, expected):
        self.tell(command)
        return self.answer(expected)

    def calls(self, kind, number, threads=0):
        """Make `number` calls on new threads (0: the serving one); returns the app's own count."""
        made = int(self.ask(f"calls {kind} {number} {threads}", "done")[2])
        assert made == number, f"the target miscounted: {made} calls of {number}"
        return made

    def count(self, kind):
        """Calls that the method has counted since the app's start."""
        return int(self.ask(f"count {kind}", "count")[2])

    def workers(self, number):
        self.ask(f"workers {number}", "workers")

    def work(self, kind, number):
        """As calls(), on the threads that workers() started."""
        made = int(self.ask(f"work {kind} {number}", "done")[2])
        assert made == number, f"the target miscounted: {made} calls of {number}"
        return made

    def nested(self, kind, number, threads):
        """As calls(), on threads of which each starts the next."""
        made = int(self.ask(f"nest {kind} {number} {threads}", "done")[2])
        assert made == number, f"the target miscounted: {made} calls of {number}"
        return made

    def run(self, kind, threads):
        """Have threads make calls without end, until halt()."""
        self.ask(f"run {kind} {threads}", "running")

    def halt(self):
        return int(self.ask("halt", "halted")[1])

    def watch(self):
        """Have a thread look at the clock all the time, until pauses()."""
        self.ask("gap on", "gap")

    def pauses(self):
        """The longest time between two of its looks, in microseconds; how many were over 1 ms."""
        longest, number = self.ask("gap off", "gap")[2:]
        return int(longest), int(number)

    def plugin(self, how, path, what, number=1):
        """Load an assembly from its `file`, from `bytes` or as `collectible`; have it run `what`.
        Returns what that returned: of a tally the number of calls."""
        return int(self.ask(f"plugin {how} {path} {what} {number}", "plugin")[1])

    def unload(self):
        """Unload what is collectible, and return how much of it the collector has left."""
        return int(self.ask("unload", "unloaded")[1])

    def churn(self, on, path):
        """Load and unload it all the time."""
        return int(self.ask(f"churn {'on' if on else 'off'} {path}", "churn")[2])

    def grow(self, on, path):
        """Have ever more methods compiled."""
        return int(self.ask(f"grow {'on' if on else 'off'} {path}", "grow")[2])

    def sleep(self, number):
        return int(self.ask(f"sleep {number}", "done")[2])

    def storm(self, on, gentle=False):
        """Collections and exceptions without end; gently there is time left for others."""
        self.ask(f"storm {'off' if not on else 'gentle' if gentle else 'on'}", "storm")

    def child(self, how, kind, number):
        """Have a child made by `how` (spawn, fork, vfork, clone) make calls."""
        assert self.ask(f"{how} {kind} {number}", "spawned") == ["spawned", "0"]

    def run_true(self, number):
        assert self.ask(f"true {number}", "spawned") == ["spawned", "0"]

    def make_maps(self, number):
        assert self.ask(f"maps {number}", "maps") == ["maps", str(number)]

    def exit_main(self):
        """End the main thread; the process lives on without it."""
        self.ask("exitmain", "exited")
        stat = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/stat")
        machine.wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "Z",
                           "the main thread goes")

    def quit(self, code=0):
        """Have the target exit by itself; returns its exit code."""
        self.tell(f"quit {code}")
        return self.process.wait(timeout=self.timeout)

    def alive(self):
        return self.process.poll() is None

    def check_idle(self):
        """It is there, and has answered whatever it was told."""
        assert self.alive(), f"the target ended with {self.process.returncode}"
        assert self.unanswered == 0, f"the target was told {self.unanswered} things more than it answered"

    def close(self):
        """End the target, however it is. Returns how it had ended before, None if it had not."""
        died = self.process.poll()
        if died is None:
            # Inside a namespace of its own it is a child of what started it, which then reaps it.
            os.kill(self.pid, signal.SIGKILL)
            self.process.wait()
        # What it was told and has not read is still to be written.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self._reader.join()
        self.process.stdout.close()
        return died
