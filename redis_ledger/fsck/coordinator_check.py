"""Compares the keys of a transaction coordinator with each other and with the transaction log.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from redis_ledger.fsck.coordinator_facts import (
    MORE,
    OPEN,
    STATES,
    CoordinatorPlace,
    LoggedTxn,
    TxnFacts,
    TxnRow,
    padded,
)
from redis_ledger.fsck.finding import Action, Edit, Finding, Guard, Write, edit, hget, zscore
from redis_ledger.ledger.log_trace import parse_numbers

COUNTS = ("created", "committed", "aborted", "timeout")


def check_txn(place: CoordinatorPlace, facts: TxnFacts, logged: LoggedTxn | None) -> Iterator[Finding]:
    """Everything that names one transaction."""
    row = TxnRow.parse(facts.row)
    if facts.row is not None and row is None:
        yield _lost_row(place, facts, logged, f"The row of transaction {_id(place, facts)} has another form.")
    elif row is not None:
        yield from _live(place, facts, row, logged)
    else:
        if facts.outcome is None and logged is not None and logged.is_whole and _is_logged(facts, logged):
            yield _lost_row(place, facts, logged, f"Transaction {_id(place, facts)} is in the log and has no row.")
            return
        yield from _not_live(place, facts)
    yield from _outcome(place, facts)


def _id(place: CoordinatorPlace, facts: TxnFacts) -> str:
    return f"{place.number}-{facts.serial}"


def _is_logged(facts: TxnFacts, logged: LoggedTxn) -> bool:
    return any(facts.is_live(position) for position in logged.positions)


def _lost_row(place: CoordinatorPlace, facts: TxnFacts, logged: LoggedTxn | None, detail: str) -> Finding:
    repair = None
    if logged is not None and logged.is_whole and facts.outcome is None:
        repair = Action("rebuild_txn", (place, facts.serial, facts.row, logged))
    return _finding("txn_row", place, place.keys.txns, facts, detail, repair)


def _finding(
    kind: str, place: CoordinatorPlace, key: bytes, facts: TxnFacts, detail: str, repair: Edit | Action | None
) -> Finding:
    return Finding(kind, str(place), key.decode(), str(facts.serial), detail, repair)


def _live(place: CoordinatorPlace, facts: TxnFacts, row: TxnRow, logged: LoggedTxn | None) -> Iterator[Finding]:
    k, name = place.keys, _id(place, facts)
    unchanged = hget(k.txns, facts.serial, facts.row)
    if facts.outcome is not None:
        detail = f"Transaction {name} has an outcome, and is among the live ones."
        writes = [Write("HDEL", k.txns, (facts.serial,)), Write("ZREM", k.order, (padded(facts.serial),))]
        writes.append(Write("ZREM", k.deadlines, (facts.serial,)))
        guards = (unchanged, hget(k.outcomes, facts.serial, facts.outcome))
        yield _finding("txn_index", place, k.txns, facts, detail, Edit(guards, tuple(writes)))
        return
    if not facts.is_ordered:
        repair = edit([unchanged], ("ZADD", k.order, 0, padded(facts.serial)))
        yield _finding("txn_index", place, k.order, facts, f"Transaction {name} is not in `order`.", repair)
    if facts.deadline != row.deadline:
        repair = edit([unchanged], ("ZADD", k.deadlines, row.deadline, facts.serial))
        detail = f"Transaction {name} has the deadline {row.deadline}; `deadlines` has {facts.deadline}."
        yield _finding("txn_index", place, k.deadlines, facts, detail, repair)
    dead = [position for position in row.positions if facts.is_live(position) is False]
    if dead:
        detail = f"Log records {', '.join(dead[:5])} of transaction {name} are marked as dead; it needs them."
        yield _finding("txn_log", place, k.live, facts, detail, Action("revive", (place, facts.serial, dead)))
    if logged is not None and logged.is_whole and set(logged.positions) <= set(row.positions):
        yield from _against_log(place, facts, row, logged)


def _against_log(place: CoordinatorPlace, facts: TxnFacts, row: TxnRow, logged: LoggedTxn) -> Iterator[Finding]:
    """The log was read before the row: it may be behind, if the transaction has gone on."""
    name, has_gone_on = _id(place, facts), set(row.positions) != set(logged.positions)
    if not has_gone_on and STATES[row.state] != logged.status:
        detail = f"Transaction {name} is {row.state} in its row; its log records say status {logged.status}."
        yield _lost_row(place, facts, logged, detail)
    missing = [word for word in logged.participants if word not in row.participants]
    if missing and MORE not in row.participants and logged.status == OPEN:
        detail = (
            f"The row of transaction {name} lacks {len(missing)} participants that its log has, such as {missing[0]}."
        )
        yield _lost_row(place, facts, logged, detail)


def _not_live(place: CoordinatorPlace, facts: TxnFacts) -> Iterator[Finding]:
    k, name = place.keys, _id(place, facts)
    absent = hget(k.txns, facts.serial, None)
    if facts.is_ordered:
        repair = edit([absent], ("ZREM", k.order, padded(facts.serial)))
        yield _finding(
            "txn_index", place, k.order, facts, f"`order` has transaction {name}, which is not live.", repair
        )
    if facts.deadline is not None:
        repair = edit([absent], ("ZREM", k.deadlines, facts.serial))
        detail = f"`deadlines` has transaction {name}, which is not live."
        yield _finding("txn_index", place, k.deadlines, facts, detail, repair)


def _outcome(place: CoordinatorPlace, facts: TxnFacts) -> Iterator[Finding]:
    k, name = place.keys, _id(place, facts)
    if facts.outcome is None:
        if facts.forget is not None:
            repair = edit([hget(k.outcomes, facts.serial, None)], ("ZREM", k.forget, facts.serial))
            detail = f"`forget` has transaction {name}, which has no outcome."
            yield _finding("outcome_index", place, k.forget, facts, detail, repair)
        return
    words = facts.outcome.split(b" ")
    unchanged = hget(k.outcomes, facts.serial, facts.outcome)
    if len(words) != 6 or words[0] not in (b"C", b"A", b"T") or not words[1].isdigit():
        detail = f"The outcome of transaction {name} has another form."
        repair = edit([unchanged], ("HDEL", k.outcomes, facts.serial), ("ZREM", k.forget, facts.serial))
        yield _finding("outcome_index", place, k.outcomes, facts, detail, repair)
    elif facts.forget != int(words[1]):
        detail = f"Transaction {name} ended at {int(words[1])}; `forget` has {facts.forget}."
        repair = edit([unchanged], ("ZADD", k.forget, int(words[1]), facts.serial))
        yield _finding("outcome_index", place, k.forget, facts, detail, repair)


# -- state, log, nonces, ids -----------------------------------------------------------------------------------------


def check_state(
    place: CoordinatorPlace, state: Mapping[bytes, bytes], highest: int, last_entry: int
) -> Iterator[Finding]:
    """highest: serial that any key names; last_entry: of the log.  All of one moment."""
    key = place.keys.state
    found, wrong = parse_numbers(state, ("next", "entry", *COUNTS))
    right = dict.fromkeys(wrong, 0)
    if found.get("next", -1) <= highest:
        right["next"] = highest + 1
    if found.get("entry", -1) < last_entry:
        right["entry"] = last_entry
    for name, value in right.items():
        stored = state.get(name.encode())
        shown = "nothing" if stored is None else stored.decode(errors="replace")
        repair = edit([hget(key, name, stored)], ("HSET", key, name, value))
        detail = f"The field {name!r} is {shown}; it must be {value} at least."
        yield Finding("coordinator_state", str(place), key.decode(), name, detail, repair)


def check_log_entry(place: CoordinatorPlace, number: str, records: int | None, bits: bytes | None) -> Iterator[Finding]:
    """records: in the entry, None if there is no entry; bits: of `live`, None if there are none."""
    k = place.keys
    bits_guard = hget(k.live, number, bits)
    if records is None and bits is not None:
        detail = f"`live` has bits of log entry {number}, which is not there."
        repair = edit([bits_guard, _no_entry(k.log, number)], ("HDEL", k.live, number))
        yield Finding("txn_log", str(place), k.live.decode(), number, detail, repair)
    elif records is not None and (bits is None or len(bits) != records or set(bits) - set(b"01")):
        detail = f"Log entry {number} has {records} records; `live` has {bits!r}."
        repair_: Action = Action("relive", (place, number, bits, records))
        yield Finding("txn_log", str(place), k.live.decode(), number, detail, repair_)


def _no_entry(log: bytes, number: str) -> Guard:
    return Guard("XRANGE", log, (f"{number}-1", f"{number}-1"), 0)


def check_leaks(place: CoordinatorPlace, facts: TxnFacts, logged: LoggedTxn) -> Iterator[Finding]:
    """Live log records of a transaction that is over, or that its row does not need."""
    row = TxnRow.parse(facts.row)
    if row is None and facts.outcome is None:
        return  # its row is lost, see check_txn; or it is forgotten, see below
    needed = set(row.positions) if row is not None else set[str]()
    leaked = [each for each in logged.positions if each not in needed and facts.is_live(each)]
    if leaked:
        detail = (
            f"Log records {', '.join(leaked[:5])} of transaction {_id(place, facts)} are alive; nothing needs them."
        )
        repair = Action("kill", (place, facts.serial, facts.row, leaked))
        yield _finding("txn_log", place, place.keys.live, facts, detail, repair)


def check_nonces(
    place: CoordinatorPlace,
    nonces: Mapping[bytes, bytes | None],
    rows: Sequence[bytes | None],
    outcomes: Sequence[bytes | None],
    steps: Sequence[bytes | None],
) -> Iterator[Finding]:
    """A nonce belongs to a live transaction, an outcome or a step; a step has a nonce.  All in the nonces' order."""
    k = place.keys
    for (nonce, serial), row, outcome, step in zip(nonces.items(), rows, outcomes, steps, strict=True):
        name = nonce.decode(errors="replace")
        if serial is None:
            if step is not None:
                repair = edit([hget(k.nonces, nonce, None)], ("ZREM", k.steps, nonce))
                detail = f"The step {name!r} has no nonce."
                yield Finding("nonce", str(place), k.steps.decode(), name, detail, repair)
        elif row is None and outcome is None and step is None:
            repair = edit([hget(k.nonces, nonce, serial), hget(k.txns, serial, None)], ("HDEL", k.nonces, nonce))
            detail = f"The nonce {name!r} belongs to transaction {place.number}-{serial.decode()}, which is forgotten."
            yield Finding("nonce", str(place), k.nonces.decode(), name, detail, repair)


