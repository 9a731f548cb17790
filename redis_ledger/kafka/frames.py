"""Cuts the bytes of a connection into frames.

    bytes ─▶ head: 16 KiB ─▶ whole frames ─▶ push
                  └ a larger one ─▶ its own buffer, which doubles as bytes arrive

The memory of a frame grows with the bytes received, never with its declared length, and is counted from the first byte.
The head is allocated only while bytes arrive: an idle connection has none.  An incomplete frame in a head is counted
with the size of the head.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from redis_ledger.kafka.protocol.frame import LENGTH_BYTES, frame_bytes
from redis_ledger.kafka.protocol.primitives import BadFrame

HEAD_BYTES = 16 * 1024  # frames up to this size are cut from the read buffer, larger ones get their own buffer
GROWN_BYTES = 32 * 1024  # its initial size
SPARE_MAX = 64  # heads kept for reuse by other connections
_spare: list[bytearray] = []
_NO_MEMORY = "the incomplete requests of all clients use too much memory; send smaller requests"


class Frames:
    """push: called with each complete frame.  take, give: count bytes of incomplete frames.  sizes: minimum and maximum
    size of the next frame."""

    def __init__(
        self,
        push: Callable[[memoryview], None],
        take: Callable[[int], bool],
        give: Callable[[int], None],
        sizes: Callable[[], tuple[int, int]],
    ) -> None:
        self._push, self._take, self._give, self._sizes = push, take, give, sizes
        self._head: bytearray | None = None
        self._is_counted = False  # the head, while it contains an incomplete frame
        self._have = 0
        self._large: bytearray | None = None  # the buffer of a frame that does not fit into the head
        self._large_at, self._large_size = 0, 0
        self.since = 0.0  # start of the incomplete frame; 0: none

    def buffer(self) -> memoryview:
        """The buffer for the next bytes."""
        if self._large is not None:
            return memoryview(self._large)[self._large_at :]
        if self._head is None:
            self._head = _spare.pop() if _spare else bytearray(HEAD_BYTES)
        return memoryview(self._head)[self._have :]

    @property
    def begin(self) -> bytes:
        """The first bytes that are not cut yet."""
        return b"" if self._head is None else bytes(memoryview(self._head)[: min(self._have, LENGTH_BYTES)])

    def received(self, count: int) -> None:
        """Processes `count` bytes that were written to the buffer.  Raises BadFrame."""
        if not self.since:
            self.since = time.monotonic()
        if self._large is not None:
            self._large_at += count
            self._grow(self._large)
        else:
            self._have += count
            self._cut()

    def extend(self, seconds: float) -> None:
        """Moves the start time of an incomplete frame by the time for which the connection was not read."""
        if self.since:
            self.since += seconds

    def drop(self) -> None:
        """Releases all memory at the end of the connection."""
        self._drop_large()
        self._have = 0
        self._drop_head()

    def _drop_large(self) -> None:
        if self._large is not None:
            self._give(len(self._large))
            self._large = None

    def _drop_head(self) -> None:
        head, self._head = self._head, None
        if head is not None and len(_spare) < SPARE_MAX:
            _spare.append(head)
        if self._is_counted:
            self._is_counted = False
            self._give(HEAD_BYTES)

    def _cut(self) -> None:
        """Takes complete frames out of the head; moves the start of a frame that does not fit to its own buffer."""
        pos, head = 0, self._head
        assert head is not None, "bytes arrive in the head that `buffer` returned"
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
                if pos:
                    self.since = time.monotonic()
                self._drop_head()
                return
            break
        left = self._have - pos
        if pos:
            head[:left] = head[pos : self._have]
            self._have = left
            if left:
                self.since = time.monotonic()
        if not left:
            self.since = 0.0
            self._drop_head()
        elif not self._is_counted:
            if not self._take(HEAD_BYTES):
                raise BadFrame(_NO_MEMORY)
            self._is_counted = True

    def _grow(self, large: bytearray) -> None:
        if self._large_at == self._large_size:
            self._drop_large()
            self.since = 0.0
            self._push(memoryview(large))
        elif self._large_at == len(large):
            grown = self._memory(min(self._large_size, 2 * len(large)))
            grown[: len(large)] = large
            self._give(len(large))
            self._large = grown

    def _memory(self, size: int) -> bytearray:
        if not self._take(size):
            raise BadFrame(_NO_MEMORY)
        return bytearray(size)
