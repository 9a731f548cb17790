"""The tail cache of a partition: contiguous, and within its budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.ledger.entries import LogEntry
from redis_ledger.ledger.tail_cache import ENTRY_BYTES, PRUNE_AT, Tail, Tails


def entry(base: int, records: int = 1, flags: int = 0) -> LogEntry:
    return LogEntry(0, 0, base, records, 10, -1, -1, -1, flags, 0, 0)


def bases(
    tail: Tail, offset: int, end: int = 1 << 40, bytes_max: int = 1 << 40, records_max: int = 1 << 40
) -> list[int]:
    return [each.base_offset for each in tail.since(offset, end, bytes_max, records_max)[0]]


def test_entries_that_follow_each_other_are_held_and_found_by_any_of_their_offsets():
    tail = Tails(1 << 20).open()
    for base in (10, 15, 20):
        tail.add(entry(base, 5), b"x")
    assert (tail.first, tail.end) == (10, 25)
    assert bases(tail, 10) == [10, 15, 20]
    assert bases(tail, 17) == [15, 20]
    assert bases(tail, 17, end=20) == [15]
    assert not tail.holds(25)
    assert not tail.holds(9)


def test_a_gap_begins_the_tail_anew():
    tail = Tails(1 << 20).open()
    tail.add(entry(10), b"x")
    tail.add(entry(12), b"y")
    assert (tail.first, tail.end, bases(tail, 12)) == (12, 13, [12])


def test_as_many_as_fit_are_found_and_the_first_however_large():
    tail = Tails(1 << 20).open()
    for base in range(4):
        tail.add(entry(base), b"x" * 100)
    assert bases(tail, 0, bytes_max=250) == [0, 1]
    assert bases(tail, 0, bytes_max=1) == [0]


def test_reads_extend_or_replace_the_tail_cache():
    tail = Tails(1 << 20).open()
    tail.add(entry(10), b"x")
    tail.learn([entry(9), entry(10), entry(11)], [b"a", b"b", b"c"], 12)
    assert (tail.first, tail.end) == (10, 12)
    tail.learn([entry(20)], [b"d"], 30)  # from the middle of the log: of no use to who reads at its end
    assert (tail.first, tail.end) == (10, 12)
    tail.learn([entry(29)], [b"d"], 30)
    assert (tail.first, tail.end) == (29, 30)


def test_the_budget_is_shared_and_the_tail_that_grew_longest_ago_gives_up_first():
    size = 1000 + ENTRY_BYTES
    tails = Tails(8 * size)
    first, second = tails.open(), tails.open()
    for base in range(2):
        first.add(entry(base), b"x" * 1000)
    for base in range(2):
        second.add(entry(base), b"x" * 1000)
    others = [tails.open() for _ in range(3)]
    for other in others:
        for base in range(2):
            other.add(entry(base), b"x" * 1000)
    assert first.bytes == 0
    assert second.bytes == 2 * size
    assert sum(tail.bytes for tail in (first, second, *others)) <= 8 * size


def test_a_tail_takes_a_quarter_of_the_budget_at_most():
    tail = Tails(4 * 10 * (100 + ENTRY_BYTES)).open()
    for base in range(3 * PRUNE_AT):
        tail.add(entry(base), b"x" * 100)
    assert (tail.first, tail.end) == (3 * PRUNE_AT - 10, 3 * PRUNE_AT)
    assert bases(tail, tail.first) == list(range(tail.first, tail.end))


def test_it_knows_whether_transactions_are_in_it():
    tail = Tails(1 << 20).open()
    tail.add(entry(0, flags=1), b"x")
    tail.add(entry(1), b"x")
    assert tail.transactional == 1
    tail.shrink()
    assert tail.transactional == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(0, 900)), max_size=60), st.integers(2, 9))
def test_whatever_is_added_what_is_held_is_the_end_of_it_without_a_gap(steps, budget):
    """steps: offsets left out, records, bytes."""
    tails = Tails(budget * 1000)
    tail, end = tails.open(), 0
    model: list[tuple[int, int]] = []
    for skipped, records, size in steps:
        base = end + skipped
        model = [*model, (base, records)] if not skipped and model else [(base, records)]
        tail.add(entry(base, records), b"x" * size)
        end = base + records
        held = bases(tail, tail.first) if tail.first < tail.end else []
        assert held == [base for base, _ in model][len(model) - len(held) :]
        assert tail.bytes <= budget * 1000 // 4
        assert tail.end in (end, tail.first)
