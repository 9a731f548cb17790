"""The largest snapshots of a subscription, and receives that pass over what they have as acknowledged."""

from __future__ import annotations

from bench.growth.inputs_cursors import REQUEST, filled
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.subscriptions.cursor_snapshots import FIELDS_MAX, RANGES_MAX
from redis_ledger.cursor import snapshot
from redis_ledger.cursor.ack_chunks import CHUNK, RUNS_MAX
from redis_ledger.cursor.ranges import Range
from redis_ledger.ids import MessageId


async def largest_snapshot(broker: Broker) -> None:
    """As many bitmaps as the ranges allow, and lists up to the number of fields."""
    partition = await filled(broker, 1)
    await broker.subscriptions.create("t", "s", "shared")
    k, end = partition.keys, FIELDS_MAX * CHUNK
    await broker.store.command("HSET", k.state, "next", end, "stable", end, key=k.state)
    empty = await broker.cursor_snapshots.take("t", "s")
    runs = RUNS_MAX + 1  # of a bitmap
    bitmaps = (RANGES_MAX - FIELDS_MAX) // (runs - 1)
    ranges = [
        Range(chunk * CHUNK + at, chunk * CHUNK + at)
        for chunk in range(FIELDS_MAX)
        for at in range(1, 2 * (runs if chunk < bitmaps else 1), 2)
    ]
    acked = empty.partitions[0]._replace(acknowledged=snapshot.encode(0, ranges))
    await broker.cursor_snapshots.seek("t", "s", empty._replace(partitions=[acked]))
    assert (await broker.cursor_snapshots.take("t", "s")).partitions == [acked]
    await broker.subscriptions.receive("t", "s", "c1")
    await broker.subscriptions.seek("t", "s", to="earliest")


async def every_other(broker: Broker, kind: str) -> None:
    """Every other record is acknowledged."""
    await filled(broker, 2 * REQUEST)
    await broker.subscriptions.create("t", "s", kind)  # type: ignore[arg-type]  # a name of INPUTS
    empty = await broker.cursor_snapshots.take("t", "s")
    ranges = [Range(at, at) for at in range(0, 2 * REQUEST, 2)]
    acked = empty.partitions[0]._replace(acknowledged=snapshot.encode(0, ranges))
    await broker.cursor_snapshots.seek("t", "s", empty._replace(partitions=[acked]))
    await broker.subscriptions.stats("t", "s")
    found, after = 0, list[MessageId]()
    while found < REQUEST // 2:
        some = await broker.subscriptions.receive("t", "s", "c1", max_records=REQUEST, after=after)
        found, after = found + len(some), [each.id for each in some[-1:]]
        assert some


async def every_other_shared(broker: Broker) -> None:
    await every_other(broker, "shared")


async def every_other_exclusive(broker: Broker) -> None:
    await every_other(broker, "exclusive")


async def every_other_key_shared(broker: Broker) -> None:
    await every_other(broker, "key_shared")


INPUTS = (largest_snapshot, every_other_shared, every_other_exclusive, every_other_key_shared)
