#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of tests/fuzz/coverage, of what llvm-cov exports: of each source of ours that any target enters, the share of
its lines that is reached, the least first."""

import json
import pathlib
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
OURS = ("src/", "mapparse/")

rows = []
for file in json.load(sys.stdin)["data"][0]["files"]:
    name = file["filename"].removeprefix(f"{TREE}/")
    lines = file["summary"]["lines"]
    if name.startswith(OURS) and not name.startswith("mapparse/tests/") and lines["covered"]:
        rows.append((lines["covered"] / lines["count"], lines["count"], name))
for share, count, name in sorted(rows):
    print(f"{share:7.1%} of {count:5} lines  {name}")
reached = sum(share * count for share, count, _ in rows)
print(f"{reached / sum(count for _, count, _ in rows):7.1%} of all {len(rows)} sources that are entered")
