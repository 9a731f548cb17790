"""Delayed records of Kafka clients, by header, over a real socket."""

from __future__ import annotations

import asyncio
import time

import pytest

from redis_ledger.errors import AlreadyDelivered
from redis_ledger.kafka.protocol.messages import incremental_alter_configs_request as alter_configs
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.records.build import encode
from redis_ledger.records.read import decode
from redis_ledger.records.split_by_due import STEP
from tests.support.broker import eventually, one, receive_values, two, values_of, vanish
from tests.support.kafka_batches import fetch, fetched, produce, produced, values
from tests.support.kafka_client import BrokerClient, KafkaClient, listening
from tests.support.kafka_transactional import NEW, OLD, Transactional

INVALID_RECORD, OUT_OF_ORDER = 87, 45
FAR_MS = 3_600_000
PATIENCE_S = 30.0
TOPIC_CONFIG, SET, DELETE = 2, 0, 1


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def at(ms):
    return [("deliver-at", b"%d" % ms)]


def after(ms):
    return [("deliver-after", b"%d" % ms)]


def rows(**headers):
    return [(None, name.encode(), found, now_ms()) for name, found in headers.items()]


@pytest.fixture
async def client(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address, BrokerClient(broker, address) as client:
        await broker.topics.create("t", 2, {"delayed_delivery": 1})
        yield client


async def send(client, given, *, topic="t", **more):
    return produced(await client.ask(produce(topic, encode(given, **more)), 9))


async def read(client, *, topic="t", committed=True, partition=0):
    answer = await client.ask(fetch(topic, partitions=(partition,), committed=committed), 12)
    return values(fetched(answer), committed=committed)


async def first_seen(client, count, topic="t"):
    """Value → when a reader that waits for it saw it first."""
    seen: dict[str, int] = {}
    until = time.monotonic() + PATIENCE_S
    while len(seen) < count and time.monotonic() < until:
        for value in await read(client, topic=topic):
            seen.setdefault(value, now_ms())
        await asyncio.sleep(0.005)
    return seen


async def waiting(client, topic="t"):
    return sum(each.records for each in await client.broker.delayed.counts(topic))


# -- plain producers ---------------------------------------------------------------------------------------------------


async def test_a_batch_of_mixed_due_times_is_delivered_in_parts_none_of_them_early(client):
    due = now_ms() + 2_000
    given = rows(now=[], later=at(due), too=after(1_500), with_it=at(due), past=at(5))
    sent = now_ms()
    answer = await send(client, given)
    assert (answer.error_code, answer.base_offset) == (0, 0)
    early = await read(client)
    assert early == ["now", "past"] or now_ms() >= sent + 1_500
    seen = await first_seen(client, 5)
    assert list(seen) == ["now", "past", "too", "later", "with_it"]
    assert seen["too"] >= sent + 1_500
    assert min(seen["later"], seen["with_it"]) >= due
    assert await values_of(client.broker, "t") == list(seen)


async def test_a_batch_that_is_all_later_is_answered_without_an_offset(client):
    answer = await send(client, rows(a=after(3_000), b=after(3_200)))
    assert (answer.error_code, answer.base_offset) == (0, -1)
    assert (await send(client, rows(c=[]))).base_offset == 0
    assert await read(client) == ["c"]
    assert list(await first_seen(client, 3)) == ["c", "a", "b"]


async def test_every_kind_of_reader_gets_a_record_when_it_is_due(client):
    await client.broker.subscriptions.create("t", "s")
    await send(client, rows(a=after(3_000)))
    async with KafkaClient(client.address) as other:
        polling = asyncio.create_task(other.ask(fetch("t", wait_ms=15_000), 12))
        assert await receive_values(client.broker, "t", "s") == {}
        assert list((await receive_values(client.broker, "t", "s", wait_ms=15_000)).values()) == ["a"]
        assert values(fetched(await polling)) == ["a"]


@pytest.mark.parametrize("compression", range(5))
async def test_compressed_batches_come_apart_too(client, compression):
    due = now_ms() + 3_000
    given = rows(**{f"{n}": at(due + n % 2) if n % 3 else [] for n in range(60)})
    assert (await send(client, given, compression=compression)).base_offset == 0
    assert await read(client) == [f"{n}" for n in range(60) if n % 3 == 0]
    late = [f"{n}" for n in range(60) if n % 3 and n % 2 == 0] + [f"{n}" for n in range(60) if n % 3 and n % 2]
    assert list(await first_seen(client, 60))[20:] == late


async def test_a_large_batch_with_as_many_due_times_arrives_whole_and_in_due_order(client):
    count, due = 3 * STEP, now_ms() + 5_000
    given = rows(**{f"{n}": at(due + (n * 7) % 500) for n in range(count)})
    assert (await send(client, given, compression=4)).base_offset == -1
    assert await waiting(client) == count

    async def arrived():
        return len(await values_of(client.broker, "t"))

    assert await eventually(arrived, count, within_s=PATIENCE_S) == count
    assert await values_of(client.broker, "t") == sorted(
        map(str, range(count)), key=lambda v: (int(v) * 7 % 500, int(v))
    )


async def test_records_of_a_block_arrive_one_by_one(redis_url, prefix):
    async with (
        one(redis_url, prefix, delayed_delivery_block_after_ms=1) as broker,
        listening(broker) as address,
        BrokerClient(broker, address) as client,
    ):
        await broker.topics.create("t", 1, {"delayed_delivery": 1})
        due = now_ms() + 2_000
        given = rows(**{f"{n}": at(due + n) if n % 4 else [] for n in range(200)})
        assert (await send(client, given, compression=3)).base_offset == 0
        assert await read(client) == [f"{n}" for n in range(0, 200, 4)]
        seen = await first_seen(client, 200)
        assert list(seen)[50:] == [f"{n}" for n in range(200) if n % 4]
        assert [value for value, when in seen.items() if int(value) % 4 and when < due + int(value)] == []
        assert await waiting(client) == 0


async def test_headers_key_and_timestamp_arrive_as_they_were_sent(client):
    headers = [("x", b"y"), ("deliver-after", b"PT0.1S"), ("null", None)]
    await send(client, [(b"k", b"v", headers, 77), (None, None, headers, 78)])
    await first_seen(client, 1)
    (found,) = (await client.broker.records.fetch("t", 0, 0)).batches
    assert [tuple(r) for r in decode(found.data)] == [(0, 77, b"k", b"v", headers), (1, 78, None, None, headers)]


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "word"),
    [
        ([("deliver-at", b"soon")], "deliver-at"),
        ([("deliver-at", None)], "deliver-at"),
        ([("deliver-after", b"P1M")], "deliver-after"),
        ([*at(FAR_MS), *after(5)], "both"),
    ],
)
async def test_a_header_that_cannot_be_read_refuses_its_batch_and_nothing_is_written(client, headers, word):
    pid = (await client.ask(InitProducerIdRequest(None, 0), 4)).producer_id
    answer = await send(client, rows(a=[], b=headers), producer_id=pid, epoch=0, sequence=0)
    assert (answer.error_code, answer.base_offset) == (INVALID_RECORD, -1)
    assert word in answer.error_message
    assert (await read(client), await waiting(client)) == ([], 0)
    # Its sequence was not used up
    assert (await send(client, rows(a=[], b=after(FAR_MS)), producer_id=pid, epoch=0, sequence=0)).error_code == 0


