"""A Python worker of Spark, which lives longer than a task.

After each task it collects garbage over everything that is loaded: Spark's Python side, Arrow, NumPy, us.  That is a
tenth of a second, as much as reading 20 MB.  What is there when its first task begins stays until the worker ends, so
the collector is told to look at the rest only.
"""

from __future__ import annotations

import functools
import gc


@functools.cache
def settle() -> None:
    """Once a process."""
    gc.collect()
    gc.freeze()
