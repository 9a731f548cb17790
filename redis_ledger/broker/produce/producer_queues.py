"""Producer queues: a producer's batches of one partition that wait while the first of them is repeated.

    open(p)      batch 1 was refused and is repeated
    wait(p, 3)   batch 3 arrives
    wait(p, 2)   batch 2 was sent before that, and is refused because 1 is missing
    close(p)     1 is settled:  [2, 3]    they go on if it was taken, and get its error if it was not

A partition takes a producer's batches only in the order of their sequence numbers.  A batch that overtakes a repeated
one is therefore refused, and Kafka clients treat that refusal as fatal.  There is a queue only while something is
repeated.  Source: Kafka's "max.in.flight.requests.per.connection".
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class ProducerQueues(Generic[K, T]):
    """items_max, bytes_max: of all queues together."""

    def __init__(self, items_max: int, bytes_max: int) -> None:
        self._items_max, self._bytes_max = items_max, bytes_max
        self._queues: dict[K, list[tuple[int, int, T]]] = {}
        self._items = self._bytes = 0

    def __len__(self) -> int:
        """The open queues."""
        return len(self._queues)

    def __contains__(self, key: K) -> bool:
        return key in self._queues

    def open(self, key: K) -> None:
        assert key not in self._queues, key
        self._queues[key] = []

    def wait(self, key: K, number: int, size: int, item: T) -> bool:
        """Adds an item to an open queue; False if too much waits already.  number: of its arrival."""
        if self._items >= self._items_max or self._bytes + size > self._bytes_max:
            return False
        self._queues[key].append((number, size, item))
        self._items += 1
        self._bytes += size
        return True

    def close(self, key: K) -> list[T]:
        """Removes a queue; what waited in it, in the order of arrival."""
        queue = sorted(self._queues.pop(key), key=lambda waiting: waiting[0])
        self._items -= len(queue)
        self._bytes -= sum(size for _, size, _ in queue)
        return [item for _, _, item in queue]
