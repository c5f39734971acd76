# SPDX-License-Identifier: GPL-2.0-or-later
"""The tree, the kernel and the processes that the tests run on."""

import contextlib
import functools
import os
import pathlib
import platform
import re
import struct
import subprocess
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = TREE / "build"
# Who has it has the CPU's debug registers, among all runs of the tests on this machine.
REGISTERS_LOCK = pathlib.Path("/run/lock/place-probe-tests")
# Who has it attaches by perf events. To remove such a uprobe the kernel waits for whoever is held at any, and lets nobody
# attach one meanwhile: so a run's removal and another's hold wait for each other (docs/limits.md).
PERF_LOCK = pathlib.Path("/run/lock/place-probe-tests-perf")
APPS = BUILD / "apps"
TRACING = pathlib.Path("/sys/kernel/tracing")

SLOW = os.environ.get("PLACE_PROBE_TEST_SLOW") == "1"
IS_GUEST = os.environ.get("PLACE_PROBE_TEST_GUEST") == "1"
# How much longer than on an idle machine to wait before giving up.
SCALE = int(os.environ.get("PLACE_PROBE_TEST_SCALE", 6 if SLOW else 1))


def is_root():
    return os.geteuid() == 0


def kernel_version():
    major, minor = re.match(r"(\d+)\.(\d+)", platform.release()).groups()
    return int(major), int(minor)


def has_uprobe_multi():
    # From 6.6 on there is one, but it is limited to a thread, not to a process.
    return kernel_version() >= (6, 10)


class Patience:
    """How long to wait for one thing: not as long once what a test waits for may not come on this machine."""
    HOPELESS_SECONDS = 12

    def __init__(self, seconds):
        self.seconds = seconds
        self.began = time.monotonic()

    # Is set by breakpoints.py.
    is_hopeless = staticmethod(lambda: False)

    def left(self):
        if self.is_hopeless():
            self.seconds = min(self.seconds, self.HOPELESS_SECONDS)
        return self.began + self.seconds - time.monotonic()


def wait_until(condition, what, seconds=10):
    """Wait until `condition()` is true; only for what nobody can announce."""
    patience = Patience(seconds * SCALE)
    while not condition():
        assert patience.left() > 0, f"waited {patience.seconds} s in vain: {what}"
        time.sleep(0.02)


def wait_for(talked, condition, seconds):
    """The same of what a threading.Condition announces. The last that `condition()` was."""
    patience = Patience(seconds)
    known = condition()
    while not known and patience.left() > 0:
        talked.wait(min(1, patience.left()))
        known = condition()
    return known


def run(*command, timeout=60, check=True, **options):
    """Run an ordinary command with its output captured as text."""
    result = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=timeout * SCALE, **options)
    if check:
        assert result.returncode == 0, \
            f"{command} ended with {result.returncode}:\n{result.stdout}{result.stderr}"
    return result


def first_line(text):
    """Empty, if there is none."""
    return next(iter(text.splitlines()), "")


@functools.cache
def tool(name):
    """The path of one of the programs in tests/tools, which is built if it is not there."""
    run("make", "-C", TREE, "tools", timeout=600)
    return BUILD / "tests/tools" / name


@functools.cache
def program(name):
    """The path of one of the native programs, or libraries, in tests/apps: likewise."""
    run("make", "-C", TREE, f"build/tests/apps/{name}", timeout=600)
    return BUILD / "tests/apps" / name


def uprobe_events():
    """The tracefs uprobe table: whatever is in it afterwards and not before was left behind."""
    return (TRACING / "uprobe_events").read_text()


def memory_of(pid, address, size):
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(address)
        return memory.read(size)


def stat_fields(pid):
    """What the kernel says of a process behind its name, which may have anything in it."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def process_state(pid):
    """The state letter of a process, or None if there is no such process."""
    try:
        return stat_fields(pid)[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def thread_states(pid):
    """The state letters of a process's threads."""
    states = set()
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            states.add((task / "stat").read_text().rpartition(")")[2].split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
    return states


def stacks_of(pid):
    """Where the threads of a process and of those that it has started are: for who reads that one hangs."""
    said = []
    for process in [pid, *all_children_of(pid)]:
        for task in sorted(pathlib.Path(f"/proc/{process}/task").glob("*")):
            said.append(f"thread {task.name} of {process}")
            for name in ("comm", "wchan", "syscall", "stack"):
                with contextlib.suppress(OSError):
                    said.append(f"{name}: {(task / name).read_text().strip()}")
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            said.append(subprocess.run(["gdb", "-nx", "-q", "-batch", "-p", str(process), "-ex", "thread apply all bt 20"],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       text=True, errors="replace", timeout=60).stdout)
    return "\n".join(said)


def system_seconds(pid):
    """How long the threads of a process have run in the kernel."""
    return int(stat_fields(pid)[12]) / os.sysconf("SC_CLK_TCK")


def start_time(pid):
    """When a process began, in ticks of the kernel's clock."""
    return int(stat_fields(pid)[19])


BROKER = "probe-broker\n"


def all_children_of(pid):
    """Each with its name."""
    children = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            children[int(child)] = pathlib.Path(f"/proc/{child}/comm").read_text()
    return children


def children_of(pid):
    """But for the broker, which every place-probe has."""
    return [child for child, name in all_children_of(pid).items() if name != BROKER]


def broker_of(pid):
    broker, = [child for child, name in all_children_of(pid).items() if name == BROKER]
    return broker


def perf_records(pid):
    """Does `perf record ... -- sleep N`, which is process `pid`, see events? It enables them before its sleep begins."""
    return any(pathlib.Path(f"/proc/{child}/comm").read_text() == "sleep\n"
               for child in children_of(pid))


def kernel_thread():
    """The pid of some kernel thread, or None where (as in a container) none is to be seen."""
    pf_kthread = 0x00200000
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[6]) & pf_kthread:
            return int(entry.name)
    return None


def unused_pid():
    """The pid of a process that has just gone."""
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    return process.pid


def write_elf32(path):
    """A 32-bit x86 program that only waits: pause() by int 0x80, again and again."""
    base = 0x08048000
    code = bytes([0xb8, 29, 0, 0, 0,    # mov $29 (pause), %eax
                  0xcd, 0x80,           # int $0x80
                  0xeb, 0xf7])          # jmp to the start
    headers = 52 + 32
    ident = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)
    elf = ident + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + headers, 52, 0, 0,
                              52, 32, 1, 0, 0, 0)
    size = headers + len(code)
    segment = struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 0x1000)
    path.write_bytes(elf + segment + code)
    path.chmod(0o755)
