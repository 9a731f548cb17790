"""Checks of the records inside the batches of Kafka clients: of some batches, since of all it would be too slow.

    of a connection   ██·············█···············█·············     the first two, then one in 16
    compressed        ██·············································    the first two, then one in 128

A batch that no consumer can read holds up all consumers of its partition.  A client that makes such batches fails soon;
one that means harm may know which are checked.  Checking each batch takes 8 to 25 % of the CPU of a produce, and three
times as much with compression; one in 16 takes 1 to 2 %.
Source: Kafka's LogValidator; KAFKA-8722.
"""

from __future__ import annotations

from redis_ledger.errors import CorruptBatch, InvalidRecord, TooLargeToDecode
from redis_ledger.records.batch import BatchHeader, Buffer
from redis_ledger.records.budget import DEFAULT
from redis_ledger.records.read import check_records

FIRST, EVERY, EVERY_PACKED = 2, 16, 128  # of a connection; the last is a multiple of the second
LIMITS = DEFAULT._replace(decoded_bytes=1 << 20)  # larger batches are not checked: other requests would wait


class RecordChecks:
    """Of one connection."""

    __slots__ = ("_batches",)

    def __init__(self) -> None:
        self._batches = 0

    def check(self, header: BatchHeader, data: Buffer) -> None:
        """Raises InvalidRecord if the batch is checked and its records cannot be read.  header: its checked header."""
        self._batches = number = self._batches + 1
        if number > FIRST and (number % EVERY or (number % EVERY_PACKED and header.compression)):
            return
        try:
            check_records(header, data, LIMITS)
        except CorruptBatch as error:
            raise InvalidRecord(error.detail) from None
        except TooLargeToDecode:
            return
