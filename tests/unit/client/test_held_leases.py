from __future__ import annotations

import asyncio
from time import monotonic

from redis_ledger.client._async.lease_keeper import AsyncLeaseKeeper
from redis_ledger.client.held_leases import HeldLeases
from redis_ledger.client.models import Message
from redis_ledger.errors import Unavailable
from redis_ledger.ids import MessageId


def message(offset: int, until_s: float = 130.0) -> Message:
    return Message("t", 0, offset, None, b"x", {}, 1, leased_until_s=until_s)


def ids(*offsets: int) -> list[MessageId]:
    return [MessageId(0, offset) for offset in offsets]


def test_a_lease_is_due_when_a_third_of_it_is_over():
    held = HeldLeases(30.0, 3_600.0)
    held.add([message(1), message(2, until_s=140.0)], 100.0)
    assert held.due(109.9) == []
    assert held.due(110.0) == ids(1)
    held.extend(ids(1), 110.0)
    assert held.due(119.9) == []
    assert held.due(120.0) == ids(1, 2)


def test_a_lease_that_is_settled_or_held_for_the_longest_time_is_not_extended():
    held = HeldLeases(30.0, 60.0)
    held.add([message(1), message(2), message(3)], 100.0)
    held.forget(ids(2))
    held.forget_upto(MessageId(1, 9))
    assert held.due(159.9) == ids(1, 3)
    held.forget_upto(MessageId(0, 1))
    assert held.due(159.9) == ids(3)
    assert held.due(160.0) == []
    assert len(held) == 0


async def test_a_keeper_extends_until_the_message_is_settled_or_lost_and_tries_again_after_an_error():
    asked = list[list[MessageId]]()
    answers = [Unavailable("no broker"), [], ids(2)]

    async def extend(given):
        asked.append(list(given))
        answer = answers.pop(0) if answers else []
        if isinstance(answer, Exception):
            raise answer
        return answer

    keeper = AsyncLeaseKeeper(extend, 60, 60_000)
    keeper.keep([message(1, monotonic() + 0.06), message(2, monotonic() + 0.06)])
    while len(asked) < 4:
        await asyncio.sleep(0.005)
    assert asked[:4] == [ids(1, 2), ids(1, 2), ids(1, 2), ids(1)]
    keeper.forget(ids(1))
    while keeper._worker is not None:
        await asyncio.sleep(0.005)
    count = len(asked)
    keeper.keep([message(3)])
    keeper.close()
    await asyncio.sleep(0.05)
    assert len(asked) == count


async def test_a_keeper_without_a_time_limit_of_leases_extends_nothing():
    async def extend(ids):
        raise AssertionError(ids)

    keeper = AsyncLeaseKeeper(extend, 30, 0)
    keeper.keep([message(1)])
    assert keeper._worker is None
