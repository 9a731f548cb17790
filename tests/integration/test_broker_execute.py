"""Execute: a whole step in one call, all or nothing, and once for any number of retries."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.broker.types import ExecuteAcks, ExecuteRecords
from redis_ledger.errors import (
    InvalidRequest,
    LedgerError,
    NotYourMessage,
    RequestInProgress,
    RequestTooLarge,
    StoreTimeout,
    TransactionConflict,
)
from redis_ledger.ids import MessageId
from redis_ledger.txn.coordinator import Participant
from tests.support.broker import (
    backlog,
    eventually,
    live_transactions,
    one,
    outstanding,
    receive_values,
    records,
    two,
    vanish,
    visible,
)

pytestmark = pytest.mark.usefixtures("both_ways")


@pytest.fixture
async def pair(redis_url, prefix):
    async with two(redis_url, prefix) as brokers:
        first = brokers[0]
        await first.topics.create("in")
        for topic in ("left", "right"):
            await first.topics.create(topic, 2)
        await first.subscriptions.create("in", "work")
        await first.records.produce("in", records(*"abcdef"))
        yield brokers


def outputs(*values):
    return [
        ExecuteRecords("left", records(*values, partition=0)),
        ExecuteRecords("right", records(*values, partition=1)),
    ]


def acks(ids, consumer="w"):
    return [ExecuteAcks("in", "work", consumer, ids)]


async def test_a_step_is_visible_as_a_whole_when_it_is_answered(pair):
    """CL-15, TS-10"""
    first, second = pair
    ids = list(await receive_values(first, "in", "work", "w", max_records=3))
    done = await first.execute.run(acks(ids), outputs("A", "B", "C"))
    assert [(a.partition, a.base_offset, a.records) for a in done.appended["left"]] == [(0, 0, 3)]
    assert await visible(second, "left") == {0: ["A", "B", "C"]}
    assert await visible(second, "right") == {1: ["A", "B", "C"]}
    assert await backlog(second, "in", "work") == 3
    assert (await second.transactions.get(done.transaction)).status in ("committing", "committed")


REFUSALS: dict[str, type[LedgerError]] = {
    "another's message": NotYourMessage,
    "held by another transaction": TransactionConflict,
    "a record too large": RequestTooLarge,
}


@pytest.mark.parametrize("why", REFUSALS)
async def test_a_step_that_is_refused_leaves_nothing_behind(redis_url, prefix, why):
    """CL-15, CL-16, TB-34"""
    async with one(redis_url, prefix, batch_bytes_max=10_000) as broker:
        await broker.topics.create("in")
        await broker.topics.create("left", 2)
        await broker.topics.create("right", 2)
        await broker.subscriptions.create("in", "work")
        await broker.records.produce("in", records(*"abc"))
        ids = list(await receive_values(broker, "in", "work", "w"))
        other = (await broker.transactions.begin()).id
        if why == "held by another transaction":
            await broker.subscriptions.ack("in", "work", "w", ids[1:2], transaction=other)
        consumer = "thief" if why == "another's message" else "w"
        values = ["A", "x" * 20_000] if why == "a record too large" else ["A"]
        with pytest.raises(REFUSALS[why]):
            await broker.execute.run(acks(ids, consumer), outputs(*values))
        assert await visible(broker, "left") == await visible(broker, "right") == {}
        await broker.transactions.abort(other)
        assert await eventually(lambda: live_transactions(broker), 0) == 0
        assert [await outstanding(broker, topic) for topic in ("left", "right")] == [0, 0]
        await broker.subscriptions.nack("in", "work", "w", None)
        assert sorted(await receive_values(broker, "in", "work", "w")) == ids


async def test_a_step_of_nothing_is_refused(pair):
    """CL-15"""
    with pytest.raises(InvalidRequest):
        await pair[0].execute.run([], [])


async def test_a_step_repeated_while_its_first_attempt_is_aborted_does_not_conflict_with_it(pair):
    """CL-13, CL-19: the first broker died, or the attempt timed out; what it acknowledged is still pending."""
    first, second = pair
    (id_, *_) = await receive_values(first, "in", "work", "w")
    partition, ranges = (await first.subscriptions.cursors.by_partition("in", [id_]))[0]
    where = Participant(partition.topic, partition.topic_id, partition.number, "work")
    txn, is_committed = await first.execute.begin(60_000, "", "n", [where])
    assert not is_committed
    await first.subscriptions.ack_one(partition, "work", "w", ranges, txn)
    await first.coordinators.decide(txn, commit=False)
    done = await second.execute.run(acks([id_]), outputs("A"), nonce="n")
    assert done.transaction != txn
    assert not done.replayed
    assert await visible(second, "left") == {0: ["A"]}
    assert await backlog(second, "in", "work") == 5


async def test_a_step_repeated_under_its_nonce_is_done_once(pair):
    """CL-13, CL-19: at the same broker, at another one, and at all of them at once."""
    first, second = pair
    ids = list(await receive_values(first, "in", "work", "w"))
    for n, id_ in enumerate(ids[:3]):
        results = await asyncio.gather(
            *(b.execute.run(acks([id_]), outputs(str(n)), nonce=f"n{n}") for b in (first, second) * 2),
            return_exceptions=True,
        )
        done = [r for r in results if not isinstance(r, BaseException)]
        if not done:  # they stood in each other's way: all were refused, and one more try settles it
            done = [await first.execute.run(acks([id_]), outputs(str(n)), nonce=f"n{n}")]
        assert len({r.transaction for r in done}) == 1
        assert sum(not r.replayed for r in done) <= 1
    again = await second.execute.run(acks(ids[:1]), outputs("0"), nonce="n0")
    assert again.replayed
    assert await visible(second, "left") == {0: ["0", "1", "2"]}
    assert await backlog(first, "in", "work") == 3


async def test_a_step_aborted_by_its_timeout_is_done_when_it_is_repeated(pair):
    """CL-19, TS-11: the worker's broker dies in the middle."""
    first, second = pair
    ids = list(await receive_values(first, "in", "work", "w"))
    decide = first.coordinators.decide

    async def never(txn, *, commit, known):
        assert commit
        await vanish(first)
        return await decide(txn, commit=commit, known=known)

    first.coordinators.decide = never
    with pytest.raises((LedgerError, AssertionError)):
        await first.execute.run(acks(ids), outputs("A"), timeout_ms=400, nonce="n")
    assert await visible(second, "left") == {}
    done = await second.execute.run(acks(ids), outputs("A"), nonce="n")
    assert not done.replayed
    assert await visible(second, "left") == {0: ["A"]}
    assert await backlog(second, "in", "work") == 0


