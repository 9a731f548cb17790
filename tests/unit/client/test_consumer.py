from __future__ import annotations

import asyncio
import signal
import threading
from time import monotonic

import pytest

from redis_ledger import AsyncClient, Client, errors
from redis_ledger.client import retries
from tests.support.busy_machine import wait_for
from tests.support.stub_broker import StubBroker, hurry, lost


@pytest.fixture
def stub():
    stub = StubBroker()
    stub.add_messages(*range(10))
    return stub


@pytest.fixture
async def client(stub):
    async with AsyncClient("http://b", http=stub) as client:
        yield client


async def test_iterating_gives_every_message_in_order_and_ack_says_so(stub, client):
    seen = []
    async with client.consumer("orders", "billing") as consumer:
        async for message in consumer:
            seen.append(message.json())
            await consumer.ack(message)
            if len(seen) == 10:
                break
    assert seen == list(range(10))
    assert stub.acked == [f"0:{n}" for n in range(10)]


async def test_receive_gives_what_is_there_and_nothing_when_the_time_is_up(stub, client):
    async with client.consumer("orders", "billing") as consumer:
        assert len(await consumer.receive(4)) == 4
        assert len(await consumer.receive(100)) == 6
        assert await consumer.receive(100, wait_ms=20) == []


async def test_no_more_is_fetched_ahead_than_asked_for(stub, client):
    async with client.consumer("orders", "billing", prefetch=4) as consumer:
        await consumer.receive(1)
        await asyncio.sleep(0.05)
        assert len(stub.leased) <= 5


async def test_closing_gives_back_at_once_what_was_not_acknowledged(stub, client):
    consumer = client.consumer("orders", "billing", prefetch=10)
    first, _second = await consumer.receive(2)
    await consumer.ack(first)
    await consumer.close()
    assert stub.leased == {}
    assert sorted(message["id"] for message in stub.queue) == [f"0:{n}" for n in range(1, 10)]
    with pytest.raises(errors.ClientClosed) as refused:
        await consumer.receive()
    assert not refused.value.retriable


async def test_a_message_whose_lease_ran_out_while_it_waited_is_not_handed_out(stub, client):
    async with client.consumer("orders", "billing", prefetch=10, ack_timeout_ms=300) as consumer:
        hurry(consumer, 100)
        assert len(await consumer.receive(1)) == 1
        stub.queue.clear()
        await asyncio.sleep(0.35)
        assert await consumer.receive(100, wait_ms=10) == []


async def test_an_error_while_fetching_ahead_is_raised_by_receive_and_the_next_one_tries_again(stub, client):
    stub.fail("POST", ":receive", errors.ConsumerBusy("Held by w2."))
    async with client.consumer("orders", "billing", kind="exclusive") as consumer:
        with pytest.raises(errors.ConsumerBusy):
            await consumer.receive()
        assert len(await consumer.receive()) > 0


async def test_redeliver_unacked_gives_everything_again(stub, client):
    async with client.consumer("orders", "billing", prefetch=0) as consumer:
        assert len(await consumer.receive(100)) == 10
        await consumer.redeliver_unacked()
        assert len(await consumer.receive(100)) == 10


async def test_nack_names_messages_and_delay(stub, client):
    async with client.consumer("orders", "billing", prefetch=0, name="w1") as consumer:
        messages = await consumer.receive(2)
        await consumer.nack(messages, delay_ms=500)
    assert {"consumer": "w1", "ids": ["0:0", "0:1"], "delay_ms": 500} in stub.bodies


async def test_acknowledgements_in_a_transaction_count_when_it_commits(stub, client):
    async with client.consumer("orders", "billing", prefetch=0) as consumer:
        messages = await consumer.receive(3)
        async with client.transaction() as txn:
            await consumer.ack(messages, txn=txn)
            assert stub.acked == []
    assert stub.acked == ["0:0", "0:1", "0:2"]


def test_the_twin_for_threads_receives_and_closes(stub):
    with Client("http://b", http=stub) as client, client.consumer("orders", "billing", prefetch=4) as consumer:
        seen = []
        for message in consumer:
            seen.append(message.json())
            consumer.ack(message)
            if len(seen) == 10:
                break
    assert seen == list(range(10))
    assert stub.leased == {}


@pytest.mark.parametrize("prefetch", [0, 10])
async def test_a_loop_ends_when_another_task_closes_its_consumer(stub, client, prefetch):
    consumer = client.consumer("orders", "billing", prefetch=prefetch)
    seen = []

    async def loop() -> None:
        async for message in consumer:
            seen.append(message.json())
            await consumer.ack(message)

    looping = asyncio.create_task(loop())
    while len(seen) < 10:
        await asyncio.sleep(0.001)
    await consumer.close()
    await wait_for(looping, 10)
    assert seen == list(range(10))


