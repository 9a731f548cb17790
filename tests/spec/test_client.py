"""The client's side of a transaction, against real brokers."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from redis_ledger import AsyncClient, errors
from redis_ledger.client import TxnState
from redis_ledger.proto.txn_log_pb2 import TransactionLogOp as Op
from redis_ledger.txn import log as txn_log
from tests.support.broker import eventually, one, receive_values, records
from tests.support.served import served


@pytest.fixture
def brokers(redis_url, prefix):
    with served(redis_url, prefix) as brokers:
        yield brokers


@pytest.mark.parametrize(
    ("given", "stored"), [({}, 60_000), ({"timeout_ms": 0}, 60_000), ({"timeout_ms": 7_000}, 7_000)]
)
async def test_a_transaction_has_an_id_once_it_has_begun_and_the_timeout_it_was_given(brokers, given, stored):
    """CL-01"""
    async with AsyncClient(brokers.urls) as client:
        txn = client.transaction(**given)
        assert txn.id is None
        await txn.begin()
        shown = await client.transactions.get(str(txn.id))
        assert (shown.id, shown.status, shown.timeout_ms) == (str(txn.id), "open", stored)
        assert shown.deadline_ms - shown.started_ms == stored
        await txn.abort()


async def test_a_subscription_is_registered_before_its_first_ack_and_once(redis_url, prefix, monkeypatch):
    """CL-05: 40 acknowledgements of one transaction at once, on two subscriptions of one topic."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.topics.create("t")
        await broker.records.produce("t", records(*[str(n) for n in range(20)]))
        leased = {}
        for name in ("s1", "s2"):
            await broker.subscriptions.create("t", name)
            leased[name] = list(await receive_values(broker, "t", name))
        txn = (await broker.transactions.begin()).id
        steps, call = list[str](), broker.store.call

        def noted(script, keys, args, *, retry=True):
            codes = [arg for arg in args if arg in ("a", "e")] if script.name == "txn/apply" else []
            steps.extend(codes or [script.name])
            return call(script, keys, args, retry=retry)

        monkeypatch.setattr(broker.store, "call", noted)
        await asyncio.gather(
            *(
                broker.subscriptions.ack("t", name, "c1", [id_], transaction=txn)
                for name, ids in leased.items()
                for id_ in ids
            )
        )
        keys = broker.coordinators.of(txn).keys
        added = [
            participant.rpartition("/")[2]
            async for placed in txn_log.read(broker.store, keys)
            if placed.record.op == Op.ADD_SUBSCRIPTION
            for participant in placed.record.participants
        ]
        assert sorted(added) == ["s1", "s2"]
        holds = [place for place, name in enumerate(steps) if name.startswith("cursor/hold")]
        assert holds
        assert steps.index("a") < holds[0]
        await broker.transactions.commit(txn)
        for name in leased:
            (cursor,) = (await broker.subscriptions.stats("t", name)).cursors
            assert (cursor.mark_delete, cursor.pending) == (20, 0)


class LosesAnswers(httpx.AsyncBaseTransport):
    """Carries every request to the broker, and loses every answer to a produce."""

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport()
        self.lost = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        if not request.url.path.endswith("/records"):
            return response
        self.lost += 1
        await response.aclose()
        raise httpx.ReadTimeout("no answer", request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def test_a_send_that_times_out_fails_and_leaves_a_transaction_that_can_only_abort(brokers):
    """CL-20: the broker has written the record each time, and no answer arrives."""
    transport = LosesAnswers()
    async with AsyncClient(brokers.urls, http=transport, timeout_ms=300) as client, AsyncClient(brokers.urls) as other:
        await other.topics.create("out")
        txn = client.transaction()
        sending = await txn.send("out", "never")
        with pytest.raises(errors.OutcomeUnknown):
            await sending.result()
        assert transport.lost > 0

        async def written():
            (partition,) = (await other.topics.describe("out")).partition_states
            return partition.end_offset

        assert await eventually(written, 1) == 1
        with pytest.raises(errors.TransactionAbortOnly):
            await txn.commit()
        assert txn.state is TxnState.ABORTED
        async with other.producer("out") as producer:
            await producer.send("behind")
        assert [message.value async for message in other.read("out", 0)] == [b"behind"]
        assert (await other.transactions.get(str(txn.id))).status == "aborted"
