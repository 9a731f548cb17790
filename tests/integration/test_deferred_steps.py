"""Transactions of the SDK that are one step: two brokers, lost answers, conflicts, leases that end, aborts."""

from __future__ import annotations

import asyncio
import threading

import pytest

from redis_ledger import AsyncClient, Client, errors
from redis_ledger.client import TxnState
from tests.support.proxy import proxy
from tests.support.threaded_broker import LosesFirstAnswers, threaded_broker

EXECUTE = "POST /v1/transactions:execute"


@pytest.fixture
async def client(brokers):
    async with AsyncClient(brokers.urls) as client:
        await client.topics.create("in", 2)
        await client.topics.create("out", 3)
        yield client


async def fill(client: AsyncClient, *values: str, kind="shared"):
    """Writes to partition 0 of the input, and returns a consumer without prefetch."""
    consumer = client.consumer("in", "work", kind=kind, prefetch=0, start="earliest")
    await consumer.receive(1, wait_ms=0)  # which makes the subscription
    producer = client.producer("in")
    for value in values:
        await producer.send(value, partition=0)
    await producer.flush()
    return consumer


async def outputs(client: AsyncClient) -> list[str]:
    return sorted([message.text() async for message in client.read("out")])


async def backlog(client: AsyncClient) -> int:
    return (await client.subscriptions.stats("in", "work")).backlog


async def step(client: AsyncClient, consumer, messages, *, value: str = "x"):
    """A transaction that has sent to each partition, and acknowledged the messages."""
    txn = client.transaction()
    sendings = [await txn.send("out", f"{value}{n}", partition=n) for n in range(3)]
    await txn.ack(consumer, messages)
    return txn, sendings


async def test_a_step_takes_effect_once_if_its_first_answer_is_lost(brokers, client):
    consumer = await fill(client, "a", "b")
    losing = LosesFirstAnswers()
    async with AsyncClient(brokers.urls, http=losing) as other:
        txn, sendings = await step(other, consumer, await consumer.receive())
        await txn.commit()
        assert [await sending.result() for sending in sendings] == [(0, 0), (1, 0), (2, 0)]
    assert (txn.id, losing.lost) == (None, [EXECUTE])
    assert await outputs(client) == ["x0", "x1", "x2"]
    assert await backlog(client) == 0


async def test_a_commit_that_is_called_again_after_the_time_was_up_takes_effect_once(brokers, client):
    consumer = await fill(client, "a", "b")
    messages = await consumer.receive()
    host, port = brokers.urls[0].removeprefix("http://").split(":")
    async with (
        proxy(host, int(port)) as relay,
        AsyncClient(f"http://127.0.0.1:{relay.port}", timeout_ms=600, attempt_ms=300) as other,
    ):
        txn, sendings = await step(other, consumer, messages)
        relay.muted = 1_000
        with pytest.raises(errors.OutcomeUnknown):
            await txn.commit()
        assert txn.state is TxnState.COMMITTING
        relay.muted = 0
        await txn.commit()
        assert [await sending.result() for sending in sendings] == [(0, 0), (1, 0), (2, 0)]
    assert await outputs(client) == ["x0", "x1", "x2"]
    assert await backlog(client) == 0


async def test_a_message_whose_lease_ended_is_a_conflict(brokers, client):
    """CL-16: the lease ended before the acknowledgement, and another consumer has the message."""
    first = await fill(client, "a", "b")
    async with AsyncClient(brokers.urls[::-1]) as other:
        late = client.consumer("in", "work", prefetch=0, ack_timeout_ms=100, lease_max_ms=0)
        messages = await late.receive()
        await asyncio.sleep(0.15)
        second = other.consumer("in", "work", prefetch=0)
        assert [message.text() for message in await second.receive()] == ["a", "b"]
        txn = client.transaction()
        await txn.send("out", "never", partition=0)
        ids = [message.id for message in messages]  # whose lease is not known, so they wait for the commit
        await txn.ack(late, ids)
        assert txn.id is None
        with pytest.raises(errors.TransactionAbortOnly) as failed:
            await txn.commit()
        assert failed.value.facts["cause"] == errors.NotYourMessage.code
        assert txn.state is TxnState.ABORTED
        # When the message has its lease
        with pytest.raises(errors.NotYourMessage):
            await client.transaction().ack(late, messages)
    assert await outputs(client) == []
    assert await backlog(client) == 2
    await first.close()


