"""The memory limit of a read: reserved before payload is read, and for payload that is in memory already.

Implemented by `broker/client_memory.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redis_ledger.ledger.reader import Read


class ReadMemory(Protocol):
    async def fit(self, sizes: Sequence[int]) -> int:
        """The number of payloads, from the first on, that may be read."""
        ...


async def fitted(read: Read, room: ReadMemory | None) -> Read:
    """The read, shortened to the memory there is."""
    if room is None or not read.entries:
        return read
    count = await room.fit([entry.size for entry in read.entries])
    if count == len(read.entries):
        return read
    return read._replace(entries=read.entries[:count], payloads=read.payloads[:count], leads_to_batch=False)
