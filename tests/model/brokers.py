"""Brokers of a history, in this process and on one Redis, and their doors.

Every request carries the number of its operation, by which the store knows whose calls to hold, and by which the driver
knows when a broker is done with a request whose client has given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote, urlsplit

from redis_ledger.app.http.application import create_app
from redis_ledger.broker.broker import Broker
from redis_ledger.config import Config
from redis_ledger.kafka.connection import Connection
from redis_ledger.kafka.protocol.frame import read_header
from tests.model.held_store import CURRENT, HeldStore
from tests.support.broker import SHORT, vanish
from tests.support.kafka_client import KafkaClient, listening

SETTINGS: dict[str, Any] = {
    **SHORT, "coordinators": 2, "auto_create_topics": False, "idempotency_lease_ms": 40, "redis_timeout_ms": 5_000,
}  # fmt: skip
DEAD_S_MAX = 0.5  # for what is left of a broker that has died
RUNNING: Counter[str] = Counter()  # requests that brokers have begun, by operation
# Errors of Kafka's protocol that clients of this model meet, by their names in REST.
KAFKA_ERRORS = {
    0: "ok", -1: "internal_error", 1: "offset_out_of_range", 3: "unknown_topic_or_partition", 5: "topic_busy",
    7: "unavailable", 10: "request_too_large", 14: "unavailable", 15: "unavailable", 16: "not_coordinator",
    36: "topic_exists", 37: "invalid_partitions", 45: "sequence_gap", 46: "duplicate_sequence", 47: "stale_epoch",
    48: "invalid_txn_status", 49: "invalid_producer_id", 51: "unavailable", 56: "unavailable", 59: "unknown_producer",
    68: "group_not_empty", 69: "group_not_found", 90: "producer_fenced", 100: "unknown_topic",
}  # fmt: skip


class Gone(Exception):
    """The client has given up."""


@contextlib.contextmanager
def kafka_requests_noted() -> Iterator[None]:
    """Kafka requests are known by their client id."""
    original = Connection._one

    async def one(self: Connection, frame: memoryview, table: Any) -> bool:
        operation = read_header(frame).client_id or ""
        CURRENT.set(operation)
        RUNNING[operation] += 1
        is_pending = False
        try:
            is_pending = await original(self, frame, table)
            return is_pending
        finally:
            if is_pending and self._answers:
                self._answers[-1].future.add_done_callback(lambda _: RUNNING.subtract([operation]))
            else:
                RUNNING[operation] -= 1

    Connection._one = one  # type: ignore[method-assign]
    try:
        yield
    finally:
        Connection._one = original  # type: ignore[method-assign]


class Door:
    """One broker.  Its requests are made by `rest` and `kafka`."""

    def __init__(self, url: str, prefix: str, name: str, settings: dict[str, Any]) -> None:
        self._url, self._prefix, self.name = url, prefix, name
        self._config = Config(prefix=prefix, **{**SETTINGS, **settings})
        self._stack = contextlib.AsyncExitStack()
        self._runs = 0
        self._requests: set[asyncio.Task[Any]] = set()

    async def open(self) -> None:
        store = await HeldStore.open(self._url, prefix=self._prefix, timeout_ms=self._config.redis_timeout_ms)
        assert isinstance(store, HeldStore)
        self.store = store
        self._stack.push_async_callback(store.close)
        self._runs += 1
        self.broker = await Broker.open(store, self._config, name=f"{self.name}-{self._runs}")
        self._stack.push_async_callback(self.broker.close)
        self._app = create_app(self.broker)
        self.address = await self._stack.enter_async_context(listening(self.broker, 0.0))

    async def close(self) -> None:
        self.store.release()
        await self._stack.aclose()

    async def die(self) -> None:
        """As kill -9, and another process starts in its place.  What was held is never sent."""
        for task in self._requests:
            task.cancel()
        await vanish(self.broker)
        self.store.drop()
        await asyncio.gather(*self._requests, return_exceptions=True)
        self._requests.clear()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._stack.aclose(), DEAD_S_MAX)
        self._stack = contextlib.AsyncExitStack()
        await self.open()

    async def rest(
        self, operation: str, method: str, path: str, body: Any = None, *, key: str = "", gone: asyncio.Event
    ) -> tuple[int, Any]:
        """One request as ASGI messages.  gone: the client closes its connection; the broker may go on.

        Returns status and body.  Raises Gone.
        """
        task = asyncio.get_running_loop().create_task(self._asgi(operation, method, path, body, key, gone))
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)
        left = asyncio.ensure_future(gone.wait())
        await asyncio.wait({task, left}, return_when=asyncio.FIRST_COMPLETED)
        left.cancel()
        if not task.done():
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise Gone
        return task.result()

    async def _asgi(
        self, operation: str, method: str, path: str, body: Any, key: str, gone: asyncio.Event
    ) -> tuple[int, Any]:
        CURRENT.set(operation)
        split = urlsplit(path)
        data = b"" if body is None else json.dumps(body).encode()
        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"),
                   (b"content-length", str(len(data)).encode())]  # fmt: skip
        if key:
            headers.append((b"idempotency-key", key.encode()))
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": split.path,
            "raw_path": split.path.encode(),
            "query_string": split.query.encode(), "headers": headers, "scheme": "http", "root_path": "",
            "server": ("127.0.0.1", 1), "client": ("127.0.0.1", 2), "asgi": {"version": "3.0"},
        }  # fmt: skip
        sent = False
        answer: dict[str, Any] = {"status": 0, "body": b""}

        async def receive() -> dict[str, Any]:
            nonlocal sent
            if not sent:
                sent = True
                return {"type": "http.request", "body": data, "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                answer["status"] = message["status"]
            else:
                answer["body"] += message.get("body", b"")

        RUNNING[operation] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            RUNNING[operation] -= 1
        return answer["status"], json.loads(answer["body"]) if answer["body"] else None

    async def kafka(self, operation: str, message: Any, version: int, *, gone: asyncio.Event) -> Any:
        """One request on a connection of its own.  Raises Gone; the connection is closed then."""
        async with KafkaClient(self.address, operation) as client:
            task = asyncio.ensure_future(client.ask(message, version))
            left = asyncio.ensure_future(gone.wait())
            await asyncio.wait({task, left}, return_when=asyncio.FIRST_COMPLETED)
            left.cancel()
            if not task.done():
                task.cancel()
                raise Gone
            try:
                return task.result()
            except (ConnectionError, asyncio.IncompleteReadError) as error:
                raise Gone from error


@contextlib.asynccontextmanager
async def doors(url: str, prefix: str, count: int, **settings: Any) -> AsyncIterator[list[Door]]:
    opened = []
    with kafka_requests_noted():
        try:
            for number in range(count):
                door = Door(url, prefix, f"b{number}", settings)
                await door.open()
                opened.append(door)
            yield opened
        finally:
            for door in opened:
                await door.close()


def path(*parts: object, **query: object) -> str:
    """/v1/a/b?c=d, quoted."""
    joined = "/v1/" + "/".join(quote(str(part), safe=":") for part in parts)
    asked = "&".join(f"{name}={quote(str(value))}" for name, value in query.items())
    return f"{joined}?{asked}" if asked else joined