async def test_dd_06_a_delay_beyond_the_topics_limit_is_refused_also_in_a_transaction(client):
    await client.broker.topics.grow("t", settings={"delayed_delivery_max_delay_ms": 5_000})
    answer = await send(client, rows(a=after(6_000)))
    assert (answer.error_code, "exceeds" in answer.error_message) == (INVALID_RECORD, True)
    assert (await send(client, rows(a=at(now_ms() + 60_000)))).error_code == INVALID_RECORD
    producer = await Transactional(client, "pay", NEW).init()
    assert (await producer.send_rows("t", rows(a=after(6_000)))).error_code == INVALID_RECORD
    assert (await send(client, rows(a=after(4_000)))).error_code == 0


# -- whose headers count -----------------------------------------------------------------------------------------------


async def configure(client, topic, name, operation, value):
    change = alter_configs.AlterableConfig(name, operation, value)
    resource = alter_configs.AlterConfigsResource(TOPIC_CONFIG, topic, [change])
    answer = await client.ask(alter_configs.IncrementalAlterConfigsRequest([resource], False), 1)
    assert answer.responses[0].error_code == 0


async def test_a_topic_without_the_setting_leaves_headers_alone(client):
    await client.broker.topics.create("plain")
    answer = await send(client, rows(a=after(FAR_MS), b=[("deliver-at", b"whenever")]), topic="plain")
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert await read(client, topic="plain") == ["a", "b"]


