"""Rules about losses: what a promotion takes back at durability `process` is reported, and nothing else.

replication cut      promotion          brokers compare
──────┼──────────────────┼────────────────────┼──────────
      ├─ acknowledged ───┤  records of this time may be lost: a broker reports their offsets
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.sim.history import History, Write
from tests.sim.recorder import Event
from tests.sim.rules.finding import rule
from tests.sim.rules.log import lost

Found = Iterator[tuple[str, Sequence[Event]]]
Ranges = dict[tuple[str, int], list[tuple[int, int]]]  # topic, partition → first and last lost offset


def reported(history: History) -> Ranges:
    found: Ranges = defaultdict(list)
    for note in history.notes("loss"):
        if note["lost"] == "partition":
            found[note["topic"], note["partition"]].append((note["first"], note["last"]))
    return found


def position(history: History, write: Write) -> int | None:
    """The offset that was answered, if the client got it."""
    return next((offset for _, offset, value in history.positions(write.operation) if value == write.value), None)


@rule
def loss_not_reported(history: History) -> Found:
    """An acknowledged record that is lost lies in a range that a broker reported.  A transaction is also lost if a
    coordinator is reported, which aborted it."""
    ranges = reported(history)
    kinds = {note["lost"] for note in history.notes("loss")}
    for write in lost(history):
        if not history.may_be_lost(history.acknowledged_at(write)):
            continue  # acknowledged_record_lost
        offset = position(history, write)
        its = ranges.get((write.topic, write.partition), [])
        is_told = bool(its) if offset is None else any(first <= offset <= last for first, last in its)
        if not is_told and not (write.txn is not None and "coordinator" in kinds):
            where = f"{write.topic}-{write.partition}:{'?' if offset is None else offset}"
            notes = [*history.notes("promotion")[-2:], *history.notes("loss")[-2:]]
            yield (
                f"{write.value} at {where} was acknowledged, is lost, and no broker reported it",
                [
                    *write.operation.events,
                    *notes,
                ],
            )


@rule
def report_contradicted(history: History) -> Found:
    """What is reported as lost is not in the log."""
    for (topic, partition), its in reported(history).items():
        for seen in history.final.get((topic, partition), ()):
            if any(first <= seen.offset <= last for first, last in its):
                yield f"{topic}-{partition}:{seen.offset} was reported as lost, and is there", seen.operation.events
                break


@rule
def lost_without_promotion(history: History) -> Found:
    """Brokers report a loss only if a replica that may be behind was promoted."""
    promoted = [note["at"] for note in history.notes("promotion")]
    for note in history.notes("loss"):
        if not promoted or not history.loses:
            yield f"{note['broker']} reported that Redis lost writes: {note['lost']}", [note]


RULES = (loss_not_reported, report_contradicted, lost_without_promotion)
