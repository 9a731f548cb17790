"""lua/ledger/trim and drop with subscriptions that hold records back, and with payload in Parquet."""

from __future__ import annotations

import pytest

from redis_ledger.store.keys import encode_name
from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import TOPIC_ID, Ledger

ALL = {"bytes_max": 0}


@pytest.fixture
def twenty(ledger: Ledger) -> Ledger:
    """Ten batches of two records and ten bytes."""
    for _ in range(10):
        ledger.append(2, payload=b"0123456789")
    return ledger


def subscribe(ledger: Ledger, name: str, mark: int, kind: str = "shared") -> None:
    """A subscription that has acknowledged what is below mark."""
    keys = (ledger.keys.state, ledger.keys.subs, *ledger.keys.sub(name).all())
    args = (TOPIC_ID, encode_name(name), kind, mark, ledger.now, f"incarnation of {name} at {mark}", 1, 0)
    assert ledger.run("cursor/create", keys, *args) == [Status.OK, 1]


# -- acknowledged ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marks", "start"),
    [
        ({}, "20"),
        ({"a": 20}, "20"),
        ({"a": 8}, "8"),
        ({"a": 20, "b": 6, "c": 12}, "6"),
        ({"a": 7}, "6"),
        ({"a": 0}, "0"),
    ],
)
def test_the_slowest_subscription_holds_back_time_and_bytes(twenty, marks, start):
    for name, mark in marks.items():
        subscribe(twenty, name, mark, "exclusive" if name == "b" else "shared")
    named = dict.fromkeys(marks, "")
    assert twenty.trim(**ALL, named=named)[1] == start
    twenty.now += 1
    assert twenty.trim(before=twenty.now, named=named) == [Status.OK, start, 0]


def test_without_that_setting_subscriptions_hold_nothing_back(twenty):
    subscribe(twenty, "a", 4)
    assert twenty.trim(**ALL)[1] == "20"


def test_deleting_records_asks_no_subscription(twenty):
    subscribe(twenty, "a", 4)
    assert twenty.trim(below=9, named={"a": ""})[1] == "9"
    # and what the subscription has not come to yet is held back as before
    assert twenty.trim(**ALL, named={"a": ""})[1:3] == ["9", 0]


def test_trim_without_a_subscription_returns_stale_and_trims_nothing(twenty):
    subscribe(twenty, "a", 20)
    subscribe(twenty, "o/o", 6)
    before = twenty.dump()
    for named in ({}, {"a": ""}, {"b": "", "a": ""}):
        reply = twenty.trim(**ALL, named=named)
        assert (reply[0], set(reply[1:])) == (Status.STALE, {"a", "o%2Fo"})
    assert twenty.dump() == before


def test_a_subscription_that_is_gone_holds_nothing_back(twenty):
    subscribe(twenty, "a", 20)
    assert twenty.trim(**ALL, named={"a": "", "gone": ""})[1] == "20"


def test_groups_of_kafka_hold_nothing_back(twenty):
    subscribe(twenty, "a", 8)
    twenty.client.hset(twenty.keys.subs, "group", "kafka")
    assert twenty.trim(**ALL, named={"a": ""})[1] == "8"


def test_leftover_of_a_deleted_subscription_is_ignored_unless_recreated(twenty):
    subscribe(twenty, "left", 2)
    subscribe(twenty, "a", 16)
    assert twenty.trim(**ALL, named={"a": "", "left": twenty.now + 1})[1] == "2"
    assert twenty.trim(**ALL, named={"a": "", "left": twenty.now})[1] == "16"


def test_undecided_records_stay_even_if_everything_is_acknowledged(twenty):
    twenty.append(txn=(0, 1))
    twenty.append()
    subscribe(twenty, "a", 22)
    assert twenty.trim(**ALL, named={"a": ""})[1] == "20"


def test_thousands_of_subscriptions_are_listed_and_accepted(twenty):
    count = 9_000
    pipe = twenty.client.pipeline(transaction=False)
    for n in range(count):
        pipe.hset(twenty.keys.subs, f"s{n}", "shared")
        pipe.hset(twenty.keys.sub(f"s{n}").cursor, mapping={"mark": 10, "created": 5})
    pipe.execute()
    names = twenty.trim(**ALL, named={})[1:]
    assert len(names) == count
    assert twenty.trim(**ALL, named=dict.fromkeys(names, ""))[1] == "10"


# -- payload that lies in Parquet as well ------------------------------------------------------------------------------


@pytest.fixture
def rolled(ledger: Ledger) -> Ledger:
    """Sealed ledgers 1 (offsets 0 to 3), 2 (4 to 7) and 3 (8 to 11); 4 is active and holds 12."""
    for _ in range(3):
        ledger.append(2)
        ledger.append(2)
        ledger.roll()
    ledger.append()
    return ledger


@pytest.mark.parametrize(
    ("start", "offloaded", "spent"),
    [(0, 0, []), (0, 3, []), (0, 4, ["1"]), (0, 11, ["1", "2"]), (0, 12, ["1", "2", "3"]), (0, 13, ["1", "2", "3"]),
     (8, 4, ["1", "2"]), (4, 12, ["1", "2", "3"])],
)  # fmt: skip
def test_payload_of_a_sealed_ledger_may_go_below_the_start_or_below_the_offloaded_offset(
    rolled, start, offloaded, spent
):
    rolled.client.hset(rolled.keys.state, "cold", offloaded)
    log = rolled.log()
    reply = rolled.trim(below=start)
    assert (reply[1], reply[3:]) == (str(start), spent)
    assert [str(n) for n in (1, 2, 3, 4) if rolled.drop(n)[1] == 1] == spent
    # and the log keeps its entries, from the start on
    assert rolled.log() == [entry for entry in log if entry.last_offset >= start]
    assert rolled.trim()[3:] == []


def test_unlogged_entries_keep_a_ledger_that_is_offloaded_otherwise(rolled):
    rolled.client.hset(rolled.keys.state, "cold", 12)
    rolled.client.hset(rolled.keys.ledgers, "2", f"3 0 1 7 1 10 {rolled.now}")
    assert rolled.trim()[3:] == ["1", "3"]
    assert rolled.drop(2) == [Status.OK, 0, 0]


def test_any_number_of_ledgers_is_returned(ledger):
    count = 9_000
    ledger.client.hset(ledger.keys.ledgers, mapping={str(n): f"1 0 1 -1 0 7 {ledger.now}" for n in range(2, count + 2)})
    assert len(ledger.trim()) == 3 + count
