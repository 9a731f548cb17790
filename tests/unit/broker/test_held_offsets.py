"""What can be done about a transaction that holds a stable offset."""

from __future__ import annotations

import pytest

from redis_ledger.broker.transactions.held_offsets import advice, waits
from redis_ledger.ids import TxnId
from redis_ledger.txn.coordinator import Producer, TransactionRecord
from redis_ledger.txn.states import TxnState

TXN = TxnId(3, 17)
BEGUN, TIMEOUT = 1_000_000, 60_000


def record(state: TxnState = TxnState.OPEN, producer: Producer | None = None) -> TransactionRecord:
    return TransactionRecord(TXN, state, BEGUN, TIMEOUT, BEGUN + TIMEOUT, "", [], False, producer)


@pytest.mark.parametrize(
    ("found", "now_ms", "expected"),
    [
        (record(), BEGUN + 42_000, "aborted at its deadline, in 18 s"),
        (record(), BEGUN + 59_999, "aborted at its deadline, in 1 s"),
        (record(), BEGUN, "`redis-ledger txns abort 3-17`"),
        (record(producer=Producer(5, 0, "billing")), BEGUN, "same transactional id"),
        (record(), BEGUN + TIMEOUT, "Its deadline has passed"),
        (record(TxnState.COMMITTING), BEGUN, "is being committed"),
        (record(TxnState.ABORTING), BEGUN, "is being aborted"),
        (record(TxnState.TIMING_OUT), BEGUN, "is being aborted"),
        (None, BEGUN, "coordinator does not have the transaction"),
    ],
)
def test_the_advice_follows_the_state_of_the_transaction(found, now_ms, expected):
    assert expected in advice(TXN, found, now_ms)


def test_a_native_transaction_has_no_transactional_id_to_advise():
    assert "transactional id" not in advice(TXN, record(), BEGUN)


@pytest.mark.parametrize(("position", "expected"), [(-1, False), (17, False), (18, True), (19, True)])
def test_a_reader_waits_when_it_has_read_up_to_the_stable_offset(position, expected):
    assert waits(position, 18) is expected
