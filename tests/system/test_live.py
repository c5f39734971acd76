# SPDX-License-Identifier: GPL-2.0-or-later
"""What -c, -H and --top draw on a terminal: tmux reads the screen, and the target has counted itself."""

import os
import re
import signal

import pytest

from helpers import machine
from helpers.terminal import Terminal

# Functions of processes without a runtime.
pytestmark = pytest.mark.beside

HEADER = r"^\d+ s   \d+ hits/s   lost: nothing"
SLEEP_MS = 5


@pytest.fixture
def target(share, calls_program):
    """It makes calls when it is told to, and counts them."""
    return share("calls", executable=calls_program)


def make(target, kind, number):
    """Calls, and how many of them have returned."""
    return [int(word) for word in target.ask(f"{kind} {number} 1", "done")[2:4]]


@pytest.fixture
def draw(place_probe_path, short_tmp):
    """draw(OPTION..., before=, after=): place-probe on a terminal, with what a shell has around it."""
    opened = []

    def start(*words, before="", after="", **options):
        command = f"{before}{place_probe_path} {' '.join(str(word) for word in words)}{after}"
        terminal = Terminal(short_tmp, command, **options)
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


def calls_of(text, method):
    """What a table says of a method; None if that is not in it."""
    line = re.search(rf"^ *\d+ +(\d+) +[█▏▎▍▌▋▊▉*]* +{re.escape(method)}\b", text, re.MULTILINE)
    return int(line[1]) if line else None


def has_calls(method, calls):
    return lambda text: calls_of(text, method) == calls


COUNTS = ("-c", "calls!calls_plain", "calls!calls_recursive")


def counts(target):
    return "-i", "0.2", COUNTS[0], target.pid, *COUNTS[1:]


def signal_probe(terminal, number):
    """Send a signal to the place-probe that the terminal's shell has started."""
    os.kill(int(machine.run("pgrep", "-P", terminal.pid(), "place-probe").stdout), number)


# What is drawn ------------------------------------------------------------------------------------


def test_counts(draw, target):
    terminal = draw(*counts(target))
    terminal.wait(HEADER, "it draws")
    assert terminal.is_drawn_on()
    plain = make(target, "plain", 700)[0]
    terminal.wait(has_calls("calls_plain", plain), "calls are counted")
    plain += make(target, "plain", 55)[0]
    recursive = make(target, "recursive", 3)[0]
    terminal.wait(has_calls("calls_plain", plain), "and more of them")
    text = terminal.wait(has_calls("calls_recursive", recursive), "of others too")
    assert re.search(r"^bodies: native 2   registers: 0 of 4   \d+ calls$", text, re.MULTILINE)
    assert re.search(rf"   {plain + recursive} hits$", text, re.MULTILINE)
    assert "█" in text and terminal.has_colours()
    terminal.press("q")
    # All that there was stays, as text.
    assert terminal.wait_end() == 0 and not terminal.is_drawn_on()
    text = terminal.text()
    assert re.search(rf"^ +CALLS  METHOD\n +{plain}  calls_plain \[native\]\n +{recursive}  calls_recursive \[native\]$",
                     text, re.MULTILINE), text
    assert "hits/s" not in text and f"place-probe: {plain + recursive} hits in" in text


def test_keys(draw, target):
    terminal = draw(*counts(target))
    terminal.wait(HEADER, "it draws")
    plain, recursive = make(target, "plain", 3)[0], make(target, "recursive", 7)[0]
    before = terminal.wait(has_calls("calls_recursive", recursive), "calls are counted")
    assert before.index("calls_recursive") < before.index("calls_plain")
    terminal.press("n")
    terminal.wait(lambda text: text.index("calls_plain") < text.index("calls_recursive"), "it is sorted by name")
    terminal.press("Space")
    terminal.wait("^PAUSED", "it is paused")
    make(target, "plain", 100)
    # It goes on counting, and shows nothing of it; keys are obeyed.
    terminal.press("c")
    text = terminal.wait(lambda text: text.index("calls_recursive") < text.index("calls_plain"), "it is sorted")
    assert calls_of(text, "calls_plain") == plain
    terminal.press("Space")
    terminal.wait(has_calls("calls_plain", plain + 100), "it goes on")
    terminal.press("Left")
    terminal.wait(">CALLS/S", "it is sorted by the column beside")
    terminal.press("q")
    assert terminal.wait_end() == 0


