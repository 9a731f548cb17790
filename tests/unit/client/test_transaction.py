from __future__ import annotations

import asyncio
import time

import httpx
import pytest

from redis_ledger import AsyncClient, Client, errors
from redis_ledger.client import TxnState
from tests.support.busy_machine import busy_machine
from tests.support.stub_broker import StubBroker, lost


@pytest.fixture
def stub():
    return StubBroker()


@pytest.fixture
async def client(stub):
    async with AsyncClient("http://b", http=stub) as client:
        yield client


class SlowStub(StubBroker):
    """Answers no produce before `released` is set.  held: one has arrived."""

    def __init__(self) -> None:
        super().__init__()
        self.held, self.released = asyncio.Event(), asyncio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/records"):
            self.held.set()
            await self.released.wait()
        return await super().handle_async_request(request)


def visible(stub: StubBroker) -> list[bytes]:
    return [record.value for _, _, record in stub.records]


async def test_leaving_normally_flushes_everything_and_commits(stub, client):
    """CL-07: a thousand sends without waiting for results."""
    async with client.transaction() as txn:
        for n in range(1_000):
            await txn.send("invoices", n)
    assert sorted(int(value) for value in visible(stub)) == list(range(1_000))
    assert txn.state is TxnState.COMMITTED


async def test_an_exception_aborts_and_continues(stub, client):
    """CL-22"""
    txn = client.transaction()

    async def fails() -> None:
        async with txn:
            await (await txn.send("invoices", "x")).result()  # which begins it
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fails()
    assert txn.state is TxnState.ABORTED
    assert [t.status for t in stub.txns.values()] == ["aborted"]
    assert visible(stub) == []


async def test_batches_carry_one_transaction_each(stub, client):
    """CL-06: interleaved sends of two transactions and of none."""
    producer = client.producer("invoices")
    async with client.transaction() as t1, client.transaction() as t2:
        await t1.begin()
        await t2.begin()
        for n in range(30):
            for name, txn in (("t1", t1), ("t2", t2), ("none", None)):
                await producer.send(f"{name} {n}", txn=txn)
    await producer.flush()
    for txn_id, records in stub.batches:
        expected = {str(t1.id): b"t1", str(t2.id): b"t2", None: b"none"}[txn_id]
        assert {record.value.split()[0] for record in records} == {expected}
    assert len(stub.records) == 90


async def test_a_failed_send_turns_commit_into_abort(stub, client):
    """CL-08"""
    stub.fail("POST", "/records", errors.RequestTooLarge("Too large."))
    txn = client.transaction()
    await txn.begin()
    await txn.send("invoices", "big")
    with pytest.raises(errors.TransactionAbortOnly, match="Too large") as failed:
        await txn.commit()
    assert failed.value.facts["cause"] == "request_too_large"
    assert txn.state is TxnState.ABORTED
    assert [t.status for t in stub.txns.values()] == ["aborted"]


async def test_abort_drops_what_is_buffered_and_does_not_wait_for_its_linger(stub, client):
    """CL-09: an hour of linger, and less than 1 s."""
    producer = client.producer("invoices", linger_ms=3_600_000)
    txn = client.transaction()
    await txn.begin()
    sendings = [await producer.send("never", txn=txn, partition=0) for _ in range(100)]
    began_s = time.monotonic()
    async with busy_machine() as machine:
        await txn.abort()
        assert time.monotonic() - began_s < 1 + machine.lost_s
    for sending in sendings:
        with pytest.raises(errors.TransactionEnded):
            await sending.result()
    assert stub.count("POST", "/records") == 0
    assert [t.status for t in stub.txns.values()] == ["aborted"]


