"""Steps of a broker over the buckets of scheduled records, whole or cut short: a model of the records knows nothing of
them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from redis_ledger.delay.index import DelayIndex


async def seal(index: DelayIndex, _: int) -> None:
    state = await index.scripts.state()
    if state is not None and state.closing:
        await index.finish_seal(state.closing)
    elif state is not None:
        await index.seal(state.ledger)


async def rotate(index: DelayIndex, n: int) -> None:
    state = await index.scripts.state()
    if state is not None:
        await index.scripts.rotate(state.ledger, index._clock.now_ms(), bool(n % 2))


async def load(index: DelayIndex, _: int) -> None:
    rows = await index.scripts.command("ZRANGEBYSCORE", index.scripts.delay.next, 0, "+inf", "LIMIT", 0, 1)
    if rows:
        await index.load(rows[0].decode())


async def merge(index: DelayIndex, _: int) -> None:
    await index.merge()


async def reindex(index: DelayIndex, n: int) -> None:
    buckets = await index.storage.buckets()
    if buckets:
        await index.repairs.reindex(buckets[n % len(buckets)])


async def damage(index: DelayIndex, n: int) -> None:
    buckets = await index.storage.buckets()
    if buckets:
        bucket = buckets[n % len(buckets)]
        key = index.scripts.delay.snapshot(bucket.snapshot)
        await index.scripts.store.command(
            "HSET", key, n % (bucket.segments + 1), b"damaged", key=index.scripts.keys.state
        )


async def sweep(index: DelayIndex, _: int) -> None:
    await index.sweep(whenever=True)


async def prune(index: DelayIndex, _: int) -> None:
    await index.repairs.prune()


async def forget(index: DelayIndex, _: int) -> None:
    await index.repairs.forget_parts()


async def unlist(index: DelayIndex, n: int) -> None:
    buckets = await index.storage.buckets()
    if buckets:
        name = buckets[n % len(buckets)].name
        await index.scripts.store.command("HDEL", index.scripts.delay.buckets, name, key=index.scripts.keys.state)


UPKEEP: dict[str, Callable[[DelayIndex, int], Awaitable[None]]] = {
    each.__name__: each for each in (seal, rotate, load, merge, reindex, damage, sweep, prune, forget, unlist)
}
