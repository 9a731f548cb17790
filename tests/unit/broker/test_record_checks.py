"""Which batches of a connection are checked, and every kind of damage in the records that Kafka refuses."""

from __future__ import annotations

import gzip
import struct

import pytest
from crc32c import crc32c

from redis_ledger.broker.produce import record_checks
from redis_ledger.broker.produce.record_checks import EVERY, EVERY_PACKED, FIRST, RecordChecks
from redis_ledger.errors import InvalidRecord
from redis_ledger.records.batch import check, read_header
from redis_ledger.records.build import encode
from redis_ledger.records.compression import pack

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


def varint(number: int) -> bytes:
    number, out = (number << 1) ^ (number >> 63), b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def record(delta: int, *, headers: bytes = b"\0", size: int | None = None) -> bytes:
    body = b"\0" + varint(0) + varint(delta) + varint(-1) + varint(1) + b"v" + headers
    return varint(len(body) if size is None else size) + body


def batch(body: bytes, *, count: int = 2, codec: int = 0) -> bytes:
    """With a valid checksum; the body as it is."""
    tail = struct.pack(">hiqqqhii", codec, count - 1, 1_700_000_000_000, 1_700_000_000_000, -1, -1, -1, count) + body
    return struct.pack(">qiibI", 0, 9 + len(tail), -1, 2, crc32c(tail)) + tail


GOOD = record(0) + record(1)
BODIES = {
    "garbage": (b"\xff" * 40, 2),
    "a record longer than the batch": (record(0) + record(1, size=2000) + bytes(30), 2),
    "a record longer than its fields": (record(0) + record(1, size=12) + bytes(4), 2),
    "a negative length": (record(0) + record(1, size=-9), 2),
    "trailing bytes": (GOOD + b"xyz", 2),
    "fewer records announced": (GOOD, 1),
    "more records announced": (GOOD + bytes(40), 5),
    "other offset deltas": (record(5) + record(9), 2),
    "a negative number of headers": (record(0) + record(1, headers=varint(-2)), 2),
    "a header without name": (record(0) + record(1, headers=varint(1) + varint(-1) + varint(1) + b"h"), 2),
}
DAMAGED = {f"{what}, {name}": batch(pack(codec, body) if codec else body, count=count, codec=codec)
           for what, (body, count) in BODIES.items() for name, codec in CODECS.items()}  # fmt: skip
DAMAGED |= {f"no {name}": batch(b"garbage-" * 9, codec=codec) for name, codec in CODECS.items() if codec}
DAMAGED["gzip without its end"] = batch(gzip.compress(GOOD)[:-6], codec=1)


def checked(checks: RecordChecks, data: bytes) -> None:
    header = read_header(data)
    check(header, data, batch_bytes_max=1 << 20)  # the batch itself is fine
    checks.check(header, memoryview(data))


@pytest.mark.parametrize("kind", DAMAGED)
def test_records_that_no_consumer_can_read_are_refused(kind):
    with pytest.raises(InvalidRecord):
        checked(RecordChecks(), DAMAGED[kind])


@pytest.mark.parametrize("codec", CODECS.values())
@pytest.mark.parametrize("count", [1, 2, 3_000])
def test_records_that_consumers_can_read_are_taken(codec, count):
    headers = (("a", None), ("a", b""), ("b", b"1"))
    rows = [
        (b"k" if n % 2 else None, None if n % 3 else b"v" * 100, headers, 1_700_000_000_000 + n) for n in range(count)
    ]
    checked(RecordChecks(), encode(rows, compression=codec))


def test_a_base_offset_and_names_that_are_not_utf_8_are_taken_as_in_kafka():
    checked(RecordChecks(), struct.pack(">q", 77) + batch(GOOD)[8:])
    checked(RecordChecks(), batch(record(0) + record(1, headers=varint(1) + varint(1) + b"\xff" + varint(-1))))


def test_a_batch_that_would_hold_up_others_is_not_checked():
    data = encode([(None, b"\0" * (record_checks.LIMITS.decoded_bytes + 1), (), 0)], compression=1)
    checked(RecordChecks(), data)


@pytest.mark.parametrize(("codec", "every"), [(0, EVERY), (1, EVERY_PACKED)])
def test_the_first_batches_of_a_connection_are_checked_and_then_some(codec, every):
    body, count = BODIES["trailing bytes"]
    data, checks, refused = batch(pack(codec, body) if codec else body, count=count, codec=codec), RecordChecks(), []
    for number in range(1, 2 * EVERY_PACKED + 1):
        try:
            checked(checks, data)
        except InvalidRecord:
            refused.append(number)
    assert refused == [
        *range(1, FIRST + 1),
        *(n for n in range(1, 2 * EVERY_PACKED + 1) if n > FIRST and n % every == 0),
    ]
