"""The memory that a call allocates, without what else the process does meanwhile."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

TRIES = 3


def peak_bytes(act: Callable[[], object], enough: int) -> int:
    """The most that `act` holds at once.  Threads of other tests allocate as well, so a call that takes `enough` or
    more is repeated, and the least counts.  Garbage of earlier tests stays: its finalisers would allocate, too."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        peak = _traced(act)
        for _ in range(TRIES - 1):
            if peak < enough:
                break
            peak = min(peak, _traced(act))
        return peak
    finally:
        if was_enabled:
            gc.enable()


def _traced(act: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