def test_top(draw, target):
    terminal = draw("--top", "-i", "0.2", target.pid, "calls!calls_sleep", "'calls!shop::risky'",
                    "calls!calls_plain", columns=130)
    terminal.wait(HEADER, "it draws")
    # So many that those which wait for a CPU are not a hundredth of them.
    make(target, "plain", 2000)
    sleeps = make(target, "sleep", 4)[0]
    risky, returned = make(target, "risky", 20)
    expected = rf" {risky} .* {risky - returned}  .*shop::risky\(int\)$"
    text = terminal.wait(expected, "calls that an exception has left are told")
    assert "TOTAL      MEAN       P99       MAX  UNWOUND" in text
    row = re.search(rf" {sleeps} +(\S+) ms +(\S+) (us|ms) +(\S+) (us|ms) +(\S+) (us|ms) +0  .*calls_sleep", text)
    assert row, text
    # Each takes that long at least.
    assert float(row[1]) >= sleeps * SLEEP_MS
    assert float(row[2]) * (1 if row[3] == "ms" else 0.001) >= SLEEP_MS
    assert float(row[4]) * (1 if row[5] == "ms" else 0.001) >= SLEEP_MS * 0.98
    terminal.press("p")
    terminal.wait(lambda text: ">P99" in text and text.index("calls_sleep") < text.index("calls_plain"),
                  "it is sorted by p99")
    terminal.press("q")
    assert terminal.wait_end() == 0
    assert re.search(expected, terminal.text(), re.MULTILINE) and "hits/s" not in terminal.text()


def test_histograms(draw, target):
    terminal = draw("-H", "-i", "0.2", target.pid, "calls!calls_sleep", lines=40)
    terminal.wait(HEADER, "it draws")
    sleeps = make(target, "sleep", 3)[0]
    text = terminal.wait(rf"count {sleeps}; total", "calls are timed")
    assert re.search(r"^ +4 -> 7 +: \d +\|█+", text, re.MULTILINE) or re.search(r": \d +\|█+", text), text
    terminal.press("q")
    assert terminal.wait_end() == 0
    assert re.search(r": \d +\|\*+ *\|$", terminal.text(), re.MULTILINE)


# Terminals ----------------------------------------------------------------------------------------


def test_sizes(draw, target):
    terminal = draw("-c", target.pid, "'calls!shop::till::add'", columns=100)
    method = "shop::till::add(shop::order const&)"
    terminal.wait(re.escape(method), "it draws")
    terminal.resize(36, 10)
    text = terminal.wait(lambda text: "CALLS/S" not in text and "…" in text, "it is drawn anew")
    assert max(map(len, text.splitlines())) <= 36 and "order const&)" in text
    assert len(terminal.rows()) <= 10 and terminal.rows()[-1].startswith("q quit")
    terminal.resize(120, 30)
    text = terminal.wait(re.escape(method), "and once more")
    assert terminal.text().splitlines()[29].startswith("q quit")


def test_columns_of_the_environment(draw, target):
    terminal = draw("-c", target.pid, "'calls!shop::till::add'", environment={"COLUMNS": "36"})
    text = terminal.wait("…", "it draws")
    assert max(map(len, text.splitlines())) <= 36


def test_no_colour(draw, target):
    terminal = draw(*counts(target), environment={"NO_COLOR": "1"})
    terminal.wait(HEADER, "it draws")
    make(target, "plain", 9)
    terminal.wait("█", "with bars")
    assert not terminal.has_colours()


def test_ascii(draw, target):
    terminal = draw(*counts(target), environment={"LC_ALL": "C"}, columns=90)
    terminal.wait(HEADER, "it draws")
    plain = make(target, "plain", 9)[0]
    text = terminal.wait(has_calls("calls_plain", plain), "calls are counted")
    assert re.search(r"  \*+  calls_plain", text) and text.isascii()


