# SPDX-License-Identifier: GPL-2.0-or-later
"""--debuginfod: debug files of a stripped program that a server has, Debian's debuginfod or one that does as it is told."""

import contextlib
import http.server
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.request

import pytest

from helpers import machine
from test_lines import Program, check

pytestmark = [pytest.mark.beside,
              pytest.mark.skipif(not machine.is_root(), reason="only root can look at other processes")]

PATTERN = "libc.so.6!getppid"
HITS = 20
INLINED = {"innermost", "middle", "outermost"}


class Apart(Program):
    """Its debug file is elsewhere: only a server has it."""

    def __init__(self, directory, served):
        super().__init__(directory, "gcc", "lines.c", "-gdwarf-5", "linked")
        self.debug = pathlib.Path(shutil.move(self.debug, served / "some.debug"))
        notes = machine.run("readelf", "-n", self.path).stdout
        self.build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def program(tmp_path_factory, served):
    with Apart(tmp_path_factory.mktemp("program"), served) as started:
        yield started


@pytest.fixture
def env(tmp_path):
    """env(URL): what a run is to have in its environment, with a cache of its own."""
    def make(url):
        return {**os.environ, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"), "DEBUGINFOD_URLS": url}

    return make


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


class Debuginfod:
    """Debian's server of what is in a directory."""

    def __init__(self, served, build_id, log):
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = log
        with log.open("w") as to:
            self.process = subprocess.Popen(
                ["debuginfod", "-F", "-d", ":memory:", "-t", "0", "-p", self.url.rpartition(":")[2], served],
                stdin=subprocess.DEVNULL, stdout=to, stderr=to)
        machine.wait_until(lambda: self.has(build_id), "the server has the file", 30)
        self.forget()

    def forget(self):
        self.begun = self.log.read_text()

    def has(self, build_id):
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/buildid/{build_id}/debuginfo"):
            return True
        assert self.process.poll() is None, self.log.read_text()
        return False

    def asked(self):
        """For which build IDs, since forget()."""
        return re.findall(r"GET /buildid/([0-9a-f]+)/debuginfo", self.log.read_text().removeprefix(self.begun))

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def running(tmp_path_factory, program, served):
    one = Debuginfod(served, program.build_id, tmp_path_factory.mktemp("log") / "log")
    yield one
    one.close()


@pytest.fixture
def server(running):
    running.forget()
    return running


class Fake:
    """A server that answers with these bytes, not before `let` is set."""

    def __init__(self, answer=None):
        fake = self
        self.let = threading.Event()
        self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                fake.asked.append(self.path)
                fake.let.wait(60 * machine.SCALE)
                self.send_response(200 if answer else 404)
                self.send_header("Content-Length", str(len(answer or b"")))
                self.end_headers()
                self.wfile.write(answer or b"")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.let.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def names(hits):
    return {frame["name"] for hit in hits for frame in hit["stack"]}


def sums(result):
    """What it says of what was fetched."""
    line, = re.findall(r"^place-probe: debuginfod: (.*)$", result.err, re.MULTILINE)
    return line


def test_lines(place_probe, program, server, env):
    """From the first hit on they are those of addr2line; what the cache has is not asked for again."""
    for _ in range(2):
        result = place_probe.run("-j", "-N", HITS, "--debuginfod", program.pid, PATTERN, env=env(server.url)).expect(0)
        hits = result.records("hit")
        assert len(hits) == HITS and names(hits) >= INLINED
        assert all(frame["line"] for hit in hits for frame in hit["stack"] if frame["name"] in ("work", "main", *INLINED))
        assert all("main" in names([hit]) for hit in hits)
        # libc may have its own debug file here, or none anywhere.
        assert re.match(r"1 of [12] debug files fetched", sums(result)), str(result)
        assert server.asked().count(program.build_id) == 1
    count, deepest = check(program, hits)
    assert count >= 4 and deepest >= 4


def test_functions(place_probe, program, server, env):
    """A pattern is of the debug file's functions."""
    place_probe.run("-l", program.pid, "lines!sort_some", env=env(server.url)).expect(3)
    assert server.asked() == []
    result = place_probe.run("-l", "-j", "--debuginfod", program.pid, "lines!sort_some", env=env(server.url)).expect(0)
    assert [site["method"] for site in result.records("site")] == ["sort_some"]
    assert server.asked() == [program.build_id]


def test_merged(place_probe, program, server, env):
    """Equal stacks, too, are named once the file is there."""
    result = place_probe.run("-f", "-j", "-d", "0.5", "--debuginfod", program.pid, PATTERN, env=env(server.url)).expect(0)
    stacks = [record["stack"] for record in result.records("folded")]
    assert stacks and all("sort_some" in stack for stack in stacks)
    assert sum(record["count"] for record in result.records("folded")) == result.summary()["hits"] > HITS


def test_nothing_is_asked_without_the_option(place_probe, program, server, env):
    result = place_probe.run("-j", "-N", HITS, program.pid, PATTERN, env=env(server.url)).expect(0)
    assert not names(result.records("hit")) & INLINED
    assert "debuginfod" not in result.err and server.asked() == []


@pytest.mark.parametrize("urls", [None, "", " "])
def test_without_servers(place_probe, program, env, urls):
    variables = env(urls or "")
    if urls is None:
        del variables["DEBUGINFOD_URLS"]
    place_probe.run("--debuginfod", program.pid, PATTERN, env=variables).expect_sentence(
        1, "DEBUGINFOD_URLS names, and that is not set: set it")


def test_without_the_library(place_probe, program, env):
    library = machine.run("sh", "-c", "ldconfig -p | sed -n 's/.*libdebuginfod.so.1 .*=> //p'").stdout.strip()
    command = place_probe.command(["--debuginfod", program.pid, PATTERN])
    hidden = f"mount --bind /dev/null '{library}' && exec \"$@\""
    result = machine.run("unshare", "-m", "sh", "-c", hidden, "sh", *command, check=False, env=env("http://127.0.0.1:1"))
    assert result.returncode == 1 and result.stdout == ""
    assert re.fullmatch(r"place-probe: --debuginfod needs libdebuginfod.so.1, .*\n", result.stderr), result.stderr


def test_server_is_down(place_probe, program, env):
    url = f"http://127.0.0.1:{free_port()}"
    result = place_probe.run("-j", "-N", HITS, "--debuginfod", program.pid, PATTERN, env=env(url)).expect(0)
    assert len(result.records("hit")) == HITS and not names(result.records("hit")) & INLINED
    assert re.search(r"[12] failed: Connection refused$", sums(result)), str(result)


@pytest.mark.parametrize("kind", ["other", "cut", "garbage", "missing", "large"])
def test_wrong_file(place_probe, program, env, kind):
    """What is not of that build ID is left aside, and so is what is larger than the user wants."""
    debug = program.debug.read_bytes()
    identity = bytes.fromhex(program.build_id)
    assert debug.count(identity) == 1
    answer = {"other": debug.replace(identity, identity[:-1] + bytes([identity[-1] ^ 1])), "cut": debug[:len(debug) // 2],
              "garbage": b"\x7fELF" + bytes(5000), "missing": None, "large": debug}[kind]
    with Fake(answer) as fake:
        fake.let.set()
        variables = env(fake.url) | ({"DEBUGINFOD_MAXSIZE": "100"} if kind == "large" else {})
        result = place_probe.run("-j", "-N", HITS, "--debuginfod", program.pid, PATTERN, env=variables).expect(0)
        assert len(result.records("hit")) == HITS and not names(result.records("hit")) & INLINED
        refused = r"^0 of \d .*\b[12] refused as of another build ID"
        said = {"other": refused, "cut": refused, "garbage": refused,
                "missing": r"0 of \d debug files fetched, [12] not there$", "large": "failed: File too large"}[kind]
        assert re.search(said, sums(result)), str(result)
        assert any(program.build_id in path for path in fake.asked)


def test_server_that_does_not_answer(place_probe, program, env):
    """The run ends when it is to, with all its hits, and what fetches ends with it."""
    with Fake() as fake:
        live = place_probe.start("--debuginfod", program.pid, PATTERN, env=env(fake.url)).wait_attached()
        machine.wait_until(lambda: fake.asked, "it asks")
        fetcher, = machine.children_of(live.process.pid)
        began = time.monotonic()
        result = live.stop().expect(0)
        assert time.monotonic() - began < 10 * machine.SCALE
        assert re.search(rf"^place-probe: {result.out.count('getppid [native]')} hits .*; nothing lost$", result.err, re.MULTILINE)
        assert re.search(r"[12] not waited for$", sums(result)), str(result)
        assert machine.process_state(fetcher) is None


def test_interrupted_while_it_plans(place_probe, program, env):
    with Fake() as fake:
        live = place_probe.start("-l", "--debuginfod", program.pid, "lines!sort_some", env=env(fake.url))
        machine.wait_until(lambda: fake.asked, "it asks")
        fetcher, = machine.children_of(live.process.pid)
        live.stop().expect(-signal.SIGINT)
        machine.wait_until(lambda: machine.process_state(fetcher) in (None, "Z"), "the other one ends with it")


def test_hits_go_on(place_probe, program, env):
    """Where the ring buffer fills up they are shown by what is known; later ones by the file."""
    with Fake(program.debug.read_bytes()) as fake:
        live = place_probe.start("--buffer=1M", "--debuginfod", program.pid, PATTERN, env=env(fake.url)).wait_attached()
        live.wait_out(lambda out: "getppid [native]" in out, "hits are shown")
        assert "lines.c:" not in live.out_so_far()
        fake.let.set()
        live.wait_out(lambda out: "innermost" in out, "they have lines")
        assert "nothing lost" in live.stop().expect(0).err
