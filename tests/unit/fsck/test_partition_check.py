"""One row for each difference between a partition's log and its indexes."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.fsck.finding import Edit, hget
from redis_ledger.fsck.partition_check import check_partition
from redis_ledger.fsck.partition_facts import PartitionFacts, StreamFacts
from redis_ledger.fsck.payload_check import check_payload
from redis_ledger.fsck.producer_check import Decided, check_aborted, check_markers, check_windows
from redis_ledger.ids import TxnId
from redis_ledger.ledger.entries import TRANSACTIONAL, Aborted, LogEntry
from redis_ledger.ledger.log_trace import LogTrace, Marker
from redis_ledger.ledger.place import Place
from redis_ledger.store.keys import PartitionKeys
from tests.unit.ledger.test_log_trace import batch, marker

PLACE = Place("t", "abc", 0, PartitionKeys("rl", "t", 0))
STATE = {
    "topic_id": "abc", "epoch": "0", "next": "3", "start": "0", "stable": "1", "ledger": "1", "bytes": "300",
    "newest": "4000", "committed": "0", "aborted": "0", "created": "1",
}  # fmt: skip
ENTRIES = [
    batch(0),
    batch(1, pid=7, epoch=0, sequence=0, flags=TRANSACTIONAL),
    batch(2, pid=7, epoch=0, sequence=1, flags=1),
]


def facts(**changed: Any) -> PartitionFacts:
    """A partition of three batches, the last two in an open transaction; whole unless something is changed."""
    trace = LogTrace()
    trace.add(ENTRIES)
    state = {name.encode(): value.encode() for name, value in {**STATE, **changed.pop("state", {})}.items()}
    given: dict[str, Any] = {
        "ledgers": {b"1": b"3 0 0 2 0 300 1"}, "streams": {1: StreamFacts(3, 3)},
        "open": {b"7": b"0 2 99 1"}, "firsts": {b"7": 1}, **changed,
    }  # fmt: skip
    return PartitionFacts(PLACE, state, trace, **given)


def test_a_whole_partition_has_no_difference():
    assert list(check_partition(facts())) == []


DIFFERENCES: list[tuple[dict[str, Any], str, str, str | None]] = [
    ({"state": {"next": "2"}}, "partition_state", "next", "3"),
    ({"state": {"stable": "3"}}, "partition_state", "stable", "1"),
    ({"state": {"bytes": "1"}}, "partition_state", "bytes", "300"),
    ({"state": {"newest": "x"}}, "partition_state", "newest", "4000"),
    ({"state": {"ledger": "4"}}, "partition_state", "ledger", "1"),
    ({"state": {"start": "9"}}, "partition_state", "start", "0"),
    ({"state": {"topic_id": "other"}}, "partition_state", "topic_id", "abc"),
    ({"open": {}}, "open_transaction", "7", None),
    ({"open": {b"7": b"0 2 99 2"}}, "open_transaction", "7", "0 2 99 1"),
    ({"firsts": {}}, "open_first", "7", "1"),
    ({"open": {b"7": b"0 2 99 1", b"8": b"0 2 98 0"}}, "open_transaction", "8", None),
    ({"firsts": {b"7": 1, b"8": 0}}, "open_transaction", "8", None),
    ({"ledgers": {b"1": b"3 1 0 2 0 300 1"}}, "ledger_row", "1 deleted", "3 0 0 2 0 300 1"),
    ({"ledgers": {b"1": b"3 0 0 1 0 300 1"}}, "ledger_row", "1 max_offset", "3 0 0 2 0 300 1"),
    ({"ledgers": {b"1": b"3 0 0 2 0 299 1"}}, "ledger_row", "1 size", "3 0 0 2 0 300 1"),
    ({"ledgers": {b"1": b"3 0 0 2 0 301 1"}}, "ledger_row", "1 size", "3 0 0 2 0 300 1"),
    ({"ledgers": {b"1": b"3 0 1 2 0 300 1"}}, "ledger_row", "1 sealed", "3 0 0 2 0 300 1"),
    ({"ledgers": {b"1": b"nonsense"}}, "ledger_row", "1", "3 0 0 2 0 300 1"),
    ({"ledgers": {}}, "ledger_row", "1", "3 0 0 2 0 300 1"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "kind", "item", "written"), DIFFERENCES)
def test_a_difference_is_found_with_its_repair(changed: dict[str, Any], kind: str, item: str, written: str | None):
    found = list(check_partition(facts(**changed)))
    assert (kind, item) in [(each.kind, each.item) for each in found]
    repair = next(each.repair for each in found if (each.kind, each.item) == (kind, item))
    if written is not None:
        assert isinstance(repair, Edit)
        assert written in [str(arg) for write in repair.writes for arg in write.args]


@pytest.mark.parametrize("changed", [changed for changed, *_ in DIFFERENCES])
def test_every_repair_requires_that_the_log_has_not_grown_since(changed: dict[str, Any]):
    given = facts(**changed)
    unchanged = hget(PLACE.keys.state, "next", given.state[b"next"])
    for found in check_partition(given):
        guards = (
            found.repair.guards if isinstance(found.repair, Edit) else found.repair.args[-1] if found.repair else ()
        )
        assert found.repair is None or unchanged in guards


def test_entries_that_a_cut_off_call_left_are_no_difference():
    assert list(check_partition(facts(streams={1: StreamFacts(4, 4)}))) == []


def test_a_gap_at_the_end_is_named_and_not_closed():
    (gap,) = check_partition(facts(state={"next": "9"}))
    assert (gap.kind, gap.item, gap.repair) == ("log_gap", "3", None)
    assert gap.detail == "Offsets 3 to 8 have no log entry."


@pytest.mark.parametrize(("producer_id", "count"), [(-1, 0), (7, 1)])
def test_a_log_that_lost_all_records_begins_with_the_marker_of_an_epoch(producer_id: int, count: int):
    trace = LogTrace()
    trace.add([marker(1_000_000, producer_id, commit=False)])
    state = {**STATE, "next": "1000001", "stable": "1000001", "bytes": "0"}
    given = PartitionFacts(
        PLACE, {name.encode(): value.encode() for name, value in state.items()}, trace,
        ledgers={}, streams={}, open={}, firsts={},
    )  # fmt: skip
    assert [each.kind for each in check_partition(given)].count("log_gap") == count


@pytest.mark.parametrize(
    ("row", "count"),
    [
        (b"0 5000 0:0:1 1:1:2", 0),
        (b"0 5000 0:0:1 1:1:2 2:2:3", 0),  # written after the log was read
        (b"0 5000 0:0:1", 1),
        (b"0 5000 0:0:1 2:2:-4", 0),  # its last batch is delayed
        (b"nonsense", 1),
        (None, 1),
    ],
)
def test_a_window_has_the_last_batch_of_the_log(row: bytes | None, count: int):
    found = list(check_windows(PLACE, facts().trace, {b"7": row}, 0, 6_000))
    assert len(found) == count
    for each in found:
        assert isinstance(each.repair, Edit)
        assert each.repair.writes[0].args == (b"7", "0 5000 0:0:1 1:1:2")


@pytest.mark.parametrize(
    ("members", "count"),
    [
        ([Aborted(7, 1, 3, 4)], 0),
        ([Aborted(7, 1, 3, 2)], 0),  # stops readers later than necessary
        ([Aborted(7, 1, 3, 4), Aborted(-3, 9, 3, 2)], 0),  # with a checkpoint
        ([], 1),
        ([Aborted(8, 1, 3, 4)], 1),
        ([Aborted(7, 2, 3, 4)], 1),
        ([Aborted(7, 1, 3, 9)], 1),
        ([Aborted(7, 1, 3, 4), Aborted(7, 1, 5, 4)], 1),
    ],
)
def test_the_aborted_set_has_every_abort_of_the_log_and_no_other(members: list[Aborted], count: int):
    assert len(check_aborted(PLACE, [Marker(3, 7, 0, 1, 4, is_commit=False)], members, 0)) == count


@pytest.mark.parametrize(("first", "log_first", "count"), [(1, 1, 0), (0, 1, 0), (0, 0, 1), (2, 1, 1)])
def test_the_first_offset_of_an_abort_counts_unless_it_was_trimmed(first: int, log_first: int, count: int):
    markers, members = [Marker(3, 7, 0, 1, 4, is_commit=False)], [Aborted(7, first, 3, 4)]
    assert len(check_aborted(PLACE, markers, members, log_first)) == count


@pytest.mark.parametrize(
    ("is_commit", "state", "count"),
    [(True, "C", 0), (True, "A", 1), (True, "O", 1), (False, "C", 1), (False, "T", 0), (False, "", 0)],
)
def test_a_marker_says_what_was_decided(is_commit: bool, state: str, count: int):
    markers = [Marker(3, 7, 0, 1, 4, is_commit=is_commit)]
    assert len(list(check_markers(PLACE, markers, {7: Decided(TxnId(0, 7), state)}))) == count


def test_missing_payload_is_named_as_one_range():
    entries = [LogEntry(1, 1 + i, 10 * i, 10, 100, -1, -1, -1, 0, 1, 1) for i in range(3)]
    (found,) = check_payload(PLACE, entries, {}, 0)
    assert found.detail == "The payload of offsets 0 to 29, in ledger 1, is missing."
    assert check_payload(PLACE, entries, {}, 30) == []
