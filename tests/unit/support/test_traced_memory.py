"""Memory of a call: what it takes always counts, and what others take meanwhile does not."""

from __future__ import annotations

from tests.support.traced_memory import TRIES, peak_bytes

SIZE, ENOUGH = 1 << 20, 1 << 16


def test_a_call_that_takes_too_much_does_so_in_each_try():
    calls: list[int] = []
    assert peak_bytes(lambda: calls.append(len(bytes(SIZE))), ENOUGH) >= SIZE
    assert len(calls) == TRIES


def test_what_another_thread_takes_once_does_not_count():
    sizes = [SIZE, 10, 10]
    assert peak_bytes(lambda: bytes(sizes.pop(0)), ENOUGH) < ENOUGH
    assert sizes == [10]
