"""Record batches as no honest producer sends them: damaged, lying about themselves, or growing beyond reason.

A field changed here gets a CRC that is true of it, unless the CRC is what is wrong: else nothing behind the check is
met.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from unittest import mock

from crc32c import crc32c

from redis_ledger.records.batch import CRC_FROM, HEADER, HEADER_BYTES, BatchHeader
from redis_ledger.records.build import encode
from tests.support.bombs import NOW_MS

LONG = (-(1 << 63), -1, 0, 1, 1 << 31, (1 << 53) + 1, 100_000_000_000_000, (1 << 63) - 1)
INT = (-(1 << 31), -1, 0, 1, 2, 65_536, 1 << 24, (1 << 31) - 1)

_EPOCH = SimpleNamespace(time=lambda: 0.0)


def plain(rng: Random, producer_id: int = -1, epoch: int = -1, sequence: int | None = None) -> bytes:
    """A batch that nothing is wrong with."""
    rows = [(rng.choice((None, b"k")), rng.randbytes(rng.randrange(30)), (), NOW_MS) for _ in range(rng.randint(1, 4))]
    first = sequence if sequence is not None else rng.choice((0, 0, 1, 7)) if producer_id >= 0 else -1
    with mock.patch.object(gzip, "time", _EPOCH):  # gzip stores the time; the same seed makes the same batch
        return encode(
            rows, producer_id=producer_id, epoch=epoch, sequence=first,
            transactional=producer_id >= 0 and rng.random() < 0.5, compression=rng.choice((0, 0, 1, 2, 3, 4)),
        )  # fmt: skip


def hostile(rng: Random, producer_id: int = -1, epoch: int = -1) -> bytes:
    """A batch with one to three things wrong, sometimes with others beside it."""
    data = plain(rng, producer_id, epoch)
    for _ in range(rng.randint(1, 3)):
        data = rng.choice(WRONGS)(data, rng)
    return data


def sealed(header: BatchHeader, body: bytes) -> bytes:
    """The batch with a CRC that is true, and numbers cut to what their fields can hold."""
    raw = bytearray(HEADER.pack(*header)) + body
    raw[17:21] = crc32c(bytes(raw[CRC_FROM:])).to_bytes(4, "big")
    return bytes(raw)


def _field(data: bytes, rng: Random) -> bytes:
    """A field of the header has an odd value."""
    if len(data) < HEADER_BYTES:
        return data
    name = rng.choice((
        "base_offset", "leader_epoch", "last_offset_delta", "base_timestamp", "max_timestamp", "producer_id",
        "producer_epoch", "base_sequence", "count", "attributes", "magic", "length",
    ))  # fmt: skip
    values: tuple[int, ...] = LONG
    if name in ("leader_epoch", "last_offset_delta", "base_sequence", "count", "length"):
        values = INT
    elif name in ("producer_epoch", "attributes"):
        values = (-32_768, -1, 0, 1, 5, 7, 0x08, 0x10, 0x20, 0x30, 32_767)
    elif name == "magic":
        values = (0, 1, 3, 127, -128)
    header = BatchHeader._make(HEADER.unpack_from(data))
    return sealed(header._replace(**{name: rng.choice(values)}), data[HEADER_BYTES:])


def _count(data: bytes, rng: Random) -> bytes:
    """Count and last offset delta agree with each other, and with nothing else."""
    if len(data) < HEADER_BYTES:
        return data
    count = rng.choice((2, 100, 99_999, 100_000, 100_001, (1 << 31) - 1))
    header = BatchHeader._make(HEADER.unpack_from(data))
    return sealed(header._replace(count=count, last_offset_delta=count - 1), data[HEADER_BYTES:])


def _body(data: bytes, rng: Random) -> bytes:
    """Damaged records under a correct CRC: the broker stores them, and decoding fails."""
    body = bytearray(data[HEADER_BYTES:])
    if len(data) <= HEADER_BYTES:
        return data
    for _ in range(rng.randint(1, 3)):
        body[rng.randrange(len(body))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
    header = BatchHeader._make(HEADER.unpack_from(data))
    return sealed(header, bytes(body))


def _codec(data: bytes, rng: Random) -> bytes:
    """The records are not packed as the header says."""
    if len(data) < HEADER_BYTES:
        return data
    header = BatchHeader._make(HEADER.unpack_from(data))
    return sealed(header._replace(attributes=header.attributes & ~7 | rng.randrange(8)), data[HEADER_BYTES:])


def _crc(data: bytes, rng: Random) -> bytes:
    return data[:17] + rng.randbytes(4) + data[21:]


def _length(data: bytes, rng: Random) -> bytes:
    return data[:8] + rng.choice(INT).to_bytes(4, "big", signed=True) + data[12:]


def _cut(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _longer(data: bytes, rng: Random) -> bytes:
    return data + rng.choice((b"\0", bytes(61), data, data[: len(data) // 2]))


WRONGS: tuple[Callable[[bytes, Random], bytes], ...] = (
    _field, _field, _field, _count, _body, _body, _codec, _crc, _length, _cut, _longer,
)  # fmt: skip
