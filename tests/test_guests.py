# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest's run is judged by: what its kernel says, and what its tests have left."""

import json
import subprocess
import sys

import pytest

from helpers import guests, machine, results

pytestmark = pytest.mark.beside

BOOTED = """\
[    0.004000] TSC deadline timer disabled
[    2.104213] place-probe: the guest begins
{}[   80.113520] place-probe: the guest ends
"""
# What must not pass, as kernels say it, and how the line is told.
COMPLAINTS = {
    "warn": ("[   41.2] WARNING: CPU: 1 PID: 311 at kernel/events/core.c:2309 event_sched_out+0x1c9/0x270\n",
             "WARNING: CPU: 1 PID: 311 at kernel/events/core.c:2309 event_sched_out+0x1c9/0x270"),
    "of a thread": ("[   41.200001][  T311] WARNING: CPU: 1 PID: 311 at lib/refcount.c:28 refcount_warn_saturate+0xba\n",
                    "WARNING: CPU: 1 PID: 311 at lib/refcount.c:28 refcount_warn_saturate+0xba"),
    "bug": ("[   12.000001] kernel BUG at mm/slub.c:379!\n", "kernel BUG at mm/slub.c:379!"),
    "oops": ("[   12.000001] Oops: 0002 [#1] PREEMPT SMP NOPTI\n", "Oops: 0002 [#1] PREEMPT SMP NOPTI"),
    "exception": ("[   12.000001] invalid opcode: 0000 [#1] PREEMPT SMP\n", "invalid opcode: 0000 [#1] PREEMPT SMP"),
    "protection": ("[   12.000001] general protection fault, probably for non-canonical address 0xdead: 0000\n",
                   "general protection fault, probably for non-canonical address 0xdead: 0000"),
    "circular": ("[   12.000001] WARNING: possible circular locking dependency detected\n",
                 "WARNING: possible circular locking dependency detected"),
    "old circular": ("[   12.000001] [ INFO: possible circular locking dependency detected ]\n",
                     "[ INFO: possible circular locking dependency detected ]"),
    "recursive": ("[   12.000001] INFO: possible recursive locking detected\n",
                  "INFO: possible recursive locking detected"),
    "inconsistent": ("[   12.000001] inconsistent lock state\n", "inconsistent lock state"),
    "stall": ("[   60.000001] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n",
              "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:"),
    "own stall": ("[   60.000001] rcu: INFO: rcu_sched self-detected stall on CPU\n",
                  "rcu: INFO: rcu_sched self-detected stall on CPU"),
    "hung": ("[  130.000001] INFO: task place-probe:411 blocked for more than 120 seconds.\n",
             "INFO: task place-probe:411 blocked for more than 120 seconds."),
    "lockup": ("[   60.000001] watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [dotnet:412]\n",
               "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [dotnet:412]"),
}
PANIC = """\
[   30.000001] BUG: kernel NULL pointer dereference, address: 0000000000000010
[   30.000002] CPU: 0 PID: 300 Comm: dotnet Not tainted 6.12.1-amd64 #1  Debian 6.12.1
[   30.000003] RIP: 0010:{rip}+0x12/0x80
[   30.000004] Call Trace:
[   30.000005]  <TASK>
[   30.000006]  {caller}+0x3d/0x90
[   30.000007]  ? __schedule+0x3ed/0xb40
[   30.000008]  </TASK>
[   30.000009] Kernel panic - not syncing: Fatal exception in interrupt
"""


def test_quiet_console():
    assert not guests.problems(BOOTED.format(""))
    assert not guests.problems(BOOTED.format("[    3.000001] traps: target[300] trap int3 ip:401000 sp:7ffd error:0\n"))


@pytest.mark.parametrize("name", COMPLAINTS)
def test_complaint(name):
    line, told = COMPLAINTS[name]
    problems = guests.problems(BOOTED.format(line + "[   41.3] what follows\n"))
    assert problems[:3] == ["its kernel complained:", f"    {told}", "    what follows"]


def test_harmless_line(monkeypatch):
    """Exactly this, and nothing like it."""
    monkeypatch.setitem(guests.HARMLESS, "WARNING: known", "the reason")
    assert not guests.problems(BOOTED.format("[    0.1] WARNING: known\n"))
    assert guests.problems(BOOTED.format("[    0.1] WARNING: known, and more\n"))


@pytest.mark.parametrize("console", ["", BOOTED.format("").partition("\n[   80")[0],
                                     BOOTED.format("").partition("guest begins")[2]])
def test_console_is_incomplete(console):
    assert any("console was not kept" in problem for problem in guests.problems(console))


