"""lua/delay/fire: due order over three sorted sets, never early, never twice, and no stale entries."""

from __future__ import annotations

import pytest

from redis_ledger.ledger.entries import PARTIAL
from redis_ledger.store.script_status import Status
from tests.support.delay_scripts import Delays, Later

FAR = 1 << 50


def entries(delays: Delays) -> list[int]:
    return [entry for _, entry, _ in delays.fired()]


# -- what fires, and when ----------------------------------------------------------------------------------------------


def test_nothing_fires_before_its_time_and_everything_at_it(delays):
    delays.schedule(100, 101)
    assert delays.fire(now=99).records == 0
    fired = delays.fire(now=100)
    assert (fired.records, fired.first_due_ms, fired.lateness_ms) == (1, 101, 0)
    assert (entries(delays), delays.live()) == ([1], {2})
    assert delays.fire(now=105).lateness_ms == 4
    assert entries(delays) == [1, 2]


def test_fire_without_schedules_returns_only_the_time(connect, prefix):
    delays = Delays(connect(f"{prefix}:{{orders:0}}:"), prefix)
    delays.create()
    before = delays.dump()
    assert delays.fire(now=5) == [Status.OK, "5"]
    assert delays.dump() == before


def test_without_a_time_it_goes_by_the_servers_clock(delays):
    seconds, _ = delays.client.time()
    delays.schedule((seconds - 1) * 1000, (seconds + 3_600) * 1000)
    fired = delays.fire()
    assert (fired.records, entries(delays)) == (1, [1])
    assert abs(fired.now_ms - seconds * 1000) < 60_000


