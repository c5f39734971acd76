# SPDX-License-Identifier: GPL-2.0-or-later
"""Each mode under ThreadSanitizer: the threads that open and load programs, read the target, follow what it compiles,
print, serve and answer for others go on side by side, and nothing is reported of them (sanitizer_reports in
tests/conftest.py). All other system tests can be run like this too: PLACE_PROBE=build/tsan/place-probe tests/check
tests/system"""

import contextlib
import re
import urllib.request

import pytest

from helpers import inject, machine, many, sanitizers

TIMES = "Many.Timed::T*"
SOME = "Many.Generated::M00*"
MODES = {
    "count": ["-c"], "intervals": ["-c", "-i", "1"], "hits": ["--no-stack"], "stacks": [], "json": ["-j"],
    "folded": ["-f"],
}
# Where registers are short they have bodies that are not compiled again.
TIMED_MODES = {
    "hist": ["-H"], "values": ["--watch"], "trace": ["--trace", f"--calls={SOME}"], "filter": ["-H", "--if=took > 1us", "--by=tid"],
}
NEEDS_ROOT = pytest.mark.skipif(not machine.is_root(), reason="only root can look at other processes")

pytestmark = pytest.mark.beside


@pytest.fixture(scope="module")
def place_probe_path():
    return sanitizers.built_by("tsan")


@pytest.fixture(autouse=True)
def auto(place_probe):
    """Then more goes on at once."""
    place_probe.words = ["--remap=auto"]


@contextlib.contextmanager
def started(tiered):
    target = many.start("many10", tiered=tiered)
    try:
        target.go(40)
        target.spin(12)
        target.fill(400)
        yield target
    finally:
        target.close()


@pytest.fixture
def app():
    with started(True) as target:
        yield target


@pytest.fixture
def final():
    with started(False) as target:
        yield target


@pytest.mark.anyone
def test_race_is_reported(tmp_path):
    """Built as place-probe is."""
    source = tmp_path / "race.c"
    source.write_text("#include <pthread.h>\nstatic int number;\n"
                      "static void *add(void *arg) { number++; return arg; }\n"
                      "int main(void)\n{ pthread_t one; pthread_create(&one, 0, add, 0); number++;\n"
                      "pthread_join(one, 0); return 0; }\n")
    options = sanitizers.options_of("tsan")
    assert options, "how does make tsan build?"
    machine.run("gcc", "-O1", "-g", *options, "-static-libtsan", source, "-o", tmp_path / "race")
    with pytest.raises(AssertionError, match="(?s)sanitizers have reported:.*data race"):
        with sanitizers.none_expected():
            machine.run(tmp_path / "race", check=False)


def work(app):
    """Old bodies and new ones are called, and others come up."""
    app.go(2)
    app.fill(20)
    app.spin(12)
    app.go(2)


def check(place_probe, app, options, *patterns):
    live = place_probe.live(*options, app.pid, *patterns)
    work(app)
    result = live.stop().expect(0)
    assert re.search(r"[1-9]\d* hits in", result.err), str(result)


@NEEDS_ROOT
@pytest.mark.parametrize("mode", MODES)
def test_mode(place_probe, app, mode):
    check(place_probe, app, MODES[mode], SOME, TIMES)


@NEEDS_ROOT
@pytest.mark.parametrize("mode", TIMED_MODES)
def test_timed(place_probe, final, mode):
    check(place_probe, final, TIMED_MODES[mode], TIMES)


@NEEDS_ROOT
@pytest.mark.registers
@pytest.mark.breakpoints
@pytest.mark.parametrize("mode", ["count", "stacks"])
def test_with_registers(place_probe, app, mode):
    """Bodies have them in turns, lose them, and move."""
    live = place_probe.live(*MODES[mode], "--remap", "-v", app.pid, SOME, TIMES)
    work(app)
    app.fill(400)
    live.wait_err("moved to uprobes")
    live.stop().expect(0)
    assert inject.anonymous(app.pid, many.CODE) == 0


@NEEDS_ROOT
def test_command(place_probe, tmp_path):
    """All that it loads is met by two threads."""
    result = place_probe.run("-c", "-o", tmp_path / "out", "Many.Generated::M001", "--", "/bin/true")
    assert "loaded no .NET runtime" in result.expect(3).err, str(result)


@NEEDS_ROOT
def test_listen(place_probe, app):
    live = place_probe.live("-c", "--listen=0", app.pid, SOME)
    live.wait_err(r"serving http://\S+\n")
    url = re.search(r"serving (\S+)\n", live.err_so_far())[1]
    for _ in range(5):
        app.go(1)
        with urllib.request.urlopen(url, timeout=20 * machine.SCALE) as answer:
            assert "place_probe_calls_total" in answer.read().decode()
    live.stop().expect(0)


@NEEDS_ROOT
def test_record(place_probe, app, tmp_path):
    record = tmp_path / "record"
    live = place_probe.live(f"--record={record}", app.pid, SOME)
    work(app)
    live.stop().expect(0)
    place_probe.words = []
    assert "Many.Generated::M00" in place_probe.run(f"--replay={record}").expect(0).out
