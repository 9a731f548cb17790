"""Consumer lag by plain reads: equal to cursor/stats, or higher where that reads the log."""

from __future__ import annotations

import pytest

from redis_ledger.broker.groups.lag import Reader, lag
from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.ledger.partition_offsets import PartitionHead
from tests.support.broker import one, receive_values, records

HEAD = PartitionHead(0, 10, 80, 100, 1, 0, 0)


@pytest.fixture
async def broker(redis_url, prefix):
    async with one(redis_url, prefix) as opened:
        await opened.topics.create("t", 3)
        yield opened


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((None, None, None, None, None), (0, True)),  # not made yet
        ((b"shared", b"80", b"0", b"0", None), (0, True)),
        ((b"shared", b"80", b"3", b"2", None), (5, True)),
        ((b"shared", b"30", b"3", b"2", None), (55, False)),
        ((b"exclusive", b"5", None, None, None), (70, False)),  # below the log start
        ((b"kafka", None, None, None, b"40"), (40, False)),
        ((b"kafka", None, None, None, b"5"), (70, False)),
        ((b"kafka", None, None, None, b"-1"), (0, True)),  # it has committed nothing
        ((b"kafka", None, None, None, b"120"), (0, True)),
    ],
)
def test_the_lag_of_one_cursor(row, expected):
    assert lag(row, HEAD) == expected


async def test_it_is_what_stats_says_where_there_are_no_transactions(broker):
    for name in ("behind", "leased", "done"):
        await broker.subscriptions.create("t", name)
    for number in range(3):
        await broker.records.produce("t", records(*"abcd", partition=number))
    await receive_values(broker, "t", "leased", max_records=5)
    await broker.subscriptions.ack("t", "done", "c1", list(await receive_values(broker, "t", "done")))
    await broker.offsets.commit("g", [OffsetEntry("t", number, number + 1) for number in range(3)], fence=-1)
    readers = [Reader("t", name, "shared") for name in ("behind", "leased", "done")] + [Reader("t", "g", "kafka")]
    found = await broker.lag_reader.of(readers)
    stats = [await broker.subscriptions.stats("t", reader.name) for reader in readers]
    assert [each.records for each in found] == [sum(c.backlog for c in s.cursors) for s in stats]
    assert [each.reader for each in found] == readers
    assert [each.is_exact for each in found] == [False, False, True, False]


async def test_topics_that_are_gone_are_left_out_and_heads_that_are_known_are_not_read(broker):
    await broker.subscriptions.create("t", "s")
    await broker.records.produce("t", records("a", partition=1))
    heads = {"t": [await broker.topics.head("t", number) for number in range(3)]}
    (found,) = await broker.lag_reader.of([Reader("gone", "s", "shared"), Reader("t", "s", "shared")], heads)
    assert found.records == 1
