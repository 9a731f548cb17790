"""Compares delayed records: state, live bits, indexes, buckets and ledgers with each other.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from redis_ledger.delay.scripts import next_member
from redis_ledger.fsck.delay_facts import BucketFacts, DelayFacts
from redis_ledger.fsck.finding import Action, Edit, Finding, Guard, edit, hget
from redis_ledger.ledger.log_trace import parse_numbers
from redis_ledger.ledger.place import Place

NUMBERS = ("ledger", "first", "open", "records", "entries", "held", "fired", "cancelled")
SHOWN = 5


def check_delay(place: Place, facts: DelayFacts, *, is_complete: bool) -> Iterator[Finding]:
    """is_complete: all indexes were read in one moment, so counts and bits can be compared."""
    if not facts.is_used:
        return
    missing = facts.missing_ledgers()
    if missing:
        for number in missing:
            detail = f"Delay ledger {number} has no row."
            repair = Action("delay_row", (place, number, facts.state.get(b"ledger")))
            yield _finding(place, "ledger_row", place.keys.ledgers, f"{number}", detail, repair)
        return
    last = max((row.issued for row in facts.ledgers.values()), default=0)
    beyond = list(facts.live.entries(last + 1, 1 << 48))
    if beyond:
        shown = ", ".join(map(str, beyond[:SHOWN]))
        detail = f"{len(beyond)} entries such as {shown} are live; the last one that was scheduled is {last}."
        repair = Action("clear_live", (place, beyond))
        yield _finding(place, "delay_live", place.keys.delay.live, "beyond", detail, repair)
        return
    yield from _held(place, facts)
    if is_complete:
        yield from _state(place, facts)
        yield from _unlogged(place, facts)
        yield from _index(place, facts)
    yield from _parts(place, facts)


def _finding(place: Place, kind: str, key: bytes, item: str, detail: str, repair: Edit | Action | None) -> Finding:
    return Finding(kind, str(place), key.decode(), item, detail, repair)


def _same(place: Place, facts: DelayFacts) -> list[Guard]:
    """Nothing was scheduled, fired, cancelled or sealed since."""
    names = ("entries", "records", "held", "fired", "cancelled", "ledger", "version")
    return [hget(place.keys.delay.state, name, facts.state.get(name.encode())) for name in names]


def _state(place: Place, facts: DelayFacts) -> Iterator[Finding]:
    key = place.keys.delay.state
    found, wrong = parse_numbers(facts.state, NUMBERS)
    lowest = min(facts.ledgers, default=-1)
    sealed_until = min((int(name.split(b"-")[-1]) * -1 for name in facts.buckets), default=0)
    right = {name: 0 for name in wrong if name in ("fired", "cancelled")}
    right["ledger"] = lowest
    if "first" in wrong or found["first"] < lowest:
        right["first"] = max(sealed_until - 1, lowest)
    if found.get("open", -1) < facts.counts["open"]:
        right["open"] = facts.counts["open"]
    bits = facts.live.count(0, 1 << 48)
    if not facts.has_lost_bits:
        right["entries"], right["records"] = bits, facts.records
    right["held"] = sum(txn.records() for txn in facts.held.values())
    owed = sum(name.startswith(b"!") for name in facts.repeats)
    if owed or facts.state.get(b"owed"):
        right["owed"] = owed
    texts = {name: str(value) for name, value in right.items()}
    texts |= {name: "" for name in ("closing", "decided") if name.encode() not in facts.state}
    differing = {name: text for name, text in texts.items() if facts.state.get(name.encode()) != text.encode()}
    repair = edit(_same(place, facts), *(("HSET", key, name, text) for name, text in differing.items()))
    for name, text in differing.items():
        stored = facts.state.get(name.encode())
        detail = f"The field {name!r} is {None if stored is None else stored.decode()}; the indexes say {text!r}."
        yield _finding(place, "delay_state", key, name, detail, repair)
    if facts.counts["closing"] and not facts.state.get(b"closing"):
        detail = f"{facts.counts['closing']} entries wait in a bucket that is closing; the state names none."
        repair_ = Action("empty_closing", (place,))
        yield _finding(place, "delay_state", place.keys.delay.closing, "closing", detail, repair_)


def _held(place: Place, facts: DelayFacts) -> Iterator[Finding]:
    key = place.keys.delay.state
    decided = facts.state.get(b"decided", b"").decode(errors="replace").split()
    for txn, held in facts.held.items():
        words = (held.row or b"").split(b" ")
        if len(words) != 4 or words[0] not in (b"O", b"C", b"A") or not all(word.isdigit() for word in words[1:]):
            count = max(held.chunks, default=0)
            row = f"O {count} {len(held.chunks)} {held.records()}"
            detail = f"Transaction {txn} has {len(held.chunks)} scheduled batches here, and no row."
            yield _finding(
                place, "delay_held", key, txn, detail, edit([hget(key, txn, held.row)], ("HSET", key, txn, row))
            )
            continue
        if int(words[2]) != len(held.chunks):
            detail = (
                f"Transaction {txn} has {len(held.chunks)} scheduled batches left here; its row says {int(words[2])}."
            )
            guards = [hget(key, txn, held.row)]
            text = b" ".join((*words[:2], str(len(held.chunks)).encode(), words[3]))
            repair = edit(guards, ("HSET", key, txn, text) if held.chunks else ("HDEL", key, txn))
            yield _finding(place, "delay_held", key, txn, detail, repair)
        elif words[0] != b"O" and txn not in decided:
            detail = f"Transaction {txn} has ended, and is not in the list of those whose batches are to be settled."
            before = facts.state.get(b"decided")
            guards = [hget(key, txn, held.row), hget(key, "decided", before)]
            repair = edit(guards, ("HSET", key, "decided", f"{' '.join(decided)} {txn}"))
            yield _finding(place, "delay_held", key, txn, detail, repair)


def _unlogged(place: Place, facts: DelayFacts) -> Iterator[Finding]:
    if facts.has_lost_bits:
        return  # the bits are rebuilt first
    for number, row in facts.ledgers.items():
        pending = facts.pending_in(number)
        if row.unlogged != pending:
            key = place.keys.ledgers
            detail = f"Delay ledger {number} has {row.unlogged} unlogged entries; {pending} are pending."
            guards = [*_same(place, facts), hget(key, number, row.text)]
            repair = edit(guards, ("HSET", key, number, row._replace(unlogged=pending).text))
            yield _finding(place, "delay_unlogged", key, f"{number}", detail, repair)


def _index(place: Place, facts: DelayFacts) -> Iterator[Finding]:
    d = place.keys.delay
    if facts.has_lost_bits:
        count = facts.missing_bits()
        detail = f"{len(facts.lost)} entries are in an index and not live; {count} of them are pending by the counters."
        repair = Action("fill_live", (place, sorted(facts.lost))) if count == len(facts.lost) else None
        yield _finding(place, "delay_live", d.live, "lost", detail, repair)
        return
    for ledger in facts.ledgers:
        missing = [each for each in facts.live.entries(*facts.range_of(ledger)) if each not in facts.indexed]
        if missing:
            shown = ", ".join(map(str, missing[:SHOWN]))
            detail = f"{len(missing)} pending entries of delay ledger {ledger} are in no index, such as {shown}."
            repair = Action("restore", (place, ledger))
            yield _finding(place, "delay_index", d.queue, f"ledger {ledger}", detail, repair)


def _parts(place: Place, facts: DelayFacts) -> Iterator[Finding]:
    """Records that are indexed by themselves have a mark in `parts`, and rescheduled ones their time in `moved`."""
    d = place.keys.delay
    for entry, dues in facts.by_part.items():
        if not facts.live.holds(entry):
            continue
        parts = facts.parts.get(str(entry).encode())
        if parts is None:
            detail = f"Records of entry {entry} are due by themselves; `parts` has nothing of it."
            repair = Action("rebuild_parts", (place, entry, dues, entry in facts.is_whole))
            yield _finding(place, "delay_state", d.parts, f"{entry}", detail, repair)
            continue
        for index, due in dues.items():
            name = f"{entry}.{index}"
            if parts[index : index + 1] == b"m" and name.encode() not in facts.moved:
                repair_ = edit([hget(d.parts, entry, parts), hget(d.moved, name, None)], ("HSET", d.moved, name, due))
                detail = f"Record {name} was rescheduled; its time is missing."
                yield _finding(place, "delay_state", d.moved, name, detail, repair_)


# -- buckets -----------------------------------------------------------------------------------------------------------


def check_buckets(
    place: Place,
    buckets: Sequence[BucketFacts],
    unreadable: Mapping[bytes, bytes],
    horizons: Mapping[bytes, int],
    snaps: Collection[bytes],
    now_ms: int,
) -> Iterator[Finding]:
    """unreadable: rows of another form.  horizons: members of `delay:next`.  All of one moment."""
    d = place.keys.delay
    by_name = {member.rpartition(b" ")[2].decode(errors="replace"): member for member in horizons}
    for facts in buckets:
        bucket = facts.bucket
        member = by_name.pop(bucket.name, None)
        if facts.damage:
            detail = f"The snapshot of bucket {bucket.name} cannot be read: {facts.damage}"
            yield _finding(
                place, "delay_bucket", d.buckets, bucket.name, detail, Action("reindex", (place, bucket.name))
            )
        elif facts.next_due_ms >= 0:
            wanted = next_member(facts.next_entry, bucket.name).encode()
            if member != wanted or horizons[member] != facts.next_due_ms:
                detail = f"Bucket {bucket.name} is due to be loaded at {facts.next_due_ms}; `next` has {member!r}."
                row = hget(d.buckets, bucket.name, bucket.text())
                removal = [("ZREM", d.next, member)] if member is not None and member != wanted else []
                repair = edit([row], *removal, ("ZADD", d.next, facts.next_due_ms, wanted))
                yield _finding(place, "delay_bucket", d.next, bucket.name, detail, repair)
        if bucket.snapshot.encode() not in snaps:
            detail = f"The snapshot {bucket.snapshot} of bucket {bucket.name} is not listed."
            guards = [hget(d.buckets, bucket.name, bucket.text())]
            repair = edit(guards, ("HSET", d.snaps, bucket.snapshot, now_ms))
            yield _finding(place, "delay_bucket", d.snaps, bucket.snapshot, detail, repair)
    for name, text in unreadable.items():
        shown = name.decode(errors="replace")
        detail = f"The row of bucket {shown} has another form."
        yield _finding(
            place,
            "delay_bucket",
            d.buckets,
            shown,
            detail,
            edit([hget(d.buckets, name, text)], ("HDEL", d.buckets, name)),
        )
    for unlisted, horizon in by_name.items():
        if unlisted.encode() not in unreadable:
            detail = f"`next` has bucket {unlisted}, which is not listed."
            repair_ = Action("bring_back", (place, unlisted, horizon.decode(errors="replace")))
            yield _finding(place, "delay_bucket", d.next, unlisted, detail, repair_)
