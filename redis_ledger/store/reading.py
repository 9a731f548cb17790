"""Bounded reads for inspection and checks: pages, and several reads of one moment.

No command reads more than a few hundred members, or a megabyte of payload, so none blocks Redis for more than 10 ms.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from redis_ledger.store.scripts import Script
from redis_ledger.store.store import ReplyError, Store

READ = Script.load("fsck/read")
PAGE = 200  # members of one page
SMALL = 500  # a hash or sorted set up to this size is read at once
Read = tuple[Any, ...]  # command, key, arguments
Arg = bytes | str | int


class Reading:
    """Reads from Redis.  bytes: payload and log that was read so far."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.bytes = 0

    async def command(self, slot: bytes, *args: Arg) -> Any:
        """One command at the node of `slot`; None if the key has another type."""
        try:
            return await self.store.command(*args, key=slot)
        except ReplyError:
            return None

    async def atomic(self, reads: Sequence[Read]) -> list[Any]:
        """The replies of one moment, for keys of one slot; None for a read that failed."""
        keys = list(dict.fromkeys(read[1] for read in reads))
        at = {key: number for number, key in enumerate(keys, 1)}
        args: list[Arg] = []
        for command, key, *rest in reads:
            args += (command, at[key], len(rest), *rest)
        replies = await self.store.call(READ, keys, args)
        return [None if isinstance(reply, ReplyError) else reply for reply in replies]

    async def fields(self, slot: bytes, key: bytes) -> AsyncIterator[list[bytes]]:
        """Fields of a hash in pages, without the sentinel."""
        async for rows in self._scan(slot, "HSCAN", key):
            yield [name for name in rows[::2] if name]

    async def rows(self, slot: bytes, key: bytes) -> AsyncIterator[list[tuple[bytes, bytes]]]:
        """Fields and values of a hash in pages, without the sentinel."""
        async for rows in self._scan(slot, "HSCAN", key):
            yield [(name, value) for name, value in zip(rows[::2], rows[1::2], strict=True) if name]

    async def members(self, slot: bytes, key: bytes) -> AsyncIterator[list[tuple[bytes, int]]]:
        """Members and scores of a sorted set in pages, without the sentinel."""
        async for rows in self._scan(slot, "ZSCAN", key):
            yield [(name, int(float(score))) for name, score in zip(rows[::2], rows[1::2], strict=True) if name]

    async def _scan(self, slot: bytes, command: str, key: bytes) -> AsyncIterator[list[bytes]]:
        cursor = b"0"
        while True:
            reply = await self.command(slot, command, key, cursor, "COUNT", PAGE)
            if reply is None:
                return
            cursor, rows = reply
            if rows:
                yield rows
            if cursor == b"0":
                return


def pairs(flat: Sequence[bytes] | None) -> dict[bytes, bytes]:
    """HGETALL's reply as a dict, without the sentinel."""
    return {name: value for name, value in _pairs(flat) if name}


def scores(flat: Sequence[bytes] | None) -> dict[bytes, int]:
    """ZRANGE WITHSCORES' reply as a dict, without the sentinel."""
    return {name: int(float(score)) for name, score in _pairs(flat) if name}


def _pairs(flat: Sequence[bytes] | None) -> Iterable[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True) if flat else ()
