"""Memory for what is read of a partition: asked for before a payload is, and for what is in memory already.

Source: `broker/client_memory.py` gives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redis_ledger.ledger.reader import Read


class ReadMemory(Protocol):
    async def fit(self, sizes: Sequence[int]) -> int:
        """How many of these payloads may be read, from the first on."""
        ...


async def fitted(read: Read, room: ReadMemory | None) -> Read:
    """Of what has been read, what there is room for."""
    if room is None or not read.entries:
        return read
    count = await room.fit([entry.size for entry in read.entries])
    if count == len(read.entries):
        return read
    return read._replace(entries=read.entries[:count], payloads=read.payloads[:count], leads_to_batch=False)