@pytest.mark.parametrize("how", ["dumb", "none", "unknown", "pipe", "text", "file", "background"])
def test_plain(draw, target, short_tmp, how):
    """Where nothing can be drawn, or is to be, all is as ever."""
    options = {"dumb": {"environment": {"TERM": "dumb"}}, "none": {"environment": {"TERM": ""}},
               "unknown": {"environment": {"TERM": "no-such-terminal"}},
               "pipe": {"after": " | cat"}, "background": {"before": "set -m; ", "after": " & wait"}}
    words = {"text": ["--format=text"], "file": ["-o", short_tmp / "counts"]}
    terminal = draw(*words.get(how, []), *counts(target)[2:], **options.get(how, {}))
    terminal.wait("^place-probe: attached 2 sites", "it is attached")
    plain = make(target, "plain", 12)[0]
    assert not terminal.is_drawn_on()
    signal_probe(terminal, signal.SIGTERM)
    terminal.wait_end()
    text = (short_tmp / "counts").read_text() if how == "file" else terminal.text()
    assert re.search(rf"^ +CALLS  METHOD\n +{plain}  calls_plain \[native\]$", text, re.MULTILINE), text
    assert "hits/s" not in text


def test_top_on_a_pipe(place_probe, target):
    live = place_probe.live("--top", "-i", "0.1", target.pid, "calls!calls_plain")
    plain = make(target, "plain", 12)[0]
    live.wait_out(lambda out: has_calls_in_table(out, plain) and out.count("METHOD") > 2, "a table now and then")
    result = live.stop().expect(0)
    assert has_calls_in_table(result.out.split("\n\n")[-2], plain), str(result)


def has_calls_in_table(text, calls):
    return re.search(rf"^ +\d+ +{calls} .* 0  calls_plain$", text, re.MULTILINE)


def test_without_keys(draw, target):
    terminal = draw(*counts(target), after=" </dev/null")
    terminal.wait(HEADER, "it draws")
    plain = make(target, "plain", 12)[0]
    terminal.wait(has_calls("calls_plain", plain), "calls are counted")
    assert terminal.is_drawn_on()
    signal_probe(terminal, signal.SIGTERM)
    assert terminal.wait_end() == 0


# Ends ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals(draw, target, short_tmp, number):
    before, after = short_tmp / "before", short_tmp / "after"
    terminal = draw(*counts(target), before=f"stty -a >{before}; ",
                    after=f"; code=$?; stty -a >{after}; (exit $code)")
    terminal.wait(HEADER, "it draws")
    plain = make(target, "plain", 12)[0]
    signal_probe(terminal, number)
    assert terminal.wait_end() == 0
    assert re.search(rf"^ +{plain}  calls_plain", terminal.text(), re.MULTILINE)
    assert after.read_text() == before.read_text() and not terminal.is_drawn_on()


def test_stop_and_go_on(draw, target, place_probe_path, short_tmp):
    """A shell stops it, has the terminal meanwhile, and has it go on."""
    terminal = Terminal(short_tmp, "bash --norc -i +H", environment={"PS1": "ready: "})
    try:
        terminal.wait("^ready:", "the shell is there")
        terminal.press(f"{place_probe_path} -i 0.2 -c {target.pid} calls!calls_plain", "Enter")
        terminal.wait(HEADER, "it draws")
        terminal.press("C-z")
        terminal.wait("Stopped", "it stops")
        assert not terminal.is_drawn_on()
        plain = make(target, "plain", 12)[0]
        terminal.press("fg", "Enter")
        terminal.wait(has_calls("calls_plain", plain), "it goes on")
        assert terminal.is_drawn_on()
        terminal.press("C-c")
        terminal.wait(rf"^ +{plain}  calls_plain", "it ends")
        terminal.press("echo $((40", "+", "2))", "Enter")
        terminal.wait("^42$", "the shell has the terminal")
    finally:
        terminal.close()


def test_target_exits(draw, start_app, calls_program):
    target = start_app("calls", executable=calls_program)
    terminal = draw(*counts(target))
    terminal.wait(HEADER, "it draws")
    plain = make(target, "plain", 12)[0]
    target.quit()
    assert terminal.wait_end() == 0
    text = terminal.text()
    assert "the target has exited" in text and re.search(rf"^ +{plain}  calls_plain", text, re.MULTILINE)
