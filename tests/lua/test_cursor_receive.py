"""lua/cursor/receive, stats, create, delete, seek: the messages of a subscription, and their order."""

from __future__ import annotations

import pytest

from redis_ledger.cursor import ack_chunks
from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import ACK_TIMEOUT, CHUNK, Subscription, connected
from tests.support.fake_log import FakeLog
from tests.support.redis_servers import redis_server


@pytest.fixture
def sub(log):
    return Subscription(log)


def test_records_come_once_each_and_in_order(log, sub):
    log.append(3)
    log.append(2)
    received = [list(sub.receive(most=4).offsets) for _ in range(3)]
    assert received == [[0, 1, 2, 3], [4], []]
    sub.content()


def test_a_delivery_names_the_log_entry_it_comes_from(log, sub):
    log.append(2)
    log.append(4, producer="844424930131968", in_txn=True, size=4_000)
    log.end("844424930131968", commit=True)
    reply = sub.receive_raw("c1", 4)
    assert [int(value) for value in reply[6:]] == [
        *(0, 1, 0, 1, 1, 0, 2, 200, -1, 0, 1_000),
        *(2, 3, 0, 1, 2, 2, 4, 4_000, 844424930131968, 1, 1_002),
    ]


def test_a_large_batch_is_leased_in_slices(log, sub):
    # Given one batch of ten thousand records
    log.append(10_000)
    for first in range(0, 10_000, 100):
        # When a hundred are asked for, again and again
        got = sub.receive(most=100)
        # Then each call gets the next hundred
        assert list(got.offsets) == list(range(first, first + 100))
        assert got.more is (first < 9_900)
    # And one lease each covers them
    assert log.client.hlen(sub.keys.leases) == 101
    assert sub.content().read == 10_000


def test_a_byte_limit_stops_after_the_batch_that_passes_it(log, sub):
    for _ in range(5):
        log.append(2, size=600)
    assert list(sub.receive(most_bytes=1_000).offsets) == [0, 1, 2, 3]
    assert list(sub.receive(most_bytes=1).offsets) == [4, 5]


@pytest.mark.parametrize(("commit", "then"), [(True, [1, 2]), (False, [2])])
def test_nothing_beyond_the_stable_offset_is_dispatched(log, sub, commit, then):
    # Given a plain record, one in an open transaction, and another plain one
    log.append()
    log.append(producer="7", in_txn=True)
    log.append()
    assert list(sub.receive().offsets) == [0]
    assert sub.receive().more is False
    # When the transaction ends
    log.end("7", commit=commit)
    # Then what it decided comes in offset order
    assert list(sub.receive().offsets) == then


def test_aborted_records_are_passed_over_and_count_as_consumed(log):
    for _ in range(10):
        log.append(producer="7", in_txn=True)
    log.end("7", commit=False)
    plain = log.append()
    sub = Subscription(log, name="late")
    assert sub.stats()["backlog"] == 1
    for _ in range(2):  # at first, and again from the start
        assert list(sub.receive().offsets) == [plain]
        assert sub.ack([plain])[0] == Status.OK
        assert (sub.stats()["backlog"], sub.stats()["mark"]) == (0, log.next)
        assert sub.seek("earliest") == [Status.OK, "0"]


def test_markers_and_aborted_transactions_never_hold_a_subscription_back(log, sub):
    # Given ten committed and ten aborted transactions of one record
    for i in range(20):
        log.append(producer=str(i), in_txn=True)
        log.end(str(i), commit=i % 2 == 0)
    # When the ten records are received and acknowledged
    got = sub.receive()
    assert list(got.offsets) == list(range(0, 40, 4))
    assert got.more is False
    sub.ack(got.offsets)
    # Then nothing is left and the log could be trimmed to its end
    stats = sub.stats()
    assert (stats["backlog"], stats["mark"], stats["acked"]) == (0, 40, 0)


def test_more_ignores_undeliverable_records(log, sub):
    log.append()
    log.append(producer="7", in_txn=True)
    log.end("7", commit=False)
    log.append(producer="8", in_txn=True)
    assert sub.receive(most=1) == ({0: 0}, 0, 3, 3, False, sub.now + ACK_TIMEOUT)


