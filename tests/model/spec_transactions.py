"""What transactions and scheduled records promise."""

from __future__ import annotations

from tests.model.answers import (
    ENDED,
    LOWERED,
    TOO_LARGE,
    UNSURE,
    Answer,
    Arguments,
    Part,
    has_ended,
    is_too_late,
    may_be_lowered,
    refused,
    specifies,
    unchanged,
    was_deleted,
)
from tests.model.spec_topics import write_in
from tests.model.state import Scheduled, State, Txn

# Transactions


@specifies("init_producer")
def init_producer(state: State, given: Arguments, answer: Answer) -> list[State]:
    return unchanged(state, answer)


@specifies("begin")
def begin(state: State, given: Arguments, answer: Answer) -> list[State]:
    return [state.put("txns", given["txn"], Txn())] if answer.is_ok else []


@specifies("commit", "abort")
def end(state: State, part: Part, answer: Answer) -> list[State]:
    """Decided at one moment; when the client has the answer, all partitions have applied it.  Repeating is allowed."""
    txn, wanted = state.txns.get(part["txn"]), part["outcome"]
    if part["part"] == "applied":
        applied = txn is None or not txn.places or not answer.says
        return [state] if applied or not answer.is_ok else []
    if txn is None:  # a Kafka transaction that no request has begun
        return refused(state, answer, "ok", *ENDED)
    if txn.status == "open":
        return [state.put("txns", part["txn"], txn._replace(status=wanted))] if answer.is_ok else []
    return unchanged(state, answer) if txn.status == wanted else refused(state, answer, *ENDED)


@specifies("transaction_status")
def transaction_status(state: State, given: Arguments, answer: Answer) -> list[State]:
    txn = state.txns.get(given["txn"])
    if txn is None or not answer.says:
        return refused(state, answer, "transaction_not_found", *UNSURE)
    words = {"open": ("open",), "committed": ("committing", "committed"), "aborted": ("aborting", "aborted")}
    return [state] if answer.value in words[txn.status] else []


@specifies("execute")
def execute(state: State, part: Part, answer: Answer) -> list[State]:
    """Records for several topics in one transaction, which runs once under its Idempotency-Key."""
    key = part["key"]
    txn = state.txns.get(key)
    if part["part"] == "applied":
        return [state] if not answer.says or txn is None or not txn.places else []
    if part["part"] == "decided":
        if txn is not None and txn.status == "committed":
            return [state] if answer.is_ok or answer.code in ("unknown_topic", *TOO_LARGE) else []
        if answer.is_ok:
            is_written = txn is not None and len(state.keyed.get(key, ())) == part["parts"]
            return [state.put("txns", key, txn._replace(status="committed"))] if txn and is_written else []
        topics = [topic for topic, _ in part["places"]]
        is_due = any(name not in state.topics for name in topics)
        is_large = part["bytes"] > LOWERED and any(may_be_lowered(state, name) for name in topics)
        codes = (*(("unknown_topic",) if is_due else ()), *(TOO_LARGE if is_large else ()))
        return refused(state, answer, *codes)
    if not answer.is_ok or (txn is not None and txn.status == "committed"):
        return [state]
    written = state.keyed.get(key, ())
    if part["topic"] in written or (place := state.place(part["topic"], part["partition"])) is None:
        return [state] if part["topic"] in written else []
    added = write_in(state, key, txn or Txn(), place, part["values"], None)
    return [added.put("keyed", key, (*written, part["topic"]))] if added is not None else []


# Scheduled records


