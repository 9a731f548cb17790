"""What is said of messages that are passed over because their batch cannot be decoded."""

from __future__ import annotations

import warnings


def warn(topic: str, partition: int, first_offset: int, last_offset: int, why: str) -> None:
    """A RuntimeWarning: reading goes on behind them."""
    warnings.warn(
        f"{topic}:{partition}: messages {first_offset} to {last_offset} were skipped: {why}",
        RuntimeWarning,
        stacklevel=2,
    )
