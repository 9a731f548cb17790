"""The delay of the first rebalance: an empty group waits for more members before its first generation.

    join ──delay_ms──▶ another one joined? ──yes──▶ wait again, up to the rebalance timeout in total
                                           ──no───▶ begin the generation
Source: KIP-134; Kafka's group.initial.rebalance.delay.ms.
"""

from __future__ import annotations


class InitialDelay:
    """has_grown: a member joined since the last extension.  The caller sets it."""

    def __init__(self, delay_ms: float, total_ms: float) -> None:
        """total_ms: the sum of all extensions, at most."""
        self._delay_ms, self._left_ms = delay_ms, total_ms
        self.has_grown = True

    @property
    def can_extend(self) -> bool:
        return self.has_grown and self._left_ms > 0

    def extend(self) -> float:
        """Returns how long to wait from now on, in ms."""
        delay = min(self._delay_ms, self._left_ms)
        self._left_ms -= delay
        self.has_grown = False
        return delay
