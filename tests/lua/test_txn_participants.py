"""lua/include/participants: transactions with many participants end in several calls of bounded cost."""

from __future__ import annotations

from itertools import pairwise

import pytest

from redis_ledger.proto.txn_log_pb2 import TransactionLogOp as Op
from tests.support.ledger_scripts import TxnCoordinator

PAGE = 200


def names(count: int, first: int = 0) -> list[str]:
    return [f"orders/{'0' * 32}/{number}" for number in range(first, first + count)]


def add(coordinator: TxnCoordinator, serial: str, participants: list[str]) -> None:
    for at in range(0, len(participants), PAGE):
        assert coordinator.one(f"add {serial} {' '.join(participants[at : at + PAGE])}") == "0"


def wide(coordinator: TxnCoordinator, serial: str) -> list[str]:
    """Participants of the transaction that are not in its row."""
    members = coordinator.client.zrange(coordinator.keys.wide, 0, -1)
    return [m.decode().split(" ")[1] for m in members if m.startswith(f"{serial} ".encode())]


def row(coordinator: TxnCoordinator, serial: str) -> list[str]:
    return str(coordinator.client.hget(coordinator.keys.txns, serial).decode()).split("|")[2].split(" ")


def begun(coordinator: TxnCoordinator, count: int) -> str:
    serial = coordinator.begin()
    add(coordinator, serial, names(count))
    return serial


def decided(coordinator: TxnCoordinator, count: int) -> str:
    serial = begun(coordinator, count)
    coordinator.one(f"end {serial} C")
    return serial


def test_participants_beyond_the_row_are_kept_apart(coordinator):
    serial = begun(coordinator, 3_000)
    inline = row(coordinator, serial)
    assert inline[-1] == "+"
    assert len(" ".join(inline)) < 4_096 + 64
    assert sorted([*inline[:-1], *wide(coordinator, serial)]) == sorted(names(3_000))


def test_a_narrow_transaction_is_stored_as_ever(coordinator):
    serial = begun(coordinator, 20)
    assert row(coordinator, serial) == names(20)
    assert wide(coordinator, serial) == []


def test_decision_returns_that_more_participants_exist(coordinator):
    serial = begun(coordinator, 1_000)
    line = coordinator.one(f"end {serial} C")
    assert line == "0 C " + " ".join(row(coordinator, serial))
    assert len(line) < 5_000
    assert coordinator.one(f"end {serial} C") == line


def test_registering_again_changes_nothing(coordinator):
    serial = begun(coordinator, 500)
    before = coordinator.dump()
    add(coordinator, serial, names(500))
    assert {**coordinator.dump(), "state": None} == {**before, "state": None}


def test_a_participant_that_is_named_twice_in_one_call_is_registered_once(coordinator):
    serial = begun(coordinator, 300)
    (new,) = names(1, 300)
    coordinator.apply(f"add {serial} {new} {new}", f"add {serial} {new}")
    assert wide(coordinator, serial).count(new) == 1
    assert [p for placed in coordinator.records() for p in placed.record.participants].count(new) == 1


def test_transactions_do_not_see_each_others_participants(coordinator):
    coordinator.start_at(1)
    first, second = begun(coordinator, 300), begun(coordinator, 10)
    coordinator.start_at(int(first) * 10)
    third = begun(coordinator, 300)  # its serial begins as that of the first
    assert len(wide(coordinator, third)) == len(wide(coordinator, first)) > 0
    assert wide(coordinator, second) == []


@pytest.mark.parametrize(("first", "others"), [(7, (70, 700)), (9, (90, 10)), (1, (10, 19))])
def test_a_completed_transaction_takes_no_participants_of_others_whose_serial_begins_alike(coordinator, first, others):
    serials = []
    for serial in (first, *others):
        coordinator.start_at(serial)
        serials.append(begun(coordinator, 300))
    assert serials == [str(serial) for serial in (first, *others)]
    before = {serial: wide(coordinator, serial) for serial in serials}
    assert all(before.values())
    coordinator.one(f"end {first} C")
    while coordinator.one(f"complete {first}") == "0 more":
        pass
    assert {serial: wide(coordinator, serial) for serial in serials} == {**before, serials[0]: []}


