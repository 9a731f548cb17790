"""Copies the keys of a server that was started on a backup into a Redis, of any number of nodes.

    node-0 ──SCAN──▶ keys ──DUMP, PEXPIRETIME──▶ RESTORE at the node of each key ──▶ Redis
    node-1 ──▶ ...

The catalog comes last: without it a broker finds no topics.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from redis_ledger.backup.layout import BackupError
from redis_ledger.store.address import Address
from redis_ledger.store.connection import Connection, ask, dial, fail_all, handshake, settle
from redis_ledger.store.keys import key_pattern
from redis_ledger.store.store import ReplyError, Store

PAGE = 500  # keys
AT_ONCE = 16  # keys of one round trip: payload of one key is at most some ten MB
CATALOG = b":{catalog}:"


async def check_empty(target: Store) -> None:
    """Raises BackupError if the target has keys of this prefix."""
    async for keys in target.scan(key_pattern(target.prefix)):
        raise BackupError(
            f"The target Redis has keys under {target.prefix!r} already, such as {keys[0].decode(errors='replace')}: "
            "restore into an empty one."
        )


class Restoring:
    """Copies the keys of one backup. keys, bytes: copied so far."""

    def __init__(self, target: Store, prefix: str) -> None:
        self.keys, self.bytes = 0, 0
        self._target, self._prefix = target, prefix
        self._catalog: list[tuple[bytes, int, bytes]] = []  # key, time of expiry, content

    async def copy(self, source: Address) -> None:
        """Raises BackupError, OSError, LedgerError."""
        connection = await dial(source, lambda: Connection(settle, fail_all))
        try:
            await handshake(connection, source)
            async for page in self._pages(connection):
                for first in range(0, len(page), AT_ONCE):
                    await self._copy(connection, page[first : first + AT_ONCE])
        finally:
            connection.close()

    async def finish(self) -> None:
        await self._write(self._catalog)
        self._catalog = []

    async def _pages(self, connection: Connection) -> AsyncIterator[Sequence[bytes]]:
        cursor: Any = b"0"
        while True:
            (reply,) = await ask(connection, [(b"SCAN", cursor, b"MATCH", key_pattern(self._prefix), b"COUNT", PAGE)])
            cursor, page = _checked(reply)
            yield page
            if cursor == b"0":
                return

    async def _copy(self, connection: Connection, keys: Sequence[bytes]) -> None:
        commands: list[tuple[bytes, bytes]] = []
        for key in keys:
            commands += ((b"PEXPIRETIME", key), (b"DUMP", key))
        replies = [_checked(each) for each in await ask(connection, commands)]
        rows = [
            (key, max(expires_ms, 0), content)
            for key, expires_ms, content in zip(keys, replies[::2], replies[1::2], strict=True)
            if content is not None  # it has expired
        ]
        self._catalog += [row for row in rows if CATALOG in row[0]]
        await self._write([row for row in rows if CATALOG not in row[0]])

    async def _write(self, rows: Sequence[tuple[bytes, int, bytes]]) -> None:
        replies = await asyncio.gather(
            *(
                self._target.command("RESTORE", key, expires_ms, content, "REPLACE", "ABSTTL", key=key)
                for key, expires_ms, content in rows
            ),
            return_exceptions=True,
        )
        for reply in replies:
            _checked(reply)
        self.keys += len(rows)
        self.bytes += sum(len(content) for _, _, content in rows)


def _checked(reply: Any) -> Any:
    if isinstance(reply, ReplyError):
        raise BackupError(f"Redis refused a command that a restore needs: {reply}.")
    if isinstance(reply, BaseException):
        raise reply
    return reply
