"""Transaction ends: by the caller, by the deadline, or by another broker, and only once."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from redis_ledger.errors import (
    AlreadyAborted,
    AlreadyCommitted,
    StoreUnavailable,
    TransactionError,
    TransactionNotFound,
    TransactionTimedOut,
    UnsupportedTxnAction,
)
from redis_ledger.ids import TxnId
from redis_ledger.proto.txn_log_pb2 import TransactionLogOp as Op
from redis_ledger.proto.txn_log_pb2 import TransactionLogStatus
from redis_ledger.txn import log as txn_log
from tests.support.broker import (
    begun,
    eventually,
    live_transactions,
    log_length,
    one,
    outstanding,
    receive_values,
    records,
    status,
    two,
    values_of,
    vanish,
    visible,
)
from tests.support.busy_machine import busy_machine, within
from tests.support.crashing_store import Trouble
from tests.support.rest import client_of

pytestmark = pytest.mark.usefixtures("both_ways")


@pytest.fixture
async def broker(broker):
    await broker.topics.create("u")
    return broker


# -- ends --------------------------------------------------------------------------------------------------------------

ENDS: dict[tuple[str, str], str | type[TransactionError] | type[TransactionNotFound]] = {
    ("open", "commit"): "committed",
    ("open", "abort"): "aborted",
    ("committing", "commit"): "committed",
    ("committing", "abort"): AlreadyCommitted,
    ("committed", "commit"): "committed",
    ("committed", "abort"): AlreadyCommitted,
    ("aborting", "commit"): AlreadyAborted,
    ("aborting", "abort"): "aborted",
    ("aborted", "commit"): AlreadyAborted,
    ("aborted", "abort"): "aborted",
    ("timed out", "commit"): TransactionTimedOut,
    ("timed out", "abort"): "aborted",
    ("unknown", "commit"): TransactionNotFound,
    ("unknown", "abort"): TransactionNotFound,
}


@pytest.mark.parametrize(("state", "request_"), ENDS)
async def test_every_end_in_every_state_is_answered_by_the_table(redis_url, prefix, state, request_):
    """TS-05, TS-06: at a broker that has not seen the transaction before."""
    async with two(redis_url, prefix, end_overdue_ms=60_000) as (first, second):
        await first.topics.create("t")
        txn = await begun(first, "a", timeout_ms=300 if state == "timed out" else 60_000)
        if state in ("committing", "aborting"):
            await first.coordinators.decide(txn, commit=state == "committing")
        elif state in ("committed", "aborted"):
            await (first.transactions.commit if state == "committed" else first.transactions.abort)(txn)
            await eventually(lambda: status(first, txn), state)
        elif state == "timed out":
            assert await eventually(lambda: status(first, txn), "aborted") == "aborted"
        elif state == "unknown":
            txn = TxnId(txn.coordinator, txn.serial + 1)
        act = getattr(second.transactions, request_)
        expected = ENDS[state, request_]
        if isinstance(expected, str):
            assert (await act(txn)).status == expected
            assert await values_of(second, "t") == (["a"] if expected == "committed" else [])
        else:
            with pytest.raises(expected):
                await act(txn)


async def test_an_unknown_action_is_refused_and_changes_nothing(broker):
    """TS-05"""
    txn = await begun(broker, "a")
    with pytest.raises(UnsupportedTxnAction):
        await broker.transactions.commit(txn, wait="perhaps")
    async with client_of(broker) as http:
        assert (await http.post(f"/v1/transactions/{txn}:finish", json={})).status_code == 404
    assert await status(broker, txn) == "open"
    assert await log_length(broker, txn) == 2  # its begin and its partition
    assert (await broker.transactions.commit(txn)).status == "committed"


async def test_a_repeated_decision_writes_nothing(broker):
    """TS-02"""
    txn = await begun(broker, "a")
    await broker.coordinators.decide(txn, commit=True)
    before = await log_length(broker, txn)
    await broker.coordinators.decide(txn, commit=True)
    with pytest.raises(AlreadyCommitted):
        await broker.coordinators.decide(txn, commit=False)
    assert await log_length(broker, txn) == before


async def test_outcomes_are_remembered_for_their_time_and_number(redis_url, prefix):
    """TS-06"""
    async with one(redis_url, prefix, coordinators=1, ended_status_max_records=3) as broker:
        txns = [await begun(broker) for _ in range(8)]
        for txn in txns:
            await broker.transactions.commit(txn)
            await eventually(partial(status, broker, txn), "committed")
        assert [await status(broker, txn) for txn in txns[-3:]] == ["committed"] * 3
        with pytest.raises(TransactionNotFound):
            await broker.transactions.commit(txns[0])


@pytest.mark.parametrize("commit", [True, False])
async def test_decision_is_applied_by_a_surviving_broker(pair, commit):
    """TS-04, TS-13, AK-18: the broker dies right after the decision, no client is there."""
    first, second = pair
    await first.subscriptions.create("t", "s")
    await first.records.produce("t", records("in"))
    (id_,) = await receive_values(first, "t", "s")
    await first.topics.create("out", 2)
    txn = (await first.transactions.begin()).id
    for number in (0, 1):
        await first.records.produce("out", records("a"), partition=number, transaction=txn)
    await first.subscriptions.ack("t", "s", "c1", [id_], transaction=txn)
    await first.coordinators.decide(txn, commit=commit)
    await vanish(first)
    final = "committed" if commit else "aborted"
    assert await eventually(lambda: status(second, txn), final) == final
    assert await visible(second, "out") == ({0: ["a"], 1: ["a"]} if commit else {})
    assert list((await receive_values(second, "t", "s", wait_ms=0)).values()) == ([] if commit else ["in"])
    assert await outstanding(second, "out") == 0


async def test_a_participant_that_ends_at_the_sixth_try_is_ended_once(redis_url, prefix, monkeypatch):
    """TS-09, TB-27: what failed before has left nothing, and the log has the decision and the end once."""
    async with one(redis_url, prefix, coordinators=1, end_overdue_ms=60_000, one_call_transactions=False) as broker:
        await broker.topics.create("t")
        txn = await begun(broker, "a")
        (keys,) = [coordinator.keys for coordinator in broker.coordinators]
        ends, done = broker.transactions._participants.end, broker.coordinators.done
        tried, completed = list[list[str]](), list[TxnId]()

        async def decided():
            """The decisions in the log."""
            found = [placed.record async for placed in txn_log.read(broker.store, keys)]
            return [TransactionLogStatus.Name(record.new_status) for record in found if record.op == Op.UPDATE]

        async def noted(decision):
            tried.append(await decided())
            return await ends(decision)

        def counted(txn, *given):
            completed.append(txn)
            return done(txn, *given)

        monkeypatch.setattr(broker.transactions._participants, "end", noted)
        monkeypatch.setattr(broker.coordinators, "done", counted)
        trouble = Trouble(broker.store)
        trouble.fails["txn/end"] = 5
        assert (await broker.transactions.commit(txn)).status == "committed"
        assert trouble.failed == 5
        assert tried == [["COMMITTING"]] * 6
        assert completed == [txn]
        assert await eventually(partial(log_length, broker, txn), 0) == 0
        assert await broker.store.command("HGET", keys.state, "committed", key=keys.state) == b"1"
        assert await values_of(broker, "t", isolation="read_uncommitted") == ["a", "[marker]"]


async def test_finished_transactions_leave_nothing_in_the_log_and_live_ones_stay(redis_url, prefix):
    """TS-07, TS-20: a very old open transaction pins nothing but its own records."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.topics.create("t")
        old = await begun(broker, "old")
        for _ in range(40):
            await broker.transactions.commit(await begun(broker, "young"))
        assert await eventually(lambda: live_transactions(broker), 1) == 1
        assert await eventually(lambda: log_length(broker, old), 2) == 2  # its begin and its partition
        await broker.transactions.commit(old)
        assert await eventually(lambda: log_length(broker, old), 0) == 0


