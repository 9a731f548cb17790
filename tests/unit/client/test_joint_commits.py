"""Commits of one client that share a request, over a broker of dicts."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from redis_ledger import AsyncClient, Client, errors
from redis_ledger.client import TxnState
from redis_ledger.client._sync import joint_commits
from tests.support.stub_broker import StubBroker, lost, not_sent

EXECUTE = ("POST", "/v1/transactions:execute")
ORDERS = ("orders", "billing")
TIMEOUT_MS = 20_000


class SlowBroker(StubBroker):
    """Answers after other tasks had a turn; refuses a step that acknowledges a message of `conflicts`."""

    conflicts: frozenset[str] = frozenset()

    async def handle_async_request(self, request):
        await asyncio.sleep(0.01)
        return await super().handle_async_request(request)

    def _execute(self, body):
        if any(self.conflicts.intersection(ack["ids"]) for ack in body["acks"]):
            raise errors.TransactionConflict()
        return super()._execute(body)


@pytest.fixture
def stub():
    return SlowBroker(partitions=2)


@pytest.fixture
async def client(stub):
    async with AsyncClient("http://b", http=stub, timeout_ms=TIMEOUT_MS) as client:
        yield client


@pytest.fixture
async def hasty(stub):
    async with AsyncClient("http://b", http=stub, timeout_ms=400) as client:
        yield client


async def begun(client: AsyncClient, number: int):
    txn = client.transaction()
    sendings = [await txn.send("t", f"{number}.{n}", partition=n % 2) for n in range(3)]
    await txn.ack(ORDERS, f"0:{number}")
    return txn, sendings


async def outcome(txn) -> type[Exception] | None:
    try:
        await txn.commit()
    except errors.LedgerError as error:
        return type(error)
    return None


async def test_commits_at_once_share_requests_and_each_gets_its_offsets(stub, client):
    work = [await begun(client, n) for n in range(50)]
    await asyncio.gather(*(txn.commit() for txn, _ in work))
    assert stub.count("POST", ":execute") == 2
    assert sorted(stub.acked) == sorted(f"0:{n}" for n in range(50))
    written = {(partition, record.value): number for number, (partition, record) in enumerate(placed(stub))}
    for number, (txn, sendings) in enumerate(work):
        assert txn.state is TxnState.COMMITTED
        positions = [await sending.result() for sending in sendings]
        assert [place.partition for place in positions] == [0, 1, 0]
        for n, place in enumerate(positions):
            assert value_at(stub, place) == b"%d.%d" % (number, n)
    assert len(written) == 150


def placed(stub):
    return [(partition, record) for _, partition, record in stub.records]


def value_at(stub, place) -> bytes:
    values: list[bytes] = [record.value for partition, record in placed(stub) if partition == place.partition]
    return values[int(place.offset)]


async def test_a_commit_alone_is_sent_at_once(stub, client):
    for n in range(3):
        txn, _ = await begun(client, n)
        await txn.commit()
    assert [len(body["acks"][0]["ids"]) for body in stub.bodies] == [1, 1, 1]


async def test_two_that_acknowledge_one_message_are_not_joined(stub, client):
    """AK-05"""
    txns = [(await begun(client, n))[0] for n in (1, 7, 7, 8)]
    await asyncio.gather(*(txn.commit() for txn in txns))
    assert [body["acks"][0]["ids"] for body in stub.bodies] == [["0:1"], ["0:7", "0:8"], ["0:7"]]


async def test_only_the_one_that_is_refused_fails(stub, client):
    """CL-16"""
    stub.conflicts = frozenset({"0:7", "0:23"})
    work = [await begun(client, n) for n in range(30)]
    found = await asyncio.gather(*(outcome(txn) for txn, _ in work))
    assert {n for n, error in enumerate(found) if error is errors.TransactionAbortOnly} == {7, 23}
    assert found.count(None) == 28
    assert sorted(stub.acked) == sorted(f"0:{n}" for n in range(30) if n not in (7, 23))
    assert len(stub.records) == 28 * 3
    for number, (_, sendings) in enumerate(work):
        if number not in (7, 23):
            assert value_at(stub, await sendings[1].result()) == b"%d.1" % number


async def test_a_lost_answer_of_several_is_repeated_by_each_of_them(stub, hasty):
    work = [await begun(hasty, n) for n in range(6)]
    for _ in range(500):
        stub.fail(*EXECUTE, lost)
    found = await asyncio.gather(*(outcome(txn) for txn, _ in work))
    assert set(found) == {errors.OutcomeUnknown}
    stub.faults.clear()
    for txn, _ in work[::-1]:
        await txn.commit()
    assert sorted(stub.acked) == [f"0:{n}" for n in range(6)]
    assert len(stub.records) == 18
    for number, (_, sendings) in enumerate(work):
        assert value_at(stub, await sendings[2].result()) == b"%d.2" % number


async def test_several_that_reached_no_broker_may_be_committed_again(stub, hasty):
    work = [await begun(hasty, n) for n in range(6)]
    for _ in range(500):
        stub.fail(*EXECUTE, not_sent)
    assert set(await asyncio.gather(*(outcome(txn) for txn, _ in work))) == {errors.Unavailable}
    stub.faults.clear()
    await asyncio.gather(*(txn.commit() for txn, _ in work))
    assert len(stub.records) == 18


@pytest.mark.parametrize("waited_s", [0.0, 0.015], ids=["waiting", "under way"])
async def test_a_caller_that_is_stopped_takes_no_other_with_it_and_may_commit_again(stub, client, waited_s):
    work = [await begun(client, n) for n in range(6)]
    tasks = [asyncio.create_task(txn.commit()) for txn, _ in work]
    await asyncio.sleep(waited_s)
    for task in (tasks[2], tasks[3]):
        task.cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in found if each is not None] == [asyncio.CancelledError] * 2
    for txn, _ in work[2:4]:
        await txn.commit()
        assert txn.state is TxnState.COMMITTED
    assert sorted(stub.acked) == [f"0:{n}" for n in range(6)]
    assert len(stub.records) == 18


async def test_commits_do_not_wait_for_a_request_that_is_late(stub, client, monkeypatch):
    hanging, handle = asyncio.Event(), stub.handle_async_request

    async def hang_first(request):
        if not stub.calls and not hanging.is_set():
            hanging.set()
            await asyncio.sleep(60)
        return await handle(request)

    monkeypatch.setattr(stub, "handle_async_request", hang_first)
    late = asyncio.create_task((await begun(client, 0))[0].commit())
    await hanging.wait()
    await asyncio.gather(*[(await begun(client, n))[0].commit() for n in range(1, 6)])
    assert not late.done()  # nor is it for TIMEOUT_MS
    assert sorted(stub.acked) == [f"0:{n}" for n in range(1, 6)]
    late.cancel()
    with pytest.raises(asyncio.CancelledError):
        await late


async def test_a_step_that_cannot_be_encoded_fails_alone(stub, client):
    work = [await begun(client, n) for n in range(6)]
    await work[4][0].ack((*ORDERS, "\ud800"), "0:9")
    found = await asyncio.gather(*(outcome(txn) for txn, _ in work))
    assert found == [None, None, None, None, errors.TransactionAbortOnly, None]


def test_the_twin_for_threads_joins_commits(stub, monkeypatch):
    monkeypatch.setattr(joint_commits, "PATIENCE_S", 60.0)
    with Client("http://b", http=stub) as client:
        txns = []
        for n in range(20):
            txn = client.transaction()
            txn.send("t", f"{n}", partition=0)
            txn.ack(ORDERS, f"0:{n}")
            txns.append(txn)
        asked, answering, handle = threading.Event(), threading.Event(), stub.handle_request

        def handle_request(request):
            asked.set()
            answering.wait(60)
            return handle(request)

        stub.handle_request = handle_request
        threads = [threading.Thread(target=txn.commit) for txn in txns]
        threads[0].start()
        assert asked.wait(60)
        for thread in threads[1:]:
            thread.start()
        while len(client._deferral.commits._waiting) < 19:
            time.sleep(0.001)  # nothing says when a thread has begun to wait
        answering.set()
        for thread in threads:
            thread.join()
    assert stub.count("POST", ":execute") == 2
    assert sorted(stub.acked) == sorted(f"0:{n}" for n in range(20))
    assert len(stub.records) == 20
