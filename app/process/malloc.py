"""Settings of glibc's malloc that return freed memory to the system.

After the first large block is freed, glibc raises the size from which blocks are mapped separately, up to 32 MiB.
Later large blocks come from the heap, where a small block behind them keeps their pages resident after they are freed:
a broker that decompressed large batches kept 150 MB.  With fixed thresholds such blocks are returned at once.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
TRIM_BYTES, MMAP_BYTES = 8 << 20, 1 << 20


def return_large_blocks() -> None:
    """Has no effect without glibc."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, MMAP_BYTES)
        mallopt(M_TRIM_THRESHOLD, TRIM_BYTES)