def check_row_nonce(place: CoordinatorPlace, facts: TxnFacts, stored: bytes | None) -> Iterator[Finding]:
    """stored: what `nonces` has for the nonce of a live transaction."""
    row = TxnRow.parse(facts.row)
    if row is None or row.nonce == "-" or row.nonce.startswith("@") or stored is not None:
        return
    k = place.keys
    guards = [hget(k.txns, facts.serial, facts.row), hget(k.nonces, row.nonce, None)]
    repair = edit(guards, ("HSET", k.nonces, row.nonce, facts.serial))
    detail = f"The nonce {row.nonce!r} of transaction {_id(place, facts)} is not stored."
    yield _finding("nonce", place, k.nonces, facts, detail, repair)


def check_wide(place: CoordinatorPlace, members: Mapping[bytes, TxnRow | None]) -> Iterator[Finding]:
    """members: of `wide`, each with the row of its transaction."""
    k = place.keys
    for member, row in members.items():
        if row is None or MORE not in row.participants:
            serial = member.partition(b" ")[0]
            guards = [hget(k.txns, serial, None), zscore(k.wide, member, 0)]
            repair = edit(guards, ("ZREM", k.wide, member)) if row is None else None
            detail = f"`wide` has a participant of transaction {place.number}-{serial.decode()}, which has none there."
            yield Finding("participants", str(place), k.wide.decode(), member.decode(), detail, repair)


