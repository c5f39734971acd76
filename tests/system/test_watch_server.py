# SPDX-License-Identifier: GPL-2.0-or-later
"""--watch and --if of what a server of ASP.NET runs on (tests/apps/web): the framework's own methods, which are
precompiled. What is shown is compared with what the test has sent itself, or with what its own server was asked for."""

import http.client
import http.server
import threading
import urllib.parse

import pytest

from helpers.watched import exact

pytestmark = pytest.mark.beside


def get(target, path):
    """What the server says, over a connection of its own: it keeps the strings of the last request of one."""
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    assert answer.status == 200, (path, answer.status, body)
    return body


@pytest.fixture
def web(share):
    # Without tiers the framework's code is not compiled anew, so nothing needs a debug register.
    target = share("web10")
    target.port = int(target.ask("port", "port")[1])
    get(target, "/order/1")
    return target


def argument(call, name):
    [found] = [value for value in call["arguments"] if value["name"] == name]
    return found


def of(result, method):
    return [call for call in result.records("call") if call["method"].startswith(method)]


@pytest.fixture
def files(tmp_path):
    """Some of known lengths, by their paths."""
    made = {}
    for length, name in enumerate(["plain.txt", "Grüße, 世界", "with space", "x" * 120], start=3):
        path = tmp_path / name
        path.write_bytes(b"z" * length)
        made[str(path)] = length
    return made


OPEN = "System.IO.File::OpenHandle"


def test_files(place_probe, web, files):
    """File.OpenHandle(path, ...): each path that was asked for, in that order."""
    live = place_probe.live("--watch", "-j", "--string-bytes=1020", web.pid, OPEN)
    for path, length in files.items():
        assert get(web, "/file" + urllib.parse.quote(path)) == str(length)
    calls = of(exact(live.stop()), OPEN)
    assert [argument(call, "path")["value"] for call in calls] == [*files]
    assert {argument(call, "mode")["value"] for call in calls} == {"Open"}
    assert {call["result"]["type"] for call in calls} == {"Microsoft.Win32.SafeHandles.SafeFileHandle"}


def test_one_file(place_probe, web, tmp_path):
    """--if in the framework; the others are counted."""
    wanted = tmp_path / "a"
    for name in "abc":
        (tmp_path / name).write_text(name)
    condition = f'path.Length == {len(str(wanted))} && access == Read && path != null'
    if len(str(wanted)) <= 64:
        condition += f' && path == "{wanted}"'
    live = place_probe.live("-c", "-j", "--if", condition, web.pid, OPEN)
    for name in "abcabca":
        get(web, f"/file{tmp_path}/{name}")
    result = exact(live.stop())
    shown = 3 if len(str(wanted)) <= 64 else 7
    assert result.calls() == shown and sum(record["calls"] for record in result.summary()["filtered"]) == 7 - shown


PATHS = ["/text/abc", "/order/7", "/order/8?paid=1", "/list", "/text/Gr%C3%BC%C3%9Fe", "/throw", "/text/a%20b?x=%41"]
DECODE = "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.PathDecoder::DecodePath"
TOKENIZE = "Microsoft.AspNetCore.Routing.Matching.DfaMatcher::FindCandidateSet"


def decoded(target):
    return urllib.parse.unquote(target.partition("?")[0])


def test_request_paths(place_probe, web):
    """Kestrel is given what was sent, and gives the path; routing is given that."""
    live = place_probe.live("--watch", "-j", "--string-bytes=1020", web.pid, DECODE, TOKENIZE)
    for path in PATHS:
        get(web, path)
    result = exact(live.stop())
    kestrel, routing = of(result, DECODE), of(result, TOKENIZE)
    assert [argument(call, "rawTarget")["value"] for call in kestrel] == PATHS
    assert [call["result"]["value"] for call in kestrel] == [decoded(path) for path in PATHS]
    assert [argument(call, "path")["value"] for call in routing] == [decoded(path) for path in PATHS]


def test_one_request(place_probe, web):
    condition = 'rawTarget == "/order/8?paid=1" || result == "/list"'
    live = place_probe.live("--watch", "-j", "--if", condition, web.pid, DECODE)
    for path in PATHS * 3:
        get(web, path)
    result = exact(live.stop())
    assert [argument(call, "rawTarget")["value"] for call in of(result, DECODE)] == ["/order/8?paid=1", "/list"] * 3
    assert sum(record["calls"] for record in result.summary()["filtered"]) == 3 * len(PATHS) - 6


class Asked(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802 (as the library calls it)
        self.server.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    """One that writes down what it is asked for."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Asked) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


# Two that are there in each version: what the client calls, and who has the connections.
SEND = ["System.Net.Http.HttpMessageInvoker::SendAsync", "System.Net.Http.SocketsHttpHandler::SendAsync"]


def test_requests_that_it_makes(place_probe, web, server):
    """System.Net.Http.*::SendAsync: each handler on the way is given a request for each that then comes."""
    paths = [f"/{word}?n={i}" for i, word in enumerate(["first", "second", "third"])]
    web.ask(f"fetch http://127.0.0.1:{server.server_port}/warm", "fetched")
    server.asked.clear()
    live = place_probe.live("--watch", "-j", "--if", "request != null && request._requestUri != null", web.pid, *SEND)
    for path in paths:
        web.ask(f"fetch http://127.0.0.1:{server.server_port}{path}", "fetched")
    result = exact(live.stop())
    assert server.asked == paths
    for method in SEND:
        calls = of(result, method + "(")
        assert [argument(call, "request")["type"] for call in calls] == ["System.Net.Http.HttpRequestMessage"] * 3
    assert result.summary()["filtered"] == []
