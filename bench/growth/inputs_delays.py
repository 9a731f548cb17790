"""The largest inputs of lua/delay/ and of ledger/schedule that the API accepts."""

from __future__ import annotations

import asyncio

from bench.growth.inputs_cursors import REQUEST
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import Appended, NewRecord
from redis_ledger.ids import ScheduledId

LATER_MS = 3_600_000
HELD = 5_000  # records of open transactions, which are kept while all others are deleted


def due(broker: Broker, count: int, after_ms: int = LATER_MS) -> list[NewRecord]:
    """Returns records that are due one after another."""
    at = broker.delayed.now_ms() + after_ms
    return [NewRecord(None, b"v" * 20, deliver_at_ms=at + n) for n in range(count)]


def ids(appended: list[Appended]) -> list[ScheduledId]:
    return [placed.id for each in appended for placed in each.scheduled]


async def cancelled(broker: Broker) -> None:
    """Requests of the largest size that schedule, several at once; then cancels and moves their records."""
    await broker.topics.create("t", 1)
    produce = broker.records.produce
    found = await asyncio.gather(*(produce("t", due(broker, REQUEST)) for _ in range(4)))
    waiting = await broker.delayed.messages("t", 0)
    await waiting.move(ids(found[1])[0], broker.delayed.now_ms() + LATER_MS)
    await waiting.index.scripts.cancel(-1, [(id.entry, id.index, 1) for id in ids(found[0])])
    same = broker.delayed.now_ms() + LATER_MS
    wide = await produce("t", [NewRecord(None, b"v", deliver_at_ms=same) for _ in range(REQUEST)])
    await waiting.index.scripts.cancel(-1, [(id.entry, id.index, REQUEST) for id in ids(wide)])


async def in_a_transaction(broker: Broker, commit: bool) -> None:
    await broker.topics.create("t", 1)
    txn = (await broker.transactions.begin(600_000)).id
    for _ in range(2):
        await broker.records.produce("t", due(broker, REQUEST), transaction=txn)
    await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
    tracker = broker.delayed.trackers.get(await broker.catalog.partition("t", 0))
    await tracker.fire_due()


async def committed(broker: Broker) -> None:
    await in_a_transaction(broker, True)


async def aborted_later(broker: Broker) -> None:
    await in_a_transaction(broker, False)


async def cleared(broker: Broker) -> None:
    """Deletes all records, except those of open transactions."""
    await broker.topics.create("t", 1)
    for _ in range(2):
        await broker.records.produce("t", due(broker, REQUEST))
    txn = (await broker.transactions.begin(600_000)).id
    await broker.records.produce("t", due(broker, HELD), transaction=txn)
    await (await broker.delayed.messages("t", 0)).clear()


async def buckets(broker: Broker) -> None:
    """Seals, loads by segment, rebuilds from ledgers, unloads, merges and sweeps buckets."""
    await broker.topics.create("t", 1)
    index = broker.delayed.trackers.get(await broker.catalog.partition("t", 0)).index
    for _ in range(3):
        for _ in range(2):
            await broker.records.produce("t", due(broker, REQUEST))
        state = await index.scripts.state()
        assert state is not None
        await index.seal(state.ledger)
    await index.storage.rewrite((await index.storage.buckets())[:2])
    await index.repairs.restore(-1)
    rows = await index.scripts.command("ZRANGE", index.scripts.delay.next, 1, 1)
    await index.load(rows[0].decode())
    await index.repairs.reindex((await index.storage.buckets())[0])
    await index.scripts.write("00" * 8, [], 1)
    await index.sweep(whenever=True)


async def fired(broker: Broker) -> None:
    """A backlog falls due at once; some records recur."""
    config = broker.config
    await broker.topics.create("t", 1)
    partition = await broker.catalog.partition("t", 0)
    tracker = broker.delayed.trackers.get(partition)
    index = tracker.index
    appended = await broker.records.produce("t", due(broker, REQUEST))
    for placed in [placed for each in appended for placed in each.scheduled][:100]:
        repeat = f"{placed.deliver_at_ms} again"
        await index.scripts.command("HSET", index.scripts.delay.repeats, placed.id.entry, repeat)
    at = broker.delayed.now_ms() + 2 * LATER_MS
    found = await index.scripts.fire(config.delayed_delivery_fire_chunk, at)
    for name, owed in (await index.scripts.repeats()).items():
        if name[:1] == b"!":
            await index.scripts.rearm(int(name[1:]), owed, at + LATER_MS, "again")
            break
    while found.taken:
        found = await index.scripts.fire(config.delayed_delivery_fire_chunk, at)


INPUTS = (cancelled, committed, aborted_later, cleared, buckets, fired)
