"""Ends hanging transactions: a partition still holds them, but their coordinator does not have them as live.

    partition    open row, pending acknowledgements, scheduled batches of 0-3821040230400
    coordinator  live       leave it: it will end or time out
                 ended      the partition lost the end (its Redis came back with older data): apply the outcome again
                 unknown    the coordinator lost the transaction: abort it on the partition

Such a row would hold back the stable offset and retention forever, since the sweep of a coordinator only reads the
coordinator.  Only transactions above the maximum age are checked; a transaction's id contains its start time.  If
that lies in the future, the transaction is checked at any age.
Source: docs/decisions/0003.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

import structlog

from redis_ledger.broker.cluster.maintenance_turns import MaintenanceTurns, PartitionKey
from redis_ledger.broker.transactions.service import Transactions
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import CoordinatorNotFound, LedgerError, TransactionNotFound, UnknownTopic
from redis_ledger.ids import TxnId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.open_row import parse_open
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store
from redis_ledger.telemetry import transaction_metrics
from redis_ledger.txn.coordinator import Coordinators, Decision, Participant, Producer
from redis_ledger.txn.states import TxnState

SLACK_MS = 60_000  # clocks differ, and ending takes time
OWN_S, OTHERS_S = 600.0, 3_600.0  # between two checks of a partition (maintenance_turns.py)
PARTITIONS_MAX = 500  # checked in one round; the next round continues after them
HELD_MAX = 32  # transactions that one check reads from each key of a partition
SUBSCRIPTIONS_MAX = 256  # of a partition, chosen at random
AT_ONCE = 8
_TXN = re.compile(rb"(\d+)-(\d+)\Z")
_REGION = re.compile(rb"(\d+)-(\d+)/(\w+)\Z")  # of lua/include/pending_acks.lua

log = structlog.get_logger(__name__)


class HangingTransaction(NamedTuple):
    """The state of a transaction on one partition.  producer: of its open row; None for a native transaction, whose
    producer id is its transaction id."""

    txn: TxnId
    producer: Producer | None
    subscriptions: tuple[str, ...]


class HangingTransactions:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        coordinators: Coordinators,
        transactions: Transactions,
        keeps: Callable[[str, int], bool],
        config: Config,
        clock: Clock,
    ) -> None:
        self._store, self._catalog, self._coordinators = store, catalog, coordinators
        self._transactions, self._clock = transactions, clock
        self._turns = MaintenanceTurns(keeps, OWN_S, OTHERS_S)
        self._loop = asyncio.get_running_loop()
        self._age_ms = config.max_transaction_timeout_ms + SLACK_MS
        self._next = 0  # index of the first partition of the next round

    async def look(self, *, due_only: bool = False) -> None:
        """Checks the next partitions, or those that are due."""
        entries = await self._catalog.list()
        places = [PartitionKey(entry.name, entry.id, number) for entry in entries for number in range(entry.partitions)]
        self._turns.forget_others(places)
        now_s = self._loop.time()
        if due_only:
            places = [place for place in places if self._turns.is_due(place, now_s)][:PARTITIONS_MAX]
        else:
            begin = self._next if self._next < len(places) else 0
            places = places[begin : begin + PARTITIONS_MAX]
            self._next = begin + len(places)
        for first in range(0, len(places), AT_ONCE):
            await asyncio.gather(*(self._look_quietly(place) for place in places[first : first + AT_ONCE]))

    async def look_after_loss(self) -> None:
        """One round over all partitions, for transactions of any age: a coordinator may have lost a transaction that a
        partition still holds."""
        entries = await self._catalog.list()
        places = [PartitionKey(entry.name, entry.id, number) for entry in entries for number in range(entry.partitions)]
        for first in range(0, len(places), AT_ONCE):
            await asyncio.gather(*(self._look_quietly(place, 0) for place in places[first : first + AT_ONCE]))

    async def _look_quietly(self, place: PartitionKey, age_ms: int | None = None) -> None:
        """Checks one partition; an unreachable partition does not delay others.  age_ms: of the youngest transaction to
        check; None: the maximum age."""
        topic, _, number = place
        self._turns.took(place, self._loop.time())
        try:
            partition = await self._catalog.partition(topic, number)
            for held in await self._held(partition, self._age_ms if age_ms is None else age_ms):
                await self._settle(partition, held)
        except UnknownTopic:
            return  # deleted meanwhile
        except LedgerError as error:
            log.warning("hanging transactions cannot be checked", topic=topic, partition=number, error=str(error))

    async def _held(self, partition: Partition, age_ms: int) -> list[HangingTransaction]:
        """Returns transactions of the partition above this age, at most HELD_MAX of each kind: the oldest open
        ones, and random ones with acknowledgements or scheduled batches.

        An id of the future has no age: a clock was ahead when its coordinator allocated it, or an earlier one.
        """
        k = partition.keys
        rows: dict[TxnId, Producer | None] = {}
        limits = "LIMIT", 0, HELD_MAX
        oldest = await self._store.command("ZRANGEBYSCORE", k.firsts, 0, "+inf", *limits, key=k.state)
        oldest += await self._store.command("ZREVRANGEBYSCORE", k.firsts, -2, "-inf", *limits, key=k.state)  # sidecar
        if oldest:
            for pid, row in zip(oldest, await self._store.command("HMGET", k.open, *oldest, key=k.state), strict=True):
                if row:
                    opened = parse_open(row)
                    is_native = int(pid) == opened.txn.producer_id
                    rows[opened.txn] = None if is_native else Producer(int(pid), opened.epoch, "")
        fields = await self._store.command("HRANDFIELD", k.delay.state, HELD_MAX, key=k.state)
        for found in filter(None, map(_TXN.match, fields)):
            rows.setdefault(TxnId(int(found[1]), int(found[2])), None)
        pending: dict[TxnId, list[str]] = {}
        subscriptions = await self._store.command("HRANDFIELD", k.subs, SUBSCRIPTIONS_MAX, key=k.state)
        names = [unquote(name.decode()) for name in subscriptions if name]
        reads = [self._store.command("HRANDFIELD", k.sub(name).pending, HELD_MAX, key=k.state) for name in names]
        for name, fields in zip(names, await asyncio.gather(*reads), strict=True):
            regions = list(filter(None, map(_REGION.match, fields)))
            for found in (*filter(None, map(_TXN.match, fields)), *regions):
                names_of = pending.setdefault(TxnId(int(found[1]), int(found[2])), [])
                if name not in names_of:
                    names_of.append(name)
        now_ms = self._clock.now_ms()
        before = now_ms - age_ms
        return [
            HangingTransaction(txn, rows.get(txn), tuple(pending.get(txn, ())))
            for txn in sorted(rows.keys() | pending.keys())
            if not before <= txn.begun_ms <= now_ms + SLACK_MS
        ]

    async def _settle(self, partition: Partition, held: HangingTransaction) -> None:
        state = await self._outcome(held.txn)
        if state is None:
            return
        here = participants(partition, held.subscriptions)
        await self._transactions.apply(Decision(held.txn, state, here, -1, held.producer))
        outcome = "commit" if state is TxnState.COMMITTING else "abort"
        transaction_metrics.transactions_forgotten.labels(outcome).inc()
        log.warning(
            "a partition held a transaction that its coordinator does not have; it was ended there",
            topic=partition.topic, partition=partition.number, txn=str(held.txn), outcome=outcome,
        )  # fmt: skip

    async def _outcome(self, txn: TxnId) -> TxnState | None:
        """Returns the outcome to apply; None if the transaction is live or its coordinator is missing."""
        try:
            record = await self._coordinators.get(txn)
        except TransactionNotFound:
            return TxnState.ABORTING
        except CoordinatorNotFound:
            return None
        return {TxnState.COMMITTED: TxnState.COMMITTING, TxnState.ABORTED: TxnState.ABORTING}.get(record.state)


def participants(partition: Partition, subscriptions: Sequence[str]) -> list[Participant]:
    here = Participant(partition.topic, partition.topic_id, partition.number)
    return [here, *(here._replace(subscription=name) for name in subscriptions)]
