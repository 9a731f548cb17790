"""Compares `state`, `open`, `firsts` and `ledgers` of a partition with its log.  Pure.

Every repair names the next offset as it was: if the log has grown since, it writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from redis_ledger.fsck.finding import Action, Edit, Finding, Guard, edit, hget, zscore
from redis_ledger.fsck.partition_facts import LedgerRow, PartitionFacts, StreamFacts
from redis_ledger.ledger.log_trace import LedgerTrace, open_text, parse_numbers, read_open

NUMBERS = ("epoch", "next", "start", "stable", "ledger", "bytes", "newest", "committed", "aborted")
NO_STREAM = StreamFacts(0, 0)


def check_partition(facts: PartitionFacts) -> Iterator[Finding]:
    yield from _state(facts)
    yield from _log(facts)
    if facts.open is not None and facts.firsts is not None:
        yield from _open(facts)
    yield from _ledgers(facts)


# -- state ---------------------------------------------------------------------------------------------------------


def _state(facts: PartitionFacts) -> Iterator[Finding]:
    found, wrong = parse_numbers(facts.state, NUMBERS)
    expected = _expected(facts, found)
    for name in NUMBERS:
        stored, right = found.get(name), expected.get(name, found.get(name))
        if name in wrong or stored != right:
            yield _state_finding(facts, name, right)
    if facts.number("reclaimed") > expected["stable"]:
        yield _state_finding(facts, "reclaimed", expected["stable"])
    stored_id = facts.state.get(b"topic_id", b"").decode(errors="replace")
    if stored_id != facts.place.topic_id:
        yield _state_finding(facts, "topic_id", facts.place.topic_id)


def _expected(facts: PartitionFacts, found: Mapping[str, int]) -> dict[str, int]:
    """What the log and the ledgers say.  A field that neither contradicts is left out."""
    trace, right = facts.trace, dict[str, int]()
    has_log = trace.end >= 0
    following = found.get("next", -1)
    if following < trace.end or following < 0:
        right["next"] = max(trace.end, following, *_next_offsets(facts), 0)
    end = right.get("next", following)
    if "start" not in found or found["start"] > end:
        right["start"] = trace.first if has_log else end
    right["stable"] = trace.stable() if trace.open else end
    if not facts.has_trimmed:
        right["bytes"] = trace.bytes
    if has_log or "newest" not in found:
        right["newest"] = trace.newest_ms
    known = [int(name) for name in facts.ledgers if _is_positive(name)] or [found.get("ledger", 1), *trace.ledgers]
    active = max(known)
    right["ledger"] = active
    for name, count in (("committed", trace.committed), ("aborted", trace.aborted)):
        if found.get(name, -1) < count:
            right[name] = count
    if found.get("epoch", -1) < 0:
        right["epoch"] = 0
    return right


def _next_offsets(facts: PartitionFacts) -> list[int]:
    rows = [LedgerRow.parse(row) for row in facts.ledgers.values()]
    return [row.max_offset + 1 for row in rows if row is not None]


def _is_positive(name: bytes) -> bool:
    return name.isdigit() and int(name) > 0


def _state_finding(facts: PartitionFacts, name: str, right: int | str | None) -> Finding:
    key, stored = facts.place.keys.state, facts.state.get(name.encode())
    shown = "nothing" if stored is None else stored.decode(errors="replace")
    guards = [hget(key, name, stored), hget(key, "next", facts.state.get(b"next"))]
    repair = None if right is None else edit(guards, ("HSET", key, name, right))
    detail = f"The field {name!r} is {shown}; the log and the ledgers say {right}."
    return Finding("partition_state", str(facts.place), key.decode(), name, detail, repair)


# -- log -----------------------------------------------------------------------------------------------------------


def _log(facts: PartitionFacts) -> Iterator[Finding]:
    place, trace, key = str(facts.place), facts.trace, facts.place.keys.log.decode()
    start, following = facts.number("start"), facts.number("next")
    gaps = [(gap.first, gap.last) for gap in trace.gaps]
    if trace.end < 0 and start < following:
        gaps.append((start, following - 1))
    elif trace.end >= 0:
        if start < trace.first and not trace.first_begins_epoch:
            gaps.append((start, trace.first - 1))
        if trace.end < following:
            gaps.append((trace.end, following - 1))
    for first, last in gaps:
        detail = f"Offsets {first} to {last} have no log entry."
        yield Finding("log_gap", place, key, f"{first}", detail)
    for offset in trace.overlaps:
        detail = f"The entry at offset {offset} begins below the end of the entry before it."
        yield Finding("log_order", place, key, f"{offset}", detail)


# -- open transactions ---------------------------------------------------------------------------------------------


def _open(facts: PartitionFacts) -> Iterator[Finding]:
    opened, firsts = facts.open or {}, facts.firsts or {}
    names = {str(pid).encode() for pid in facts.trace.open}
    for pid in sorted(names | opened.keys() | firsts.keys()):
        finding = check_open(facts, pid, opened.get(pid), firsts.get(pid))
        if finding is not None:
            yield finding


def check_open(facts: PartitionFacts, pid: bytes, row: bytes | None, first: int | None) -> Finding | None:
    """Compares one producer's row of `open` and member of `firsts` with the log."""
    k, place, name = facts.place.keys, str(facts.place), pid.decode(errors="replace")
    guards = [
        hget(k.state, "next", facts.state.get(b"next")), hget(k.open, pid, row), zscore(k.firsts, pid, first),
    ]  # fmt: skip
    held = facts.trace.open.get(int(pid)) if pid.lstrip(b"-").isdigit() else None
    parsed = read_open(row)
    if parsed is not None and parsed.aside is not None:
        return None if first == parsed.score else _first_finding(facts, guards, name, parsed.score, first)
    if held is None:
        detail = f"Producer {name} has an open transaction here, but no undecided record in the log."
        repair: Edit | Action = edit(guards, ("HDEL", k.open, pid), ("ZREM", k.firsts, pid))
        return Finding("open_transaction", place, k.open.decode(), name, detail, repair)
    if parsed is None or parsed.first_offset != held.first_offset:
        detail = f"The log has an open transaction of producer {name} since offset {held.first_offset}; `open` has "
        detail += "nothing." if row is None else f"{row.decode(errors='replace')!r}."
        if parsed is None:
            repair = Action("find_open", (facts.place, int(pid), held, tuple(guards)))
        else:
            repair = restore_open(guards, k.open, k.firsts, pid, open_text(held, *parsed.txn), held.first_offset)
        return Finding("open_transaction", place, k.open.decode(), name, detail, repair)
    if first != held.first_offset:
        return _first_finding(facts, guards, name, held.first_offset, first)
    return None


