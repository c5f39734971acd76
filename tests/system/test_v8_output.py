# SPDX-License-Identifier: GPL-2.0-or-later
"""What place-probe prints of a Node process, against `new Error().stack` of the same calls: stacks in each form, lists,
and what it does not find."""

import pytest

from helpers import v8_hits

# It has no runtime that compiles methods at addresses that a probe is put on.
pytestmark = pytest.mark.beside


@pytest.fixture(scope="module")
def probed():
    with v8_hits.probed() as target:
        yield target


@pytest.fixture
def printed(place_probe, probed, tmp_path):
    """printed(OPTION...): what is printed of calls of stop(), and what V8 said of each."""
    def run(*options):
        return v8_hits.printed(place_probe, probed, tmp_path / "said", *options)

    return run


def text_of(frame):
    return f"{frame.name} ({frame.script}:{frame.line}:{frame.column})" if frame.script else frame.name


def folded_of(frame):
    return f"{frame.name} ({frame.script}:{frame.line})" if frame.script else frame.name


def test_text(printed):
    result, expected = printed()
    stacks = result.out.rstrip("\n").split("\n\n")
    assert len(stacks) == len(expected) == len(v8_hits.WAYS)
    for stack, said in zip(stacks, expected):
        head, *frames = stack.splitlines()
        assert " node::credentials::GetUid(" in head and head.endswith(" [native]"), head
        found = [frame for frame in frames if not frame.startswith("        native ")]
        assert [frame for frame in found if not frame.startswith("        stub ")] == \
            [f"        js       {text_of(frame)}" for frame in said], stack


def test_managed(printed):
    """The same JavaScript, and nothing of native code."""
    result, expected = printed("-j", "--stack=managed")
    hits = result.records("hit")
    assert [v8_hits.javascript(hit) for hit in hits] == expected
    assert {frame["kind"] for hit in hits for frame in hit["stack"]} <= {"v8", "stub"}
    assert result.summary()["stack_ends"] == {"whole": len(hits)}


def test_managed_text(printed):
    result, expected = printed("--stack=managed")
    stacks = result.out.rstrip("\n").split("\n\n")
    assert [[line.split(maxsplit=1)[1] for line in stack.splitlines()[1:] if line.split()[0] == "js"] for stack in stacks] == \
        [[text_of(frame) for frame in said] for said in expected]


@pytest.mark.parametrize("how", [[], ["-j"]], ids=["text", "json"])
def test_folded(printed, how):
    """Stacks that are equal but for columns are one."""
    result, expected = printed("-f", "--stack=managed", *how)
    if how:
        found = {tuple(record["stack"]): record["count"] for record in result.records("folded")}
    else:
        lines = [line.rpartition(" ") for line in result.out.splitlines()]
        found = {tuple(stack.split(";")): int(count) for stack, _, count in lines}
    wanted = {}
    for said in expected:
        key = tuple(folded_of(frame) for frame in reversed(said))
        wanted[key] = wanted.get(key, 0) + 1
    scripts = {folded_of(frame) for said in expected for frame in said}
    assert {tuple(part for part in stack if part in scripts): count for stack, count in found.items()} == wanted


def test_members(printed):
    """Each frame has what docs/json.md says that frames of its kind have."""
    result, _ = printed("-j")
    frames = [frame for hit in result.records("hit") for frame in hit["stack"]]
    assert {frame["kind"] for frame in frames} == {"native", "v8", "stub"}
    for frame in frames:
        builtin = frame["tier"] == "builtin"
        is_js = frame["kind"] == "v8"
        assert (frame["tier"] is None) != is_js, frame
        assert frame["name"] and not frame["guessed"], frame
        # Of some of its native functions Node has debug information.
        if frame["kind"] == "native":
            assert bool(frame["file"]) == bool(frame["line"]) and (frame["file"] or not frame["inlined"]), frame
            continue
        assert bool(frame["file"] and frame["line"] and frame["column"]) == (is_js and not builtin), frame
        assert not frame["inlined"], frame


def test_list(place_probe, probed):
    result = place_probe.run("-l", "-j", probed.pid, "node!uv_fs_read").expect(0)
    (site,) = result.records("site")
    assert (site["method"], site["image"], site["tier"], site["mechanism"]) == ("uv_fs_read", "node", "native", "uprobe")
    result = place_probe.run("-n", probed.pid, "node!uv_fs_read").expect(0)
    assert f"--add 'place_probe_{probed.pid}:uv_fs_read_" in result.out, str(result)


def test_not_found(place_probe, probed):
    pid = probed.pid
    # JavaScript functions are not probed: what can be is said.
    for pattern in ("Klass::count", "/stop/", "*"):
        place_probe.run("-l", pid, pattern).expect_sentence(1, str(pid), "Image!function")
    result = place_probe.run("-l", pid, "node!uv_fs_nothing").expect(3)
    assert "no native function matches 'node!uv_fs_nothing'" in result.err, str(result)
