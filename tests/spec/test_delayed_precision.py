"""Times of delayed delivery: never early, in time, complete, for any clocks, failures and bursts."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from redis_ledger.delay.scripts import DelayScripts, Fired
from redis_ledger.errors import StoreUnavailable
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.records.build import encode
from redis_ledger.records.split_by_due import Later, Split
from tests.support.broker import eventually, one, vanish
from tests.support.proxy import proxy
from tests.support.scheduled import (
    BUCKETS,
    HOUR_MS,
    LATE_MS_MAX,
    PATIENCE_S,
    ScheduledTopic,
    Witness,
    scheduling,
)

# -- DD-03: precision --------------------------------------------------------------------------------------------------


async def test_nothing_is_early_by_a_millisecond_and_nothing_is_late(topic):
    """DD-03: due times a few milliseconds apart over a second, in no order, some of them in sealed buckets."""
    rng, start = random.Random(3), topic.in_ms(3_000)
    dues = {f"r{n}": start + rng.randrange(1_000) for n in range(90)}
    for at in range(0, 90, 30):
        await topic.schedule(dict(list(dues.items())[at : at + 30]))
    witness = Witness(topic)
    await witness.watch(90)
    order = sorted(dues.values())
    assert witness.early(order) == []
    assert witness.latest_ms(order) < LATE_MS_MAX
    assert [dues[value] for value in await topic.values()] == order


async def test_due_records_skip_the_index_and_later_ones_wait_even_within_a_tick(redis_url, prefix):
    """DD-03: with a tick of 10 s; strict, so that one millisecond ahead is ahead.  It is two seconds here, for the
    clock goes on."""
    async with scheduling(redis_url, prefix, topic_settings={"delayed_delivery_tick_time_ms": 10_000}) as topic:
        now = topic.in_ms(0)
        assert await topic.schedule({"long ago": 1, "just now": now - 1, "now": now}) == {}
        assert (await topic.values(), await topic.waiting()) == (["long ago", "just now", "now"], 0)
        witness, due = Witness(topic), topic.in_ms(2_000)
        assert set(await topic.schedule({"in two seconds": due})) == {"in two seconds"}
        await witness.watch(4)
        assert witness.early([0, 0, 0, due]) == []


# -- DD-04: as often as without delay ----------------------------------------------------------------------------------


async def test_everything_comes_exactly_once_through_restarts_merges_rebuilds_and_clears(redis_url, prefix):
    """DD-04: 3 000 random delays instead of 100 000; two brokers of which one is killed and replaced again and again,
    buckets of 100 with at most 3 of them, indexes made anew under way.  Of the second partition, cleared in between,
    what was not cancelled comes."""
    rng, small = random.Random(4), {
        **BUCKETS, "delayed_delivery_min_index_count_per_bucket": 100, "delayed_delivery_max_num_buckets": 3,
        "delayed_delivery_max_indexes_per_segment": 20, "delayed_delivery_fire_chunk": 50,
    }  # fmt: skip
    async with scheduling(redis_url, prefix, partitions=2, **small) as topic:
        sent: tuple[list[str], list[str]] = ([], [])
        cancelled = 0
        for life in range(5):
            async with one(redis_url, prefix, name=f"b{life}", **small) as mortal:
                start = topic.in_ms(0)
                for number in range(10):
                    partition = number % 2
                    dues = {f"{life}.{number}.{n}": start + rng.randrange(500, 6_000) for n in range(60)}
                    through = topic if rng.random() < 0.5 else ScheduledTopic(mortal, "t")
                    await through.schedule(dues, partition=partition)
                    sent[partition].extend(dues)
                await topic.broker.delayed.rebuild("t", life % 2)
                if life == 3:
                    cancelled = await topic.broker.delayed.clear("t", 1)
                await asyncio.sleep(0.5)
                await vanish(mortal)

        async def left():
            return await topic.waiting()

        assert await eventually(left, 0, PATIENCE_S) == 0
        first, second = Counter(await topic.values(0)), Counter(await topic.values(1))
        assert first == Counter(sent[0])
        assert second <= Counter(sent[1])
        assert second.total() + cancelled == len(sent[1])
        assert cancelled > 0


async def test_entry_in_the_live_bits_only_is_recovered(topic):
    """DD-04: the defect of Pulsar's issue 26230: it is in no sorted set and no snapshot, and its time has passed."""
    due = topic.in_ms(HOUR_MS)
    lost = (await topic.schedule({"lost": due, "other": due + 1}))["lost"].entry
    index = await topic.index()
    removed = await topic.broker.store.command(
        "ZREMRANGEBYSCORE", index.scripts.delay.open, due, due, key=index.scripts.keys.state
    )
    assert ((await index.storage.live([lost])).holds(lost), removed) == (True, 1)
    assert await topic.release(due + 1) == ["other"]
    await topic.broker.delayed.rebuild("t")
    assert await topic.release(due + 1) == ["lost"]
    assert await topic.waiting() == 0


