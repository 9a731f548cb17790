"""Unknown outcomes stay unknown: a write whose reply was lost is never reported as not written."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger.broker.types import ExecuteRecords
from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.errors import OutcomeUnknown, StorageFull, StoreUnavailable
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store
from tests.support.broker import eventually, one, records, values_of
from tests.support.proxy import proxy


async def test_an_append_that_may_be_written_is_in_doubt_when_redis_stays_away(redis, prefix):
    async with proxy("127.0.0.1", redis.port) as relay:
        store = await Store.open(relay.url, prefix=prefix, retry_ms=2_000)  # the reply is lost long before
        partition = Partition(store, "orders", 0, "t-1", Config(), ManualClock())
        await partition.create()
        # Given a reply that is lost, and a Redis that cannot be reached afterwards
        assert relay._server is not None
        relay._server.close()
        relay.cuts = 1
        # Then no reply claims that the batch was not written
        with pytest.raises(OutcomeUnknown):
            await partition.append(AppendRequest(b"x", 1, 0, producer_id=7, epoch=0, sequence=0))
        await relay.accept_again()
        # for it was: its sequence is taken
        again = await partition.append(AppendRequest(b"y", 1, 0, producer_id=7, epoch=0, sequence=0))
        assert again.duplicate
        await store.close()


@pytest.mark.parametrize("later", [StoreUnavailable(), StorageFull()])
async def test_a_repetition_that_is_refused_leaves_the_first_attempt_in_doubt(redis_url, prefix, later, monkeypatch):
    store = await Store.open(redis_url, prefix=prefix)
    partition = Partition(store, "orders", 0, "t-1", Config(), ManualClock())
    await partition.create()
    outcomes: list[Exception] = [OutcomeUnknown(), later, later]

    def answers(*_: Any, **__: Any) -> asyncio.Future[Any]:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(outcomes.pop(0))
        return future

    monkeypatch.setattr(store, "multi", answers)
    with pytest.raises(OutcomeUnknown):
        await partition.append(AppendRequest(b"x", 1, 0, producer_id=7, epoch=0, sequence=0))
    # while one that was never sent is known to be unwritten
    with pytest.raises(type(later)):
        await partition.append(AppendRequest(b"x", 1, 0, producer_id=7, epoch=0, sequence=0))
    await store.close()


async def test_committed_step_is_never_reported_as_failed(redis_url, prefix, monkeypatch):
    """TS-10: the decision is in the log, and the ends cannot be carried just now."""
    async with one(redis_url, prefix, redis_timeout_ms=200, one_call_transactions=False) as broker:
        await broker.topics.create("t")

        async def away(_: object) -> None:
            raise StoreUnavailable()

        participants = broker.transactions._participants
        monkeypatch.setattr(participants, "end", away)
        with pytest.raises(OutcomeUnknown) as failed:
            await broker.execute.run([], [ExecuteRecords("t", records("a"))], nonce="n")
        assert failed.value.facts["transaction"]
        monkeypatch.undo()
        assert await eventually(lambda: values_of(broker, "t"), ["a"], 3) == ["a"]
