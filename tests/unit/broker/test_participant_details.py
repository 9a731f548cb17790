"""The records of a transaction among log entries."""

from __future__ import annotations

from redis_ledger.broker.transactions.participant_details import WrittenRecords, newest_transaction, written
from redis_ledger.ledger.entries import COMMIT, MARKER, TRANSACTIONAL, LogEntry

ID, OTHER, PLAIN = 7, 8, -1


def batch(producer: int, base: int, records: int, size: int = 100, at_ms: int = 1_000) -> LogEntry:
    flags = 0 if producer == PLAIN else TRANSACTIONAL
    return LogEntry(1, base, base, records, size, producer, 0, -1, flags, at_ms, at_ms)


def marker(producer: int, offset: int, *, commit: bool, at_ms: int = 1_000) -> LogEntry:
    flags = TRANSACTIONAL | MARKER | (COMMIT if commit else 0)
    return LogEntry(0, 0, offset, 1, 0, producer, 0, -1, flags, at_ms, at_ms)


def test_only_the_batches_of_the_producer_are_counted():
    entries = [batch(ID, 3, 2), batch(PLAIN, 5, 9), batch(OTHER, 14, 1), batch(ID, 15, 4, 250)]
    assert written(entries, ID) == WrittenRecords(3, 18, 6, 2, 350, None, None)


def test_the_marker_is_no_record_and_shows_the_outcome():
    assert written([batch(ID, 3, 2), marker(ID, 5, commit=True)], ID) == WrittenRecords(3, 4, 2, 1, 100, 5, "commit")
    assert written([marker(ID, 5, commit=False)], ID) == WrittenRecords(None, None, 0, 0, 0, 5, "abort")
    assert written([marker(OTHER, 5, commit=True)], ID) == WrittenRecords(None, None, 0, 0, 0, None, None)


def test_without_records_there_are_no_offsets():
    assert written([], ID) == WrittenRecords(None, None, 0, 0, 0, None, None)


def test_an_earlier_transaction_of_the_same_producer_is_left_out():
    earlier = [batch(ID, 0, 1), marker(ID, 1, commit=True)]
    log = [*earlier, batch(ID, 2, 1), batch(OTHER, 3, 1), marker(ID, 4, commit=False)]
    found, is_whole = newest_transaction(log[::-1], ID, begun_ms=0)
    assert (found, is_whole) == ([log[2], log[4]], True)


def test_the_search_ends_before_the_time_at_which_the_transaction_was_begun():
    log = [batch(OTHER, 0, 1, at_ms=400), batch(ID, 1, 1, at_ms=600), marker(ID, 2, commit=True, at_ms=700)]
    assert newest_transaction(log[::-1], ID, begun_ms=500) == (log[1:], True)
    assert newest_transaction(log[::-1], ID, begun_ms=100) == (log[1:], False)
