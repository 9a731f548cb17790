"""lua/delay/settle, cancel, move, clear: their effect on single entries and on all."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.store.script_status import Status
from tests.support.delay_scripts import Delays

NOW, BEFORE, NOT = 1, 2, 0  # what cancel answers
STALE, UNKNOWN = [Status.STALE], [Status.UNKNOWN_TOPIC]
TXN, NAME = (3, 17), "3-17"


def repeating(delays: Delays, due: int, **more: Any) -> None:
    delays.schedule(due, **more)
    delays.client.hset(delays.d.repeats, "1", f"{due} how")


# -- settle ------------------------------------------------------------------------------------------------------------


def test_scheduled_batches_of_a_committed_transaction_are_indexed_one_by_one(delays):
    delays.schedule(10, (20, 2), txn=TXN)
    delays.schedule([30, 40], txn=TXN)
    delays.commit(*TXN)
    assert delays.settle(NAME, 1) == [Status.OK, 1]
    assert (delays.live(), delays.counters()["held"], delays.field("decided")) == ({1, 2}, 2, f" {NAME}")
    delays.check()
    assert delays.settle(NAME, 2) == [Status.OK, 0]
    assert delays.at("open") == [(10, 1, -1), (20, 2, -1), (30, 3, 0), (40, 3, 1)]
    assert (delays.live(), delays.counters()["records"], delays.counters()["open"]) == ({1, 2, 3}, 5, 4)
    assert (delays.field(NAME), delays.field("decided"), delays.row(-1)[4]) == (None, "", 3)


def test_of_transactions_whose_names_begin_alike_only_the_settled_one_leaves_the_list(delays):
    for txn in (TXN, (3, 170), (33, 17)):
        delays.schedule(10, txn=txn)
        delays.commit(*txn)
    assert delays.settle(NAME, 1) == [Status.OK, 0]
    assert delays.field("decided").split() == ["3-170", "33-17"]


def test_records_scheduled_in_an_aborted_transaction_are_deleted_with_their_payload(delays):
    delays.schedule(5)
    delays.schedule(10, [30, 40], txn=TXN)
    delays.client.hset(delays.d.repeats, "2", "10 how")
    delays.abort(*TXN)
    assert delays.settle(NAME, 1) == [Status.OK, 0]
    assert (delays.live(), list(delays.payloads(-1)), delays.row(-1)[:5]) == ({1}, ["0-1"], [3, 2, 0, -1, 1])
    assert (delays.counters()["held"], delays.hash("parts"), delays.hash("repeats")) == (0, {}, {})
    assert delays.fire(now=100).records == 1


@pytest.mark.parametrize("commit", [True, False])
def test_a_batch_is_settled_once(delays, commit):
    delays.schedule(10, txn=TXN)
    delays.schedule(20, txn=TXN)
    delays.end({"txn": TXN, "commit": commit})
    delays.settle(NAME, 2)
    before = delays.dump()
    assert delays.settle(NAME, 2) == [Status.OK, 1]
    assert delays.dump() == before
    delays.settle(NAME, 1)
    before = delays.dump()
    assert [delays.settle(NAME, n) for n in (1, 2, 3)] == [[Status.OK, 0]] * 3
    assert delays.dump() == before


def test_an_open_transaction_is_not_settled(delays):
    delays.schedule(10, txn=TXN)
    before = delays.dump()
    assert delays.settle(NAME, 1) == [Status.OK, 1]
    assert delays.dump() == before


def test_of_a_ledger_that_is_sealed_entries_go_to_the_queue(delays):
    delays.schedule(10, txn=TXN)
    delays.schedule(20)
    delays.seal()
    delays.schedule(30)
    delays.commit(*TXN)
    delays.settle(NAME, 1)
    assert (delays.at("queue"), delays.at("open")) == ([(10, 1, -1)], [(30, 3, -1)])


def test_a_repeated_or_contradicting_end_decides_nothing_anew(delays):
    delays.schedule(10, txn=TXN)
    delays.commit(*TXN)
    before = delays.dump()
    delays.now += 1
    delays.commit(*TXN)
    assert (delays.field(NAME), delays.field("decided")) == ("C 1 1 1", f" {NAME}")
    delays.abort(*TXN)
    assert delays.dump()["delay:state"] == before["delay:state"]


def test_end_returns_transactions_with_batches_to_settle(delays):
    assert delays.end({"txn": (3, 16), "commit": True}) == [Status.OK, "-1"]
    delays.schedule(10, txn=TXN)
    assert delays.end({"txn": TXN, "commit": True}) == [Status.OK, "-1", f" {NAME}"]


# -- cancel ------------------------------------------------------------------------------------------------------------


def test_a_cancelled_entry_goes_with_its_payload_and_never_fires(delays):
    delays.schedule(10, 20)
    assert delays.cancel((1, 0, 1)) == [NOW]
    assert (delays.live(), list(delays.payloads(-1)), delays.row(-1)[:5]) == ({2}, ["0-2"], [2, 1, 0, -1, 1])
    assert (delays.counters()["records"], delays.counters()["cancelled"], delays.hash("parts")) == (1, 1, {})
    assert delays.fire(now=100).records == 1


def test_cancelling_again_changes_nothing(delays):
    delays.schedule(10, (20, 2))
    delays.cancel((1, 0, 1), (2, 1, 2))
    before = delays.dump()
    # The payload of the first is gone, and so is what was known of it: that is answer enough
    assert delays.cancel((1, 0, 1), (2, 1, 2)) == [NOT, BEFORE]
    assert delays.dump() == before


def test_records_of_one_entry_are_cancelled_one_by_one_also_in_one_call(delays):
    delays.schedule((10, 3), [20, 30])
    assert delays.cancel((1, 1, 3), (1, 1, 3), (2, 0, 2)) == [NOW, BEFORE, NOW]
    assert (delays.hash("parts"), delays.live(), delays.counters()["records"]) == ({"1": "1x1", "2": "xb"}, {1, 2}, 3)
    assert delays.cancel((1, 0, 3), (1, 2, 3), (2, 1, 2)) == [NOW, NOW, NOW]
    assert (delays.hash("parts"), delays.live(), delays.payloads(-1)) == ({}, set(), {})


def test_fired_records_are_not_cancelled(delays):
    delays.schedule(10, (10, 2))
    delays.fire(now=10)
    before = delays.dump()
    assert delays.cancel((1, 0, 1), (2, 1, 2)) == [NOT, NOT]
    assert delays.dump() == before


def test_the_payload_of_an_entry_of_which_something_is_visible_stays(delays):
    delays.schedule([10, 20, 30])
    delays.fire(now=10)
    assert delays.cancel((1, 1, 3), (1, 2, 3)) == [NOW, NOW]
    assert (delays.live(), len(delays.payloads(-1)), delays.hash("parts")) == (set(), 1, {"1": "fxx"})


def test_a_moved_record_is_cancelled_with_its_new_time(delays):
    delays.schedule((10, 2))
    delays.move(delays.entry(1), 0, 50)
    assert delays.cancel((1, 0, 2)) == [NOW]
    assert (delays.hash("moved"), delays.hash("parts")) == ({}, {"1": "x1"})
    assert delays.fire(now=100).records == 1
    assert delays.fired() == [(-1, 1, "1")]


def test_cancel_skips_records_of_an_open_transaction(delays):
    delays.schedule(10, txn=TXN)
    before = delays.dump()
    assert delays.cancel((1, 0, 1)) == [NOT]
    assert delays.dump() == before


@pytest.mark.parametrize("commit", [True, False])
def test_cancel_skips_recurring_records_of_an_open_transaction(delays, commit):
    repeating(delays, 10, txn=TXN)
    before = delays.dump()
    assert delays.cancel((1, 0, 1)) == [NOT]
    assert delays.dump() == before
    delays.end({"txn": TXN, "commit": commit})
    assert delays.cancel((1, 0, 1)) == [NOT]
    delays.settle(NAME, 1)
    assert delays.fire(now=10).records == commit


def test_cancelling_what_repeats_ends_it_before_it_fires(delays):
    repeating(delays, 10)
    assert delays.cancel((1, 0, 1)) == [NOW]
    assert (delays.hash("repeats"), delays.live(), delays.row(-1)[4]) == ({}, set(), 0)
    assert delays.fire(now=100).records == 0


def test_cancelling_what_repeats_ends_it_after_it_has_fired(delays):
    repeating(delays, 10)
    delays.fire(now=10)
    assert delays.cancel((1, 0, 1), (1, 0, 1)) == [NOW, NOT]
    assert (delays.hash("repeats"), delays.counters()["owed"], delays.row(-1)[4]) == ({}, 0, 0)
    assert len(delays.payloads(-1)) == 1  # it is visible


def test_of_a_ledger_that_is_gone_nothing_is_pending(delays):
    delays.schedule(10)
    delays.fire(now=10)
    delays.now += 1
    delays.rotate()
    delays.trim(below=1)
    assert delays.drop(-1)[:2] == [Status.OK, 1]
    before = delays.dump()
    assert delays.cancel((1, 0, 1)) == [NOT]
    assert delays.dump() == before


# -- move --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("due", "order"), [(5, "ab"), (50, "ba")])
def test_a_moved_record_fires_at_its_new_time_and_not_at_its_old_one(delays, due, order):
    delays.schedule(10, 20)
    assert delays.move(delays.entry(1), 0, due) == [Status.OK]
    assert (delays.hash("moved"), delays.hash("parts"), delays.counters()["records"]) == (
        {"1.0": str(due)},
        {"1": "m"},
        2,
    )
    first = delays.fire(now=min(due, 20))
    assert (first.records, delays.fired()) == (1, [(-1, "ab".index(order[0]) + 1, None)])
    delays.fire(now=100)
    assert [entry for _, entry, _ in delays.fired()] == ["ab".index(each) + 1 for each in order]
    assert (delays.hash("moved"), delays.hash("parts")) == ({}, {})


def test_moving_to_the_same_time_again_changes_no_record(delays):
    delays.schedule(10)
    entry = delays.entry(1)
    delays.move(entry, 0, 50)
    before = delays.dump()
    assert delays.move(entry, 0, 50) == [Status.OK]
    after = delays.dump()
    for dump in (before, after):
        dump["delay:state"].pop(b"open")  # how full the bucket is may be overrated
    assert after == before


@pytest.mark.parametrize("gone", ["fired", "cancelled", "held", "never"])
def test_records_that_are_not_pending_are_not_moved(delays, gone):
    delays.schedule(10, (10, 2))
    entry = delays.entry(2)
    if gone == "fired":
        delays.fire(now=10)
    elif gone == "cancelled":
        delays.cancel((2, 1, 2))
    elif gone == "held":
        delays.schedule(10, txn=TXN)
        entry = entry._replace(entry=3)
    else:
        entry = entry._replace(entry=99)
    before = delays.dump()
    assert delays.move(entry, 1, 50) == STALE
    assert delays.dump() == before


@pytest.mark.parametrize("when", ["closing", "sealed"])
def test_a_record_of_a_ledger_that_is_sealed_moves_to_the_queue(delays, when):
    delays.schedule(10, 20)
    entry = delays.entry(1)
    _, _, name = delays.rotate()
    if when == "closing":
        assert delays.move(entry, 0, 40) == [Status.OK]
    bucket, segments = delays.finish_seal(name)
    if when == "sealed":
        assert delays.move(entry, 0, 40) == [Status.OK]
    assert delays.at("queue") == [(40, 1, 0)]
    delays.load_next(bucket, segments)
    assert delays.fire(now=39).records == 1
    assert delays.fire(now=40).records == 1


def test_a_record_that_was_put_into_the_queue_moves_back_into_its_open_bucket(delays):
    delays.schedule((10, 2))
    entry = delays.entry(1)
    delays.move(entry, 0, 30)
    delays.restore(*delays.rows("open"))
    delays.move(entry, 0, 40)
    assert [row for name in ("open", "queue") for row in delays.at(name) if row[2] == 0] == [(40, 1, 0)]


# -- clear -------------------------------------------------------------------------------------------------------------


def test_clearing_cancels_everything_wherever_it_is(delays):
    delays.schedule(10, (20, 3))
    bucket, segments = delays.seal(20)
    delays.load_next(bucket, segments)
    delays.schedule(30)
    delays.rotate()
    delays.schedule(40, [50, 60])
    delays.move(delays.entry(4), 0, 45)
    repeats = {"4": "40 how"}
    delays.client.hset(delays.d.repeats, mapping=repeats)
    assert delays.clear() == [Status.OK, 8]
    assert delays.live() == set()
    for name in ("open", "closing", "queue"):
        assert delays.rows(name) == []
    for name in ("parts", "moved", "buckets", "repeats"):
        assert delays.hash(name) == {}
    assert (delays.next_segments(), delays.field("closing")) == ([], "")
    assert delays.counters() == {
        "open": 0,
        "records": 0,
        "entries": 0,
        "held": 0,
        "fired": 0,
        "cancelled": 8,
        "owed": 0,
    }
    assert delays.fire(now=1_000).records == 0
    # The ledgers can go, the snapshot too, and what is scheduled from now on is all new
    assert set(delays.trim()[3:]) == {"-1", "-2", "-3"}
    assert delays.drop_snapshot(bucket.snapshot) == [Status.OK, 1]
    delays.delay_ledger = -4
    assert delays.schedule(5) == [Status.OK, "-1", 6]


def test_clear_with_an_old_ledger_returns_the_open_one(delays):
    delays.schedule(10)
    delays.clear()
    before = delays.dump()
    assert delays.clear() == [Status.LEDGER_MOVED, "-2"]
    assert delays.dump() == before


def test_clearing_where_nothing_was_ever_scheduled_makes_nothing(connect, prefix):
    delays = Delays(connect(f"{prefix}:{{orders:0}}:"), prefix)
    delays.create()
    before = delays.dump()
    assert delays.clear() == [Status.OK, 0]
    assert delays.dump() == before


def test_clear_keeps_records_of_an_open_transaction(delays):
    delays.schedule(10, [20, 30], txn=TXN)
    delays.schedule(10)
    assert delays.clear() == [Status.OK, 1]
    delays.check()
    assert (delays.row(-1)[4], delays.counters()["held"], delays.trim()[3:]) == (2, 3, [])
    # It goes on, and what it scheduled afterwards goes into the next ledger
    delays.delay_ledger = -2
    delays.schedule(40, txn=TXN)
    delays.commit(*TXN)
    delays.settle(NAME, 1)
    delays.settle(NAME, 2, -2)
    assert delays.fire(now=100).records == 4
    assert delays.fired() == [(-1, 1, None), (-1, 2, "0"), (-1, 2, "1"), (-2, 4, None)]


def test_clear_keeps_the_recurrence_only_of_entries_held_by_open_transactions(delays):
    delays.schedule(10, txn=TXN)
    delays.schedule(10)
    for entry in ("1", "2"):
        delays.client.hset(delays.d.repeats, entry, "10 how")
    assert delays.clear() == [Status.OK, 1]
    assert delays.hash("repeats") == {"1": "10 how"}
    delays.delay_ledger = -2
    delays.commit(*TXN)
    delays.settle(NAME, 1)
    assert delays.fire(now=10).records == 1
    assert list(delays.hash("repeats")) == ["1", "!1"]


def test_records_fired_before_a_clear_stay_readable(delays):
    delays.schedule(10, 20)
    delays.fire(now=10)
    delays.clear()
    assert delays.trim()[3:] == []  # the log still points into the ledger
    assert delays.trim(below=1)[3:] == ["-1"]
