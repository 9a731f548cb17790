"""lua/include/transactional_ids: epochs, fencing, retries, and transactions that ended without their producer.

A line is "operation transactional-id words"; "P" stands for a partition's participant text.
"""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import TxnCoordinator

P, Q = "orders/t-1/0", "orders/t-1/1"
FENCED, UNKNOWN, STATUS = int(Status.STALE_EPOCH), int(Status.UNKNOWN_PRODUCER), int(Status.TXN_STATUS)


def begun(coordinator: TxnCoordinator, name: str = "pay") -> tuple[str, str]:
    """Number and epoch of a producer that has just begun."""
    status, number, epoch = coordinator.one(f"init_id {name} 60000 - -").split(" ")
    assert status == "0"
    return number, epoch


def test_a_first_producer_gets_a_number_of_its_own_and_epoch_0(coordinator):
    number, epoch = begun(coordinator)
    other, _ = begun(coordinator, "other")
    assert epoch == "0"
    assert number != other


def test_each_new_producer_of_an_id_gets_the_next_epoch(coordinator):
    number, _ = begun(coordinator)
    assert begun(coordinator) == (number, "1")
    assert begun(coordinator) == (number, "2")


def test_the_first_touch_begins_a_transaction_and_the_next_ones_join_it(coordinator):
    number, epoch = begun(coordinator)
    serial = coordinator.one(f"add_by_id pay {number} {epoch} {P}").split(" ")[1]
    assert coordinator.one(f"add_by_id pay {number} {epoch} {Q}") == f"0 {serial}"
    assert coordinator.one(f"end {serial} C") == f"0 C @{number}:{epoch}:pay {P} {Q}"


def test_a_partition_of_a_topic_that_was_created_again_counts_as_registered_and_is(coordinator):
    """The broker that registered it had not heard of the new topic; its client named the topic only."""
    number, epoch = begun(coordinator)
    serial = coordinator.one(f"add_by_id pay {number} {epoch} {P}").split(" ")[1]
    for other in ("orders/t-2/1", "orders-2/t-2/0", "xorders/t-2/0", "orders/t-2/00", "orders/t-2/0/s"):
        assert coordinator.one(f"verify_by_id pay {number} {epoch} {other}") == f"{STATUS} unregistered"
    assert coordinator.one(f"verify_by_id pay {number} {epoch} orders/t-2/0") == f"0 {serial}"
    assert coordinator.one(f"end {serial} C") == f"0 C @{number}:{epoch}:pay {P} orders/t-2/0"


@pytest.mark.parametrize("wanted", ["C", "A"])
def test_an_end_names_its_participants_and_a_retry_returns_the_same(coordinator, wanted):
    number, epoch = begun(coordinator)
    serial = coordinator.one(f"add_by_id pay {number} {epoch} {P}").split(" ")[1]
    first = coordinator.one(f"end_by_id pay {number} {epoch} {wanted} 0 {serial}")
    assert first == f"0 {number} {epoch} {serial} {wanted} @{number}:{epoch}:pay {P}"
    assert coordinator.one(f"end_by_id pay {number} {epoch} {wanted} 0 {serial}") == first
    # And when it is done there is nothing left to carry
    coordinator.one(f"complete {serial}")
    assert coordinator.one(f"end_by_id pay {number} {epoch} {wanted} 0 {serial}") == f"0 {number} {epoch}"


def test_an_end_that_contradicts_the_first_is_refused(coordinator):
    number, epoch = begun(coordinator)
    serial = coordinator.one(f"add_by_id pay {number} {epoch} {P}").split(" ")[1]
    coordinator.one(f"end_by_id pay {number} {epoch} C 0 {serial}")
    assert coordinator.one(f"end_by_id pay {number} {epoch} A 0 {serial}") == f"{STATUS} C"


@pytest.mark.parametrize("wanted", ["C", "A"])
def test_an_end_never_ends_another_transaction_than_it_names(coordinator, wanted):
    number, epoch = begun(coordinator)
    first = coordinator.one(f"add_by_id pay {number} {epoch} {P}").split(" ")[1]
    coordinator.one(f"end_by_id pay {number} {epoch} C 0 {first}")
    second = coordinator.one(f"add_by_id pay {number} {epoch} {P}").split(" ")[1]
    # When an end of the first one is executed late, or one whose sender does not know a transaction
    for named in (first, "-"):
        assert coordinator.one(f"end_by_id pay {number} {epoch} {wanted} 0 {named}") == f"{STATUS} other {second}"
    # Then the second one is still open
    assert coordinator.one(f"verify_by_id pay {number} {epoch} {P}") == f"0 {second}"


