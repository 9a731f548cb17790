"""Reads the subscriptions of a partition for fsck.

A small subscription is read in one moment.  Of a large one, the indexes of leases are read in pages, each of one
moment; its counts are compared if the cursor is the same before and after.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from redis_ledger.cursor.slot_queues import all_entries
from redis_ledger.fsck.cursor_check import (
    SubscriptionPlace,
    check_cursor,
    check_lease_index,
    check_pending,
)
from redis_ledger.fsck.cursor_facts import CursorFacts
from redis_ledger.fsck.finding import Edit, Finding, Guard, Write, edit, hget
from redis_ledger.fsck.held_check import Held, HeldCheck
from redis_ledger.fsck.key_table import subscription_keys
from redis_ledger.fsck.keyspace import typed
from redis_ledger.fsck.register_check import check_register
from redis_ledger.fsck.slot_queue_check import check_queues
from redis_ledger.ids import TxnId
from redis_ledger.ledger.place import Place
from redis_ledger.store.keys import CatalogKeys, GroupKeys, PartitionKeys
from redis_ledger.store.reading import PAGE, SMALL, Read, Reading, pairs, scores

CHUNKS_MAX = 256  # of acknowledgements that are read at once: a kilobyte each
ATTEMPTS = 3  # to read a large subscription while its cursor stands still
KINDS = ("exclusive", "failover", "shared", "key_shared", "kafka")
_TXN = re.compile(rb"(\d+)-(\d+)\Z")


class CursorReader:
    def __init__(self, reading: Reading, place: Place, held: HeldCheck) -> None:
        self._reading, self._place, self._held, self._k = reading, place, held, place.keys

    async def look(self, now_ms: int) -> list[Finding]:
        found = list[Finding]()
        async for page in self._reading.rows(self._k.state, self._k.subs):
            for name, kind in page:
                found += await self._one(name, kind, now_ms)
        return found

    async def _one(self, name: bytes, kind: bytes, now_ms: int) -> list[Finding]:
        sub = SubscriptionPlace(self._place, name, kind.decode(errors="replace"), self._k.sub(unquote(name.decode())))
        stored = await self._reading.command(self._k.state, "HGET", sub.keys.cursor, "kind")
        missing = await typed(self._reading, str(sub), self._k.state, subscription_keys(sub.keys, sub.kind))
        if sub.kind not in KINDS:
            missing, found = [], [_unlisted(sub, kind, stored)]
        elif sub.kind == "kafka":
            found = await self._register(sub, now_ms)
        else:
            found = await self._cursor(sub, now_ms) + await self._incarnation(sub)
        if found and await self._reading.command(self._k.state, "HGET", self._k.subs, name) != kind:
            return []  # deleted, or made anew, since
        found += missing
        return found + await self._pending(sub)

    async def _register(self, sub: SubscriptionPlace, now_ms: int) -> list[Finding]:
        cursor, pending = await self._reading.atomic([("HGETALL", sub.keys.cursor), ("HGETALL", sub.keys.pending)])
        return list(check_register(sub, pairs(cursor), pairs(pending), now_ms)) + await self._noted(sub)

    async def _noted(self, sub: SubscriptionPlace) -> list[Finding]:
        """The group knows its topics, and the catalog the group."""
        prefix, topic, name = self._reading.store.prefix, self._place.topic, sub.name.decode()
        topics, groups = GroupKeys(prefix, unquote(name)).topics, CatalogKeys(prefix).groups
        found = list[Finding]()
        if not await self._reading.command(topics, "SISMEMBER", topics, topic):
            repair = Edit((Guard("SISMEMBER", topics, (topic,), 0),), (Write("SADD", topics, (topic,)),))
            detail = f"The group has an offset here; {topic} is not among its topics."
            found.append(sub.finding("group_topics", topics, name, detail, repair))
        if not await self._reading.command(groups, "HEXISTS", groups, name):
            repair = edit([hget(groups, name, None)], ("HSET", groups, name, "classic"))
            detail = "The group has an offset here; it is not in the list of groups."
            found.append(sub.finding("group_topics", groups, name, detail, repair))
        return found

    # -- subscriptions -----------------------------------------------------------------------------------------------

    async def _cursor(self, sub: SubscriptionPlace, now_ms: int) -> list[Finding]:
        k = sub.keys
        counts = await self._reading.atomic([("HLEN", k.leases), ("HLEN", k.pending), ("HLEN", k.acks)])
        leases, pending, acks = (count or 0 for count in counts)
        is_small = leases <= SMALL and pending <= PAGE and acks <= CHUNKS_MAX
        facts = await (self._at_once(sub) if is_small else self._in_pages(sub))
        found = list[Finding]() if sub.kind == "key_shared" else await self._lease_indexes(sub)
        if facts is not None:
            found += check_pending(sub, facts.pending)
            wrong = list(check_cursor(sub, facts, now_ms))
            found += wrong
            if sub.kind == "key_shared" and not wrong:
                found += check_queues(sub, facts, now_ms)
        return found

    async def _at_once(self, sub: SubscriptionPlace) -> CursorFacts:
        k = sub.keys
        keys = (k.cursor, k.leases, k.pending, k.acks)
        cursor, leases, pending, acks, due, state = await self._reading.atomic(
            [*(("HGETALL", key) for key in keys), _due(sub), ("HMGET", self._k.state, "start", "next")]
        )
        start, following = (int(each) if each and each.isdigit() else 0 for each in state or (None, None))
        leased, queues = _split(sub, pairs(leases))
        return CursorFacts(pairs(cursor), leased, pairs(pending), pairs(acks), start, following, queues, scores(due))

    async def _in_pages(self, sub: SubscriptionPlace) -> CursorFacts | None:
        k, read = sub.keys, self._reading
        for _ in range(ATTEMPTS):
            before = await read.command(self._k.state, "HGETALL", k.cursor)
            hashes = []
            for key in (k.leases, k.pending, k.acks):
                hashes.append({name: value async for page in read.rows(self._k.state, key) for name, value in page})
            after, due, state = await read.atomic(
                [("HGETALL", k.cursor), _due(sub), ("HMGET", self._k.state, "start", "next")]
            )
            if pairs(before) == pairs(after):
                start, following = (int(each or 0) for each in state or (None, None))
                leases, pending, acks = hashes
                leased, queues = _split(sub, leases)
                return CursorFacts(pairs(after), leased, pending, acks, start, following, queues, scores(due))
        return None

    async def _lease_indexes(self, sub: SubscriptionPlace) -> list[Finding]:
        k, found, seen = sub.keys, list[Finding](), set[bytes]()

        async def compare(names: Sequence[bytes]) -> None:
            some = [name for name in names if name not in seen]
            seen.update(some)
            for at in range(0, len(some), PAGE):
                part = some[at : at + PAGE]
                replies = await self._reading.atomic(
                    [("HMGET", k.leases, *part), ("ZMSCORE", k.spans, *part), ("ZMSCORE", k.due, *part)]
                )
                rows, spans, dues = (reply or [None] * len(part) for reply in replies)
                for name, row, span, due in zip(part, rows, spans, dues, strict=True):
                    found.extend(check_lease_index(sub, name, row, _score(span), _score(due)))

        async for page in self._reading.fields(self._k.state, k.leases):
            await compare(page)
        for key in (k.spans, k.due):
            async for members in self._reading.members(self._k.state, key):
                await compare([name for name, _ in members])
        return found

    async def _incarnation(self, sub: SubscriptionPlace) -> list[Finding]:
        """The cursors of all partitions carry the word of partition 0."""
        registered = PartitionKeys(self._reading.store.prefix, self._place.topic, 0)
        first = registered.sub(unquote(sub.name.decode()))
        wanted = await self._reading.command(registered.state, "HGET", first.cursor, "incarnation")
        stored = await self._reading.command(self._k.state, "HGET", sub.keys.cursor, "incarnation")
        again = await self._reading.command(registered.state, "HGET", first.cursor, "incarnation")
        if wanted is None or stored is not None or again != wanted:
            return []  # another word is that of a deleted subscription: it is replaced at its next use
        repair = edit(
            [hget(sub.keys.cursor, "incarnation", None)], ("HSET", sub.keys.cursor, "incarnation", wanted)
        )  # fmt: skip
        detail = "The cursor has no incarnation; that of partition 0 has one."
        return [sub.finding("subscription", sub.keys.cursor, "incarnation", detail, repair)]

    async def _pending(self, sub: SubscriptionPlace) -> list[Finding]:
        """What transactions hold, against their coordinators."""
        found, name = list[Finding](), unquote(sub.name.decode())
        async for page in self._reading.rows(self._k.state, sub.keys.pending):
            held = [
                Held(TxnId(int(match[1]), int(match[2])), sub.keys.pending, txn, value,
                     f"pending acknowledgements on {name!r}", subscription=name)
                for txn, value in page if (match := _TXN.match(txn))
            ]  # fmt: skip
            found += await self._held.check(held)
        return found


def _unlisted(sub: SubscriptionPlace, kind: bytes, stored: bytes | None) -> Finding:
    key = sub.place.keys.subs
    detail = f"The partition lists the subscription as {kind.decode(errors='replace')!r}; its cursor is {stored!r}."
    repair = None
    if stored is not None and stored.decode(errors="replace") in KINDS:
        repair = edit([hget(key, sub.name, kind)], ("HSET", key, sub.name, stored))
    return sub.finding("subscription", key, "list", detail, repair)


def _score(text: bytes | None) -> int | None:
    return None if text is None else int(float(text))


def _due(sub: SubscriptionPlace) -> Read:
    return ("ZRANGE", sub.keys.due, 0, -1 if sub.kind == "key_shared" else 0, "WITHSCORES")


def _split(
    sub: SubscriptionPlace, fields: Mapping[bytes, bytes]
) -> tuple[Mapping[bytes, bytes], Mapping[bytes, bytes]]:
    """Leases, and the queues of a key_shared subscription, whose leases are in these."""
    if sub.kind != "key_shared":
        return fields, {}
    return {
        b"%d" % offset: f"{offset} {each.consumer} {each.deliveries} {each.deadline_ms}".encode()
        for offset, each in all_entries(fields).items()
        if each.consumer is not None
    }, fields