async def test_abort_waits_for_what_is_on_its_way_before_it_ends_the_transaction():
    """CL-09"""
    stub = SlowStub()
    async with AsyncClient("http://b", http=stub) as client:
        txn = client.transaction()
        await txn.begin()
        sending = await txn.send("invoices", "on its way")
        result = asyncio.ensure_future(sending.result())
        await stub.held.wait()
        # When it is aborted while a request with a record has no answer
        aborting = asyncio.ensure_future(txn.abort())
        await asyncio.sleep(0.1)  # what it could do would be done in this time
        assert (aborting.done(), stub.count("POST", ":abort")) == (False, 0)
        # Then it ends behind the answer
        stub.released.set()
        await aborting
        assert await result == (0, 0)
    assert [path for _, path in stub.calls][-2:] == ["/v1/topics/invoices/records", f"/v1/transactions/{txn.id}:abort"]
    assert visible(stub) == []


async def test_after_its_deadline_a_transaction_fails_without_a_request(stub, client):
    """CL-11"""
    txn = client.transaction(timeout_ms=20)
    await txn.begin()
    await asyncio.sleep(0.03)
    calls = len(stub.calls)
    for operation in (
        lambda: txn.send("invoices", "x", partition=0),
        lambda: txn.ack(("orders", "billing"), "0:1"),
        txn.commit,
        txn.abort,
    ):
        with pytest.raises(errors.InvalidTxnStatus):
            await operation()
    assert txn.state is TxnState.TIMED_OUT
    assert len(stub.calls) == calls


@pytest.mark.parametrize("end", ["commit", "abort"])
async def test_after_the_end_everything_is_refused(stub, client, end):
    """CL-12"""
    txn = client.transaction()
    await txn.begin()
    await getattr(txn, end)()
    calls = len(stub.calls)
    for operation in (
        lambda: txn.send("invoices", "x", partition=0),
        lambda: txn.ack(("orders", "billing"), "0:1"),
        txn.commit,
        txn.abort,
    ):
        with pytest.raises(errors.InvalidTxnStatus):
            await operation()
    assert len(stub.calls) == calls


async def test_a_conflict_makes_it_abort_only(stub, client):
    """CL-16: the program ignores the conflict."""
    stub.fail("POST", ":ack", errors.TransactionConflict("Held by 1-9."))
    txn = client.transaction()
    await txn.begin()
    await txn.send("invoices", "x")
    with pytest.raises(errors.TransactionConflict):
        await txn.ack(("orders", "billing"), "0:1")
    with pytest.raises(errors.TransactionAbortOnly):
        await txn.send("invoices", "y")
    with pytest.raises(errors.TransactionAbortOnly):
        await txn.commit()
    assert visible(stub) == []
    assert txn.state is TxnState.ABORTED


UNKNOWN, WRONG = errors.TransactionNotFound(), errors.InvalidTxnStatus()
REFUSALS = [
    ("commit", UNKNOWN, "error"),
    ("commit", WRONG, "error"),
    ("commit", errors.AlreadyAborted(), "error"),
    ("commit", errors.TransactionTimedOut(), "error"),
    ("abort", UNKNOWN, "error"),
    ("abort", WRONG, "error"),
    ("abort", errors.AlreadyCommitted(), "error"),
    ("abort", errors.AlreadyAborted(), "aborted"),
    ("abort", errors.TransactionTimedOut(), "aborted"),
]


@pytest.mark.parametrize(("end", "refusal", "state"), REFUSALS)
async def test_an_end_that_the_broker_refuses_is_an_error_for_good_unless_it_was_the_outcome(
    stub, client, end, refusal, state
):
    """CL-10: the error that is raised says which of the outcomes it is."""
    stub.fail("POST", f":{end}", refusal)
    txn = client.transaction()
    await txn.begin()
    if state == "error":
        with pytest.raises(type(refusal)):
            await getattr(txn, end)()
    else:
        await getattr(txn, end)()
    assert txn.state.value == state
    calls = len(stub.calls)
    for again in (txn.commit, txn.abort):
        with pytest.raises(errors.InvalidTxnStatus):
            await again()
    assert len(stub.calls) == calls


