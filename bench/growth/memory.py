"""What does Redis keep for each kind of object, and what is left after it ends?

    remembered_transaction   a committed transaction of one record: all but the record, while its outcome is kept
    finished_transaction     the same after that time: memory left by more transactions minus fewer (slope)
    keyed_transaction        as remembered, begun under the nonce of an Idempotency-Key, and the key itself
    open_transaction         begun, and one record written
    sdk_key, keyed_produce   an Idempotency-Key of a begin; one of a produce with the row of its producer id
    producer_id, group_offset, subscription      for each partition
    delayed_record, batch_of_one_record          including a value of 100 bytes
    topic, partition         empty ones

A hash that was large keeps part of its table: Redis shrinks tables on a delete, in steps that lookups execute.  That
memory is bounded by the table's largest size and does not grow with the number of transactions.  So tables are shrunk
before the remaining memory is measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from bench.lab import Lab
from bench.processes import redis
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord, Transaction
from redis_ledger.config import Config
from redis_ledger.cursor import group_offsets
from redis_ledger.store.store import Store

THINGS, AT_ONCE = 5_000, 100
TIMES_MORE = 3  # factor of the longer run
KEPT_MS = 5_000
KEY_BYTES = 36  # of each key in the table of all keys: its entry, and a slot and a half
GOAL_BYTES = 0  # whole bytes: less than half a byte comes from the length of numbers
BEGUN = b'{"id":"0-3819980355200","status":"open","timeout_ms":60000,"started_ms":1763720931000,"deadline_ms":1}'
FIT = """
local set, remove, look = "HSET", "HDEL", "HEXISTS"
local kind = redis.call("TYPE", KEYS[1]).ok
if kind == "zset" then set, remove, look = "ZADD", "ZREM", "ZSCORE" elseif kind ~= "hash" then return end
for _ = 1, 4 do
  if kind == "zset" then redis.call(set, KEYS[1], 0, "?") else redis.call(set, KEYS[1], "?", "") end
  redis.call(remove, KEYS[1], "?")
  for _ = 1, 10000 do redis.call(look, KEYS[1], "?") end
