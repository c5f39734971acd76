# SPDX-License-Identifier: GPL-2.0-or-later
"""The target of --watch that is native (tests/apps/watched), and its calls as it writes them down itself."""

import collections
import json
import re

# As tests/apps/watched has them, and how an enum's members are written there.
TEXTS = ["", "Ada", "Grüße, 世界", 'quote " and \\ back', "tab\tand\x01", "0123456789" * 6 + "0123",
         "0123456789" * 6 + "01234"]
MEMBERS = {"OPEN": 0, "PAID": 7, "LOST": -3, "red": 1, "green": 200}
LIMIT = 64


class Watched:
    def __init__(self, app, record):
        self.app, self.record = app, record
        self.pid = app.pid
        self.read_to = 0

    def make(self, kind, number, threads=1):
        made = int(self.app.ask(f"{kind} {number} {threads}", "done")[2])
        lines = self.record.read_text(encoding="utf-8").splitlines()[self.read_to:]
        self.read_to += len(lines)
        assert len(lines) == made
        return [json.loads(line) for line in lines]


def as_recorded(value):
    """A value of place-probe's in the words of the target's record."""
    if "unavailable" in value:
        why = value["unavailable"]
        xmm = re.fullmatch(r"in xmm(\d)", why)
        return {"unavailable": int(xmm[1])} if xmm else \
            {{"not in memory": "fault", "redacted": "redacted"}[why]: 0}
    if "fields" in value:
        return {field["name"]: as_recorded(field) for field in value["fields"] if field["name"] != "of"}
    is_text = value["type"] == "char *"
    plain = value["value"]
    if is_text and value.get("cut"):
        longer = [i for i, text in enumerate(TEXTS) if len(text.encode()) > LIMIT and text.startswith(plain)]
        assert len(plain.encode()) == LIMIT and len(longer) == 1, value
        return {"text": longer[0]}
    if is_text:
        return {"text": len(TEXTS) if plain is None else TEXTS.index(plain)}
    return MEMBERS.get(plain, plain) if isinstance(plain, str) and value["type"] != "char" else plain


def counted(calls):
    return collections.Counter(json.dumps(call, sort_keys=True) for call in calls)


def exact(result):
    summary = result.expect(0).summary()
    assert summary["lost"] == {} and summary["lower_bound"] == [], str(result)[:2000]
    return result
