"""The transaction buffer of one partition: open and aborted transactions, and what holds the stable offset.

    log        0 ····· a·t1 ✗t1 ····· b·t2 ····· c·t3 ·····        open t2, t3; aborted t1, from a to its marker
    stable                            ^ held by t2

Nothing is loaded or recovered, so there is no state that a buffer passes through: what is in Redis is in effect.
Source: PIP-31; Pulsar's transactionBufferStats and transactionInBufferStats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from redis_ledger.errors import TransactionNotFound, UnknownTopic
from redis_ledger.ids import TxnId
from redis_ledger.ledger.buffer_snapshot_store import StoredHead
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.entries import Aborted, parse_aborted
from redis_ledger.ledger.open_row import parse_open
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.reading import Reading
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Coordinators
from redis_ledger.txn.states import TxnState

SLACK_MS = 60_000  # clocks of brokers differ
ABORTED_PAGE = 500
ABORTED_PAGES_MAX = 100  # of the aborted set, read to find one transaction
_STATE = ("topic_id", "start", "stable", "next", "committed", "aborted")

State = Literal["open", "committed", "aborted", "not_written", "ended"]


class OpenHere(NamedTuple):
    """An open transaction that has written to the partition.  first_offset: of its first record; in the sidecar buffer,
    the end of the log when it began to write."""

    transaction: TxnId
    producer_id: int
    first_offset: int
    buffer: Literal["marker", "sidecar"] = "marker"


class AbortedHere(NamedTuple):
    """Readers of committed records skip the producer's records from first_offset to last_offset, the marker."""

    producer_id: int
    first_offset: int
    last_offset: int


class TakenSnapshot(NamedTuple):
    """position: what the log said below this offset."""

    taken_ms: int
    position: int


class PartitionTransactions(NamedTuple):
    """open, aborted_ranges: one page each; open_next and aborted_next are where the next page begins, None at the end.

    held_by           holds the stable offset; None if nothing is open
    committed, aborted  ended since the partition was created
    aborted_set       entries of the aborted set; a long set contains checkpoints as well
    tombstones        ended transactions whose late writes are refused
    low_watermarks    coordinator → serial; None if they were not requested
    """

    start_offset: int
    stable_offset: int
    end_offset: int
    held_by: OpenHere | None
    open_transactions: int
    open: Sequence[OpenHere]
    open_next: int | None
    committed: int
    aborted: int
    aborted_set: int
    aborted_ranges: Sequence[AbortedHere]
    aborted_next: int | None
    tombstones: int
    low_watermarks: dict[int, int] | None
    snapshot: TakenSnapshot | None


class TransactionHere(NamedTuple):
    """One transaction in a partition.  first_offset: while it is open, or if it was aborted and is in the aborted set;
    last_offset: of its abort marker.  committed, aborted: its outcome, also if it wrote nothing here."""

    transaction: TxnId
    state: State
    first_offset: int | None = None
    last_offset: int | None = None


