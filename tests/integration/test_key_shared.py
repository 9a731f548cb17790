"""Subscriptions of the kind key_shared: one consumer at a time for each key, in order (docs/decisions/0046)."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

from redis_ledger import AsyncClient
from redis_ledger.broker.subscriptions import key_windows
from redis_ledger.broker.subscriptions.leasing import Leasing
from redis_ledger.broker.types import Message, NewRecord
from redis_ledger.errors import LedgerError, OutcomeUnknown, SubscriptionExists, WrongSubscriptionKind
from redis_ledger.ledger.leader_epochs import GAP
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from redis_ledger.store.keys import PartitionKeys
from tests.support.broker import one, two
from tests.support.busy_machine import busy_machine
from tests.support.threaded_broker import threaded_broker

SESSION_MS = 1_500
NAMES = [f"k{n}" for n in range(12)]


@pytest.fixture(params=["redis_url", "cluster_url"])
async def pair(request, prefix):
    url = request.getfixturevalue(request.param)
    async with two(url, prefix, consumer_session_ms=SESSION_MS) as brokers:
        yield brokers


async def made(broker, partitions=2, buffer="marker", kind="key_shared"):
    await broker.topics.create("t", partitions, settings={TXN_BUFFER: BUFFERS[buffer]})
    await broker.subscriptions.create("t", "x", kind)


async def send(broker, *keys, **more):
    """One batch; the value of a record is its key and a number."""
    await broker.records.produce("t", [NewRecord(key.encode(), key.encode()) for key in keys], **more)


async def receive(broker, consumer, **more):
    got = await broker.subscriptions.receive("t", "x", consumer, **more)
    return got, [each.key.decode() for each in got]


def polling(broker, name, wait_ms=10_000, **more):
    return asyncio.create_task(broker.subscriptions.receive("t", "x", name, wait_ms=wait_ms, **more))


@pytest.mark.parametrize("buffer", ["marker", "sidecar"])
async def test_keys_are_divided_among_consumers_of_two_brokers(pair, buffer):
    await made(pair[0], buffer=buffer)
    for n, name in enumerate(("a", "b")):
        assert await receive(pair[n], name) == ([], [])
    # Given records of each key, some of them in transactions
    await send(pair[0], *NAMES)
    for outcome in ("commit", "abort", "commit"):
        txn = (await pair[1].transactions.begin()).id
        await send(pair[0], *NAMES, transaction=txn)
        await send(pair[1], *NAMES[:3], transaction=txn)
        await getattr(pair[1].transactions, outcome)(txn)
    found = {}
    for n, name in enumerate(("a", "b")):
        messages, keys = await receive(pair[n], name)
        found[name] = keys
        for partition in (0, 1):
            offsets = [each.id.offset for each in messages if each.id.partition == partition]
            by_key: dict[bytes, list[int]] = {}
            for each in messages:
                if each.id.partition == partition:
                    by_key.setdefault(each.key, []).append(each.id.offset)
            assert all(some == sorted(some) for some in by_key.values()), offsets
    assert set(found["a"]).isdisjoint(found["b"])
    assert sorted(found["a"] + found["b"]) == sorted(NAMES * 3 + NAMES[:3] * 2)


@pytest.fixture(params=["redis_url", "cluster_url"])
async def patient(request, prefix):
    """Two brokers whose polls lease by themselves every ten seconds only."""
    async with two(request.getfixturevalue(request.param), prefix, consumer_session_ms=30_000) as brokers:
        yield brokers


async def test_a_poll_is_woken_by_an_append_and_by_the_acknowledgement_that_frees_its_key(patient):
    pair = patient
    await made(pair[0], partitions=1)
    await send(pair[0], *NAMES)
    held, _ = await receive(pair[0], "a")
    assert len(held) == 12
    # Given a consumer that has joined since: the keys of its slots are all at the first one
    await send(pair[0], *NAMES)
    waiting = polling(pair[1], "b")
    await asyncio.sleep(2.5)  # after the checks that follow every subscription to wake-ups
    assert not waiting.done()
    # When the first one acknowledges its records
    begun = time.monotonic()
    async with busy_machine(pair[1]) as machine:
        await pair[0].subscriptions.ack("t", "x", "a", [each.id for each in held])
        got = await waiting
    assert time.monotonic() - begun < 2.0 + machine.lost_s
    assert got
    # Then an append of one of the keys wakes the next poll
    waiting = polling(pair[1], "b")
    await asyncio.sleep(0.2)
    begun = time.monotonic()
    async with busy_machine(pair[1]) as machine:
        await send(pair[0], got[0].key.decode())
        more = await waiting
    assert time.monotonic() - begun < 1.0 + machine.lost_s
    assert {each.key for each in more} <= {each.key for each in got}


@pytest.mark.parametrize("outcome", ["commit", "abort"])
async def test_a_poll_is_woken_by_the_end_of_a_transaction_that_frees_its_keys(patient, outcome):
    pair = patient
    await made(pair[0], partitions=1)
    await send(pair[0], *NAMES)
    held, _ = await receive(pair[0], "a")
    await send(pair[0], *NAMES)
    waiting = polling(pair[1], "b")
    txn = (await pair[0].transactions.begin()).id
    await pair[0].subscriptions.ack("t", "x", "a", [each.id for each in held], transaction=txn)
    await asyncio.sleep(2.5)  # after the checks that follow every subscription to wake-ups
    assert not waiting.done()
    begun = time.monotonic()
    async with busy_machine(pair[1]) as machine:
        await getattr(pair[0].transactions, outcome)(txn)
        got = await waiting
    assert time.monotonic() - begun < 2.0 + machine.lost_s
    assert min(each.id.offset for each in got) >= (12 if outcome == "commit" else 0)


async def test_a_consumer_that_waits_keeps_its_slots(pair):
    await made(pair[0], partitions=1)
    waiting = polling(pair[0], "a", wait_ms=3 * SESSION_MS)
    await asyncio.sleep(0.1)
    await receive(pair[1], "b")
    await asyncio.sleep(SESSION_MS * 1.5 / 1000)
    await receive(pair[1], "b")  # joins again; the session of the other one has been extended
    await send(pair[1], *NAMES)
    assert 0 < len(await waiting) < 12


async def test_keys_stay_in_order_while_consumers_come_and_go(pair):
    await made(pair[0])
    chance = random.Random(7)
    sent: dict[str, int] = dict.fromkeys(NAMES, 0)
    done: dict[str, list[int]] = {name: [] for name in NAMES}
    is_over = False

    async def consumer(broker, name, most):
        left = most
        while not is_over and left > 0:
            got = await broker.subscriptions.receive("t", "x", name, max_records=5, wait_ms=300)
            failed = set()
            for each in got:
                key, number = each.value.decode().split()
                if key in failed:
                    continue  # it was returned with the one before it
                if chance.random() < 0.1:
                    failed.add(key)
                    await broker.subscriptions.nack("t", "x", name, [each.id])
                    continue
                try:
                    await broker.subscriptions.ack("t", "x", name, [each.id])
                except LedgerError:
                    failed.add(key)
                    continue
                done[key].append(int(number))
                left -= 1
        await broker.subscriptions.close_consumer("t", "x", name)

    async def run(n):
        k = 0
        while not is_over:
            await consumer(pair[n % 2], f"c{n}-{k}", 20)
            k += 1

    running = [asyncio.create_task(run(n)) for n in range(4)]
    for _ in range(40):
        batch = []
        for name in chance.sample(NAMES, 6):
            batch.append(NewRecord(name.encode(), f"{name} {sent[name]}".encode()))
            sent[name] += 1
        await pair[chance.randrange(2)].records.produce("t", batch)
        await asyncio.sleep(0.01)
    deadline = time.monotonic() + 60
    while {name: len(some) for name, some in done.items()} != sent and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    is_over = True
    await asyncio.gather(*running)
    assert done == {name: list(range(count)) for name, count in sent.items()}


async def test_a_dead_letter_makes_room_for_the_next_record_of_its_key(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await made(broker, partitions=1)
        await broker.dead_letters.set("t", "x", 1, "dead")
        await send(broker, "a", "a", "b")
        first, _ = await receive(broker, "c")
        await broker.subscriptions.ack("t", "x", "c", [each.id for each in first[1:]])
        await broker.subscriptions.nack("t", "x", "c", [first[0].id])
        await send(broker, "a")
        got, _ = await receive(broker, "c")
        assert [each.id.offset for each in got] == [3]
        assert (await broker.subscriptions.stats("t", "x")).cursors[0].backlog == 1


async def test_what_an_ordered_subscription_can_do_is_refused(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await made(broker, partitions=1)
        await send(broker, "a")
        got, _ = await receive(broker, "c")
        with pytest.raises(WrongSubscriptionKind, match="key_shared"):
            await broker.subscriptions.ack_cumulative("t", "x", "c", got[0].id)
        with pytest.raises(SubscriptionExists):
            await broker.subscriptions.create("t", "x", "shared")


async def test_a_subscription_that_was_created_again_has_its_new_kind(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await made(broker, partitions=1)
        await send(broker, "a", "b")
        for kind in ("shared", "key_shared", "exclusive", "key_shared"):
            await broker.subscriptions.delete("t", "x")
            await broker.subscriptions.create("t", "x", kind)
            assert len((await receive(broker, "c"))[1]) == 2


async def test_waiting_records_are_limited_and_the_reason_is_returned(redis_url, prefix):
    async with one(redis_url, prefix, key_shared_waiting_max=5) as broker:
        await made(broker, partitions=1)
        for name in ("a", "b"):
            await receive(broker, name)
        await send(broker, *NAMES * 5)
        reasons: set[str] = set()
        got = await broker.subscriptions.receive("t", "x", "a", reasons=reasons)
        assert reasons == {"key_shared_waiting_max"}
        assert len(got) < 30
        others, _ = await receive(broker, "b")
        assert len(others) >= 5


async def test_a_gap_in_the_log_that_is_longer_than_a_window_is_passed(redis_url, prefix):
    """Offsets behind a loss are far above it, and the first window of them has no record."""
    async with one(redis_url, prefix) as broker:
        await made(broker, partitions=1)
        await send(broker, "a")
        assert (await receive(broker, "c"))[1] == ["a"]
        state = PartitionKeys(prefix, "t", 0).state
        for field in ("next", "stable"):
            await broker.store.command("HSET", state, field, 1 + GAP, key=state)
        await send(broker, "b", "c")
        receiving = asyncio.create_task(receive(broker, "c"))
        await asyncio.wait({receiving}, timeout=10)
        assert receiving.done()
        got, keys = receiving.result()
        assert keys == ["b", "c"]
        assert [each.id.offset for each in got] == [1 + GAP, 2 + GAP]


async def test_an_answer_is_in_order_if_a_later_round_gets_earlier_records(redis_url, prefix, monkeypatch):
    """As when another attempt of the request hands them back in between."""
    lease, back = Leasing._lease, list[Message]()

    async def lease_some(*args, **more):
        messages, answer = await lease(*args, **more)
        if back:
            return [*back, *messages], answer
        back.extend(messages[:1])
        return messages[1:], answer._replace(more=True)

    async with one(redis_url, prefix) as broker:
        await made(broker, partitions=1)
        await send(broker, "a", "a", "a")
        await receive(broker, "c", max_records=1)
        await send(broker, "a", "a")
        monkeypatch.setattr(Leasing, "_lease", lease_some)
        got, _ = await receive(broker, "c", max_records=10)
        assert [each.id.offset for each in got] == [1, 2, 3, 4]


async def test_the_sdk_consumes_by_key(redis_url, prefix):
    with threaded_broker(redis_url, prefix) as broker:
        async with AsyncClient(broker.urls) as client:
            await client.topics.create("t", 1)
            async with client.producer("t") as producer:
                for n in range(30):
                    await producer.send(f"{n}", key=NAMES[n % 3])
            async with (
                client.consumer("t", "x", name="a", kind="key_shared") as first,
                client.consumer("t", "x", name="b", kind="key_shared") as second,
            ):
                found: list[str] = []
                for _ in range(20):
                    for consumer in (first, second):
                        for message in await consumer.receive(5, wait_ms=50):
                            found.append(message.text())
                            await consumer.ack(message)
            assert len(found) == 30
            for place in range(3):
                assert [int(n) for n in found if int(n) % 3 == place] == list(range(place, 30, 3))
            assert (await client.subscriptions.stats("t", "x")).kind == "key_shared"


@pytest.mark.parametrize("request_name", ["", "r1"])
async def test_a_lost_reply_of_a_later_window_repeats_no_record(redis_url, prefix, monkeypatch, request_name):
    monkeypatch.setattr(key_windows, "RECORDS_MAX", 3)
    async with one(redis_url, prefix) as broker:
        await made(broker, partitions=1)
        await send(broker, *NAMES)
        calls, call = [], broker.store.call

        async def losing(script, *args, **more):
            reply = await call(script, *args, **more)
            if script.name == "cursor/receive_key_shared":
                calls.append(reply)
                if len(calls) == 4:
                    raise OutcomeUnknown("lost")
            return reply

        monkeypatch.setattr(broker.store, "call", losing)
        got, keys = await receive(broker, "a", max_records=100, request=request_name)
        assert len(calls) > 4
        assert sorted(keys) == sorted(NAMES)
        assert [each.id.offset for each in got] == list(range(len(NAMES)))
