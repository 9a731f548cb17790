"""Memory for answers and partial requests: allocation, waiting, and that no bytes are lost."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.broker import client_memory
from redis_ledger.broker.client_memory import ClientMemory
from redis_ledger.errors import ClientMemoryFull


async def test_an_answer_is_cut_to_what_is_free_and_gives_it_back():
    memory = ClientMemory(100)
    one, two = memory.lease(), memory.lease()
    assert await one.fit([40, 40, 40]) == 2
    assert await two.fit([10, 5, 10]) == 2
    assert (memory.free, one.held, two.held) == (5, 80, 15)
    one.hold(30)  # the client has read the rest
    assert memory.free == 55
    one.hold(0)
    two.hold(0)
    assert memory.free == 100


async def test_the_first_batch_of_an_answer_waits_and_others_of_it_do_without():
    memory = ClientMemory(100)
    slow, quick = memory.lease(), memory.lease()
    assert await slow.fit([90]) == 1
    first = asyncio.ensure_future(quick.fit([20, 20]))
    await asyncio.sleep(0)
    assert memory.is_short
    assert await quick.fit([5]) == 0, "another partition of the same answer"
    slow.hold(0)
    assert await first == 2
    assert (memory.is_short, memory.free) == (False, 60)


async def test_answer_above_the_limit_is_sent_alone():
    memory = ClientMemory(100)
    small, large = memory.lease(), memory.lease()
    assert await small.fit([60]) == 1
    waiting = asyncio.ensure_future(large.fit([500]))
    await asyncio.sleep(0)
    assert not waiting.done()
    small.hold(0)
    assert await waiting == 1
    large.hold(0)
    assert memory.free == 100


async def test_first_waiter_is_served_first():
    memory = ClientMemory(100)
    holder, served = memory.lease(), []
    await holder.fit([100])

    async def ask(size: int) -> None:
        await memory.lease().fit([size])
        served.append(size)

    tasks = [asyncio.ensure_future(ask(size)) for size in (70, 20, 5)]
    await asyncio.sleep(0)
    holder.hold(50)
    await asyncio.sleep(0)
    assert served == []
    holder.hold(0)
    await asyncio.gather(*tasks)
    assert served == [70, 20, 5]


async def test_waiting_answer_times_out_and_a_cancelled_one_keeps_nothing(monkeypatch):
    monkeypatch.setattr(client_memory, "WAIT_S_MAX", 0.01)
    memory = ClientMemory(100)
    holder = memory.lease()
    await holder.fit([100])
    with pytest.raises(ClientMemoryFull):
        await memory.lease().fit([10])
    gone = asyncio.ensure_future(memory.lease().fit([10]))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    late = asyncio.ensure_future(memory.lease().fit([10]))
    await asyncio.sleep(0)
    holder.hold(0)
    late.cancel()  # just when it has been given its memory
    await asyncio.gather(late, return_exceptions=True)
    assert (memory.free, memory.is_short) == (100, False)


async def test_half_requests_take_a_half_at_most_and_what_is_free():
    memory = ClientMemory(100)
    assert memory.take_request(50)
    assert not memory.take_request(1)
    lease = memory.lease()
    assert await lease.fit([50]) == 1
    memory.give_request(50)
    assert memory.take_request(50)
    assert (memory.free, memory.refused) == (0, 1)


async def test_half_requests_do_not_keep_whole_ones_out_and_small_ones_are_never_refused(monkeypatch):
    monkeypatch.setattr(client_memory, "SMALL_BYTES", 10)
    memory = ClientMemory(100)
    assert memory.take_request(50)
    assert memory.take_whole(50)
    assert not memory.take_whole(11)
    assert (memory.refused, memory.free) == (1, 0)
    assert memory.take_whole(10)
    memory.give_request(110)
    assert memory.free == 100


async def test_empty_answers_never_wait():
    memory = ClientMemory(100)
    await memory.lease().fit([100])
    assert await memory.lease().fit([0, 0]) == 2


async def test_small_request_waits_only_while_nothing_is_free():
    memory = ClientMemory(100)
    holder = memory.lease()
    await holder.fit([100])
    waiting = asyncio.ensure_future(memory.admit())
    await asyncio.sleep(0)
    assert not waiting.done()
    holder.hold(99)
    await waiting
    assert memory.free == 1


class SlowReader:
    """slow_s: since when it has not read, at 1 000 s."""

    def __init__(self, memory: ClientMemory, slow_s: float, held: int) -> None:
        self.unread, self._slow_s = memory.lease(), slow_s
        self.unread.hold(held)

    def unread_s(self, now: float) -> float:
        return now - 1_000 + self._slow_s


def test_the_slowest_readers_are_chosen_until_an_eighth_of_the_memory_will_be_free():
    memory = ClientMemory(800, has_metrics=False)
    fast, slowest, slow, also = (SlowReader(memory, *each) for each in ((1, 600), (10, 60), (9, 60), (8, 80)))
    for readers in ([fast, slowest, slow, also], [also, slow, slowest, fast]):
        assert memory.too_slow(readers, 1_000) == [slowest, slow]
    assert memory.too_slow([fast], 1_000) == []
    assert memory.too_slow([fast], 1_000 + client_memory.UNREAD_S_MAX) == [fast]
    slowest.unread.hold(0)  # there is memory again
    assert memory.too_slow([slow], 1_000) == []
