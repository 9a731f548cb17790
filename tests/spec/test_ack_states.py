"""The acknowledgement state table: what each event does to a record in each state, and to every mix of transactions.

    PENDING ──ack──▶ DELETED          a record that was delivered; nack and timeout deliver it again
       │ ▲              ▲
    ack│ │abort   commit│             in a transaction
       ▼ │              │
    PENDING_ACK(t) ─────┘

A case is a list of events and the states they lead to, one letter for each of six records: P (PENDING), D (DELETED),
or the transaction that holds it (t or u).  `!` after an event: it is refused with TransactionConflict, and changes
nothing.  Each case runs on a real Redis, which is killed and started again before the last event, and after it.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from itertools import product
from typing import Any

import pytest

from redis_ledger.clock import ManualClock
from redis_ledger.errors import TransactionError
from redis_ledger.ids import MessageId
from tests.support.acks import ack, ack_upto, at, offsets
from tests.support.broker import begun, one, records
from tests.support.redis_servers import redis_server

RECORDS = 6
TXN_MS = 600_000  # longer than the timeouts below

# Events: "ack 0,1", "cumulative 3", "t ack 0", "t cumulative 3", "t commit", "t abort", "nack 0", "extend 0",
# "timeout", "gone", "reserve" (all are returned, and received again as reserved).
TABLE = {
    # PENDING
    "an ack deletes": (["ack 0"], "DPPPPP"),
    "a list of acks deletes": (["ack 0,2,5"], "DPDPPD"),
    "a cumulative ack deletes all below": (["cumulative 2"], "DDDPPP"),
    "a nack keeps pending": (["nack 0,1"], "PPPPPP"),
    "a timeout keeps pending": (["timeout"], "PPPPPP"),
    "a consumer that is gone keeps pending": (["gone"], "PPPPPP"),
    "a nacked record can be acknowledged": (["nack 0", "ack 0"], "DPPPPP"),
    "a timed out record can be acknowledged": (["timeout", "ack 0"], "DPPPPP"),
    "a transaction holds": (["t ack 0"], "tPPPPP"),
    "a transaction holds all below": (["t cumulative 2"], "tttPPP"),
    "a nacked record can be held": (["nack 0", "t ack 0"], "tPPPPP"),
    "an extended record can be acknowledged": (["extend 0,1", "ack 0"], "DPPPPP"),
    "a reserved record can be acknowledged": (["reserve", "ack 0"], "DPPPPP"),
    "a reserved record can be held": (["reserve", "t ack 0"], "tPPPPP"),
    "a reserved record that is nacked keeps pending": (["reserve", "nack 0", "gone"], "PPPPPP"),
    # PENDING_ACK
    "a plain ack of a held record is dropped": (["t ack 0", "ack 0"], "tPPPPP"),
    "a list drops what is held": (["t ack 1", "ack 0,1,2"], "DtDPPP"),
    "a plain cumulative ack drops what is held": (["t ack 1", "cumulative 3"], "DtDDPP"),
    "a plain cumulative ack below a held one": (["t cumulative 3", "cumulative 2"], "ttttPP"),
    "a nack of a held record is nothing": (["t ack 0", "nack 0"], "tPPPPP"),
    "an extension of a held record is nothing": (["t ack 0", "extend 0,1"], "tPPPPP"),
    "the timeout of a held record is nothing": (["t ack 0,3", "timeout"], "tPPtPP"),
    "the consumer of a held record is gone": (["t ack 0", "gone"], "tPPPPP"),
    "another transaction conflicts": (["t ack 0", "u ack 0!"], "tPPPPP"),
    "another cumulative conflicts at the same record": (["t cumulative 2", "u cumulative 2!"], "tttPPP"),
    "another cumulative conflicts further on": (["t cumulative 2", "u cumulative 4!"], "tttPPP"),
    "another cumulative conflicts further back": (["t cumulative 2", "u cumulative 0!"], "tttPPP"),
    "an exact retry succeeds": (["t ack 0,1", "t ack 0,1"], "ttPPPP"),
    "a retry of a part succeeds": (["t ack 0,1", "t ack 1"], "ttPPPP"),
    "a list with one's own record succeeds": (["t ack 1", "t ack 0,1,2"], "tttPPP"),
    "an exact cumulative retry succeeds": (["t cumulative 2", "t cumulative 2"], "tttPPP"),
    "a cumulative ack moves forward": (["t cumulative 1", "t cumulative 4"], "tttttP"),
    "a cumulative ack does not move back": (["t cumulative 3", "t cumulative 1!"], "ttttPP"),
    "one's own single ack in one's cumulative range": (["t cumulative 3", "t ack 1"], "ttttPP"),
    "one's own cumulative ack over one's single ack": (["t ack 1", "t cumulative 3"], "ttttPP"),
    "a commit deletes": (["t ack 0,2", "t commit"], "DPDPPP"),
    "a cumulative commit deletes": (["t cumulative 2", "t commit"], "DDDPPP"),
    "an abort makes pending": (["t ack 0,2", "t abort"], "PPPPPP"),
    "a cumulative abort makes pending": (["t cumulative 2", "t abort"], "PPPPPP"),
    "a commit after a dropped ack deletes": (["t ack 0", "ack 0", "t commit"], "DPPPPP"),
    "an abort after a dropped ack makes pending": (["t ack 0", "ack 0", "t abort"], "PPPPPP"),
    "an aborted record can be acknowledged": (["t ack 0", "t abort", "ack 0"], "DPPPPP"),
    "an aborted record can be held by another": (["t ack 0", "t abort", "u ack 0"], "uPPPPP"),
    "a commit repeated": (["t ack 0", "t commit", "t commit"], "DPPPPP"),
    "an abort repeated": (["t ack 0", "t abort", "t abort"], "PPPPPP"),
    # DELETED
    "an ack in a transaction conflicts": (["ack 0", "t ack 0!"], "DPPPPP"),
    "an ack in a transaction conflicts beyond the mark": (["ack 3", "t ack 3!"], "PPPDPP"),
    "a record that a commit deleted conflicts": (["t ack 0", "t commit", "u ack 0!"], "DPPPPP"),
    "a cumulative ack below the mark conflicts": (["cumulative 3", "t cumulative 2!"], "DDDDPP"),
    "a cumulative ack passes over deleted records": (["ack 1", "t cumulative 2", "t commit"], "DDDPPP"),
    "a plain ack of a deleted record is nothing": (["ack 0", "ack 0"], "DPPPPP"),
    "a plain cumulative ack below the mark is nothing": (["cumulative 3", "cumulative 1"], "DDDDPP"),
    "a nack of a deleted record is nothing": (["ack 0", "nack 0"], "DPPPPP"),
    "an extension of a deleted record is nothing": (["ack 0", "extend 0,1"], "DPPPPP"),
    "the timeout of a deleted record is nothing": (["ack 0", "timeout"], "DPPPPP"),
    "the consumer of a deleted record is gone": (["ack 0", "gone"], "DPPPPP"),
    # lists: all or nothing
    "a list with a record of another transaction": (["t ack 1", "u ack 0,1,2!"], "PtPPPP"),
    "a list with a deleted record": (["ack 1", "u ack 0,1,2!"], "PDPPPP"),
    "a list that overlaps another's cumulative ack": (["t cumulative 1", "u ack 1,2,3!"], "ttPPPP"),
    # seek: what was pending before it is forgotten
    "a seek drops what a transaction holds": (["t ack 0,1", "seek 3", "t commit"], "DDDPPP"),
    "a seek back makes pending what a transaction holds": (["t ack 0,1", "seek 0", "t commit"], "PPPPPP"),
    "an abort brings nothing back after a seek": (["t ack 0,1", "seek 3", "t abort"], "DDDPPP"),
    "a cumulative hold is dropped by a seek": (["t cumulative 3", "seek 2", "u cumulative 4"], "DDuuuP"),
}  # fmt: skip


class Model:
    """The table as rules, for mixes of two transactions."""

    def __init__(self) -> None:
        self.states = ["P"] * RECORDS
        self.upto: dict[str, int] = {}
        self.ended: set[str] = set()

    def ack(self, txn: str, wanted: list[int]) -> bool:
        if not self._is_free(txn, wanted, may_be_deleted=False):
            self.end(txn, "P")
            return False
        self._take(txn, wanted)
        return True

    def cumulative(self, txn: str, upto: int) -> bool:
        if self.upto.get(txn) == upto:
            return True
        if self.upto.get(txn, -1) > upto:
            return False  # a conflict with itself does not abort it
        mark = next((at for at, state in enumerate(self.states) if state != "D"), RECORDS)
        others = [each for each in self.upto if each != txn]
        if upto < mark or others or not self._is_free(txn, list(range(upto + 1)), may_be_deleted=True):
            self.end(txn, "P")
            return False
        self.upto[txn] = upto
        self._take(txn, list(range(upto + 1)))
        return True

    def end(self, txn: str, state: str) -> bool:
        """False: it was aborted by a conflict before, so a commit is refused."""
        is_first = txn not in self.ended
        self.ended.add(txn)
        self.upto.pop(txn, None)
        if is_first:
            self.states = [state if each == txn else each for each in self.states]
        return is_first or state == "P"

    def _is_free(self, txn: str, wanted: list[int], *, may_be_deleted: bool) -> bool:
        allowed = ("P", txn, "D") if may_be_deleted else ("P", txn)
        return all(self.states[at] in allowed for at in wanted)

    def _take(self, txn: str, wanted: list[int]) -> None:
        for at_ in wanted:
            if self.states[at_] == "P":
                self.states[at_] = txn


class World:
    """One subscription whose six records c1 has received, on a Redis that may be killed."""

    def __init__(self, redis, prefix: str) -> None:
        self.redis, self.prefix, self.clock = redis, prefix, ManualClock()
        self.txns: dict[str, Any] = {}

    @asynccontextmanager
    async def broker(self):
        async with one(self.redis.url, self.prefix, clock=self.clock, end_overdue_ms=60_000) as broker:
            yield broker

    def restart(self) -> None:
        self.redis.kill()
        self.redis.start()

    async def prepare(self) -> None:
        async with self.broker() as broker:
            await broker.topics.create("t")
            await broker.subscriptions.create("t", "x", "exclusive")
            await broker.records.produce("t", records(*map(str, range(RECORDS))))
            assert await offsets(broker, "x") == list(range(RECORDS))
            for name in "tu":
                self.txns[name] = await begun(broker, timeout_ms=TXN_MS)

    async def states(self, broker) -> str:
        letters = {"delivered": "P", "not_delivered": "P", "acknowledged": "D"}
        names = {txn: name for name, txn in self.txns.items()}
        found = [await broker.inspection.record("t", "x", MessageId(0, offset)) for offset in range(RECORDS)]
        return "".join(letters.get(each.state.state) or names[each.transaction] for each in found)

    async def do(self, broker, event: str) -> bool:
        """Returns False if it was refused with a conflict, or because the transaction was aborted by one."""
        words = event.split()
        txn = self.txns[words.pop(0)] if words[0] in self.txns else None
        verb, numbers = words[0], [int(each) for each in words[1].split(",")] if words[1:] else []
        try:
            if verb == "ack":
                await ack(broker, numbers, txn, name="x")
            elif verb == "cumulative":
                await ack_upto(broker, numbers[0], txn)
            elif verb == "nack":
                await broker.subscriptions.nack("t", "x", "c1", at(*numbers))
            elif verb == "extend":
                await broker.subscriptions.extend("t", "x", "c1", at(*numbers))
            elif verb == "reserve":
                await broker.subscriptions.nack("t", "x", "c1", None)
                await broker.subscriptions.receive("t", "x", "c1", is_reserved=True)
            elif verb == "gone":
                await broker.subscriptions.nack("t", "x", "c1", None)
            elif verb == "timeout":
                self.clock.advance(broker.config.ack_timeout_ms + 1)
            elif verb == "seek":
                await broker.subscriptions.seek("t", "x", offsets={0: numbers[0]})
                await offsets(broker, "x")
            else:
                await (broker.transactions.commit if verb == "commit" else broker.transactions.abort)(txn)
        except TransactionError:
            return False
        return True


@pytest.fixture(scope="module")
def redis():
    with redis_server(unix=True, appendonly="yes", appendfsync="always") as server:
        yield server


async def run(world: World, events: list[str]) -> tuple[list[str], str, str, list[int]]:
    """Runs the events, with a restart before the last and after it.  Returns the events as they went, the states before
    and after the second restart, and what is delivered then."""
    await world.prepare()
    async with world.broker() as broker:
        went = [await _went(world, broker, event) for event in events[:-1]]
    world.restart()
    async with world.broker() as broker:
        went.append(await _went(world, broker, events[-1]))
        before = await world.states(broker)
    world.restart()
    async with world.broker() as broker:
        after = await world.states(broker)
        return went, before, after, await offsets(broker, "x")


async def _went(world: World, broker, event: str) -> str:
    event = event.rstrip("!")
    return event if await world.do(broker, event) else f"{event}!"


@pytest.mark.parametrize("name", TABLE)
async def test_each_event_leads_to_the_state_of_the_table(redis, prefix, name):
    """AK-01, AK-02, AK-03, AK-04, AK-05, AK-06, AK-07, AK-08, AK-12, AK-13, AK-16, AK-20, AK-27, AK-28, AK-30: the
    eleven rows of the table, in several orders, each also after a restart of Redis."""
    events, expected = TABLE[name]
    pending = [offset for offset, state in enumerate(expected) if state == "P"]
    assert await run(World(redis, prefix), events) == (events, expected, expected, pending)


HOLDS = ("ack 1", "ack 1,2,4", "ack 4", "cumulative 2", "cumulative 4")
ENDS = (("t commit", "u abort"), ("t abort", "u commit"), ("u commit", "t abort"), ("u abort", "t commit"))
MIXES = [[f"t {first}", f"u {second}", *ends] for (first, second), ends in zip(
    product(HOLDS, HOLDS), ENDS * len(HOLDS) * len(HOLDS), strict=False
)]  # fmt: skip


@pytest.mark.parametrize("events", MIXES, ids=", ".join)
async def test_every_mix_of_individual_and_cumulative_acks_of_two_transactions_agrees_with_the_model(
    redis, prefix, events
):
    """AK-16, AK-12, AK-27: the loser of a conflict holds nothing, and what the winner does is what is there."""
    model, went = Model(), list[str]()
    for event in events:
        txn, verb, *numbers = event.split()
        wanted = [int(each) for each in numbers[0].split(",")] if numbers else []
        if verb == "ack":
            is_done = model.ack(txn, wanted)
        elif verb == "cumulative":
            is_done = model.cumulative(txn, wanted[0])
        else:
            is_done = model.end(txn, "D" if verb == "commit" else "P")
        went.append(event if is_done else f"{event}!")
    expected = "".join(model.states)
    pending = [offset for offset, state in enumerate(expected) if state == "P"]
    assert await run(World(redis, prefix), events) == (went, expected, expected, pending)
