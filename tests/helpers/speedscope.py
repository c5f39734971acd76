# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents of speedscope, held against its schema and against themselves."""

import json

import jsonschema

from . import machine

SCHEMA = machine.TREE / "tests/golden/speedscope.schema.json"


def no_constant(word):
    raise AssertionError(f"{word} is no JSON")


def parse(text):
    """The document; every frame of every sample is in it, and its weights are what it says."""
    document = json.loads(text, parse_constant=no_constant)
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(document, schema, cls=jsonschema.Draft7Validator)
    frames = document["shared"]["frames"]
    assert len({json.dumps(frame) for frame in frames}) == len(frames)
    assert document["activeProfileIndex"] < len(document["profiles"])
    for profile in document["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"] - profile["startValue"]
        assert all(number < len(frames) for sample in profile["samples"] for number in sample)
    return document


def stacks(document, profile):
    """Each sample of a profile, innermost first, with its weight."""
    frames = document["shared"]["frames"]
    return [([frames[number] for number in reversed(sample)], weight)
            for sample, weight in zip(profile["samples"], profile["weights"])]
