"""Rows of transactions and of scheduled records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.model.answers import LARGE, TOPICS, Answer
from tests.model.brokers import path
from tests.model.rows import (
    DAY_MS,
    Given,
    Session,
    a_partition,
    base_offset,
    row,
    some_records,
    texts,
)
from tests.model.state import EXECUTED
from tests.model.steps import Known

# Transactions


def _new_txn(known: Known, number: int) -> Given | None:
    return {"txn": f"t{number}"} if len(known.open) < 3 else None


@row("begin", "begin", "REST", 3, _new_txn, uses=())
async def _begin(session: Session, given: Given) -> Answer:
    return await session.rest("POST", path("transactions"), {}, value=lambda body: body["id"])


def _open_txn(known: Known) -> Any:
    """One that is open; now and then one that was ended."""
    if known.ended and known.rng.random() < 0.1:
        return str(known.pick(known.ended[-3:]))
    return known.pick(known.open)


def _records_in(known: Known, number: int) -> Given | None:
    txn, given = _open_txn(known), some_records(known, number)
    return {**given, "txn": txn} if txn and given else None


@row("produce_in", "produce", "REST", 5, _records_in)
async def _produce_in(session: Session, given: Given) -> Answer:
    body = {
        "records": texts(given["values"]), "partition": given["partition"], "transaction": session.ids[given["txn"]],
    }  # fmt: skip
    return await session.rest("POST", path("topics", given["topic"], "records"), body, value=base_offset)


def _ending(outcome: str) -> Callable[[Known, int], Given | None]:
    def draw(known: Known, number: int) -> Given | None:
        txn = _open_txn(known)
        return known.ending(txn, outcome) if txn else None

    return draw


@row("commit", "commit", "REST", 3, _ending("committed"), True)
async def _commit(session: Session, given: Given) -> Answer:
    return await session.rest("POST", f"/v1/transactions/{session.ids[given['txn']]}:commit", {})


@row("abort", "abort", "REST", 1.5, _ending("aborted"), True)
async def _abort(session: Session, given: Given) -> Answer:
    return await session.rest("POST", f"/v1/transactions/{session.ids[given['txn']]}:abort", {})


def _any_txn(known: Known, number: int) -> Given | None:
    txn = known.pick([*known.open, *known.ended])
    return {"txn": txn} if txn else None


@row("transaction_status", "transaction_status", "REST", 1, _any_txn)
async def _status(session: Session, given: Given) -> Answer:
    return await session.rest("GET", path("transactions", session.ids[given["txn"]]), value=lambda body: body["status"])


def _execution(known: Known, number: int) -> Given | None:
    topics = [name for name in TOPICS if name in known.topics]
    topics = topics if known.rng.random() < 0.5 else topics[:1]
    writes = tuple((name, known.rng.randrange(known.topics[name]), (f"{EXECUTED}{number}.{name}",)) for name in topics)
    is_large = known.rng.random() < 0.4
    return {"key": f"key-{number}", "writes": writes, "bytes": LARGE if is_large else 0} if writes else None


@row("execute", "execute", "REST", 3, _execution, True)
async def _execute(session: Session, given: Given) -> Answer:
    padding = {"headers": {"pad": "x" * given["bytes"]}} if given["bytes"] else {}
    records = [
        {"topic": topic, "records": [{"text": value, "partition": partition, **padding} for value in values]}
        for topic, partition, values in given["writes"]
    ]
    return await session.rest("POST", "/v1/transactions:execute", {"records": records}, key=given["key"])


# Scheduled records


def _after_ms(known: Known) -> int:
    return known.rng.choice((5, 20, DAY_MS, DAY_MS, DAY_MS))


def _to_schedule(known: Known, number: int) -> Given | None:
    given = a_partition(known, number)
    return given and {**given, "value": f"s{number}", "after_ms": _after_ms(known)}


def _to_schedule_keyed(known: Known, number: int) -> Given | None:
    given = _to_schedule(known, number)
    return given and {**given, "key": f"key-{number}"}


@row("schedule_keyed", "schedule", "REST", 2, _to_schedule_keyed, True)
@row("schedule", "schedule", "REST", 3, _to_schedule)
async def _schedule(session: Session, given: Given) -> Answer:
    record = {"text": given["value"], "deliver_at": given["due_ms"], "partition": given["partition"]}
    where = path("topics", given["topic"], "scheduled")
    return await session.rest(
        "POST", where, {"records": [record]}, key=given.get("key", ""),
        value=lambda body: [each["id"] for each in body["scheduled"]],
    )  # fmt: skip


def _to_schedule_in(known: Known, number: int) -> Given | None:
    txn, given = _open_txn(known), _to_schedule(known, number)
    return {**given, "txn": txn} if txn and given else None


@row("schedule_in", "schedule", "REST", 2, _to_schedule_in)
async def _schedule_in(session: Session, given: Given) -> Answer:
    body = {
        "records": [{"text": given["value"], "deliver_at": given["due_ms"]}], "partition": given["partition"],
        "transaction": session.ids[given["txn"]],
    }  # fmt: skip
    return await session.rest("POST", path("topics", given["topic"], "records"), body)


def _one_scheduled(known: Known) -> Given | None:
    found = known.pick(known.scheduled)
    return {"topic": found[0], "value": found[1]} if found else None


def _to_cancel(known: Known, number: int) -> Given | None:
    given = _one_scheduled(known)
    return given and {**given, "due_ms": None}


@row("cancel", "cancel", "REST", 1.5, _to_cancel, uses=("value",))
async def _cancel(session: Session, given: Given) -> Answer:
    return await session.rest("DELETE", path("topics", given["topic"], "scheduled", session.ids[given["value"]]))


def _to_reschedule(known: Known, number: int) -> Given | None:
    given = _one_scheduled(known)
    return given and {**given, "after_ms": _after_ms(known)}


@row("reschedule", "reschedule", "REST", 1.5, _to_reschedule, uses=("value",))
async def _reschedule(session: Session, given: Given) -> Answer:
    where = path("topics", given["topic"], "scheduled", session.ids[given["value"]])
    return await session.rest("PATCH", where, {"deliver_at": given["due_ms"]})


@row("clear_scheduled", "clear_scheduled", "REST", 1.5, a_partition)
async def _clear(session: Session, given: Given) -> Answer:
    where = path("topics", given["topic"], "scheduled", partition=given["partition"])
    return await session.rest("DELETE", where, value=lambda body: body["cancelled"])


@row("rebuild_scheduled", "rebuild_scheduled", "REST", 0.7, a_partition)
async def _rebuild(session: Session, given: Given) -> Answer:
    where = path("topics", given["topic"], "scheduled:rebuild")
    return await session.rest("POST", where, {"partition": given["partition"]})


@row("list_scheduled", "list_scheduled", "REST", 1.5, a_partition)
async def _list_scheduled(session: Session, given: Given) -> Answer:
    where = path("topics", given["topic"], "scheduled", partition=given["partition"])
    return await session.rest(
        "GET", f"{where}&as=text", value=lambda body: [each["text"] for each in body["scheduled"]]
    )
