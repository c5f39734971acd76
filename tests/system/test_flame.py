# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of --flame: of stacks that are made up (tests/tools/flame_page.c) and of a process, in a browser."""

import re
import subprocess
import sys

import pytest

from helpers import browser as browsers, flame, machine

MANY = 100_000
# Of work: how long that takes on a busy machine is nobody's fault.
OPENS_MS = 2000
ROOT, THREAD, MAIN = "[all]", "worker", "main"
RENDER = "render<img src=x onerror=alert(1)>\u2028&amp;"
WORK = "App.Orders::Work(</script><script>alert(1)</script>)"

pytestmark = pytest.mark.beside


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """pages(WORD...): the file that the tool has written."""
    directory = tmp_path_factory.mktemp("pages")
    made = {}

    def page(*words):
        if words not in made:
            path = directory / f"{'-'.join(words)}.html"
            with path.open("w") as to:
                subprocess.run([machine.BUILD / "tests/tools/flame_page", *words], stdout=to, check=True,
                               timeout=60 * machine.SCALE)
            made[words] = path
        return made[words]

    return page


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    one = browsers.Browser(tmp_path_factory.mktemp("chromium"))
    yield one
    one.close()


@pytest.fixture
def browser(chromium):
    """Whatever a test does with it, it complains of nothing and asks nobody for anything."""
    chromium.dark(False)
    yield chromium
    assert chromium.complaints() == []
    assert chromium.requests() == []


def click(browser, frame):
    frame.element.click()
    browser.shown()


# Stacks --------------------------------------------------------------------------------------

def test_drawn(browser, pages):
    """Names as they are, widths by hits, colours by kind."""
    browser.open(pages("odd"))
    frames = flame.drawn(browser)
    assert set(frames) == {ROOT, THREAD, MAIN, RENDER, WORK, "stub", "write"}
    assert [element.text for element in browser.all("#legend li")] == [
        "native", ".NET", "JavaScript", "stub", "thread"]
    whole = frames[ROOT]
    assert whole.width > 1000
    assert frames[RENDER].width == pytest.approx(whole.width, abs=1)
    assert frames[WORK].width == pytest.approx(0.7 * whole.width, abs=1)
    # Upwards from callers to callees.
    order = [ROOT, THREAD, MAIN, RENDER, WORK, "stub", "write"]
    tops = [frames[name].top for name in order]
    assert tops == sorted(tops, reverse=True) and len(set(tops)) == len(order)
    fills = {frames[name].fill for name in (THREAD, MAIN, RENDER, WORK, "stub")}
    assert len(fills) == 5 and all(re.match(r"rgb\(", fill) for fill in fills), fills
    labels = browser.script("return [...document.querySelectorAll('.d3-flame-graph-label')].map((e) => e.textContent)")
    assert set(labels) == set(frames)
    assert browser.script("return document.querySelectorAll('#chart img, #chart b, #traced b').length") == 0


def test_traced(browser, pages):
    browser.open(pages("odd"))
    said = flame.facts(browser)
    assert said["Target"] == ["4321 (</script><b>shop)"]
    assert said["Patterns"] == ["App.*::Work", "<b>libc.so.6!write</b>"]
    assert said["Duration"] == ["2.5 s"]
    assert said["Bodies"] == ["1 of 2 tier0 probed, 10 calls", "1 of 1 tier1 probed, 990 calls"]
    assert said["Hits"] == ["100"]
    assert said["Lost"] == ["3 ring-buffer-full"]
    assert said["Lower bounds"] == ["tier-moved"]
    for name in ("d3-flame-graph 5.", "d3-hierarchy 3.", "Apache License", "Mike Bostock"):
        assert name in browser.text(".licences pre"), name


