"""lua/delay/rotate, write, seal, load, replace, drop_snapshot, restore: a bucket's life, and conflicts."""

from __future__ import annotations

import pytest

from redis_ledger.delay.entry import Bucket
from redis_ledger.delay.scripts import next_member
from redis_ledger.store.script_status import Status
from tests.support.delay_scripts import Delays

STALE, UNKNOWN = [Status.STALE], [Status.UNKNOWN_TOPIC]


# -- rotate ------------------------------------------------------------------------------------------------------------


def test_a_rotation_opens_the_next_ledger_and_hands_the_bucket_over(delays):
    delays.schedule(10, 20)
    delays.now += 5
    assert delays.rotate() == [Status.OK, "-2", "1-1"]
    assert (delays.at("open"), delays.at("closing")) == ([], [(10, 1, -1), (20, 2, -1)])
    assert (delays.row(-1)[:3], delays.row(-2)) == ([2, 0, 1], [2, 2, 0, -1, 0, 0, delays.now])
    assert (delays.field("closing"), delays.field("first"), delays.counters()["open"]) == ("1-1", "-2", 0)
    # Entries go on where they were
    assert delays.schedule(30) == [Status.OK, "-1", 3]


def test_a_repeated_rotation_finds_the_work_done(delays):
    delays.schedule(10)
    delays.rotate()
    before = delays.dump()
    assert delays.rotate(-1) == [Status.OK, "-2", "1-1"]
    assert delays.dump() == before


def test_a_full_ledger_is_followed_by_another_of_the_same_bucket(delays):
    delays.schedule(10)
    delays.now += 5
    assert delays.rotate(close=False) == [Status.OK, "-2", ""]
    delays.schedule(20)
    assert (delays.at("open"), delays.field("first")) == ([(10, 1, -1), (20, 2, -1)], "-1")
    delays.now += 5
    assert delays.rotate() == [Status.OK, "-3", "1-2"]


def test_while_a_bucket_is_being_sealed_no_other_is_handed_over(delays):
    delays.schedule(10)
    delays.rotate()
    delays.schedule(20)
    delays.now += 5
    assert delays.rotate() == [Status.OK, "-3", "1-1"]
    assert (delays.at("open"), delays.at("closing")) == ([(20, 2, -1)], [(10, 1, -1)])


def test_a_ledger_that_was_opened_just_now_is_not_rotated(delays):
    delays.schedule(10)
    delays.rotate()
    before = delays.dump()
    assert delays.rotate() == [Status.OK, "-2", "1-1"]
    assert delays.dump() == before


def test_a_rotation_where_nothing_was_ever_scheduled_makes_nothing(connect, prefix):
    delays = Delays(connect(f"{prefix}:{{orders:0}}:"), prefix)
    delays.create()
    before = delays.dump()
    assert delays.rotate() == [Status.OK, "-1", ""]
    assert delays.dump() == before


# -- snapshots ---------------------------------------------------------------------------------------------------------


def test_a_snapshot_is_announced_before_it_is_written(delays):
    assert delays.write("s", 1, "segment") == STALE
    assert delays.write("s", begun=77) == [Status.OK]
    assert delays.hash("snaps") == {"s": "77"}
    assert delays.write("s", 1, "one", 0, "metadata") == [Status.OK]
    assert delays.client.hgetall(delays.d.snapshot("s")) == {b"1": b"one", b"0": b"metadata"}


def test_swept_snapshot_is_not_continued(delays):
    delays.write("s", 1, "one", begun=77)
    assert delays.drop_snapshot("s") == [Status.OK, 1]
    before = delays.dump()
    assert delays.write("s", 2, "two") == STALE
    assert delays.drop_snapshot("s") == [Status.OK, 0]
    assert delays.dump() == before


@pytest.mark.parametrize(("before_ms", "dropped"), [(76, 0), (77, 0), (78, 1), (0, 1)])
def test_only_what_was_begun_before_a_time_is_swept(delays, before_ms, dropped):
    delays.write("s", 1, "one", begun=77)
    assert delays.drop_snapshot("s", before_ms) == [Status.OK, dropped]
    assert len(delays.hash("snaps")) == 1 - dropped


def test_a_snapshot_that_is_listed_is_never_dropped(delays):
    delays.schedule(10)
    bucket, _ = delays.seal()
    before = delays.dump()
    assert delays.drop_snapshot(bucket.snapshot) == [Status.OK, 0]
    assert delays.dump() == before


