"""Any history of scheduled records, against a model that keeps one row for each record.

Two brokers share a partition.  A step of either may be cut at any of its writes, as by kill -9, or be held up at any
call while the other does something.  Fired is what is due and nothing else, once, in due order, and in the end nothing
is left; after every step the counters agree with the live bits and with the model.  Time is handed in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from redis_ledger.delay.bucket_storage import SnapshotSwept
from redis_ledger.store.store import Store
from tests.support.delay_maintenance import UPKEEP
from tests.support.delay_model import Killed, Wire, World
from tests.support.examples import examples
from tests.support.redis_servers import redis_server

# -- histories ---------------------------------------------------------------------------------------------------------

delays = st.integers(1, 40).map(lambda n: n * 100)
shapes = st.lists(
    st.one_of(st.tuples(delays, st.integers(1, 3)), st.lists(delays, min_size=2, max_size=4)), min_size=1, max_size=4
)
slots, some, any_record = st.integers(0, 2), st.integers(0, 11), st.integers(0, 99)
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "again": st.tuples(st.just("again"), st.integers(1, 3)),
    "in_txn": st.tuples(st.just("in_txn"), slots, shapes),
    "end": st.tuples(st.just("end"), slots, st.booleans()),
    "settle": st.tuples(st.just("settle")),
    "half_settled": st.tuples(st.just("half_settled"), st.integers(1, 3)),
    "repeat": st.tuples(st.just("repeat"), delays),
    "rearm": st.tuples(st.just("rearm")),
    "cancel": st.tuples(st.just("cancel"), any_record),
    "move": st.tuples(st.just("move"), any_record, st.integers(-5, 40).map(lambda n: n * 100)),
    "fire": st.tuples(st.just("fire"), st.integers(1, 5), delays),
    "release": st.tuples(st.just("release"), delays),
    "clear": st.tuples(st.just("clear")),
    "trim": st.tuples(st.just("trim"), some),
    "rebuild": st.tuples(st.just("rebuild")),
    "list": st.tuples(st.just("list")),
    "orphan": st.tuples(st.just("orphan"), delays),
} | {name: st.tuples(st.just("upkeep"), st.just(name), some) for name in UPKEEP}
SCHEDULE = st.tuples(st.just("schedule"), shapes, st.sampled_from([0, 0, 0, 2]))


THEMES = [
    "repeat rearm move cancel fire release seal load rebuild reindex",
    "move cancel seal load rebuild reindex fire release list",
    "seal load merge reindex prune sweep damage unlist rotate fire",
    "in_txn end settle half_settled seal load rotate clear cancel move fire",
    "again orphan rotate seal trim clear rebuild release cancel list forget",
]


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Of some kinds of steps each: where all may come, those that have to meet seldom do."""
    theme = draw(st.sampled_from([*THEMES, " ".join(KINDS)])).split()
    kinds = draw(st.lists(st.sampled_from(theme), min_size=4, max_size=10, unique=True))
    steps = st.one_of(SCHEDULE, *(KINDS[kind] for kind in kinds))
    upkeep = [kind for kind in kinds if kind in UPKEEP]
    if upkeep:
        which = st.sampled_from(upkeep)
        killed = st.tuples(st.just("killed"), which, some, st.integers(1, 9))
        meanwhile = st.lists(steps, min_size=1, max_size=3)
        raced = st.tuples(st.just("raced"), which, some, st.integers(1, 14), meanwhile)
        steps = st.one_of(steps, steps, steps, killed, raced)
    return draw(st.lists(steps, min_size=20, max_size=60))


async def do(world: World, step: tuple[Any, ...]) -> None:
    what, *args = step
    index = world.index()
    match what:
        case "upkeep":
            await UPKEEP[args[0]](index, args[1])
        case "killed":
            wire = Wire(world.store)
            wire.dies_at = args[2]
            try:
                await UPKEEP[args[0]](world.index(wire), args[1])
            except Killed:
                event("killed")
        case "raced":
            await race(world, *args)
        case "settle" | "rearm":
            await getattr(world, what)(index)
        case "repeat":
            await world.repeat(index, *args)
        case "fire" | "release":
            await getattr(world, what)(index, *args)
        case "half_settled":
            await world.settle(index, dies_at=args[0])
        case "trim":
            await world.partition.trim(
                retention_ms=-1, retention_bytes=-1, below_offset=await world.end_offset() * args[0] // 11
            )
        case "rebuild":
            await world.waiting(index).rebuild()
        case _:
            await getattr(world, what)(*args)


async def race(world: World, act: str, n: int, waits_at: int, meanwhile: list[tuple[Any, ...]]) -> None:
    """One broker is held up in the middle of a step while the other goes on."""
    wire = Wire(world.store)
    wire.waits_at = waits_at
    held_up = asyncio.ensure_future(UPKEEP[act](world.index(wire), n))
    waits = asyncio.ensure_future(wire.is_waiting.wait())
    await asyncio.wait({held_up, waits}, return_when=asyncio.FIRST_COMPLETED)
    waits.cancel()
    try:
        for step in meanwhile:
            await do(world, step)
    finally:
        wire.may_go_on.set()
        try:
            await held_up
        except SnapshotSwept:
            event("swept")


async def play(store: Store, history: list[tuple[Any, ...]]) -> None:
    world = World(store)
    assert await world.partition.create()
    for step in history:
        world.clock.advance(1)
        await do(world, step)
        await world.check()
    for slot in list(world.open):
        await world.end(slot, False)
    index = world.index()
    for _ in range(4):
        await world.settle(index)
        await world.release(index, 1_000_000)
        await world.rearm(index)
    assert world.model.ids("pending", "held", "owed") == []
    await world.check()
    start = (await world.partition.offsets.head()).start_offset
    seen = await world.visible(start)
    assert seen == world.model.log[len(world.model.log) - len(seen) :]
    assert start or seen == world.model.log
    await index.sweep(whenever=True)
    rows = await store.command("HGETALL", world.k.delay.snaps, key=world.k.state)
    assert (rows, await index.storage.buckets()) in (([b"", b""], []), ([], []))
    event(f"log of {len(seen) // 10}0")


@pytest.fixture(scope="module")
def runner() -> Iterator[tuple[asyncio.Runner, Store]]:
    with redis_server(unix=True) as server, asyncio.Runner() as loop:
        store = loop.run(Store.open(server.url))
        yield loop, store
        loop.run(store.close())


@settings(max_examples=examples(400), suppress_health_check=list(HealthCheck))
@given(history=histories())
def test_whatever_happens_each_record_comes_once_in_due_order_and_never_early(runner, history):
    """DD-01, DD-16, DD-30, DD-64."""
    loop, store = runner
    note(repr(history))
    loop.run(play(store, history))
    assert store.prefix.startswith("d")
