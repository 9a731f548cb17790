"""Checks the queues of a key_shared subscription: every unacknowledged offset is in one, with its slot. Pure.

    leases  s17 → offsets 4 and 9 of c1     m0 → slots of these     due  17 → the deadline of c1

The keys of records are not in Redis, so an offset that no queue has gets that of a record without a key: it is
delivered, and its place among the records of its key is lost.  Source: lua/include/slot_queues; docs/decisions/0046.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from redis_ledger.cursor import slot_queues
from redis_ledger.cursor.key_shared import hash_of
from redis_ledger.cursor.slot_queues import PER_PLACE, Entry
from redis_ledger.fsck.cursor_check import SubscriptionPlace, guards_of
from redis_ledger.fsck.cursor_facts import CursorFacts, acked, clipped, complement, pending_ranges
from redis_ledger.fsck.finding import Edit, Finding, Write, hget

LOOSE_MAX = 1_000  # offsets in no place that one edit gives a lease


def check_queues(sub: SubscriptionPlace, facts: CursorFacts, now_ms: int) -> Iterator[Finding]:
    """Of a cursor whose positions are sound."""
    stored = slot_queues.all_entries(facts.queues)
    right = _entries(facts, stored, now_ms)
    fields, due = slot_queues.fields_of(right.values())
    wrong = {each.offset for each in stored.values() if right.get(each.offset) != each}
    wrong |= {offset for offset in right if offset not in stored}
    damaged = [name for name in fields.keys() | facts.queues.keys() if not _is_sound(name, fields, facts.queues, right)]
    late = sorted(slot for slot in due.keys() | facts.due.keys() if due.get(slot) != facts.due.get(slot))
    if not wrong and not damaged and not late:
        return
    k, changed = sub.keys, set(damaged)
    for offset in wrong:
        for entry in (right.get(offset), stored.get(offset)):
            if entry is not None:
                changed |= {b"s%d" % entry.key[-1], b"m%d" % (offset // PER_PLACE)}
    if late and not changed:
        detail = (
            f"{len(late)} slots have another deadline in the index of deadlines: {late[0].decode(errors='replace')}."
        )
        repair = Edit(tuple(guards_of(sub, facts)), tuple(_due_writes(k.due, late, due)))
        yield sub.finding("lease_index", k.due, late[0].decode(errors="replace"), detail, repair)
        return
    names = sorted(changed)
    writes = [
        Write("HSET", k.leases, (name, fields[name])) if name in fields else Write("HDEL", k.leases, (name,))
        for name in names
    ]
    writes += _due_writes(k.due, late, due)
    leased = [entry for entry in right.values() if entry.consumer is not None]
    returned = sum(entry.consumer in ("", slot_queues.UNSEEN) for entry in leased)
    writes.append(Write("HSET", k.cursor, ("leased", len(leased), "returned", returned, "tracked", -1)))
    shown = ", ".join(name.decode(errors="replace") for name in names[:3])
    detail = f"{len(names)} fields of the queues of slots are wrong or missing: {shown}."
    guards = [*guards_of(sub, facts), hget(k.leases, names[0], facts.queues.get(names[0]))]
    yield sub.finding(
        "slot_queue", k.leases, names[0].decode(errors="replace"), detail, Edit(tuple(guards), tuple(writes))
    )


def _entries(facts: CursorFacts, stored: Mapping[int, Entry], now_ms: int) -> dict[int, Entry]:
    """What the queues should have: what is neither acknowledged, nor outside the cursor."""
    mark, read = (int(facts.cursor[name]) for name in (b"mark", b"read"))
    held = {each for first, last in clipped(pending_ranges(facts.pending), mark) for each in range(first, last + 1)}
    unacked = complement(acked(facts.acks, mark, read), mark, read)
    found, loose = dict[int, Entry](), list[int]()
    for offset in (each for first, last in unacked for each in range(first, last + 1)):
        entry = stored.get(offset)
        if offset in held:
            found[offset] = Entry(offset, entry.key if entry else hash_of(None, offset), None)
        elif entry is not None and entry.consumer is not None:
            found[offset] = entry
        else:
            loose.append(offset)
    for offset in islice(loose, LOOSE_MAX):
        entry = stored.get(offset)
        found[offset] = Entry(offset, entry.key if entry else hash_of(None, offset), "", 1, now_ms)
    return found


def _is_sound(
    name: bytes, fields: Mapping[bytes, bytes], stored: Mapping[bytes, bytes], right: Mapping[int, Entry]
) -> bool:
    """Whether a stored field says what the right one does; slots of offsets in no queue do not matter, nor do ids."""
    if name not in fields or name not in stored:
        return False
    if name[:1] == b"s":
        return slot_queues.is_readable(name, stored[name])
    n, place = int(name[1:]), stored[name]
    wanted = [entry for offset in range(n * PER_PLACE, (n + 1) * PER_PLACE) if (entry := right.get(offset)) is not None]
    return place[:2] == fields[name][:2] and all(
        place[2 + each.offset % PER_PLACE : 3 + each.offset % PER_PLACE] == each.key[-1:] for each in wanted
    )


def _due_writes(key: bytes, late: list[bytes], due: Mapping[bytes, int]) -> list[Write]:
    return [Write("ZADD", key, (due[slot], slot)) if slot in due else Write("ZREM", key, (slot,)) for slot in late]
