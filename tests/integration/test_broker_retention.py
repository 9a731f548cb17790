"""Retention through a broker: ledgers of idle partitions, and records without acknowledgement."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.broker.topics.retention import LEFTOVER_MS
from redis_ledger.broker.types import NewRecord
from redis_ledger.clock import ManualClock
from redis_ledger.cursor import registration
from redis_ledger.cursor.registration import Registration
from redis_ledger.errors import StoreUnavailable
from redis_ledger.ids import MessageId
from redis_ledger.ledger.retention import TRIM
from redis_ledger.store.script_status import Status
from tests.support.broker import eventually, one, receive_values, records, values_of

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
AT_ONCE = {"retention_ms": 0, "retention_acknowledged": 1}


@pytest.fixture
async def clock():
    return ManualClock()


@pytest.fixture
async def broker(redis_url, prefix, clock):
    async with one(redis_url, prefix, clock=clock) as broker:
        yield broker


async def fill(broker, *values, topic="t", partition=None):
    """One batch for each."""
    for value in values:
        await broker.records.produce(topic, records(value), partition=partition)


async def start(broker, topic="t", partition=0):
    await broker.maintenance.retain()
    return (await broker.topics.head(topic, partition)).start_offset


async def ledgers(broker, topic="t", partition=0):
    """Ledger → how many payload entries are in Redis."""
    keys = (await broker.catalog.partition(topic, partition)).keys
    names = sorted(map(int, await broker.store.command("HKEYS", keys.ledgers, key=keys.state)))
    return {n: await broker.store.command("XLEN", keys.data(n), key=keys.state) for n in names}


async def ack(broker, *offsets, name="s", consumer="c1", partition=0, txn=None):
    ids = [MessageId(partition, offset) for offset in offsets]
    assert await broker.subscriptions.ack("t", name, consumer, ids, transaction=txn) == len(ids)


# -- sealing -----------------------------------------------------------------------------------------------------------


async def test_an_open_transaction_that_is_first_in_its_ledger_leaves_nothing_more_to_read(broker, clock):
    """TB-28: there is more until the three records of the ledger before it are read, and then there is not."""
    await broker.topics.create("t", settings={"ledger_age_ms_max": HOUR_MS})
    await fill(broker, "a", "b", "c")
    clock.advance(HOUR_MS)
    await broker.maintenance.retain()
    txn = (await broker.transactions.begin()).id
    await broker.records.produce("t", records("open"), transaction=txn)
    assert await ledgers(broker) == {1: 3, 2: 1}
    more, at = [], 0
    for _ in range(4):
        fetched = await broker.records.fetch("t", 0, at, max_bytes=1)
        more.append((len(fetched.batches), fetched.next_offset < fetched.stable_offset, fetched.end_offset))
        at = fetched.next_offset
    assert more == [(1, True, 4), (1, True, 4), (1, False, 4), (0, False, 4)]
    assert at == 3


async def test_the_ledger_of_an_idle_partition_is_sealed_when_it_is_old(broker, clock):
    await broker.topics.create("t", settings={"ledger_age_ms_max": HOUR_MS})
    await fill(broker, "a", "b")
    clock.advance(HOUR_MS - 1)
    await broker.maintenance.retain()
    assert await ledgers(broker) == {1: 2}
    clock.advance(1)
    await broker.maintenance.retain()
    assert await ledgers(broker) == {1: 2, 2: 0}
    # An empty one stays, however old it is, and appends go on in it
    clock.advance(DAY_MS)
    await broker.maintenance.retain()
    assert await ledgers(broker) == {1: 2, 2: 0}
    await fill(broker, "c")
    assert await values_of(broker, "t") == ["a", "b", "c"]


async def test_an_oversized_unsealed_ledger_is_sealed_by_the_next_access(broker):
    await broker.topics.create("t")
    await fill(broker, "x" * 1000)
    partition = await broker.catalog.partition("t", 0)
    await partition.seal_what_is_due()
    assert await ledgers(broker) == {1: 1}
    await broker.topics.grow("t", settings={"ledger_bytes_max": 1 << 20})
    await partition.seal_what_is_due()
    assert await ledgers(broker) == {1: 1}
    for _ in range(2):
        await fill(broker, "x" * (600 << 10))
    await broker.maintenance.retain()
    assert len(await ledgers(broker)) == 2


async def test_many_brokers_seal_and_trim_the_same_once(redis_url, prefix):
    clock = ManualClock()
    many = [one(redis_url, prefix, clock=clock, name=f"b{n}") for n in range(4)]
    async with many[0] as a, many[1] as b, many[2] as c, many[3] as d:
        await a.topics.create("t", settings={"retention_ms": DAY_MS, "ledger_age_ms_max": HOUR_MS})
        for broker in (a, b, c, d):
            await fill(broker, "old")
        clock.advance(HOUR_MS)
        await asyncio.gather(*(broker.maintenance.retain() for broker in (a, b, c, d)))
        assert await ledgers(a) == {1: 4, 2: 0}
        await fill(d, "young")
        clock.advance(DAY_MS - HOUR_MS + 1)
        await asyncio.gather(*(broker.maintenance.retain() for broker in (d, c, b, a)))
        assert await ledgers(b) == {2: 1, 3: 0}
        assert await values_of(c, "t") == ["young"]


async def test_payload_of_an_idle_partition_goes_with_its_records(broker, clock):
    await broker.topics.create("t", settings={"retention_ms": 60_000})
    await fill(broker, "a", "b")
    clock.advance(60_001)
    await broker.maintenance.retain()  # moves the log start, and empties the ledger
    assert await ledgers(broker) == {1: 0}
    await broker.maintenance.retain()
    assert await ledgers(broker) == {1: 0}


async def test_payload_of_scheduled_records_goes_with_them_though_nothing_else_is_scheduled(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t")
        soon, late = (NewRecord(None, b"x", deliver_after_ms=after) for after in (50, HOUR_MS))
        await broker.records.produce("t", [soon])
        assert await eventually(lambda: values_of(broker, "t"), ["x"], 10) == ["x"]
        assert await broker.topics.delete_records("t", 0, None) == 1
        for _ in range(3):
            await broker.maintenance.retain()
            assert list(await ledgers(broker)) == [-2, 1]
        # One in which something waits stays open
        await broker.records.produce("t", [late])
        await broker.maintenance.retain()
        assert await ledgers(broker) == {-2: 1, 1: 0}


async def test_a_ledger_that_was_not_dropped_when_it_was_trimmed_is_dropped_later(broker):
    # Given a sealed ledger below the log start, as a broker leaves it that is killed before it drops it
    await broker.topics.create("t")
    await fill(broker, "a", "b")
    partition = await broker.catalog.partition("t", 0)
    await partition.seal()
    await broker.store.command("HSET", partition.keys.state, "start", 2, key=partition.keys.state)
    # When upkeep looks, with nothing left to trim
    await broker.maintenance.retain()
    # Then it goes
    assert await ledgers(broker) == {2: 0}


async def test_a_partition_that_cannot_be_reached_holds_up_no_other(broker, clock, monkeypatch):
    for topic in ("a", "b"):
        await broker.topics.create(topic, settings={"retention_ms": 1})
        await fill(broker, "old", topic=topic)
    partition = await broker.catalog.partition("a", 0)

    async def unreachable():
        raise StoreUnavailable

    monkeypatch.setattr(partition, "seal_what_is_due", unreachable)
    clock.advance(10)
    assert await start(broker, "b") == 1
    assert (await broker.topics.head("a", 0)).start_offset == 0


# -- acknowledged ------------------------------------------------------------------------------------------------------


async def test_a_backlog_is_kept_however_old_and_goes_once_every_subscription_has_acknowledged_it(broker, clock):
    await broker.topics.create("t", settings={"retention_ms": HOUR_MS, "retention_acknowledged": 1})
    for name in ("s", "other"):
        await broker.subscriptions.create("t", name)
    await fill(broker, "a", "b", "c")
    clock.advance(DAY_MS)
    assert await start(broker) == 0
    # leased is not acknowledged, and neither is what one of two has acknowledged
    for name in ("s", "other"):
        assert len(await receive_values(broker, "t", name)) == 3
    await ack(broker, 0, 1, 2)
    assert await start(broker) == 0
    await ack(broker, 0, name="other")
    assert await start(broker) == 1
    # beyond the mark it does not count
    await ack(broker, 2, name="other")
    assert await start(broker) == 1
    await ack(broker, 1, name="other")
    assert await start(broker) == 3


async def test_acknowledged_records_within_retention_are_kept(broker, clock):
    await broker.topics.create("t", settings={"retention_ms": HOUR_MS, "retention_acknowledged": 1})
    await broker.subscriptions.create("t", "s")
    await fill(broker, "a")
    await receive_values(broker, "t", "s")
    await ack(broker, 0)
    clock.advance(HOUR_MS)
    assert await start(broker) == 0
    clock.advance(1)
    assert await start(broker) == 1


async def test_an_acknowledgement_in_a_transaction_counts_when_it_commits(broker, clock):
    await broker.topics.create("t", settings=AT_ONCE)
    await broker.subscriptions.create("t", "s")
    await fill(broker, "a", "b")
    clock.advance(1)
    await receive_values(broker, "t", "s")
    first, second = [(await broker.transactions.begin()).id for _ in range(2)]
    await ack(broker, 0, txn=first)
    await ack(broker, 1, txn=second)
    assert await start(broker) == 0
    await broker.transactions.commit(first)
    assert await start(broker) == 1
    await broker.transactions.abort(second)
    assert await start(broker) == 1
    assert list((await receive_values(broker, "t", "s")).values()) == ["b"]


async def test_undeliverable_records_after_the_mark_are_trimmed(broker, clock):
    """TB-30: markers and aborted records behind the last that was acknowledged."""
    await broker.topics.create("t", settings=AT_ONCE)
    await broker.subscriptions.create("t", "s")
    await fill(broker, "a")
    await receive_values(broker, "t", "s")
    await ack(broker, 0)
    txn = (await broker.transactions.begin()).id
    await broker.records.produce("t", records("x"), transaction=txn)
    await broker.transactions.abort(txn)
    clock.advance(1)
    assert await start(broker) == 3
    await fill(broker, "b")
    clock.advance(1)
    assert await start(broker) == 3


async def test_bytes_above_the_limit_are_kept_while_a_subscription_needs_them(broker):
    await broker.topics.create("t", settings={"retention_bytes": 1, "retention_acknowledged": 1})
    await broker.subscriptions.create("t", "s")
    await fill(broker, "a", "b", "c")
    assert await start(broker) == 0
    await receive_values(broker, "t", "s")
    await ack(broker, 0, 1)
    assert await start(broker) == 2


async def test_deleted_records_are_gone_whether_acknowledged_or_not(broker):
    await broker.topics.create("t", settings=AT_ONCE)
    await broker.subscriptions.create("t", "s")
    await fill(broker, "a", "b")
    assert await broker.topics.delete_records("t", 0, 1) == 1
    assert list((await receive_values(broker, "t", "s")).values()) == ["b"]


async def test_records_that_are_deleted_while_they_are_being_delivered_are_left_out(broker, monkeypatch):
    # Given three records in two ledgers, of which the first is deleted between the lease and the read
    await broker.topics.create("t")
    await broker.subscriptions.create("t", "s")
    await fill(broker, "a", "b")
    partition = await broker.catalog.partition("t", 0)
    await partition.seal()
    await fill(broker, "c")
    payloads = partition.reader.payloads

    async def late(entries):
        assert await broker.topics.delete_records("t", 0, 2) == 2
        return await payloads(entries)

    monkeypatch.setattr(partition.reader, "payloads", late)
    # Then the others arrive, and the first is not leased
    assert list((await receive_values(broker, "t", "s")).values()) == ["c"]
    (cursor,) = (await broker.subscriptions.stats("t", "s")).cursors
    assert (cursor.mark_delete, cursor.leased, cursor.backlog) == (2, 1, 1)


async def test_records_without_a_subscription_are_not_retained_for_one(broker, clock):
    """Kafka groups do not count."""
    await broker.topics.create("t", settings=AT_ONCE)
    await fill(broker, "a", "b")
    await broker.offsets.commit("group", [OffsetEntry("t", 0, 1)], fence=-1)
    clock.advance(1)
    assert await start(broker) == 2


async def test_a_subscription_that_is_deleted_holds_nothing_back(broker, clock):
    await broker.topics.create("t", 2, settings=AT_ONCE)
    await broker.subscriptions.create("t", "s")
    for partition in (0, 1):
        await fill(broker, "a", partition=partition)
    clock.advance(1)
    assert (await start(broker), await start(broker, partition=1)) == (0, 0)
    await broker.subscriptions.delete("t", "s")
    assert (await start(broker), await start(broker, partition=1)) == (1, 1)


async def test_added_partition_holds_records_back_before_its_first_receive(broker, clock):
    await broker.topics.create("t", settings=AT_ONCE)
    await broker.subscriptions.create("t", "s/1")
    await broker.topics.grow("t", 2)
    await fill(broker, "a", partition=1)
    clock.advance(DAY_MS)
    assert await start(broker, partition=1) == 0
    assert list((await receive_values(broker, "t", "s/1")).values()) == ["a"]
    await ack(broker, 0, name="s/1", partition=1)
    assert await start(broker, partition=1) == 1


async def test_a_cursor_that_a_cut_short_delete_left_behind_counts_for_ten_minutes_only(broker, clock):
    # Given one that partition 0 does not know (any more, or yet)
    await broker.topics.create("t", 2, settings=AT_ONCE)
    partition = await broker.catalog.partition("t", 1)
    place = (broker.store, partition.keys, partition.topic_id, "s")
    await registration.make(*place, Registration("shared", "deleted"), 1, clock.now_ms())
    await fill(broker, "a", partition=1)
    clock.advance(LEFTOVER_MS)
    assert await start(broker, partition=1) == 0
    clock.advance(1)
    assert await start(broker, partition=1) == 1
    # Then a subscription of that name is a new one, and counts from its beginning
    await fill(broker, "b", partition=1)
    await broker.subscriptions.create("t", "s")
    clock.advance(1)
    assert await start(broker, partition=1) == 1
    assert list((await receive_values(broker, "t", "s")).values()) == ["b"]


async def test_a_subscription_made_while_a_trim_is_under_way_gets_what_it_was_promised(broker, clock, monkeypatch):
    # Given everything acknowledged by the one subscription there is
    await broker.topics.create("t", settings=AT_ONCE)
    await broker.subscriptions.create("t", "s")
    await fill(broker, "a", "b")
    clock.advance(1)
    await receive_values(broker, "t", "s")
    await ack(broker, 0, 1)
    # When another is made between the trim's look at the subscriptions and the trim
    call, made = broker.store.call, list[Any]()

    async def interrupted(script, keys, args, **more):
        reply = await call(script, keys, args, **more)
        if script is TRIM and not made:
            assert reply[0] == Status.STALE
            made.append(await broker.subscriptions.create("t", "new"))
        return reply

    monkeypatch.setattr(broker.store, "call", lambda *each, **more: asyncio.ensure_future(interrupted(*each, **more)))
    assert await start(broker) == 0
    # Then it gets them
    assert made[0][0].cursors[0].mark_delete == 0
    assert list((await receive_values(broker, "t", "new")).values()) == ["a", "b"]


async def test_new_subscription_finds_all_from_its_first_mark_in_any_order(broker, clock):
    await broker.topics.create("t", 2, settings=AT_ONCE)
    for n in range(8):
        await fill(broker, f"{n} a", f"{n} b", partition=n % 2)
        clock.advance(1)
        create = broker.subscriptions.create("t", f"s{n}")
        (made, _), *_ = await asyncio.gather(create, broker.maintenance.retain(), broker.maintenance.retain())
        await broker.maintenance.retain()
        ends = [(await broker.topics.head("t", number)).end_offset for number in (0, 1)]
        got = await receive_values(broker, "t", f"s{n}")
        assert len(got) == sum(ends) - sum(cursor.mark_delete for cursor in made.cursors)
        await broker.subscriptions.delete("t", f"s{n}")
