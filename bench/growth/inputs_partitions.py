"""The largest inputs of lua/ledger/, lua/offload/, lua/group/ and lua/broker/ that the API accepts."""

from __future__ import annotations

import asyncio
import secrets

from bench.growth.inputs_cursors import NOW_MS, ONE, filled
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord
from redis_ledger.fsck.service import Fsck
from redis_ledger.groups.member import Changes
from redis_ledger.groups.ownership import Ownership
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.buffer_snapshot import WINDOWS_MAX, ProducerWindow, encode_windows
from redis_ledger.ledger.buffer_snapshot_taker import STORE, SnapshotTaker
from redis_ledger.ledger.log_trace import Batch
from redis_ledger.ledger.place import Place
from redis_ledger.ledger.reclaim import reclaim
from redis_ledger.offload.manifest import Plan, Segment, Stretch
from redis_ledger.offload.plan import STRETCHES_MAX
from redis_ledger.offload.scripts import OffloadScripts
from redis_ledger.store.keys import CatalogKeys, PartitionKeys

SEGMENTS = STRETCHES_MAX
MEMBERS = 3_000  # group_members_max
BROKERS = 200
SUBSCRIPTIONS = 500


async def appends(broker: Broker) -> None:
    """Many at once; then the remains of interrupted calls, repaired by the next append; full retention."""
    partition = await filled(broker, 10_000)
    k, command = partition.keys, broker.store.command
    for _ in range(16 * 32):
        await command("XADD", k.data(1), "0-*", "b", ONE, key=k.state)
    await partition.append(AppendRequest(ONE, 1, NOW_MS))
    txns = [(await broker.transactions.begin(600_000)).id for _ in range(3_000)]
    await asyncio.gather(
        *(partition.append(AppendRequest(ONE, 1, NOW_MS, producer_id=t.producer_id, epoch=0), t) for t in txns)
    )
    for number in range(SUBSCRIPTIONS):
        await broker.subscriptions.create("t", f"s{number}")
    await asyncio.gather(*(broker.transactions.abort(t) for t in txns[::-1]))
    await partition.trim(retention_ms=-1, retention_bytes=0, acknowledged=True)
    await partition.trim(retention_ms=-1, retention_bytes=0)


async def ledgers(broker: Broker) -> None:
    """A partition of many ledgers: each is rolled, trimmed and dropped; then it is deleted with many subscriptions."""
    partition = await filled(broker, 1)
    for _ in range(2_000):
        await partition.append(AppendRequest(ONE, 1, NOW_MS))
        await partition.roll()
    for number in range(SUBSCRIPTIONS):
        await broker.subscriptions.create("t", f"s{number}")
    await partition.trim(retention_ms=-1, retention_bytes=0, acknowledged=True)
    await partition.trim(retention_ms=-1, retention_bytes=0)
    await broker.topics.delete("t")


async def cut(broker: Broker) -> None:
    """Most of one ledger lies below the log start."""
    partition = await filled(broker, 30_000)
    while (await partition.trim(retention_ms=-1, retention_bytes=-1, below_offset=29_000)).entries:
        pass


async def reclaimed(broker: Broker) -> None:
    """Aborted batches of every size, and aborts in the shadow of an old transaction, which are walked over."""
    partition = await filled(broker, 1)
    old = (await broker.transactions.begin(600_000)).id
    await broker.records.produce("t", [NewRecord(None, ONE)], transaction=old)
    for value, count in ((ONE, 2_000), (bytes(1 << 20), 40), (bytes(7 << 20), 4)):
        txns = [(await broker.transactions.begin(600_000)).id for _ in range(count)]
        for t in txns:
            await broker.records.produce("t", [NewRecord(None, value)], transaction=t)
        await asyncio.gather(*(broker.transactions.abort(t) for t in txns))
    await broker.transactions.commit(old)
    head = await partition.offsets.head()
    await reclaim(broker.store, partition.keys, "t", partition.topic_id, head.stable_offset)


async def silent_producers(broker: Broker) -> None:
    """And expired tombstones."""
    partition = await filled(broker, 1)
    k, command = partition.keys, broker.store.command
    rows = [each for pid in range(5_000) for each in (pid, "0 1 0:0:0")]
    await command("HSET", k.producers, *rows, key=k.state)
    tombstones = [each for serial in range(5_000) for each in (1, f"0-{serial}")]
    await command("ZADD", k.ended, *tombstones, key=k.state)
    await broker.retention.expiry.look(partition)


