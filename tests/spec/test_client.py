"""The client's side of a transaction, against real brokers."""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from redis_ledger import AsyncClient, Client, Message, errors
from redis_ledger.broker.types import ExecuteAcks, ExecuteRecords, NewRecord
from redis_ledger.client import TxnState
from redis_ledger.proto.txn_log_pb2 import TransactionLogOp as Op
from redis_ledger.txn import log as txn_log
from tests.support.broker import eventually, one, receive_values, records
from tests.support.threaded_broker import LosesFirstAnswers, threaded_broker


@pytest.fixture
def brokers(redis_url, prefix):
    with threaded_broker(redis_url, prefix) as brokers:
        yield brokers


@pytest.mark.parametrize("begins_at_once", [True, False])
async def test_a_transaction_takes_sends_and_acks_of_many_producers_and_consumers(brokers, begins_at_once):
    """CL-02: the example of PIP-31, with two inputs and three outputs: first aborted, then committed."""
    async with AsyncClient(brokers.urls) as client:
        for name in ("in 1", "in 2", "out 1", "out 2", "out 3"):
            await client.topics.create(name.replace(" ", "-"), partitions=2)
        inputs = [client.consumer(f"in-{n}", f"job-{n}", prefetch=0) for n in (1, 2)]
        outputs = [client.producer(f"out-{n}") for n in (1, 2, 3)]
        for n in (1, 2):
            async with client.producer(f"in-{n}") as producer:
                for partition in (0, 1):
                    await producer.send(f"{n} {partition}", partition=partition)

        async def step(txn):
            values = []
            for consumer in inputs:
                messages: list[Message] = []
                while len(messages) < 2:
                    messages += await consumer.receive(wait_ms=5_000)
                for message in messages:
                    values.append(message.text())
                    for producer in outputs:
                        await producer.send(f"out {message.text()}", txn=txn, partition=message.partition)
                await consumer.ack(messages, txn=txn)
            return sorted(values)

        async def seen():
            return [sorted([m.text() async for m in client.read(f"out-{n}")]) for n in (1, 2, 3)]

        async def backlogs():
            return [(await client.subscriptions.stats(f"in-{n}", f"job-{n}")).backlog for n in (1, 2)]

        values = ["1 0", "1 1", "2 0", "2 1"]
        aborted = client.transaction(timeout_ms=60_000)
        if begins_at_once:
            await aborted.begin()
        assert await step(aborted) == values
        await aborted.abort()
        assert (await seen(), await backlogs()) == ([[]] * 3, [2, 2])
        # When all of it comes again and is committed
        async with client.transaction(timeout_ms=60_000) as txn:
            if begins_at_once:
                await txn.begin()
            assert await step(txn) == values
            assert (await seen(), await backlogs()) == ([[]] * 3, [2, 2])
            if begins_at_once:
                shown = await client.transactions.get(str(txn.id))
                assert (len(shown.partitions), len(shown.subscriptions)) == (6, 4)
        assert (await seen(), await backlogs()) == ([[f"out {value}" for value in values]] * 3, [0, 0])


async def test_each_kind_of_request_whose_answer_is_lost_has_one_effect(brokers):
    """CL-13: begin, send, acknowledge, abort, commit, and all of it in one request."""
    losing = LosesFirstAnswers()
    async with AsyncClient(brokers.urls, http=losing) as client:
        await client.topics.create("in")
        await client.topics.create("out")
        async with client.producer("in") as producer:
            for n in range(3):
                await producer.send(n)
        consumer = client.consumer("in", "job", prefetch=0)
        messages: list[Message] = []
        while len(messages) < 3:
            messages += await consumer.receive(wait_ms=5_000)
        losing.lost.clear()
        txns = [client.transaction() for _ in range(2)]
        for n, txn in enumerate(txns):
            losing.lost.clear()
            await txn.begin()
            await (await txn.send("out", n)).result()
            await txn.ack(consumer, messages[n])
            await (txn.commit() if n else txn.abort())
            kinds = [call.rpartition("/")[2].rpartition(":")[2] for call in losing.lost]
            assert kinds == ["transactions", "records", "ack", "commit" if n else "abort"]
        losing.lost.clear()
        await client.execute(acks=[(consumer, [messages[2]])], records={"out": [2]})
        assert losing.lost == ["POST /v1/transactions:execute"]
        ended = sorted(txn.status for txn in await client.transactions.list())
        assert ended == ["aborted", "committed", "committed"]
        assert [message.json() async for message in client.read("out")] == [1, 2]
        everything = client.read("out", isolation="read_uncommitted")
        assert [message.json() async for message in everything] == [0, 1, 2]
        stats = await client.subscriptions.stats("in", "job")
        assert (stats.backlog, stats.cursors[0].pending) == (1, 0)


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


