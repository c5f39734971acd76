# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of a busy HTTP server in Node, whose heap is small: at what V8 calls when it misses, compiles and collects, so
anywhere in JavaScript, and at what Node calls to write.

There is no other stack to compare with; but each JavaScript frame is to be in a function of its name in the source."""

import collections
import http.client
import json
import subprocess
import threading

import pytest

from helpers import apps, machine, node, v8_hits

# It has no runtime that compiles methods at addresses that a probe is put on.
pytestmark = pytest.mark.beside

SERVER = machine.TREE / "tests/apps/node/server.js"
PLACES = machine.TREE / "tests/apps/node/places.js"
# Objects that survive are moved all the time; old ones now and then.
FLAGS = ["--max-semi-space-size=1", "--max-old-space-size=48"]
PROBED = ["node!v8::internal::Runtime_*Miss", "node!v8::internal::Runtime_Compile*", "node!v8::internal::Runtime_RegExp*",
          "node!v8::internal::Runtime_ForIn*", "node!v8::internal::Runtime_Throw", "node!v8::internal::Runtime_StackGuard*",
          "node!v8::internal::Runtime_BytecodeBudget*", "node!v8::internal::Builtin_HandleApiCall",
          "node!v8::internal::Builtin_ArrayShift", "node!v8::internal::Heap::CollectGarbage", "node!uv_try_write",
          "libc.so.6!write", "libc.so.6!writev"]
HANDLERS = ["json", "page", "later", "hash", "error", "file", "parsed", "stream"]
CLIENTS = 2
WARM, REQUESTS = 200, 64
# What is seen of them, at least.
HITS = 500
# The share of frames that may be unknown.
UNKNOWN = 0.001


def request(port, number):
    """So many requests, one after the other."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60 * machine.SCALE)
    for i in range(number):
        connection.request("GET", f"/{HANDLERS[i % len(HANDLERS)]}?count={i % 40}")
        response = connection.getresponse()
        assert response.read() and response.status == 200
    connection.close()


def load(port, number):
    clients = [threading.Thread(target=request, args=(port, number)) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()


def misplaced(version, frames):
    """Those whose place is in no function of their name."""
    lines = [json.dumps([frame.name, frame.script, frame.line, frame.column]) for frame in frames]
    result = subprocess.run([node.program(version), "--expose-internals", "--no-deprecation", PLACES], check=True,
                            input="\n".join(lines), capture_output=True, text=True, timeout=60 * machine.SCALE)
    assert result.stderr == "", result.stderr
    return result.stdout.splitlines()


@pytest.fixture(params=node.some_versions())
def server(request):
    app = apps.App([node.program(request.param), *FLAGS, SERVER], None, timeout=60)
    yield request.param, app
    app.close()


def test_server(place_probe, tmp_path, tell, server):
    version, server = server
    port = int(server.ask("port", "port")[1])
    load(port, WARM)
    live = place_probe.live("-j", "--buffer=128M", f"--max-frames={v8_hits.MAX_FRAMES}", "-o", tmp_path / "out",
                            server.pid, *PROBED, timeout=60)
    load(port, REQUESTS)
    result = live.stop().expect(0)
    result.out = (tmp_path / "out").read_text()
    assert server.quit() == 0
    hits, summary = result.records("hit"), result.summary()
    assert len(hits) > HITS and summary["stack_ends"] == {"whole": len(hits)}, summary
    assert set(summary["lost"]) <= {"v8-moved"} and summary["guessed_frames"] == 0, summary
    wrong = collections.Counter(told for hit in hits for told in v8_hits.structure(hit))
    assert not wrong, wrong.most_common(20)
    frames = collections.Counter(frame for hit in hits for frame in v8_hits.javascript(hit))
    unknown = sum(number for frame, number in frames.items() if frame.name is None)
    assert unknown <= UNKNOWN * sum(frames.values()), f"{unknown} of {sum(frames.values())} frames are unknown"
    placed = [frame for frame in frames if frame.line]
    lineless = [(frame, number) for frame, number in frames.items() if frame.name and not frame.line]
    # Maglev says nothing of a few calls; and what TurboFan has inlined may be a builtin, which is in no script.
    assert {frame.tier for frame, _ in lineless if not (frame.inlined and frame.script is None)} <= {
        "builtin", "maglev"}, lineless
    quiet = sum(number for frame, number in lineless if frame.tier != "builtin")
    assert quiet <= UNKNOWN * sum(frames.values()), lineless
    assert unknown <= summary["lost"].get("v8-moved", 0) <= unknown + quiet, summary
    assert not misplaced(version, placed)
    tell(f"v8 stacks: Node {version}, server: {len(hits)} stacks, {sum(frames.values())} frames, {len(placed)} places, "
         f"{unknown} unknown")
