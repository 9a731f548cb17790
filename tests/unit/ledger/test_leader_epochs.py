"""The history of leader epochs: what is lost, who continues, and where an epoch ends."""

from __future__ import annotations

import pytest

from redis_ledger.ledger.answered_offsets import AnsweredEnd
from redis_ledger.ledger.leader_epochs import (
    GAP,
    INTACT,
    UNDEFINED,
    Comparison,
    EpochEnd,
    compare,
    end_of_epoch,
    epoch_at,
    parse_epochs,
)

# epoch 0 ended at 42 and continued as epoch 1 at 1000; that ended at 1010 and continued as epoch 4 at 3000
HISTORY = "1:1000:42:100:7 4:3000:1010:2000:8"
STARTS = parse_epochs(HISTORY)


@pytest.mark.parametrize(
    ("history", "remembered", "stored", "found"),
    [
        ("", (0, 42), (0, 42), INTACT),
        ("", (0, 42), (0, 50), INTACT),
        ("", (0, 100), (0, 42), Comparison(42, True)),
        # another broker has continued the log
        ("1:1000:42:100:7", (0, 42), (1, 1001), INTACT),
        ("1:1000:42:100:7", (0, 100), (1, 1001), Comparison(42, False)),
        ("1:1000:42:100:7", (0, 1000), (1, 1001), Comparison(42, False)),
        ("1:1000:42:100:7", (0, 1001), (1, 1010), Comparison(42, True)),
        ("1:1000:42:100:7", (1, 1010), (1, 1001), Comparison(1001, True)),
        # the takeover itself is lost
        ("", (1, 1001), (0, 42), Comparison(42, True)),
        ("", (1, 42), (0, 42), Comparison(-1, True)),
        (HISTORY, (0, 100), (4, 3001), Comparison(42, False)),
        (HISTORY, (1, 1010), (4, 3001), INTACT),
        (HISTORY, (1, 2000), (4, 3001), Comparison(1010, False)),
        (HISTORY, (2, 2000), (4, 3001), Comparison(1010, False)),
        (HISTORY, (4, 3001), (4, 3001), INTACT),
    ],
)
def test_a_lower_end_is_a_loss_and_is_taken_over_once(history, remembered, stored, found):
    assert compare(parse_epochs(history), EpochEnd(*remembered), EpochEnd(*stored)) == found


@pytest.mark.parametrize(
    ("asked", "end"),
    [(0, (0, 42)), (1, (1, 1010)), (2, (1, 1010)), (3, (1, 1010)), (4, (4, 3005)), (5, UNDEFINED), (-1, UNDEFINED)],
)
def test_an_epoch_ends_where_the_log_survived(asked, end):
    assert end_of_epoch(STARTS, asked, EpochEnd(4, 3005)) == EpochEnd(*end)


@pytest.mark.parametrize(("asked", "end"), [(0, (0, 9)), (1, UNDEFINED), (-1, UNDEFINED)])
def test_without_a_history_there_is_one_epoch(asked, end):
    assert end_of_epoch((), asked, EpochEnd(0, 9)) == EpochEnd(*end)


@pytest.mark.parametrize(("offset", "epoch"), [(0, 0), (41, 0), (1000, 1), (1009, 1), (3000, 4), (9999, 4)])
def test_a_batch_has_the_epoch_in_which_it_was_appended(offset, epoch):
    assert epoch_at(STARTS, offset) == epoch


def test_only_what_is_certain_is_remembered():
    answered = AnsweredEnd("orders", 0, "id")
    answered.learn(0, 10)
    answered.learn(0, 5)
    assert answered.remembered == (0, 10)
    answered.learn_end(12)
    assert answered.remembered == (0, 12)
    answered.learn_end(12 + GAP)  # it may be of another epoch
    assert answered.remembered == (0, 12)
    answered.learn(1, GAP + 13)
    answered.learn(0, 2 * GAP)  # a reply from before the takeover
    assert answered.remembered == (1, GAP + 13)