def test_a_producer_that_aborted_before_is_heard_when_it_commits(log, sub):
    first = log.append(producer="7", in_txn=True)
    log.end("7", commit=False)
    second = log.append(producer="7", in_txn=True)
    log.end("7", commit=True)
    third = log.append(producer="7", in_txn=True)
    log.end("7", commit=False)
    assert list(sub.receive().offsets) == [second]
    assert {first, third} <= sub.content().bits | set(range(sub.content().mark))


def test_aborted_transactions_are_found_among_hundreds_that_overlap(log, sub):
    # Given one transaction that stays open while 250 others abort, so that none of their stable offsets moves
    outer = log.append(producer="outer", in_txn=True)
    for i in range(250):
        log.append(producer=f"p{i}", in_txn=True)
    late = [log.append(producer="outer", in_txn=True)]
    for i in range(250):
        log.end(f"p{i}", commit=False)
    assert sub.receive().offsets == {}
    # When it commits
    log.end("outer", commit=True)
    # Then only its own records come
    assert list(sub.receive().offsets) == [outer, *late]


def test_gaps_in_the_offsets_are_passed_over(log, sub):
    log.gap(3)
    log.append(2)
    log.gap(CHUNK * 2)
    last = log.append()
    log.gap(5)
    got = sub.receive()
    assert list(got.offsets) == [3, 4, last]
    assert (got.mark, got.read, got.more) == (3, log.next, False)
    assert sub.ack(got.offsets) == [Status.OK, 3, log.next]


@pytest.mark.parametrize("chunks", [3, 70])
def test_a_mark_that_leaps_forgets_the_chunks_it_passed(log, sub, chunks):
    log.append()
    log.gap(chunks * CHUNK)
    log.append(10)
    sub.receive()
    sub.ack([log.next - 3])
    # All of the gap but its first and last chunk is full
    lists = {ack_chunks.list_name(0), ack_chunks.list_name(chunks)}
    assert set(log.client.hkeys(sub.keys.acks)) == {b"", b"8e90", *lists}
    assert sub.ack([0]) == [Status.OK, 1, log.next - 10]
    assert set(log.client.hkeys(sub.keys.acks)) == {b"", b"8e90", ack_chunks.list_name(chunks)}
    assert sub.content().bits == {log.next - 3}


def test_call_skips_a_bounded_part_of_the_log_and_returns_more(log, sub):
    for i in range(600):
        log.append(producer=str(i), in_txn=True)
        log.end(str(i), commit=False)
    last = log.append()
    calls = [sub.receive(most=10) for _ in range(3)]
    assert [(call.offsets, call.more) for call in calls] == [({}, True)] * 3
    assert list(sub.receive(most=10).offsets) == [last]
    assert sub.stats()["backlog"] == 1


def test_an_expired_lease_goes_to_the_next_receiver_and_is_counted(log, sub):
    log.append(4)
    sub.receive("c1", 2)
    sub.receive("c2", 2)
    # When the first consumer lets its lease run out
    sub.now += ACK_TIMEOUT
    assert sub.receive("c2", 3).offsets == {0: 1, 1: 1, 2: 1}
    assert sub.receive("c1").offsets == {3: 1}
    # Then it can no longer acknowledge what another has, and nothing of such a call is done
    assert sub.ack([0, 3], "c1") == [Status.NOT_LEASED, 0, "c2"]
    assert sub.content().mark == 0
    assert sub.stats()["redelivered"] == 4


def test_an_expired_lease_without_a_new_owner_can_still_be_acknowledged(log, sub):
    log.append(2)
    sub.receive("c1")
    sub.now += 10 * ACK_TIMEOUT
    assert sub.ack([0, 1], "c1") == [Status.OK, 2, 2]


def test_due_records_come_by_offset_and_before_new_ones(log, sub):
    log.append(30)
    for _ in range(3):
        sub.receive("c1", 5)
    sub.nack([12, 2, 9, 10], delay=0)
    got = sub.receive("c2", 6).offsets
    assert list(got.items()) == [(2, 1), (9, 1), (10, 1), (12, 1), (15, 0), (16, 0)]


