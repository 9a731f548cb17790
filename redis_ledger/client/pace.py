"""How many messages a consumer fetches ahead: what it handles in about a second.

    handler    fetched ahead     counted as delivered with the next one
    10 s       0                 0
    100 ms     10                1
    1 ms       500 (prefetch)    100

So several slow consumers share a backlog, and a fast one waits for few requests.  The rate is a moving average over
AVERAGED_S, so it grows from 0 as fast as messages are handled.  Source: docs/decisions/0054.
"""

from __future__ import annotations

from math import exp, expm1
from typing import NamedTuple

AVERAGED_S = 1.0
AHEAD_S = 1.0  # the work that is fetched ahead
SOON_S = 0.1  # the work that may count as delivered before it is handed out


class Pace(NamedTuple):
    """per_s: the rate until at_s, when `taken` messages were handed out."""

    per_s: float = 0.0
    at_s: float = 0.0
    taken: int = 0

    def take(self, now_s: float, messages: int) -> Pace:
        """The application has come back for messages, so it has handled what it took before."""
        passed = max(now_s - self.at_s, 1e-6) / AVERAGED_S
        handled = self.taken / AVERAGED_S * -expm1(-passed) / passed
        return Pace(self.rate(now_s) + handled, now_s, messages)

    def rate(self, now_s: float) -> float:
        """Messages that it handles in a second; less if it has not come back for long."""
        return self.per_s * exp(-max(now_s - self.at_s, 0.0) / AVERAGED_S)

    def ahead(self, now_s: float, most: int, ack_timeout_ms: int) -> int:
        """How many to have ready.  They must be handed out long before their leases end."""
        return min(int(self.rate(now_s) * min(AHEAD_S, ack_timeout_ms / 3000)), most)

    def soon(self, now_s: float) -> int:
        return int(self.rate(now_s) * SOON_S)
