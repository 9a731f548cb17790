"""The transaction log of lua/txn/apply: readable, complete, and deleted with its transactions."""

from __future__ import annotations

import random

from redis_ledger.proto.txn_log_pb2 import TransactionLogOp as Op
from redis_ledger.proto.txn_log_pb2 import TransactionLogRecord as Record
from redis_ledger.proto.txn_log_pb2 import TransactionLogStatus as Status
from redis_ledger.store.script_status import Status as ScriptStatus
from redis_ledger.txn.log import MAGIC, VERSION, decode
from tests.support.ledger_scripts import TxnCoordinator

P0, P1, SUB = "orders/t-1/0", "orders/t-1/1", "orders/t-1/0/s%20u"


def steps(coordinator: TxnCoordinator) -> list[tuple[int, str]]:
    return [(placed.record.op, placed.record.serial) for placed in coordinator.records()]


def test_every_step_is_one_record_with_all_its_fields(coordinator):
    """TS-16."""
    """TS-16"""
    # Given a transaction that was begun, registered and decided
    start = coordinator.now
    coordinator.start_at(2**48 - 2)
    serial = coordinator.begin(61_000, "al%20ice", "-", P0, SUB)
    coordinator.now += 5
    coordinator.apply(f"add {serial} {P1}")
    coordinator.apply("begin 7 - -", f"end {serial} C")
    # Then the log tells it
    first, later = {"serial": serial, "time_ms": start, "max_serial": serial}, start + 5
    newest = str(2**48 - 1)
    assert [placed.record for placed in coordinator.records()] == [
        Record(op=Op.NEW, new_status=Status.OPEN, timeout_ms=61_000, started_ms=start, owner="al%20ice", **first),
        Record(op=Op.ADD_PARTITION, participants=[P0], **first),
        Record(op=Op.ADD_SUBSCRIPTION, participants=[SUB], **first),
        Record(op=Op.ADD_PARTITION, participants=[P1], serial=serial, time_ms=later, max_serial=serial),
        Record(
            op=Op.NEW, new_status=Status.OPEN, timeout_ms=7, started_ms=later, serial=newest, time_ms=later,
            max_serial=newest,
        ),
        Record(
            op=Op.UPDATE, expected_status=Status.OPEN, new_status=Status.COMMITTING, serial=serial, time_ms=later,
            max_serial=newest,
        ),
    ]  # fmt: skip


def test_records_longer_than_127_and_16383_bytes_read_back(coordinator):
    names = [f"{'t' * 249}/{'i' * 32}/{n}" for n in range(100)]
    coordinator.begin(60_000, "-", "-", *names)
    assert list(coordinator.records()[1].record.participants) == names


def test_six_records_of_two_transactions_share_an_entry_and_die_apart(coordinator):
    """BW-06, BW-09, BW-10: the example of PIP-160."""
    """BW-06, BW-09, BW-10: the example of PIP-160."""
    # Given an entry with records of t1 at 0, 2, 3, 5 and of t2 at 1, 4
    coordinator.apply("begin 60000 - -", "begin 60000 - -", f"add 0 {P0}", f"add 0 {P1}", f"add 1 {P0}", f"add 0 {SUB}")
    (entry,) = coordinator.entries()
    assert [record.serial for record in decode(entry)] == ["0", "1", "0", "0", "1", "0"]
    assert coordinator.live() == {"1": "111111"}
    # When t1 ends
    coordinator.apply("end 0 C")
    coordinator.apply("complete 0")
    # Then t2's records are still alive and the entry is still there
    assert coordinator.live() == {"1": "010010"}
    assert steps(coordinator) == [(Op.NEW, "1"), (Op.ADD_PARTITION, "1")]
    # and when t2 ends too, the entry goes
    coordinator.apply("end 1 A")
    coordinator.apply("complete 1")
    assert (coordinator.live(), coordinator.entries()) == ({}, [])


def test_a_transaction_that_ends_in_the_call_leaves_the_records_of_others(coordinator):
    coordinator.begin()
    coordinator.apply("end 0 C", "begin 60000 - -", "complete 0")
    assert coordinator.live() == {"2": "010"}
    assert steps(coordinator) == [(Op.NEW, "1")]