def test_leases_of_a_lost_reply_are_redelivered_without_counting(log, sub):
    log.append(6)
    sub.receive("c2", 1)
    sub.receive("c1", 3)  # the reply that got lost
    assert sub.receive("c1", 3, again=1).offsets == {1: 0, 2: 0, 3: 0}
    assert sub.receive("c1", 3, again=1).offsets == {1: 0, 2: 0, 3: 0}
    sub.now += 1
    assert sub.receive("c1", 9, again=1).offsets == {4: 0, 5: 0}


def test_a_named_request_that_is_repeated_gets_the_same_messages_at_any_time(log, sub):
    log.append(9)
    assert list(sub.receive("c1", 2, request="r1.0").offsets) == [0, 1]
    assert list(sub.receive("c1", 2, request="r2.0").offsets) == [2, 3]
    assert list(sub.receive("c2", 2, request="r2.0").offsets) == [4, 5]
    sub.now += 20
    # When the first request is repeated after others, and one of its messages is acknowledged already
    sub.ack([0])
    assert sub.receive("c1", 2, request="r1.1", again=1).offsets == {1: 0, 6: 0}
    assert sub.receive("c1", 2, request="r2.1", again=1).offsets == {2: 0, 3: 0}
    # Then its messages are leased anew
    assert sub.content().leases[1] == ("c1", 0, sub.now + ACK_TIMEOUT)
    # And another consumer's request of the same name is another one
    assert list(sub.receive("c3", 9, request="r2.1", again=1).offsets) == [7, 8]


def test_retention_takes_the_subscription_along(log, sub):
    # Given leased and held offsets, some acknowledged
    for _ in range(10):
        log.append(2)
    sub.receive("c1", 10)
    sub.ack([12 - 4, 4])
    sub.hold("0-1", [2, 3, 5, 6, 7])
    # When the log begins at 6 now
    log.trim(6)
    stats = sub.stats()
    # Then what is below has gone, here as well
    assert (stats["mark"], stats["leased"], stats["held"], stats["backlog"]) == (6, 1, 2, 13)
    content = sub.content()
    assert set(content.pending) == {6, 7}
    assert sub.settle("0-1", commit=True) == 2
    # And beyond everything dispatched, it begins where the log begins
    log.trim(14)
    assert list(sub.receive(most=2).offsets) == [14, 15]
    assert sub.content().mark == 14


def test_a_poll_that_finds_nothing_writes_nothing(redis_url, prefix):
    with connected(redis_url) as client:
        log = FakeLog(client, prefix)
        sub = Subscription(log)
        log.append()
        sub.receive()
        written = client.info("persistence")["rdb_changes_since_last_save"]
        sub.now += 5
        assert sub.receive().offsets == {}
        assert client.info("persistence")["rdb_changes_since_last_save"] == written


def test_the_backlog_beyond_what_was_looked_at_is_an_upper_bound(log, sub):
    for i in range(10):
        log.append(producer=str(i), in_txn=True)
        log.end(str(i), commit=True)
    assert (sub.stats()["backlog"], sub.stats()["exact"]) == (10, 1)
    stats = sub.stats(entries_max=8)
    assert (stats["backlog"], stats["exact"]) == (4 + 12, 0)


def test_creating_is_idempotent_and_a_kind_is_for_life(log):
    sub = Subscription(log, name="a b/ü")
    assert sub.created == [Status.OK, 1]
    assert sub.create("shared") == [Status.OK, 1]  # the same call, repeated
    assert sub.create("shared", incarnation="second") == [Status.OK, 0]
    assert sub.create("exclusive") == [Status.EXISTS, "shared"]
    assert log.client.hgetall(log.keys.subs) == {b"": b"", b"a%20b%2F%C3%BC": b"shared"}
    sub.content()


def test_a_cursor_of_another_incarnation_is_replaced(log, sub):
    """On a partition that is not the register: `partitions` is ""."""
    log.append(3)
    sub.receive(most=2)
    assert sub.create("shared", incarnation="first", partitions="") == [Status.OK, 0]
    assert sub.content().read == 2
    assert sub.create("shared", incarnation="third", partitions="") == [Status.STALE]
    assert sub.create("shared", incarnation="third", partitions="", replaces=True) == [Status.OK, 1]
    assert (sub.content().read, sub.content().fields["incarnation"]) == (0, "third")


