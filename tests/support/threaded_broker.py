"""Brokers behind real sockets, on an event loop in a thread, so that both halves of the SDK can ask them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import httpx

from redis_ledger.app.http.application import create_app
from redis_ledger.app.http.server import HttpServer
from redis_ledger.broker.broker import Broker
from tests.support.broker import one
from tests.support.kafka_client import listening

T = TypeVar("T")


class ThreadedBroker:
    """urls: one of each broker.  kafka: where the first listens to Kafka clients, if it does."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.servers: list[HttpServer] = []
        self.brokers: list[Broker] = []
        self.kafka = ("", 0)

    @property
    def urls(self) -> list[str]:
        return [server.address for server in self.servers]

    def do(self, work: Coroutine[Any, Any, T], within_s: float = 60) -> T:
        """Does it on the brokers' loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(within_s)

    def stop(self, number: int) -> None:
        asyncio.run_coroutine_threadsafe(self.servers[number].stop(), self._loop).result(20)


@contextlib.contextmanager
def threaded_broker(
    url: str, prefix: str, brokers: int = 1, *, kafka: bool = False, **settings: Any
) -> Iterator[ThreadedBroker]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    result, until = ThreadedBroker(loop), asyncio.Event()
    started = threading.Event()
    errors: list[BaseException] = []

    async def run() -> None:
        try:
            async with contextlib.AsyncExitStack() as stack:
                for number in range(brokers):
                    broker = await stack.enter_async_context(one(url, prefix, name=f"b{number}", **settings))
                    server = HttpServer(create_app(broker), "127.0.0.1", 0, drain_s=2)
                    await server.start()
                    stack.push_async_callback(server.stop)
                    result.servers.append(server)
                    result.brokers.append(broker)
                if kafka:
                    result.kafka = await stack.enter_async_context(listening(result.brokers[0]))
                started.set()
                await until.wait()
        except BaseException as error:
            errors.append(error)
            raise
        finally:
            started.set()

    running = asyncio.run_coroutine_threadsafe(run(), loop)
    started.wait(30)
    if errors:
        raise errors[0]
    try:
        yield result
    finally:
        loop.call_soon_threadsafe(until.set)
        running.result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


class LosesFirstAnswers(httpx.AsyncBaseTransport):
    """Carries every request to the broker, and loses the answer of the first to each address that changes something."""

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport()
        self.lost: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        address = f"{request.method} {request.url.path}"
        if request.method == "GET" or address in self.lost:
            return response
        self.lost.append(address)
        await response.aclose()
        raise httpx.ReadError("the connection broke", request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()
