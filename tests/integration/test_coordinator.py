"""Coordinators and participants through their own classes: replies, conflicts, and lost replies."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.errors import (
    AlreadyAborted,
    AlreadyCommitted,
    CoordinatorNotFound,
    InvalidTxnStatus,
    StoreUnavailable,
    TooManyTransactions,
    TransactionError,
    TransactionNotFound,
    TransactionTimedOut,
)
from redis_ledger.ids import TxnId
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.script_status import Status
from redis_ledger.store.store import Store
from redis_ledger.txn import log as txn_log
from redis_ledger.txn.coordinator import Coordinators, Decision, Participant, TransactionRecord
from redis_ledger.txn.participants import Participants
from redis_ledger.txn.producer_ids import ProducerIds
from redis_ledger.txn.refusals import refusal_error
from redis_ledger.txn.states import TxnState
from tests.support.busy_machine import within
from tests.support.proxy import proxy
from tests.support.stores import open_store

P0, P1 = Participant("orders", "t-1", 0), Participant("orders", "t-1", 1)
SUB = Participant("orders", "t-1", 0, "my sub/ü")


async def opened(
    store: Store, *, broker: str = "b1", clock: ManualClock | None = None, **settings: Any
) -> Coordinators:
    made = Coordinators(store, broker, Config(**({"coordinators": 4} | settings)), clock or ManualClock())
    await made.refresh()
    return made


@pytest.fixture
async def coordinators(store) -> Coordinators:
    return await opened(store)


async def begin(coordinators: Coordinators, *participants: Participant, timeout_ms: int = 60_000, **more: Any) -> TxnId:
    return (await coordinators.begin(timeout_ms, participants=participants, **more))[0]


async def again(attempt: Callable[[], Awaitable[Any]]) -> Any:
    """Until Redis is back: a link that was refused waits a little before it dials again."""
    async with within(5):
        while True:
            try:
                return await attempt()
            except StoreUnavailable:
                await asyncio.sleep(0.01)


async def ended(coordinators: Coordinators, txn: TxnId, *, commit: bool) -> Decision:
    decision = await coordinators.decide(txn, commit=commit)
    await coordinators.done(txn)
    return decision


async def logged(store: Store, coordinators: Coordinators, txn: TxnId) -> list[int]:
    """The ops of a transaction that are alive in the log."""
    keys = coordinators.of(txn).keys
    return [p.record.op async for p in txn_log.read(store, keys) if p.record.serial == str(txn.serial)]


# -- begin -------------------------------------------------------------------------------------------------------------


async def test_transactions_are_spread_over_the_coordinators(coordinators):
    """TC-05."""
    txns = [await begin(coordinators) for _ in range(8)]
    assert sorted(txn.coordinator for txn in txns) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert len(set(txns)) == 8


async def test_thousands_begun_at_once_by_two_brokers_have_ids_of_their_own(store, coordinators):
    other = await opened(store, broker="b2")
    txns = await asyncio.gather(*(begin(c) for c in (coordinators, other) * 1000))
    assert len(set(txns)) == 2000
    # A begin that was not answered within a second began again elsewhere; the late one is aborted.
    live = {each.txn: each.state for place in coordinators for each in await coordinators.live(place, 5000)}
    assert {live.get(txn) for txn in txns} == {TxnState.OPEN}


async def test_a_transaction_begun_is_known_to_another_broker_at_once(store, coordinators):
    clock = ManualClock(5_000)
    mine = await opened(store, clock=clock, broker="b3")
    txn = await begin(mine, P0, SUB, timeout_ms=7_000, owner="al ice")
    record = await coordinators.get(txn)
    assert record == TransactionRecord(
        txn, TxnState.OPEN, 5_000, 7_000, 12_000, "al ice", [P0, SUB], False, None, traced="1:1,1:2/p1@0,1:3/s1@0,"
    )  # fmt: skip


async def test_a_nonce_finds_its_transaction_from_any_broker_until_it_is_aborted(store, coordinators):
    other = await opened(store, broker="b2")
    at = coordinators.of(TxnId(1, 0)), other.of(TxnId(1, 0))
    first = await coordinators.begin(60_000, nonce="key one", at=at[0])
    assert await other.begin(60_000, nonce="key one", at=at[1]) == (first[0], "again")
    await ended(coordinators, first[0], commit=False)
    third = await other.begin(60_000, nonce="key one", at=at[1])
    assert (first[1], third[1], third[0] != first[0]) == ("", "", True)


async def test_the_cap_refuses_at_once_and_an_end_makes_room(store):
    """TC-12."""
    capped = await opened(store, coordinators=1, max_active_transactions_per_coordinator=2)
    first, _ = await begin(capped), await begin(capped)
    for nonce in ("", "n"):
        with pytest.raises(TooManyTransactions):
            await capped.begin(60_000, nonce=nonce, at=capped.of(first))
    await ended(capped, first, commit=True)
    assert (await begin(capped)).serial == 2


async def test_producer_ids_are_fresh_and_name_their_coordinator(coordinators):
    ids = ProducerIds(coordinators)
    fresh = [await ids.allocate() for _ in range(8)]
    txn = await begin(coordinators)
    assert len({*fresh, txn.producer_id}) == 9
    assert sorted(pid >> 48 for pid in fresh) == [0, 0, 1, 1, 2, 2, 3, 3]


# -- decide ------------------------------------------------------------------------------------------------------------


async def test_a_decision_names_all_participants_and_a_retry_returns_the_same(coordinators):
    txn = await begin(coordinators, P0)
    await coordinators.add(txn, [P1, SUB])
    await coordinators.add(txn, [P0, SUB])
    first = await coordinators.decide(txn, commit=True)
    assert first == (txn, TxnState.COMMITTING, [P0, P1, SUB], -1, None, False)
    assert await coordinators.decide(txn, commit=True) == first
    await coordinators.done(txn)
    assert await coordinators.decide(txn, commit=True) == (txn, TxnState.COMMITTED, [], txn.serial, None, False)


@pytest.mark.parametrize("done", [False, True])
async def test_loser_of_a_race_gets_the_winner(store, done):
    """TS-05, TS-06."""
    clock = ManualClock()
    coordinators = await opened(store, clock=clock)
    committed, aborted, expired = [await begin(coordinators, timeout_ms=10) for _ in range(3)]
    await coordinators.decide(committed, commit=True)
    await coordinators.decide(aborted, commit=False)
    clock.advance(10)
    assert await coordinators.expire(expired) is not None
    if done:
        for txn in (committed, aborted, expired):
            await coordinators.done(txn)
    for txn, commit, error in (
        (committed, False, AlreadyCommitted), (aborted, True, AlreadyAborted), (expired, True, TransactionTimedOut),
    ):  # fmt: skip
        with pytest.raises(error):
            await coordinators.decide(txn, commit=commit)
        with pytest.raises(error):
            await coordinators.add(txn, [P0])
    assert (await coordinators.get(expired)).timed_out
    assert await coordinators.decide(expired, commit=False)


async def test_of_all_ends_at_once_one_wins_and_the_others_get_its_outcome(store):
    """TS-21: a commit, an abort, the abort of an administrator at another broker, and the deadline, in any order."""
    clock, draw = ManualClock(), random.Random(21)
    one, two = await opened(store, clock=clock), await opened(store, clock=clock, broker="b2")
    txns = [await begin(one, timeout_ms=10) for _ in range(200)]
    clock.advance(10)
    replies: dict[TxnId, dict[str, object]] = {txn: {} for txn in txns}

    async def end(txn, name):
        try:
            replies[txn][name] = await {
                "commit": lambda: one.decide(txn, commit=True),
                "abort": lambda: one.decide(txn, commit=False),
                "administrator": lambda: two.decide(txn, commit=False),
                "deadline": lambda: two.expire(txn),
            }[name]()
        except TransactionError as error:
            replies[txn][name] = type(error)

    ends = [(txn, name) for txn in txns for name in ("commit", "abort", "administrator", "deadline")]
    await asyncio.gather(*(end(*each) for each in draw.sample(ends, len(ends))))
    winners = set()
    for txn, got in replies.items():
        state = (await one.get(txn)).state
        winners.add(state)
        committed = state is TxnState.COMMITTING
        refusal = {TxnState.ABORTING: AlreadyAborted, TxnState.TIMING_OUT: TransactionTimedOut}.get(state)
        assert isinstance(got["commit"], Decision) if committed else got["commit"] is refusal
        for name in ("abort", "administrator"):
            assert got[name] is AlreadyCommitted if committed else isinstance(got[name], Decision)
        assert isinstance(got["deadline"], Decision) is (state is TxnState.TIMING_OUT)
    assert winners == {TxnState.COMMITTING, TxnState.ABORTING, TxnState.TIMING_OUT}


async def test_unknown_transactions_and_coordinators_have_different_errors(coordinators):
    """TC-10."""
    for txn, error in ((TxnId(0, 999_999), TransactionNotFound), (TxnId(77, 0), CoordinatorNotFound)):
        with pytest.raises(error):
            await coordinators.decide(txn, commit=True)
        with pytest.raises(error):
            await coordinators.add(txn, [P0])
        with pytest.raises(error):
            await coordinators.get(txn)


async def test_a_transaction_that_was_not_decided_cannot_be_done(coordinators):
    txn = await begin(coordinators)
    assert (await coordinators.done(txn))[:2] == (Status.TXN_STATUS, ["O"])
    assert (await coordinators.get(txn)).state is TxnState.OPEN


async def test_an_outcome_outlives_its_log_records_and_then_its_window(store):
    clock = ManualClock()
    coordinators = await opened(store, clock=clock, coordinators=1, ended_status_retention_ms=1_000)
    txn = await begin(coordinators, P0)
    assert len(await logged(store, coordinators, txn)) == 2
    await ended(coordinators, txn, commit=True)
    assert await logged(store, coordinators, txn) == []
    assert (await coordinators.get(txn)).state is TxnState.COMMITTED
    assert [r.txn for r in await coordinators.finished(coordinators.of(txn))] == [txn]
    clock.advance(1_001)
    await ended(coordinators, await begin(coordinators), commit=False)
    with pytest.raises(TransactionNotFound):
        await coordinators.decide(txn, commit=True)


async def test_due_transactions_come_oldest_first_with_the_next_deadline(store):
    clock = ManualClock(1_000)
    coordinators = await opened(store, clock=clock, coordinators=1, end_overdue_ms=500)
    assert await coordinators.due(coordinators.of(TxnId(0, 0))) == ([], None)
    late, soon = await begin(coordinators, timeout_ms=3_000), await begin(coordinators, timeout_ms=2_000)
    where = coordinators.of(late)
    assert await coordinators.due(where) == ([], 3_000)
    clock.advance(2_000)
    assert await coordinators.due(where) == ([soon], 4_000)
    await coordinators.decide(soon, commit=True)
    assert await coordinators.due(where) == ([], 3_500)
    clock.advance(1_000)
    assert (await coordinators.due(where))[0] == [soon, late]


# -- how many coordinators ---------------------------------------------------------------------------------------------


async def test_coordinators_become_more_and_never_fewer(store, coordinators):
    """TC-01."""
    txn = await begin(coordinators)
    more = await opened(store, broker="b2", coordinators=6)
    fewer = await opened(store, broker="b3", coordinators=2)
    assert (len(more), len(fewer)) == (6, 6)
    await coordinators.refresh()
    assert (len(coordinators), (await coordinators.get(txn)).txn) == (6, txn)


async def test_unbatched_every_operation_has_entries_of_its_own(store):
    """BW-01, BW-08."""
    plain = await opened(store, coordinators=1, transaction_log_batched_write_enabled=False)
    txns = await asyncio.gather(*(begin(plain, P0, SUB) for _ in range(10)))
    keys = plain.of(txns[0]).keys
    assert await store.command("XLEN", keys.log, key=keys.state) == 30
    batched = await opened(store, broker="b2", coordinators=1)
    more = await asyncio.gather(*(begin(batched) for _ in range(10)))
    assert await store.command("XLEN", keys.log, key=keys.state) == 31
    records = [p.record async for p in txn_log.read(store, keys)]
    assert {int(record.serial) for record in records} == {txn.serial for txn in (*txns, *more)}
    assert len(records) == 40


# -- lost replies ------------------------------------------------------------------------------------------------------


async def test_a_call_whose_reply_was_lost_is_sent_again_and_done_once(redis, prefix):
    async with proxy("127.0.0.1", redis.port) as link:
        store = await Store.open(link.url, prefix=prefix)
        coordinators = await opened(store, coordinators=1)
        for step in range(4):
            link.cuts = 1
            txn = await begin(coordinators, P0)
            assert txn.serial == step  # begun once
            link.cuts = 1
            await coordinators.add(txn, [P1])
            link.cuts = 1
            assert (await coordinators.decide(txn, commit=True)).participants == [P0, P1]
            link.cuts = 1
            assert (await coordinators.done(txn)).status == Status.OK
        keys = coordinators.of(TxnId(0, 0)).keys
        counts = await store.command("HMGET", keys.state, "created", "committed", "next", key=keys.state)
        assert counts == [b"4", b"4", b"4"]
        await store.close()


async def test_a_lost_store_fails_every_waiting_operation(redis, prefix):
    async with proxy("127.0.0.1", redis.port) as link:
        store = await open_store(link.url, prefix=prefix, retry_ms=100)
        coordinators = await opened(store, coordinators=1)
        await link.refuse()
        results = await asyncio.gather(*(begin(coordinators) for _ in range(5)), return_exceptions=True)
        assert {type(result) for result in results} == {StoreUnavailable}
        await link.accept_again()
        assert (await again(lambda: begin(coordinators))).serial >= 0
        await store.close()


# -- participants ------------------------------------------------------------------------------------------------------


async def partitions(store: Store, count: int) -> list[Partition]:
    made = [Partition(store, "orders", n, "t-1", Config(), ManualClock()) for n in range(count)]
    assert all([await p.create() for p in made])
    return made


async def write(partition: Partition, txn: TxnId) -> None:
    await partition.append(AppendRequest(b"x", 1, 0, producer_id=txn.producer_id, epoch=0), txn)


async def test_an_end_reaches_every_participant_and_a_repeated_one_changes_nothing(store, coordinators):
    """TS-22, TB-08."""
    made = await partitions(store, 8)
    ends = Participants(store, Config(), ManualClock())
    txn = await begin(coordinators, *(Participant("orders", "t-1", n) for n in range(8)))
    await asyncio.gather(*(write(p, txn) for p in made))
    decisions = await asyncio.gather(*(coordinators.decide(txn, commit=True) for _ in range(3)))
    await asyncio.gather(*(ends.end(decision) for decision in decisions))
    heads = [await p.offsets.head() for p in made]
    assert [(h.stable_offset, h.end_offset) for h in heads] == [(2, 2)] * 8


async def test_ends_that_arrive_together_travel_together_and_are_all_carried(store, coordinators):
    (partition,) = await partitions(store, 1)
    ends = Participants(store, Config(), ManualClock())
    txns = [await begin(coordinators, P0) for _ in range(200)]
    await asyncio.gather(*(write(partition, txn) for txn in txns))
    decisions = [coordinators.decide(txn, commit=n % 2 == 0) for n, txn in enumerate(txns)]
    await asyncio.gather(*[ends.end(decision) for decision in await asyncio.gather(*decisions)])
    read = await partition.reader.read(0, committed=True, bytes_max=1 << 20)
    assert (read.head.stable_offset, len(read.aborted)) == (400, 100)


async def test_participants_that_are_gone_count_as_done(store, coordinators):
    """TS-08."""
    # Given a transaction on a partition that lives, one that never was, one of another id, and a dead cursor
    (partition,) = await partitions(store, 1)
    strangers = [P1, Participant("orders", "t-0", 0), Participant("never", "t-9", 3), SUB]
    txn = await begin(coordinators, P0, *strangers)
    await write(partition, txn)
    # When it commits
    await Participants(store, Config(), ManualClock()).end(await coordinators.decide(txn, commit=True))
    # Then what lives shows it, and nothing was made for the rest
    assert (await partition.offsets.head()).stable_offset == 2
    found = [key for reply in await store.everywhere("KEYS", f"{store.prefix}:{{never*") for key in reply]
    assert found == []


async def test_a_decision_without_participants_is_done_at_once(store, coordinators):
    txn = await begin(coordinators)
    await Participants(store, Config(), ManualClock()).end(await coordinators.decide(txn, commit=False))
    assert (await coordinators.done(txn))[:2] == (Status.OK, ["A"])


async def test_an_unreachable_participant_is_reported_after_all_others_were_tried(redis, prefix):
    async with proxy("127.0.0.1", redis.port) as link:
        store = await open_store(link.url, prefix=prefix, retry_ms=100)
        coordinators = await opened(store, coordinators=1)
        made = await partitions(store, 3)
        txn = await begin(coordinators, *(Participant("orders", "t-1", n) for n in range(3)))
        for partition in made:
            await write(partition, txn)
        decision, ends = await coordinators.decide(txn, commit=True), Participants(store, Config(), ManualClock())
        await link.refuse()
        with pytest.raises(StoreUnavailable):
            await ends.end(decision)
        await link.accept_again()
        await again(lambda: ends.end(decision))
        assert [(await p.offsets.head()).stable_offset for p in made] == [2, 2, 2]
        await store.close()


def test_an_unexpected_status_is_reported_with_its_value():
    error = refusal_error(TxnId(3, 17), Status.TXN_STATUS, ["O"])
    assert type(error) is InvalidTxnStatus
    assert "3-17 is O" in error.detail
