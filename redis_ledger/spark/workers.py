"""A Python worker of Spark, which lives longer than a task.

After all it is asked it collects garbage over everything that is loaded: Spark's Python side, Arrow, NumPy, us.  That
is a twentieth of a second of CPU or more, as much as reading 20 MB, and for a small micro-batch three workers do it:
the one that plans the writing, that of the task, and the one that commits.  What was loaded stays until the worker
ends, so the collector is told to look at the rest only.
"""

from __future__ import annotations

import gc
import os

LOOKED_AT_MAX = 4_000  # objects; to collect among so many takes a millisecond


def settle() -> None:
    """Wherever Spark calls us; what the first call loads later, the second one puts aside.  Leaves a process alone that
    is not a worker, or ends after this."""
    if "SPARK_REUSE_WORKER" in os.environ and len(gc.get_objects()) > LOOKED_AT_MAX:
        gc.collect()
        gc.freeze()