def test_zoom(browser, pages):
    """By a click, back by a button; what has called it stays, and is dimmed."""
    browser.open(pages("odd"))
    before = flame.drawn(browser)
    click(browser, before[WORK])
    frames = flame.drawn(browser)
    assert frames[WORK].width == pytest.approx(before[ROOT].width, abs=1)
    assert [name for name, frame in frames.items() if frame.faded] == [ROOT, THREAD, MAIN, RENDER]
    click(browser, frames[MAIN])
    assert flame.drawn(browser)[WORK].width == pytest.approx(before[WORK].width, abs=1)
    click(browser, flame.drawn(browser)["stub"])
    browser.one("#reset").click()
    browser.shown()
    frames = flame.drawn(browser)
    assert not any(frame.faded for frame in frames.values())
    assert frames[WORK].width == pytest.approx(before[WORK].width, abs=1)


def test_tooltip(browser, pages):
    """With the share of each tier and line: 60 of 70 were in tier1, at line 15."""
    browser.open(pages("odd"))
    browser.point_at(flame.drawn(browser)[WORK].element)
    assert browser.text("#tip").splitlines() == [
        WORK, ".NET, app.dll", "70 hits, 70.00 % of all; 0 hits in itself", "tier: tier1 85.71 %, tier0 14.29 %",
        "/src/Orders.cs:15 85.71 %", "/src/Orders.cs:12 14.29 %"]
    browser.point_at(flame.drawn(browser)[RENDER].element)
    assert "tier: maglev\nshop.js:7" in browser.text("#tip") and "30 hits in itself" in browser.text("#tip")
    browser.point_at(browser.one("#title"))
    assert not browser.one("#tip").is_displayed()


def test_search(browser, pages):
    """How much of all is in what matches, each hit once."""
    browser.open(pages("odd"))
    fill = flame.drawn(browser)[WORK].fill
    found = {"orders": "70.00 %: 70 hits in 1 function", "R": "100.00 %: 100 hits in 4 functions",
             "/^(stub|write)$/": "70.00 %: 70 hits in 2 functions", "nobody": "0.00 %: 0 hits in 0 functions",
             "/(/": "no regular expression"}
    for text, words in found.items():
        browser.one("#search").clear()
        browser.one("#search").send_keys(text)
        browser.shown()
        assert browser.text("#found") == words, text
    browser.one("#search").clear()
    browser.one("#search").send_keys("orders")
    browser.shown()
    frames = flame.drawn(browser)
    assert frames[WORK].fill != fill and frames[MAIN].fill != frames[WORK].fill
    browser.press("BACKSPACE", "BACKSPACE", "BACKSPACE", "BACKSPACE", "BACKSPACE", "BACKSPACE")
    assert browser.text("#found") == ""
    assert flame.drawn(browser)[WORK].fill == fill


def test_icicle(browser, pages):
    browser.open(pages("odd"))
    browser.one("#icicle").click()
    browser.shown()
    frames = flame.drawn(browser)
    tops = [frames[name].top for name in (ROOT, THREAD, MAIN, RENDER, WORK, "stub", "write")]
    assert tops == sorted(tops)
    assert browser.one("#icicle").get_attribute("aria-pressed") == "true"
    browser.press("i")
    assert flame.drawn(browser)[ROOT].top > flame.drawn(browser)["write"].top


def chosen(browser):
    return [name for name, frame in flame.drawn(browser).items() if frame.chosen]


def test_keys(browser, pages):
    browser.open(pages("odd"))
    browser.press("/")
    browser.press("s", "t", "u", "b")
    assert browser.text("#found").startswith("70.00 %")
    browser.press("ESCAPE")
    assert chosen(browser) == [ROOT]
    browser.press("ARROW_UP", "ARROW_UP", "ARROW_UP", "ARROW_UP")
    assert chosen(browser) == [WORK] and WORK in browser.text("#details")
    browser.press("ARROW_RIGHT", "ARROW_DOWN")
    assert chosen(browser) == [RENDER]
    browser.press("ARROW_UP", "ENTER")
    frames = flame.drawn(browser)
    assert frames[WORK].width == pytest.approx(frames[ROOT].width, abs=1) and frames[RENDER].faded
    browser.press("BACKSPACE")
    assert not flame.drawn(browser)[RENDER].faded and flame.drawn(browser)[MAIN].faded
    browser.press("0")
    assert not any(frame.faded for frame in flame.drawn(browser).values())
    # Turned over, down is inwards.
    browser.press("i", "ARROW_DOWN")
    assert chosen(browser) == [THREAD]


