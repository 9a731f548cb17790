"""fsck: looks at everything twice, repairs if it should, and looks again.

look ─▶ differences? ─▶ wait ─▶ look again ─▶ those that are in both ─▶ repair ─▶ look ... until nothing changes
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.fsck.catalog_reader import CatalogReader
from redis_ledger.fsck.coordinator_facts import CoordinatorPlace
from redis_ledger.fsck.coordinator_reader import CoordinatorReader
from redis_ledger.fsck.delay_reader import DelayReader
from redis_ledger.fsck.finding import Finding, carry_out, persistent
from redis_ledger.fsck.key_table import deletion
from redis_ledger.fsck.keyspace import Keyspace
from redis_ledger.fsck.partition_reader import PartitionReader
from redis_ledger.fsck.repair import Repairs
from redis_ledger.ledger.buffer_snapshot_store import SnapshotUse
from redis_ledger.ledger.place import Place
from redis_ledger.store.keys import CoordinatorKeys
from redis_ledger.store.reading import Reading
from redis_ledger.store.store import Store

BETWEEN_S = 0.5  # between two looks at a difference
ROUNDS_MAX = 10  # of repairs: one may make the next one possible
DELETABLE = ("key_orphan", "key_unknown", "key_type")
Look = Callable[[], Awaitable[list[Finding]]]


class Subject(NamedTuple):
    """Something that is looked at by itself, such as a partition."""

    name: str
    look: Look


class _Run:
    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.repaired: list[Finding] = []
        self.left: list[Finding] = []
        self.subjects = 0


class Report(NamedTuple):
    """found: what is wrong (before repairs).  repaired, left: of those, after repairs.  snapshots: of partitions."""

    found: Sequence[Finding]
    repaired: Sequence[Finding]
    left: Sequence[Finding]
    subjects: int
    bytes: int
    seconds: float
    snapshots: Sequence[SnapshotUse] = ()

    @property
    def mb_per_s(self) -> float:
        return self.bytes / 1e6 / max(self.seconds, 1e-9)


class Fsck:
    """on_subject: called with the name of what is looked at next, its number, and how many there are."""

    def __init__(
        self,
        store: Store,
        config: Config,
        clock: Clock,
        on_subject: Callable[[str, int, int], None] = lambda name, number, count: None,
    ) -> None:
        self._config, self._clock, self._on_subject = config, clock, on_subject
        store.admission.serve_any()
        self.reading = Reading(store)
        self._delete: Collection[str] = ()
        self._is_full = False
        self._readers: list[PartitionReader] = []
        self._keyspace = Keyspace(self.reading)
        self._repairs = Repairs(self.reading, config, clock)

    async def run(
        self, topic: str | None = None, *, repair: bool = False, delete: Collection[str] = (), full: bool = False
    ) -> Report:
        """topic: only this one.  delete: keys to delete, if the report names them as orphans, as unknown, or as of
        another type.  full: read logs and payload from the beginning, not from snapshots.
        Raises StoreUnavailable, UnknownTopic."""
        self._delete, self._is_full, self._readers = delete, full, []
        began = time.monotonic()
        run = _Run()
        catalog = CatalogReader(self.reading, self._keyspace)
        if topic is None:  # its repair may bring topics back
            await self._stage([Subject("catalog", catalog.look)], run, repair)
        subjects = await self._subjects(topic)
        if topic is None:
            subjects.append(Subject("keys", catalog.look_through))
        await self._stage(subjects, run, repair)
        seconds = time.monotonic() - began
        uses = [reader.use for reader in self._readers]
        return Report(run.found, run.repaired, run.left, run.subjects, self.reading.bytes, seconds, uses)

    async def _stage(self, subjects: Sequence[Subject], run: _Run, repair: bool) -> None:
        for number, subject in enumerate(subjects, 1):
            self._on_subject(subject.name, number, len(subjects))
            seen = await self._certain(subject)
            run.found += seen
            if seen and (repair or self._delete):
                done, seen = await self._repair(subject, seen, repair)
                run.repaired += done
            run.left += seen
        run.subjects += len(subjects)

    async def _subjects(self, topic: str | None) -> list[Subject]:
        """Coordinators before partitions: a transaction whose row is rebuilt is not ended as an unknown one."""
        coordinators, subjects = await self._keyspace.coordinators(), list[Subject]()
        for number in range(coordinators if topic is None else 0):
            place = CoordinatorPlace(number, CoordinatorKeys(self.reading.store.prefix, number))
            subjects.append(Subject(str(place), CoordinatorReader(self.reading, place).look))
        places = await self._keyspace.places(topic)
        return subjects + [Subject(f"partition {each}", self._partition(each, coordinators)) for each in places]

    def _partition(self, place: Place, coordinators: int) -> Look:
        reader = PartitionReader(self.reading, place, coordinators, is_full=self._is_full)
        self._readers.append(reader)
        delayed = DelayReader(self.reading, place, self._config, self._clock)

        async def look() -> list[Finding]:
            return await reader.look(self._clock.now_ms()) + await delayed.look()

        return look

    async def _certain(self, subject: Subject) -> list[Finding]:
        """The differences that two looks find."""
        first = await subject.look()
        if not first:
            return []
        await asyncio.sleep(BETWEEN_S)
        return persistent(first, await subject.look())

    async def _repair(
        self, subject: Subject, found: Sequence[Finding], repair: bool
    ) -> tuple[list[Finding], list[Finding]]:
        """Repairs until a round changes nothing.  Returns what was repaired, and what is left."""
        known = {finding.identity: finding for finding in found}
        left = list(found)
        for _ in range(ROUNDS_MAX):
            written = [await self._apply(finding, repair) for finding in left]
            if not any(written):
                break
            left = await self._certain(subject)
            known |= {finding.identity: finding for finding in left}
        gone = known.keys() - {finding.identity for finding in left}
        return [known[identity] for identity in sorted(gone)], left

    async def _apply(self, finding: Finding, repair: bool) -> bool:
        if finding.kind in DELETABLE and finding.key in self._delete:
            return await carry_out(self.reading.store, deletion(finding.key.encode()))
        return repair and await self._repairs.apply(finding.repair)
