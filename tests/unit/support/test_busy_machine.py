"""Limits in seconds that a test had the machine for."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.support.busy_machine import busy_machine, within


async def turns(count: int, each_s: float) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
        time.sleep(each_s)  # noqa: ASYNC251 - as a machine that is busy with other things


async def test_within_ends_what_takes_longer():
    with pytest.raises(TimeoutError):
        async with within(0.05):
            await asyncio.sleep(60)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_within_does_not_count_what_a_busy_machine_takes():
    async with within(0.2):
        await turns(4, 0.2)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_errors_of_the_body_pass_through_within():
    with pytest.raises(ZeroDivisionError):
        async with within(1):
            raise ZeroDivisionError


async def test_lost_time_is_what_turns_take_beyond_their_length():
    began_s = time.monotonic()
    async with busy_machine() as machine:
        await turns(4, 0.2)
        await asyncio.sleep(0.05)  # until the task that measures has had a turn
    took_s = time.monotonic() - began_s
    assert 0.5 < machine.lost_s < took_s
