# SPDX-License-Identifier: GPL-2.0-or-later
"""--listen: totals served by HTTP, as a scraper reads them, and who else gets what."""

import contextlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from helpers import apps, asking, machine, openmetrics

# All but one are of a process without a runtime that compiles methods.
pytestmark = [pytest.mark.beside,
              pytest.mark.skipif(not machine.is_root(), reason="only root can look at other processes")]

PROCESS = "libc.so.6!getppid"


@pytest.fixture(scope="module")
def interpreter():
    target = asking.start()
    yield target
    assert target.close() is None


@pytest.fixture
def caller(interpreter):
    """call(N) of it makes so many calls of getppid()."""
    interpreter.call = lambda number: interpreter.ask(f"parent {number}", "done")
    yield interpreter
    interpreter.check_idle()


@pytest.fixture
def serve(place_probe, caller):
    """serve(WORD...): a run that serves the caller's counts, and where."""
    def start(*words, listen="0", mode="-c"):
        live = place_probe.live(mode, f"--listen={listen}", *words, caller.pid, PROCESS)
        live.wait_err(r"serving http://\S+\n")
        return live, re.search(r"serving (\S+)\n", live.err_so_far())[1]

    return start


def scrape(url, method="GET"):
    """What a scraper gets: status, headers, text."""
    request = urllib.request.Request(url, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20 * machine.SCALE) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.headers, refusal.read().decode()


def counted(url):
    status, headers, text = scrape(url)
    assert status == 200
    assert headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    return openmetrics.get(openmetrics.parse(text), "place_probe_calls_total", method="getppid", tier="native")


def port_of(url):
    return int(re.search(r":(\d+)/metrics$", url)[1])


def test_counts(serve, caller):
    """Each scrape has what the app has called until then, and the last exposition all."""
    live, url = serve()
    assert url == f"http://127.0.0.1:{port_of(url)}/metrics"
    for number in range(1, 6):
        caller.call(100)
        assert counted(url) == counted(url) == 100 * number
    result = live.stop().expect(0)
    found = openmetrics.parse(result.out)
    assert openmetrics.get(found, "place_probe_calls_total", method="getppid", tier="native") == 500
    assert openmetrics.get(found, "place_probe_watched_ratio", method="getppid") == 1
    with pytest.raises(urllib.error.URLError, match="refused"):
        scrape(url)


def test_durations(serve, caller):
    live, url = serve(mode="-H")
    name = "place_probe_call_duration_seconds"
    for number in (7, 14):
        caller.call(7)
        found = openmetrics.parse(scrape(url)[2])
        assert openmetrics.get(found, f"{name}_count", method="getppid") == number
        assert openmetrics.buckets(found, name, method="getppid")[-1] == (float("inf"), number)
    found = openmetrics.parse(live.stop().expect(0).out)
    assert openmetrics.get(found, f"{name}_count", method="getppid") == 14


def test_methods(place_probe, shared_app):
    """Of .NET, whose methods are followed meanwhile."""
    method = apps.METHODS["static"]
    live = place_probe.live("-c", "--listen=0", shared_app.pid, method)
    live.wait_err(r"serving http://\S+\n")
    url = re.search(r"serving (\S+)\n", live.err_so_far())[1]
    for number in (30, 60):
        shared_app.calls("static", 30)
        found = openmetrics.parse(scrape(url)[2])
        assert openmetrics.get(found, "place_probe_calls_total", method=method, tier="r2r") == number
    live.stop().expect(0)


def test_with_a_file(serve, caller, tmp_path):
    """What is written every so often and what is served are of the same totals."""
    path = tmp_path / "place-probe.prom"
    live, url = serve("-i", "0.1", "-o", path)
    caller.call(50)
    machine.wait_until(lambda: path.exists() and "} 50\n" in path.read_text(), "the file has them")
    assert counted(url) == 50
    caller.call(50)
    assert counted(url) == 100
    machine.wait_until(lambda: "} 100\n" in path.read_text(), "the file has them")
    assert live.stop().expect(0).out == ""


