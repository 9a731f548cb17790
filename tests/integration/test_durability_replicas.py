"""Durability `replicas` for clients: what waits, which error it ends with, and when a record becomes readable."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.errors import StoreTimeout, TooFewReplicas
from redis_ledger.kafka.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.store.checks import check
from redis_ledger.store.copies import CopiesRequired
from tests.support.broker import eventually, one, records, values_of
from tests.support.busy_machine import busy_machine, within
from tests.support.kafka_batches import batch, fetch, fetched, produce, produced
from tests.support.kafka_client import KEYS, KafkaClient, listening
from tests.support.kafka_codec import request
from tests.support.kafka_offsets import commit
from tests.support.kafka_transactional import NEW, Transactional
from tests.support.redis_servers import Server, replicated
from tests.support.rest import client_of

TIMEOUT_MS = 600
NONE, LOADING, COORDINATOR_NOT_AVAILABLE, NOT_ENOUGH, AFTER_APPEND, STORAGE = 0, 14, 15, 19, 20, 56
AT_ONCE_S = TIMEOUT_MS / 2000
REPLICAS: dict[str, Any] = {"min_insync_replicas": 3, "replicas_timeout_ms": TIMEOUT_MS}
OF_TOPIC, OF_BROKER = 1, 4  # sources of a configuration


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    with replicated() as started:
        yield started


@pytest.fixture
async def broker(servers: list[Server], prefix: str) -> AsyncIterator[Broker]:
    async with one(servers[0].url, prefix, **REPLICAS) as opened:
        await opened.topics.create("t")
        yield opened


@pytest.fixture
async def kafka(broker: Broker) -> AsyncIterator[KafkaClient]:
    async with listening(broker) as address, KafkaClient(address) as client:
        yield client


@pytest.fixture
async def http(broker: Broker) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(broker) as client:
        yield client


async def in_sync(broker: Broker) -> bool:
    with contextlib.suppress(TooFewReplicas, StoreTimeout):
        await broker.store.command("GET", "x", key=b"x")
        return True
    return False


async def send(client: KafkaClient, message: Any, version: int) -> None:
    """A request without an answer."""
    for piece in request(KEYS[type(message).__name__], version, 0, "test", message):
        client._writer.write(piece)
    await client._writer.drain()


async def shown(client: KafkaClient, topic: str) -> tuple[str, int]:
    """Value and source of min.insync.replicas."""
    asked = DescribeConfigsRequest([DescribeConfigsResource(2, topic, ["min.insync.replicas"])], True, True)
    (row,) = (await client.ask(asked, 4)).results[0].configs
    return row.value, row.config_source


async def codes(client: KafkaClient, acks: int, value: str = "x", topic: str = "t") -> int:
    return produced(await client.ask(produce(topic, batch(value), acks=acks), 9)).error_code


async def test_acks_all_waits_for_replicas_and_fails_with_the_code_for_after_and_then_before_the_append(
    servers, broker, kafka
):
    assert await codes(kafka, -1, "before") == NONE
    # Given a replica that does not answer
    servers[2].freeze()
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await codes(kafka, -1, "in doubt") == AFTER_APPEND
    assert loop.time() - began >= TIMEOUT_MS / 1000
    # When too few copies are known, then a batch is refused at once and not written
    began = loop.time()
    async with busy_machine() as machine:
        assert await codes(kafka, -1, "refused") == NOT_ENOUGH
    assert loop.time() - began < AT_ONCE_S + machine.lost_s
    # When the replica goes on, then so do producers and readers
    servers[2].thaw()
    assert await eventually(lambda: in_sync(broker), True) is True
    assert await codes(kafka, -1, "after") == NONE
    assert await values_of(broker, "t") == ["before", "in doubt", "after"]


@pytest.mark.parametrize("acks", [1, 0])
async def test_acks_1_and_0_do_not_wait_and_their_records_are_read_when_replicas_have_them(
    servers, broker, kafka, http, acks
):
    assert await codes(kafka, -1, "first") == NONE
    servers[2].freeze()
    loop = asyncio.get_running_loop()
    began = loop.time()
    if acks:
        async with busy_machine() as machine:
            assert await codes(kafka, acks, "quick") == NONE
        assert loop.time() - began < AT_ONCE_S + machine.lost_s
    else:
        await send(kafka, produce("t", batch("quick"), acks=0), 9)
    # Readers of this broker, whose tail cache has the record, do not get it
    read = asyncio.create_task(http.get("/v1/topics/t/partitions/0/records?offset=0"))
    also = asyncio.create_task(kafka.ask(fetch("t"), 12))
    done, _ = await asyncio.wait([read, also], timeout=AT_ONCE_S)
    assert not done
    servers[2].thaw()
    assert await eventually(lambda: in_sync(broker), True) is True
    await asyncio.gather(read, also)
    assert await values_of(broker, "t") == ["first", "quick"]


async def test_a_reader_gets_a_record_only_when_replicas_have_it(servers, broker, kafka, prefix):
    async with one(servers[0].url, prefix, name="other", **REPLICAS) as other:
        async with listening(other) as address, KafkaClient(address) as reader:
            assert await codes(kafka, -1, "a") == NONE
            waiting = asyncio.create_task(reader.ask(fetch("t", 1, wait_ms=3_000), 12))
            await asyncio.sleep(0.1)
            servers[2].freeze()
            written = asyncio.create_task(codes(kafka, -1, "b"))
            # The waiting reader is woken, and gets an error and no record
            answer = fetched(await waiting)
            assert (answer.error_code, bool(answer.records)) == (STORAGE, False)
            assert await written == AFTER_APPEND
            servers[2].thaw()
            assert await eventually(lambda: in_sync(other), True) is True
            assert fetched(await reader.ask(fetch("t", 1), 12)).error_code == NONE
            assert await values_of(other, "t") == ["a", "b"]


async def test_a_reader_does_not_use_a_head_that_is_published_before_replicas_have_it(servers, broker, kafka):
    async with listening(broker) as address, KafkaClient(address) as reader:
        assert await codes(kafka, -1, "a") == NONE
        waiting = asyncio.create_task(reader.ask(fetch("t", 1, wait_ms=3_000), 12))
        await asyncio.sleep(0.1)
        servers[2].freeze()
        assert await codes(kafka, 1, "quick") == NONE
        answer = fetched(await waiting)
        assert (answer.error_code, bool(answer.records)) == (STORAGE, False)
        servers[2].thaw()
        assert await eventually(lambda: in_sync(broker), True) is True
        assert await values_of(broker, "t") == ["a", "quick"]


async def test_ids_offsets_and_ends_wait_too(servers, broker, kafka):
    writer = await Transactional(kafka, "pay", NEW).init()
    assert await writer.send("t", "in a transaction") == NONE
    servers[2].freeze()
    asked = [
        kafka.ask(EndTxnRequest("pay", writer.pid, writer.epoch, True), 3),
        kafka.ask(InitProducerIdRequest(None, 1_000), 4),
    ]
    assert [(await each).error_code for each in asked] == [COORDINATOR_NOT_AVAILABLE, LOADING]
    (code,) = await commit(kafka, ("t", 0, 1))
    assert code in {COORDINATOR_NOT_AVAILABLE, LOADING}
    servers[2].thaw()
    assert await eventually(lambda: in_sync(broker), True) is True
    assert (await kafka.ask(EndTxnRequest("pay", writer.pid, writer.epoch, True), 3)).error_code == NONE
    assert await eventually(lambda: values_of(broker, "t"), ["in a transaction"]) == ["in a transaction"]


async def test_rest_answers_that_the_outcome_is_unknown_and_then_that_nothing_was_done(servers, broker, http):
    body = {"records": [{"value": "a"}]}
    servers[2].freeze()
    first = await http.post("/v1/topics/t/records", json=body)
    assert (first.status_code, first.json()["code"]) == (504, "not_replicated")
    second = await http.post("/v1/topics/t/records", json=body)
    assert (second.status_code, second.json()["code"], second.json()["retriable"]) == (503, "too_few_replicas", True)
    read = await http.get("/v1/topics/t/partitions/0/records?offset=0")
    assert (read.status_code, read.json()["code"]) == (503, "too_few_replicas")
    servers[2].thaw()
    assert await eventually(lambda: in_sync(broker), True) is True
    assert (await http.post("/v1/topics/t/records", json=body)).status_code == 200
    assert await values_of(broker, "t") == ['"a"', '"a"']


async def test_readyz_names_the_replicas_that_are_missing(servers, broker, http):
    await check(broker.store, "replicas", copies=CopiesRequired(3, TIMEOUT_MS))
    broker.readiness["durability"] = "replicas"
    assert (await http.get("/readyz")).json()["durability"] == "replicas"
    servers[2].kill()
    async with within(5):
        while (answer := await http.get("/readyz")).status_code != 503 or answer.json()["code"] != "too_few_replicas":
            await asyncio.sleep(0.05)
    assert "has 1 of the 2 in-sync replicas that durability replicas requires" in answer.json()["detail"]
    with pytest.raises(TooFewReplicas):
        await broker.records.produce("t", records("a"))


async def test_a_topic_with_a_higher_number_waits_for_more_copies(servers, prefix):
    async with one(servers[0].url, prefix, **{**REPLICAS, "min_insync_replicas": 2}) as broker:
        async with listening(broker) as address, KafkaClient(address) as kafka:
            await broker.topics.create("few")
            await broker.topics.create("many", settings={"min_insync_replicas": 3})
            assert [await shown(kafka, each) for each in ("many", "few")] == [("3", OF_TOPIC), ("2", OF_BROKER)]
            assert [await codes(kafka, -1, topic=each) for each in ("few", "many")] == [NONE, NONE]
            servers[2].freeze()
            assert [await codes(kafka, -1, topic=each) for each in ("few", "many", "many")] == [
                NONE, AFTER_APPEND, NOT_ENOUGH,
            ]  # fmt: skip
            assert await values_of(broker, "few") == ["x", "x"]
            # When the topic asks for no more than the others, then it is served again
            await broker.configs.change("many", {"min_insync_replicas": None}, validate_only=False)
            assert await codes(kafka, -1, topic="many") == NONE
            await broker.topics.delete("many")


async def test_other_levels_do_not_wait(servers, prefix):
    async with one(servers[0].url, prefix) as broker:
        await broker.topics.create("t", settings={"min_insync_replicas": 3})
        for server in servers[1:]:
            server.freeze()
        await broker.records.produce("t", records("a"))
        assert await values_of(broker, "t") == ["a"]
