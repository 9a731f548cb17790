"""The time at which a ledger is sealed."""

from __future__ import annotations

import pytest

from redis_ledger.config import Config
from redis_ledger.ledger.retention import OpenLedger

CONFIG = Config(ledger_bytes_max=100, ledger_age_ms_max=1_000)
YOUNG = OpenLedger(number=3, entries=5, size=99, max_offset=40, unlogged=0, created_ms=10_000)


@pytest.mark.parametrize(
    ("ledger", "is_due"),
    [
        (YOUNG, False),
        (YOUNG._replace(size=100), True),
        (YOUNG._replace(created_ms=9_000), True),
        (YOUNG._replace(created_ms=9_001), False),
        (YOUNG._replace(max_offset=20), False),  # the log start itself is in it
        (YOUNG._replace(max_offset=19), True),
        (YOUNG._replace(max_offset=-1), True),  # all that was scheduled in it was cancelled
        (YOUNG._replace(entries=0, size=100, created_ms=0, max_offset=-1), False),
        (YOUNG._replace(unlogged=1, size=100, created_ms=0), False),
    ],
)
def test_a_ledger_is_sealed_when_it_is_full_or_old_or_holds_nothing_that_is_left(ledger, is_due):
    assert ledger.is_due(start_offset=20, now_ms=10_000, config=CONFIG) is is_due


def test_a_ledgers_row_is_read_as_the_scripts_write_it():
    assert OpenLedger.parse(-2, b"7 2 0 40 1 99 10000") == OpenLedger(-2, 5, 99, 40, 1, 10_000)
