"""A history: the events of all clients of a run, as operations, writes, transactions and what readers saw.

    {"at": 3.1, "actor": "sdk", "kind": "invoke", "op": "send", "id": 7, "topic": "plain", "records": [[0, "a-1"]], ...}
    {"at": 3.2, "actor": "sdk", "kind": "ok",     "op": "send", "id": 7, "positions": [[0, 41, "a-1"]]}

op        facts of invoke                                             facts of ok
send      topic, records [[partition, value]], writer, mode,          positions [[partition, offset, value]], if the
          txn, due_ms, pipeline, sources, keys                        client gets them
end       txn, verdict (commit, abort)                                outcome (committed, aborted)
init      transactional_id, writer                                    older writers of the id are fenced
read      topic, partition, isolation, reader, broker                 records [[partition, offset, value]], from, next,
                                                                      start, stable and end, if the client gets them
receive   topic, subscription, consumer, sharing, prefetched,         records
          ack_timeout_ms
ack       topic, subscription, consumer, ids [[p, offset]], txn,
          cumulative
nack      topic, subscription, consumer, ids, delay_ms
close     topic, subscription, consumer
poll      topic, group                                                records
offsets   topic, group, positions {partition: next}, txn
cancel    topic, value                                                outcome (cancelled, already_delivered)

Values are unique in a run.  mode: idempotent (retries write nothing twice) or plain.
"""

from __future__ import annotations

import bisect
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from tests.sim.recorder import Event

# A promoted replica may lack what was acknowledged so long before the promotion was seen, or so long after it by the
# old primary, which is still alive.
LAG_S_MAX, OVERLAP_S_MAX = 15.0, 5.0
FINAL = "final"  # the reader that reads every partition after all clients have stopped
NEVER = float("inf")


class Operation(NamedTuple):
    """start: the invoke event.  finish: the event that ended it, None if nothing did."""

    start: Event
    finish: Event | None

    @property
    def op(self) -> str:
        return str(self.start["op"])

    @property
    def is_ok(self) -> bool:
        return self.finish is not None and self.finish["kind"] == "ok"

    @property
    def invoked_at(self) -> float:
        return float(self.start["at"])

    @property
    def ended_at(self) -> float:
        return NEVER if self.finish is None else float(self.finish["at"])

    @property
    def events(self) -> list[Event]:
        return [self.start] if self.finish is None else [self.start, self.finish]

    def get(self, name: str, default: Any = None) -> Any:
        """A fact of the call, or of its end."""
        if name in self.start:
            return self.start[name]
        return default if self.finish is None else self.finish.get(name, default)


class Write(NamedTuple):
    value: str
    topic: str
    partition: int
    operation: Operation
    source: str | None
    key: str | None

    @property
    def txn(self) -> str | None:
        found: str | None = self.operation.get("txn")
        return found

    @property
    def due_ms(self) -> int | None:
        found: int | None = self.operation.get("due_ms")
        return found

    @property
    def is_idempotent(self) -> bool:
        return self.txn is not None or self.operation.get("mode") == "idempotent"


class Sighting(NamedTuple):
    """One record in one answer."""

    topic: str
    partition: int
    offset: int
    value: str
    operation: Operation

    @property
    def is_committed(self) -> bool:
        return bool(self.operation.get("isolation", "read_committed") == "read_committed")


