"""lua/include/trace: what a coordinator stores of the steps of a transaction and of their times."""

from __future__ import annotations

import pytest

from redis_ledger.cursor import pending_row
from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import Subscription
from tests.support.fake_log import TOPIC_ID
from tests.support.ledger_scripts import TxnCoordinator

P0, P1, SUB = "orders/t-1/0", "orders/t-1/1", "in/t-2/3/a%20job"


def outcome(coordinator: TxnCoordinator, serial: str) -> str:
    return str(coordinator.client.hget(coordinator.keys.outcomes, serial).decode())


def positions(coordinator: TxnCoordinator, serial: str) -> str:
    return str(coordinator.client.hget(coordinator.keys.txns, serial).decode()).split("|")[1]


def decided(coordinator: TxnCoordinator, *further: str) -> tuple[str, int]:
    """A transaction with P0 and SUB registered after 15 ms, P1 after 18 and the decision after 25; when it began."""
    began, serial = coordinator.now, coordinator.begin(60_000, "me", "n")
    for at, line in (
        (15, f"add {serial} {P0} {SUB}"),
        (18, " ".join((f"add {serial} {P1}", *further))),
        (25, f"end {serial} C"),
    ):
        coordinator.now = began + at
        coordinator.one(line)
    return serial, began


@pytest.mark.parametrize("batched", [True, False])
def test_a_live_transaction_has_the_steps_of_its_log_records(coordinator, batched):
    """OB-25."""
    began, serial = coordinator.now, coordinator.begin(60_000, "-", "-", P0, batched=batched)
    coordinator.now = began + 15
    coordinator.one(f"add {serial} {P0} {SUB} {P1}", batched=batched)
    coordinator.now = began + 25
    coordinator.one(f"expire {serial}", batched=batched)
    assert "T@25" not in positions(coordinator, serial), "it has not expired"
    coordinator.one(f"end {serial} A", batched=batched)
    steps = [each.partition("/")[2] for each in positions(coordinator, serial).split(",")[:-1]]
    assert steps == ["", "p1@0", "p1@15", "s1@15", "A@25"]


def test_an_outcome_has_the_steps_of_its_transaction(coordinator):
    """OB-25: registrations and decision, participants, and what they were used for and when they ended."""
    serial, began = decided(coordinator)
    coordinator.now = began + 30
    ends = f"o7,{began + 27};{began + 16},{began + 30};_,_"
    assert coordinator.one(f"complete {serial} {ends}") == "0 C"
    assert outcome(coordinator, serial) == (
        f"C {began + 30} {began} 60000 me n|,/p1@15,/s1@15,/p1@18,/C@25,|orders/0;in/3/a%20job;orders/1;"
        f"|o7,{began + 27};{began + 16},=;_,_"
    )


def test_a_transaction_without_participants_has_its_decision(coordinator):
    """OB-25."""
    serial = coordinator.begin()
    coordinator.apply(f"end {serial} A", f"complete {serial}")
    assert outcome(coordinator, serial).endswith(" -|,/A@0,||")


def test_an_outcome_has_a_bounded_number_of_participants(coordinator):
    """OB-25."""
    serial, _ = decided(coordinator, *(f"orders/t-1/{n}" for n in range(2, 100)))
    coordinator.one(f"complete {serial}")
    steps, names, _ = outcome(coordinator, serial).partition("|")[2].split("|")
    assert steps == ",/p1@15,/s1@15,/p99@18,/C@25,"
    assert names.startswith("orders/0;in/3/a%20job;orders/1;orders/2;")
    assert names.endswith(";+")
    assert len(names) <= 81


def test_an_outcome_has_a_bounded_number_of_registrations_and_the_decision(coordinator):
    """OB-25."""
    serial = coordinator.begin()
    for n in range(40):
        coordinator.one(f"add {serial} orders/t-1/{n}")
    coordinator.apply(f"end {serial} C", f"complete {serial}")
    steps = outcome(coordinator, serial).split("|")[1]
    assert steps.startswith(",/p1@0,/p1@0,")
    assert steps.endswith("/p1@0,/C@0,")
    assert len(steps) < 90


def test_records_that_are_removed_before_the_others_leave_no_times(coordinator):
    """Else the remaining ones would be taken for those of the first participants."""
    began, serial = coordinator.now, coordinator.begin()
    for n in range(1_100):
        coordinator.one(f"add {serial} orders/t-1/{n}")
    coordinator.one(f"end {serial} C")
    while coordinator.one(f"complete {serial}") == "0 more":
        assert "/" not in positions(coordinator, serial)
    assert outcome(coordinator, serial).startswith(f"C {began} {began} 60000 - -|,,")
    assert "@" not in outcome(coordinator, serial)


def test_the_nonce_of_an_outcome_with_a_trace_goes_with_it(coordinator):
    serial, _ = decided(coordinator)
    coordinator.one(f"complete {serial}", keep=10)
    assert coordinator.client.hget(coordinator.keys.nonces, "n") == serial.encode()
    coordinator.now += 3_600_000
    other = coordinator.begin()
    coordinator.apply(f"end {other} C", f"complete {other}")
    assert not coordinator.client.hexists(coordinator.keys.outcomes, serial)
    assert not coordinator.client.hexists(coordinator.keys.nonces, "n")


def test_an_end_returns_where_the_transaction_first_wrote(ledger):
    """OB-25."""
    ledger.create()
    ledger.append(3)
    ledger.append(txn=(0, "7"))
    ledger.append(txn=(0, "7"))
    ledger.commit(0, "7")
    assert ledger.used == ["o3"]
    ledger.commit(0, "7")
    assert ledger.used == ["_"], "a repeated end does not find it"


@pytest.mark.parametrize("how", ["singly", "cumulatively"])
def test_an_end_returns_when_the_transaction_first_acknowledged(log, how):
    """OB-25."""
    sub = Subscription(log, kind="exclusive")
    log.append(4)
    sub.receive()
    first = sub.now
    for n in range(3):
        sub.now = first + n
        assert (sub.hold("0-7", [n]) if how == "singly" else sub.hold_cumulative("0-7", n))[0] == Status.OK
    assert pending_row.first_ms(log.client.hget(sub.keys.pending, "0-7")) == first
    keys = (*log.keys.end_keys, *sub.keys.all())
    ends = [*(7, 0, 7, 1, "", 1, 1, 0), *(8, 0, 8, 1, "", 1, 1, 0)]
    reply = sub.run("txn/end", keys, TOPIC_ID, sub.now, 600_000, 2, log.keys.wake, *ends)
    assert reply == [Status.OK, f"-1 _,{first}", "-1 _,_"]
