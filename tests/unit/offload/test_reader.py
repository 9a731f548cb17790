from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

from redis_ledger.errors import OffloadedUnavailable
from redis_ledger.offload import reader
from redis_ledger.offload.reader import OffloadReader


class Home:
    """An object store that opens on request; the first attempt fails."""

    def __init__(self) -> None:
        self.may_open = threading.Event()
        self.opened = 0

    def open(self, _: str) -> Any:
        assert self.may_open.wait(5)
        self.opened += 1
        if self.opened == 1:
            raise OffloadedUnavailable("not there yet")
        return self


@pytest.fixture
def home(monkeypatch):
    home = Home()
    monkeypatch.setattr(reader, "_open", home.open)
    yield home
    home.may_open.set()


@pytest.fixture
def reported():
    """Returns what asyncio reports of exceptions that were not retrieved."""
    found: list[dict[str, Any]] = []
    return found


async def test_a_failed_open_without_readers_is_not_reported_and_retried(home, reported):
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    reader: Any = OffloadReader(None, "home", 1 << 20)  # type: ignore[arg-type]
    # Given readers that are cancelled while the object store is being opened
    readers = [asyncio.create_task(reader._files()) for _ in range(2)]
    await asyncio.sleep(0)
    for each in readers:
        each.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    # When opening fails
    home.may_open.set()
    while home.opened == 0:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.01)
    # Then the next reader tries again, and nothing is reported
    assert await reader._files() is home
    assert home.opened == 2
    gc.collect()
    await asyncio.sleep(0)
    assert reported == []


async def test_a_failed_open_fails_all_waiting_readers_and_is_retried(home):
    reader: Any = OffloadReader(None, "home", 1 << 20)  # type: ignore[arg-type]
    readers = [asyncio.create_task(reader._files()) for _ in range(2)]
    await asyncio.sleep(0)
    home.may_open.set()
    found = await asyncio.gather(*readers, return_exceptions=True)
    assert [type(each) for each in found] == [OffloadedUnavailable] * 2
    assert await reader._files() is home
