"""Brokers of the release before are replaced one by one while applications work, and one of them is put back.

broker 0   old ───✗ new ────────────────────────────────────────┐
broker 1   old ────────────✗ new ────────────✗ old ─────────────┤  the log, read by both releases, against what
broker 2   old ─────────────────────✗ new ──────────────────────┘  clients saw (tests/support/client_history.py)
           all the while: librdkafka, aiokafka, and the SDK of both releases
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from aiokafka.admin import AIOKafkaAdminClient

from redis_ledger import AsyncClient
from tests.support.client_history import History, Log, made_once
from tests.support.processes import Release
from tests.support.redis_servers import redis_server
from tests.upgrade.fleet import Fleet, Load

NEW = Release()
BROKERS, PARTITIONS = 3, 4
MIXED_S = 4.0  # at least so long brokers of two releases serve, after each turn
CAUGHT_UP_S_MAX = 90.0
LATE_MS_MAX = 10_000  # of a scheduled record on a busy machine; a lease is three times as long
WRITERS = {
    "sdk.produce.old": True,
    "sdk.produce.new": False,
    "sdk.transact.old": True,
    "sdk.transact.new": False,
    "sdk.schedule.old": True,
    "librdkafka.idempotent": False,
    "librdkafka.transactional": False,
    "aio.idempotent": False,
    "aio.transactional": False,
}  # fmt: skip  name → whether its SDK is the older one
READERS = {
    "sdk.work.old": True, "sdk.work.new": False, "sdk.watch.old": True, "sdk.step.old": True, "sdk.step.new": False,
    "librdkafka.classic.1": False, "librdkafka.classic.2": False, "librdkafka.modern": False,
    "aio.chain": False, "aio.group": False,
}  # fmt: skip
GROUPS = ("classic", "modern", "aio.chain", "aio.group")
TOPICS = ("load", "later", "steps", "chained")

pytestmark = pytest.mark.timeout(1_200)


@pytest.fixture
def fleet(old: Release) -> Iterator[Fleet]:
    with redis_server(appendonly="yes", appendfsync="no") as redis:
        brokers = Fleet(redis.url, BROKERS)
        try:
            for number in range(BROKERS):
                brokers.start(number, old)
            yield brokers
        finally:
            brokers.clean_up()


@pytest.fixture
def load(fleet: Fleet, old: Release, tmp_path: Path) -> Iterator[Load]:
    for topic in TOPICS:
        httpx.post(f"{fleet.urls[0]}/v1/topics", json={"name": topic, "partitions": PARTITIONS}).raise_for_status()
    workers = Load(fleet, tmp_path)
    try:
        for name, is_older in (WRITERS | READERS).items():
            workers.start(name, old if is_older else NEW)
        yield workers
    finally:
        workers.clean_up()


def logs(url: str) -> dict[str, Log]:
    """Every topic, as a reader of committed records has it from this broker."""

    async def read() -> dict[str, Log]:
        async with AsyncClient(url) as client:
            return {
                topic: {n: [(m.offset, m.text()) async for m in client.read(topic, n)] for n in range(PARTITIONS)}
                for topic in TOPICS
            }

    return asyncio.run(read())


def committed_offsets(kafka: str) -> dict[str, dict[int, int]]:
    """The committed offsets of each group by partition, read from the broker at this address."""

    async def ask() -> dict[str, dict[int, int]]:
        client = AIOKafkaAdminClient(bootstrap_servers=kafka)
        await client.start()
        try:
            found = {group: await client.list_consumer_group_offsets(group) for group in GROUPS}
        finally:
            await client.close()
        return {group: {at.partition: o.offset for at, o in offsets.items()} for group, offsets in found.items()}

    return asyncio.run(ask())


def what_is_left(history: History) -> dict[str, int]:
    """The number of committed records that each reader has not received."""
    found = {by: len(history.committed("load") - history.got("load", by)) for by in (*GROUPS, "workers")}
    return found | {"watch": len(history.committed("later") - history.got("later", "watch"))}


def caught_up(load: Load) -> None:
    """Every reader got every acknowledged record, and the steps processed it."""
    until = time.monotonic() + CAUGHT_UP_S_MAX
    while any(left := what_is_left(load.history()).values()):
        assert time.monotonic() < until, f"not got: {what_is_left(load.history())} {left}"
        time.sleep(0.2)  # applications have no other way to tell us


def steps_done(url: str) -> None:
    until = time.monotonic() + CAUGHT_UP_S_MAX
    while (found := made_once((log := logs(url))["load"], log["steps"]) + made_once(log["load"], log["chained"])) != []:
        assert time.monotonic() < until, found
        time.sleep(0.5)  # between two looks at what others do


def late(history: History, since: float) -> list[tuple[str, float]]:
    """Scheduled records that came late, with when they were due: those that were after all readers had begun."""
    asked = history.asked["later"]
    found = [(value, asked[value].due_ms / 1000) for value, by_ms in history.waits_ms("later") if by_ms > LATE_MS_MAX]
    return [(value, due_s) for value, due_s in found if due_s > since]


def test_rolling_upgrade_and_rollback_under_load(fleet, load, old):
    # Given brokers of the release before, and applications that have all begun
    load.goes_on(MIXED_S)
    # When each is replaced by this release, under load
    for number in range(BROKERS):
        fleet.replace(number, NEW)
        load.goes_on(MIXED_S)
    # And one is put back
    fleet.replace(1, old)
    load.goes_on(MIXED_S)
    load.stop(*WRITERS)
    caught_up(load)
    steps_done(fleet.urls[0])
    load.stop(*READERS)
    history = load.history()
    print(f"\n{load.report(history, fleet.turns)}")
    # Then each ended in order, and no application was troubled
    assert [turn.exit_code for turn in fleet.turns] == [0] * (BROKERS + 1)
    since = fleet.turns[0].stopped
    assert [f"{e['worker']}: {e['doing']}: {e['text']}" for e in history.errors() if e["at"] > since] == []
    # And both releases have the same log, in which nothing is lost, doubled, undone, half done or out of order
    log = logs(fleet.urls[0])
    assert logs(fleet.urls[1]) == log
    assert history.flaws("load", log["load"]) + history.flaws("later", log["later"]) == []
    assert made_once(log["load"], log["steps"]) + made_once(log["load"], log["chained"]) == []
    # And readers got all of it, and nothing that they had done with
    readers = [history.reader_flaws("load", by, log["load"]) for by in (*GROUPS, "workers")]
    assert [*readers, history.reader_flaws("later", "watch", log["later"])] == [[]] * (len(GROUPS) + 2)
    ends = {number: rows[-1][0] + 1 for number, rows in log["load"].items()}
    for broker in fleet.brokers.values():
        assert committed_offsets(broker.field("kafka")) == dict.fromkeys(GROUPS, ends)
    # And what was to be delivered later came in time
    assert late(history, since) == []
