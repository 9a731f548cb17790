"""A broker that does nothing but remember what it was asked: enough to test the HTTP side alone."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from redis_ledger.broker.client_memory import ClientMemory
from redis_ledger.broker.idempotency import Claim
from redis_ledger.broker.types import (
    Appended,
    CommittedAll,
    DelayStats,
    Executed,
    Fetched,
    Scheduled,
    ScheduledRef,
    Topic,
    Transaction,
)
from redis_ledger.config import Config
from redis_ledger.errors import IdempotencyKeyReused, RequestInProgress
from redis_ledger.ids import ScheduledId, TxnId
from redis_ledger.txn.coordinator import TransactionRecord
from redis_ledger.txn.states import TxnState
from redis_ledger.txn.trace import Trace


class FakeClaim(Claim):
    """Keeps the answer in a dictionary and remembers how it ended."""

    kept: Any = None
    key: str = ""

    def keep(self, ms: int) -> None:
        self.kept.records[self.key]["keep_ms"] = ms

    def finish(self, status: int, body: bytes) -> asyncio.Task[None]:
        self.kept.records[self.key].update(answer=(status, body), running=False)
        return asyncio.get_running_loop().create_task(asyncio.sleep(0))

    async def release(self) -> None:
        del self.kept.records[self.key]

    async def suspend(self) -> None:
        self.kept.records[self.key]["running"] = False


class FakeIdempotency:
    def __init__(self) -> None:
        self.records: dict[str, dict[str, Any]] = {}

    async def claim(
        self, key: str, fingerprint: bytes, *, producer_id: int | None, scope: str, keep_ms: int | None
    ) -> Claim:
        is_new = key not in self.records
        record = self.records.setdefault(key, {"fingerprint": fingerprint, "producer_id": producer_id, "answer": None})
        if record["fingerprint"] != fingerprint:
            raise IdempotencyKeyReused()
        if record["answer"] is not None:
            return Claim(replay=record["answer"])
        if record.get("running"):
            raise RequestInProgress()
        record["running"] = True
        claim = FakeClaim(f"nonce-of-{key}", record["producer_id"], not is_new)
        claim.kept, claim.key = self, key
        return claim


class FakeBroker:
    """fails: raised by whatever is asked next.  calls: what was asked, in order."""

    def __init__(self, **settings: Any) -> None:
        self.config = Config(**settings)
        self.idempotency = FakeIdempotency()
        self.security = SimpleNamespace(
            is_on=False, allows=lambda *_: True, check=lambda *_: None, may_create=lambda *_: True
        )
        self.quotas = SimpleNamespace(is_on=False)
        self.audit = SimpleNamespace(note=self._unheard, failed=self._unheard)
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.fails: BaseException | None = None
        self.started, self.cancelled = asyncio.Event(), asyncio.Event()
        self.fetched = Fetched([], 0, 0, 0, 0)
        self._pids = 100
        self.topics = SimpleNamespace(create=self._topic("create"), list=self._answering("list", []))
        self.records = SimpleNamespace(
            produce=self._answering("produce", [Appended(0, 7, 1)]),
            produce_batches=self._answering("produce_batches", [Appended(0, 7, 1)]),
            fetch=self._fetch,
        )
        placed = ScheduledRef(ScheduledId(0, 17, 0), 90_000)
        waiting = Scheduled(placed.id, 90_000, 5, b"k", b'{"a":1}', (("h", b"v"),))
        counts, nothing = (2, 2, 0, 2, 1, 0, 90_000, 95_000, 0, 230), (0, 0, 0, 0, 0, 0, -1, -1, 0, 0)
        self.metrics_collector = SimpleNamespace(show=self._answering("overview", None))
        self.delayed = SimpleNamespace(
            get=self._answering("get", waiting._replace(repeat="PT1H", until_ms=99_000, times_left=3)),
            list=self._answering("list", ([waiting], "next")),
            cancel=self._answering("cancel", [None]),
            reschedule=self._answering("reschedule", placed._replace(deliver_at_ms=95_000)),
            clear=self._answering("clear", 4),
            counts=self._answering("counts", [DelayStats(0, *counts), DelayStats(1, *nothing)]),
            histogram=self._answering("histogram", [(90_000, 93_000, 1), (93_000, 96_000, 1)]),
            rebuild=self._answering("rebuild", 2),
            update_metrics=self._answering("show", None),
        )
        self.recurring = SimpleNamespace(schedule=self._answering("schedule_repeat", placed))
        self.producers = SimpleNamespace(
            allocate=self._allocate, ids=SimpleNamespace(allocate_keyed=self._allocate_keyed)
        )
        self.client_memory = ClientMemory(1 << 30)
        ended = Transaction(TxnId(3, 17), "committed", 1, 1, 2)
        self.transactions = SimpleNamespace(
            check_enabled=lambda: None,
            begin=self._answering("begin", Transaction(TxnId(3, 17), "open", 60_000, 1, 60_001)),
            commit=self._answering("commit", ended),
            commit_all=self._answering("commit_all", CommittedAll("committed", 42)),
        )
        record = TransactionRecord(TxnId(3, 17), TxnState.COMMITTED, 1, 60_000, 60_001, "", [], False, ended_ms=2)
        self.participant_details = SimpleNamespace(traced=self._answering("traced", (record, Trace([], False))))
        self.execute = SimpleNamespace(
            run=self._answering("execute", Executed(TxnId(3, 17), {"out": [Appended(0, 4, 1)]}))
        )

    async def ready(self) -> dict[str, Any]:
        self._fail()
        return {"broker": "fake"}

    def asked(self, name: str) -> list[dict[str, Any]]:
        """The keyword arguments of every call of this name."""
        return [kwargs for called, _, kwargs in self.calls if called == name]

    def _fail(self) -> None:
        if self.fails is not None:
            raise self.fails

    def _answering(self, name: str, answer: Any) -> Any:
        async def call(*args: Any, **kwargs: Any) -> Any:
            self.calls.append((name, args, kwargs))
            self._fail()
            return answer

        return call

    def _topic(self, name: str) -> Any:
        async def call(topic: str, partitions: int | None, settings: dict[str, int] | None) -> Topic:
            self.calls.append((name, (topic, partitions, settings), {}))
            self._fail()
            return Topic(topic, "id", partitions or 1, settings or {}, 1)

        return call

    async def _unheard(self, *args: Any, **facts: Any) -> None:
        """Calls that are only recorded."""

    async def _allocate_keyed(self) -> int:
        return (await self._allocate())[0]

    async def _allocate(self) -> tuple[int, int]:
        self._pids += 1
        return self._pids, 0

    async def _fetch(self, *args: Any, **kwargs: Any) -> Fetched:
        """With wait_ms it waits forever and records its cancellation."""
        self.calls.append(("fetch", args, kwargs))
        self._fail()
        if kwargs["wait_ms"]:
            self.started.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        return self.fetched
