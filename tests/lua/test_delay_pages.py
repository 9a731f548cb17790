"""lua/delay/settle and clear at sizes above one call."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from tests.support.delay_scripts import Delays

TXN, NAME = (3, 17), "3-17"
COUNT = 1_000


def settled(delays: Delays, number: int = 1) -> int:
    """The number of calls."""
    for calls in range(1, 100):
        reply = delays.settle(NAME, number)
        if len(reply) == 2:
            assert reply[0] == Status.OK
            return calls
        assert reply[2] == 1
    raise AssertionError("it never ends")


def test_a_long_batch_of_a_committed_transaction_is_indexed_page_by_page(delays):
    delays.schedule(*range(1, COUNT + 1), txn=TXN)
    delays.commit(*TXN)
    assert delays.settle(NAME, 1) == [Status.OK, 1, 1]
    assert delays.counters()["held"] == COUNT - 400
    assert delays.live() == set(range(1, 401))
    assert settled(delays) == 2
    assert delays.at("open") == [(n, n, -1) for n in range(1, COUNT + 1)]
    assert (delays.field(NAME), delays.field("decided"), delays.counters()["held"]) == (None, "", 0)


def test_a_long_batch_of_an_aborted_transaction_vanishes_page_by_page(delays):
    delays.schedule(5)
    delays.schedule(*range(1, COUNT + 1), txn=TXN)
    delays.abort(*TXN)
    assert settled(delays) == 3
    assert (delays.live(), list(delays.payloads(-1)), delays.counters()["held"]) == ({1}, ["0-1"], 0)


@pytest.mark.parametrize("commit", [True, False])
def test_a_page_ends_between_two_blocks(delays, commit):
    blocks = [[10 * n + i for i in range(7)] for n in range(90)]
    delays.schedule(*blocks, txn=TXN)
    delays.end({"txn": TXN, "commit": commit})
    delays.settle(NAME, 1)
    assert delays.counters()["held"] % 7 == 0
    assert settled(delays) == 1
    assert len(delays.live()) == (90 if commit else 0)


def test_firing_between_two_pages_takes_what_is_indexed(delays):
    delays.schedule(*range(1, COUNT + 1), txn=TXN)
    delays.commit(*TXN)
    delays.settle(NAME, 1)
    assert delays.fire(now=COUNT + 1, most=10_000).records == 400
    settled(delays)
    assert delays.fire(now=COUNT + 1, most=10_000).records == COUNT - 400


def test_all_is_not_cleared_while_open_transactions_hold_very_many(delays):
    delays.schedule(5)
    delays.schedule(*((n, 10) for n in range(1, 502)), txn=TXN)
    before = delays.dump()
    assert delays.clear() == [Status.TOO_MANY, 5_010]
    assert delays.dump() == before
    delays.abort(*TXN)
    settled(delays)
    assert delays.clear() == [Status.OK, 1]
