"""lua/ledger/cut: deletes payload below the log start and keeps the ledger."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import Ledger

MANY = 1_000


def entries(ledger: Ledger, number: int = 1) -> list[int]:
    return [int(id.split(b"-")[1]) for id, _ in ledger.client.xrange(ledger.keys.data(number))]


def counts_agree(ledger: Ledger, number: int = 1) -> bool:
    issued, deleted, *_ = map(int, ledger.client.hget(ledger.keys.ledgers, number).split())
    return bool(issued - deleted == ledger.client.xlen(ledger.keys.data(number)))


@pytest.fixture
def ten(ledger: Ledger) -> Ledger:
    """Ten batches of two records in ledger 1."""
    for _ in range(10):
        ledger.append(2)
    return ledger


@pytest.mark.parametrize(("below", "first"), [(0, 1), (2, 2), (3, 2), (8, 5), (19, 10), (20, None)])
def test_payload_below_the_log_start_is_deleted_and_the_rest_is_readable(ten, below, first):
    ten.trim(below=below)
    removed = 10 if first is None else first - 1
    assert ten.cut(1) == [Status.OK, removed]
    assert entries(ten) == ([] if first is None else list(range(first, 11)))
    assert counts_agree(ten)
    # and appends go on in the same ledger
    assert ten.append(1)[:2] == [Status.OK, "20"]
    assert entries(ten)[-1] == 11
    assert ten.cut(1) == [Status.OK, 0]


def test_trim_names_the_ledger_that_the_log_begins_in_when_the_start_has_moved(ten):
    ten.trim(below=4)
    assert ten.begins_in == "1"
    ten.trim(below=4)
    assert ten.begins_in == ""
    ten.roll()
    ten.append(2)
    ten.trim(below=20)
    assert ten.begins_in == "2"
    ten.trim(below=22)
    assert ten.begins_in == "2"


@pytest.fixture
def nine(ledger: Ledger) -> Ledger:
    """Ledgers 1 to 10; 9 and 10 have two batches each."""
    for _ in range(8):
        ledger.append(1)
        ledger.roll()
    for _ in range(2):
        ledger.append(1)
        ledger.append(1)
        if ledger.ledger < 10:
            ledger.roll()
    return ledger


def test_numbers_of_ledgers_of_any_length_are_compared_as_numbers(nine):
    # Given a log that begins in ledger 9, nothing of ledger 10 goes
    nine.trim(below=8)
    assert nine.begins_in == "9"
    assert nine.cut(10) == [Status.OK, 0]
    assert entries(nine, 10) == [1, 2]
    # When it begins in ledger 10, all of ledger 9 goes
    nine.trim(below=10)
    assert nine.cut(9) == [Status.OK, 2]
    assert nine.cut(10) == [Status.OK, 0]


def test_entries_that_were_refused_stay_counted(ledger):
    ledger.append(1)
    assert ledger.append(1, pid=7, sequence=5)[0] == Status.UNKNOWN_PRODUCER
    ledger.append(1)
    ledger.append(1)
    ledger.trim(below=2)
    assert ledger.cut(1) == [Status.OK, 2]
    assert entries(ledger) == [4]
    assert counts_agree(ledger)
    assert ledger.append(1)[:2] == [Status.OK, "3"]


def test_an_entry_that_no_script_has_accepted_yet_stays_for_the_next_append_to_delete(ten):
    ten.xadd(ten.client)
    ten.trim(below=20)
    assert ten.cut(1) == [Status.OK, 10]
    assert entries(ten) == [11]
    assert ten.append(1) == [Status.HEALED]
    assert ten.append(1)[:2] == [Status.OK, "20"]
    assert counts_agree(ten)


def test_markers_and_ledgers_above_are_passed_over(ledger):
    ledger.append(1, txn=(0, 1))
    ledger.commit(0, 1)
    ledger.roll()
    ledger.append(1)
    ledger.trim(below=1)
    # the log begins with the marker, which has no payload, and goes on in ledger 2
    assert ledger.begins_in == "2"
    assert ledger.cut(1) == [Status.OK, 1]
    assert ledger.cut(2) == [Status.OK, 0]


def test_cut_keeps_records_of_an_open_transaction(ten):
    ten.append(1, txn=(0, 1))
    ten.append(1)
    assert ten.trim(below=22)[1] == "20"
    assert ten.cut(1) == [Status.OK, 10]
    assert entries(ten) == [11, 12]


def test_one_call_removes_so_many_and_gives_their_memory_back(ledger):
    for _ in range(MANY // 50):
        ledger.append_all(*({"payload": b"x" * 200} for _ in range(50)))
    before = ledger.client.memory_usage(ledger.keys.data(1), samples=0)
    ledger.trim(below=MANY - 10)
    removed = ledger.cut(1, most=200)[1]
    assert 100 <= removed <= 200
    while removed:
        removed = ledger.cut(1, most=200)[1]
    assert entries(ledger) == list(range(MANY - 9, MANY + 1))
    assert counts_agree(ledger)
    assert ledger.client.memory_usage(ledger.keys.data(1), samples=0) < before / 20


def test_ledgers_of_scheduled_records_and_those_that_are_not_there_are_left_alone(ten):
    ten.trim(below=20)
    before = ten.dump()
    assert ten.cut(-1) == [Status.OK, 0]
    assert ten.cut(7) == [Status.OK, 0]
    assert ten.cut(1, topic_id="another") == [Status.UNKNOWN_TOPIC]
    assert ten.dump() == before
