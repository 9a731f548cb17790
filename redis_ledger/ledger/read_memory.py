"""The memory limit of a read: reserved before payload is read, and for payload that is in memory already.

Implemented by `broker/client_memory.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class ReadMemory(Protocol):
    async def fit(self, sizes: Sequence[int]) -> int:
        """The number of payloads, from the first on, that may be read."""
        ...
