"""The queues of a key_shared subscription, as lua/include/slot_queues stores them: read, and written by repairs.

    s17   2 0 · grant 3: 2 of c1, until ... · offsets 4 9 · keys k1 k2 · states 3 3     two records that c1 has leased
    m0    2 · slots 0 0 0 0 17 0 0 0 0 17                                            slots of offsets 0 to 255, and how
                                                                                      many of these are in queues
Source: docs/decisions/0046.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from redis_ledger.errors import StoredDamaged

SLOTS, PER_PLACE = 256, 256
HELD, FRESH = 1, 2  # states: a transaction has it; no consumer has got it
UNSEEN = "%"  # as in lua/include/cursor
_FIELD = re.compile(rb"[sm]\d+")
_HEAD, _GRANT = struct.Struct(">III"), struct.Struct(">BII6sHH")


class Entry(NamedTuple):
    """An unacknowledged offset.  key: four bytes, of which the last is the slot.  consumer: None if a transaction has
    it; "" and "%" as in lua/include/cursor."""

    offset: int
    key: bytes
    consumer: str | None
    deliveries: int = 0
    deadline_ms: int = 0
    request: str = ""


def is_field(name: bytes) -> bool:
    """Whether a field of the leases belongs to the queues."""
    return _FIELD.fullmatch(name) is not None


def entries(slot: int, text: bytes) -> list[Entry]:
    """Raises StoredDamaged."""
    try:
        n, fresh, length = _HEAD.unpack_from(text)
        at, end = _HEAD.size, _HEAD.size + length
        grants, sizes = {FRESH: (UNSEEN, 0, 0, "")}, {FRESH: fresh}
        while at < end:
            number, size, count, deadline, *lengths = _GRANT.unpack_from(text, at)
            behind = at + _GRANT.size + lengths[0]
            consumer, request = text[at + _GRANT.size : behind], text[behind : behind + lengths[1]]
            at = behind + lengths[1]
            grants[number] = (consumer.decode(), count, int.from_bytes(deadline, "big"), request.decode())
            sizes[number] = size
    except (struct.error, UnicodeDecodeError):
        raise damaged(slot) from None
    if at != end or len(text) != end + 10 * n or not n:
        raise damaged(slot)
    keys, states = text[end + 6 * n :], text[end + 9 * n :]
    found = list[Entry]()
    for i, state in enumerate(states):
        offset = int.from_bytes(text[end + 6 * i : end + 6 * i + 6], "big")
        key = keys[3 * i : 3 * i + 3] + bytes([slot])
        if state == HELD:
            found.append(Entry(offset, key, None))
        elif state in grants:
            found.append(Entry(offset, key, *grants[state]))
            sizes[state] -= 1
        else:
            raise damaged(slot)
    if any(sizes.values()) or any(a.offset >= b.offset for a, b in pairwise(found)):
        raise damaged(slot)
    return found


def slot_of(place: bytes | None, offset: int) -> int | None:
    """The slot of an offset, as the field of its place says; None if the field does not have it."""
    at = 2 + offset % PER_PLACE
    return None if place is None or len(place) <= at else place[at]


def damaged(slot: int) -> StoredDamaged:
    return StoredDamaged.of(f"The queue of hash slot {slot} of the subscription")


def is_readable(name: bytes, text: bytes) -> bool:
    """Whether a field has the form of a queue."""
    try:
        return int(name[1:]) < SLOTS and bool(entries(int(name[1:]), text))
    except StoredDamaged:
        return False


def all_entries(fields: Mapping[bytes, bytes]) -> dict[int, Entry]:
    """By offset, of all queues that can be read."""
    found = dict[int, Entry]()
    for name, text in fields.items():
        if name[:1] == b"s" and is_field(name) and int(name[1:]) < SLOTS:
            try:
                found |= {each.offset: each for each in entries(int(name[1:]), text)}
            except StoredDamaged:
                continue
    return found


def fields_of(some: Iterable[Entry]) -> tuple[dict[bytes, bytes], dict[bytes, int]]:
    """The fields that hold these entries, and the members of `due` with their scores."""
    queues, places = dict[int, list[Entry]](), dict[int, list[Entry]]()
    for entry in sorted(some):
        queues.setdefault(entry.key[-1], []).append(entry)
        places.setdefault(entry.offset // PER_PLACE, []).append(entry)
    fields, due = dict[bytes, bytes](), dict[bytes, int]()
    for slot, rows in queues.items():
        fields[b"s%d" % slot] = _text(rows)
        if deadlines := [each.deadline_ms for each in rows if each.deadline_ms]:
            due[b"%d" % slot] = min(deadlines)
    for n, rows in places.items():
        slots = bytearray(rows[-1].offset % PER_PLACE + 1)
        for entry in rows:
            slots[entry.offset % PER_PLACE] = entry.key[-1]
        fields[b"m%d" % n] = struct.pack(">H", len(rows)) + bytes(slots)
    return fields, due


def _text(rows: list[Entry]) -> bytes:
    ids, sizes, states = {(UNSEEN, 0, 0, ""): FRESH}, {FRESH: 0}, bytearray()
    for each in rows:
        state = HELD
        if each.consumer is not None:
            grant = (each.consumer, each.deliveries, each.deadline_ms, each.request)
            state = ids.setdefault(grant, len(ids) + FRESH)
            sizes[state] = sizes.get(state, 0) + 1
        states.append(state)
    head = b""
    for (consumer, count, deadline, request), number in ids.items():
        if number != FRESH:
            row = (number, sizes[number], count, deadline.to_bytes(6, "big"), len(consumer), len(request))
            head += _GRANT.pack(*row) + consumer.encode() + request.encode()
    columns = b"".join(each.offset.to_bytes(6, "big") for each in rows) + b"".join(each.key[:3] for each in rows)
    return _HEAD.pack(len(rows), sizes[FRESH], len(head)) + head + columns + bytes(states)
