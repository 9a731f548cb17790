"""Transactions whose records wait for the commit, over a broker of dicts."""

from __future__ import annotations

import asyncio
import gc
import threading
import time

import pytest

from redis_ledger import AsyncClient, Client, errors
from redis_ledger.client import TxnState
from tests.support.stub_broker import StubBroker, lost, not_sent


@pytest.fixture
def stub():
    return StubBroker(partitions=3)


@pytest.fixture
async def client(stub):
    async with AsyncClient("http://b", http=stub) as client:
        yield client


def visible(stub: StubBroker) -> list[bytes]:
    return [record.value for _, _, record in stub.records]


def numbers(count: int) -> list[bytes]:
    return [b"%d" % n for n in range(count)]


async def test_a_commit_appends_all_records_in_one_request(stub, client):
    async with client.transaction() as txn:
        sendings = [await txn.send("t", n, partition=1) for n in range(10)]
        assert stub.calls == []
    assert (txn.id, txn.state, stub.txns) == (None, TxnState.COMMITTED, {})
    assert stub.calls == [("POST", "/v1/producers"), ("POST", "/v1/topics/t/records")]
    assert visible(stub) == numbers(10)
    assert [await sending.result() for sending in sendings] == [(1, n) for n in range(10)]
    assert all(sending.is_done() for sending in sendings)


async def test_the_next_commit_uses_the_producer_of_the_one_before(stub, client):
    for n in range(3):
        async with client.transaction() as txn:
            await txn.send("t", n, partition=1)
            await txn.send("t", n, partition=1)
    assert stub.producers == 1
    assert visible(stub) == [b"0", b"0", b"1", b"1", b"2", b"2"]


async def test_commits_at_once_have_a_producer_each(stub, client, monkeypatch):
    handle = stub.handle_async_request

    async def slowly(request):
        await asyncio.sleep(0)  # lets the other requests come
        return await handle(request)

    monkeypatch.setattr(stub, "handle_async_request", slowly)
    txns = [client.transaction() for _ in range(5)]
    for n, txn in enumerate(txns):
        await txn.send("t", n, partition=1)
    await asyncio.gather(*(txn.commit() for txn in txns))
    assert stub.producers == 5
    assert sorted(visible(stub)) == numbers(5)


BEGINS = {
    "a cumulative acknowledgement": lambda txn, first: txn.ack_cumulative(("orders", "billing"), "0:1"),
    "a scheduled record": lambda txn, first: txn.send("t", "later", partition=1, deliver_after=60_000),
    "a record larger than a batch": lambda txn, first: txn.send("t", b"x" * (1 << 20), partition=1),
    "begin": lambda txn, first: txn.begin(),
    "a result": lambda txn, first: first.result(),
}


@pytest.mark.parametrize("what", BEGINS)
async def test_what_waits_is_sent_in_the_transaction_when_it_begins(stub, client, what):
    stub.add_messages("a", "b")
    async with client.transaction() as txn:
        sendings = [await txn.send("t", n, partition=1) for n in range(5)]
        assert stub.calls == []
        await BEGINS[what](txn, sendings[0])
        assert (str(txn.id), len(stub.txns)) == ("1-0", 1)
        sendings += [await txn.send("t", n, partition=1) for n in range(5, 10)]
    assert txn.state is TxnState.COMMITTED
    assert stub.count("POST", ":commit") == 1
    assert [each for each in visible(stub) if len(each) == 1] == numbers(10)
    assert all(where == "1-0" for where, _ in stub.batches)
    assert len({await sending.result() for sending in sendings}) == 10


async def test_more_than_fits_one_batch_begins_the_transaction(stub, client):
    """CL-17"""
    producer = client.producer("t", batch_bytes=1_000)
    async with client.transaction() as txn:
        for n in range(10):
            await producer.send(b"%d" % n + b"x" * 150, partition=0, txn=txn)
    assert len(stub.txns) == 1
    assert [value[:1] for value in visible(stub)] == numbers(10)


async def test_all_transactions_of_a_client_together_keep_a_limited_number_of_bytes(stub, client):
    """CL-17"""
    client._deferral.buffer_bytes = 10_000
    txns = [client.transaction() for _ in range(12)]
    for txn in txns:
        await txn.send("t", b"x" * 900, partition=0)
    assert [txn.id is None for txn in txns] == [True] * 10 + [False] * 2
    for txn in txns:
        await txn.commit()
    assert (client._deferral.bytes_waiting, len(visible(stub))) == (0, 12)


