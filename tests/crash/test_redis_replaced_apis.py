"""Redis restarts empty, or with settings that the restart reverted: the errors of both ports."""

from __future__ import annotations

import asyncio
import shutil
import time
from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from redis_ledger.store.checks import check
from tests.support.processes import eventually
from tests.support.redis_servers import redis_server
from tests.support.threaded_broker import ThreadedBroker, threaded_broker

RECORDS = 20


def post(url: str, path: str, body: object) -> httpx.Response:
    return httpx.post(f"{url}/v1{path}", json=body, timeout=30, trust_env=False)


def produce(url: str, text: str) -> httpx.Response:
    return post(url, "/topics/t/records", {"records": [{"text": text, "partition": 0}]})


def unready(url: str) -> str:
    """The sentence of /readyz; empty when it is ready."""
    answer = httpx.get(f"{url}/readyz", timeout=30, trust_env=False)
    return "" if answer.status_code == 200 else str(answer.json()["detail"])


async def produce_by_kafka(address: str, text: str, timeout_ms: int = 60_000) -> int:
    async with AIOKafkaProducer(bootstrap_servers=address, request_timeout_ms=timeout_ms) as producer:
        offset: int = (await producer.send_and_wait("t", text.encode(), partition=0)).offset
    return offset


async def read_by_kafka(address: str, count: int) -> dict[int, str]:
    found: dict[int, str] = {}
    async with AIOKafkaConsumer(bootstrap_servers=address) as consumer, asyncio.timeout(60):
        consumer.assign([TopicPartition("t", 0)])
        consumer.seek(TopicPartition("t", 0), 0)
        while len(found) < count:
            message = await consumer.getone()
            found[message.offset] = message.value.decode()
    return found


def filled(brokers: ThreadedBroker, address: str) -> dict[int, str]:
    """Records acknowledged at both ports, by offset."""
    kept = {}
    for number in range(RECORDS):
        answer = produce(brokers.urls[number % len(brokers.urls)], f"rest-{number}")
        kept[answer.json()["results"][0]["base_offset"]] = f"rest-{number}"
        kept[asyncio.run(produce_by_kafka(address, f"kafka-{number}"))] = f"kafka-{number}"
    assert len(kept) == 2 * RECORDS
    return kept


@pytest.mark.parametrize("undone", ["the data is gone", "CONFIG SET is undone"])
@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.full), 2])
def test_acknowledged_records_are_not_contradicted_at_either_port(prefix: str, count: int, undone: str) -> None:
    by_conf: dict[str, Any] = {"appendonly": "yes", "appendfsync": "always"} if undone == "the data is gone" else {}
    with redis_server(**by_conf) as redis:
        for name, value in (("appendonly", "yes"), ("appendfsync", "always")):
            redis.ask("CONFIG", "SET", name, value)
        eventually(lambda: "aof_rewrite_in_progress:0" in str(redis.ask("INFO", "persistence")))
        with threaded_broker(redis.url, prefix, count, kafka=True, num_partitions=1, redis_retry_ms=2_000) as brokers:
            for broker in brokers.brokers:
                brokers.do(check(broker.store, "disk"))
            address = "{}:{}".format(*brokers.kafka)
            kept = filled(brokers, address)
            # When Redis is killed and comes back without them
            redis.kill()
            if undone == "the data is gone":
                (redis.folder / "appendonlydir").rename(redis.folder / "away")
            redis.start()
            # Then every broker says what is wrong, and neither door acknowledges, creates or reads anything
            for url in brokers.urls:
                eventually(lambda url=url: "has lost its data" in unready(url))  # type: ignore[misc]
                began_s = time.monotonic()
                for answer in (
                    produce(url, "x"),
                    post(url, "/topics/new/records", {"records": [{"text": "x"}]}),
                    post(url, "/transactions", {}),
                    httpx.get(f"{url}/v1/topics/t/partitions/0/records?offset=0", timeout=30, trust_env=False),
                ):
                    assert (answer.status_code, answer.json()["code"]) == (503, "redis_unfit")
                    assert "has lost its data" in answer.json()["detail"]
                assert time.monotonic() - began_s < 15
            with pytest.raises((KafkaError, asyncio.TimeoutError)):
                asyncio.run(produce_by_kafka(address, "x", 3_000))
            assert redis.ask("KEYS", f"{prefix}:*:state") == []
            # When the data is back, as the sentence advises, all goes on
            redis.kill()
            if undone == "the data is gone":
                shutil.rmtree(redis.folder / "appendonlydir")
                (redis.folder / "away").rename(redis.folder / "appendonlydir")
            redis._conf |= {"appendonly": "yes", "appendfsync": "always"}
            redis.start()
            for url in brokers.urls:
                eventually(lambda url=url: not unready(url))  # type: ignore[misc]
            offset = asyncio.run(produce_by_kafka(address, "later"))
            assert offset not in kept
            assert asyncio.run(read_by_kafka(address, offset + 1)) == kept | {offset: "later"}
