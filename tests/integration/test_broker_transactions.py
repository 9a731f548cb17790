"""Transactions through a broker, and through another one after the first has gone."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from redis_ledger.clock import ManualClock
from redis_ledger.errors import (
    AlreadyCommitted,
    CoordinatorNotFound,
    InvalidTimeout,
    TooManyTransactions,
    TransactionNotFound,
)
from redis_ledger.ids import TxnId
from redis_ledger.store.keys import CoordinatorKeys
from tests.support.broker import (
    begun,
    eventually,
    live_transactions,
    log_length,
    one,
    receive_values,
    records,
    status,
    values_of,
    vanish,
)
from tests.support.busy_machine import within

pytestmark = pytest.mark.usefixtures("both_ways")


@pytest.fixture
async def broker(broker):
    await broker.topics.create("u")
    return broker


async def test_there_are_as_many_coordinators_as_configured_and_they_only_become_more(redis_url, prefix):
    """TC-01, TC-05"""
    async with one(redis_url, prefix, coordinators=2) as broker:
        assert {(await broker.transactions.begin()).id.coordinator for _ in range(6)} == {0, 1}
    async with one(redis_url, prefix, coordinators=4) as broker:
        assert {(await broker.transactions.begin()).id.coordinator for _ in range(12)} == {0, 1, 2, 3}
    async with one(redis_url, prefix, coordinators=3) as broker:
        assert len(broker.coordinators) == 4


async def test_new_transactions_are_spread_over_the_coordinators(redis_url, prefix):
    """TC-05: ten begins, two coordinators, five each."""
    async with one(redis_url, prefix) as broker:
        used = [(await broker.transactions.begin()).id.coordinator for _ in range(10)]
        assert abs(used.count(0) - used.count(1)) <= 1


async def test_an_id_alone_finds_its_coordinator(broker):
    """TC-03: the end of one transaction moves only its own coordinator's counters."""
    first, second = await begun(broker), await begun(broker)
    assert {first.coordinator, second.coordinator} == {0, 1}
    assert TxnId.parse(str(first)) == first
    await broker.transactions.commit(TxnId.parse(str(first)))
    counts = {}
    for txn in (first, second):
        await eventually(lambda: live_transactions(broker), 1)
        keys = broker.coordinators.of(txn).keys
        counts[txn] = int(await broker.store.command("HGET", keys.state, "committed", key=keys.state))
    assert counts == {first: 1, second: 0}


