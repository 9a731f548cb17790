from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from redis_ledger.fsck import cursor_reader, delay_reader, partition_reader, service
from redis_ledger.store import reading
from redis_ledger.store.keys import CatalogKeys, CoordinatorKeys
from tests.support.broker import one, values_of
from tests.support.fsck_damages import CASES, WITHOUT_CASE, Case, documented, partition
from tests.support.fsck_scene import SETTINGS, Scene, build, checked, goes_on, sentences


@pytest.fixture
def redis_url(own_redis_url: str) -> str:
    return own_redis_url


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "BETWEEN_S", 0.02)


@pytest.fixture
async def scene(redis_url: str, prefix: str) -> AsyncIterator[Scene]:
    async with one(redis_url, prefix, **SETTINGS) as broker:
        yield await build(broker, redis_url)


def test_every_key_has_a_case():
    assert documented() == CASES.keys() | WITHOUT_CASE


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].deleted])
async def test_a_deleted_key_is_reported_and_repaired(name: str, scene: Scene):
    case = CASES[name]
    await scene.command("DEL", case.key(scene))
    if name == "rl:{catalog}:state":
        await asyncio.sleep(1.5)  # a running broker leaves a claim
    assert await unrepaired(scene, case, case.deleted) == []


DAMAGED = [name for name in CASES if CASES[name].damage]


# A tenth of a second of Redis and broker each: every second one is in `make test`.
@pytest.mark.parametrize(
    "name", [*DAMAGED[::2], *(pytest.param(each, marks=pytest.mark.full) for each in DAMAGED[1::2])]
)
async def test_a_damaged_key_is_reported_and_repaired(name: str, scene: Scene):
    case = CASES[name]
    known = {"<producer>": scene.producer_id, "<txn>": scene.txn.serial}
    command, *args = case.damage
    await scene.command(command, case.key(scene), *(known.get(arg, arg) for arg in args))
    assert await unrepaired(scene, case, case.damaged) == []


async def unrepaired(scene: Scene, case: Case, words: str) -> list[str]:
    """What is left after repair, and after clients went on, but for what is lost; the report if it lacks the words."""
    seen = sentences(await checked(scene))
    if not any(words in sentence for sentence in seen):
        return [f"nothing says {words!r}", *seen]
    report = await checked(scene, repair=True)
    left = report._replace(left=[each for each in report.left if each.kind not in case.lost])
    if scene.broker.store.admission.refusal() is not None:
        await asyncio.sleep(1.5)  # the broker looks at Redis twice a second
    if "payload" in case.lost:
        await scene.broker.subscriptions.seek("t", "s", to="latest")  # no consumer passes lost payload by itself
    await goes_on(scene)
    again = await checked(scene)
    again = again._replace(left=[each for each in again.left if each.kind not in case.lost])
    return sentences(left) + sentences(again)


async def test_a_cluster_is_checked_and_repaired_as_well(cluster_url: str, prefix: str):
    async with one(cluster_url, prefix, **SETTINGS) as broker:
        scene = await build(broker, cluster_url)
        assert sentences(await checked(scene)) == []
        await scene.command("DEL", scene.partition.open)
        await scene.command("DEL", scene.partition.sub("s").spans)
        await scene.command("HDEL", CatalogKeys(prefix).topics, "t")
        assert len(sentences(await checked(scene, topic="h"))) == 0
        assert len(sentences(await checked(scene))) == 1  # partitions of an unlisted topic come after its entry
        assert sentences(await checked(scene, repair=True)) == []
        await goes_on(scene)


@pytest.mark.parametrize("name", ["open", "firsts", "aborted", "producers"])
async def test_what_the_log_says_is_rebuilt_from_the_snapshot_and_the_log_behind_it(name: str, scene: Scene):
    """TB-17: of the log, only the first entry and the one behind the snapshot are read."""
    await scene.command("DEL", partition(name)(scene))
    report = await checked(scene, repair=True, full=False)
    assert sentences(report) == []
    assert len(report.repaired) > 1
    (use,) = [use for use in report.snapshots if use.where == "t:0"]
    assert use.entries == 2
    assert sentences(await checked(scene)) == []
    await goes_on(scene)


