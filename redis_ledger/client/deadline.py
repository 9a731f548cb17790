"""The deadline of a transaction by its client's clock.  It starts once, with the first operation or `async with`."""

from __future__ import annotations

from math import ceil

TIMEOUT_MS = 60_000


class Deadline:
    """at_s: monotonic; infinite until it starts.  timeout_ms: 0 selects the broker's default, which is `TIMEOUT_MS`."""

    __slots__ = ("at_s", "timeout_ms")

    def __init__(self, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self.at_s = float("inf")

    def start(self, now_s: float) -> None:
        """Sets the deadline, if it is not set."""
        self.at_s = min(self.at_s, now_s + (self.timeout_ms or TIMEOUT_MS) / 1000)

    def left_ms(self, now_s: float) -> int:
        """The timeout for the broker: what is left of it."""
        if self.at_s == float("inf"):
            return self.timeout_ms
        return max(1, ceil((self.at_s - now_s) * 1000))