async def test_numbers_are_never_used_again(redis_url, prefix):
    """TC-04: also when nothing is left in the log and every broker has been replaced."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        first = await begun(broker)
        await broker.transactions.commit(first)
        assert await eventually(lambda: log_length(broker, first), 0) == 0
    async with one(redis_url, prefix, coordinators=1) as broker:
        second = await begun(broker)
    async with one(redis_url, prefix, coordinators=1) as broker:
        assert first < second < await begun(broker)


async def test_a_transaction_that_was_begun_is_known_after_its_broker_died(pair):
    """TC-06, TC-17, TS-12: open, with its deadline, and usable elsewhere."""
    first, second = pair
    txn = await begun(first, *"0123456789", timeout_ms=50_000)
    before = await first.transactions.get(txn)
    await vanish(first)
    after = await second.transactions.get(txn)
    assert (after.status, after.timeout_ms, after.deadline_ms) == ("open", 50_000, before.deadline_ms)
    assert after.deadline_ms == after.started_ms + 50_000
    await second.records.produce("t", records("10"), transaction=txn)
    await second.transactions.commit(txn)
    assert await values_of(second, "t") == [str(n) for n in range(11)]


async def test_timeouts_have_a_default_a_least_and_a_most(redis_url, prefix):
    """TC-07, TB-37: each is stored with the start; a timeout of 1 ms aborts within 1 s, and is counted."""
    async with one(redis_url, prefix, coordinators=1, max_transaction_timeout_ms=900_000) as broker:
        for given, stored_ms in ((None, 60_000), (0, 60_000), (5_000, 5_000), (900_000, 900_000)):
            before_ms = broker.clock.now_ms()
            txn = await broker.transactions.begin(given)
            shown = await broker.transactions.get(txn.id)
            assert (shown.timeout_ms, shown.deadline_ms - shown.started_ms) == (stored_ms, stored_ms)
            assert before_ms <= shown.started_ms <= broker.clock.now_ms()
        for wrong in (-1, 900_001):
            with pytest.raises(InvalidTimeout):
                await broker.transactions.begin(wrong)
        assert await live_transactions(broker) == 4, "a refused begin began"
        txn = await broker.transactions.begin(1)
        assert await eventually(lambda: status(broker, txn.id), "aborted", 1.0) == "aborted"
        assert (await broker.transactions.get(txn.id)).timed_out
        keys = broker.coordinators.of(txn.id).keys
        assert await broker.store.command("HGET", keys.state, "timeout", key=keys.state) == b"1"


async def test_added_partitions_are_a_set(broker):
    """TC-08"""
    await broker.topics.create("p", 4)
    txn = await begun(broker)
    await broker.transactions.add_partitions(txn, [("p", 1), ("p", 2)])
    shown = await broker.transactions.add_partitions(txn, [("p", 1), ("p", 2), ("p", 3)])
    assert shown.partitions == [("p", 1), ("p", 2), ("p", 3)]


async def test_two_subscriptions_of_one_topic_are_two_participants(broker):
    """TC-09: the commit ends both."""
    await broker.records.produce("t", records("m"))
    txn = await begun(broker)
    for name in ("s1", "s2"):
        await broker.subscriptions.create("t", name)
        (id_,) = await receive_values(broker, "t", name)
        await broker.subscriptions.ack("t", name, "c1", [id_], transaction=txn)
    assert (await broker.transactions.get(txn)).subscriptions == [("t", 0, "s1"), ("t", 0, "s2")]
    await broker.transactions.commit(txn)
    for name in ("s1", "s2"):
        (cursor,) = (await broker.subscriptions.stats("t", name)).cursors
        assert (cursor.mark_delete, cursor.pending, cursor.backlog) == (1, 0, 0)


async def test_each_wrong_id_or_status_has_its_own_error(broker):
    """TC-10"""
    for act in (broker.transactions.commit, broker.transactions.abort, broker.transactions.get):
        with pytest.raises(TransactionNotFound):
            await act(TxnId(0, 999_999))
        with pytest.raises(CoordinatorNotFound):
            await act(TxnId(77, 0))
    txn = await begun(broker)
    await broker.coordinators.decide(txn, commit=True)
    with pytest.raises(AlreadyCommitted):
        await broker.transactions.add_partitions(txn, [("t", 0)])


async def test_a_full_coordinator_refuses_at_once_and_takes_more_when_one_has_ended(redis_url, prefix):
    """TC-12"""
    async with one(redis_url, prefix, coordinators=1, max_active_transactions_per_coordinator=2) as broker:
        first, _ = await begun(broker), await begun(broker)
        async with within(1):
            with pytest.raises(TooManyTransactions) as refused:
                await broker.transactions.begin()
        assert refused.value.retriable
        await broker.transactions.commit(first)
        await eventually(lambda: live_transactions(broker), 1)
        assert (await broker.transactions.begin()).status == "open"


async def test_unreachable_participant_does_not_delay_others(cluster, prefix):
    """TC-14, TS-09, TS-10: one node of a cluster stands still in the middle of a commit."""
    async with one(cluster.url, prefix, coordinators=1, redis_timeout_ms=1_500, redis_retry_ms=1_500) as broker:
        # Given a topic on a node of its own, away from the coordinator and from the other topic
        home = slot_owner(cluster, broker, CoordinatorKeys(prefix, 0).state)
        near, far = "", ""
        for n in itertools.count():
            name = f"t{n}"
            owner = slot_owner(cluster, broker, f"{prefix}:{{{name}:0}}:state".encode())
            catalog = slot_owner(cluster, broker, f"{prefix}:{{catalog}}:topics".encode())
            if owner is home:
                near = near or name
            elif owner is not catalog:
                far = far or name
            if (near and far) or n > 100:
                break
        if not far:  # the coordinator and the catalog are on both of the other nodes
            far = near
        assert near
        for topic in {near, far}:
            await broker.topics.create(topic)
        stuck = await begun(broker, "near", topic=near)
        await broker.records.produce(far, records("far"), transaction=stuck)
        # When that node stands still while it is committed
        node = slot_owner(cluster, broker, f"{prefix}:{{{far}:0}}:state".encode())
        assert node.ask("CLIENT", "PAUSE", 6_000, "ALL") == b"OK"
        answer = await broker.transactions.commit(stuck, wait="logged")
        # Then the decision stands, the other partition shows it, and new transactions commit there
        assert answer.status == "committing"
        assert await eventually(lambda: values_of(broker, near), ["near"]) == ["near"]
        assert await status(broker, stuck) == "committing"
        async with within(3):
            await broker.transactions.commit(await begun(broker, "other", topic=near))
        assert await values_of(broker, near) == ["near", "other"]
        # And an expired one is aborted in time (TS-11)
        expired = await begun(broker, "late", topic=near, timeout_ms=500)
        assert await eventually(lambda: status(broker, expired), "aborted", 2.0) == "aborted"
        # When it is back, then all is done within five seconds
        assert await eventually(lambda: status(broker, stuck), "committed", 11.0) == "committed"
        assert await values_of(broker, far) == ["far"]


def slot_owner(cluster, broker, key):
    return cluster.owner(broker.store.topology.slot(key))


async def test_concurrent_operations_leave_the_coordinator_as_if_one_came_after_the_other(broker):
    """TC-15"""

    async def life(n):
        txn = await begun(broker, f"{n}" if n % 3 else "x")
        await broker.transactions.add_partitions(txn, [("u", 0)])
        if n % 2:
            await broker.transactions.commit(txn)
        else:
            await broker.transactions.abort(txn)
        return txn

    txns = await asyncio.gather(*(life(n) for n in range(150)))
    assert len(set(txns)) == 150
    assert await eventually(lambda: live_transactions(broker), 0) == 0
    states = [await status(broker, txn) for txn in txns]
    assert states == ["committed" if n % 2 else "aborted" for n in range(150)]
    for coordinator in broker.coordinators:
        k = coordinator.keys
        assert await broker.store.command("XLEN", k.log, key=k.state) == 0
        assert await broker.store.command("HLEN", k.live, key=k.state) == 1  # the sentinel


async def test_the_watermark_is_below_the_oldest_live_transaction(redis_url, prefix):
    """TC-18"""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.topics.create("t")
        t0, t1, t2 = [await begun(broker, str(n)) for n in range(3)]
        seen: list[int] = []
        for txn in (t1, t0, t2):
            await broker.transactions.commit(txn)
            await eventually(lambda: live_transactions(broker), 2 - len(seen))
            seen.append((await broker.coordinators.done(txn, lazy=False)).watermark)
        assert seen == [t0.serial - 1, t2.serial - 1, t2.serial]


async def test_a_transaction_can_be_looked_up_and_listed(broker):
    """TS-24: by id, and a list by status and age."""
    txn = (await broker.transactions.begin(30_000, owner="alice")).id
    await broker.records.produce("t", records("a"), transaction=txn)
    await broker.subscriptions.create("t", "s")
    await broker.transactions.add_subscriptions(txn, [("t", "s")])
    shown = await broker.transactions.get(txn)
    assert (shown.id, shown.status, shown.timeout_ms, shown.owner) == (txn, "open", 30_000, "alice")
    assert shown.deadline_ms - shown.started_ms == 30_000
    assert (shown.partitions, shown.subscriptions) == ([("t", 0)], [("t", 0, "s")])
    other = await begun(broker)
    assert [t.id for t in await broker.transactions.list(status="open")] == [txn, other]
    await broker.transactions.abort(other)
    await eventually(lambda: status(broker, other), "aborted")
    assert [t.id for t in await broker.transactions.list(status="aborted")] == [other]
    with pytest.raises(TransactionNotFound):
        await broker.transactions.get(TxnId(1, 999))


async def test_transactions_are_listed_by_how_long_they_have_been_open(redis_url, prefix):
    clock = ManualClock()
    async with one(redis_url, prefix, clock=clock) as broker:
        older = (await broker.transactions.begin()).id
        clock.advance(10)
        younger = (await broker.transactions.begin()).id
        clock.advance(20)
        listed = {
            age: [txn.id for txn in await broker.transactions.list(status="open", min_age_ms=age)]
            for age in (0, 20, 21, 30, 31)
        }
        assert listed == {0: [older, younger], 20: [older, younger], 21: [older], 30: [older], 31: []}


async def test_the_transactions_of_one_owner_are_found_behind_those_of_others(redis_url, prefix):
    """The limit counts what is listed, and not what is looked at."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        for _ in range(5):
            await broker.transactions.begin(owner="others")
        mine = [(await broker.transactions.begin(owner="mine")).id for _ in range(3)]
        found = broker.transactions.list
        assert [txn.id for txn in await found(owner="mine", limit=2)] == mine[:2]
        assert [txn.id for txn in await found(sees=lambda record: record.txn in mine, limit=2)] == mine[:2]
        assert [txn.owner for txn in await found(limit=6)] == ["others"] * 5 + ["mine"]