@pytest.mark.parametrize("name", ["open", "firsts", "delay.queue", "delay.live"])
async def test_large_indexes_are_compared_page_by_page(name: str, scene: Scene, monkeypatch: pytest.MonkeyPatch):
    for module in (partition_reader, cursor_reader, delay_reader):
        monkeypatch.setattr(module, "SMALL", 0)
    monkeypatch.setattr(reading, "PAGE", 2)
    monkeypatch.setattr(partition_reader, "LOG_PAGE", 3)
    assert sentences(await checked(scene)) == []
    await scene.command("DEL", partition(name)(scene))
    assert len(sentences(await checked(scene))) > 1
    assert sentences(await checked(scene, repair=True)) == []
    await goes_on(scene)


async def test_a_partition_that_a_transaction_lost_is_registered_again(scene: Scene):
    k = CoordinatorKeys(scene.broker.store.prefix, 0)
    row = await scene.command("HGET", k.txns, scene.txn.serial)
    await scene.command("HSET", k.txns, scene.txn.serial, row.rpartition(b"|")[0] + b"|")
    await scene.command("DEL", k.log)
    await scene.command("DEL", k.live)
    assert [each.kind for each in (await checked(scene)).left].count("not_registered") == 2  # records, acknowledgements
    await checked(scene, repair=True)
    await scene.broker.transactions.commit(scene.txn)
    stable, following = await scene.command("HMGET", scene.partition.state, "stable", "next")
    assert stable == following


async def test_what_a_partition_holds_of_an_ended_transaction_is_ended_as_it_was_decided(scene: Scene):
    k = scene.partition
    row = await scene.command("HGET", k.open, scene.txn.producer_id)
    await scene.broker.transactions.commit(scene.txn)
    # As if this partition had lost the end: its marker, and what came with it.
    marker = int(await scene.command("HGET", k.state, "next")) - 1
    *earlier, _ = await scene.command("XRANGE", k.log, "-", "+")
    await scene.command("DEL", k.log)  # Valkey 9 refuses to use the id of a deleted entry again
    for entry, fields in earlier:
        await scene.command("XADD", k.log, entry, *fields)
    await scene.command("XSETID", k.log, f"{marker - 1}-1")
    await scene.command("HSET", k.state, "next", marker, "stable", row.split(b" ")[3])
    await scene.command("HSET", k.open, scene.txn.producer_id, row)
    await scene.command("ZADD", k.firsts, row.split(b" ")[3], scene.txn.producer_id)
    assert "ended_open" in [each.kind for each in (await checked(scene)).left]
    report = await checked(scene, repair=True)
    assert [each for each in report.left if each.kind != "partition_state"] == [], sentences(report)
    seen = await values_of(scene.broker, "t", offset=int(row.split(b" ")[3]))
    assert seen[0] == "open"


async def test_an_orphan_is_deleted_only_if_it_is_named(scene: Scene):
    orphan, unknown = scene.partition.data(77), f"{scene.broker.store.prefix}:{{other}}".encode()
    await scene.command("XADD", orphan, "*", "b", "x")
    await scene.command("SET", unknown, "x")
    report = await checked(scene, repair=True)
    assert sorted(each.key for each in report.left) == sorted([orphan.decode(), unknown.decode()])
    # A name that the report does not have deletes nothing.
    report = await checked(scene, delete=[orphan.decode(), scene.partition.log.decode()])
    assert [each.key for each in report.left] == [unknown.decode()]
    await goes_on(scene)


async def test_a_key_of_another_type_is_made_again_after_it_was_deleted(scene: Scene):
    await scene.command("DEL", scene.partition.firsts)
    await scene.command("SET", scene.partition.firsts, "x")
    seen = await checked(scene)
    assert "key_type" in [each.kind for each in seen.left]
    report = await checked(scene, repair=True, delete=[scene.partition.firsts.decode()])
    assert sentences(report) == []
    await goes_on(scene)


async def test_the_scene_is_clean(scene: Scene):
    report = await checked(scene)
    assert sentences(report) == []
    await goes_on(scene)
    assert sentences(await checked(scene)) == []
