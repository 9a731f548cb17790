"""What glibc's malloc keeps of freed memory.

After the first large block is freed, glibc raises the size from which a block gets a mapping of its own, up to 32 MiB.
Later large blocks then come from the heap, where a small one behind them keeps their pages resident after they are
freed: a broker that has unpacked large batches kept 150 MB.  Fixed thresholds return such blocks to the system at once.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
TRIM_BYTES, MMAP_BYTES = 8 << 20, 1 << 20


def return_large_blocks() -> None:
    """Has no effect where there is no glibc."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, MMAP_BYTES)
        mallopt(M_TRIM_THRESHOLD, TRIM_BYTES)
