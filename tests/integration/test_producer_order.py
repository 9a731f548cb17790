"""A producer's batches keep their order in a partition through refusals, retries and several brokers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.produce.append import BatchSource
from redis_ledger.broker.produce.producer_queues import ProducerQueues
from redis_ledger.errors import (
    InvalidTxnStatus,
    LedgerError,
    ProducerFenced,
    StoreUnavailable,
    Unavailable,
)
from redis_ledger.ledger.append_request import Accepted
from redis_ledger.txn.coordinator import Participant
from tests.support.broker import eventually, live_transactions, two, values_of
from tests.support.busy_machine import wait_for
from tests.support.kafka_batches import batch


class Producing:
    """A producer of the protocol before transaction version 2, whose requests reach the broker of the test's choice.
    Its producer id and epoch stay the same from one transaction to the next."""

    def __init__(self, name: str, topic: str = "t") -> None:
        self.name, self.topic = name, topic
        self.pid = self.epoch = -1
        self.sequence = 0

    async def init(self, broker: Broker) -> Producing:
        self.pid, self.epoch = await broker.producers.init(self.name, 60_000)
        return self

    async def participant(self, broker: Broker) -> Participant:
        return Participant(self.topic, (await broker.catalog.partition(self.topic, 0)).topic_id, 0)

    async def begin(self, broker: Broker) -> None:
        await broker.producers.add(self.name, self.pid, self.epoch, [await self.participant(broker)])

    async def send(self, broker: Broker, *values: str) -> list[asyncio.Future[Accepted]]:
        """Batches of one record each, in flight together."""
        placed = []
        for value in values:
            placed.append(await self.send_at(broker, value, self.sequence))
            self.sequence += 1
        return placed

    async def send_at(self, broker: Broker, value: str, sequence: int, name: str = "") -> asyncio.Future[Accepted]:
        data = batch(value, producer=(self.pid, self.epoch, sequence), transactional=True)
        where = await broker.catalog.partition(self.topic, 0)
        return await broker.appends.append_batch(where, data, BatchSource(name or self.name, False), 1 << 20)

    async def end(self, broker: Broker, *, commit: bool = True, waits: bool = True) -> None:
        await broker.producers.end(self.name, self.pid, self.epoch, commit, False, lambda: waits)


async def kinds(futures: list[asyncio.Future[Accepted]]) -> list[str]:
    """The outcome of each: "taken", or the name of its error."""
    outcomes = await asyncio.wait_for(asyncio.gather(*futures, return_exceptions=True), 20)
    return ["taken" if isinstance(each, Accepted) else type(each).__name__ for each in outcomes]


@pytest.fixture
async def brokers(redis_url, prefix):
    async with two(redis_url, prefix) as (a, b):
        await a.topics.create("t")
        yield a, b


async def stale(a: Broker, b: Broker, name: str = "pay") -> Producing:
    """A producer with an open transaction, of which `a` still remembers the one before: that was ended through `b`."""
    producer = await Producing(name).init(a)
    await producer.begin(a)
    assert await kinds(await producer.send(a, "first")) == ["taken"]
    await producer.end(b)
    await producer.begin(b)
    return producer


# -- a transaction that this broker remembers and another one ended ----------------------------------------------------


async def test_batches_in_flight_behind_one_that_is_repeated_keep_their_order(brokers):
    a, b = brokers
    producer = await stale(a, b)
    values = [f"{n}" for n in range(8)]
    assert await kinds(await producer.send(a, *values)) == ["taken"] * 8
    await producer.end(b)
    assert await values_of(a, "t") == ["first", *values]


async def test_a_hundred_transactions_through_two_brokers_have_no_gap(brokers):
    a, b = brokers
    producer = await Producing("pay").init(a)
    for number in range(100):
        leader, coordinator = (a, b) if number % 3 else (b, a)
        await producer.begin(coordinator)
        assert await kinds(await producer.send(leader, *[f"{number}-{n}" for n in range(4)])) == ["taken"] * 4
        await producer.end(coordinator)
    assert await values_of(a, "t") == [f"{number}-{n}" for number in range(100) for n in range(4)]


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("remembers", [True, False])
async def test_end_that_is_carried_out_late_does_not_end_the_next_transaction(brokers, commit, remembers):
    a, b = brokers
    producer = await stale(a, b)
    if not remembers:
        a.producers.forget_all()
    assert await kinds(await producer.send(b, "next")) == ["taken"]
    with pytest.raises(Unavailable):
        await producer.end(a, commit=commit, waits=False)
    assert await values_of(b, "t") == ["first"]
    await producer.end(b)
    assert await values_of(b, "t") == ["first", "next"]


async def test_end_at_a_broker_that_remembers_an_earlier_transaction_ends_the_open_one(brokers):
    a, b = brokers
    producer = await stale(a, b)
    assert await kinds(await producer.send(b, "next")) == ["taken"]
    await producer.end(a)
    assert await values_of(b, "t") == ["first", "next"]


async def test_producer_that_is_fenced_while_it_joins_its_transaction_is_answered_so(brokers, monkeypatch):
    a, b = brokers
    producer = await Producing("pay").init(a)
    await producer.begin(a)
    participants = [(await producer.participant(a))._replace(subscription="g")]
    add = a.coordinators.add

    async def add_late(*args: Any) -> None:
        await b.producers.init("pay", 60_000)
        await add(*args)

    monkeypatch.setattr(a.coordinators, "add", add_late)
    with pytest.raises(ProducerFenced):
        await a.producers.join("pay", producer.pid, producer.epoch, participants, lambda: True)


async def test_offsets_of_a_client_that_has_left_do_not_join_the_next_transaction(brokers):
    a, b = brokers
    producer = await stale(a, b)
    with pytest.raises(Unavailable):
        await a.producers.join("pay", producer.pid, producer.epoch, [], lambda: False)


async def test_batches_that_arrive_while_one_is_repeated_wait_for_it(brokers, monkeypatch):
    a, b = brokers
    producer = await stale(a, b)
    verify, asked, go = a.producers.verify, asyncio.Event(), asyncio.Event()

    async def held(*args: Any) -> Any:
        asked.set()
        await go.wait()
        return await verify(*args)

    monkeypatch.setattr(a.producers, "verify", held)
    # Given a batch that was refused and is being verified again
    early = await producer.send(a, "0")
    await wait_for(asked.wait(), 10)
    # When others arrive meanwhile
    late = await producer.send(a, "1", "2")
    assert not any(each.done() for each in (*early, *late))
    go.set()
    # Then they are written behind it
    assert await kinds([*early, *late]) == ["taken"] * 3
    await producer.end(b)
    assert await values_of(a, "t") == ["first", "0", "1", "2"]
    assert not a.appends._queues


async def test_batches_behind_one_that_cannot_be_verified_now_get_its_answer_and_all_may_come_again(
    brokers, monkeypatch
):
    a, b = brokers
    producer = await stale(a, b)
    verify = a.producers.verify
    is_away = True

    async def away(*args: Any) -> Any:
        if is_away:
            raise StoreUnavailable("The coordinator is away.")
        return await verify(*args)

    monkeypatch.setattr(a.producers, "verify", away)
    assert await kinds(await producer.send(a, "0", "1", "2")) == ["StoreUnavailable"] * 3
    is_away = False
    # A fourth was in flight: it does not fail with a sequence gap, which clients take for lost state
    assert await kinds(await producer.send(a, "3")) == ["StoreUnavailable"]
    producer.sequence -= 4
    assert await kinds(await producer.send(a, "0", "1", "2", "3")) == ["taken"] * 4
    await producer.end(b)
    assert await values_of(a, "t") == ["first", "0", "1", "2", "3"]


async def test_a_first_verification_that_fails_is_the_answer_of_the_batches_behind_it(brokers, monkeypatch):
    a, _ = brokers
    producer = await Producing("pay").init(a)
    await producer.begin(a)
    a.producers.forget(producer.pid)

    async def away(*_: Any) -> Any:
        raise StoreUnavailable("The coordinator is away.")

    monkeypatch.setattr(a.producers, "verify", away)
    with pytest.raises(StoreUnavailable):
        await producer.send_at(a, "0", 0)
    monkeypatch.undo()
    assert await kinds([await producer.send_at(a, "1", 1)]) == ["StoreUnavailable"]
    assert await kinds([await producer.send_at(a, str(n), n) for n in range(2)]) == ["taken"] * 2


async def test_batches_behind_one_of_an_ended_transaction_get_its_answer(brokers):
    a, b = brokers
    producer = await Producing("pay").init(a)
    await producer.begin(a)
    await kinds(await producer.send(a, "first"))
    await producer.end(b)
    # No other transaction is open
    assert await kinds(await producer.send(a, "0", "1", "2")) == ["InvalidTxnStatus"] * 3
    assert await values_of(a, "t") == ["first"]


async def test_only_so_many_batches_wait_and_the_others_are_to_come_again(brokers, monkeypatch):
    a, b = brokers
    monkeypatch.setattr(a.appends, "_queues", ProducerQueues(2, 1 << 20))
    producer = await stale(a, b)
    outcomes = await kinds(await producer.send(a, *[f"{n}" for n in range(6)]))
    assert outcomes == ["taken"] * 3 + ["Unavailable"] * 3
    producer.sequence -= 3
    assert await kinds(await producer.send(a, "3", "4", "5")) == ["taken"] * 3
    await producer.end(b)
    assert await values_of(a, "t") == ["first", "0", "1", "2", "3", "4", "5"]


async def test_a_producer_id_under_another_name_does_not_get_into_the_queue(brokers, monkeypatch):
    """Batches that waited are placed without a verification of their own."""
    a, b = brokers
    producer = await stale(a, b)
    verify, asked, go = a.producers.verify, asyncio.Event(), asyncio.Event()

    async def held(name: str, *args: Any) -> Any:
        if name == producer.name:
            asked.set()
            await go.wait()
        return await verify(name, *args)

    monkeypatch.setattr(a.producers, "verify", held)
    early = await producer.send(a, "0")
    await wait_for(asked.wait(), 10)
    with pytest.raises(LedgerError):
        await (await producer.send_at(a, "forged", producer.sequence, name="another"))
    go.set()
    assert await kinds(early) == ["taken"]
    await producer.end(b)
    assert await values_of(a, "t") == ["first", "0"]


# -- another transaction of the producer is open -----------------------------------------------------------------------


async def test_a_leader_that_moves_away_and_back_aborts_no_live_transaction(brokers):
    a, b = brokers
    producer = await Producing("pay").init(a)
    # Given a transaction through b, which b remembers, and the next one begun through a
    await producer.begin(a)
    assert await kinds(await producer.send(b, "one")) == ["taken"]
    await producer.end(a)
    await producer.begin(a)
    assert await kinds(await producer.send(a, "two")) == ["taken"]
    # When the rest of it comes through b again
    assert await kinds(await producer.send(b, "three", "four")) == ["taken"] * 2
    # Then the transaction is open and commits whole
    assert [each.status for each in await a.transactions.list("open")] == ["open"]
    await producer.end(a)
    assert await values_of(a, "t") == ["one", "two", "three", "four"]


async def test_a_batch_of_a_transaction_that_has_been_overtaken_does_not_abort_the_next(brokers, monkeypatch):
    """The coordinator names a transaction that ends, and is followed by another, before the batch is placed."""
    a, b = brokers
    producer = await Producing("pay").init(a)
    await producer.begin(a)
    old = a.producers.cached_transaction("pay", producer.pid, producer.epoch, await producer.participant(a))
    await producer.end(b)
    await producer.begin(b)
    assert await kinds(await producer.send(b, "live")) == ["taken"]
    verify, answers = a.producers.verify, [old, old]

    async def late(*args: Any) -> Any:
        return answers.pop() if answers else await verify(*args)

    monkeypatch.setattr(a.producers, "verify", late)
    a.producers.forget(producer.pid)
    assert await kinds(await producer.send(a, "too")) == ["taken"]
    await producer.end(b)
    assert await values_of(a, "t") == ["live", "too"]


@pytest.mark.parametrize("commit", [True, False])
async def test_blocking_decided_transaction_is_ended_as_decided(brokers, commit):
    a, b = brokers
    producer = await Producing("pay").init(a)
    await producer.begin(a)
    assert await kinds(await producer.send(a, "decided")) == ["taken"]
    # Given a decision whose end has not reached the partition
    await a.transactional_ids.end("pay", producer.pid, producer.epoch, commit, False)
    await producer.begin(b)
    assert await kinds(await producer.send(b, "next", "after")) == ["taken"] * 2
    await producer.end(b)
    assert await values_of(a, "t") == [*(["decided"] if commit else []), "next", "after"]
    assert await eventually(lambda: live_transactions(a), 0) == 0


@pytest.mark.parametrize("commit", [True, False])
async def test_a_transaction_that_is_over_and_still_open_on_the_partition_is_ended_there(brokers, commit):
    """As after a failover that lost the end of one partition."""
    a, b = brokers
    producer = await Producing("pay").init(a)
    await producer.begin(a)
    assert await kinds(await producer.send(a, "over")) == ["taken"]
    identified = await a.transactional_ids.end("pay", producer.pid, producer.epoch, commit, False)
    assert identified.decision is not None
    await a.coordinators.done(identified.decision.txn, lazy=False)
    await producer.begin(b)
    assert await kinds(await producer.send(b, "next")) == ["taken"]
    await producer.end(b)
    assert await values_of(a, "t") == [*(["over"] if commit else []), "next"]


async def test_a_transaction_its_coordinator_does_not_know_is_left_alone_and_the_batch_may_come_again(brokers):
    a, b = brokers
    producer = await Producing("pay").init(a)
    await producer.begin(a)
    assert await kinds(await producer.send(a, "unknown")) == ["taken"]
    identified = await a.transactional_ids.end("pay", producer.pid, producer.epoch, True, False)
    assert identified.decision is not None
    txn = identified.decision.txn
    await a.coordinators.done(txn, lazy=False)
    keys = a.coordinators.of(txn).keys
    await a.store.command("HDEL", keys.outcomes, txn.serial, key=keys.state)
    await producer.begin(b)
    (failed,) = await asyncio.gather(*await producer.send(b, "next"), return_exceptions=True)
    assert type(failed) is Unavailable
    assert str(txn) in str(failed)
    partition = await a.catalog.partition("t", 0)
    assert await partition.offsets.open_transaction(producer.pid) == (txn, producer.epoch)


# -- what a broker remembers of a registration -------------------------------------------------------------------------


async def test_a_registration_is_verified_again_before_the_tombstone_can_be_gone(redis_url, prefix):
    async with two(redis_url, prefix, tombstone_ms=1_000) as (a, b):
        await a.topics.create("t")
        # Given an older transaction of the same coordinator, which holds the low watermark back
        coordinator = a.transactional_ids.coordinator("pay")
        name = next(f"older-{n}" for n in range(1_000) if a.transactional_ids.coordinator(f"older-{n}") is coordinator)
        await (await Producing(name).init(a)).begin(a)
        producer = await Producing("pay").init(a)
        await producer.begin(a)
        assert await kinds(await producer.send(a, "first")) == ["taken"]
        participant = await producer.participant(a)
        assert a.producers.cached_transaction("pay", producer.pid, producer.epoch, participant) is not None
        # and one that was ended elsewhere, whose tombstone has gone
        await producer.end(b)
        partition = await a.catalog.partition("t", 0)
        await a.store.command("DEL", partition.keys.ended, key=partition.keys.state)
        await a.store.command("ZADD", partition.keys.ended, 0, "", key=partition.keys.state)
        # When that is longer ago than a verification is believed, a fifth of a tombstone's life
        loop = asyncio.get_running_loop()
        until = loop.time() + 0.2
        assert await eventually(lambda: past(until), True, 5)
        # Then a late batch is refused
        with pytest.raises(InvalidTxnStatus):
            await (await producer.send_at(a, "zombie", producer.sequence))
        assert await values_of(a, "t", isolation="read_uncommitted") == ["first", "[marker]"]


async def past(until: float) -> bool:
    return asyncio.get_running_loop().time() > until
