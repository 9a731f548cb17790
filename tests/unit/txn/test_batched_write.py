"""Thresholds of batched writes: settings, changes, and what is in force."""

from __future__ import annotations

import pytest

from redis_ledger.config import Config
from redis_ledger.store.group_commit import Thresholds
from redis_ledger.txn.batched_write import PENDING_ACKS, TRANSACTION_LOG, BatchedWrite, BatchedWriteChange, settings_of

SETTINGS = BatchedWrite(True, 64, 4096, 1)


@pytest.mark.parametrize(
    ("enabled", "max_records", "is_batched"),
    [(True, 2, True), (True, 1, False), (True, 0, False), (False, 64, False)],
)
def test_a_batch_has_two_records_or_more(enabled, max_records, is_batched):
    batched = BatchedWrite(enabled, max_records, 4096, 1)
    assert batched.is_batched is is_batched
    assert batched.thresholds(1 << 20) == Thresholds(max_records if is_batched else 1, 4096, 1)


@pytest.mark.parametrize(("max_size", "bytes_max"), [(100, 100), (1 << 20, 32_768)])
def test_a_call_has_a_limit_of_its_own(max_size, bytes_max):
    assert BatchedWrite(True, 64, max_size, 1).thresholds(32_768).bytes_max == bytes_max


@pytest.mark.parametrize(
    ("change", "in_force"),
    [
        (BatchedWriteChange(), SETTINGS),
        (BatchedWriteChange(enabled=False), BatchedWrite(False, 64, 4096, 1)),
        (BatchedWriteChange(max_records=5, max_delay_ms=0), BatchedWrite(True, 5, 4096, 0)),
    ],
)
def test_what_was_not_changed_is_the_setting_of_the_broker(change, in_force):
    assert change.of(SETTINGS) == in_force


def test_each_log_has_settings_of_its_own():
    config = Config(transaction_log_batched_write_max_records=3, transaction_pending_ack_batched_write_enabled=False)
    found = settings_of(config)
    assert found[TRANSACTION_LOG] == BatchedWrite(True, 3, 4_194_304, 1)
    assert found[PENDING_ACKS] == BatchedWrite(False, 16, 4_194_304, 0)
