"""Batches with delayed records and plain ones of the same producers, appended to a partition."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from redis_ledger.broker.delayed.messages import ScheduledMessages
from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.decoding.budget import Decoding
from redis_ledger.delay.bucket_metrics import BucketMetrics
from redis_ledger.delay.index import DelayIndex
from redis_ledger.errors import UnknownScheduled
from redis_ledger.ids import ScheduledId, TxnId
from redis_ledger.ledger.append_request import Accepted, AppendRequest
from redis_ledger.ledger.partition import Partition
from redis_ledger.records import filter
from redis_ledger.records.budget import Limits
from redis_ledger.records.build import Headers, encode
from redis_ledger.records.read import Record, decode
from redis_ledger.records.split_by_due import Later, Now, Split

CONFIG, CLOCK = Config(), ManualClock()
DECODING = Decoding(CONFIG)


@pytest.fixture
async def partition(store) -> Partition:
    made = Partition(store, "orders", 0, "t-1", CONFIG, CLOCK)
    assert await made.create()
    return made


def index_of(partition: Partition) -> DelayIndex:
    return DelayIndex(partition._store, partition.keys, "orders", "t-1", lambda: CONFIG, CLOCK, BucketMetrics("orders"))


def payload(value: str) -> bytes:
    return encode([(None, value.encode(), (), 5)])


def later(due: int, value: str = "later") -> list[Later]:
    return [Later(payload(value), 1, 5, due)]


def schedule(
    partition: Partition, due: int, sequence: int = -1, now: int = 0, txn: TxnId | None = None
) -> asyncio.Future[Accepted]:
    split = Split(Now(payload("now"), now, 5) if now else None, later(due))
    return partition.append(AppendRequest(b"", 1 + now, -1, 7, 0, sequence, split=split), txn)


def append(partition: Partition, sequence: int) -> asyncio.Future[Accepted]:
    return partition.append(AppendRequest(payload("plain"), 1, 5, producer_id=7, epoch=0, sequence=sequence))


async def values(partition: Partition) -> list[bytes]:
    read = await partition.reader.read(0, committed=True, bytes_max=1 << 20)
    return [bytes(each) for each in read.payloads]


async def orphan(partition: Partition, ledger: int) -> None:
    """Payload whose script was not known to Redis, as when that was restarted."""
    key = partition.keys.data(ledger)
    await partition._store.command("XADD", key, "NOMKSTREAM", "0-*", "b", "orphan", "d", 1, key=key)


async def test_a_new_producers_batches_keep_their_order_when_the_first_is_scheduled_where_nothing_ever_was(partition):
    # Given a partition that has to be made ready for scheduling first, and a producer it has never seen
    outcomes = await asyncio.gather(
        schedule(partition, 100, 0), append(partition, 1), schedule(partition, 200, 2), append(partition, 3)
    )
    # Then all its batches are taken, each as the first of its number
    assert [each.duplicate for each in outcomes] == [False] * 4
    assert [each.base_offset for each in outcomes] == [-1, 0, -1, 1]
    assert await index_of(partition).scripts.state() is not None
    assert (await index_of(partition).scripts.fire(10, 300)).records == 2


@pytest.mark.parametrize("ledger", [1, -1])
async def test_a_new_producers_batches_keep_their_order_when_something_was_left_behind(partition, ledger):
    await schedule(partition, 50)
    await orphan(partition, ledger)
    outcomes = await asyncio.gather(append(partition, 0), schedule(partition, 100, 1, now=1), append(partition, 3))
    assert [(each.duplicate, each.base_offset) for each in outcomes] == [(False, 0), (False, 1), (False, 2)]
    assert len(await values(partition)) == 3


async def test_batches_of_many_producers_and_kinds_travel_in_few_calls(partition):
    await schedule(partition, 50)
    futures = [
        partition.append(AppendRequest(b"", 1, -1, split=Split(None, later(100))))
        if n % 2
        else partition.append(AppendRequest(payload("p"), 1, 5))
        for n in range(12)
    ]
    outcomes = await asyncio.gather(*futures)
    assert sorted(each.base_offset for each in outcomes) == [-1] * 6 + list(range(6))


async def test_a_scheduled_batch_that_comes_again_when_it_is_due_is_a_duplicate_without_an_offset(partition):
    first = await schedule(partition, 100, 0)
    again = await append(partition, 0)
    assert (again.duplicate, again.base_offset, again.first_entry) == (True, -1, first.first_entry)
    assert await values(partition) == []


async def test_after_a_rotation_a_broker_that_has_not_heard_of_it_schedules_and_its_records_are_found(partition):
    # Given a ledger sealed by another broker
    await schedule(partition, 100)
    index, waiting = index_of(partition), ScheduledMessages(partition, index_of(partition), lambda: 0, DECODING)
    await index.seal(-1)
    # When this broker schedules, which it learns by
    accepted = await schedule(partition, 200)
    # Then its record can be got, moved and cancelled like any other
    id = ScheduledId(0, accepted.first_entry, 0)
    assert (await waiting.get(id)).deliver_at_ms == 200
    await waiting.move(id, 300)
    assert await waiting.cancel([id]) == {id: None}
    assert (await index.scripts.fire(10, 1_000)).records == 0
    with pytest.raises(UnknownScheduled):
        await waiting.get(ScheduledId(0, accepted.first_entry + 1, 0))


async def test_delivered_records_of_a_dropped_ledger_are_not_reported_as_cancelled(partition):
    # Given records that were delivered, and went with their ledger when the log was trimmed
    accepted = await schedule(partition, 100)
    index, waiting = index_of(partition), ScheduledMessages(partition, index_of(partition), lambda: 0, DECODING)
    await index.scripts.fire(10, 100)
    await index.scripts.rotate(-1, CLOCK.now_ms() + 1, True)
    await index.finish_seal("1-1")
    await schedule(partition, 200)
    await partition.trim(retention_ms=-1, retention_bytes=-1, below_offset=1)
    rows = await partition._store.command("HKEYS", partition.keys.ledgers, key=partition.keys.state)
    assert b"-1" not in rows
    # When one of them is looked up
    id = ScheduledId(0, accepted.first_entry, 0)
    # Then it is unknown; one that was cancelled in an existing ledger is still cancelled
    assert isinstance((await waiting.cancel([id]))[id], UnknownScheduled)
    kept = ScheduledId(0, accepted.first_entry + 1, 0)
    assert await waiting.cancel([kept]) == {kept: None}
    assert await waiting.cancel([kept]) == {kept: None}


async def test_orphaned_payload_in_a_sealed_ledger_is_never_indexed(partition):
    # Given payload above the last entry of a sealed ledger: from a broker that had not heard, and then died
    await schedule(partition, 100)
    index = index_of(partition)
    await index.seal(-1)
    await schedule(partition, 200)
    accepted = await schedule(partition, 300)
    await orphan(partition, -1)
    # When the index is made again from the ledgers
    (bucket,) = await index.storage.buckets()
    assert await index.repairs.reindex(bucket)
    # Then it is not taken for the entry of that number, which is in the next one
    assert accepted.first_entry == 3
    entries = [each async for each in index.storage.from_ledgers(-1, -2)]
    assert [(each.entry, each.ledger, each.due_ms) for each in entries] == [(1, -1, 100), (2, -2, 200), (3, -2, 300)]


async def test_rebuilt_index_has_the_current_due_times(partition):
    # Given a record that has come once and comes again at 900, one of a block that was moved, and others
    await schedule(partition, 100)
    index, waiting = index_of(partition), ScheduledMessages(partition, index_of(partition), lambda: 0, DECODING)
    await index.scripts.command("HSET", index.scripts.delay.repeats, 1, "100 {}")
    block = Later(encode([(None, b"x", (), 5), (None, b"y", (), 5)]), 2, 5, 200, (300, 200))
    await partition.append(AppendRequest(b"", 3, -1, split=Split(None, [block, *later(400)])))
    await waiting.move(ScheduledId(0, 2, 0), 700)
    assert (await index.scripts.fire(10, 100)).owed == 1
    owed = (await index.scripts.repeats())[b"!1"]
    assert await index.scripts.rearm(1, owed, 900, "900 {}")
    # Then they are where they will be due, once each
    entries = sorted([(each.due_ms, each.entry, each.index) async for each in index.storage.from_ledgers(-1, -1)])
    assert entries == [(200, 2, 1), (400, 3, -1), (700, 2, 0), (900, 1, -1)]
    await index.seal(-1)
    (bucket,) = await index.storage.buckets()
    assert await index.repairs.reindex(bucket)
    (bucket,) = await index.storage.buckets()
    assert [(each.due_ms, each.entry) for each in await index.storage.segment(bucket, 0)] == [
        (d, e) for d, e, _ in entries
    ]


async def test_parts_are_deleted_with_the_payload(partition):
    # Given an entry of which one record was delivered and one cancelled, and a later one of the same kind
    two = encode([(None, b"x", (), 5), (None, b"y", (), 5)])
    index, waiting = index_of(partition), ScheduledMessages(partition, index_of(partition), lambda: 0, DECODING)
    for entry, due in ((1, 100), (2, 500)):
        await partition.append(AppendRequest(b"", 2, -1, split=Split(None, [Later(two, 2, 5, due)])))
        await waiting.cancel([ScheduledId(0, entry, 0)])
    await index.scripts.fire(10, 100)
    assert await index.repairs.forget_parts() == 0
    # When the payload of the first has gone
    await index.seal(-1)
    await partition.append(AppendRequest(b"", 2, -1, split=Split(None, [Later(two, 2, 5, 600)])))
    await waiting.cancel([ScheduledId(0, 3, 0)])
    await waiting.cancel([ScheduledId(0, 2, 1)])
    await partition.trim(retention_ms=-1, retention_bytes=-1, below_offset=1)
    # Then nothing is kept of it, and all of what is pending
    assert await index.repairs.forget_parts() == 1
    rows = await partition._store.command("HGETALL", partition.keys.delay.parts, key=partition.keys.state)
    assert dict(zip(rows[::2], rows[1::2], strict=True)) == {b"": b"", b"3": b"x1"}


@pytest.mark.parametrize(("scheduled", "delivered"), [((232, 227), [227, 232]), ((232, "fire", 227), [232, 227])])
async def test_records_come_in_the_order_of_due_times_unless_they_are_scheduled_too_late(
    partition, scheduled, delivered
):
    """fire: at 233.  What arrives after its due time comes at once, behind what has been delivered."""
    index = index_of(partition)
    for step in (*scheduled, "fire"):
        if step == "fire":
            await index.scripts.fire(10, 233)
        else:
            await partition.append(AppendRequest(b"", 1, -1, split=Split(None, later(step, str(step)))))
    assert [decode(batch)[0].value for batch in await values(partition)] == [b"%d" % due for due in delivered]


async def fired_one_by_one(
    partition: Partition, records: Sequence[tuple[bytes | None, bytes, Headers, int]]
) -> list[bytes]:
    """A packed block of these records, each due at another time: what a reader gets once all have fired."""
    dues = tuple(range(100, 100 + len(records)))
    block = Later(encode(records, compression=4), len(records), 5, dues[0], dues)
    await partition.append(AppendRequest(b"", len(records), -1, split=Split(None, [block])))
    index = index_of(partition)
    for due in dues:
        assert (await index.scripts.fire(10, due)).records == 1
    return await values(partition)


async def test_reads_of_a_packed_block_are_bounded_by_the_block(partition):
    values = [bytes([each]) * 3_000_000 for each in b"abcd"]
    batches = await fired_one_by_one(partition, [(None, value, (), 5) for value in values])
    assert [[each.value for each in decode(batch)] for batch in batches] == [[value] for value in values]
    assert sum(map(len, batches)) < 20_000


async def test_a_large_block_is_unpacked_without_holding_up_the_event_loop(partition, monkeypatch):
    threads = list[threading.Thread]()

    def noting(data: bytes, limits: Limits) -> list[Record]:
        threads.append(threading.current_thread())
        return decode(data, limits)

    monkeypatch.setattr(filter, "decode", noting)
    headers = [("", b"")] * 5_000
    batches = await fired_one_by_one(partition, [(b"%d" % each, b"", headers, 5) for each in range(4)])
    assert [[each.key for each in decode(batch)] for batch in batches] == [[b"0"], [b"1"], [b"2"], [b"3"]]
    assert len(threads) == 1, "once for all four"
    assert threads[0] is not threading.main_thread()
