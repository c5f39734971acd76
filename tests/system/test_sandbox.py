# SPDX-License-Identifier: GPL-2.0-or-later
"""Two processes: the one that reads the target has no privileges, whatever happens to it, and the broker has them.

What such a process can do is tried in tests/unit/test_broker.c; here it is the kernel that says so of a real run.
"""

import array
import fcntl
import os
import pathlib
import re
import signal
import termios

import pytest

from helpers import apps, machine

pytestmark = pytest.mark.beside

FUNCTION = "calls!calls_plain"
SYS_RESOURCE, SYS_NICE, IPC_LOCK = 24, 23, 14
WRITES = os.O_WRONLY | os.O_RDWR


def status_of(task):
    return dict(re.findall(r"^(\w+):[ \t]*(.*)$", pathlib.Path(task, "status").read_text(), re.MULTILINE))


def tasks_of(pid):
    return [f"/proc/{pid}/task/{tid}" for tid in os.listdir(f"/proc/{pid}/task")]


def left_to_it():
    """What a higher priority and locked memory take where root may not raise limits, as in some containers."""
    may_raise = int(status_of("/proc/self")["CapEff"], 16) >> SYS_RESOURCE & 1
    return 0 if may_raise else 1 << SYS_NICE | 1 << IPC_LOCK


def files_to_write(pid):
    """Which files of the file system it has open so that it can write there."""
    found = set()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        link = os.readlink(entry)
        flags = int(re.search(r"^flags:\s*(\d+)$", pathlib.Path(f"/proc/{pid}/fdinfo/{entry.name}").read_text(),
                              re.MULTILINE)[1], 8)
        if link.startswith("/") and flags & WRITES and not link.startswith(("/memfd:", "/dev/null")):
            found.add(link)
    return found


def check_no_privileges(pid):
    for task in tasks_of(pid):
        status = status_of(task)
        assert {int(status[f"Cap{name}"], 16) for name in ("Inh", "Prm", "Eff", "Amb")} <= {0, left_to_it()}, task
        assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", task
        assert len(set(status["Uid"].split())) == len(set(status["Gid"].split())) == 1, task
        assert int(status["Uid"].split()[0]) > 0x70000000 and not status["Groups"].strip(), task


@pytest.fixture
def target(calls_program, start_app):
    return start_app("calls", executable=calls_program)


@pytest.mark.parametrize("options", [("-c",), ("-j",), ("-H",), ("-f",), ("--watch",)])
def test_no_privileges(place_probe, target, options):
    live = place_probe.live(*options, target.pid, FUNCTION)
    check_no_privileges(live.process.pid)
    live.stop().expect(0)


def test_broker(place_probe, target):
    """It is there as long as the run is, has the privileges, and nothing that is written to but its channel."""
    live = place_probe.live("-c", target.pid, FUNCTION)
    broker = machine.broker_of(live.process.pid)
    for task in tasks_of(broker):
        status = status_of(task)
        assert int(status["CapEff"], 16) & 1 << 39 and status["Uid"].split()[0] == "0", task
    assert not files_to_write(broker) - {f"/proc/{live.process.pid}/mem"}
    live.stop().expect(0)
    assert machine.process_state(broker) is None


def test_broker_is_left_alone(place_probe, shared_app, uprobe_by):
    """Once all is attached nothing is asked of it again and again: while an answer is awaited no machine goes to sleep."""
    live = place_probe.live("-c", "-j", "-i", "1", uprobe_by, shared_app.pid, apps.METHODS["static"])
    broker = machine.broker_of(live.process.pid)

    def has_slept():
        return sum(int(status_of(task)["voluntary_ctxt_switches"]) for task in tasks_of(broker))

    def rests():
        before = has_slept()
        live.run_on(1)
        return has_slept() - before < 20

    machine.wait_until(rests, "the broker is asked for nothing", seconds=20)
    live.stop().expect(0)


def test_nothing_to_write_to(place_probe, target, short_tmp):
    """But what the user has named."""
    live = place_probe.live("-c", "-o", short_tmp / "counts", target.pid, FUNCTION)
    assert files_to_write(live.process.pid) == {str(short_tmp / "counts")}
    live.stop().expect(0)


def test_each_user_of_its_own(place_probe, target):
    """One run cannot reach another."""
    runs = [place_probe.live("-c", target.pid, FUNCTION) for _ in range(2)]
    users = {status_of(f"/proc/{live.process.pid}")["Uid"] for live in runs}
    assert len(users) == 2
    for live in runs:
        live.stop().expect(0)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_crash(place_probe, target, number):
    """It is said in a sentence, the probes are gone, and the target goes on."""
    live = place_probe.count(target.pid, FUNCTION)
    broker = machine.broker_of(live.process.pid)
    target.ask("plain 20 2", "done")
    result = live.stop(number)
    assert result.code == -number
    sentence, = [line for line in result.err.splitlines() if "has ended by a signal or a crash" in line]
    assert sentence.startswith("place-probe: ") and str(target.pid) in sentence
    machine.wait_until(lambda: machine.process_state(broker) is None, "the broker ends")
    assert target.ask("plain 20 2", "done")[2]
    place_probe.run("-c", "-d", "0.1", target.pid, FUNCTION).expect(0)


