"""Long polls: an event between the first read and the subscription to wake-ups is not missed.

look ─▶ nothing ─▶ (a record, a commit, a deletion) ─▶ listen ─▶ look again ─▶ found
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.fetch.many import PartitionRequest, Polled
from redis_ledger.errors import UnknownTopic
from redis_ledger.ledger import waiters as waiting
from redis_ledger.ledger.read import Read
from tests.support.broker import one, records
from tests.support.busy_machine import within

WAIT_MS = 60_000
SOON_S = 10.0


@pytest.fixture
async def broker(redis_url, prefix, monkeypatch) -> AsyncIterator[Broker]:
    # Without the safety net, a change that was missed is found when the wait is over, and not before.
    monkeypatch.setattr(waiting, "CHECK_S", WAIT_MS / 1000)
    async with one(redis_url, prefix) as opened:
        await opened.topics.create("t", 2)
        yield opened


def just_before_listening(broker: Broker, monkeypatch: pytest.MonkeyPatch, act: Callable[[], Awaitable[Any]]) -> None:
    listen = broker.waiters.listen

    @contextlib.asynccontextmanager
    async def late(*args: Any, **options: Any) -> AsyncIterator[Any]:
        await act()
        async with listen(*args, **options) as listener:
            yield listener

    monkeypatch.setattr(broker.waiters, "listen", late)


async def polled(broker: Broker, *, committed: bool = False) -> list[Polled]:
    wanted = [PartitionRequest(await broker.catalog.partition("t", number), 0, 1000) for number in range(2)]
    async with within(SOON_S):
        return await broker.partition_fetch.poll(
            wanted, committed=committed, bytes_min=1, bytes_max=1000, wait_ms=WAIT_MS
        )  # fmt: skip


def counts(polled: list[Polled]) -> list[int]:
    assert all(isinstance(read, Read) for read in polled)
    return [len(read.entries) for read in polled if isinstance(read, Read)]


@pytest.mark.parametrize("number", [0, 1])
async def test_a_poll_finds_a_record_that_came_just_before_it_listened(broker, monkeypatch, number):
    just_before_listening(broker, monkeypatch, lambda: broker.records.produce("t", records("a"), partition=number))
    assert counts(await polled(broker)) == [int(number == 0), int(number == 1)]


async def test_a_poll_finds_a_commit_that_came_just_before_it_listened(broker, monkeypatch):
    txn = (await broker.transactions.begin()).id
    await broker.records.produce("t", records("a"), partition=1, transaction=txn)
    just_before_listening(broker, monkeypatch, lambda: broker.transactions.commit(txn))
    assert counts(await polled(broker, committed=True)) == [0, 2]


async def test_a_poll_finds_that_its_topic_was_deleted_just_before_it_listened(broker, monkeypatch):
    just_before_listening(broker, monkeypatch, lambda: broker.topics.delete("t"))
    assert all(isinstance(read, UnknownTopic) for read in await polled(broker))


async def test_a_fetch_finds_a_record_that_came_just_before_it_listened(broker, monkeypatch):
    just_before_listening(broker, monkeypatch, lambda: broker.records.produce("t", records("a"), partition=0))
    async with within(SOON_S):
        fetched = await broker.partition_fetch.fetch(
            "t", 0, 0, isolation="read_committed", max_bytes=1000, wait_ms=WAIT_MS
        )  # fmt: skip
    assert len(fetched.batches) == 1


async def test_a_subscription_receives_a_message_that_came_just_before_it_listened(broker, monkeypatch):
    await broker.subscriptions.create("t", "s")
    just_before_listening(broker, monkeypatch, lambda: broker.records.produce("t", records("a"), partition=1))
    async with within(SOON_S):
        messages = await broker.subscriptions.receive("t", "s", wait_ms=WAIT_MS)
    assert [message.value for message in messages] == [b"a"]
