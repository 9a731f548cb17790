"""The memory that a call allocates, without what else the process does meanwhile."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TRIES = 3


@contextmanager
def traced() -> Iterator[None]:
    """Traces allocations.  The garbage of earlier tests stays: its finalisers would allocate, too."""
    was_enabled = gc.isenabled()
    gc.disable()
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        if was_enabled:
            gc.enable()


def peak_bytes(act: Callable[[], object], enough: int) -> int:
    """The most that `act` holds at once, in `traced()`.  Threads of other tests allocate as well, so a call that
    takes more than `enough` is repeated, and the least counts."""
    peaks: list[int] = []
    while len(peaks) < TRIES and min(peaks, default=enough) >= enough:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        act()
        peaks.append(tracemalloc.get_traced_memory()[1] - before)
    return min(peaks)