# -- DD-08: a store that fails -----------------------------------------------------------------------------------------


async def test_a_store_that_fails_at_the_moment_of_release_loses_nothing_and_delays_nothing_again(redis, prefix):
    """DD-08: the connection to Redis is cut when the records are due, for half a second."""
    async with proxy("127.0.0.1", redis.port) as link:
        async with scheduling(link.url, prefix) as topic, one(redis.url, prefix, name="looks on") as reader:
            other = ScheduledTopic(reader, "t")
            await reader.delayed.close()  # only the broker behind the proxy releases
            due = topic.in_ms(4_000)
            values = await topic.fill(10, due, step_ms=0)
            await link.refuse()
            await asyncio.sleep(max(0, due - topic.in_ms(0)) / 1000 + 0.5)
            assert await other.values() == []
            await link.accept_again()
            assert await other.seen(10, within_s=30.0) == values


async def test_a_release_that_fails_is_tried_again_soon(topic, monkeypatch):
    """DD-08: Redis refuses the first three attempts, and the link to it stays."""
    index, refused = await topic.index(), list[int]()

    async def fire(most: int) -> Fired:
        if len(refused) < 3:
            refused.append(most)
            raise StoreUnavailable("LOADING")
        return await DelayScripts.fire(index.scripts, most)

    due = topic.in_ms(2_000)
    values = await topic.fill(10, due)
    monkeypatch.setattr(index.scripts, "fire", fire)
    witness = Witness(topic)
    await witness.watch(10)
    assert (await topic.values(), len(refused)) == (values, 3)
    assert 0 <= witness.latest_ms([due + 10 * n for n in range(10)]) < LATE_MS_MAX


async def test_a_reply_that_is_lost_at_release_neither_repeats_nor_loses_it(redis, prefix):
    """DD-08: Redis has released, and the broker does not hear of it."""
    async with proxy("127.0.0.1", redis.port) as link:
        async with scheduling(link.url, prefix) as topic, one(redis.url, prefix, name="looks on") as reader:
            other = ScheduledTopic(reader, "t")
            await reader.delayed.close()
            values = await topic.fill(10, topic.in_ms(3_000))
            link.muted = 100  # every reply on the connections there are is lost, and so on those that follow
            assert await other.seen(1, within_s=30.0)
            link.muted = 0
            link.cut()
            assert await other.seen(10) == values
            assert await topic.waiting() == 0
            assert await other.values() == values


# -- DD-09: a burst ----------------------------------------------------------------------------------------------------


