"""Primitives of generated decoders and encoders: lengths, varints, tagged fields, records, and BadFrame.

    uvarint    seven bits a byte, lowest first, the top bit is set if more follow     300 = ac 02
    length     int16 or int32, -1 for null; in flexible versions a uvarint of length + 1, 0 for null
    tagged     uvarint count, then count times: uvarint tag (ascending), uvarint size, size bytes

A frame is a memoryview of bytes that must not change while it is in use.  Records are slices of it; all other values
are copied.  Every malformed frame raises BadFrame.  Source: Kafka's protocol guide; KIP-482.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

Buffer: TypeAlias = bytes | bytearray | memoryview
Records: TypeAlias = Buffer | Sequence[Buffer]  # batches need not be joined to be sent

Message = TypeVar("Message")
Decoded_co = TypeVar("Decoded_co", covariant=True)
# Arguments: message, output so far, chunks finished before it.  Returns the output for the following bytes.
Encoder: TypeAlias = Callable[[Message, bytearray, list[Buffer]], bytearray]

NO_UUID = bytes(16)
STRING_BYTES_MAX = 0x7FFF
UVARINT_BYTES_MAX = 5
ELEMENTS_MAX = 1 << 17  # array elements and tagged fields of a whole message: under 100 ms, under 20 MiB
COPY_BYTES_MAX = 4096  # up to this size, copying records is cheaper than another buffer
ONE_BYTE = [bytes([n]) for n in range(128)]


class Decoder(Protocol[Decoded_co]):
    """buf: a frame; pos: start of the body; room: its maximum number of elements.  Raises BadFrame, TooManyElements."""

    def __call__(self, buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> Decoded_co: ...


class BadFrame(Exception):
    """The bytes do not match their header.  No response is possible: close the connection."""


class TooManyElements(BadFrame):
    """The message has too many elements."""


# Raised by reads beyond the end and by invalid UTF-8.
DAMAGE = (struct.error, IndexError, UnicodeDecodeError)


def bad_length(field: str, length: int, left: int) -> BadFrame:
    return BadFrame(f"{field}: length {length} with {left} bytes left")


def bad_tag(tag: int, size: int) -> BadFrame:
    return BadFrame(f"tagged field {tag} does not have the declared size of {size} bytes")


def too_many() -> TooManyElements:
    return TooManyElements(f"more than {ELEMENTS_MAX} elements")


def left_over(count: int) -> BadFrame:
    return BadFrame(f"{count} bytes after the end of the message")


def long_length(buf: memoryview, pos: int, first: int) -> tuple[int, int]:
    """Decodes the rest of a uvarint after its first byte; returns its value and the position after it."""
    value, shift = first & 0x7F, 7
    for at in range(pos, pos + UVARINT_BYTES_MAX - 1):
        byte = buf[at]
        value |= (byte & 0x7F) << shift
        if byte < 128:
            return value, at + 1
        shift += 7
    raise BadFrame("a varint does not end")


def long_string(buf: memoryview, pos: int, first: int) -> tuple[int, int]:
    """`long_length` for strings, whose length is limited to an int16."""
    value, pos = long_length(buf, pos, first)
    if value > STRING_BYTES_MAX + 1:
        raise bad_length("string", value - 1, len(buf) - pos)
    return value, pos


def uvarint(value: int) -> bytes:
    if value < 128:
        return ONE_BYTE[value]
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag_head(buf: memoryview, pos: int, before: int) -> tuple[int, int, int]:
    """Returns tag, size and start of a tagged field.  before: the previous tag."""
    tag, pos = buf[pos], pos + 1
    if tag > 127:
        tag, pos = long_length(buf, pos, tag)
    size, pos = buf[pos], pos + 1
    if size > 127:
        size, pos = long_length(buf, pos, size)
    if tag <= before:
        raise BadFrame(f"tagged field {tag} comes after {before}")
    if size > len(buf) - pos:
        raise bad_length(f"tagged field {tag}", size, len(buf) - pos)
    return tag, size, pos


def skip_tags(buf: memoryview, pos: int, count: int, room: int = ELEMENTS_MAX) -> tuple[int, int]:
    """Skips unknown tagged fields; returns their end and the remaining room.

    count: the first byte of their number.  room: see ELEMENTS_MAX.
    """
    if count > 127:
        count, pos = long_length(buf, pos, count)
    if count > room:
        raise too_many()
    tag = -1
    for _ in range(count):
        tag, size, pos = tag_head(buf, pos, tag)
        pos += size
    return pos, room - count


def fixed_array(code: str, buf: memoryview, pos: int, count: int) -> list[Any]:
    """Decodes an array of numbers; the caller has checked that count of them fit."""
    return list(struct.unpack_from(f">{count}{code}", buf, pos))


def pack_array(code: str, values: Sequence[Any]) -> bytes:
    return struct.pack(f">{len(values)}{code}", *values)


def records_bytes(records: Records) -> int:
    if isinstance(records, bytes | bytearray | memoryview):
        return len(records)
    return sum(map(len, records))


def put_records(out: bytearray, chunks: list[Buffer], records: Records) -> bytearray:
    """Appends records after `out`, as separate chunks unless they are small; returns the output for the following
    bytes.
    """
    for piece in [records] if isinstance(records, bytes | bytearray | memoryview) else records:
        if len(piece) <= COPY_BYTES_MAX:
            out += piece
        else:
            if out:
                chunks.append(out)
            chunks.append(piece)
            out = bytearray()
    return out
