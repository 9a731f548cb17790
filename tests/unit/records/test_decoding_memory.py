"""Memory for decoding: bounded for all requests together, without requests waiting for each other."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.config import Config
from redis_ledger.decoding import memory as memories
from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Budget, Decoding
from redis_ledger.decoding.memory import DecodingMemory
from redis_ledger.errors import CorruptBatch, DecodingBusy, TooLargeToDecode
from redis_ledger.records.budget import DEFAULT
from redis_ledger.records.build import encode
from redis_ledger.records.read import Unread
from tests.support.bombs import batch, header_bomb, record
from tests.support.busy_machine import wait_for

MB = 1 << 20
LIMITS = DEFAULT._replace(decoded_bytes=4 * MB)


def packed(size: int = 2 * MB) -> bytes:
    return encode([(None, bytes(size), (), 0)], compression=4)


async def test_all_decodes_in_flight_stay_below_the_bound(monkeypatch):
    memory, seen = DecodingMemory(8 * MB), list[int]()
    unread = Unread

    def watched(data, limits):
        seen.append(memory.taken)
        return unread(data, limits)

    monkeypatch.setattr(paced, "Unread", watched)

    async def request() -> int:
        with Budget(LIMITS, 64 * MB, memory) as budget:
            (found,) = await paced.decode(packed(), budget)
            seen.append(memory.taken)
            await asyncio.sleep(0.001)  # it is made into an answer
            return len(found.value or b"")

    assert await asyncio.gather(*(request() for _ in range(30))) == [2 * MB] * 30
    assert 4 * MB < max(seen) <= 8 * MB
    assert memory.taken == 0


async def test_one_that_holds_nothing_waits_in_turn_and_no_longer_than_the_limit(monkeypatch):
    memory, served = DecodingMemory(100), list[int]()
    await memory.take(100)

    async def ask(count: int) -> None:
        await memory.take(count)
        served.append(count)

    tasks = [asyncio.ensure_future(ask(count)) for count in (70, 20, 5)]
    await asyncio.sleep(0)
    memory.give(50)
    await asyncio.sleep(0)
    assert served == []  # 20 would fit, and 70 came before
    memory.give(50)
    await asyncio.gather(*tasks)
    assert served == [70, 20, 5]
    monkeypatch.setattr(memories, "WAIT_S_MAX", 0.05)
    with pytest.raises(DecodingBusy) as refused:
        await memory.take(10)
    assert (refused.value.retriable, refused.value.facts) == (True, {"decoded_bytes_max": 100})
    gone = asyncio.ensure_future(memory.take(10))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    late = asyncio.ensure_future(memory.take(10))
    await asyncio.sleep(0)
    memory.give(95)
    late.cancel()  # just when it was given its memory
    await asyncio.gather(late, return_exceptions=True)
    assert memory.taken == 0


async def test_one_that_holds_some_is_cut_at_once_and_does_not_wait():
    memory = DecodingMemory(8 * MB)
    with Budget(LIMITS, 64 * MB, memory) as one, Budget(LIMITS, 64 * MB, memory) as other:
        await paced.decode(packed(3 * MB), one)
        await paced.decode(packed(3 * MB), other)
        for budget in (one, other):  # either waits for the other if it waits at all
            with pytest.raises(DecodingBusy):
                await wait_for(paced.decode(packed(3 * MB), budget), 1)
            assert budget.is_cut
            assert budget.is_spent
    assert memory.taken == 0


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (header_bomb(), TooLargeToDecode),
        (packed(5 * MB), TooLargeToDecode),
        (batch(record(None, b"x" * 600_000, b"", 5_000_000)), CorruptBatch),
    ],
)
async def test_undecodable_batches_hold_no_memory(data, error):
    memory = DecodingMemory(64 * MB)
    budget = Budget(DEFAULT if error is TooLargeToDecode and len(data) > 5 * MB else LIMITS, 64 * MB, memory)
    with pytest.raises(error):
        await paced.decode(data, budget)
    assert (budget.held, memory.taken) == (0, 0)


async def test_sliced_batch_stays_in_memory_until_its_last_slice():
    memory = DecodingMemory(8 * MB)
    budget = Budget(LIMITS, 64 * MB, memory)
    held = [
        memory.taken async for _ in paced.slices(encode([(None, b"x" * 100, (), 0)] * 20_000, compression=4), budget)
    ]
    assert len(held) > 1
    assert min(held) > 2 * MB
    assert memory.taken == 0
    for _ in range(10):
        await paced.read_through(packed(3 * MB), budget)
    assert memory.taken == 0


async def test_every_decoded_byte_is_charged_once():
    charged = list[int]()
    budget = Budget(LIMITS, 64 * MB, None, charged.append)
    await paced.decode(packed(), budget)
    await paced.read_through(packed(), budget)
    plain = encode([(None, b"x", (), 0)])
    await paced.decode(plain, budget)
    assert sum(charged) == 64 * MB - budget.bytes_left
    assert charged[0] == charged[1] > 2 * MB
    assert charged[2] < 100


def test_the_bound_is_twice_what_a_request_may_decode_and_at_least_a_batch():
    assert Decoding(Config()).memory.bytes_max == 2 * Config().request_decoded_bytes_max
    assert Decoding(Config(decoded_bytes_max=50 * MB)).memory.bytes_max == 50 * MB
    assert Decoding(Config(decoded_bytes_max=1)).memory.bytes_max == Config().batch_decoded_bytes_max
