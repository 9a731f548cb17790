"""Snapshots of cursors: the acknowledged offsets as text, and cursor/restore, which sets a cursor to them.

The text has the lengths of stretches in turn, as LEB128 numbers in base64.

    offset         17  18 19 20  21  22        mark-delete position 17
    acknowledged       x  x  x       x
    lengths        1   3         1   1         "AQMBAQ=="

The first stretch is not acknowledged; it alone may be empty.  Source: docs/decisions/0047.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Iterator, Mapping

from redis_ledger.cursor.ranges import Range
from redis_ledger.cursor.script_errors import checked, text
from redis_ledger.cursor.scripts import Kind
from redis_ledger.errors import SnapshotMismatch
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.store import Script, Store

_RESTORE = Script.load("cursor/restore")
BITS_MAX = 63  # of a length


class BadSnapshot(ValueError):
    """The text is none that `encode` has made."""


def encode(mark: int, ranges: Iterable[Range]) -> str:
    """ranges: from the mark on, ascending and with gaps between them."""
    lengths, at = bytearray(), mark
    for first, last in ranges:
        for length in (first - at, last - first + 1):
            while length > 127:
                lengths.append(length & 127 | 128)
                length >>= 7
            lengths.append(length)
        at = last + 1
    return binascii.b2a_base64(lengths, newline=False).decode()


def decode(mark: int, encoded: str) -> list[Range]:
    """Raises BadSnapshot."""
    try:
        lengths = list(_lengths(binascii.a2b_base64(encoded.encode("ascii"), strict_mode=True)))
    except (binascii.Error, UnicodeEncodeError):
        raise BadSnapshot("it is not base64") from None
    if len(lengths) % 2 or not all(lengths[1:]):
        raise BadSnapshot("a stretch is missing or empty")
    ranges, at = list[Range](), mark
    for gap, size in zip(lengths[::2], lengths[1::2], strict=True):
        at += gap + size
        ranges.append(Range(at - size, at - 1))
    return ranges


async def restore(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    kind: Kind,
    mark: int,
    ahead: int,
    acks: Mapping[bytes, bytes],
) -> None:
    """Sets a cursor to a mark-delete position and the acknowledged offsets beyond it, which end below `ahead`.

    acks: fields, as ack_chunks.fields_of makes them.  Raises OffsetOutOfRange beyond the end of the log,
    SnapshotMismatch if the subscription is of another kind.
    """
    args: list[str | int | bytes] = [topic_id, kind, mark, ahead]
    for field in acks.items():
        args += field
    reply = await store.call(_RESTORE, (keys.state, *keys.sub(name).all(), keys.none), args)
    if reply[0] == Status.WRONG_KIND:
        raise SnapshotMismatch(f"The snapshot is of the kind {kind}; subscription {name!r} is {text(reply[1])}.")
    checked(reply, name)


def _lengths(encoded: bytes) -> Iterator[int]:
    length = shift = 0
    for byte in encoded:
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield length
            length = shift = 0
        elif shift >= BITS_MAX:
            raise BadSnapshot("a length is too large")
    if shift:
        raise BadSnapshot("its end is missing")
