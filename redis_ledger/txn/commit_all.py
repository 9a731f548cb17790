"""Commits several transactions of one coordinator in one step, at most once for each number of a name.

    worker 1   begin(together="nightly") ─ write ┬─▶ commit all of these, once ("nightly", 17) ─▶ COMMITTING, 17 kept
    worker 2   begin(together="nightly") ─ write ┘
    worker 2'  begin(together="nightly") ─ write      left out: aborted by the driver or by its timeout

A job with numbered steps runs each step on many workers, some of which fail or run twice.  Every attempt has its own
transaction, and the driver commits the successful ones: either all of them are open and are committed together with
the number, or nothing changes.  A repeated step finds its number.  The transactions and the number are stored at the
coordinator that the name hashes to.
Source: lua/include/commit_all.lua; docs/decisions/0013.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from redis_ledger.errors import InvalidRequest, RequestTooLarge
from redis_ledger.ids import TxnId
from redis_ledger.store.keys import encode_name
from redis_ledger.store.script_status import Status
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Coordinators, Decision
from redis_ledger.txn.operations import Coordinator, Reply
from redis_ledger.txn.refusals import refusal_error
from redis_ledger.txn.states import TxnState
from redis_ledger.txn.transactional_ids import TransactionalIds

TRANSACTIONS_MAX = 500  # in one step: Redis does nothing else for its duration, some 7 ms
NUMBER_MAX = 2**53  # beyond it Lua loses digits
NAME_LENGTH_MAX = 1_000
MARK = "="  # begins the names that are stored with the transactional ids


class CommitNumber(NamedTuple):
    """The number of a step, and the name of its job."""

    name: str
    number: int


class CommitAllResult(NamedTuple):
    """decisions: of all committed transactions, to be applied; None if nothing was committed because `number`, which is
    as high or higher, was committed before."""

    decisions: list[Decision] | None
    number: int | None


class StoredNumber(NamedTuple):
    """The highest committed number of a name, and its time."""

    name: str
    number: int
    used_ms: int


class CommitAll:
    def __init__(self, store: Store, coordinators: Coordinators, identities: TransactionalIds) -> None:
        self._store, self._coordinators, self._identities = store, coordinators, identities

    def coordinator(self, name: str) -> Coordinator:
        """The coordinator of the name's transactions and number.  Raises InvalidRequest."""
        if not 1 <= len(name) <= NAME_LENGTH_MAX:
            raise InvalidRequest(f"The name has {len(name)} characters; it can have 1 to {NAME_LENGTH_MAX}.")
        return self._identities.coordinator(name)

    async def commit(self, txns: Sequence[TxnId], once: CommitNumber | None) -> CommitAllResult:
        """Returns when the decision is logged for all of them; a repeated call gets the same result.  Raises the error
        of the first that cannot be committed; InvalidRequest, RequestTooLarge."""
        coordinator = await self._place(txns, once)
        subject, number = (MARK, "-") if once is None else (MARK + encode_name(once.name), str(once.number))
        rest = " ".join([number, *(str(txn.serial) for txn in txns)])
        return decode(txns, once, await coordinator.submit("commit_all", subject, rest))

    async def number(self, name: str) -> int | None:
        """The highest committed number of the name; None if there is none or it has expired."""
        coordinator = self.coordinator(name)
        command = ("HGET", coordinator.keys.ids, MARK + encode_name(name))
        row = await self._store.command(*command, key=coordinator.keys.state)
        return int(row.split(b" ")[0]) if row else None

    async def forget_unused(self, coordinator: Coordinator, before_ms: int) -> None:
        """Forgets the names of a coordinator under which nothing was committed since.  Cost: O(n), in steps of 1000."""
        for kept in await self._all(coordinator):
            if kept.used_ms < before_ms:
                await coordinator.submit("forget_number", kept.name, f"{kept.number} {kept.used_ms}")

    async def _all(self, coordinator: Coordinator) -> list[StoredNumber]:
        k, cursor, found = coordinator.keys, b"0", []
        while True:
            command = ("HSCAN", k.ids, cursor, "MATCH", f"{MARK}*", "COUNT", 1000)
            cursor, rows = await self._store.command(*command, key=k.state)
            for name, row in zip(rows[::2], rows[1::2], strict=True):
                number, used = row.split(b" ")
                found.append(StoredNumber(name.decode(), int(number), int(used)))
            if cursor == b"0":
                return found

    async def _place(self, txns: Sequence[TxnId], once: CommitNumber | None) -> Coordinator:
        """The coordinator of all of them.  Raises InvalidRequest, RequestTooLarge, CoordinatorNotFound."""
        if len(txns) > TRANSACTIONS_MAX:
            raise RequestTooLarge(
                f"{len(txns)} transactions exceed the maximum of {TRANSACTIONS_MAX} in one step; nothing was committed."
            )
        if once is None:
            if not txns:
                raise InvalidRequest("Give transactions, or once, or both.")
            coordinator = await self._coordinators.find(txns[0])
        else:
            if not 0 <= once.number <= NUMBER_MAX:
                raise InvalidRequest(f"The number is {once.number}; it can be 0 to {NUMBER_MAX}.")
            coordinator = self.coordinator(once.name)
        for txn in txns:
            if txn.coordinator != coordinator.number:
                where = "the others are" if once is None else f"{once.name[:100]!r} is"
                raise InvalidRequest(
                    f"Transaction {txn} is not at the coordinator where {where} ({coordinator.number}); begin all of "
                    "them with the same 'together'. Nothing was committed."
                )
        return coordinator


def decode(txns: Sequence[TxnId], once: CommitNumber | None, reply: Reply) -> CommitAllResult:
    """The outcome that the script's reply stands for.  Raises the exception of a refusal."""
    status, (first, *fields), watermark = reply
    if status != Status.OK:
        raise refusal_error(next(txn for txn in txns if str(txn.serial) == first), status, fields)
    if first == "already":
        return CommitAllResult(None, int(fields[0]))
    decisions = []
    for txn, *decision in zip(txns, fields[::3], fields[1::3], fields[2::3], strict=True):
        if decision[0] == "ended":
            decisions.append(Decision(txn, TxnState.COMMITTED, [], watermark))
        else:
            decisions.append(Decision.decode(txn, decision, watermark))
    return CommitAllResult(decisions, None if once is None else once.number)
