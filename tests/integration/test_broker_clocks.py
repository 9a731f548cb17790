"""A clock that is wrong, of the machine or of Redis: nothing is deleted or aborted because of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.clock import RedisClock, SystemClock
from tests.support.broker import eventually, one, records, values_of
from tests.support.group_offsets import in_transaction, offsets
from tests.support.rest import client_of

WEEK_MS = 8 * 86_400_000
SWEEPS_S = 0.5  # five of them


class Machine:
    """A machine whose clock is ahead by ahead_ms."""

    ahead_ms = 0

    def now_ms(self) -> int:
        return SystemClock().now_ms() + self.ahead_ms


class ShiftedRedis(RedisClock):
    """As if Redis's clock was ahead by ahead_ms."""

    ahead_ms = 0

    def learn(self, redis_ms: int, sent_s: float) -> None:
        super().learn(redis_ms + self.ahead_ms, sent_s)

    def compare(self, times_ms: Sequence[int], sent_s: float) -> None:
        super().compare([each + self.ahead_ms for each in times_ms], sent_s)


async def lost(broker: Broker, clock: Machine | ShiftedRedis, ahead_ms: int) -> list[str]:
    """What a broker has lost of a record and an open transaction when this clock steps."""
    await broker.records.produce("t", records("kept"))
    txn = await in_transaction(broker, ("t", 0, 1))

    async def status() -> str:
        return (await broker.transactions.get(txn)).status

    clock.ahead_ms = ahead_ms
    await broker.maintenance.heartbeat()
    await broker.maintenance.retain()
    await broker.retention.relieve()
    await offsets(broker, settle=True)  # which ends what is overdue and pending there
    after = await eventually(status, "aborted", SWEEPS_S)
    return ["record"] * (await values_of(broker, "t") == []) + ["transaction"] * (after != "open")


async def test_a_redis_whose_clock_jumps_ahead_deletes_and_aborts_nothing(redis_url, prefix):
    clock = ShiftedRedis(10_000)
    async with one(redis_url, prefix, redis_clock=clock) as broker:
        assert await lost(broker, clock, WEEK_MS) == []
        clock.ahead_ms = 0
        await broker.maintenance.heartbeat()
        assert await broker.ready()


async def test_without_a_limit_a_jump_of_redis_counts(redis_url, prefix):
    """So the test above would see what is lost."""
    clock = ShiftedRedis(0)
    async with one(redis_url, prefix, redis_clock=clock) as broker:
        assert await lost(broker, clock, WEEK_MS) == ["record", "transaction"]


async def test_what_a_doubted_time_has_left_is_done_when_the_clocks_agree(redis_url, prefix):
    """The clock of Redis was a fortnight ahead while retention looked; then eight days pass."""
    machine = Machine()
    clock = ShiftedRedis(10_000, machine)
    async with one(redis_url, prefix, redis_clock=clock) as broker:
        await broker.maintenance.close()
        await broker.records.produce("t", records("old"))
        for clock.ahead_ms, machine.ahead_ms in ((2 * WEEK_MS, 0), (WEEK_MS, WEEK_MS)):
            await broker.maintenance.heartbeat()
            await broker.retention.retain(due_only=True)
        assert await values_of(broker, "t") == []


@pytest.mark.parametrize("limit_ms", [10_000, 0])
async def test_a_broker_whose_own_clock_steps_goes_by_that_of_redis(redis_url, prefix, limit_ms):
    machine = Machine()
    async with one(redis_url, prefix, redis_clock=RedisClock(limit_ms, machine)) as broker:
        assert await lost(broker, machine, WEEK_MS) == []


async def test_a_broker_whose_own_clock_is_wrong_is_not_ready_and_says_by_how_much(redis_url, prefix):
    machine, found = Machine(), []
    async with one(redis_url, prefix, redis_clock=RedisClock(10_000, machine)) as broker, client_of(broker) as http:
        for machine.ahead_ms in (0, 60_000, 5_000, -60_000):
            await broker.maintenance.heartbeat()
            answer = await http.get("/readyz")
            found.append((answer.status_code, answer.json().get("code"), answer.json().get("detail", "")[:60]))
    clock, way = "clock_skewed", "The clock of this machine is 60.0 s"
    assert [each[:2] for each in found] == [(200, None), (503, clock), (200, None), (503, clock)]
    assert [each[2].removeprefix(way).split()[0] for each in found if each[2]] == ["ahead", "behind"]