async def test_a_conflict_with_another_transaction_aborts_and_returns_the_other_messages(brokers, client):
    """CL-16, AK-05"""
    consumer = await fill(client, "a", "b")
    messages = await consumer.receive()
    async with AsyncClient(brokers.urls[::-1]) as other:
        holder = other.transaction()
        await holder.ack(consumer, messages[0])
        await holder.begin()
        txn, sendings = await step(client, consumer, messages)
        with pytest.raises(errors.TransactionAbortOnly) as failed:
            await txn.commit()
        assert failed.value.facts["cause"] == errors.TransactionConflict.code
        with pytest.raises(errors.TransactionConflict):
            await sendings[0].result()
        assert [message.text() for message in await consumer.receive()] == ["b"]
        await holder.commit()
    assert await outputs(client) == []
    assert await backlog(client) == 1


async def test_an_abort_returns_the_messages_at_once(brokers, client):
    """AK-04"""
    consumer = await fill(client, "a", "b")
    txn, _ = await step(client, consumer, await consumer.receive())
    await txn.abort()
    async with AsyncClient(brokers.urls[::-1]) as other:
        again = await other.consumer("in", "work", prefetch=0).receive()
    assert [(message.text(), message.redelivery_count) for message in again] == [("a", 1), ("b", 1)]
    assert await outputs(client) == []
    assert await client.transactions.list() == []


async def test_only_acknowledgements_of_several_subscriptions(brokers, client):
    consumer = await fill(client, "a", "b")
    audit = client.consumer("in", "audit", prefetch=0, start="earliest")
    async with client.transaction() as txn:
        await txn.ack(consumer, await consumer.receive())
        await txn.ack(audit, (await audit.receive())[:1])
    assert txn.id is None
    assert await backlog(client) == 0
    assert (await client.subscriptions.stats("in", "audit")).backlog == 1


async def test_only_records_of_several_partitions(brokers, client):
    await client.topics.create("more")
    async with client.transaction() as txn:
        sendings = [await txn.send("out", b"\xff\x00", key=b"\xfe", headers={"h": b"\xfd"}, partition=1)]
        sendings += [await txn.send("out", None, key="k", partition=n, timestamp_ms=7) for n in (1, 2)]
        sendings += [await txn.send("more", "y")]
    assert txn.id is None
    assert [await sending.result() for sending in sendings] == [(1, 0), (1, 1), (2, 0), (0, 0)]
    first, second = [message async for message in client.read("out", 1)]
    assert (first.value, first.key, first.headers) == (b"\xff\x00", b"\xfe", {"h": b"\xfd"})
    assert (second.value, second.key, second.timestamp_ms) == (None, b"k", 7)
    assert [message.text() async for message in client.read("more")] == ["y"]


async def test_more_than_one_request_may_carry_is_a_transaction_of_several(brokers, client):
    consumer = await fill(client, "a", "b")
    messages = await consumer.receive()
    async with client.transaction() as txn:
        await txn.ack(consumer, messages)
        for n in range(30):
            await txn.send("out", b"x" * 100_000, partition=n % 3)
        assert txn.id is not None
    assert len(await outputs(client)) == 30
    assert await backlog(client) == 0


async def test_a_broker_with_a_lower_limit_gets_a_transaction_of_several_requests(redis_url, prefix):
    with threaded_broker(redis_url, prefix, records_per_request_max=4) as broker:
        async with AsyncClient(broker.urls) as client:
            await client.topics.create("in", 2)
            await client.topics.create("out", 3)
            consumer = await fill(client, "a", "b")
            txn, sendings = await step(client, consumer, await consumer.receive(2))
            await txn.commit()
            assert txn.id is not None
            assert [await sending.result() for sending in sendings] == [(0, 0), (1, 0), (2, 0)]
            assert await outputs(client) == ["x0", "x1", "x2"]
            assert await backlog(client) == 0


