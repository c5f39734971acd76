# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel that does not tell its own types (BTF), as small ones may not: what goes by them is found another way, or
is left out; counts, durations and stacks are what they are elsewhere."""

import pytest

from helpers import apps, inject, many, v8_hits

pytestmark = pytest.mark.beside

CALLS = 1000
HIDE = 'mount -t tmpfs none /sys/kernel/btf && ! ls /sys/kernel/btf/vmlinux /boot/vmlinux* 2>/dev/null && exec "$@"'


@pytest.fixture
def without_types(place_probe):
    place_probe.before = ["unshare", "--mount", "sh", "-c", HIDE, "sh"]
    return place_probe


@pytest.mark.parametrize("mode", ["-c", "-H"])
def test_methods(without_types, shared_app, mode):
    live = without_types.live("-j", mode, shared_app.pid, apps.METHODS["static"])
    made = shared_app.calls("static", CALLS, threads=4)
    result = live.stop().expect(0)
    assert result.summary()["hits"] == made and result.summary()["lost"] == {}, str(result)


def test_javascript(without_types, tmp_path):
    with v8_hits.probed() as target:
        result, expected = v8_hits.printed(without_types, target, tmp_path / "said", "-j")
    hits = result.records("hit")
    assert [v8_hits.javascript(hit) for hit in hits] == expected
    assert result.summary()["stack_ends"] == {"whole": len(hits)}


def test_unasked_no_code_is_mapped_anew(without_types):
    """Nothing says that what cannot be mapped stays as it was, as before Linux 6.12 it may not."""
    without_types.words = []
    app = many.start("many10")
    try:
        app.seal()
        refused = without_types.run("-c", app.pid, "Many.Generated::M001").expect(4)
        assert "no debug register is free" in refused.err and "or --remap, which needs none" in refused.err
        assert not inject.is_private(app.pid, many.CODE)
        live = without_types.live("-c", "-j", "--remap", app.pid, "Many.Generated::M001")
        assert inject.is_private(app.pid, many.CODE)
        made = app.go(5)
        assert many.by_number(live.stop().expect(0).records("count"))[1] == made[1]
    finally:
        app.close()
