"""Scheduled records in batches that one call to Redis takes."""

from __future__ import annotations

import pytest

from redis_ledger.broker.produce.encode import DUES_MAX, by_due_times
from redis_ledger.broker.produce.split_by_due import BATCH_DUES_MAX, check_due_times
from redis_ledger.errors import RequestTooLarge
from redis_ledger.records.split_by_due import Later


def test_few_due_times_stay_together():
    assert list(by_due_times("abcd", [5, None, 5, 7])) == [(["a", "b", "c", "d"], [5, None, 5, 7])]


def test_a_batch_of_the_cut_has_a_bounded_number_of_due_times():
    dues = [n // 2 for n in range(4 * DUES_MAX + 2)]
    parts = list(by_due_times(range(len(dues)), dues))
    assert [len(set(part_dues)) for _, part_dues in parts if part_dues] == [DUES_MAX, DUES_MAX, 1]
    assert [record for some, _ in parts for record in some] == list(range(len(dues)))
    assert [due for _, part_dues in parts for due in part_dues or ()] == dues


def test_records_due_now_stay_in_one_batch():
    dues = [*range(DUES_MAX), None, None, DUES_MAX]
    assert [len(some) for some, _ in by_due_times(range(len(dues)), dues)] == [DUES_MAX + 2, 1]


@pytest.mark.parametrize("dues", [(), (1, 2, 3)])
def test_a_batch_with_too_many_due_times_is_refused_by_name(dues):
    each = Later(b"", max(len(dues), 1), 0, 1, dues)
    check_due_times([each] * (BATCH_DUES_MAX // max(len(dues), 1)))
    with pytest.raises(RequestTooLarge, match=r"can be scheduled together; send smaller batches"):
        check_due_times([each] * (BATCH_DUES_MAX // max(len(dues), 1) + 1))