class Txn:
    """What clients did in one transaction."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sends: list[Operation] = []
        self.acks: list[Operation] = []
        self.offsets: list[Operation] = []
        self.ends: list[Operation] = []

    @property
    def outcome(self) -> str:
        """committed or aborted, if a client got that answer; unknown if a commit may have taken effect; else open."""
        answers = {end.get("outcome") for end in self.ends if end.finish and end.finish["kind"] in ("ok", "fail")}
        for answer in ("committed", "aborted"):
            if answer in answers:
                return answer
        return "unknown" if self.commit_invoked_at < NEVER else "open"

    @property
    def commit_invoked_at(self) -> float:
        return min((end.invoked_at for end in self.ends if end.get("verdict") == "commit"), default=NEVER)

    @property
    def committed_at(self) -> float:
        """When a client got the answer."""
        return min((e.ended_at for e in self.ends if e.is_ok and e.get("outcome") == "committed"), default=NEVER)

    @property
    def events(self) -> list[Event]:
        """The ends, and the first sends."""
        return [event for each in (*self.sends[:2], *self.ends[:3]) for event in each.events]


class History:
    def __init__(self, events: Iterable[Event]) -> None:
        self.events = sorted(events, key=lambda event: event["at"])
        self.operations: list[Operation] = list(_operations(self.events))

    @classmethod
    def load(cls, path: Path) -> History:
        with path.open() as file:
            return cls(json.loads(line) for line in file)

    @cached_property
    def _by_op(self) -> dict[str, list[Operation]]:
        found: dict[str, list[Operation]] = defaultdict(list)
        for each in self.operations:
            found[each.op].append(each)
        return found

    def of(self, *ops: str) -> list[Operation]:
        """Operations in the order of their beginning; of several kinds, kind by kind."""
        return [each for op in ops for each in self._by_op.get(op, ())]

    @cached_property
    def _notes(self) -> dict[str, list[Event]]:
        found: dict[str, list[Event]] = defaultdict(list)
        for event in self.events:
            if event["id"] == 0:
                found[event["op"]].append(event)
        return found

    def notes(self, op: str) -> Sequence[Event]:
        return self._notes.get(op, ())

    @cached_property
    def faults(self) -> list[tuple[str, float, float]]:
        """Kind, begin and end; NEVER if it did not end."""
        ends: dict[tuple[str, str], list[float]] = defaultdict(list)
        for note in self.notes("fault"):
            if note["phase"] == "end":
                ends[note["fault"], note["target"]].append(note["at"])
        found = []
        for note in self.notes("fault"):
            if note["phase"] == "begin":
                over = (at for at in ends[note["fault"], note["target"]] if at >= note["at"])
                found.append((note["fault"], note["at"], min(over, default=NEVER)))
        return found

    @cached_property
    def writes(self) -> dict[str, Write]:
        """Value → write, in the order in which clients sent them."""
        found: dict[str, Write] = {}
        for send in self.of("send"):
            sources = send.get("sources") or [None] * len(send.get("records"))
            keys = send.get("keys") or [None] * len(send.get("records"))
            for (partition, value), source, key in zip(send.get("records"), sources, keys, strict=True):
                found[value] = Write(value, send.get("topic"), partition, send, source, key)
        return found

    @cached_property
    def txns(self) -> dict[str, Txn]:
        found: dict[str, Txn] = {}
        for op in ("send", "ack", "offsets", "end"):
            for each in self.of(op):
                name = each.get("txn")
                if name is not None:
                    txn = found.setdefault(name, Txn(name))
                    {"send": txn.sends, "ack": txn.acks, "offsets": txn.offsets, "end": txn.ends}[op].append(each)
        return found

    @cached_property
    def sightings(self) -> list[Sighting]:
        return [
            Sighting(each.get("topic"), partition, offset, value, each)
            for each in self.of("read", "receive", "poll")
            if each.is_ok
            for partition, offset, value in each.get("records")
        ]

    @cached_property
    def final(self) -> dict[tuple[str, int], list[Sighting]]:
        """The log at the end for read_committed: (topic, partition) → records by offset, of the first broker."""
        found: dict[tuple[str, int], dict[int, Sighting]] = defaultdict(dict)
        brokers: dict[tuple[str, int], str] = {}
        for seen in self.sightings:
            at = (seen.topic, seen.partition)
            if seen.operation.get("reader") != FINAL or not seen.is_committed:
                continue
            broker = seen.operation.get("broker")
            if brokers.setdefault(at, broker) == broker:
                found[at][seen.offset] = seen
        return {at: [by_offset[offset] for offset in sorted(by_offset)] for at, by_offset in found.items()}

    @cached_property
    def visible(self) -> dict[str, list[Sighting]]:
        """Value → where it is in the final log."""
        found: dict[str, list[Sighting]] = defaultdict(list)
        for log in self.final.values():
            for seen in log:
                found[seen.value].append(seen)
        return found

    @property
    def has_final_log(self) -> bool:
        return any(each.get("reader") == FINAL and each.is_ok for each in self.of("read"))

    def is_acknowledged(self, write: Write) -> bool:
        """A client got an acknowledgement of the record."""
        if write.txn is not None:
            return self.txns[write.txn].outcome == "committed"
        return write.operation.is_ok

    # -- losses --------------------------------------------------------------------------------------------------------

    @cached_property
    def _beginning(self) -> Event:
        return next(iter(self.notes("begin")), {})

    @property
    def is_one_cut(self) -> bool:
        """All data is on one server: a promotion keeps everything up to some moment, and nothing after it."""
        return bool(self._beginning.get("shards", 1) == 1)

    @property
    def session_s(self) -> float:
        """How long a consumer's session lasts without a call."""
        return float(self._beginning.get("session_ms", 3_000)) / 1000

    @property
    def sidecar(self) -> frozenset[str]:
        """Topics whose transactions wait beside the log."""
        return frozenset(self._beginning.get("sidecar", ()))

    @property
    def loses(self) -> bool:
        """A promoted replica may lack acknowledged writes."""
        return bool(self._beginning.get("may_lose", False))

    @cached_property
    def _promotions(self) -> list[float]:
        return [note["at"] for note in self.notes("promotion")] if self.loses else []

    def may_be_lost(self, at: float) -> bool:
        """Whether a promotion may have taken back what was acknowledged at this time."""
        return any(promoted - LAG_S_MAX <= at <= promoted + OVERLAP_S_MAX for promoted in self._promotions)

    def positions(self, send: Operation) -> Sequence[Any]:
        """Where the answer says that records are.  Those that wait in a sidecar buffer have no offset yet: the
        answer is -1, to which aiokafka adds the place in the batch."""
        is_aside = send.get("txn") is not None and send.get("topic") in self.sidecar
        return () if is_aside else send.get("positions", ())

    def acknowledged_at(self, write: Write) -> float:
        """When a client got the acknowledgement of the record; NEVER without one."""
        if write.txn is not None:
            return self.txns[write.txn].committed_at
        return write.operation.ended_at if write.operation.is_ok else NEVER

    # -- time ----------------------------------------------------------------------------------------------------------

    @cached_property
    def _ticks(self) -> tuple[Sequence[float], Sequence[float]]:
        ticks = self.notes("tick")
        return [each["at"] for each in ticks], [each["machine_s"] for each in ticks]

    def machine_s(self, at: float) -> float:
        """Seconds that the machine had for the run by then: a starved second counts as less (machine_clock.py)."""
        times, values = self._ticks
        if not times:
            return at
        i = min(bisect.bisect_left(times, at), len(times) - 1)
        return values[i]

    def wall_ms(self, at: float) -> float:
        """Milliseconds since 1970."""
        (first, *_) = self.notes("begin")
        return float((at - first["at"]) * 1000 + first["wall_ms"])

    def mark(self, name: str) -> Event | None:
        return next((event for event in self.notes("mark") if event["name"] == name), None)


def _operations(events: Iterable[Event]) -> Iterator[Operation]:
    starts: dict[tuple[str, int], Event] = {}
    ends: dict[tuple[str, int], Event] = {}
    for event in events:
        if event["id"]:
            (starts if event["kind"] == "invoke" else ends)[event["actor"], event["id"]] = event
    for key, start in starts.items():
        yield Operation(start, ends.get(key))