async def test_dd_05_the_setting_applies_live_also_at_another_broker(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second), listening(first) as here, listening(second) as there:
        await first.topics.create("t")
        async with BrokerClient(first, here) as client, BrokerClient(second, there) as other:
            assert (await send(other, rows(plain=after(FAR_MS)))).base_offset == 0
            await configure(client, "t", "delayed.delivery", SET, "true")
            await second.catalog.refresh()
            for each in (client, other):
                assert (await send(each, rows(a=after(FAR_MS)))).base_offset == -1
            await configure(client, "t", "delayed.delivery", SET, "false")
            await second.catalog.refresh()
            for n, each in enumerate((client, other), 1):
                assert (await send(each, rows(b=after(FAR_MS)))).base_offset == n
            # What waits goes on waiting
            assert await waiting(client) == 2
            await configure(client, "t", "delayed.delivery", DELETE, None)
            assert (await send(client, rows(c=after(FAR_MS)))).base_offset == 3


# -- idempotent producers ----------------------------------------------------------------------------------------------


async def test_a_batch_that_is_sent_twice_is_scheduled_once_and_answered_alike(client):
    pid = (await client.ask(InitProducerIdRequest(None, 0), 4)).producer_id
    mixed, later = rows(a=[], b=after(3_000), c=after(3_000)), rows(d=after(3_000))
    for _ in range(2):
        answer = await send(client, mixed, producer_id=pid, epoch=0, sequence=0)
        assert (answer.error_code, answer.base_offset) == (0, 0)
    for _ in range(2):
        answer = await send(client, later, producer_id=pid, epoch=0, sequence=3)
        assert (answer.error_code, answer.base_offset) == (0, -1)
    assert await waiting(client) == 3
    assert (await send(client, later, producer_id=pid, epoch=0, sequence=9)).error_code == OUT_OF_ORDER
    assert (await send(client, rows(e=[]), producer_id=pid, epoch=0, sequence=4)).base_offset == 1
    assert list(await first_seen(client, 5)) == ["a", "e", "b", "c", "d"]
    await asyncio.sleep(0.1)  # what would come a second time would come by now
    assert await read(client) == ["a", "e", "b", "c", "d"]


async def test_many_batches_in_flight_keep_their_order(client):
    pid = (await client.ask(InitProducerIdRequest(None, 0), 4)).producer_id
    due = now_ms() + 3_000
    given = [rows(**{f"{n}a": [], f"{n}b": at(due), f"{n}c": at(due + 1)}) for n in range(40)]
    sent = [send(client, each, producer_id=pid, epoch=0, sequence=3 * n) for n, each in enumerate(given)]
    answers = await asyncio.gather(*sent)
    assert [(each.error_code, each.base_offset) for each in answers] == [(0, n) for n in range(40)]
    expected = [f"{n}{part}" for part in "abc" for n in range(40)]
    assert list(await first_seen(client, 120)) == expected


# -- transactions ------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[OLD, NEW], ids=["transaction version 1", "transaction version 2"])
async def producer(client, request):
    return await Transactional(client, "pay", request.param).init()


async def test_a_committed_transaction_delivers_when_due_and_an_aborted_one_never(producer, client):
    due = now_ms() + 3_000
    for name, commit in (("a", True), ("b", False), ("c", True)):
        given = rows(**{f"{name} now": [], f"{name} later": at(due), f"{name} last": after(3_100)})
        assert (await producer.send_rows("t", given)).error_code == 0
        assert await producer.end(commit) == 0
    assert await read(client) == ["a now", "c now"]
    seen = await first_seen(client, 6)
    assert set(seen) == {f"{name} {when}" for name in "ac" for when in ("now", "later", "last")}
    assert min(seen["a later"], seen["c later"]) >= due
    await asyncio.sleep(0.7)  # by now what was aborted would have come
    assert set(await read(client)) == set(seen)
    assert await waiting(client) == 0


async def test_dd_17_what_is_due_before_the_commit_is_visible_at_the_commit(producer, client):
    assert (await producer.send_rows("t", rows(a=after(100)), partition=1)).error_code == 0
    await asyncio.sleep(0.3)  # the delay passes while the transaction is open
    assert await read(client, partition=1) == []
    assert await producer.end() == 0
    assert await eventually(lambda: read(client, partition=1), ["a"]) == ["a"]


