"""Steps of a broker over the buckets of scheduled records, whole or cut short: a model of the records knows nothing of
them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from redis_ledger.delay import index_repair
from redis_ledger.delay.index import DelayIndex


async def seal(index: DelayIndex, _: int) -> None:
    state = await index.state()
    if state is not None and state.closing:
        await index.finish_seal(state.closing)
    elif state is not None:
        await index.seal(state.ledger)


async def rotate(index: DelayIndex, n: int) -> None:
    state = await index.state()
    if state is not None:
        await index.rotate(state.ledger, index._clock.now_ms(), bool(n % 2))


async def load(index: DelayIndex, _: int) -> None:
    rows = await index.command("ZRANGEBYSCORE", index.delay.next, 0, "+inf", "LIMIT", 0, 1)
    if rows:
        await index.load(rows[0].decode())


async def merge(index: DelayIndex, _: int) -> None:
    await index.merge()


async def reindex(index: DelayIndex, n: int) -> None:
    buckets = await index.buckets()
    if buckets:
        await index.reindex(buckets[n % len(buckets)])


async def damage(index: DelayIndex, n: int) -> None:
    buckets = await index.buckets()
    if buckets:
        bucket = buckets[n % len(buckets)]
        key = index.delay.snapshot(bucket.snapshot)
        await index.store.command("HSET", key, n % (bucket.segments + 1), b"damaged", key=index.keys.state)


async def sweep(index: DelayIndex, _: int) -> None:
    await index.sweep(whenever=True)


async def prune(index: DelayIndex, _: int) -> None:
    await index_repair.prune(index)


async def forget(index: DelayIndex, _: int) -> None:
    await index_repair.forget_parts(index)


async def unlist(index: DelayIndex, n: int) -> None:
    buckets = await index.buckets()
    if buckets:
        name = buckets[n % len(buckets)].name
        await index.store.command("HDEL", index.delay.buckets, name, key=index.keys.state)


UPKEEP: dict[str, Callable[[DelayIndex, int], Awaitable[None]]] = {
    each.__name__: each for each in (seal, rotate, load, merge, reindex, damage, sweep, prune, forget, unlist)
}