# -- seal --------------------------------------------------------------------------------------------------------------


def test_a_sealed_bucket_is_listed_and_its_sorted_set_goes(delays):
    delays.schedule(10, 20)
    bucket, _ = delays.seal(20)
    assert delays.hash("buckets") == {"1-1": bucket.text()}
    assert (delays.next_segments(), delays.at("closing")) == ([(10, "000000000001 1-1")], [])
    assert (delays.field("closing"), delays.live()) == ("", {1, 2})


def test_a_bucket_of_which_nothing_is_pending_is_not_listed(delays):
    delays.schedule(10)
    delays.fire(now=10)
    delays.rotate()
    assert delays.list_sealed("1-1", None) == [Status.OK]
    assert (delays.hash("buckets"), delays.next_segments(), delays.field("closing")) == ({}, [], "")


def test_second_seal_changes_nothing(delays):
    delays.schedule(10)
    bucket, _ = delays.seal()
    delays.write("mine", begun=delays.now)
    before = delays.dump()
    assert delays.list_sealed("1-1", bucket._replace(snapshot="mine"), 1) == STALE
    assert delays.dump() == before


def test_a_snapshot_that_was_swept_meanwhile_is_not_listed(delays):
    delays.schedule(10)
    delays.rotate()
    before = delays.dump()
    bucket = Bucket(-1, -1, "unknown", 1, 0, 1, 1, 10, 10, 0, delays.now)
    assert delays.list_sealed("1-1", bucket, 1) == STALE
    assert delays.dump() == before


# -- load --------------------------------------------------------------------------------------------------------------


def test_a_loaded_segment_is_in_the_queue_and_the_next_one_is_the_horizon(delays):
    delays.schedule(10, 20, 30)
    bucket, segments = delays.seal(20)
    bucket = delays.load_next(bucket, segments)
    assert delays.at("queue") == [(10, 1, -1)]
    assert (delays.next_segments(), delays.hash("buckets")) == ([(20, "000000000002 1-1")], {"1-1": bucket.text()})
    delays.load_next(bucket, segments)
    assert (len(delays.at("queue")), delays.next_segments(), delays.hash("buckets")) == (3, [], {})


def test_half_a_segment_moves_nothing_on_and_can_be_loaded_again(delays):
    delays.schedule(10, 11, 30)
    bucket, segments = delays.seal(20)
    member = next_member(1, "1-1")
    assert delays.load(bucket, "=", member, segments[0][:1]) == [Status.OK]
    assert (delays.at("queue"), delays.next_segments()) == ([(10, 1, -1)], [(10, member)])
    assert delays.fire(now=100).records == 0
    delays.load_next(bucket, segments)
    assert delays.fire(now=15).records == 2


def test_second_load_changes_nothing(delays):
    delays.schedule(10, 20)
    bucket, segments = delays.seal(20)
    delays.load_next(bucket, segments)
    before = delays.dump()
    assert delays.load(bucket, bucket._replace(loaded=1), next_member(1, "1-1"), segments[0], 2) == STALE
    assert delays.dump() == before


def test_load_with_an_old_list_and_a_new_row_changes_nothing(delays):
    # Given a broker that got the first segment, and looks up the bucket after another broker has loaded it
    delays.schedule(10, 20, 30)
    bucket, segments = delays.seal(20, 30)
    segment = delays.next_segments()[0][1]
    bucket = delays.load_next(bucket, segments)
    before = delays.dump()
    # When it loads the second segment as if it were the first
    after = bucket._replace(loaded=2, next_due_ms=30)
    assert delays.load(bucket, after, segment, segments[1], 3) == STALE
    # Then nothing is listed twice, which would hold everything back for good
    assert delays.dump() == before


def test_a_segment_of_some_thousand_entries_is_loaded_in_one_call(delays):
    delays.schedule(*range(10, 5_010))
    bucket, segments = delays.seal()
    delays.load_next(bucket, segments)
    assert len(delays.at("queue")) == 5_000


def test_a_loaded_segment_leaves_entries_that_were_moved_where_they_are(delays):
    delays.schedule(10, 20)
    bucket, segments = delays.seal()
    delays.restore(segments[0][0]._replace(due_ms=15))
    delays.load_next(bucket, segments)
    assert delays.at("queue") == [(15, 1, -1), (20, 2, -1)]


