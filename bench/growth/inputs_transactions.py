"""The largest inputs of lua/txn/ that the API accepts."""

from __future__ import annotations

import asyncio

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord
from redis_ledger.txn.commit_all import TRANSACTIONS_MAX, CommitNumber
from redis_ledger.txn.coordinator import OPEN, Participant
from redis_ledger.txn.end_at_once import PARTICIPANTS_MAX

WIDE = 10_000  # participants of one transaction; the API has no limit, and this is far beyond practical use
TOGETHER = 64  # operations in one call
TIMEOUT_MS = 600_000
TOPIC_ID = "0" * 32
NOT_BEFORE_MS = 4_000_000_000_000  # all deadlines have passed by then


def partitions(count: int, first: int = 0) -> list[Participant]:
    return [Participant("orders-of-the-shop", TOPIC_ID, number) for number in range(first, first + count)]


async def one_wide_transaction(broker: Broker) -> None:
    """All participants in one request, then one more, then the decision and its completion."""
    coordinators = broker.coordinators
    txn, _ = await coordinators.begin(TIMEOUT_MS)
    await coordinators.add(txn, partitions(WIDE))
    await coordinators.add(txn, partitions(1, WIDE))
    await coordinators.add(txn, partitions(1, WIDE))
    await coordinators.decide(txn, commit=True)
    await coordinators.done(txn, lazy=False)


async def many_wide_transactions(broker: Broker) -> None:
    """As many as fit into one call, each with as many participants as a topic can have partitions."""
    coordinators = broker.coordinators
    some = [(await coordinators.begin(TIMEOUT_MS))[0] for _ in range(TOGETHER)]
    await asyncio.gather(*(coordinators.add(txn, partitions(1_000)) for txn in some))
    await asyncio.gather(*(coordinators.add(txn, partitions(1, 1_000)) for txn in some))
    await asyncio.gather(*(coordinators.decide(txn, commit=True) for txn in some))
    await asyncio.gather(*(coordinators.done(txn, lazy=False) for txn in some))


async def one_participant_at_a_time(broker: Broker) -> None:
    """One by one, as a Kafka client adds them: each has its own log record."""
    coordinators = broker.coordinators
    txn, _ = await coordinators.begin(TIMEOUT_MS)
    for number in range(3_000):
        await coordinators.add(txn, partitions(1, number))
    await coordinators.decide(txn, commit=True)
    await coordinators.done(txn, lazy=False)


async def a_wide_identity(broker: Broker) -> None:
    identities = broker.transactional_ids
    made = await identities.init("wide", TIMEOUT_MS, -1, -1)
    await identities.add("wide", made.producer_id, made.epoch, partitions(WIDE))
    await identities.add("wide", made.producer_id, made.epoch, partitions(1, WIDE))
    await identities.verify("wide", made.producer_id, made.epoch, partitions(WIDE))
    await identities.end("wide", made.producer_id, made.epoch, commit=True, bump=True)


async def committed_together(broker: Broker) -> None:
    """As many transactions as can be committed in one step."""
    coordinators, together = broker.coordinators, broker.transactions.together
    at = together.coordinator("nightly")
    begun = await asyncio.gather(
        *(coordinators.begin(TIMEOUT_MS, participants=partitions(1), at=at) for _ in range(TRANSACTIONS_MAX))
    )
    txns = [txn for txn, _ in begun]
    await together.commit(txns, CommitNumber("nightly", 1))
    await together.commit(txns, CommitNumber("nightly", 1))
    await asyncio.gather(*(coordinators.done(txn) for txn in txns))


async def full_outcomes(broker: Broker) -> None:
    """A coordinator with the outcomes of many ended transactions."""
    coordinators = broker.coordinators
    await broker.store.call(OPEN, next(iter(coordinators)).keys.all(), (1,))
    for _ in range(20):
        begun = await asyncio.gather(*(coordinators.begin(TIMEOUT_MS) for _ in range(1_000)))
        txns = [txn for txn, _ in begun]
        await asyncio.gather(*(coordinators.decide(txn, commit=True) for txn in txns))
        await asyncio.gather(*(coordinators.done(txn) for txn in txns))
    for coordinator in coordinators:
        await coordinator.forget(NOT_BEFORE_MS)


async def one_end_on_many_partitions(broker: Broker) -> None:
    """As many participants as one call ends, each with many open transactions, and with acknowledgements to settle."""
    await broker.topics.create("t", PARTICIPANTS_MAX // 2)
    await broker.subscriptions.create("t", "s", "shared")
    numbers = range(PARTICIPANTS_MAX // 2)
    everywhere = [NewRecord(None, b"v", partition=number) for number in numbers]
    await broker.records.produce("t", everywhere * 40)
    got = await broker.subscriptions.receive("t", "s", "c1", max_records=40 * len(numbers))
    for commit in (True, False):
        txn = (await broker.transactions.begin(TIMEOUT_MS)).id
        others = [(await broker.transactions.begin(TIMEOUT_MS)).id for _ in range(150)]
        await broker.records.produce("t", everywhere, transaction=txn)
        await asyncio.gather(*(broker.records.produce("t", everywhere, transaction=other) for other in others))
        some = [each.id for each in got if each.id.offset % 4 == 2 * commit]
        await broker.subscriptions.ack("t", "s", "c1", some, transaction=txn)
        await (broker.transactions.commit if commit else broker.transactions.abort)(txn)


async def many_ends_in_one_call(broker: Broker) -> None:
    """As many transactions as one call ends, each on a partition of its own, or all on one."""
    await broker.topics.create("t", TOGETHER)
    for where in (range(TOGETHER), [0] * TOGETHER):
        for commit in (True, False):
            txns = [(await broker.transactions.begin(TIMEOUT_MS)).id for _ in where]
            for number, txn in zip(where, txns, strict=True):
                await broker.records.produce("t", [NewRecord(None, b"v", partition=number)], transaction=txn)
            end = broker.transactions.commit if commit else broker.transactions.abort
            await asyncio.gather(*(end(txn) for txn in txns))


INPUTS = (
    one_wide_transaction, many_wide_transactions, one_participant_at_a_time, a_wide_identity, committed_together,
    full_outcomes, one_end_on_many_partitions, many_ends_in_one_call,
)  # fmt: skip
