"""Transactions of the SDK, and steps, that are one append: with lost answers, two brokers, and many at once."""

from __future__ import annotations

import asyncio
import threading

import pytest

from redis_ledger import AsyncClient, Client, Record, errors
from redis_ledger.broker.types import ExecuteRecords
from redis_ledger.client import TxnState
from tests.support.broker import live_transactions, one, records, two, values_of, visible
from tests.support.rest import client_of
from tests.support.threaded_broker import LosesFirstAnswers


async def values(client: AsyncClient, topic: str) -> list[str]:
    return [message.text() async for message in client.read(topic, 0, isolation="read_uncommitted")]


async def test_a_commit_whose_first_answer_is_lost_is_repeated_at_another_broker(brokers):
    losing = LosesFirstAnswers()
    async with AsyncClient(brokers.urls, http=losing) as client:
        await client.topics.create("t")
        async with client.transaction() as txn:
            sendings = [await txn.send("t", n) for n in range(10)]
        assert [(await sending.result()).offset for sending in sendings] == list(range(10))
        assert await values(client, "t") == [f"{n}" for n in range(10)]
    assert "POST /v1/topics/t/records" in losing.lost
    assert txn.id is None


async def test_transactions_at_once_are_each_contiguous_and_complete(brokers):
    async with AsyncClient(brokers.urls) as first, AsyncClient(brokers.urls[::-1]) as second:
        await first.topics.create("t")

        async def transact(client: AsyncClient, name: str, number: int) -> None:
            txn = client.transaction()
            for n in range(5):
                await txn.send("t", f"{name}.{number}.{n}")
                await asyncio.sleep(0)
            await (txn.commit() if number % 3 else txn.abort())

        await asyncio.gather(*(transact(c, n, i) for c, n in ((first, "a"), (second, "b")) for i in range(30)))
        found = await values(first, "t")
    groups = [found[at : at + 5] for at in range(0, len(found), 5)]
    assert {group[0].rpartition(".")[0] for group in groups} == {f"{n}.{i}" for n in "ab" for i in range(30) if i % 3}
    assert len(groups) == 40
    assert all(group == [f"{group[0].rpartition('.')[0]}.{n}" for n in range(5)] for group in groups)


def test_the_twin_for_threads_commits_one_partition_from_many_threads(brokers):
    with Client(brokers.urls) as client:
        client.topics.create("t")

        def transact(name: int) -> None:
            for number in range(10):
                with client.transaction() as txn:
                    for n in range(5):
                        txn.send("t", f"{name}.{number}.{n}")
                assert txn.id is None

        threads = [threading.Thread(target=transact, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = [message.text() for message in client.read("t", 0)]
    groups = [found[at : at + 5] for at in range(0, len(found), 5)]
    assert len(groups) == 40
    assert all(group == [f"{group[0].rpartition('.')[0]}.{n}" for n in range(5)] for group in groups)


async def test_a_commit_after_the_topic_was_deleted_continues_on_the_new_one(brokers):
    async with AsyncClient(brokers.urls) as client:
        for round_ in range(2):
            await client.topics.create("t")
            for n in range(3):
                async with client.transaction() as txn:
                    await txn.send("t", f"{round_}.{n}")
            assert await values(client, "t") == [f"{round_}.{n}" for n in range(3)]
            await client.topics.delete("t")


async def test_records_that_are_too_large_for_the_topic_abort(brokers):
    async with AsyncClient(brokers.urls) as client:
        await client.topics.create("t", settings={"batch_bytes_max": 10_000})
        txn = client.transaction()
        await txn.send("t", b"x" * 20_000)
        with pytest.raises(errors.TransactionAbortOnly, match="bytes"):
            await txn.commit()
        assert txn.state is TxnState.ABORTED
        assert await values(client, "t") == []


# -- steps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("server", ["redis_url", "cluster_url"])
async def test_a_step_of_one_batch_is_appended_without_a_transaction(request, server, prefix):
    async with two(request.getfixturevalue(server), prefix) as (first, second):
        await first.topics.create("t", 2)
        for number, broker in enumerate((first, second, first)):
            done = await broker.execute.run([], [ExecuteRecords("t", records(f"{number}", "x", partition=1))])
            assert done.transaction is None
            assert [(a.partition, a.base_offset, a.records) for a in done.appended["t"]] == [(1, 2 * number, 2)]
        assert await first.transactions.list() == []
        assert await values_of(second, "t", 1, isolation="read_uncommitted") == ["0", "x", "1", "x", "2", "x"]


async def test_a_step_of_several_batches_or_with_a_nonce_is_a_transaction(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", 2)
        both = [*records("a", partition=0), *records("a", partition=1)]
        done = await broker.execute.run([], [ExecuteRecords("t", both)])
        assert done.transaction is not None
        for _ in range(2):
            named = await broker.execute.run([], [ExecuteRecords("t", records("b", partition=0))], nonce="n")
            assert named.transaction is not None
        assert await visible(broker, "t") == {0: ["a", "b"], 1: ["a"]}


async def test_steps_over_a_recreated_topic_go_to_the_new_one(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second):
        for round_ in ("old", "new"):
            await first.topics.create("t")
            for broker in (first, second):
                assert (await broker.execute.run([], [ExecuteRecords("t", records(round_))])).transaction is None
            assert await visible(first, "t") == {0: [round_, round_]}
            await first.topics.delete("t")
        assert await live_transactions(first) == 0


async def test_the_answer_to_a_step_without_a_transaction_has_no_id(redis_url, prefix):
    body = {"records": [{"topic": "t", "records": [{"value": 1}, {"value": 2}]}]}
    async with one(redis_url, prefix) as broker, client_of(broker) as api:
        await broker.topics.create("t")
        plain = (await api.post("/v1/transactions:execute", json=body)).json()
        keyed = (await api.post("/v1/transactions:execute", json=body, headers={"idempotency-key": "k"})).json()
        again = (await api.post("/v1/transactions:execute", json=body, headers={"idempotency-key": "k"})).json()
    where = {"topic": "t", "partition": 0, "records": 2}
    assert plain == {"status": "committed", "results": [where | {"base_offset": 0}]}
    assert (keyed["results"], "id" in keyed, again) == ([where | {"base_offset": 2}], True, keyed)


async def test_the_sdk_reads_an_answer_without_an_id(brokers):
    async with AsyncClient(brokers.urls) as client:
        done = await client.execute(records={"t": [Record("x")]})  # with a key of its own: a transaction
        assert done.id is not None
        assert done.status == "committed"
