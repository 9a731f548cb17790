"""lua/ledger/append_sidecar and release_sidecar, and what txn/end and ledger/trim do with the sidecar buffer."""

from __future__ import annotations

import pytest
from redis.exceptions import ResponseError

from redis_ledger.ids import TxnId
from redis_ledger.ledger.entries import SIDECAR
from redis_ledger.ledger.open_row import Aside
from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import TOPIC_ID
from tests.support.sidecar_scripts import SidecarLedger

PID = 77


@pytest.fixture
def new(connect, prefix):
    """A partition that has had no transaction."""
    made = SidecarLedger(connect(f"{prefix}:{{orders:0}}:"), prefix)
    made.create()
    return made


@pytest.fixture
def ledger(new):
    """With a delay ledger."""
    assert new.aside(txn=(0, 0)) == [Status.LEDGER_MOVED, "-1"]
    return new


def test_a_gap_behind_a_batch_without_offset_is_a_gap_unless_batches_may_be_lost(ledger):
    """Decision 0028: a producer that may have lost batches begins a new epoch; any other one repeats them in order."""
    ledger.aside(2, txn=(0, 1), pid=PID, sequence=0, owner="t")
    ledger.now += 1
    k = ledger.keys
    taken = ledger.run("ledger/takeover", (k.state, k.log), TOPIC_ID, 0, 9, 1000, ledger.now, k.wake, 32)
    assert taken[:2] == [Status.OK, 1]
    assert ledger.aside(1, txn=(0, 1), pid=PID, sequence=5, owner="t")[0] == Status.UNKNOWN_PRODUCER
    # Given another producer, which began after the loss
    ledger.now += 1
    assert ledger.aside(2, txn=(0, 3), pid=8, sequence=0)[0] == Status.OK
    assert ledger.aside(1, txn=(0, 3), pid=8, sequence=5) == [Status.SEQUENCE_GAP, 2]
    ledger.now += 1
    both = ledger.aside_all(
        {"txn": (0, 3), "pid": 8, "sequence": 2, "records": 1}, {"txn": (0, 3), "pid": 8, "sequence": 5, "records": 1}
    )
    assert both == [[Status.OK, "-1"], [Status.SEQUENCE_GAP, 3]]


# -- appends -----------------------------------------------------------------------------------------------------------


def test_the_first_batch_makes_the_delay_ledger_and_is_sent_again(new):
    assert new.aside(txn=(0, 1)) == [Status.LEDGER_MOVED, "-1"]
    assert (new.payloads(-1), new.opened(), new.buffer()) == ({}, {}, [])
    assert new.aside(txn=(0, 1)) == [Status.OK, "-1"]
    assert list(new.payloads(-1)) == ["0-1"]


def test_an_accepted_batch_is_noted_and_has_no_offset(ledger):
    """SC-03"""
    before = (ledger.next, ledger.stable, ledger.log())
    assert ledger.aside_all({"records": 3, "txn": (2, 1)}, {"records": 2, "txn": (2, 1)}) == [[Status.OK, "-1"]] * 2
    assert ledger.buffer() == ["2-1 000000000000 -1 1 3 7 0", "2-1 000000000003 -1 2 2 7 0"]
    pid = TxnId(2, 1).producer_id
    row = ledger.opened()[pid]
    assert (row.txn, row.aside) == (TxnId(2, 1), Aside(5, 14, 2, ledger.now, {-1: 2}))
    assert ledger.client.zscore(ledger.keys.firsts, pid) == row.score == -2
    assert ledger.row(-1)[:5] == [2, 0, 0, -1, 2]
    assert (ledger.next, ledger.stable, ledger.log()) == before


def test_a_batch_that_comes_again_is_a_duplicate_and_its_payload_goes(ledger):
    """SC-04"""
    for sequence in (0, 2):
        assert ledger.aside(2, txn=(0, 1), pid=PID, sequence=sequence, owner="t") == [Status.OK, "-1"]
    before = ledger.buffer(), ledger.opened()
    again = ledger.aside(2, txn=(0, 1), pid=PID, sequence=0, owner="t", payload=b"other")
    assert again == [Status.DUPLICATE, "-1"]
    assert (ledger.buffer(), ledger.opened()) == before
    assert set(ledger.payloads(-1).values()) == {b"payload"}
    assert ledger.row(-1)[:2] == [3, 1]


