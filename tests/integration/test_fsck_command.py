"""`redis-ledger fsck` from the command line."""

from __future__ import annotations

import asyncio
import json

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.store.keys import CatalogKeys, PartitionKeys
from tests.support.broker import begun, one, records
from tests.support.buffer_snapshots import take
from tests.support.cli import run


@pytest.fixture
def redis_url(own_redis_url: str) -> str:
    return own_redis_url


async def test_a_difference_is_shown_repaired_and_then_gone(broker: Broker, redis_url: str, prefix: str):
    options = ("--redis", redis_url, "--set", f"prefix={prefix}")
    await broker.records.produce("t", records("a", "b"))
    keys = PartitionKeys(prefix, "t", 0)
    await broker.store.command("HSET", keys.state, "stable", 1, key=keys.state)

    seen = run("fsck", *options)
    assert seen.code == 1
    assert "t:0: The field 'stable' is 1; the log and the ledgers say 2." in seen.out
    assert "--repair writes the value" in seen.out
    assert "1 difference." in seen.out

    as_json = json.loads(run("fsck", "t", "--json", *options).out)
    assert as_json["clean"] is False
    assert [(each["kind"], each["item"], each["state"]) for each in as_json["findings"]] == [
        ("partition_state", "stable", "left")
    ]

    repaired = run("fsck", "--repair", *options)
    assert repaired.code == 0
    assert "1 difference repaired; 0 left." in repaired.out
    assert run("fsck", *options).code == 0


async def test_a_broker_without_topics_is_no_difference(redis_url: str, prefix: str):
    state = CatalogKeys(prefix).state
    async with one(redis_url, prefix) as broker:
        while not await broker.store.command("EXISTS", state, key=state):
            await asyncio.sleep(0.01)
        seen = run("fsck", "--redis", redis_url, "--set", f"prefix={prefix}")
    assert (seen.code, "No difference" in seen.out) == (0, True), seen.out


async def test_the_log_is_read_from_its_snapshot_on_unless_everything_is_wanted(broker, redis_url, prefix):
    options = ("--redis", redis_url, "--set", f"prefix={prefix}")
    await broker.transactions.abort(await begun(broker, "x"))
    await take(broker)
    seen = run("fsck", *options)
    assert seen.code == 0
    assert "The log of 1 partition was read from a snapshot on; --full reads all of it." in seen.out
    (use,) = json.loads(run("fsck", "--json", *options).out)["snapshots"]
    assert use == {"where": "t:0", "position": 2, "entries": 1, "reason": ""}
    assert "snapshot" not in run("fsck", "--full", *options).out
    (use,) = json.loads(run("fsck", "--json", "--full", *options).out)["snapshots"]
    assert use == {"where": "t:0", "position": -1, "entries": 2, "reason": ""}
    keys = PartitionKeys(prefix, "t", 0)
    await broker.store.command("HSET", keys.state, "epoch", 1, key=keys.state)
    seen = run("fsck", *options)
    assert seen.code == 0
    assert "t:0: The whole log was read; the snapshot is not used: it is of leader epoch 0" in seen.out


async def test_what_cannot_be_checked_is_no_difference(broker: Broker, redis_url: str, prefix: str):
    assert run("fsck", "absent", "--redis", redis_url, "--set", f"prefix={prefix}").code == 2
    assert run("fsck", "--redis", "redis://127.0.0.1:1").code == 2
