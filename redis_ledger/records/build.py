"""Encodes records into a batch with aiokafka's compiled builder.

Base offset and leader epoch are 0 until `batch.place` writes them.  The builder always computes a CRC-32C, at 1.4 GB/s.
That is most of the cost of a batch of large records, and still less than building it in Python.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeAlias

# The compiled class by its own name: `aiokafka.record.default_records` would quietly hand us the one in Python.
from aiokafka.record._crecords import DefaultRecordBatchBuilder

from redis_ledger.errors import InvalidRequest, RequestTooLarge
from redis_ledger.records.batch import LENGTH_END, MAGIC

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]
NewRecord: TypeAlias = tuple[bytes | None, bytes | None, Headers, int]  # key, value, headers, timestamp_ms

SIZE_MAX = (1 << 31) - 1 + LENGTH_END  # what the length field can say
_NO_LIMIT = 1 << 62  # the builder's limit drops records that do not fit; ours refuses
_LEADER_EPOCH = struct.Struct(">i")


def encode(
    records: Sequence[NewRecord],
    *,
    compression: int = 0,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
) -> bytes:
    """One batch of one record at least; offset deltas follow the order given.

    records      (key, value, headers, timestamp_ms); None is Kafka's null; timestamps are milliseconds, 0 or later
    compression  its number in `batch.COMPRESSIONS`
    Raises InvalidRequest for a timestamp or a header name that cannot be written, RequestTooLarge beyond 2 GiB.
    """
    assert records, "a batch holds at least one record"
    builder = DefaultRecordBatchBuilder(MAGIC, compression, transactional, producer_id, epoch, sequence, _NO_LIMIT)
    append = builder.append
    offset_delta = 0
    try:
        for key, value, headers, timestamp_ms in records:
            # The builder takes -1 for "no timestamp yet" and would shift the times of the whole batch.
            if timestamp_ms < 0:
                raise InvalidRequest(f"A record's timestamp is {timestamp_ms}; it must be 0 or later, in milliseconds.")
            append(offset_delta, timestamp_ms, key, value, headers if type(headers) is list else list(headers))
            offset_delta += 1
    except OverflowError:
        raise InvalidRequest("A record's timestamp is beyond 64 bits; give milliseconds since 1970.") from None
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"A header's name is not text that UTF-8 can carry: {error.reason}.") from None
    if builder.size() > SIZE_MAX:
        raise RequestTooLarge(f"The records make a batch of {builder.size()} bytes; a batch cannot exceed {SIZE_MAX}.")
    batch = builder.build()
    _LEADER_EPOCH.pack_into(batch, 12, 0)  # outside the CRC
    return bytes(batch)
