"""lua/ledger/takeover and lua/txn/takeover: what continues after a loss, and that a second call changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.ledger.leader_epochs import EpochEnd, EpochStart, compare, parse_epochs
from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import TOPIC_ID, Ledger, TxnCoordinator

GAP = 1000


def take_over(ledger: Ledger, epoch: int, end: int, *, items_max: int = 32, topic_id: str = TOPIC_ID) -> list[Any]:
    keys = (ledger.keys.state, ledger.keys.log)
    reply: list[Any] = ledger.run(
        "ledger/takeover", keys, topic_id, epoch, end, GAP, ledger.now, ledger.keys.wake, items_max
    )
    return reply


def history(ledger: Ledger) -> tuple[EpochStart, ...]:
    return parse_epochs(ledger.state().get("epochs", ""))


def test_the_log_continues_above_the_remembered_end(ledger: Ledger):
    ledger.append(records=5)
    assert take_over(ledger, 0, 9) == [Status.OK, 1, "1", "5", "1010"]
    assert history(ledger) == (EpochStart(1, 1009, 5, 9, ledger.now),)
    assert (ledger.next, ledger.stable) == (1010, 1010)
    entry = ledger.log()[-1]
    assert (entry.base_offset, entry.records, entry.begins_epoch, entry.is_marker) == (1009, 1, True, True)
    assert ledger.append()[:3] == [Status.OK, "1010", "1"]


def test_an_end_that_is_not_lower_changes_nothing(ledger: Ledger):
    ledger.append(records=5)
    before = ledger.dump()
    for end in (0, 4, 5):
        assert take_over(ledger, 0, end) == [Status.OK, 0, "0", "5", "5"]
    assert take_over(ledger, 0, 9, topic_id="another") == [Status.UNKNOWN_TOPIC]
    assert ledger.dump() == before


def test_brokers_that_come_later_continue_only_above_what_the_first_has_left_free(ledger: Ledger):
    ledger.append(records=5)
    take_over(ledger, 0, 9)
    before = ledger.dump()
    for end in (6, 9, 1009):
        assert take_over(ledger, 0, end) == [Status.OK, 0, "1", "5", "1010"]
    assert ledger.dump() == before
    assert take_over(ledger, 0, 1011) == [Status.OK, 1, "2", "5", "2012"]
    assert [(each.epoch, each.ended_at) for each in history(ledger)] == [(1, 5), (2, 1010)]


def test_a_takeover_that_was_lost_itself_gets_a_higher_epoch(ledger: Ledger):
    ledger.append(records=5)
    assert take_over(ledger, 3, 1010) == [Status.OK, 1, "4", "5", "2011"]


def test_an_open_transaction_still_holds_the_stable_offset(ledger: Ledger):
    ledger.append(records=2)
    ledger.client.hset(ledger.keys.state, "stable", 1)
    take_over(ledger, 0, 9)
    assert ledger.stable == 1


def test_a_transaction_from_before_the_loss_gets_no_more_batches(ledger: Ledger):
    """Its marker may be lost. A batch of the producer's next transaction would become part of it."""
    assert ledger.append(txn=(3, 17), pid=7)[0] == Status.OK
    assert ledger.append(txn=(3, 18), pid=8)[0] == Status.OK
    take_over(ledger, 0, 9)
    assert ledger.append(txn=(3, 17), pid=7) == [Status.TXN_ENDED]
    assert ledger.append(txn=(3, 19), pid=7) == [Status.OTHER_OPEN, "3", "17"]
    ledger.commit(3, 17, pid=7)
    # the next transaction of the producer begins above the loss, and goes on
    assert [ledger.append(txn=(3, 19), pid=7)[0] for _ in range(2)] == [Status.OK] * 2
    assert ledger.append(txn=(3, 18), pid=8) == [Status.TXN_ENDED]


@pytest.mark.parametrize(("stored", "known", "following"), [(9, 10, 11), (99, 100, 101)])
def test_a_remembered_epoch_is_compared_as_a_number(ledger: Ledger, stored: int, known: int, following: int):
    ledger.append(records=5)
    ledger.client.hset(ledger.keys.state, "epoch", stored)
    assert take_over(ledger, known, 5)[:3] == [Status.OK, 1, str(following)]
    # When a broker comes that remembers the earlier epoch, then it finds where that has ended
    assert take_over(ledger, stored, 5)[:4] == [Status.OK, 0, str(following), "5"]


