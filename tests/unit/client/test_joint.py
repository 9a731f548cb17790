from __future__ import annotations

import pytest

from redis_ledger.client import joint
from redis_ledger.client.batches import Batch, Entry
from redis_ledger.client.joint import Joint, Part, split
from redis_ledger.client.models import Executed, ExecutedRecords, RecordPosition
from redis_ledger.ids import MessageId


class Event:
    def set(self) -> None:
        pass


def part(records: dict[tuple[str, int], int] | None = None, acks=(), size: int = 10) -> Part:
    """records: how many, by topic and partition.  acks: topic, subscription, consumer, partition, offset."""
    batches = {}
    for place, count in (records or {}).items():
        batch: Batch[Event] = Batch(place[1], Event(), 0.0, 0, False)
        for _ in range(count):
            batch.add(Entry(None, b"", (), 1), size)
        batches[place] = batch
    ids: dict[tuple[str, str, str], list[MessageId]] = {}
    for topic, name, consumer, partition, offset in acks:
        ids.setdefault((topic, name, consumer), []).append(MessageId(partition, offset))
    return Part(batches, ids, 1_000)


FIRST = part({("t", 0): 2}, [("in", "s", "c", 0, 1)])


@pytest.mark.parametrize(
    ("second", "joins"),
    [
        (part({("t", 0): 2}), True),
        (part({("u", 3): 2}), True),
        (part({}, [("in", "s", "c", 0, 2)]), True),
        (part({}, [("in", "s", "c", 1, 1)]), True),
        (part({}, [("in", "r", "c", 0, 1)]), True),
        (part({}, [("other", "s", "c", 0, 1)]), True),
        (part({}, [("in", "s", "c", 0, 1)]), False),
        (part({}, [("in", "s", "another consumer", 0, 1)]), False),
        (part({}, [("in", "s", "c", 0, 2), ("in", "s", "c", 0, 1)]), False),
        (part({("t", 0): joint.COUNT_MAX - 3}, size=0), True),
        (part({("t", 0): joint.COUNT_MAX - 2}, size=0), False),
        (part({("t", 0): 1}, size=joint.BYTES_MAX - 20), True),
        (part({("t", 0): 1}, size=joint.BYTES_MAX - 19), False),
        (part({("t", n): 1 for n in range(joint.PARTICIPANTS_MAX - 1)}), True),
        (part({("t", n): 1 for n in range(joint.PARTICIPANTS_MAX)}), False),
        (part({}, [("in", "s", "c", n, 9) for n in range(joint.PARTICIPANTS_MAX - 1)]), True),
        (part({}, [("in", "s", "c", n, 9) for n in range(joint.PARTICIPANTS_MAX)]), False),
    ],
)
def test_two_transactions_are_joined_if_one_request_may_carry_them(second, joins):
    together = Joint()
    assert (together.add(FIRST), together.add(second)) == (True, joins)


def test_one_alone_is_always_taken():
    assert Joint().add(part({("t", n): 100 for n in range(40)}, size=10_000))


def test_a_limited_number_is_joined():
    together = Joint()
    assert sum(together.add(part({("t", 0): 1})) for _ in range(100)) == joint.PARTS_MAX


def executed(*results: tuple[str, int, int, int]) -> Executed:
    return Executed("committed", "1-0", [ExecutedRecords(*each) for each in results])


def test_each_gets_the_offsets_of_its_records():
    counts = [{("t", 0): 2, ("u", 1): 1}, {}, {("t", 0): 3}, {("u", 1): 2}]
    assert split(executed(("t", 0, 10, 5), ("u", 1, 7, 3)), counts) == [
        {("t", 0): 10, ("u", 1): 7},
        {},
        {("t", 0): 12},
        {("u", 1): 8},
    ]


def test_records_that_the_broker_wrote_in_several_batches_have_positions():
    counts = [{("t", 0): 1}, {("t", 0): 3}]
    first, second = split(executed(("t", 0, 10, 2), ("t", 0, 20, 2)), counts)
    assert first == {("t", 0): 10}
    assert second == {("t", 0): [RecordPosition(0, 11), RecordPosition(0, 20), RecordPosition(0, 21)]}


def test_places_that_the_broker_does_not_know_any_more_are_missing():
    assert split(executed(), [{("t", 0): 1}, {("u", 1): 2}]) == [{}, {}]
