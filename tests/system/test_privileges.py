# SPDX-License-Identifier: GPL-2.0-or-later
"""What place-probe may do while it runs: what it needs, and no more. The kernel says so, of each thread of the broker,
which has it all (test_sandbox.py has the other process)."""

import os
import pathlib
import re
import shutil
import signal
import stat

import pytest

from helpers import machine, probe

pytestmark = pytest.mark.beside

# From <linux/capability.h>.
NUMBERS = {"chown": 0, "dac_override": 1, "dac_read_search": 2, "fowner": 3, "kill": 5, "setgid": 6, "setuid": 7, "ipc_lock": 14, "sys_ptrace": 19, "sys_admin": 21,
           "sys_nice": 23, "perfmon": 38, "bpf": 39, "checkpoint_restore": 40}
KEPT = {"dac_read_search", "ipc_lock", "sys_ptrace", "sys_admin", "sys_nice", "perfmon", "bpf", "checkpoint_restore"}
# Of root's only: to become another user, and to open files as one.
OF_ROOT = {"setgid", "setuid"}
# Without the others nothing is probed.
ENOUGH = {"sys_ptrace", "dac_read_search", "perfmon", "bpf"}
# Which uprobes that are attached one by one take besides, since Linux 6.17.
ADMIN = {"sys_admin"}
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
FUNCTION = "calls!calls_plain"


def mask(names):
    return sum(1 << NUMBERS[name] for name in names)


def privileges(task):
    """The sets of a thread, by their names in its status, and whether it can get more."""
    status = pathlib.Path(task, "status").read_text()
    sets = {name: int(word, 16) for name, word in re.findall(r"^Cap(\w+):\s*(\w+)$", status, re.MULTILINE)}
    return sets, re.search(r"^NoNewPrivs:\s*(\d)$", status, re.MULTILINE)[1] == "1"


def tasks_of(pid):
    return [f"/proc/{pid}/task/{tid}" for tid in os.listdir(f"/proc/{pid}/task")]


@pytest.fixture
def target(share, calls_program):
    return share("calls", executable=calls_program)


def count_calls(live, target):
    """As many as the target says that it has made."""
    made = int(target.ask("plain 20 2", "done")[2])
    assert live.stop().expect(0).calls("calls_plain") == made


@pytest.mark.parametrize("options, more", [
    (("-c",), set()), (("-j",), set()), (("-f",), set()), (("-H",), set()),
    # That file is written anew by another name, beside it.
    (("-c", "-i", "1", "--format=openmetrics", "-o", "metrics"), {"chown", "dac_override", "fowner"})])
def test_kept(place_probe, target, short_tmp, options, more):
    words = [short_tmp / word if word == "metrics" else word for word in options]
    live = place_probe.live(*words, target.pid, FUNCTION)
    kept = mask(KEPT | OF_ROOT | more)
    for task in tasks_of(machine.broker_of(live.process.pid)):
        sets, is_final = privileges(task)
        assert sets == {"Inh": 0, "Prm": kept, "Eff": kept, "Bnd": kept, "Amb": 0} and is_final, task
    live.stop().expect(0)


def test_kept_without_sandbox(place_probe, target):
    live = place_probe.live("-c", "--no-sandbox", target.pid, FUNCTION)
    kept = mask(KEPT)
    for task in tasks_of(live.process.pid):
        sets, is_final = privileges(task)
        assert sets == {"Inh": 0, "Prm": kept, "Eff": kept, "Bnd": kept, "Amb": 0} and is_final, task
    live.stop().expect(0)


def test_exact_with_them(place_probe, target):
    count_calls(place_probe.count(target.pid, FUNCTION), target)


def test_command_is_as_we_were(place_probe):
    """Not even the sets that limit what it may become are other ones."""
    live = place_probe.live("-c", "libc.so.6!malloc", "--", "/bin/sleep", "1000")
    command, = machine.children_of(live.process.pid)
    assert privileges(f"/proc/{command}") == privileges("/proc/self")
    os.kill(command, signal.SIGKILL)
    live.finish()


def test_uprobes_one_by_one(place_probe, target, by_perf):
    count_calls(place_probe.count(by_perf, target.pid, FUNCTION), target)


@pytest.fixture
def with_file_capabilities(place_probe, short_tmp):
    """with_file_capabilities(NAMES): place-probe as it runs for anyone, in a file that gives these."""
    def copy(names):
        short_tmp.chmod(0o755)
        path = short_tmp / "place-probe"
        shutil.copy(place_probe.path, path)
        path.chmod(stat.S_IRWXU | stat.S_IXGRP | stat.S_IXOTH | stat.S_IRGRP | stat.S_IROTH)
        machine.run("setcap", ",".join(f"cap_{name}" for name in sorted(names)) + "=ep", path)
        return path

    return copy


@pytest.mark.parametrize("given", [
    pytest.param(ENOUGH, marks=pytest.mark.skipif(not machine.has_uprobe_multi(),
                                                  reason="this kernel has no uprobe_multi")), ENOUGH | ADMIN])
def test_file_capabilities(with_file_capabilities, target, given):
    """The process of another user, probed by nobody: these are enough, and what the others are for is said."""
    path = with_file_capabilities(given)
    live = probe.Live([*NOBODY, str(path), "-c", "-j", str(target.pid), FUNCTION], timeout=30)
    try:
        live.wait_attached()
        sets, is_final = privileges(f"/proc/{machine.broker_of(live.process.pid)}")
        assert sets["Eff"] == sets["Prm"] == mask(given) and is_final
        assert not privileges(f"/proc/{live.process.pid}")[0]["Eff"] & ~mask(given & {"sys_nice", "ipc_lock"})
        said = live.err_so_far()
        count_calls(live, target)
    finally:
        live.close()
    missing_ones = KEPT - given - ADMIN
    if ADMIN <= given:
        missing_ones -= {"checkpoint_restore"}
    for missing in missing_ones:
        assert re.search(f"without CAP_{missing.upper()} (files|new code) ", said), said


def test_admin_in_place_of_others(with_file_capabilities, target):
    """Where only this is given, as containers once did, it is kept, and nothing is said to be missing of those."""
    given = {"sys_ptrace", "sys_admin", "ipc_lock", "sys_nice", "dac_read_search"}
    path = with_file_capabilities(given)
    live = probe.Live([*NOBODY, str(path), "-c", "-j", str(target.pid), FUNCTION], timeout=30)
    try:
        live.wait_attached()
        assert privileges(f"/proc/{machine.broker_of(live.process.pid)}")[0]["Eff"] == mask(given)
        said = live.err_so_far()
        count_calls(live, target)
    finally:
        live.close()
    assert "CAP_" not in said


@pytest.mark.parametrize("missing, says", [
    ("sys_ptrace", "may not be looked at"), ("bpf", "the kernel refuses BPF programs"),
    ("perfmon", "the kernel refuses BPF programs"),
    ("dac_read_search", "has CAP_SYS_PTRACE without CAP_DAC_READ_SEARCH")])
def test_one_is_missing(with_file_capabilities, target, missing, says):
    path = with_file_capabilities(ENOUGH - {missing})
    started = machine.run(*NOBODY, path, "-c", "-d", "0.1", target.pid, FUNCTION, check=False)
    probe.Result(started.returncode, started.stdout, started.stderr).expect_sentence(1, says)


def test_nothing_is_said_of_all(place_probe, target):
    assert "CAP_" not in place_probe.run("-c", "-d", "0.1", target.pid, FUNCTION).expect(0).err
