"""Transactions that are committed together, through one broker and through another."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger.broker.types import CommittedAll
from redis_ledger.errors import (
    AlreadyAborted,
    CoordinatorNotFound,
    InvalidRequest,
    RequestTooLarge,
    TransactionNotFound,
    UnsupportedTxnAction,
)
from redis_ledger.ids import TxnId
from redis_ledger.store.keys import CoordinatorKeys
from redis_ledger.txn.commit_all import TRANSACTIONS_MAX, CommitNumber
from tests.support.broker import eventually, live_transactions, one, receive_values, records, two, vanish, visible


@pytest.fixture
async def broker(redis_url, prefix):
    async with one(redis_url, prefix, coordinators=4) as broker:
        await broker.topics.create("t", 2)
        yield broker


async def written(broker, *values, name="job", **more):
    """A transaction for each value."""
    txns = []
    for n, value in enumerate(values):
        txn = (await broker.transactions.begin(together=name, **more)).id
        await broker.records.produce("t", records(value, partition=n % 2), transaction=txn)
        txns.append(txn)
    return txns


async def test_transactions_begun_together_are_at_one_coordinator_and_commit_in_one_step(broker):
    txns = await written(broker, "a", "b", "c")
    assert len({txn.coordinator for txn in txns}) == 1
    assert await visible(broker, "t") == {}
    assert await broker.transactions.commit_all(txns, CommitNumber("job", 3)) == CommittedAll("committed", 3)
    assert await visible(broker, "t") == {0: ["a", "c"], 1: ["b"]}
    assert await broker.transactions.together.number("job") == 3
    assert await eventually(lambda: live_transactions(broker), 0) == 0
    assert [(await broker.transactions.get(txn)).status for txn in txns] == ["committed"] * 3


async def test_names_spread_over_the_coordinators_and_other_transactions_too(broker):
    begin = broker.transactions.begin
    assert len({(await begin(together=f"job {n}")).id.coordinator for n in range(40)}) == 4
    for _ in range(3):
        await begin(together="job")
    assert {(await begin()).id.coordinator for _ in range(4)} == {0, 1, 2, 3}


async def test_a_nonce_finds_the_transaction_that_was_begun_together(broker):
    first = await broker.transactions.begin(nonce="n1", together="job")
    assert (await broker.transactions.begin(nonce="n1", together="job")).id == first.id


async def test_if_one_cannot_be_committed_none_is_and_it_is_named(broker):
    txns = await written(broker, "a", "b", "c")
    await broker.transactions.abort(txns[1])
    with pytest.raises(AlreadyAborted, match=str(txns[1])) as caught:
        await broker.transactions.commit_all(txns, CommitNumber("job", 3))
    assert caught.value.facts == {"transaction": str(txns[1])}
    with pytest.raises(TransactionNotFound):
        await broker.transactions.commit_all([txns[0], TxnId(txns[0].coordinator, 10**6)], CommitNumber("job", 3))
    assert await broker.transactions.together.number("job") is None
    # And those that were open still are
    assert await broker.transactions.commit_all([txns[0], txns[2]], CommitNumber("job", 3)) == ("committed", 3)
    assert await visible(broker, "t") == {0: ["a", "c"]}


async def test_a_step_that_was_done_is_not_done_again_and_its_records_are_the_callers_to_abort(broker):
    await broker.transactions.commit_all(await written(broker, "a"), CommitNumber("job", 3))
    again = await written(broker, "a")
    for number in (3, 2):
        assert await broker.transactions.commit_all(again, CommitNumber("job", number)) == ("already", 3)
    assert (await broker.transactions.get(again[0])).status == "open"
    await broker.transactions.abort(again[0])
    assert await visible(broker, "t") == {0: ["a"]}


async def test_one_of_two_concurrent_steps_wins(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t", 2)
        for number in range(10):
            mine, theirs = await written(first, "x", "y"), await written(second, "x", "y")
            once = CommitNumber("job", number)
            answers = await asyncio.gather(
                first.transactions.commit_all(mine, once), second.transactions.commit_all(theirs, once)
            )
            assert sorted(answer.status for answer in answers) == ["already", "committed"]
            losers = theirs if answers[0].status == "committed" else mine
            for txn in losers:
                await first.transactions.abort(txn)
        assert await visible(first, "t") == {0: ["x"] * 10, 1: ["y"] * 10}


async def test_acknowledgements_of_all_of_them_are_settled(broker):
    await broker.subscriptions.create("t", "work")
    await broker.records.produce("t", records("one", partition=0))
    await broker.records.produce("t", records("two", partition=1))
    txns = [(await broker.transactions.begin(together="job")).id for _ in range(2)]
    for txn, message in zip(txns, await receive_values(broker, "t", "work"), strict=True):
        await broker.subscriptions.ack("t", "work", "c1", [message], transaction=txn)
    await broker.transactions.commit_all(txns)
    stats = await broker.subscriptions.stats("t", "work")
    assert [(c.pending, c.leased, c.mark_delete) for c in stats.cursors] == [(0, 0, 1), (0, 0, 1)]


async def test_without_a_number_a_repeated_commit_returns_the_same(broker):
    txns = await written(broker, "a", "b")
    for _ in range(2):
        assert await broker.transactions.commit_all([*txns, txns[0]]) == ("committed", None)
    assert await visible(broker, "t") == {0: ["a"], 1: ["b"]}


async def test_sweep_of_another_broker_applies_a_pending_decision(redis_url, prefix, monkeypatch):
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t", 2)
        txns = await written(first, "a", "b")

        async def nothing(decision):
            await asyncio.sleep(3600)

        monkeypatch.setattr(first.transactions, "finish", nothing)
        assert await first.transactions.commit_all(txns, CommitNumber("job", 1), wait="logged") == ("committing", 1)
        for task in first.transactions._background:
            task.cancel()
        await vanish(first)
        assert await eventually(lambda: live_transactions(second), 0) == 0
        assert await visible(second, "t") == {0: ["a"], 1: ["b"]}


async def test_invalid_requests_commit_nothing(broker):
    commit_all = broker.transactions.commit_all
    txns = await written(broker, "a")
    other = next(n for n in range(4) if n != txns[0].coordinator)
    with pytest.raises(InvalidRequest, match="is not at the coordinator"):
        await commit_all([*txns, TxnId(other, 0)])
    apart = next(f"job {n}" for n in range(100) if broker.transactions.together.coordinator(f"job {n}").number == other)
    with pytest.raises(InvalidRequest, match="is not at the coordinator"):
        await commit_all(txns, CommitNumber(apart, 1))
    with pytest.raises(InvalidRequest, match="Give transactions"):
        await commit_all([])
    with pytest.raises(CoordinatorNotFound):
        await commit_all([TxnId(99, 0)])
    with pytest.raises(RequestTooLarge):
        await commit_all([TxnId(0, n) for n in range(TRANSACTIONS_MAX + 1)])
    with pytest.raises(UnsupportedTxnAction):
        await commit_all(txns, wait="never")
    for wrong in (
        CommitNumber("", 1),
        CommitNumber("x" * 1001, 1),
        CommitNumber("job", -1),
        CommitNumber("job", 2**53 + 1),
    ):
        with pytest.raises(InvalidRequest):
            await commit_all([], wrong)
    assert (await broker.transactions.get(txns[0])).status == "open"


async def test_a_number_outlives_the_outcomes_and_is_forgotten_when_long_unused(redis_url, prefix):
    settings: dict[str, Any] = {
        "ended_status_retention_ms": 0, "ended_status_max_records": 0, "transactional_id_expiration_ms": 60_000,
    }  # fmt: skip
    async with one(redis_url, prefix, coordinators=1, **settings) as broker:
        await broker.topics.create("t", 2)
        await broker.producers.init("a kafka producer", 30_000)
        for number in range(3):
            await broker.transactions.commit_all(await written(broker, "a"), CommitNumber("job", number))
        await broker.transactions.commit_all([], CommitNumber("weird: {name} =*\n", 5))
        await broker.maintenance.expire_transactional_ids()
        assert await broker.transactions.together.number("job") == 2
        assert await broker.transactions.together.number("weird: {name} =*\n") == 5
        assert len(await broker.producers.list_transactions()) == 1
        # When it has not been used for longer than transactional ids are kept
        keys = CoordinatorKeys(prefix, 0)
        await broker.store.command("HSET", keys.ids, "=job", "2 1", key=keys.state)
        await broker.maintenance.expire_transactional_ids()
        assert await broker.transactions.together.number("job") is None
        assert await broker.transactions.together.number("weird: {name} =*\n") == 5


async def test_the_transactions_of_an_owner_are_found_by_how_it_begins(broker):
    ours = await written(broker, "a", "b", owner="job 1 batch 7")
    await written(broker, "c", owner="job 10 batch 1")
    found = await broker.transactions.list("open", owner="job 1 ", limit=5)
    assert [each.id for each in found] == ours