def test_a_partition_is_registered_before_its_first_record_and_once(redis_url, prefix, monkeypatch):
    """CL-03: 1 000 sends from 10 threads, each with a producer of its own that makes several batches."""
    with threaded_broker(redis_url, prefix, coordinators=1) as brokers:
        (broker,), steps = brokers.brokers, list[str]()
        call, multi, (coordinator,) = broker.store.call, broker.store.multi, broker.coordinators
        submit = coordinator.submit

        def submitted(name, subject, rest="", *, lazy=False):
            future = submit(name, subject, rest, lazy=lazy)
            if name == "add":  # counts when it is answered
                future.add_done_callback(lambda _: steps.append(name))
            return future

        def called(script, keys, args, *, retry=True):
            steps.append(script.name)
            return call(script, keys, args, retry=retry)

        def together(key, commands, **options):
            steps.extend(each.script.name for each in commands if hasattr(each, "script"))
            return multi(key, commands, **options)

        monkeypatch.setattr(coordinator, "submit", submitted)
        monkeypatch.setattr(broker.store, "call", called)
        monkeypatch.setattr(broker.store, "multi", together)
        with Client(brokers.urls) as client:
            client.topics.create("t")
            txn = client.transaction()
            txn.begin()

            def send(thread):
                with client.producer("t") as producer:
                    sendings = [producer.send(f"{thread} {n}", txn=txn) for n in range(100)]
                    for sending in sendings:
                        sending.result()

            with ThreadPoolExecutor(10) as threads:
                list(threads.map(send, range(10)))
            writes = [step for step in steps if step in ("add", "ledger/append")]
            assert writes[0] == "add"
            assert writes.count("add") == 1
            assert writes.count("ledger/append") > 1
            txn.commit()
            found = [(message.value or b"").decode() for message in client.read("t")]
        assert sorted(found) == sorted(f"{thread} {n}" for thread in range(10) for n in range(100))
        assert all(
            found.index(f"{thread} {n}") < found.index(f"{thread} {n + 1}") for thread in range(10) for n in range(99)
        )


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
            codes = [arg for arg in args if arg in ("add", "end")] if script.name == "txn/apply" else []
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
        holds = [place for place, name in enumerate(steps) if name.startswith("cursor/pending_ack")]
        assert holds
        assert steps.index("add") < holds[0]
        await broker.transactions.commit(txn)
        for name in leased:
            (cursor,) = (await broker.subscriptions.stats("t", name)).cursors
            assert (cursor.mark_delete, cursor.pending) == (20, 0)


@pytest.mark.parametrize("how", ["in calls", "as one step"])
async def test_the_steps_of_a_transaction_come_in_the_order_of_pip_31(redis_url, prefix, monkeypatch, how):
    """CL-15: consume, transform, produce on two partitions, as Redis gets it."""
    settings: dict[str, Any] = {"coordinators": 1, "end_overdue_ms": 60_000, "one_call_transactions": False}
    async with one(redis_url, prefix, **settings) as broker:
        await broker.maintenance.close()
        await broker.topics.create("in")
        await broker.topics.create("out", 2)
        await broker.subscriptions.create("in", "s")
        await broker.records.produce("in", records("a"))
        (id_,) = await receive_values(broker, "in", "s")
        (coordinator,) = broker.coordinators
        steps, call, multi, submit = list[str](), broker.store.call, broker.store.multi, coordinator.submit

        def submitted(name, subject, rest="", *, lazy=False):
            """A step of the coordinator counts when it is answered, its completion when it is sent."""
            names = [
                f"add {'partition' if word.count('/') == 2 else 'subscription'}" for word in rest.split() if "/" in word
            ]
            names = [name, *names] if name != "add" else names
            future = submit(name, subject, rest, lazy=lazy)
            if name == "complete":
                steps.extend(names)
            else:
                future.add_done_callback(lambda _: steps.extend(names))
            return future

        def called(script, keys, args, *, retry=True):
            steps.extend([script.name] * (script.name != "txn/apply"))
            return call(script, keys, args, retry=retry)

        def together(key, commands, **options):
            steps.extend(each.script.name for each in commands if hasattr(each, "script"))
            return multi(key, commands, **options)

        monkeypatch.setattr(coordinator, "submit", submitted)
        monkeypatch.setattr(broker.store, "call", called)
        monkeypatch.setattr(broker.store, "multi", together)
        output = [NewRecord(None, b"x", partition=n) for n in (0, 1)]
        if how == "in calls":
            txn = (await broker.transactions.begin()).id
            await broker.records.produce("out", output, transaction=txn)
            await broker.subscriptions.ack("in", "s", "c1", [id_], transaction=txn)
            await broker.transactions.commit(txn)
        else:
            acks = [ExecuteAcks("in", "s", "c1", [id_])]
            executed = await broker.execute.run(acks, [ExecuteRecords("out", output)])
            assert executed.transaction is not None
            txn = executed.transaction

        async def status():
            return (await broker.transactions.get(txn)).status

        assert await eventually(status, "committed") == "committed"
    assert Counter(steps) == {
        "begin": 1, "add partition": 2, "add subscription": 1, "ledger/append": 2, "cursor/pending_ack": 1, "end": 1,
        "txn/end": 3, "complete": 1,
    }  # fmt: skip
    ends = [place for place, step in enumerate(steps) if step == "txn/end"]
    assert steps[0] == "begin"
    assert steps.index("ledger/append") > steps.index("add partition")
    assert steps.index("cursor/pending_ack") > steps.index("add subscription")
    assert steps[ends[0] - 1] == "end"
    assert (steps[-1], ends[-1]) == ("complete", len(steps) - 2)


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
    async with (
        AsyncClient(brokers.urls, http=transport, timeout_ms=1_500) as client,
        AsyncClient(brokers.urls) as other,
    ):
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
