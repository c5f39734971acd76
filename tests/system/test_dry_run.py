# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that --dry-run prints are run as they are: with real perf, the events fire."""

import os
import re
import shlex
import shutil
import signal
import subprocess

import pytest

from helpers import machine

ADD = re.compile(r"--add '([^'=]+)=")
LEGAL = re.compile(r"^(?:[A-Za-z_][A-Za-z0-9_]*:)?[A-Za-z_][A-Za-z0-9_]{0,63}$")


@pytest.fixture(autouse=True)
def clean_up():
    """Whatever a failing test leaves in the table is taken out again."""
    before = set(machine.uprobe_events().splitlines())
    yield
    for line in set(machine.uprobe_events().splitlines()) - before:
        event = line.split()[0].partition(":")[2]
        # Not by open(..., "a"), which would look for an end that this table does not have.
        table = os.open(machine.TRACING / "uprobe_events", os.O_WRONLY | os.O_APPEND)
        os.write(table, f"-:{event}\n".encode())
        os.close(table)


def commands(result, *words):
    """The lines on stdout that are commands beginning with `words`."""
    lines = []
    for line in result.out.splitlines():
        if line and not line.startswith("#") and shlex.split(line)[:len(words)] == list(words):
            lines.append(line)
    return lines


def shell(line, cwd):
    return subprocess.run(["/bin/bash", "-c", line], cwd=cwd, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)


def test_only_commands_and_comments(place_probe, app):
    before = machine.uprobe_events()
    result = place_probe.run("--dry-run", app.pid, "Counted.*::*").expect(0)
    assert machine.uprobe_events() == before, "a dry run put probes"
    names = []
    for line in result.out.splitlines():
        if not line or line.startswith("#"):
            continue
        assert shlex.split(line)[0] == "perf", line
        names += ADD.findall(line)
    assert len(names) > 10
    assert len(set(names)) == len(names), "event names are not unique"
    for name in names:
        assert LEGAL.match(name), name
    assert commands(result, "perf", "record") and commands(result, "perf", "script")
    assert commands(result, "perf", "probe")


def test_events_fire(place_probe, app, tmp_path):
    before = machine.uprobe_events()
    result = place_probe.run("-n", app.pid, "Counted.Kinds::Static",
                             "System.Threading.Thread::Sleep(int32)").expect(0)
    probe_lines = commands(result, "perf", "probe")
    adds = [line for line in probe_lines if "--add" in line]
    deletes = [line for line in probe_lines if "--del" in line]
    assert len(adds) >= 1 and len(deletes) >= 1, result.out

    for line in adds:
        added = shell(line, tmp_path)
        assert added.returncode == 0, f"{line}\n{added.stdout}"

    record_line, = commands(result, "perf", "record")
    # Not into a pipe: perf would write its data there.
    with open(tmp_path / "said", "w", encoding="utf-8") as log:
        recording = subprocess.Popen(["/bin/bash", "-c", f"exec {record_line}"], cwd=tmp_path,
                                     stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        machine.wait_until(lambda: recording.poll() is not None or
                           machine.perf_records(recording.pid), "perf records")
        assert recording.poll() is None, (tmp_path / "said").read_text()
        app.calls("static", 30, threads=3)
        app.sleep(20)
        recording.send_signal(signal.SIGINT)
        recording.wait(timeout=60)
    finally:
        recording.kill()
    said = (tmp_path / "said").read_text()
    script_line, = commands(result, "perf", "script")
    script = shell(script_line, tmp_path)
    assert script.returncode == 0, f"{said}\n{script.stdout}"
    for line in deletes:
        deleted = shell(line, tmp_path)
        assert deleted.returncode == 0, f"{line}\n{deleted.stdout}"
    assert machine.uprobe_events() == before

    events = re.findall(r"(\w+:\w+): ", script.stdout)
    fired = sorted(events.count(event) for event in set(events))
    assert fired == [20, 30], f"{record_line}\n{said}\n{script.stdout[:2000]}"


def commands_run(result, cwd):
    """Run all `perf probe` commands; returns how many probes they added and took away again."""
    lines = commands(result, "perf", "probe")
    for line in lines:
        done = shell(line, cwd)
        assert done.returncode == 0, f"{line}\n{done.stdout}"
    return sum("--add" in line for line in lines)


def test_awkward_path(place_probe, start_app, build_app, short_tmp, tmp_path):
    """A directory with quotes and the like: what is printed can be run all the same."""
    home = short_tmp / "it's-a-\"dir\"-$HOME;&"
    shutil.copytree(build_app("r2r10").parent, home)
    app = start_app("r2r10", executable=home / "counter")
    assert commands_run(place_probe.run("-n", app.pid, "Counted.Kinds::Static"), tmp_path) == 1


@pytest.mark.parametrize("name", ["with blanks", "a#b", "\x1b[31mred"])
def test_impossible_path(place_probe, start_app, build_app, short_tmp, tmp_path, name):
    """The kernel's table cannot hold every path: then no command is printed that would fail."""
    home = short_tmp / name
    shutil.copytree(build_app("r2r10").parent, home)
    app = start_app("r2r10", executable=home / "counter")
    result = place_probe.run("-n", app.pid, "Counted.Kinds::Static",
                             "System.Threading.Thread::Sleep(int32)").expect(0)
    assert "\x1b" not in result.out
    assert commands_run(result, tmp_path) == 1
    left_out, = [line for line in result.out.splitlines() if "not placed" in line]
    assert left_out.startswith("# not placed: Counted.Kinds::Static(int32): perf takes no path such as "), \
        left_out


def test_two_targets(place_probe, start_app, tmp_path):
    """Commands for one process and for another do not get in each other's way."""
    before = set(machine.uprobe_events().splitlines())

    def run(result, option):
        line, = [line for line in commands(result, "perf", "probe") if option in line]
        done = shell(line, tmp_path)
        assert done.returncode == 0, f"{line}\n{done.stdout}"

    def added():
        return len(set(machine.uprobe_events().splitlines()) - before)

    results = [place_probe.run("-n", start_app("r2r10").pid, "Counted.Kinds::Static").expect(0)
               for _ in range(2)]
    run(results[0], "--add")
    assert added() == 1
    run(results[1], "--add")
    assert added() == 2
    # Those of the other stay.
    run(results[0], "--del")
    assert added() == 1
    run(results[1], "--del")
    assert added() == 0


def test_own_mount_namespace(place_probe, start_app, build_app, short_tmp, tmp_path):
    """The target's path is not ours: the commands name the file so that perf finds it."""
    inside = short_tmp / "inside"
    inside.mkdir()
    script = f"mount --bind {build_app('r2r10').parent} {inside} && exec {inside}/counter"
    app = start_app("r2r10", executable=script,
                    before=["unshare", "--mount", "--", "/bin/sh", "-c"])
    result = place_probe.run("-n", app.pid, "Counted.Kinds::Static").expect(0)
    assert commands_run(result, tmp_path) == 1, result.out