async def test_commit_answers_when_all_can_be_read_or_once_it_is_logged(broker):
    """TS-10: what a caller has committed it can read; `logged` answers before the participants are done."""
    for n in range(20):
        await broker.transactions.commit(await begun(broker, str(n)))
        assert len(await values_of(broker, "t")) == n + 1
    ends, free = broker.transactions._participants.end, asyncio.Event()

    async def held(decision):
        await free.wait()
        return await ends(decision)

    broker.transactions._participants.end = held
    txn = await begun(broker, "later")
    async with within(1):
        assert (await broker.transactions.commit(txn, wait="logged")).status == "committing"
    assert await status(broker, txn) == "committing"
    free.set()
    assert await eventually(lambda: status(broker, txn), "committed") == "committed"


# -- time --------------------------------------------------------------------------------------------------------------


async def test_an_expired_transaction_is_aborted_in_time_with_no_client_there(pair):
    """TS-11, TB-37: output never seen, input delivered again, the timeout counted."""
    first, second = pair
    await first.subscriptions.create("t", "s")
    await first.records.produce("t", records("in"))
    (id_,) = await receive_values(first, "t", "s")
    await first.topics.create("out")
    txn = (await first.transactions.begin(1_500)).id
    await first.records.produce("out", records("never"), transaction=txn)
    await first.subscriptions.ack("t", "s", "c1", [id_], transaction=txn)
    await first.records.produce("out", records("behind"))
    await vanish(first)
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with busy_machine(second) as machine:
        assert await receive_values(second, "t", "s", wait_ms=20_000) == {id_: "in"}
    assert loop.time() - started < 1.5 + 1.0 + machine.lost_s
    assert await eventually(lambda: values_of(second, "out"), ["behind"]) == ["behind"]
    assert await eventually(lambda: status(second, txn), "aborted") == "aborted"
    assert (await second.transactions.get(txn)).timed_out
    keys = second.coordinators.of(txn).keys
    assert await second.store.command("HGET", keys.state, "timeout", key=keys.state) == b"1"
    with pytest.raises(TransactionTimedOut):
        await second.transactions.commit(txn)


