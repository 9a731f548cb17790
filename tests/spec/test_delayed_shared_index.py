"""One index for all subscriptions of a partition; readers only read the log."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.broker import backlog, eventually, receive_values, values_of, vanish
from tests.support.kafka_batches import fetch, fetched, values
from tests.support.kafka_client import KafkaClient, listening
from tests.support.scheduled import HOUR_MS, PATIENCE_S, ScheduledTopic, scheduling


@pytest.fixture
async def large(redis_url, prefix):
    """A topic with buckets for thousands."""
    async with scheduling(
        redis_url,
        prefix,
        delayed_delivery_min_index_count_per_bucket=1_000,
        delayed_delivery_max_indexes_per_segment=500,
    ) as topic:
        yield topic


async def subscribed(topic: ScheduledTopic, *names: str) -> None:
    for name in names:
        await topic.broker.subscriptions.create(topic.name, name, "shared", "earliest")


async def index_bytes(topic: ScheduledTopic) -> int:
    """The content of the index in Redis: its keys and the snapshots."""
    index = await topic.index()
    keys = [f"{topic.broker.config.prefix}:{key}".encode() for key in await topic.delay_keys()]
    sizes = [await topic.broker.store.command("MEMORY", "USAGE", key, key=index.scripts.keys.state) for key in keys]
    return int(sum(sizes))


async def index_shape(topic: ScheduledTopic) -> list[str]:
    """Its keys without the names of topic and snapshots."""
    return sorted(key.split("}")[1].rsplit(":snap:", 1)[0] for key in await topic.delay_keys())


# -- DD-50: one index --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
async def test_the_index_for_fifty_subscriptions_is_that_for_one(large, when):
    """DD-50: 2 000 records instead of 1 000 000; the same keys and the same bytes, whether the subscriptions are there
    when records are scheduled or come later."""
    topic = large
    await topic.broker.topics.create("one", 1)
    few = ScheduledTopic(topic.broker, "one")
    names, due = [f"s{n}" for n in range(50)], topic.in_ms(HOUR_MS)
    await subscribed(few, "s0")
    if when == "before":
        await subscribed(topic, *names)
    for each in (few, topic):
        await each.fill(2_000, due, step_ms=3)
        await each.sealed(1)
    if when == "after":
        await subscribed(topic, *names)
    shape = [
        {key.split("}")[1].replace(s, "") for key in await each.delay_keys() for s in [""]} for each in (few, topic)
    ]
    assert {key.rsplit(":snap:", 1)[0] for key in shape[0]} == {key.rsplit(":snap:", 1)[0] for key in shape[1]}
    assert len(await few.snapshots()) == len(await topic.snapshots()) == 1
    assert await index_bytes(topic) <= 1.2 * await index_bytes(few)
    # And all fifty get what is due
    first = await topic.release(due + 30)
    assert len(first) == 11
    for name in names:
        assert list((await receive_values(topic.broker, "t", name)).values()) == first


# -- DD-51: one firing for all -----------------------------------------------------------------------------------------


async def test_fired_records_are_delivered_to_all_subscriptions(topic):
    """DD-51: three subscriptions, one of which polls when the records fall due."""
    await subscribed(topic, "a", "b", "c")
    due = topic.in_ms(500)
    polling = asyncio.ensure_future(topic.received("a", wait_ms=20_000))
    await topic.schedule({"x": due, "y": due + 1})
    got = await polling
    assert got[:1] == ["x"]
    assert [*got, *(await topic.received_all("a", 2 - len(got)))] == ["x", "y"]
    assert await topic.received_all("b", 2) == ["x", "y"]
    assert await topic.received_all("c", 2) == ["x", "y"]


# -- DD-52: each by its own cursor -------------------------------------------------------------------------------------


async def test_a_subscription_that_has_skipped_ahead_gets_nothing_of_what_fired_before(topic):
    """DD-52: a mark that has passed, and single acknowledgements; another subscription gets all of it."""
    await subscribed(topic, "all", "skips", "acks")
    due = topic.in_ms(HOUR_MS)
    await topic.schedule({"x": due, "y": due + 1, "z": due + 2})
    assert await topic.release(due + 1) == ["x", "y"]
    await topic.broker.subscriptions.seek("t", "skips", to="latest")
    found = await receive_values(topic.broker, "t", "acks")
    await topic.broker.subscriptions.ack("t", "acks", "c1", [id for id, value in found.items() if value == "y"])
    await topic.broker.subscriptions.nack("t", "acks", "c1", None)
    assert await topic.received("skips") == []
    assert await topic.received("acks") == ["x"]
    # What fires later is later in the log, for those who skipped too
    assert await topic.release(due + 2) == ["z"]
    assert await topic.received("skips") == ["z"]
    assert await topic.received("acks") == ["z"]
    assert await topic.received("all") == ["x", "y", "z"]


# -- DD-53: a crash between release and delivery -----------------------------------------------------------------------


async def test_records_fired_before_a_kill_are_in_the_log(redis_url, prefix):
    """DD-53: A has received and acknowledged one of two, B nothing; after the kill B gets both, A the other one, and
    what was not due comes when it is."""
    async with scheduling(redis_url, prefix) as topic:
        await subscribed(topic, "A", "B")
        due = topic.in_ms(HOUR_MS)
        await topic.schedule({"x": due, "y": due + 1, "later": due + 500})
        assert await topic.release(due + 1) == ["x", "y"]
        found = await receive_values(topic.broker, "t", "A", ack_timeout_ms=300)
        await topic.broker.subscriptions.ack("t", "A", "c1", [id for id, value in found.items() if value == "x"])
        await vanish(topic.broker)
    async with scheduling(redis_url, prefix) as topic:
        assert await topic.received("B") == ["x", "y"]
        assert await topic.received_all("A", 1, "c2") == ["y"]
        assert await topic.waiting() == 1
        assert await topic.release(due + 500) == ["later"]
        assert await topic.received("A", "c2") == ["later"]
        assert await topic.received("B") == ["later"]


# -- DD-54: who comes late ---------------------------------------------------------------------------------------------


async def test_a_late_subscription_gets_what_is_due_at_once_and_the_rest_when_it_is(topic):
    """DD-54: from the earliest record, when 100 of 200 are due; the index is as it was."""
    due = topic.in_ms(HOUR_MS)
    names = await topic.fill(200, due)
    assert await topic.release(due + 995) == names[:100]
    assert await eventually(lambda: quiet(topic), True, PATIENCE_S)
    before = await topic.stats()
    await subscribed(topic, "late")
    assert await topic.received("late", max_records=500) == names[:100]
    assert await topic.received("late") == []
    assert await topic.stats() == before
    assert await topic.release(due + HOUR_MS) == names[100:]
    assert await topic.received("late", max_records=500) == names[100:]


# -- DD-55: who goes ---------------------------------------------------------------------------------------------------


async def test_subscriptions_come_and_go_without_the_index_and_the_topic_takes_it_along(topic):
    """DD-55: neither dropping one of two nor the last touches the index; deleting the topic deletes it."""
    await subscribed(topic, "a", "b")
    due = topic.in_ms(HOUR_MS)
    names = await topic.fill_buckets(2, due)
    before, keys, buckets = await topic.stats(), await topic.delay_keys(), await topic.buckets()
    for name in ("a", "b"):
        await topic.broker.subscriptions.delete("t", name)
        assert (await topic.stats(), await topic.delay_keys(), await topic.buckets()) == (before, keys, buckets)
    assert await topic.release(due + 100) == names[:11]
    await topic.broker.topics.delete("t")
    assert await topic.keys() == set()


# -- DD-56: readers of other kinds -------------------------------------------------------------------------------------


async def test_exclusive_subscriptions_kafka_consumers_and_plain_readers_wait_like_the_others(topic):
    """DD-56: no reader bypasses the index, and reading does not change it."""
    broker, due = topic.broker, topic.in_ms(HOUR_MS)
    await broker.subscriptions.create("t", "exclusive", "exclusive")
    await subscribed(topic, "shared")
    async with listening(broker) as address, KafkaClient(address) as kafka:

        async def all_see() -> list[list[str]]:
            return [
                list((await receive_values(broker, "t", "exclusive")).values()),
                list((await receive_values(broker, "t", "shared")).values()),
                values(fetched(await kafka.ask(fetch("t"), 12))),
                await values_of(broker, "t", isolation="read_uncommitted"),
            ]

        await topic.schedule({"x": due, "y": due + 10})
        before = await topic.stats()
        assert await all_see() == [[], [], [], []]
        assert await topic.stats() == before
        assert await topic.release(due) == ["x"]
        assert await all_see() == [["x"], ["x"], ["x"], ["x"]]
        assert await topic.release(due + 10) == ["y"]
        # The owner of an exclusive subscription first gets what it has not acknowledged.
        assert await all_see() == [["x", "y"], ["y"], ["x", "y"], ["x", "y"]]


# -- DD-57: a slow one -------------------------------------------------------------------------------------------------


async def test_a_subscription_that_sleeps_costs_nothing_when_records_fire_and_gets_all_of_them(large):
    """DD-57: 10 000 records instead of 1 000 000; what Redis keeps for the sleeper does not grow by firing."""
    topic = large
    await subscribed(topic, "awake", "asleep")
    assert await topic.received("asleep") == []
    due, names = topic.in_ms(HOUR_MS), list[str]()
    for number in range(10):
        names += await topic.fill(1_000, due + number * 1_000, step_ms=1, name=f"{number}.")

    async def cursor_bytes() -> int:
        keys = (await topic.index()).scripts.keys
        sizes = [
            await topic.broker.store.command("MEMORY", "USAGE", key, key=keys.state) for key in keys.sub("asleep").all()
        ]
        return sum(size or 0 for size in sizes)

    before = await cursor_bytes()
    assert len(await topic.release(due + 20_000)) == 10_000
    assert await cursor_bytes() == before
    for name in ("awake", "asleep"):
        found: list[str] = []
        while some := await topic.received(name, max_records=2_500):
            found += some
        assert found == names
    assert await backlog(topic.broker, "t", "asleep") == 0


# -- DD-58: nothing to switch ------------------------------------------------------------------------------------------


async def test_subscriptions_of_each_kind_use_the_one_index_there_is_before_and_after_a_restart(redis_url, prefix):
    """DD-58: there is no flag, and so nothing to rebuild or to clean; what was pending comes once.  That Pulsar's names
    of the flag take only `true` is tests/unit/app/process/test_settings.py's."""
    async with scheduling(redis_url, prefix) as topic:
        await subscribed(topic, "s")
        await topic.broker.subscriptions.create("t", "e", "exclusive")
        due = topic.in_ms(HOUR_MS)
        names, keys = await topic.fill_buckets(2, due), await topic.delay_keys()
    for released in (names[:20], names[20:]):
        async with scheduling(redis_url, prefix) as topic:
            assert await topic.delay_keys() == keys
            assert await topic.release(due + 195 + (HOUR_MS if released[0] != names[0] else 0)) == released
            assert await topic.received("s") == await topic.received("e") == released
            keys = await topic.delay_keys()
    assert not [key for key in keys if ":snap:" in key]


