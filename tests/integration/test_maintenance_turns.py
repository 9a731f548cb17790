"""Background retention: one broker maintains a partition, an unchanged one costs a read, and each has its turn."""

from __future__ import annotations

import pytest

from redis_ledger.broker.cluster.maintenance_turns import MaintenanceTurns
from redis_ledger.broker.topics import retention
from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.ledger.partition_offsets import PartitionHead
from redis_ledger.store.keys import CatalogKeys
from tests.support.broker import eventually, one, records, two, vanish

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
PARTITIONS = 12
SMALL = {"retention_bytes": 1_500}  # one batch of 1 000 bytes and a bit


@pytest.fixture
async def clock():
    return ManualClock()


@pytest.fixture
async def broker(redis_url, prefix, clock):
    async with one(redis_url, prefix, clock=clock) as opened:
        yield opened


@pytest.fixture
async def pair(redis_url, prefix):
    async with two(redis_url, prefix) as brokers:
        for each in brokers:
            await each.maintenance.heartbeat()
            await stop_upkeep(each)
        await brokers[0].topics.create("t", PARTITIONS, settings=SMALL)
        await brokers[1].catalog.get("t")
        yield brokers


async def stop_upkeep(broker):
    """The background jobs are done by the test, but for heartbeats."""
    for task in broker.maintenance._tasks[2:]:
        task.cancel()


def looks_always(broker):
    """As if the time between two looks had passed."""
    broker.retention._turns = MaintenanceTurns(broker.live_brokers.maintains, 0.0, turns_never())


def turns_never():
    return float("inf")


async def fill(broker, *, partition, batches=3):
    for _ in range(batches):
        await broker.records.produce("t", records("x" * 1_000, partition=partition))


async def starts(broker):
    return [(await broker.topics.head("t", number)).start_offset for number in range(PARTITIONS)]


class Commands:
    def __init__(self, broker, monkeypatch):
        self.count, self._topics = 0, CatalogKeys(broker.store.prefix).topics
        for name in ("command", "call"):
            monkeypatch.setattr(broker.store, name, self._counted(getattr(broker.store, name)))

    def _counted(self, real):
        def one(*arguments, **how):
            self.count += arguments[1:2] != (self._topics,)  # the list of topics
            return real(*arguments, **how)

        return one


async def test_an_unchanged_partition_costs_one_read_when_it_is_its_turn_and_else_nothing(broker, monkeypatch):
    await stop_upkeep(broker)
    await broker.topics.create("t", PARTITIONS)
    for number in range(PARTITIONS):
        await fill(broker, partition=number, batches=1)
    for _ in range(2):
        await broker.retention.retain(due_only=True)
    commands = Commands(broker, monkeypatch)
    await broker.retention.retain(due_only=True)
    assert commands.count == 0
    looks_always(broker)
    await broker.retention.retain(due_only=True)
    assert commands.count == PARTITIONS


async def test_a_changed_setting_takes_effect_in_the_next_round(broker, clock):
    await stop_upkeep(broker)
    await broker.topics.create("t", PARTITIONS)
    for number in range(PARTITIONS):
        await fill(broker, partition=number)
    for _ in range(2):
        await broker.retention.retain(due_only=True)
    # When a limit of an idle topic is lowered
    clock.advance(1_000)
    await broker.topics.grow("t", settings={"retention_ms": 0})
    await broker.retention.retain(due_only=True)
    assert await starts(broker) == [3] * PARTITIONS


async def test_appending_broker_trims_the_partition_too(pair):
    for broker in pair:
        await broker.retention.retain(due_only=True)
    for number in range(PARTITIONS):
        await fill(pair[0], partition=number)
    await pair[0].retention.retain(due_only=True)
    assert await starts(pair[0]) == [2] * PARTITIONS


async def test_the_keeper_trims_what_others_have_appended_and_no_more(pair):
    first, second = pair
    for number in range(PARTITIONS):
        await fill(first, partition=number)
    looks_always(second)
    await second.retention.retain(due_only=True)
    kept = [second.live_brokers.maintains("t", number) for number in range(PARTITIONS)]
    assert 0 < sum(kept) < PARTITIONS
    assert kept == [not first.live_brokers.maintains("t", number) for number in range(PARTITIONS)]
    assert await starts(second) == [2 if each else 0 for each in kept]


async def test_when_a_broker_is_gone_another_keeps_its_partitions(pair):
    first, second = pair
    for number in range(PARTITIONS):
        await fill(first, partition=number)
    looks_always(second)
    await second.retention.retain(due_only=True)
    await vanish(first)

    async def keeps_all():
        await second.maintenance.heartbeat()
        return all(second.live_brokers.maintains("t", number) for number in range(PARTITIONS))

    assert await eventually(keeps_all, True, within_s=10)
    await second.retention.retain(due_only=True)
    assert await starts(second) == [2] * PARTITIONS


async def test_a_broker_that_lives_and_looks_after_nothing_leaves_nothing_untended(pair, monkeypatch):
    first, second = pair
    for number in range(PARTITIONS):
        await fill(first, partition=number)
    second.retention._turns = MaintenanceTurns(second.live_brokers.maintains, 0.0, 100.0)
    monkeypatch.setattr("random.random", lambda: 0.0)
    await second.retention.retain(due_only=True)
    assert await starts(second) != [2] * PARTITIONS
    loop = second.retention._loop
    now_s = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now_s + 101.0)
    await second.retention.retain(due_only=True)
    monkeypatch.undo()
    assert await starts(second) == [2] * PARTITIONS


async def test_records_of_an_unchanged_partition_go_with_their_time(broker, clock):
    await stop_upkeep(broker)
    await broker.topics.create("t", settings={"retention_ms": DAY_MS, "ledger_age_ms_max": HOUR_MS})
    await broker.records.produce("t", records("a"))
    for _ in range(3):
        await broker.retention.retain(due_only=True)
    clock.advance(HOUR_MS + 1)  # its ledger is old
    await broker.retention.retain(due_only=True)
    assert (await broker.topics.head("t", 0)).active_ledger == 2
    clock.advance(DAY_MS)
    await broker.retention.retain(due_only=True)
    assert (await broker.topics.head("t", 0)).start_offset == 1


async def test_another_setting_is_followed_although_nothing_was_appended(broker):
    await stop_upkeep(broker)
    await broker.topics.create("t")
    for _ in range(3):
        await broker.records.produce("t", records("x" * 1_000, partition=0))
    for _ in range(3):
        await broker.retention.retain(due_only=True)
    await broker.configs.change("t", SMALL, validate_only=False)
    looks_always(broker)
    await broker.retention.retain(due_only=True)
    assert (await broker.topics.head("t", 0)).start_offset == 2


@pytest.mark.parametrize(
    ("records_there", "settings", "expected"),
    [
        (0, {}, retention.WHOLE_MS),
        (1, {}, retention.WHOLE_MS),
        (1, {"retention_ms": HOUR_MS}, HOUR_MS // 20),
        (0, {"retention_ms": HOUR_MS}, retention.WHOLE_MS),
        (1, {"retention_ms": 1_000}, retention.WHOLE_MS_MIN),
        (1, {"retention_ms": -1}, retention.WHOLE_MS),
        (0, {"ledger_age_ms_max": 600_000}, 300_000),
        (0, {"ledger_age_ms_max": 1}, retention.WHOLE_MS_MIN),
    ],
)
def test_unchanged_partition_is_skipped_for_a_bounded_time(records_there, settings, expected):
    head = PartitionHead(0, 0, records_there, records_there, 1, 0, 0)
    assert retention.unchanged_ms(head, Config(**settings)) == expected
