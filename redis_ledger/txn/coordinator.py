"""Transaction coordinators: their state is in Redis, so any broker serves any of them at once.

One script call carries the operations of many transactions and writes one log entry for all of them (group commit,
PIP-160).  A coordinator has one call in flight at a time; later operations wait for the next.  A call carries the
broker's name and a number, and the script stores its last reply to each broker, so a call whose reply was lost can be
sent again.

Source: PIP-31, PIP-160; docs/decisions/0003.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import CoordinatorNotFound, TooManyTransactions, TransactionNotFound
from redis_ledger.ids import COORDINATORS_MAX, TxnId
from redis_ledger.store.keys import CatalogKeys, encode_name
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store
from redis_ledger.telemetry import tracing
from redis_ledger.txn.coordinator_turns import CoordinatorTurns
from redis_ledger.txn.end_at_once import EndAtOnce, MarkerWritten, Place
from redis_ledger.txn.operations import Coordinator, Reply
from redis_ledger.txn.refusals import refusal_error
from redis_ledger.txn.states import TxnState

OPEN = Script.load("txn/open")
STEP = "!"  # begins the nonces of steps in lua/include/ended_transactions
NOT_DUE = "-"  # the reply to an expire of a transaction whose deadline has not passed
MORE = "+"  # among participants: the others are in the coordinator's key `wide` (lua/include/participants.lua)
REGISTERED_AT_ONCE, READ_AT_ONCE = 256, 1_000  # participants in one operation, and in one read


class Participant(NamedTuple):
    """A partition that a transaction writes to, or a subscription on it that the transaction acknowledges.  A topic
    that was deleted and created again has another id; participants with the old id count as done."""

    topic: str
    topic_id: str
    partition: int
    subscription: str | None = None

    @property
    def text(self) -> str:
        base = f"{self.topic}/{self.topic_id}/{self.partition}"
        return base if self.subscription is None else f"{base}/{encode_name(self.subscription)}"

    @classmethod
    def parse(cls, text: str) -> Participant:
        topic, topic_id, partition, *rest = text.split("/")
        return cls(topic, topic_id, int(partition), unquote(rest[0]) if rest else None)


class Producer(NamedTuple):
    """The producer of a transaction that a Kafka client began with a transactional id."""

    id: int
    epoch: int
    transactional_id: str

    @classmethod
    def read(cls, txn: TxnId, word: str) -> Producer | None:
        """word: "@number:epoch:transactional id", or something else."""
        if not word.startswith("@"):
            return None
        number, epoch, name = word[1:].split(":")
        return cls(TxnId(txn.coordinator, int(number)).producer_id, int(epoch), unquote(name))


class Decision(NamedTuple):
    """The decision on a transaction, and its participants (none if it has ended).  watermark: every transaction of this
    coordinator up to it has ended (-1: none).  producer: of a Kafka client's transaction.  has_more: there are further
    participants; Coordinators.whole reads them."""

    txn: TxnId
    state: TxnState
    participants: list[Participant]
    watermark: int
    producer: Producer | None = None
    has_more: bool = False

    @classmethod
    def decode(cls, txn: TxnId, fields: Sequence[str], watermark: int) -> Decision:
        """fields: state, producer ("" without one), participants."""
        state, producer, participants = fields
        encode_participants = participants.split(" ")
        return cls(
            txn,
            TxnState(state),
            _participants(encode_participants),
            watermark,
            Producer.read(txn, producer),
            MORE in encode_participants,
        )


class TransactionRecord(NamedTuple):
    """A transaction as its coordinator stores it.  ended_ms: 0 until it has ended.  has_more: some participants are
    missing.  traced: its trace as stored (txn/trace.py)."""

    txn: TxnId
    state: TxnState
    started_ms: int
    timeout_ms: int
    deadline_ms: int
    owner: str
    participants: list[Participant]
    timed_out: bool
    producer: Producer | None = None
    ended_ms: int = 0
    has_more: bool = False
    traced: str = ""


_ENDED = {"C": TxnState.COMMITTED, "A": TxnState.ABORTED, "T": TxnState.ABORTED}


class Coordinators:
    """The transaction coordinators of the cluster."""

    def __init__(
        self, store: Store, broker: str, config: Config, clock: Clock, on_marker: MarkerWritten = lambda *_: None
    ) -> None:
        """on_marker: called with topic, topic id, partition and entry of every marker that a decision's call wrote."""
        self._store, self._config, self._clock = store, config, clock
        self._arguments = broker, config, clock, on_marker
        self._all: list[Coordinator] = []
        self._turns, self._id_turns = CoordinatorTurns(store, self._all), CoordinatorTurns(store, self._all)

    async def refresh(self, at_least: int = 0) -> None:
        """Creates the configured coordinators, or this number; there may be more by another broker, never fewer."""
        keys = CatalogKeys(self._store.prefix)
        held = int(await self._store.command("HGET", keys.state, "coordinators", key=keys.state) or 0)
        known = len(self._all)
        count = max(held, known, self._config.coordinators, at_least)
        new = [Coordinator(self._store, n, *self._arguments) for n in range(known, count)]
        now = self._clock.now_ms()
        opened = [*self._all[held:], *new]  # the first are there if two brokers raised the number at once
        await asyncio.gather(*(self._store.call(OPEN, c.keys.all(), (now,)) for c in opened))
        if len(self._all) == known:
            self._all += new
            for coordinator in new:
                coordinator.batch(self._all[0].batched)
        if count > held:
            await self._store.write_allow_oom("HSET", keys.state, "coordinators", count)

    def __iter__(self) -> Any:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    async def find(self, txn: TxnId) -> Coordinator:
        """As `of`, also for a coordinator that another broker has just created."""
        if txn.coordinator >= len(self._all):
            await self.refresh()
        return self.of(txn)

    def of(self, txn: TxnId) -> Coordinator:
        if not 0 <= txn.coordinator < min(len(self._all), COORDINATORS_MAX):
            raise CoordinatorNotFound(
                f"Transaction {txn}: there is no coordinator {txn.coordinator}; there are 0 to {len(self._all) - 1}."
            )
        return self._all[txn.coordinator]

    # -- operations --------------------------------------------------------------------------------------------------

    async def begin(
        self,
        timeout_ms: int,
        owner: str = "",
        nonce: str = "",
        participants: Sequence[Participant] = (),
        at: Coordinator | None = None,
        *,
        may_move: bool = False,
    ) -> tuple[TxnId, str]:
        """A new transaction with its first participants, and "".  With a nonce, the transaction that was begun with it
        unless that was aborted, and "again", or "committed" if it is a step (step_nonce) that has been.  A step that is
        still being aborted is "again" as well.
        at: where; a nonce needs it, since its repetition must go to the same coordinator.
        may_move: whether another coordinator will do if that one does not respond."""
        assert at is not None or not nonce, "a nonce is looked for at one coordinator"
        rest = f"{quote(owner, safe='') or '-'} {quote(nonce, safe=STEP) or '-'}" if owner or nonce else "- -"
        first, further = participants[:REGISTERED_AT_ONCE], participants[REGISTERED_AT_ONCE:]
        if first:
            rest += " " + encode_participants(first)
        coordinator, (status, fields, _) = await self._turns.submit(
            "begin", timeout_ms, rest, at, may_move=may_move or at is None
        )
        if status == Status.OK:
            txn, found = TxnId(coordinator.number, int(fields[0])), fields[1] if len(fields) > 1 else ""
            if further and not found:
                await self.add(txn, further)
            return txn, found
        raise TooManyTransactions(
            f"Coordinator {coordinator.number} has {self._config.max_active_transactions_per_coordinator} open "
            "transactions, which is the maximum; try again when some have ended."
        )

    async def step(self, nonce: str, at: Coordinator) -> tuple[TxnId | None, bool]:
        """The last transaction that was begun with the nonce of a step, if it is known, and whether it has committed
        and ended."""
        keys, word = at.keys, quote(nonce, safe=STEP)
        serial, committed = await asyncio.gather(
            self._store.command(b"HGET", keys.nonces, word, key=keys.state),
            self._store.command(b"ZSCORE", keys.steps, word, key=keys.state),
        )
        return None if serial is None else TxnId(at.number, int(serial)), committed is not None

    async def allocate(self) -> TxnId:
        """A new id that no transaction gets."""
        coordinator, reply = await self._id_turns.submit("allocate")
        return TxnId(coordinator.number, int(reply.fields[0]))

    async def add(self, txn: TxnId, participants: Sequence[Participant]) -> None:
        """Registers participants; registering again changes nothing.  Raises TransactionNotFound, InvalidTxnStatus,
        AlreadyCommitted, AlreadyAborted, TransactionTimedOut."""
        coordinator = self.of(txn) if txn.coordinator < len(self._all) else await self.find(txn)
        for some in split_participants(participants):
            status, fields, _ = await coordinator.submit("add", txn.serial, encode_participants(some))
            if status != Status.OK:
                raise refusal_error(txn, status, fields)

    async def decide(self, txn: TxnId, *, commit: bool, known: Iterable[Participant] | None = None) -> Decision:
        """COMMITTING or ABORTING is in the log when this returns: the point of no return.  A repeated decision gets the
        same answer; a contradicting one raises AlreadyCommitted, AlreadyAborted or TransactionTimedOut.

        known: if these are all participants, the transaction may have ended when this returns (txn/end_at_once.py).
        """
        end = None if known is None else EndAtOnce(txn.serial, txn.producer_id, places_of(known))
        wanted = "C" if commit else "A"
        coordinator = self.of(txn) if txn.coordinator < len(self._all) else await self.find(txn)
        reply = await coordinator.submit_end("end", txn.serial, wanted, end)
        if end is not None and tracing.tracer is not None:
            end.trace(txn)
        return self._decision(txn, reply)

    async def expire(self, txn: TxnId) -> Decision | None:
        """Aborts the transaction if its deadline has passed, or takes over its overdue end; None when neither is so."""
        reply = await self.of(txn).submit("expire", txn.serial)
        if reply.status != Status.OK or reply.fields[0] == NOT_DUE:
            return None
        return self._decision(txn, reply)

    async def whole(self, decision: Decision) -> Decision:
        """The decision with all participants.  A decided transaction accepts no new ones."""
        if not decision.has_more:
            return decision
        further = await self._further(decision.txn)
        return decision._replace(participants=decision.participants + further, has_more=False)

    def done(self, txn: TxnId, ends: str = "", *, lazy: bool = True) -> asyncio.Future[Reply]:
        """Marks the transaction COMMITTED or ABORTED; all participants are done.  ends: of the first ones, for its
        trace.  Awaiting it is optional: the sweep repeats a lost call."""
        return self.of(txn).submit("complete", txn.serial, ends, lazy=lazy)

    async def get(self, txn: TxnId) -> TransactionRecord:
        """Raises TransactionNotFound, CoordinatorNotFound."""
        k = (await self.find(txn)).keys
        row, ended = await asyncio.gather(
            self._store.command("HGET", k.txns, txn.serial, key=k.state),
            self._store.command("HGET", k.outcomes, txn.serial, key=k.state),
        )
        if row:
            return await self._whole(_record(txn, row.decode()))
        if ended:
            return _ended(txn, ended.decode())
        raise TransactionNotFound(f"Transaction {txn} is unknown, or ended too long ago.")

    async def live(self, coordinator: Coordinator, count: int = 1000) -> list[TransactionRecord]:
        """The oldest live transactions of a coordinator."""
        k = coordinator.keys
        padded = await self._store.command("ZRANGEBYLEX", k.order, "(", "+", "LIMIT", 0, count, key=k.state)
        if not padded:
            return []
        serials = [int(serial) for serial in padded]
        rows = await self._store.command("HMGET", k.txns, *serials, key=k.state)
        pairs = zip(serials, rows, strict=True)
        records = [_record(TxnId(coordinator.number, serial), row.decode()) for serial, row in pairs if row]
        return [await self._whole(record) for record in records]

    async def finished(self, coordinator: Coordinator, count: int = 1000) -> list[TransactionRecord]:
        """The newest remembered outcomes of a coordinator."""
        k = coordinator.keys
        serials = await self._store.command("ZREVRANGEBYSCORE", k.forget, "+inf", 0, "LIMIT", 0, count, key=k.state)
        if not serials:
            return []
        rows = await self._store.command("HMGET", k.outcomes, *serials, key=k.state)
        pairs = zip(serials, rows, strict=True)
        return [_ended(TxnId(coordinator.number, int(serial)), row.decode()) for serial, row in pairs if row]

    async def due(self, coordinator: Coordinator, count: int = 100) -> tuple[list[TxnId], int | None]:
        """Transactions that are due (expired or overdue), and the time in ms at which the next one is."""
        k = coordinator.keys
        command = ("ZRANGEBYSCORE", k.deadlines, 0, "+inf", "WITHSCORES", "LIMIT", 0, count)
        reply = await self._store.command(*command, key=k.state)
        now = self._clock.now_ms()
        found: list[TxnId] = []
        for serial, score in zip(reply[::2], reply[1::2], strict=True):
            deadline = int(float(score))
            if deadline > now:
                return found, deadline
            found.append(TxnId(coordinator.number, int(serial)))
        return found, now if reply else None

    async def _whole(self, record: TransactionRecord) -> TransactionRecord:
        if not record.has_more:
            return record
        further = await self._further(record.txn)
        return record._replace(participants=record.participants + further, has_more=False)

    async def _further(self, txn: TxnId) -> list[Participant]:
        """Participants that are not in the transaction's row."""
        k, found = self.of(txn).keys, list[Participant]()
        after, end = f"[{txn.serial} ".encode(), f"({txn.serial}!".encode()  # ! follows the space
        while True:
            command = ("ZRANGEBYLEX", k.wide, after, end, "LIMIT", 0, READ_AT_ONCE)
            members = await self._store.command(*command, key=k.state)
            found += [Participant.parse(member.decode().split(" ")[1]) for member in members]
            if len(members) < READ_AT_ONCE:
                return found
            after = b"(" + members[-1]

    def _decision(self, txn: TxnId, reply: Reply) -> Decision:
        status, fields, watermark = reply
        if status != Status.OK:
            raise refusal_error(txn, status, fields)
        if fields[0] == "ended":
            return Decision(txn, _ENDED[fields[1]], [], watermark)
        return Decision.decode(txn, fields, watermark)