def test_killed_broker(place_probe, target):
    """What was counted is told, and why no more is."""
    live = place_probe.count(target.pid, FUNCTION)
    made = int(target.ask("plain 20 2", "done")[2])
    os.kill(machine.broker_of(live.process.pid), signal.SIGKILL)
    result = live.finish().expect(1)
    assert result.calls("calls_plain") == made and "ended-early" in result.summary()["lower_bound"], str(result)
    assert "the process that keeps privileges for this one has ended" in result.err


def test_hang(place_probe, target):
    """Who hangs delays nobody, and can be ended."""
    live = place_probe.count(target.pid, FUNCTION)
    live.suspend()
    made = int(target.ask("plain 20 2", "done")[2])
    live.resume()
    assert live.stop().expect(0).calls("calls_plain") == made


def test_listened_to(place_probe, target, tmp_path):
    """Where somebody else answers its system calls it can have no broker."""
    place_probe.before = [machine.tool("failing_calls"), tmp_path / "calls", "setsid", "EIO", 0]
    result = place_probe.run("-c", "-d", "0.1", target.pid, FUNCTION).expect(1)
    assert "somebody listens to our system calls already" in result.err and "--no-sandbox" in result.err
    place_probe.run("--no-sandbox", "-c", "-d", "0.1", target.pid, FUNCTION).expect(0)


def test_without(place_probe, target):
    """It has all that it needs by itself, and says that this is not for targets that are not trusted."""
    live = place_probe.count("--no-sandbox", target.pid, FUNCTION)
    status = status_of(f"/proc/{live.process.pid}")
    assert status["Seccomp"] == "0" and int(status["CapEff"], 16) and status["Uid"].split()[0] == "0"
    assert live.has_said("--no-sandbox")
    made = int(target.ask("plain 20 2", "done")[2])
    assert live.stop().expect(0).calls("calls_plain") == made


@pytest.fixture
def record(place_probe, target, tmp_path):
    """The path of one, and what its run has printed."""
    file = tmp_path / "run.record"
    live = place_probe.count(f"--record={file}", target.pid, FUNCTION)
    target.ask("plain 20 2", "done")
    return file, live.stop().expect(0).out


class Fed:
    """A run that replays what it is fed, of which it has a part."""

    def __init__(self, place_probe, directory, record, *options):
        self.rest = record.read_bytes()
        pipe = directory / "pipe"
        os.mkfifo(pipe)
        self.live = place_probe.start(f"--replay={pipe}", *options, patient=False)
        self.writer = pipe.open("wb", buffering=0)
        self.feed(len(self.rest) // 2)
        # It has given up what it had, and has a broker, by the time that it has read what there is.
        machine.wait_until(lambda: self.unread() == 0, "it reads")

    def unread(self):
        number = array.array("i", [0])
        fcntl.ioctl(self.writer, termios.FIONREAD, number)
        return number[0]

    def feed(self, number):
        self.writer.write(self.rest[:number])
        self.rest = self.rest[number:]

    def end(self):
        self.feed(len(self.rest))
        self.writer.close()
        return self.live.finish()


def test_replay_has_no_privileges(place_probe, record, tmp_path):
    file, printed = record
    fed = Fed(place_probe, tmp_path, file, "-j", "-o", tmp_path / "out")
    pid = fed.live.process.pid
    check_no_privileges(pid)
    assert files_to_write(pid) == {str(tmp_path / "out")}
    broker = machine.broker_of(pid)
    assert files_to_write(broker) <= {f"/proc/{pid}/mem"}
    fed.end().expect(0)
    assert (tmp_path / "out").read_text() == printed
    assert machine.process_state(broker) is None


def test_replay_in_the_place_of_another(place_probe, record, tmp_path):
    """A whole file, which takes a directory that only root may write to; it keeps its owner."""
    page = tmp_path / "metrics"
    page.write_text("old")
    os.chown(page, 1, 1)
    place_probe.run(f"--replay={record[0]}", "--format=openmetrics", "-o", page).expect(0)
    assert page.read_text().endswith("# EOF\n") and page.stat().st_uid == 1
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("metrics")] == ["metrics"]
    # What is refused replaces nothing.
    before = page.read_bytes()
    place_probe.run(f"--replay={record[0]}", "-f", "-o", page).expect(2)
    assert page.read_bytes() == before


def test_replay_crashes(place_probe, record, tmp_path):
    fed = Fed(place_probe, tmp_path, record[0])
    result = fed.live.stop(signal.SIGSEGV)
    assert result.code == -signal.SIGSEGV
    assert "the process that reads the record has ended by a signal or a crash" in result.err


def test_replay_without(place_probe, record, tmp_path):
    replayed = place_probe.run(f"--replay={record[0]}", "--no-sandbox").expect(0)
    assert replayed.out == place_probe.run(f"--replay={record[0]}").expect(0).out != ""
