"""Rules about scheduled records: never early, never lost, and either cancelled or delivered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.sim.history import History
from tests.sim.recorder import Event
from tests.sim.rules.finding import rule

Found = Iterator[tuple[str, Sequence[Event]]]
ROUNDING_MS = 1.0


def _cancelled(history: History, outcome: str) -> dict[str, Sequence[Event]]:
    """Value → the events of its cancellation with this answer, which no promotion took back."""
    answered = [each for each in history.of("cancel") if each.get("outcome") == outcome]
    return {each.get("value"): each.events for each in answered if not history.may_be_lost(each.ended_at)}


@rule
def scheduled_early(history: History) -> Found:
    """No reader gets a record before it is due, by the clock that was furthest ahead in the run."""
    steps_ms = [note["amount"] for note in history.notes("fault") if note["fault"] == "clock.step" and "amount" in note]
    tolerance_ms = max([0, *steps_ms]) + ROUNDING_MS
    for seen in history.sightings:
        write = history.writes.get(seen.value)
        if write is None or write.due_ms is None:
            continue
        early_ms = write.due_ms - history.wall_ms(seen.operation.ended_at)
        if early_ms > tolerance_ms:
            yield (
                f"{seen.value} was read {early_ms:.0f} ms before it was due",
                (write.operation.events + seen.operation.events),
            )


@rule
def scheduled_lost(history: History) -> Found:
    """An acknowledged scheduled record is in the log at the end, unless it may have been cancelled."""
    tried = {each.get("value") for each in history.of("cancel") if each.get("outcome") != "already_delivered"}
    if not history.has_final_log:
        return
    for write in history.writes.values():
        is_over = write.due_ms is not None and history.is_acknowledged(write)
        if history.may_be_lost(history.acknowledged_at(write)):
            continue
        if is_over and write.value not in tried and write.value not in history.visible:
            yield f"{write.value}, due at {write.due_ms}, is not in the log", write.operation.events


@rule
def cancellation_contradicted(history: History) -> Found:
    """A record that was answered cancelled is not in the log; one that was answered already delivered is."""
    if not history.has_final_log:
        return
    for value, events in _cancelled(history, "cancelled").items():
        if value in history.visible:
            yield f"{value} was cancelled and is in the log", events
    for value, events in _cancelled(history, "already_delivered").items():
        if value not in history.visible:
            yield f"the cancellation of {value} was answered already delivered, and it is not in the log", events


RULES = (scheduled_early, scheduled_lost, cancellation_contradicted)
