"""Every kind of committed reader, before a transaction, while it is open, and after its end.

log      a  b·t  c
open     a             none of them gets the plain record behind the transaction
commit   a  b    c
abort    a       c
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from redis_ledger.records.batch import split
from redis_ledger.records.read import decode
from tests.support.broker import begun, records, two
from tests.support.doors import Doors, doors_of
from tests.support.kafka_batches import fetch, fetched, values

IDLE_MS, WAIT_MS = 300, 10_000
BATCHES = "application/vnd.redis-ledger.batch"
More = Callable[[int], Awaitable[list[str]]]  # returns the values that follow, waiting so long (ms) for the first


def rest_records(doors: Doors, name: str) -> More:
    at: Any = "earliest"

    async def more(wait_ms: int) -> list[str]:
        nonlocal at
        query = {"offset": at, "wait_ms": wait_ms, "as": "text"}
        body = (await doors.http.get("/v1/topics/t/partitions/0/records", params=query)).json()
        at = body["next_offset"]
        return [record["text"] for record in body["records"]]

    return more


def rest_batches(doors: Doors, name: str) -> More:
    at: Any = "earliest"

    async def more(wait_ms: int) -> list[str]:
        nonlocal at
        query = {"offset": at, "wait_ms": wait_ms}
        answer = await doors.http.get("/v1/topics/t/partitions/0/records", params=query, headers={"Accept": BATCHES})
        at = int(answer.headers["redis-ledger-next-offset"])
        batches = [view for header, view in split(answer.content) if not header.is_control]
        return [(record.value or b"").decode() for view in batches for record in decode(view)]

    return more


def rest_subscription(kind: str) -> Callable[[Doors, str], More]:
    def opened(doors: Doors, name: str) -> More:
        is_created = False

        async def more(wait_ms: int) -> list[str]:
            nonlocal is_created
            if not is_created:
                body: dict[str, Any] = {"name": name, "kind": kind, "start": "earliest"}
                assert (await doors.http.post("/v1/topics/t/subscriptions", json=body)).is_success
                is_created = True
            body = {"consumer": "c", "wait_ms": wait_ms, "as": "text"}
            answer = await doors.http.post(f"/v1/topics/t/subscriptions/{name}:receive", json=body)
            messages = answer.json()["messages"]
            ids = [message["id"] for message in messages]
            if ids:
                acked = await doors.http.post(
                    f"/v1/topics/t/subscriptions/{name}:ack", json={"consumer": "c", "ids": ids}
                )
                assert acked.is_success, acked.text
            return [message["text"] for message in messages]

        return more

    return opened


def sdk_read(doors: Doors, name: str) -> More:
    at: Any = 0

    async def more(wait_ms: int) -> list[str]:
        nonlocal at
        found = []
        async for message in doors.sdk.read("t", 0, at, wait_ms=min(wait_ms, IDLE_MS)):
            found.append(message.text())
            at = message.offset + 1
        return found

    return more


def sdk_consumer(doors: Doors, name: str) -> More:
    consumer = doors.sdk.consumer("t", name, kind="shared", start="earliest")

    async def more(wait_ms: int) -> list[str]:
        return [message.text() for message in await consumer.receive(wait_ms=wait_ms or IDLE_MS)]

    return more


def kafka_fetch(version: int, *, session: bool = False) -> Callable[[Doors, str], More]:
    def opened(doors: Doors, name: str) -> More:
        at, place = 0, (0, 0) if session else (0, -1)

        async def more(wait_ms: int) -> list[str]:
            nonlocal at, place
            answer = await doors.kafka.ask(fetch("t", at, wait_ms=wait_ms, session=place), version)
            if session:
                place = (answer.session_id, place[1] + 1)
            if not answer.responses:  # nothing has changed in the session
                return []
            data = fetched(answer)
            assert isinstance(data.records, memoryview | bytes)
            at = max((header.last_offset + 1 for header, _ in split(data.records)), default=at)
            return values(data)

        return more

    return opened


READERS: dict[str, Callable[[Doors, str], More]] = {
    "REST records": rest_records,
    "REST batches": rest_batches,
    **{f"REST {kind}": rest_subscription(kind) for kind in ("shared", "key_shared", "exclusive", "failover")},
    "SDK read": sdk_read,
    "SDK consumer": sdk_consumer,
    "Kafka fetch 4": kafka_fetch(4),
    "Kafka fetch": kafka_fetch(12),
    "Kafka fetch session": kafka_fetch(12, session=True),
}


async def until(more: More, count: int) -> list[str]:
    """As many values as expected, and any that follow at once."""
    found: list[str] = []
    async with asyncio.timeout(20):
        while len(found) < count:
            found += await more(WAIT_MS)
    return found + await more(0)


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(("commit", "after"), [(True, ["b", "c"]), (False, ["c"])], ids=["commit", "abort"])
async def test_no_reader_gets_a_record_behind_an_open_transaction(redis_url, prefix, kind, commit, after):
    """TB-05, TB-31: one that read before, at another broker, one that comes while it is open, and one that waits."""
    async with (
        two(redis_url, prefix, end_overdue_ms=60_000) as (broker, other),
        doors_of(broker) as doors,
        doors_of(other) as other_doors,
    ):
        await broker.topics.create("t")
        await broker.records.produce("t", records("a"))
        early = READERS[kind](other_doors, "early")
        assert await until(early, 1) == ["a"]
        txn = await begun(broker, "b")
        await broker.records.produce("t", records("c"))
        late = READERS[kind](doors, "late")
        assert await until(late, 1) == ["a"]
        assert [await early(IDLE_MS), await late(IDLE_MS)] == [[], []]
        waiting = [asyncio.create_task(until(each, len(after))) for each in (early, late)]
        await asyncio.sleep(0.1)  # they have asked
        await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
        assert await asyncio.gather(*waiting) == [after, after]
