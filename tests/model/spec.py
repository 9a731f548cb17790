"""The sequential specification: what each operation may answer in a state, and the states that may follow.

    specification(state, arguments, answer) ─▶ states       none: this answer is not allowed here

An operation takes effect at one moment between its request and its answer.  One that the documentation does not call
atomic has several parts (`PARTS`), each with a moment of its own: the end of a transaction is decided at one moment,
and each partition applies it at another.
Sources: docs/reference/rest.md and errors.md, docs/explanation, docs/reliability.md, docs/decisions/0056.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tests.model import spec_consumers, spec_topics, spec_transactions
from tests.model.answers import (
    MEDIUM,
    MISSING,
    PARTITIONS_MAX,
    SPECIFICATIONS,
    TOPICS,
    UNSURE,
    Answer,
    Arguments,
    Part,
    was_deleted,
)
from tests.model.state import State

__all__ = ["PARTS", "READS", "SPECIFICATIONS", "spec_consumers", "spec_topics", "spec_transactions", "step", "touched"]


def step(operation: str, state: State, part: Part, answer: Answer) -> list[State]:
    """The states that may follow if this part of the operation takes effect now, and the answer is this one."""
    states = SPECIFICATIONS[operation](state, part, answer)
    is_stale = answer.code in MISSING and any(
        was_deleted(state, name.partition("/")[0]) for name in touched(operation, part)
    )
    return [*states, state] if answer.code in UNSURE or is_stale else states


# Parts


def _end_parts(given: Arguments) -> list[Part]:
    return [{**given, "part": part} for part in ("decided", "applied")]


def _execute_parts(given: Arguments) -> list[Part]:
    written = [
        {"key": given["key"], "part": "written", "topic": topic, "partition": partition, "values": values}
        for topic, partition, values in given["writes"]
    ]
    shared = {"key": given["key"], "parts": len(written), "places": [(w["topic"], w["partition"]) for w in written]}
    return [*written, *({**shared, "bytes": given["bytes"], "part": part} for part in ("decided", "applied"))]


def _keyed_parts(given: Arguments) -> list[Part]:
    keys = [key for key, _ in given["records"]]
    batches = max(Counter(keys).values()) if given["bytes"] == MEDIUM else 1
    shared = {"key": given["key"], "topic": given["topic"], "bytes": given["bytes"], "batches": batches}
    return [
        {**shared, "record_key": key, "value": value, "before": given["records"][:number]}
        for number, (key, value) in enumerate(given["records"])
    ]


def _group_parts(given: Arguments) -> list[Part]:
    return [{"group": given["group"], "topic": topic, "partition": number} for topic, number, _ in given["places"]]


# A part that stands behind another one takes effect after it, if it is `decided` or `applied`.
PARTS: dict[str, Callable[[Arguments], list[Part]]] = {
    "commit": _end_parts,
    "abort": _end_parts,
    "execute": _execute_parts,
    "produce_keyed": _keyed_parts,
    "delete_group": _group_parts,
}

READS = frozenset({"fetch", "list_topics", "list_scheduled", "transaction_status", "fetch_offset"})


def touched(operation: str, part: Part) -> set[str]:
    """Names of the partitions and transactions that a part reads or changes.  A topic is all of its partitions."""
    found = {f"{topic}/{partition}" for topic, partition in part.get("places", ())}
    for topic in TOPICS if operation == "list_topics" else [part["topic"]] if part.get("topic") else []:
        numbers = [part["partition"]] if "partition" in part else range(PARTITIONS_MAX + 1)
        found |= {f"{topic}/{number}" for number in numbers}
    if operation == "execute":
        found.add(part["key"])
    return found | {part["txn"]} if part.get("txn") else found
