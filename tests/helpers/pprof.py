# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of pprof, decoded by Google's protobuf, with the numbers of the published profile.proto (and not those of
our own text of it), and held against what that asks of them."""

import dataclasses
import gzip

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

INT64, UINT64, BOOL, STRING = "TYPE_INT64", "TYPE_UINT64", "TYPE_BOOL", "TYPE_STRING"
# Of each message: name, number, type; "*" is a list.
MESSAGES = {
    "Profile": [("sample_type", 1, "*ValueType"), ("sample", 2, "*Sample"), ("mapping", 3, "*Mapping"),
                ("location", 4, "*Location"), ("function", 5, "*Function"), ("string_table", 6, "*" + STRING),
                ("drop_frames", 7, INT64), ("keep_frames", 8, INT64), ("time_nanos", 9, INT64),
                ("duration_nanos", 10, INT64), ("period_type", 11, "ValueType"), ("period", 12, INT64),
                ("comment", 13, "*" + INT64), ("default_sample_type", 14, INT64)],
    "ValueType": [("type", 1, INT64), ("unit", 2, INT64)],
    "Sample": [("location_id", 1, "*" + UINT64), ("value", 2, "*" + INT64), ("label", 3, "*Label")],
    "Label": [("key", 1, INT64), ("str", 2, INT64), ("num", 3, INT64), ("num_unit", 4, INT64)],
    "Mapping": [("id", 1, UINT64), ("memory_start", 2, UINT64), ("memory_limit", 3, UINT64),
                ("file_offset", 4, UINT64), ("filename", 5, INT64), ("build_id", 6, INT64),
                ("has_functions", 7, BOOL), ("has_filenames", 8, BOOL), ("has_line_numbers", 9, BOOL),
                ("has_inline_frames", 10, BOOL)],
    "Location": [("id", 1, UINT64), ("mapping_id", 2, UINT64), ("address", 3, UINT64), ("line", 4, "*Line"),
                 ("is_folded", 5, BOOL)],
    "Line": [("function_id", 1, UINT64), ("line", 2, INT64), ("column", 3, INT64)],
    "Function": [("id", 1, UINT64), ("name", 2, INT64), ("system_name", 3, INT64), ("filename", 4, INT64),
                 ("start_line", 5, INT64)],
}


def describe(message, name, number, kind):
    field = message.field.add(name=name, number=number)
    field.label = getattr(field, "LABEL_REPEATED" if kind.startswith("*") else "LABEL_OPTIONAL")
    kind = kind.removeprefix("*")
    field.type = getattr(field, kind if kind.startswith("TYPE_") else "TYPE_MESSAGE")
    if kind in MESSAGES:
        field.type_name = f".published.{kind}"


def profile_class():
    described = descriptor_pb2.FileDescriptorProto(name="published.proto", package="published", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = described.message_type.add(name=name)
        for field in fields:
            describe(message, *field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(described)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("published.Profile"))


PROFILE = profile_class()


@dataclasses.dataclass(frozen=True)
class Line:
    """One function of a stack."""
    name: str
    file: str
    line: int
    column: int
    module: str


@dataclasses.dataclass
class Sample:
    """A stack, innermost first; each location is a list of lines, the last of which has inlined the others."""
    locations: list
    values: dict
    labels: dict

    def lines(self):
        return [line for location in self.locations for line in location]


@dataclasses.dataclass
class Profile:
    """All samples, and what is said of them."""
    samples: list
    units: dict
    comments: list
    message: object

    def total(self, kind):
        return sum(sample.values[kind] for sample in self.samples)


def by_id(messages):
    found = {message.id: message for message in messages}
    assert len(found) == len(messages) and 0 not in found
    return found


def check_known(message):
    """Nothing in it that the published format does not have."""
    assert message.SerializeToString(deterministic=True) == _known(message).SerializeToString(deterministic=True)


def _known(message):
    copy = type(message)()
    copy.CopyFrom(message)
    copy.DiscardUnknownFields()
    return copy


def parse(packed):
    assert packed[:2] == b"\x1f\x8b"
    message = PROFILE()
    message.ParseFromString(gzip.decompress(packed))
    check_known(message)
    strings = message.string_table
    assert strings[0] == "" and len(set(strings)) == len(strings)
    functions, mappings, locations = by_id(message.function), by_id(message.mapping), by_id(message.location)
    assert all(mapping.has_functions for mapping in message.mapping)

    def lines_of(location):
        module = strings[mappings[location.mapping_id].filename] if location.mapping_id else ""
        assert location.line
        return [Line(strings[functions[line.function_id].name], strings[functions[line.function_id].filename],
                     line.line, line.column, module) for line in location.line]

    kinds = [strings[kind.type] for kind in message.sample_type]
    samples = []
    for sample in message.sample:
        assert len(sample.value) == len(kinds) and sample.location_id
        samples.append(Sample([lines_of(locations[number]) for number in sample.location_id],
                              dict(zip(kinds, sample.value)),
                              {strings[label.key]: strings[label.str] if label.str else label.num
                               for label in sample.label}))
    return Profile(samples, {strings[kind.type]: strings[kind.unit] for kind in message.sample_type},
                   [strings[number] for number in message.comment], message)
