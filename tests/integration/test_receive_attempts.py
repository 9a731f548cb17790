"""A receive without an answer is sent again, to another broker (docs/decisions/0052)."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.broker.subscriptions import key_windows
from redis_ledger.broker.subscriptions.leasing import Leasing
from redis_ledger.broker.subscriptions.long_polls import LongPolls
from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import StoreUnavailable
from redis_ledger.ledger import record_slices
from tests.support.broker import one, two

KINDS = ["shared", "key_shared"]


@pytest.fixture(params=["redis_url", "cluster_url"])
async def pair(request, prefix):
    async with two(request.getfixturevalue(request.param), prefix) as brokers:
        yield brokers


async def made(broker, kind, partitions=3):
    await broker.topics.create("t", partitions)
    await broker.subscriptions.create("t", "x", kind)


async def send(broker, partition, count, key=b"k"):
    await broker.records.produce("t", [NewRecord(b"v", key) for _ in range(count)], partition=partition)


async def receive(broker, most, attempt=0, consumer="c1", request="r", **more):
    found = await broker.subscriptions.receive(
        "t", "x", consumer, max_records=most, request=request, attempt=attempt, **more
    )
    return [(each.id.partition, each.id.offset) for each in found]


@pytest.mark.parametrize("kind", KINDS)
async def test_it_returns_all_that_the_first_attempt_got_also_where_there_is_more_now(pair, kind):
    """A record that stayed behind would be the consumer's, and later ones of its key would come before it."""
    await made(pair[0], kind)
    await send(pair[0], 2, 4)
    first = await receive(pair[0], 4)
    assert first == [(2, offset) for offset in range(4)]
    for partition in (0, 1):
        await send(pair[0], partition, 4)
    assert await receive(pair[1], 4, attempt=1) == first
    assert set(await receive(pair[1], 6, attempt=2)) > set(first)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_attempt_that_waits_elsewhere_gets_nothing_after_the_next_one(pair, kind, monkeypatch):
    await made(pair[0], kind)
    waits, wait = asyncio.Event(), LongPolls.wait

    async def waited(*args):
        waits.set()
        return await wait(*args)

    monkeypatch.setattr(LongPolls, "wait", waited)
    waiting = asyncio.create_task(receive(pair[0], 9, wait_ms=1_500))
    await waits.wait()
    assert await receive(pair[1], 9, attempt=1) == []
    await send(pair[1], 1, 3)
    assert await waiting == []
    assert await receive(pair[0], 9, request="s") == [(1, 0), (1, 1), (1, 2)]


@pytest.mark.parametrize("kind", KINDS)
async def test_an_attempt_whose_client_is_gone_returns_nothing_that_the_next_one_has(pair, kind, monkeypatch):
    await made(pair[0], kind)
    await send(pair[0], 0, 3)
    reads, goes_on, read = asyncio.Event(), asyncio.Event(), record_slices.read_pieces

    async def slow(*args):
        reads.set()
        await goes_on.wait()
        return await read(*args)

    monkeypatch.setattr(f"{Leasing.__module__}.read_pieces", slow)
    gone = asyncio.create_task(receive(pair[0], 9))
    await reads.wait()
    monkeypatch.setattr(f"{Leasing.__module__}.read_pieces", read)
    assert len(await receive(pair[1], 9, attempt=1)) == 3
    gone.cancel()
    goes_on.set()
    await asyncio.gather(gone, return_exceptions=True)
    assert await receive(pair[1], 9, consumer="c2") == []
    assert await pair[1].subscriptions.nack("t", "x", "c1", None) == 3  # they are still its own


async def test_more_than_was_asked_for_is_returned_to_the_subscription(pair):
    """Two attempts that lease at the same time may have more together."""
    await made(pair[0], "key_shared", partitions=1)
    await send(pair[0], 0, 6)
    assert len(await receive(pair[0], 6)) == 6
    assert await receive(pair[1], 4, attempt=1) == [(0, offset) for offset in range(4)]
    assert await receive(pair[1], 9, request="s") == [(0, 4), (0, 5)]


async def test_what_earlier_windows_leased_is_returned_when_a_later_one_fails(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(key_windows, "RECORDS_MAX", 3)
    async with one(redis_url, prefix) as broker:
        await made(broker, "key_shared", partitions=1)
        await send(broker, 0, 9)
        calls, call = [], broker.store.call

        async def failing(script, *args, **more):
            if script.name == "cursor/receive_key_shared":
                calls.append(script)
                if len(calls) == 3:
                    raise StoreUnavailable("down")
            return await call(script, *args, **more)

        monkeypatch.setattr(broker.store, "call", failing)
        with pytest.raises(StoreUnavailable):
            await receive(broker, 9)
        assert len(await receive(broker, 9, request="", consumer="c2")) == 0  # the slot is still the first one's
        assert await receive(broker, 9, request="s") == [(0, offset) for offset in range(9)]