async def test_abandoned_transactions_free_their_bytes(client):
    txns = [client.transaction() for _ in range(3)]
    for txn in txns:
        await txn.send("t", "x", partition=0)
    assert client._deferral.bytes_waiting > 0
    del txns, txn
    gc.collect()
    assert client._deferral.bytes_waiting == 0


async def test_records_without_a_key_stay_in_one_partition_while_they_wait(stub, client):
    for _ in range(20):
        async with client.transaction() as txn:
            for _ in range(6):  # more than a producer sends to one partition before it takes the next
                await txn.send("t", b"x" * 100_000)
    assert stub.txns == {}
    assert len({partition for _, partition, _ in stub.records}) > 1


async def test_a_polled_result_arrives_before_the_commit(stub, client):
    txn = client.transaction()
    sending = await txn.send("t", "x", partition=0)
    while not sending.is_done():
        await asyncio.sleep(0.001)
    assert (await sending.result(), txn.id is None) == ((0, 0), False)
    await txn.commit()


async def test_a_commit_whose_answer_was_lost_appends_once(stub, client):
    stub.fail("POST", "/records", lost)
    async with client.transaction() as txn:
        await txn.send("t", "x", partition=0)
    assert (visible(stub), stub.count("POST", "/records")) == ([b"x"], 2)


async def test_a_commit_without_an_answer_may_be_called_again(stub):
    async with AsyncClient("http://b", http=stub, timeout_ms=250) as client:
        txn = client.transaction()
        sending = await txn.send("t", "x", partition=0)
        for _ in range(500):
            stub.fail("POST", "/records", lost)
        with pytest.raises(errors.OutcomeUnknown):
            await txn.commit()
        with pytest.raises(errors.OutcomeUnknown):
            await sending.result()
        # When another transaction commits in between
        stub.faults.clear()
        async with client.transaction() as other:
            await other.send("t", "y", partition=0)
        assert txn.state.value == "committing"
        await txn.commit()
        # Then the first is there once
        assert await sending.result() == (0, 0)
    assert (txn.state.value, visible(stub), stub.producers) == ("committed", [b"x", b"y"], 2)


async def test_a_commit_that_reached_no_broker_may_be_called_again(stub):
    async with AsyncClient("http://b", http=stub, timeout_ms=250) as client:
        txn = client.transaction()
        await txn.send("t", "x", partition=0)
        for _ in range(500):
            stub.fail("POST", "/records", not_sent)
        with pytest.raises(errors.Unavailable) as failed:
            await txn.commit()
        assert not isinstance(failed.value, errors.OutcomeUnknown)
        stub.faults.clear()
        await txn.commit()
    assert visible(stub) == [b"x"]


@pytest.mark.parametrize(
    "refusal", [errors.RequestTooLarge("Too large."), errors.TopicForbidden(), errors.SequenceGap()]
)
async def test_a_refused_commit_is_an_abort(stub, client, refusal):
    stub.fail("POST", "/records", refusal)
    txn = client.transaction()
    sending = await txn.send("t", "x", partition=0)
    with pytest.raises(errors.TransactionAbortOnly) as failed:
        await txn.commit()
    assert failed.value.facts["cause"] == refusal.code
    with pytest.raises(type(refusal)):
        await sending.result()
    assert (txn.state, visible(stub)) == (TxnState.ABORTED, [])
    async with client.transaction() as following:
        await following.send("t", "y", partition=0)
    assert visible(stub) == [b"y"]


async def test_a_refusal_after_a_lost_answer_leaves_the_outcome_unknown(stub, client):
    stub.fail("POST", "/records", lost)
    stub.fail("POST", "/records", errors.TopicForbidden())
    txn = client.transaction()
    await txn.send("t", "x", partition=0)
    with pytest.raises(errors.OutcomeUnknown):
        await txn.commit()
    assert visible(stub) == [b"x"]
    await txn.commit()
    assert (txn.state, visible(stub)) == (TxnState.COMMITTED, [b"x"])


