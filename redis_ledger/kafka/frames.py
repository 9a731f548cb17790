"""Frames out of a connection's bytes.

    bytes ─▶ head: 16 KiB ─▶ whole frames ─▶ push
                  └ the beginning of a larger one ─▶ memory of its own, which doubles with what arrives

A frame's memory grows with what has arrived, never with what its length claims, and is counted from the first byte.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from redis_ledger.kafka.wire.frame import LENGTH_BYTES, frame_bytes
from redis_ledger.kafka.wire.primitives import BadFrame

HEAD_BYTES = 16 * 1024  # frames up to this are cut out of the read buffer, larger ones get memory of their own
GROWN_BYTES = 32 * 1024  # the first piece of it


class Frames:
    """push: is given each whole frame.  take, give: bytes of one that is not whole yet.  sizes: least and most bytes of
    the next one."""

    def __init__(
        self,
        push: Callable[[memoryview], None],
        take: Callable[[int], bool],
        give: Callable[[int], None],
        sizes: Callable[[], tuple[int, int]],
    ) -> None:
        self._push, self._take, self._give, self._sizes = push, take, give, sizes
        self.head = bytearray(HEAD_BYTES)
        self._have = 0
        self._large: bytearray | None = None  # the frame under way, when it does not fit into the head
        self._large_at, self._large_size = 0, 0
        self.since = 0.0  # when the frame that is not whole yet began; 0: there is none

    def buffer(self) -> memoryview:
        """Where the next bytes go."""
        if self._large is not None:
            return memoryview(self._large)[self._large_at :]
        return memoryview(self.head)[self._have :]

    def received(self, count: int) -> None:
        """So many bytes are in the buffer.  Raises BadFrame."""
        if not self.since:
            self.since = time.monotonic()
        if self._large is not None:
            self._large_at += count
            self._grow(self._large)
        else:
            self._have += count
            self._cut()

    def drop(self) -> None:
        """Gives the memory of a large frame back."""
        if self._large is not None:
            self._give(len(self._large))
            self._large = None

    def _cut(self) -> None:
        """Takes whole frames out of the head; the beginning of one that does not fit goes into memory of its own."""
        pos, head = 0, self.head
        while self._have - pos >= LENGTH_BYTES:
            least, most = self._sizes()
            size = frame_bytes(head, most, pos, bytes_min=least)
            begin = pos + LENGTH_BYTES
            if self._have - begin >= size:
                pos = begin + size
                self._push(memoryview(bytes(memoryview(head)[begin:pos])))
                continue
            if size > HEAD_BYTES - LENGTH_BYTES:
                had = self._have - begin
                large = self._memory(min(size, max(GROWN_BYTES, 2 * had)))
                large[:had] = memoryview(head)[begin : self._have]
                self._large, self._large_at, self._large_size = large, had, size
                self._have = 0
                return
            break
        left = self._have - pos
        if pos:
            head[:left] = head[pos : self._have]
            self._have = left
        if not left:
            self.since = 0.0

    def _grow(self, large: bytearray) -> None:
        if self._large_at == self._large_size:
            self.drop()
            self.since = 0.0
            self._push(memoryview(large))
        elif self._large_at == len(large):
            grown = self._memory(min(self._large_size, 2 * len(large)))
            grown[: len(large)] = large
            self._give(len(large))
            self._large = grown

    def _memory(self, size: int) -> bytearray:
        if not self._take(size):
            raise BadFrame("half requests of all clients together take too much memory; send smaller ones")
        return bytearray(size)