@pytest.mark.parametrize("prefetch", [0, 10])
def test_a_loop_ends_when_another_thread_closes_its_consumer_and_the_message_in_hand_is_acknowledged(stub, prefetch):
    with Client("http://b", http=stub) as client:
        consumer = client.consumer("orders", "billing", prefetch=prefetch)
        seen = []
        for message in consumer:
            seen.append(message.json())
            if len(seen) == 3:
                closing = threading.Thread(target=consumer.close)
                closing.start()
                closing.join()
                # What was fetched ahead is given back, and the message in hand is still this consumer's.
                assert list(stub.leased) == ["0:2"]
            consumer.ack(message)
    assert seen == [0, 1, 2]
    assert stub.acked == ["0:0", "0:1", "0:2"]
    assert stub.leased == {}


def test_a_signal_handler_may_close_a_consumer_in_the_middle_of_anything(stub):
    # Given handlers that close, while the main thread is at any point of its loop
    for delay_s in (0.0005, 0.002, 0.01, 0.05):
        with Client("http://b", http=stub) as client:
            consumer = client.consumer("orders", f"s{delay_s}", prefetch=4)
            before = signal.signal(signal.SIGALRM, lambda *_, closed=consumer: closed.close())
            try:
                signal.setitimer(signal.ITIMER_REAL, delay_s)
                # When it goes on, then the loop ends, and raises nothing
                for message in consumer:
                    consumer.nack(message)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
            assert consumer.is_closed
            assert stub.leased == {}


async def test_close_returns_the_messages_of_an_interrupted_loop(stub, client):
    consumer = client.consumer("orders", "billing", prefetch=10)
    async for message in consumer:
        assert message.id == (0, 0)
        break
    await consumer.close()
    while stub.leased:
        await asyncio.sleep(0.001)
    assert len(stub.queue) == 10


@pytest.mark.parametrize("kind", ["key_shared", "exclusive", "failover"])
async def test_a_consumer_of_other_kinds_than_shared_leaves_when_it_is_closed(stub, client, kind):
    """Another one gets its turn, or its keys, at once."""
    async with client.consumer("orders", "billing", kind=kind) as consumer:
        await consumer.receive(1)
    assert stub.count("POST", ":closeConsumer") == 1


async def test_a_message_that_is_delivered_again_while_it_waits_is_handed_out_once_in_its_place(stub, client):
    async with client.consumer("orders", "billing", kind="exclusive", prefetch=6) as consumer:
        hurry(consumer)
        (first,) = await consumer.receive(1)
        # When the leases of waiting messages end early at the broker, and it delivers them again
        again = [{**stub.leased.pop(f"0:{n}"), "redelivery_count": 1} for n in (4, 5)]
        stub.queue.extendleft(reversed(again))
        messages = await consumer.receive(2)
        while "0:6" not in stub.leased:
            await asyncio.sleep(0.001)
        while len(messages) < 9:
            messages += await consumer.receive(10)
        # Then none comes twice, and the order holds
        assert [first.offset, *(each.offset for each in messages)] == list(range(10))


async def test_what_is_fetched_while_everything_is_returned_is_not_handed_out_as_well(stub, client):
    async with client.consumer("orders", "billing", prefetch=10) as consumer:
        hurry(consumer)
        await consumer.receive(2)
        # When a fetch comes between the steps of the call
        nack = consumer._leases.nack

        async def late(*args, **more) -> None:
            while not len(consumer._prefetching._ahead):
                stub.queue.extend(stub.leased.pop(id) for id in list(stub.leased))
                await asyncio.sleep(0.02)
            await nack(*args, **more)

        consumer._leases.nack = late
        await consumer.redeliver_unacked()
        consumer._leases.nack = nack
        # Then every message comes once more
        messages = [each.offset for _ in range(4) for each in await consumer.receive(100, wait_ms=50)]
        assert sorted(messages) == list(range(10))


async def test_each_attempt_of_a_receive_has_its_number(stub, client):
    """Also after an error that says nothing was done: a part of it may have been."""
    async with client.consumer("orders", "billing", prefetch=0) as consumer:
        await consumer.receive(1)
        stub.bodies.clear()
        stub.fail("POST", ":receive", errors.StoreUnavailable("Redis is down."))
        stub.fail("POST", ":receive", lost)
        await consumer.receive(1)
        await consumer.receive(1)
    second, third, other = (body for body in stub.bodies if "max_records" in body)  # the first was refused
    assert (second["attempt"], third["attempt"]) == (1, 2)
    assert "attempt" not in other
    assert second["request_id"] == third["request_id"] != other["request_id"]


async def test_leases_count_from_the_attempt_that_was_answered(stub, client):
    stub.fail("POST", ":receive", lost)
    async with client.consumer("orders", "billing", prefetch=0, ack_timeout_ms=30_000) as consumer:
        await consumer._create()
        began = monotonic()
        found = await consumer._leases.receive("orders", "billing", consumer.name, 1, 0, 30_000)
        assert found[0].leased_until_s > began + 30 + retries.WAIT_S_FIRST / 2