# -- DD-59: how long an entry lives ------------------------------------------------------------------------------------


async def test_an_entry_leaves_the_index_when_it_fires_however_far_subscriptions_have_read(large):
    """DD-59: bitmaps shrink as well, while no consumer has received anything."""
    topic = large
    await subscribed(topic, "slow")
    due = topic.in_ms(HOUR_MS)
    for number in range(5):
        await topic.fill(2_000, due + number * 10_000, step_ms=1, name=f"{number}.")
    index = await topic.index()

    async def chunks() -> int:
        return int(await topic.broker.store.command("HLEN", index.scripts.delay.live, key=index.scripts.keys.state)) - 1

    assert await eventually(lambda: quiet(topic), True, PATIENCE_S)
    assert await chunks() == 3, "4096 entries each"
    assert len(await topic.release(due + 40_000 - 1)) == 8_000
    assert await chunks() == 2
    assert (await topic.stats()).entries == 2_000
    assert len(await topic.release(due + HOUR_MS)) == 2_000
    assert await chunks() == 0
    assert (await topic.stats())[1:5] == (0, 0, 1, 0), "no records, no entries, the open bucket, nothing loaded"
    assert await backlog(topic.broker, "t", "slow") == 10_000


async def quiet(topic: ScheduledTopic) -> bool:
    """Nothing is being sealed, and there is nothing to seal."""
    state = await (await topic.index()).scripts.state()
    least = topic.broker.config.delayed_delivery_min_index_count_per_bucket
    return state is not None and not state.closing and state.open_entries < least