def places_of(participants: Iterable[Participant]) -> dict[Place, list[str]]:
    """The places of participants, each with the names of its subscriptions."""
    places: dict[Place, list[str]] = {}
    for topic, topic_id, number, subscription in participants:
        names = places.setdefault((topic, topic_id, number), [])
        if subscription is not None:
            names.append(subscription)
    return places


def encode_participants(participants: Sequence[Participant]) -> str:
    """Participants as the argument of an operation."""
    return " ".join([participant.text for participant in participants])


def split_participants(participants: Sequence[Participant]) -> Iterator[Sequence[Participant]]:
    """Pages of participants, one for each operation; one empty page if there are none."""
    for first in range(0, len(participants) or 1, REGISTERED_AT_ONCE):
        yield participants[first : first + REGISTERED_AT_ONCE]


def _participants(words: Sequence[str]) -> list[Participant]:
    return [Participant.parse(word) for word in words if word and word != MORE]


def step_nonce(nonce: str) -> str:
    """The nonce of a step.  Its commit is stored as long as its Idempotency-Key, or until its response is stored."""
    return STEP + nonce


def _record(txn: TxnId, row: str) -> TransactionRecord:
    head, positions, participants = row.split("|")
    state, deadline, started, timeout, owner, nonce = head.split(" ")
    started_ms, timeout_ms = int(started), int(timeout)
    return TransactionRecord(
        txn, TxnState(state), started_ms, timeout_ms, int(deadline) if state == "O" else started_ms + timeout_ms,
        "" if owner == "-" else unquote(owner), _participants(participants.split()), state == "T",
        Producer.read(txn, nonce), has_more=MORE in participants, traced=positions,
    )  # fmt: skip


def _ended(txn: TxnId, row: str) -> TransactionRecord:
    head, _, traced = row.partition("|")
    outcome, ended, started, timeout, owner, nonce = head.split(" ")
    deadline_ms = int(started) + int(timeout)
    return TransactionRecord(
        txn, _ENDED[outcome], int(started), int(timeout), deadline_ms, "" if owner == "-" else unquote(owner), [],
        outcome == "T", Producer.read(txn, nonce), int(ended), traced=traced,
    )  # fmt: skip
