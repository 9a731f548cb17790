"""Transactions that a partition still holds and their coordinator has forgotten.

    partition    open row, pending acknowledgements, scheduled batches of 0-3821040230400
    coordinator  live       leave it: its end or its timeout comes
                 ended      the partition lost the end (its Redis came back older): carry the same outcome again
                 not known  the coordinator lost the transaction: abort what the partition holds

Without this such a row would hold back the stable offset and retention for ever, since the sweep of a coordinator sees
only what the coordinator has.  A transaction is looked at when it is older than any transaction can be.  Its number
says when it was begun.  Source: docs/decisions/0003.
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
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store
from redis_ledger.telemetry import metrics
from redis_ledger.txn.coordinator import Coordinators, Decision, Participant, Producer
from redis_ledger.txn.states import TxnState

SLACK_MS = 60_000  # clocks differ, and an end takes a while
OWN_S, OTHERS_S = 600.0, 3_600.0  # between two looks at a partition (turns.py)
PARTITIONS_MAX = 500  # one round looks at so many, the next one goes on behind them
HELD_MAX = 32  # transactions that one look takes from each place of a partition
SUBSCRIPTIONS_MAX = 256  # of a partition, taken at random: each has its turn
AT_ONCE = 8
_TXN = re.compile(rb"(\d+)-(\d+)\Z")
_REGION = re.compile(rb"(\d+)-(\d+)/(\w+)\Z")  # of lua/include/pending_acks.lua

log = structlog.get_logger(__name__)


class HangingTransaction(NamedTuple):
    """What one partition holds of a transaction.  producer: of its open row; None for a native transaction, whose
    producer id is its own id."""

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
        self._next = 0  # place of the partition that the next round begins with

    async def look(self, *, due_only: bool = False) -> None:
        """One round over the partitions, or over those whose turn it is."""
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

    async def _look_quietly(self, place: PartitionKey) -> None:
        """A partition that cannot be reached holds up no other."""
        topic, _, number = place
        self._turns.took(place, self._loop.time())
        try:
            partition = await self._catalog.partition(topic, number)
            for held in await self._held(partition):
                await self._settle(partition, held)
        except UnknownTopic:
            return  # deleted meanwhile
        except LedgerError as error:
            log.warning("forgotten transactions cannot be looked for", topic=topic, partition=number, error=str(error))

    async def _held(self, partition: Partition) -> list[HangingTransaction]:
        """Transactions the partition holds that are older than any can be, at most HELD_MAX of each kind; the oldest
        open ones, and any of those that hold acknowledgements or scheduled batches."""
        k = partition.keys
        rows: dict[TxnId, Producer | None] = {}
        oldest = await self._store.command("ZRANGEBYSCORE", k.firsts, 0, "+inf", "LIMIT", 0, HELD_MAX, key=k.state)
        if oldest:
            for pid, row in zip(oldest, await self._store.command("HMGET", k.open, *oldest, key=k.state), strict=True):
                if row:
                    epoch, coordinator, serial, _ = map(int, row.split())
                    txn = TxnId(coordinator, serial)
                    rows[txn] = None if int(pid) == txn.producer_id else Producer(int(pid), epoch, "")
        fields = await self._store.command("HRANDFIELD", k.delay.state, HELD_MAX, key=k.state)
        for found in filter(None, map(_TXN.match, fields)):
            rows.setdefault(TxnId(int(found[1]), int(found[2])), None)
        pending: dict[TxnId, list[str]] = {}
        subscriptions = await self._store.command("HRANDFIELD", k.subs, SUBSCRIPTIONS_MAX, key=k.state)
        names = [unquote(name.decode()) for name in subscriptions if name]
        reads = [self._store.command("HRANDFIELD", k.sub(name).pending, HELD_MAX, key=k.state) for name in names]
        for name, fields in zip(names, await asyncio.gather(*reads), strict=True):
            regions = list(filter(None, map(_REGION.match, fields)))
            for txn in {TxnId(int(found[1]), int(found[2])) for found in regions}:
                await self._bring_back(partition, name, txn)
            for found in (*filter(None, map(_TXN.match, fields)), *regions):
                names_of = pending.setdefault(TxnId(int(found[1]), int(found[2])), [])
                if name not in names_of:
                    names_of.append(name)
        before = self._clock.now_ms() - self._age_ms
        return [
            HangingTransaction(txn, rows.get(txn), tuple(pending.get(txn, ())))
            for txn in sorted(rows.keys() | pending.keys())
            if txn.begun_ms < before
        ]

    async def _bring_back(self, partition: Partition, name: str, txn: TxnId) -> None:
        """Names the regions of a transaction again that lost the field with their names: a broker of an earlier release
        has ended it.  Its end then finds them."""
        k, pending, cursor, regions = partition.keys, partition.keys.sub(name).pending, b"0", list[str]()
        if await self._store.command("HEXISTS", pending, str(txn), key=k.state):
            return
        while True:
            command = ("HSCAN", pending, cursor, "MATCH", f"{txn}/*", "COUNT", 500)
            cursor, rows = await self._store.command(*command, key=k.state)
            regions += [field.decode().partition("/")[2] for field in rows[::2]]
            if cursor == b"0":
                break
        if regions:
            await self._store.write_allow_oom("HSETNX", pending, str(txn), f"I +{','.join(regions)} ")

    async def _settle(self, partition: Partition, held: HangingTransaction) -> None:
        state = await self._outcome(held.txn)
        if state is None:
            return
        here = participants(partition, held.subscriptions)
        await self._transactions.apply(Decision(held.txn, state, here, -1, held.producer))
        outcome = "commit" if state is TxnState.COMMITTING else "abort"
        metrics.transactions_forgotten.labels(outcome).inc()
        log.warning(
            "a partition held a transaction that its coordinator does not have; it was ended there",
            topic=partition.topic, partition=partition.number, txn=str(held.txn), outcome=outcome,
        )  # fmt: skip

    async def _outcome(self, txn: TxnId) -> TxnState | None:
        """What its end must be; None: nothing is certain, or nothing is amiss."""
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
