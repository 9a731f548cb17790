"""The queue of a producer's batches behind a retried one: order, bounds, and cleanup."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.broker.produce.producer_queues import ProducerQueues


def test_waiting_items_return_in_order_of_arrival():
    queues: ProducerQueues[str, str] = ProducerQueues(10, 100)
    queues.open("p")
    # Given a batch that arrived later and waits first: the earlier one was on its way and was refused
    assert queues.wait("p", 3, 1, "third")
    assert queues.wait("p", 2, 1, "second")
    assert queues.wait("p", 4, 1, "fourth")
    assert queues.close("p") == ["second", "third", "fourth"]


def test_a_queue_is_there_only_between_open_and_close():
    queues: ProducerQueues[str, str] = ProducerQueues(10, 100)
    assert "p" not in queues
    assert not queues
    queues.open("p")
    assert "p" in queues
    assert "q" not in queues
    assert queues.close("p") == []
    assert "p" not in queues
    assert not queues


def test_queues_do_not_mix():
    queues: ProducerQueues[str, int] = ProducerQueues(10, 100)
    for name, number in (("p", 1), ("q", 2)):
        queues.open(name)
        queues.wait(name, number, 1, number)
    assert queues.close("q") == [2]
    assert queues.close("p") == [1]


@given(
    items_max=st.integers(0, 5),
    bytes_max=st.integers(0, 20),
    steps=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 10)), max_size=40),
)
def test_all_queues_together_never_hold_more_than_their_bounds(items_max, bytes_max, steps):
    queues: ProducerQueues[str, int] = ProducerQueues(items_max, bytes_max)
    held: dict[str, list[int]] = {}
    for number, (name, size) in enumerate(steps):
        if name not in queues:
            queues.open(name)
            held[name] = []
        elif size == 0:  # settled
            assert len(queues.close(name)) == len(held.pop(name))
            continue
        waiting = [each for sizes in held.values() for each in sizes]
        fits = len(waiting) < items_max and sum(waiting) + size <= bytes_max
        assert queues.wait(name, number, size, number) == fits
        held[name] += [size] if fits else []
    for name, sizes in held.items():
        assert len(queues.close(name)) == len(sizes)
    assert not queues
