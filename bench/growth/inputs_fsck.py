"""The largest inputs of fsck/read: every index at the size up to which fsck reads it at once."""

from __future__ import annotations

from bench.growth.inputs_cursors import NOW_MS, filled
from redis_ledger.broker.broker import Broker
from redis_ledger.fsck import cursor_reader, delay_reader, partition_reader
from redis_ledger.fsck.service import Fsck
from redis_ledger.store.connection import Arg
from redis_ledger.store.reading import PAGE, SMALL

LEDGERS = 2_000  # of one partition, as in inputs_partitions
ROW_BYTES = 60  # of a lease, a pending acknowledgement, or a scheduled record
CHUNK = b"\xff"


async def read_at_once(broker: Broker) -> None:
    """The rows have the size of real ones, and say nothing: fsck reports them."""
    partition = await filled(broker, 2 * partition_reader.TAIL_PAGE)
    await broker.subscriptions.create("t", "s")
    k = partition.keys
    delay, sub = k.delay, k.sub("s")
    hashes = [
        (k.ledgers, LEDGERS, ROW_BYTES), (k.open, SMALL, ROW_BYTES),
        (sub.leases, SMALL, ROW_BYTES), (sub.pending, PAGE, ROW_BYTES), (sub.acks, cursor_reader.CHUNKS_MAX, 1_024),
        (delay.live, delay_reader.CHUNKS_MAX, 512), (delay.parts, SMALL, ROW_BYTES), (delay.moved, SMALL, ROW_BYTES),
        (delay.repeats, SMALL, ROW_BYTES),
    ]  # fmt: skip
    for key, count, size in hashes:
        held = await broker.store.command("HLEN", key, key=k.state)
        rows: list[Arg] = [word for n in range(count - held) for word in (b"%d" % (1_000 + n), CHUNK * size)]
        await broker.store.command("HSET", key, *rows, key=k.state)
    for key in (k.firsts, delay.open, delay.closing, delay.queue):
        held = await broker.store.command("ZCARD", key, key=k.state)
        members: list[Arg] = []
        for n in range(SMALL - held):
            members += (NOW_MS + n, f"{n:0{ROW_BYTES}}")
        await broker.store.command("ZADD", key, *members, key=k.state)
    await Fsck(broker.store, broker.config, broker.clock).run("t")


INPUTS = (read_at_once,)
