"""Operations over several partitions while Redis fails for one: it gets an error, and the others proceed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import ExecuteAcks, ExecuteRecords, NewRecord
from redis_ledger.errors import StoreUnavailable
from redis_ledger.ids import MessageId
from tests.support.broker import backlog, eventually, one, receive_values, records, visible
from tests.support.crashing_store import Trouble

ALL = (0, 1, 2)


class Stage(NamedTuple):
    """Topics `in`, with one message in each partition that is leased from subscription s, and `out`."""

    broker: Broker
    trouble: Trouble
    ids: list[MessageId]

    def lose(self, topic: str, number: int) -> None:
        self.trouble.lost.add(f"{{{topic}:{number}}}")


@pytest.fixture
async def stage(redis_url, prefix) -> AsyncIterator[Stage]:
    async with one(redis_url, prefix, redis_timeout_ms=1_000, one_call_transactions=False) as broker:
        for topic in ("in", "out"):
            await broker.topics.create(topic, len(ALL))
        await broker.subscriptions.create("in", "s")
        await broker.records.produce("in", each("input"))
        ids = sorted(await receive_values(broker, "in", "s"))
        trouble = Trouble(broker.store)
        yield Stage(broker, trouble, ids)
        trouble.lost.clear()


def each(value: str) -> list[NewRecord]:
    """One record for every partition."""
    return [record for number in ALL for record in records(value, partition=number)]


@pytest.mark.parametrize("lost", ALL)
async def test_produce_with_a_failed_batch_reports_how_many_were_written(stage, lost):
    stage.lose("out", lost)
    with pytest.raises(StoreUnavailable) as failed:
        await stage.broker.records.produce("out", each("a"))
    assert failed.value.facts["written_batches"] == 2
    stage.trouble.lost.clear()
    assert await visible(stage.broker, "out") == {number: ["a"] for number in ALL if number != lost}


@pytest.mark.parametrize("lost", ALL)
async def test_a_produce_in_a_transaction_fails_when_one_of_its_batches_fails(stage, lost):
    txn = (await stage.broker.transactions.begin()).id
    stage.lose("out", lost)
    with pytest.raises(StoreUnavailable):
        await stage.broker.records.produce("out", each("a"), transaction=txn)
    stage.trouble.lost.clear()
    await stage.broker.transactions.abort(txn)
    assert await visible(stage.broker, "out") == {}


@pytest.mark.parametrize("lost", ALL)
async def test_an_acknowledgement_fails_when_one_partition_fails_and_counts_in_the_others(stage, lost):
    stage.lose("in", lost)
    with pytest.raises(StoreUnavailable):
        await stage.broker.subscriptions.ack("in", "s", "c1", stage.ids)
    stage.trouble.lost.clear()
    assert await backlog(stage.broker, "in", "s") == 1
    assert await stage.broker.subscriptions.ack("in", "s", "c1", [stage.ids[lost]]) == 1
    assert await backlog(stage.broker, "in", "s") == 0


@pytest.mark.parametrize("lost", ALL)
async def test_an_acknowledgement_in_a_transaction_fails_when_one_partition_fails(stage, lost):
    txn = (await stage.broker.transactions.begin()).id
    stage.lose("in", lost)
    with pytest.raises(StoreUnavailable):
        await stage.broker.subscriptions.ack("in", "s", "c1", stage.ids, transaction=txn)
    stage.trouble.lost.clear()
    await stage.broker.transactions.abort(txn)
    assert await backlog(stage.broker, "in", "s") == 3


@pytest.mark.parametrize("lost", ALL)
async def test_a_commit_is_not_answered_before_it_is_applied_to_every_partition(stage, lost):
    txn = (await stage.broker.transactions.begin()).id
    await stage.broker.records.produce("out", each("a"), transaction=txn)
    stage.lose("out", lost)
    with pytest.raises(StoreUnavailable):
        await stage.broker.transactions.commit(txn)
    stage.trouble.lost.clear()
    await stage.broker.transactions.commit(txn)
    assert await visible(stage.broker, "out") == {number: ["a"] for number in ALL}


@pytest.mark.parametrize("topic", ["in", "out"])
@pytest.mark.parametrize("lost", ALL)
async def test_a_step_takes_no_effect_when_one_of_its_parts_fails(stage, topic, lost):
    stage.lose(topic, lost)
    acks, sent = [ExecuteAcks("in", "s", "c1", stage.ids)], [ExecuteRecords("out", each("output"))]
    with pytest.raises(StoreUnavailable):
        await stage.broker.execute.run(acks, sent)
    stage.trouble.lost.clear()
    assert await eventually(lambda: backlog(stage.broker, "in", "s"), 3) == 3
    assert await visible(stage.broker, "out") == {}
    assert [txn.status for txn in await stage.broker.transactions.list() if txn.status == "committed"] == []
    await stage.broker.execute.run(acks, sent)
    assert await visible(stage.broker, "out") == {number: ["output"] for number in ALL}
    assert await backlog(stage.broker, "in", "s") == 0


@pytest.mark.parametrize("lost", ALL)
async def test_expired_transactions_end_while_one_coordinator_cannot_be_reached(redis_url, prefix, lost):
    async with one(redis_url, prefix, coordinators=len(ALL)) as broker:
        txns = [(await broker.transactions.begin(50)).id for _ in ALL]
        assert sorted(txn.coordinator for txn in txns) == list(ALL)
        trouble = Trouble(broker.store)
        trouble.lost = {broker.coordinators.of(txns[lost]).keys.state.decode()}
        reached = [txn for txn in txns if txn != txns[lost]]

        async def ended() -> list[str]:
            return [(await broker.transactions.get(txn)).status for txn in reached]

        assert await eventually(ended, ["aborted", "aborted"], 10) == ["aborted", "aborted"]
        trouble.lost.clear()
        reached = txns
        assert await eventually(ended, ["aborted"] * 3, 10) == ["aborted"] * 3
