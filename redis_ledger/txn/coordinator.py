"""Transaction coordinators: their state is in Redis, so any broker serves any of them at once.

One script call carries the operations of many transactions and writes one log entry for all of them (group commit,
PIP-160).  A coordinator has one call in flight at a time; what arrives meanwhile leaves in the next.  A call carries
the broker's name and a number, and the script remembers its last answer to each broker, so a call whose reply was lost
is simply sent again.

New transactions go to one coordinator until a call with a begin has left, then to the next: that spreads them evenly
and still fills the batches.  Source: PIP-31, PIP-160; docs/decisions/0003.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from redis_ledger import metrics
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import (
    AlreadyAborted,
    AlreadyCommitted,
    CoordinatorNotFound,
    InvalidTxnStatus,
    LedgerError,
    StoreUnavailable,
    TooManyTransactions,
    TransactionNotFound,
    TransactionTimedOut,
)
from redis_ledger.ids import COORDINATORS_MAX, TxnId
from redis_ledger.store.group_commit import GroupCommit
from redis_ledger.store.keys import CatalogKeys, CoordinatorKeys, encode_name
from redis_ledger.store.replies import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store
from redis_ledger.txn.states import State

APPLY = Script.load("txn/apply")
OPEN = Script.load("txn/open")
STEPS_MAX = 100_000  # committed steps without a stored answer that one coordinator keeps, about 250 bytes each
STEPS_SLACK_MS = 60_000  # they outlive their Idempotency-Keys by this, since clocks differ
STEP = "!"  # begins the nonces of steps in lua/include/outcomes
BEGINS_MAX = 64  # begins waiting at one coordinator before the next one gets its turn: two calls then overlap


class Participant(NamedTuple):
    """A partition that a transaction writes to, or one of its subscriptions that it acknowledges on.  The topic id
    tells a topic that was deleted and made again apart: its old self counts as done."""

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
    """Whose transaction it is, when a Kafka client began it under a transactional id."""

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
    """What has been decided and whom it concerns.  watermark: every transaction of this coordinator up to it has
    ended (-1: none).  participants is empty when the transaction has ended.  producer: of a Kafka client's
    transaction."""

    txn: TxnId
    state: State
    participants: list[Participant]
    watermark: int
    producer: Producer | None = None

    @classmethod
    def read(cls, txn: TxnId, state: State, words: Sequence[str], watermark: int) -> Decision:
        """words: [@producer] participant ..."""
        producer = Producer.read(txn, words[0]) if words else None
        texts = words[1:] if producer is not None else words
        return cls(txn, state, [Participant.parse(text) for text in texts if text], watermark, producer)


class Record(NamedTuple):
    """A transaction as its coordinator keeps it.  ended_ms: 0 while it has not."""

    txn: TxnId
    state: State
    started_ms: int
    timeout_ms: int
    deadline_ms: int
    owner: str
    participants: list[Participant]
    timed_out: bool
    producer: Producer | None = None
    ended_ms: int = 0


class Reply(NamedTuple):
    """The answer to one operation: its words, and the low watermark after the call that carried it."""

    words: list[str]
    watermark: int


class _Operation(NamedTuple):
    code: str
    subject: str | int
    rest: str
    future: asyncio.Future[Reply]


_ENDED = {"C": State.COMMITTED, "A": State.ABORTED, "T": State.ABORTED}


class Coordinator:
    """One coordinator, as one broker drives it."""

    def __init__(self, store: Store, number: int, broker: str, config: Config, clock: Clock) -> None:
        self.number = number
        self.keys = CoordinatorKeys(store.prefix, number)
        self._store, self._config, self._clock = store, config, clock
        self._broker = broker
        self._calls = 0
        self.following = 0  # no number from here on had been handed out when the newest reply of this broker was made
        self._loop = asyncio.get_running_loop()
        batched = config.transaction_log_batched_write_enabled
        self._group: GroupCommit[_Operation] = GroupCommit(
            self._send,
            self._settle,
            items_max=config.transaction_log_batched_write_max_records if batched else 1,
            bytes_max=config.transaction_log_batched_write_max_size,
            lazy_ms=config.transaction_log_batched_write_max_delay_ms,
            turnstile=lambda: store.turnstile(self.keys.state),
        )
        self._limits = (
            config.ended_status_retention_ms,
            config.ended_status_max_records,
            config.max_active_transactions_per_coordinator,
            config.end_overdue_ms,
            1 if batched else 0,
            config.idempotency_key_ms + STEPS_SLACK_MS,
            STEPS_MAX,
        )
        self._key_list = self.keys.all()

    def submit(self, code: str, subject: str | int, rest: str = "", *, lazy: bool = False) -> asyncio.Future[Reply]:
        """One operation, as lua/txn/apply.lua lists them."""
        future: asyncio.Future[Reply] = self._loop.create_future()
        self._group.add(_Operation(code, subject, rest, future), len(rest) + 16, lazy=lazy)
        return future

    @property
    def waiting(self) -> int:
        return len(self._group)

    @property
    def is_idle(self) -> bool:
        return self._group.is_idle

    def _send(self, operations: list[_Operation]) -> asyncio.Future[Any]:
        self._calls += 1
        metrics.coordinator_batch.observe(len(operations))
        args: list[Any] = [self._clock.now_ms(), self._broker, self._calls, *self._limits]
        for operation in operations:
            args += operation[:3]
        return self._store.call(APPLY, self._key_list, args)

    def _settle(self, operations: list[_Operation], done: asyncio.Future[Any]) -> None:
        error = done.exception() if not done.cancelled() else StoreUnavailable()
        if error is not None:
            for operation in operations:
                if not operation.future.done():
                    operation.future.set_exception(error)
                    operation.future.exception()  # a lazy operation has nobody who asks; the sweep does it again
            return
        _, lowest, following, answer = done.result()
        self.following = max(self.following, int(following))
        watermark = int(lowest) - 1 if lowest else int(following) - 1
        for operation, line in zip(operations, answer.decode().split("\n"), strict=True):
            if not operation.future.done():
                operation.future.set_result(Reply(line.split(" "), watermark))


class Coordinators:
    """All coordinators."""

    def __init__(self, store: Store, broker: str, config: Config, clock: Clock) -> None:
        self._store, self._broker, self._config, self._clock = store, broker, config, clock
        self._all: list[Coordinator] = []
        self._turn = 0

    async def refresh(self) -> None:
        """Makes the coordinators that are configured; there may be more, made by another broker, and never fewer."""
        keys = CatalogKeys(self._store.prefix)
        held = int(await self._store.command("HGET", keys.state, "coordinators", key=keys.state) or 0)
        count = max(held, self._config.coordinators)
        known = len(self._all)
        new = [Coordinator(self._store, n, self._broker, self._config, self._clock) for n in range(known, count)]
        now = self._clock.now_ms()
        await asyncio.gather(*(self._store.call(OPEN, c.keys.all(), (now,)) for c in new))
        if len(self._all) == known:
            self._all += new
        if count > held:
            await self._store.command("HSET", keys.state, "coordinators", count, key=keys.state)

    def __iter__(self) -> Any:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

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
    ) -> tuple[TxnId, str]:
        """A new transaction with its first participants, and "".  With a nonce, the transaction that was begun with it
        unless that was aborted, and "again", or "committed" if it is a step (step_nonce) that has been.
        at: where; a nonce needs it, since its repetition must go to the same coordinator."""
        if at is not None:
            coordinator = at
        else:
            assert not nonce, "a nonce is looked for at one coordinator"
            coordinator = self._all[self._turn % len(self._all)]
            if coordinator.waiting >= BEGINS_MAX:
                self._turn += 1
                coordinator = self._all[self._turn % len(self._all)]
        rest = f"{quote(owner, safe='') or '-'} {quote(nonce, safe=STEP) or '-'}" if owner or nonce else "- -"
        if participants:
            rest += " " + " ".join([participant.text for participant in participants])
        words, _ = await coordinator.submit("b", timeout_ms, rest)
        if at is None:
            self._turn = coordinator.number + 1
        if words[0] == "0":
            return TxnId(coordinator.number, int(words[1])), words[2] if len(words) > 2 else ""
        raise TooManyTransactions(
            f"Coordinator {coordinator.number} has {self._config.max_active_transactions_per_coordinator} open "
            "transactions, as many as it may have; try again when some have ended."
        )

    async def add(self, txn: TxnId, participants: Sequence[Participant]) -> None:
        """Registers participants; registering again changes nothing.  Raises TransactionNotFound, InvalidTxnStatus,
        AlreadyCommitted, AlreadyAborted, TransactionTimedOut."""
        texts = " ".join([participant.text for participant in participants])
        words, _ = await self.of(txn).submit("a", txn.serial, texts)
        if words[0] != "0":
            raise refusal(txn, words)

    async def decide(self, txn: TxnId, *, commit: bool) -> Decision:
        """COMMITTING or ABORTING is in the log when this returns: the point of no return.  A repeated decision gets the
        same answer; a contradicting one raises AlreadyCommitted, AlreadyAborted or TransactionTimedOut."""
        words, watermark = await self.of(txn).submit("e", txn.serial, "C" if commit else "A")
        return self._decision(txn, words, watermark)

    async def expire(self, txn: TxnId) -> Decision | None:
        """Aborts the transaction if its deadline has passed, or takes over its overdue end; None when neither is so."""
        words, watermark = await self.of(txn).submit("x", txn.serial)
        if words[0] != "0" or words[1] == "-":
            return None
        return self._decision(txn, words, watermark)

    def done(self, txn: TxnId, *, lazy: bool = True) -> asyncio.Future[Reply]:
        """All participants are done: COMMITTED or ABORTED.  Nobody need await it: if it is lost the sweep does it."""
        return self.of(txn).submit("d", txn.serial, lazy=lazy)

    async def get(self, txn: TxnId) -> Record:
        """Raises TransactionNotFound, CoordinatorNotFound."""
        k = self.of(txn).keys
        row, ended = await asyncio.gather(
            self._store.command("HGET", k.txns, txn.serial, key=k.state),
            self._store.command("HGET", k.outcomes, txn.serial, key=k.state),
        )
        if row:
            return _record(txn, row.decode())
        if ended:
            return _ended(txn, ended.decode())
        raise TransactionNotFound(f"Transaction {txn} is not known, or ended too long ago to be remembered.")

    async def live(self, coordinator: Coordinator, count: int = 1000) -> list[Record]:
        """The oldest live transactions of a coordinator."""
        k = coordinator.keys
        padded = await self._store.command("ZRANGEBYLEX", k.order, "(", "+", "LIMIT", 0, count, key=k.state)
        if not padded:
            return []
        serials = [int(serial) for serial in padded]
        rows = await self._store.command("HMGET", k.txns, *serials, key=k.state)
        pairs = zip(serials, rows, strict=True)
        return [_record(TxnId(coordinator.number, serial), row.decode()) for serial, row in pairs if row]

    async def finished(self, coordinator: Coordinator, count: int = 1000) -> list[Record]:
        """The newest remembered outcomes of a coordinator."""
        k = coordinator.keys
        serials = await self._store.command("ZREVRANGEBYSCORE", k.forget, "+inf", 0, "LIMIT", 0, count, key=k.state)
        if not serials:
            return []
        rows = await self._store.command("HMGET", k.outcomes, *serials, key=k.state)
        pairs = zip(serials, rows, strict=True)
        return [_ended(TxnId(coordinator.number, int(serial)), row.decode()) for serial, row in pairs if row]

    async def due(self, coordinator: Coordinator, count: int = 100) -> tuple[list[TxnId], int | None]:
        """Transactions somebody must act on now, and when the next one will be due (ms), if there is one."""
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

    def _decision(self, txn: TxnId, words: list[str], watermark: int) -> Decision:
        if words[0] != "0":
            raise refusal(txn, words)
        if words[1] == "ended":
            return Decision(txn, _ENDED[words[2]], [], watermark)
        return Decision.read(txn, State(words[1]), words[2:], watermark)


def step_nonce(nonce: str) -> str:
    """The nonce of a step: its commit is remembered for as long as its Idempotency-Key, until its answer is stored."""
    return STEP + nonce


def refusal(txn: TxnId, words: Sequence[str]) -> LedgerError:
    """The exception for a refused operation; words as the script answered them."""
    status, facts = int(words[0]), {"transaction": str(txn)}
    if status == Status.TXN_NOT_FOUND:
        return TransactionNotFound(f"Transaction {txn} is not known, or ended too long ago to be remembered.", **facts)
    assert status == Status.TXN_STATUS, words
    match words[1:]:
        case ["ended", "C"] | ["C"]:
            return AlreadyCommitted(f"Transaction {txn} was committed.", **facts)
        case ["ended", "T"] | ["T"]:
            return TransactionTimedOut(
                f"Transaction {txn} ran past its timeout and was aborted; begin a new one.", **facts
            )
        case ["ended", "A"] | ["A"]:
            return AlreadyAborted(f"Transaction {txn} was aborted; begin a new one.", **facts)
    return InvalidTxnStatus(f"Transaction {txn} is {' '.join(words[1:])}, which does not allow this.", **facts)


def _record(txn: TxnId, row: str) -> Record:
    head, _positions, participants = row.split("|")
    state, deadline, started, timeout, owner, nonce = head.split(" ")
    started_ms, timeout_ms = int(started), int(timeout)
    return Record(
        txn, State(state), started_ms, timeout_ms, int(deadline) if state == "O" else started_ms + timeout_ms,
        "" if owner == "-" else unquote(owner), [Participant.parse(p) for p in participants.split()], state == "T",
        Producer.read(txn, nonce),
    )  # fmt: skip


def _ended(txn: TxnId, row: str) -> Record:
    outcome, ended, started, timeout, owner, nonce = row.split(" ")
    deadline_ms = int(started) + int(timeout)
    return Record(
        txn, _ENDED[outcome], int(started), int(timeout), deadline_ms, "" if owner == "-" else unquote(owner), [],
        outcome == "T", Producer.read(txn, nonce), int(ended),
    )  # fmt: skip
