"""Errors of a batch that waits for a refused earlier batch of its producer."""

from __future__ import annotations

import pytest

from redis_ledger.errors import (
    LedgerError,
    OutcomeUnknown,
    SequenceGap,
    StaleEpoch,
    StorageFull,
    StoreTimeout,
    StoreUnavailable,
    UnknownProducer,
)
from redis_ledger.ledger import append_errors
from redis_ledger.ledger.append_errors import REMEMBERED_S, AppendErrors
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.records.batch import SEQUENCES

TOP = SEQUENCES - 1


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(clock: Clock) -> AppendErrors:
    return AppendErrors(clock)


def batch(sequence: int, pid: int = 7, epoch: int = 0) -> AppendRequest:
    return AppendRequest(b"", 6, 0, pid, epoch, sequence)


def gap(expected: int) -> SequenceGap:
    return SequenceGap("a gap", expected=expected)


def answer(memory: AppendErrors, sequence: int, error: LedgerError, *, pid: int = 7, epoch: int = 0) -> str:
    """The name of the answer to a batch of six records."""
    return type(memory.answer(batch(sequence, pid, epoch), error)).__name__


@pytest.mark.parametrize("kind", [StoreUnavailable, StoreTimeout, StorageFull, OutcomeUnknown])
def test_batches_behind_a_refused_one_get_its_answer(memory, kind):
    assert answer(memory, 0, kind()) == kind.__name__
    assert answer(memory, 6, gap(0)) == kind.__name__
    assert answer(memory, 12, gap(0)) == kind.__name__
    # and when the first one has come again, the third still waits for the second
    assert answer(memory, 12, gap(6)) == kind.__name__
    # until that has come, too
    assert answer(memory, 24, gap(18)) == "SequenceGap"


def test_the_answer_says_what_it_waits_for_and_why(memory):
    memory.answer(batch(0), StorageFull("Redis is full."))
    for sequence in (6, 12):
        error = memory.answer(batch(sequence), gap(0))
        assert (
            str(error) == f"Sequence {sequence} of producer 7 waits for sequence 0, which was refused: Redis is full."
        )


def test_a_producer_that_is_unknown_waits_for_its_first_batch(memory):
    assert answer(memory, 0, StorageFull()) == "StorageFull"
    assert answer(memory, 6, UnknownProducer("unknown", log_start_offset=0)) == "StorageFull"


@pytest.mark.parametrize(
    ("refused", "sequence", "expected", "same"),
    [
        ([], 6, 0, False),
        ([0], 6, 0, True),
        ([0], 6, 5, True),  # a part of it was refused
        ([0], 12, 6, False),  # 6 was taken or never came
        ([0, 6, 12], 18, 12, True),
        ([6, 0], 12, 0, True),  # the earlier one was refused later
        ([6, 0], 12, 6, True),
        ([0, 600], 606, 600, True),  # 0 must be there, else 600 had been a gap
        ([0, 600], 606, 594, False),
        ([TOP - 2], 3, TOP - 2, True),  # six records across the end of the numbers
        ([TOP - 2], 9, 3, False),
        ([TOP - 2, 3], 9, 3, True),
        ([3, TOP - 2], 9, 3, True),
    ],
)
def test_a_gap_is_explained_by_what_was_refused_just_there(memory, refused, sequence, expected, same):
    for each in refused:
        answer(memory, each, StoreUnavailable())
    assert answer(memory, sequence, gap(expected)) == ("StoreUnavailable" if same else "SequenceGap")


def test_another_epoch_or_producer_is_not_concerned(memory):
    answer(memory, 0, StoreUnavailable(), epoch=3)
    assert answer(memory, 6, gap(0), epoch=4) == "SequenceGap"
    assert answer(memory, 6, gap(0), pid=8, epoch=3) == "SequenceGap"
    assert answer(memory, 6, gap(0), epoch=3) == "StoreUnavailable"
    # A refusal under a later epoch replaces it
    answer(memory, 0, StoreUnavailable(), epoch=4)
    assert answer(memory, 6, gap(0), epoch=3) == "SequenceGap"


def test_final_refusals_stay_what_they_are_and_are_not_remembered(memory):
    assert answer(memory, 0, StaleEpoch()) == "StaleEpoch"
    assert answer(memory, 6, gap(0)) == "SequenceGap"
    assert len(memory) == 0


def test_a_refusal_is_forgotten_after_a_while_unless_it_happens_again(memory, clock):
    answer(memory, 0, StoreUnavailable())
    clock.now = REMEMBERED_S - 1
    assert answer(memory, 6, gap(0)) == "StoreUnavailable"
    answer(memory, 0, StoreUnavailable())
    clock.now += REMEMBERED_S - 1
    assert answer(memory, 6, gap(0)) == "StoreUnavailable"
    clock.now += 1
    assert answer(memory, 6, gap(0)) == "SequenceGap"
    # and its memory is given back with the next one
    answer(memory, 0, StoreUnavailable(), pid=8)
    assert len(memory) == 1


def test_only_so_many_producers_are_remembered_the_oldest_goes_first(memory, monkeypatch):
    monkeypatch.setattr(append_errors, "PRODUCERS_MAX", 2)
    for pid in (1, 2, 1, 3):
        answer(memory, 0, StoreUnavailable(), pid=pid)
    assert [answer(memory, 6, gap(0), pid=pid) for pid in (1, 2, 3)] == [
        "StoreUnavailable", "SequenceGap", "StoreUnavailable",
    ]  # fmt: skip
