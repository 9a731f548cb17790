"""A store whose broker dies at a chosen write, in the test's own process; and the index of scheduled records on it.

    writes of a step    1   2   3   4 ...
    "before", n = 3     ✓   ✓   ✗            the third never leaves, nor does anything behind it
    "after",  n = 3     ✓   ✓   ✓   ✗        it was executed, and the reply is lost

What is called after that never returns, as for a process that is gone; `cut` is set, and the store is to be closed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Literal

from redis_ledger.clock import SystemClock
from redis_ledger.config import Config
from redis_ledger.delay.bucket_metrics import BucketMetrics
from redis_ledger.delay.index import DelayIndex
from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store
from tests.support.crash_child import READS
from tests.support.scheduled import BUCKETS, ScheduledTopic

LOOKS = READS | {b"ZSCAN", b"ZCARD", b"ZRANGE"}
When = Literal["before", "after"]


class CutStore(Store):
    """n 0: it lives."""

    n = 0
    when: When = "before"
    is_armed = False

    def arm(self, n: int, when: When) -> None:
        self.n, self.when, self.is_armed = n, when, True
        self.writes: list[str] = []
        self.cut = asyncio.Event()

    def call(self, script: Script, keys: Sequence[bytes], args: Sequence[Any], *, retry: bool = True) -> Any:
        return self._count(script.name, lambda: super(CutStore, self).call(script, keys, args, retry=retry))

    def command(self, *args: Any, key: bytes | None = None, retry: bool = True) -> Any:
        name = args[0].encode() if isinstance(args[0], str) else args[0]
        return self._count(name.decode(), lambda: super(CutStore, self).command(*args, key=key, retry=retry))

    def _count(self, name: str, send: Callable[[], asyncio.Future[Any]]) -> asyncio.Future[Any]:
        if not self.is_armed:
            return send()
        if self.cut.is_set():
            return asyncio.get_running_loop().create_future()
        if name.encode() in LOOKS:
            return send()
        self.writes.append(name)
        if len(self.writes) != self.n:
            return send()
        if self.when == "after":
            send().add_done_callback(lambda _: self.cut.set())
        else:
            self.cut.set()
        return asyncio.get_running_loop().create_future()


def index_on(store: Store, topic: ScheduledTopic, keys: Any, topic_id: str, **settings: Any) -> DelayIndex:
    """settings: over BUCKETS."""
    config = Config(prefix=store.prefix, **{**BUCKETS, **settings})
    return DelayIndex(store, keys, topic.name, topic_id, lambda: config, SystemClock(), BucketMetrics(topic.name))


@contextlib.asynccontextmanager
async def cut_index(
    url: str, topic: ScheduledTopic, n: int, when: When, **settings: Any
) -> AsyncIterator[tuple[DelayIndex, CutStore]]:
    """An index of the topic's first partition, of a broker that dies at its n-th write."""
    partition = await topic.broker.catalog.partition(topic.name, 0)
    store = await CutStore.open(url, prefix=topic.broker.config.prefix)
    assert isinstance(store, CutStore)
    try:
        store.arm(n, when)
        yield index_on(store, topic, partition.keys, partition.topic_id, **settings), store
    finally:
        await store.close()


async def run_until_cut(step: Awaitable[Any], store: CutStore) -> bool:
    """Whether the step completed."""
    work, cut = asyncio.ensure_future(step), asyncio.ensure_future(store.cut.wait())
    await asyncio.wait({work, cut}, return_when=asyncio.FIRST_COMPLETED)
    for task in (work, cut):
        task.cancel()
    outcomes = await asyncio.gather(work, return_exceptions=True)
    if isinstance(outcomes[0], Exception):
        raise outcomes[0]
    return not store.cut.is_set()


class Trouble:
    """Between a broker and its store: calls of a script fail for a while, and reads of some keys hang.

    fails     script → how many of its next calls fail, having done nothing
    lost      texts; every call and command on a key that contains one of them fails, having done nothing
    hang()    reads of keys that contain this text wait until go_on()
    """

    def __init__(self, store: Store) -> None:
        self.fails: dict[str, int] = {}
        self.failed = 0
        self.hung = asyncio.Event()
        self.lost: set[str] = set()
        self._call, self._command, self._multi = store.call, store.command, store.multi
        self._marks: list[bytes] = []
        self._waiting: list[Callable[[], None]] = []
        store.call, store.command = self._troubled_call, self._troubled_command  # type: ignore[method-assign]
        store.multi = self._troubled_multi  # type: ignore[method-assign]

    def hang(self, mark: str) -> None:
        self._marks.append(mark.encode())

    def go_on(self) -> None:
        self._marks = []
        for send in self._waiting:
            send()

    def _troubled_call(self, script: Script, keys: Sequence[bytes], args: Sequence[Any], *, retry: bool = True) -> Any:
        if self._is_lost(keys[0]):
            return self._refuse(script.name)
        if self.fails.get(script.name, 0) == 0:
            return self._call(script, keys, args, retry=retry)
        self.fails[script.name] -= 1
        self.failed += 1
        return self._refuse(script.name)

    def _troubled_multi(self, key: bytes, commands: Any, **options: Any) -> Any:
        return self._refuse("MULTI") if self._is_lost(key) else self._multi(key, commands, **options)

    def _is_lost(self, key: bytes | None) -> bool:
        return key is not None and any(text.encode() in key for text in self.lost)

    def _refuse(self, name: str) -> asyncio.Future[Any]:
        refused = asyncio.get_running_loop().create_future()
        refused.set_exception(StoreUnavailable(f"{name} is made to fail."))
        return refused

    def _troubled_command(self, *args: Any, key: bytes | None = None, retry: bool = True) -> Any:
        if self._is_lost(key):
            return self._refuse(str(args[0]))
        if len(args) < 2 or not any(mark in bytes(str(args[1]), "utf-8") for mark in self._marks):
            return self._command(*args, key=key, retry=retry)
        held = asyncio.get_running_loop().create_future()

        def send() -> None:
            if not held.done():
                self._command(*args, key=key, retry=retry).add_done_callback(
                    lambda done: None if held.done() else held.set_result(done.result())
                )

        self._waiting.append(send)
        self.hung.set()
        return held