async def segments(broker: Broker) -> None:
    """The maximum number of segments that a partition can be offloaded to at once."""
    partition = await filled(broker, SEGMENTS)
    calls = OffloadScripts(broker.store, partition.keys, "t", partition.topic_id)
    found = [_segment(n, n + 1) for n in range(SEGMENTS)]
    plan = Plan(secrets.token_hex(8), [Stretch(s.first, s.end, s.file) for s in found])
    stored = await calls.plan(plan, 0)
    assert stored is not None
    assert await calls.abandon(plan)
    assert await calls.plan(plan, 0) is not None
    await calls.publish(plan, found)
    await calls.publish(plan, found)
    merged = [_segment(n, n + 2) for n in range(0, SEGMENTS, 2)]
    await calls.swap(await calls.version(), [s.first for s in found], merged)
    await calls.forget(merged)


def _segment(first: int, end: int) -> Segment:
    file = f"topic=t-0123456789abcdef/partition=0/{first:020d}-{end:020d}-0123456789abcdef.parquet"
    return Segment(first, end, file, 1, 100_000_000, NOW_MS, NOW_MS, "0" * 64)


async def buffer_snapshots(broker: Broker) -> None:
    """The largest segment: the windows of as many producers as a snapshot keeps."""
    partition = await filled(broker, 1)
    k = partition.keys
    windows = [
        ProducerWindow(n << 20 | secrets.randbits(20), False, [_random_batch(n) for _ in range(5)])
        for n in range(WINDOWS_MAX)
    ]
    args = (partition.topic_id, "", "head", "index", 1, 0, "s1", encode_windows(windows))
    await broker.store.call(STORE, (k.state, k.snapshot), args)
    await SnapshotTaker(broker.store, Place("t", partition.topic_id, 0, k)).take(NOW_MS)


def _random_batch(n: int) -> Batch:
    """Compresses as little as one can."""
    return Batch(
        0, secrets.randbits(31), secrets.randbits(31), n << 12 | secrets.randbits(12), NOW_MS + secrets.randbits(16)
    )


async def members(broker: Broker) -> None:
    ownership = Ownership(broker.store, broker.live_brokers, broker.clock)
    await ownership.claim("g", "classic")
    rows = {f"consumer-g-{n}-{secrets.token_hex(16)}": b"x" * 400 for n in range(MEMBERS)}
    for generation in (1, 2):
        generation = await ownership.advance("g", "classic", generation - 1, "consumer")
        await ownership.store("g", "classic", Changes(generation, b"m", rows, MEMBERS, is_whole=True))
    await ownership.store("g", "classic", Changes(generation, b"m", dict.fromkeys(rows, b""), 0))
    await ownership.release("g")
    await ownership.claim("g", "classic")
    await ownership.delete("g")


async def brokers(broker: Broker) -> None:
    """Many live brokers, and rows of a table that all of them keep."""
    k, command = CatalogKeys(broker.store.prefix), broker.store.command
    for n in range(BROKERS):
        facts = f'{{"node":{n + 10},"http":"http://10.0.0.{n}:8080","kafka":"10.0.0.{n}:9092","listeners":{{}}}}'
        await command("HSET", k.addresses, f"b{n}", facts, key=k.state)
        await command("ZADD", k.brokers, 4_000_000_000_000, f"b{n}", key=k.state)
    await broker.live_brokers.send_heartbeat()
    await broker.quotas._copied.write(broker.quotas._key, {f"User:{n}": "{}" for n in range(10_000)})
    await broker.scram_credentials.add("ada", "correct horse battery staple")


async def checked(broker: Broker) -> None:
    """fsck of a partition with a long log, whose row of the ledger is wrong."""
    await filled(broker, 10_000)
    keys = PartitionKeys(broker.store.prefix, "t", 0)
    await broker.store.command("HSET", keys.ledgers, "1", "0 0 0 -1 0 0 1", key=keys.state)
    await Fsck(broker.store, broker.config, broker.clock).run(repair=True)


INPUTS = (appends, ledgers, cut, reclaimed, silent_producers, segments, buffer_snapshots, members, brokers, checked)
