"""lua/txn/end: markers, stable offset, aborted set, tombstones, watermarks, leftovers and pending acks; each twice."""

from __future__ import annotations

import pytest

from redis_ledger.ids import TxnId
from redis_ledger.ledger.entries import COMMIT, MARKER, TRANSACTIONAL, is_aborted
from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import Subscription
from tests.support.ledger_scripts import TOMBSTONE_MS, Ledger

COMMITTED, ABORTED = TRANSACTIONAL | MARKER | COMMIT, TRANSACTIONAL | MARKER
COORDINATORS = (0, 31, 32, 32_767)  # 32 << 48 is where a double loses serials


def visible(ledger: Ledger) -> list[int]:
    """Offsets a committed reader gets."""
    aborted, stable = ledger.aborted(), ledger.stable
    return [
        offset
        for e in ledger.log()
        if e.last_offset < stable and not e.is_marker and not is_aborted(e, aborted)
        for offset in range(e.base_offset, e.last_offset + 1)
    ]


# -- markers and stable offset -----------------------------------------------------------------------------------------


def test_the_worked_example_of_the_transaction_buffer(ledger):
    """TB-04."""
    # T1@0, T2@1, T3@2, T2@3, marker T1@4, T3@5, marker T3@6, marker T2@7
    readable = []
    for step in ("1", "2", "3", "2", "c1", "3", "c3", "c2"):
        if step[0] == "c":
            assert ledger.commit(0, int(step[1])) >= 0
        else:
            ledger.append(txn=(0, int(step)))
        readable.append(ledger.stable - 1)
    assert readable == [-1, -1, -1, -1, 0, 0, 0, 7]


def test_marker_has_an_offset_and_the_outcome(ledger):
    """TB-02, TB-35."""
    ledger.append(3, txn=(0, 1), epoch=4)
    ledger.append(1, txn=(0, 2))
    ledger.now += 9
    assert (ledger.commit(0, 1), ledger.abort(0, 2)) == (4, 5)
    markers = [
        (e.base_offset, e.records, e.size, e.producer_id, e.epoch, e.flags, e.appended_ms) for e in ledger.log()[2:]
    ]
    assert markers == [(4, 1, 0, 1, 4, COMMITTED, ledger.now), (5, 1, 0, 2, 0, ABORTED, ledger.now)]
    assert (ledger.next, ledger.stable) == (6, 6)
    counted = ledger.state()
    assert (counted["committed"], counted["aborted"]) == ("1", "1")


def test_several_ends_in_one_call_leave_what_calls_of_their_own_leave(connect, prefix):
    ends = [{"txn": (0, 1), "commit": True}, {"txn": (0, 3), "commit": False}, {"txn": (0, 2), "commit": True},
            {"txn": (0, 1), "commit": True}, {"txn": (1, 7), "commit": False, "watermark": "6"}]  # fmt: skip
    ledgers = []
    for number, calls in enumerate(([[end] for end in ends], [ends])):
        made = Ledger(connect(f"{prefix}:{{orders:{number}}}:"), prefix, number=number)
        made.create()
        for serial in (1, 2, 3, 4):
            made.append(2, txn=(0, serial))
        for call in calls:
            made.end(*call)
        ledgers.append(made)
    one_by_one, made = ledgers
    assert one_by_one.dump() == made.dump()
    assert (made.state()["committed"], made.state()["aborted"]) == ("2", "1")
    assert [each.stable_offset for each in made.aborted()] == [2]


def test_several_ends_in_one_call_are_answered_each(ledger):
    for serial in (1, 2, 3):
        ledger.append(txn=(0, serial))
    ends = [{"txn": (0, serial), "commit": serial != 2} for serial in (2, 9, 3, 1)]
    assert ledger.end(*ends) == [Status.OK, "3", "-1", "4", "5"]
    assert visible(ledger) == [0, 2]


def test_aborted_records_are_known_by_producer_and_range(ledger):
    # Given an aborted transaction between others of the same producer
    for serial, commit in ((1, True), (2, False), (3, True)):
        ledger.append(2, txn=(0, serial), pid=7)
        ledger.append(1)
        ledger.end({"txn": (0, serial), "pid": 7, "commit": commit})
    assert [tuple(a) for a in ledger.aborted()] == [(7, 4, 7, 8)]
    assert visible(ledger) == [0, 1, 2, 6, 8, 9, 10]


