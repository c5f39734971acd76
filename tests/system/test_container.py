# SPDX-License-Identifier: GPL-2.0-or-later
"""Targets whose files are not where this process would look for them."""

import pathlib
import shutil
import subprocess
import sys

import pytest

from helpers import apps, idmapped, machine, records

UNSHARE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
# All that a container has of its own.
CONTAINER = ["unshare", "--user", "--map-root-user", "--cgroup", "--ipc", "--net", "--uts", *UNSHARE[1:]]
pytestmark = pytest.mark.beside


def count_static(place_probe, app, number=40):
    live = place_probe.count(app.pid, apps.METHODS["static"], "System.Threading.Thread::Sleep(int)")
    app.calls("static", number, threads=2)
    app.sleep(number + 1)
    result = live.stop().expect(0)
    assert result.calls("Counted.Kinds::Static") == number, str(result)
    assert result.calls("System.Threading.Thread::Sleep") == number + 1, str(result)
    return result


def target_of(app):
    """The host's pid of the program that unshare started, which thinks that it is 1."""
    assert app.own_pid == 1
    pid, = machine.children_of(app.process.pid)
    return pid


def check_pids(place_probe, app):
    """They are those of who asks."""
    live = place_probe.live("-j", app.pid, apps.METHODS["static"])
    app.calls("static", 2)
    hits = live.stop().expect(0).records("hit")
    assert {hit["pid"] for hit in hits} == {app.pid}


@pytest.mark.parametrize("variant", ["r2r10", "sf10"])
def test_own_namespaces(place_probe, start_app, build_app, short_tmp, variant):
    """A target in its own mount and pid namespaces, its program at a path that only it has."""
    inside = short_tmp / "inside"
    inside.mkdir()
    script = f"mount --bind {build_app(variant).parent} {inside} && exec {inside}/counter"
    app = start_app(variant, executable=script, before=[*UNSHARE, "/bin/sh", "-c"])
    app.pid = target_of(app)
    result = count_static(place_probe, app)
    assert result.summary()["hits"] == 81
    check_pids(place_probe, app)


@pytest.mark.parametrize("variant", ["r2r10", "sf10"])
def test_all_namespaces(place_probe, start_app, build_app, short_tmp, variant):
    """Root of a user namespace of its own, whose files are on a mount that gives them other owners."""
    inside = short_tmp / "inside"
    inside.mkdir()
    shifted = [sys.executable, idmapped.__file__, build_app(variant).parent, inside]
    app = start_app(variant, executable=inside / "counter", before=[*shifted, *CONTAINER])
    app.pid = target_of(app)
    ours, its = (pathlib.Path(f"/proc/{pid}") for pid in ("self", app.pid))
    assert all((ours / "ns" / name).readlink() != (its / "ns" / name).readlink()
               for name in ("user", "mnt", "pid", "cgroup", "ipc", "net", "uts"))
    assert (its / f"root{inside}").stat().st_uid == build_app(variant).parent.stat().st_uid + 100_000
    count_static(place_probe, app)
    check_pids(place_probe, app)


def test_overlay(place_probe, start_app, build_app, short_tmp):
    """A container's root: an overlay, whose files have two names and two inodes."""
    # The upper layer must not itself be on an overlay.
    scratch = short_tmp / "scratch"
    for name in ("upper", "work", "merged"):
        (scratch / name).mkdir(parents=True)
    script = (f"mount -t tmpfs tmpfs {scratch} && cd {scratch} && mkdir upper work merged && "
              f"mount -t overlay overlay -o lowerdir={build_app('r2r10').parent},"
              f"upperdir={scratch}/upper,workdir={scratch}/work {scratch}/merged && "
              f"exec {scratch}/merged/counter")
    app = start_app("r2r10", executable=script, before=[*UNSHARE, "/bin/sh", "-c"])
    app.pid = target_of(app)
    count_static(place_probe, app)


@pytest.mark.parametrize("variant", ["r2r10", "sf10"])
def test_deleted(place_probe, start_app, build_app, short_tmp, variant):
    """The program's files are gone, as after an upgrade."""
    home = short_tmp / "app"
    shutil.copytree(build_app(variant).parent, home)
    app = start_app(variant, executable=home / "counter")
    # A single file reads its assemblies from itself, by name, when they are first needed.
    app.calls("static", 1, threads=1)
    shutil.rmtree(home)
    count_static(place_probe, app)


def test_replaced(place_probe, start_app, build_app, short_tmp):
    """Another file has the name now: what is mapped counts."""
    home = short_tmp / "app"
    shutil.copytree(build_app("r2r10").parent, home)
    app = start_app("r2r10", executable=home / "counter")
    (home / "counter.dll").unlink()
    (home / "counter.dll").write_bytes(b"MZ, but no more than that")
    count_static(place_probe, app)


@pytest.mark.parametrize("name", ["with blanks", "new\nline", "as if (deleted)", "\\ba'ck\"", "ünï"])
def test_awkward_path(place_probe, start_app, build_app, short_tmp, name):
    home = short_tmp / name
    shutil.copytree(build_app("r2r10").parent, home)
    count_static(place_probe, start_app("r2r10", executable=home / "counter"))


def hits_within(place_probe, directory, app, find_pid, options):
    """Run place-probe inside a container on an app of it. Returns the hits and the pid in there."""
    script = directory / "script"
    script.write_text(f"""\
mkfifo {directory}/in
{app} <{directory}/in >{directory}/out &
started=$!
exec 3>{directory}/in
until grep -q ready {directory}/out; do sleep 0.05; done
pid={find_pid}
{place_probe.path} -j {options} $pid 'Counted.Kinds::Static' 2>{directory}/err \
    >{directory}/json &
probe=$!
until grep -q ' attached ' {directory}/err || ! kill -0 $probe; do sleep 0.05; done
echo calls static 5 1 >&3
echo calls static 2 0 >&3
wait $probe
status=$?
echo quit 0 >&3
echo $pid
exit $status
""")
    result = subprocess.run([*UNSHARE, "/bin/bash", script], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=60 * machine.SCALE,
                            env=apps.environment())
    assert result.returncode == 0, result.stderr + (directory / "err").read_text()
    hits = [record for record in records.parse((directory / "json").read_text())
            if record["type"] == "hit"]
    return hits, int(result.stdout)


@pytest.mark.registers
def test_place_probe_in_the_pid_namespace(place_probe, build_app, short_tmp):
    """Run inside a container, on a process of it: pids are the container's."""
    hits, pid = hits_within(place_probe, short_tmp, build_app("r2r10"), "$started", "-N 7")
    assert [hit["pid"] for hit in hits] == [pid] * 7
    assert [hit["tid"] == pid for hit in hits] == [False] * 5 + [True] * 2


@pytest.mark.registers
def test_thread_of_a_namespace_within(place_probe, build_app, short_tmp):
    """-t is the thread's id as place-probe sees it, also where the target sees another."""
    hits, pid = hits_within(place_probe, short_tmp, f"{' '.join(UNSHARE)} {build_app('r2r10')}",
                            "$(cat /proc/$started/task/$started/children)", "-N 2 -t $pid")
    # Of both namespaces: docs/json.md says when.
    assert [(hit["pid"], hit["tid"]) for hit in hits] == [(pid, 1)] * 2
