"""/livez, /readyz, and the entry point /v1."""

from __future__ import annotations

from typing import Any

import msgspec

from redis_ledger.app.http.authorization import PUBLIC
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest, HttpResponse
from redis_ledger.app.http.schemas import core, examples
from redis_ledger.errors import ClockSkewed, Draining, RedisUnfit, StoreUnavailable, TooFewReplicas
from redis_ledger.version import VERSION

routes = Routes("health")


@routes.get("/livez", requires=PUBLIC, examples=examples.LIVE)
async def livez(request: HttpRequest) -> core.Live:
    """Liveness: the process answers. Redis is not checked."""
    return core.Live()


@routes.get(
    "/readyz",
    requires=PUBLIC,
    answers={200: dict[str, Any]},
    errors=(StoreUnavailable, RedisUnfit, TooFewReplicas, ClockSkewed, Draining),
    examples=examples.READY,
)
async def readyz(request: HttpRequest) -> HttpResponse:
    """Readiness: whether this broker can serve requests, and the state of its Redis."""
    if request.services.draining.is_set():
        raise Draining()
    return HttpResponse(200, msgspec.json.encode(await request.broker.ready()))


@routes.get("/v1", requires=PUBLIC, examples=examples.ENTRY)
async def entry(request: HttpRequest) -> core.Entry:
    """Name and version of this broker, and links to the documentation."""
    links = {
        "topics": "/v1/topics",
        "transactions": "/v1/transactions",
        "producers": "/v1/producers",
        "acls": "/v1/acls",
        "tokens": "/v1/tokens",
        "users": "/v1/users",
        "audit": "/v1/audit",
        "openapi": "/openapi.json",
        "docs": "/docs",
        "live": "/livez",
        "ready": "/readyz",
        "metrics": "/metrics",
    }
    return core.Entry(name="redis-ledger", version=VERSION, links=links)
