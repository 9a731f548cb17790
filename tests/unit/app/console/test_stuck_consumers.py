"""app/console/stuck_consumers: the first thing that keeps somebody from getting on, in a sentence."""

from __future__ import annotations

import pytest

from redis_ledger.app.console.stuck_consumers import Holder, explain
from redis_ledger.app.console.views.transactions import Touched, level, sentence
from redis_ledger.broker.types import CursorStats

YOUNG, OLD = (Holder(0, "1-7", "till", age_ms, 15) for age_ms in (4_000, 252_000))
OTHER = Holder(1, "2-9", "", 5_000, 1)


def cursor(partition: int = 0, *, backlog: int = 0, leased: int = 0) -> CursorStats:
    return CursorStats(partition, 10, 10, 10 + backlog, 0, leased, 0, backlog, 0)


@pytest.mark.parametrize(
    ("kind", "cursors", "holders", "consumers", "expected"),
    [
        ("shared", [cursor()], [], None, ("good", "It has got everything.")),
        ("shared", [cursor()], [YOUNG], None, ("look", "It waits for transaction 1-7 of till, open for 4")),
        ("shared", [cursor()], [OLD], None, ("bad", "15 records cannot be got until that ends.")),
        ("shared", [cursor(0), cursor(1)], [OTHER, OLD], None, ("bad", "16 records cannot be got")),
        ("shared", [cursor(1)], [OTHER], None, ("look", "transaction 2-9, open for 5")),
        ("shared", [cursor(backlog=3)], [OLD], None, ("look", "3 records are there, and no consumer has asked")),
        ("shared", [cursor(backlog=1)], [], None, ("look", "1 record is there, and no consumer has asked")),
        ("shared", [cursor(backlog=9, leased=1)], [], None, ("look", "have 1 record that they have not acknowledged")),
        ("kafka", [cursor(backlog=3)], [OLD], 2, ("bad", "of till, open for 4\u202fmin 12\u202fs: 3 records cannot")),
        (
            "kafka",
            [cursor(backlog=15), cursor(1)],
            [OTHER, OLD],
            2,
            ("bad", "of till, open for 4\u202fmin 12\u202fs: 15"),
        ),
        ("kafka", [cursor(backlog=18)], [OLD], 2, ("look", "3 records are ahead of its committed offsets. Behind")),
        ("kafka", [cursor(backlog=3)], [OLD], 0, ("look", "Nobody consumes it: 3 records wait for a member to join.")),
        (
            "kafka",
            [cursor(backlog=18)],
            [OLD],
            0,
            ("look", "Nobody consumes it: 3 records wait for a member to join. B"),
        ),
        ("kafka", [cursor()], [OLD], 2, ("good", "It has got everything.")),  # it does not wait for a commit
        ("kafka", [cursor(backlog=3)], [], 0, ("look", "Nobody consumes it: 3 records wait for a member")),
        ("kafka", [cursor(backlog=1)], [], 0, ("look", "Nobody consumes it: 1 record waits for a member")),
        ("kafka", [cursor(backlog=3)], [], 2, ("look", "3 records are ahead of its committed offsets.")),
        ("kafka", [cursor(backlog=3)], [], None, ("look", "3 records are ahead of its committed offsets.")),
    ],
)
def test_the_reason_is_what_has_to_change_first(kind, cursors, holders, consumers, expected):
    found = explain(kind, cursors, holders, consumers)
    assert found.level == expected[0]
    assert expected[1] in found.sentence
    waits = "t waits for transaction" in found.sentence or "it will wait for transaction" in found.sentence
    assert bool(found.transaction) == waits


def test_the_oldest_of_several_is_named():
    found = explain("shared", [cursor(0), cursor(1)], [OTHER, OLD], None)
    assert found.transaction == "1-7"
    assert "transaction 1-7 of till, open for 4\u202fmin 12\u202fs and 1 younger one: 16" in found.sentence


@pytest.mark.parametrize(
    ("late", "expected"), [(0, "Consumers have 9"), (8, "Consumers have 9"), (9, "not acknowledge in time")]
)
def test_consumers_that_keep_messages_too_long_are_told_from_those_that_are_at_work(late, expected):
    assert expected in explain("shared", [cursor(backlog=20, leased=9)], [], None, late).sentence


def touched(held: int, *waiting: str, is_holding: bool = True) -> Touched:
    return Touched("orders", 0, 62, held, is_holding, list(waiting))


@pytest.mark.parametrize(
    ("status", "wrote", "expected"),
    [
        ("committed", [touched(3)], "It was committed; nobody waits for it."),
        ("open", [], "It holds nobody up"),
        ("open", [touched(0, "billing", is_holding=False)], "It holds nobody up"),
        ("open", [touched(1)], "Readers of orders:0 do not get 1 record until it ends."),
        ("aborting", [touched(15, "b", "a")], "do not get 15 records until it ends. Waiting there: a, b."),
        ("open", [touched(1, *"fedcba")], "Waiting there: a, b, c, d, e and others."),
    ],
)
def test_a_transaction_says_what_it_means_for_others(status, wrote, expected):
    assert expected in sentence(status, wrote)


def test_a_transaction_that_holds_readers_up_becomes_bad_with_time():
    assert [level(age_ms, [touched(1)]) for age_ms in (0, 29_999, 30_000)] == ["look", "look", "bad"]
    assert level(1_000_000, [touched(0, is_holding=False)]) == "good"