def test_the_stable_offset_of_an_abort_bounds_every_later_one(ledger):
    ledger.append(txn=(0, 1))
    ledger.append(txn=(0, 2))
    ledger.abort(0, 2)
    ledger.abort(0, 1)
    assert [tuple(a) for a in ledger.aborted()] == [(2, 1, 2, 0), (1, 0, 3, 4)]


def test_a_transaction_costs_the_same_however_many_records_it_has(ledger):
    """TB-03, TB-40."""
    ledger.append(txn=(0, 1))
    once = {name: value for name, value in ledger.dump().items() if name in ("open", "firsts")}
    for _ in range(300):
        ledger.append(5, txn=(0, 1))
    assert {name: value for name, value in ledger.dump().items() if name in ("open", "firsts")} == once
    ledger.abort(0, 1)
    assert [tuple(a) for a in ledger.aborted()] == [(1, 0, 1501, 1502)]
    assert (ledger.log()[-1].records, ledger.log()[-1].size) == (1, 0)


# -- idempotence and fence ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("commit", [True, False])
def test_a_repeated_end_changes_nothing(ledger, commit):
    """TB-08."""
    ledger.append(txn=(0, 1))
    ledger.end({"txn": (0, 1), "commit": commit, "watermark": 0})
    before = ledger.dump()
    assert [ledger.end({"txn": (0, 1), "commit": commit, "watermark": 0}) for _ in range(2)] == [[Status.OK, "-1"]] * 2
    assert ledger.dump() == before


def test_an_end_where_nothing_was_written_leaves_only_its_tombstone(ledger):
    """TB-26."""
    before = ledger.dump()
    assert ledger.abort(3, 17) == -1
    after = ledger.dump()
    assert after.pop("ended") == [*before.pop("ended"), (b"3-17", float(ledger.now))]
    assert after == before


@pytest.mark.parametrize(("open_", "other"), [(5, 4), (70, 7), (7, 70)])
def test_an_end_of_another_transaction_of_the_producer_writes_no_marker(ledger, open_, other):
    ledger.append(txn=(0, open_), pid=7)
    assert ledger.end({"txn": (0, other), "pid": 7, "commit": True}) == [Status.OK, "-1"]
    assert (ledger.stable, ledger.next) == (0, 1)
    assert ledger.end({"txn": (0, open_), "pid": 7, "commit": True}) == [Status.OK, "1"]


def test_after_its_end_a_transaction_can_write_nothing_while_an_older_one_is_open(ledger):
    """TB-10."""
    # Given t0 left open, which keeps the watermark low, and t1 committed
    ledger.append(txn=(0, 0))
    ledger.append(txn=(0, 1))
    ledger.commit(0, 1, watermark="")
    # When t1 writes again, verified or not
    replies = [ledger.append(txn=(0, 1), verified=verified)[0] for verified in (True, False)]
    # Then it is refused, and the stable offset is t0's business alone
    assert replies == [Status.TXN_ENDED] * 2
    ledger.commit(0, 0)
    assert ledger.append()[1] == "4"
    assert ledger.stable == 5


def test_a_partition_of_another_topic_is_unknown_and_untouched(ledger):
    ledger.append(txn=(0, 1))
    before = ledger.dump()
    assert ledger.end({"txn": (0, 1), "commit": True, "watermark": 1}, topic_id="t-2") == [Status.UNKNOWN_TOPIC]
    assert ledger.dump() == before


def test_an_absent_partition_is_unknown_and_stays_absent(connect, prefix):
    absent = Ledger(connect(f"{prefix}:{{orders:0}}:"), prefix)
    assert absent.end({"txn": (0, 1), "commit": True}) == [Status.UNKNOWN_TOPIC]
    assert absent.dump() == {}


def test_an_end_forgets_the_sequences_of_a_native_transaction(ledger):
    ledger.append(txn=(0, 1), sequence=0)
    ledger.append(pid=99, epoch=0, sequence=0)
    ledger.commit(0, 1)
    assert [pid for pid in ledger.client.hkeys(ledger.keys.producers) if pid] == [b"99"]


# -- tombstones and watermarks -----------------------------------------------------------------------------------------


def test_a_tombstone_goes_when_the_watermark_reaches_it(ledger):
    ledger.commit(0, 8)
    ledger.commit(0, 10, watermark=8)
    assert ledger.tombstones() == {"0-10"}
    ledger.commit(0, 9, watermark=10)
    assert ledger.tombstones() == set()
    # and the watermark keeps the fence
    assert ledger.append(txn=(0, 9))[0] == Status.TXN_ENDED


