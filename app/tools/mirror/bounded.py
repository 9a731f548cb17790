"""Limits what a mirror unpacks: aiokafka itself would unpack a batch of 61 kB to 2 GB.

fetched batch ─┬─▶ its records, which unpack to batch_decoded_bytes_max at most
               └─▶ too large or damaged: the mirror stops, and names the batch
"""

from __future__ import annotations

from functools import partial

from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record._crecords import default_records, legacy_records
from aiokafka.structs import ConsumerRecord

from redis_ledger.app.process.command_error import CommandError
from redis_ledger.errors import CorruptBatch, TooLargeToDecode
from redis_ledger.records.budget import DEFAULT
from redis_ledger.records.compression import unpack

_DECODERS = {"gzip_decode": 1, "snappy_decode": 2, "lz4_decode": 3, "zstd_decode": 4}
_FAILURES = (CorruptBatch, CorruptRecordException, ValueError)


def limit_unpacking() -> None:
    """For all consumers of this process: aiokafka has no setting for it."""
    for module in (default_records, legacy_records):
        for name in _DECODERS.keys() & vars(module).keys():
            setattr(module, name, partial(_unpack, _DECODERS[name]))
    fetcher.PartitionRecords = _Records


def _unpack(codec: int, packed: bytes | memoryview) -> bytes:
    try:
        return unpack(codec, memoryview(packed), DEFAULT.decoded_bytes)
    except TooLargeToDecode as error:
        raise ValueError(f"Its records unpack to more than {error.facts['limit']} bytes.") from None


class _Records(fetcher.PartitionRecords):  # type: ignore[misc]
    """Raises CommandError for a batch that cannot be decoded."""

    def __next__(self) -> ConsumerRecord:
        try:
            return super().__next__()
        except _FAILURES as error:
            raise CommandError(
                f"The batch at offset {self.next_fetch_offset} of {self._tp.topic}:{self._tp.partition} on the source "
                f"cannot be copied: {error} Leave this topic out with --topics."
            ) from None
