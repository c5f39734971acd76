# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command in every document does what is said of it, and prints what is shown."""

import collections
import concurrent.futures
import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading

import pytest

from helpers import apps, docs, machine, node

# Whole suites, and what changes the machine: each must be there, and is run by whom it is for.
SUITES = re.compile(r"(make|tests/(setup|check|soak|kernels/soak|bench/run|lint/run)|\.ci/run)\b")
# Other people's programs, and the sample app that is running already.
OTHERS = {"go tool pprof -http=: orders.pb.gz": "its reader; tests/system/test_formats.py reads profiles by another",
          "build/apps/sleeper/sleeper &": "it is the target",
          "perf script -F comm,pid,tid,time,period,event,ip,sym,symoff,dso": "what the format is like"}
# What attaches nothing; and what takes no debug register, and nothing of a .NET process.
LISTS = re.compile(r"place-probe (--complete|--replay|.*(?<!pgrep )(-l|-n) )")
WRITTEN = re.compile(r"(?:-o |> |--flame=|--record=)(\S+)")
LOOKS = re.compile(LISTS.pattern + r"|^mapparse|^tests/apps/build|node!|libc\.so\.6!")
# Which prints nothing here, for there is nothing of that name.
NOTHING_COMES = ("Plugin", "tests/apps/build", "Chekout")

OPENS_FILES = """
const fs = require("fs");
setInterval(function openOften() { fs.open("/dev/null", (e, fd) => e || fs.close(fd, () => {})); }, 5);
console.log("running");
"""
# For what is not there on every machine. What reads folded stacks, reads nothing else.
STUBS = {"flamegraph.pl": r"""awk '!/^[^ ].*;.* [0-9]+$/ { exit 1 } END { print "<svg>" }'""",
         "docker": '[ "$1 $2 $4" = "inspect -f shop" ] && echo "$TARGET"',
         "pgrep": '[ "$*" = "-n sleeper" ] && echo "$TARGET"'}
PERF_MAP = """FFFFFFFF 00 00112233445566778899AABBCCDDEEFF
FFFFFFFE 00 1
FFFFFFFD 00 2
FFFFFFFC 00 3
FFFFFFFB 00 1
00010AF0 0E System.Int64 app.Employee::Work(System.Int64)
"""


def of(document, looks):
    """What is to be run of a document, each once."""
    return [command for command in dict.fromkeys(docs.commands(document))
            if not SUITES.match(command.text) and command.text not in OTHERS
            and bool(LOOKS.search(command.text) and "--replay" not in command.text) == looks]


def having(looks):
    return [document for document in docs.documents() if of(document, looks)]


