# SPDX-License-Identifier: GPL-2.0-or-later
"""--source-maps: lines and columns of what a script was made of, against Node's own stack traces with
--enable-source-maps. The map is inline or lies beside the script."""

import base64
import itertools
import json
import re
import subprocess

import pytest

from helpers import machine, node, pairs

pytestmark = [pytest.mark.beside,
              pytest.mark.skipif(not machine.is_root(), reason="only root can look at other processes")]

SCRIPT = """const fs = require('fs');
function inner() { const said = new Error().stack; fs.statSync('/'); return said; }
function outer() { return inner(); }
setInterval(() => { fs.writeFileSync(process.argv[2] + '~', outer()); fs.renameSync(process.argv[2] + '~', process.argv[2]); }, 20);
"""
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
FRAME = re.compile(r"at (?:(\S+) \()?(\S+):(\d+):(\d+)\)?$")


def vlq(value):
    rest = abs(value) << 1 | (value < 0)
    digits = ""
    while True:
        digit, rest = rest & 31, rest >> 5
        digits += DIGITS[digit | (32 if rest else 0)]
        if not rest:
            return digits


def encode(script):
    """Each column of line N is that of line 100 + 3 N of the source, both from 0."""
    lines, line, column = [], 0, 0
    for number, text in enumerate(script.splitlines()):
        segments, before = [], 0
        for at in range(len(text)):
            segments.append("".join(map(vlq, (at - before, 0, 100 + 3 * number - line, at - column))))
            before, line, column = at, 100 + 3 * number, at
        lines.append(",".join(segments))
    return ";".join(lines)


@pairs.choose("version, where", itertools.product([one for one in node.versions() if node.line(one) >= 18],
                                                  ["inline", "beside"]))
def test_lines(place_probe, tmp_path, version, where):
    tmp_path = tmp_path.resolve()
    script, said = tmp_path / "app.js", tmp_path / "said"
    text = json.dumps({"version": 3, "sources": ["src/app.ts"], "names": [], "mappings": encode(SCRIPT)})
    url = "app.js.map"
    if where == "inline":
        url = "data:application/json;base64," + base64.b64encode(text.encode()).decode()
    else:
        (tmp_path / url).write_text(text)
    script.write_text(f"{SCRIPT}//# sourceMappingURL={url}\n")
    with subprocess.Popen([node.program(version), "--enable-source-maps", script, said]) as target:
        try:
            machine.wait_until(lambda: said.exists() and "outer" in said.read_text(), "a stack is there")
            hits = place_probe.run("-j", "--source-maps", "-N", 3, target.pid, "node!uv_fs_stat").expect(0).records("hit")
            plain = place_probe.run("-j", "-N", 1, target.pid, "node!uv_fs_stat").expect(0).records("hit")
        finally:
            target.kill()
    expected = [(name, file.removeprefix("file://"), int(line), int(column)) for name, file, line, column in
                re.findall(FRAME.pattern, said.read_text(), re.M) if file.endswith("app.ts")]
    assert len(expected) >= 2 and all(line >= 100 for _, _, line, _ in expected)
    for hit in hits:
        found = [frame for frame in hit["stack"] if frame["kind"] == "v8" and (frame["file"] or "").endswith("app.ts")]
        # The innermost has gone on from where it took its own stack.
        assert [(frame["name"], frame["file"], frame["line"], frame["column"]) for frame in found[1:2]] == expected[1:2]
        assert [frame["line"] for frame in found[:3]] == [104, 107, 110]
    assert {frame["file"] for frame in plain[0]["stack"] if "app" in (frame["file"] or "")} == {str(script)}
