"""Stretches of a plan: rows of ledgers in, edges of stretches out."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.offload.plan import STRETCH_BYTES, STRETCH_BYTES_MAX, STRETCHES_MAX, LedgerRow, decide

FULL = STRETCH_BYTES


def sealed(number: int, end: int, size: int = FULL, unlogged: int = 0) -> LedgerRow:
    return LedgerRow(number, True, end - 1, unlogged, size)


def active(number: int, end: int, size: int = FULL) -> LedgerRow:
    return LedgerRow(number, False, end - 1, 0, size)


THREE = [sealed(1, 400), sealed(2, 900), active(3, 1_500)]

CASES = {
    "nothing was ever written": ([active(1, 0, 0)], {}, 0, []),
    "only the active ledger has records": ([active(1, 50)], {}, 50, []),
    "a stretch ends where a sealed ledger does": (THREE, {}, 1_500, [(0, 400), (400, 900)]),
    "what is published is not planned again": (THREE, {"offloaded": 400}, 1_500, [(400, 900)]),
    "everything sealed is published": (THREE, {"offloaded": 900}, 1_500, []),
    "the log start has passed a ledger": (THREE, {"start": 450}, 1_500, [(450, 900)]),
    "the log start has passed what is published": (THREE, {"offloaded": 300, "start": 400}, 1_500, [(400, 900)]),
    "the log start has passed all": (THREE, {"start": 950}, 1_500, []),
    "an open transaction began in the second ledger": (THREE, {}, 899, [(0, 400)]),
    "one that began right behind it": (THREE, {}, 900, [(0, 400), (400, 900)]),
    "up to the limit": (THREE, {"to_limit": True}, 1_200, [(0, 400), (400, 900), (900, 1_200)]),
    "up to the limit, within the first ledger": (THREE, {"to_limit": True}, 100, [(0, 100)]),
    "up to the limit, which is published": (THREE, {"to_limit": True, "offloaded": 900}, 900, []),
    "an entry of a ledger has no offset yet": (
        [sealed(1, 400), sealed(2, 900, unlogged=1), sealed(3, 990)], {}, 1_500, [(0, 400)],
    ),
    "a ledger without records is passed over": (
        [sealed(1, 400), sealed(2, 0), sealed(3, 500)], {}, 500, [(0, 400), (400, 500)],
    ),
    "small ledgers share a stretch": (
        [sealed(n, 100 * n, FULL // 4) for n in range(1, 7)], {}, 600, [(0, 400), (400, 600)],
    ),
    "a large one is cut": ([sealed(1, 30, 3 * FULL), sealed(2, 40)], {}, 40, [(0, 10), (10, 20), (20, 30), (30, 40)]),
    "a large ledger of few records is not cut within one": ([sealed(1, 2, 8 * FULL)], {}, 2, [(0, 1), (1, 2)]),
    "scheduled records only": ([sealed(-1, 80), active(1, 0, 0)], {}, 100, [(0, 80)]),
    "scheduled records that still wait": ([sealed(-1, 80, unlogged=3), active(1, 0, 0)], {}, 100, []),
    "scheduled records that fell due beyond the limit": ([sealed(-1, 80), active(1, 0, 0)], {}, 79, []),
    "scheduled records that fell due among others": ([sealed(-1, 300), *THREE], {}, 1_500, [(0, 400), (400, 900)]),
    "scheduled records that fell due behind them": (
        [sealed(-1, 950), *THREE], {}, 1_500, [(0, 400), (400, 900), (900, 950)],
    ),
    "a delay ledger that is being filled": ([active(-2, 950), *THREE], {}, 1_500, [(0, 400), (400, 900)]),
}  # fmt: skip


@pytest.mark.parametrize(("ledgers", "more", "limit", "expected"), CASES.values(), ids=CASES.keys())
def test_a_plan_covers_payload_that_can_be_dropped(ledgers, more, limit, expected):
    assert decide(ledgers, limit=limit, **{"offloaded": 0, "start": 0, **more}) == expected


def test_a_plan_has_a_maximum_of_stretches_and_the_next_one_continues():
    ledgers = [sealed(n, 10 * n) for n in range(1, STRETCHES_MAX + 3)]
    found = decide(ledgers, offloaded=0, start=0, limit=10**9)
    assert len(found) == STRETCHES_MAX
    end = found[-1][1]
    assert decide(ledgers, offloaded=end, start=0, limit=10**9) == [(end, end + 10), (end + 10, end + 20)]


def test_a_ledger_row_is_parsed():
    assert LedgerRow.parse(-3, b"12 2 1 88 4 4096 1700000000000") == LedgerRow(-3, True, 88, 4, 4096)
    assert LedgerRow.parse(1, b"0 0 0 -1 0 0 1700000000000").end == 0


@st.composite
def partitions(draw):
    """Ledgers as they can be: those above 0 follow each other in offsets and all but the last are sealed."""
    steps = draw(
        st.lists(st.tuples(st.integers(0, 50), st.integers(0, 2 * STRETCH_BYTES_MAX)), min_size=1, max_size=12)
    )
    rows, end = [], 0
    for number, (records, size) in enumerate(steps, start=1):
        end += records
        rows.append(LedgerRow(number, number < len(steps), end - 1 if records else -1, 0, size))
    late = draw(st.lists(st.tuples(st.integers(0, end), st.booleans(), st.integers(0, 1)), max_size=3))
    rows += [LedgerRow(-n, is_sealed, at - 1, unlogged, 1) for n, (at, is_sealed, unlogged) in enumerate(late, 1)]
    offloaded, start, limit = (draw(st.integers(0, end)) for _ in range(3))
    return sorted(rows), offloaded, start, limit, draw(st.booleans())


@given(partitions())
def test_stretches_are_adjacent_below_the_limit_and_free_payload(partition):
    rows, offloaded, start, limit, to_limit = partition
    found = decide(rows, offloaded=offloaded, start=start, limit=limit, to_limit=to_limit)
    begin = max(offloaded, start)
    if not found:
        # A plan exists only if payload can be dropped
        assert not to_limit or limit <= begin
        assert not [row for row in rows if row.number < 0 and row.is_done and begin < row.end <= limit]
        return
    assert found[0][0] == begin
    assert all(first < end for first, end in found)
    assert all(before[1] == after[0] for before, after in pairwise(found))
    end = found[-1][1]
    assert end <= limit
    # and it ends where a finished ledger does, unless it extends to the limit
    assert end in {row.end for row in rows if row.is_done} or (to_limit and end == limit)
