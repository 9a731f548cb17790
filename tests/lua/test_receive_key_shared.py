"""lua/cursor/receive_key_shared: records of a key go to one consumer at a time, in order (docs/decisions/0046)."""

from __future__ import annotations

import itertools

import pytest

from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import ACK_TIMEOUT, SESSION, Subscription
from tests.support.key_shared import KeySharedSubscription

OK = Status.OK


@pytest.fixture
def keyed(log):
    """Two consumers, c1 and c2, which have joined, and a topic whose records have the keys k0 to k9 in turn."""
    keys: dict[int, str] = {}
    made = KeySharedSubscription(log, keys)

    def fill(*names: str) -> None:
        for name in names:
            keys[log.append()] = name

    made.fill = fill  # type: ignore[attr-defined]
    for consumer in ("c1", "c2"):
        assert made.receive(consumer).offsets == {}
    return made


NAMES = [f"k{n}" for n in range(10)]


def of_consumer(sub, name, names=NAMES):
    """The keys whose slots are a consumer's."""
    table = sub.table()
    from redis_ledger.cursor.key_shared import hash_of

    return [key for key in names if table[hash_of(key.encode(), 0)[-1]] == name]


# -- slots -------------------------------------------------------------------------------------------------------------


def test_slots_are_divided_evenly_and_few_move_at_a_join_or_a_leave(log):
    sub = KeySharedSubscription(log, {})
    before: list[str] = []
    for count in range(1, 9):
        sub.receive(f"c{count}")
        assert set(sub.slots().values()) <= {256 // count, -(-256 // count)}
        table = sub.table()
        moved = [to for old, to in itertools.zip_longest(before, table) if old is not None and old != to]
        assert set(moved) <= {f"c{count}"}  # only the new consumer got slots
        before = table
    sub.leave("c3")
    sub.receive("c1")
    table = sub.table()
    assert set(sub.slots().values()) <= {36, 37}
    assert all(old in ("c3", to) for old, to in zip(before, table, strict=True))


def test_a_consumer_whose_session_is_over_loses_its_slots(keyed):
    keyed.now += SESSION // 2
    keyed.receive("c1")
    assert keyed.slots() == {"c1": 128, "c2": 128}
    keyed.now += SESSION // 2 + 1
    keyed.receive("c1")
    assert keyed.slots() == {"c1": 256}


def test_consumers_whose_names_begin_alike_get_their_own_keys(log):
    sub = KeySharedSubscription(log, keys := {})
    consumers = ("c1", "c10", "c100", "1", "c")
    for consumer in consumers:
        sub.receive(consumer)
    for n in range(40):
        keys[log.append()] = f"k{n}"
    for consumer in consumers:
        assert sorted(sub.got(consumer)) == sorted(of_consumer(sub, consumer, [f"k{n}" for n in range(40)]))


def test_the_slots_of_each_consumer_move_when_its_own_session_ends(log):
    """And what waits in them: not when the last session ends."""
    sub = KeySharedSubscription(log, keys := {})
    sessions = {"c1": SESSION, "c2": 2 * SESSION, "c3": 3 * SESSION}
    for consumer, session in sessions.items():
        sub.receive(consumer, session=session)
    for name in NAMES:
        keys[log.append()] = name
    lost = {"c1": of_consumer(sub, "c1"), "c2": of_consumer(sub, "c2")}
    assert all(lost.values())
    begin = sub.now
    got = sub.got("c3", session=3 * SESSION)
    # One after the other falls silent
    for left, gone in enumerate(("c1", "c2")):
        sub.now = begin + sessions[gone] - 1
        assert sub.got("c3", session=3 * SESSION) == {}
        assert gone in sub.slots()
        sub.now = begin + sessions[gone]
        got |= (found := sub.got("c3", session=3 * SESSION))
        assert len(sub.slots()) == 2 - left
        assert gone not in sub.slots()
        assert found.keys() <= set(lost["c1"] + lost["c2"])
    assert got.keys() == set(NAMES)


def test_more_consumers_than_may_be_are_refused(log):
    sub = KeySharedSubscription(log, {})
    for number in range(200):
        assert sub.receive_raw(f"c{number}")[0] == OK
    assert sub.receive_raw("c200") == [Status.TOO_MANY]
    sub.now += SESSION
    assert sub.receive_raw("c200")[0] == OK


# -- order -------------------------------------------------------------------------------------------------------------


def test_each_consumer_gets_its_keys_in_order(keyed):
    keyed.fill(*NAMES, *NAMES, *NAMES)
    found = {name: keyed.got(name) for name in ("c1", "c2")}
    assert found["c1"].keys() | found["c2"].keys() == set(NAMES)
    assert not found["c1"].keys() & found["c2"].keys()
    for name, offsets in (found["c1"] | found["c2"]).items():
        place = NAMES.index(name)
        assert offsets == [place, place + 10, place + 20]


def test_a_few_at_a_time_are_in_order_as_well(keyed):
    keyed.fill(*NAMES * 5)
    seen: dict[str, list[int]] = {}
    for consumer in ("c1", "c2") * 20:
        for name, offsets in keyed.got(consumer, 3).items():
            seen.setdefault(name, []).extend(offsets)
    assert seen == {name: list(range(place, 50, 10)) for place, name in enumerate(NAMES)}


def test_a_slow_key_delays_no_other(keyed):
    keyed.fill("k0", *NAMES)
    slow = of_consumer(keyed, "c1")[0]
    keyed.fill(slow)
    got = keyed.got("c1")
    rest = [offset for name, offsets in got.items() if name != slow for offset in offsets]
    assert keyed.ack(rest, "c1")[0] == OK
    keyed.fill(*NAMES)
    assert set(keyed.got("c1")) == set(of_consumer(keyed, "c1"))


def test_a_key_stays_with_its_consumer_until_its_records_are_acknowledged(log):
    keys: dict[int, str] = {}
    sub = KeySharedSubscription(log, keys)
    for name in NAMES:
        keys[log.append()] = name
    assert len(sub.got("c1")) == 10
    # When another consumer joins and gets half of the slots
    sub.receive("c2")
    moved = of_consumer(sub, "c2")
    assert moved
    for name in NAMES:
        keys[log.append()] = name
    # Then it gets none of the keys that the first one has
    assert sub.got("c2") == {}
    assert set(sub.got("c1")) == set(of_consumer(sub, "c1"))
    # Until they are acknowledged
    sub.ack([NAMES.index(moved[0])], "c1")
    assert sub.got("c2") == {moved[0]: [10 + NAMES.index(moved[0])]}


def test_a_returned_record_takes_the_later_ones_of_its_key_with_it(keyed):
    mine = of_consumer(keyed, "c1")[:2]
    keyed.fill(mine[0], mine[1], mine[0], mine[0])
    assert keyed.got("c1") == {mine[0]: [0, 2, 3], mine[1]: [1]}
    keyed.nack([2], "c1")
    content = keyed.checked()
    assert {offset: lease[0] for offset, lease in content.leases.items()} == {0: "c1", 1: "c1", 2: "", 3: ""}
    got = keyed.receive("c1")
    assert got.offsets == {2: 1, 3: 1}


def test_a_delayed_return_delays_its_key_only(keyed):
    mine = of_consumer(keyed, "c1")[:2]
    keyed.fill(mine[0], mine[1], mine[0])
    keyed.got("c1")
    keyed.nack([0], "c1", delay=500)
    keyed.fill(mine[0], mine[1])
    assert keyed.got("c1") == {mine[1]: [4]}
    keyed.now += 500
    assert keyed.got("c1") == {mine[0]: [0, 2, 3]}


def test_an_expired_lease_goes_to_the_next_consumer_with_its_followers(keyed):
    mine = of_consumer(keyed, "c1")[0]
    keyed.fill(mine, mine)
    assert keyed.got("c1", 1) == {mine: [0]}
    keyed.now += ACK_TIMEOUT // 2
    assert keyed.got("c1") == {mine: [1]}
    keyed.now += ACK_TIMEOUT // 2  # the lease of 0 is over, that of 1 is not; c1 has no session
    got = keyed.receive("c2")
    assert got.offsets == {0: 1, 1: 1}
    # A late acknowledgement of the earlier consumer is refused, as it is of any other subscription
    assert keyed.ack([1], "c1")[0] == Status.NOT_LEASED
    keyed.checked()


def test_a_consumer_that_leaves_returns_its_records_in_order(keyed):
    keyed.fill(*NAMES, *NAMES)
    for consumer in ("c1", "c2"):
        keyed.got(consumer)
    keyed.nack(None, "c1")
    keyed.leave("c1")
    got = keyed.got("c2")
    assert got == {name: [NAMES.index(name), 10 + NAMES.index(name)] for name in got}
    assert keyed.slots() == {"c2": 256}


# -- transactions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("commit", [True, False])
def test_a_key_waits_for_the_transaction_that_acknowledged_its_last_record(keyed, commit):
    mine = of_consumer(keyed, "c1")[0]
    keyed.fill(mine)
    keyed.got("c1")
    assert keyed.hold("0-1", [0])[0] == OK
    keyed.fill(mine, mine)
    assert keyed.got("c1") == {}
    keyed.settle("0-1", commit=commit)
    keyed.checked()
    assert keyed.got("c1") == {mine: [1, 2] if commit else [0, 1, 2]}


def test_an_abort_returns_what_was_delivered_behind_it(keyed):
    mine = of_consumer(keyed, "c1")[0]
    keyed.fill(mine, mine, mine)
    keyed.got("c1")
    keyed.hold("0-1", [0, 1])
    keyed.settle("0-1", commit=False)
    keyed.checked()
    assert keyed.receive("c1").offsets == {0: 1, 1: 1, 2: 1}


# -- limits ------------------------------------------------------------------------------------------------------------


def test_no_more_records_wait_than_allowed(keyed):
    theirs, mine = of_consumer(keyed, "c2")[0], of_consumer(keyed, "c1")[0]
    keyed.fill(*[theirs] * 5, mine)
    reply = keyed.receive_raw("c1", waiting_max=3)
    assert (reply[4], len(reply)) == (4, 6)
    assert keyed.got("c2") == {theirs: [0, 1, 2, 3, 4]}
    assert keyed.got("c1") == {mine: [5]}


def test_limits_of_unacknowledged_records_stop_a_receive(keyed):
    mine = of_consumer(keyed, "c1")[0]
    keyed.fill(*[mine] * 5)
    reply = keyed.receive_raw("c1", limits=(2, 0))
    assert (reply[4], reply[6:8]) == (2, [bytes(4), 0])
    assert keyed.receive_raw("c1", limits=(0, 2))[4] == 3
    keyed.ack([0], "c1")
    assert list(keyed.receive("c1", limits=(2, 0)).offsets) == [2]
    keyed.checked()


def test_a_window_elsewhere_delivers_what_waits_and_asks_for_another(keyed):
    mine, theirs = of_consumer(keyed, "c1")[0], of_consumer(keyed, "c2")[0]
    keyed.fill(theirs, mine)
    keyed.got("c2")  # the record of c1 waits
    keyed.fill(mine)
    reply = keyed.receive_raw("c1", window=(7, 9))
    assert reply[4] == 5
    assert reply[6:11] == [bytes(4), 0, reply[8], reply[9], b"1"]
    reply = keyed.receive_raw("c1", window=(2, 3))
    assert (reply[4], reply[6:11]) == (0, [bytes(4), 0, reply[8], reply[9], b"2"])
    keyed.checked()


def test_a_window_that_ends_early_asks_for_another(keyed):
    keyed.fill(*NAMES)
    assert keyed.receive_raw("c1", window=(0, 4))[4] == 5
    assert int(keyed.checked().read) == 4


# -- what else happens to a subscription -------------------------------------------------------------------------------


def test_markers_aborted_records_and_gaps_are_passed(log):
    keys: dict[int, str] = {}
    sub = KeySharedSubscription(log, keys)
    keys[log.append(producer="7", in_txn=True)] = "a"
    log.end("7", commit=False)
    log.gap(5)
    keys[log.append()] = "a"
    log.append(producer="8", in_txn=True)
    assert sub.got("c1") == {"a": [7]}
    assert sub.content().read == 8
    sub.ack([7], "c1")
    assert sub.checked().mark == 8


def test_records_of_a_lost_response_are_delivered_again(keyed):
    mine = of_consumer(keyed, "c1")
    keyed.fill(*mine)
    first = keyed.receive("c1", 2, request="r1.0")
    assert keyed.receive("c1", 2, request="r1.1", again=1).offsets == first.offsets
    keyed.checked()


def test_a_trim_and_a_seek_leave_an_index_that_is_right(keyed):
    keyed.fill(*NAMES, *NAMES)
    for consumer in ("c1", "c2"):
        keyed.got(consumer)
    keyed.log.trim(5)
    got = keyed.got("c1")
    assert got == {}
    assert keyed.checked().mark == 5
    keyed.seek(12)
    keyed.checked()
    found = keyed.got("c1") | keyed.got("c2")
    assert sorted(itertools.chain(*found.values())) == list(range(12, 20))


def test_records_without_a_key_are_spread_and_have_no_order(log):
    sub = KeySharedSubscription(log, {})
    for consumer in ("c1", "c2"):
        sub.receive(consumer)
    log.append(100)
    assert 25 < len(sub.receive("c1").offsets) < 75
    sub.checked()


def test_other_receives_and_cumulative_acknowledgements_are_refused(keyed):
    assert Subscription.receive_raw(keyed, "c1") == [Status.WRONG_KIND, "key_shared"]
    assert keyed.ack_cumulative(0)[0] == Status.WRONG_KIND
    assert keyed.hold_cumulative("0-1", 0)[0] == Status.WRONG_KIND
    shared = Subscription(keyed.log, "other")
    reply = KeySharedSubscription.receive_raw(shared, "c1", window=(0, 0))  # type: ignore[arg-type]
    assert reply == [Status.WRONG_KIND, b"shared"]


@pytest.mark.parametrize(("given", "counted"), [([0, 1, 2], 2), ([0, 1, 2, 3], 3), ([0, 2, 3, 5, 7], 5), ([1], 0)])
def test_an_acknowledgement_over_what_a_transaction_holds_skips_it_and_does_not_count_it(log, given, counted):
    log.append(8)
    sub = KeySharedSubscription(log, {offset: f"k{offset}" for offset in range(8)})
    assert len(sub.receive("c1", 8).offsets) == 8
    assert sub.hold("0-1", [1], "c1")[0] == Status.OK
    for _ in range(2):  # a repetition gets the same answer
        assert sub.ack(given, "c1")[:2] == [Status.OK, counted]
    assert sub.checked().pending.keys() == {1}