def test_unbatched_every_record_is_an_entry_of_its_own(coordinator):
    """BW-01."""
    """BW-01"""
    # Given the switch is off and an operation that writes three records
    coordinator.begin(60_000, "-", "-", P0, SUB, batched=False)
    coordinator.apply("end 0 C", batched=False)
    # Then there are four bare entries, each one whole record
    entries = coordinator.entries()
    assert [entry[0] for entry in entries] == [0x08] * 4
    assert [record.op for entry in entries for record in decode(entry)] == [
        Op.NEW, Op.ADD_PARTITION, Op.ADD_SUBSCRIPTION, Op.UPDATE,
    ]  # fmt: skip
    assert coordinator.live() == {"1": "1", "2": "1", "3": "1", "4": "1"}
    # and all of them go with the transaction
    coordinator.apply("complete 0", batched=False)
    assert (coordinator.live(), coordinator.entries()) == ({}, [])


def test_both_formats_stand_in_one_log_whatever_the_switch_says(coordinator):
    """BW-08."""
    """BW-08, BW-10"""
    # Given ten bare entries, ten records in one, and ten bare again
    for batched in (False, True, False):
        coordinator.apply(*["begin 60000 - -"] * 10, batched=batched)
    entries = coordinator.entries()
    assert [entry.startswith(MAGIC + VERSION) for entry in entries] == [False] * 10 + [True] + [False] * 10
    assert steps(coordinator) == [(Op.NEW, str(n)) for n in range(30)]
    # When every second ends, in calls of either kind
    for n in range(0, 30, 2):
        coordinator.apply(f"end {n} C", f"complete {n}", batched=n % 4 == 0)
    # Then the others are alive, and no entry is there for nothing
    assert steps(coordinator) == [(Op.NEW, str(n)) for n in range(1, 30, 2)]
    assert set(coordinator.live().values()) == {"1", "0101010101"}
    assert len(coordinator.entries()) == len(coordinator.live()) == 11


def test_a_busy_log_holds_only_what_is_alive(coordinator):
    """TS-20."""
    """TS-20, TS-07"""
    # Given a transaction older than all others, which never ends
    coordinator.begin()
    for n in range(1, 200):
        coordinator.apply("begin 60000 - - " + P0, f"end {n} C")
        coordinator.apply(f"complete {n}")
    # Then a replay reads its one record
    assert (len(coordinator.entries()), steps(coordinator)) == (1, [(Op.NEW, "0")])


def test_a_replay_of_the_log_gives_the_state_the_coordinator_is_in(coordinator):
    """TC-15."""
    # Given a history of both formats, with begins, registrations, decisions, expiries and ends of many transactions
    draw = random.Random(17)
    for step in range(150):
        serials = [draw.randrange(max(1, step // 2)) for _ in range(4)]
        lines = [f"begin {draw.choice([5, 50_000])} - - {P0}", f"add {serials[0]} {P1}", f"add {serials[1]} {SUB} {P1}"]
        lines += [f"end {serials[2]} {draw.choice('CA')}", f"complete {serials[2]}", f"expire {serials[3]}"]
        coordinator.apply(*draw.sample(lines, 4), batched=draw.random() < 0.7)
        coordinator.now += 1
    # When what is alive in the log is replayed
    replayed: dict[str, tuple[int, list[str]]] = {}
    for _, _, record in coordinator.records():
        status, participants = replayed.get(record.serial, (0, []))
        assert record.op != Op.UPDATE or record.expected_status == status
        replayed[record.serial] = (record.new_status or status, [*participants, *record.participants])
    # Then it is the state, transaction by transaction
    letters = {"O": Status.OPEN, "C": Status.COMMITTING, "A": Status.ABORTING, "T": Status.ABORTING}
    held = {
        serial.decode(): (letters[row[:1].decode()], row.decode().split("|")[2].split(" "))
        for serial, row in coordinator.client.hgetall(coordinator.keys.txns).items()
        if serial
    }
    assert len(held) > 20
    assert {serial: (status, set(names)) for serial, (status, names) in replayed.items()} == {
        serial: (status, set(names)) for serial, (status, names) in held.items()
    }


def test_a_coordinator_that_redis_has_lost_is_not_found_and_not_written(coordinator):
    coordinator.begin()
    coordinator.client.delete(*coordinator.client.keys(f"{coordinator.tag}:*"))
    args = (coordinator.now, "b1", 2, 1000, 100, 0, 1000, 1, 1000, 100, "allocate", "", "")
    assert coordinator.run("txn/apply", coordinator.keys.all(), *args) == [ScriptStatus.TXN_NOT_FOUND]
    assert coordinator.dump() == {}