def test_a_tombstone_goes_when_it_is_old(ledger):
    ledger.commit(0, 8)
    ledger.now += TOMBSTONE_MS
    ledger.commit(0, 9)
    assert ledger.tombstones() == {"0-8", "0-9"}
    ledger.now += 1
    ledger.commit(0, 9)
    assert ledger.tombstones() == {"0-9"}


def test_tombstones_do_not_pile_up_while_ends_continue(ledger):
    # Given a hundred tombstones held by an open transaction
    for serial in range(1, 101):
        ledger.commit(0, serial, watermark=0)
    assert len(ledger.tombstones()) == 100
    # When it has ended and twenty more end
    for serial in range(101, 121):
        ledger.commit(0, serial, watermark=serial - 1)
    # Then all but the newest are gone
    assert len(ledger.tombstones()) <= 1


def test_an_old_open_transaction_keeps_the_tombstones_of_its_own_coordinator_only(ledger):
    # Given a coordinator whose watermark stands still and seven whose watermarks rise
    for serial in range(1, 101):
        for coordinator in range(8):
            ledger.now += 7
            ledger.commit(coordinator, serial, watermark=serial - 1 if coordinator else "")
    # Then its hundred are kept, and few of the others
    kept = ledger.tombstones()
    assert {f"0-{serial}" for serial in range(1, 101)} <= kept
    assert len(kept) < 200


@pytest.mark.parametrize(
    ("raises", "kept"),
    [
        ((5, 3), "5"),
        ((9, 10), "10"),
        ((10, 9), "10"),
        (("", 4), "4"),
        ((4, ""), "4"),
        ((2**48 - 2, 2**48 - 1), str(2**48 - 1)),
    ],
)
def test_a_watermark_is_raised_and_never_lowered(ledger, raises, kept):
    """TB-09."""
    for n, watermark in enumerate(raises):
        ledger.commit(7, 2**48 - 3 + n, watermark=watermark)
    assert ledger.watermarks() == {"7": kept}


def test_the_highest_watermark_of_a_call_counts_in_any_order(ledger):
    ledger.end(*({"txn": (1, 50 + w), "commit": True, "watermark": w} for w in (3, 12, 9)))
    assert ledger.watermarks() == {"1": "12"}


@pytest.mark.parametrize("coordinator_", COORDINATORS)
def test_serials_that_are_equal_as_doubles_are_kept_apart(ledger, coordinator_):
    # Given two neighbours whose producer ids are one double when the coordinator is 32 or more
    low, high = 2**48 - 2, 2**48 - 1
    ledger.append(txn=(coordinator_, low))
    ledger.append(txn=(coordinator_, high))
    assert len(ledger.client.hgetall(ledger.keys.open)) == 3  # with the sentinel
    # When one aborts and the other commits
    assert (ledger.abort(coordinator_, low, watermark=low - 1), ledger.stable) == (2, 1)
    assert (ledger.commit(coordinator_, high, watermark=low), ledger.stable) == (3, 4)
    # Then each has its own outcome and its own fence
    assert [a.producer_id for a in ledger.aborted()] == [TxnId(coordinator_, low).producer_id]
    assert visible(ledger) == [1]
    assert ledger.tombstones() == {f"{coordinator_}-{high}"}
    assert ledger.watermarks() == {str(coordinator_): str(low)}
    assert ledger.append(txn=(coordinator_, low))[0] == Status.TXN_ENDED


# -- leftovers ---------------------------------------------------------------------------------------------------------


def test_leftovers_at_or_below_the_watermark_are_aborted(ledger):
    """TB-12."""
    # Given three transactions that ended elsewhere but are open here, and a live one
    for serial in (1, 2, 10):
        ledger.append(txn=(5, serial))
    ledger.append(txn=(5, 12))
    ledger.append(txn=(5, 11))
    # When one transaction ends and its end says that all up to 10 have ended
    assert ledger.end({"txn": (5, 11), "commit": True, "watermark": 10}) == [Status.OK, "5"]
    # Then the three are aborted with markers of their own and the live one holds the stable offset
    assert [(e.producer_id & 0xFF, e.flags) for e in ledger.log()[5:]] == [
        (11, COMMITTED), (1, ABORTED), (2, ABORTED), (10, ABORTED),
    ]  # fmt: skip
    assert ledger.stable == 3
    ledger.commit(5, 12)
    assert visible(ledger) == [3, 4]