@pytest.mark.parametrize(
    ("end", "other", "on_the_way", "over"),
    [("commit", "abort", "committing", "committed"), ("abort", "commit", "aborting", "aborted")],
)
async def test_an_end_without_an_answer_may_be_called_again(stub, end, other, on_the_way, over):
    """CL-10: until it is answered, only the same end is allowed."""
    async with AsyncClient("http://b", http=stub, timeout_ms=250) as client:
        txn = client.transaction()
        assert txn.state.value == "open"
        await txn.begin()
        await (await txn.send("invoices", "x")).result()
        for _ in range(500):
            stub.fail("POST", f":{end}", lost)
        with pytest.raises(errors.OutcomeUnknown):
            await getattr(txn, end)()
        stub.faults.clear()
        assert txn.state.value == on_the_way
        for refused in (getattr(txn, other), lambda: txn.send("invoices", "late")):
            with pytest.raises(errors.InvalidTxnStatus):
                await refused()
        assert txn.state.value == on_the_way
        await getattr(txn, end)()
    assert txn.state.value == over
    assert visible(stub) == ([b"x"] if end == "commit" else [])


async def test_the_exception_of_the_body_is_raised_even_when_aborting_fails_too(stub):
    async with AsyncClient("http://b", http=stub, timeout_ms=250) as client:
        for _ in range(500):
            stub.fail("POST", ":abort", errors.Draining())
        txn = client.transaction()
        await txn.begin()
        with pytest.raises(ZeroDivisionError) as raised:
            async with txn:
                raise ZeroDivisionError
    assert "aborts it at its deadline" in raised.value.__notes__[0]


async def test_another_client_commits_by_id(stub, client):
    """CL-14"""
    txn = client.transaction()
    await (await txn.send("invoices", "x")).result()
    async with AsyncClient("http://b", http=stub) as other:
        await other.resume_transaction(str(txn.id)).commit()
    assert visible(stub) == [b"x"]


async def test_first_operations_at_once_begin_one_transaction(stub, client):
    txn = client.transaction()
    sendings = await asyncio.gather(*(txn.send("invoices", n, partition=n % 2) for n in range(20)))
    await asyncio.gather(*(sending.result() for sending in sendings))
    await txn.commit()
    assert len(stub.txns) == 1
    assert len(visible(stub)) == 20


async def test_a_transaction_without_operations_asks_for_nothing(stub, client):
    txn = client.transaction()
    await txn.commit()
    assert (txn.state, stub.calls) == (TxnState.COMMITTED, [])


async def test_execute_sends_one_request_with_everything(stub, client):
    consumer = client.consumer("orders", "billing", name="w1")
    stub.fail("POST", ":execute", errors.TransactionConflict("No."))
    with pytest.raises(errors.TransactionConflict):
        await client.execute(acks=[(consumer, ["0:1"]), (("a", "b"), "1:2")], records={"invoices": [{"n": 1}, b"\xff"]})
    assert stub.calls == [("POST", "/v1/transactions:execute")]


def test_the_twin_for_threads_commits_and_aborts():
    stub = StubBroker()
    with Client("http://b", http=stub) as client:
        with client.transaction() as txn:
            assert txn.send("invoices", "a") is not None
        aborted = client.transaction()
        with pytest.raises(errors.InvalidRequest), aborted:
            aborted.send("invoices", object())
    assert visible(stub) == [b"a"]
    assert (txn.state, aborted.state) == (TxnState.COMMITTED, TxnState.ABORTED)


@pytest.mark.parametrize("end", ["commit", "abort"])
async def test_a_handle_that_is_over_refuses_without_a_request(end):
    stub = StubBroker()
    async with AsyncClient("http://b", http=stub) as client:
        txn = client.transaction()
        await txn.begin()
        await getattr(txn, end)()
        asked = len(stub.calls)
        for late in (
            lambda: txn.send("another", "v"),
            lambda: client.producer("another").send("v", txn=txn),
            lambda: txn.ack(("orders", "billing"), "0:1"),
            lambda: txn.ack_cumulative(("orders", "billing"), "0:1"),
        ):
            with pytest.raises(errors.InvalidTxnStatus):
                await late()
        assert len(stub.calls) == asked