async def test_another_broker_ends_transactions_it_knows_by_id_only(pair):
    """CL-14"""
    first, second = pair
    txns = [await begun(first, *[f"{n}/{m}" for m in range(10)]) for n in range(20)]
    for txn in txns:
        await second.transactions.commit(TxnId.parse(str(txn)))
    assert len(set(await values_of(second, "t"))) == 200


async def test_a_begin_repeated_under_its_nonce_is_the_same_transaction_at_any_broker(pair):
    """CL-13"""
    first, second = pair
    txn = (await first.transactions.begin(nonce="once")).id
    assert (await second.transactions.begin(nonce="once")).id == txn
    await second.transactions.abort(txn)
    assert (await first.transactions.begin(nonce="once")).id != txn


async def test_a_filter_of_a_list_is_applied_before_its_limit(redis_url, prefix):
    """The two that were aborted are found, though more ended after them than are listed."""
    clock = ManualClock()
    async with one(redis_url, prefix, coordinators=1, clock=clock) as broker:
        transactions = broker.transactions
        aborted = [(await transactions.begin()).id for _ in range(2)]
        for txn in aborted:
            await transactions.abort(txn)
        clock.advance(60_000)
        committed = [(await transactions.begin()).id for _ in range(5)]
        for txn in committed:
            await transactions.commit(txn)
        assert await eventually(lambda: live_transactions(broker), 0) == 0

        async def listed(status=None, min_age_ms=0):
            return [each.id for each in await transactions.list(status, min_age_ms, limit=2)]

        assert await listed("aborted") == aborted
        assert await listed(min_age_ms=30_000) == aborted
        # Without a filter they are the last ones
        assert await listed() == committed[-2:]
        first, second, _ = [(await transactions.begin()).id for _ in range(3)]
        assert await listed() == await listed("open") == [first, second]