@pytest.mark.parametrize(
    ("batch", "refusal"),
    [
        ({"txn": (0, 1), "pid": PID, "sequence": 5, "owner": "t"}, Status.SEQUENCE_GAP),
        ({"txn": (0, 1), "pid": PID, "epoch": -1, "sequence": 2, "owner": "t"}, Status.STALE_EPOCH),
        ({"txn": (0, 9)}, Status.TXN_ENDED),
        ({"txn": (0, 7), "verified": False}, Status.NOT_VERIFIED),
        ({"txn": (0, 7), "pid": PID}, Status.OTHER_OPEN),
        ({"txn": (0, 5)}, Status.OTHER_BUFFER),
    ],
)
def test_a_refused_batch_leaves_nothing_and_its_neighbours_are_taken(ledger, batch, refusal):
    """SC-17, TB-13"""
    # Given an open transaction, one that has ended, and one in the marker buffer
    ledger.aside(2, txn=(0, 1), pid=PID, sequence=0, owner="t")
    ledger.commit(0, 9)
    ledger.append(txn=(0, 5))
    before, entries = ledger.dump(), list(ledger.payloads(-1))
    # When a refused batch arrives alone
    assert ledger.aside(**batch)[0] == refusal
    # Then only the entry that it got is counted, and deleted
    after = ledger.dump()
    assert list(ledger.payloads(-1)) == entries
    assert ledger.row(-1)[:2] == [2, 1]
    for dump in (before, after):
        for changed in ("ledgers", "data:-1", "producers"):
            del dump[changed]
    assert before == after
    # And between two others these are taken
    answers = ledger.aside_all({"txn": (3, 1)}, batch, {"txn": (3, 2)})
    assert [answer[0] for answer in answers] == [Status.OK, refusal, Status.OK]
    assert list(ledger.payloads(-1)) == [*entries, "0-3", "0-5"]


def test_a_batch_for_the_marker_buffer_of_a_sidecar_transaction_is_refused(ledger):
    """SC-01"""
    ledger.aside(txn=(0, 1))
    before = ledger.log()
    assert ledger.append(txn=(0, 1))[0] == Status.OTHER_BUFFER
    assert (ledger.log(), ledger.payloads()) == (before, {})


def test_another_topic_takes_nothing(ledger):
    ledger.aside(txn=(0, 1))
    before = ledger.buffer(), ledger.payloads(-1), ledger.opened()
    assert ledger.aside_all({"txn": (0, 1)}, topic_id="t-2") == [[Status.UNKNOWN_TOPIC]]
    assert (ledger.buffer(), ledger.payloads(-1), ledger.opened()) == before


def test_an_absent_partition_takes_nothing(connect, prefix):
    absent = SidecarLedger(connect(f"{prefix}:{{orders:0}}:"), prefix)
    assert absent.aside(txn=(0, 1)) == [Status.UNKNOWN_TOPIC]
    assert absent.dump() == {}


def test_an_entry_that_no_call_accepted_is_deleted_first(ledger):
    """SC-05: Redis stopped between the payload and the call."""
    ledger.aside(txn=(0, 1))
    ledger.xadd(ledger.client, -1, b"lost")
    assert ledger.aside(txn=(0, 1)) == [Status.HEALED]
    assert list(ledger.payloads(-1)) == ["0-1"]
    assert ledger.aside(txn=(0, 1)) == [Status.OK, "-1"]
    assert b"lost" not in ledger.payloads(-1).values()


# -- ends --------------------------------------------------------------------------------------------------------------


def test_a_commit_gives_all_records_their_offsets_at_once(ledger):
    """SC-05, SC-08"""
    ledger.aside_all({"records": 3, "txn": (2, 1)}, {"records": 2, "txn": (2, 1)})
    ledger.append(1)
    assert ledger.end({"txn": (2, 1), "commit": True}) == [Status.OK, "5+5"]
    (_, entry) = ledger.log()
    assert (entry.ledger, entry.entry, entry.base_offset, entry.records, entry.size) == (2, 1, 1, 5, 14)
    assert entry.flags == SIDECAR
    assert (ledger.next, ledger.stable, ledger.opened()) == (6, 6, {})
    assert ledger.row(-1)[:5] == [2, 0, 0, 5, 0]
    assert ledger.client.zcard(ledger.keys.firsts) == 1


