"""Lists and describes transactions in Kafka's terms, to find those that hold up readers (KIP-664).

no transaction yet   Empty         decided   PrepareCommit, PrepareAbort
open                 Ongoing       ended     CompleteCommit, CompleteAbort
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from redis_ledger.errors import TransactionNotFound
from redis_ledger.ids import TxnId
from redis_ledger.txn.coordinator import Coordinators, TransactionRecord
from redis_ledger.txn.states import TxnState
from redis_ledger.txn.transactional_ids import TransactionalIdRecord, TransactionalIds

LIVE_MAX = 10_000  # open transactions read from one coordinator
STATES = {
    TxnState.OPEN: "Ongoing",
    TxnState.COMMITTING: "PrepareCommit",
    TxnState.ABORTING: "PrepareAbort",
    TxnState.TIMING_OUT: "PrepareAbort",
    TxnState.COMMITTED: "CompleteCommit",
    TxnState.ABORTED: "CompleteAbort",
}


class ListedTransaction(NamedTuple):
    """started_ms: 0 if none is open.  The transactional id of a native transaction is its own id."""

    transactional_id: str
    producer_id: int
    epoch: int
    state: str
    timeout_ms: int
    started_ms: int
    partitions: list[tuple[str, int]]


class TransactionListing:
    def __init__(self, coordinators: Coordinators, identities: TransactionalIds) -> None:
        self._coordinators, self._identities = coordinators, identities

    async def of(self, transactional_id: str) -> ListedTransaction:
        """Raises TransactionNotFound."""
        identity = await self._identities.get(transactional_id)
        if identity is None:
            return _native(await self._coordinators.get(TxnId.parse(transactional_id)))
        record = None
        if identity.txn is not None:
            try:
                record = await self._coordinators.get(identity.txn)
            except TransactionNotFound:
                record = None  # ended long ago
        return _list_transactional_id(identity, record)

    async def all(self) -> list[ListedTransaction]:
        """Cost: reads every transactional id and every open transaction."""
        found: list[ListedTransaction] = []
        for coordinator in self._coordinators:
            live, identities = await asyncio.gather(
                self._coordinators.live(coordinator, LIVE_MAX), self._identities.all(coordinator)
            )
            records = {record.txn: record for record in live}
            found += [_list_transactional_id(each, records.get(each.txn) if each.txn else None) for each in identities]
            found += [_native(record) for record in live if record.producer is None]
        return found


def _list_transactional_id(identity: TransactionalIdRecord, record: TransactionRecord | None) -> ListedTransaction:
    if record is not None:
        state = STATES[record.state]
    elif identity.txn is None:
        state = "Empty"
    else:
        state = "CompleteCommit" if identity.decided == "C" else "CompleteAbort"
    is_open = record is not None and (record.state is TxnState.OPEN or record.state.is_ending)
    partitions = [] if record is None else [(p.topic, p.partition) for p in record.participants]
    started_ms = record.started_ms if record is not None and is_open else 0
    return ListedTransaction(
        identity.transactional_id, identity.producer_id, identity.epoch, state, identity.timeout_ms, started_ms,
        partitions,
    )  # fmt: skip


def _native(record: TransactionRecord) -> ListedTransaction:
    partitions = [(p.topic, p.partition) for p in record.participants]
    return ListedTransaction(
        str(record.txn),
        record.txn.producer_id,
        0,
        STATES[record.state],
        record.timeout_ms,
        record.started_ms,
        partitions,
    )
