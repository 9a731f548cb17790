"""Reads a transaction coordinator for fsck: its log, then its transactions page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from google.protobuf.message import DecodeError

from redis_ledger.fsck import coordinator_check as check
from redis_ledger.fsck.coordinator_facts import CoordinatorPlace, LoggedTxn, TxnFacts, TxnRow, padded
from redis_ledger.fsck.finding import Finding
from redis_ledger.fsck.key_table import coordinator_keys
from redis_ledger.fsck.keyspace import typed
from redis_ledger.store.reading import PAGE, Reading, pairs
from redis_ledger.txn.log import UnsupportedVersion, decode

LOG_PAGE = 50  # entries, each with up to a thousand records


class CoordinatorReader:
    def __init__(self, reading: Reading, place: CoordinatorPlace) -> None:
        self._reading, self._place, self._k = reading, place, place.keys

    async def look(self) -> list[Finding]:
        found, logged = list[Finding](), dict[int, LoggedTxn]()
        found += await typed(self._reading, str(self._place), self._k.state, coordinator_keys(self._k))
        found += await self._log(logged)
        found += await self._live_bits()
        seen = set[int]()
        async for serials in self._serials(logged):
            new = [serial for serial in serials if serial not in seen]
            seen.update(new)
            for at in range(0, len(new), PAGE):
                found += await self._txns(new[at : at + PAGE], logged)
        found += await self._state(max(seen, default=-1))
        found += await self._nonces()
        found += await self._wide()
        async for page in self._reading.rows(self._k.state, self._k.ids):
            for name, row in page:
                found += check.check_id(self._place, name, row)
        async for page in self._reading.rows(self._k.state, self._k.calls):
            for broker, row in page:
                found += check.check_call(self._place, broker, row)
        return found

    # -- log ---------------------------------------------------------------------------------------------------------

    async def _log(self, logged: dict[int, LoggedTxn]) -> list[Finding]:
        """Reads the log; adds its live records to `logged`."""
        k, found, after = self._k, list[Finding](), b"-"
        while True:
            rows = await self._reading.command(k.state, "XRANGE", k.log, after, "+", "COUNT", LOG_PAGE) or []
            if not rows:
                return found
            names = [name.partition(b"-")[0] for name, _ in rows]
            entries, live = await self._reading.atomic(
                [("XRANGE", k.log, rows[0][0], rows[-1][0]), ("HMGET", k.live, *names)]
            )
            there = {name.partition(b"-")[0]: fields for name, fields in entries or []}
            for name, bits in zip(names, live or [None] * len(names), strict=True):
                if name in there:
                    found += self._entry(name.decode(), there[name], bits, logged)
            after = b"(" + rows[-1][0]

    def _entry(self, number: str, fields: Any, bits: bytes | None, logged: dict[int, LoggedTxn]) -> list[Finding]:
        self._reading.bytes += len(fields[1])
        try:
            records = decode(fields[1])
        except (DecodeError, UnsupportedVersion):
            detail = f"Log entry {number} cannot be decoded."
            return [Finding("txn_log_entry", str(self._place), self._k.log.decode(), number, detail)]
        for position, record in enumerate(records, 1):
            if bits is None or bits[position - 1 : position] == b"1":
                logged.setdefault(int(record.serial), LoggedTxn()).add(f"{number}:{position}", record)
        return list(check.check_log_entry(self._place, number, len(records), bits))

    async def _live_bits(self) -> list[Finding]:
        """Bits without an entry."""
        k, found = self._k, list[Finding]()
        async for page in self._reading.fields(k.state, k.live):
            reads = [("XRANGE", k.log, f"{n.decode()}-1", f"{n.decode()}-1") for n in page if n.isdigit()]
            names = [name for name in page if name.isdigit()]
            live, *entries = await self._reading.atomic([("HMGET", k.live, *page), *reads])
            held = dict(zip(page, live or [None] * len(page), strict=True))
            for name, entry in zip(names, entries, strict=True):
                if not entry and held[name] is not None:
                    found += check.check_log_entry(self._place, name.decode(), None, held[name])
        return found

    # -- transactions ------------------------------------------------------------------------------------------------

    async def _serials(self, logged: dict[int, LoggedTxn]) -> AsyncIterator[list[int]]:
        """Every serial that a key names, in pages."""
        k, read = self._k, self._reading
        yield list(logged)
        for key in (k.txns, k.outcomes):
            async for page in read.fields(k.state, key):
                yield [int(name) for name in page if name.isdigit()]
        for key in (k.order, k.deadlines, k.forget):
            async for members in read.members(k.state, key):
                yield [int(name) for name, _ in members if name.isdigit()]

    async def _txns(self, serials: Sequence[int], logged: dict[int, LoggedTxn]) -> list[Finding]:
        k, found = self._k, list[Finding]()
        if not serials:
            return found
        before = await self._reading.command(k.state, "HMGET", k.txns, *serials) or [None] * len(serials)
        rows = [TxnRow.parse(row) for row in before]
        positions = {position for row in rows if row is not None for position in row.positions}
        positions |= {each for serial in serials if serial in logged for each in logged[serial].positions}
        entries = sorted({position.partition(":")[0] for position in positions})[: 4 * PAGE] or ["-"]
        nonces = [row.nonce if row is not None else "-" for row in rows]
        replies = await self._reading.atomic(
            [
                ("HMGET", k.txns, *serials), ("ZMSCORE", k.order, *map(padded, serials)),
                ("ZMSCORE", k.deadlines, *serials), ("HMGET", k.outcomes, *serials), ("ZMSCORE", k.forget, *serials),
                ("HMGET", k.nonces, *nonces), ("HMGET", k.live, *entries),
            ]
        )  # fmt: skip
        *columns, live = replies
        bits = dict(zip(entries, live or [None] * len(entries), strict=True))
        columns = [column or [None] * len(serials) for column in columns]
        for serial, row, order, deadline, outcome, forget, nonce in zip(serials, *columns, strict=True):
            facts = TxnFacts(serial, row, order is not None, _score(deadline), outcome, _score(forget), bits)
            found += check.check_txn(self._place, facts, logged.get(serial))
            if serial in logged:
                found += check.check_leaks(self._place, facts, logged[serial])
            if before[serials.index(serial)] == row:
                found += check.check_row_nonce(self._place, facts, nonce)
        return found

    async def _state(self, highest: int) -> list[Finding]:
        k = self._k
        state, info = await self._reading.atomic([("HGETALL", k.state), ("XINFO STREAM", k.log)])
        last_entry = int(info[1].partition(b"-")[0]) if info else 0
        return list(check.check_state(self._place, pairs(state), highest, last_entry))

    async def _nonces(self) -> list[Finding]:
        k, found = self._k, list[Finding]()
        async for page in self._reading.fields(k.state, k.nonces):
            found += await self._nonce_page(page)
        async for members in self._reading.members(k.state, k.steps):
            found += await self._nonce_page([name for name, _ in members])
        return found

    async def _nonce_page(self, page: Sequence[bytes]) -> list[Finding]:
        if not page:
            return []
        k = self._k
        before = await self._reading.command(k.state, "HMGET", k.nonces, *page) or [None] * len(page)
        serials = [serial or b"-" for serial in before]
        after, rows, outcomes, steps = await self._reading.atomic(
            [("HMGET", k.nonces, *page), ("HMGET", k.txns, *serials), ("HMGET", k.outcomes, *serials),
             ("ZMSCORE", k.steps, *page)]
        )  # fmt: skip
        none = [None] * len(page)
        columns = zip(page, before, after or none, rows or none, outcomes or none, steps or none, strict=True)
        same = [(name, now, *rest) for name, was, now, *rest in columns if was == now]
        nonces = {name: now for name, now, *_ in same}
        return list(check.check_nonces(self._place, nonces, *([each[i] for each in same] for i in (2, 3, 4))))

    async def _wide(self) -> list[Finding]:
        k, found = self._k, list[Finding]()
        async for members in self._reading.members(k.state, k.wide):
            names = [name for name, _ in members]
            serials = [name.partition(b" ")[0] for name in names]
            if not names:
                continue
            rows, there = await self._reading.atomic([("HMGET", k.txns, *serials), ("ZMSCORE", k.wide, *names)])
            none = [None] * len(names)
            columns = zip(names, rows or none, there or none, strict=True)
            found += check.check_wide(
                self._place, {n: TxnRow.parse(row) for n, row, score in columns if score is not None}
            )
        return found


def _score(text: bytes | None) -> int | None:
    return None if text is None else int(float(text))
