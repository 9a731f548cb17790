"""Answers of operations, and what is common to their specifications.

An answer whose code is in UNSURE, or which was lost, does not say whether the operation took effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.model.state import State

TOPICS = ("a", "b")  # the names that histories use
Arguments = Mapping[str, Any]
Part = Arguments


class Answer(NamedTuple):
    """code: "ok", that of an error, or "" if the answer was lost.  value: what the client learns."""

    code: str = ""
    value: Any = None

    @property
    def is_ok(self) -> bool:
        return self.code in ("ok", "") or self.code in UNSURE

    @property
    def says(self) -> bool:
        """Whether `value` has to agree."""
        return self.code == "ok"


LOST = Answer()
PARTITIONS_MAX = 4
LOWERED, RAISED = 1_000, 1 << 20  # limits of the bytes of a batch
HOUR_MS = 3_600_000  # the longest delay, with the lowered limit
LARGE = 3_000  # bytes of a record that a lowered limit refuses
MEDIUM = 600  # of one that has a batch of its own there
# The operation may have taken effect, or may be under way: the client has to look, or to repeat it.
UNSURE = frozenset({
    "outcome_unknown", "store_timeout", "store_unavailable", "unavailable", "request_in_progress", "topic_busy",
    "not_coordinator", "draining",
})  # fmt: skip
ENDED = ("already_committed", "already_aborted", "transaction_ended", "transaction_timed_out", "invalid_txn_status",
         "transaction_not_found", "transaction_abort_only")  # fmt: skip
MISSING = ("unknown_topic", "unknown_partition", "unknown_topic_or_partition")
TOO_LARGE = ("request_too_large", "too_large_to_decode")
DELETED_TOPIC_READ_MS = 1_500  # 0038: another broker reads a deleted topic, or trimmed records, for up to a second
Specification = Callable[[State, Arguments, Answer], list[State]]
SPECIFICATIONS: dict[str, Specification] = {}


def specifies(*operations: str) -> Callable[[Specification], Specification]:
    def note(function: Specification) -> Specification:
        SPECIFICATIONS.update(dict.fromkeys(operations, function))
        return function

    return note


def refused(state: State, answer: Answer, *codes: str) -> list[State]:
    """Nothing was changed, for one of these reasons."""
    code = answer.code
    if code == "unknown_topic_or_partition":  # Kafka has one code for both
        code = "unknown_topic" if "unknown_topic" in codes else "unknown_partition"
    return [state] if code in codes or not code else []


def may_be_lowered(state: State, name: str) -> bool:
    """A broker may know the lowered limit of the topic, or of one of its name that was deleted."""
    topic = state.topics.get(name)
    return was_deleted(state, name) or (topic is not None and LOWERED in topic.limits)


def is_too_late(state: State, given: Arguments, answer: Answer) -> bool:
    """A delay that the lowered limit refuses."""
    is_late = answer.code == "delay_too_long" and given["due_ms"] - state.now_ms > HOUR_MS
    return is_late and may_be_lowered(state, given["topic"])


def was_deleted(state: State, topic: str) -> bool:
    """A broker that has not heard of the deletion may answer for the topic that was deleted (0038)."""
    return topic in state.deleted and state.now_ms - state.deleted[topic][1] < DELETED_TOPIC_READ_MS


def unchanged(state: State, answer: Answer) -> list[State]:
    return [state] if answer.is_ok else []


def has_ended(state: State, given: Arguments) -> bool:
    return given.get("txn") in state.txns and state.txns[given["txn"]].status != "open"
