from __future__ import annotations

import pytest

from redis_ledger.cursor.record_state import RecordFacts, RecordState, decide
from redis_ledger.cursor.unacked import Lease, parse
from redis_ledger.ledger.entries import COMMIT, MARKER, TRANSACTIONAL, LogEntry

# start 5, mark-delete position 10, read 20, stable 30, end 40


def facts(offset, flags=0, **changed):
    entry = LogEntry(1, 1, offset, 1, 10, 7, 0, 0, flags, 0, 0)
    return RecordFacts("shared", 5, 30, 40, 10, 20, entry, False, False, None)._replace(**changed)


LEASE = Lease(0, 12, 12, "c", 1, 9_000)


@pytest.mark.parametrize(
    ("offset", "changed", "expected"),
    [
        (40, {}, ("invalid_position", "beyond_end")),
        (4, {}, ("acknowledged", "mark_delete")),
        (4, {"mark": 3}, ("hidden", "removed")),
        (9, {}, ("acknowledged", "mark_delete")),
        (12, {"flags": MARKER | COMMIT | TRANSACTIONAL, "is_acked": True}, ("hidden", "marker")),
        (12, {"is_aborted": True, "is_acked": True}, ("hidden", "aborted")),
        (12, {"entry": None}, ("hidden", "gap")),
        (12, {"is_acked": True}, ("acknowledged", "individual")),
        (12, {"lease": LEASE}, ("delivered", "leased")),
        (12, {"lease": LEASE._replace(consumer="")}, ("delivered", "returned")),
        (12, {}, ("pending_ack", "")),
        (20, {}, ("not_delivered", "")),
        (29, {}, ("not_delivered", "")),
        (30, {}, ("hidden", "above_stable_offset")),
        (39, {"entry": None}, ("hidden", "above_stable_offset")),
        (12, {"kind": "kafka", "mark": 13, "read": 13}, ("acknowledged", "mark_delete")),
        (12, {"kind": "kafka", "mark": -1, "read": -1}, ("not_acknowledged", "")),
    ],
)
def test_the_state_follows_from_the_facts(offset, changed, expected):
    given = {**changed}
    assert decide(offset, facts(offset, given.pop("flags", 0), **given)) == RecordState(*expected)


def test_a_gap_before_the_next_entry_is_a_gap():
    assert decide(12, facts(13)) == RecordState("hidden", "gap")


@pytest.mark.parametrize("row", [b"12 c%20d 1 9000", b"12 c%20d 1 9000 request-1"])
def test_a_lease_is_read_with_and_without_the_name_of_its_request(row):
    assert parse(0, 11, row) == Lease(0, 11, 12, "c d", 1, 9_000)
