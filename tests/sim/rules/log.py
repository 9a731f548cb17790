"""Rules about the log: every acknowledged record is there once, at its offset, in order, and stays as it was."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.sim.history import NEVER, History, Operation, Sighting, Write
from tests.sim.recorder import Event
from tests.sim.rules.finding import rule

Found = Iterator[tuple[str, Sequence[Event]]]


def lost(history: History) -> Iterator[Write]:
    """Acknowledged records that are not in the final log."""
    for write in history.writes.values() if history.has_final_log else ():
        if write.due_ms is None and history.is_acknowledged(write) and write.value not in history.visible:
            yield write


@rule
def acknowledged_record_lost(history: History) -> Found:
    """A record whose send or commit was acknowledged is in the log at the end.  Scheduled ones: rules/scheduled.py.
    Ones that a promotion may have taken back: rules/losses.py."""
    for write in lost(history):
        if not history.may_be_lost(history.acknowledged_at(write)):
            events = write.operation.events
            if write.txn is not None:
                events = events + history.txns[write.txn].events
            yield f"{write.value} in {write.topic}-{write.partition} was acknowledged and is not in the log", events


@rule
def record_doubled(history: History) -> Found:
    """A record of an idempotent or transactional producer is in the log once.  Exception: its Idempotency-Key was on
    another server than the record, and a promotion took it back."""
    for value, seen in history.visible.items():
        write = history.writes.get(value)
        if write is not None and not history.is_one_cut and history.may_be_lost(write.operation.ended_at):
            continue
        if len(seen) > 1 and (write is None or write.is_idempotent):
            places = ", ".join(f"{each.topic}-{each.partition}:{each.offset}" for each in seen)
            yield f"{value} is in the log {len(seen)} times: {places}", [] if write is None else write.operation.events


@rule
def record_from_nowhere(history: History) -> Found:
    """Readers see only what clients wrote, in the partition that they named."""
    for seen in history.sightings:
        write = history.writes.get(seen.value)
        if write is None:
            yield f"{seen.value!r} at {_place(seen)} was written by no client", [seen.operation.start]
        elif (write.topic, write.partition) != (seen.topic, seen.partition):
            yield (
                f"{seen.value} was sent to {write.topic}-{write.partition} and is at {_place(seen)}",
                [write.operation.start],
            )


@rule
def out_of_order(history: History) -> Found:
    """Records of one writer are in each partition in the order in which it sent them."""
    sent: dict[str, int] = {value: number for number, value in enumerate(history.writes)}
    for log in history.final.values():
        last: dict[str, Sighting] = {}
        for seen in log:
            write = history.writes.get(seen.value)
            if write is None or not write.is_idempotent or write.due_ms is not None:
                continue
            writer = write.operation.get("writer")
            before = last.get(writer)
            if before is not None and sent[seen.value] < sent[before.value]:
                yield (
                    f"{_place(seen)} is behind {before.value} at {before.offset}, which {writer} sent later",
                    write.operation.events + history.writes[before.value].operation.events,
                )
            last[writer] = seen


@rule
def read_changed(history: History) -> Found:
    """An offset has the same record in every answer, also in the answer to the send."""
    first: dict[tuple[str, int, int], tuple[str, Operation]] = {}

    def conflict(topic: str, partition: int, offset: int, value: str, operation: Operation) -> Found:
        known, by = first.setdefault((topic, partition, offset), (value, operation))
        if known != value:
            events = [event for each in (by, operation) for event in each.events]
            yield f"{topic}-{partition}:{offset} was {known} and then {value}", events

    for send in history.of("send"):
        if send.is_ok:
            for partition, offset, value in history.positions(send):
                yield from conflict(send.get("topic"), partition, offset, value, send)
    for seen in history.sightings:
        yield from conflict(seen.topic, seen.partition, seen.offset, seen.value, seen.operation)


@rule
def offset_went_back(history: History) -> Found:
    """Start, stable and end offset of a partition never decrease: not from an answer to a call that began after it.
    Exception: a promotion brought back transactions that had ended; they hold the stable offset until they end."""
    by_partition: dict[tuple[str, int], list[Operation]] = defaultdict(list)
    for read in history.of("read"):
        if read.is_ok and read.get("end") is not None:
            by_partition[read.get("topic"), read.get("partition")].append(read)
    for (topic, partition), reads in by_partition.items():
        ended = sorted(reads, key=lambda each: each.ended_at)
        for name in ("start", "stable", "end"):
            at, highest, holder = 0, -1, None
            for read in sorted(reads, key=lambda each: each.invoked_at):
                while at < len(ended) and ended[at].ended_at < read.invoked_at:
                    if ended[at].get(name) > highest:
                        highest, holder = ended[at].get(name), ended[at]
                    at += 1
                if holder is not None and name == "stable" and history.may_be_lost(holder.ended_at):
                    continue
                if read.get(name) < highest and holder is not None:
                    yield (
                        f"the {name} offset of {topic}-{partition} was {highest} and then {read.get(name)}",
                        holder.events + read.events,
                    )
                    break


@rule
def reader_passed_over(history: History) -> Found:
    """A read_committed reader gets every record between the offset it read from and the one it goes on at."""
    for read in history.of("read"):
        if not read.is_ok or read.get("isolation") != "read_committed" or read.get("next") is None:
            continue
        log = history.final.get((read.get("topic"), read.get("partition")), ())
        got = {offset for _, offset, _ in read.get("records")}
        for seen in log:
            if read.get("from") <= seen.offset < read.get("next") and seen.offset not in got:
                yield f"a reader from {read.get('from')} to {read.get('next')} did not get {_place(seen)}", read.events
                break


@rule
def log_changed_later(history: History) -> Found:
    """The log of a chapter is at the end of a long run what it was at the end of the chapter."""
    for note in history.notes("survey"):
        if note["before"] != note["after"]:
            yield f"the records of {note['topic']}-{note['partition']} changed after its clients had stopped", [note]


def is_before(first: Operation, second: Operation) -> bool:
    return first.ended_at < NEVER and first.ended_at < second.invoked_at


def _place(seen: Sighting) -> str:
    return f"{seen.topic}-{seen.partition}:{seen.offset} ({seen.value})"


RULES = (
    acknowledged_record_lost,
    record_doubled,
    record_from_nowhere,
    out_of_order,
    read_changed,
    offset_went_back,
    reader_passed_over,
    log_changed_later,
)
