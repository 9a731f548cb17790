"""Topic catalog: creation, growth and deletion are atomic despite crashes; stale caches are detected."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.errors import (
    InvalidRequest,
    InvalidTopicName,
    StoreUnavailable,
    TopicBusy,
    TopicExists,
    UnknownPartition,
    UnknownTopic,
    UnknownTopicId,
)
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.topic_entry import TopicEntry
from redis_ledger.store.store import Store


def of(store: Store) -> Catalog:
    """The catalog as one more broker has it."""
    return Catalog(store, Config(partitions_max=20), ManualClock())


@pytest.fixture
def catalog(store) -> Catalog:
    return of(store)


async def keys(store: Store, name: str) -> set[str]:
    found = await store.everywhere("KEYS", f"{store.prefix}:{{{name}:*")
    return {key.decode() for reply in found for key in reply}


async def write(catalog: Catalog, name: str, number: int = 0) -> int:
    partition = await catalog.partition(name, number)
    return (await partition.append(AppendRequest(b"x", 1, 0))).base_offset


async def put(store: Store, entry: TopicEntry) -> None:
    """Writes a catalog entry as a broker that died may have left it."""
    k = of(store)._keys
    await store.command("HSET", k.topics, entry.name, entry.encoded(), key=k.topics)
    await store.command("HINCRBY", k.state, "version", 1, key=k.topics)


# -- life cycle --------------------------------------------------------------------------------------------------------


async def test_a_topic_is_created_once_and_every_broker_knows_it(catalog, store):
    made = await catalog.create("orders", 3, {"retention_ms": 5})
    assert (made.name, made.partitions, made.state, made.settings) == ("orders", 3, "ready", {"retention_ms": 5})
    with pytest.raises(TopicExists):
        await of(store).create("orders", 1, {})
    assert await of(store).get("orders") == made
    assert [await write(of(store), "orders", n) for n in (0, 1, 2)] == [0, 0, 0]
    assert [entry.name for entry in await catalog.list()] == ["orders"]


async def test_ten_brokers_that_create_a_topic_at_once_make_one(store):
    brokers = [of(store) for _ in range(10)]
    results = await asyncio.gather(*(b.create("orders", 4, {}) for b in brokers), return_exceptions=True)
    entries = [r for r in results if isinstance(r, TopicEntry)]
    assert len(entries) == 1
    assert {type(r) for r in results} == {TopicEntry, TopicExists}
    assert {(await b.get("orders")).id for b in brokers} == {entries[0].id}


@pytest.mark.parametrize(
    ("name", "partitions", "topic_settings", "error"),
    [
        ("a b", 1, {}, InvalidTopicName),
        ("", 1, {}, InvalidTopicName),
        ("..", 1, {}, InvalidTopicName),
        ("orders", 0, {}, InvalidRequest),
        ("orders", 21, {}, InvalidRequest),
        ("orders", 1, {"retention": 5}, InvalidRequest),
        ("orders", 1, {"retention_ms": -2}, InvalidRequest),
    ],
)
async def test_a_topic_that_cannot_be_is_refused_before_anything_is_written(
    catalog, store, name, partitions, topic_settings, error
):
    with pytest.raises(error):
        await catalog.create(name, partitions, topic_settings)
    assert (await keys(store, ""), await catalog.list()) == (set(), [])


async def test_an_absent_topic_or_partition_is_unknown(catalog):
    await catalog.create("orders", 2, {})
    for attempt in (
        catalog.get("other"),
        catalog.partition("other", 0),
        catalog.delete("other"),
        catalog.change("other", 2, {}),
    ):
        with pytest.raises(UnknownTopic):
            await attempt
    for number in (2, -1):
        with pytest.raises(UnknownPartition) as refused:
            await catalog.partition("orders", number)
        assert refused.value.facts == {"partitions": 2}


async def test_a_topic_grows_and_keeps_what_it_had(catalog, store):
    other = of(store)
    made = await catalog.create("orders", 1, {"retention_ms": 5})
    await write(other, "orders")
    grown = await catalog.change("orders", 3, {"retention_bytes": 7})
    assert (grown.id, grown.partitions, grown.settings) == (made.id, 3, {"retention_ms": 5, "retention_bytes": 7})
    # a broker that still knows one partition looks again before it refuses another
    assert [await write(other, "orders", n) for n in (2, 0)] == [0, 1]
    with pytest.raises(InvalidRequest):
        await catalog.change("orders", 2, None)


async def test_changes_of_two_brokers_at_once_both_count(store):
    await of(store).create("orders", 1, {})
    await asyncio.gather(
        of(store).change("orders", None, {"retention_ms": 1}),
        of(store).change("orders", 5, None),
        of(store).change("orders", None, {"retention_bytes": 2}),
    )
    entry = await of(store).get("orders")
    assert (entry.partitions, entry.settings, entry.state) == (5, {"retention_ms": 1, "retention_bytes": 2}, "ready")


async def test_a_deleted_topic_leaves_no_key_and_its_successor_starts_clean(catalog, store):
    """TB-24."""
    # Given a topic with records, known to another broker
    other = of(store)
    first = await catalog.create("orders", 2, {})
    await write(other, "orders", 1)
    await catalog.delete("orders")
    assert await keys(store, "orders") == set()
    # When it is made again
    second = await catalog.create("orders", 1, {})
    assert second.id != first.id
    # Then the broker that knew the old one is refused, asks again and finds the new one
    with pytest.raises(UnknownTopic):
        await write(other, "orders")
    other.forget("orders")
    assert await write(other, "orders") == 0
    with pytest.raises(UnknownPartition):
        await write(other, "orders", 1)


# -- what brokers that died have left ----------------------------------------------------------------------------------


def died(**what: object) -> TopicEntry:
    return replace(TopicEntry("orders", "id-1", 3, "creating", 0, {}), **what)  # type: ignore[arg-type]


@pytest.mark.parametrize("partitions_there", [0, 1, 3])
@pytest.mark.parametrize("by", ["get", "refresh", "create"])
async def test_a_half_created_topic_is_completed_by_the_next_request(catalog, store, partitions_there, by):
    # Given an entry, and some of its partitions
    for number in range(partitions_there):
        assert await Partition(store, "orders", number, "id-1", Config(), ManualClock()).create()
    await put(store, died())
    assert await catalog.list() == []
    # When a client encounters it
    if by == "get":
        await catalog.get("orders")
    elif by == "refresh":
        await catalog.refresh()
    else:
        with pytest.raises(TopicExists):
            await catalog.create("orders", 1, {})
    # Then it is whole
    entry = await of(store).get("orders")
    assert (entry.id, entry.state, entry.partitions, entry.partitions_made) == ("id-1", "ready", 3, 3)
    assert [await write(of(store), "orders", n) for n in range(3)] == [0, 0, 0]


async def test_a_half_grown_topic_is_listed_as_it_was_and_finished_with_its_records(catalog, store):
    made = await catalog.create("orders", 1, {})
    await write(catalog, "orders")
    await put(store, replace(made, partitions=3, state="creating"))
    assert [(e.name, e.partitions, e.state) for e in await of(store).list()] == [("orders", 1, "ready")]
    assert [await write(of(store), "orders", n) for n in range(3)] == [1, 0, 0]
    assert [(e.partitions, e.state) for e in await of(store).list()] == [(3, "ready")]


@pytest.mark.parametrize("steps_done", range(4))
@pytest.mark.parametrize("by", ["refresh", "create"])
async def test_a_half_deleted_topic_is_removed_by_the_next_request(catalog, store, steps_done, by):
    # Given a topic whose deletion was cut short: one partition closed, gone, the next closed
    made = await catalog.create("orders", 2, {})
    await write(catalog, "orders")
    await put(store, replace(made, state="deleting"))
    first, second = await catalog.partition("orders", 0), await catalog.partition("orders", 1)
    if steps_done in (1, 3):
        doomed = first if steps_done == 1 else second
        await store.command("HSET", doomed.keys.state, "topic_id", f"deleted {made.id}", key=doomed.keys.state)
    if steps_done >= 2:
        await first.delete()
    # Then it does not exist for anybody
    assert await of(store).list() == []
    with pytest.raises(UnknownTopic):
        await of(store).get("orders")
    # When a client encounters it
    if by == "refresh":
        await catalog.refresh()
        assert await keys(store, "orders") == set()
        with pytest.raises(UnknownTopic):
            await catalog.get("orders")
    else:
        successor = await catalog.create("orders", 1, {})
        assert successor.id != made.id
        assert await write(of(store), "orders") == 0
        assert {key for key in await keys(store, "orders") if "{orders:1}" in key} == set()


async def test_an_own_creation_that_another_broker_finished_is_not_called_a_stranger(catalog, store, monkeypatch):
    # Given a create whose reply is lost; before it is sent again another broker finishes the topic
    swap, calls = catalog._swap, []

    async def lossy(name: str, expected: bytes, wanted: bytes) -> bytes | None:
        calls.append(name)
        if len(calls) == 1:
            assert await swap(name, expected, wanted) is None
            await of(store).get(name)
        current: bytes | None = await swap(name, expected, wanted)
        return current

    monkeypatch.setattr(catalog, "_swap", lossy)
    assert (await catalog.create("orders", 2, {})).state == "ready"


async def test_keys_of_another_topic_in_the_way_are_never_taken_over(catalog, store):
    stranger = Partition(store, "orders", 1, "foreign", Config(), ManualClock())
    await stranger.create()
    with pytest.raises(TopicBusy):
        await catalog.create("orders", 2, {})
    assert (await stranger.append(AppendRequest(b"x", 1, 0))).base_offset == 0


# -- what a broker remembers -------------------------------------------------------------------------------------------


async def test_a_look_up_is_remembered_until_the_catalog_changes(catalog, store, monkeypatch):
    await catalog.create("orders", 1, {})
    await catalog.refresh()
    partition = await catalog.partition("orders", 0)
    # When nothing has changed, Redis is asked one small question, and nothing else
    commands: list[object] = []
    command = store.command

    def counted(*args: Any, **more: Any) -> Any:
        commands.append(args[0])
        return command(*args, **more)

    monkeypatch.setattr(store, "command", counted)
    await catalog.refresh()
    assert (await catalog.partition("orders", 0), await catalog.get("orders"), commands) == (
        partition, catalog.known("orders"), ["HGET"],
    )  # fmt: skip


async def test_a_refresh_keeps_partitions_of_a_topic_that_only_changed_and_drops_those_of_one_that_went(catalog, store):
    other = of(store)
    for name in ("kept", "gone", "again"):
        await other.create(name, 1, {})
        await catalog.partition(name, 0)
    kept, again = catalog.opened("kept", 0), catalog.opened("again", 0)
    await other.change("kept", 2, {"retention_ms": 9})
    await other.delete("gone")
    await other.delete("again")
    await other.create("again", 1, {})
    await catalog.refresh()
    assert (catalog.opened("kept", 0), catalog.opened("gone", 0)) == (kept, None)
    assert (await catalog.partition("again", 0)) is not again
    entry = catalog.known("kept")
    assert entry is not None
    assert entry.settings == {"retention_ms": 9}


async def test_an_entry_of_a_store_that_is_away_is_not_taken_for_absent(store, catalog, monkeypatch):
    await catalog.create("orders", 1, {})
    fresh = of(store)

    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable()

    monkeypatch.setattr(store, "command", away)
    with pytest.raises(StoreUnavailable):
        await fresh.get("orders")


def test_an_entry_reads_back_as_it_was_written():
    entry = TopicEntry("orders", "id-1", 3, "creating", 17, {"retention_ms": 5}, 2)
    assert msgspec.json.Decoder(TopicEntry).decode(entry.encoded()) == entry


# -- by id -------------------------------------------------------------------------------------------------------------


def raw(entry: TopicEntry) -> bytes:
    return bytes.fromhex(entry.id)


async def reads_of(store: Store, name: str) -> int:
    """The number of executions of a command so far, on all servers."""
    total = 0
    for text in await store.everywhere("INFO", "commandstats"):
        for line in text.decode().splitlines():
            if line.startswith(f"cmdstat_{name}:calls="):
                total += int(line.partition("=")[2].partition(",")[0])
    return total


async def test_a_topic_is_found_by_its_id_at_every_broker_as_soon_as_it_exists(catalog, store):
    other = of(store)
    with pytest.raises(UnknownTopicId):
        await other.by_id(bytes(16))  # the other broker has looked through the catalog once
    made = await catalog.create("orders", 2, {})
    assert await catalog.by_id(raw(made)) == made
    assert await other.by_id(raw(made)) == made


async def test_old_id_of_a_recreated_topic_is_unknown(catalog, store):
    other = of(store)
    old = await catalog.create("orders", 1, {})
    assert await other.by_id(raw(old)) == old
    await catalog.delete("orders")
    new = await catalog.create("orders", 1, {})
    await other.refresh()
    for broker in (catalog, other):
        with pytest.raises(UnknownTopicId):
            await broker.by_id(raw(old))
        assert await broker.by_id(raw(new)) == new


async def test_a_topic_that_was_forgotten_is_found_by_its_id_again(catalog):
    made = await catalog.create("orders", 1, {})
    catalog.forget("orders")
    assert await catalog.by_id(raw(made)) == made


async def test_half_created_topic_is_completed_by_a_lookup_of_its_id(catalog, store):
    entry = TopicEntry("orders", "ab" * 16, 2, "creating", 0, {})
    await put(store, entry)
    found = await catalog.by_id(raw(entry))
    assert (found.state, found.partitions_made) == ("ready", 2)


async def test_a_flood_of_unknown_ids_reads_the_catalog_once(catalog, store):
    # Given a broker that has not looked at the catalog yet
    await of(store).create("orders", 1, {})
    whole, small = await reads_of(store, "hgetall"), await reads_of(store, "hget")
    # When hundreds of requests use unknown ids
    ids = [n.to_bytes(16, "big") for n in range(1, 301)]
    answers = await asyncio.gather(*(catalog.by_id(i) for i in ids), return_exceptions=True)
    for i in ids[:50]:
        with pytest.raises(UnknownTopicId):
            await catalog.by_id(i)
    # Then the catalog was read once, its version at most once for each that came alone
    assert all(isinstance(answer, UnknownTopicId) for answer in answers)
    assert await reads_of(store, "hgetall") - whole == 1
    assert await reads_of(store, "hget") - small <= 60
