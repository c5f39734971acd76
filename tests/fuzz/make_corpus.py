#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write what the fuzzers of .NET images begin with: small images with every structure in them."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "golden"))

import images  # noqa: E402 (the path comes first)

SEEDS = {
    "pe": ["tiny-il.dll", "tiny-r2r.dll", "tiny-component.dll", "tiny-composite.dll"],
    "metadata": ["tiny-metadata.bin", "tiny-metadata-wide.bin", "tiny-metadata-pointers.bin"],
    "r2r": ["tiny-r2r.dll", "tiny-composite.dll"],
    "bundle": ["bundle-1", "bundle-2", "bundle-6", "bundle-6-compressed", "bundle-none"],
}


def main():
    for target, names in SEEDS.items():
        corpus = TESTS / "fuzz/corpus" / target
        corpus.mkdir(parents=True, exist_ok=True)
        for name in names:
            (corpus / name).write_bytes(images.IMAGES[name]())


if __name__ == "__main__":
    main()