def brightness(colour):
    red, green, blue = [float(part) for part in re.findall(r"[\d.]+", colour)[:3]]
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / (1 if max(red, green, blue) > 1 else 1 / 255)


def test_light_and_dark(browser, pages):
    """As the reader's system is; what is written can be read in both."""
    browser.open(pages("odd"))
    grounds = {}
    for dark in (False, True):
        browser.dark(dark)
        browser.shown()
        grounds[dark] = brightness(browser.style(browser.one("body"), "background-color"))
        for selector, behind in (("body", "body"), (".d3-flame-graph-label", "#chart g.frame rect"), ("#search",) * 2):
            ink = brightness(browser.style(browser.one(selector), "color"))
            name = "fill" if behind.endswith("rect") else "background-color"
            ground = brightness(browser.style(browser.one(behind), name))
            assert (ink > ground) == dark and abs(ink - ground) > 90, (selector, dark, ink, ground)
    assert grounds[False] > 200 and grounds[True] < 50


def test_against_a_base(browser, pages):
    """What has a greater share now is red, what has a smaller one blue; what is gone is there by the base's widths."""
    browser.open(pages("two"))
    frames = flame.drawn(browser)
    assert [element.text for element in browser.all("#legend li")] == ["more than in the base", "as much", "less"]

    def channels(name):
        red, _, blue = [float(part) for part in re.findall(r"[\d.]+", frames[name].fill.replace("srgb", ""))[:3]]
        return red, blue

    red, blue = channels(WORK)
    assert red > 1.5 * blue
    red, blue = channels(MAIN)
    assert red == pytest.approx(blue, rel=0.05)
    browser.point_at(frames[RENDER].element)
    assert browser.text("#tip").splitlines()[-1] == "against the base: +50.00 % of all"
    assert flame.facts(browser)["Run"] == ["this, against the base"]
    assert flame.facts(browser, "dl.base")["Lost"] == ["3 ring-buffer-full"]
    assert "gone" not in frames
    browser.choose("#width", "hits of the base")
    frames = flame.drawn(browser)
    assert frames["gone"].width == pytest.approx(frames[ROOT].width / 2, abs=1)
    red, blue = channels("gone")
    assert blue > 1.5 * red
    browser.choose("#colours", "kind")
    assert [element.text for element in browser.all("#legend li")][0] == "native"
    assert flame.drawn(browser)["gone"].fill != frames["gone"].fill


def test_many(browser, pages):
    """So many different stacks open at once, and what is drawn of them can be seen; the rest is there on zooming in."""
    shown_ms = browser.open(pages("many", str(MANY)))
    frames = browser.script(FRAME_WIDTHS)
    work_ms = browser.work_ms()
    print(f"{MANY} stacks, {len(frames)} frames drawn: on the screen after {shown_ms:.0f} ms, {work_ms:.0f} ms of a CPU")
    assert 100 < len(frames) <= 4000 and min(frames) >= 0.9
    assert work_ms < OPENS_MS * machine.SCALE
    # Each stack i has 1 + i % 7 hits.
    hits = sum(1 + i % 7 for i in range(MANY))
    browser.one("#search").send_keys("/::Method7.int32/")
    browser.shown()
    assert flame.facts(browser)["Hits"] == [f"{hits:,}"]
    share, number = re.match(r"([\d.]+) %: ([\d,]+) hits in 1 function", browser.text("#found")).groups()
    assert float(share) == pytest.approx(100 * int(number.replace(",", "")) / hits, abs=0.01)
    outermost = browser.script(FRAME_NAMES)
    browser.script(CLICK_NARROWEST)
    browser.shown()
    assert len(set(browser.script(FRAME_NAMES)) - set(outermost)) > 0