async def test_deadlines_run_without_requests(redis_url, prefix):
    """TS-12: aborted right after a broker is back, and one with time left keeps its deadline."""
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t")
        short, long = await begun(broker, "a", timeout_ms=1_000), await begun(broker, "b", timeout_ms=60_000)
        deadline = (await broker.transactions.get(long)).deadline_ms
        await vanish(broker)
    await asyncio.sleep(1.2)  # the first one's time is over then
    async with one(redis_url, prefix) as broker:
        assert await eventually(lambda: status(broker, short), "aborted", 1.0) == "aborted"
        shown = await broker.transactions.get(long)
        assert (shown.status, shown.deadline_ms) == ("open", deadline)


async def test_a_committing_transaction_never_expires(redis_url, prefix):
    """TS-11, TS-04"""
    async with one(redis_url, prefix, end_overdue_ms=60_000) as broker:
        await broker.topics.create("t")
        txn = await begun(broker, "a", timeout_ms=1_000)
        await broker.coordinators.decide(txn, commit=True)
        await asyncio.sleep(1.3)  # its time is over then
        assert await status(broker, txn) == "committing"
        assert (await broker.transactions.commit(txn)).status == "committed"
        assert await values_of(broker, "t") == ["a"]


async def test_of_a_commit_and_an_expiry_at_the_same_instant_one_wins_and_the_caller_knows(pair):
    """TS-21: the visible records of 500 transactions match the replies, also at another broker."""
    first, second = pair
    committed = {}

    async def race(n):
        txn = await begun(first, str(n), timeout_ms=3_000)
        left_ms = (await first.transactions.get(txn)).deadline_ms - first.clock.now_ms()
        await asyncio.sleep((left_ms - 30 + n % 20 * 4) / 1_000)
        try:
            await (first, second)[n % 2].transactions.commit(txn)
            committed[str(n)] = True
        except TransactionError:
            committed[str(n)] = False

    await asyncio.gather(*(race(n) for n in range(500)))
    assert await eventually(lambda: outstanding(second, "t"), 0) == 0
    assert set(await values_of(second, "t")) == {n for n, won in committed.items() if won}
    assert {True, False} == set(committed.values()), "the race was none"


