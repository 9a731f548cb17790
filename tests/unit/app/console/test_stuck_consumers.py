"""app/console/stuck_consumers: the first cause that blocks consumers, as a sentence."""

from __future__ import annotations

import pytest

from redis_ledger.app.console.stuck_consumers import Holder, explain
from redis_ledger.app.console.views.transactions import TxnPartition, level, sentence
from redis_ledger.broker.types import CursorStats

YOUNG, OLD = (Holder(0, "1-7", "till", age_ms, 15) for age_ms in (4_000, 252_000))
OTHER = Holder(1, "2-9", "", 5_000, 1)


def cursor(partition: int = 0, *, backlog: int = 0, leased: int = 0, mark: int = 10) -> CursorStats:
    return CursorStats(partition, mark, mark, 10 + backlog, 0, leased, 0, backlog, 0)


@pytest.mark.parametrize(
    ("kind", "cursors", "holders", "consumers", "expected"),
    [
        ("shared", [cursor()], [], None, ("good", "Up to date.")),
        ("shared", [cursor()], [YOUNG], None, ("look", "Blocked by transaction 1-7 of till, open for 4")),
        ("shared", [cursor()], [OLD], None, ("bad", "15 records not readable until it ends.")),
        ("shared", [cursor(0), cursor(1)], [OTHER, OLD], None, ("bad", "16 records not readable")),
        ("shared", [cursor(1)], [OTHER], None, ("look", "transaction 2-9, open for 5")),
        ("shared", [cursor(backlog=3)], [OLD], None, ("look", "No consumer receives; the backlog is 3 records.")),
        ("shared", [cursor(backlog=1)], [], None, ("look", "No consumer receives; the backlog is 1 record.")),
        ("shared", [cursor(backlog=9, leased=1)], [], None, ("look", "have 1 unacknowledged message")),
        ("kafka", [cursor()], [OLD], 2, ("bad", "of till, open for 4\u202fmin 12\u202fs: 15 records not")),
        ("kafka", [cursor(mark=11)], [OLD], 2, ("good", "Up to date.")),  # it does not wait for a commit
        ("kafka", [cursor(mark=-1)], [OLD], 2, ("good", "Up to date.")),  # it has no offset there
        ("kafka", [cursor(backlog=3)], [OLD], 2, ("look", "The committed offsets lag by 3 records. Later")),
        ("kafka", [cursor(backlog=3)], [OLD], 0, ("look", "The group has no members: 3 records not consumed. L")),
        ("kafka", [cursor(backlog=3)], [], 0, ("look", "The group has no members: 3 records not consumed.")),
        ("kafka", [cursor(backlog=1)], [], 0, ("look", "The group has no members: 1 record not consumed.")),
        ("kafka", [cursor(backlog=3)], [], 2, ("look", "The committed offsets lag by 3 records.")),
        ("kafka", [cursor(backlog=3)], [], None, ("look", "The committed offsets lag by 3 records.")),
    ],
)
def test_the_reason_is_what_has_to_change_first(kind, cursors, holders, consumers, expected):
    found = explain(kind, cursors, holders, consumers)
    assert found.level == expected[0]
    assert expected[1] in found.sentence
    is_blocked = "locked by transaction" in found.sentence
    assert bool(found.transaction) == is_blocked


def test_the_oldest_of_several_is_named():
    found = explain("shared", [cursor(0), cursor(1)], [OTHER, OLD], None)
    assert found.transaction == "1-7"
    assert "transaction 1-7 of till, open for 4\u202fmin 12\u202fs and 1 newer one: 16" in found.sentence


@pytest.mark.parametrize(
    ("late", "expected"), [(0, "Consumers have 9"), (8, "Consumers have 9"), (9, "past the ack timeout")]
)
def test_consumers_that_keep_messages_too_long_are_told_from_those_that_are_at_work(late, expected):
    assert expected in explain("shared", [cursor(backlog=20, leased=9)], [], None, late).sentence


def touched(held: int, *waiting: str, is_holding: bool = True) -> TxnPartition:
    return TxnPartition("orders", 0, 62, held, is_holding, list(waiting))


@pytest.mark.parametrize(
    ("status", "wrote", "expected"),
    [
        ("committed", [touched(3)], "The transaction is committed and blocks no consumer."),
        ("open", [], "The transaction blocks no consumer"),
        ("open", [touched(0, "billing", is_holding=False)], "The transaction blocks no consumer"),
        ("open", [touched(1)], "It blocks 1 record of orders:0 until it ends."),
        ("aborting", [touched(15, "b", "a")], "blocks 15 records of orders:0 until it ends. Blocked consumers: a, b."),
        ("open", [touched(1, *"fedcba")], "Blocked consumers: a, b, c, d, e and others."),
    ],
)
def test_a_transaction_says_what_it_means_for_others(status, wrote, expected):
    assert expected in sentence(status, wrote)


def test_a_transaction_that_holds_readers_up_becomes_bad_with_time():
    assert [level(age_ms, [touched(1)]) for age_ms in (0, 29_999, 30_000)] == ["look", "look", "bad"]
    assert level(1_000_000, [touched(0, is_holding=False)]) == "good"