def test_the_history_is_bounded(ledger: Ledger):
    for epoch in range(6):
        take_over(ledger, epoch, 10_000 * (epoch + 1), items_max=3)
    assert [each.epoch for each in history(ledger)] == [4, 5, 6]


@pytest.mark.parametrize("known", [(0, 3), (0, 9), (0, 1009), (0, 1500), (1, 1010), (1, 1500), (2, 5)])
def test_the_script_and_the_broker_decide_alike(ledger: Ledger, known: tuple[int, int]):
    ledger.append(records=5)
    take_over(ledger, 0, 9)
    found = compare(history(ledger), EpochEnd(*known), EpochEnd(1, ledger.next))
    assert take_over(ledger, *known)[1] == found.takes_over


def test_a_producer_that_lost_batches_begins_a_new_epoch_and_does_not_fail(ledger: Ledger):
    ledger.append(pid=7, epoch=0, sequence=0)
    take_over(ledger, 0, 3)
    assert ledger.append(pid=7, epoch=0, sequence=2)[0] == Status.UNKNOWN_PRODUCER
    assert ledger.append(pid=7, epoch=1, sequence=0)[0] == Status.OK
    assert ledger.append(pid=7, epoch=1, sequence=3)[0] == Status.SEQUENCE_GAP


def test_an_offset_with_fewer_digits_than_the_new_epoch_s_first_one_is_before_it(ledger: Ledger):
    for sequence in range(3):
        ledger.append(3, pid=7, epoch=0, sequence=3 * sequence)
    take_over(ledger, 0, 12)  # the epoch begins at 1012; the last batch is at 6
    assert ledger.append(pid=7, epoch=0, sequence=12)[0] == Status.UNKNOWN_PRODUCER


def take_over_coordinator(coordinator: TxnCoordinator, following: int, entry: int) -> list[Any]:
    reply: list[Any] = coordinator.run("txn/takeover", (coordinator.keys.state,), following, entry, GAP)
    return reply


def test_a_coordinator_continues_above_the_remembered_numbers(coordinator: TxnCoordinator):
    serial = int(coordinator.begin())
    before = coordinator.client.hgetall(coordinator.keys.state)
    assert take_over_coordinator(coordinator, serial + 1, 1)[1] == 0
    assert coordinator.client.hgetall(coordinator.keys.state) == before
    assert take_over_coordinator(coordinator, serial + 1, 5)[:2] == [Status.OK, 1]
    assert take_over_coordinator(coordinator, serial + 1, 5)[:2] == [Status.OK, 0]
    assert coordinator.client.hmget(coordinator.keys.state, "entry", "rollbacks") == [b"1005", b"1"]
    assert int(coordinator.begin()) > serial


@pytest.mark.parametrize(
    ("stored", "known"), [((9, 5), (10, 5)), ((5, 9), (5, 10)), ((99, 5), (100, 5)), ((5, 99), (5, 100))]
)
def test_remembered_numbers_are_compared_as_numbers(coordinator: TxnCoordinator, stored, known):
    state = coordinator.keys.state
    coordinator.client.hset(state, mapping={"next": stored[0], "entry": stored[1]})
    assert take_over_coordinator(coordinator, *known) == [Status.OK, 1, *map(str, stored)]
    coordinator.client.hset(state, mapping={"next": known[0], "entry": known[1]})
    assert take_over_coordinator(coordinator, *stored) == [Status.OK, 0, *map(str, known)]


def test_a_transactional_id_from_before_is_fenced_until_it_is_initialized(coordinator: TxnCoordinator):
    status, number, epoch = coordinator.one("init_id pay 1000 - 0").split(" ")[:3]
    assert (status, epoch) == ("0", "0")
    take_over_coordinator(coordinator, 0, 10_000)
    for line in (
        f"add_by_id pay {number} 0 a/b/0",
        f"end_by_id pay {number} 0 C 1 -",
        f"verify_by_id pay {number} 0 a/b/0",
    ):
        assert coordinator.one(line).split(" ")[0] == str(Status.STALE_EPOCH)
    status, fresh, epoch = coordinator.one("init_id pay 1000 - 0").split(" ")[:3]
    assert (status, epoch) == ("0", "0")
    assert int(fresh) > int(number)
    assert coordinator.one(f"add_by_id pay {fresh} 0 a/b/0").split(" ")[0] == "0"