def check_id(place: CoordinatorPlace, name: bytes, row: bytes) -> Iterator[Finding]:
    """A row of `ids`: its form is in lua/include/transactional_ids.lua."""
    words = row.split(b" ")
    is_number = len(words) == 2 and all(word.isdigit() for word in words)
    is_identity = (
        len(words) in (9, 10)
        and all(word.isdigit() for word in (*words[:3], *words[8:]))
        and (words[3] == b"-" or words[3].isdigit())
        and words[4] in (b"C", b"A", b"-")
        and words[6].lstrip(b"-").isdigit()
    )
    if not (is_number if name.startswith(b"=") else is_identity):
        k, shown = place.keys, name.decode(errors="replace")
        repair = edit([hget(k.ids, name, row)], ("HDEL", k.ids, name))
        detail = f"The row of {shown!r} has another form."
        yield Finding("transactional_id", str(place), k.ids.decode(), shown, detail, repair)


def check_call(place: CoordinatorPlace, broker: bytes, row: bytes) -> Iterator[Finding]:
    """A row of `calls`: "number lowest following", a line break, and replies."""
    head, _, _ = row.partition(b"\n")
    words = head.split(b" ")
    if len(words) != 3 or not words[0].isdigit() or not words[2].isdigit():
        k, name = place.keys, broker.decode(errors="replace")
        repair = edit([hget(k.calls, broker, row)], ("HDEL", k.calls, broker))
        detail = f"The last call of broker {name!r} has another form."
        yield Finding("coordinator_call", str(place), k.calls.decode(), name, detail, repair)