FRAME_WIDTHS = """return [...document.querySelectorAll("#chart g.frame rect")].map((rect) => +rect.getAttribute("width"))"""
FRAME_NAMES = """return [...document.querySelectorAll("#chart g.frame")].map((g) => g.getAttribute("name"))"""
CLICK_NARROWEST = """
const rects = [...document.querySelectorAll("#chart g.frame rect")];
rects.sort((a, b) => a.getAttribute("width") - b.getAttribute("width"));
rects[0].dispatchEvent(new MouseEvent("click", { bubbles: true }));"""


# Latencies -----------------------------------------------------------------------------------

def test_latencies(browser, pages):
    """A bar for each bucket, and a cell for each in each second: of one method, three calls a second for a minute."""
    browser.open(pages("times"))
    assert not browser.one("#stacks").is_displayed()
    assert browser.text("#methods summary") == "App.Orders::Work(<i>)"
    assert browser.text("#methods p").startswith("180 calls; mean 700 us; 1 us to 1.1 ms")
    bars = browser.script("""return [...document.querySelectorAll(".histogram rect")]
        .map((bar) => [+bar.getAttribute("x"), +bar.getAttribute("height")]).sort((a, b) => a[0] - b[0])""")
    # Those of one bucket each second are the tallest; of the others two seconds share one.
    heights = [height for _, height in bars]
    assert len(bars) == 31 and heights[0] == max(heights)
    assert {round(height / heights[0], 2) for height in heights[1:]} == {round(4 / 60, 2)}
    cells = browser.script("""return [...document.querySelectorAll(".heat rect")]
        .map((cell) => [+cell.getAttribute("x"), +cell.getAttribute("y")])""")
    assert len(cells) == 120
    later = sorted(cells)[1::2]
    assert len({x for x, _ in cells}) == 60 and len(later) == 60
    # What gets slower rises.
    slow = [min(y for x, y in cells if x == column) for column in sorted({x for x, _ in cells})]
    assert slow == sorted(slow, reverse=True) and slow[0] > slow[-1]
    browser.point_at(browser.all(".histogram rect")[0])
    assert re.search(r"\d+ ns to \d+ ns\n60 calls", browser.text("#tip")), browser.text("#tip")


# Of a process --------------------------------------------------------------------------------

NAME = "</script><b>"
CALLS_GETPPID = """
import os, sys
open("/proc/self/comm", "w").write(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    parents, users = map(int, line.split())
    for _ in range(parents):
        os.getppid()
    for _ in range(users):
        os.getuid()
    print("done", flush=True)
"""


