"""Partition: append, read, roll, trim, delete, and loss of data by Redis."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.errors import (
    DuplicateSequence,
    LedgerError,
    OffsetOutOfRange,
    SequenceGap,
    StaleEpoch,
    TransactionEnded,
    UnknownTopic,
)
from redis_ledger.ids import TxnId
from redis_ledger.ledger.append_errors import NotVerified, OtherOpen
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.entries import is_aborted
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.read_ahead import BegunRead
from redis_ledger.ledger.reader import ABORTED_MAX
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Decision, Participant
from redis_ledger.txn.participants import Participants
from redis_ledger.txn.states import TxnState
from tests.support.proxy import proxy

CONFIG = Config(ledger_bytes_max=1000, ledger_age_ms_max=60_000)
TXN = TxnId(3, 17)


def another(
    store: Store, topic_id: str = "t-1", config: Config = CONFIG, clock: ManualClock | None = None
) -> Partition:
    """The same partition, as another broker has it."""
    return Partition(store, "orders", 0, topic_id, config, clock or ManualClock())


@pytest.fixture
async def partition(store) -> Partition:
    made = another(store)
    assert await made.create()
    return made


async def append(
    partition: Partition,
    payload: bytes = b"x",
    records: int = 1,
    txn: TxnId | None = None,
    *,
    verified: bool = False,
    **producer: Any,
) -> int:
    request = AppendRequest(payload, records, 0, **producer)
    return (await partition.append(request, txn, verified=verified)).base_offset


async def in_txn(partition: Partition, payload: bytes, txn: TxnId = TXN, *, verified: bool = True, **more) -> int:
    return await append(partition, payload, producer_id=txn.producer_id, epoch=0, txn=txn, verified=verified, **more)


async def end(partition: Partition, store: Store, txn: TxnId, *, commit: bool) -> None:
    where = [Participant("orders", partition.topic_id, 0)]
    decision = Decision(txn, TxnState.COMMITTING if commit else TxnState.ABORTING, where, -1)
    await Participants(store, CONFIG, ManualClock()).end(decision)


async def read(
    partition: Partition, offset: int = 0, *, committed: bool = True, bytes_max: int = 1 << 20
) -> list[bytes]:
    return [
        bytes(data) for data in (await partition.reader.read(offset, committed=committed, bytes_max=bytes_max)).payloads
    ]


# -- append and read ---------------------------------------------------------------------------------------------------


async def test_records_appended_together_are_read_in_order(partition):
    payloads = [f"{n}".encode() * (n + 1) for n in range(200)]
    offsets = await asyncio.gather(*(append(partition, payload, 2) for payload in payloads))
    assert offsets == list(range(0, 400, 2))
    assert await read(partition) == payloads
    assert partition.is_idle


async def test_large_payloads_come_back_byte_for_byte(partition):
    payloads = [bytes([n]) * (300_000 + n) for n in range(20)]
    await asyncio.gather(*(append(partition, payload) for payload in payloads))
    assert await read(partition, bytes_max=1 << 30) == payloads


async def test_a_read_takes_as_many_bytes_as_fit_and_one_batch_at_least(partition):
    for n in range(4):
        await append(partition, bytes([n]) * 100, 10)
    assert len(await read(partition, 0, bytes_max=250)) == 2
    assert len(await read(partition, 15, bytes_max=1)) == 1  # the batch that holds 15
    assert await read(partition, 40) == []


async def test_a_committed_reader_stops_at_the_first_open_transaction(partition, store):
    await append(partition, b"plain")
    await in_txn(partition, b"in doubt")
    await append(partition, b"behind")
    assert await read(partition) == [b"plain"]
    assert await read(partition, committed=False) == [b"plain", b"in doubt", b"behind"]
    await end(partition, store, TXN, commit=True)
    assert await read(partition) == [b"plain", b"in doubt", b"behind", b""]


async def test_more_aborted_transactions_than_a_read_brings_along_are_all_known(partition, store):
    # Given 300 transactions open side by side, all aborted
    txns = [TxnId(3, serial) for serial in range(300)]
    await asyncio.gather(*(in_txn(partition, b"never", txn) for txn in txns))
    where = [Participant("orders", "t-1", 0)]
    ends = Participants(store, CONFIG, ManualClock())
    await asyncio.gather(*(ends.end(Decision(txn, TxnState.ABORTING, where, -1)) for txn in txns))
    assert len(txns) > ABORTED_MAX
    # When all is read at once
    read = await partition.reader.read(0, committed=True, bytes_max=1 << 20)
    # Then nothing of it is visible
    assert len(read.entries) == 600
    assert [e for e in read.entries if not e.is_marker and not is_aborted(e, read.aborted)] == []


async def test_two_brokers_append_at_once_and_every_offset_is_given_once(partition, store):
    other = another(store)
    offsets = await asyncio.gather(*(append(p, b"x", 3) for p in (partition, other) * 100))
    assert sorted(offsets) == list(range(0, 600, 3))


async def test_a_read_outside_the_log_is_refused_with_its_bounds(partition):
    for _ in range(3):
        await append(partition)
    await partition.trim(retention_ms=-1, retention_bytes=-1, below_offset=2)
    for offset in (-5, 0, 1, 4, 1 << 70):
        with pytest.raises(OffsetOutOfRange) as refused:
            await read(partition, offset)
        assert refused.value.facts == {"start_offset": 2, "end_offset": 3}


async def test_payload_that_is_missing_above_the_log_start_is_damage_and_said_so(partition, store):
    for _ in range(3):
        await append(partition)
    await store.command("XDEL", partition.keys.data(1), "0-2", key=partition.keys.state)
    partition.tail.clear()
    with pytest.raises(LedgerError, match="payload of offset 1 is missing"):
        await read(partition)


async def test_an_offset_is_found_by_time(store):
    clock = ManualClock(1_000)
    partition = another(store, clock=clock)
    await partition.create()
    for _ in range(50):
        await append(partition, records=7)
        clock.advance(10)
    found = [await partition.offsets.offset_at(ms) for ms in (0, 1_000, 1_001, 1_010, 1_489, 1_490, 1_491)]
    assert found == [0, 0, 7, 7, 343, 343, 350]
    await partition.trim(retention_ms=-1, retention_bytes=-1, below_offset=10)
    assert [await partition.offsets.offset_at(ms) for ms in (0, 1_010, 1_020)] == [10, 10, 14]


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epoch", "sequence", "error"),
    [(1, 9, SequenceGap), (0, 7, StaleEpoch), (2, 1, SequenceGap), (1, 0, DuplicateSequence)],
)
async def test_a_sequence_that_does_not_fit_is_a_typed_refusal(partition, epoch, sequence, error):
    for n in range(7):
        await append(partition, producer_id=9, epoch=1, sequence=n)
    with pytest.raises(error):
        await append(partition, producer_id=9, epoch=epoch, sequence=sequence)
    again = await partition.append(AppendRequest(b"x", 1, 0, producer_id=9, epoch=1, sequence=6))
    assert (again.base_offset, again.duplicate) == (6, True)


async def test_a_transaction_is_verified_first_and_fenced_after_its_end(partition, store):
    with pytest.raises(NotVerified):
        await in_txn(partition, b"x", verified=False)
    await in_txn(partition, b"x")
    with pytest.raises(OtherOpen) as other:
        await append(partition, producer_id=TXN.producer_id, epoch=0, txn=TxnId(3, 18), verified=True)
    assert other.value.txn == TXN
    await end(partition, store, TXN, commit=False)
    with pytest.raises(TransactionEnded):
        await in_txn(partition, b"late")
    assert len((await partition.reader.read(0, committed=True, bytes_max=1000)).aborted) == 1


async def test_another_incarnation_of_the_topic_is_unknown(partition, store):
    stranger = another(store, "t-2")
    assert not await stranger.create()
    for attempt in (
        append(stranger),
        stranger.offsets.head(),
        read(stranger),
        stranger.trim(retention_ms=0, retention_bytes=0),
    ):
        with pytest.raises(UnknownTopic):
            await attempt
    assert await append(partition) == 0


# -- ledgers -----------------------------------------------------------------------------------------------------------


async def test_a_full_ledger_is_rolled_and_another_broker_follows(partition, store):
    # Given a broker that knows ledger 1, and another that fills it
    other = another(store)
    await append(other)
    for _ in range(12):
        await append(partition, b"y" * 100)
    while (await partition.offsets.head()).active_ledger < 2:
        await asyncio.sleep(0.001)
    # When both append
    await asyncio.gather(append(other, b"a"), append(other, b"b"), append(partition, b"c"))
    # Then everything is there, in offset order
    everything = await partition.reader.read(0, committed=True, bytes_max=1 << 20)
    assert [e.base_offset for e in everything.entries] == list(range(16))
    assert sorted(everything.payloads[-3:]) == [b"a", b"b", b"c"]
    assert {e.ledger for e in everything.entries[-3:]} == {2}


async def test_an_old_ledger_is_rolled(store):
    clock = ManualClock()
    partition = another(store, clock=clock)
    await partition.create()
    clock.advance(CONFIG.ledger_age_ms_max)
    await append(partition)
    while (await partition.offsets.head()).active_ledger < 2:
        await asyncio.sleep(0.001)
    assert await append(partition) == 1


async def test_appends_continue_while_ledgers_roll_all_the_time(store):
    partition = another(store, config=Config(ledger_bytes_max=50))
    await partition.create()
    offsets = await asyncio.gather(
        *(append(partition, b"z" * 20, producer_id=9, epoch=0, sequence=n) for n in range(300))
    )
    assert offsets == list(range(300))
    assert (await partition.offsets.head()).active_ledger > 1


async def test_retention_drops_what_is_old_and_its_ledgers_and_nothing_else(store):
    clock = ManualClock()
    partition = another(store, clock=clock)
    await partition.create()
    for _ in range(3):
        for _ in range(4):
            await append(partition, b"w" * 10)
            clock.advance(1_000)
        await partition.roll()
    assert await partition.trim(retention_ms=5_500, retention_bytes=-1) == (7, 7, 1, 40)
    ledgers = await store.command("HKEYS", partition.keys.ledgers, key=partition.keys.state)
    assert sorted(ledgers) == [b"2", b"3", b"4"]
    assert not await store.command("EXISTS", partition.keys.data(1), key=partition.keys.state)
    assert len(await read(partition, 7)) == 5
    assert (await partition.trim(retention_ms=-1, retention_bytes=20))[0] == 10
    assert (await partition.offsets.head()).bytes == 20


async def test_deleted_partition_leaves_no_key_and_can_be_recreated(partition, store):
    await append(partition)
    await partition.roll()
    await in_txn(partition, b"x")
    await partition.delete()
    await partition.delete()
    pattern = f"{store.prefix}:{{orders:0}}:*"
    assert [reply for reply in await store.everywhere("KEYS", pattern) if reply] == []
    with pytest.raises(UnknownTopic):
        await append(partition)
    successor = another(store, "t-2")
    assert await successor.create()
    assert await append(successor) == 0


# -- when Redis forgets or goes away -----------------------------------------------------------------------------------


async def test_batches_in_flight_are_written_once_and_in_order_after_redis_forgot_its_scripts(partition, store):
    # Given a server that has lost its scripts, so that payload arrives and is not accepted
    await store.everywhere("FUNCTION", "FLUSH", "SYNC")
    # When a new producer sends five batches at once
    sent = [append(partition, f"{n}".encode(), producer_id=9, epoch=0, sequence=n) for n in range(5)]
    offsets = await asyncio.gather(*sent)
    # Then all are there, once and in order, and no payload is left over
    assert offsets == list(range(5))
    assert await read(partition) == [b"0", b"1", b"2", b"3", b"4"]
    assert await store.command("XLEN", partition.keys.data(1), key=partition.keys.state) == 5


async def test_payload_left_behind_by_a_dead_broker_does_not_reorder_a_new_producer(partition, store):
    data = partition.keys.data(1)
    await store.command("XADD", data, "NOMKSTREAM", "0-*", "b", "orphan", key=partition.keys.state)
    sent = [append(partition, f"{n}".encode(), producer_id=9, epoch=0, sequence=n) for n in range(5)]
    assert await asyncio.gather(*sent) == list(range(5))
    assert await read(partition) == [b"0", b"1", b"2", b"3", b"4"]


async def test_an_idempotent_batch_whose_reply_was_lost_is_written_once(redis, prefix):
    async with proxy("127.0.0.1", redis.port) as link:
        store = await Store.open(link.url, prefix=prefix)
        partition = another(store)
        await partition.create()
        await append(partition, producer_id=9, epoch=0, sequence=0)
        # When Redis carries an append out and its reply is lost
        link.cuts = 1
        again = await partition.append(AppendRequest(b"second", 1, 0, producer_id=9, epoch=0, sequence=1))
        # Then it was sent again, and recognised
        assert (again.base_offset, again.duplicate) == (1, True)
        assert await read(partition) == [b"x", b"second"]
        await store.close()


async def test_continuous_reader_is_served_from_read_ahead(partition, store):
    payloads = [bytes([n]) * 1_000 for n in range(40)]
    for payload in payloads:
        await append(partition, payload)
    reader = another(store)  # nothing of it in memory
    seen: list[bytes] = []
    aheads = 0
    while len(seen) < len(payloads):
        seen += await read(reader, len(seen), bytes_max=3_000)
        aheads += reader.reader.ahead.begun is not None
    assert seen == payloads
    assert aheads > 5
    # And all the room that it took is free again
    assert reader.reader.ahead.begun is None
    assert reader.tail.tails.lend(CONFIG.tail_cache_bytes // 4)


async def reading_ahead(partition: Partition, store: Store) -> tuple[Partition, BegunRead]:
    """A reader that has read the first six of twenty batches, and begun to read those after them."""
    for n in range(20):
        await append(partition, bytes([n]) * 1_000)
    reader = another(store)
    for first in (0, 3):
        await read(reader, first, bytes_max=3_000)
    assert reader.reader.ahead.begun is not None
    return reader, reader.reader.ahead.begun


async def test_read_ahead_is_returned_with_the_offsets_of_now(partition, store):
    reader, begun = await reading_ahead(partition, store)
    await begun.read
    await append(partition, b"after it")
    assert (await another(store).offsets.head()).end_offset == 21  # another broker answers this
    found = await reader.reader.read(6, committed=True, bytes_max=3_000)
    assert len(found.entries) == 3
    assert (found.head.end_offset, found.head.stable_offset) == (21, 21)


async def test_payload_that_was_read_ahead_is_freed_when_it_was_taken(partition, store):
    """A consumer that reads on and on would otherwise keep all payload of two seconds in memory."""
    reader, begun = await reading_ahead(partition, store)
    ahead = weakref.ref(begun.read)
    del begun
    assert await read(reader, 6, bytes_max=3_000) == [bytes([n]) * 1_000 for n in (6, 7, 8)]
    reader.reader.ahead.forget()  # of the read after it
    await asyncio.sleep(0)  # the event loop holds what it is running
    gc.collect()
    assert ahead() is None


async def test_read_ahead_is_not_used_for_another_offset_or_isolation(partition, store):
    for n in range(20):
        await append(partition, bytes([n]) * 1_000)
    await in_txn(partition, b"in doubt")
    reader = another(store)
    assert len(await read(reader, 0, bytes_max=3_000)) == 3
    assert len(await read(reader, 3, bytes_max=3_000)) == 3
    assert reader.reader.ahead.begun is not None
    assert await read(reader, 12, bytes_max=1_000) == [bytes([12]) * 1_000]
    assert (await read(reader, 18, committed=False))[-1] == b"in doubt"
    assert await read(reader, 6, bytes_max=3_000) == [bytes([n]) * 1_000 for n in (6, 7, 8)]
    assert (await read(reader, 18))[-1] == bytes([19]) * 1_000


async def test_undecided_records_that_were_read_ahead_are_not_for_a_committed_reader(partition, store):
    for n in range(7):
        await append(partition, bytes([n]) * 1_000)
    await in_txn(partition, b"in doubt")
    reader = another(store)
    for offset in (0, 3):
        assert len(await read(reader, offset, bytes_max=3_000, committed=False)) == 3
    assert reader.reader.ahead.begun is not None
    assert await read(reader, 6, bytes_max=3_000) == [bytes([6]) * 1_000]