end"""  # a delete shrinks a nearly empty table, and each lookup moves a bucket to the smaller one
Act = Callable[[int], Awaitable[object]]


async def measure(lab: Lab) -> None:
    async with redis("process") as server:
        config = Config(prefix="m", coordinators=1, ended_status_retention_ms=KEPT_MS, tombstone_ms=KEPT_MS)
        store = await Store.open(server.url, prefix=config.prefix)
        broker = await Broker.open(store, config)
        try:
            count = max(AT_ONCE, int(THINGS * lab.pace.scale))
            await broker.topics.create("t", 1)
            await of_transactions(lab, broker, count)
            await of_keys(lab, broker, count)
            await of_partitions(lab, broker, count)
        finally:
            await broker.close()
            await store.close()


# -- transactions ------------------------------------------------------------------------------------------------------


async def of_transactions(lab: Lab, broker: Broker, count: int) -> None:
    old = await broker.transactions.begin(timeout_ms=600_000)
    before = await forgotten(broker, count)
    await each(count, lambda n: committed(broker))
    await asyncio.sleep(0.1)  # completions are sent a moment after the responses
    lab.note("remembered_transaction", "bytes", (await remembered(broker) - before) / count, "bytes", "process")
    fewer = await forgotten(broker, 0)
    more = await forgotten(broker, TIMES_MORE * count)
    slope = (more - fewer) / (TIMES_MORE * count)
    lab.note("finished_transaction", "bytes", round(max(slope, 0)), "bytes", "process", GOAL_BYTES)

    txns = [txn.id for txn in await each(count, lambda n: begun(broker))]
    lab.note("open_transaction", "bytes", (await remembered(broker) - more) / count, "bytes", "process")
    await each(count, lambda n: broker.transactions.abort(txns[n]))
    await broker.transactions.abort(old.id)
    before = await forgotten(broker, 0)
    keys = await used(broker)
    await each(count, lambda n: sdk_key(broker, n))
    keys = await used(broker) - keys
    await each(count, lambda n: committed(broker, f"{n:032x}"))
    bytes_of_all = await remembered(broker) - before + keys
    lab.note("sdk_key", "bytes", keys / count, "bytes", "process")
    lab.note("keyed_transaction", "bytes", bytes_of_all / count, "bytes", "process")


async def begun(broker: Broker, nonce: str = "") -> Transaction:
    txn = await broker.transactions.begin(nonce=nonce)
    await broker.records.produce("t", [NewRecord(None, b"x")], transaction=txn.id)
    return txn


async def committed(broker: Broker, nonce: str = "") -> None:
    await broker.transactions.commit((await begun(broker, nonce)).id)


async def forgotten(broker: Broker, count: int) -> int:
    """Commits so many, expires their outcomes, and shrinks the tables; returns the bytes that are left."""
    await each(count, lambda n: committed(broker))
    await asyncio.sleep(2 * KEPT_MS / 1000)
    await broker.maintenance.forget_ended()
    await broker.maintenance.retain()
    names = await keys_of_transactions(broker)
    await asyncio.gather(*(broker.store.command("EVAL", FIT, 1, name, key=name) for name in names))
    return await remembered(broker)


async def remembered(broker: Broker) -> int:
    """Returns the bytes of ended transactions, without the log and its records."""
    names, command = await keys_of_transactions(broker), broker.store.command
    sizes = await asyncio.gather(*(command("MEMORY", "USAGE", name, "SAMPLES", 0, key=name) for name in names))
    return sum(int(size or 0) for size in sizes)


async def keys_of_transactions(broker: Broker) -> tuple[bytes, ...]:
    coordinator = next(iter(broker.coordinators)).keys
    k = (await broker.catalog.partition("t", 0)).keys
    return (*coordinator.all(), k.ended, k.producers, k.open, k.firsts, k.watermarks)


# -- keys and producers ------------------------------------------------------------------------------------------------


async def sdk_key(broker: Broker, n: int) -> None:
    claim = await broker.idempotency.claim(f"{n:032x}", b"f" * 32, keep_ms=120_000)
    await claim.finish(201, BEGUN)


async def keyed_produce(broker: Broker, n: int) -> None:
    producer_id = await broker.producers.ids.allocate_keyed()
    claim = await broker.idempotency.claim(f"k{n:031x}", b"f" * 32, producer_id=producer_id)
    await claim.finish(200, b'{"results":[{"partition":0,"offset":1,"count":1,"duplicate":false}]}')
    await add_producer(broker, producer_id, n)


async def add_producer(broker: Broker, producer_id: int, n: int) -> None:
    k = (await broker.catalog.partition("t", 0)).keys
    await broker.store.command("HSET", k.producers, producer_id, f"0 1763720931000 0:0:{n}", key=k.state)


async def of_keys(lab: Lab, broker: Broker, count: int) -> None:
    await grown(lab, broker, "producer_id", count, lambda n: add_producer(broker, (1 << 48) + n, n))
    await grown(lab, broker, "keyed_produce", count, lambda n: keyed_produce(broker, n))


# -- partitions --------------------------------------------------------------------------------------------------------


async def of_partitions(lab: Lab, broker: Broker, count: int) -> None:
    topics, partition = count // 20, await broker.catalog.partition("t", 0)
    keys, topic_id = partition.keys, partition.topic_id
    await grown(lab, broker, "topic", topics, lambda n: broker.topics.create(f"topic-{n}", 1))
    before = await used(broker)
    await broker.topics.create("wide", topics)
    lab.note("partition", "bytes", (await used(broker) - before) / topics, "bytes", "process")
    await grown(
        lab, broker, "group_offset", count,
        lambda n: group_offsets.fetch(broker.store, keys, topic_id, f"console-consumer-{n}", generation=1, now_ms=1),
    )  # fmt: skip
    await grown(lab, broker, "subscription", topics, lambda n: broker.subscriptions.create("topic-0", f"worker-{n}"))
    record = NewRecord(None, b"x" * 100, deliver_after_ms=86_400_000)
    await grown(lab, broker, "delayed_record", count, lambda n: broker.records.produce("topic-1", [record]))
    record = NewRecord(None, b"x" * 100)
    await grown(lab, broker, "batch_of_one_record", count, lambda n: broker.records.produce("topic-2", [record]))


async def grown(lab: Lab, broker: Broker, case: str, count: int, act: Act) -> None:
    before = await used(broker)
    await each(count, act)
    lab.note(case, "bytes", (await used(broker) - before) / count, "bytes", "process")


async def each(count: int, act: Act) -> list[Any]:
    done: list[Any] = []
    for first in range(0, count, AT_ONCE):
        done += await asyncio.gather(*(act(n) for n in range(first, min(first + AT_ONCE, count))))
    return done


async def used(broker: Broker) -> int:
    """Returns the bytes of Redis, with the table of all keys at its mean size, since it doubles at once."""
    rows, stats, keys = await asyncio.gather(
        *(broker.store.command(*each) for each in (("INFO", "memory"), ("MEMORY", "STATS"), ("DBSIZE",)))
    )
    whole = next(row for row in rows.split(b"\r\n") if row.startswith(b"used_memory:"))
    of_keys = dict(zip(stats[::2], stats[1::2], strict=True))[b"db.0"]
    main = dict(zip(of_keys[::2], of_keys[1::2], strict=True))
    return int(whole.partition(b":")[2]) - int(main[b"overhead.hashtable.main"]) + KEY_BYTES * int(keys)