def _first_finding(facts: PartitionFacts, guards: list[Guard], pid: str, right: int, first: int | None) -> Finding:
    k = facts.place.keys
    since = f"since offset {right}" if right >= 0 else f"in the sidecar buffer, with score {right}"
    detail = f"Producer {pid} has an open transaction {since}; `firsts` has {first}."
    repair = edit(guards, ("ZADD", k.firsts, right, pid))
    return Finding("open_first", str(facts.place), k.firsts.decode(), pid, detail, repair)


def restore_open(guards: list[Guard], open_: bytes, firsts: bytes, pid: bytes, row: str, first: int) -> Edit:
    return edit(guards, ("HSET", open_, pid, row), ("ZADD", firsts, first, pid))


# -- ledgers -------------------------------------------------------------------------------------------------------


def _ledgers(facts: PartitionFacts) -> Iterator[Finding]:
    """Of ledgers with delayed records, `unlogged` is compared with the index: delay_check.py."""
    kept_from = max(facts.number("start"), facts.number("cold"))
    active = facts.number("ledger", 1)
    for number, traced in {active: LedgerTrace(), **facts.trace.ledgers}.items():
        is_needed = number == active or traced.last_offset >= kept_from
        if is_needed and str(number).encode() not in facts.ledgers:
            yield _row_finding(facts, number, None, _rebuilt(facts, number, traced), "has no row")
    for name, text in facts.ledgers.items():
        if not name.lstrip(b"-").isdigit():
            continue
        number, row = int(name), LedgerRow.parse(text)
        traced = facts.trace.ledgers.get(number, LedgerTrace())
        if row is None:
            yield _row_finding(facts, number, text, _rebuilt(facts, number, traced), "has a row of another form")
            continue
        right = _corrected(facts, number, row, traced)
        for field in LedgerRow._fields:
            if getattr(row, field) != getattr(right, field):
                what = f"has {field} {getattr(row, field)}; its stream and the log say {getattr(right, field)}"
                yield _row_finding(facts, number, text, right, what, field)


def _rebuilt(facts: PartitionFacts, number: int, traced: LedgerTrace) -> LedgerRow:
    stream = facts.streams.get(number, NO_STREAM)
    is_active = number > 0 and number == facts.number("ledger", 1)
    created = facts.number("created")
    row = LedgerRow(stream.last_entry, 0, 0 if is_active else 1, traced.last_offset, 0, traced.bytes, created)
    return row._replace(deleted=stream.last_entry - stream.length)


def _corrected(facts: PartitionFacts, number: int, row: LedgerRow, traced: LedgerTrace) -> LedgerRow:
    stream, right, trace = facts.streams.get(number), row, facts.trace
    if stream is not None:
        # Entries behind the last accepted one are what a cut-off call left; the next append deletes them.
        surplus = stream.length - (row.issued - row.deleted)
        most = stream.last_entry - row.issued
        if surplus < 0 or surplus > most or (surplus == 0 and most):
            right = right._replace(issued=stream.last_entry, deleted=stream.last_entry - stream.length)
    start = facts.number("start")
    is_shared = number < 0 and facts.has_buffered  # the trace has no ledgers of references to the sidecar buffer
    if traced.entries and (row.max_offset < traced.last_offset if is_shared else row.max_offset != traced.last_offset):
        right = right._replace(max_offset=traced.last_offset)
    elif not (is_shared or traced.entries or trace.has_left_out_ledgers) and row.max_offset >= start and trace.end >= 0:
        right = right._replace(max_offset=start - 1)
    if number > 0:
        is_whole = traced.entries == row.issued and row.deleted == 0
        if row.size < traced.bytes or (is_whole and row.size != traced.bytes):
            right = right._replace(size=traced.bytes)
        sealed = 0 if number == facts.number("ledger", number) else 1
        right = right._replace(sealed=sealed, unlogged=0)
    return right


def _row_finding(
    facts: PartitionFacts, number: int, text: bytes | None, right: LedgerRow, what: str, field: str = ""
) -> Finding:
    k, stream = facts.place.keys, facts.streams.get(number)
    guards = [hget(k.ledgers, number, text), hget(k.state, "next", facts.state.get(b"next"))]
    if stream is not None:
        guards.append(Guard("XLEN", k.data(number), (), stream.length))
    repair = edit(guards, ("HSET", k.ledgers, number, right.text))
    detail = f"Ledger {number} {what}."
    return Finding("ledger_row", str(facts.place), k.ledgers.decode(), f"{number} {field}".strip(), detail, repair)