@pytest.mark.parametrize(("rip", "caller", "again"), [
    ("pick_next_entity", "pick_next_task_fair", True),
    ("bpf_prog_5f3b8a_count_hit", "pick_next_task_fair", False),
    ("pick_next_entity", "uprobe_notify_resume", False),
    ("native_set_debugreg", "arch_install_hw_breakpoint", False),
    ("memcpy", "perf_event_output_forward", False),
    ("pick_next_entity", "__perf_event_task_sched_in", False),
    ("pick_next_entity", "bpf_trampoline_6442474", False),
])
def test_boots_again(rip, caller, again):
    """Only if all that is known of the panic is that it is not ours."""
    assert guests.may_boot_again(PANIC.format(rip=rip, caller=caller)) == again


def test_does_not_boot_again():
    panic = PANIC.format(rip="pick_next_entity", caller="pick_next_task_fair")
    without_trace = "".join(line + "\n" for line in panic.splitlines() if "+0x" not in line)
    without_end = panic.partition("[   30.000009]")[0]
    with_warning, with_lockup = COMPLAINTS["warn"][0] + panic, COMPLAINTS["lockup"][0] + panic
    for console in ("", BOOTED.format(""), BOOTED.format(COMPLAINTS["stall"][0]), without_trace, without_end,
                    with_warning, with_lockup):
        assert not guests.may_boot_again(console)


@pytest.fixture
def exchange(tmp_path):
    """What a guest leaves that has come to its end, all well."""
    (tmp_path / "console").write_text(BOOTED.format(""))
    (tmp_path / "results").write_text(json.dumps(
        {"passed": 2, "failed": 0, "skipped": 1, "spoilt": [], "why": {},
         "tests": [["a", 1.5, "passed"], ["b", 2.5, "passed"], ["c", 0, "skipped"]]}))
    return tmp_path


def test_judged(exchange):
    guest, told = guests.judge("Linux 6.1", "80", 0, exchange)
    assert not told
    assert (guest["name"], guest["seconds"], guest["passed"], guest["failed"], guest["skipped"]) == \
        ("Linux 6.1", 80, 2, 0, 1)
    assert [test[0] for test in guests.slowest(guest, 2)] == ["b", "a"]


def test_console_fails_a_guest(exchange):
    (exchange / "console").write_text(BOOTED.format(COMPLAINTS["warn"][0]))
    guest, told = guests.judge("Linux 6.1", "80", 0, exchange)
    assert guest["failed"] == 1 and COMPLAINTS["warn"][1] in "\n".join(told)


def test_problems_are_kept_for_the_table(exchange):
    """In a few lines, of which one says where it was."""
    (exchange / "console").write_text(PANIC.format(rip="pick_next_entity", caller="pick_next_task_fair"))
    kept = guests.judge("Linux 6.1", "80", 0, exchange)[0]["problems"]
    assert len(kept) <= guests.ESSENCE + 2 and any("RIP: " in line and "pick_next_entity" in line for line in kept)
    part = results.Part("Linux 6.1", problems=kept, tests=[["a", 1, "passed"], ["b", 1, "failed"]])
    assert results.table([part]).splitlines()[-1 - len(kept):] == [
        f"failed: {what} (Linux 6.1)" for what in ["b", *kept]]


def test_no_results_fail_a_guest(exchange):
    (exchange / "results").unlink()
    guest, told = guests.judge("Linux 6.1", "80", 0, exchange)
    assert guest["failed"] == 1 and told == ["the tests ended before they were counted"]


def test_status_fails_a_guest(exchange):
    guest, told = guests.judge("Linux 6.1", "80", 1, exchange)
    assert guest["failed"] == 1 and told == ["the tests ended with 1"]


def test_commands(exchange):
    """As tests/kernels/check uses it."""
    def run(*arguments):
        return subprocess.run([sys.executable, machine.TREE / "tests/helpers/guests.py", *arguments],
                              capture_output=True, text=True, timeout=60)

    well, ill = exchange / "guest-0.json", exchange / "guest-1.json"
    assert run("judge", "Linux 6.1", "80", "0", exchange, well).returncode == 0
    assert run("complained", exchange / "console").returncode == 0
    (exchange / "console").write_text(PANIC.format(rip="pick_next_entity", caller="pick_next_task_fair"))
    assert run("again", exchange / "console").returncode == 0
    complained = run("complained", exchange / "console")
    assert complained.returncode == 1 and "Kernel panic" in complained.stdout
    judged = run("judge", "Linux 6.12", "90", "124", exchange, ill)
    assert judged.returncode == 1 and "Kernel panic" in judged.stdout
    (exchange / "console").write_text(PANIC.format(rip="bpf_get_stack", caller="pick_next_task_fair"))
    assert run("again", exchange / "console").returncode == 1
    assert run("again", exchange / "none").returncode == 1
    both = run("sum", well, ill)
    assert both.returncode == 1 and both.stdout.splitlines()[-1] == "4 passed, 1 failed, 2 skipped"
    assert run("sum", well).returncode == 0
