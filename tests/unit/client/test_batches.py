from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.client.batches import Accumulator, BatchingOptions, Entry

HABITS = BatchingOptions(linger_s=1.0, batch_bytes=200)


def entry(value: bytes = b"x") -> Entry:
    return Entry(None, value, (), 1)


def accumulator() -> Accumulator[threading.Event]:
    return Accumulator(threading.Event)


def test_a_batch_waits_for_its_linger_and_then_goes():
    queue = accumulator()
    batch, index = queue.put("t", 0, None, entry(), 0.0, HABITS)
    assert index == 0
    assert queue.take(0.5) == 1.0
    taken = queue.take(1.0)
    assert isinstance(taken, tuple)
    assert taken[1] is batch


def test_a_full_batch_goes_at_once():
    queue = accumulator()
    queue.put("t", 0, None, entry(b"x" * 500), 0.0, HABITS)
    assert isinstance(queue.take(0.0), tuple)


def test_a_lane_has_one_batch_on_its_way_and_the_next_in_order_after_it():
    # Given two full batches of one lane
    queue = accumulator()
    first, _ = queue.put("t", 0, None, entry(b"1" * 500), 0.0, HABITS)
    second, _ = queue.put("t", 0, None, entry(b"2" * 500), 0.0, HABITS)
    # When the first is taken
    taken = queue.take(0.0)
    assert isinstance(taken, tuple)
    assert taken[1] is first
    # Then the second waits for its answer
    assert not isinstance(queue.take(0.0), tuple)
    queue.done(taken[0], 0.0)
    after = queue.take(0.0)
    assert isinstance(after, tuple)
    assert after[1] is second


def test_records_of_other_partitions_and_transactions_never_share_a_batch():
    queue, t1, t2 = accumulator(), object(), object()
    places = [(0, None), (1, None), (0, t1), (0, t2), (1, t1)]
    batches = [queue.put("t", partition, txn, entry(), 0.0, HABITS)[0] for partition, txn in places * 3]
    assert len({id(batch) for batch in batches}) == len(places)
    assert {len(batch.entries) for batch in batches} == {3}


def test_hurry_touches_one_transaction_only():
    queue, txn = accumulator(), object()
    queue.put("t", 0, None, entry(), 0.0, HABITS)
    mine, _ = queue.put("t", 0, txn, entry(), 0.0, HABITS)
    queue.hurry(txn)
    taken = queue.take(0.0)
    assert isinstance(taken, tuple)
    assert taken[1] is mine
    assert queue.take(0.0) == 1.0


def test_dropping_takes_back_what_is_not_sent_and_leaves_others():
    queue, txn = accumulator(), object()
    other, _ = queue.put("t", 0, None, entry(), 0.0, HABITS)
    mine, _ = queue.put("t", 0, txn, entry(), 0.0, HABITS)
    assert queue.drop(txn) == [mine]
    assert queue.is_idle(txn)
    assert not queue.is_idle()
    assert queue.bytes_waiting == other.size


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 250)), max_size=60))
def test_every_record_is_taken_once_in_the_order_of_its_lane(puts):
    # Given any records for three partitions in two transactions and none
    queue, txns = accumulator(), [None, object(), object()]
    expected: dict[tuple[int, int], list[bytes]] = {}
    for number, (partition, txn, size) in enumerate(puts):
        value = b"%d:" % number + b"x" * size
        queue.put("t", partition, txns[txn], entry(value), 0.0, HABITS)
        expected.setdefault((partition, txn), []).append(value)
    # When all is taken and answered
    got: dict[tuple[int, int], list[bytes]] = {}
    queue.hurry()
    while isinstance(taken := queue.take(0.0), tuple):
        lane, batch = taken
        got.setdefault((lane.partition, txns.index(lane.txn)), []).extend(e.value or b"" for e in batch.entries)
        queue.done(lane, 0.0)
    # Then each lane got its records in order, and nothing is left
    assert got == expected
    assert queue.bytes_waiting == 0
    assert queue.is_idle()