def test_a_producer_that_keeps_its_epoch_has_one_transaction_after_the_other(coordinator):
    number, epoch = begun(coordinator)
    first = coordinator.one(f"add_by_id pay {number} {epoch} {P}").split(" ")[1]
    coordinator.one(f"end_by_id pay {number} {epoch} C 0 {first}")
    # Even before the first one is done
    second = coordinator.one(f"add_by_id pay {number} {epoch} {P}").split(" ")[1]
    assert second != first
    assert coordinator.one(f"end_by_id pay {number} {epoch} A 0 {second}").split(" ")[3:5] == [second, "A"]


def test_an_end_with_a_bump_raises_the_epoch_and_is_repeated_under_the_old_one(coordinator):
    number, _ = begun(coordinator)
    serial = coordinator.one(f"add_by_id pay {number} 0 {P}").split(" ")[1]
    first = coordinator.one(f"end_by_id pay {number} 0 C 1 -")
    assert first == f"0 {number} 1 {serial} C @{number}:0:pay {P}"
    assert coordinator.one(f"end_by_id pay {number} 0 C 1 -") == first
    assert coordinator.one(f"end_by_id pay {number} 0 A 1 -") == f"{STATUS} C"
    assert coordinator.one(f"add_by_id pay {number} 0 {P}") == f"{FENCED} 1"
    assert coordinator.one(f"add_by_id pay {number} 1 {P}").startswith("0 ")
    assert coordinator.one(f"end_by_id pay {number} 0 A 1 -") == f"{FENCED} 1"


def test_an_empty_transaction_can_be_aborted_with_a_bump_but_not_committed(coordinator):
    number, epoch = begun(coordinator)
    assert coordinator.one(f"end_by_id pay {number} {epoch} C 1 -") == f"{STATUS} none"
    assert coordinator.one(f"end_by_id pay {number} {epoch} A 1 -") == f"0 {number} 1"


def test_a_new_producer_fences_the_old_one_and_aborts_what_it_left_open(coordinator):
    number, _ = begun(coordinator)
    serial = coordinator.one(f"add_by_id pay {number} 0 {P}").split(" ")[1]
    assert coordinator.one("init_id pay 60000 - -") == f"0 {number} 1 {serial} A @{number}:0:pay {P}"
    assert coordinator.one(f"end_by_id pay {number} 0 C 0 -") == f"{FENCED} 1"
    assert coordinator.one(f"add_by_id pay {number} 0 {P}") == f"{FENCED} 1"


def test_producer_with_its_identity_gets_the_next_epoch_once(coordinator):
    """KIP-360: the request may be repeated."""
    number, _ = begun(coordinator)
    assert coordinator.one(f"init_id pay 60000 {number} 0") == f"0 {number} 1"
    assert coordinator.one(f"init_id pay 60000 {number} 0") == f"0 {number} 1"
    assert coordinator.one(f"init_id pay 60000 {number} 1") == f"0 {number} 2"
    assert coordinator.one(f"init_id pay 60000 {number} 0") == f"{FENCED} 2"


def test_a_transaction_that_timed_out_fences_its_producer_which_may_begin_again(coordinator):
    number, _ = begun(coordinator)
    serial = coordinator.one(f"add_by_id pay {number} 0 {P}").split(" ")[1]
    coordinator.now += 60_001
    assert coordinator.one(f"expire {serial}").startswith("0 T ")
    assert coordinator.one(f"end_by_id pay {number} 0 C 0 -") == f"{FENCED} 1"
    # An abort with a bump gets the epoch that the expiry created, and a commit cannot succeed
    assert coordinator.one(f"end_by_id pay {number} 0 C 1 -") == f"{STATUS} A"
    assert coordinator.one(f"end_by_id pay {number} 0 A 1 -").startswith(f"0 {number} 1 {serial} T ")
    # The epoch that the expiry created is returned to the producer with the previous one
    assert coordinator.one(f"init_id pay 60000 {number} 0").startswith(f"0 {number} 1")


def test_a_transaction_that_was_forgotten_counts_as_aborted(coordinator):
    number, _ = begun(coordinator)
    serial = coordinator.one(f"add_by_id pay {number} 0 {P}").split(" ")[1]
    coordinator.one(f"end {serial} A")
    coordinator.one(f"complete {serial}", keep=0)
    coordinator.one("begin 1000 - -", keep=0)
    assert coordinator.one(f"end_by_id pay {number} 0 C 0 -") == f"{FENCED} 1"