def test_a_transaction_of_one_batch_is_an_ordinary_entry(ledger):
    """SC-02"""
    ledger.aside(4, txn=(2, 1))
    assert ledger.end({"txn": (2, 1), "commit": True}) == [Status.OK, "3+4"]
    (entry,) = ledger.log()
    assert (entry.ledger, entry.entry, entry.records, entry.flags) == (-1, 1, 4, SIDECAR)
    assert ledger.buffer() == []


@pytest.mark.parametrize("commit", [True, False])
def test_a_repeated_end_changes_nothing(ledger, commit):
    """SC-06, TB-08"""
    ledger.aside_all({"txn": (0, 1)}, {"txn": (0, 1)})
    ledger.end({"txn": (0, 1), "commit": commit, "watermark": 0})
    before = ledger.dump()
    again = [ledger.end({"txn": (0, 1), "commit": commit, "watermark": 0}) for _ in range(2)]
    assert again == [[Status.OK, "-1"]] * 2
    assert ledger.dump() == before


def test_several_ends_in_one_call_leave_what_calls_of_their_own_leave(connect, prefix):
    ends = [{"txn": (0, n), "commit": n != 2} for n in (3, 1, 2)]
    made = []
    for number, calls in enumerate(([[end] for end in ends], [ends])):
        each = SidecarLedger(connect(f"{prefix}:{{orders:{number}}}:"), prefix, number=number)
        each.create()
        each.aside(txn=(0, 1))
        for serial in (1, 2, 3):
            each.aside_all({"records": 2, "txn": (0, serial)}, {"txn": (0, serial)})
        for call in calls:
            each.end(*call)
        made.append(each)
    assert made[0].dump() == made[1].dump()
    assert [(e.base_offset, e.entry) for e in made[0].log()] == [(0, 3), (3, 1)]


def test_leftovers_below_a_watermark_are_aborted(ledger):
    """TB-12"""
    ledger.aside(txn=(0, 1))
    ledger.append(txn=(0, 2))
    ledger.commit(0, 5, watermark=4)
    assert (ledger.opened(), ledger.buffer()[0]) == ({}, "!A 0-1")
    assert (ledger.next, ledger.stable) == (2, 2)


# -- release -----------------------------------------------------------------------------------------------------------


def test_nothing_to_release_changes_nothing(ledger):
    ledger.aside_all({"txn": (0, 1)}, {"txn": (0, 1)})
    ledger.aside_all({"txn": (0, 2)}, {"txn": (0, 2)})
    ledger.end({"txn": (0, 2), "commit": True})
    before = ledger.dump()
    assert ledger.release() == [Status.OK, 0, 0, 0, ""]
    assert ledger.dump() == before


def test_the_batches_of_an_aborted_transaction_go_with_their_payload(ledger):
    """SC-07, SC-16: and no others."""
    for serial in (1, 11, 2):
        ledger.aside_all({"txn": (0, serial)}, {"txn": (0, serial)})
    ledger.abort(0, 1)
    assert ledger.release() == [Status.OK, 0, 0, 1, "-1"]
    assert ledger.release("-1") == [Status.OK, 2, 14, 0, ""]
    assert [each.split()[0] for each in ledger.buffer()] == ["0-11", "0-11", "0-2", "0-2"]
    assert list(ledger.payloads(-1)) == ["0-3", "0-4", "0-5", "0-6"]
    assert ledger.row(-1)[:5] == [6, 2, 0, -1, 4]
    assert ledger.release("-1") == [Status.OK, 0, 0, 0, ""]


def test_a_trimmed_transaction_goes_and_its_payload_counts_as_logged(ledger):
    """SC-14"""
    for serial in (1, 2):
        ledger.aside_all({"records": 2, "txn": (0, serial)}, {"txn": (0, serial)})
        ledger.end({"txn": (0, serial), "commit": True})
    ledger.trim(below=2)
    assert ledger.release_all() == (0, 0, 1)
    ledger.trim(below=4)
    assert ledger.release_all() == (2, 14, 2)
    assert {each.split()[0] for each in ledger.buffer()} == {"0-2"}
    assert ledger.row(-1)[4] == 0


