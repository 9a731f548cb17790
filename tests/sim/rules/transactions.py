"""Rules about transactions: all or nothing, visible only after the commit, and never by a fenced producer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.sim.history import NEVER, History, Sighting, Write
from tests.sim.recorder import Event
from tests.sim.rules.finding import rule

Found = Iterator[tuple[str, Sequence[Event]]]


@rule
def transaction_torn(history: History) -> Found:
    """The records of a transaction are all in the log, or none of them.  Scheduled ones may have been cancelled, and
    of several servers one may have lost its part."""
    for txn in history.txns.values():
        if not history.is_one_cut and any(history.may_be_lost(end.ended_at) for end in txn.ends):
            continue
        values = [v for send in txn.sends if send.get("due_ms") is None for _, v in send.get("records")]
        there = [value for value in values if value in history.visible]
        if there and len(there) < len(values):
            missing = [value for value in values if value not in history.visible]
            yield f"of {txn.name}, {there[:3]} are visible and {missing[:3]} are not", txn.events


@rule
def aborted_record_visible(history: History) -> Found:
    """A read_committed reader never gets a record whose transaction was aborted, or that no client committed."""
    for seen in history.sightings:
        write = history.writes.get(seen.value)
        if write is None or write.txn is None or not seen.is_committed:
            continue
        txn = history.txns[write.txn]
        if txn.outcome in ("aborted", "open"):
            state = "aborted" if txn.outcome == "aborted" else "never committed"
            yield f"{seen.value} of {txn.name}, which was {state}, was read", txn.events + seen.operation.events


@rule
def open_record_visible(history: History) -> Found:
    """A read_committed reader gets a record only after its commit was sent."""
    for seen in history.sightings:
        write = history.writes.get(seen.value)
        if write is None or write.txn is None or not seen.is_committed:
            continue
        txn = history.txns[write.txn]
        if seen.operation.ended_at < txn.commit_invoked_at < NEVER:
            yield f"{seen.value} was read before the commit of {txn.name}", txn.events + seen.operation.events


@rule
def sidecar_held_up_a_reader(history: History) -> Found:
    """In a topic with the sidecar buffer an open transaction holds up no reader: the log is stable up to its end."""
    for read in history.of("read"):
        is_aside = read.is_ok and read.get("topic") in history.sidecar
        if is_aside and read.get("stable") != read.get("end"):
            where = f"{read.get('topic')}-{read.get('partition')}"
            yield f"{where} was stable up to {read.get('stable')} of {read.get('end')}", read.events


@rule
def sidecar_transaction_in_pieces(history: History) -> Found:
    """In a topic with the sidecar buffer the records of a transaction are in one piece: they got their offsets
    together.  Scheduled ones come when they are due."""
    for (topic, _), log in history.final.items():
        if topic not in history.sidecar:
            continue
        last: dict[str, Sighting] = {}
        for seen in log:
            write = history.writes.get(seen.value)
            if write is None or write.txn is None or write.due_ms is not None:
                continue
            before = last.get(write.txn)
            if before is not None and seen.offset != before.offset + 1:
                yield (
                    f"{write.txn} has {before.value} at {before.offset} and then {seen.value} at {seen.offset}",
                    history.txns[write.txn].events,
                )
                break
            last[write.txn] = seen


@rule
def commit_contradicted(history: History) -> Found:
    """Clients that end one transaction never get different answers."""
    for txn in history.txns.values():
        outcomes = {end.get("outcome") for end in txn.ends if end.finish and end.finish["kind"] in ("ok", "fail")}
        if {"committed", "aborted"} <= outcomes and not history.may_be_lost(txn.committed_at):
            yield f"{txn.name} was answered committed and aborted", txn.events


@rule
def fenced_producer_wrote(history: History) -> Found:
    """What a producer sends after a newer one of its transactional id began is never visible."""
    began: dict[str, list[tuple[float, str, Sequence[Event]]]] = defaultdict(list)
    ids: dict[str, str] = {}
    for init in history.of("init"):
        ids[init.get("writer")] = init.get("transactional_id")
        if init.is_ok:
            began[init.get("transactional_id")].append((init.ended_at, init.get("writer"), init.events))
    older = {
        writer: [entry for entry in began[transactional_id] if entry[1] != writer]
        for writer, transactional_id in ids.items()
    }
    starts = {init.get("writer"): init.invoked_at for init in history.of("init")}
    for value, seen in history.visible.items():
        write = history.writes.get(value)
        if write is None or write.txn is None:
            continue
        writer = write.operation.get("writer")
        for ended_at, newer, events in older.get(writer, ()):
            if ended_at < write.operation.invoked_at and starts[newer] > starts[writer]:
                yield (
                    f"{value} was sent by {writer} after {newer} had fenced it, and is visible at {seen[0].offset}",
                    [*events, *history.txns[write.txn].events],
                )
                break


@rule
def processed_not_once(history: History) -> Found:
    """A pipeline that consumes, transforms and produces in transactions makes one output of every input, unless a
    promotion took back the input, or on one of several servers the output or its acknowledgement."""
    inputs: dict[str, str] = {}  # pipeline → topic of its inputs
    for note in history.notes("pipeline"):
        inputs[note["pipeline"]] = note["input"]
    made: dict[tuple[str, str], list[Write]] = defaultdict(list)  # by pipeline and source; also what is not visible
    for write in history.writes.values():
        if write.source is not None:
            made[write.operation.get("pipeline"), write.source].append(write)
    for pipeline, topic in inputs.items():
        there = {seen.value for (name, _), log in history.final.items() if name == topic for seen in log}
        for source in sorted(there | {source for name, source in made if name == pipeline}):
            yield from _processed(history, pipeline, topic, source, made[pipeline, source], is_there=source in there)


def _processed(
    history: History, pipeline: str, topic: str, source: str, outputs: list[Write], *, is_there: bool
) -> Found:
    """outputs: all that were sent for the source."""
    visible = [write for write in outputs if write.value in history.visible]
    count = sum(len(history.visible[write.value]) for write in visible)
    ends = [end for write in outputs for end in history.txns[write.txn or ""].ends]
    is_split = not history.is_one_cut and any(history.may_be_lost(end.ended_at) for end in ends)
    if count > 1 and not is_split:
        events = [event for write in visible for event in history.txns[write.txn or ""].events]
        yield f"{pipeline} made {count} outputs of {source}: {[write.value for write in visible]}", events
    if count and not is_there:
        write = history.writes.get(source)
        if write is None or not history.may_be_lost(write.operation.ended_at):
            yield f"{pipeline} made an output of {source}, which is not in {topic}", []
    if is_there and not count and not is_split:
        place = history.visible[source][0]
        yield f"{pipeline} made no output of {source} at {place.partition}:{place.offset}", []


RULES = (
    transaction_torn,
    aborted_record_visible,
    open_record_visible,
    sidecar_held_up_a_reader,
    sidecar_transaction_in_pieces,
    commit_contradicted,
    fenced_producer_wrote,
    processed_not_once,
)
