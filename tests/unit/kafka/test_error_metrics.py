"""How Kafka requests end: the first error code in an answer, and its name."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from redis_ledger.kafka.error_metrics import NAMES, ErrorMetrics, finder
from redis_ledger.kafka.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from redis_ledger.kafka.protocol.messages.heartbeat_response import HeartbeatResponse
from redis_ledger.kafka.protocol.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from redis_ledger.kafka.protocol.registry import API_VERSIONS, message_module
from redis_ledger.kafka.router import routes
from redis_ledger.telemetry import metrics


def test_names_are_those_of_kafka_by_their_codes():
    assert list(NAMES) == [ErrorCode(code).name for code in range(len(NAMES))]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (HeartbeatResponse(), 0),
        (HeartbeatResponse(error_code=27), 27),
        (ProduceResponse(responses=[]), 0),
        (ProduceResponse([TopicProduceResponse("t", bytes(16), [PartitionProduceResponse(0, 0, 5)])]), 0),
        (
            ProduceResponse(
                [
                    TopicProduceResponse("t", bytes(16), [PartitionProduceResponse(0, 0, 5)]),
                    TopicProduceResponse(
                        "u", bytes(16), [PartitionProduceResponse(0, 0, 5), PartitionProduceResponse(1, 3, -1)]
                    ),
                ]
            ),
            3,
        ),
        (FetchResponse(error_code=70), 70),
        (FetchResponse(responses=[FetchableTopicResponse("t", bytes(16), [PartitionData(0, 1, -1)])]), 1),
    ],
)
def test_the_first_error_in_an_answer_is_found_wherever_it_is(answer, code):
    assert finder(type(answer))(answer) == code


def test_in_answers_of_every_api_that_is_served_an_error_can_be_found():
    answers = {
        route.name: getattr(message_module(f"{API_VERSIONS[route.key].module}_response"), f"{route.name}Response")
        for route in routes().values()
    }
    blind = [name for name, answer in answers.items() if getattr(finder(answer), "__name__", "") == "_nothing"]
    assert blind == []


def test_an_outcome_is_counted_by_api_and_name():
    def count(outcome: str) -> float:
        return metrics.kafka_outcomes.get("Heartbeat", {}).get(outcome, 0)

    outcomes = ErrorMetrics("Heartbeat")
    before = [count(each) for each in ("ok", "rebalance_in_progress", "unknown_server_error", "closed")]
    for answer in (None, HeartbeatResponse(), HeartbeatResponse(error_code=27), HeartbeatResponse(error_code=-1)):
        outcomes.answered(answer)
    outcomes.closed()
    after = [count(each) for each in ("ok", "rebalance_in_progress", "unknown_server_error", "closed")]
    assert [b - a for a, b in zip(before, after, strict=True)] == [2, 1, 1, 1]
