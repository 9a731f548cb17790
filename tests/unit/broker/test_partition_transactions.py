from __future__ import annotations

import pytest

from redis_ledger.broker.transactions.partition_transactions import AbortedHere, aborted_page, decide
from redis_ledger.ledger.entries import Aborted
from redis_ledger.txn.states import TxnState

BEYOND = 9_000_000_000_000_000


@pytest.mark.parametrize(
    ("state", "is_aborted_here", "has_tombstone", "expected"),
    [
        (None, True, False, "aborted"),
        (TxnState.ABORTED, False, False, "aborted"),
        (TxnState.ABORTING, False, True, "aborted"),
        (TxnState.TIMING_OUT, False, False, "aborted"),
        (TxnState.COMMITTED, False, True, "committed"),
        (TxnState.COMMITTING, False, False, "committed"),
        (TxnState.OPEN, False, False, "not_written"),
        (None, False, True, "ended"),
        (None, False, False, None),
    ],
)
def test_the_state_of_a_transaction_that_is_not_open_here(state, is_aborted_here, has_tombstone, expected):
    assert decide(state, is_aborted_here=is_aborted_here, has_tombstone=has_tombstone) == expected


def aborted(marker):
    return Aborted(marker, marker - 1, marker, 0)


def checkpoint(marker):
    return Aborted(-marker, BEYOND, marker, 0)


@pytest.mark.parametrize(
    ("members", "limit", "is_full", "shown", "following"),
    [
        ([], 2, False, [], None),
        ([aborted(3), aborted(5)], 2, False, [3, 5], None),
        ([aborted(3), aborted(5), aborted(7)], 2, False, [3, 5], 7),
        ([checkpoint(3), aborted(3), aborted(5), checkpoint(7), aborted(7)], 2, True, [3, 5], 7),
        ([checkpoint(3), aborted(3), checkpoint(5)], 1, True, [3], 5),
        ([checkpoint(3), aborted(3), checkpoint(5), aborted(5)], 3, True, [3, 5], 6),
    ],
)
def test_a_page_of_the_aborted_set_has_no_checkpoints_and_leads_to_the_next(members, limit, is_full, shown, following):
    found = [AbortedHere(marker, marker - 1, marker) for marker in shown]
    assert aborted_page(members, limit, is_full=is_full) == (found, following)
