"""Offsets that a batch has read, parsed from Spark's checkpoint."""

from __future__ import annotations

import pytest

from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TopicPartition
from redis_ledger.spark.checkpoint import parse_offsets
from redis_ledger.spark.write_options import parse_write_options

HEAD = 'v1\n{"batchWatermarkMs":0,"conf":{"a":"1"}}\n'
GIVEN = {"bootstrap": "http://b:8080", "topic": "t", "commitSubscription": "nightly"}


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ('{"orders": {"0": 12, "1": 0}}', {("orders", 0): 12, ("orders", 1): 0}),
        ('{"a": {"0": 1}}\n{"b": {"0": 2}, "a": {"1": 3}}', {("a", 0): 1, ("b", 0): 2, ("a", 1): 3}),
        ('{"a": {"0": 7}}\n{"a": {"0": 5}}', {("a", 0): 5}),
        ('-\n714\n{"logOffset":2}\n{"a": {"0": 1}}\n', {("a", 0): 1}),
        ('{"seconds": {"offset": 3}}\n["a"]\nnot json\n{"a": {}}\n{"a": {"0": true}}\n{"a": {"0": -1}}', {}),
        ("", {}),
    ],
)
def test_the_offsets_of_topics_are_found_among_those_of_other_sources(sources, expected):
    assert parse_offsets(HEAD + sources) == {TopicPartition(*place): offset for place, offset in expected.items()}


def test_a_subscription_is_committed_to_by_streams_that_say_where_their_checkpoint_is():
    found = parse_write_options({**GIVEN, "checkpointlocation": "/tmp/c"}, "stream")
    assert (found.subscription, found.checkpoint) == ("nightly", "/tmp/c")
    with pytest.raises(InvalidRequest, match="needs the option checkpointLocation"):
        parse_write_options(GIVEN, "stream")
    with pytest.raises(InvalidRequest, match="commitSubscription and commitOffsets go together"):
        parse_write_options({**GIVEN, "checkpointLocation": "/tmp/c"}, "batch")