def test_what_is_refused(serve):
    live, url = serve()
    base = url.removesuffix("/metrics")
    status, headers, text = scrape(url, "HEAD")
    assert (status, text) == (200, "") and int(headers["Content-Length"]) > 0
    for path in ("", "/", "/metrics/", "/metricsx", "/../etc/passwd"):
        assert scrape(base + path)[0] == 404, path
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        status, headers, _ = scrape(url, method)
        assert status == 405 and headers["Allow"] == "GET, HEAD", method
    assert scrape(url)[0] == 200
    live.stop().expect(0)


def test_slow_clients(serve, caller):
    """Some that send nothing, never all of it or too much, or do not read: others get theirs, and the run ends in time."""
    live, url = serve()
    with contextlib.ExitStack() as clients:
        for said in [b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\nHost: x\r\n", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /" + b"x" * 20000]:
            for _ in range(2):
                client = clients.enter_context(socket.create_connection(("127.0.0.1", port_of(url))))
                client.sendall(said)
        caller.call(10)
        began = time.monotonic()
        assert counted(url) == 10
        # A silent one is closed after 5 s.
        assert time.monotonic() - began < 4 * machine.SCALE
        assert live.stop().expect(0).out.endswith("# EOF\n")


def test_more_than_there_is_room_for(serve, caller):
    """Where silent ones have all connections others wait until these are closed."""
    live, url = serve()
    caller.call(10)
    with contextlib.ExitStack() as clients:
        for _ in range(16):
            clients.enter_context(socket.create_connection(("127.0.0.1", port_of(url))))
        began = time.monotonic()
        assert counted(url) == 10
        assert time.monotonic() - began > 2
    live.stop().expect(0)


def test_port_is_taken(place_probe, caller, no_traces):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        place_probe.run("-c", f"--listen={port}", caller.pid, PROCESS).expect_sentence(
            1, f"cannot serve http://127.0.0.1:{port}/metrics: Address already in use")
    place_probe.run("-c", "--listen=192.0.2.1:9464", caller.pid, PROCESS).expect_sentence(
        1, "cannot serve http://192.0.2.1:9464/metrics: Cannot assign")


def other_addresses():
    """Of this machine, but for loopback's own."""
    text = machine.run("ip", "-o", "-4", "addr", check=False).stdout
    return ["127.0.0.2"] + [found for found in re.findall(r"inet ([\d.]+)", text) if not found.startswith("127.")]


def reachable(host, port):
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=5):
        return True
    return False


def test_only_where_it_was_asked_for(serve, caller):
    live, url = serve()
    port = port_of(url)
    assert not [host for host in [*other_addresses(), "::1"] if reachable(host, port)]
    live.stop().expect(0)
    live, url = serve(listen="0.0.0.0:0")
    caller.call(3)
    assert {counted(f"http://{host}:{port_of(url)}/metrics") for host in ["127.0.0.1", *other_addresses()]} == {3}
    live.stop().expect(0)


def test_ipv6(serve, caller):
    if not socket.has_ipv6 or "00000000000000000000000000000001" not in open("/proc/net/if_inet6").read():
        pytest.skip("this machine has no IPv6")
    live, url = serve(listen="[::1]:0")
    assert url.startswith("http://[::1]:")
    caller.call(5)
    assert counted(url) == 5
    assert not reachable("127.0.0.1", port_of(url))
    live.stop().expect(0)


def test_command(place_probe):
    """A program that is started has no part in the socket, and the port is free once the run is over."""
    script = "import os, time\nfor _ in range(50): os.getppid()\nprint(os.listdir('/proc/self/fd'), flush=True)\ntime.sleep(100)"
    live = place_probe.start("-c", "--listen=0", PROCESS, "--", sys.executable, "-c", script)
    live.wait_err(r"serving http://\S+\n")
    url = re.search(r"serving (\S+)\n", live.err_so_far())[1]
    live.wait_out(lambda out: "\n" in out, "the program has called")
    child, = machine.children_of(live.process.pid)
    assert counted(url) == 50
    assert not re.search(rf"127.0.0.1:{port_of(url)}.*pid={child},", machine.run("ss", "-Hltnp").stdout)
    live.process.send_signal(signal.SIGTERM)
    machine.wait_until(lambda: live.process.poll() is not None, "the run ends")
    with socket.create_server(("127.0.0.1", port_of(url))):
        subprocess.run(["kill", str(child)], check=True)
    live.finish().expect(0)