def test_log_entry_has_payload_position_and_write_time(delays):
    delays.append(2)
    delays.schedule(Later([100], 3, b"12345", 9), now=1, pid=5, sequence=0)
    delays.fire(now=250)
    entry = delays.log()[-1]
    assert (entry.ledger, entry.entry, entry.base_offset, entry.records, entry.size) == (-1, 1, 3, 3, 5)
    assert (entry.producer_id, entry.epoch, entry.sequence, entry.flags) == (-1, -1, -1, 0)
    assert (entry.appended_ms, entry.newest_ms) == (250, delays.now)  # the newest so far: it never falls
    assert (delays.next, delays.stable, delays.state()["bytes"]) == (6, 6, str(2 * 7 // 2 + 3 + 5))
    assert delays.row(-1)[:5] == [1, 0, 0, 5, 0]


def test_readers_are_woken_once_for_all_of_a_call(delays):
    pubsub = delays.client.pubsub(ignore_subscribe_messages=True)
    pubsub.ssubscribe(delays.keys.wake)
    pubsub.get_sharded_message(timeout=1)  # in force
    delays.schedule(1, (2, 4), FAR)
    delays.fire(now=50)
    delays.fire(now=60)  # nothing is due: no notice
    delays.append()
    messages = [pubsub.get_sharded_message(timeout=1)["data"] for _ in range(2)]
    pubsub.close()
    assert messages == [b"0 5 5", b"0 6 6"]


def test_an_open_transaction_holds_readers_back_also_from_what_fires(delays):
    delays.append(1, txn=(0, 1))
    delays.schedule(10)
    delays.fire(now=10)
    assert (delays.next, delays.stable) == (2, 0)
    delays.commit(0, 1)
    assert (delays.next, delays.stable) == (3, 3)


def test_firing_again_changes_nothing(delays):
    delays.schedule(10, FAR)
    delays.fire(now=50)
    before = delays.dump()
    assert delays.fire(now=50).records == 0
    assert delays.dump() == before


def test_another_incarnation_of_the_topic_fires_nothing(delays):
    delays.schedule(10)
    before = delays.dump()
    assert delays.fire(now=50, topic_id="t-2") == [Status.UNKNOWN_TOPIC]
    assert delays.dump() == before


# -- order -------------------------------------------------------------------------------------------------------------


def spread(delays: Delays) -> list[int]:
    """Entries in all three sets, their due times interleaved; the entries in due order."""
    dues = [50, 20, 80, 20, 60, 30, 20, 90, 10]
    delays.schedule(*dues[:3])
    bucket, segments = delays.seal()
    delays.load_next(bucket, segments)  # queue: 1 2 3
    delays.schedule(*dues[3:6])
    delays.rotate()  # closing: 4 5 6
    delays.schedule(*dues[6:])  # open: 7 8 9
    assert [len(delays.rows(name)) for name in ("open", "closing", "queue")] == [3, 3, 3]
    return sorted(range(1, 10), key=lambda entry: (dues[entry - 1], entry))


@pytest.mark.parametrize("most", [1, 2, 4, 500])
def test_due_order_holds_over_all_sets_whatever_the_chunk(delays, most):
    expected = spread(delays)
    taken = []
    while delays.counters()["records"]:
        fired = delays.fire(now=100, most=most)
        taken.append(fired.taken)
        assert entries(delays) == expected[: len(entries(delays))]
    assert entries(delays) == expected
    assert taken == [most] * (9 // most) + [9 % most] * (9 % most > 0)


def test_fire_returns_the_remaining_work_and_its_due_time(delays):
    spread(delays)
    fired = delays.fire(now=30)
    assert (fired.records, fired.first_due_ms, fired.entries, fired.queued) == (5, 50, 5, 2)
    assert (fired.ledger, fired.closing, fired.open_entries, fired.buckets) == (-3, "2-2", 3, 0)


def test_moved_records_of_one_entry_fire_beside_others_in_due_order(delays):
    delays.schedule((50, 3), 40)
    delays.move(delays.entry(1), 1, 45)
    delays.move(delays.entry(1), 2, 60)
    assert delays.fire(now=70).records == 4
    assert delays.fired() == [(-1, 2, None), (-1, 1, "1"), (-1, 1, "0"), (-1, 1, "2")]


# -- the horizon -------------------------------------------------------------------------------------------------------


def test_nothing_overtakes_what_lies_in_a_segment_that_is_not_loaded(delays):
    # Given a bucket whose first segment begins at 30, and entries before, at and behind that in the open one
    delays.schedule(30, 40)
    bucket, segments = delays.seal(40)
    delays.schedule(29, 30, 35)
    # When it is late
    fired = delays.fire(now=1_000)
    # Then only what comes before the segment fires, and its bucket is named
    assert (entries(delays), fired.horizon_ms, fired.horizon, fired.buckets) == ([3], 30, "000000000001 1-1", 1)
    assert fired.first_due_ms == 30
    # When it is loaded, all comes up to the next segment, and then the rest
    bucket = delays.load_next(bucket, segments)
    delays.fire(now=1_000)
    assert entries(delays) == [3, 1, 4, 5]
    delays.load_next(bucket, segments)
    assert delays.fire(now=1_000).horizon_ms == -1
    assert entries(delays) == [3, 1, 4, 5, 2]


def test_of_one_due_time_what_came_before_the_segment_fires_and_what_came_behind_waits(delays):
    delays.schedule(30)  # 1, in the open bucket for now: it is settled to the queue below
    delays.schedule(50, txn=(0, 1))  # 2
    delays.schedule(50)  # 3
    bucket, segments = delays.seal(31)
    bucket = delays.load_next(bucket, segments)
    delays.commit(0, 1)
    delays.settle("0-1", 1)
    delays.schedule(50)  # 4
    delays.fire(now=60)
    assert entries(delays) == [1, 2]
    delays.load_next(bucket, segments)
    delays.fire(now=60)
    assert entries(delays) == [1, 2, 3, 4]


def test_the_horizon_is_the_earliest_of_several_buckets(delays):
    delays.schedule(70)
    delays.seal()
    delays.schedule(60)
    delays.seal()
    delays.schedule(61)
    fired = delays.fire(now=100)
    assert (fired.records, fired.horizon_ms, fired.horizon, fired.buckets) == (0, 60, "000000000002 2-2", 2)


# -- stale -------------------------------------------------------------------------------------------------------------


def test_an_index_entry_that_is_there_twice_fires_once(delays):
    delays.schedule(10, 20)
    delays.restore(*delays.rows("open"))
    assert (len(delays.rows("queue")), delays.fire(now=50).records) == (2, 2)
    assert entries(delays) == [1, 2]


def test_cancelled_records_do_not_fire(delays):
    delays.schedule(10, 20, 30)
    delays.cancel((2, 0, 1))
    assert delays.fire(now=50).records == 2
    assert entries(delays) == [1, 3]


def test_a_record_that_was_moved_after_it_was_sealed_fires_once_at_its_new_time(delays):
    # Given a record that was moved in the open bucket, and again when that was sealed
    delays.schedule((10, 2), 500)
    delays.move(delays.entry(1), 1, 100)
    bucket, segments = delays.seal()
    moved = next(row for row in segments[0] if row.index == 1)
    assert delays.move(moved, 1, 200) == [Status.OK]
    # When the segment that has it at the time before is loaded
    delays.load_next(bucket, segments)
    # Then it waits for its own
    assert delays.fire(now=199).records == 1
    assert delays.fire(now=200).records == 1
    assert delays.fired() == [(-1, 1, "0"), (-1, 1, "1")]


def test_an_index_that_has_a_moved_record_only_at_its_former_time_loses_it_not(delays):
    delays.schedule((10, 2))
    delays.move(delays.entry(1), 1, 200)
    stale = next(row for row in delays.rows("open") if row.index == 1)
    delays.client.zrem(delays.d.open, stale.member())
    delays.restore(stale._replace(due_ms=50))
    assert delays.fire(now=100).records == 1
    assert delays.at("queue") == [(200, 1, 1)]
    assert (delays.fire(now=199).records, delays.fire(now=200).records) == (0, 1)


def test_a_record_of_a_block_that_was_moved_after_it_was_sealed_fires_once_at_its_new_time(delays):
    delays.schedule([10, 20], 500)
    bucket, segments = delays.seal()
    assert delays.move(segments[0][1], 1, 300) == [Status.OK]
    delays.load_next(bucket, segments)
    assert delays.fire(now=299).records == 1
    assert delays.fire(now=300).records == 1
    assert delays.fired() == [(-1, 1, "0"), (-1, 1, "1")]


# -- parts of an entry -------------------------------------------------------------------------------------------------


def test_remaining_records_of_an_entry_fire_as_a_part(delays):
    delays.schedule(Later([10], 6, b"x" * 100))
    delays.cancel((1, 2, 6), (1, 4, 6))
    assert delays.fire(now=50).records == 4
    (entry,) = delays.log()
    assert (entry.flags, entry.kept, entry.records, entry.last_offset) == (PARTIAL, "0-1,3,5", 4, 3)
    assert entry.size == 67 + 61
    assert (delays.live(), delays.counters()["records"], delays.row(-1)[4]) == (set(), 0, 0)
    # It is still known which were cancelled, and which were not
    assert delays.hash("parts") == {"1": "ffxfxf"}


def test_a_block_fires_record_by_record_and_is_over_with_the_last(delays):
    delays.schedule([30, 10, 20])
    for now, at in ((10, "1"), (20, "2"), (30, "0")):
        assert delays.live() == {1}
        assert delays.fire(now=now).records == 1
        assert delays.fired()[-1] == (-1, 1, at)
    assert (delays.live(), delays.hash("parts"), delays.row(-1)[4]) == (set(), {}, 0)


def test_a_whole_entry_behind_its_parts_is_none(delays):
    delays.schedule((50, 2))
    delays.move(delays.entry(1), 0, 60)
    delays.move(delays.entry(1), 1, 70)
    assert delays.fire(now=55).records == 0
    assert (delays.fire(now=60).records, delays.fire(now=70).records) == (1, 1)


# -- repeats -----------------------------------------------------------------------------------------------------------


def repeating(delays: Delays, due: int) -> None:
    delays.schedule(due)
    delays.client.hset(delays.d.repeats, "1", f"{due} how")


def test_an_entry_that_repeats_is_owed_its_next_time_when_it_has_fired(delays):
    repeating(delays, 10)
    fired = delays.fire(now=15)
    assert (fired.records, fired.owed, delays.counters()["owed"]) == (1, 1, 1)
    assert delays.hash("repeats") == {"1": "10 how", "!1": "10 000000000001 -1 1 5 7"}
    assert delays.row(-1)[4] == 1  # its payload must stay
    assert delays.fire(now=15).owed == 1  # until a broker repairs it


def test_an_index_that_has_a_repeating_entry_at_another_time_neither_fires_it_early_nor_loses_it(delays):
    # Given an entry that was sealed for 100, moved to 50, has fired then, and is to come again at 150
    repeating(delays, 100)
    bucket, segments = delays.seal()
    delays.move(segments[0][0], 0, 50)
    delays.fire(now=50)
    owed = delays.hash("repeats")["!1"]
    assert delays.rearm(1, owed, 150, "150 how") == [Status.OK, 1]
    # When the segment that has it at 100 is loaded
    delays.load_next(bucket, segments)
    # Then it comes at 150
    assert delays.fire(now=149).records == 0
    assert delays.fire(now=150).records == 1
    assert len(delays.fired()) == 2


def test_recurring_entry_in_an_old_index_only_waits_for_its_time(delays):
    repeating(delays, 100)
    stale = delays.entry(1)
    delays.client.hset(delays.d.repeats, "1", "150 how")
    delays.client.zadd(delays.d.open, {stale.member(): 100})
    assert delays.fire(now=149).records == 0
    assert delays.at("queue") == [(150, 1, -1)]
    assert delays.fire(now=150).records == 1


def test_old_index_entry_of_a_moved_record_is_ignored_for_its_next_time(delays):
    # Given a repeating entry that was moved twice, to 120 when it could be sealed, and back to 50
    repeating(delays, 100)
    delays.move(delays.entry(1), 0, 120)
    bucket, segments = delays.seal()
    delays.move(segments[0][0], 0, 50)
    delays.fire(now=50)
    delays.rearm(1, delays.hash("repeats")["!1"], 200, "200 how")
    # When the segment that has it at 120 is loaded, it comes at 200 all the same
    delays.load_next(bucket, segments)
    assert delays.fire(now=199).records == 0
    assert delays.fire(now=200).records == 1


# -- transactions that are decided -------------------------------------------------------------------------------------


def test_decided_transactions_are_listed_until_they_are_settled(delays):
    delays.schedule(10, txn=(0, 1))
    delays.schedule(10, txn=(0, 2))
    assert delays.fire(now=50).decided == ()
    delays.end({"txn": (0, 1), "commit": True}, {"txn": (0, 2), "commit": False})
    assert delays.fire(now=50).decided == ("0-1", "0-2")
    delays.settle("0-1", 1)
    delays.settle("0-2", 1)
    fired = delays.fire(now=50)
    assert (fired.decided, fired.records, entries(delays)) == ((), 1, [1])
