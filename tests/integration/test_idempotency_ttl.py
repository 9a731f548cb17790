"""An Idempotency-Key is kept in Redis as long as its request may be retried, and no longer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import redis.asyncio

from redis_ledger import AsyncClient, Client
from redis_ledger.client.models import Record
from redis_ledger.clock import ManualClock, SystemClock
from tests.support.redis_servers import redis_server
from tests.support.rest import client_of, open_broker
from tests.support.threaded_broker import threaded_broker

DAY_S, MINUTE_S = 86_400, 60


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    """A server of this file: its tests look at all keys, of which the shared one has many thousands."""
    with redis_server() as server:
        yield server.url


@pytest.fixture
async def api(redis_url, prefix) -> AsyncIterator[httpx.AsyncClient]:
    async with open_broker(redis_url, prefix, coordinators=2) as broker, client_of(broker) as client:
        await broker.topics.create("t", 1)
        yield client


async def kept_s(url: str, prefix: str) -> list[int]:
    """Of each key that a broker keeps: in how many seconds it goes, as whole minutes that have begun."""
    async with redis.asyncio.Redis.from_url(url) as client:
        keys = [key async for key in client.scan_iter(f"{prefix}:{{idem:*") if not key.endswith(b"|run")]
        left_ms = [await client.pttl(key) for key in keys]
        return sorted(-(-ms // 60_000) * MINUTE_S for ms in left_ms)


@pytest.mark.parametrize(
    ("path", "body", "ttl", "seconds"),
    [
        ("transactions", {"timeout_ms": 60_000}, None, 2 * MINUTE_S),
        ("transactions", {"timeout_ms": 600_000}, None, 11 * MINUTE_S),
        ("transactions", {"timeout_ms": 600_000}, "60", MINUTE_S),
        ("transactions:execute", {"records": [{"topic": "t", "records": [{"text": "x"}]}]}, None, DAY_S),
        ("transactions:execute", {"records": [{"topic": "t", "records": [{"text": "x"}]}]}, "90", 2 * MINUTE_S),
        ("topics/t/records", {"records": [{"text": "x"}]}, None, DAY_S),
        ("topics/t/records", {"records": [{"text": "x"}]}, "60", MINUTE_S),
        ("topics/t/records", {"records": [{"text": "x"}]}, "2592000", DAY_S),
    ],
)
async def test_a_key_goes_when_its_request_cannot_be_repeated_any_more(
    api, redis_url, prefix, path, body: Any, ttl, seconds
):
    headers = {"idempotency-key": "k"} | ({} if ttl is None else {"idempotency-key-ttl": ttl})
    first = await api.post(f"/v1/{path}", json=body, headers=headers)
    again = await api.post(f"/v1/{path}", json=body, headers=headers)
    assert first.is_success, first.text
    assert (again.json(), again.headers["idempotent-replayed"]) == (first.json(), "true")
    assert await kept_s(redis_url, prefix) == [seconds]


@pytest.mark.parametrize("ttl", ["0", "-1", "soon", "2592001", "1" * 40, "٣"])
async def test_a_time_that_is_none_is_refused_with_what_it_may_be(api, redis_url, prefix, ttl):
    headers = {"idempotency-key": "k", "idempotency-key-ttl": ttl.encode()}
    answer = await api.post("/v1/transactions", json={}, headers=headers)
    assert answer.status_code == 400
    assert "1 to 2592000" in answer.json()["detail"]
    assert await kept_s(redis_url, prefix) == []


async def test_the_sdk_keeps_the_keys_it_makes_for_as_long_as_it_repeats_a_call(redis_url, prefix):
    with threaded_broker(redis_url, prefix) as brokers:
        async with AsyncClient(brokers.urls[0], timeout_ms=30_000) as client:
            async with client.transaction() as txn:
                await (await txn.send("t", {"order": 1}))
            await client.execute(records={"t": [Record({"order": 2})]})
            await client.execute(records={"t": [Record({"order": 3})]}, idempotency_key="mine")
        with Client(brokers.urls[0], timeout_ms=30_000) as client:
            client.execute(records={"t": [Record({"order": 4})]})
        assert await kept_s(redis_url, prefix) == [2 * MINUTE_S] * 3 + [DAY_S]


@pytest.mark.parametrize("body", [{"records": [{"text": "x"}]}, {"records": [{"text": "x", "deliver_after": "PT10M"}]}])
@pytest.mark.parametrize(("ttl", "kept_ms"), [("60", 60_000), (None, DAY_S * 1000)])
async def test_the_producer_row_of_a_keyed_produce_goes_with_its_key(redis_url, prefix, ttl, kept_ms, body: Any):
    clock = ManualClock(SystemClock().now_ms())
    async with open_broker(redis_url, prefix, clock=clock, coordinators=1) as broker, client_of(broker) as client:
        await broker.maintenance.close()
        await broker.topics.create("t", 1)
        headers = {"idempotency-key": "k"} | ({} if ttl is None else {"idempotency-key-ttl": ttl})
        answer = await client.post("/v1/topics/t/records", json=body, headers=headers)
        assert answer.is_success, answer.text
        partition = await broker.catalog.partition("t", 0)

        async def rows() -> int:
            """As upkeep leaves them; without the sentinel."""
            await broker.retention.retain(due_only=True)
            k = partition.keys
            return int(await broker.store.command("HLEN", k.producers, key=k.state)) - 1

        assert await rows() == 1
        clock.advance(kept_ms + MINUTE_S * 1000 - 5_000)  # clocks may differ by a minute
        assert await rows() == 1
        clock.advance(5_000 + 30_000)
        assert await rows() == 0


async def test_a_repeat_with_another_time_to_live_finds_what_was_written(api, redis_url, prefix):
    """Its broker died before the answer was kept."""
    body = {"records": [{"text": "x"}]}
    first = await api.post(
        "/v1/topics/t/records", json=body, headers={"idempotency-key": "k", "idempotency-key-ttl": "90"}
    )
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        (key,) = [key async for key in client.scan_iter(f"{prefix}:{{idem:*")]
        record = await client.get(key)
        assert isinstance(record, bytes)
        await client.set(key, record[:57] + b"\0\0", ex=90)
    again = await api.post(
        "/v1/topics/t/records", json=body, headers={"idempotency-key": "k", "idempotency-key-ttl": "45"}
    )
    assert again.json() == {"results": [first.json()["results"][0] | {"duplicate": True}]}


async def test_a_time_to_live_without_a_key_is_refused(api):
    answer = await api.post("/v1/transactions", json={}, headers={"Idempotency-Key-TTL": "60"})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert "Idempotency-Key" in answer.json()["detail"]
