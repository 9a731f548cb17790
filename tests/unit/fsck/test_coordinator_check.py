"""One row for each difference between the keys of a coordinator."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.fsck.coordinator_check import (
    check_call,
    check_id,
    check_log_entry,
    check_nonces,
    check_state,
    check_txn,
)
from redis_ledger.fsck.coordinator_facts import OPEN, CoordinatorPlace, LoggedTxn, TxnFacts, TxnRow
from redis_ledger.fsck.finding import Action, Edit
from redis_ledger.store.keys import CoordinatorKeys

PLACE = CoordinatorPlace(0, CoordinatorKeys("rl", 0))
ROW = b"O 500 100 400 ada n1|3:1,4:1,|t/id/0"
OUTCOME = b"C 500 100 400 ada n1"


def facts(**changed: Any) -> TxnFacts:
    given = {
        "row": ROW,
        "is_ordered": True,
        "deadline": 500,
        "outcome": None,
        "forget": None,
        "live": {"3": b"1", "4": b"1"},
    }
    return TxnFacts(7, **{**given, **changed})


def ended(**changed: Any) -> TxnFacts:
    return facts(**{"row": None, "is_ordered": False, "deadline": None, "outcome": OUTCOME, "forget": 500, **changed})


def logged(status: int = OPEN, participants: tuple[str, ...] = ("t/id/0",)) -> LoggedTxn:
    txn = LoggedTxn()
    txn.status, txn.started, txn.timeout, txn.owner = status, 100, 400, "ada"
    txn.positions, txn.participants = ["3:1", "4:1"], [*participants]
    return txn


@pytest.mark.parametrize("whole", [facts(), ended()])
def test_a_transaction_in_its_keys_has_no_difference(whole: TxnFacts):
    assert list(check_txn(PLACE, whole, logged())) == []


@pytest.mark.parametrize(
    ("given", "log", "kind", "repair"),
    [
        (facts(is_ordered=False), None, "txn_index", Edit),
        (facts(deadline=None), None, "txn_index", Edit),
        (facts(deadline=9), None, "txn_index", Edit),
        (facts(outcome=OUTCOME, forget=500), None, "txn_index", Edit),
        (facts(row=b"x"), logged(), "txn_row", Action),
        (facts(row=b"x"), None, "txn_row", type(None)),
        (facts(row=None, is_ordered=False, deadline=None), logged(), "txn_row", Action),
        (facts(live={"3": b"1", "4": b"0"}), logged(), "txn_log", Action),
        (facts(), logged(status=2), "txn_row", Action),
        (facts(), logged(participants=("t/id/0", "t/id/1")), "txn_row", Action),
        (facts(row=None, live={}), None, "txn_index", Edit),
        (ended(forget=None), None, "outcome_index", Edit),
        (ended(forget=9), None, "outcome_index", Edit),
        (ended(outcome=None), None, "outcome_index", Edit),
        (ended(outcome=b"x"), None, "outcome_index", Edit),
    ],
)
def test_a_difference_is_found_with_its_repair(given: TxnFacts, log: LoggedTxn | None, kind: str, repair: type):
    found = list(check_txn(PLACE, given, log))
    assert [type(each.repair) for each in found if each.kind == kind][:1] == [repair]


def test_a_row_is_rebuilt_from_the_log():
    row = logged().row("n1", [], 900)
    assert row.text.encode() == ROW
    wide = logged(participants=("t/id/0", "t/id/1")).row("n1", ["t/id/1"], 900)
    assert wide.participants == ("t/id/0", "+")
    assert logged(status=2).row("-", [], 900).deadline == 900


def test_a_log_that_lost_its_first_record_rebuilds_nothing():
    txn = logged()
    txn.started = -1
    assert list(check_txn(PLACE, facts(row=None, is_ordered=False, deadline=None), txn)) == []


@pytest.mark.parametrize(
    ("state", "right"),
    [
        ({"next": "8", "entry": "4"}, {}),
        ({"next": "7", "entry": "4"}, {"next": 8}),
        ({"next": "8", "entry": "3"}, {"entry": 4}),
        ({"entry": "4"}, {"next": 8}),
    ],
)
def test_numbers_are_above_all_that_is_named(state: dict[str, str], right: dict[str, int]):
    counts = {"created": "0", "committed": "0", "aborted": "0", "timeout": "0"}
    fields = {name.encode(): value.encode() for name, value in {**counts, **state}.items()}
    found = list(check_state(PLACE, fields, 7, 4))
    assert {each.item: each.repair.writes[0].args[1] for each in found if isinstance(each.repair, Edit)} == right


@pytest.mark.parametrize(
    ("records", "bits", "count"), [(2, b"10", 0), (2, b"1", 1), (2, None, 1), (None, b"1", 1), (1, b"x", 1)]
)
def test_bits_belong_to_the_records_of_an_entry(records: int | None, bits: bytes | None, count: int):
    assert len(list(check_log_entry(PLACE, "3", records, bits))) == count


@pytest.mark.parametrize(
    ("serial", "row", "outcome", "step", "count"),
    [
        (b"7", ROW, None, None, 0),
        (b"7", None, OUTCOME, None, 0),
        (b"7", None, None, b"1", 0),
        (b"7", None, None, None, 1),
        (None, None, None, b"1", 1),
    ],
)
def test_a_nonce_belongs_to_something(
    serial: bytes | None, row: bytes | None, outcome: bytes | None, step: bytes | None, count: int
):
    assert len(list(check_nonces(PLACE, {b"n": serial}, [row], [outcome], [step]))) == count


@pytest.mark.parametrize(
    ("name", "row", "count"),
    [
        (b"job", b"4 0 60000 - - - -1 - 100", 0),
        (b"job", b"4 1 60000 7 C 4 0 C 100", 0),
        (b"job", b"4 1 60000 7 C 4 0 C 100 2", 0),  # written after its coordinator had lost writes twice
        (b"job", b"4 1 60000 7 C 4 0 C 100 x", 1),
        (b"job", b"4 1 60000 7 C 4 0 C 100 2 3", 1),
        (b"=job", b"17 100", 0),
        (b"job", b"17 100", 1),
        (b"job", b"x", 1),
    ],
)
def test_a_row_of_a_transactional_id_has_its_form(name: bytes, row: bytes, count: int):
    assert len(list(check_id(PLACE, name, row))) == count


def test_a_call_has_its_form():
    assert list(check_call(PLACE, b"b1", b"4 7 8\n\x90")) == []
    assert list(check_call(PLACE, b"b1", b"4  8\n\x90")) == []
    assert len(list(check_call(PLACE, b"b1", b"x"))) == 1


def test_a_row_is_parsed_and_written_as_it_was():
    row = TxnRow.parse(ROW)
    assert row is not None
    assert row.text.encode() == ROW
    assert TxnRow.parse(b"O 500|x") is None