def test_a_batch_is_verified_only_while_its_partition_is_registered_with_an_open_transaction(coordinator):
    number, epoch = begun(coordinator)
    assert coordinator.one(f"verify_by_id pay {number} {epoch} {P}") == f"{STATUS} none"
    serial = coordinator.one(f"add_by_id pay {number} {epoch} {P}").split(" ")[1]
    assert coordinator.one(f"verify_by_id pay {number} {epoch} {P}") == f"0 {serial}"
    assert coordinator.one(f"verify_by_id pay {number} {epoch} {Q}") == f"{STATUS} unregistered"
    coordinator.one(f"end_by_id pay {number} {epoch} C 0 {serial}")
    assert coordinator.one(f"verify_by_id pay {number} {epoch} {P}") == f"{STATUS} none"


def test_an_unknown_id_or_another_producer_is_refused(coordinator):
    number, epoch = begun(coordinator)
    for line in (
        "add_by_id unknown 5 0",
        "end_by_id unknown 5 0 C 0 -",
        f"add_by_id pay {number}9 {epoch}",
        f"verify_by_id pay {number}9 {epoch} {P}",
    ):
        assert coordinator.one(line) == str(UNKNOWN)


@pytest.mark.parametrize("held", ["0 0", "7 3", "? 0"])
def test_a_new_transactional_id_gets_a_fresh_number_whatever_identity_the_request_names(coordinator, held):
    number, _ = begun(coordinator)
    status, fresh, epoch = coordinator.one(f"init_id new 60000 {held}").split(" ")
    assert (status, epoch) == ("0", "0")
    assert fresh not in (number, *held.split(" "))
    assert coordinator.one(f"add_by_id new {fresh} 0 {P}").startswith("0 ")


@pytest.mark.parametrize("held", ["{other} 0", "? 0", "{number} 5", "? 1"])
def test_a_known_transactional_id_fences_every_identity_but_its_own(coordinator, held):
    number, _ = begun(coordinator)
    other, _ = begun(coordinator, "other")
    coordinator.one(f"init_id pay 60000 {number} 0")
    assert coordinator.one(f"init_id pay 60000 {held.format(number=number, other=other)}") == f"{FENCED} 1"
    assert coordinator.one(f"add_by_id pay {number} 1 {P}").startswith("0 ")


def exhausted(coordinator: TxnCoordinator) -> str:
    """The number of an id whose next epoch belongs to a new number."""
    number, _ = begun(coordinator)
    row = coordinator.client.hget(coordinator.keys.ids, "pay").decode().split(" ")
    row[1] = "32766"
    coordinator.client.hset(coordinator.keys.ids, "pay", " ".join(row))
    return number


def left_open(coordinator: TxnCoordinator) -> tuple[str, int]:
    number, _ = begun(coordinator)
    coordinator.one(f"add_by_id pay {number} 0 {P}")
    return number, 0


def idle(coordinator: TxnCoordinator) -> tuple[str, int]:
    return begun(coordinator)[0], 0


def continued(coordinator: TxnCoordinator) -> tuple[str, int]:
    """Its last InitProducerId named its identity, so a repetition is known."""
    number, _ = begun(coordinator)
    coordinator.one(f"init_id pay 60000 {number} 0")
    return number, 0


def ended(coordinator: TxnCoordinator) -> tuple[str, int]:
    number, _ = begun(coordinator)
    coordinator.one(f"add_by_id pay {number} 0 {P}")
    coordinator.one(f"end_by_id pay {number} 0 C 1 -")
    return number, 0


def timed_out(coordinator: TxnCoordinator) -> tuple[str, int]:
    number, _ = begun(coordinator)
    serial = coordinator.one(f"add_by_id pay {number} 0 {P}").split(" ")[1]
    coordinator.now += 60_001
    coordinator.one(f"expire {serial}")
    return number, 0


def aborted_by_an_administrator(coordinator: TxnCoordinator) -> tuple[str, int]:
    number, _ = begun(coordinator)
    serial = coordinator.one(f"add_by_id pay {number} 0 {P}").split(" ")[1]
    coordinator.one(f"end {serial} A")
    return number, 0


def used_up(coordinator: TxnCoordinator) -> tuple[str, int]:
    return exhausted(coordinator), 32_766


PREDECESSORS = [idle, left_open, continued, ended, timed_out, aborted_by_an_administrator, used_up]