async def test_an_aborted_input_is_given_to_the_next_worker(pair):
    """CL-16, AK-04"""
    first, second = pair
    ids = list(await receive_values(first, "in", "work", "w"))
    with pytest.raises(LedgerError):
        await first.execute.run(acks([*ids, MessageId(0, 77)]), outputs("A"))
    await first.subscriptions.nack("in", "work", "w", None)
    assert list(await receive_values(second, "in", "work", "next", wait_ms=1_000)) == ids


async def test_step_over_a_recreated_topic_is_executed(pair):
    """CL-15: a broker that remembers the topic as it was finds out, and leaves nothing of its first attempt."""
    first, second = pair
    await second.execute.run([], outputs("old"))
    await first.topics.delete("left")
    await first.topics.create("left", 2)
    done = await second.execute.run([], outputs("new"), nonce="n")
    assert not done.replayed
    assert await visible(first, "left") == {0: ["new"]}
    assert await visible(first, "right") == {1: ["old", "new"]}
    assert await eventually(lambda: live_transactions(first), 0) == 0


async def test_step_whose_decision_was_made_and_its_answer_lost_is_answered_as_committed(pair, monkeypatch):
    """Without a nonce, since a caller would execute it again."""
    broker, _ = pair
    decide = broker.coordinators.decide

    async def lost(*args, **options):
        monkeypatch.undo()
        await decide(*args, **options)
        raise StoreTimeout

    monkeypatch.setattr(broker.coordinators, "decide", lost)
    done = await broker.execute.run([], outputs("a"))
    assert done.transaction is not None
    assert (await broker.transactions.get(done.transaction)).status in ("committing", "committed")
    assert await visible(broker, "left") == {0: ["a"]}


async def test_step_is_not_begun_when_its_key_is_no_longer_held(pair):
    broker, _ = pair
    with pytest.raises(RequestInProgress):
        await broker.execute.run([], outputs("a"), nonce="n", may_begin=lambda: False)
    assert await visible(broker, "left") == {}
