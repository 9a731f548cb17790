"""/livez, /readyz, and the way in at /v1."""

from __future__ import annotations

from typing import Any

import msgspec

from app import bodies, examples
from app.calls import Answer, Call
from app.needs import OPEN
from app.operations import Routes
from redis_ledger.errors import Draining, RedisUnfit, StoreUnavailable
from redis_ledger.version import VERSION

routes = Routes("health")


@routes.get("/livez", needs=OPEN, examples=examples.LIVE)
async def livez(call: Call) -> bodies.Live:
    """Whether the process answers; it says nothing about Redis."""
    return bodies.Live()


@routes.get(
    "/readyz",
    needs=OPEN,
    answers={200: dict[str, Any]},
    errors=(StoreUnavailable, RedisUnfit, Draining),
    examples=examples.READY,
)
async def readyz(call: Call) -> Answer:
    """Whether this broker can serve, and what it knows of its Redis."""
    if call.services.draining.is_set():
        raise Draining()
    return Answer(200, msgspec.json.encode(await call.broker.ready()))


@routes.get("/v1", needs=OPEN, examples=examples.ENTRY)
async def entry(call: Call) -> bodies.Entry:
    """The name and version of this broker, and where to go from here."""
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
    return bodies.Entry(name="redis-ledger", version=VERSION, links=links)
