"""Kafka's admin APIs while Redis is down: retriable error codes."""

from __future__ import annotations

from typing import Any

import aiokafka.errors
import pytest

from redis_ledger.errors import (
    Draining,
    LedgerError,
    OutcomeUnknown,
    RedisUnfit,
    StoreTimeout,
    StoreUnavailable,
    TopicExists,
)
from redis_ledger.kafka.error_metrics import finder
from redis_ledger.kafka.protocol.messages.alter_configs_request import AlterableConfig as Config
from redis_ledger.kafka.protocol.messages.alter_configs_request import AlterConfigsRequest, AlterConfigsResource
from redis_ledger.kafka.protocol.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from redis_ledger.kafka.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from redis_ledger.kafka.protocol.messages.create_topics_response import CreatableTopicResult
from redis_ledger.kafka.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from redis_ledger.kafka.protocol.messages.delete_topics_request import DeleteTopicsRequest
from redis_ledger.kafka.request_context import controller_code, repeated_whole
from tests.support.broker import eventually, one
from tests.support.kafka_batches import batch, produce
from tests.support.kafka_client import KafkaClient, listening
from tests.support.redis_servers import redis_server

NONE, TIMED_OUT, NOT_ENOUGH_REPLICAS, EXISTS, NOT_CONTROLLER, STORAGE = 0, 7, 19, 36, 41, 56
ASKS: list[tuple[Any, int, int]] = [
    # Java's KafkaAdminClient repeats these at NOT_CONTROLLER only
    (CreateTopicsRequest([CreatableTopic("fresh", 1, 1), CreatableTopic("other", 1, 1)]), 7, NOT_CONTROLLER),
    (DeleteTopicsRequest(topic_names=["t"]), 5, NOT_CONTROLLER),
    (CreatePartitionsRequest([CreatePartitionsTopic("t", 3, None)], 1_000), 3, NOT_CONTROLLER),
    # and these at whatever is a RetriableException, or leaves it to the application
    (DeleteRecordsRequest([DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 1)])], 1_000), 2, TIMED_OUT),
    (AlterConfigsRequest([AlterConfigsResource(2, "t", [Config("retention.ms", "1")])]), 2, TIMED_OUT),
    (produce("t", batch("x")), 9, NOT_ENOUGH_REPLICAS),
]


async def test_while_redis_is_away_administration_answers_codes_that_clients_repeat(prefix: str) -> None:
    with redis_server() as redis:
        async with one(redis.url, prefix, redis_retry_ms=200) as broker:
            await broker.topics.create("t", 2)
            async with listening(broker) as address, KafkaClient(address) as client:
                assert (await client.ask(produce("t", batch("a")), 9)).responses[0].partition_responses[
                    0
                ].error_code == 0
                redis.kill()

                async def is_away() -> bool:
                    return not any(link.ready.is_set() for link in broker.store.topology.links())

                assert await eventually(is_away, True)
                found = []
                for request, version, _ in ASKS:
                    answer = await client.ask(request, version)
                    found.append(finder(type(answer))(answer))
    assert found == [code for _, _, code in ASKS]


def test_the_codes_are_repeated_by_clients() -> None:
    for code in (TIMED_OUT, NOT_ENOUGH_REPLICAS, NOT_CONTROLLER):
        assert aiokafka.errors.for_code(code).retriable


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StoreUnavailable(), NOT_CONTROLLER),
        (Draining(), NOT_CONTROLLER),
        (StoreTimeout(), TIMED_OUT),  # it may have been done
        (OutcomeUnknown(), TIMED_OUT),
        (RedisUnfit(), STORAGE),  # it lasts
        (TopicExists("t exists."), EXISTS),
    ],
)
def test_controller_error_codes(error: LedgerError, code: int) -> None:
    assert controller_code(error) == code


@pytest.mark.parametrize(
    ("codes", "answered"),
    [
        ([NOT_CONTROLLER, NOT_CONTROLLER], [NOT_CONTROLLER, NOT_CONTROLLER]),
        ([NOT_CONTROLLER, EXISTS], [NOT_CONTROLLER, EXISTS]),
        ([NOT_CONTROLLER, NONE], [TIMED_OUT, NONE]),
        ([TIMED_OUT, NOT_CONTROLLER], [TIMED_OUT, TIMED_OUT]),
    ],
)
def test_a_request_of_which_some_was_done_is_not_repeated_whole(codes: list[int], answered: list[int]) -> None:
    results = [CreatableTopicResult(str(number), bytes(16), code) for number, code in enumerate(codes)]
    assert [each.error_code for each in repeated_whole(results)] == answered