def test_a_watermark_says_nothing_about_another_coordinator(ledger):
    """TB-11."""
    # Given leftovers of A and B
    for coordinator in (31, 32):
        ledger.append(txn=(coordinator, 1))
    # When an end comes from B, then only B's go; then from A, and A's go too
    ledger.commit(32, 5, watermark=4)
    assert (ledger.stable, len(ledger.aborted())) == (0, 1)
    ledger.commit(31, 5, watermark=4)
    assert (ledger.stable, len(ledger.aborted())) == (4, 2)


def test_leftovers_behind_many_live_transactions_go_when_those_have_ended(ledger):
    # Given more live transactions than one call looks at, and leftovers behind them
    for serial in range(150):
        ledger.append(txn=(1, serial))
    for serial in range(100):
        ledger.append(txn=(2, serial))
    ledger.commit(2, 101, watermark=100)
    assert ledger.aborted() == []
    # When the live ones have ended and the leftovers' coordinator is heard of again
    ledger.end(*({"txn": (1, serial), "commit": True} for serial in range(150)))
    ledger.commit(2, 102, watermark=101)
    # Then every one is aborted
    assert len(ledger.aborted()) == 100
    assert ledger.stable == ledger.next


# -- pending acks ------------------------------------------------------------------------------------------------------


@pytest.fixture
def sub(ledger) -> Subscription:
    """A subscription on ten records; c1 has received 0 to 5, and a transaction holds 0 to 3."""
    for _ in range(5):
        ledger.append(2)
    made = Subscription(ledger)
    made.receive("c1", 6)
    assert made.hold("0-7", range(4))[0] == Status.OK
    return made


def test_a_commit_acknowledges_what_the_transaction_held(ledger, sub):
    ledger.commit(0, 7, subs=["sub"])
    placed = sub.content()
    assert (placed.mark, placed.pending, sorted(placed.leases)) == (4, {}, [4, 5])


def test_an_abort_gives_back_what_the_transaction_held_and_wakes_the_readers(ledger, sub):
    pubsub = ledger.client.pubsub(ignore_subscribe_messages=True)
    pubsub.ssubscribe(ledger.keys.wake)
    pubsub.get_sharded_message(timeout=1)
    ledger.abort(0, 7, subs=["sub"])
    message = pubsub.get_sharded_message(timeout=1)
    pubsub.close()
    assert message["data"] == b"look again"
    sub.now += 1
    assert (sub.content().pending, set(sub.receive("c2").offsets)) == ({}, {0, 1, 2, 3, 6, 7, 8, 9})


def test_a_repeated_end_settles_once(ledger, sub):
    ledger.commit(0, 7, subs=["sub"])
    before = sub.content()
    ledger.commit(0, 7, subs=["sub"])
    ledger.abort(0, 7, subs=["sub"])
    assert sub.content() == before


def test_an_end_says_nothing_about_the_acks_of_another_transaction(ledger, sub):
    sub.hold("0-8", [4])
    ledger.end({"txn": (0, 8), "commit": True, "subs": ["sub"]}, {"txn": (0, 9), "commit": True, "subs": ["sub"]})
    assert set(sub.content().pending) == {0, 1, 2, 3}
    assert sub.content().bits == {4}


def test_one_call_settles_several_subscriptions_of_several_transactions(ledger, sub):
    other = Subscription(ledger, "other sub")
    other.receive("c1", 4)
    other.hold("0-7", [0])
    other.hold("0-8", [1, 2])
    ledger.end(
        {"txn": (0, 8), "commit": False, "subs": ["other sub"]},
        {"txn": (0, 7), "commit": True, "subs": ["sub", "other sub", "gone"]},
    )
    assert (sub.content().mark, other.content().mark) == (4, 1)
    assert sorted(other.content().leases) == [1, 2, 3]
    assert ledger.keys.sub("gone").cursor not in ledger.client.keys(f"{ledger.tag}:sub:*")


def test_an_ack_after_the_end_is_refused_by_tombstone_and_by_watermark(ledger, sub):
    ledger.commit(0, 7, subs=["sub"])
    assert sub.hold("0-7", [4]) == [Status.TXN_ENDED]
    ledger.commit(0, 9, watermark=9)
    assert sub.hold("0-8", [4]) == [Status.TXN_ENDED]
    assert sub.hold("0-10", [4])[0] == Status.OK
