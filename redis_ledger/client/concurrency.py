"""What waiting means, twice: for one event loop and for threads.  All else in the SDK is written once.

    asyncio            threads       what it is
    AsyncMutex         Mutex         one at a time; on an event loop a stretch without `await` already is
    AsyncCondition     Condition     sleep until told, or until a time limit
    AsyncEvent         Event         something has happened, and stays so
    AsyncWorker        Worker        something that runs beside the caller
    AsyncResult        Result        a value that comes later: `await it`, or `it.result()`
    async_sleep        sleep

`scripts/unasync.py` turns the left names into the right ones, so `_async/` may use nothing else to wait.  A condition
is waited for within `with mutex:`; that holds nothing on an event loop and releases the lock while a thread sleeps.
After a fork, a mutex and an event of the parent raise ClientClosed in the child: no thread is there to release them.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from typing import Any, Generic, TypeVar

from redis_ledger.client.forks import Process

T = TypeVar("T")


class AsyncMutex:
    __slots__ = ("_process",)

    def __init__(self) -> None:
        self._process = Process()

    def __enter__(self) -> None:
        self._process.check()

    def __exit__(self, *_: object) -> None:
        return None


class Mutex:
    __slots__ = ("_process", "lock")

    def __init__(self) -> None:
        self.lock, self._process = threading.RLock(), Process()

    def __enter__(self) -> None:
        self._process.check()
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


class AsyncCondition:
    __slots__ = ("_sleepers",)

    def __init__(self, mutex: AsyncMutex) -> None:
        self._sleepers: list[asyncio.Future[None]] = []

    async def wait(self, timeout_s: float | None = None) -> None:
        """Returns when told or when the time is up; which of them is for the caller to look at."""
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.append(sleeper)
        try:
            await asyncio.wait([sleeper], timeout=timeout_s)
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)

    def notify(self) -> None:
        if self._sleepers:
            self._sleepers.pop(0).set_result(None)

    def notify_all(self) -> None:
        while self._sleepers:
            self.notify()


class Condition:
    __slots__ = ("_condition",)

    def __init__(self, mutex: Mutex) -> None:
        self._condition = threading.Condition(mutex.lock)

    def wait(self, timeout_s: float | None = None) -> None:
        self._condition.wait(timeout_s)

    def notify(self) -> None:
        self._condition.notify()

    def notify_all(self) -> None:
        self._condition.notify_all()


class AsyncEvent:
    __slots__ = ("_event", "_process")

    def __init__(self) -> None:
        self._event, self._process = asyncio.Event(), Process()

    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        self._event.set()

    def clear(self) -> None:
        self._event.clear()

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Returns whether it has happened; False when the time is up."""
        if not self._event.is_set():
            self._process.check()
            with suppress(TimeoutError, asyncio.TimeoutError):
                await asyncio.wait_for(self._event.wait(), timeout_s)
        return self._event.is_set()


class Event:
    __slots__ = ("_event", "_process")

    def __init__(self) -> None:
        self._event, self._process = threading.Event(), Process()

    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        self._event.set()

    def clear(self) -> None:
        self._event.clear()

    def wait(self, timeout_s: float | None = None) -> bool:
        if not self._event.is_set():
            self._process.check()
            self._event.wait(timeout_s)
        return self._event.is_set()


class AsyncWorker:
    __slots__ = ("_task",)

    def __init__(self, run: Callable[[], Awaitable[None]], name: str) -> None:
        async def running() -> None:
            await run()

        self._task = asyncio.get_running_loop().create_task(running(), name=name)

    async def join(self, timeout_s: float | None = None) -> None:
        """Waits for its end, or until the time is up.  An error inside it is raised here."""
        if timeout_s is None:
            await asyncio.shield(self._task)
        elif (await asyncio.wait([self._task], timeout=timeout_s))[0]:
            self._task.result()


class Worker:
    __slots__ = ("_thread",)

    def __init__(self, run: Callable[[], None], name: str) -> None:
        self._thread = threading.Thread(target=run, name=name, daemon=True)
        self._thread.start()

    def join(self, timeout_s: float | None = None) -> None:
        self._thread.join(timeout_s)


class AsyncResult(Generic[T]):
    __slots__ = ()

    def __await__(self) -> Generator[Any, None, T]:
        return self.result().__await__()

    async def result(self, timeout_ms: int | None = None) -> T:
        raise NotImplementedError


class Result(Generic[T]):
    __slots__ = ()

    def result(self, timeout_ms: int | None = None) -> T:
        raise NotImplementedError


async_sleep = asyncio.sleep
sleep = time.sleep