def test_load_keeps_entries_of_the_queue(delays):
    delays.schedule(10, 20)
    one, two = delays.rows("open")
    delays.restore(one)
    delays.restore(one._replace(due_ms=15), two)
    assert delays.at("queue") == [(10, 1, -1), (20, 2, -1)]


# -- replace -----------------------------------------------------------------------------------------------------------


def two_buckets(delays: Delays) -> tuple[tuple[Bucket, str], tuple[Bucket, str]]:
    delays.schedule(10, 40)
    first, segments = delays.seal(40)
    first = delays.load_next(first, segments)
    delays.schedule(20)
    second, _ = delays.seal()
    return (first, next_member(2, "1-1")), (second, next_member(3, "2-2"))


def test_a_merged_bucket_takes_the_place_of_its_sources(delays):
    first, second = two_buckets(delays)
    merged = second[0]._replace(first_ledger=-1, snapshot="merged", entries=2, last_due_ms=40)
    delays.write("merged", 1, "segment", begun=delays.now)
    assert delays.replace([first, second], "1-2", merged, 3) == [Status.OK]
    assert (delays.hash("buckets"), delays.next_segments()) == ({"1-2": merged.text()}, [(20, "000000000003 1-2")])
    for source in (first, second):
        assert delays.drop_snapshot(source[0].snapshot) == [Status.OK, 1]
    assert set(delays.hash("snaps")) == {"merged"}
    # and a repeated one changes nothing
    before = delays.dump()
    assert delays.replace([first, second], "1-2", merged, 3) == STALE
    assert delays.dump() == before


def test_rebuilt_bucket_keeps_its_name(delays):
    _, (second, member) = two_buckets(delays)
    again = second._replace(snapshot="again")
    delays.write("again", 1, "segment", begun=delays.now)
    assert delays.replace([(second, member)], "2-2", again, 3) == [Status.OK]
    assert delays.hash("buckets")["2-2"] == again.text()
    assert (20, "000000000003 2-2") in delays.next_segments()


def test_buckets_of_which_nothing_is_pending_are_replaced_by_nothing(delays):
    first, second = two_buckets(delays)
    delays.cancel((2, 0, 1))
    delays.cancel((3, 0, 1), ledger=-2)
    assert delays.replace([first, second], "1-2", None) == [Status.OK]
    assert (delays.hash("buckets"), delays.next_segments()) == ({}, [])


def test_a_member_whose_bucket_is_not_listed_is_taken_out_and_one_whose_bucket_is_stays(delays):
    (_, lost), (second, member) = two_buckets(delays)
    keys = (delays.d.buckets, delays.d.next, delays.d.snaps, delays.d.state)
    delays.client.hdel(delays.d.buckets, "1-1")
    assert delays.call("replace", keys, "1-1", "", "", "", 0, 1, "1-1", "", lost) == [Status.OK]
    assert delays.call("replace", keys, "2-2", "", "", "", 0, 1, "2-2", "", member) == STALE
    assert (delays.hash("buckets"), delays.next_segments()) == ({"2-2": second.text()}, [(20, member)])


@pytest.mark.parametrize("what", ["row", "member", "snapshot"])
def test_merge_of_changed_buckets_is_refused(delays, what):
    first, second = two_buckets(delays)
    if what != "snapshot":
        delays.write("merged", 1, "segment", begun=delays.now)
    if what == "row":
        first = (first[0]._replace(loaded=0), first[1])
    if what == "member":
        first = (first[0], next_member(1, "1-1"))
    before = delays.dump()
    assert delays.replace([first, second], "1-2", second[0]._replace(snapshot="merged"), 3) == STALE
    assert delays.dump() == before


# -- another topic -----------------------------------------------------------------------------------------------------


def test_another_incarnation_of_the_topic_changes_no_bucket(delays):
    first, second = two_buckets(delays)
    delays.write("new", begun=delays.now)
    delays.schedule(50)
    delays.now += 1
    before = delays.dump()
    more = {"topic_id": "t-2"}
    bucket = second[0]._replace(snapshot="new")
    replies = [
        delays.rotate(**more), delays.write("x", begun=1, **more), delays.write("new", 1, "x", **more),
        delays.list_sealed("3-3", bucket, 4, **more), delays.load(first[0], "", first[1], [], **more),
        delays.replace([second], "2-2", bucket, 3, **more), delays.drop_snapshot("new", **more),
        delays.restore(delays.entry(4), **more),
    ]  # fmt: skip
    assert replies == [UNKNOWN] * 8
    assert delays.dump() == before
