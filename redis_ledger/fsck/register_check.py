"""Checks the offset of a Kafka group on one partition.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from redis_ledger.fsck.cursor_check import SubscriptionPlace
from redis_ledger.fsck.finding import Edit, Finding, Write, edit, hget
from redis_ledger.ledger.log_trace import parse_numbers

DEFAULTS = {"offset": "-1", "leader_epoch": "-1", "time": "-1", "write": "0", "fence": "-1", "writes": "0"}
_COMMIT = re.compile(rb"\d+ -?\d+ -?\d+ -?\d+ .*", re.DOTALL)


def check_register(
    sub: SubscriptionPlace, cursor: Mapping[bytes, bytes], pending: Mapping[bytes, bytes], now_ms: int
) -> Iterator[Finding]:
    """cursor, pending: of one moment."""
    k = sub.keys
    if cursor.get(b"kind") != b"kafka":
        detail = "The partition lists a Kafka group here; its offset is lost." if not cursor else "The kind is another."
        fields: list[tuple[str, str | int]] = [
            ("kind", "kafka"),
            ("created", now_ms),
            ("metadata", ""),
            ("seen", now_ms),
            *DEFAULTS.items(),
        ]
        missing = [(name, value) for name, value in fields if name == "kind" or name.encode() not in cursor]
        words: list[str | int] = [word for pair in missing for word in pair]
        writes = [Write("HSET", k.cursor, tuple(words))]
        guard = hget(k.cursor, "kind", cursor.get(b"kind"))
        yield sub.finding("register", k.cursor, "kind", detail, Edit((guard,), tuple(writes)))
        return
    found, wrong = parse_numbers(cursor, DEFAULTS)
    for name in wrong:
        stored = cursor.get(name.encode())
        detail = f"The field {name!r} is {stored!r}."
        repair = edit([hget(k.cursor, name, stored)], ("HSET", k.cursor, name, DEFAULTS[name]))
        yield sub.finding("register", k.cursor, name, detail, repair)
    highest = max([int(v.split(b" ")[0]) for v in pending.values() if _COMMIT.fullmatch(v)], default=0)
    needed = max(highest, found.get("write", 0))
    if not wrong and found["writes"] < needed:
        detail = f"Writes are numbered up to {needed}; the field 'writes' is {found['writes']}."
        repair = edit([hget(k.cursor, "writes", cursor[b"writes"])], ("HSET", k.cursor, "writes", needed))
        yield sub.finding("register", k.cursor, "writes", detail, repair)
    for txn, value in pending.items():
        if not _COMMIT.fullmatch(value):
            shown = txn.decode(errors="replace")
            detail = f"The offset that transaction {shown} has committed has another form."
            repair = edit([hget(k.pending, txn, value)], ("HDEL", k.pending, txn))
            yield sub.finding("register", k.pending, shown, detail, repair)