@pytest.mark.parametrize("predecessor", PREDECESSORS)
def test_a_producer_that_was_fenced_by_its_successor_gets_no_identity_and_ends_nothing(coordinator, predecessor):
    number, epoch = predecessor(coordinator)
    _, successor, now = begun_again(coordinator)
    refusals = (f"{FENCED} {now}", str(UNKNOWN))
    assert coordinator.one(f"init_id pay 60000 {number} {epoch}") == f"{FENCED} {now}"
    for wanted in "CA":
        for bump in "01":
            assert coordinator.one(f"end_by_id pay {number} {epoch} {wanted} {bump} -") in refusals
    assert coordinator.one(f"add_by_id pay {number} {epoch} {P}") in refusals
    assert coordinator.one(f"verify_by_id pay {number} {epoch} {P}") in refusals
    # The successor has the identity it was given, and commits
    serial = coordinator.one(f"add_by_id pay {successor} {now} {P}").split(" ")[1]
    assert coordinator.one(f"end_by_id pay {successor} {now} C 0 {serial}").split(" ")[3:5] == [serial, "C"]


def begun_again(coordinator: TxnCoordinator) -> list[str]:
    answer = coordinator.one("init_id pay 60000 - -").split(" ")
    assert answer[0] == "0"
    return answer[:3]


def test_the_first_number_of_an_id_whose_epochs_are_used_up_is_known_to_a_repetition_only(coordinator):
    number = exhausted(coordinator)
    first = coordinator.one(f"init_id pay 60000 {number} 32766").split(" ")
    assert first[1] != number
    assert first[2] == "0"
    assert coordinator.one(f"init_id pay 60000 {number} 32766").split(" ") == first
    begun_again(coordinator)
    assert coordinator.one(f"init_id pay 60000 {number} 32766") == f"{FENCED} 1"


def test_an_id_whose_epochs_are_used_up_continues_under_a_new_number(coordinator):
    number = exhausted(coordinator)
    serial = coordinator.one(f"add_by_id pay {number} 32766 {P}").split(" ")[1]
    answer = coordinator.one(f"end_by_id pay {number} 32766 C 1 -").split(" ")
    assert answer[1] != number
    assert answer[2:5] == ["0", serial, "C"]
    assert coordinator.one(f"end_by_id pay {number} 32766 C 1 -").split(" ") == answer
    assert coordinator.one(f"add_by_id pay {answer[1]} 0 {P}").startswith("0 ")


def test_operations_of_one_id_in_one_call_see_each_other(coordinator):
    number, _ = begun(coordinator)
    lines = coordinator.apply(
        f"add_by_id pay {number} 0 {P}", f"end_by_id pay {number} 0 C 1 -", f"add_by_id pay {number} 1 {Q}"
    ).lines
    assert lines[0].startswith("0 ")
    assert lines[1].split(" ")[2] == "1"
    assert lines[2].startswith("0 ")
    assert lines[2] != lines[0]


def test_a_call_whose_reply_was_lost_is_answered_as_the_first_time(coordinator):
    number, _ = begun(coordinator)
    first = coordinator.apply(f"add_by_id pay {number} 0 {P}", "init_id other 1000 - -", call=77)
    assert coordinator.apply(f"add_by_id pay {number} 0 {P}", "init_id other 1000 - -", call=77) == first


def test_a_limit_of_open_transactions_holds_for_kafka_clients_too(coordinator):
    number, _ = begun(coordinator)
    coordinator.begin()
    assert coordinator.one(f"add_by_id pay {number} 0 {P}", cap=1) == str(int(Status.TOO_MANY))


def test_an_id_that_is_not_used_any_more_is_forgotten_and_one_that_was_used_since_is_not(coordinator):
    number, _ = begun(coordinator)
    used = coordinator.now
    assert coordinator.one(f"forget_id pay {number} 0 {used - 1}") == "0 -"
    serial = coordinator.one(f"add_by_id pay {number} 0 {P}").split(" ")[1]
    assert coordinator.one(f"forget_id pay {number} 0 {coordinator.now}") == "0 -"
    coordinator.one(f"end_by_id pay {number} 0 C 0 {serial}")
    coordinator.one(f"complete {serial}")
    assert coordinator.one(f"forget_id pay {number} 0 {coordinator.now}") == "0 gone"
    assert coordinator.one(f"add_by_id pay {number} 0 {P}") == str(UNKNOWN)
    assert begun(coordinator)[1] == "0"