async def test_a_million_records_of_one_instant_are_released_while_another_topic_is_served(
    redis_url, prefix, monkeypatch
):
    """DD-09: in 50 000 entries of 20 records.  What a release must not do is asserted by how often the other topic had
    its turn while it went on: were it one step, that could not be more than once or twice."""
    entries, each, taken, turns = 50_000, 20, list[int](), list[float]()
    async with scheduling(redis_url, prefix, delayed_delivery_fire_chunk=500) as topic:
        await topic.broker.topics.create("other", 1)
        other, due = ScheduledTopic(topic.broker, "other"), topic.in_ms(HOUR_MS)
        partition, index = await topic.broker.catalog.partition("t", 0), await topic.index()
        later = Later(encode([(None, b"x", (), 0)] * each), each, 0, due)
        for _ in range(entries // 1_000):
            await partition.append(AppendRequest(b"", each * 1_000, -1, split=Split(None, [later] * 1_000)))
        assert await topic.waiting() == entries * each

        async def fire_as_if_it_were_due(most: int) -> Fired:
            fired = await DelayScripts.fire(index.scripts, most, due)
            taken.append(fired.taken)
            return fired

        monkeypatch.setattr(index.scripts, "fire", fire_as_if_it_were_due)
        monkeypatch.setattr(topic.broker.delayed.server_clock, "learn", lambda *_: None)
        topic.broker.delayed.trackers.get(partition).wake()
        loop = asyncio.get_running_loop()
        while sum(taken) < entries:
            begun = loop.time()
            await other.schedule({"x": 0})
            turns.append(loop.time() - begun)
            await asyncio.sleep(0)
        head = await partition.offsets.head()
        assert (max(taken), head.stable_offset, await topic.waiting()) == (500, entries * each, 0)
        assert len(turns) >= entries // 500 // 4
        assert sorted(turns)[len(turns) * 99 // 100] < 1.0


# -- DD-14: clocks that jump -------------------------------------------------------------------------------------------


async def test_a_server_clock_that_jumps_an_hour_back_and_forth_loses_nothing_and_releases_nothing_twice(topic):
    """DD-14: the time the release goes by is given to it; the clock is put forward by an hour, back, and forward."""
    now = topic.in_ms(HOUR_MS)
    for minutes in (10, 50, 70, 110):
        await topic.schedule({f"{minutes} min": now + minutes * 60_000})
    assert await topic.release(now + 10 * 60_000) == ["10 min"]
    assert await topic.release(now + 70 * 60_000) == ["50 min", "70 min"]
    assert await topic.release(now + 10 * 60_000) == []
    assert set(await topic.schedule({"20 min": now + 20 * 60_000})) == {"20 min"}
    assert await topic.release(now + 19 * 60_000) == []
    assert await topic.release(now + 20 * 60_000) == ["20 min"]
    assert await topic.release(now + 110 * 60_000) == ["110 min"]
    assert (await topic.waiting(), await topic.values()) == (0, ["10 min", "50 min", "70 min", "20 min", "110 min"])


class ShiftedTime:
    """Redis's time as the broker sees it, shifted; firing goes by Redis's own."""

    def __init__(self, topic: ScheduledTopic, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shift_ms, self._ask = 0, topic.broker.store.everywhere
        monkeypatch.setattr(topic.broker.store, "everywhere", self._everywhere)

    async def _everywhere(self, *args: Any) -> list[Any]:
        answers = await self._ask(*args)
        return [[int(s) + self.shift_ms // 1_000, us] for s, us in answers] if args == ("TIME",) else answers


async def test_a_server_clock_that_jumps_ahead_stops_no_timer(topic, monkeypatch):
    """DD-14: the timer was set for an hour from now, and then it is an hour later."""
    due, shifted = topic.in_ms(500), ShiftedTime(topic, monkeypatch)
    shifted.shift_ms = -HOUR_MS
    await topic.broker.delayed.learn_time()
    await topic.schedule({"a": due})
    shifted.shift_ms = 0
    witness = Witness(topic)
    await witness.watch(1)
    assert witness.early([due]) == []
    assert 0 <= witness.latest_ms([due]) < LATE_MS_MAX


async def test_a_server_clock_that_jumps_back_loses_nothing_and_makes_nothing_early_that_waits(topic, monkeypatch):
    """DD-14: what was thought to be due in half a second is due in an hour; what is due before that is in time."""
    sooner, later, shifted = topic.in_ms(3_000), topic.in_ms(HOUR_MS + 500), ShiftedTime(topic, monkeypatch)
    await topic.schedule({"sooner": sooner})
    shifted.shift_ms = HOUR_MS
    await topic.broker.delayed.learn_time()
    await topic.schedule({"later": later})
    shifted.shift_ms = 0
    witness = Witness(topic)
    await witness.watch(1)
    assert witness.early([sooner]) == []
    assert witness.latest_ms([sooner]) < LATE_MS_MAX
    assert await topic.values() == ["sooner"]
    assert await topic.release(later - 1) == []
    assert await topic.release(later) == ["later"]