def test_completion_goes_page_by_page(coordinator):
    serial = decided(coordinator, 3_000)
    answers: list[str] = []
    left = [len(wide(coordinator, serial))]
    while not answers or answers[-1] == "0 more":
        answers.append(coordinator.one(f"complete {serial}"))
        left.append(len(wide(coordinator, serial)))
    assert answers[-1] == "0 C"
    assert len(answers) >= 3
    assert all(before - after <= 1_000 for before, after in pairwise(left))
    assert (left[-1], coordinator.records()) == (0, [])
    assert coordinator.one(f"complete {serial}") == "0 ended C"


def test_an_interrupted_completion_is_finished_by_the_next_done(coordinator):
    serial = decided(coordinator, 3_000)
    assert coordinator.one(f"complete {serial}", broker="b1") == "0 more"
    coordinator.now += 5_000
    picked_up = coordinator.one(f"expire {serial}", broker="b2")
    assert picked_up.startswith("0 C orders/")
    while coordinator.one(f"complete {serial}", broker="b2") == "0 more":
        pass
    assert (wide(coordinator, serial), coordinator.client.hget(coordinator.keys.txns, serial)) == ([], None)


def test_many_log_records_are_deleted_in_pages_and_the_decision_last(coordinator):
    serial = coordinator.begin()
    for name in names(2_500):
        coordinator.one(f"add {serial} {name}")
    coordinator.one(f"end {serial} C")
    while coordinator.one(f"complete {serial}") == "0 more":
        first, *_, last = coordinator.records()
        assert (first.record.op, last.record.op) == (Op.NEW, Op.UPDATE)
        assert coordinator.one(f"end {serial} C").startswith("0 C orders/")
    assert (coordinator.records(), coordinator.entries()) == ([], [])


def test_completions_of_one_call_share_its_bound(coordinator):
    serials = [decided(coordinator, 600) for _ in range(4)]
    lines = coordinator.apply(*(f"complete {serial}" for serial in serials)).lines
    assert "0 more" in lines
    assert "0 C" in lines
    while "0 more" in lines:
        lines = coordinator.apply(*(f"complete {serial}" for serial in serials)).lines
    assert not any(wide(coordinator, serial) for serial in serials)


def test_an_aborted_transaction_of_many_participants_goes_as_a_committed_one(coordinator):
    serial = begun(coordinator, 1_500)
    assert coordinator.one(f"end {serial} A").startswith("0 A ")
    while (line := coordinator.one(f"complete {serial}")) == "0 more":
        pass
    assert (line, wide(coordinator, serial)) == ("0 A", [])


def test_participants_registered_by_an_earlier_release_are_read(coordinator):
    """It wrote all participants into the row, and appends there after the plus sign."""
    client, keys = coordinator.client, coordinator.keys
    serial = coordinator.begin()
    head = client.hget(keys.txns, serial).decode()
    client.hset(keys.txns, serial, head + " ".join(names(300)))
    add(coordinator, serial, names(400))
    assert row(coordinator, serial) == [*names(300), "+"]
    client.hset(keys.txns, serial, client.hget(keys.txns, serial).decode() + " orders/x/9")
    add(coordinator, serial, ["orders/x/9"])
    assert sorted(wide(coordinator, serial)) == sorted(names(100, 300))


def test_a_kafka_producer_verifies_partitions_beyond_the_row(coordinator):
    _, number, epoch = coordinator.one("init_id tid 60000 - -").split(" ")[:3]
    every, serial = names(600), ""
    for at in range(0, 600, PAGE):
        serial = coordinator.one(f"add_by_id tid {number} {epoch} {' '.join(every[at : at + PAGE])}")
    assert coordinator.one(f"verify_by_id tid {number} {epoch} {every[0]} {every[-1]}") == serial
    refused = coordinator.one(f"verify_by_id tid {number} {epoch} {every[-1]} {names(1, 600)[0]}")
    assert refused.endswith("unregistered")