class Caller:
    """A process without a runtime, whose name tries to be HTML: it calls getppid() and getuid() as often as it is told."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", CALLS_GETPPID, NAME], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def call(self, parents, users=0):
        self.process.stdin.write(f"{parents} {users}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@pytest.fixture
def caller():
    one = Caller()
    yield one
    one.process.kill()
    one.process.communicate()


def page_of(place_probe, caller, path, *options, calls=500):
    live = place_probe.live(*options, f"--flame={path}", caller.process.pid, "libc.so.6!getppid")
    live.wait_attached()
    caller.call(calls)
    result = live.stop().expect(0)
    assert result.out == "" and f"{calls} hits" in result.err
    document = flame.data(path.read_text())
    assert document["run"]["pid"] == caller.process.pid and document["run"]["name"] == NAME
    assert document["run"]["patterns"] == ["libc.so.6!getppid"]
    assert document["run"]["losses"] == []
    assert document["run"]["tiers"] == [{"tier": "native", "bodies": 1, "probed": 1, "calls": calls}]
    return document


def test_of_a_process(browser, place_probe, caller, tmp_path):
    document = page_of(place_probe, caller, tmp_path / "page.html")
    found = [*flame.stacks(document)]
    assert sum(ends["count"] for _, ends in found) == document["run"]["hits"] == 500
    assert all(way[1][:2] == ["thread", NAME] and way[-1][1] == "getppid" for way, _ in found)
    browser.open(tmp_path / "page.html")
    assert flame.facts(browser)["Lost"] == ["nothing"]
    frames = flame.drawn(browser)
    assert frames[NAME].width == pytest.approx(frames[ROOT].width, abs=1) and "getppid" in frames
    assert browser.text("h1").startswith(f"{NAME} ({caller.process.pid})")


def test_of_slow_calls(browser, place_probe, caller, tmp_path):
    """Each with its stack and its time: the graph is of time, and there are both pictures of how long they took."""
    document = page_of(place_probe, caller, tmp_path / "page.html", "-H", "--min=1ns", calls=300)
    found = [*flame.stacks(document)]
    calls = sum(ends["count"] for _, ends in found)
    row, = document["latency"]["rows"]
    # Of such a short one the probes' part may be all.
    assert 0 < calls <= 300 and row["returned"] == document["run"]["hits"] == calls
    assert row["sum_ns"] == sum(ends["time"] for _, ends in found)
    assert sum(document["latency"]["cells"][3::4]) == calls
    browser.open(tmp_path / "page.html")
    assert browser.one("#width option:checked").text == "time"
    assert browser.all(".histogram rect") and browser.all(".heat rect")


def test_of_latencies(browser, place_probe, caller, tmp_path):
    document = page_of(place_probe, caller, tmp_path / "page.html", "-H", calls=300)
    row, = document["latency"]["rows"]
    assert row["returned"] + row["unwound"] == 300 and sum(document["latency"]["cells"][3::4]) == row["returned"]
    browser.open(tmp_path / "page.html")
    assert browser.all(".histogram rect") and not browser.all(".heat rect")


def recorded(place_probe, caller, path, *calls):
    live = place_probe.live(f"--record={path}", "-o", "/dev/null", caller.process.pid, "libc.so.6!getppid",
                            "libc.so.6!getuid").wait_attached()
    caller.call(*calls)
    live.stop().expect(0)
    return path


def test_of_two_records(browser, place_probe, caller, tmp_path):
    """Of the hits of one three in four were getppid(), of those of the other one in four."""
    base = recorded(place_probe, caller, tmp_path / "base", 50, 150)
    now = recorded(place_probe, caller, tmp_path / "now", 300, 100)
    page = tmp_path / "page.html"
    machine.run(place_probe.path, f"--replay={now}", f"--base={base}", f"--flame={page}")
    document = flame.data(page.read_text())
    sums = {}
    for way, ends in flame.stacks(document):
        found = sums.setdefault(way[-1][1], [0, 0])
        found[0] += ends["count"]
        found[1] += ends["base_count"]
    assert sums == {"getppid": [300, 50], "getuid": [100, 150]}
    browser.open(page)
    for which, hits in (("dl.now", 400), ("dl.base", 200)):
        said = flame.facts(browser, which)
        assert said["Hits"] == [str(hits)] and said["Lost"] == ["nothing"]
        assert said["Bodies"] == [f"2 of 2 native probed, {hits} calls"]
        assert said["Patterns"] == ["libc.so.6!getppid", "libc.so.6!getuid"]
    frames = flame.drawn(browser)
    assert frames["getppid"].width == pytest.approx(0.75 * frames[ROOT].width, abs=1)
    for name, gained in (("getppid", "+50.00 %"), ("getuid", "-50.00 %")):
        browser.point_at(frames[name].element)
        assert browser.text("#tip").splitlines()[-1] == f"against the base: {gained} of all"
