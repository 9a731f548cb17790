"""Checks the keys of a key_shared subscription: every unacknowledged offset has one, and is in the list of that key.

    leases  o17 → 5c1f09d2      k5c1f09d2 → ",17,23,"

The keys of records are not in Redis, so an offset without one gets that of a record without a key: it is delivered, and
its place among the records of its key is lost.  Source: lua/include/key_index; docs/decisions/0046.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from redis_ledger.cursor.key_shared import is_key, key_of_none
from redis_ledger.fsck.cursor_check import SubscriptionPlace
from redis_ledger.fsck.finding import Edit, Finding, Guard, Write, hget

_FIELD = re.compile(rb"o\d+|k[0-9a-f]{8}")
WRITES_MAX = 1_000  # of one edit; others are for the next round


def is_key_field(name: bytes) -> bool:
    """Whether a field of the leases belongs to the index of keys."""
    return _FIELD.fullmatch(name) is not None


def check_keys(
    sub: SubscriptionPlace, stored: Mapping[bytes, bytes], unacked: Collection[int], guards: list[Guard]
) -> Iterator[Finding]:
    """stored: fields of the index.  unacked: offsets that are leased or held.  All of one moment."""
    right: dict[bytes, bytes] = {}
    lists: dict[bytes, list[int]] = {}
    for offset in sorted(unacked):
        name = b"o%d" % offset
        key = stored.get(name)
        if not is_key(key):
            key = key_of_none(offset)
        right[name] = key
        lists.setdefault(key, []).append(offset)
    for key, offsets in lists.items():
        right[b"k" + key] = b",%s," % b",".join(b"%d" % offset for offset in offsets)
    wrong = sorted(name for name in right.keys() | stored.keys() if right.get(name) != stored.get(name))
    if not wrong:
        return
    k, some = sub.keys, wrong[:WRITES_MAX]
    writes = [
        Write("HSET", k.leases, (name, right[name])) if name in right else Write("HDEL", k.leases, (name,))
        for name in some
    ]
    shown = ", ".join(name.decode(errors="replace") for name in wrong[:3])
    detail = f"{len(wrong)} fields of the index of keys are wrong or missing: {shown}."
    changed = [hget(k.leases, name, stored.get(name)) for name in some[:1]]
    repair = Edit((*guards, *changed), tuple(writes))
    yield sub.finding("key_index", k.leases, wrong[0].decode(errors="replace"), detail, repair)