async def test_an_abort_drops_what_waits_without_a_request(stub, client):
    txn = client.transaction()
    sending = await txn.send("t", "never", partition=0)
    await txn.abort()
    with pytest.raises(errors.TransactionEnded):
        await sending.result()
    assert (txn.state, stub.calls) == (TxnState.ABORTED, [])
    aborted = client.transaction()

    async def fails() -> None:
        async with aborted:
            await aborted.send("t", "never", partition=0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fails()
    assert (aborted.state, stub.calls) == (TxnState.ABORTED, [])


async def test_past_its_timeout_what_waits_fails_without_a_request(stub, client):
    """CL-17"""
    txn = client.transaction(timeout_ms=20)
    sending = await txn.send("t", "never", partition=0)
    await asyncio.sleep(0.03)
    with pytest.raises(errors.InvalidTxnStatus):
        await txn.commit()
    with pytest.raises(errors.TransactionTimedOut):
        await sending.result()
    assert (txn.state, stub.calls) == (TxnState.TIMED_OUT, [])


async def test_a_transaction_that_begins_late_has_what_is_left_of_its_time(stub, client):
    async with client.transaction(timeout_ms=10_000) as txn:
        await txn.send("t", "x", partition=0)
        await asyncio.sleep(0.02)
        await txn.begin()
    [begun] = [body for body in stub.bodies if "timeout_ms" in body]
    assert 1 <= begun["timeout_ms"] <= 9_980


async def test_a_negative_timeout_is_refused(client):
    with pytest.raises(errors.InvalidRequest, match="timeout_ms is -1"):
        client.transaction(timeout_ms=-1)


async def test_an_operation_that_cannot_begin_makes_it_abort_only(stub, client):
    txn = client.transaction()
    sending = await txn.send("t", "x", partition=0)
    stub.fail("POST", "/transactions", errors.TooManyTransactions())
    with pytest.raises(errors.TooManyTransactions):
        await txn.ack_cumulative(("orders", "billing"), "0:1")
    with pytest.raises(errors.TransactionAbortOnly):
        await sending.result()
    with pytest.raises(errors.TransactionAbortOnly):
        await txn.commit()
    assert visible(stub) == []


async def test_a_begin_that_fails_may_be_called_again(stub, client):
    txn = client.transaction()
    await txn.send("t", "x", partition=0)
    stub.fail("POST", "/transactions", errors.TooManyTransactions())
    with pytest.raises(errors.TooManyTransactions):
        await txn.begin()
    await txn.begin()
    await txn.commit()
    assert (visible(stub), len(stub.txns)) == ([b"x"], 1)


async def test_a_result_of_what_waits_in_a_closed_client_is_an_error(stub):
    client = AsyncClient("http://b", http=stub)
    txn = client.transaction()
    sending = await txn.send("t", "x", partition=0)
    await client.close()
    with pytest.raises(errors.LedgerError, match="closed"):
        await sending.result()
    assert visible(stub) == []


async def test_a_commit_that_is_cancelled_may_be_called_again(stub, client, monkeypatch):
    txn = client.transaction()
    sending = await txn.send("t", "x", partition=0)
    handle, arrived = stub.handle_async_request, asyncio.Event()

    async def hangs(request):
        if request.url.path.endswith("/records"):
            await handle(request)
            arrived.set()
            await asyncio.Event().wait()
        return await handle(request)

    monkeypatch.setattr(stub, "handle_async_request", hangs)
    committing = asyncio.create_task(txn.commit())
    await arrived.wait()
    committing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await committing
    with pytest.raises(errors.OutcomeUnknown):
        await sending.result()
    monkeypatch.undo()
    await txn.commit()
    assert (await sending.result(), visible(stub)) == ((0, 0), [b"x"])


async def test_a_failed_batch_that_may_be_written_does_not_lend_its_sequence_to_the_next(stub, client):
    """Outside of transactions: the next batch would count as a duplicate of it."""
    producer = client.producer("t", linger_ms=0)
    stub.fail("POST", "/records", lost)
    stub.fail("POST", "/records", errors.TopicForbidden())
    with pytest.raises(errors.OutcomeUnknown):
        await (await producer.send("first", partition=0)).result()
    await (await producer.send("second", partition=0)).result()
    assert visible(stub) == [b"first", b"second"]


def test_the_twin_for_threads_sends_from_many_threads_into_one_transaction(stub):
    with Client("http://b", http=stub) as client:
        txn = client.transaction()
        threads = [
            threading.Thread(target=lambda: [txn.send("t", "x", partition=0) for _ in range(100)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        txn.commit()
    assert (len(visible(stub)), stub.txns, len(stub.batches)) == (400, {}, 1)


@pytest.mark.parametrize("poll", [True, False])
def test_the_twin_for_threads_begins_when_a_thread_waits_for_a_result(stub, poll):
    with Client("http://b", http=stub) as client, client.transaction() as txn:
        sending = txn.send("t", "x", partition=0)
        while poll and not sending.is_done():
            time.sleep(0.001)  # what a program does that polls
        assert sending.result() == (0, 0)
        assert txn.id is not None
    assert visible(stub) == [b"x"]
