"""Stopping `serve`: it drains; a second signal ends it immediately."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from redis_ledger.app.process.broker_process import run_until_stopped
from tests.support.busy_machine import wait_for, within


class Broker:
    """Work that drains until it is released."""

    def __init__(self) -> None:
        self.draining, self.released = asyncio.Event(), asyncio.Event()
        self.is_drained = False

    async def work(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.draining.set()
            await self.released.wait()
            self.is_drained = True


@pytest.fixture
def exits(monkeypatch):
    """The exit codes of a process that ends at once."""
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    return codes


@pytest.fixture
def stdin(monkeypatch):
    """The end of a pipe that a parent holds, which is our stdin."""
    ours, parents = os.pipe()
    with os.fdopen(ours) as reader, os.fdopen(parents, "w") as writer:
        monkeypatch.setattr(sys, "stdin", reader)
        yield writer


async def test_end_of_stdin_and_a_signal_drain_once(exits, stdin):
    broker = Broker()
    serving = asyncio.create_task(run_until_stopped(broker.work, exit_with_stdin=True))
    await asyncio.sleep(0)
    # Given a broker that drains since its stdin ended
    stdin.close()
    await wait_for(broker.draining.wait(), 10)
    # When the parent also terminates it
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(0.05)
    # Then it goes on draining
    broker.released.set()
    await serving
    assert (broker.is_drained, exits) == (True, [])


async def test_a_second_signal_ends_the_process_at_once(exits):
    broker = Broker()
    serving = asyncio.create_task(run_until_stopped(broker.work, exit_with_stdin=False))
    await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGTERM)
    await wait_for(broker.draining.wait(), 10)
    assert exits == []
    os.kill(os.getpid(), signal.SIGINT)
    async with within(10):
        while not exits:
            await asyncio.sleep(0.01)
    assert exits == [1]
    broker.released.set()
    await serving
