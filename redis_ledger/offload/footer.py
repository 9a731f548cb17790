"""CRC of the footer, inside the footer.  Parquet has none, and a reader may crash the process on a damaged footer.

    ... row groups | metadata  ... redis_ledger.footer = 5f3a01c2 ... | length | PAR1
                   └── CRC-32, taken while that value was 00000000 ──┘

The value is part of the file's key-value metadata, so other readers see a plain Parquet file.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pyarrow as pa
from pyarrow import parquet

from redis_ledger.errors import OffloadedDamaged

PREFIX = "redis_ledger."  # of the keys in the file's metadata
KEY, BLANK = f"{PREFIX}footer", "00000000"
TAIL_BYTES = 64 << 10  # read first; a footer is rarely longer
_END_BYTES = 8  # length and magic
_BEFORE = KEY.encode() + b"\x18\x08"  # Thrift's compact protocol: the header of an 8-byte string after its key


class FooterSink:
    """File object for a ParquetWriter: passes writes on, buffers them after `hold`, and fills the CRC in on `seal`."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self._held: list[bytes] | None = None
        self._written = 0
        self.closed = False

    def write(self, piece: Any) -> int:
        if self._held is None:
            self._sink.write(piece)
        else:
            self._held.append(bytes(piece))
        self._written += len(piece)
        return len(piece)

    def hold(self) -> None:
        self._held = []

    def seal(self) -> None:
        assert self._held is not None
        written = b"".join(self._held)
        length = int.from_bytes(written[-_END_BYTES:-4], "little")
        at = len(written) - _END_BYTES - length
        metadata, blank = written[at:-_END_BYTES], _BEFORE + BLANK.encode()
        assert metadata.count(blank) == 1, metadata.count(blank)
        filled = metadata.replace(blank, _BEFORE + b"%08x" % crc32(metadata))
        self._sink.write(written[:at] + filled + written[-_END_BYTES:])

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def read_footer(source: Any) -> Any:
    """Returns the file's metadata after checking its CRC.  source: a pyarrow file.  Raises OffloadedDamaged."""
    size = source.size()
    tail = source.read_at(min(size, TAIL_BYTES), size - min(size, TAIL_BYTES))
    length = int.from_bytes(tail[-_END_BYTES:-4], "little") + _END_BYTES
    if length > size or tail[-4:] != b"PAR1":
        raise OffloadedDamaged("The file does not end with a Parquet footer.")
    if length > len(tail):
        tail = source.read_at(length, size - length)
    metadata = tail[-length:-_END_BYTES]
    before, found, after = metadata.partition(_BEFORE)
    blanked = before + found + BLANK.encode() + after[8:]
    if not found or after[:8] != b"%08x" % crc32(blanked):
        raise OffloadedDamaged("The CRC of the footer does not match.")
    return parquet.read_metadata(pa.BufferReader(tail))


def key_value_metadata(metadata: Any) -> dict[str, str]:
    """Returns the key-value metadata of a segment file, by name without PREFIX."""
    return {
        key.decode().removeprefix(PREFIX): value.decode()
        for key, value in (metadata.metadata or {}).items()
        if key.startswith(PREFIX.encode())
    }
