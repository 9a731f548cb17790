"""Reads among many aborted transactions: their set is read in pages, and none of their records is delivered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.errors import OffsetOutOfRange
from redis_ledger.ids import TxnId
from redis_ledger.ledger import reader
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.entries import is_aborted
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Decision, Participant
from redis_ledger.txn.participants import Participants
from redis_ledger.txn.states import TxnState

CONFIG = Config(ledger_bytes_max=1000, ledger_age_ms_max=60_000)


@pytest.fixture
async def store(redis_url, prefix) -> AsyncIterator[Store]:
    opened = await Store.open(redis_url, prefix=prefix)
    yield opened
    await opened.close()


def another(store: Store) -> Partition:
    """The same partition, as another broker has it."""
    return Partition(store, "orders", 0, "t-1", CONFIG, ManualClock())


@pytest.fixture
async def partition(store) -> Partition:
    made = another(store)
    assert await made.create()
    return made


async def many_aborted(partition, store, count: int) -> None:
    """One after the other, each decided before the next begins."""
    ends, where = Participants(store, CONFIG, ManualClock()), [Participant("orders", "t-1", 0)]
    for serial in range(count):
        txn = TxnId(3, serial)
        await partition.append(AppendRequest(b"never", 1, 0, producer_id=txn.producer_id, epoch=0), txn)
        await ends.end(Decision(txn, TxnState.ABORTING, where, -1))


def counting_aborted(partition, store, monkeypatch) -> list[int]:
    """The number of members in each read of the aborted set."""
    command, brought = store.command, list[int]()

    def counted(*words, key):
        reply = command(*words, key=key)
        if words[0] == "ZRANGEBYSCORE" and words[1] == partition.keys.aborted:
            reply.add_done_callback(lambda done: brought.append(len(done.result()) // 2))
        return reply

    monkeypatch.setattr(store, "command", counted)
    return brought


async def test_a_trim_between_two_pages_of_the_aborted_set_makes_nothing_visible(partition, store, monkeypatch):
    monkeypatch.setattr(reader, "ABORTED_MAX", 8)
    await many_aborted(partition, store, 40)
    page, pages = partition.reader._aborted_page, 0

    def trimmed(*wanted):
        nonlocal pages
        pages += 1
        return page(*wanted) if pages == 1 else after_trim(*wanted)

    async def after_trim(*wanted):
        await another(store).trim(retention_ms=-1, retention_bytes=-1, below_offset=60)
        return await page(*wanted)

    monkeypatch.setattr(partition.reader, "_aborted_page", trimmed)
    with pytest.raises(OffsetOutOfRange):
        await partition.reader.read(0, committed=True, bytes_max=1 << 20)
    assert pages == 2


@pytest.mark.parametrize("from_tail", [False, True])
async def test_the_aborted_set_is_read_a_page_at_a_time_and_no_further_than_the_range_needs(
    partition, store, monkeypatch, from_tail
):
    # Given an open transaction beside a few dozen aborted ones, and pages of eight
    monkeypatch.setattr(reader, "ABORTED_MAX", 8)
    await many_aborted(partition, store, 40)
    if not from_tail:
        partition.tail.clear()
    brought = counting_aborted(partition, store, monkeypatch)
    # When only the first two of their batches are read
    read = await partition.reader.read(0, committed=True, bytes_max=10)
    assert [e.base_offset for e in read.entries if not e.is_marker] == [0, 2]
    assert all(e.is_marker or is_aborted(e, read.aborted) for e in read.entries)
    # Then one page was enough; all that is read together needs the others, a page at a time
    assert (max(brought), len(brought)) == (8, 1)
    read = await partition.reader.read(0, committed=True, bytes_max=1 << 20)
    assert all(e.is_marker or is_aborted(e, read.aborted) for e in read.entries)
    assert len(read.entries) == 80
    assert max(brought) == 8


async def test_a_read_during_which_another_one_fills_the_cache_gets_the_aborts_too(partition, store, monkeypatch):
    """As two readers at one offset, right after a broker has started: the cache is empty when the first begins."""
    await many_aborted(partition, store, 3)
    reading, command, is_filled, held = another(store).reader, store.command, asyncio.Event(), list[str]()

    async def late(reply):
        answer = await reply
        await is_filled.wait()
        return answer

    def holding(*words, key):
        """The first reader gets the state after the second one has ended."""
        if words[0] != "HMGET" or held:
            return command(*words, key=key)
        held.append(words[0])
        return late(command(*words, key=key))

    monkeypatch.setattr(store, "command", holding)
    first = asyncio.create_task(reading.read(0, committed=True, bytes_max=1 << 20))
    await asyncio.sleep(0)  # it has sent what it reads
    await reading.read(0, committed=False, bytes_max=1 << 20)
    is_filled.set()
    read = await first
    assert len(read.entries) == 6
    assert all(e.is_marker or is_aborted(e, read.aborted) for e in read.entries)
