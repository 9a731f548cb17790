"""Transactions that are one `transactions:execute`, over a broker of dicts."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from redis_ledger import AsyncClient, Client, errors
from redis_ledger.client import Message, TxnState
from redis_ledger.client._async import step
from tests.support.busy_machine import busy_machine
from tests.support.stub_broker import StubBroker, lost, not_sent

EXECUTE = ("POST", "/v1/transactions:execute")
ORDERS = ("orders", "billing", "me")


@pytest.fixture
def stub():
    return StubBroker(partitions=3)


@pytest.fixture
async def client(stub):
    async with AsyncClient("http://b", http=stub) as client:
        yield client


def visible(stub: StubBroker) -> list[bytes]:
    return [record.value for _, _, record in stub.records]


def leased(offset: int, seconds: float) -> Message:
    return Message("orders", 0, offset, None, b"x", {}, 1, leased_until_s=time.monotonic() + seconds)


async def test_records_and_acknowledgements_are_committed_in_one_request(stub, client):
    async with client.transaction() as txn:
        sendings = [await txn.send(topic, n, partition=n) for topic in "tu" for n in range(2)]
        sendings += [await txn.send("t", b"\xff", key=b"\xfe", partition=1)]
        await txn.ack(ORDERS, ["0:1", "0:2"])
        await txn.ack(ORDERS, "0:2")
        await txn.ack(("orders", "audit"), leased(3, 60))
        assert stub.calls == []
    assert (txn.id, txn.state, stub.txns, stub.calls) == (None, TxnState.COMMITTED, {}, [EXECUTE])
    assert visible(stub) == [b"0", b"1", b"\xff", b"0", b"1"]
    assert [await sending.result() for sending in sendings] == [(0, 0), (1, 0), (0, 0), (1, 0), (1, 1)]
    assert all(sending.is_done() for sending in sendings)
    assert stub.bodies[-1]["acks"] == [
        {"topic": "orders", "subscription": "billing", "consumer": "me", "ids": ["0:1", "0:2"]},
        {"topic": "orders", "subscription": "audit", "consumer": "default", "ids": ["0:3"]},
    ]
    assert 59_000 < stub.bodies[-1]["timeout_ms"] <= 60_000


@pytest.mark.parametrize("how", [lost, not_sent, errors.Draining(), errors.StoreTimeout()])
async def test_a_step_survives_a_failure_and_has_one_effect(stub, client, how):
    stub.fail(*EXECUTE, how)
    async with client.transaction() as txn:
        await txn.send("t", "x", partition=0)
        await txn.ack(ORDERS, "0:1")
    assert (visible(stub), stub.acked, stub.calls) == ([b"x"], ["0:1"], [EXECUTE, EXECUTE])
    assert len(set(stub.keys)) == 1


async def test_steps_have_keys_of_their_own(stub, client):
    for _ in range(2):
        async with client.transaction() as txn:
            await txn.ack(ORDERS, "0:1")
    assert len(set(stub.keys)) == 2


async def test_a_commit_without_an_answer_may_be_called_again_and_has_one_effect(stub):
    async with AsyncClient("http://b", http=stub, timeout_ms=250) as client:
        txn = client.transaction()
        sendings = [await txn.send("t", n, partition=n) for n in range(2)]
        await txn.ack(ORDERS, "0:1")
        for _ in range(500):
            stub.fail(*EXECUTE, lost)
        with pytest.raises(errors.OutcomeUnknown):
            await txn.commit()
        with pytest.raises(errors.OutcomeUnknown):
            await sendings[0].result()
        assert txn.state is TxnState.COMMITTING
        stub.faults.clear()
        await txn.commit()
        assert [await sending.result() for sending in sendings] == [(0, 0), (1, 0)]
    assert (txn.state, visible(stub), stub.acked) == (TxnState.COMMITTED, [b"0", b"1"], ["0:1"])
    assert len(set(stub.keys)) == 1


async def test_a_refusal_after_a_lost_answer_leaves_the_outcome_unknown(stub):
    async with AsyncClient("http://b", http=stub) as client:
        txn = client.transaction()
        await txn.ack(ORDERS, "0:1")
        stub.fail(*EXECUTE, lost)
        stub.fail(*EXECUTE, errors.TopicForbidden())
        with pytest.raises(errors.OutcomeUnknown, match="refused"):
            await txn.commit()
        assert txn.state is TxnState.COMMITTING
        assert stub.count("POST", ":nack") == 0
        await txn.commit()
    assert (txn.state, stub.acked) == (TxnState.COMMITTED, ["0:1"])


async def test_a_commit_is_not_repeated_when_the_broker_may_have_forgotten_its_key(stub, monkeypatch):
    monkeypatch.setattr(step, "KEEP_S", -1)
    async with AsyncClient("http://b", http=stub, timeout_ms=250) as client:
        txn = client.transaction()
        await txn.ack(ORDERS, "0:1")
        for _ in range(500):
            stub.fail(*EXECUTE, lost)
        with pytest.raises(errors.OutcomeUnknown):
            await txn.commit()
        calls = len(stub.calls)
        with pytest.raises(errors.OutcomeUnknown, match="too late"):
            await txn.commit()
        assert len(stub.calls) == calls


async def test_a_commit_that_was_stopped_is_in_doubt(stub, client, monkeypatch):
    started = asyncio.Event()

    async def hang(request):
        started.set()
        await asyncio.sleep(60)

    txn = client.transaction()
    await txn.ack(ORDERS, "0:1")
    with monkeypatch.context() as patched:
        patched.setattr(stub, "handle_async_request", hang)
        committing = asyncio.create_task(txn.commit())
        await started.wait()
        committing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await committing
    stub.fail(*EXECUTE, errors.TransactionConflict())
    with pytest.raises(errors.OutcomeUnknown):
        await txn.commit()
    await txn.commit()
    assert stub.acked == ["0:1"]


async def test_offsets_that_the_broker_does_not_know_any_more_are_unknown(stub, client, monkeypatch):
    """It was killed after the commit, before it stored where the records went."""
    monkeypatch.setattr(step, "split", lambda executed, counts: [{} for _ in counts])
    async with client.transaction() as txn:
        sendings = [await txn.send("t", n, partition=n) for n in range(2)]
    assert [await sending.result() for sending in sendings] == [(0, -1), (1, -1)]


@pytest.mark.parametrize("conflict", [errors.TransactionConflict(), errors.NotYourMessage(), errors.UnknownTopic()])
async def test_a_conflict_aborts_and_returns_the_messages(stub, client, conflict):
    """CL-16"""
    stub.add_messages("a", "b")
    consumer = client.consumer("orders", "billing", prefetch=0)
    messages = await consumer.receive()
    stub.fail(*EXECUTE, conflict)
    txn = client.transaction()
    sending = await txn.send("t", "x", partition=0)
    await txn.ack(consumer, messages)
    with pytest.raises(errors.TransactionAbortOnly) as failed:
        await txn.commit()
    assert failed.value.facts["cause"] == conflict.code
    assert (txn.state, visible(stub), stub.acked) == (TxnState.ABORTED, [], [])
    with pytest.raises(type(conflict)):
        await sending.result()
    assert [message["value"] for message in stub.queue] == ["a", "b"]


async def test_an_abort_returns_the_messages(stub, client):
    """AK-04"""
    stub.add_messages("a", "b")
    consumer = client.consumer("orders", "billing", prefetch=0)
    messages = await consumer.receive()
    txn = client.transaction()
    sending = await txn.send("t", "x", partition=0)
    await txn.ack(consumer, messages[0])
    await txn.ack(("orders", "audit"), "0:7")
    await txn.abort()
    with pytest.raises(errors.TransactionEnded):
        await sending.result()
    assert (txn.state, stub.txns, stub.count("POST", ":nack")) == (TxnState.ABORTED, {}, 2)
    assert [message["value"] for message in stub.queue] == ["a"]
    assert stub.count("POST", ":execute") == 0


async def test_an_abort_whose_subscription_is_gone_has_nothing_to_return(stub, client):
    txn = client.transaction()
    await txn.ack(ORDERS, "0:7")
    stub.fail("POST", ":nack", errors.UnknownSubscription())
    await txn.abort()
    assert txn.state is TxnState.ABORTED


async def test_an_abort_that_could_not_return_the_messages_may_be_called_again(stub):
    async with AsyncClient("http://b", http=stub, timeout_ms=100) as client:
        stub.add_messages("a")
        consumer = client.consumer("orders", "billing", prefetch=0)
        txn = client.transaction()
        await txn.ack(consumer, await consumer.receive())
        for _ in range(500):
            stub.fail("POST", ":nack", not_sent)
        with pytest.raises(errors.Unavailable):
            await txn.abort()
        stub.faults.clear()
        await txn.abort()
        assert (txn.state, len(stub.queue)) == (TxnState.ABORTED, 1)


BEGINS = {
    "a scheduled record": lambda txn: txn.send("t", "later", partition=1, deliver_after=60_000),
    "a cumulative acknowledgement": lambda txn: txn.ack_cumulative(ORDERS, "0:9"),
    "a lease that ends": lambda txn: txn.ack(ORDERS, leased(9, 0.1)),
    "too many ids": lambda txn: txn.ack(ORDERS, [f"0:{n}" for n in range(10, 10_010)]),
    "too many bytes": lambda txn: txn.send("t", b"x" * (1 << 20), partition=1),
    "begin": lambda txn: txn.begin(),
}


@pytest.mark.parametrize("what", BEGINS)
async def test_what_waits_is_sent_in_the_transaction_when_it_begins(stub, client, what):
    async with client.transaction() as txn:
        await txn.send("t", "a", partition=0)
        await txn.send("u", "b", partition=0)
        await txn.ack(ORDERS, ["0:1", "0:2"])
        assert stub.calls == []
        await BEGINS[what](txn)
        assert (str(txn.id), stub.txns["1-0"].acks[:2]) == ("1-0", ["0:1", "0:2"])
        await txn.ack(ORDERS, "0:3")
        assert "0:3" in stub.txns["1-0"].acks
    assert txn.state is TxnState.COMMITTED
    assert {b"a", b"b"} <= set(visible(stub))
    assert {"0:1", "0:2", "0:3"} <= set(stub.acked)
    assert (stub.count("POST", ":commit"), stub.count("POST", ":execute")) == (1, 0)


async def test_compressed_records_and_an_acknowledgement_begin(stub, client):
    producer = client.producer("t", compression="gzip")
    async with client.transaction() as txn:
        await producer.send("x", partition=0, txn=txn)
        assert stub.calls == []
        await txn.ack(ORDERS, "0:1")
        assert txn.id is not None
    assert (visible(stub), stub.acked) == ([b"x"], ["0:1"])


@pytest.mark.parametrize(
    ("source", "ids"),
    [(("t", ["s"]), "0:1"), ((7.5, "s"), "0:1"), (("t", "s", b"c"), "0:1"), (("t", ""), "0:1"), (("t", "s"), "x")],
)
async def test_an_acknowledgement_that_cannot_be_sent_fails_at_once(stub, client, source, ids):
    txn = client.transaction()
    with pytest.raises(errors.BadRequest):
        await txn.ack(source, ids)
    with pytest.raises(errors.TransactionAbortOnly):
        await txn.commit()
    assert stub.calls == []


async def test_a_conflict_is_raised_when_the_transaction_begins(stub, client):
    txn = client.transaction()
    sending = await txn.send("t", "x", partition=0)
    await txn.ack(ORDERS, "0:1")
    stub.fail("POST", ":ack", errors.TransactionConflict("Held by 1-9."))
    with pytest.raises(errors.TransactionAbortOnly, match="Held by 1-9"):
        await txn.begin()
    with pytest.raises(errors.TransactionAbortOnly):
        await txn.send("t", "y", partition=0)
    with pytest.raises(errors.TransactionAbortOnly):
        await txn.commit()
    assert (await settled(sending), visible(stub), stub.txns["1-0"].status) == (True, [], "aborted")
    assert stub.count("POST", ":nack") == 1


async def settled(sending) -> bool:
    try:
        await sending.result()
    except errors.LedgerError:
        pass
    return bool(sending.is_done())


async def test_what_is_too_large_for_a_step_of_this_broker_begins_at_the_commit(stub, client):
    stub.fail(*EXECUTE, errors.RequestTooLarge())
    async with client.transaction() as txn:
        sendings = [await txn.send("t", n, partition=n) for n in range(2)]
        await txn.ack(ORDERS, "0:1")
    assert (txn.state, str(txn.id), stub.count("POST", ":commit")) == (TxnState.COMMITTED, "1-0", 1)
    assert (sorted(visible(stub)), stub.acked) == ([b"0", b"1"], ["0:1"])
    assert [await sending.result() for sending in sendings] == [(0, 0), (1, 0)]


async def test_the_fallback_of_a_commit_may_fail_and_be_called_again(stub):
    async with AsyncClient("http://b", http=stub, timeout_ms=100) as client:
        txn = client.transaction()
        await txn.ack(ORDERS, "0:1")
        stub.fail(*EXECUTE, errors.RequestTooLarge())
        for _ in range(500):
            stub.fail("POST", "/transactions", not_sent)
        with pytest.raises(errors.Unavailable):
            await txn.commit()
        stub.faults.clear()
        await txn.commit()
    assert (txn.state, stub.acked) == (TxnState.COMMITTED, ["0:1"])


async def test_it_begins_before_a_lease_ends(stub, client):
    txn = client.transaction()
    await txn.send("t", "x", partition=0)
    await txn.ack(ORDERS, leased(1, 30))
    await asyncio.sleep(0.01)  # the worker waits for the end of that lease
    began_s = time.monotonic()
    async with busy_machine() as machine:
        await txn.ack(ORDERS, leased(2, 0.6))
        while txn.id is None:
            await asyncio.sleep(0.01)
        assert 0.25 < time.monotonic() - began_s < 0.6 + machine.lost_s
    await txn.commit()
    assert (stub.acked, visible(stub)) == (["0:1", "0:2"], [b"x"])


async def test_the_end_of_its_time_returns_the_messages(stub, client):
    stub.add_messages("a")
    consumer = client.consumer("orders", "billing", prefetch=0)
    messages = await consumer.receive()
    txn = client.transaction(timeout_ms=100)
    await txn.ack(consumer, messages)
    while not stub.queue:
        await asyncio.sleep(0.01)
    with pytest.raises(errors.InvalidTxnStatus):
        await txn.commit()
    assert (txn.state, stub.txns, stub.acked) == (TxnState.TIMED_OUT, {}, [])


@pytest.mark.parametrize("kind", ["shared", "exclusive"])
async def test_a_consumer_that_is_closed_keeps_what_a_transaction_acknowledges(stub, client, kind):
    stub.add_messages("a", "b")
    async with client.transaction() as txn:
        async with client.consumer("orders", "billing", kind=kind, prefetch=0) as consumer:
            messages = await consumer.receive()
            await txn.ack(consumer, messages[0])
        assert txn.id is not None
    assert stub.acked == ["0:0"]


async def test_no_worker_outlives_the_client(stub):
    async with AsyncClient("http://b", http=stub) as client:
        txn = client.transaction()
        await txn.ack(ORDERS, leased(1, 600))
        await asyncio.sleep(0)
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


def test_the_twin_for_threads_begins_before_a_lease_ends_and_commits_in_one_request(stub):
    with Client("http://b", http=stub) as client:
        first, second = client.transaction(), client.transaction()
        first.send("t", "x", partition=0)
        first.ack(ORDERS, leased(1, 0.6))
        second.ack(ORDERS, "0:2")
        second.commit()
        assert stub.calls == [EXECUTE]
        until_s = time.monotonic() + 5
        while first.id is None and time.monotonic() < until_s:
            time.sleep(0.01)  # until the worker has begun it
        first.commit()
    assert (stub.acked, visible(stub)) == (["0:2", "0:1"], [b"x"])
    assert not [thread for thread in threading.enumerate() if thread.name == "redis-ledger acknowledgements"]
