"""A broker process of a run: `redis-ledger serve` with a clock that can be stepped, and perhaps a planted bug.

REDIS_LEDGER_SIM_CLOCK   a file of 8 bytes: by how many milliseconds the clock is ahead
REDIS_LEDGER_SIM_BUG     a bug of planted.py
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from pathlib import Path

from redis_ledger.app.entry import main
from redis_ledger.clock import SystemClock
from tests.sim import planted

CLOCK = "REDIS_LEDGER_SIM_CLOCK"
OFFSET = struct.Struct("<q")


def follow(path: Path) -> None:
    """From now on the clock of this process is ahead by what the file says."""
    with path.open("rb") as file:
        ahead = mmap.mmap(file.fileno(), OFFSET.size, access=mmap.ACCESS_READ)

    def now_ms(_: SystemClock) -> int:
        ms: int = OFFSET.unpack_from(ahead)[0]
        return time.time_ns() // 1_000_000 + ms

    SystemClock.now_ms = now_ms  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    if CLOCK in os.environ:
        follow(Path(os.environ[CLOCK]))
    planted.plant(os.environ.get(planted.VARIABLE, ""))
    main()