async def test_of_a_commit_and_an_abort_at_once_exactly_one_wins(pair):
    """TS-21"""
    first, second = pair
    for n in range(30):
        txn = await begun(first, str(n))
        results = await asyncio.gather(
            first.transactions.commit(txn), second.transactions.abort(txn), return_exceptions=True
        )
        losers = [r for r in results if isinstance(r, BaseException)]
        assert len(losers) == 1
        assert isinstance(losers[0], AlreadyCommitted | AlreadyAborted)
        committed = not isinstance(results[0], BaseException)
        assert (str(n) in await values_of(first, "t")) is committed


async def test_concurrent_commits_both_succeed_and_the_work_is_done_once(pair):
    """TS-22: 200 transactions on two partitions, each committed at two brokers; each partition gets one marker."""
    first, second = pair
    await first.topics.create("u")
    for n in range(200):
        txn = await begun(first, str(n))
        await second.records.produce("u", records(str(n)), transaction=txn)
        answers = await asyncio.gather(first.transactions.commit(txn), second.transactions.commit(txn))
        assert [a.status for a in answers] == ["committed", "committed"]
    for topic in ("t", "u"):
        log = await values_of(first, topic, isolation="read_uncommitted")
        assert log == [entry for n in range(200) for entry in (str(n), "[marker]")]
        assert await values_of(second, topic) == [str(n) for n in range(200)]


@pytest.mark.parametrize("lost", [{0}, {1}, {2}, {0, 2}])
async def test_transaction_stays_ending_while_a_participant_fails(redis_url, prefix, lost):
    """Those that can be reached are ended all the same, and the others by the next attempt."""
    async with one(redis_url, prefix, end_overdue_ms=60_000) as broker:
        await broker.topics.create("wide", 3)
        txn = (await broker.transactions.begin()).id
        for number in range(3):
            await broker.records.produce("wide", records(str(number)), partition=number, transaction=txn)
        decision = await broker.coordinators.decide(txn, commit=True)
        trouble = Trouble(broker.store)
        trouble.lost = {f"{{wide:{number}}}" for number in lost}
        with pytest.raises(StoreUnavailable):
            await broker.transactions.apply(decision)
        trouble.lost.clear()
        assert await visible(broker, "wide") == {number: [str(number)] for number in range(3) if number not in lost}
        await broker.transactions.apply(decision)
        assert await visible(broker, "wide") == {number: [str(number)] for number in range(3)}


@pytest.mark.parametrize("together", [False, True])
async def test_a_commit_is_not_answered_while_a_participant_fails(redis_url, prefix, together):
    settings: dict[str, Any] = {"end_overdue_ms": 60_000, "redis_timeout_ms": 300, "one_call_transactions": False}
    async with one(redis_url, prefix, **settings) as broker:
        await broker.topics.create("wide", 3)
        txns = [(await broker.transactions.begin(together="nightly")).id for _ in range(3)]
        for number, txn in enumerate(txns):
            for partition in (0, number):
                await broker.records.produce("wide", records("a"), partition=partition, transaction=txn)
        trouble = Trouble(broker.store)
        trouble.lost = {"{wide:1}"}
        with pytest.raises(StoreUnavailable):
            await (broker.transactions.commit_all(txns) if together else broker.transactions.commit(txns[1]))
        trouble.lost.clear()
        assert await status(broker, txns[1]) == "committing"


async def test_participants_are_ended_in_parallel(broker):
    """TS-23: every partition gets its own call, all of them under way at once."""
    await broker.topics.create("wide", 50)
    txn = (await broker.transactions.begin()).id
    await broker.transactions.add_partitions(txn, [("wide", n) for n in range(50)])
    under_way, most = 0, 0
    call = broker.store.call

    def slow(script, keys, args, *, retry=True):
        if script.name != "txn/end":
            return call(script, keys, args, retry=retry)

        async def later():
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.2)
            under_way -= 1
            return await call(script, keys, args, retry=retry)

        return asyncio.ensure_future(later())

    broker.store.call = slow
    async with within(2):
        await broker.transactions.commit(txn)
    assert most == 50
