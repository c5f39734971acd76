# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of --flame, as a file and as a browser shows it."""

import base64
import dataclasses
import json
import re
import zlib


def data(page):
    """What the page draws, from its text."""
    found = re.findall(r'<script type="application/json" id="data">\n(.*?)</script>', page, re.DOTALL)
    assert len(found) == 1, "one block of data was expected"
    assert "<" not in found[0], "a name may begin an element"
    return json.loads(found[0])


def numbers(packed):
    number, shift = 0, 0
    for byte in zlib.decompress(base64.b64decode(packed, validate=True)):
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number, shift = 0, 0


def stacks(document):
    """[frame, ...], outermost first, and what ends there, by column, of each node in which something ends."""
    nodes, way = document["nodes"], []
    stream = numbers(nodes["packed"])
    for _ in range(nodes["count"]):
        for _ in range(next(stream)):
            way.pop()
        way.append(document["frames"][next(stream)])
        ends = {column: next(stream) for column in nodes["columns"]}
        if any(ends.values()):
            yield [*way], ends
    assert next(stream, None) is None


@dataclasses.dataclass
class Frame:
    """As it is drawn."""
    name: str
    left: float
    top: float
    width: float
    faded: bool
    chosen: bool
    fill: str
    element: object


FRAMES = """
return [...document.querySelectorAll("#chart g.frame")].map((g) => {
    const rect = g.querySelector("rect"), box = rect.getBoundingClientRect();
    return [g.getAttribute("name"), box.left, box.top, box.width, g.classList.contains("fade"),
        g.classList.contains("chosen"), getComputedStyle(rect).fill, rect];
});"""


def drawn(browser):
    """{name: Frame} of frames of one name each."""
    frames = [Frame(*values) for values in browser.script(FRAMES)]
    return {frame.name: frame for frame in frames}


def facts(browser, which="dl.now"):
    """What the head of the page says: {words: [value, ...]}."""
    said = {}
    for element in browser.all(f"#traced {which} > *"):
        if element.tag_name == "dt":
            values = said.setdefault(element.text, [])
        else:
            values += element.text.splitlines()
    return said
