from __future__ import annotations

import pytest

from redis_ledger.cursor.pending_fields import PendingTransaction, decode, holder
from redis_ledger.cursor.ranges import Range
from redis_ledger.ids import TxnId

T, U = TxnId(3, 17), TxnId(3, 18)
FIELDS = {
    b"": b"",
    b"3-17": b"I +a0,a3 9-9-1,4-6-0",
    b"3-17/a0": b"R 10-12-0",
    b"3-17/a3": b"R 200-200-0,202-203-2",
    b"3-18": b"C 8 - 7-8-0",
}


@pytest.mark.parametrize(
    ("mark", "ranges_max", "expected"),
    [
        (0, 10, [
            PendingTransaction(
                T, 10, [Range(4, 6), Range(9, 12), Range(200, 200), Range(202, 203)], False, None, T.begun_ms
            ),
            PendingTransaction(U, 2, [Range(7, 8)], False, 8, U.begun_ms),
        ]),
        (11, 2, [
            PendingTransaction(T, 5, [Range(11, 12), Range(200, 200)], True, None, T.begun_ms),
            PendingTransaction(U, 0, [], False, 8, U.begun_ms),
        ]),
    ],
)  # fmt: skip
def test_what_transactions_hold_is_decoded_with_all_regions_and_from_the_mark_on(mark, ranges_max, expected):
    assert decode(FIELDS, mark, ranges_max, is_group=False) == expected


def test_a_group_s_pending_offset_is_decoded():
    found = decode({b"": b"", b"3-17": b"5 120 -1 1763 some text"}, 0, 10, is_group=True)
    assert found == [PendingTransaction(T, 0, [], False, 120, 1763)]


@pytest.mark.parametrize(("offset", "by"), [(4, T), (8, U), (13, None), (203, T)])
def test_the_holder_of_an_offset_is_found(offset, by):
    assert holder(decode(FIELDS, 0, 1 << 30, is_group=False), offset, is_group=False) == by


@pytest.mark.parametrize(("offset", "by"), [(119, T), (120, None)])
def test_a_group_s_record_is_held_by_a_commit_above_it(offset, by):
    assert holder(decode({b"3-17": b"5 120 -1 1 "}, 0, 10, is_group=True), offset, is_group=True) == by
