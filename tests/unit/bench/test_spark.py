"""Counters of the Spark benches, and their input."""

from __future__ import annotations

from bench.spark.engine import ROLES, Seen, by_role, family
from bench.spark.filling import BATCH_RECORDS, VALUE_BYTES, batches
from bench.spark.reading import PARTITIONS, RECORDS, scaled
from redis_ledger.records.batch import check, read_header
from redis_ledger.records.read import decode

# pid: parent, command, CPU seconds.  The broker has started its Redis, and that a child of its own.
SEEN = {
    1: Seen(0, "init", 100.0),
    10: Seen(1, "python", 1.0),  # spark.py
    11: Seen(10, "python", 2.0),  # the driver
    12: Seen(11, "java", 4.0),
    13: Seen(12, "python3.11", 8.0),  # pyspark.daemon
    14: Seen(13, "python3.11", 16.0),
    20: Seen(1, "python", 32.0),
    21: Seen(20, "redis-server", 64.0),
    22: Seen(21, "redis-server", 128.0),
    30: Seen(1, "java", 256.0),  # another user's
}


def test_every_process_counts_once_and_for_the_role_it_has():
    found = by_role(SEEN, 10, 20, 21)
    assert found == {"executors": 24.0, "jvm": 4.0, "driver": 3.0, "broker": 32.0, "redis": 192.0}
    assert tuple(found) == ROLES


def test_processes_that_are_gone_count_nothing():
    assert sum(by_role({1: SEEN[1]}, 10, 20, 21).values()) == 0
    assert family(10, {1: SEEN[1]}) == []


def test_the_load_is_whole_batches_of_different_values():
    made = batches(2, 50)
    records = [record for data in made for record in decode(data)]
    assert {len(record.value or b"") for record in records} == {VALUE_BYTES}
    assert len({record.value for record in records}) == 100
    for data in made:
        check(read_header(data), data, batch_bytes_max=1 << 20)


def test_a_part_of_the_load_is_whole_batches_for_every_partition():
    assert scaled(RECORDS, 1.0) == RECORDS
    assert scaled(RECORDS, 1e-9) == PARTITIONS * BATCH_RECORDS
    assert scaled(RECORDS, 0.0113) % (PARTITIONS * BATCH_RECORDS) == 0
