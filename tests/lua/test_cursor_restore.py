"""lua/cursor/restore: a cursor returns to a snapshot, and dispatch passes over what that has as acknowledged."""

from __future__ import annotations

import pytest

from redis_ledger.cursor.ranges import Range, to_ranges
from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import CHUNK, Subscription
from tests.support.key_shared import KeySharedSubscription

KINDS = ["shared", "exclusive", "failover", "key_shared"]


def subscription(log, kind):
    return KeySharedSubscription(log, {}) if kind == "key_shared" else Subscription(log, kind=kind)


def receive(sub, most, got=(), **more):
    """The next records, behind those that the consumer has."""
    if sub.kind in ("exclusive", "failover") and got:
        more["after"] = max(got)
    return sub.receive(most=most, **more)


@pytest.fixture(params=KINDS)
def sub(log, request):
    """Ten records, of which 0, 2 to 4 and 6 are acknowledged."""
    sub = subscription(log, request.param)
    log.append(6)
    log.append(4)
    assert len(sub.receive().offsets) == 10
    assert sub.ack([0, 2, 3, 4, 6])[0] == Status.OK
    return sub


def test_a_restored_cursor_delivers_what_was_not_acknowledged(log, sub):
    # Given a snapshot, after which everything is acknowledged
    kept = sub.snapshot()
    assert kept == (1, [Range(2, 4), Range(6, 6)])
    sub.ack([1, 5, 7, 8, 9])
    # When the cursor is restored
    assert sub.restore(*kept) == [Status.OK, "1"]
    # Then its state is that of the snapshot
    assert sub.snapshot() == kept
    stats = sub.stats()
    assert {name: stats[name] for name in ("mark", "acked", "leased", "backlog", "exact")} == {
        "mark": 1, "acked": 4, "leased": 0, "backlog": 5, "exact": 1,
    }  # fmt: skip
    # And exactly the rest is delivered, for the first time, in order
    got: dict[int, int] = {}
    while some := receive(sub, 2, got).offsets:
        got |= some
        sub.content()
    assert list(got.items()) == [(1, 0), (5, 0), (7, 0), (8, 0), (9, 0)]
    # And an acknowledgement moves the mark over what the snapshot had
    sub.ack([1])
    assert sub.content().mark == 5
    sub.ack([5, 7, 8, 9])
    assert (sub.content().mark, sub.content().read) == (10, 10)


def test_new_records_follow_what_a_snapshot_has(log, sub):
    sub.restore(10, [])
    log.append(2)
    assert list(sub.receive().offsets) == [10, 11]


def test_a_seek_ends_a_snapshot(log, sub):
    sub.restore(1, [Range(2, 4)])
    sub.seek("earliest")
    assert list(sub.receive().offsets) == list(range(10))


def test_leases_and_transactions_lose_what_they_hold(log, sub):
    """AK-30"""
    kept = sub.snapshot()
    sub.hold("0-1", [5])
    sub.restore(*kept)
    assert sub.settle("0-1", commit=True) == 0
    assert list(sub.receive("c1").offsets) == [1, 5, 7, 8, 9]


def test_a_refused_snapshot_changes_nothing(log, sub):
    before = sub.content()
    other = "exclusive" if sub.kind == "shared" else "shared"
    assert sub.restore(1, [], kind=other) == [Status.WRONG_KIND, sub.kind]
    assert sub.restore(1, [Range(5, 10)]) == [Status.BAD_OFFSET, "0", "10"]
    assert sub.restore(11, []) == [Status.BAD_OFFSET, "0", "10"]
    assert sub.restore(1, [], topic_id="another") == [Status.UNKNOWN_TOPIC]
    assert sub.content() == before
    sub.delete()
    assert sub.restore(1, []) == [Status.UNKNOWN_SUB]


@pytest.mark.parametrize("start", [3, 7, 10])
def test_what_was_trimmed_is_passed(log, sub, start):
    kept = sub.snapshot()
    log.trim(start)
    sub.restore(*kept)
    assert int(sub.stats()["mark"]) == max(start, 1)
    assert list(sub.receive().offsets) == [offset for offset in (1, 5, 7, 8, 9) if offset >= start]
    sub.content()


@pytest.mark.parametrize("kind", KINDS)
def test_acknowledgements_over_many_chunks_and_of_all_forms_are_restored(log, kind):
    # Given whole chunks, a chunk with many runs, and one with few
    sub = subscription(log, kind)
    for _ in range(8):
        log.append(CHUNK)
    many = range(4 * CHUNK, 5 * CHUNK, 2)
    acked = to_ranges([*range(100, 4 * CHUNK - 50), *many, 6 * CHUNK, *range(7 * CHUNK, 8 * CHUNK)])
    # When they are restored
    assert sub.restore(0, acked) == [Status.OK, "0"]
    assert sub.snapshot() == (0, acked)
    # Then all other records are delivered
    got = set[int]()
    for _ in range(1_000):
        received = receive(sub, 1_000, got, **({"waiting_max": 100_000} if kind == "key_shared" else {}))
        got |= received.offsets.keys()
        if received.read == log.next:
            break
    assert got == set(range(8 * CHUNK)) - {o for first, last in acked for o in range(first, last + 1)}
    sub.content()
    # And a long stretch is passed in one step
    sub.restore(0, [Range(0, 8 * CHUNK - 1)])
    assert (sub.receive().read, sub.content().mark) == (8 * CHUNK, 8 * CHUNK)


def test_records_of_open_transactions_stay_undelivered(log, sub):
    log.append(2, producer="7", in_txn=True)
    sub.restore(9, [])
    assert list(sub.receive().offsets) == [9]
    log.end("7", commit=True)
    assert list(receive(sub, 100, [9]).offsets) == [10, 11]


def test_a_consumer_gets_no_more_than_its_limit_allows(log, sub):
    sub.restore(1, [Range(2, 4), Range(6, 6)])
    assert list(sub.receive(limits=(2, 0)).offsets) == [1, 5]
    sub.ack([1])
    assert list(receive(sub, 100, [5], limits=(2, 0)).offsets) == [7]
