"""The HTTP application: FastAPI around a broker, with a fast path for hot operations.

app = create_app(broker)                  the caller opens and closes the broker
app = create_app(open_broker)             an async function opens the broker; the app closes it at shutdown
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import msgspec
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from redis_ledger.app.console.site import Console
from redis_ledger.app.http import docs_page as docs
from redis_ledger.app.http import errors
from redis_ledger.app.http.asgi import Receive, Scope, Send
from redis_ledger.app.http.authorization import PUBLIC
from redis_ledger.app.http.fast_path import FastPath, pattern
from redis_ledger.app.http.openapi import document
from redis_ledger.app.http.operations import UNKNOWN, Operation, Routes, count_unrouted
from redis_ledger.app.http.request import HttpRequest, HttpResponse, Services
from redis_ledger.app.http.routers import (
    batched_writes,
    coordinators,
    cursor_lag,
    health,
    large_messages,
    metrics,
    offload,
    partition_transactions,
    producers,
    quotas,
    records,
    redelivery,
    scheduled,
    security,
    subscription_consumers,
    subscription_state,
    subscriptions,
    test_hooks,
    topics,
    transaction_views,
    transactions,
)
from redis_ledger.broker.broker import Broker
from redis_ledger.errors import LedgerError, MethodNotAllowed, RouteNotFound
from redis_ledger.version import VERSION

OpenBroker = Callable[[], Awaitable[Broker]]

site = Routes("health")
ROUTERS = (
    topics,
    records,
    large_messages,
    scheduled,
    offload,
    partition_transactions,
    subscriptions,
    subscription_consumers,
    redelivery,
    subscription_state,
    cursor_lag,
    transactions,
    transaction_views,
    coordinators,
    producers,
    batched_writes,
    security,
    quotas,
    health,
    metrics,
)
OPERATIONS: tuple[Operation, ...] = tuple(each for router in ROUTERS for each in router.routes.operations)


@site.get("/openapi.json", requires=PUBLIC, answers={200: dict[str, Any]})
async def openapi_json(request: HttpRequest) -> HttpResponse:
    """This document."""
    return HttpResponse(200, await asyncio.to_thread(_document))


@site.get("/docs", requires=PUBLIC, answers={200: str})
async def docs_page(request: HttpRequest) -> HttpResponse:
    """This document as a page."""
    return HttpResponse(200, await asyncio.to_thread(_docs), b"text/html; charset=utf-8", [*docs.HEADERS])


@site.get("/", requires=PUBLIC, status=307)
async def root(request: HttpRequest) -> HttpResponse:
    """Redirect to the console."""
    return HttpResponse(307, b"", b"text/plain", [(b"location", b"/console")])


_PAGES = tuple(site.operations)


# Built on first use in a thread, so that neither the start nor other requests wait.
@cache
def _openapi() -> dict[str, Any]:
    return document(OPERATIONS)


@cache
def _document() -> bytes:
    return msgspec.json.encode(_openapi())


@cache
def _docs() -> bytes:
    return docs.page(_openapi()).encode()


def create_app(broker: Broker | OpenBroker, hooks: test_hooks.Hooks | None = None) -> FastPath:
    """The ASGI application; stateless apart from the broker.  hooks: adds /v1/test; without them it does not exist."""
    services = Services()
    operations = OPERATIONS if hooks is None else (*OPERATIONS, *test_hooks.routes(hooks).operations)
    if isinstance(broker, Broker) or not callable(broker):
        services.broker = broker

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if services.broker is not None:
            yield
            return
        assert callable(broker), f"{broker!r} is neither a broker nor a function that opens one"
        opened = await broker()
        services.broker = opened
        try:
            yield
        finally:
            services.draining.set()
            services.broker = None
            await opened.close()

    app = FastAPI(
        title="redis-ledger", version=VERSION, lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None,
        redirect_slashes=False,
    )  # fmt: skip
    app.openapi = _openapi  # type: ignore[method-assign]  # FastAPI's documented way to replace the document
    for operation in (*operations, *_PAGES):
        app.router.routes.append(_route(operation.path, _Endpoint(operation, services), methods=[operation.method]))
    console = Console(services)
    app.router.routes += [_route("/console", console), _route("/console/{name}", console)]
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(Exception, _internal_problem)
    return FastPath(app, services, OPERATIONS)


def _route(path: str, endpoint: Any, methods: list[str] | None = None) -> Route:
    """A route with the pattern of the fast path.  Starlette's own ends in `$`, which accepts a newline after it."""
    route = Route(path, endpoint, methods=methods)
    route.path_regex = pattern(path)
    return route


class _Endpoint:
    """An operation as Starlette mounts an ASGI application."""

    def __init__(self, operation: Operation, services: Services) -> None:
        self._operation, self._services = operation, services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._operation.serve(self._services, scope, receive, send, scope["path_params"])


class _Problem(Response):
    """An HttpResponse as a Starlette Response."""

    def __init__(self, answer: HttpResponse) -> None:
        super().__init__()
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer.send(send)


_SHAPES = tuple((operation.method, pattern(operation.path)) for operation in (*OPERATIONS, *_PAGES))


async def _http_problem(request: Request, error: Exception) -> Response:
    """404 or 405: Starlette found no route for the path or the method."""
    path = request.scope["path"]
    allowed = sorted({method for method, shape in _SHAPES if shape.match(path)})
    if allowed:
        count_unrouted(MethodNotAllowed.code)
        return _Problem(errors.wrong_method(request.method, path, allowed))
    count_unrouted(RouteNotFound.code)
    return _Problem(errors.no_route(path))


async def _internal_problem(request: Request, error: Exception) -> Response:
    count_unrouted(LedgerError.code)
    return _Problem(errors.internal_error(error, UNKNOWN, path=request.scope["path"][:200]))
