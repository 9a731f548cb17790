"""Histories written by hand, for the tests of the rules.

story = Story()
story.sent("a-1", "a-2")                  an idempotent producer, topic t, partition 0
story.logged("a-1", "a-2")                what the final reader of committed records gets
history = story.history()
"""

from __future__ import annotations

from typing import Any

from tests.sim.history import FINAL, History
from tests.sim.recorder import Event


class Story:
    """Each operation begins after the one before it has ended, unless `start` and `end` say otherwise."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.now, self._id = 0.0, 0
        self.note("begin", wall_ms=1_000_000, sidecar=["aside"])

    def history(self) -> History:
        return History(self.events)

    def note(self, op: str, **facts: Any) -> None:
        self.now += 1
        self.events.append({"at": self.now, "actor": "run", "kind": "info", "op": op, "id": 0, **facts})

    def did(
        self, op: str, kind: str = "ok", *, answer: Event | None = None, start: float = 0, end: float = 0, **call: Any
    ) -> None:
        """answer: the facts of the end.  call: those of the invoke event."""
        self.now, self._id = max(self.now + 1, end), self._id + 1
        who = {"actor": call.pop("actor", "w"), "op": op, "id": self._id}
        self.events.append({"at": start or self.now, "kind": "invoke", **who, **call})
        if kind:
            self.events.append({"at": end or (start or self.now) + 0.5, "kind": kind, **who, **(answer or {})})

    def sent(self, *values: str, kind: str = "ok", partition: int = 0, at: int | None = None, **call: Any) -> None:
        """at: the offset of the first, if the answer has it."""
        given: dict[str, Any] = {"topic": "t", "writer": "w", "mode": "idempotent", **call}
        answer = {} if at is None else {"positions": [[partition, at + n, value] for n, value in enumerate(values)]}
        self.did("send", kind, records=[[partition, value] for value in values], answer=answer, **given)

    def ended(self, txn: str, outcome: str = "committed", kind: str = "ok", **times: float) -> None:
        verdict = {"committed": "commit", "aborted": "abort", "refused": "commit"}[outcome]
        answer = {"outcome": "aborted" if outcome == "refused" else outcome} if kind != "info" else {}
        self.did("end", kind, txn=txn, verdict=verdict, answer=answer, **times)

    def read(self, *values: str, first: int = 0, **more: Any) -> None:
        """One answer: the values at the offsets from `first` on."""
        call: dict[str, Any] = {
            "topic": "t",
            "partition": 0,
            "isolation": "read_committed",
            "reader": "r",
            "broker": "b0",
        }
        offsets = {name: more.pop(name) for name in ("start_offset", "stable", "end_offset") if name in more}
        call |= more
        records = [[call["partition"], first + n, value] for n, value in enumerate(values)]
        answer = {"records": records, "from": first, "next": first + len(values)}
        if offsets:
            stable, end = offsets.get("stable", 0), offsets.get("end_offset", 0)
            answer |= {"start": offsets.get("start_offset", 0), "stable": stable, "end": max(end, stable)}
        self.did("read", answer=answer, **call)

    def logged(self, *values: str, **more: Any) -> None:
        self.read(*values, reader=FINAL, **more)

    def received(self, *records: tuple[int, str], sharing: str = "shared", **call: Any) -> None:
        """records: offset and value, on partition 0."""
        given: dict[str, Any] = {"topic": "t", "subscription": "s", "consumer": "c", "sharing": sharing, **call}
        self.did("receive", answer={"records": [[0, offset, value] for offset, value in records]}, **given)

    def acked(self, *offsets: int, kind: str = "ok", **call: Any) -> None:
        given = {"topic": "t", "subscription": "s", "consumer": "c", **call}
        self.did("ack", kind, ids=[[0, offset] for offset in offsets], **given)
