"""lua/delay/rearm: recurring entries are scheduled again; scripts change nothing of another topic incarnation."""

from __future__ import annotations

from typing import Any

from redis_ledger.store.script_status import Status
from tests.support.delay_scripts import Delays

STALE, UNKNOWN = [Status.STALE], [Status.UNKNOWN_TOPIC]
TXN, NAME = (3, 17), "3-17"


def repeating(delays: Delays, due: int, **more: Any) -> None:
    delays.schedule(due, **more)
    delays.client.hset(delays.d.repeats, "1", f"{due} how")


# -- rearm -------------------------------------------------------------------------------------------------------------


def test_a_repeating_entry_waits_again_under_its_number_with_the_same_payload(delays):
    repeating(delays, 10)
    for round in range(1, 4):
        delays.fire(now=10 * round)
        owed = delays.hash("repeats")["!1"]
        assert delays.rearm(1, owed, 10 * round + 10, f"{10 * round + 10} how {round}") == [Status.OK, 1]
        assert (delays.live(), delays.counters()["owed"], delays.counters()["records"]) == ({1}, 0, 1)
        assert delays.hash("repeats") == {"1": f"{10 * round + 10} how {round}"}
        delays.check()
    assert delays.fired() == [(-1, 1, None)] * 3
    assert list(delays.payloads(-1)) == ["0-1"]


def test_the_last_repetition_lets_the_payload_go(delays):
    repeating(delays, 10)
    delays.fire(now=10)
    assert delays.rearm(1, delays.hash("repeats")["!1"], "") == [Status.OK, 1]
    assert (delays.hash("repeats"), delays.live(), delays.row(-1)[4]) == ({}, set(), 0)


def test_second_rearm_changes_nothing(delays):
    repeating(delays, 10)
    delays.fire(now=10)
    owed = delays.hash("repeats")["!1"]
    delays.rearm(1, owed, 20, "20 how")
    before = delays.dump()
    assert delays.rearm(1, owed, 20, "20 how") == [Status.OK, 0]
    assert delays.rearm(1, owed, "") == [Status.OK, 0]
    assert delays.dump() == before


def test_a_repeating_entry_of_a_sealed_ledger_waits_in_the_queue(delays):
    repeating(delays, 10)
    bucket, segments = delays.seal()
    delays.load_next(bucket, segments)
    delays.fire(now=10)
    delays.rearm(1, delays.hash("repeats")["!1"], 20, "20 how")
    assert (delays.at("queue"), delays.at("open")) == ([(20, 1, -1)], [])
    assert (delays.fire(now=19).records, delays.fire(now=20).records) == (0, 1)


def test_a_repeating_record_that_was_moved_repeats_as_a_whole(delays):
    repeating(delays, 10)
    delays.move(delays.entry(1), 0, 15)
    assert (delays.fire(now=14).records, delays.fire(now=15).records) == (0, 1)
    delays.rearm(1, delays.hash("repeats")["!1"], 25, "25 how")
    assert (delays.hash("parts"), delays.at("open")) == ({}, [(25, 1, -1)])
    assert (delays.fire(now=24).records, delays.fire(now=25).records) == (0, 1)


# -- another topic -----------------------------------------------------------------------------------------------------


def test_another_incarnation_of_the_topic_changes_nothing(delays):
    repeating(delays, 10)
    delays.schedule(20, 30)
    delays.fire(now=10)
    delays.schedule(40, txn=TXN)
    delays.commit(*TXN)
    before = delays.dump()
    more = {"topic_id": "t-2"}
    replies = [
        delays.settle(NAME, 1, **more), delays.cancel((2, 0, 1), **more), delays.move(delays.entry(2), 0, 5, **more),
        delays.clear(**more), delays.rearm(1, delays.hash("repeats")["!1"], 20, "20 how", **more),
    ]  # fmt: skip
    assert replies == [UNKNOWN] * 5
    assert delays.dump() == before