async def test_a_transaction_that_only_schedules_holds_up_no_reader(producer, client):
    assert (await producer.send_rows("t", rows(a=after(FAR_MS)))).error_code == 0
    await send(client, rows(plain=[]))
    assert await read(client) == ["plain"]
    assert await producer.end() == 0


@pytest.mark.parametrize("compression", range(5))
async def test_a_compressed_transactional_batch_is_scheduled_as_a_whole(producer, client, compression):
    given = rows(**{f"{n}": after(100) for n in range(50)})
    assert (await producer.send_rows("t", given, compression=compression)).base_offset == -1
    assert await producer.end() == 0
    assert list(await first_seen(client, 50)) == [f"{n}" for n in range(50)]


async def test_a_scheduled_batch_that_comes_after_the_end_is_refused_and_not_kept(client):
    producer = await Transactional(client, "old", OLD).init()
    await producer.send_rows("t", rows(a=after(200)))
    await producer.end()
    late = await producer.send_rows("t", rows(late=after(200)), add=False)
    assert late.error_code == 48
    assert list(await first_seen(client, 1)) == ["a"]
    assert await waiting(client) == 0


@pytest.mark.parametrize("some_now", [True, False])
async def test_a_broker_that_remembers_an_older_transaction_asks_again(redis_url, prefix, some_now):
    """The first broker's copy of the producer's transaction is stale after the second has ended it."""
    async with two(redis_url, prefix) as (first, second), listening(first) as here, listening(second) as there:
        await first.topics.create("t", 1, {"delayed_delivery": 1})
        async with BrokerClient(first, here) as a, BrokerClient(second, there) as b:
            producer = await Transactional(a, "pay", OLD).init()
            for n in range(4):
                producer.client = a
                assert await producer.add("t", 0) == 0
                producer.client = b  # which does not hear of beginnings and ends
                given = rows(**{f"{n} now": []} if some_now else {}, **{f"{n} later": after(4_000)})
                assert (await producer.send_rows("t", given, add=False)).error_code == 0
                producer.client = a
                assert await producer.end() == 0
            expected = [f"{n} now" for n in range(4) if some_now] + [f"{n} later" for n in range(4)]
            assert list(await first_seen(b, len(expected))) == expected


async def test_transaction_half_ended_by_a_killed_broker_is_completed_while_its_producer_continues(redis_url, prefix):
    async with one(redis_url, prefix, end_overdue_ms=300) as second:
        async with one(redis_url, prefix, end_overdue_ms=60_000) as first:
            await first.topics.create("t", 1, {"delayed_delivery": 1})
            async with listening(first) as here, KafkaClient(here) as a:
                producer = await Transactional(a, "pay", OLD).init()
                await producer.send_rows("t", rows(a=[], b=after(100)))
                decided = await first.transactional_ids.end("pay", producer.pid, producer.epoch, True, False)
                assert decided.decision is not None
                await vanish(first)
        async with listening(second) as there, BrokerClient(second, there) as b:
            producer.client = b
            assert (await producer.send_rows("t", rows(c=[], d=after(300)))).error_code == 0
            assert await producer.end(commit=False) == 0
            assert list(await first_seen(b, 2)) == ["a", "b"]
            assert await eventually(lambda: waiting(b), 0) == 0
            assert await values_of(second, "t") == ["a", "b"]


# -- across doors ------------------------------------------------------------------------------------------------------


async def test_records_scheduled_by_kafka_are_listed_and_cancelled_by_rest(producer, client):
    given = rows(**{f"{n}": after(3_000 + n // 4) for n in range(20)})
    await producer.send_rows("t", given)
    assert await producer.end() == 0
    found, more = await client.broker.delayed.list("t", limit=100)
    assert ([each.value for each in found], more) == ([b"%d" % n for n in range(20)], None)
    assert await client.broker.delayed.cancel("t", [each.id for each in found[::2]]) == [None] * 10
    assert list(await first_seen(client, 10)) == [f"{n}" for n in range(1, 20, 2)]
    (refusal,) = await client.broker.delayed.cancel("t", [found[1].id])
    assert isinstance(refusal, AlreadyDelivered)
