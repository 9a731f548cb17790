"""Reads the delayed records of a partition for fsck.

A small index is read in one moment.  A large one is read in pages, and compared as a whole if its state is the same
before and after.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.delay import bucket as snapshots
from redis_ledger.delay.bucket_metrics import BucketMetrics
from redis_ledger.delay.entry import Bucket, Indexed
from redis_ledger.delay.index import DelayIndex
from redis_ledger.errors import LedgerError
from redis_ledger.fsck.delay_check import check_buckets, check_delay
from redis_ledger.fsck.delay_facts import BucketFacts, DelayFacts
from redis_ledger.fsck.finding import Action, Finding
from redis_ledger.fsck.payload_check import check_delayed
from redis_ledger.fsck.sidecar_check import unlogged_of
from redis_ledger.ledger.place import Place
from redis_ledger.store.reading import SMALL, Reading, pairs, scores

ATTEMPTS = 3
CHUNKS_MAX = 64  # of live bits that are read at once: half a kilobyte each
PAYLOAD_BYTES = 1 << 20


def delay_index(reading: Reading, place: Place, config: Config, clock: Clock) -> DelayIndex:
    metrics = BucketMetrics(place.topic)
    return DelayIndex(reading.store, place.keys, place.topic, place.topic_id, lambda: config, clock, metrics)


class DelayReader:
    def __init__(self, reading: Reading, place: Place, config: Config, clock: Clock) -> None:
        self._reading, self._place, self._clock = reading, place, clock
        self._k, self._d = place.keys, place.keys.delay
        self._storage = delay_index(reading, place, config, clock).storage

    async def look(self) -> list[Finding]:
        d = self._d
        counts = await self._reading.atomic(
            [("HLEN", d.state), ("HLEN", d.live), ("HLEN", d.parts), ("HLEN", d.moved), ("HLEN", d.repeats),
             ("ZCARD", d.open), ("ZCARD", d.closing), ("ZCARD", d.queue), ("ZCARD", self._k.sidecar),
             ("HLEN", self._k.open)]
        )  # fmt: skip
        sizes = [count or 0 for count in counts]
        is_small = max(sizes[0], *sizes[2:]) <= SMALL and sizes[1] <= CHUNKS_MAX
        facts, is_complete = await (self._at_once() if is_small else self._in_pages())
        if not facts.is_used:
            return []
        found, is_same = await self._buckets(facts)
        if is_complete and is_same:
            await self._find_lost(facts)
        found += check_delay(self._place, facts, is_complete=is_complete and is_same)
        return found + await self._payload(facts)

    async def _at_once(self) -> tuple[DelayFacts, bool]:
        d = self._d
        hashes = (d.state, self._k.ledgers, d.live, d.parts, d.moved, d.repeats)
        sets = {"open": d.open, "closing": d.closing, "queue": d.queue}
        replies = await self._reading.atomic(
            [*(("HGETALL", key) for key in hashes), *(("ZRANGE", key, 0, -1, "WITHSCORES") for key in sets.values()),
             ("HVALS", self._k.open), ("ZRANGE", self._k.sidecar, 0, -1)]
        )  # fmt: skip
        state, ledgers, live, parts, moved, repeats = map(pairs, replies[:6])
        facts = DelayFacts(state, ledgers, live, parts, moved, repeats)
        facts.aside = unlogged_of(replies[9] or (), replies[10] or ())
        for name, reply in zip(sets, replies[6:9], strict=True):
            self._take(facts, name, scores(reply))
        return facts, True

    def _take(self, facts: DelayFacts, name: str, members: Mapping[bytes, int]) -> None:
        facts.counts[name] += len(members)
        for member, due in members.items():
            try:
                facts.add([Indexed.read(member, due)])
            except ValueError:
                continue

    async def _in_pages(self) -> tuple[DelayFacts, bool]:
        d, read, slot = self._d, self._reading, self._k.state
        facts, is_same = DelayFacts({}, {}, {}, {}, {}, {}), False
        for _ in range(ATTEMPTS):
            hashes: list[dict[bytes, bytes]] = []
            before = {name: row async for page in read.rows(slot, d.state) for name, row in page}
            for key in (self._k.ledgers, d.live, d.parts, d.moved, d.repeats):
                hashes.append({name: row async for page in read.rows(slot, key) for name, row in page})
            ledgers, live, parts, moved, repeats = hashes
            facts = DelayFacts(before, ledgers, live, parts, moved, repeats)
            for name, key in (("open", d.open), ("closing", d.closing), ("queue", d.queue)):
                async for members in read.members(slot, key):
                    self._take(facts, name, dict(members))
            opened = [row async for page in read.rows(slot, self._k.open) for _, row in page]
            buffered = [name async for each in read.members(slot, self._k.sidecar) for name, _ in each]
            facts.aside = unlogged_of(opened, buffered)
            after = {name: row async for page in read.rows(slot, d.state) for name, row in page}
            ledgers_after = {name: row async for page in read.rows(slot, self._k.ledgers) for name, row in page}
            if (before, ledgers) == (after, ledgers_after):
                is_same = True
                break
        return facts, is_same

    # -- buckets -----------------------------------------------------------------------------------------------------

    async def _buckets(self, facts: DelayFacts) -> tuple[list[Finding], bool]:
        """Adds the entries of segments that are not loaded; False if the buckets have changed since."""
        d = self._d
        rows, horizons, snaps, version = await self._reading.atomic(
            [("HGETALL", d.buckets), ("ZRANGE", d.next, 0, -1, "WITHSCORES"), ("HKEYS", d.snaps),
             ("HGET", d.state, "version")]
        )  # fmt: skip
        found, unreadable = list[BucketFacts](), dict[bytes, bytes]()
        for name, text in pairs(rows).items():
            try:
                bucket = Bucket.read(name, text)
            except (ValueError, TypeError):
                unreadable[name] = text
                continue
            facts.buckets.add(name)
            found.append(await self._segments(facts, bucket))
        again = await self._reading.command(self._k.state, "HGET", d.state, "version")
        if again != version:
            return [], False
        now_ms = self._clock.now_ms()
        checked = check_buckets(self._place, found, unreadable, scores(horizons), snaps or (), now_ms)
        return list(checked), version == facts.state.get(b"version")

    async def _segments(self, facts: DelayFacts, bucket: Bucket) -> BucketFacts:
        try:
            metadata = await self._storage.metadata(bucket)
            for number in range(bucket.loaded, bucket.segments):
                facts.add(await self._storage.segment(bucket, number))
        except snapshots.DamagedSnapshot as error:
            return BucketFacts(bucket, str(error) or "it is missing.")
        if bucket.is_loaded:
            return BucketFacts(bucket)
        following = metadata.segments[bucket.loaded]
        return BucketFacts(bucket, "", following.min_due_ms, following.first_entry)

    async def _find_lost(self, facts: DelayFacts) -> None:
        """If bits are missing: the entries that may be pending and still have their payload (cancelled ones do not)."""
        if facts.missing_bits() <= 0:
            return
        for entry, ledger in facts.may_be_pending().items():
            command = ("XRANGE", self._k.data(ledger), f"0-{entry}", f"0-{entry}")
            if await self._reading.command(self._k.state, *command):
                facts.lost.append(entry)

    # -- payload -----------------------------------------------------------------------------------------------------

    async def _payload(self, facts: DelayFacts) -> list[Finding]:
        """Every pending entry has its payload."""
        found = list[Finding]()
        for ledger, row in sorted(facts.ledgers.items(), reverse=True):
            if row.unlogged == 0:
                continue
            first, last = facts.range_of(ledger)
            size = max(row.size // max(row.issued - first + 1, 1), 1)
            count, after, there = max(1, min(400, PAYLOAD_BYTES // size)), f"0-{first}", dict[int, str]()
            while True:
                command = ("XRANGE", self._k.data(ledger), after, f"0-{last}", "COUNT", count)
                rows: list[Any] = await self._reading.command(self._k.state, *command) or []
                for name, fields in rows:
                    self._reading.bytes += len(fields[1])
                    there[int(name[2:])] = check_delayed(fields[1])
                if len(rows) < count:
                    break
                after = f"({rows[-1][0].decode()}"
            lost = [entry for entry in facts.live.entries(first, last) if there.get(entry, "is missing")]
            if lost:
                found += await self._lost(ledger, lost, there)
        return found

    async def _lost(self, ledger: int, lost: list[int], there: Mapping[int, str]) -> list[Finding]:
        """Of those, the ones that are still live: others have fired or were cancelled since."""
        try:
            live = await self._storage.live(lost)
        except LedgerError:
            return []
        found = []
        for entry in lost:
            if live.holds(entry):
                detail = f"The payload of delayed entry {entry}, in ledger {ledger}, {there.get(entry, 'is missing')}."
                repair = Action("clear_live", (self._place, [entry])) if entry not in there else None
                key = self._k.data(ledger).decode()
                found.append(Finding("delay_payload", str(self._place), key, f"{entry}", detail, repair))
        return found
