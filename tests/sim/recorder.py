"""Records what a client does, as events: invoke, and then ok, fail or info.

    invoke   the operation begins
    ok       it took effect; the event has the answer
    fail     it did not take effect, and never will
    info     its effect is unknown: the answer was lost, or an error does not say

An event is a dictionary: at (seconds of the monotonic clock, which all processes of the machine share), actor, kind,
op, id (of the operation within its actor), and the facts of the operation.  This module imports only the standard
library: some workers run in other environments.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

Event = dict[str, Any]


class Recorder:
    """last: operations count from the number after it."""

    def __init__(self, actor: str, write: Callable[[Event], None], last: int = 0) -> None:
        self.actor, self._write, self._last = actor, write, last

    def invoke(self, op: str, **facts: Any) -> int:
        """Returns the id that the end of the operation is recorded with."""
        self._last += 1
        self._record("invoke", op, self._last, facts)
        return self._last

    def ok(self, op: str, id: int, **facts: Any) -> None:
        self._record("ok", op, id, facts)

    def fail(self, op: str, id: int, error: object, **facts: Any) -> None:
        self._record("fail", op, id, {"error": describe(error), **facts})

    def info(self, op: str, id: int, error: object, **facts: Any) -> None:
        self._record("info", op, id, {"error": describe(error), **facts})

    def note(self, op: str, **facts: Any) -> None:
        """An event by itself, such as a fault."""
        self._record("info", op, 0, facts)

    def _record(self, kind: str, op: str, id: int, facts: Event) -> None:
        self._write({"at": round(time.monotonic(), 4), "actor": self.actor, "kind": kind, "op": op, "id": id, **facts})


def describe(error: object) -> str:
    text = str(error) or repr(error)
    return (f"{type(error).__name__}: {text}" if isinstance(error, BaseException) else text)[:200]
