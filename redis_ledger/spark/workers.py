"""Python workers of Spark, which outlive a task.

After each call a worker collects garbage over all loaded objects: Spark's Python side, Arrow, NumPy, this library.
That takes 50 ms of CPU or more, as much as reading 20 MB, and three workers do it for a small micro-batch: the one that
plans the write, the one of the task, and the one that commits.  Loaded modules stay until the worker ends, so they are
excluded from collection.
"""

from __future__ import annotations

import gc
import os

LOOKED_AT_MAX = 4_000  # objects; collecting among so many takes a millisecond


def freeze_loaded_objects() -> None:
    """Call it wherever Spark calls us; objects that the first call loads are frozen by the second.  Does nothing in a
    process that is not a worker, or ends after this."""
    if "SPARK_REUSE_WORKER" in os.environ and len(gc.get_objects()) > LOOKED_AT_MAX:
        gc.collect()
        gc.freeze()
