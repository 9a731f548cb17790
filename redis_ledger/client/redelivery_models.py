"""How messages of a subscription come again, and where they go if they do not."""

from __future__ import annotations

import msgspec


class DeadLetters(msgspec.Struct, frozen=True):
    max_deliveries: int
    topic: str
    retry_topic: str = ""
    max_attempts: int = 0
    expire_ms: int = 0


class Backoff(msgspec.Struct, frozen=True):
    """The wait before delivery n + 1 is min_ms * factor ** (n - 1), at most max_ms."""

    min_ms: int
    factor: float
    max_ms: int


class Reconsumed(msgspec.Struct, frozen=True):
    """retried: messages that were moved to the retry topic.  dead: to the dead-letter topic."""

    retried: int
    dead: int
