"""Compares the keys of a subscription on one partition with each other and with the range of the log.  Pure.

Every offset from mark to read is in exactly one place: leased, held by a transaction, or acknowledged (a bit of
`acks`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from redis_ledger.cursor import ack_chunks
from redis_ledger.cursor.ack_chunks import CHUNK
from redis_ledger.fsck.cursor_facts import (
    CursorFacts,
    Lease,
    acked,
    clipped,
    complement,
    overlaps,
    pending_ranges,
    size,
)
from redis_ledger.fsck.finding import Edit, Finding, Guard, Write, edit, hget, zscore
from redis_ledger.ledger.log_trace import parse_numbers
from redis_ledger.ledger.place import Place
from redis_ledger.store.keys import SubscriptionKeys

POSITIONS = ("mark", "read")
COUNTS = ("leased", "returned", "held", "delivered", "redelivered", "consumer_until")
UNACCOUNTED_MAX = 200  # ranges that one edit makes leases of


class SubscriptionPlace(NamedTuple):
    """name: percent-encoded, as in keys."""

    place: Place
    name: bytes
    kind: str
    keys: SubscriptionKeys

    def __str__(self) -> str:
        return f"{self.place}, subscription {self.name.decode(errors='replace')}"

    def finding(self, kind: str, key: bytes, item: str, detail: str, repair: Edit | None) -> Finding:
        return Finding(kind, str(self), key.decode(), item, detail, repair)


def check_cursor(sub: SubscriptionPlace, facts: CursorFacts, now_ms: int) -> Iterator[Finding]:
    k = sub.keys
    if facts.cursor.get(b"kind", b"").decode() != sub.kind:
        yield _kind(sub, facts)
    found, wrong = parse_numbers(facts.cursor, POSITIONS)
    leases = [lease for name, row in facts.leases.items() if (lease := Lease.parse(name, row)) is not None]
    leases.sort()
    if wrong:
        yield _positions(sub, facts, leases)
        return
    mark, read = found["mark"], found["read"]
    if read > facts.following or mark > read:
        yield _range(sub, facts, mark, read)
        return
    is_keyed = sub.kind == "key_shared"  # its leases are compared by slot_queue_check
    if not is_keyed:
        yield from _damaged_leases(sub, facts, leases, mark, read)
    yield from _counts(sub, facts, leases, mark)
    held = clipped(pending_ranges(facts.pending), mark)
    placed = clipped([(lease.first, lease.last) for lease in leases], mark)
    bits = acked(facts.acks, mark, read)
    both = overlaps(bits, sorted(placed + held))
    if both:
        first, last = both[0]
        detail = f"Offsets {first} to {last} are acknowledged, and leased or held as well."
        yield sub.finding("cursor_acks", k.acks, f"{first}", detail, _clear_bits(sub, facts, both[0]))
        return
    loose = complement(sorted([*placed, *held, *bits]), mark, read)
    if loose and not is_keyed:
        detail = f"{size(loose)} offsets, from {loose[0][0]} to {loose[-1][1]}, are in no place."
        yield sub.finding("cursor_acks", k.acks, "unaccounted", detail, _lease_again(sub, facts, loose, now_ms))


def guards_of(sub: SubscriptionPlace, facts: CursorFacts) -> list[Guard]:
    """The cursor is as it was: any acknowledgement or delivery changes one of these."""
    names = ("kind", "mark", "read", "leased", "held", "delivered")
    return [hget(sub.keys.cursor, name, facts.cursor.get(name.encode())) for name in names]


def _kind(sub: SubscriptionPlace, facts: CursorFacts) -> Finding:
    stored = facts.cursor.get(b"kind")
    detail = f"The cursor is of kind {None if stored is None else stored.decode(errors='replace')!r}; the partition "
    detail += f"lists the subscription as {sub.kind!r}."
    repair = edit([hget(sub.keys.cursor, "kind", stored)], ("HSET", sub.keys.cursor, "kind", sub.kind))
    return sub.finding("subscription", sub.keys.cursor, "kind", detail, repair)


def _positions(sub: SubscriptionPlace, facts: CursorFacts, leases: list[Lease]) -> Finding:
    """A cursor without mark or read: what is leased or held bounds them from below; else it begins anew."""
    k = sub.keys
    known = sorted([(lease.first, lease.last) for lease in leases] + pending_ranges(facts.pending))
    mark = known[0][0] if known else facts.start
    read = max(last for _, last in known) + 1 if known else facts.start
    mark, read = min(mark, facts.following), min(read, facts.following)
    values = {"mark": mark, "read": read, "leased": sum(lease.size for lease in leases), "held": 0, "delivered": 0,
              "redelivered": 0, "consumer_until": 0, "returned": 0}  # fmt: skip
    fields: list[str | int] = []
    for name, value in values.items():
        if name in POSITIONS or name.encode() not in facts.cursor:
            fields += (name, value)
    for name in ("consumer", "created"):
        if name.encode() not in facts.cursor:
            fields += (name, "" if name == "consumer" else 0)
    writes = [Write("HSET", k.cursor, tuple(fields))]
    writes += [Write("HDEL", k.acks, (name,)) for name in ack_chunks.beyond(facts.acks, read)]
    detail = f"The cursor has no mark or no read position; delivery begins again at {mark}."
    guards = [hget(k.cursor, name, facts.cursor.get(name.encode())) for name in POSITIONS]
    return sub.finding("cursor_range", k.cursor, "position", detail, Edit(tuple(guards), tuple(writes)))


def _range(sub: SubscriptionPlace, facts: CursorFacts, mark: int, read: int) -> Finding:
    k = sub.keys
    right = min(read, facts.following)
    detail = f"The cursor stands at {mark} to {read}; the log ends at {facts.following}."
    writes = ("HSET", k.cursor, "mark", min(mark, right), "read", right)
    return sub.finding("cursor_range", k.cursor, "position", detail, edit(guards_of(sub, facts), writes))


def _damaged_leases(
    sub: SubscriptionPlace, facts: CursorFacts, leases: list[Lease], mark: int, read: int
) -> Iterator[Finding]:
    k, known = sub.keys, {str(lease.first).encode(): lease for lease in leases}
    before: Lease | None = None
    for lease in leases:
        if before is not None and lease.first <= before.last:
            detail = f"The leases from {before.first} and {lease.first} share offsets."
            yield sub.finding("lease", k.leases, f"{lease.first}", detail, _drop(sub, facts, str(lease.first).encode()))
        elif lease.last < mark or lease.last >= read:
            detail = f"The lease {lease.first} to {lease.last} is outside {mark} to {read}."
            yield sub.finding("lease", k.leases, f"{lease.first}", detail, _drop(sub, facts, str(lease.first).encode()))
        before = lease
    for name in facts.leases.keys() - known.keys():
        shown = name.decode(errors="replace")
        detail = f"The lease {shown} has another form."
        yield sub.finding("lease", k.leases, shown, detail, _drop(sub, facts, name))


def _drop(sub: SubscriptionPlace, facts: CursorFacts, name: bytes) -> Edit:
    k = sub.keys
    guards = [hget(k.leases, name, facts.leases.get(name))]
    return edit(guards, ("HDEL", k.leases, name), ("ZREM", k.spans, name), ("ZREM", k.due, name))


def _counts(sub: SubscriptionPlace, facts: CursorFacts, leases: list[Lease], mark: int) -> Iterator[Finding]:
    key = sub.keys.cursor
    found, wrong = parse_numbers(facts.cursor, COUNTS)
    right = {name: 0 for name in COUNTS if name in wrong}
    right["leased"] = sum(lease.size for lease in leases)
    right["held"] = size(clipped(pending_ranges(facts.pending), mark))
    right["returned"] = sum(lease.size for lease in leases if lease.is_nobodys)
    for name, value in right.items():
        if found.get(name) != value:
            detail = f"The field {name!r} is {found.get(name)}; leases and pending acknowledgements say {value}."
            repair = edit(guards_of(sub, facts), ("HSET", key, name, value))
            yield sub.finding("cursor_count", key, name, detail, repair)


def _clear_bits(sub: SubscriptionPlace, facts: CursorFacts, both: tuple[int, int]) -> Edit:
    """Clears the bits of a range, in its first chunk; other chunks are for the next round.

    The chunk becomes a bitmap, and is full no more."""
    k, chunk = sub.keys, both[0] // CHUNK
    bits = bytearray(ack_chunks.bitmap(facts.acks, chunk))
    for offset in range(both[0], min(both[1], chunk * CHUNK + CHUNK - 1) + 1):
        at = offset - chunk * CHUNK
        bits[at // 8] &= ~(0x80 >> at % 8)
    writes = [Write("HSET", k.acks, (chunk, bytes(bits))), Write("HDEL", k.acks, (ack_chunks.list_name(chunk),))]
    if (full := ack_chunks.without(facts.acks, chunk)) is not None:
        writes.append(Write("HSET", k.acks, (ack_chunks.full_name(chunk), full)))
    return Edit(tuple(guards_of(sub, facts)), tuple(writes))


def _lease_again(sub: SubscriptionPlace, facts: CursorFacts, loose: list[tuple[int, int]], now_ms: int) -> Edit:
    """Makes leases of no consumer of them, due at once."""
    k, some = sub.keys, loose[:UNACCOUNTED_MAX]
    leased = int(facts.cursor.get(b"leased", b"0")) + size(some)
    writes: list[Write] = []
    for first, last in some:
        writes.append(Write("HSET", k.leases, (first, f"{last}  1 {now_ms}")))
        writes += [Write("ZADD", k.spans, (first, first)), Write("ZADD", k.due, (now_ms, first))]
    writes.append(Write("HSET", k.cursor, ("leased", leased)))
    if b"returned" in facts.cursor:
        writes.append(Write("HSET", k.cursor, ("returned", int(facts.cursor[b"returned"]) + size(some))))
    return Edit(tuple(guards_of(sub, facts)), tuple(writes))


# -- indexes of leases, by page ----------------------------------------------------------------------------------------


def check_lease_index(
    sub: SubscriptionPlace, name: bytes, row: bytes | None, span: int | None, due: int | None
) -> Iterator[Finding]:
    """All of one moment."""
    k, lease = sub.keys, Lease.parse(name, row)
    if lease is None and row is not None:
        return  # see check_cursor
    shown = name.decode(errors="replace")
    right = {k.spans: None if lease is None else lease.first, k.due: None if lease is None else lease.deadline}
    for index, stored in ((k.spans, span), (k.due, due)):
        if stored == right[index]:
            continue
        guards = [hget(k.leases, name, row), zscore(index, name, stored)]
        wanted = right[index]
        if wanted is None:
            detail, repair = f"There is no lease from {shown}; the index has it.", edit(guards, ("ZREM", index, name))
        else:
            detail = f"The lease from {shown} belongs at {wanted}; the index has {stored}."
            repair = edit(guards, ("ZADD", index, wanted, name))
        yield sub.finding("lease_index", index, shown, detail, repair)


# -- pending acknowledgements ------------------------------------------------------------------------------------------


def check_pending(sub: SubscriptionPlace, pending: Mapping[bytes, bytes]) -> Iterator[Finding]:
    """The regions that a transaction names are there, and named."""
    k = sub.keys
    heads = {name: value for name, value in pending.items() if b"/" not in name}
    regions: dict[bytes, set[bytes]] = {}
    for name in pending:
        txn, slash, region = name.partition(b"/")
        if slash:
            regions.setdefault(txn, set()).add(region)
    for txn, value in heads.items():
        shown = txn.decode(errors="replace")
        words = value.split(b" ")
        if words[0] not in (b"I", b"C") or len(words) < 2:
            detail = f"What transaction {shown} holds has another form."
            repair = edit([hget(k.pending, txn, value)], ("HDEL", k.pending, txn))
            yield sub.finding("cursor_pending", k.pending, shown, detail, repair)
            continue
        named = {each for word in words[:-1] if word.startswith(b"+") for each in word[1:].split(b",")}
        missing = named - regions.get(txn, set())
        if missing:
            detail = f"Transaction {shown} holds acknowledgements in {len(missing)} regions that are not there."
            repair = edit([hget(k.pending, txn, value)], ("HSET", k.pending, txn, _renamed(words, named - missing)))
            yield sub.finding("cursor_pending", k.pending, shown, detail, repair)
    for txn in regions.keys() - heads.keys():
        shown = txn.decode(errors="replace")
        names = ",".join(sorted(each.decode() for each in regions[txn]))
        detail = f"Acknowledgements of transaction {shown} are stored without their list."
        repair = edit([hget(k.pending, txn, None)], ("HSET", k.pending, txn, f"I +{names} "))
        yield sub.finding("cursor_pending", k.pending, shown, detail, repair)


def _renamed(words: list[bytes], regions: set[bytes]) -> bytes:
    kept = [word for word in words[:-1] if not word.startswith(b"+")]
    more = [b"+" + b",".join(sorted(regions))] if regions else [b"-"] if words[0] == b"C" else []
    return b" ".join([*kept, *more, words[-1]])