@specifies("schedule")
def schedule(state: State, given: Arguments, answer: Answer) -> list[State]:
    place, key = state.place(given["topic"], given["partition"]), given.get("txn")
    if is_too_late(state, given, answer):
        return [state]
    once = given.get("key")
    if once in state.keyed and (place is None or state.keyed[once] == place[0]):
        return [state] if answer.is_ok or answer.code in ("unknown_topic", "unknown_partition") else []
    if place is None:
        return refused(state, answer, "unknown_topic", "unknown_partition", *(ENDED if has_ended(state, given) else ()))
    if key is None:
        is_repeated, before = once in state.keyed, state  # for a topic of this name that was deleted
        if once is not None:
            state = state.put("keyed", once, place[0])
        waiting = state.put("scheduled", given["value"], Scheduled(place, given["due_ms"]))
        delivered = waiting.deliver(given["value"]) if given["due_ms"] <= state.now_ms else waiting
        if answer.says:  # what is due already is delivered at once, and has no id
            return [*([waiting] if answer.value else [delivered]), *([before] if is_repeated else [])]
        return [waiting, delivered] if answer.is_ok else []
    txn = state.txns[key]
    if txn.status != "open":
        return refused(state, answer, *ENDED)
    held = txn._replace(places=txn.places | {place}, waiting=(*txn.waiting, (place, given["value"], given["due_ms"])))
    return [state.put("txns", key, held)] if answer.is_ok else []


@specifies("cancel", "reschedule")
def change_scheduled(state: State, given: Arguments, answer: Answer) -> list[State]:
    """due_ms None: cancels.  Cancelling again is allowed."""
    topic, entry = state.topics.get(given["topic"]), state.scheduled.get(given["value"])
    if given["due_ms"] is not None and is_too_late(state, given, answer):
        return [state]
    if topic is None:
        is_stale = was_deleted(state, given["topic"])
        return refused(state, answer, "unknown_topic", *(("unknown_scheduled",) if is_stale else ()))
    if entry is None or entry.place[0] != topic.id:
        # A topic that was created again numbers its records anew, so the id may name another record.
        found = refused(state, answer, "unknown_scheduled", "unknown_partition")
        others = {v: e for v, e in state.scheduled.items() if e.place[0] == topic.id}
        if answer.code in ("already_delivered", "already_cancelled", "ok"):
            found.append(state)
        for value in others if answer.is_ok else ():
            found += change_scheduled(state, {**given, "value": value}, answer)
        return found
    if entry.state == "delivered":
        return refused(state, answer, "already_delivered", "unknown_scheduled")
    if entry.state == "cancelled":
        return refused(state, answer, *(("ok",) if given["due_ms"] is None else ()), "already_cancelled",
                       "unknown_scheduled")  # fmt: skip
    changed = (
        entry._replace(state="cancelled")
        if given["due_ms"] is None
        else entry._replace(due_ms=given["due_ms"], is_moved=True)
    )
    return [state.put("scheduled", given["value"], changed)] if answer.is_ok else []


@specifies("clear_scheduled")
def clear_scheduled(state: State, given: Arguments, answer: Answer) -> list[State]:
    """Of one partition.  What open transactions hold is not scheduled yet."""
    place, cancelled = state.place(given["topic"], given["partition"]), 0
    if was_deleted(state, given["topic"]) and not answer.value:
        return [state]  # perhaps of the topic that was deleted
    if place is None:
        return refused(state, answer, "unknown_topic", "unknown_partition")
    for value, entry in state.scheduled.items():
        if entry.place == place and entry.state == "waiting":
            state, cancelled = state.put("scheduled", value, entry._replace(state="cancelled")), cancelled + 1
    return [state] if answer.is_ok and (not answer.says or answer.value == cancelled) else []


@specifies("rebuild_scheduled")
def rebuild_scheduled(state: State, given: Arguments, answer: Answer) -> list[State]:
    """No record is lost or delivered early."""
    if state.place(given["topic"], given["partition"]) is None:
        found = refused(state, answer, "unknown_topic", "unknown_partition")
        return [state] if was_deleted(state, given["topic"]) else found
    return unchanged(state, answer)


@specifies("list_scheduled")
def list_scheduled(state: State, given: Arguments, answer: Answer) -> list[State]:
    place = state.place(given["topic"], given["partition"])
    if was_deleted(state, given["topic"]) and not answer.value:
        return [state]
    if place is None:
        return refused(state, answer, "unknown_topic", "unknown_partition")
    there = {v: e for v, e in state.scheduled.items() if e.place == place and e.state == "waiting"}
    must = {value for value, entry in there.items() if not entry.is_moved}
    return [state] if not answer.says or must <= set(answer.value) <= there.keys() else []