class PartitionTransactionsReader:
    def __init__(self, store: Store, catalog: Catalog, coordinators: Coordinators) -> None:
        self._catalog, self._coordinators = catalog, coordinators
        self._reading = Reading(store)

    async def describe(
        self,
        topic: str,
        number: int,
        *,
        limit: int = 100,
        open_from: int = 0,
        aborted_from: int = 0,
        low_watermarks: bool = False,
    ) -> PartitionTransactions:
        """open_from: 0, or open_next of the page before: negative, how many of the sidecar buffer were listed.
        aborted_from: offset of the first abort marker.

        Raises UnknownTopic, UnknownPartition.  Cost: three round trips, and one for each 200 low watermarks.
        """
        await self._catalog.get(topic, fresh=True)
        partition = await self._catalog.partition(topic, number)
        k, read, shown = partition.keys, self._reading, ("WITHSCORES", "LIMIT", 0, limit + 1)
        passed = max(-1 - open_from, 0)  # in the sidecar buffer, where many transactions have the same score
        state, oldest, opened, aside, page, is_aborted, ended, snapshot, count = await read.atomic([
            ("HMGET", k.state, *_STATE),
            ("ZRANGEBYSCORE", k.firsts, 0, "+inf", "WITHSCORES", "LIMIT", 0, 1),
            ("ZRANGEBYSCORE", k.firsts, open_from if open_from >= 0 else "+inf", "+inf", *shown),
            ("ZREVRANGEBYSCORE", k.firsts, -2, "-inf", "WITHSCORES", "LIMIT", passed, limit + 1),
            ("ZRANGEBYSCORE", k.aborted, aborted_from, "+inf", "WITHSCORES", "LIMIT", 0, 2 * limit + 1),
            ("ZCOUNT", k.aborted, 0, "+inf"),
            ("ZCOUNT", k.ended, 0, "+inf"),
            ("HGET", k.snapshot, "head"),
            ("HLEN", k.open),
        ])  # fmt: skip
        if state is None or state[0] is None or state[0].decode() != partition.topic_id:
            raise UnknownTopic.gone(topic)
        start, stable, end, committed, aborted = (int(each or 0) for each in state[1:])
        marked = _scored(opened)
        firsts = [*marked, *_scored(aside)]
        open_next = firsts[limit][1] if len(marked) > limit else -1 - passed - limit + len(marked)
        rows = await self._open(partition, [*_scored(oldest), *firsts])
        held_by = next((row for row in rows[: len(_scored(oldest))] if row is not None), None)
        ranges, aborted_next = aborted_page(parse_aborted(page or ()), limit, is_full=len(page or ()) == 4 * limit + 2)
        head = StoredHead.parse(snapshot)
        return PartitionTransactions(
            start, stable, end, held_by, max((count or 1) - 1, 0),
            [row for row in rows[len(_scored(oldest)) :][:limit] if row is not None],
            open_next if len(firsts) > limit else None,
            committed, aborted, is_aborted or 0, ranges, aborted_next, ended or 0,
            await self.low_watermarks(partition) if low_watermarks else None,
            TakenSnapshot(head.taken_ms, head.position) if head.taken_ms >= 0 else None,
        )  # fmt: skip

    async def get(self, topic: str, number: int, txn: TxnId) -> TransactionHere:
        """Raises TransactionNotFound if neither the partition nor the coordinator has it, CoordinatorNotFound,
        UnknownTopic, UnknownPartition.  Cost: five round trips, more if very many transactions are open or aborted."""
        await self._catalog.get(topic, fresh=True)
        partition = await self._catalog.partition(topic, number)
        try:
            record = await self._coordinators.get(txn)
        except TransactionNotFound:
            record = None
        producer = txn.producer_id if record is None or record.producer is None else record.producer.id
        opened = await self._find_open(partition, txn, producer)
        if opened is not None:
            return TransactionHere(txn, "open", opened.first_offset)
        state = None if record is None else record.state
        member = None
        if producer == txn.producer_id and state not in (TxnState.OPEN, TxnState.COMMITTING, TxnState.COMMITTED):
            member = await self._find_aborted(partition, txn)
        k = partition.keys
        has_tombstone = await self._reading.command(k.state, "ZSCORE", k.ended, str(txn)) is not None
        found = decide(state, is_aborted_here=member is not None, has_tombstone=has_tombstone)
        if found is None:
            raise TransactionNotFound(
                f"Neither {topic}:{number} nor a coordinator has transaction {txn}; it ended too long ago.",
                transaction=str(txn),
            )
        if member is None:
            return TransactionHere(txn, found)
        return TransactionHere(txn, found, member.first_offset, member.last_offset)

    async def low_watermarks(self, partition: Partition) -> dict[int, int]:
        """Coordinator → all its transactions up to this serial have ended."""
        k, found = partition.keys, dict[int, int]()
        async for page in self._reading.rows(k.state, k.watermarks):
            found.update((int(name), int(serial)) for name, serial in page if serial)
        return dict(sorted(found.items()))

    async def _open(self, partition: Partition, firsts: Sequence[tuple[bytes, int]]) -> list[OpenHere | None]:
        """None for those that have ended since."""
        if not firsts:
            return []
        k = partition.keys
        rows = await self._reading.command(k.state, "HMGET", k.open, *(producer for producer, _ in firsts))
        return [
            None if row is None else _opened(producer, row)
            for (producer, _), row in zip(firsts, rows or (), strict=True)
        ]

    async def _find_open(self, partition: Partition, txn: TxnId, producer: int) -> OpenHere | None:
        k = partition.keys
        row = await self._reading.command(k.state, "HGET", k.open, producer)
        found = None if row is None else _opened(str(producer).encode(), row)
        return found if found is not None and found.transaction == txn else None

    async def _find_aborted(self, partition: Partition, txn: TxnId) -> Aborted | None:
        """Its member of the aborted set.  Its marker is later than its begin, so the set is read from there on."""
        k = partition.keys
        at = await partition.offsets.offset_at(txn.begun_ms - SLACK_MS)
        for _ in range(ABORTED_PAGES_MAX):
            command = ("ZRANGEBYSCORE", k.aborted, at, "+inf", "WITHSCORES", "LIMIT", 0, ABORTED_PAGE)
            page = parse_aborted(await self._reading.command(k.state, *command) or ())
            for each in page:
                if each.producer_id == txn.producer_id:
                    return each
            if len(page) < ABORTED_PAGE:
                return None
            at = page[-1].last_offset
        return None


def decide(state: TxnState | None, *, is_aborted_here: bool, has_tombstone: bool) -> State | None:
    """The state of a transaction that is not open on the partition.  state: at its coordinator, None if it is unknown
    there.  Returns None if nothing is known of it."""
    if is_aborted_here or state in (TxnState.ABORTED, TxnState.ABORTING, TxnState.TIMING_OUT):
        return "aborted"
    if state in (TxnState.COMMITTED, TxnState.COMMITTING):
        return "committed"
    if state is TxnState.OPEN:
        return "not_written"
    return "ended" if has_tombstone else None


def aborted_page(members: Sequence[Aborted], limit: int, *, is_full: bool) -> tuple[list[AbortedHere], int | None]:
    """The first `limit` ranges without checkpoints, and the marker at which the next page begins.  is_full: the set may
    have further members."""
    real = [each for each in members if each.producer_id >= 0]
    shown = [AbortedHere(each.producer_id, each.first_offset, each.last_offset) for each in real[:limit]]
    if len(real) > limit:
        return shown, real[limit].last_offset
    if is_full:  # a checkpoint is before the member with the same marker
        return shown, members[-1].last_offset + (members[-1].producer_id >= 0)
    return shown, None


def _scored(flat: Sequence[bytes] | None) -> list[tuple[bytes, int]]:
    return [(name, int(float(score))) for name, score in zip((flat or ())[::2], (flat or ())[1::2], strict=True)]


def _opened(producer: bytes, row: bytes) -> OpenHere:
    opened = parse_open(row)
    return OpenHere(opened.txn, int(producer), opened.first_offset, "marker" if opened.aside is None else "sidecar")
