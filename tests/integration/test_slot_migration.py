"""A broker on a cluster during slot migrations: its calls need no absent key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.broker.types import NewRecord
from redis_ledger.cursor import registration
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from redis_ledger.store.cluster import key_slot
from redis_ledger.store.keys import CoordinatorKeys, PartitionKeys
from redis_ledger.txn.coordinator import Participant
from tests.support.broker import begun as begun_transaction
from tests.support.broker import eventually, one, receive_values, records, values_of
from tests.support.buffer_snapshots import load, take
from tests.support.busy_machine import wait_for
from tests.support.redis_servers import ClusterServers, Server

SETTINGS: dict[str, Any] = {"coordinators": 1, "redis_timeout_ms": 30_000, "redis_retry_ms": 30_000}
WITHIN_S = 10.0  # a call that waits for the end of the move takes longer


@pytest.fixture
async def broker(cluster_url: str, prefix: str) -> AsyncIterator[Broker]:
    async with one(cluster_url, prefix, **SETTINGS) as broker:
        await broker.topics.create("t", 1)
        await broker.subscriptions.create("t", "s", "shared")
        await commit_offset(broker, 0)
        await broker.records.produce("t", records("first"))
        yield broker


async def commit_offset(broker: Broker, offset: int, group: str = "g") -> None:
    assert await broker.offsets.commit(group, [OffsetEntry("t", 0, offset)], fence=-1) == [None]


class Move:
    """The slots of partition t:0 and of the coordinator, from the node that has them to another."""

    def __init__(self, cluster: ClusterServers, prefix: str) -> None:
        self._cluster = cluster
        keys = PartitionKeys(prefix, "t", 0).state, CoordinatorKeys(prefix, 0).state
        self._moves = [self._sides(key_slot(key)) for key in keys]
        self.is_over = False

    def _sides(self, slot: int) -> tuple[int, Server, Server]:
        source = self._cluster.owner(slot)
        return slot, source, next(server for server in self._cluster.servers if server is not source)

    def begin(self) -> None:
        for move in self._moves:
            self._cluster.begin_migration(*move)

    def step(self, most: int) -> int:
        """Moves so many keys of each slot; how many there were."""
        return sum(self._cluster.move_keys(*move, most) for move in self._moves)

    def finish(self) -> None:
        while self.step(1_000):
            pass
        for slot, _, target in self._moves:
            self._cluster.end_migration(slot, target)
        self.is_over = True

    def give_up(self) -> None:
        for move in self._moves:
            self._cluster.give_up_migration(*move)


@contextmanager
def begun(cluster: ClusterServers, prefix: str) -> Iterator[Move]:
    move = Move(cluster, prefix)
    move.begin()
    try:
        yield move
    finally:
        if not move.is_over:
            move.give_up()


async def append(broker: Broker) -> None:
    await broker.records.produce("t", records("more"))


async def commit(broker: Broker) -> None:
    txn = (await broker.transactions.begin()).id
    await broker.records.produce("t", records("committed"), transaction=txn)
    await broker.transactions.commit(txn)


async def abort(broker: Broker) -> None:
    txn = (await broker.transactions.begin()).id
    await broker.records.produce("t", records("aborted"), transaction=txn)
    await broker.transactions.abort(txn)


async def schedule(broker: Broker) -> None:
    before = await count(broker, "scheduled")
    await schedule_only(broker)
    assert await eventually(lambda: count(broker, "scheduled"), before + 1) == before + 1


async def schedule_only(broker: Broker) -> None:
    await broker.records.produce("t", [NewRecord(None, b"scheduled", deliver_after_ms=100)])


async def count(broker: Broker, value: str) -> int:
    return (await values_of(broker, "t")).count(value)


async def acknowledge(broker: Broker) -> None:
    await append(broker)
    found = await receive_values(broker, "t", "s", "c1")
    await broker.subscriptions.ack("t", "s", "c1", list(found))


async def acknowledge_in_a_transaction(broker: Broker) -> None:
    await append(broker)
    found = await receive_values(broker, "t", "s", "c1")
    txn = (await broker.transactions.begin()).id
    await broker.subscriptions.ack("t", "s", "c1", list(found), transaction=txn)
    await broker.transactions.commit(txn)


async def group_offset(broker: Broker) -> None:
    await commit_offset(broker, 1)


async def group_offset_in_a_transaction(broker: Broker) -> None:
    partition = await broker.catalog.partition("t", 0)
    pid, epoch = await broker.producers.init("etl", 60_000)
    txn = await broker.producers.add("etl", pid, epoch, [Participant("t", partition.topic_id, 0, "g")])
    assert await broker.offsets.commit("g", [OffsetEntry("t", 0, 2)], fence=-1, transaction=txn) == [None]
    await broker.producers.end("etl", pid, epoch, True, False)
    assert [each.offset for each in await broker.offsets.fetch("g", [("t", 0)], raise_fence=1)] == [2]


async def producer(broker: Broker) -> None:
    await broker.producers.init("pay", 60_000)
    await broker.producers.allocate()


ACTS = {
    act.__name__: act
    for act in (
        append,
        commit,
        abort,
        schedule,
        acknowledge,
        acknowledge_in_a_transaction,
        group_offset,
        group_offset_in_a_transaction,
        producer,
    )
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
async def test_a_move_that_has_moved_nothing_stops_nothing(broker, cluster, prefix, act):
    """Also the first time, and for ever when the move was given up half way."""
    with begun(cluster, prefix):
        for _ in range(2):
            await wait_for(act(broker), WITHIN_S)
    assert (await values_of(broker, "t"))[0] == "first"


@pytest.mark.parametrize("moved", [1, 9])
async def test_calls_on_a_half_migrated_slot_wait_and_run_once(broker, cluster, prefix, moved):
    with begun(cluster, prefix) as move:
        assert move.step(moved) == 2 * moved
        tasks = [asyncio.create_task(act(broker)) for act in (append, commit, abort, group_offset, producer)]
        await asyncio.sleep(0.2)  # until they have been refused
        await asyncio.to_thread(move.finish)
        await wait_for(asyncio.gather(*tasks), WITHIN_S)
    values = [value for value in await values_of(broker, "t") if value != "[marker]"]
    assert sorted(values) == ["committed", "first", "more"]


async def test_everything_continues_while_keys_move_one_by_one(broker, cluster, prefix):
    with begun(cluster, prefix) as move:

        async def work(act: Any) -> None:
            for _ in range(4):
                await act(broker)

        async def go() -> None:
            while await asyncio.to_thread(move.step, 1):
                await asyncio.sleep(0.01)  # so that there is work between two keys
            await asyncio.to_thread(move.finish)

        acts = (append, commit, abort, schedule_only, group_offset, producer)
        await asyncio.wait_for(asyncio.gather(go(), *(work(act) for act in acts)), 30)
    assert await eventually(lambda: count(broker, "scheduled"), 4) == 4
    values = [value for value in await values_of(broker, "t") if value != "[marker]"]
    assert sorted(values) == sorted(["first", *["more", "committed", "scheduled"] * 4])


async def replace_leftover(broker: Broker, partition: Partition, incarnation: str = "second") -> None:
    """Makes the cursor of a subscription; of another incarnation than before, if it was made before."""
    register = registration.Registration("shared", incarnation, partitions=1)
    await registration.make(broker.store, partition.keys, partition.topic_id, "deleted", register, 0, 0)


async def test_scripts_that_create_keys_wait_for_the_migration_without_blocking_others(broker, cluster, prefix):
    partition = await broker.catalog.partition("t", 0)
    await replace_leftover(broker, partition, "first")
    with begun(cluster, prefix) as move:
        making = [
            asyncio.create_task(broker.subscriptions.create("t", "late", "shared")),
            asyncio.create_task(commit_offset(broker, 3, "a new group")),
            asyncio.create_task(partition.roll()),
            asyncio.create_task(broker.subscriptions.seek("t", "s", to="earliest")),
            asyncio.create_task(broker.offsets.delete("g", [("t", 0)])),
            asyncio.create_task(replace_leftover(broker, partition)),
            asyncio.create_task(take(broker)),
        ]
        for _ in range(3):
            await wait_for(append(broker), WITHIN_S)
            await wait_for(commit(broker), WITHIN_S)
        assert not any(task.done() for task in making)
        await asyncio.to_thread(move.finish)
        await wait_for(asyncio.gather(*making), WITHIN_S)
    leftover = await registration.read(broker.store, partition.keys, "deleted")
    assert leftover is not None
    assert leftover.incarnation == "second"
    assert await load(broker) is not None
    await append(broker)
    assert await count(broker, "more") == 4
    assert len(await receive_values(broker, "t", "s", "c1")) == 8
    assert [each.offset for each in await broker.offsets.fetch("g", [("t", 0)])] == [-1]


async def test_transactions_in_the_sidecar_buffer_go_on_while_keys_move_one_by_one(broker, cluster, prefix):
    """SC-05"""
    await broker.topics.grow("t", None, {TXN_BUFFER: BUFFERS["sidecar"]})
    with begun(cluster, prefix) as move:
        await wait_for(commit(broker), WITHIN_S)

        async def work() -> None:
            for number in range(4):
                txn = await begun_transaction(broker, f"{number}a", f"{number}b")
                await broker.transactions.commit(txn)
                await broker.transactions.abort(await begun_transaction(broker, "x", "y"))
                await broker.aborted_payload.look_at_all()

        async def go() -> None:
            while await asyncio.to_thread(move.step, 1):
                await asyncio.sleep(0.01)  # so that there is work between two keys
            await asyncio.to_thread(move.finish)

        await asyncio.wait_for(asyncio.gather(go(), work()), 30)
    await broker.aborted_payload.look_at_all()
    pairs = [f"{number}{letter}" for number in range(4) for letter in "ab"]
    assert await values_of(broker, "t") == ["first", "committed", *pairs]
    k = (await broker.catalog.partition("t", 0)).keys
    assert await broker.store.command("ZCARD", k.sidecar, key=k.state) == 1 + len(pairs)


async def test_a_partition_of_an_older_release_schedules_its_first_record(broker):
    """It was made without the keys of scheduled records."""
    partition = await broker.catalog.partition("t", 0)
    d = partition.keys.delay
    for key in (*d.index_keys, partition.keys.data(-1)):
        assert await broker.store.command("DEL", key, key=partition.keys.state) == 1
    await schedule(broker)
    keys = [*d.all(), partition.keys.data(-1)]
    assert await broker.store.command("EXISTS", *keys, key=partition.keys.state) == len(keys)
