"""Compares the sidecar buffer with open transactions, with the log and with its ledgers.  Pure.

open      t2: 3 batches, 40 records    members   t1 t1 · t2 t2 t2 · t9     log   [t1: 12 records]
compared  t2 with its members; t1 with its members and their payload; t9 is stray: it is neither open nor in the log
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from redis_ledger.fsck.finding import Action, Edit, Finding, edit, hget
from redis_ledger.fsck.partition_facts import LedgerRow, PartitionFacts
from redis_ledger.fsck.payload_check import why_unreadable
from redis_ledger.ids import TxnId
from redis_ledger.ledger.entries import LogEntry
from redis_ledger.ledger.log_trace import read_open
from redis_ledger.ledger.open_row import Aside, OpenRow
from redis_ledger.ledger.place import Place
from redis_ledger.ledger.sidecar import BufferedBatch, parse_batch, transaction_of

ABORTED, TRIMMED = b"!A ", b"!T "


def name_of(member: bytes) -> bytes:
    """Of the transaction, of a batch or of a mark."""
    words = member.split(b" ", 2)
    return words[1] if member.startswith(b"!") and len(words) > 1 else words[0]


def read_batches(members: Iterable[bytes]) -> list[BufferedBatch] | None:
    """None if a member has another form."""
    try:
        return [parse_batch(member) for member in members]
    except (ValueError, TypeError):
        return None


def unlogged_of(opened: Iterable[bytes], members: Sequence[bytes]) -> Counter[int]:
    """Entries by delay ledger: of open transactions, and of aborted ones that are not deleted yet."""
    found = Counter[int]()
    for row in opened:
        parsed = read_open(row)
        if parsed is not None and parsed.aside is not None:
            found.update(parsed.aside.entries)
    aborted = {name_of(member) for member in members if member.startswith(ABORTED)}
    for member in members:
        if not member.startswith(b"!") and name_of(member) in aborted and (one := read_batches([member])):
            found[one[0].ledger] += 1
    return found


def check_opened(place: Place, pid: bytes, row: bytes, opened: OpenRow, members: Sequence[bytes]) -> list[Finding]:
    """members: of the transaction, all of them."""
    k, aside, batches = place.keys, opened.aside, read_batches(members)
    if aside is None or batches is None:
        return []
    found = check_order(place, str(opened.txn), batches)
    right = Aside(
        sum(batch.records for batch in batches), sum(batch.size for batch in batches), len(batches),
        aside.newest_ms, dict(Counter(batch.ledger for batch in batches)),
    )  # fmt: skip
    if right != aside:
        detail = f"Transaction {opened.txn} has {_shown(aside)} by its row; the sidecar buffer has {_shown(right)}."
        guards, repair = [hget(k.open, pid, row)], None
        if batches and not found:
            repair = edit(guards, ("HSET", k.open, pid, opened._replace(aside=right).text))
        item = pid.decode(errors="replace")
        found.append(Finding("sidecar_row", str(place), k.open.decode(), item, detail, repair))
    return found


def _shown(aside: Aside) -> str:
    ledgers = ", ".join(f"{count} in ledger {ledger}" for ledger, count in sorted(aside.entries.items()))
    return f"{aside.records} records of {aside.size} bytes in {aside.batches} batches ({ledgers})"


def check_order(place: Place, txn: str, batches: Sequence[BufferedBatch], records: int | None = None) -> list[Finding]:
    """Batches follow each other without a gap; records: of the transaction, if the log says it."""
    at = 0
    for batch in batches:
        if batch.before != at:
            break
        at += batch.records
    else:
        if records is None or at == records:
            return []
    detail = f"Transaction {txn} has no batch with its record {at} in the sidecar buffer."
    return [Finding("sidecar_batch", str(place), place.keys.sidecar.decode(), f"{txn} {at}", detail)]


def check_reference(place: Place, entry: LogEntry, members: Sequence[bytes]) -> tuple[list[LogEntry], list[Finding]]:
    """The batches of an entry of the log that names a transaction, as entries."""
    batches = read_batches(members) or []
    found = check_order(place, str(transaction_of(entry)), batches, entry.records)
    return [batch.to_entry(entry) for batch in batches], found


def check_opened_payload(
    place: Place, txn: TxnId, entries: Sequence[LogEntry], payload: Mapping[tuple[int, int], bytes]
) -> list[Finding]:
    found = []
    for entry in entries:
        why = why_unreadable(entry, payload.get((entry.ledger, entry.entry)))
        if why is not None:
            detail = f"The payload of entry {entry.entry} in ledger {entry.ledger}, of open transaction {txn}, {why}."
            key = place.keys.data(entry.ledger).decode()
            found.append(Finding("sidecar_payload", str(place), key, f"{txn} {entry.entry}", detail))
    return found


def check_ledgers(facts: PartitionFacts, needed: Mapping[int, int]) -> list[Finding]:
    """needed: ledger → last offset of a transaction in the log that has payload there."""
    place, k, found = facts.place, facts.place.keys, list[Finding]()
    kept_from = max(facts.number("start"), facts.number("cold"))
    for number, last in needed.items():
        text = facts.ledgers.get(str(number).encode())
        row = LedgerRow.parse(text)
        if last < kept_from or (row is not None and row.max_offset >= last):
            continue
        guards = [hget(k.ledgers, number, text)]
        if row is None:
            detail = f"Delay ledger {number} has no row; transactions up to offset {last} have payload there."
            repair: Action | Edit | None = Action("delay_row", (place, number, None)) if text is None else None
        else:
            detail = f"Ledger {number} ends at offset {row.max_offset} by its row; the sidecar buffer says {last}."
            repair = edit(guards, ("HSET", k.ledgers, number, row._replace(max_offset=last).text))
        found.append(Finding("ledger_row", str(place), k.ledgers.decode(), f"{number} max_offset", detail, repair))
    return found


def check_member(place: Place, member: bytes) -> list[Finding]:
    """Its form."""
    words = member.split(b" ")
    if member.startswith((ABORTED, TRIMMED)) and len(words) == 2:
        return []
    if not member.startswith(b"!") and len(words) == 7 and read_batches([member]):
        return []
    k, shown = place.keys, member.decode(errors="replace")
    detail = f"The sidecar buffer has a member of another form: {shown!r}."
    repair = edit([hget(k.state, "topic_id", place.topic_id)], ("ZREM", k.sidecar, member))
    return [Finding("sidecar_batch", str(place), k.sidecar.decode(), shown, detail, repair)]


def stray(place: Place, name: bytes) -> Finding:
    txn = name.decode(errors="replace")
    detail = f"The sidecar buffer has batches of transaction {txn}, which is neither open here nor in the log."
    return Finding(
        "sidecar_stray", str(place), place.keys.sidecar.decode(), txn, detail, Action("own_aside", (place, name))
    )
