"""Due times of a bench, and its records.

far         in one to two hours, at random: no record is due during the measurement
evenly      so many in every second from a given time on, never earlier than the one before
scattered   over so many seconds from a given time on, at random, in no order
at_once     all in the same ms
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import repeat

HOUR_MS = 3_600_000
SEED = 8


def now_ms() -> int:
    """This machine's clock, which Redis uses as well."""
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