async def test_the_transaction_begins_before_a_lease_ends(brokers, client):
    await fill(client, "a", "b")
    consumer = client.consumer("in", "work", prefetch=0, ack_timeout_ms=1_000)
    async with client.transaction() as txn:
        await txn.ack(consumer, await consumer.receive())
        assert txn.id is None
        await asyncio.sleep(1.2)
        assert txn.id is not None
        async with AsyncClient(brokers.urls[::-1]) as other:
            assert await other.consumer("in", "work", prefetch=0).receive(wait_ms=100) == []
    assert await backlog(client) == 0


@pytest.mark.parametrize("kind", ["shared", "exclusive"])
async def test_a_consumer_that_is_closed_does_not_return_what_a_transaction_acknowledges(brokers, client, kind):
    consumer = await fill(client, "a", "b", kind=kind)
    async with client.transaction() as txn:
        await txn.ack(consumer, (await consumer.receive())[:1])
        await consumer.close()
    assert await backlog(client) == 1


async def test_transactions_at_once_over_one_subscription(brokers, client):
    """CL-19: each message has one output, from tasks at two brokers."""
    consumer = await fill(client, *(f"m{n:03}" for n in range(60)))
    async with AsyncClient(brokers.urls[::-1]) as other:

        async def work(client: AsyncClient, number: int) -> None:
            while messages := await consumer.receive(3, wait_ms=0):
                txn = client.transaction()
                for message in messages:
                    await txn.send("out", message.text(), key=message.text())
                await txn.ack(consumer, messages)
                await (txn.abort() if number == 3 and messages[0].redelivery_count == 0 else txn.commit())

        await asyncio.gather(*(work(each, n) for n, each in enumerate((client, other, client, other))))
        await work(client, 0)  # what the last aborts returned
    assert await outputs(client) == [f"m{n:03}" for n in range(60)]
    assert await backlog(client) == 0


async def test_of_two_at_once_that_acknowledge_one_message_one_is_committed(brokers, client):
    """AK-05: they could share a request."""
    consumer = await fill(client, *(f"m{n}" for n in range(8)))
    messages = await consumer.receive(8)
    work = [await step(client, consumer, message, value=f"{n}.") for n, message in enumerate([*messages, messages[5]])]
    found = await asyncio.gather(*(txn.commit() for txn, _ in work), return_exceptions=True)
    refused = [n for n, error in enumerate(found) if error is not None]
    assert refused in ([5], [8])
    assert isinstance(found[refused[0]], errors.TransactionAbortOnly)
    left = {5, 8} - set(refused)
    assert await outputs(client) == sorted(f"{n}.{p}" for n in [*range(5), 6, 7, *left] for p in range(3))
    assert await backlog(client) == 0
    for number, (_, sendings) in enumerate(work):
        if number not in refused:
            for n, sending in enumerate(sendings):
                offset = (await sending.result()).offset
                [written] = [m async for m in client.read("out", n) if m.offset == offset]
                assert written.text() == f"{number}.{n}"


def test_the_twin_for_threads_commits_steps_from_many_threads(brokers):
    with Client(brokers.urls) as client:
        client.topics.create("in")
        client.topics.create("out", 2)
        consumer = client.consumer("in", "work", prefetch=0)
        consumer.receive(1, wait_ms=0)
        producer = client.producer("in")
        for n in range(40):
            producer.send(f"m{n:02}")
        producer.flush()

        def work() -> None:
            while messages := consumer.receive(4, wait_ms=0):
                with client.transaction() as txn:
                    for message in messages:
                        txn.send("out", message.text(), key=message.text())
                    txn.ack(consumer, messages)
                assert txn.id is None

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = sorted(message.text() for message in client.read("out"))
        assert found == [f"m{n:02}" for n in range(40)]
        assert client.subscriptions.stats("in", "work").backlog == 0