@pytest.mark.parametrize(("start", "seen"), [("earliest", [4, 5, 6]), ("latest", []), (5, [5, 6]), (1, [4, 5, 6])])
def test_subscription_begins_at_its_start(log, start, seen):
    for _ in range(7):
        log.append()
    log.trim(4)
    assert list(Subscription(log, start=start).receive().offsets) == seen


def test_a_start_beyond_the_end_is_refused(log, sub):
    log.append(2)
    assert Subscription(log, name="far", start=3).created == [Status.BAD_OFFSET, "0", "2"]
    assert sub.seek(3) == [Status.BAD_OFFSET, "0", "2"]
    assert sub.seek(2) == [Status.OK, "2"]


def test_deleting_is_idempotent_and_leaves_nothing(log, sub):
    log.append(3)
    sub.receive()
    sub.hold("0-1", [1])
    assert sub.delete("another") == [Status.OK, 0, "first"]
    assert sub.delete("first") == [Status.OK, 1, "first"]
    assert sub.delete() == [Status.OK, 0, ""]
    assert [log.client.exists(key) for key in sub.keys.all()] == [0] * 6
    assert log.client.hgetall(log.keys.subs) == {b"": b""}
    assert sub.settle("0-1", commit=True) == 0


def test_a_seek_forgets_leases_acks_and_what_transactions_hold(log, sub):
    log.append(10)
    sub.receive()
    sub.ack([2, 5])
    sub.hold("0-1", [3])
    assert sub.seek(2) == [Status.OK, "2"]
    assert sub.settle("0-1", commit=True) == 0
    assert list(sub.receive().offsets) == list(range(2, 10))
    assert sub.content().mark == 2


def test_every_call_is_refused_without_its_topic_or_subscription(log, sub):
    calls = {
        "receive": lambda: sub.receive_raw("c1"),
        "ack": lambda: sub.ack([0]),
        "ack_cumulative": lambda: sub.ack_cumulative(0),
        "hold": lambda: sub.hold("0-1", [0]),
        "nack": lambda: sub.nack([0]),
        "seek": lambda: sub.seek(0),
        "stats": lambda: list(sub.stats().values()),
    }
    sub.delete()
    assert {name: call() for name, call in calls.items()} == {name: [Status.UNKNOWN_SUB] for name in calls}
    log.client.hset(log.keys.state, "topic_id", "another")
    calls |= {"create": lambda: sub.create("shared"), "delete": sub.delete}
    assert {name: call() for name, call in calls.items()} == {name: [Status.UNKNOWN_TOPIC] for name in calls}


def test_a_full_redis_still_delivers_acknowledges_and_settles(prefix):
    with redis_server() as server, connected(server.url) as client:
        log = FakeLog(client, prefix)
        sub = Subscription(log)
        log.append(10)
        client.config_set("maxmemory", 1)
        assert len(sub.receive(most=8).offsets) == 8
        assert sub.ack([0, 2])[0] == Status.OK
        assert sub.hold("0-1", [3, 4])[0] == Status.OK
        assert sub.nack([5]) == [Status.OK, 1]
        assert sub.settle("0-1", commit=False) == 2
        assert sub.seek("latest") == [Status.OK, "10"]
        assert sub.stats()["backlog"] == 0


def test_nacked_messages_are_in_the_backlog_and_not_leased(log, sub):
    def counts():
        stats = sub.stats()
        return stats["leased"], stats["held"], stats["backlog"]

    for _ in range(6):
        log.append(1)
    # Given leases, some of which a nack and an aborted transaction give back
    sub.receive("c1", 5)
    assert counts() == (5, 0, 6)
    sub.nack([0])
    assert counts() == (4, 0, 6)
    sub.hold("0-1", [1, 2])
    assert counts() == (2, 2, 6)
    assert sub.settle("0-1", commit=False) == 2
    assert counts() == (2, 0, 6)
    sub.ack([3])
    assert sub.content().fields["returned"] == "3"
    # And what is delivered again is leased again
    sub.receive("c2", 9)
    assert counts() == (5, 0, 5)
    sub.seek("earliest")
    assert counts() == (0, 0, 6)
