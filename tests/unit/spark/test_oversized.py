"""A batch over the limits of decoding fails the task with advice, or is skipped with a warning."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from redis_ledger.errors import TooLargeToDecode
from redis_ledger.ids import TopicPartition
from redis_ledger.records.batch import place
from redis_ledger.records.budget import DEFAULT, Limits
from redis_ledger.records.build import encode
from redis_ledger.spark.fetch import Chunk, matching_chunks, task_of
from redis_ledger.spark.filters import ALL
from redis_ledger.spark.oversized import OversizedBatches
from redis_ledger.spark.plan import Range
from redis_ledger.spark.read_options import DECODING, READING, parse_read_options

ORDERS = TopicPartition("orders", 3)
Row = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int]
SMALL = Limits(decoded_bytes=1_000, record_headers=5, headers=8)
OVERSIZED: dict[str, list[Row]] = {
    "batchDecodedBytesMax": [(b"k", bytes(2_000), [], 0)] * 2,
    "recordHeadersMax": [(b"k", b"v", [("h", b"")] * 6, 0)] * 2,
    "headersMax": [(b"k", b"v", [("h", b"")] * 5, 0)] * 2,
}


def log(oversized: str, limits: Limits = SMALL) -> list[Chunk]:
    """Three batches of two records, offsets 0 to 5; the middle one is over a limit."""
    rows: list[Row] = [(b"k", b"v", [], 0)] * 2
    data = b"".join(
        place(encode(each, compression=4), 2 * number, 0)
        for number, each in enumerate([rows, OVERSIZED[oversized], rows])
    )
    return list(matching_chunks(data, Range(ORDERS, 0, 6), ALL, limits))


def offsets(chunks: Sequence[Chunk]) -> list[int]:
    return [record.offset for chunk in chunks for record in chunk.records]


@pytest.mark.parametrize("option", OVERSIZED)
def test_an_oversized_batch_fails_the_task_with_its_offsets_and_what_to_do(option):
    with pytest.raises(TooLargeToDecode) as caught:
        list(OversizedBatches(ORDERS, fail_on_data_loss=True).convert(log(option), offsets))
    said = str(caught.value)
    assert said.startswith("orders:3: the batch with offsets 2 to 3 is too large to decode.")
    assert f"Raise the option {option} above {caught.value.facts['limit']}" in said
    assert "set failOnDataLoss to false" in said
    assert caught.value.facts["limit"] in SMALL


@pytest.mark.parametrize("option", OVERSIZED)
def test_or_only_that_batch_is_left_out_with_a_warning(option, caplog):
    passed_over = list[str]()
    with caplog.at_level(logging.WARNING, "redis_ledger.spark"):
        found = list(OversizedBatches(ORDERS, False, passed_over).convert(log(option), offsets))
    assert found == [[0, 1], [4, 5]]
    (line,) = caplog.messages
    assert "orders:3: the batch with offsets 2 to 3 is too large to decode" in line
    (said,) = passed_over
    assert said.startswith("orders:3: the batch with offsets 2 to 3 is too large to decode. ")


@pytest.mark.parametrize("option", OVERSIZED)
def test_within_the_limits_all_are_made_together(option, caplog):
    assert list(OversizedBatches(ORDERS, fail_on_data_loss=False).convert(log(option, DEFAULT), offsets)) == [
        [*range(6)]
    ]
    assert caplog.messages == []


def test_the_limits_of_a_task_are_those_of_the_options():
    assert set(DECODING.values()) <= set(READING)
    given = {"bootstrap": "http://b:1", "topics": "orders"}
    assert parse_read_options(given).limits == DEFAULT
    raised = parse_read_options(
        given | {"batchDecodedBytesMax": "70000000", "recordHeadersMax": "11", "HEADERSMAX": "12"}
    )
    assert raised.limits == Limits(70_000_000, 11, 12)
    assert task_of(Range(ORDERS, 0, 6), raised, ALL, 0).limits == raised.limits
