"""The routing table: API key and version → handler; also the content of ApiVersions responses.

Every module of `kafka/handlers/` is a row: its name is that of the message, VERSIONS has the supported versions,
`handle` the implementation.  So exactly the APIs with a handler are advertised.
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
# SaslHandshake, ApiVersions, SaslAuthenticate, Metadata, FindCoordinator: they at most create an absent topic.
LOOKUPS = frozenset({17, 18, 36, 3, 10})


class Route(NamedTuple):
    """A supported API.

    submit   for pipelined requests: returns a future of the response when the order of the request's writes is fixed
    is_read  the request changes nothing, so it is cancelled when its client disconnects
    """

    key: int
    name: str
    version_min: int
    version_max: int
    handle: Handler
    submit: Callable[[Any, RequestContext], Awaitable[asyncio.Future[Any]]] | None
    is_read: bool
    seconds: HistogramSeries
    outcomes: ErrorMetrics

    @property
    def is_harmless(self) -> bool:
        """Whether requests may be carried out however late."""
        return self.is_read or self.key in LOOKUPS


@cache
def routes() -> dict[int, Route]:
    """The routes by API key, ascending."""
    keys = {api.module: api for api in API_VERSIONS.values()}
    found = {}
    for module in pkgutil.iter_modules(handlers.__path__):
        if module.name.startswith("_"):
            continue
        api, handler = keys[module.name], import_module(f"{handlers.__name__}.{module.name}")
        least, most = handler.VERSIONS
        assert api.version_min <= least <= most <= api.version_max, (
            f"{api.name}: the codec does not support all of {least}-{most}"
        )
        found[api.key] = Route(
            api.key, api.name, least, most, api_authorization.guarded(api, handler), getattr(handler, "submit", None),
            getattr(handler, "IS_READ", False), metrics.kafka_request_seconds.of(api.name),
            ErrorMetrics(api.name),
        )  # fmt: skip
    return dict(sorted(found.items()))