@pytest.fixture(scope="module")
def sleeper(build_app):
    """The sample app, as it is found: nothing is set for it."""
    program = build_app("sleeper")
    with subprocess.Popen([program], env=apps.environment(tiered=True), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline().startswith("pid ")
            yield process.pid
        finally:
            process.kill()


@pytest.fixture(scope="module")
def javascript():
    try:
        program = node.program()
    except apps.Unavailable as why:
        pytest.skip(str(why))
    with subprocess.Popen([program, "-e", OPENS_FILES], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "running\n"
            yield process.pid
        finally:
            process.kill()


@pytest.fixture(scope="module")
def place(tmp_path_factory, build_app):
    """A directory with all files that commands name."""
    place = tmp_path_factory.mktemp("docs")
    for path in build_app("sleeper").parent.iterdir():
        if path.suffix in (".dll", ".pdb", ".json") and ".deps." not in path.name:
            shutil.copy(path, place / path.name.replace("sleeper", "app"))
    (place / "pq.c").write_text("int PQexec(void) { return 7; }")
    (place / "program.c").write_text("int PQexec(void); int main(void) { return PQexec() - 7; }")
    machine.run("gcc", "-shared", "-fPIC", "-o", place / "libpq.so.5", place / "pq.c")
    machine.run("gcc", "-o", place / "program", place / "program.c", place / "libpq.so.5", f"-Wl,-rpath,{place}")
    (place / "app.ni.r2rmap").write_text(PERF_MAP)
    (place / "app.map").write_text("0000000000020D70 36 instance void [app] app.Employee::Work()\n")
    (place / "maps").mkdir()
    (place / "bin").mkdir()
    for name, script in STUBS.items():
        (place / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (place / "bin" / name).chmod(0o755)
    return place


def adapted(text, pid):
    """As it is run here: with our PID, and for a short time."""
    text = re.sub(r"\b(PID|4711)\b", str(pid), text)
    text = text.replace("/var/lib/node_exporter/", "").replace(" /tmp/perf", " perf")
    text = text.replace("FILE...", "app.map").replace("--maps DIR", "--maps maps")
    text = re.sub(r"--min([ =])\d+ms", r"--min\g<1>5ms", text)
    if "place-probe" not in text or LISTS.search(text):
        return text
    text = re.sub(r"-i [0-9.]+", "-i 0.2", re.sub(r" -d [0-9.]+", "", text))
    # What is started has to come as far as that.
    seconds = 10 if "-N" in text else 5 if " -- " in text else 0.5
    return text.replace("place-probe", f"place-probe -d {seconds}", 1)


class Runner:
    def __init__(self, place_probe, place):
        self.place = place
        self.env = apps.environment(tiered=True)
        self.path = f"{place}/bin:{place_probe.path.parent}:{self.env['PATH']}"
        # Those that write the same file do it one after the other.
        self.writing = collections.defaultdict(threading.Lock)

    def run(self, command, pid):
        """What it printed, on both streams; whatever it started is ended."""
        cwd = machine.TREE if command.text.startswith("tests/") else self.place
        # Files, since a program that was started goes on and would keep a pipe.
        with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+") as err:
            process = subprocess.Popen(
                ["bash", "-c", f"set -o pipefail; {adapted(command.text, pid)}"], cwd=cwd,
                env=self.env | {"PATH": self.path, "TARGET": str(pid), "DEBUGINFOD_URLS": "http://127.0.0.1:1"},
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
            try:
                code = process.wait(30 * machine.SCALE)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            out.seek(0)
            err.seek(0)
            return code, out.read(), err.read()

    def problem(self, target_of, command):
        """What is wrong with it, or None."""
        pid = target_of(command)
        to_file = WRITTEN.search(adapted(command.text, pid))
        with self.writing[to_file[1]] if to_file else contextlib.nullcontext():
            path = self.place / to_file[1] if to_file else None
            if path:
                path.unlink(missing_ok=True)
            code, out, err = self.run(command, pid)
            written = path.exists() and path.read_bytes() if path else out
        return self.judge(command, code, out, err, written)

    def judge(self, command, code, out, err, written):
        said = f"{command}\nexit code {code}\n{out}\n{err}"
        missing = docs.missing(command.output, out, err)
        if missing:
            return f"'{missing}' is shown, and not printed: {said}"
        if code != (3 if any("no method matches" in line for line in command.output) else 0):
            return said
        if len(err.splitlines()) > 8:
            return f"so much on standard error: {said}"
        return None if written or any(name in command.text for name in NOTHING_COMES) else f"nothing came: {said}"

    def check(self, commands, target_of):
        """Some at a time, since most of what they do is to wait. What is replayed has been recorded before."""
        later = [command for command in commands if "--replay" in command.text]
        for name in {name for command in later for name in re.findall(r"--(?:replay|base)=(\S+)", command.text)}:
            if not any(f"--record={name} " in command.text for command in commands):
                recording = docs.Command("recording", f"place-probe --record={name} PID 'App.Orders::*'")
                assert self.problem(target_of, recording) is None
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            problems = [problem for group in ([c for c in commands if c not in later], later)
                        for problem in pool.map(functools.partial(self.problem, target_of), group)]
        assert list(filter(None, problems)) == []


@pytest.mark.parametrize("document", having(looks=False))
def test_probing(place_probe, place, sleeper, document):
    Runner(place_probe, place).check(of(document, looks=False), lambda command: sleeper)


@pytest.mark.beside
@pytest.mark.parametrize("document", having(looks=True))
def test_looking(place_probe, place, sleeper, javascript, document):
    """What only lists, or probes native functions of what is no .NET process."""
    def target_of(command):
        return javascript if re.search(r"node!|libc\.so", command.text) else sleeper

    Runner(place_probe, place).check(of(document, looks=True), target_of)


MAKEFILE = (machine.TREE / "Makefile").read_text()


@pytest.mark.beside
@pytest.mark.anyone
@pytest.mark.parametrize("document", docs.documents())
def test_suites_exist(document):
    """What is not run here for what it would take, can be: targets of the Makefile, programs of the tree."""
    for command in docs.commands(document):
        if not SUITES.match(command.text):
            continue
        program, *words = command.text.split(";")[0].split()
        if program != "make":
            assert os.access(machine.TREE / program, os.X_OK), command
        for word in words if program == "make" else []:
            target = rf"^[\w .$()-]*\b{re.escape(word)}\b[\w .$()-]*:"
            assert "=" in word or re.search(target, MAKEFILE, re.M), command


@pytest.mark.beside
@pytest.mark.anyone
@pytest.mark.parametrize("document", [name for name in docs.documents() if name.endswith(".md")])
def test_links(document):
    """What a document points to in the tree is there."""
    path = machine.TREE / document
    for link in re.findall(r"\]\(([\w./-]+)\)", path.read_text()):
        assert (path.parent / link).exists(), link
