"""When the records of a bench are due, and the records themselves.

far         an hour from now and up to one more, at random: nothing of it falls due while anything is measured
evenly      so many in every second from a moment on, the next always later than the last or in the same ms
scattered   over so many seconds from a moment on, at random: each its own, in no order
at_once     all of them in the same ms
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import repeat

HOUR_MS = 3_600_000
SEED = 8


def now_ms() -> int:
    """By the clock that Redis has too, for it is the same machine's."""
    return time.time_ns() // 1_000_000


def far(count: int, seed: int = SEED) -> Iterator[int]:
    between = random.Random(seed).randrange
    for _ in range(count):
        yield now_ms() + HOUR_MS + between(HOUR_MS)


def scattered(begin_ms: int, seconds: float, count: int, seed: int = SEED) -> Iterator[int]:
    between, span_ms = random.Random(seed).randrange, int(seconds * 1000)
    for _ in range(count):
        yield begin_ms + between(span_ms)


def at_once(begin_ms: int, count: int) -> Iterator[int]:
    yield from repeat(begin_ms, count)
