"""The numbers of a Kafka group's offset, generations, writes and serials, are compared as numbers: 9 is below 10."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from tests.support.group_offset_scripts import Group

OK, FENCED, TXN_ENDED = Status.OK, Status.FENCED, Status.TXN_ENDED


@pytest.fixture
def group(ledger) -> Group:
    """On a log of ten records."""
    for _ in range(5):
        ledger.append(2)
    return Group(ledger)


@pytest.mark.parametrize(("earlier", "later"), [(9, 10), (99, 100)])
def test_generations_of_any_length_are_fenced(group, earlier, later):
    group.commit(5, generation=earlier)
    assert group.commit(6, generation=later)[0] == OK
    assert group.commit(7, generation=earlier) == [FENCED, later]
    assert group.offset == 6


@pytest.mark.parametrize(("earlier", "later"), [(9, 10), (99, 100)])
def test_a_seek_is_refused_when_a_later_generation_has_fetched_since(group, earlier, later):
    group.fetch(later)
    assert group.seek(3, fence=earlier) == [FENCED, later]
    assert group.seek(3, fence=later) == [OK, "3"]
    assert group.seek(4, fence=10 * later) == [OK, "4"]


def test_the_tenth_write_is_later_than_the_ninth(group):
    for offset in range(8):
        group.commit(offset)
    group.commit(9, txn="0-1")
    group.commit(10)
    group.log.commit(0, 1, subs=["g"])
    assert group.offset == 10
    group.commit(11, txn="0-2")
    group.log.commit(0, 2, subs=["g"])
    assert group.offset == 11


def test_serials_of_any_length_are_compared_with_the_watermark(group):
    group.log.client.hset(group.log.keys.watermarks, mapping={"0": 10, "1": 99})
    assert group.commit(4, txn="0-9") == [TXN_ENDED]
    assert group.commit(4, txn="0-10") == [TXN_ENDED]
    assert group.commit(4, txn="0-11")[0] == OK
    assert group.commit(4, txn="1-100")[0] == OK
