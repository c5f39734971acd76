# SPDX-License-Identifier: GPL-2.0-or-later
"""Expositions, as the client library of Prometheus reads them: by OpenMetrics, and by the older text format that
node_exporter's textfile collector wants."""

from prometheus_client import parser as older
from prometheus_client.openmetrics import parser


def samples_of(families):
    found = {}
    for family in families:
        for sample in family.samples:
            # Which node_exporter refuses.
            assert sample.timestamp is None, sample
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in found, key
            found[key] = sample.value
    return found


def parse(text):
    """{(name, labels): value}, alike by both."""
    assert text.endswith("# EOF\n")
    found = samples_of(parser.text_string_to_metric_families(text))
    assert samples_of(older.text_string_to_metric_families(text)) == found
    return found


def get(found, name, **labels):
    return found[name, tuple(sorted(labels.items()))]


def buckets(found, name, **labels):
    """(bound, calls up to that) in order, the last of which has no bound."""
    wanted = set(labels.items())
    return sorted((float(dict(of)["le"]), value) for (sample, of), value in found.items()
                  if sample == f"{name}_bucket" and wanted <= set(of))
