"""Keys and partitions."""

from __future__ import annotations

import pytest
from aiokafka.partitioner import murmur2 as murmur2_of_aiokafka

from redis_ledger.records.partitioner import KEY_BYTES_CACHED, murmur2, partition_for


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_gives_what_java_gives(key: bytes, expected: int) -> None:
    # Source: org.apache.kafka.common.utils.UtilsTest
    assert murmur2(key) == expected


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 63, 64, 65, 1_000])
def test_keys_of_every_length_go_where_aiokafkas_client_puts_them(length: int) -> None:
    key = bytes(7 * n & 0xFF for n in range(length))
    assert partition_for(key, 48) == (murmur2_of_aiokafka(key) & 0x7FFFFFFF) % 48
    assert murmur2(key) & 0xFFFFFFFF == murmur2_of_aiokafka(key)


@pytest.mark.parametrize("length", [KEY_BYTES_CACHED, KEY_BYTES_CACHED + 1])
def test_a_key_asked_for_again_gets_the_same_partition(length: int) -> None:
    key = b"k" * length
    assert partition_for(key, 7) == partition_for(bytes(bytearray(key)), 7) == (murmur2(key) & 0x7FFFFFFF) % 7


def test_keys_spread_over_all_partitions() -> None:
    assert {partition_for(b"user-%d" % n, 12) for n in range(500)} == set(range(12))
