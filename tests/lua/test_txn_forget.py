"""lua/txn/forget and forget_tombstones: state expires by age and by number, while no transaction ends."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import TOMBSTONE_MS, Ledger, TxnCoordinator

HOUR_MS, DAY_MS = 3_600_000, 86_400_000


def forget(coordinator: TxnCoordinator, most: int = 500, keep_ms: int = HOUR_MS, keep: int = -1) -> list[Any]:
    return coordinator.run("txn/forget", coordinator.keys.all(), coordinator.now, most, keep_ms, keep, DAY_MS, 1_000)[
        1:
    ]


def ended(coordinator: TxnCoordinator, count: int, nonce: str = "n", outcome: str = "C") -> list[str]:
    serials = [coordinator.begin(60_000, "-", f"{nonce}{n}") for n in range(count)]
    coordinator.apply(*(line for s in serials for line in (f"end {s} {outcome}", f"complete {s}")), keep=-1)
    return serials


def sizes(coordinator: TxnCoordinator) -> tuple[int, int, int, int]:
    """Outcomes, their times, nonces, steps; without the sentinels."""
    c, k = coordinator.client, coordinator.keys
    return c.hlen(k.outcomes) - 1, c.zcard(k.forget) - 1, c.hlen(k.nonces) - 1, c.zcard(k.steps) - 1


def test_outcomes_and_their_nonces_go_when_their_time_is_over_and_not_before(coordinator):
    ended(coordinator, 7)
    coordinator.now += HOUR_MS - 1
    assert forget(coordinator) == [0, 0]
    assert sizes(coordinator) == (7, 7, 7, 0)
    coordinator.now += 1
    assert forget(coordinator) == [7, 0]
    assert sizes(coordinator) == (0, 0, 0, 0)
    assert forget(coordinator) == [0, 0]


def test_one_call_forgets_so_many_and_the_oldest_first(coordinator):
    first = ended(coordinator, 3)
    coordinator.now += 1
    last = ended(coordinator, 2, "m")
    coordinator.now += HOUR_MS
    assert forget(coordinator, most=3) == [3, 0]
    assert coordinator.client.hmget(coordinator.keys.outcomes, first) == [None] * 3
    assert forget(coordinator, most=3) == [2, 0]
    assert coordinator.client.hmget(coordinator.keys.outcomes, last) == [None] * 2


@pytest.mark.parametrize(("keep", "gone"), [(-1, 0), (10, 0), (5, 0), (4, 1), (0, 5)])
def test_no_more_outcomes_are_kept_than_the_call_says(coordinator, keep, gone):
    ended(coordinator, 5)
    assert forget(coordinator, keep=keep) == [gone, 0]
    assert sizes(coordinator)[0] == 5 - gone


def test_outcomes_that_are_old_and_those_that_are_too_many_go_in_one_call(coordinator):
    old = ended(coordinator, 2, "old")
    coordinator.now += HOUR_MS - 1
    young = ended(coordinator, 3, "young")
    coordinator.now += 1
    assert forget(coordinator, keep=2) == [3, 0]
    assert coordinator.client.hmget(coordinator.keys.outcomes, [*old, young[0]]) == [None] * 3
    assert sizes(coordinator)[:3] == (2, 2, 2)


def test_nothing_of_a_transaction_that_continues_is_forgotten(coordinator):
    serial = coordinator.begin(60_000, "-", "mine")
    coordinator.now += DAY_MS
    before = coordinator.dump()
    assert forget(coordinator, keep_ms=0, keep=0) == [0, 0]
    assert coordinator.dump() == before
    assert coordinator.one("begin 60000 - mine") == f"0 {serial} again"


def test_a_committed_step_is_known_until_its_key_has_gone(coordinator):
    serial, *_ = ended(coordinator, 3, "!n")
    coordinator.now += DAY_MS - 1
    assert forget(coordinator) == [3, 0]
    assert sizes(coordinator) == (0, 0, 3, 3)
    assert coordinator.one("begin 60000 - !n0") == f"0 {serial} committed"
    coordinator.now += 1
    assert forget(coordinator) == [0, 3]
    assert sizes(coordinator) == (0, 0, 0, 0)


# -- tombstones --------------------------------------------------------------------------------------------------------


def tombstones(ledger: Ledger) -> list[str]:
    return [name.decode() for name in ledger.client.zrange(ledger.keys.ended, 1, -1)]


def drop(ledger: Ledger, at: int = 0, most: int = 500) -> list[Any]:
    keys = (ledger.keys.ended, ledger.keys.watermarks)
    return ledger.run("txn/forget_tombstones", keys, ledger.now, TOMBSTONE_MS, at, most)


def test_tombstones_go_by_time_though_an_older_transaction_is_open(ledger):
    ledger.commit(0, 5)
    ledger.now += 1
    ledger.commit(0, 6)
    ledger.now += TOMBSTONE_MS
    assert drop(ledger) == [Status.OK, 2, 1]
    assert tombstones(ledger) == ["0-6"]
    ledger.now += 1
    assert drop(ledger) == [Status.OK, 1, 1]
    assert tombstones(ledger) == []


def test_tombstones_that_the_watermark_has_reached_go_at_once(ledger):
    for serial in range(5, 9):
        ledger.end({"txn": (0, serial), "commit": True}, {"txn": (1, serial), "commit": True})
    ledger.client.hset(ledger.keys.watermarks, mapping={"0": 7})
    assert drop(ledger) == [Status.OK, 8, 3]
    assert set(tombstones(ledger)) == {"0-8", "1-5", "1-6", "1-7", "1-8"}
    # and those that stay are passed over
    assert drop(ledger, at=2, most=2)[1:] == [2, 0]
    assert drop(ledger, at=5)[1:] == [0, 0]
    # and still refuse what was verified before the end
    assert ledger.append(1, txn=(1, 6))[0] == Status.TXN_ENDED
    assert ledger.append(1, txn=(0, 6))[0] == Status.TXN_ENDED


def test_tombstones_with_serials_of_any_length_are_compared_with_the_watermark(ledger):
    for txn in ((0, 9), (0, 10), (0, 11), (1, 9), (1, 10), (2, 99), (2, 100)):
        ledger.commit(*txn)
    ledger.client.hset(ledger.keys.watermarks, mapping={"0": 10, "1": 9, "2": 99})
    assert drop(ledger) == [Status.OK, 7, 4]
    assert set(tombstones(ledger)) == {"0-11", "1-10", "2-100"}
