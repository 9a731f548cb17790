"""What durability level `replicas` requires."""

from __future__ import annotations

from typing import NamedTuple

MIN_INSYNC_MIN = 2  # the primary and one replica


class CopiesRequired(NamedTuple):
    """min_insync: copies of what a call did, the primary's included, before it is answered.
    timeout_ms: how long a reply waits for them."""

    min_insync: int
    timeout_ms: int

    @property
    def lag_s_max(self) -> float:
        """A replica that has not acknowledged for longer cannot confirm a call in time.  Replicas acknowledge once a
        second, and lags are whole seconds."""
        return max(2.0, self.timeout_ms / 1000)
