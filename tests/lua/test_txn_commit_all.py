"""lua/txn/apply, the operations of include/commit_all: all transactions of a coordinator commit, or none, and once."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from redis_ledger.txn.states import TxnState
from tests.lua.test_txn_apply import WAYS, brought_to, forgotten, state_of
from tests.support.ledger_scripts import TxnCoordinator

P = "orders/t-1/0"
NOT_FOUND, STATUS = int(Status.TXN_NOT_FOUND), int(Status.TXN_STATUS)


def begun(coordinator: TxnCoordinator, count: int) -> list[str]:
    return [coordinator.begin(0, "-", "-", f"orders/t-1/{n}") for n in range(count)]


def together(name: str, number: int | str, *serials: str) -> str:
    return " ".join(["commit_all", f"={name}", str(number), *serials])


def test_all_of_them_are_decided_in_one_call_and_each_tells_whom_it_concerns(coordinator):
    serials = begun(coordinator, 3)
    answer = coordinator.one(together("job", 7, *serials))
    assert answer == "0 committed|C orders/t-1/0|C orders/t-1/1|C orders/t-1/2"
    assert [state_of(coordinator, serial) for serial in serials] == [TxnState.COMMITTING] * 3
    assert coordinator.client.hget(coordinator.keys.ids, "=job").startswith(b"7 ")


@pytest.mark.parametrize("batched", [True, False])
def test_each_decision_has_its_record_in_the_log_and_dies_with_its_end(coordinator, batched):
    serials = begun(coordinator, 3)
    entries = len(coordinator.entries())
    coordinator.one(together("job", 7, *serials), batched=batched)
    assert len(coordinator.entries()) - entries == (1 if batched else 3)
    for serial in serials:
        coordinator.one(f"complete {serial}", batched=batched)
    assert coordinator.records() == []
    assert coordinator.counters()["committed"] == 3


@pytest.mark.parametrize("state", [state for state in WAYS if state is not TxnState.OPEN])
def test_if_one_of_them_is_not_open_nothing_changes_and_it_is_named(coordinator, state):
    first, last = begun(coordinator, 2)
    other = brought_to(coordinator, state)
    before = forgotten(coordinator.dump())
    answer = coordinator.one(together("job", 7, first, other, last))
    ended = {TxnState.COMMITTED: "ended C", TxnState.ABORTED: "ended A"}
    assert answer == f"{STATUS} {other} {ended.get(state, state.value)}"
    assert forgotten(coordinator.dump()) == before


def test_if_one_of_them_is_unknown_nothing_changes_and_the_first_such_is_named(coordinator):
    (serial,) = begun(coordinator, 1)
    before = forgotten(coordinator.dump())
    assert coordinator.one(together("job", 7, serial, "98", "99")) == f"{NOT_FOUND} 98"
    assert coordinator.one(together("", "-", serial, "98")) == f"{NOT_FOUND} 98"
    assert forgotten(coordinator.dump()) == before


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize(("name", "number"), [("job", 7), ("", "-")])
def test_a_repeated_call_answers_as_the_first_did_and_changes_nothing(coordinator, name, number, ended):
    serials = begun(coordinator, 2)
    line = together(name, number, *serials)
    first = coordinator.one(line)
    if ended:
        coordinator.one(f"complete {serials[0]}")
    before = forgotten(coordinator.dump())
    again = coordinator.one(line)
    assert again == (f"0 committed|ended|C {P[:-1]}1" if ended else first)
    assert forgotten(coordinator.dump()) == before


def test_a_call_whose_answer_was_lost_is_answered_committed_even_when_a_later_number_followed(coordinator):
    serials, later = begun(coordinator, 2), begun(coordinator, 1)
    coordinator.one(together("job", 7, *serials))
    coordinator.one(together("job", 8, *later))
    assert coordinator.one(together("job", 7, *serials)).startswith("0 committed|")


@pytest.mark.parametrize("number", [6, 7])
def test_a_number_that_is_not_above_the_stored_one_commits_nothing_more(coordinator, number):
    winners, losers = begun(coordinator, 2), begun(coordinator, 2)
    coordinator.one(together("job", 7, *winners))
    before = forgotten(coordinator.dump())
    assert coordinator.one(together("job", number, *losers)) == "0 already 7"
    assert coordinator.one(together("job", number, winners[0], losers[0])) == "0 already 7"
    assert coordinator.one(together("job", number, "99")) == "0 already 7"
    assert forgotten(coordinator.dump()) == before


def test_numbers_are_compared_as_numbers_and_names_are_apart(coordinator):
    a, b, c, d = begun(coordinator, 4)
    assert coordinator.one(together("job", 9, a)).startswith("0 committed|")
    assert coordinator.one(together("job", 10, d)).startswith("0 committed|")
    # The answer to a repetition of the earlier one, and to another call with its number
    assert coordinator.one(together("job", 9, a)).startswith("0 committed|")
    assert coordinator.one(together("job", 9, b)) == "0 already 10"
    assert coordinator.one(together("job", 2**53, b)).startswith("0 committed|")
    assert coordinator.one(together("job", 11, c)) == f"0 already {2**53}"
    assert coordinator.one(together("other", 0, c)).startswith("0 committed|")


def test_a_step_without_transactions_is_counted_too(coordinator):
    (serial,) = begun(coordinator, 1)
    assert coordinator.one(together("job", 7)) == "0 committed"
    assert coordinator.one(together("job", 7)) == "0 committed"
    assert coordinator.one(together("job", 6)) == "0 already 7"
    assert coordinator.one(together("job", 7, serial)) == "0 already 7"


def test_operations_of_one_call_see_what_those_before_them_did(coordinator):
    a, b = begun(coordinator, 2)
    lines = coordinator.apply(together("job", 7, a), together("job", 7, b), together("job", 8, b), f"end {b} C").lines
    assert lines == [f"0 committed|C {P}", "0 already 7", f"0 committed|C {P[:-1]}1", f"0 C {P[:-1]}1"]


def test_a_transactional_id_of_any_name_is_not_taken_for_a_number(coordinator):
    _, number, epoch = coordinator.one("init_id %3Djob 60000 - -").split(" ")
    serial = coordinator.one(f"add_by_id %3Djob {number} {epoch} {P}").split(" ")[1]
    assert coordinator.one(together("job", 1, serial)) == f"0 committed|C @{number}:{epoch}:%3Djob {P}"
    # And the producer is fenced, as after any transaction end by another
    assert coordinator.one(f"end_by_id %3Djob {number} {epoch} C 0 -") == f"{int(Status.STALE_EPOCH)} 1"


def test_a_name_is_forgotten_only_if_nothing_was_committed_since_it_was_looked_at(coordinator):
    a, b = begun(coordinator, 2)
    coordinator.one(together("job", 7, a))
    used = coordinator.client.hget(coordinator.keys.ids, "=job").decode().split(" ")[1]
    coordinator.now += 5
    coordinator.one(together("job", 8, b))
    assert coordinator.one(f"forget_number =job 7 {used}") == "0 -"
    assert coordinator.one(f"forget_number =job 8 {int(used) + 5}") == "0 gone"
    assert coordinator.one(f"forget_number =job 8 {int(used) + 5}") == "0 -"
    assert coordinator.client.hget(coordinator.keys.ids, "=job") is None


def test_ten_thousand_commit_in_one_call(coordinator):
    serials = [line.split(" ")[1] for line in coordinator.apply(*[f"begin 0 - - {P}"] * 10_000).lines]
    answer = coordinator.one(together("job", 1, *serials))
    assert answer == "0 committed" + f"|C {P}" * 10_000
    assert coordinator.one(together("job", 1, *serials)) == answer
    coordinator.apply(*[f"complete {serial}" for serial in serials])
    assert (coordinator.records(), coordinator.counters()["committed"]) == ([], 10_000)
