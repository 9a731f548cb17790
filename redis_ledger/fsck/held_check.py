"""Compares what a partition holds of transactions with their coordinators.

    partition: txn 3-17 is open ─▶ coordinator 3: 17 has ended ─▶ partition: still open?  Then its end was lost here.

A transaction is complete at its coordinator only after every partition has ended it, so this order of reads is certain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from redis_ledger.fsck.coordinator_facts import MORE, TxnRow
from redis_ledger.fsck.finding import Action, Edit, Finding, edit, hget
from redis_ledger.ids import TxnId
from redis_ledger.ledger.open_row import OpenRow
from redis_ledger.ledger.place import Place
from redis_ledger.store.keys import CoordinatorKeys, encode_name
from redis_ledger.store.reading import Reading

OUTCOMES = {b"C": "committed", b"A": "aborted", b"T": "timed out and was aborted"}


class Held(NamedTuple):
    """Something of a transaction.  key, field: where it is stored, with this value.  producer_id: of an open row,
    with its epoch; subscription: of pending acknowledgements."""

    txn: TxnId
    key: bytes
    field: bytes
    value: bytes
    what: str
    producer_id: int = -1
    epoch: int = 0
    subscription: str | None = None

    @property
    def participant(self) -> str:
        return "" if self.subscription is None else f"/{encode_name(self.subscription)}"


class HeldCheck:
    def __init__(self, reading: Reading, place: Place, coordinators: int) -> None:
        self._reading, self._place, self._coordinators = reading, place, coordinators

    async def check(self, held: Sequence[Held]) -> list[Finding]:
        """held: a page."""
        found, by_coordinator = list[Finding](), dict[int, list[Held]]()
        for each in held:
            if each.txn.coordinator < self._coordinators:
                by_coordinator.setdefault(each.txn.coordinator, []).append(each)
        for number, some in by_coordinator.items():
            k, serials = CoordinatorKeys(self._reading.store.prefix, number), [each.txn.serial for each in some]
            rows, outcomes = await self._reading.atomic([("HMGET", k.txns, *serials), ("HMGET", k.outcomes, *serials)])
            none = [None] * len(some)
            for each, row, outcome in zip(some, rows or none, outcomes or none, strict=True):
                finding = self._ended(each, outcome) if row is None else await self._registered(k, each, row)
                if finding is not None and await self._is_still(each):
                    found.append(finding)
        return found

    async def _is_still(self, held: Held) -> bool:
        stored = await self._reading.command(self._place.keys.state, "HGET", held.key, held.field)
        return bool(stored == held.value)

    def _ended(self, held: Held, outcome: bytes | None) -> Finding:
        was = OUTCOMES.get(outcome[:1], "ended") if outcome else "is not known to its coordinator"
        detail = f"Transaction {held.txn} {was}; the partition still has its {held.what}."
        repair = Action("end", (self._place, held, outcome is not None and outcome[:1] == b"C"))
        return self._finding("ended_open", held, detail, repair)

    async def _registered(self, k: CoordinatorKeys, held: Held, text: bytes) -> Finding | None:
        row = TxnRow.parse(text)
        if row is None or row.state != "O":
            return None
        place = self._place
        word = f"{place.topic}/{place.topic_id}/{place.number}{held.participant}"
        if word in row.participants:
            return None
        if MORE in row.participants:
            member = f"{held.txn.serial} {word}"
            if await self._reading.command(k.state, "ZSCORE", k.wide, member) is not None:
                return None
            repair = edit([hget(k.txns, held.txn.serial, text)], ("ZADD", k.wide, 0, member))
        else:
            more = row._replace(participants=(*row.participants, word))
            repair = edit([hget(k.txns, held.txn.serial, text)], ("HSET", k.txns, held.txn.serial, more.text))
        detail = f"Transaction {held.txn} has {held.what} here; its coordinator has not registered {word}."
        return self._finding("not_registered", held, detail, repair)

    def _finding(self, kind: str, held: Held, detail: str, repair: Action | Edit) -> Finding:
        item = f"{held.txn} {held.field.decode(errors='replace')}"
        return Finding(kind, str(self._place), held.key.decode(), item, detail, repair)

    async def check_watermarks(self) -> list[Finding]:
        """A watermark says that all transactions up to it have ended.  It is read before the live ones."""
        k, found = self._place.keys, list[Finding]()
        async for page in self._reading.rows(k.state, k.watermarks):
            for name, value in page:
                finding = await self._watermark(name, value)
                if finding is not None:
                    found.append(finding)
        return found

    async def _watermark(self, name: bytes, value: bytes) -> Finding | None:
        k = self._place.keys
        guards = [hget(k.watermarks, name, value)]
        shown = name.decode(errors="replace")
        if not name.isdigit() or not value.lstrip(b"-").isdigit():
            detail = f"The watermark of coordinator {shown} is {value!r}."
            repair = edit(guards, ("HDEL", k.watermarks, name))
            return Finding("watermark", str(self._place), k.watermarks.decode(), shown, detail, repair)
        if int(name) >= self._coordinators:
            return None
        c = CoordinatorKeys(self._reading.store.prefix, int(name))
        lowest = await self._reading.command(c.state, "ZRANGEBYLEX", c.order, "(", "+", "LIMIT", 0, 1)
        if not lowest or int(lowest[0]) > int(value):
            return None
        detail = f"The watermark of coordinator {shown} is {int(value)}; transaction {shown}-{int(lowest[0])} is live."
        repair = edit(guards, ("HSET", k.watermarks, name, int(lowest[0]) - 1))
        return Finding("watermark", str(self._place), k.watermarks.decode(), shown, detail, repair)


def held_open(place: Place, rows: Mapping[bytes, tuple[bytes, OpenRow]]) -> list[Held]:
    """Rows of `open`: producer id → row, and the row parsed."""
    found = []
    for pid, (row, opened) in rows.items():
        what = f"open transaction of producer {pid.decode()}"
        found.append(Held(opened.txn, place.keys.open, pid, row, what, int(pid), opened.epoch))
    return found
