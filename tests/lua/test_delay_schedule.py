"""lua/ledger/schedule: records due later wait, records due now are logged, and a refusal changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.store.script_status import Status
from tests.support.delay_scripts import Delays, Later

PRODUCER = {"pid": 5, "epoch": 0}
TXN = (3, 17)


def unchanged(delays: Delays, before: dict[str, Any], *, undone: int = 0, undone_later: int = 1) -> None:
    """Everything is as it was, but for entries that came and went: they are counted, and their ids are used up."""
    after = delays.dump()
    for ledger, gone in ((delays.ledger, undone), (delays.delay_ledger, undone_later)):
        assert after.pop(f"data:{ledger}")[0] == before.pop(f"data:{ledger}")[0]
        rows = [dump["ledgers"].pop(str(ledger).encode()).split() for dump in (before, after)]
        assert [int(n) for n in rows[1][:2]] == [int(n) + gone for n in rows[0][:2]]
        assert rows[1][2:] == rows[0][2:]
    assert after == before


# -- accept ------------------------------------------------------------------------------------------------------------


def test_the_first_call_of_a_partition_makes_what_is_missing_and_takes_nothing(connect, prefix):
    delays = Delays(connect(f"{prefix}:{{orders:0}}:"), prefix)
    delays.create()
    assert delays.schedule(10, now=1) == [Status.LEDGER_MOVED, "1", "-1"]
    names = ("open", "live", "closing", "queue", "parts", "moved", "buckets", "next", "snaps", "repeats", "state")
    assert {f"delay:{name}" for name in names} | {"data:-1"} <= set(delays.dump())
    assert delays.schedule(10, now=1)[:2] == [Status.OK, "0"]
    delays.check()


def test_records_due_later_wait_in_the_open_bucket_without_an_offset(delays):
    assert delays.schedule(300, (100, 3)) == [Status.OK, "-1", 1]
    assert delays.at("open") == [(100, 2, -1), (300, 1, -1)]
    assert delays.live() == {1, 2}
    assert delays.counters() == {
        "open": 2, "records": 4, "entries": 2, "held": 0, "fired": 0, "cancelled": 0, "owed": 0,
    }  # fmt: skip
    assert (delays.next, delays.log(), delays.row(-1)[:5]) == (0, [], [2, 0, 0, -1, 2])
    assert delays.told_open == 2


def test_of_a_mixed_batch_what_is_due_now_gets_its_offset_at_once(delays):
    delays.append(2)
    assert delays.schedule(100, 200, now=3, **PRODUCER, sequence=0) == [Status.OK, "2", 1]
    (_, entry) = delays.log()
    assert (entry.base_offset, entry.records, entry.ledger, entry.entry) == (2, 3, 1, 2)
    assert (delays.next, delays.stable, delays.row(1)[:4]) == (5, 5, [2, 0, 0, 4])
    assert delays.live() == {1, 2}
    # Its sequence counts for all five records
    assert delays.schedule(9, **PRODUCER, sequence=6) == [Status.SEQUENCE_GAP, 5]
    assert delays.schedule(9, **PRODUCER, sequence=5)[0] == Status.OK


def test_a_block_waits_record_by_record_as_one_entry(delays):
    assert delays.schedule([300, 100, 300])[2] == 1
    assert delays.at("open") == [(100, 1, 1), (300, 1, 0), (300, 1, 2)]
    assert (delays.live(), delays.hash("parts"), delays.counters()["records"]) == ({1}, {"1": "bbb"}, 3)


def test_batches_of_one_call_see_each_other_and_entries_follow_each_other(delays):
    answers = delays.schedule_all(
        {"later": [10], **PRODUCER, "sequence": 0},
        {"later": [20, 30], "now": 1, **PRODUCER, "sequence": 1},
        {"later": [10], **PRODUCER, "sequence": 0},
        {"later": [40], "now": 2, **PRODUCER, "sequence": 9},
        {"now": 1, "later": [50]},
    )
    assert answers == [
        [Status.OK, "-1", 1], [Status.OK, "0", 2], [Status.DUPLICATE, "-2"], [Status.SEQUENCE_GAP, 4],
        [Status.OK, "1", 6],
    ]  # fmt: skip
    assert delays.live() == {1, 2, 3, 6}
    assert (delays.row(-1)[:2], delays.row(1)[:2]) == ([6, 2], [3, 1])


def test_entries_across_chunks_of_the_live_bits_are_all_alive(delays):
    # Given entries up to just below a chunk's end
    delays.client.xadd(delays.keys.data(-1), {"b": "x", "d": "1"}, id="0-4089")
    delays.client.xdel(delays.keys.data(-1), "0-4089")
    delays.client.hset(delays.keys.ledgers, "-1", "4089 4089 0 -1 0 0 1")
    # When one batch goes over it
    assert delays.schedule(*[500] * 30) == [Status.OK, "-1", 4090]
    # Then every bit of it is set, and no other
    assert delays.live() == set(range(4090, 4120))


def test_several_thousand_entries_of_one_batch_are_taken(delays):
    assert delays.schedule(*range(1, 4_501)) == [Status.OK, "-1", 1]
    assert (len(delays.live()), len(delays.rows("open"))) == (4_500, 4_500)


# -- repeated ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sealed", [False, True])
def test_a_repeated_batch_returns_its_first_entry(delays, sealed):
    delays.schedule(10)
    delays.schedule(10, 20, **PRODUCER, sequence=0)
    if sealed:
        delays.seal()
    before = delays.dump()
    assert delays.schedule(10, 20, **PRODUCER, sequence=0) == [Status.DUPLICATE, "-3"]  # entry 2 as -2-1
    unchanged(delays, before, undone_later=2)


def test_a_repeated_mixed_batch_returns_its_offset(delays):
    delays.append()
    delays.schedule(10, now=2, **PRODUCER, sequence=0)
    before = delays.dump()
    assert delays.schedule(10, now=2, **PRODUCER, sequence=0) == [Status.DUPLICATE, "1"]
    unchanged(delays, before, undone=1)


def test_a_batch_that_was_scheduled_and_comes_again_when_all_of_it_is_due_is_known_too(delays):
    delays.schedule(10, **PRODUCER, sequence=0)
    assert delays.append(1, **PRODUCER, sequence=0)[:2] == [Status.DUPLICATE, "-2"]
    assert delays.append(1, **PRODUCER, sequence=1)[:2] == [Status.OK, "0"]


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_a_gap_and_an_old_epoch_are_refused_and_leave_everything_as_it_was(delays):
    delays.schedule(10, pid=5, epoch=4, sequence=0)
    before = delays.dump()
    assert delays.schedule(10, now=1, pid=5, epoch=4, sequence=2) == [Status.SEQUENCE_GAP, 1]
    unchanged(delays, before, undone=1)
    before = delays.dump()
    assert delays.schedule(10, 20, pid=5, epoch=3, sequence=1) == [Status.STALE_EPOCH, 4]
    unchanged(delays, before, undone_later=2)


def test_an_unknown_producer_behind_a_refused_batch_of_its_own_is_refused(delays):
    first = {"later": [10], "pid": 5, "sequence": 0, "txn": (0, 1), "verified": False}
    second = {"later": [10], "pid": 5, "sequence": 1, "txn": (0, 1)}
    assert delays.schedule_all(first, second) == [[Status.NOT_VERIFIED], [Status.UNKNOWN_PRODUCER, "0"]]
    assert [a[0] for a in delays.schedule_all(first | {"verified": True}, second)] == [Status.OK, Status.OK]


def test_a_sealed_delay_ledger_sends_to_the_open_one_and_its_last_entry_stays_its_last(delays):
    # Given a broker that has not heard of a rotation
    delays.schedule(10)
    delays.rotate(close=False)
    delays.delay_ledger = -1
    before = delays.dump()
    # When it schedules
    assert delays.schedule(20, 30, now=1) == [Status.LEDGER_MOVED, "1", "-2"]
    # Then nothing has changed; above all, the entries that the next ledger will have do not look like this one's
    unchanged(delays, before, undone=1, undone_later=0)
    delays.delay_ledger = -2
    assert delays.schedule(20, 30)[2] == 2


def test_a_sealed_ledger_of_what_is_due_now_sends_to_the_active_one(delays):
    delays.roll()
    delays.ledger = 1
    before = delays.dump()
    assert delays.schedule(10, now=1) == [Status.LEDGER_MOVED, "2", "-1"]
    unchanged(delays, before)


@pytest.mark.parametrize("where", ["now", "later", "both"])
def test_payload_left_behind_in_either_ledger_is_removed_and_nothing_is_taken(delays, where):
    delays.schedule(10, now=1)
    live, kept = delays.live(), delays.payloads(-1)
    if where != "later":
        delays.xadd(delays.client)
    if where != "now":
        delays.client.execute_command("XADD", delays.keys.data(-1), "NOMKSTREAM", "0-*", "b", "orphan", "d", "5")
    assert delays.schedule_all({"later": [20], "now": 1}, {"later": [30]}) == [[Status.HEALED]] * 2
    delays.check()
    assert (delays.live(), delays.payloads(-1), len(delays.payloads(1))) == (live, kept, 1)
    assert delays.schedule(20, now=1)[0] == Status.OK


def test_another_incarnation_of_the_topic_gets_nothing(delays):
    delays.schedule(10)
    before = delays.dump()
    assert delays.schedule(20, now=1, topic_id="t-2") == [Status.UNKNOWN_TOPIC]
    unchanged(delays, before, undone=1)


def test_a_topic_that_is_not_there_gets_nothing(connect, prefix):
    delays = Delays(connect(f"{prefix}:{{orders:0}}:"), prefix)
    assert delays.schedule(20, now=1) == [Status.UNKNOWN_TOPIC]
    assert delays.dump() == {}


# -- transactions ------------------------------------------------------------------------------------------------------


def test_records_scheduled_in_a_transaction_are_set_aside(delays):
    assert delays.schedule(10, (20, 2), txn=TXN) == [Status.OK, "-1", 1]
    assert delays.schedule([30, 40], txn=TXN) == [Status.OK, "-1", 3]
    assert (delays.live(), delays.rows("open"), delays.stable, delays.next) == (set(), [], 0, 0)
    assert (delays.counters()["held"], delays.field("3-17"), delays.row(-1)[4]) == (5, "O 2 2 5", 3)
    assert delays.fire(now=100).records == 0


def test_a_transaction_that_has_scheduled_is_as_good_as_open_and_others_are_not(delays):
    assert delays.schedule(10, txn=TXN, verified=False) == [Status.NOT_VERIFIED]
    assert delays.schedule(10, txn=TXN)[0] == Status.OK
    assert delays.schedule(10, txn=TXN, verified=False)[0] == Status.OK
    # What has an offset opens it here, and for that it must be verified
    assert delays.schedule(10, now=1, txn=TXN, verified=False) == [Status.NOT_VERIFIED]
    assert delays.schedule(10, txn=(3, 18), verified=False) == [Status.NOT_VERIFIED]


def test_a_mixed_batch_opens_its_transaction_and_holds_readers_back(delays):
    delays.append(2)
    assert delays.schedule(10, now=1, txn=TXN) == [Status.OK, "2", 1]
    assert (delays.stable, delays.next, delays.counters()["held"]) == (2, 3, 1)
    assert delays.schedule(10, now=1, txn=TXN, verified=False)[0] == Status.OK


def test_a_producer_with_another_open_transaction_gets_an_error(delays):
    delays.append(1, pid=5, txn=(3, 16))
    before = delays.dump()
    assert delays.schedule(10, pid=5, txn=TXN) == [Status.OTHER_OPEN, "3", "16"]
    unchanged(delays, before)


@pytest.mark.parametrize("commit", [True, False])
def test_nothing_is_taken_for_a_transaction_that_has_ended(delays, commit):
    delays.schedule(10, txn=TXN)
    delays.end({"txn": TXN, "commit": commit})
    before = delays.dump()
    assert delays.schedule(20, txn=TXN) == [Status.TXN_ENDED]
    unchanged(delays, before)
    # also when it is settled
    delays.settle("3-17", 1)
    assert delays.schedule(20, txn=TXN) == [Status.TXN_ENDED]


def test_nothing_is_taken_for_an_ended_transaction_that_is_not_settled_though_its_tombstone_is_gone(delays):
    delays.schedule(10, txn=TXN)
    delays.commit(*TXN)
    delays.client.zrem(delays.keys.ended, "3-17")
    assert delays.schedule(20, txn=TXN) == [Status.TXN_ENDED]
    assert delays.field("3-17") == "C 1 1 1"


def test_a_late_batch_of_a_transaction_below_the_watermark_is_refused(delays):
    delays.commit(3, 20, watermark="20")
    assert delays.schedule(10, txn=TXN) == [Status.TXN_ENDED]


def test_odd_sizes_and_stamps_are_kept_as_they_are(delays):
    delays.schedule(Later([2**52], 2, b"x" * 70_000, -1), Later([0], 1, b"", 2**53 - 1))
    assert [(row.due_ms, row.size, row.newest_ms) for row in delays.rows("open")] == [
        (0, 0, 2**53 - 1),
        (2**52, 70_000, -1),
    ]


def test_records_due_later_are_written_under_another_producer_id(delays):
    assert delays.schedule(100, pid=7, sequence=0, owner="ada")[0] == Status.OK
    assert delays.schedule(100, pid=7, sequence=1, owner="eve") == [Status.NOT_OWNER]
    assert delays.schedule(100, pid=7, sequence=1, owner="ada")[0] == Status.OK
