"""Which API key and version goes to which handler: the one table that routes requests and that ApiVersions answers
from.

Every module of `kafka/handlers/` is a row: its name is the message's, VERSIONS what it serves, handle what does it.  So
nothing can be advertised that has no handler, and a handler that exists is advertised.
"""

from __future__ import annotations

import asyncio
import pkgutil
from collections.abc import Awaitable, Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from redis_ledger.kafka import handlers
from redis_ledger.kafka.error_metrics import ErrorMetrics
from redis_ledger.kafka.protocol.registry import API_VERSIONS
from redis_ledger.kafka.request_context import RequestContext
from redis_ledger.kafka.security import api_authorization
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.series import HistogramSeries

Handler = Callable[[Any, RequestContext], Awaitable[Any]]


class Route(NamedTuple):
    """submit: for requests that may follow each other without waiting: returns a future of the answer once what the
    request writes has its place in the order.  is_read: it changes nothing, so it need not end when its client
    leaves."""

    key: int
    name: str
    version_min: int
    version_max: int
    handle: Handler
    submit: Callable[[Any, RequestContext], Awaitable[asyncio.Future[Any]]] | None
    is_read: bool
    seconds: HistogramSeries
    outcomes: ErrorMetrics


@cache
def routes() -> dict[int, Route]:
    """By API key, ascending."""
    keys = {api.module: api for api in API_VERSIONS.values()}
    found = {}
    for module in pkgutil.iter_modules(handlers.__path__):
        if module.name.startswith("_"):
            continue
        api, handler = keys[module.name], import_module(f"{handlers.__name__}.{module.name}")
        least, most = handler.VERSIONS
        assert api.version_min <= least <= most <= api.version_max, (
            f"{api.name}: the codec lacks some of {least}-{most}"
        )
        found[api.key] = Route(
            api.key, api.name, least, most, api_authorization.guarded(api, handler), getattr(handler, "submit", None),
            getattr(handler, "IS_READ", False), metrics.kafka_request_seconds.of(api.name),
            ErrorMetrics(api.name),
        )  # fmt: skip
    return dict(sorted(found.items()))