def test_a_large_transaction_is_released_in_pages_that_may_stop_anywhere(ledger):
    """SC-16: the broker that goes on names the ledger anew."""
    for _ in range(12):
        ledger.aside_all(*[{"txn": (0, 1)}] * 100)
    ledger.abort(0, 1)
    left = []
    while ledger.release("-1")[3]:
        left.append(len(ledger.payloads(-1)))
        assert len(ledger.buffer()) == left[-1] + 1
    assert (left, ledger.buffer(), ledger.row(-1)[:5]) == ([700, 200], [], [1200, 1200, 0, -1, 0])


def test_payload_that_went_with_its_ledger_is_passed_over(ledger):
    ledger.aside_all({"txn": (0, 1)}, {"txn": (0, 1)})
    ledger.abort(0, 1)
    ledger.client.hdel(ledger.keys.ledgers, "-1")
    assert ledger.release() == [Status.OK, 0, 0, 0, ""]
    assert ledger.buffer() == []


def test_another_topic_releases_nothing(ledger):
    ledger.aside_all({"txn": (0, 1)}, {"txn": (0, 1)})
    ledger.abort(0, 1)
    before = ledger.dump()
    assert ledger.release("-1", topic_id="t-2") == [Status.UNKNOWN_TOPIC]
    assert ledger.dump() == before


# -- clearing scheduled records ----------------------------------------------------------------------------------------


def test_clearing_scheduled_records_keeps_open_and_aborted_transactions(ledger):
    # Given two open transactions, one over several batches, and an aborted one whose payload is not deleted yet
    ledger.aside(2, txn=(0, 1), pid=PID)
    ledger.aside(1, txn=(0, 70), pid=8)
    ledger.aside(1, txn=(0, 1), pid=PID)
    ledger.aside(3, txn=(0, 7), pid=9)
    ledger.end({"txn": (0, 7), "pid": 9, "commit": False})
    # When everything that is scheduled is cancelled, and what nothing refers to is deleted
    assert ledger.clear() == [Status.OK, 0]
    assert ledger.row(-1)[4] == 4
    ledger.trim()
    assert len(ledger.payloads(-1)) == 4
    # Then transactions continue in the next ledger, and are committed whole
    ledger.aside(1, txn=(0, 1), pid=PID)
    assert ledger.end({"txn": (0, 1), "pid": PID, "commit": True}) == [Status.OK, "3+4"]
    assert ledger.end({"txn": (0, 70), "pid": 8, "commit": True}) == [Status.OK, "4+1"]
    assert ledger.release_all()[0] == 1
    assert (ledger.row(-1)[4], ledger.row(-2)[4]) == (0, 0)


def test_clearing_is_refused_beside_more_transactions_than_a_call_may_read(ledger):
    ledger.client.zadd(ledger.keys.firsts, {f"{pid}": -2 for pid in range(5_001)})
    before = ledger.dump()
    assert ledger.clear() == [Status.TOO_MANY, 5_001]
    assert ledger.dump() == before


# -- damage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["row is missing", "row is no row", "batch is missing"])
def test_a_commit_of_what_is_damaged_changes_nothing(ledger, damage):
    ledger.aside(2, txn=(0, 1), pid=PID)
    match damage:
        case "row is missing":
            ledger.client.hdel(ledger.keys.ledgers, "-1")
        case "row is no row":
            ledger.client.hset(ledger.keys.ledgers, "-1", "1 0 1 -1 -1 7 0")
        case "batch is missing":
            ledger.client.zrem(ledger.keys.sidecar, ledger.buffer()[0])
    before = ledger.dump()
    with pytest.raises(ResponseError, match="DAMAGED"):
        ledger.end({"txn": (0, 1), "pid": PID, "commit": True})
    assert ledger.dump() == before
    # An abort needs neither
    assert ledger.end({"txn": (0, 1), "pid": PID, "commit": False}) == [Status.OK, "-1"]
