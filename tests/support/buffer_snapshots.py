"""Snapshots of transaction buffers: takes one, reads it, and logs that are long enough for them."""

from __future__ import annotations

from typing import Any

from redis_ledger.broker.broker import Broker
from redis_ledger.clock import SystemClock
from redis_ledger.fsck.service import Fsck, Report
from redis_ledger.ids import TxnId
from redis_ledger.ledger.buffer_snapshot_store import Snapshot, SnapshotStore
from redis_ledger.ledger.buffer_snapshot_taker import Taken
from redis_ledger.ledger.place import Place
from redis_ledger.ledger.transactional_writes import WrittenPartition
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.reading import Reading
from tests.support.broker import begun

# ARGV: count, 1 if each is an aborted transaction of two entries, time.  Entries without payload.  Coordinators change
# and the numbers have gaps, as in use, so they compress no better than real ones.
FILL = """
local next_offset = tonumber(redis.call("HGET", KEYS[1], "next"))
local function add(pid, flags, records)
  local base, last = string.format("%d", next_offset), string.format("%d", next_offset + records - 1)
  redis.call("XADD", KEYS[2], last .. "-1", "l", flags == "3" and "0" or "1", "e", "0", "b", base, "n", records,
    "s", "0", "p", pid, "v", "0", "q", "-1", "f", flags, "t", ARGV[3], "m", "-1")
  next_offset = next_offset + records
end
math.randomseed(next_offset)
for i = 1, tonumber(ARGV[1]) do
  if ARGV[2] == "1" then
    local first, serial = string.format("%d", next_offset), 6400 * next_offset + math.random(100000)
    local pid = string.format("%d", math.random(0, 15) * 281474976710656 + serial)
    add(pid, "1", math.random(9))
    add(pid, "3", 1)
    local following = string.format("%d", next_offset)
    redis.call("ZADD", KEYS[3], next_offset - 1, pid .. " " .. first .. " " .. following)
  else
    add("-1", "0", 1)
  end
end
local following = string.format("%d", next_offset)
redis.call("HSET", KEYS[1], "next", following, "stable", following)
if ARGV[2] == "1" then redis.call("HINCRBY", KEYS[1], "aborted", ARGV[1]) end
return next_offset
"""


async def fill(broker: Broker, count: int, *, aborts: bool = False, topic: str = "t") -> int:
    """Adds entries, or aborted transactions of two entries, to the log; returns the next offset."""
    k, following = PartitionKeys(broker.store.prefix, topic, 0), 0
    for at in range(0, count, 2_000):
        args = (min(2_000, count - at), int(aborts), broker.clock.now_ms())
        command = ("EVAL", FILL, 3, k.state, k.log, k.aborted, *args)
        following = int(await broker.store.command(*command, key=k.state))
    return following


async def written(broker: Broker, topic: str = "t") -> WrittenPartition:
    return WrittenPartition(topic, 0, (await broker.catalog.get(topic)).id)


async def place_of(broker: Broker, topic: str = "t") -> Place:
    return Place(topic, (await broker.catalog.get(topic)).id, 0, PartitionKeys(broker.store.prefix, topic, 0))


async def take(broker: Broker, topic: str = "t") -> Taken:
    """Takes a snapshot at the end of the log; the sum of all steps."""
    place, entries, size = await written(broker, topic), 0, 0
    while True:
        taken = await broker.buffer_snapshots.take(place)
        entries, size = entries + taken.entries, size + taken.bytes
        if not taken.is_behind:
            return taken._replace(entries=entries, bytes=size)


async def find(broker: Broker, topic: str = "t") -> Snapshot | None:
    """The stored snapshot, if there is one.  Raises UnusableSnapshot."""
    return await SnapshotStore(Reading(broker.store), await place_of(broker, topic)).load()


async def load(broker: Broker, topic: str = "t") -> Snapshot:
    """The stored snapshot.  Raises UnusableSnapshot."""
    found = await find(broker, topic)
    assert found is not None
    return found


async def head(broker: Broker, topic: str = "t") -> tuple[int, ...]:
    """Number, position and time of the stored snapshot; empty without one."""
    k = PartitionKeys(broker.store.prefix, topic, 0)
    text = await broker.store.command("HGET", k.snapshot, "head", key=k.state)
    return () if text is None else tuple(map(int, text.split()[1:]))


async def number(broker: Broker) -> int:
    """How many snapshots were stored, one after the other."""
    found = await head(broker)
    return found[0] if found else 0


async def ended(broker: Broker, *, commit: bool) -> TxnId:
    """A transaction with one record that is over."""
    txn = await begun(broker, "x")
    await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
    return txn


async def checked(broker: Broker, **more: Any) -> Report:
    return await Fsck(broker.store, broker.config, SystemClock()).run(**more)


async def stored(broker: Broker, topic: str = "t") -> dict[str, Any]:
    """What the log says about the partition, as it is stored: sets, windows, offsets."""
    k, command = PartitionKeys(broker.store.prefix, topic, 0), broker.store.command
    found: dict[str, Any] = {"state": await command("HMGET", k.state, "stable", "next", key=k.state)}
    for name, key in (("open", k.open), ("producers", k.producers)):
        flat = await command("HGETALL", key, key=k.state)
        found[name] = dict(zip(flat[::2], flat[1::2], strict=True))
    for name, key in (("aborted", k.aborted), ("firsts", k.firsts)):
        found[name] = await command("ZRANGE", key, 0, -1, "WITHSCORES", key=k.state)
    return found
