"""The offset for a time, over REST."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.support.rest import rest

PATH = "/v1/topics/orders/partitions/0/offsets"


@pytest.fixture
async def client(redis_url: str, prefix: str) -> AsyncIterator[httpx.AsyncClient]:
    async with rest(redis_url, prefix, coordinators=1) as client:
        yield client


async def send(client: httpx.AsyncClient, *times_ms: int, transaction: str | None = None) -> None:
    records = [{"text": str(time_ms), "timestamp_ms": time_ms} for time_ms in times_ms]
    body = {"records": records, "partition": 0, "transaction": transaction}
    assert (await client.post("/v1/topics/orders/records", json=body)).status_code == 200


async def test_it_is_the_first_record_in_offset_order_that_is_as_late(client):
    await send(client, 1_000, 5_000, 3_000)
    await send(client, 4_000, 9_000)
    for time_ms, expected in {
        0: {"offset": 0, "timestamp_ms": 1_000},
        1_001: {"offset": 1, "timestamp_ms": 5_000},
        5_001: {"offset": 4, "timestamp_ms": 9_000},
        9_001: {"offset": 5},
    }.items():
        assert (await client.get(PATH, params={"timestamp_ms": time_ms})).json() == expected


async def test_a_committed_reader_is_not_sent_behind_an_open_transaction(client):
    await send(client, 1_000)
    transaction = (await client.post("/v1/transactions", json={})).json()["id"]
    await send(client, 2_000, transaction=transaction)
    later = {"timestamp_ms": 2_000}
    assert (await client.get(PATH, params=later)).json() == {"offset": 1}
    uncommitted = later | {"isolation": "read_uncommitted"}
    assert (await client.get(PATH, params=uncommitted)).json() == {"offset": 1, "timestamp_ms": 2_000}


async def test_invalid_offset_lookups_are_refused(client):
    await send(client, 1_000)
    assert (await client.get(PATH)).json()["code"] == "invalid_request"
    assert (await client.get(PATH, params={"timestamp_ms": -1})).json()["code"] == "invalid_request"
    assert (await client.get(PATH.replace("/0/", "/7/"), params={"timestamp_ms": 1})).json()["code"] == (
        "unknown_partition"
    )
    assert (await client.get(PATH.replace("orders", "gone"), params={"timestamp_ms": 1})).json()["code"] == (
        "unknown_topic"
    )
