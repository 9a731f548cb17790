"""The data and the writes of a primary, as its replicas receive them; the connection of a backup.

    PSYNC ? -1 ─▶ FULLRESYNC <replication id> <offset> ─▶ RDB of that moment ─▶ every write after it, in order

The connection never acknowledges an offset, so WAIT does not count it as a copy.
Source: Redis replication (PSYNC, REPLCONF), `redis-cli --rdb`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from redis_ledger.store.address import Address
from redis_ledger.store.connection import Arg, pack_small

CHUNK_BYTES = 1 << 18
MARK_BYTES = 40  # after a snapshot whose length the primary does not know when it begins
SIGN_OF_LIFE_S = 5.0  # a primary closes a connection that is silent for `repl-timeout`
SILENCE_S_MAX = 60.0  # a primary sends an empty line or PING at least every ten seconds, also while it waits for a fork
Write = Callable[[bytes], object]


class Position(NamedTuple):
    """A place in the writes of a primary."""

    replication_id: str
    offset: int


class ReplicaStream:
    """The methods are called in this order: open, start, snapshot, follow. All raise OSError if the primary refuses or
    the connection breaks."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Use ReplicaStream.open."""
        self._reader, self._writer = reader, writer
        self._progress = asyncio.Condition()
        self.begin = Position("", 0)  # of the snapshot
        self.offset = 0  # of the last write that was received

    @classmethod
    async def open(cls, address: Address) -> ReplicaStream:
        if address.path is not None:
            reader, writer = await asyncio.open_unix_connection(address.path)
        else:
            tls = address.tls.context() if address.tls else None
            reader, writer = await asyncio.open_connection(address.host, address.port, ssl=tls)
        stream = cls(reader, writer)
        try:
            if address.password is not None:
                user = (address.username,) if address.username else ()
                await stream._ask(b"AUTH", *user, address.password)
            await stream._ask(b"REPLCONF", b"capa", b"eof", b"capa", b"psync2")
        except BaseException:
            stream.close()
            raise
        return stream

    def close(self) -> None:
        self._writer.close()

    async def start(self) -> None:
        """Requests the data. With `repl-diskless-sync` the primary begins after `repl-diskless-sync-delay`."""
        words = (await self._ask(b"PSYNC", b"?", b"-1")).split()
        if words[0] != b"+FULLRESYNC":
            raise ConnectionRefusedError(f"it replied {words[0].decode(errors='replace')!r} to PSYNC")
        self.begin = Position(words[1].decode(), int(words[2]))
        self.offset = self.begin.offset

    async def snapshot(self, write: Write) -> None:
        """Passes the RDB on."""
        head = await self._line()
        if not head.startswith(b"$"):
            raise ConnectionRefusedError(head.decode(errors="replace"))
        if head.startswith(b"$EOF:"):
            await self._until_mark(head[5:], write)
        else:
            left = int(head[1:])
            while left:
                chunk = await self._read(min(left, CHUNK_BYTES))
                write(chunk)
                left -= len(chunk)

    async def follow(self, write: Write) -> None:
        """Passes all writes on, until it is cancelled."""
        signs = asyncio.ensure_future(self._give_signs_of_life())
        try:
            while True:
                chunk = await self._read(CHUNK_BYTES)
                write(chunk)
                async with self._progress:
                    self.offset += len(chunk)
                    self._progress.notify_all()
        finally:
            signs.cancel()

    async def reach(self, offset: int) -> None:
        """Waits until `follow` has passed on everything up to this offset."""
        async with self._progress:
            await self._progress.wait_for(lambda: self.offset >= offset)

    async def _until_mark(self, mark: bytes, write: Write) -> None:
        if len(mark) != MARK_BYTES:
            raise ConnectionRefusedError("the snapshot has no mark at its end")
        tail = b""
        while not tail.endswith(mark):
            if len(tail) > MARK_BYTES:
                write(tail[:-MARK_BYTES])
                tail = tail[-MARK_BYTES:]
            tail += await self._read(CHUNK_BYTES)
        write(tail[:-MARK_BYTES])

    async def _give_signs_of_life(self) -> None:
        """Offset 0 acknowledges nothing. After a snapshot with a mark, the primary sends no write before the first."""
        while True:
            self._send(b"REPLCONF", b"ACK", b"0")
            await asyncio.sleep(SIGN_OF_LIFE_S)

    async def _ask(self, *words: Arg) -> bytes:
        self._send(*words)
        reply = await self._line()
        if reply.startswith(b"-"):
            raise ConnectionRefusedError(reply[1:].decode(errors="replace"))
        return reply

    async def _line(self) -> bytes:
        """The next line; empty ones keep the connection open while the primary prepares the snapshot."""
        while not (line := (await _before_silence(self._reader.readline())).strip()):
            if self._reader.at_eof():
                raise ConnectionResetError("the primary closed the connection")
        return line

    async def _read(self, most: int) -> bytes:
        chunk = await _before_silence(self._reader.read(most))
        if not chunk:
            raise ConnectionResetError("the primary closed the connection")
        return chunk

    def _send(self, *words: Arg) -> None:
        self._writer.write(pack_small(words))


async def _before_silence(read: Coroutine[Any, Any, bytes]) -> bytes:
    try:
        async with asyncio.timeout(SILENCE_S_MAX):
            return await read
    except TimeoutError:
        raise TimeoutError(f"it sent nothing for {SILENCE_S_MAX:.0f} s") from None
