"""Large messages: values that are streamed to and from a broker, which stores them in chunks.

    bytes, file or iterator ─ Upload ─→ POST …/largeMessages            one transaction: seen whole or not at all
    message ─ client.open_large ─→ LargeValue ─→ pieces, or read()

An upload outside of a transaction has an idempotency key: it is repeated after a lost answer if its value can be read
again.  In a transaction a failed upload makes the transaction abort-only.
"""

from __future__ import annotations

import json
import secrets
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
import msgspec

from redis_ledger.client import answers
from redis_ledger.client._sync.transport import KEY_SLACK_S, Transport, path
from redis_ledger.client.bodies import headers_body
from redis_ledger.client.models import Message, RecordPosition
from redis_ledger.client.values import value_bytes
from redis_ledger.errors import InvalidRequest, Unavailable
from redis_ledger.ids import TxnId
from redis_ledger.records.large_messages import copied_from

PIECE_BYTES = 256 << 10
BYTES_PER_MS = 1_000  # the time limit of an upload allows for this rate
READ_BYTES_MAX = 64 << 20


class LargeWrittenBody(msgspec.Struct):
    partition: int
    offset: int


class Upload:
    """The value of a large message.

    value  bytes, str (as UTF-8), a binary file from its position on, or an iterator of bytes
    size   its bytes; required for an iterator and for a file that cannot seek
    Raises InvalidRequest.
    """

    def __init__(self, value: Any, size: int | None) -> None:
        self._start: int | None = None
        try:
            if isinstance(value, (str, bytes, bytearray, memoryview)):
                value = value_bytes(value)
                size = len(value) if size is None else size
            elif hasattr(value, "read"):
                if value.seekable():
                    self._start = value.tell()
                    size = value.seek(0, 2) - self._start if size is None else size
            elif not hasattr(value, "__iter__") and not hasattr(value, "__iter__"):
                raise InvalidRequest(f"{value!r:.60} is neither bytes, nor a binary file, nor an iterator of bytes.")
        except (AttributeError, OSError, ValueError, TypeError) as error:
            raise InvalidRequest(f"{value!r:.60} cannot be read: {error}.") from error
        if size is None:
            raise InvalidRequest("Give the size of the value: it is sent before the first byte.")
        self.size = size
        self._value = value
        self._is_read = False

    @property
    def is_repeatable(self) -> bool:
        return isinstance(self._value, bytes) or self._start is not None

    def pieces(self) -> Iterator[bytes]:
        """The value from its beginning.  Raises Unavailable if it can be read once only and was read before,
        InvalidRequest if it has another size."""
        if self._is_read and not self.is_repeatable:
            raise Unavailable("The upload failed, and its value can be read only once; send the message again.")
        self._is_read = True
        sent = 0
        for piece in self._pieces():
            if not isinstance(piece, bytes):
                raise InvalidRequest(f"A piece of the value is {piece!r:.60}; give bytes.")
            sent += len(piece)
            if sent > self.size:
                break
            yield piece
        if sent != self.size:
            raise InvalidRequest(f"The size of the value is not the {self.size} bytes that were announced.")

    def _pieces(self) -> Iterator[bytes]:
        value = self._value
        if isinstance(value, bytes):
            for at in range(0, len(value), PIECE_BYTES):
                yield value[at : at + PIECE_BYTES]
        elif hasattr(value, "read"):
            if self._start is not None:
                value.seek(self._start)
            while piece := value.read(PIECE_BYTES):
                yield piece
        elif hasattr(value, "__iter__"):
            for piece in value:
                if piece:
                    yield piece
        else:
            for piece in value:
                if piece:
                    yield piece


class LargeValue:
    """The value of a large message, which is read once.  size: its bytes."""

    def __init__(self, response: httpx.Response, name: str) -> None:
        self._response, self._name = response, name
        length = response.headers.get("content-length", "")
        self.size = int(length) if length.isdecimal() else 0

    def __iter__(self) -> Iterator[bytes]:
        """Yields pieces of the value.  Raises Unavailable if it cannot be read to its end."""
        left = self.size
        try:
            for piece in self._response.iter_bytes(PIECE_BYTES):
                left -= len(piece)
                yield piece
        except httpx.HTTPError as error:
            raise Unavailable(
                f"The value of {self._name} ended {left} bytes before its end; open it again. "
                f"If that persists, the broker's log has the reason. ({error})"
            ) from error

    def read(self, max_bytes: int = READ_BYTES_MAX) -> bytes:
        """The whole value.  Raises InvalidRequest if it has more than max_bytes.

        data = value.read(max_bytes=200_000_000)
        """
        if self.size > max_bytes:
            raise InvalidRequest(
                f"The value of {self._name} has {self.size} bytes; read it in pieces, or raise max_bytes."
            )
        held = bytearray()
        for piece in self:
            held += piece
        return bytes(held)


class LargeMessages:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def write(
        self,
        topic: str,
        upload: Upload,
        key: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
        partition: int | None,
        timestamp_ms: int | None,
        txn: TxnId | None,
    ) -> RecordPosition:
        params: dict[str, str | int] = {}
        if key is not None:
            params["key_base64"] = b64encode(key).decode()
        if headers:
            params["headers_base64"] = json.dumps(headers_body(headers))
        if partition is not None:
            params["partition"] = partition
        if timestamp_ms is not None:
            params["timestamp_ms"] = timestamp_ms
        timeout_ms = self._transport.timeout_ms + upload.size // BYTES_PER_MS
        sent = {"content-length": str(upload.size), "content-type": "application/octet-stream"}
        if txn is not None:
            params["transaction"] = str(txn)
        else:
            sent["idempotency-key"] = secrets.token_hex(16)
            sent["idempotency-key-ttl"] = str(timeout_ms // 1000 + KEY_SLACK_S)
        where = path("topics", topic, "largeMessages")
        response = self._transport.send(
            "POST",
            where,
            upload.pieces,
            headers=sent,
            params=params,
            repeatable=txn is None and upload.is_repeatable,
            timeout_ms=timeout_ms,
        )
        written = answers.decode("POST", where, response, LargeWrittenBody)
        return RecordPosition(written.partition, written.offset)

    @contextmanager
    def open(self, message: Message) -> Iterator[LargeValue]:
        if not isinstance(message, Message):
            raise InvalidRequest(f"{message!r:.60} is not a message.")
        topic, partition, offset = copied_from(message.headers.items()) or (
            message.topic,
            message.partition,
            message.offset,
        )
        where = path("topics", topic, "partitions", partition, "largeMessages", offset)
        response = self._transport.send("GET", where, is_streamed=True)
        try:
            yield LargeValue(response, f"{topic} {partition}:{offset}")
        finally:
            response.close()
