"""lua/include/id_allocation: no serial or producer id is allocated twice, even if Redis lost its newest writes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from redis_ledger.ids import TxnId
from tests.support.ledger_scripts import TxnCoordinator

SINCE_MS = int(datetime(2025, 1, 1, tzinfo=UTC).timestamp() * 1000)
TODAY_MS = SINCE_MS + 700 * 86_400_000
CLOCK_END_MS = SINCE_MS + 2**47 // 64


@pytest.fixture
def today(coordinator: TxnCoordinator) -> TxnCoordinator:
    coordinator.now = TODAY_MS
    return coordinator


def rolled_back(coordinator: TxnCoordinator, to: dict[bytes, bytes]) -> None:
    """The state of a lagging replica, without the newest writes."""
    for key in coordinator.keys.all():
        coordinator.client.delete(key)
    coordinator.open()
    coordinator.client.hset(coordinator.keys.state, mapping=to)


HANDED_OUT = {
    "add transaction": lambda c: c.begin(),
    "add producer id": lambda c: c.one("allocate").split(" ")[1],
    "the producer id of a transactional id": lambda c: c.one("init_id pay 60000 - -").split(" ")[1],
}


@pytest.mark.parametrize("hand_out", HANDED_OUT.values(), ids=HANDED_OUT)
def test_ids_lost_in_a_failover_are_not_allocated_again(today, hand_out):
    """TC-04"""
    today.begin()
    behind = today.client.hgetall(today.keys.state)
    lost = [int(hand_out(today)), *(int(today.begin()) for _ in range(5))]
    rolled_back(today, behind)
    today.now += 1
    assert int(hand_out(today)) > max(lost)


def test_numbers_of_one_call_and_of_one_millisecond_follow_each_other(today):
    first = (TODAY_MS - SINCE_MS) * 64
    applied = today.apply("begin 60000 - -", "allocate", "init_id pay 60000 - -", "add_by_id pay 0 0")
    assert [line.split(" ")[1] for line in applied.lines[:3]] == [str(first), str(first + 1), str(first + 2)]
    assert applied.following == first + 3
    assert today.begin() == str(first + 3)


def test_a_clock_that_steps_back_changes_nothing(today):
    first = int(today.begin())
    today.now -= 400 * 86_400_000
    assert today.begin() == str(first + 1)
    today.now = 0
    assert today.begin() == str(first + 2)


def test_a_coordinator_that_is_faster_than_the_clock_continues_from_its_last_number(today):
    first = int(today.begin())
    assert [int(line.split(" ")[1]) for line in today.apply(*["allocate"] * 200).lines] == list(
        range(first + 1, first + 201)
    )
    today.now += 1
    assert today.begin() == str(first + 201)


def test_small_numbers_of_an_older_release_continue_with_large_ones_and_the_watermark_still_holds(coordinator):
    old = coordinator.begin()
    coordinator.now = TODAY_MS
    new = coordinator.begin()
    assert (old, int(new)) == ("0", (TODAY_MS - SINCE_MS) * 64)
    assert (
        coordinator.apply(f"end {new} C", f"complete {new}").lowest.lstrip("0") == ""
    )  # "0", padded: the old one is live
    ended = coordinator.apply(f"end {old} C", f"complete {old}")
    assert (ended.lowest, ended.following) == ("", int(new) + 1)


def test_operations_without_allocation_keep_the_next_number(today):
    """Otherwise a watermark would pass a transaction that a broker with a slower clock begins afterwards."""
    serial = today.begin()
    today.now += 60_000
    assert today.apply(f"end {serial} C", f"complete {serial}").following == int(serial) + 1
    assert today.apply("add_by_id unknown 5 0").following == int(serial) + 1
    today.now -= 59_999
    assert int(today.begin()) > int(serial)


@pytest.mark.parametrize("now_ms", [CLOCK_END_MS, CLOCK_END_MS + 1, 2**53 - 1])
def test_a_clock_beyond_its_end_is_not_used(coordinator, now_ms):
    coordinator.now = now_ms
    assert [coordinator.begin(0), coordinator.begin(0)] == ["0", "1"]


@pytest.mark.parametrize("number", [0, 31, 32, 32_767])
def test_the_highest_numbers_are_whole_and_fit_a_producer_id(coordinator, number):
    coordinator.now = CLOCK_END_MS - 1
    serial = int(coordinator.begin())
    assert serial == 2**47 - 64
    coordinator.start_at(str(2**48 - 2))
    last = TxnId(number, int(coordinator.begin()))
    assert last.serial == 2**48 - 2
    assert last.producer_id < 2**63
    assert TxnId.of_producer(last.producer_id) == last
    assert TxnId.parse(str(last)) == last


def test_live_transactions_are_ordered_by_number_over_all_lengths(coordinator):
    serials = [coordinator.begin()]
    for now in (SINCE_MS + 1, TODAY_MS, CLOCK_END_MS - 1):
        coordinator.now = now
        serials.append(coordinator.begin())
    members = coordinator.client.zrangebylex(coordinator.keys.order, b"(", b"+")
    assert [int(member) for member in members] == [int(serial) for serial in serials]
    assert [len(serial) for serial in serials] == [1, 2, 13, 15]
