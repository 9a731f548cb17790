"""lua/txn/apply: the decision table cell by cell, batches, retries, limits, and stored outcomes."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from redis_ledger.store.script_status import Status
from redis_ledger.txn.states import TxnRequest, TxnState, next_state
from tests.support.ledger_scripts import TxnCoordinator

WAYS: dict[TxnState, list[str]] = {  # how a transaction gets into a state; {} is its serial
    TxnState.OPEN: [],
    TxnState.COMMITTING: ["end {} C"],
    TxnState.COMMITTED: ["end {} C", "complete {}"],
    TxnState.ABORTING: ["end {} A"],
    TxnState.TIMING_OUT: ["expire {}"],
    TxnState.ABORTED: ["end {} A", "complete {}"],
}
LINES = {
    TxnRequest.COMMIT: "end {} C",
    TxnRequest.ABORT: "end {} A",
    TxnRequest.EXPIRE: "expire {}",
    TxnRequest.ADD: "add {} orders/t-1/0",
    TxnRequest.DONE: "complete {}",
}
P0, P1, SUB = "orders/t-1/0", "orders/t-1/1", "orders/t-1/0/sub"


def state_of(coordinator: TxnCoordinator, serial: str) -> TxnState | None:
    row = coordinator.client.hget(coordinator.keys.txns, serial)
    if row:
        return TxnState(row.decode().split(" ")[0])
    ended = coordinator.client.hget(coordinator.keys.outcomes, serial)
    return {"C": TxnState.COMMITTED, "A": TxnState.ABORTED, "T": TxnState.ABORTED}[ended.decode()[0]] if ended else None


def brought_to(coordinator: TxnCoordinator, state: TxnState) -> str:
    serial = coordinator.begin(0, "-", "-", P0)
    for line in WAYS[state]:
        assert coordinator.one(line.format(serial)).startswith("0 ")
    assert state_of(coordinator, serial) == state
    return serial


def forgotten(dump: dict[str, Any]) -> dict[str, Any]:
    """All there is but the answers kept for repetition."""
    return {name: value for name, value in dump.items() if name != "calls"}


# -- the decision table ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("state", "request_"), list(product(TxnState, TxnRequest)))
def test_the_script_follows_the_decision_table(coordinator, state, request_):
    """TS-01, TS-02, TS-05: cell by cell."""
    """TS-01, TS-05"""
    # Given a transaction in a state
    serial = brought_to(coordinator, state)
    before = forgotten(coordinator.dump())
    # When it is asked for
    answer = coordinator.one(LINES[request_].format(serial))
    # Then it goes where the table says, or is refused with its state and nothing changes
    wanted = next_state(state, request_)
    if wanted is None:
        name = (
            f"ended {state.value.translate({68: 'C', 66: 'A'})}"
            if state in (TxnState.COMMITTED, TxnState.ABORTED)
            else state.value
        )
        assert answer == f"{int(Status.TXN_STATUS)} {name}"
        assert forgotten(coordinator.dump()) == before
        return
    assert answer.startswith("0")
    assert state_of(coordinator, serial) == wanted
    if wanted == state and request_ is not TxnRequest.ADD and not (request_ is TxnRequest.EXPIRE and state.is_ending):
        assert forgotten(coordinator.dump()) == before  # a retry is a no-op


@pytest.mark.parametrize("line", LINES.values(), ids=[request.value for request in LINES])
def test_an_unknown_transaction_is_not_found_and_nothing_changes(coordinator, line):
    """TS-05."""
    before = forgotten(coordinator.dump())
    assert coordinator.one(line.format(99)) == str(int(Status.TXN_NOT_FOUND))
    assert forgotten(coordinator.dump()) == before


@pytest.mark.parametrize(
    ("way", "line", "answer"),
    [
        (["end {} C"], "end {} C", f"0 C {P0}"),
        (["end {} A"], "end {} A", f"0 A {P0}"),
        (["expire {}"], "end {} A", f"0 T {P0}"),
        (["expire {}"], "end {} C", "-11 T"),
        (["expire {}", "complete {}"], "end {} A", "0 ended T"),
        (["expire {}", "complete {}"], "end {} C", "-11 ended T"),
        (["end {} C", "complete {}"], "end {} C", "0 ended C"),
        (["end {} C", "complete {}"], "end {} A", "-11 ended C"),
        (["end {} A", "complete {}"], "end {} A", "0 ended A"),
        (["end {} C", "complete {}"], "complete {}", "0 ended C"),
        (["end {} C", "complete {}"], "expire {}", "0 -"),
        (["end {} C", "complete {}"], f"add {{}} {P1}", "-11 ended C"),
    ],
)
def test_repeated_or_contradicting_end_returns_the_first_outcome(coordinator, way, line, answer):
    """TS-05, TS-06."""
    serial = coordinator.begin(0, "-", "-", P0)
    for step in way:
        coordinator.one(step.format(serial))
    assert coordinator.one(line.format(serial)) == answer


# -- begin, participants -----------------------------------------------------------------------------------------------


def test_serials_count_from_0_and_are_never_used_again(coordinator):
    """TC-04."""
    assert [coordinator.begin() for _ in range(3)] == ["0", "1", "2"]
    assert coordinator.one("allocate") == "0 3"
    for serial in range(3):
        coordinator.apply(f"end {serial} C", f"complete {serial}")
    # the log is empty and nothing is live
    assert (coordinator.entries(), coordinator.open()) == ([], [Status.OK, 0])
    assert coordinator.begin() == "4"


def test_participants_are_a_set_in_the_order_they_came(coordinator):
    """TC-08."""
    serial = coordinator.begin(60_000, "-", "-", P0)
    coordinator.apply(f"add {serial} {P0} {P1}", f"add {serial} {SUB} {P1}")
    assert coordinator.one(f"end {serial} C") == f"0 C {P0} {P1} {SUB}"


def test_a_participant_is_not_taken_for_one_whose_name_it_ends(coordinator):
    serial = coordinator.begin(60_000, "-", "-", f"big-{P0}")
    coordinator.apply(f"add {serial} {P0}", f"add {serial} {P0}0")
    assert coordinator.one(f"end {serial} C") == f"0 C big-{P0} {P0} {P0}0"


def test_a_participant_is_not_taken_for_one_whose_name_it_begins(coordinator):
    serial = coordinator.begin(60_000, "-", "-", f"{P0}0")
    coordinator.apply(f"add {serial} {SUB}x", f"add {serial} {P0}", f"add {serial} {SUB}")
    assert coordinator.one(f"end {serial} C") == f"0 C {P0}0 {SUB}x {P0} {SUB}"


def test_registering_what_is_registered_writes_nothing(coordinator):
    """TC-08."""
    serial = coordinator.begin(60_000, "-", "-", P0, SUB)
    before = forgotten(coordinator.dump())
    assert coordinator.one(f"add {serial} {SUB} {P0}") == "0"
    assert forgotten(coordinator.dump()) == before


def test_a_nonce_finds_the_transaction_that_was_begun_with_it(coordinator):
    first = coordinator.begin(60_000, "-", "n1")
    again = coordinator.apply("begin 60000 - n1", "begin 60000 - n2", "begin 60000 - n2").lines
    assert again == [f"0 {first} again", "0 1", "0 1 again"]
    coordinator.apply("end 0 C", "complete 0", "end 1 A")
    assert coordinator.one("begin 60000 - n1") == "0 0 again"  # committed: its outcome is the answer
    assert coordinator.one("begin 60000 - n2") == "0 2"  # being aborted: begun afresh
    coordinator.apply("complete 1", "end 2 A", "complete 2")
    assert coordinator.one("begin 60000 - n2") == "0 3"


@pytest.mark.parametrize("nonce", ["-", "n1"])
def test_a_coordinator_at_its_cap_refuses_and_is_whole(coordinator, nonce):
    """TC-12."""
    coordinator.begin(cap=2)
    coordinator.begin(cap=2)
    before = forgotten(coordinator.dump())
    assert coordinator.one(f"begin 60000 - {nonce}", cap=2) == str(int(Status.TOO_MANY))
    assert forgotten(coordinator.dump()) == before
    # in a batch the place of one that ends is free at once
    lines = coordinator.apply("end 0 A", "complete 0", f"begin 60000 - {nonce}", "begin 60000 - -", cap=2).lines
    assert lines[2:] == ["0 2", "-13"]


# -- deadlines ---------------------------------------------------------------------------------------------------------


def test_only_a_passed_deadline_expires_and_is_counted(coordinator):
    serial = coordinator.begin(5_000, "-", "-", P0)
    before = forgotten(coordinator.dump())
    coordinator.now += 4_999
    assert coordinator.one(f"expire {serial}") == "0 -"
    assert forgotten(coordinator.dump()) == before
    coordinator.now += 1
    assert coordinator.one(f"expire {serial}") == f"0 T {P0}"
    assert coordinator.counters()["timeout"] == 1


def test_an_overdue_end_is_picked_up_by_one_broker_at_a_time(coordinator):
    """TS-11: and a decided transaction stays decided."""
    serial = coordinator.begin(60_000, "-", "-", P0)
    coordinator.one(f"end {serial} C", overdue_ms=1_000)
    assert coordinator.one(f"expire {serial}") == "0 -"
    coordinator.now += 1_000
    assert coordinator.one(f"expire {serial}", broker="b2", call=1) == f"0 C {P0}"
    assert coordinator.one(f"expire {serial}") == "0 -"
    coordinator.now += 1_000
    assert coordinator.one(f"expire {serial}") == f"0 C {P0}"


def test_the_deadlines_name_every_live_transaction_and_no_other(coordinator):
    coordinator.apply("begin 5000 - -", "begin 7000 - -", "begin 9000 - -")
    coordinator.apply("end 1 C", "end 2 A", "complete 2", overdue_ms=100)
    due = coordinator.client.zrange(coordinator.keys.deadlines, 1, -1, withscores=True)
    assert due == [(b"1", coordinator.now + 100), (b"0", coordinator.now + 5000)]


# -- low watermark -----------------------------------------------------------------------------------------------------


def watermark(coordinator: TxnCoordinator) -> int:
    applied = coordinator.apply("expire 0")
    return (int(applied.lowest) if applied.lowest else applied.following) - 1


def test_the_low_watermark_is_below_the_oldest_live_transaction(coordinator):
    """TC-18."""
    # Given t0, t1, t2
    for _ in range(3):
        coordinator.begin()
    assert watermark(coordinator) == -1
    # When they end: t1, t0, t2
    seen = []
    for serial in (1, 0, 2):
        coordinator.apply(f"end {serial} C", f"complete {serial}")
        seen.append(watermark(coordinator))
    # Then it passes an ended one only when all older have ended
    assert seen == [-1, 1, 2]


def test_serials_of_any_length_keep_their_order(coordinator):
    # Given serials of one to fifteen digits, the last two equal as doubles once their coordinator is 32
    for serial in (9, 10, 99_999, 100_000, 2**48 - 2, 2**48 - 1):
        coordinator.start_at(serial)
        assert coordinator.begin() == str(serial)
    seen = []
    for serial in (10, 9, 100_000, 99_999, 2**48 - 2):
        coordinator.apply(f"end {serial} C", f"complete {serial}")
        seen.append(watermark(coordinator))
    assert seen == [8, 99_998, 99_998, 2**48 - 3, 2**48 - 2]
    # Then the last is still whole, and its neighbour has ended
    assert coordinator.one(f"end {2**48 - 1} A") == "0 A"
    assert coordinator.one(f"end {2**48 - 2} A") == "-11 ended C"


@pytest.mark.parametrize("number", [0, 31, 32, 32_767])
def test_coordinators_know_nothing_of_each_other(connect, prefix, number):
    mine = TxnCoordinator(connect(f"{prefix}:{{tc:{number}}}:"), prefix, number)
    other = TxnCoordinator(connect(f"{prefix}:{{tc:{number ^ 1}}}:"), prefix, number ^ 1)
    assert (mine.open(), other.open()) == ([Status.OK, 1], [Status.OK, 1])
    serial = mine.begin()
    before = other.dump()
    assert mine.one(f"end {serial} C") == "0 C"
    assert other.dump() == before
    assert other.one(f"end {serial} C") == "-10"


# -- batches and repetition --------------------------------------------------------------------------------------------


def test_a_batch_does_its_operations_in_order_and_answers_each(coordinator):
    """TC-15, BW-05"""
    first = coordinator.begin()
    applied = coordinator.apply(
        f"add {first} {P0}",
        "begin 60000 alice -",
        f"end {first} C",
        f"add {first} {P1}",
        "allocate",
        f"complete {first}",
        "end 77 C",
        f"end {first} A",
    )
    assert applied.lines == ["0", "0 1", f"0 C {P0}", "-11 C", "0 2", "0 C", "-10", "-11 ended C"]
    assert (applied.lowest.lstrip("0"), applied.following) == ("1", 3)


def test_a_transaction_may_live_and_end_within_one_batch(coordinator):
    applied = coordinator.apply("begin 60000 - - " + P0, "end 0 C", "complete 0")
    assert applied.lines == ["0 0", f"0 C {P0}", "0 C"]
    assert (applied.lowest, coordinator.entries(), coordinator.live()) == ("", [], {})
    assert state_of(coordinator, "0") == TxnState.COMMITTED
    assert coordinator.counters() | {"since": 0} == {
        "next": 1, "entry": 0, "created": 1, "committed": 1, "aborted": 0, "timeout": 0, "since": 0,
    }  # fmt: skip


def test_a_repeated_call_is_answered_as_the_first_time_and_does_nothing(coordinator):
    coordinator.begin()
    first = coordinator.apply("begin 60000 - -", "end 0 C", "end 9 C", "allocate")
    before = coordinator.dump()
    coordinator.now += 10_000
    again = coordinator.apply("begin 60000 - -", "end 0 C", "end 9 C", "allocate", call=coordinator.calls)
    assert again == first
    assert coordinator.dump() == before


def test_call_numbers_are_counted_for_each_broker(coordinator):
    assert coordinator.begin(broker="b1", call=1) == "0"
    assert coordinator.begin(broker="b2", call=1) == "1"
    assert coordinator.begin(broker="b1", call=1) == "0"


@pytest.mark.parametrize("batched", [True, False])
def test_batch_of_thousands_of_operations_is_executed(coordinator, batched):
    # Given more transactions and log entries than a variadic command takes at once
    count = 3_000
    for start in range(0, count, 1000):
        coordinator.apply(*["begin 60000 - -"] * 1000, batched=batched)
        coordinator.apply(*(f"add {serial} {P0} {SUB}" for serial in range(start, start + 1000)), batched=batched)
    assert coordinator.client.xlen(coordinator.keys.log) == (6 if batched else 3 * count)
    # When all end in one call
    ends = [code.format(serial) for code in ("end {} C", "complete {}") for serial in range(count)]
    lines = coordinator.apply(*ends, batched=batched).lines
    # Then all have ended and nothing is left
    assert set(lines[count:]) == {"0 C"}
    assert (coordinator.entries(), coordinator.live(), coordinator.counters()["committed"]) == ([], {}, count)


# -- outcomes ----------------------------------------------------------------------------------------------------------


def end(coordinator: TxnCoordinator, **limits: Any) -> str:
    serial = coordinator.begin(60_000, "-", f"n{coordinator.calls}")
    coordinator.apply(f"end {serial} C", f"complete {serial}", **limits)
    return serial


def known(coordinator: TxnCoordinator) -> list[int]:
    return sorted(int(serial) for serial in coordinator.client.hkeys(coordinator.keys.outcomes) if serial)


def test_outcomes_are_remembered_for_a_time(coordinator):
    """TS-06."""
    for _ in range(3):
        end(coordinator, keep_ms=1_000)
        coordinator.now += 600
    # the third end found the first 1200 ms old
    assert known(coordinator) == [1, 2]
    assert [coordinator.one(f"end {serial} C") for serial in range(3)] == ["-10", "0 ended C", "0 ended C"]


def test_outcomes_are_remembered_up_to_a_number(coordinator):
    """TS-06."""
    for _ in range(5):
        end(coordinator, keep=3)
    assert known(coordinator) == [2, 3, 4]


def test_a_forgotten_outcome_takes_its_nonce_with_it(coordinator):
    for _ in range(3):
        end(coordinator, keep=1)
    nonces = {serial for nonce, serial in coordinator.client.hgetall(coordinator.keys.nonces).items() if nonce}
    assert nonces == {b"2"}


@pytest.mark.parametrize("limits", [{"keep_ms": 0}, {"keep": 0}])
def test_a_window_of_0_remembers_nothing(coordinator, limits):
    end(coordinator, **limits)
    assert known(coordinator) == []
    assert coordinator.one("end 0 C") == "-10"


@pytest.mark.parametrize(
    "limits", [{"keep_ms": -1, "keep": 3}, {"keep_ms": 1, "keep": -1}, {"keep_ms": -1, "keep": -1}]
)
def test_a_negative_window_is_unlimited(coordinator, limits):
    for _ in range(5):
        end(coordinator, **limits)
        coordinator.now += 10
    by_time = [4] if limits["keep_ms"] == 1 else [0, 1, 2, 3, 4]
    assert known(coordinator) == by_time[-limits["keep"] :] if limits["keep"] > 0 else by_time
