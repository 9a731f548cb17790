from __future__ import annotations

import pytest

from redis_ledger.kafka import codec
from redis_ledger.kafka.protocol.messages.end_txn_response import EndTxnResponse
from redis_ledger.kafka.protocol.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)


def produced(topics: int, partitions: int) -> ProduceResponse:
    slots = [PartitionProduceResponse(number, 0, 0) for number in range(partitions)]
    return ProduceResponse([TopicProduceResponse("t", partition_responses=slots)] * topics)


@pytest.mark.parametrize(
    ("answer", "is_long"),
    [
        (EndTxnResponse(0, 0), False),
        (produced(1, codec.QUICK_ELEMENTS - 1), False),
        (produced(1, codec.QUICK_ELEMENTS), True),
        (produced(codec.QUICK_ELEMENTS + 1, 0), True),
    ],
)
def test_an_answer_is_long_by_the_elements_of_its_lists(answer, is_long):
    assert codec.is_long(answer) is is_long


@pytest.mark.parametrize("answer", [EndTxnResponse(0, 0), produced(1, 1)], ids=["without lists", "with lists"])
def test_the_lists_of_a_message_are_looked_up_once(answer, monkeypatch):
    codec.is_long(answer)
    monkeypatch.setattr(codec, "lists_of", None)
    assert not codec.is_long(answer)
